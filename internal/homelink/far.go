package homelink

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// Far is the home runner of another box. Whether that is reached is asked again and again, and known without a request.
//
// What ends with a context, or returns an error, fails with [order.ErrUnreached] while the box is not reached, and nothing comes of it there; if the
// connection breaks later, nobody knows what came of it. Orders ([Far.CarryOut], [Far.Share]) wait until it is reached. What else is asked does not
// wait for longer than a moment, and each such method says what it answers of a box that is not reached.
type Far struct {
	box string
	of  *Homes

	mu      sync.Mutex
	reached bool
	asked   bool             // it was found out whether it is
	heard   time.Time        // when it answered last
	machine delivery.Machine // as it said last
	root    string           // as it said first
	back    chan struct{}    // closed when it is reached
	notes   []note           // that it was not told yet
	told    chan struct{}    // has something if there is one more
}

// note is something that a home is told, and returns nothing.
type note struct {
	method string
	question
}

// How long a box may take that is there.
const (
	brief    = 2 * time.Second  // to say what it knows
	patience = 30 * time.Second // to do something that waits for nothing

	lookPatience = 2 * time.Minute // to look at the user's checkout
)

// mostNotes bounds what a box is told when it is reached.
const mostNotes = 1024

// Why an order is not carried out.
var (
	errBack    = errors.New("the box is reached again: the order is given anew, as things are by now")
	errCarrier = errors.New("there is no way to it")
)

// unreached says that the box is not reached.
func (h *Far) unreached(why error) error {
	return fmt.Errorf("%w: box %s: %w", order.ErrUnreached, h.box, why)
}

// look asks the box again and again whether it is there, and what can be done there.
func (h *Far) look(ctx context.Context) {
	beat := h.of.o.beat
	for {
		asking, cancel := context.WithTimeout(ctx, 2*beat)
		a, err := h.request(asking, "machine", question{})
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && a.Machine != nil:
			h.met(*a.Machine)
		default:
			h.missed(err)
		}
		pause := beat
		if err != nil {
			pause = api.Jitter(beat / 2)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// met notes that the box is there.
func (h *Far) met(m delivery.Machine) {
	h.mu.Lock()
	m.Name, m.Away = "", false
	was := h.reached
	h.reached, h.asked, h.heard, h.machine = true, true, time.Now(), m
	if !was {
		close(h.back)
	}
	h.mu.Unlock()
	if !was {
		h.of.o.Logger.Info("a box is reached, in whose directory runs may have been started", "box", h.box)
		h.of.o.Changed()
	}
}

// missed notes that it has not answered. It is not reached when it has not for a while.
func (h *Far) missed(why error) {
	h.mu.Lock()
	first := !h.asked
	lost := h.reached && time.Since(h.heard) >= silence*h.of.o.beat
	h.asked = true
	if lost {
		h.reached, h.back = false, make(chan struct{})
	}
	h.mu.Unlock()
	if first || lost {
		h.of.o.Logger.Warn("a box is not reached: runs that were started in its directory wait for it", "box", h.box, "error", why)
		h.of.o.Changed()
	}
}

// away reports whether it is known that the box is not reached.
func (h *Far) away() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked && !h.reached
}

// request asks the box, reached or not.
func (h *Far) request(ctx context.Context, method string, q question) (answer, error) {
	carrier, ok := h.of.o.Carrier(h.box)
	if !ok {
		return answer{}, broken{errCarrier}
	}
	return call(ctx, carrier, HomePath+method, h.of.word, h.of.o.beat, q)
}

// ask asks the box if it is reached.
func (h *Far) ask(ctx context.Context, method string, q question) (answer, error) {
	if h.away() {
		return answer{}, h.unreached(errSilent)
	}
	a, err := h.request(ctx, method, q)
	if cut, is := errors.AsType[broken](err); is {
		return answer{}, h.unreached(api.Cause(cut.error))
	}
	return a, err
}

// quick does so for who has no context.
func (h *Far) quick(limit time.Duration, method string, q question) (answer, error) {
	ctx, cancel := context.WithTimeout(h.of.group.Context(), limit)
	defer cancel()
	a, err := h.ask(ctx, method, q)
	if ctx.Err() != nil && err != nil {
		err = h.unreached(err)
	}
	return a, err
}

// reach returns when the box is reached. It fails if that took longer than a moment.
func (h *Far) reach(ctx context.Context) error {
	h.mu.Lock()
	back := h.back
	h.mu.Unlock()
	late := time.NewTimer(h.of.o.beat)
	defer late.Stop()
	waited := false
	for {
		select {
		case <-back:
			if waited {
				return errBack
			}
			return nil
		case <-late.C:
			waited = true
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// note has the box told something as soon as it is reached.
func (h *Far) note(method string, q question) {
	h.mu.Lock()
	full := len(h.notes) >= mostNotes
	if !full {
		h.notes = append(h.notes, note{method, q})
	}
	h.mu.Unlock()
	if full {
		h.of.o.Logger.Warn("a box is not told what it would be told if it were reached", "box", h.box, "method", method)
		return
	}
	select {
	case h.told <- struct{}{}:
	default:
	}
}

// tell tells the box what it is to know, in order, each until it answers.
func (h *Far) tell(ctx context.Context) {
	for {
		select {
		case <-h.told:
		case <-ctx.Done():
			return
		}
		for {
			h.mu.Lock()
			if len(h.notes) == 0 {
				h.mu.Unlock()
				break
			}
			n := h.notes[0]
			h.notes = h.notes[1:]
			h.mu.Unlock()
			_, err := api.Insist(ctx, func() (struct{}, bool, error) {
				if err := h.reach(ctx); err != nil && !errors.Is(err, errBack) {
					return struct{}{}, true, err
				}
				asking, cancel := context.WithTimeout(ctx, patience)
				defer cancel()
				_, err := h.ask(asking, n.method, n.question)
				return struct{}{}, err == nil || !errors.Is(err, order.ErrUnreached) && asking.Err() == nil, err
			})
			if err != nil && ctx.Err() == nil {
				h.of.o.Logger.Warn("a box did not take what it was told", "box", h.box, "method", n.method, "error", err)
			}
		}
	}
}

// Machine is what can be done there, as the box said last; it is away if it is not reached.
func (h *Far) Machine() delivery.Machine {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.reached {
		return delivery.Machine{Away: true}
	}
	return h.machine
}

// Head returns the branch that the user's checkout is on, and its commit.
func (h *Far) Head(ctx context.Context) (branch, commit string, err error) {
	a, err := h.ask(ctx, "head", question{})
	return a.Text, a.Other, err
}

// Ready reports why a run could not be carried out: also that the box is not reached.
func (h *Far) Ready() error {
	_, err := h.quick(patience, "ready", question{})
	return err
}

// Unprotected says which verdicts could be forged. Of a box that is not reached it says that this is not known, and not that none could.
func (h *Far) Unprotected() []string {
	a, err := h.quick(brief, "unprotected", question{})
	if err != nil {
		return []string{"it is not known what box " + h.box + " protects"}
	}
	return a.Texts
}

// Root is the user's checkout there; "" if it was never said, and the box is not reached.
func (h *Far) Root() string {
	h.mu.Lock()
	root := h.root
	h.mu.Unlock()
	if root != "" {
		return root
	}
	a, err := h.quick(brief, "root", question{})
	if err == nil {
		h.mu.Lock()
		h.root = a.Text
		h.mu.Unlock()
	}
	return a.Text
}

// CarryOut has an order carried out there. It waits until the box is reached; then, as things may be others by now, the order has to be given anew. It
// fails if the connection breaks: the order may go on there until it is given again.
func (h *Far) CarryOut(ctx context.Context, o order.Order) error {
	if err := h.reach(ctx); err != nil {
		return err
	}
	_, err := h.ask(ctx, "carry-out", question{Order: &o})
	return err
}

// Share brings what an order on another machine is about into that box's repository. It waits like CarryOut.
func (h *Far) Share(ctx context.Context, o order.Order) ([]string, error) {
	if err := h.reach(ctx); err != nil {
		return nil, err
	}
	a, err := h.ask(ctx, "share", question{Order: &o})
	return a.Texts, err
}

// Free reports whether the branches of a run's tasks could have that run's name.
func (h *Far) Free(ctx context.Context, run string) (bool, error) {
	a, err := h.ask(ctx, "free", question{RunNamed: run})
	return a.Yes, err
}

// MakeBranch makes the branch that a run's work is merged to.
func (h *Far) MakeBranch(ctx context.Context, branch, base string) (made bool, err error) {
	a, err := h.ask(ctx, "make-branch", question{Branch: branch, Base: base})
	return a.Yes, err
}

// Begin is called before a run is recorded.
func (h *Far) Begin(ctx context.Context, subject, branch string, alone bool) error {
	_, err := h.ask(ctx, "begin", question{RunNamed: subject, Branch: branch, Alone: alone})
	return err
}

// Resume looks how everything is that agents of runs should leave alone.
func (h *Far) Resume(ctx context.Context, alone bool, branches ...string) error {
	_, err := h.ask(ctx, "resume", question{Alone: alone, Names: branches})
	return err
}

// Finished takes away what an ended run has left. What a box that is not reached has of it stays marked there, and goes when the next conductor starts.
func (h *Far) Finished(ctx context.Context, r delivery.Run) {
	if _, err := h.ask(ctx, "finished", question{Run: &r}); err != nil && ctx.Err() == nil {
		h.of.o.Logger.Warn("what a run that has ended has left at another box is not taken away yet", "run", r.ID, "error", err)
	}
}

// Marked returns the runs that may have left something there.
func (h *Far) Marked(known func() []string) ([]string, error) {
	a, err := h.quick(patience, "marked", question{Names: known()})
	return a.Texts, err
}

// Unmark forgets a run that was never recorded: the box is told when it is reached.
func (h *Far) Unmark(subject string) { h.note("unmark", question{RunNamed: subject}) }

// Records returns what sessions said and checks printed there.
func (h *Far) Records(ctx context.Context) ([]order.Record, error) {
	a, err := h.ask(ctx, "records", question{})
	return a.Records, err
}

// RunsLeft returns the ids of the runs that branches or worktrees there are named after.
func (h *Far) RunsLeft(ctx context.Context) ([]string, error) {
	a, err := h.ask(ctx, "runs-left", question{})
	return a.Texts, err
}

// Left returns the worktrees and branches of a run.
func (h *Far) Left(ctx context.Context, r delivery.Run) ([]order.Left, error) {
	a, err := h.ask(ctx, "left", question{Run: &r})
	return a.Left, err
}

// Homes is how large what checks left is, in bytes; 0 if the box is not reached.
func (h *Far) Homes(ctx context.Context) int64 {
	a, err := h.ask(ctx, "homes", question{})
	if err != nil {
		return 0
	}
	return a.Number
}

// RemoveRecord removes a record.
func (h *Far) RemoveRecord(r order.Record) error {
	_, err := h.quick(patience, "remove-record", question{Record: &r})
	return err
}

// Discard removes a worktree and a branch.
func (h *Far) Discard(ctx context.Context, r delivery.Run, l order.Left) error {
	_, err := h.ask(ctx, "discard", question{Run: &r, Left: &l})
	return err
}

// PutAway commits what lies in a worktree to its branch, and removes the worktree.
func (h *Far) PutAway(ctx context.Context, r delivery.Run, l order.Left) error {
	_, err := h.ask(ctx, "put-away", question{Run: &r, Left: &l})
	return err
}

// Sight returns what a person who reviews a task is shown.
func (h *Far) Sight(ctx context.Context, r delivery.Run, task string) (work.Seen, error) {
	a, err := h.ask(ctx, "sight", question{Run: &r, Task: task})
	if a.Seen == nil {
		a.Seen = &work.Seen{}
	}
	return *a.Seen, err
}

// Room makes the worktree of a task ready for a person, and returns its path on that box's machine.
func (h *Far) Room(ctx context.Context, r delivery.Run, task string) (string, error) {
	a, err := h.ask(ctx, "room", question{Run: &r, Task: task})
	return a.Text, err
}

// Commit commits what is in the worktree of a task.
func (h *Far) Commit(ctx context.Context, r delivery.Run, task string) (commit string, files int, err error) {
	a, err := h.ask(ctx, "commit", question{Run: &r, Task: task})
	return a.Text, int(a.Number), err
}

// Again says to a session what it was told and has not answered.
func (h *Far) Again(s delivery.Session) error {
	_, err := h.quick(patience, "again", question{Session: &s})
	return err
}

// TurnEnded notes that a session has answered a prompt: the box is told when it is reached.
func (h *Far) TurnEnded(session, prompt string) {
	h.note("turn-ended", question{Of: session, Prompt: prompt})
}

// Gone notes that a session has reported its end: the box is told when it is reached.
func (h *Far) Gone(session string) { h.note("gone", question{Of: session}) }

// Alive returns the sessions whose processes run. Of a box that is not reached, these are all that the ledger has not ended: none is taken for dead.
func (h *Far) Alive() []string {
	a, err := h.quick(brief, "alive", question{})
	if err != nil {
		return h.of.o.Open(h.box)
	}
	return a.Texts
}

// Evidence reads a file that a session's agent names. If it fails with [order.ErrUnreached], the file may be there.
func (h *Far) Evidence(session, ref string, most int64) ([]byte, error) {
	a, err := h.quick(patience, "evidence", question{Of: session, Ref: ref, Most: most})
	return a.Data, err
}

// Look looks whether the user's checkout was changed while a session ran. If the box is not reached nobody looks, and nobody waits for it.
func (h *Far) Look(run, branch, session, task, plan string) <-chan struct{} {
	over := make(chan struct{})
	begun := h.of.group.Go(func(ctx context.Context) {
		defer close(over)
		ctx, cancel := context.WithTimeout(ctx, lookPatience)
		defer cancel()
		_, err := h.ask(ctx, "look", question{RunNamed: run, Branch: branch, Of: session, Task: task, Plan: plan})
		if err != nil && h.of.group.Context().Err() == nil {
			h.of.o.Logger.Warn("it was not looked whether the checkout at another box was changed", "session", session, "error", err)
		}
	})
	if !begun {
		close(over)
	}
	return over
}

// Distrust says why a reviewer's word can't be trusted. If it fails, the word is not taken yet.
func (h *Far) Distrust(run, session string) (string, error) {
	a, err := h.quick(patience, "distrust", question{RunNamed: run, Of: session})
	return a.Text, err
}

// AcceptFollowed takes what reviewers' programs follow there as the operator's will.
func (h *Far) AcceptFollowed() error {
	_, err := h.quick(patience, "accept-followed", question{})
	return err
}

// LeaveFollowed says that a run does not need to know any more what they follow: the box is told when it is reached.
func (h *Far) LeaveFollowed(run string) { h.note("leave-followed", question{RunNamed: run}) }

// Elsewhere returns the other machine that a session is, or was, on. Of a box that is not reached it is "", which is also said of a session of its own:
// who asks looks whether the box is away ([Far.Machine]).
func (h *Far) Elsewhere(session string) string {
	a, err := h.quick(brief, "elsewhere", question{Of: session})
	if err != nil {
		return ""
	}
	return a.Text
}

// Record changes that box's copy of what was said or printed at a runner.
func (h *Far) Record(runner string, s order.Said) error {
	_, err := h.quick(patience, "record", question{Runner: runner, Said: &s})
	return err
}
