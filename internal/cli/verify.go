package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/evidence"
	"github.com/signalbox-dev/signalbox/internal/trailer"
	"github.com/signalbox-dev/signalbox/internal/worktree"
	"github.com/signalbox-dev/signalbox/ledger"
	"github.com/signalbox-dev/signalbox/safetext"
)

// against is what a commit is held against.
type against struct{ key, archive, proof string }

func (a *app) verifyCommitCommand() *cobra.Command {
	var with against
	cmd := &cobra.Command{
		Use:   "verify COMMIT",
		Short: "Check what a merge commit proves about itself",
		Long: `Verify checks a merge that Signalbox has made, in any clone, bare ones included, and
without a box. Its trailers carry the event that allowed it, a checkpoint that was
signed after that, and the hashes between the two. With the verifier's key alone it is
proven that the key's holder allowed this merge: these two parents, this tree, for this
task of this run. Trailers that were edited, moved here from another commit, or made
with another ledger's key, are told apart.

With a copy of the ledger (--archive) it is also checked that the ledger's signed tree
still begins with the one that the commit's checkpoint signed, and that it has the
verdict, and the merge by this commit's name; and if the work's checks ran on a runner,
that their result is signed with the key by which that runner has joined. Its other events are left to ledger verify. A proof that ledger prove made (--proof) shows one of these events.

A merge that no auditor has looked at, because its run was started without one, says so (Signalbox-Audit: none), and so does
verify. With --archive it is checked that the run was started so, and that the critic was given this commit and passed it.

Take the key from somebody you trust (ledger key prints it), never from the repository
that you check. With --json a failure is an object with ok, fault and error.`,
		Example: `  signalbox verify HEAD --key verifier.key
  signalbox verify 1f2e3d4 --key "$KEY" --archive copy/`,
		Args: one("a commit"),
		RunE: func(cmd *cobra.Command, args []string) error {
			v, err := a.verifyCommit(cmd.Context(), args[0], with)
			if err != nil && a.JSON {
				kind, _ := trailer.IsFault(err)
				if err := command.WriteJSON(a.Out, map[string]any{"ok": false, "fault": kind, "error": err.Error()}); err != nil {
					return err
				}
				return errQuiet
			}
			if err != nil {
				return err
			}
			if a.JSON {
				return command.WriteJSON(a.Out, v.json())
			}
			a.sayVerified(v)
			return nil
		},
	}
	cmd.Flags().StringVar(&with.key, "key", "", "the verifier's `KEY`, or a file with it")
	cmd.Flags().StringVar(&with.archive, "archive", "", "the `DIRECTORY` of the ledger's archive, or of a copy or export of it")
	cmd.Flags().StringVar(&with.proof, "proof", "", "a `FILE` that ledger prove has written")
	return cmd
}

// verified is what was found out about a commit.
type verified struct {
	trailer.Proven
	audit, merged int64 // the sequences of events that were proven too; 0 if they were not
	auditor       string
	waived        *trailer.Waived // what was proven of a merge that nobody audited; nil if nothing was
	checks        *trailer.Checks // that it has passed on a runner; nil if there are none, or they were not looked at
	ledger        int64           // how many events the ledger has that was looked at; 0 if there was none
}

// verifyCommit holds a commit against all the evidence that there is.
func (a *app) verifyCommit(ctx context.Context, rev string, with against) (verified, error) {
	name, object, err := worktree.ReadCommit(ctx, ".", rev)
	if err != nil {
		return verified{}, err
	}
	c, err := trailer.ParseCommit(name, object)
	if err != nil {
		return verified{}, err
	}
	if with.key == "" {
		return verified{}, noKey(c)
	}
	key, err := a.verifierKey(ctx, place{key: with.key})
	if err != nil {
		return verified{}, err
	}
	v := verified{}
	if v.Proven, err = trailer.Check(c, key); err != nil {
		return verified{}, err
	}
	if with.proof != "" {
		r, err := withProof(ctx, v.Proven, with.proof, key)
		if err != nil {
			return verified{}, err
		}
		v.add(r)
	}
	if with.archive != "" {
		r, err := evidence.Against(v.Proven, with.archive, key)
		if err != nil {
			return verified{}, err
		}
		v.add(r)
		v.ledger = r.Size
	}
	return v, nil
}

// noKey says what a commit claims, and that nothing of it is proven.
func noKey(c trailer.Commit) error {
	t, err := trailer.Parse(c.Message)
	if err != nil {
		return err
	}
	return fmt.Errorf("nothing is proven without a key: the trailers say that event %d of %s allowed the merge of %s (run %s), and anybody can write that; "+
		"give --key, which `signalbox ledger key` prints where the ledger is", t.Event, safetext.Escape(t.Origin()), safetext.Escape(t.Task), safetext.Escape(t.Run))
}

func (v *verified) add(r trailer.Recorded) {
	if r.Audit != nil {
		v.audit, v.auditor = int64(v.Allowed.Verdict), r.Audit.Actor
		if r.Audit.Type == delivery.RepairReviewed { // which the box records, and a session said
			v.auditor = "the session " + r.Audit.Session
		}
	}
	if r.Waived != nil && (v.waived == nil || r.Waived.Why != "") {
		v.waived = r.Waived
	}
	if r.Checks != nil {
		v.checks = r.Checks
	}
	v.merged = max(v.merged, r.Merged)
}

func withProof(ctx context.Context, p trailer.Proven, file, key string) (trailer.Recorded, error) {
	data, err := readFile(ctx, file, "name one that `signalbox ledger prove` has written")
	if err != nil {
		return trailer.Recorded{}, err
	}
	var proof ledger.Proof
	if err := json.Unmarshal(data, &proof); err != nil {
		return trailer.Recorded{}, fmt.Errorf("%s is not a proof: %w", safetext.Escape(file), err)
	}
	return p.With(proof, key)
}

// unproven says what is not proven.
func (v verified) unproven() []string {
	var all []string
	switch {
	case v.Allowed.Unaudited && (v.waived == nil || v.waived.Why == ""):
		all = append(all, "that its run was started without an auditor, and that the critic has passed this: give --archive")
	case v.Allowed.Unaudited:
	case v.audit == 0:
		all = append(all, fmt.Sprintf("what the verdict said, which is event %d: give --archive, or --proof with a proof of it", v.Allowed.Verdict))
	}
	if v.merged == 0 {
		all = append(all, "that this is the commit's name in the ledger: one with the same parents and files, and another message, would prove the same")
	}
	if v.ledger == 0 {
		all = append(all, "that the ledger still is what was signed: give --archive")
	} else {
		all = append(all, notRead)
	}
	return append(all,
		"author, dates, and what the message says besides",
		"that the files in this clone are those of the tree: git fsck tells",
		"that what the agents said is true, or that nobody else has the key")
}

func (v verified) json() map[string]any {
	out := map[string]any{
		"ok": true, "commit": v.Commit.Name, "task": v.Allowed.Task, "run": v.Allowed.Run, "event": v.Trailers.Event, "time": v.Event.Time,
		"merges": v.Allowed.Commit, "onto": v.Allowed.Onto, "tree": v.Allowed.Tree, "verdict": v.Allowed.Verdict,
		"origin": v.Checkpoint.Origin, "size": v.Checkpoint.Size, "root": v.Checkpoint.Root, "not_proven": v.unproven(),
	}
	if v.audit != 0 {
		out["auditor"] = v.auditor
	}
	if v.Allowed.Unaudited {
		out["audited"] = false
	}
	if w := v.waived; w != nil && w.Why != "" {
		out["unaudited"], out["critic"] = w.Why, w.Critic
	}
	if c := v.checks; c != nil {
		out["checks"] = map[string]any{"event": c.Event, "runner": c.Runner, "signed": c.Joined != 0}
	}
	if v.merged != 0 {
		out["merged"] = v.merged
	}
	if v.ledger != 0 {
		out["ledger_size"] = v.ledger
	}
	return out
}

func (a *app) sayVerified(v verified) {
	fmt.Fprintf(a.Out, "%s: %.12s is the merge of %s (run %s) that event %d allowed\n", a.Paint(command.Green, "proven"),
		v.Commit.Name, safetext.Escape(v.Allowed.Task), safetext.Escape(v.Allowed.Run), v.Trailers.Event)
	rows := [][2]string{
		{"signed by", fmt.Sprintf("%s, over %s", safetext.Escape(v.Checkpoint.Origin), english.Count(int(v.Checkpoint.Size), "event"))},
		{"merges", fmt.Sprintf("%.12s onto %.12s, which the box allowed %s of event %d", v.Allowed.Commit, v.Allowed.Onto, v.grounds(), v.Allowed.Verdict)},
		{"files", fmt.Sprintf("tree %.12s, the result that was allowed", v.Allowed.Tree)},
		{"allowed", stamp(v.Event.Time)},
	}
	if v.audit != 0 {
		rows = append(rows, [2]string{"verdict", fmt.Sprintf("event %d, passed by %s", v.audit, safetext.Escape(v.auditor))})
	}
	if v.Allowed.Unaudited {
		rows = append(rows, [2]string{"not audited", v.unaudited()})
	}
	if c := v.checks; c != nil {
		rows = append(rows, [2]string{"checks", checkedOn(c)})
	}
	if v.merged != 0 {
		rows = append(rows, [2]string{"recorded", fmt.Sprintf("event %d has this commit's name", v.merged)})
	}
	if v.ledger != 0 {
		rows = append(rows, [2]string{"ledger", fmt.Sprintf("its signed tree of %s begins with the %d that were signed then", english.Count(int(v.ledger), "event"), v.Checkpoint.Size)})
	}
	a.rows(rows)
	a.sayNotProven(v.unproven())
}

// checkedOn says which runner's word it is that the checks have passed.
func checkedOn(c *trailer.Checks) string {
	text := fmt.Sprintf("event %d, passed on the runner %s", c.Event, safetext.Escape(c.Runner))
	if c.Joined == 0 {
		return text + ", which has not signed it"
	}
	return text + fmt.Sprintf(", signed with its key, which it joined with by event %d", c.Joined)
}

// grounds says what the event is that the merge was allowed after.
func (v verified) grounds() string {
	if v.Allowed.Unaudited {
		return "without an audit, by the word"
	}
	return "after the verdict"
}

// unaudited says why no auditor has looked at the merge, as far as that is proven.
func (v verified) unaudited() string {
	if w := v.waived; w != nil && w.Why != "" {
		return fmt.Sprintf("its run was started without an auditor (event %d): %s; the critic %s passed this commit (event %d)", w.Start, w.Why.Reason(), safetext.Escape(w.Critic), w.Review)
	}
	return "no auditor has looked at it: its run was started without one, says the box"
}

func (a *app) sayNotProven(all []string) {
	fmt.Fprintln(a.Out, "\nnot proven by this:")
	for _, what := range all {
		fmt.Fprintf(a.Out, "- %s\n", what)
	}
}
