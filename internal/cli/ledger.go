package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/membership"
	"github.com/signalbox-dev/signalbox/internal/stage"
	"github.com/signalbox-dev/signalbox/ledger"
	"github.com/signalbox-dev/signalbox/safetext"
)

func (a *app) ledgerCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "ledger",
		Short:   "Verify, prove, check, export and repair the ledger",
		Example: `  signalbox ledger verify`,
		Long: `The ledger is what happened, in an archive of files: events, each with the hash of
the one before it on the same work item, and a Merkle tree over all of them, signed
at checkpoints. Whoever has the verifier's key (ledger key) can check it, without a
box and on any copy.`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.verifyCommand(), a.proveCommand(), a.checkCommand(), a.exportCommand(), a.repairCommand(), a.keyCommand())
	return cmd
}

// place says where a ledger lies, and with which key it is checked.
type place struct{ archive, key string }

func (p *place) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.archive, "archive", "", "the archive's or export's `DIRECTORY` (default: that of the box)")
	cmd.Flags().StringVar(&p.key, "key", "", "the verifier's `KEY`, or a file with it (default: that of the box)")
}

func (a *app) archiveDir(p place) (string, error) {
	if p.archive != "" {
		return p.archive, nil
	}
	c, err := a.settingsToLook()
	return box.Dir(a.dir).Archive(c.Archive.Dir), err
}

// files returns the files of a ledger: of a copy or an export, or of the box, whose log may lie
// elsewhere.
func (a *app) files(p place, dir string) (archive.FS, error) {
	if p.archive != "" {
		return archive.Dir(dir), nil
	}
	c, err := a.settingsToLook()
	return box.Files(dir, box.Dir(a.dir).Segments(dir, c.Archive.Segments)), err
}

func (a *app) verifierKey(ctx context.Context, p place) (string, error) {
	if p.key == "" {
		return box.Dir(a.dir).Verifier()
	}
	key := p.key
	data, err := readNamed(ctx, p.key, maxKeyFile)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err == nil:
		key = string(bytes.TrimSpace(data))
	}
	if _, err := ledger.KeyOrigin(key); err != nil {
		return "", fmt.Errorf("%s is neither a verifier's key nor a file with one: `signalbox ledger key` prints it, where the ledger is", safetext.Escape(p.key))
	}
	return key, nil
}

// resolve returns where a ledger lies, and its key.
func (a *app) resolve(ctx context.Context, p place) (dir, key string, err error) {
	dir, err = a.archiveDir(p)
	if err != nil {
		return "", "", err
	}
	if _, err := os.Stat(filepath.Join(dir, ledger.CheckpointPath)); err != nil {
		return "", "", fmt.Errorf("%s holds no ledger: it has no file %s; --dir names a box, --archive an export", safetext.Escape(dir), ledger.CheckpointPath)
	}
	key, err = a.verifierKey(ctx, p)
	return dir, key, err
}

func (a *app) verifyCommand() *cobra.Command {
	var p place
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check the whole ledger",
		Long: `Verify checks the signature of the latest checkpoint, every event that it covers, the
chain of every work item, every tile of the tree, the root, and every blob that an
event refers to; and if there is a log, its checksums, and that it has the same events.
It needs no box: a copy of the archive, or an export, and the key.

What the checkpoint does not cover is said, by kind, number and first name, and fails:
events or tiles of a larger tree, blobs that no event refers to, other files. The box's
own archive may have what it is about to seal, if its log has the same events: it seals
what it records within a second. With --archive nothing of the kind is allowed.

Take the key from somebody you trust, not from the copy you check.`,
		Example: `  signalbox ledger verify
  signalbox ledger verify --archive copy/ --key verifier.key`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, key, err := a.resolve(cmd.Context(), p)
			if err != nil {
				return err
			}
			files, err := a.files(p, dir)
			if err != nil {
				return err
			}
			verify := archive.Verify
			if p.archive != "" {
				verify = archive.VerifyCopy
			}
			r, err := verify(cmd.Context(), files, key)
			if a.JSON {
				if err := command.WriteJSON(a.Out, verifiedJSON(r, err)); err != nil {
					return err
				}
			}
			switch {
			case err != nil && a.JSON:
				return errQuiet
			case err != nil:
				if p.archive == "" {
					err = fmt.Errorf("%w\n%s", err, a.mendWords())
				}
				return fmt.Errorf("the ledger does not verify: %w", err)
			case !a.JSON:
				fmt.Fprintf(a.Out, "%s: %s on %s, %s\n", a.Paint(command.Green, "verified"),
					english.Count(int(r.Events), "event"), english.Count(r.Subjects, "subject"), english.Count(r.Blobs, "blob"))
				a.verifyNotes(r, p.archive == "" && a.inCluster())
				a.rows([][2]string{{"signed by", safetext.Escape(r.Checkpoint.Origin)}, {"root", r.Checkpoint.Root.String()}})
				fmt.Fprintln(a.Out, `
This proves that the holder of the key signed these events in this order, and
that up to this checkpoint nothing was changed, left out or moved since. It does
not prove that this is the latest checkpoint (hold an older or published one
against it with ledger check), that what an agent said is true, or that nobody
else has the key: an agent that runs as the box's own user, without a sandbox,
could read it.`)
			}
			return nil
		},
	}
	p.flags(cmd)
	return cmd
}

// inCluster reports whether the box in the directory is a member of a cluster, whatever became of the file that says so.
func (a *app) inCluster() bool {
	_, err := membership.Read(a.dir)
	return !errors.Is(err, membership.ErrNone)
}

// mendWords says what mends the ledger of the box in the directory.
func (a *app) mendWords() string {
	if a.inCluster() {
		return "this box is in a cluster: stop it, and `signalbox cluster rejoin` has it fetch all from the others, under a new id"
	}
	return "`signalbox ledger repair` holds both copies against the signed root, and rebuilds what is damaged"
}

// verifyNotes says what is no fault, but worth knowing. A member's log that began anew has no events from before, and is not given any.
func (a *app) verifyNotes(r archive.Verified, member bool) {
	note := func(format string, args ...any) {
		fmt.Fprintf(a.Out, "%s: %s\n", a.Paint(command.Yellow, "note"), fmt.Sprintf(format, args...))
	}
	if r.Removed > 0 {
		note("%s removed on purpose, as events of the type %s say; the hashes stay", were(r.Removed, "blob"), ledger.TypeBlobRemoved)
	}
	if r.Unsealed > 0 {
		note("the log has %s that no checkpoint covers yet", english.Count(int(r.Unsealed), "event"))
	}
	if r.Unreferenced > 0 {
		note("%s, whole, that no sealed event refers to", english.Count(int(r.Unreferenced), "blob"))
	}
	if r.Single > 0 && !member {
		note("the first %s are in bundles only; `signalbox ledger repair` makes the log's files for them", english.Count(int(r.Single), "event"))
	}
}

// verifiedJSON is what verify says with --json.
func verifiedJSON(r archive.Verified, err error) map[string]any {
	if err == nil {
		return map[string]any{
			"ok": true, "events": r.Events, "subjects": r.Subjects, "blobs": r.Blobs, "removed": r.Removed, "origin": r.Checkpoint.Origin,
			"root": r.Checkpoint.Root, "unsealed": r.Unsealed, "unreferenced": r.Unreferenced, "log": r.Log, "single": r.Single, "uncovered": []ledger.Uncovered{},
		}
	}
	out := map[string]any{"ok": false, "error": err.Error()}
	var uncovered *ledger.UncoveredError
	if errors.As(err, &uncovered) {
		out["uncovered"] = uncovered.Found
	}
	return out
}

func (a *app) proveCommand() *cobra.Command {
	var p place
	cmd := &cobra.Command{
		Use:   "prove SEQUENCE",
		Short: "Prove that an event is in the ledger",
		Long: `Prove prints a proof for the event with this sequence (as in the output of events):
the event, the hashes from it to the signed root, and the checkpoint. Whoever has the
verifier's key can check it without the ledger, with ledger check or with the Go
package ledger. The event names its work item by its subject, as work show --json does;
the index in the proof counts from 0.`,
		Example: `  signalbox ledger prove 12 > proof.json
  signalbox ledger check proof.json`,
		Args: one("the sequence of an event"),
		RunE: func(cmd *cobra.Command, args []string) error {
			seq, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil || seq < 1 {
				return a.UsageError("%q is not the sequence of an event: they are numbered from 1", args[0])
			}
			proof, _, err := a.proveEvent(cmd.Context(), seq, p)
			if err != nil {
				return err
			}
			return command.WriteJSON(a.Out, proof)
		},
	}
	p.flags(cmd)
	return cmd
}

// proveEvent proves an event, and returns the key that the proof is checked with.
func (a *app) proveEvent(ctx context.Context, seq int64, p place) (proof ledger.Proof, key string, err error) {
	dir, key, err := a.resolve(ctx, p)
	if err != nil {
		return proof, "", err
	}
	f, err := ledger.OpenFiles(archive.Readable(archive.Dir(dir)), key)
	if err != nil {
		return proof, "", err
	}
	if seq > f.Checkpoint.Size {
		return proof, "", fmt.Errorf("the latest checkpoint covers %s: a running box covers new ones within a second", english.Count(int(f.Checkpoint.Size), "event"))
	}
	proof, err = f.Prove(seq - 1)
	return proof, key, err
}

func (a *app) checkCommand() *cobra.Command {
	var p place
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Check a proof, or an older checkpoint",
		Long: `Check checks a proof that ledger prove made: it needs the verifier's key and nothing
else. Given a checkpoint that was kept or published earlier, it checks that the tree which
the ledger's latest checkpoint signs begins with the tree that was signed then: in a ledger
whose history was rewritten it does not. For that it reads a few hashes, however large the
ledger is, and no event. ledger verify reads them all, and proves that they are the ones of
the latest checkpoint; both together prove the ledger's files. With --json not_proven says
what a checkpoint's check leaves open.`,
		Example: `  signalbox ledger check proof.json --key verifier.key
  signalbox ledger check old-checkpoint`,
		Args: one("a file with a proof or a checkpoint"),
		RunE: func(cmd *cobra.Command, args []string) error {
			in, closeIn, err := a.open(cmd.Context(), args)
			if err != nil {
				return err
			}
			defer closeIn()
			data, err := readAll(cmd.Context(), in, 1<<20)
			if err != nil {
				return err
			}
			if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
				return a.checkProof(cmd.Context(), data, p)
			}
			return a.checkCheckpoint(cmd.Context(), data, p)
		},
	}
	p.flags(cmd)
	return cmd
}

func (a *app) checkProof(ctx context.Context, data []byte, p place) error {
	key, err := a.verifierKey(ctx, p)
	if err != nil {
		return err
	}
	var proof ledger.Proof
	if err := json.Unmarshal(data, &proof); err != nil {
		return fmt.Errorf("not a proof: %w", err)
	}
	e, c, err := proof.Verify(key)
	if err != nil {
		return err
	}
	if a.JSON {
		return command.WriteJSON(a.Out, map[string]any{"ok": true, "sequence": proof.Index + 1, "type": e.Type, "subject": e.Subject, "origin": c.Origin, "size": c.Size})
	}
	fmt.Fprintf(a.Out, "%s: event %d of %s is in the ledger of %s\n", a.Paint(command.Green, "proven"), proof.Index+1, safetext.Escape(c.Origin), english.Count(int(c.Size), "event"))
	return a.event(apiEvent(proof))
}

func (a *app) checkCheckpoint(ctx context.Context, data []byte, p place) error {
	dir, key, err := a.resolve(ctx, p)
	if err != nil {
		return err
	}
	older, err := ledger.OpenCheckpoint(data, key)
	if err != nil {
		return fmt.Errorf("neither a proof nor a checkpoint of this ledger: %w", err)
	}
	f, err := ledger.OpenFiles(archive.Readable(archive.Dir(dir)), key)
	if err != nil {
		return err
	}
	if older.Size > f.Checkpoint.Size {
		return fmt.Errorf("the checkpoint covers %s, and the ledger only %d: events were taken away, or this is an old copy",
			english.Count(int(older.Size), "event"), f.Checkpoint.Size)
	}
	root, err := f.Root(older.Size)
	if err != nil {
		return err
	}
	if root != older.Root {
		return fmt.Errorf("the ledger does not begin with the %s that were signed: history was changed", english.Count(int(older.Size), "event"))
	}
	left := []string{notRead, "that there is no later checkpoint"}
	if a.JSON {
		return command.WriteJSON(a.Out, map[string]any{"ok": true, "size": older.Size, "ledger_size": f.Checkpoint.Size, "not_proven": left})
	}
	fmt.Fprintf(a.Out, "%s: the signed tree of %s begins with the %d that were signed then\n", a.Paint(command.Green, "consistent"), english.Count(int(f.Checkpoint.Size), "event"), older.Size)
	a.sayNotProven(left)
	return nil
}

// notRead is what is left to prove where trees are compared by their hashes.
const notRead = "that the ledger's files have the events that were signed: hashes were compared here, and ledger verify reads the events"

func (a *app) exportCommand() *cobra.Command {
	var p place
	cmd := &cobra.Command{
		Use:     "export DIRECTORY",
		Short:   "Copy the sealed ledger to an empty directory",
		Example: `  signalbox ledger export copy/`,
		Long: `Export copies what the latest checkpoint covers, with tiles and blobs, and nothing else,
to a directory that is not there or empty, and verifies the copy. An empty one is
replaced: it can't be a link, a mount point, or the directory you are in. It works while the box
runs. Blobs that no event refers to, what was not sealed yet, and any other file stay
behind: an export is what to give to others.`,
		Args: one("the directory to copy to"),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, key, err := a.resolve(cmd.Context(), p)
			if err != nil {
				return err
			}
			r, err := export(cmd.Context(), archive.Dir(dir), key, args[0])
			if err != nil {
				return err
			}
			if a.JSON {
				return command.WriteJSON(a.Out, map[string]any{"events": r.Events, "directory": args[0]})
			}
			fmt.Fprintf(a.Out, "%s exported to %s and verified\n", english.Count(int(r.Events), "event"), safetext.Escape(args[0]))
			return nil
		},
	}
	p.flags(cmd)
	return cmd
}

// export copies a ledger to a directory that is not there or empty; it touches nothing else. A box may seal
// meanwhile and remove what only the older checkpoint needs: then the copy is not whole, and is made again.
func export(ctx context.Context, files archive.FS, key, to string) (r archive.Verified, err error) {
	s, err := stage.ForDir(to)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for range 5 {
		if err := os.RemoveAll(s.Path("copy")); err != nil {
			return r, err
		}
		if r, err = exportOnce(ctx, files, key, archive.Dir(s.Path("copy"))); err == nil {
			return r, s.PlaceDir("copy")
		}
		if ctx.Err() != nil {
			break
		}
	}
	return r, err
}

// exportOnce makes the copy, and verifies it.
func exportOnce(ctx context.Context, files archive.FS, key string, to archive.FS) (archive.Verified, error) {
	if err := archive.Export(ctx, files, key, to); err != nil {
		return archive.Verified{}, err
	}
	return archive.VerifyCopy(ctx, to, key)
}

func (a *app) keyCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "key",
		Short:   "Print the verifier's key",
		Example: `  signalbox ledger key > verifier.key`,
		Long: `Key prints the key that the ledger is checked with. Give it to whoever is to check
your proofs; it signs nothing.`,
		Args: none,
		RunE: func(*cobra.Command, []string) error {
			key, err := box.Dir(a.dir).Verifier()
			if err != nil {
				return err
			}
			if a.JSON {
				return command.WriteJSON(a.Out, map[string]string{"key": key})
			}
			fmt.Fprintln(a.Out, safetext.Escape(key))
			return nil
		},
	}
}

// errRepairsNoMember is why nothing is repaired in a cluster: what a repair makes is a single box's log, and the other boxes go on.
var errRepairsNoMember = errors.New("this box is in a cluster, and nothing here can make its log again: `signalbox cluster rejoin` has it fetch all from the others, under a new id; if `signalbox cluster init` or `signalbox cluster leave` was cut off here, call that again first")

func (a *app) repairCommand() *cobra.Command {
	var archiveDir, segments, mirror string
	cmd := &cobra.Command{
		Use:     "repair",
		Short:   "Rebuild what is damaged from what proves itself",
		Example: `  signalbox ledger repair`,
		Long: `Each event lies in a file of the log and, once it is sealed, in a bundle of the tree.
Repair holds both against the signed root, and rebuilds what is damaged from the copy
that is proven; so it is with the log's mirror (archive.mirror), if there is one. What it
replaces is kept under damaged-1 and so on in the archive's directory. What no copy
holds it can't restore; it says so and changes nothing. A log that lacks older files, as
in archives of earlier versions, gets them. The box must not run. One in a cluster
is not repaired: signalbox cluster rejoin fetches all from the others.`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.settings("")
			if err != nil {
				return err
			}
			if _, err := membership.Read(a.dir); !errors.Is(err, membership.ErrNone) {
				return cmp.Or(err, errRepairsNoMember)
			}
			o := box.Options{Dir: box.Dir(a.dir), Archive: cmp.Or(archiveDir, c.Archive.Dir), Segments: cmp.Or(segments, c.Archive.Segments), Mirror: cmp.Or(mirror, c.Archive.Mirror), Patience: openPatience}
			done, found, err := box.Repair(cmd.Context(), o)
			if err != nil {
				for _, what := range done {
					fmt.Fprintln(a.Err, safetext.Escape(what))
				}
				return err
			}
			if a.JSON {
				return command.WriteJSON(a.Out, map[string]any{"repaired": append([]string{}, done...), "events": found.Events})
			}
			for _, what := range done {
				fmt.Fprintln(a.Out, safetext.Escape(what))
			}
			if len(done) == 0 {
				fmt.Fprintln(a.Out, "nothing had to be repaired")
			}
			fmt.Fprintf(a.Out, "the ledger is whole: %s\n", english.Count(int(found.Events), "event"))
			return nil
		},
	}
	cmd.Flags().StringVar(&archiveDir, "archive", "", "the archive's `DIRECTORY` (default: that of the box)")
	cmd.Flags().StringVar(&segments, "segments", "", "the `DIRECTORY` of the archive's log (default: that of the box)")
	cmd.Flags().StringVar(&mirror, "mirror", "", "the `DIRECTORY` of the log's mirror (default: that of the settings)")
	return cmd
}
