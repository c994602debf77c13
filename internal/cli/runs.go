package cli

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/membership"
	"github.com/signalbox-dev/signalbox/safetext"
)

// listedRun is a run in a list.
type listedRun struct {
	ID        string           `json:"id"`
	Title     string           `json:"title"` // of the plan
	State     api.RunState     `json:"state"`
	Outcome   delivery.Outcome `json:"outcome,omitempty"`
	Home      string           `json:"home,omitempty"` // the box in whose directory it was started, of those in a cluster
	Tasks     int              `json:"tasks"`
	Done      int              `json:"done"`                // of the tasks
	NoChange  int              `json:"no_change,omitempty"` // of those: without a change
	Cost      float64          `json:"cost"`                // in dollars, as the agents' programs say
	StartedAt time.Time        `json:"started_at,omitzero"`
}

func listed(r api.Run) listedRun {
	l := listedRun{ID: r.ID, Title: r.Title, State: r.State, Outcome: r.Outcome, Home: r.Home, Tasks: len(r.Tasks), Cost: r.Usage.CostUSD, StartedAt: r.StartedAt}
	for _, t := range r.Tasks {
		if t.Phase == agentsig.PhaseCompleted {
			l.Done++
		}
		if t.NoChange != "" {
			l.NoChange++
		}
	}
	return l
}

func (a *app) runsCommand() *cobra.Command {
	var p part
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List the runs",
		Long: `Runs lists the runs of plans: id, state, when each was started, how many of its tasks are done, and the
plan's title; in a cluster also the box in whose directory it was started, its home. It does not need a box to be running.

` + listHelp + `

With --json it is an array of objects with id, title, state, outcome, home (in a cluster), tasks, done, cost, started_at,
and no_change if some of those done were completed without a change: how many.`,
		Example: `  signalbox runs
  signalbox runs --after R20 --limit 10`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.checkLimit(cmd, p.Limit); err != nil {
				return err
			}
			return showList(a, cmd, p, func(c *api.Client, from api.From) (api.Page[listedRun], error) {
				page, err := c.Runs(cmd.Context(), false, from)
				runs := api.Page[listedRun]{Next: page.Next}
				for _, r := range page.Items {
					runs.Items = append(runs.Items, listed(r))
				}
				return runs, err
			}, a.runRows(p))
		},
	}
	p.flags(cmd, "run")
	return cmd
}

// runRows shows runs to a person, page by page.
func (a *app) runRows(p part) func([]listedRun) error {
	begun := false
	_, err := membership.Read(a.dir)
	clustered := err == nil
	return func(runs []listedRun) error {
		if len(runs) == 0 && !begun {
			a.sayNone("runs", p)
			return nil
		}
		headings := []string{"RUN", "STATE", "STARTED", "DONE", "PLAN"}
		if clustered {
			headings = slices.Insert(headings, 1, "HOME")
		}
		t := command.NewTable(headings...)
		for _, r := range runs {
			state := string(r.State)
			if r.Outcome != "" {
				state = string(r.Outcome)
			}
			if r.Outcome == delivery.Partial && r.Done == 0 {
				state = string(delivery.Cancelled)
			}
			done := fmt.Sprintf("%d of %d", r.Done, r.Tasks)
			if r.NoChange > 0 {
				done += fmt.Sprintf(", %d no change", r.NoChange)
			}
			if dropped := r.Tasks - r.Done; r.Outcome == delivery.Completed && dropped > 0 {
				done += fmt.Sprintf(", %d dropped", dropped)
			}
			cells := []string{r.ID, state, r.StartedAt.Local().Format("2006-01-02 15:04"), done, shorten(r.Title)}
			if clustered {
				cells = slices.Insert(cells, 1, safetext.Escape(r.Home))
			}
			t.Add(cells...)
		}
		a.page(t, &begun)
		return nil
	}
}
