package sim_test

import (
	"fmt"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// settle goes on until the run has ended or, if the person is silent, waits for it.
func (w *world) settle() error {
	for range 3000 {
		moved, err := w.settleOne()
		switch {
		case err != nil:
			return err
		case w.run.Finished != nil:
			return nil
		case moved:
		case w.silent && w.run.WaitsForPerson(w.now):
			w.reached.add("world", "waits for a person")
			return nil
		default:
			return breaks("nothing moves: %s", w.standstill())
		}
	}
	return breaks("no end in sight: %s", w.standstill())
}

func (w *world) settleOne() (moved bool, err error) {
	if due, err := w.next(); due || err != nil {
		return due, err
	}
	if w.run.WaitsForPerson(w.now) {
		if w.silent {
			return false, nil
		}
		return w.answerAll()
	}
	before := len(w.record)
	for _, c := range w.run.Commands() {
		if !w.doing[c.ID] {
			known := w.settled(c)
			if err := w.do(c); err != nil {
				return true, err
			}
			moved = moved || !known
		}
	}
	for range w.order {
		moved = w.act() || moved
	}
	for range 4 {
		done, err := w.deliver()
		if err != nil {
			return true, err
		}
		moved = moved || done
	}
	if len(w.results) > 0 {
		moved = true
		if err := w.finishOutside(); err != nil {
			return true, err
		}
	}
	if moved = moved || len(w.record) > before; moved {
		return true, nil
	}
	if wake := w.run.Wake(w.now); !wake.IsZero() {
		w.now = wake
		return true, nil
	}
	if !w.silent {
		return w.answerAll()
	}
	return false, nil
}

// settled reports whether a command would find nothing to do.
func (w *world) settled(c delivery.Command) bool {
	if c.Do != delivery.DoStart {
		return false
	}
	p := w.processes[c.Session.ID]
	return p != nil && !p.killed
}

func (w *world) standstill() string {
	var b strings.Builder
	fmt.Fprintf(&b, "paused %v, remediation %+v, budget used %+v", w.run.Paused, w.run.Remediation, w.run.Used)
	for _, t := range w.run.Tasks {
		fmt.Fprintf(&b, "\n  %s %s: %q, need %v, question %q", t.ID, t.Item.Phase, w.run.Why(t, w.now), t.Need, t.Question)
	}
	for _, s := range w.run.Sessions {
		fmt.Fprintf(&b, "\n  session %s %s task %q waiting %q over %q prompt %v", s.ID, s.Role, s.Task, s.Waiting, s.Over, s.Prompt)
	}
	for _, q := range w.run.Open() {
		fmt.Fprintf(&b, "\n  question %s %s", q.ID, q.Cause)
	}
	return b.String()
}
