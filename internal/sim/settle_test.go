package sim_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// settle goes on until the run has ended or, if the person is silent, waits for it.
func (w *world) settle() error {
	for range 3000 {
		w.arm()
		if err := w.perhapsLead(); err != nil {
			return err
		}
		moved, err := w.settleOne()
		switch {
		case err != nil:
			return err
		case w.run.Finished != nil:
			return w.wait()
		case moved:
		case w.silent && w.run.WaitsForPerson(w.moment()):
			w.reached.add("world", "waits for a person")
			return nil
		default:
			return breaks("nothing moves: %s", w.standstill())
		}
	}
	return breaks("no end in sight: %s", w.standstill())
}

func (w *world) settleOne() (moved bool, err error) {
	if w.run.WaitsForPerson(w.moment()) {
		if w.silent {
			return false, nil
		}
		return w.answerAll()
	}
	before := w.record.n
	for _, e := range w.underWay(w.waits) {
		if !w.goesOn(e) {
			continue
		}
		moved = true
		if err := w.do(e); err != nil {
			return true, err
		}
	}
	for range w.order {
		moved = w.act() || moved
	}
	for len(w.fleet.mail) > 0 {
		moved = true
		if _, err := w.post(); err != nil {
			return true, err
		}
	}
	for range 4 {
		done, err := w.deliver()
		if err != nil {
			return true, err
		}
		moved = moved || done
	}
	done, err := w.finishOutside()
	if err != nil {
		return true, err
	}
	if moved = moved || done || w.record.n > before; moved {
		return true, nil
	}
	if later := w.later(); !later.IsZero() {
		return true, w.pass(later.Sub(now()))
	}
	if !w.silent {
		return w.answerAll()
	}
	return false, nil
}

// later returns when the box goes on by itself; zero if only the world can bring that about.
func (w *world) later() time.Time {
	first := w.run.Wake(now())
	for _, at := range append(slices.Collect(maps.Values(w.failed)), w.faultAt) {
		if again := at.Add(leaveAlone); again.After(now()) && (first.IsZero() || again.Before(first)) {
			first = again
		}
	}
	return first
}

func (w *world) standstill() string {
	var b strings.Builder
	fmt.Fprintf(&b, "paused %v, remediation %+v, budget used %+v", w.run.Paused, w.run.Remediation, w.run.Used)
	for _, t := range w.run.Tasks {
		fmt.Fprintf(&b, "\n  %s %s: %q, need %v, question %q", t.ID, t.Item.Phase, w.run.Why(t, w.moment()), t.Need, t.Question)
	}
	for _, s := range w.run.Sessions {
		fmt.Fprintf(&b, "\n  session %s %s task %q waiting %q over %q prompt %v", s.ID, s.Role, s.Task, s.Waiting, s.Over, s.Prompt)
	}
	for _, e := range w.underWay(func(*errand) bool { return true }) {
		fmt.Fprintf(&b, "\n  order %s, begun: %v, to hand in: %d", e.ID, e.begun, len(e.todo))
	}
	for _, q := range w.run.Open() {
		fmt.Fprintf(&b, "\n  question %s %s", q.ID, q.Cause)
	}
	return b.String()
}
