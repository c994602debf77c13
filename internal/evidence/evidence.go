// Package evidence makes the evidence card of a task out of the ledger: what was asked, who tried it, what was claimed and found, what
// the gate said, who answered and approved, the merge, and what of all that is proven. The command line and the page show the same card.
package evidence

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Happened is an event, and where it is in the ledger.
type Happened struct {
	Sequence uint64
	ledger.Event
}

// Concerns are parts of payloads by which events are told apart.
type Concerns struct {
	ID        string         `json:"id"`
	Task      string         `json:"task"`
	TaskID    string         `json:"task_id"`
	NextPhase agentsig.Phase `json:"next_phase"`
}

// ConcernsOf reads them. Of a payload that can't be read nothing is known.
func ConcernsOf(e ledger.Event) (c Concerns) {
	_ = json.Unmarshal(e.Payload, &c)
	return c
}

// About tells which events of a run are about one of its tasks, or else about no single task.
type About struct {
	Subject string // of the item or the run
	Run     bool   // it is a run's
	Task    string // the item's id in its run; empty if it is in none

	questions map[string]bool // that were asked about the task
}

// NewAbout returns one for an item.
func NewAbout(subject, task string) About {
	return About{Subject: subject, Task: task, questions: map[string]bool{}}
}

// ofAll are the types of events on a run that concern all its tasks.
var ofAll = []string{delivery.RunPaused, delivery.RunResumed, delivery.RunCancelled, delivery.RunFinished}

// Has reports whether the next event on a run is about the item, or else about no single task.
func (a *About) Has(e ledger.Event, c Concerns) bool {
	session, _, err := work.ParseSession(e.Session)
	own := err == nil && session == a.Subject
	task := cmp.Or(c.Task, c.TaskID)
	switch {
	case a.Run:
		return own || task == ""
	case e.Type == delivery.QuestionAsked && task == a.Task:
		a.questions[c.ID] = true
	case e.Type == delivery.QuestionAnswered:
		return a.questions[c.ID]
	}
	return own || task != "" && task == a.Task || slices.Contains(ofAll, e.Type)
}

// ofAnother reports whether an event on a run names another one of its tasks, and no session of this one: then it is not about this one.
func (a *About) ofAnother(e ledger.Event) bool {
	c := ConcernsOf(e)
	task := cmp.Or(c.Task, c.TaskID)
	session, _, err := work.ParseSession(e.Session)
	return task != "" && task != a.Task && (err != nil || session != a.Subject) && e.Type != delivery.PlanAmended
}

// Events calls f for the events of an item or a run after a sequence and up to another one. What is asked for is held a part at a time.
func Events(ctx context.Context, c *api.Client, name string, after, upTo uint64, f func(Happened) error) error {
	for {
		over := false
		next, err := c.EventsUpTo(ctx, name, after, api.PageSize, func(stored api.Event) error {
			if over = over || stored.Sequence > upTo; over {
				return nil
			}
			e, err := ledger.Decode(stored.Event)
			if err == nil {
				err = f(Happened{stored.Sequence, e})
			}
			return err
		})
		if err != nil || next == 0 || over {
			return err
		}
		after = next
	}
}

// CatchUp takes the events of an item and of its run, if it is in one, after a sequence and up to another one.
func (f *Fold) CatchUp(ctx context.Context, c *api.Client, after, upTo uint64, names ...string) error {
	var events []Happened
	for _, name := range names {
		err := Events(ctx, c, name, after, upTo, func(e Happened) error {
			if e.Subject == f.about.Subject || !f.about.ofAnother(e.Event) {
				events = append(events, e)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	slices.SortFunc(events, func(a, b Happened) int { return cmp.Compare(a.Sequence, b.Sequence) })
	for _, e := range events {
		if err := f.Take(e); err != nil {
			return err
		}
	}
	return nil
}

// Ask asks a box for the card of an item, and of its run if it is in one; without what is proven.
func Ask(ctx context.Context, c *api.Client, w api.Work, r *api.Run) (Card, error) {
	task, names := "", []string{w.ID}
	if r != nil {
		task, names = strings.TrimPrefix(w.ID, r.ID+"."), append(names, r.ID)
	}
	f := NewFold(w.Subject, task)
	if err := f.CatchUp(ctx, c, 0, math.MaxUint64, names...); err != nil {
		return Card{}, err
	}
	card := f.Card(w)
	if r != nil {
		card.In(*r)
	}
	return card, nil
}

// In has a card say what its run says of its task: what it waits for, or that it will not be worked on any more.
func (c *Card) In(r api.Run) {
	c.Waits, c.Home = nil, r.Home
	i := slices.IndexFunc(r.Tasks, func(t api.Task) bool { return t.Work == c.Task })
	if i < 0 {
		return
	}
	if !Cancelled(r, r.Tasks[i]) {
		if w := r.Tasks[i].Waits; w.Text != "" {
			c.Waits = &w
		}
		return
	}
	c.State = StateCancelled
	for _, id := range r.Tasks[i].BlockedBy {
		if slices.ContainsFunc(r.Tasks, func(t api.Task) bool { return t.ID == id && Cancelled(r, t) }) {
			c.with = id
			return
		}
	}
}

// StateCancelled is the state of a task that was given up.
const StateCancelled = "cancelled"

// Cancelled reports whether a run's task will not be worked on any more because somebody wants that.
func Cancelled(r api.Run, t api.Task) bool {
	return t.Phase != agentsig.PhaseCompleted && (t.Why == delivery.WaitCancelled || r.Outcome == delivery.Cancelled)
}
