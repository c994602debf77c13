package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/stats"
	"github.com/signalbox-dev/signalbox/ledger"
	"github.com/signalbox-dev/signalbox/safetext"
)

func (a *app) statsCommand() *cobra.Command {
	var run, since string
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Count near misses, false claims, rework and cost, by agent and model",
		Long: `Stats counts what the ledger says of the agents that the box has started, with a row for each agent and model:

  TURNS         turns that have ended, however they did
  NEAR MISS     what was nearly a signal, in output without one that counts, or in another's name
  FALSE CLAIM   claims that work is done, which the gate refused
  REWORK        how often its work was sent back, by the gate, a reviewer or you
  COST USD      as the agents' programs say; unknown if none did, and with a + if some did not

The model is as the program tells it at the end of a session: unknown if it does not, and while the session goes on. It does
not need a box to be running. What agents do that you started by hand is not counted.

With --json it is an array of objects with agent, model, turns, near_misses, false_claims, rework, cost_usd (null if it
is not known), and sessions_without_cost: how many had turns, and are not in cost_usd.`,
		Example: `  signalbox stats
  signalbox stats --since 168h
  signalbox stats --run latest --json`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, err := sinceTime(since, time.Now())
			if err != nil {
				return a.UsageError("--since %s: %w", safetext.ShellWord(since), err)
			}
			rows, err := look(cmd.Context(), a, func(c *api.Client) ([]stats.Row, error) { return countAgents(cmd.Context(), c, run, from) })
			if err != nil {
				return a.badValue(err)
			}
			if a.JSON {
				return command.WriteJSON(a.Out, rows)
			}
			a.statsTable(rows)
			return nil
		},
	}
	cmd.Flags().StringVar(&run, "run", "", "only of this run (`ID`), or of the latest one")
	cmd.Flags().StringVar(&since, "since", "", "only what happened since this `TIME`: how long ago, such as 168h, or a day or moment such as 2026-11-18 or 2026-11-18T08:00:00Z")
	return cmd
}

// sinceTime reads a time: how long before now, a day in the local time zone, or a moment; the zero time if there is none.
func sinceTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	if day, err := time.ParseInLocation(time.DateOnly, text, time.Local); err == nil {
		return day, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	return time.Time{}, fmt.Errorf("give how long ago, such as 168h, a day such as 2026-11-18, or a moment such as 2026-11-18T08:00:00Z")
}

// countAgents counts what the ledger says of agents: of one run, or of all if it is empty.
func countAgents(ctx context.Context, c *api.Client, run string, since time.Time) ([]stats.Row, error) {
	table := stats.Table{Since: since}
	if run != "" {
		r, err := c.Run(ctx, run)
		if err != nil {
			return nil, err
		}
		table.Run = r.Subject
	}
	var fold stats.Fold
	err := c.Events(ctx, "", 0, false, func(e api.Event) error {
		stored, err := ledger.Decode(e.Event)
		if err == nil {
			err = fold.Next(stored, func(f stats.Fact) { table.See(stored.Time, f) })
		}
		if err != nil {
			return fmt.Errorf("event %d: %w", e.Sequence, err)
		}
		return nil
	})
	return table.Rows(), err
}

// statsTable shows rows to a person.
func (a *app) statsTable(rows []stats.Row) {
	if len(rows) == 0 {
		fmt.Fprintln(a.Err, "no turns of agents")
		return
	}
	t := command.NewTable("AGENT", "MODEL", ">TURNS", ">NEAR MISS", ">FALSE CLAIM", ">REWORK", ">COST USD")
	partly := false
	for _, r := range rows {
		partly = partly || r.CostUSD != nil && r.Uncosted > 0
		t.Add(safetext.Escape(r.Agent), safetext.Escape(r.Model), fmt.Sprint(r.Turns), fmt.Sprint(r.NearMisses), fmt.Sprint(r.FalseClaims), fmt.Sprint(r.Rework), r.CostWords())
	}
	t.Write(a.Out, a.Columns())
	if partly {
		fmt.Fprintln(a.Err, "+ some sessions did not say what they cost")
	}
}
