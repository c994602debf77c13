package homelink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/fleet"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/work"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// beat is how often both sides say that they are there, in tests.
const beat = 50 * time.Millisecond

// fake is a home that notes what it is asked, and answers something else to each question.
type fake struct {
	mu    sync.Mutex
	asked []string
	err   error                                          // of all that can fail
	carry func(ctx context.Context, o order.Order) error // nil for at once
}

func (f *fake) note(args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, a := range args {
		if o, is := a.(order.Order); is { // whose run has what only finds its tasks
			args[i] = o.Name() + " " + o.Run.ID
		}
		if r, is := a.(delivery.Run); is {
			args[i] = r.ID + r.Tasks[0].ID
		}
		if s, is := a.(delivery.Session); is {
			args[i] = s.ID + s.Task
		}
	}
	f.asked = append(f.asked, fmt.Sprintf("%+v", args))
}

func (f *fake) take() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	asked := f.asked
	f.asked = nil
	return slices.DeleteFunc(asked, func(s string) bool { return s == "[machine]" })
}

func (f *fake) Head(context.Context) (string, string, error) { f.note("head"); return "b", "c0", f.err }
func (f *fake) Ready() error                                 { f.note("ready"); return f.err }
func (f *fake) Unprotected() []string                        { f.note("unprotected"); return []string{"u"} }
func (f *fake) Root() string                                 { f.note("root"); return "/there" }
func (f *fake) CarryOut(ctx context.Context, o order.Order) error {
	f.note("carry out", o)
	if f.carry != nil {
		return f.carry(ctx, o)
	}
	return f.err
}
func (f *fake) Free(_ context.Context, run string) (bool, error) {
	f.note("free", run)
	return true, f.err
}
func (f *fake) MakeBranch(_ context.Context, branch, base string) (bool, error) {
	f.note("make branch", branch, base)
	return true, f.err
}
func (f *fake) Begin(_ context.Context, subject, branch string, alone bool) error {
	f.note("begin", subject, branch, alone)
	return f.err
}
func (f *fake) Resume(_ context.Context, alone bool, branches ...string) error {
	f.note("resume", alone, branches)
	return f.err
}
func (f *fake) Finished(_ context.Context, r delivery.Run) { f.note("finished", r) }
func (f *fake) Marked(known func() []string) ([]string, error) {
	f.note("marked", known())
	return []string{"m1", "m2"}, f.err
}
func (f *fake) Unmark(subject string) { f.note("unmark", subject) }
func (f *fake) Records(context.Context) ([]order.Record, error) {
	f.note("records")
	return []order.Record{{Name: "n", Subject: "s", Bytes: 3, At: time.Unix(5, 0).UTC(), Live: true, Gate: true}}, f.err
}
func (f *fake) RunsLeft(context.Context) ([]string, error) {
	f.note("runs left")
	return []string{"R1"}, f.err
}
func (f *fake) Left(_ context.Context, r delivery.Run) ([]order.Left, error) {
	f.note("left", r)
	return []order.Left{{Task: "T-1", Worktree: "/w", Bytes: 4, Branch: "b", Commit: "c", Unmerged: 1, Uncommitted: 2, Unread: "u", CheckedOut: true, Aside: true}}, f.err
}
func (f *fake) Homes(context.Context) int64       { f.note("homes"); return 1 << 40 }
func (f *fake) RemoveRecord(r order.Record) error { f.note("remove record", r); return f.err }
func (f *fake) Discard(_ context.Context, r delivery.Run, l order.Left) error {
	f.note("discard", r, l)
	return f.err
}
func (f *fake) PutAway(_ context.Context, r delivery.Run, l order.Left) error {
	f.note("put away", r, l)
	return f.err
}
func (f *fake) Sight(_ context.Context, r delivery.Run, task string) (work.Seen, error) {
	f.note("sight", r, task)
	return work.Seen{Commit: "c", Tree: "t", Base: "b"}, f.err
}
func (f *fake) Room(_ context.Context, r delivery.Run, task string) (string, error) {
	f.note("room", r, task)
	return "/room", f.err
}
func (f *fake) Commit(_ context.Context, r delivery.Run, task string) (string, int, error) {
	f.note("commit", r, task)
	return "c1", 7, f.err
}
func (f *fake) Again(s delivery.Session) error   { f.note("again", s); return f.err }
func (f *fake) TurnEnded(session, prompt string) { f.note("turn ended", session, prompt) }
func (f *fake) Gone(session string)              { f.note("gone", session) }
func (f *fake) Alive() []string                  { f.note("alive"); return []string{"S-1.1"} }
func (f *fake) Evidence(session, ref string, most int64) ([]byte, error) {
	f.note("evidence", session, ref, most)
	return []byte("\x00\xff e"), f.err
}
func (f *fake) Look(run, branch, session, task, plan string) <-chan struct{} {
	f.note("look", run, branch, session, task, plan)
	over := make(chan struct{})
	close(over)
	return over
}
func (f *fake) Distrust(run, session string) (string, error) {
	f.note("distrust", run, session)
	return "why", f.err
}
func (f *fake) AcceptFollowed() error    { f.note("accept followed"); return f.err }
func (f *fake) LeaveFollowed(run string) { f.note("leave followed", run) }
func (f *fake) Share(_ context.Context, o order.Order) ([]string, error) {
	f.note("share", o)
	return []string{"refs/heads/b"}, f.err
}
func (f *fake) Elsewhere(session string) string { f.note("elsewhere", session); return "gpu1" }
func (f *fake) Record(runner string, s order.Said) error {
	f.note("record", runner, s)
	return f.err
}
func (f *fake) Machine() delivery.Machine {
	f.note("machine")
	return delivery.Machine{Name: "not home", Labels: []string{"l"}, Agents: []string{"a"}, Places: 3, Checks: true}
}

// box is another box, with the way to it, which can be cut.
type box struct {
	*fake
	own    *Own
	server *httptest.Server
	cut    atomic.Bool
}

var errCut = errors.New("the way is cut")

func (b *box) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.cut.Load() {
		return nil, errCut
	}
	r = r.Clone(r.Context())
	r.URL.Host = b.server.Listener.Addr().String()
	return b.server.Client().Transport.RoundTrip(r)
}

// open starts another box, and returns how this one, which leads, knows homes.
func open(t *testing.T, wrap func(http.Handler) http.Handler) (*box, *Homes) {
	t.Helper()
	b := &box{fake: &fake{}}
	b.own = NewOwn(b.fake)
	h := ServeHome(b.own, slog.New(slog.DiscardHandler))
	h.(*server).beat = beat
	if wrap != nil {
		h = wrap(h)
	}
	mux := http.NewServeMux()
	mux.Handle("POST "+HomePath+"{method}", h)
	b.server = httptest.NewServer(mux)
	t.Cleanup(b.server.Close)
	homes := NewHomes(context.Background(), Options{
		Self: "a", Own: &fake{}, Founder: "a", Others: func() []string { return []string{"a", "c"} },
		Carrier: func(name string) (http.RoundTripper, bool) { return b, name == "c" },
		Open:    func(name string) []string { return []string{"open at " + name} }, Changed: func() {}, Logger: slog.New(slog.DiscardHandler), beat: beat,
	})
	t.Cleanup(func() {
		homes.Stop()
		b.server.CloseClientConnections()
	})
	return b, homes
}

// reached is the home of box c, when it is.
func reached(t *testing.T, homes *Homes) *Far {
	t.Helper()
	h := homes.Of("c").(*Far)
	until(t, "it is reached", func() bool { return !h.Machine().Away })
	return h
}

// until waits for what comes about beside the test.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	for limit := time.After(20 * time.Second); !so(); {
		select {
		case <-time.After(time.Millisecond):
		case <-limit:
			t.Fatalf("it does not come about that %s", what)
		}
	}
}

// got waits for what comes on a channel.
func got[T any](t *testing.T, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(20 * time.Second):
		t.Fatalf("it does not come about that %s", what)
	}
	return v
}

var _ fleet.Home = (*fake)(nil)

// anOrder is one for home.
func anOrder(id string) order.Order {
	o := order.Order{Command: delivery.Command{ID: id, Do: delivery.DoGate}}
	o.Run.Subject, o.Run.ID, o.Run.Home = "01RUN", "R1", "c"
	return o
}
