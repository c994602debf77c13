package sim_test

import (
	"errors"
	"fmt"
	"slices"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/plan"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// planFile is where the plan lies.
const planFile = "/repo/plan.md"

// amend has the run go on with another version of its plan.
func (w *world) amend() error {
	if !w.run.Live() || w.run.Stopping != "" {
		return nil // it would be another run
	}
	next := w.nextVersion()
	text, before := next.Markdown(), w.run.Digest
	w.record.said[delivery.PlanAmended]++
	err := w.word("amend", func() error {
		_, err := w.conductor.Deliver(background, w.actor(), api.StartRun{Plan: text, Path: planFile, Amend: true, Audit: w.asked}, "")
		if errors.Is(err, delivery.ErrMerging) || errors.Is(err, delivery.ErrNotPlanned) {
			w.reached.add("world", "amendment refused")
			return nil
		}
		return err
	})
	if w.run.Digest != before {
		w.plan = next
		w.reached.add("world", "plan amended")
	}
	for _, id := range w.run.Added {
		if w.branches[id] == nil {
			w.branches[id] = &branch{commit: w.commit(), good: true, same: true}
		}
	}
	return err
}

// nextVersion is the plan with one task gone, changed, or new, and perhaps another text of a second one.
func (w *world) nextVersion() plan.Plan {
	p := w.plan
	w.versions++
	p.Tasks = slices.Clone(p.Tasks)
	n := w.rand.IntN(len(p.Tasks))
	switch kind := w.rand.IntN(4); {
	case kind == 0 && len(p.Tasks) > 1:
		gone := p.Tasks[n].ID
		p.Tasks = slices.Delete(p.Tasks, n, n+1)
		for i := range p.Tasks {
			p.Tasks[i].BlockedBy = slices.DeleteFunc(slices.Clone(p.Tasks[i].BlockedBy), func(id string) bool { return id == gone })
		}
		n = w.rand.IntN(len(p.Tasks))
	case kind == 1 && len(p.Tasks) < 6:
		t := plan.Task{ID: fmt.Sprintf("T-%d", 10+w.versions), Title: "a task", Work: "Do it."}
		if w.chance(50) {
			t.BlockedBy = []string{p.Tasks[n].ID}
		}
		p.Tasks = append(p.Tasks, t)
	case kind == 2:
		t := &p.Tasks[n]
		t.BlockedBy = nil
		if n > 0 && w.chance(50) {
			t.BlockedBy = []string{p.Tasks[w.rand.IntN(n)].ID}
		}
	}
	if w.chance(60) {
		p.Tasks[n].Work = fmt.Sprintf("Do it as in version %d.", w.versions)
	}
	return p
}

// amended is another version of the plan: nothing that was completed, or may have been merged, is in it again under its id.
func (j *judge) amended(p delivery.Amended) error {
	for _, id := range p.Added {
		if j.byID[id] != nil {
			return breaks("%s is new, and was there before", id)
		}
	}
	j.set.Tasks += len(p.Added)
	for id, by := range p.BlockedBy {
		j.byID[id].blockedBy = by
	}
	for _, id := range slices.Concat(p.Gone, p.Changed) {
		t := j.byID[id]
		if t.phase == agentsig.PhaseCompleted || t.audited && t.allowed != "" && !t.cancelled {
			return breaks("%s is changed or given up in %s; its merge is allowed: %q", id, t.phase, t.allowed)
		}
	}
	j.outdate()
	for _, id := range p.Gone {
		j.cancel(j.byID[id])
		j.byID[id].dropped = true
	}
	for _, id := range p.Changed {
		t := j.byID[id]
		j.takeBack(t)
		t.looked()
		t.cancelled, t.dropped, t.claim, t.talk.spoilt = false, false, false, true
		j.overTask(id)
		phase := t.phase
		if phase == agentsig.PhaseBlocked {
			phase = t.from
		}
		t.anew = phase != "" && phase != agentsig.PhaseDraft && phase != agentsig.PhaseImplementation
	}
	return nil
}

// seeAnew refuses that a task is judged by what was done for another text of it.
func (t *taskFacts) seeAnew(e ledger.Event) error {
	switch e.Type {
	case work.WorkOverridden:
		t.anew = false
	case work.LeaseGranted, work.ReviewStarted, work.GatePassed, work.MergeProposed, work.MergeApproved, work.MergeAllowed, work.WorkMerged, work.WorkUnchanged, work.AuditWaived, work.WorkUnblocked:
		if t.anew {
			return breaks("%s has another text, and goes on in %s", t.id, t.phase)
		}
	}
	return nil
}
