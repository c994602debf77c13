// Package conductortest has a ledger in memory, for tests of who brings runs on.
package conductortest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Secret is what the ledger takes out of texts.
const Secret = "hunter2"

// ErrUnknown is what the Append of a [Ledger] returns if nobody is to know whether an event was recorded, as a box says
// it: it wraps a [box.ConflictError].
var ErrUnknown error = unknown{}

type unknown struct{}

func (unknown) Error() string { return "nobody knows whether it was recorded" }
func (unknown) Unwrap() error { return box.ConflictError{} }

// Ledger records in memory what a box records in files, by the same rules and folds. It is safe for use by several
// goroutines.
type Ledger struct {
	// Append is asked before an event is recorded, and may refuse it: who records it is told that error. The event
	// may be recorded all the same, if it calls record. Nothing may be asked of the ledger in it. It may be nil.
	Append func(e ledger.Event, record func() error) error

	now    func() time.Time
	ctx    context.Context
	cancel context.CancelFunc

	mu        sync.Mutex
	events    []ledger.Event // whose number is their place, from 1
	runs      map[string]*delivery.Run
	items     map[string]work.Item
	recorded  map[string]bool // by subject, type and key
	blobs     map[ledger.Hash][]byte
	conductor box.Conductor
	subjects  int
	failed    error
	extended  []string
}

// New makes a ledger in which nothing is recorded. It stops when ctx ends.
func New(ctx context.Context, now func() time.Time) *Ledger {
	l := &Ledger{
		now: now, runs: map[string]*delivery.Run{}, items: map[string]work.Item{}, recorded: map[string]bool{}, blobs: map[ledger.Hash][]byte{},
	}
	l.ctx, l.cancel = context.WithCancel(ctx)
	return l
}

// Kill stops the ledger, as a box is killed: nothing more is recorded.
func (l *Ledger) Kill() { l.cancel() }

// Again returns a ledger of the next box, with what this one has recorded, folded from the first event on.
func (l *Ledger) Again(ctx context.Context) (*Ledger, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := New(ctx, l.now)
	next.subjects, next.Append, next.blobs = l.subjects, l.Append, maps.Clone(l.blobs)
	for _, e := range l.events {
		if err := next.fold(e); err != nil {
			return nil, err
		}
	}
	return next, nil
}

// Follow takes what the ledger of another box has recorded that this one does not have: that one leads, and this one does not.
func (l *Ledger) Follow(lead *Ledger) error {
	lead.mu.Lock()
	events, blobs, subjects := slices.Clone(lead.events), maps.Clone(lead.blobs), lead.subjects
	lead.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.subjects, l.blobs = subjects, blobs
	for _, e := range events[len(l.events):] {
		if err := l.fold(e); err != nil {
			return err
		}
	}
	return nil
}

// Meanwhile calls f, which may be what Append was given to record, while nobody else records anything.
func (l *Ledger) Meanwhile(f func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return f()
}

// Events returns what was recorded, from a place on.
func (l *Ledger) Events(from int) []ledger.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.events[from:])
}

// Failed returns why the ledger was stopped, or nil.
func (l *Ledger) Failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

// Extended returns the sessions whose leases were extended.
func (l *Ledger) Extended() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.extended)
}

// Record records an event of an item's that no conductor asked for, such as that a lease has run out.
func (l *Ledger) Record(item string, do work.Command) error { return l.RecordItem(item, "", do) }

// fold takes an event. The caller holds the lock.
func (l *Ledger) fold(e ledger.Event) error {
	seq := uint64(len(l.events) + 1)
	l.events = append(l.events, e)
	if e.Key != "" {
		l.recorded[e.Subject+" "+e.Type+" "+e.Key] = true
	}
	run := e.Subject
	if item := l.items[e.Subject]; item.Exists() || e.Type == work.WorkAdded {
		after, err := work.Evolve(item, seq, e)
		if err != nil {
			return err
		}
		l.items[e.Subject] = after
		if run = after.Run; l.runs[run] == nil {
			if l.conductor != nil && (item.ToCheck() || after.ToCheck()) {
				l.conductor.ToCheckByHand()
			}
			return nil
		}
		if err := l.runs[run].EvolveItem(after, e); err != nil {
			return err
		}
	} else {
		if l.runs[run] == nil {
			l.runs[run] = &delivery.Run{}
		}
		if err := l.runs[run].Evolve(seq, e); err != nil {
			return err
		}
	}
	if l.conductor != nil {
		l.conductor.Moved(run)
	}
	return nil
}

// append records an event. The caller holds the lock.
func (l *Ledger) append(subject string, what work.Event, key string) error {
	if l.ctx.Err() != nil {
		return box.ErrStopping
	}
	payload, err := json.Marshal(what.Payload)
	if err != nil {
		return err
	}
	if len(payload) > ledger.MaxPayload {
		return fmt.Errorf("%s has %d bytes: %w", what.Type, len(payload), ledger.ErrTooLarge)
	}
	e := ledger.Event{
		Format: ledger.Format, Epoch: 1, Subject: subject, ItemSeq: uint64(len(l.events) + 1), Time: l.now(), Type: what.Type, Actor: what.Actor,
		Session: what.Session, Key: key, Payload: payload,
	}
	if what.Token != (work.Token{}) {
		e.Lease = what.Token.String()
	}
	record := func() error { return l.fold(e) }
	if l.Append != nil {
		return l.Append(e, record)
	}
	return record()
}

// Attach makes c the one who is told what has moved.
func (l *Ledger) Attach(c box.Conductor) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conductor = c
}

// Context ends when nothing is recorded any more.
func (l *Ledger) Context() context.Context { return l.ctx }

// Fail stops the ledger because of an error.
func (l *Ledger) Fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = errors.Join(l.failed, err)
	l.cancel()
}

// WithRun calls f with a run.
func (l *Ledger) WithRun(run string, f func(*delivery.Run)) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.runs[run] == nil {
		return false
	}
	f(l.runs[run])
	return true
}

// Item returns an item by its subject.
func (l *Ledger) Item(subject string) work.Item {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.items[subject]
}

// RecordRun appends an event to a run.
func (l *Ledger) RecordRun(_ context.Context, run string, e delivery.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.append(run, work.Event{Type: e.Type, Actor: e.Actor, Session: e.Session, Payload: e.Payload}, "")
}

// RecordItem records a command on an item, once for each key.
func (l *Ledger) RecordItem(item, key string, do work.Command) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if key != "" && slices.ContainsFunc(do.Events(), func(t string) bool { return l.recorded[item+" "+t+" "+key] }) {
		return nil
	}
	e, err := work.Decide(l.items[item], do)
	if err != nil {
		return err
	}
	return l.append(item, e, e.Key)
}

// AddItem adds an item.
func (l *Ledger) AddItem(a work.Add) error {
	if _, err := l.ItemNamed(a.ID); err == nil {
		return work.ErrExists
	}
	return l.RecordItem(l.NewSubject(), a.Key, a)
}

// ItemNamed finds an item by its name.
func (l *Ledger) ItemNamed(id string) (work.Item, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, i := range l.items {
		if i.ID == id {
			return i, nil
		}
	}
	return work.Item{}, work.ErrNoItem
}

// SessionToken returns a token that is none.
func (l *Ledger) SessionToken(session string) string { return "token of " + session }

// Event returns an event by its number.
func (l *Ledger) Event(seq uint64) (ledger.Event, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if seq == 0 || seq > uint64(len(l.events)) {
		return ledger.Event{}, fmt.Errorf("there is no event %d", seq)
	}
	return l.events[seq-1], nil
}

// KeepEvidence keeps what can be read.
func (l *Ledger) KeepEvidence(read func() ([]byte, error)) (*work.Kept, error) {
	data, err := read()
	if err != nil {
		return &work.Kept{Problem: err.Error()}, nil
	}
	blob, err := l.PutBlob(data)
	return &work.Kept{Blob: &blob}, err
}

// NewSubject makes a subject.
func (l *Ledger) NewSubject() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.subjects++
	return fmt.Sprintf("S%06d", l.subjects)
}

// LiveRuns returns the runs that go on, in the order of their starts.
func (l *Ledger) LiveRuns() []string {
	live := func(run string) (live bool) {
		l.WithRun(run, func(r *delivery.Run) { live = r.Live() })
		return live
	}
	return slices.DeleteFunc(l.RunSubjects(), func(run string) bool { return !live(run) })
}

// RunSubjects returns all runs.
func (l *Ledger) RunSubjects() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.runs))
}

// RunNamed finds a run by its id.
func (l *Ledger) RunNamed(id string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for subject, r := range l.runs {
		if r.ID == id {
			return subject, nil
		}
	}
	return "", errors.New("there is no such run")
}

// TaskNamed finds a task by its item's name.
func (l *Ledger) TaskNamed(id string) (run, task string, err error) {
	i, err := l.ItemNamed(id)
	if err != nil {
		return "", "", delivery.ErrNoTask
	}
	return i.Run, i.Task, nil
}

// RunOf returns the run that a subject belongs to.
func (l *Ledger) RunOf(subject string) string {
	if i := l.Item(subject); i.Run != "" {
		return i.Run
	}
	return subject
}

// FirstToCheck returns the item that has waited longest for checks which the box can run.
func (l *Ledger) FirstToCheck() (first work.Item, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, i := range l.items {
		if i.ToCheck() && (!ok || i.Entered < first.Entered) {
			first, ok = i, true
		}
	}
	return first, ok
}

// Question returns a question, and its run.
func (l *Ledger) Question(id string) (api.Question, string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for subject, r := range l.runs {
		for _, q := range r.Questions {
			if q.ID == id {
				return box.ShowQuestion(r, q), subject, true
			}
		}
	}
	return api.Question{}, "", false
}

// Delivering returns the run that delivers a plan, or was started by a key.
func (l *Ledger) Delivering(digest, key string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for subject, r := range l.runs {
		if r.Digest == digest && r.Live() || key != "" && r.Key == key {
			return subject, nil
		}
	}
	return "", nil
}

// Delivered returns the id of a run that has completed a plan.
func (l *Ledger) Delivered(digest string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.runs {
		if r.Digest == digest && r.Finished != nil && r.Finished.Outcome == delivery.Completed {
			return r.ID, nil
		}
	}
	return "", nil
}

// LastRun returns the largest number of a run.
func (l *Ledger) LastRun() (largest int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.runs {
		var n int
		if _, err := fmt.Sscanf(r.ID, "R%d", &n); err == nil {
			largest = max(largest, n)
		}
	}
	return largest
}

// ShowRun returns what is needed of a run to know it.
func (l *Ledger) ShowRun(run string) (v api.Run, err error) {
	if !l.WithRun(run, func(r *delivery.Run) {
		v = api.Run{ID: r.ID, Subject: run, Title: r.Title, Branch: r.Branch, State: api.RunRunning}
		if !r.Live() {
			v.State = api.RunFinished
		}
	}) {
		err = errors.New("there is no such run")
	}
	return v, err
}

// Changed does nothing: nobody watches.
func (l *Ledger) Changed(string) {}

// Blob returns a text that was put.
func (l *Ledger) Blob(sum ledger.Hash) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if text, ok := l.blobs[sum]; ok {
		return text, nil
	}
	return nil, errors.New("there is no such blob")
}

// PutBlob keeps a text.
func (l *Ledger) PutBlob(text []byte) (ledger.Blob, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := ledger.NewBlob(text)
	l.blobs[b.SHA256] = text
	return b, nil
}

// Prove returns a proof that has the event's place alone.
func (l *Ledger) Prove(seq uint64) (ledger.Proof, error) {
	return ledger.Proof{Index: int64(seq) - 1}, nil
}

// Extend notes that the lease of a session was to go on.
func (l *Ledger) Extend(session string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.extended = append(l.extended, session)
}

// Hear reads a signal.
func (l *Ledger) Hear(said api.SaidSignal) (agentsig.Signal, work.Said, error) {
	found, err := agentsig.Scan(strings.NewReader(said.Wire), agentsig.Options{})
	for _, f := range found.Findings {
		if f.Outcome == agentsig.Accepted {
			heard := work.Said{Signal: f.Signal.Kind, Name: said.Name, Subject: f.Signal.Subject, Note: f.Signal.Note}
			if _, isExit := f.Signal.Exit(); !isExit { // whose members are the event's
				for _, field := range f.Signal.Fields() {
					heard.Fields = append(heard.Fields, work.Field{Name: field.Name, Value: field.Value})
				}
			}
			return f.Signal, heard, nil
		}
	}
	return agentsig.Signal{}, work.Said{}, err
}

// Redact takes [Secret] out of a text.
func (l *Ledger) Redact(text string) string { return strings.ReplaceAll(text, Secret, "[secret]") }

// Short cuts a text as well.
func (l *Ledger) Short(text string) string {
	text = l.Redact(text)
	return text[:min(len(text), 1024)]
}
