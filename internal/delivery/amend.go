package delivery

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Amend makes another version of a plan that of the run. Ids are those of the plan.
type Amend struct {
	Actor              string
	Plan               ledger.Blob
	Digest, Title      string
	Checks             int
	New, Changed, Gone []string
	BlockedBy          map[string][]string // of all tasks that it has
}

// Amended is the payload of PlanAmended. Ids are those of the run: a task that was completed as it was and is to be done
// otherwise is another one, and so is one that comes back.
type Amended struct {
	Plan      ledger.Blob         `json:"plan"` // as it was handed in
	Digest    string              `json:"digest"`
	Title     string              `json:"title"`
	Checks    int                 `json:"checks"`
	Added     []string            `json:"added,omitempty"`
	Changed   []string            `json:"changed,omitempty"` // that are not completed: they begin anew, with what was done so far
	Gone      []string            `json:"gone,omitempty"`    // that were not completed
	Renamed   map[string]string   `json:"renamed,omitempty"` // what tasks of the plan are called in the run, as far as it is something else
	BlockedBy map[string][]string `json:"blocked_by,omitempty"`
}

// What keeps a plan from being amended.
var (
	ErrNotPlanned  = errors.New("the run has only just begun: try again in a moment")
	ErrMerging     = errors.New("it is being merged: try again in a moment")
	ErrAmendedMuch = errors.New("too much is different for one amendment: deliver the plan beside it")
)

// maxAmended is how much an amendment may come to in the ledger, in bytes.
const maxAmended = 24 << 10

func (in Amend) decide(r *Run, _ time.Time) ([]Write, error) {
	switch {
	case !r.Live() || r.Stopping != "":
		return nil, ErrFinished
	case in.Digest == r.Digest:
		return nil, nil
	}
	p, err := r.Amendment(in)
	if err != nil {
		return nil, err
	}
	return []Write{r.operator(in.Actor, PlanAmended, "", p)}, nil
}

// Amendment is what becomes of the run's tasks when its plan is amended.
func (r *Run) Amendment(in Amend) (Amended, error) {
	p := Amended{Plan: in.Plan, Digest: in.Digest, Title: in.Title, Checks: in.Checks, Renamed: map[string]string{}, BlockedBy: map[string][]string{}}
	switch {
	case !r.Planned():
		return p, ErrNotPlanned
	case r.publishes() && r.over(): // what came now would not be in its pull request
		return p, ErrFinished
	}
	for plan, id := range r.Renamed {
		if _, ok := in.BlockedBy[plan]; ok {
			p.Renamed[plan] = id
		}
	}
	add := func(id string) {
		name := r.free(id, in.BlockedBy, p.Added)
		p.Added = append(p.Added, name)
		if delete(p.Renamed, id); name != id {
			p.Renamed[id] = name
		}
	}
	for _, id := range in.New {
		add(id)
	}
	for _, id := range in.Changed {
		switch t := r.Task(r.nameOf(id)); {
		case t == nil || t.Item.Phase == agentsig.PhaseCompleted:
			add(id)
		case t.merging() && t.Cancelled: // it may be merged, and nobody will tell
			add(id)
			p.Gone = append(p.Gone, t.ID)
		case t.merging():
			return p, fmt.Errorf("%s: %w", t.ID, ErrMerging)
		default:
			p.Changed = append(p.Changed, t.ID)
		}
	}
	for _, id := range in.Gone {
		switch t := r.Task(r.nameOf(id)); {
		case t == nil || t.Item.Phase == agentsig.PhaseCompleted:
		case t.merging() && !t.Cancelled:
			return p, fmt.Errorf("%s: %w", t.ID, ErrMerging)
		default:
			p.Gone = append(p.Gone, t.ID)
		}
	}
	p.block(r, in.BlockedBy)
	if err := CheckSize(r.Started.Tasks + len(p.Added)); err != nil {
		return p, err
	}
	if data, err := json.Marshal(p); err != nil || len(data) > maxAmended {
		return p, errors.Join(err, ErrAmendedMuch)
	}
	return p, nil
}

// merging reports whether a task's merge was allowed: it may have been made.
func (t *Task) merging() bool { return t.Item.Judged() && t.Item.Allowed != nil }

// block says which tasks of the run are blocked by others than before.
func (p *Amended) block(r *Run, blockers map[string][]string) {
	name := func(id string) string { return orSome(p.Renamed[id], id) }
	for id, by := range blockers {
		t := r.Task(name(id))
		if t == nil || slices.Contains(p.Added, t.ID) || t.Item.Phase == agentsig.PhaseCompleted {
			continue
		}
		var now []string
		for _, b := range by {
			now = append(now, name(b))
		}
		if !slices.Equal(now, t.BlockedBy) {
			p.BlockedBy[t.ID] = now
		}
	}
}

// nameOf returns what a task of the plan is called in the run.
func (r *Run) nameOf(id string) string { return orSome(r.Renamed[id], id) }

// free returns an id that no task has, of the run, of the plan or of those that are about to be added.
func (r *Run) free(id string, plan map[string][]string, added []string) string {
	name := id
	for n := 2; ; n++ {
		_, planned := plan[name]
		if r.Task(name) == nil && !slices.Contains(added, name) && (name == id || !planned) {
			return name
		}
		name = fmt.Sprintf("%s.%d", id, n)
	}
}

// planAmended begins anew what is different, and gives up what is not in the plan any more.
func (r *Run) planAmended(e ledger.Event, p Amended) {
	r.By = e.Actor
	r.Plan, r.Digest, r.Title, r.Checks, r.Renamed = p.Plan, p.Digest, p.Title, p.Checks, p.Renamed
	r.Started.Tasks += len(p.Added)
	r.Added = append(r.Added, p.Added...)
	for id, by := range p.BlockedBy {
		if t := r.Task(id); t != nil {
			t.BlockedBy = by
		}
	}
	for _, id := range p.Gone {
		if t := r.Task(id); t != nil {
			r.cancel(t, e.Actor, "the plan was amended, and does not have it any more")
			t.Dropped = true
		}
	}
	for _, id := range p.Changed {
		if t := r.Task(id); t != nil {
			r.closeQuestions(id)
			t.reset()
			t.keep()
			t.NoChange = ""
			t.beginAnew()
			t.Developer.lose("the plan was amended")
			t.Moved = r.Seq // what is under way for it is not due any more
			if b := (Brief{"operator", amendedBrief}); !slices.Contains(t.Briefs, b) {
				t.Briefs = append(t.Briefs, b)
			}
			r.endAll(id, "the plan was amended")
		}
	}
	r.Amended = r.Seq // checks may be others
	for _, t := range r.Tasks {
		t.Outdated = r.Seq // likewise
	}
	r.replan()
}

// replan works out what follows from which tasks there are, and what blocks them.
func (r *Run) replan() {
	r.bury()
	if !r.Planned() {
		return
	}
	r.countDependents()
	for _, t := range r.Tasks {
		if o := r.Task(t.Awaits); o != nil && r.waitsFor(o, t, map[string]bool{}) {
			t.Awaits = "" // an amendment has the other wait for it
		}
	}
}

// beginAnew has a task go back to who begins it, if somebody has. What an analyst specified is another task by now.
func (t *Task) beginAnew() {
	begin := cmp.Or(t.Anew, agentsig.PhaseImplementation)
	if slices.ContainsFunc(t.Briefs, Brief.specifies) {
		begin = agentsig.PhaseDraft
		t.Briefs = slices.DeleteFunc(t.Briefs, Brief.specifies)
	}
	phase := t.Item.Phase
	if phase == agentsig.PhaseBlocked {
		phase = cmp.Or(t.Item.BlockedFrom, agentsig.PhaseDraft)
	}
	if phase != begin && phase != agentsig.PhaseDraft && !t.Taken() {
		t.Anew = begin
	}
}

// overtaken reports whether a person began to review what the plan does not ask for any more: that review never ends.
func (t *Task) overtaken() bool { return t.Anew != "" && t.Item.Lease.ByPerson() }

func (b Brief) specifies() bool { return b.From == "analyst" }

const amendedBrief = "The plan was changed while this task was worked on. What it asks for now is above; what was done before may not fit it any more."

// endAll ends the sessions of a task.
func (r *Run) endAll(task, why string) {
	for _, s := range r.Sessions {
		if s.Task == task && s.Over == "" {
			s.Over = why
		}
	}
}

// amendedWords says what an amendment does.
func amendedWords(p Amended) string {
	var parts []string
	for _, one := range []struct {
		what string
		ids  []string
	}{{"new", p.Added}, {"changed", p.Changed}, {"gone", p.Gone}} {
		if len(one.ids) > 0 {
			parts = append(parts, one.what+" "+strings.Join(one.ids, ", "))
		}
	}
	return "the plan was amended: " + orSome(strings.Join(parts, "; "), "no task is another one")
}
