package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/evidence"
	"github.com/signalbox-dev/signalbox/internal/runview"
	"github.com/signalbox-dev/signalbox/ledger"
	"github.com/signalbox-dev/signalbox/safetext"
)

func (a *app) reportCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "report RUN -o FILE",
		Short: "Write all of a run to one HTML file",
		Long: `Report writes one file for a browser, a mail or an archive: the run's tasks, its plan as a graph, its timeline, what it cost by role
and agent, who decided what, and for each task the evidence: who worked on it, what they claim, what the gate said, what was
found, what was asked and answered, the merge and its proof. It loads nothing from anywhere and has no script. What agents said is
text in it. The last part says whether each event that it rests on is in the tree which the ledger's key has signed.

RUN is a run's id, or latest. The file is replaced if it is there; - prints it. The same ledger gives the same file. It does not
need a box to be running. With --json it prints file, run, tasks, events, pending (not signed yet) and wrong (not proven). If something
can't be proven, the exit code is 1.`,
		Example: `  signalbox report R1 -o run.html
  signalbox report latest -o - | gzip > run.html.gz`,
		Args: one("a run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.JSON && file == "-" {
				return a.UsageError("-o - goes without --json: both would be printed")
			}
			return a.report(cmd.Context(), args[0], file)
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "the `FILE` to write; - prints it")
	require(cmd, "output")
	return cmd
}

// report writes the report of a run.
func (a *app) report(ctx context.Context, run, file string) error {
	s, err := look(ctx, a, func(c *api.Client) (runview.Story, error) { return runview.Ask(ctx, c, run) })
	if err == nil {
		err = a.proveStory(ctx, &s)
	}
	if err != nil {
		return a.badValue(err)
	}
	var page bytes.Buffer
	if err := runview.HTML(&page, s); err != nil {
		return err
	}
	if file == "-" {
		_, err = page.WriteTo(a.Out)
	} else {
		err = writeText(ctx, file, os.O_TRUNC, page.Bytes(), nil)
	}
	if err != nil {
		return err
	}
	pending, wrong := 0, 0
	for _, e := range s.Proof.Events {
		switch {
		case e.Pending:
			pending++
		case !e.Holds:
			wrong++
		}
	}
	switch {
	case a.JSON:
		err = command.WriteJSON(a.Out, map[string]any{"file": file, "run": s.Run.ID, "tasks": len(s.Run.Tasks), "events": len(s.Events), "pending": pending, "wrong": wrong})
	case file != "-":
		_, err = fmt.Fprintf(a.Out, "%s: %s and %s: %s\n", safetext.Escape(file), safetext.Escape(s.Run.ID), english.Count(len(s.Run.Tasks), "task"), s.Proof.Words())
	}
	if err == nil && s.Proof.Wrong() {
		return errQuiet
	}
	return err
}

// proveStory holds a run's events against the ledger's files, and adds the proofs of its merges.
func (a *app) proveStory(ctx context.Context, s *runview.Story) error {
	dir, key, err := a.resolve(ctx, place{})
	if err != nil {
		return err
	}
	s.Key, s.Merges = key, map[uint64]ledger.Proof{}
	if s.Proof, err = evidence.Prove(s.Events, dir, key); err != nil {
		return err
	}
	for _, c := range s.Cards {
		if c.Merge == nil || c.Merge.Sequence > uint64(s.Proof.Size) {
			continue
		}
		proof, _, err := a.proveEvent(ctx, int64(c.Merge.Sequence), place{})
		if err != nil {
			return err
		}
		s.Merges[c.Merge.Sequence] = proof
	}
	return ctx.Err()
}
