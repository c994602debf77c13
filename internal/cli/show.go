package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/trailer"
	"github.com/signalbox-dev/signalbox/ledger"
	"github.com/signalbox-dev/signalbox/safetext"
)

func (a *app) showCommand() *cobra.Command {
	var markdown, all bool
	var format string
	cmd := &cobra.Command{
		Use:   "show TASK",
		Short: "Show why to believe that a task is done",
		Long: `Show prints the evidence on a task, on one screen: what was asked, who tried it, for how long and at what cost; what
the last one who worked on it claims, which nobody has checked; what the gate said of which commit, with the exit codes of its
checks; what was found, and the commit that answered it; questions and who answered them; the merge. All of it is from the
ledger: the last line says whether each event that it rests on is proven to be in the tree that the ledger's key has signed,
and whether the merge commit, if it is in the repository that you are in, proves itself.

Where a screen has no room for all of it, older entries are left out; what the checks printed is shown as it is, its last
lines. Elsewhere than on a terminal a line is as long as it has to be. With --all nothing is left out or cut. With --markdown it is the text of a pull request, with agents' words in
blocks in which they name and close nothing. It does not need a box to be running.

With --json it prints task, title, state, branch and box_checks (of work by hand, if it has a branch and the box checks that), asked, attempts, claims, gates, findings, questions, merge (null if there is
none), usage and proof. If something of the proof is wrong, the exit code is 1.

` + agentHelp + ` It has how the task is and what to do next, and not the proof.`,
		Example: `  signalbox show T-2
  signalbox show R1.T-2 --all
  signalbox show T-2 --markdown | gh pr create --title T-2 --body-file -`,
		Args: one("a task or work item"),
		RunE: func(cmd *cobra.Command, args []string) error {
			agent, err := a.forAgent(format)
			switch {
			case err != nil:
				return err
			case markdown && a.JSON:
				return a.UsageError("--markdown goes without --json")
			case agent && (markdown || all):
				return a.UsageError("--format agent goes without --markdown and --all")
			case agent:
				reply, err := a.showForAgent(cmd.Context(), args[0], time.Now())
				return a.tellAgent(reply, err)
			}
			return a.show(cmd.Context(), args[0], markdown, all)
		},
	}
	cmd.Flags().BoolVar(&markdown, "markdown", false, "as the text of a pull request")
	cmd.Flags().BoolVar(&all, "all", false, "leave nothing out, and cut nothing")
	formatFlag(cmd, &format)
	return cmd
}

// show prints the evidence on a task.
func (a *app) show(ctx context.Context, name string, markdown, all bool) error {
	c, err := look(ctx, a, func(c *api.Client) (card, error) { return askCard(ctx, c, name) })
	if err != nil {
		return err
	}
	if c.Proof, err = a.prove(ctx, c); err != nil {
		return err
	}
	_, rows := a.Size()
	switch {
	case a.JSON:
		err = command.WriteJSON(a.Out, c)
	case markdown:
		_, err = fmt.Fprint(a.Out, c.markdown(all))
	default:
		_, err = fmt.Fprint(a.Out, c.text(a.Columns(), rows, all))
	}
	if err == nil && c.Proof.wrong() {
		return errQuiet
	}
	return err
}

// askCard asks a box for the evidence on a task.
func askCard(ctx context.Context, c *api.Client, name string) (card, error) {
	w, err := workNamed(ctx, c, name)
	if err != nil {
		return card{}, err
	}
	r, err := runWith(ctx, c, w.ID)
	if err != nil {
		return card{}, err
	}
	names, task := []string{w.ID}, ""
	if r != nil {
		names = append(names, r.ID)
		task = strings.TrimPrefix(w.ID, r.ID+".")
	}
	var events []happened
	for _, name := range names {
		err := c.Events(ctx, name, 0, false, func(stored api.Event) error {
			e, err := ledger.Decode(stored.Event)
			events = append(events, happened{stored.Sequence, e})
			return err
		})
		if err != nil {
			return card{}, err
		}
	}
	slices.SortFunc(events, func(a, b happened) int { return cmp.Compare(a.sequence, b.sequence) })
	made, err := cardOf(w, task, events)
	if r != nil && slices.ContainsFunc(r.Tasks, func(t api.Task) bool { return t.Work == w.ID && isCancelled(*r, t) }) {
		made.State = "cancelled"
	}
	made.BoxChecks = w.BoxChecks
	return made, err
}

// isCancelled reports whether a run's task will not be worked on any more because somebody wants that.
func isCancelled(r api.Run, t api.Task) bool {
	return t.Phase != agentsig.PhaseCompleted && (t.Why == delivery.WaitCancelled || r.Outcome == delivery.Cancelled)
}

// cardProof is what is proven of a card.
type cardProof struct {
	Checkpoint string         `json:"checkpoint"` // as it was signed
	Origin     string         `json:"origin"`
	Size       int64          `json:"size"`
	Events     []provenEvent  `json:"events"`          // that the card rests on
	Merge      map[string]any `json:"merge,omitempty"` // what verify says of the merge, if there is one
	fault      bool           // the merge commit says something else than the ledger
}

// provenEvent says whether an event is in the tree that was signed.
type provenEvent struct {
	Sequence uint64 `json:"sequence"`
	Index    int64  `json:"index"`
	Holds    bool   `json:"holds"`
	Pending  bool   `json:"pending,omitempty"` // it was recorded after the checkpoint was signed
	Problem  string `json:"problem,omitempty"`
}

func (p cardProof) wrong() bool {
	return p.fault || slices.ContainsFunc(p.Events, func(e provenEvent) bool { return !e.Holds && !e.Pending })
}

// prove holds a card against the ledger's files. A box may seal meanwhile, and remove what only the older checkpoint
// needs: then they are looked at again.
func (a *app) prove(ctx context.Context, c card) (cardProof, error) {
	dir, key, err := a.resolve(ctx, place{})
	if err != nil {
		return cardProof{}, err
	}
	var p cardProof
	for range 5 {
		var f *ledger.Files
		if f, err = ledger.OpenFiles(archive.Readable(archive.Dir(dir)), key); err != nil {
			return cardProof{}, fmt.Errorf("the ledger in %s: %w", safetext.Escape(dir), err)
		}
		if p, err = proofOf(c.rests, f, key); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if c.Merge == nil {
		return p, nil
	}
	v, err := a.verifyCommit(ctx, c.Merge.Commit, evidence{key: key, archive: dir})
	if err == nil {
		p.Merge = v.json()
		return p, nil
	}
	kind, isFault := trailer.IsFault(err)
	p.Merge = map[string]any{"ok": false, "fault": kind, "error": err.Error()}
	p.fault = isFault && kind != trailer.None // somebody else may have made the merge
	return p, ctx.Err()
}

// proofOf proves each event. If a file was not there, that is the error too.
func proofOf(events []happened, f *ledger.Files, key string) (cardProof, error) {
	p := cardProof{Checkpoint: string(f.Signed()), Origin: f.Checkpoint.Origin, Size: f.Checkpoint.Size, Events: []provenEvent{}}
	var gone error
	for _, e := range events {
		shown := provenEvent{Sequence: e.sequence, Index: int64(e.sequence) - 1}
		if shown.Pending = shown.Index >= f.Checkpoint.Size; !shown.Pending {
			err := holds(e, f, key)
			if shown.Holds = err == nil; err != nil {
				shown.Problem = err.Error()
			}
			if errors.Is(err, fs.ErrNotExist) {
				gone = err
			}
		}
		p.Events = append(p.Events, shown)
	}
	return p, gone
}

// holds says what is wrong with the proof of an event: that it is in the ledger, as it was shown.
func holds(e happened, f *ledger.Files, key string) error {
	proof, err := f.Prove(int64(e.sequence) - 1)
	if err != nil {
		return err
	}
	if _, _, err := proof.Verify(key); err != nil {
		return err
	}
	if shown, err := e.Encode(); err != nil || !bytes.Equal(shown, proof.Event) {
		return errors.Join(errors.New("the ledger's files have another event there"), err)
	}
	return nil
}
