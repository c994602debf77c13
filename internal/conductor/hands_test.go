package conductor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/conductor/conductortest"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// hands is a runner that does nothing by itself: tests say when and how its orders end, and what it finds. It
// outlives conductors.
type hands struct {
	carryOut func(ctx context.Context, o order.Order) error // if it is nil, an order waits for its end, or the test's word

	files int // that a person who hands a task in has changed

	mu     sync.Mutex
	notes  []string          // what was asked of it, since they were last taken
	orders map[string]*given // under way, by id
	alive  map[string]bool   // sessions
	marks  map[string]bool   // of runs
	taken  map[string]bool   // ids of runs that branches of tasks have, and branches
	fails  map[string]error  // by the name of a method
	hangs  map[string]bool   // methods that end with their context
	look   chan struct{}     // closed when looks are over; nil for at once
	tidied chan struct{}     // closed when runs are tidied up after; nil for at once
	lacks  []string          // what is not protected
	asked  chan struct{}     // closed when it can be told what is not protected; nil for at once
	slow   time.Duration     // that an order takes to end when it is cancelled
	words  map[string]string // why reviewers are not trusted, by run
	given  []order.Order     // all orders there were

	records []order.Record          // what lies there of runs
	left    map[string][]order.Left // by the run's id
}

// given is an order that is under way.
type given struct {
	order.Order
	end chan func() error // what ends it
}

func newHands() *hands {
	return &hands{
		orders: map[string]*given{}, alive: map[string]bool{}, marks: map[string]bool{}, taken: map[string]bool{}, fails: map[string]error{},
		hangs: map[string]bool{}, words: map[string]string{},
	}
}

// note notes that something was asked, and returns how it fails.
func (h *hands) note(method, format string, args ...any) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if format != "" {
		h.notes = append(h.notes, fmt.Sprintf(format, args...))
	}
	return h.fails[method]
}

// take returns what was noted, sorted: several goroutines ask at once.
func (h *hands) take() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	notes := h.notes
	h.notes = nil
	slices.Sort(notes)
	return notes
}

// set sets what it finds.
func (h *hands) set(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
}

func (h *hands) CarryOut(ctx context.Context, o order.Order) error {
	reviews := ""
	if o.Reviews {
		reviews = " (reviews)"
	}
	on := ""
	if o.Runner != "" {
		on = " on " + o.Runner
	}
	_ = h.note("", "order: %s%s%s", o.ID, reviews, on)
	h.set(func() {
		h.given = append(h.given, o)
		if o.Do == delivery.DoStart {
			h.alive[o.Session.ID] = true
		}
	})
	if h.carryOut != nil {
		return h.carryOut(ctx, o)
	}
	g := &given{o, make(chan func() error)}
	h.set(func() { h.orders[o.ID] = g })
	select {
	case end := <-g.end:
		return end()
	case <-ctx.Done():
		time.Sleep(h.slow)
		_ = h.note("", "cancelled: %s", o.ID)
		h.set(func() {
			if h.orders[o.ID] == g {
				delete(h.orders, o.ID)
			}
		})
		return ctx.Err()
	}
}

// end ends an order as the function says, which may hand in what comes of it.
func (h *hands) end(t *testing.T, id string, how func() error) {
	t.Helper()
	h.mu.Lock()
	g := h.orders[id]
	delete(h.orders, id)
	h.mu.Unlock()
	if g == nil {
		t.Fatalf("nobody was ordered to %s", id)
	}
	g.end <- how
}

// due returns the id of the order with this verb that is under way.
func (h *hands) due(t *testing.T, do delivery.Verb, task string) string {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, g := range h.orders {
		if g.Do == do && (task == "" || g.Task != nil && g.Task.ID == task) {
			return id
		}
	}
	t.Fatalf("nobody was ordered to %s %s", do, task)
	return ""
}

func (h *hands) Head(context.Context) (branch, commit string, err error) {
	return "trunk", "0000000", h.note("Head", "")
}

func (h *hands) Ready() error { return h.note("Ready", "") }

func (h *hands) Unprotected() []string {
	if h.asked != nil {
		<-h.asked
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lacks
}

func (h *hands) Root() string { return "/the/checkout" }

func (h *hands) Free(_ context.Context, run string) (free bool, err error) {
	err = h.note("Free", "")
	h.set(func() { free = !h.taken[run] })
	return free, err
}

func (h *hands) MakeBranch(_ context.Context, branch, _ string) (made bool, err error) {
	err = h.note("MakeBranch", "")
	h.set(func() {
		made = !h.taken[branch]
		h.taken[branch] = true
	})
	return made, err
}

func (h *hands) Begin(_ context.Context, subject, branch string, alone bool) error {
	h.set(func() { h.marks[subject] = true })
	return h.note("Begin", "begins: %s on %s, alone: %v", subject, branch, alone)
}

func (h *hands) Resume(ctx context.Context, _ bool, branches ...string) error {
	err := h.note("Resume", "looks at: %s", strings.Join(branches, " "))
	if h.hangs["Resume"] {
		<-ctx.Done()
	}
	return err
}

func (h *hands) Finished(_ context.Context, r delivery.Run) {
	if h.tidied != nil {
		<-h.tidied
	}
	if h.note("Finished", "tidied up: %s", r.ID) == nil {
		h.Unmark(r.Subject)
	}
}

func (h *hands) Marked(func() []string) (marked []string, err error) {
	err = h.note("Marked", "")
	h.set(func() {
		for subject := range h.marks {
			marked = append(marked, subject)
		}
		slices.Sort(marked)
	})
	return marked, err
}

func (h *hands) Records(context.Context) (all []order.Record, err error) {
	h.set(func() { all = slices.Clone(h.records) })
	return all, h.note("Records", "")
}

func (h *hands) RunsLeft(context.Context) (ids []string, err error) {
	h.set(func() { ids = slices.Sorted(maps.Keys(h.left)) })
	return ids, h.note("RunsLeft", "")
}

func (h *hands) Left(_ context.Context, r delivery.Run) (all []order.Left, err error) {
	h.set(func() { all = slices.Clone(h.left[r.ID]) })
	return all, h.note("Left", "")
}

func (h *hands) Homes(context.Context) int64 { return 0 }

func (h *hands) RemoveRecord(r order.Record) error {
	h.set(func() { h.records = slices.DeleteFunc(h.records, func(other order.Record) bool { return other == r }) })
	return h.note("RemoveRecord", "removed: %s", r.Name)
}

func (h *hands) Discard(_ context.Context, r delivery.Run, l order.Left) error {
	return h.note("Discard", "discarded: %s", strings.TrimSuffix(r.ID+"."+l.Task, "."))
}

func (h *hands) PutAway(_ context.Context, r delivery.Run, l order.Left) error {
	return h.note("PutAway", "put away: %s.%s", r.ID, l.Task)
}

func (h *hands) Unmark(subject string) { h.set(func() { delete(h.marks, subject) }) }

func (h *hands) Again(s delivery.Session) error {
	return h.note("Again", "said again: %s", s.Prompt.ID)
}

func (h *hands) TurnEnded(session, prompt string) {
	_ = h.note("", "turn ended: %s", strings.TrimSpace(session+" "+prompt))
}

func (h *hands) Gone(session string) {
	h.set(func() { delete(h.alive, session) })
	_ = h.note("", "gone: %s", session)
}

func (h *hands) Alive() (alive []string) {
	h.set(func() {
		for session := range h.alive {
			alive = append(alive, session)
		}
	})
	slices.Sort(alive)
	return alive
}

func (h *hands) Look(run, branch, session, task, _ string) <-chan struct{} {
	_ = h.note("", "looks at the checkout: %s %s %s %s", run, branch, session, cmp.Or(task, "no task"))
	over := h.look
	if over == nil {
		over = make(chan struct{})
		close(over)
	}
	return over
}

func (h *hands) Evidence(session, ref string, _ int64) ([]byte, error) {
	return []byte(ref + " of " + session), h.note("Evidence", "")
}

func (h *hands) Distrust(run, _ string) (reason string, err error) {
	err = h.note("Distrust", "")
	h.set(func() { reason = h.words[run] })
	return reason, err
}

func (h *hands) AcceptFollowed() error {
	err := h.note("AcceptFollowed", "accepted what programs follow")
	if err == nil {
		h.set(func() { clear(h.words) })
	}
	return err
}

func (h *hands) LeaveFollowed(run string) { _ = h.note("", "left: what programs of %s follow", run) }

const onePlan = "# A plan\n\n#### Task T-1: The task\n\n**Work**: Do it.\n\n**Blocked By**: none\n"

// settings are those of a box with one agent, and what else is given, as the file has it.
func settings(t *testing.T, more string) config.Config {
	t.Helper()
	c, err := config.Parse(config.File, []byte("agents: {scripted: {command: [agent]}}\n"+more+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// stage is a conductor, with its ledger and runner. It is in a bubble.
type stage struct {
	*Conductor
	*hands
	ledger *conductortest.Ledger
}

// started returns a conductor that was started on an empty ledger.
func started(t *testing.T, o Options) *stage {
	t.Helper()
	if o.Config.Agents == nil {
		o.Config = settings(t, "")
	}
	s := &stage{hands: newHands(), ledger: conductortest.New(t.Context(), time.Now)}
	s.Conductor = New(s.ledger, o)
	if err := s.Start(t.Context(), s.hands, time.Minute); err != nil {
		t.Fatal(err)
	}
	synctest.Wait() // until what a start keeps in bounds is done
	return s
}

// deliver starts a run of a plan with one task, and returns its subject.
func (s *stage) deliver(t *testing.T) string {
	t.Helper()
	r, err := s.Deliver(t.Context(), work.OperatorActor, api.StartRun{Plan: onePlan}, "")
	if err != nil {
		t.Fatal(err)
	}
	return r.Subject
}

// code is what kind of problem an error is; empty if there is none.
func code(err error) string {
	if err == nil {
		return ""
	}
	return Problem(err).Code
}

var errBroken = errors.New("it is broken")

func (h *hands) Sight(_ context.Context, r delivery.Run, task string) (work.Seen, error) {
	return work.Seen{Commit: r.Task(task).Item.Commit, Tree: "7ee0123", Base: "0123000"}, h.note("Sight", "")
}

func (h *hands) Room(_ context.Context, _ delivery.Run, task string) (string, error) {
	return "/worktrees/" + task, h.note("Room", "")
}

func (h *hands) Commit(context.Context, delivery.Run, string) (string, int, error) {
	return homeCommit, h.files, h.note("Commit", "")
}

// homeCommit is what is committed of the work in a worktree at home.
const homeCommit = "c0ffee00000000000000000000000000000000aa"

// runnerOf returns the machine that has an order.
func (h *hands) runnerOf(id string) (on string) {
	h.set(func() {
		if g := h.orders[id]; g != nil {
			on = g.Runner
		}
	})
	return on
}
