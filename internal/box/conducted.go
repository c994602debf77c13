package box

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"strings"

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
	Seen(session string) (says string, away bool)
	Draining() bool
}

// Attach makes c the one who brings the runs on. A box has one at most.
func (b *Box) Attach(c Conductor) {
	b.state.mu.Lock()
	defer b.state.mu.Unlock()
	b.state.conductor = c
}

// WithRun calls f with a run, under the lock; f must not keep it. It reports whether there is one.
func (b *Box) WithRun(run string, f func(*delivery.Run)) bool { return b.state.withRun(run, f) }

// LiveRuns returns the runs that go on, in the order of their starts.
func (b *Box) LiveRuns() []string { return b.state.liveRuns() }

// RunSubjects returns all runs that are in memory.
func (b *Box) RunSubjects() []string { return b.state.runSubjects() }

// LastRun returns the largest number of a run.
func (b *Box) LastRun() int { return b.state.lastRun() }

// RunNamed returns the run with this id; the latest if it is empty.
func (b *Box) RunNamed(id string) (run string, err error) { return b.state.runNamed(id) }

// TaskNamed finds a task by its item's id, or by its id in the latest run that has one.
func (b *Box) TaskNamed(id string) (run, task string, err error) { return b.state.taskNamed(id) }

// RunOf returns the run that a subject belongs to: an item's, or the subject itself.
func (b *Box) RunOf(subject string) string { return cmp.Or(b.state.item(subject).Run, subject) }

// ItemNamed returns the item with this name.
func (b *Box) ItemNamed(id string) (work.Item, error) { return b.state.exact(id) }

// Question returns a question of a run, and which run that is.
func (b *Box) Question(id string) (q api.Question, run string, ok bool) {
	b.state.mu.Lock()
	defer b.state.mu.Unlock()
	for subject, r := range b.state.runs {
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
func (b *Box) Delivering(digest, key string) (run string, err error) {
	return b.state.delivering(digest, key)
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

// AddItem records a new item.
func (b *Box) AddItem(a work.Add) error {
	_, err := b.add(a)
	return err
}

// RecordItem records a command on an item, once for each key that is not empty. It returns when the event is in the archive
// and in the state.
func (b *Box) RecordItem(item, key string, do work.Command) error {
	_, err := b.record(item, key, do)
	return err
}

// ConflictError says that something else happened to the subject meanwhile: what
// was decided has to be decided again.
type ConflictError struct{ error }

// RecordRun appends an event to a run's subject.
func (b *Box) RecordRun(ctx context.Context, subject string, e delivery.Event) error {
	var seq uint64
	var tip ledger.Tip // zero before the run's first event
	b.state.withRun(subject, func(r *delivery.Run) { seq, tip = r.Seq, r.Tip })
	_, stored, err := b.stamp(tip, subject, work.Event{Type: e.Type, Actor: e.Actor, Session: e.Session, Payload: e.Payload})
	if err != nil {
		return err
	}
	_, err = b.log.Append(ctx, subject, seq, stored)
	if errors.Is(err, engine.ErrConflict) || errors.Is(err, engine.ErrUnknown) {
		// The run's decider is the only one who writes here, so what the state has by now is
		// what it wrote, or nothing.
		return ConflictError{err}
	}
	return err
}

// Extend lets the lease of a session go on. One that has ended is dealt with elsewhere.
func (b *Box) Extend(session string) {
	if subject, token, err := work.ParseSession(session); err == nil {
		_, _ = b.state.renew(subject, token)
	}
}

// Blob returns an output that is kept.
func (b *Box) Blob(sha256 ledger.Hash) ([]byte, error) { return b.archive.Blob(sha256) }

// PutBlob keeps an output.
func (b *Box) PutBlob(text []byte) (ledger.Blob, error) { return b.archive.PutBlob(text) }

// Hear reads a signal that a session passes on, and makes of it what is recorded.
func (b *Box) Hear(said api.SaidSignal) (agentsig.Signal, work.Said, error) {
	text := b.redact.Text(said.Wire)
	found, err := agentsig.Scan(strings.NewReader(text), agentsig.Options{Hosts: b.hosts})
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
		signal := b.cleanSignal(f.Signal)
		about, err := b.said(f, []byte(text))
		if err == nil {
			signal, about, err = b.fit(signal, about, []byte(text))
		}
		return signal, about, err
	}
	return agentsig.Signal{}, work.Said{}, nil
}

// Redact takes secrets out of a text.
func (b *Box) Redact(text string) string { return b.redact.Text(text) }
