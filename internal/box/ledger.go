package box

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Conductor is who brings the runs on. The box folds them, tells it what has moved, and asks it what no event says.
type Conductor interface {
	Moved(run string) // called while the state is locked: it must not wait
	ToCheckByHand()   // likewise, when something happened to an item that waits for checks ([work.Item.ToCheck]), or did
	Seen(session string) (says string, quiet time.Time, away bool)
	Draining() bool
	// Machines returns all runners, with the home of runs that were started in the directory of the box of this name; nil if there is home alone.
	// It is called while the state is locked, too.
	Machines(home string) []delivery.Machine
}

// Ledger is the box as who brings its runs on needs it.
type Ledger struct{ box *Box }

// Ledger returns the box as a conductor needs it.
func (b *Box) Ledger() Ledger { return Ledger{b} }

// Attach makes c the one who brings the runs on. A box has one at most.
func (l Ledger) Attach(c Conductor) {
	l.box.state.mu.Lock()
	defer l.box.state.mu.Unlock()
	l.box.state.conductor = c
}

// WithRun calls f with a run, under the lock; f must not keep it. It reports whether there is one.
func (l Ledger) WithRun(run string, f func(*delivery.Run)) bool { return l.box.state.withRun(run, f) }

// LiveRuns returns the runs that go on, in the order of their starts.
func (l Ledger) LiveRuns() []string { return l.box.state.liveRuns() }

// RunSubjects returns all runs that are in memory.
func (l Ledger) RunSubjects() []string { return l.box.state.runSubjects() }

// LastRun returns the largest number of a run.
func (l Ledger) LastRun() int { return l.box.state.lastRun() }

// RunNamed returns the run with this id; the latest if it is empty.
func (l Ledger) RunNamed(id string) (run string, err error) { return l.box.state.runNamed(id) }

// TaskNamed finds a task that is to be changed by its item's id, or by its own: in the one run that goes on and has it,
// or else in the latest that has ended.
func (l Ledger) TaskNamed(id string) (run, task string, err error) { return l.box.state.taskNamed(id) }

// RunOf returns the run that a subject belongs to: an item's, or the subject itself.
func (l Ledger) RunOf(subject string) string { return cmp.Or(l.box.state.item(subject).Run, subject) }

// ItemNamed returns the item with this name.
func (l Ledger) ItemNamed(id string) (work.Item, error) { return l.box.state.exact(id) }

// FirstToCheck returns, of the items that wait for checks which the box can run, the one that has waited longest.
func (l Ledger) FirstToCheck() (work.Item, bool) {
	l.box.state.mu.Lock()
	defer l.box.state.mu.Unlock()
	first := l.box.state.firstToCheck()
	if first == nil {
		return work.Item{}, false
	}
	return *first, true
}

// Question returns a question of a run, and which run that is.
func (l Ledger) Question(id string) (q api.Question, run string, ok bool) {
	l.box.state.mu.Lock()
	defer l.box.state.mu.Unlock()
	for subject, r := range l.box.state.runs {
		for _, asked := range r.Questions {
			if asked.ID == id {
				return ShowQuestion(r, asked), subject, true
			}
		}
	}
	return api.Question{}, "", false
}

// Delivering returns the run that delivers a plan and has not ended, or that was
// started by the request with this key, which is for one plan.
func (l Ledger) Delivering(digest, key string) (run string, err error) {
	return l.box.state.delivering(digest, key)
}

// delivering returns the run that delivers a plan and has not ended, or that was
// started by the request with this key, which is for one plan.
func (s *state) delivering(digest, key string) (string, error) {
	subject, err := s.addedBy(startPlanRun, key)
	if err == nil {
		err = s.bring(subject)
	}
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	same := ""
	for subject, r := range s.runs {
		switch keyed := r.Key == key && key != ""; {
		case keyed && r.Digest != digest:
			return "", errKeyReused
		case keyed || r.Digest == digest && r.Live():
			same = subject
		}
	}
	return same, nil
}

// maxBefore is how many runs are looked at for one that has delivered a plan before: each may have to be brought back.
const maxBefore = 10

// Delivered returns the id of the latest run, among the last ones, that has completed a plan and ended; "" if none has.
func (l Ledger) Delivered(digest string) (id string, err error) {
	s := l.box.state
	last := s.lastRun()
	for n := last; n > max(last-maxBefore, 0) && id == ""; n-- {
		subject, err := s.runNamed(fmt.Sprintf(runName, n))
		if errors.Is(err, errNoRun) {
			continue
		}
		if err != nil {
			return "", err
		}
		s.withRun(subject, func(r *delivery.Run) {
			if r.Digest == digest && r.Finished != nil && r.Finished.Outcome == delivery.Completed {
				id = r.ID
			}
		})
	}
	return id, nil
}

// AddItem records a new item.
func (l Ledger) AddItem(a work.Add) error {
	_, err := l.box.add(a)
	return err
}

// RecordItem records a command on an item, once for each key that is not empty. It returns when the event is in the archive
// and in the state.
func (l Ledger) RecordItem(item, key string, do work.Command) error {
	_, err := l.box.record(item, key, do)
	return err
}

// ConflictError says that something else happened to the subject meanwhile: what
// was decided has to be decided again.
type ConflictError struct{ Err error }

func (e ConflictError) Error() string {
	return fmt.Sprint("it was not recorded as it was decided: ", e.Err)
}

// Unwrap returns what the ledger says.
func (e ConflictError) Unwrap() error { return e.Err }

// RecordRun appends an event to a run's subject.
func (l Ledger) RecordRun(ctx context.Context, subject string, e delivery.Event) error {
	var seq uint64
	var tip ledger.Tip // zero before the run's first event
	l.box.state.withRun(subject, func(r *delivery.Run) { seq, tip = r.Seq, r.Tip })
	_, stored, err := l.box.stamp(tip, subject, work.Event{Type: e.Type, Actor: e.Actor, Session: e.Session, Payload: e.Payload})
	if err != nil {
		return err
	}
	_, err = l.box.log.Append(ctx, subject, seq, stored)
	if errors.Is(err, engine.ErrConflict) || errors.Is(err, engine.ErrUnknown) {
		// The run's decider is the only one who writes here, so what the state has by now is
		// what it wrote, or nothing.
		return ConflictError{Err: err}
	}
	return err
}

// Extend lets the lease of a session go on. One that has ended is dealt with elsewhere.
func (l Ledger) Extend(session string) {
	if subject, token, err := work.ParseSession(session); err == nil {
		_, _ = l.box.state.renew(subject, token)
	}
}

// Blob returns an output that is kept.
func (l Ledger) Blob(sha256 ledger.Hash) ([]byte, error) { return l.box.archive.Blob(sha256) }

// PutBlob keeps an output.
func (l Ledger) PutBlob(text []byte) (ledger.Blob, error) { return l.box.archive.PutBlob(text) }

// Hear reads a signal that a session passes on, and makes of it what is recorded.
func (l Ledger) Hear(said api.SaidSignal) (agentsig.Signal, work.Said, error) {
	text := l.box.redact.Text(said.Wire)
	found, err := agentsig.Scan(strings.NewReader(text), agentsig.Options{Hosts: l.box.hosts})
	if err != nil {
		return agentsig.Signal{}, work.Said{}, err
	}
	for _, f := range found.Findings {
		if f.Outcome != agentsig.Accepted {
			continue
		}
		f.Span.Offset, f.Span.Length, f.Span.Line = said.Offset, said.Length, said.Line
		if sum, err := hex.DecodeString(said.SHA256); err == nil && len(sum) == len(f.Span.SHA256) {
			copy(f.Span.SHA256[:], sum)
		}
		if said.LeftOut != "" { // it is not in the wire any more
			f.LeftOut = errors.New(said.LeftOut)
		}
		f.Signal.Name = work.Cut(said.Name, maxOwnName)
		signal := l.box.cleanSignal(f.Signal)
		about, err := l.box.said(f, []byte(text))
		if err == nil {
			signal, about, err = l.box.fit(signal, about, []byte(text))
		}
		return signal, about, err
	}
	return agentsig.Signal{}, work.Said{}, nil
}

// Redact takes secrets out of a text.
func (l Ledger) Redact(text string) string { return l.box.redact.Text(text) }

// Short takes secrets out of a text, and cuts it to what an event has room for.
func (l Ledger) Short(text string) string { return l.box.short(text) }

// Prove signs what is recorded, and proves an event of it.
func (l Ledger) Prove(seq uint64) (ledger.Proof, error) { return l.box.prove(seq) }

// NewSubject makes a subject for a run.
func (l Ledger) NewSubject() string { return l.box.newSubject() }

// ShowRun returns a run as people see it.
func (l Ledger) ShowRun(run string) (api.Run, error) { return l.box.showRun(run) }

// Changed tells those who watch a run that it looks different, though nothing was recorded.
func (l Ledger) Changed(run string) { l.box.state.show(run) }

// Context ends when nothing is recorded any more.
func (l Ledger) Context() context.Context { return l.box.Context() }

// Fail stops the box because of an error.
// In a cluster it goes on if no more is wrong than that it does not lead, or that too few boxes answer: then whoever has it lead begins anew.
func (l Ledger) Fail(err error) {
	if l.box.shared != nil && shaken(err) {
		l.box.logger.Warn("what was under way begins anew", "why", err)
		l.box.shaken.Store(true)
		l.box.changed()
		return
	}
	l.box.fail(err)
}
