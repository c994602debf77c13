package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/tui"
	"github.com/signalbox-dev/signalbox/safetext"
)

// status is a run, and the box that it is in.
type status struct {
	*api.Run                  // nil if there is none
	Box      api.BoxStatus    `json:"box"`
	Ledger   api.LedgerStatus `json:"ledger"`
}

func (a *app) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status [RUN]",
		Short: "Show how a run is, and the box",
		Long: `Status shows a run as it is now: the latest, or the one that is named. Below it stands whether the
box can write, how many events are in the ledger, and how many of them were verified since when. It does
not need a box to be running.

With --json it prints the run, if there is one: unprotected says in words which of its verdicts could be
forged, and each task has a protection, held or none. Beside it are box (writable, and the reason if it is
not) and ledger (events, scrubbed, scrubbed_since).`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			running := a.running()
			s, err := operate(cmd.Context(), a, func(c *api.Client) (status, error) { return statusOf(cmd.Context(), c, args) })
			if err != nil {
				return err
			}
			if a.JSON {
				return command.WriteJSON(a.Out, s)
			}
			a.showRun(s.Run, running)
			a.showBox(s.Box, s.Ledger)
			return nil
		},
	}
}

func statusOf(ctx context.Context, c *api.Client, args []string) (status, error) {
	r, err := latest(ctx, c, args)
	if err != nil && !errors.Is(err, errNoRuns) {
		return status{}, err
	}
	s := status{Run: &r}
	if err != nil {
		s.Run = nil
	}
	b, err := c.Status(ctx)
	s.Box, s.Ledger = b.Box, b.Ledger
	return s, err
}

func (a *app) showRun(r *api.Run, running bool) {
	if r == nil {
		fmt.Fprintln(a.Out, errNoRuns)
		return
	}
	o := a.frame()
	o.Height = 1000
	for _, line := range tui.Frame(*r, o) {
		fmt.Fprintln(a.Out, line)
	}
	if r.State == api.RunStopped || r.State == api.RunEnding && !running {
		fmt.Fprintln(a.Out, "\nno box is running: `signalbox run` goes on")
	}
}

func (a *app) showBox(b api.BoxStatus, l api.LedgerStatus) {
	can := "the box can write"
	if !b.Writable {
		can = a.Paint(command.Red, safetext.EscapeLines(b.Reason))
	}
	verified := "none was verified yet"
	if !l.ScrubbedSince.IsZero() {
		verified = fmt.Sprintf("%d verified since %s", l.Scrubbed, l.ScrubbedSince.Local().Format("2006-01-02 15:04:05"))
	}
	fmt.Fprintf(a.Out, "\n%s; %s in the ledger, %s\n", can, count(int(l.Events), "event"), verified)
}
