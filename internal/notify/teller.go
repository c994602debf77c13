package notify

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/internal/jsontext"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Box is what a teller needs of a box.
type Box interface {
	// UpTo is the sequence of the last event.
	UpTo() uint64
	// Watch calls f with events from a sequence on, once they are folded.
	Watch(ctx context.Context, from uint64, f func([]engine.Record) error) error
	// Awaited lists what waits for a person; AwaitedOn what waits in the run, or about the work, that a subject belongs to.
	Awaited() []box.Awaited
	AwaitedOn(subject string) (about string, all []box.Awaited)
	// About returns the id of a run and the title of its plan; nothing if the subject is none.
	About(subject string) (run, title string)
}

// Way is how somebody is told.
type Way string

// The ways to tell somebody.
const (
	ByCommand Way = "command"
	ByWebhook Way = "webhook"
)

// Options say who is told, and how.
type Options struct {
	Notify config.Notify
	Dir    string // that the command runs in
	File   string // that keeps what is not told yet
	Origin string // of the box's ledger
	Secret []byte // that the webhook's messages are signed with; none if they are not
	Now    func() time.Time
	Logger *slog.Logger

	// Leads says whether this box leads its cluster, and in which term any box does, 0 for none; the channel is closed when that may have changed. Only the
	// box that leads tells. Nil for a box that stands alone.
	Leads func() (leads bool, term uint64, changed <-chan struct{})
}

// Bounds of what is kept and tried.
const (
	maxUntold = 256            // messages that are kept
	maxAge    = 24 * time.Hour // of a message that can't be told; what waits for a person is tried for as long as it waits
	again     = 10 * time.Second
	slowest   = 10 * time.Minute // the longest pause between tries
	patience  = 30 * time.Second // for one try
	oftenRead = 1000             // events after which it is kept how far they were read, if there is nothing else to keep
)

// Teller tells people what a box does.
type Teller struct {
	o       Options
	box     Box
	senders map[Way]func(context.Context, Message) error
	patient time.Duration // for one try
	saving  sync.Mutex    // held by who writes the file

	mu       sync.Mutex
	link     func(Message) string              // to the page; nil if there is none
	upTo     uint64                            // the last event that was looked at
	saved    uint64                            // that of the file
	anew     bool                              // what waited at the beginning is still to be taken
	open     map[string]map[string]box.Awaited // what waits and was made a message of, by what it is about and its id
	untold   []*pending                        // oldest first
	lost     []string                          // runners that were made a message of and have got no session since, oldest first
	dropped  int                               // messages that were given up
	leads    bool                              // it tells, and not another box
	term     uint64                            // in which a box leads; 0 for none
	over     bool                              // nothing is told any more
	progress chan struct{}                     // closed when any of this has changed
}

// New makes a teller, which begins with [Teller.Run]. There has to be somebody to tell.
func New(b Box, o Options) *Teller {
	t := &Teller{o: o, box: b, patient: patience, open: map[string]map[string]box.Awaited{}, progress: make(chan struct{}), leads: o.Leads == nil}
	t.senders = map[Way]func(context.Context, Message) error{ByCommand: t.command, ByWebhook: t.webhook}
	return t
}

// Run tells until ctx ends or the box stops. It is called once. The link is that to the page, for a message.
func (t *Teller) Run(ctx context.Context, link func(Message) string) error {
	t.mu.Lock()
	t.link = link
	t.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	var sending sync.WaitGroup
	defer func() {
		cancel()
		sending.Wait()
		t.mu.Lock()
		defer t.mu.Unlock()
		t.over = true
		t.moved()
	}()
	if t.o.Leads != nil {
		sending.Go(func() { t.followLead(ctx) })
	}
	for _, by := range t.ways() {
		sending.Go(func() { t.send(ctx, by) })
	}
	if err := t.begin(ctx); err != nil {
		return err
	}
	defer t.save()
	return t.box.Watch(ctx, t.upTo+1, func(records []engine.Record) error { return t.follow(ctx, records) })
}

// begin takes over what is not told yet, and what waits.
func (t *Teller) begin(ctx context.Context) error {
	upTo := t.box.UpTo()
	m, found := t.recall()
	if m.UpTo > upTo {
		if err := t.catchUp(ctx, m.UpTo); err != nil {
			return err
		}
	}
	for _, p := range m.Untold {
		if !p.Kept.IsZero() {
			p.Kept = t.o.Now() // whether it was told meanwhile is not known
		}
	}
	t.mu.Lock()
	t.upTo, t.anew, t.untold, t.lost, t.dropped = m.UpTo, m.Anew, m.Untold, m.Lost, m.Dropped
	if !found {
		t.upTo, t.anew = upTo, true
	}
	var abouts []string
	for _, p := range t.untold {
		if p.About != "" {
			abouts = append(abouts, p.About) // it may not wait any more
		}
	}
	waits := map[string][]box.Awaited{}
	for _, a := range t.box.Awaited() {
		abouts = append(abouts, a.About)
		waits[a.About] = append(waits[a.About], a)
		if m.follows(a) || slices.Contains(m.Taken, a.ID) {
			t.note(a)
		}
	}
	t.moved()
	t.mu.Unlock()
	if !found {
		t.save() // so that a box that is killed from here on knows where this one began
	}
	looked := map[string]bool{}
	for _, about := range abouts {
		if looked[about] {
			continue
		}
		looked[about] = true
		if _, err := t.look(ctx, about, waits[about]); err != nil {
			return err
		}
	}
	t.mu.Lock()
	t.anew = false
	t.mu.Unlock()
	t.save()
	return nil
}

// note takes down that something that waits was made a message of. The caller holds the mutex.
func (t *Teller) note(a box.Awaited) {
	if t.open[a.About] == nil {
		t.open[a.About] = map[string]box.Awaited{}
	}
	t.open[a.About][a.ID] = a
}

// follow makes messages of what has happened. What waits comes before the event itself, with which the event is done.
func (t *Teller) follow(ctx context.Context, records []engine.Record) error {
	changed := false
	looked := map[string]bool{} // what waits is as it was after the last of the records, or later
	for _, r := range records {
		e, err := ledger.Decode(r.Data)
		if err != nil {
			return fmt.Errorf("event %d: %w", r.Seq, err)
		}
		about, waits := "", []box.Awaited(nil)
		if !looked[r.Subject] {
			looked[r.Subject] = true
			about, waits = t.box.AwaitedOn(r.Subject)
		}
		if about != "" && (about == r.Subject || !looked[about]) {
			looked[about] = true
			moved, err := t.look(ctx, about, waits)
			if err != nil {
				return err
			}
			changed = changed || moved
		}
		m, tell, err := t.ofEvent(r.Seq, e)
		if err == nil && tell && !t.knownLost(m.Runner) {
			changed = true
			err = t.add(ctx, &pending{Message: m}, func() {
				t.upTo = r.Seq
				t.lose(m.Runner)
			})
		}
		if err == nil && t.found(r.Seq, e) {
			changed = true
		}
		if err != nil {
			return fmt.Errorf("event %d: %w", r.Seq, err)
		}
	}
	t.mu.Lock()
	t.upTo = records[len(records)-1].Seq
	changed = changed || t.upTo-t.saved >= oftenRead
	t.moved()
	t.mu.Unlock()
	if changed {
		t.save()
	}
	return nil
}

// look makes messages of what waits and nobody was told of, and forgets those about what does not wait any more. It reports
// whether there was any of either.
func (t *Teller) look(ctx context.Context, about string, waits []box.Awaited) (changed bool, err error) {
	t.mu.Lock()
	before, left := t.open[about], len(t.untold)
	delete(t.open, about)
	var fresh []box.Awaited
	for _, a := range waits {
		if _, known := before[a.ID]; known {
			delete(before, a.ID)
			t.note(a)
		} else {
			fresh = append(fresh, a)
		}
	}
	t.untold = slices.DeleteFunc(t.untold, func(p *pending) bool {
		return p.About == about && !slices.ContainsFunc(waits, func(a box.Awaited) bool { return a.ID == p.Question.ID })
	})
	changed = len(fresh) > 0 || len(before) > 0 || len(t.untold) < left
	if changed {
		t.moved()
	}
	t.mu.Unlock()
	for _, a := range fresh {
		m, tell := t.ofWait(a)
		if !tell {
			t.mu.Lock()
			t.note(a)
			t.mu.Unlock()
			continue
		}
		if err := t.add(ctx, &pending{Message: m, About: about}, func() { t.note(a) }); err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// add takes a message to be told, and has noted, in the same moment, what it was made of. If there are too many, one that could not
// be told is dropped; if all are still to be tried, it waits until one was.
func (t *Teller) add(ctx context.Context, p *pending, note func()) error {
	p.Ways = t.ways()
	for {
		taken, progress := t.take(p, note)
		if taken {
			return nil
		}
		select {
		case <-progress:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// take takes a message if there is room for it, or it is there already, of before a restart.
func (t *Teller) take(p *pending, note func()) (taken bool, progress <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if slices.ContainsFunc(t.untold, func(other *pending) bool { return other.ID == p.ID }) {
		note()
		return true, nil
	}
	if !t.leads && !t.keepForLeader(p) {
		note()
		return true, nil
	}
	if len(t.untold) >= maxUntold {
		i := slices.IndexFunc(t.untold, func(p *pending) bool { return len(p.failed) > 0 })
		if i < 0 {
			return false, t.progress
		}
		t.drop(i, "too many others wait to be told")
	}
	t.untold = append(t.untold, p)
	note()
	t.moved()
	return true, nil
}

// drop gives a message up. The caller holds the mutex.
func (t *Teller) drop(i int, why string) {
	t.o.Logger.Warn("nobody was told, and it is given up: "+why, "message", t.untold[i].ID, "kind", t.untold[i].Kind, "run", t.untold[i].Run)
	t.untold = slices.Delete(t.untold, i, i+1)
	t.dropped++
}

// moved tells those who wait that something has changed. The caller holds the mutex.
func (t *Teller) moved() {
	close(t.progress)
	t.progress = make(chan struct{})
}

// send tells in one way, one message after the other. After a try that failed only what is new is tried, until a pause is over.
func (t *Teller) send(ctx context.Context, by Way) {
	pause, until := again, time.Time{}
	for {
		m, progress := t.next(by, t.o.Now().Before(until))
		if m == nil {
			wait := make(<-chan time.Time)
			if left := until.Sub(t.o.Now()); left > 0 {
				wait = time.After(left)
			}
			select {
			case <-progress:
			case <-wait:
			case <-ctx.Done():
				return
			}
			continue
		}
		err := t.senders[by](ctx, *m)
		if ctx.Err() != nil {
			return
		}
		t.tried(by, m.ID, err)
		if err == nil {
			pause, until = again, time.Time{}
			continue
		}
		t.o.Logger.Warn("nobody was told by the "+string(by), "message", m.ID, "kind", m.Kind, "run", m.Run, "error", err)
		until = t.o.Now().Add(pause)
		pause = min(2*pause, slowest)
	}
}

// next returns the message that was tried least often, and of those the oldest; nil if there is none, or fresh ones are asked for
// and all were tried. What is too old is given up.
func (t *Teller) next(by Way, fresh bool) (*Message, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.leads {
		return nil, t.progress
	}
	for i := 0; i < len(t.untold); {
		if p := t.untold[i]; p.About == "" && len(p.failed) > 0 && t.o.Now().Sub(p.At) > maxAge {
			t.drop(i, "it is too old")
			continue
		}
		i++
	}
	var least *pending
	for _, p := range t.untold {
		if slices.Contains(p.Ways, by) && (!fresh || p.failed[by] == 0) && (least == nil || p.failed[by] < least.failed[by]) {
			least = p
		}
	}
	if least == nil {
		return nil, t.progress
	}
	m := least.Message
	if t.link != nil && by == ByCommand { // the page's name is secret, and what a webhook is told leaves the machine
		m.Link = t.link(m)
	}
	return &m, t.progress
}

// tried notes what came of a try.
func (t *Teller) tried(by Way, id string, err error) {
	t.mu.Lock()
	i := slices.IndexFunc(t.untold, func(p *pending) bool { return p.ID == id })
	told := i >= 0 && err == nil
	switch {
	case told:
		p := t.untold[i]
		p.Ways = slices.DeleteFunc(p.Ways, func(w Way) bool { return w == by })
		if len(p.Ways) == 0 {
			t.untold = slices.Delete(t.untold, i, i+1)
		}
	case i >= 0:
		if t.untold[i].failed == nil {
			t.untold[i].failed = map[Way]int{}
		}
		t.untold[i].failed[by]++
		t.untold[i].trouble = jsontext.Shorten(string(by)+": "+err.Error(), maxText)
	}
	t.moved()
	t.mu.Unlock()
	if told {
		t.save()
	}
}

// Settle returns when all that has happened until now was told or tried once, or ctx ends.
func (t *Teller) Settle(ctx context.Context) {
	upTo := t.box.UpTo()
	for {
		t.mu.Lock()
		settled := t.over || !t.leads || t.upTo >= upTo && !slices.ContainsFunc(t.untold, func(p *pending) bool {
			return slices.ContainsFunc(p.Ways, func(w Way) bool { return p.failed[w] == 0 })
		})
		progress := t.progress
		t.mu.Unlock()
		if settled {
			return
		}
		select {
		case <-progress:
		case <-ctx.Done():
			return
		}
	}
}

// Status says what nobody could be told of yet.
func (t *Teller) Status() api.Messages {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := api.Messages{Dropped: t.dropped}
	for _, p := range t.untold {
		if !p.Kept.IsZero() {
			continue // the box that leads tells it
		}
		s.Undelivered++
		if s.Since.IsZero() || p.At.Before(s.Since) {
			s.Since = p.At
		}
		s.Error = cmp.Or(s.Error, p.trouble)
	}
	return s
}
