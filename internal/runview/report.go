package runview

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed" // the report and its style
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/evidence"
	"github.com/signalbox-dev/signalbox/internal/history"
	"github.com/signalbox-dev/signalbox/internal/picture"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Story is all that a report tells of a run.
type Story struct {
	Run     api.Run
	History history.Fold
	Cards   []evidence.Card     // of its tasks, in the plan's order
	Events  []evidence.Happened // of the run and its tasks
	Proof   evidence.Proof      // of the events
	Key     string              // that it was checked with
	Merges  map[uint64]ledger.Proof
}

// Ask asks a box for a run's story, without what is proven of it.
func Ask(ctx context.Context, c *api.Client, id string) (s Story, err error) {
	if s.Run, err = c.Run(ctx, id); err != nil {
		return s, err
	}
	folds := map[string]*evidence.Fold{} // by subject
	items := make([]api.Work, len(s.Run.Tasks))
	subjects := map[string]string{} // by the task's id
	for i, t := range s.Run.Tasks {
		if items[i], err = c.Work(ctx, t.Work); err != nil {
			return s, err
		}
		folds[items[i].Subject], subjects[t.ID] = evidence.NewFold(items[i].Subject, t.ID), items[i].Subject
	}
	take := func(stored api.Event) error {
		e, err := ledger.Decode(stored.Event)
		if err != nil {
			return fmt.Errorf("event %d: %w", stored.Sequence, err)
		}
		s.Events = append(s.Events, evidence.Happened{Sequence: stored.Sequence, Event: e})
		if err := s.History.Next(stored.Sequence, e); err != nil {
			return err
		}
		for _, f := range concerned(e, folds, subjects) {
			if err := f.Take(s.Events[len(s.Events)-1]); err != nil {
				return err
			}
		}
		return nil
	}
	for after, more := uint64(0), true; more; more = after > 0 {
		if after, err = c.RunEvents(ctx, s.Run.ID, after, api.PageSize, take); err != nil {
			return s, err
		}
	}
	for _, w := range items {
		card := folds[w.Subject].Card(w)
		card.In(s.Run)
		s.Cards = append(s.Cards, card)
	}
	return s, nil
}

// concerned returns the cards that an event may be about: of a task that it names, or all.
func concerned(e ledger.Event, folds map[string]*evidence.Fold, subjects map[string]string) (all []*evidence.Fold) {
	if f := folds[e.Subject]; f != nil {
		return []*evidence.Fold{f}
	}
	c := evidence.ConcernsOf(e)
	named := folds[subjects[cmp.Or(c.Task, c.TaskID)]]
	var own *evidence.Fold // whose session it is of
	if subject, _, err := work.ParseSession(e.Session); err == nil {
		own = folds[subject]
	}
	switch {
	case e.Type == delivery.PlanAmended, e.Type == delivery.QuestionAnswered, named == nil && own == nil:
		for _, f := range folds {
			all = append(all, f)
		}
		return all
	case named == nil, named == own:
		return []*evidence.Fold{own}
	case own == nil:
		return []*evidence.Fold{named}
	}
	return []*evidence.Fold{named, own}
}

// Decision is a word by which a task went on, or did not.
type Decision struct {
	At         time.Time
	Task, Href string
	Who, Word  string
}

// taskPart is a task in the report.
type taskPart struct {
	evidence.Card
	Anchor, ID, State, Look string
	More                    string // of its state
	Found                   []foundPart
	Last                    *work.Statement // the last claim
	Proof                   string          // of the merge, as a file
}

type foundPart struct {
	evidence.Finding
	Says, Printed string
}

// reportPage is what the template gets.
type reportPage struct {
	Story
	Policy    string
	Style     template.CSS
	Plan      *Plan
	Time      *Time
	Cost      *Cost
	Tasks     []taskPart
	Decisions []Decision
	Done      int
	Took      string
	Pending   int // events that no checkpoint covers yet
	Wrong     []evidence.Proven
	Root      string
}

var (
	//go:embed report.html
	reportText string
	//go:embed report.css
	reportStyle string
)

// HTML writes the report of a story as one page. The same story gives the same bytes: of a run that goes on, it is told up to its
// last event.
func HTML(w io.Writer, s Story) error {
	page, err := Parse(template.New("report"))
	if err == nil {
		page, err = page.Parse(reportText)
	}
	if err != nil {
		return err
	}
	style := reportStyle + string(picture.Style)
	sum := sha256.Sum256([]byte(style))
	p := reportPage{
		Story: s, Style: template.CSS(style), //nolint:gosec // it is the program's own
		Policy: "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'",
	}
	anchors := map[string]string{}
	for i, t := range s.Run.Tasks {
		anchors[t.ID] = fmt.Sprint("task-", i+1)
	}
	now := s.Run.StartedAt
	for _, e := range s.Events {
		if e.Time.After(now) {
			now = e.Time
		}
	}
	p.Plan = PlanOf(s.Run, func(t api.Task) string { return "#" + anchors[t.ID] })
	p.Time, p.Cost = TimeOf(s.Run, &s.History, now), CostOf(s.Run, &s.History, func(t api.Task) string { return "#" + anchors[t.ID] })
	end := s.Run.FinishedAt
	if end.IsZero() {
		end = now
	}
	p.Took = Lasted(end.Sub(s.Run.StartedAt))
	if err := p.tell(anchors); err != nil {
		return err
	}
	p.prove()
	var b bytes.Buffer
	if err := page.Execute(&b, p); err != nil {
		return fmt.Errorf("the report can't be made: %w", err)
	}
	if _, err := b.WriteTo(w); err != nil {
		return fmt.Errorf("the report can't be written: %w", err)
	}
	return nil
}

// tell makes the parts on tasks, and gathers who decided what.
func (p *reportPage) tell(anchors map[string]string) error {
	for i, card := range p.Cards {
		t := p.Run.Tasks[i]
		part := taskPart{Card: card, Anchor: anchors[t.ID], ID: t.ID}
		part.State, part.Look, _ = stateOf(t, false)
		if card.State == evidence.StateCancelled {
			part.State, part.Look = "given up", "bad" // also if the run was ended
			part.More = strings.TrimLeft(strings.TrimPrefix(card.StateWords(), part.State), ", ")
		} else {
			_, part.More, _ = strings.Cut(card.StateWords(), ", ")
		}
		if t.Phase == agentsig.PhaseCompleted {
			p.Done++
		}
		for _, f := range card.Findings {
			says, printed := evidence.FindingWords(f.Statement)
			part.Found = append(part.Found, foundPart{f, says, printed})
		}
		if n := len(card.Claims); n > 0 {
			part.Last = &card.Claims[n-1]
		}
		if m := card.Merge; m != nil {
			if proof, ok := p.Merges[m.Sequence]; ok {
				data, err := json.Marshal(proof)
				if err != nil {
					return err
				}
				part.Proof = string(data)
			}
		}
		p.Tasks = append(p.Tasks, part)
		p.Decisions = append(p.Decisions, decisions(card, t.ID, "#"+part.Anchor)...)
	}
	p.Decisions = append(p.Decisions, ofRun(p.Events)...)
	slices.SortStableFunc(p.Decisions, func(a, b Decision) int { return a.At.Compare(b.At) })
	return nil
}

// saidWords is a signal as people write it.
func saidWords(k agentsig.Kind) string {
	if k == agentsig.KindDivineClarification {
		return "asked a person"
	}
	return strings.ReplaceAll(string(k), "_", " ")
}

// decisions are who approved, refused, answered, gave up, took and merged what.
func decisions(c evidence.Card, task, href string) (all []Decision) {
	say := func(at time.Time, who, word string) { all = append(all, Decision{at, task, href, who, word}) }
	for _, a := range c.Attempts {
		switch {
		case a.Said != "" && a.Role != string(agentsig.RoleDeveloper):
			say(cmp.Or(a.Ended, a.Began), fmt.Sprintf("%s: %s", a.Role, a.By()), cmp.Or(a.VerdictWords(), saidWords(a.Said)))
		case a.Role == "" && a.Detail != "":
			say(a.Began, a.Who, a.Words())
		}
	}
	for _, g := range c.Gates {
		say(g.At, g.By, g.Words())
	}
	for _, q := range c.Questions {
		if q.By != "" && !slices.ContainsFunc(c.Decisions, func(d evidence.Decision) bool { return d.Question == q.ID }) {
			say(q.AnsweredAt, q.By, "answered "+q.ID+": "+q.AnswerWords())
		}
	}
	for _, d := range c.Decisions {
		if d.What != evidence.CancelledRun { // which is told once
			say(d.At, d.By, d.Words())
		}
	}
	if m := c.Merge; m != nil {
		if m.Approved != nil {
			say(m.Approved.At, m.Approved.By, "approved the merge")
		}
		say(m.At, m.By, "merged "+m.Words())
	}
	return all
}

// ofRun are what people decided on the whole run.
func ofRun(events []evidence.Happened) (all []Decision) {
	for _, e := range events {
		switch e.Type {
		case delivery.RunPaused, delivery.RunResumed, delivery.RunCancelled:
			all = append(all, Decision{At: e.Time, Who: e.Actor, Word: delivery.Sentence(e.Event)})
		}
	}
	return all
}

// prove says what is proven, and what is not.
func (p *reportPage) prove() {
	for _, e := range p.Proof.Events {
		switch {
		case e.Pending:
			p.Pending++
		case !e.Holds:
			p.Wrong = append(p.Wrong, e)
		}
	}
	if head, err := ledger.OpenCheckpoint([]byte(p.Proof.Checkpoint), p.Key); err == nil {
		p.Root = head.Root.String()
	}
}
