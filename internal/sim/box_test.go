package sim_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing/synctest"
	"time"

	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/conductor"
	"github.com/signalbox-dev/signalbox/internal/conductor/conductortest"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

var background = context.Background()

// open starts a box on a ledger.
func (w *world) open(l *conductortest.Ledger) error {
	w.killed, w.draining = false, false
	w.loose, w.done, w.failed = nil, map[string]bool{}, map[string]time.Time{}
	if !w.calm && w.chance(5) { // with other settings
		w.unprotected = []string{"checks run without a sandbox"}
	}
	w.ledger, w.run = l, w.folded(l)
	var by order.Runner = w
	b := w.cluster.leads
	if b != nil {
		by = b
	}
	if b != nil && b.ledger == l && b.conductor != nil { // it led before
		w.conductor = b.conductor
	} else {
		w.conductor = conductor.New(l, conductor.Options{Config: w.config, Now: now, Machines: func(string) []delivery.Machine { return w.machines() }})
		l.Append = w.append
		if b != nil {
			b.ledger, b.conductor, l.Append = l, w.conductor, b.append
		}
	}
	if err := w.conductor.Start(background, by, time.Minute); err != nil {
		return err
	}
	if b != nil {
		synctest.Wait()
		w.silence()
	}
	return w.wait()
}

// shut ends the box: nothing of it may be left.
func (w *world) shut() {
	if w.conductor != nil {
		w.ledger.Kill()
		w.conductor.Stop()
	}
	for _, b := range w.cluster.boxes {
		if b.ledger != nil {
			b.ledger.Kill()
			b.conductor.Stop()
		}
	}
	w.silence()
}

// fault is something that goes wrong with an append.
type fault struct {
	in    int    // how many appends go well before
	on    string // the type of the event, if it has to be one
	times int    // that it happens
	often bool   // more often than the box tries
	kind  faultKind
}

// faultKind is what goes wrong.
type faultKind string

const (
	killedBefore   faultKind = "killed before an append"
	killedAfter    faultKind = "killed after an append"
	conflict       faultKind = "conflict"
	unknownAfter   faultKind = "unknown outcome, recorded"
	unknownBefore  faultKind = "unknown outcome, not recorded"
	unanswered     faultKind = "no answer, recorded"
	unansweredLost faultKind = "no answer, not recorded"
	diskFull       faultKind = "disk full"
)

var faultKinds = []faultKind{killedBefore, killedAfter, conflict, unknownAfter, unknownBefore, unanswered, unansweredLost, diskFull}

var errFull = errors.New("the disk is full")

// arm prepares a fault of one of the next appends.
func (w *world) arm() {
	if w.calm || w.fault.times > 0 || !w.chance(3) {
		return
	}
	w.fault = fault{in: w.rand.IntN(3), times: 1, kind: pick(w, faultKinds)}
	if w.fault.kind == conflict && w.chance(10) {
		w.fault.times, w.fault.often = 15, true
	}
}

// append records an event, unless something is to go wrong with it. It is called in the box's goroutines, one at a time.
func (w *world) append(e ledger.Event, record func() error) error {
	if w.fault.times == 0 {
		return w.see(e, record)
	}
	if w.fault.in > 0 && e.Type != w.fault.on {
		if w.fault.in--; w.fault.in == 0 && w.fault.on != "" {
			w.fault = fault{} // it does not come
		}
		return w.see(e, record)
	}
	w.fault.times--
	w.faultAt = now()
	kind := w.fault.kind
	if kind == unanswered && e.Type != work.WorkAdded && w.record.names[e.Subject] == "" {
		kind = unknownAfter // of a run that is all that can be said
	}
	switch kind {
	case conflict, unknownAfter, unknownBefore: // the box decides again, up to a point
		w.excused = w.excused || w.fault.often
	default:
		w.excused = true
	}
	w.reached.add("world", string(kind))
	w.tell("     %s: %s", e.Type, kind)
	var err error
	switch kind {
	case killedAfter, unknownAfter, unanswered:
		err = w.see(e, record)
	}
	if err != nil {
		return err
	}
	switch kind {
	case killedBefore, killedAfter:
		w.killed = true
		w.ledger.Kill()
		return box.ErrStopping
	case unanswered, unansweredLost:
		return box.ErrOutcomeUnknown
	case diskFull:
		return errFull
	}
	return box.ConflictError{Err: errors.New("something else happened")}
}

// see records an event and has the judge look at it.
func (w *world) see(e ledger.Event, record func() error) error {
	payload, err := decode(e)
	if err != nil {
		return err
	}
	before := w.taskBefore(e)
	if err := record(); err != nil {
		return err
	}
	w.record.n++
	if added, ok := payload.(work.Added); ok {
		w.record.names[e.Subject] = added.Task
	}
	if e.Type == delivery.RunStarted {
		w.record.run = e.Subject
	}
	w.noteRecorded(e.Type, payload)
	if w.story != nil {
		w.tell("%4d %s %s", w.record.n, e.Time.Format("15:04:05"), delivery.Words(e, w.name))
	}
	err = errors.Join(w.record.once(e, payload), w.judge.see(e, payload))
	if err == nil {
		err = w.seePlace(e.Session, payload)
	}
	if after := w.taskBefore(e); err == nil && before != after {
		err = breaks("%s moves something:\n%s\n%s", e.Type, before, after)
	}
	if _, item := payload.(work.Granted); err == nil && w.draining && (item || e.Type == delivery.SessionGranted) {
		err = breaks("%s while the box is drained", e.Type)
	}
	if err == nil && w.record.n > endless {
		err = breaks("the box does not come to rest")
	}
	if err != nil && w.violated == nil {
		w.violated = err
		w.ledger.Kill() // it might go on for ever
	}
	return nil
}

// endless is more than any schedule records.
const endless = 5000

// noteRecorded counts what was recorded.
func (w *world) noteRecorded(event string, payload any) {
	w.reached.add("event", event)
	switch p := payload.(type) {
	case delivery.Question:
		w.reached.add("cause", string(p.Cause))
	case work.Gate:
		if p.Since != "" {
			w.reached.add("since", string(p.Since))
		}
	case work.Granted:
		if p.Resumes != "" {
			w.reached.add("world", "resumed")
		}
		if p.Fresh != "" {
			w.reached.add("fresh", freshCause(p.Fresh))
		}
	case delivery.Ended:
		w.reached.add("ended", string(p.How))
	case delivery.RepairReview:
		w.reached.add("world", map[bool]string{true: "repair passed", false: "repair refused"}[p.Passed])
	case delivery.Round:
		if event == delivery.RemediationEnded && p.Detail != "" {
			w.reached.add("world", "repair left out")
		}
	case delivery.Removed:
		w.left.said = &p
	case delivery.Finished:
		w.reached.add("outcome", string(p.Outcome))
	}
}

func (w *world) name(subject string) string {
	if task := w.record.names[subject]; task != "" {
		return task
	}
	return "the run"
}

// taskBefore describes a task where an event may not move it.
func (w *world) taskBefore(e ledger.Event) string {
	if e.Type != work.LateResultRecorded {
		return ""
	}
	for _, t := range w.run.Tasks {
		if t.Item.Subject == e.Subject {
			c := *t
			c.Item.Seq, c.Item.Keys, c.Item.Lease, c.Item.Past, c.Item.Allowed, c.Late = 0, [8]work.KeyedSeq{}, nil, nil, nil, 0
			return fmt.Sprintf("%+v %s", c, t.Item.Session())
		}
	}
	return ""
}

// restart kills the box, and starts another one on what is recorded. That has to fold to what was at hand.
func (w *world) restart() error {
	w.reached.add("world", "restart")
	w.tell("     the box restarts")
	w.ledger.Kill()
	w.conductor.Stop()
	w.run = w.folded(w.ledger)
	if w.violated != nil {
		return w.violated
	}
	if len(w.errands) > 0 {
		return breaks("the box has stopped, and %d orders go on", len(w.errands))
	}
	next, err := w.ledger.Again(background)
	if err != nil {
		return err
	}
	if w.known < w.record.n {
		w.known = w.record.n
		if err := w.compare(next); err != nil {
			return err
		}
	}
	return w.open(next)
}

// compare holds what was folded step by step against what is folded anew, and against a snapshot of that.
func (w *world) compare(next *conductortest.Ledger) error {
	again := w.folded(next)
	if !reflect.DeepEqual(again, w.run) {
		return breaks("the record folds to another state:\n%s\n%s", dump(again), dump(w.run))
	}
	for subject := range w.record.names {
		if !reflect.DeepEqual(next.Item(subject), w.ledger.Item(subject)) {
			return breaks("the record folds to another item %s", subject)
		}
	}
	if !w.chance(20) {
		return nil
	}
	data, err := json.Marshal(again)
	if err != nil {
		return err
	}
	kept := &delivery.Run{}
	if err := json.Unmarshal(data, kept); err != nil {
		return err
	}
	if kept.Restored(); again.Exists() && !reflect.DeepEqual(kept, again) {
		return breaks("a snapshot is another state:\n%s\n%s", dump(kept), dump(again))
	}
	return nil
}

func dump(r *delivery.Run) string {
	data, err := json.Marshal(r)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// drain ends all agents, as an operator does who leaves, and starts the next box.
func (w *world) drain() error {
	w.reached.add("world", "drained")
	w.tell("     the box is drained")
	w.draining = true
	ctx, cancel := context.WithTimeout(background, time.Minute)
	defer cancel()
	left := w.conductor.Drain(ctx)
	if err := w.wait(); err != nil || !w.draining { // it was killed meanwhile
		return err
	}
	alive := w.Alive()
	switch {
	case left != len(alive):
		return breaks("%d agents are left, and the box says %d", len(alive), left)
	case slices.ContainsFunc(alive, func(id string) bool { return !w.processes[id].stubborn }):
		return breaks("an agent is left that was not told to stop")
	case len(w.errands) > 0:
		return breaks("the box is drained, and %d orders go on", len(w.errands))
	}
	for range w.rand.IntN(4) { // some report their ends in time
		if _, err := w.deliver(); err != nil || !w.draining {
			return err
		}
	}
	return w.restart()
}
