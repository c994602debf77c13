package fleet

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/mailbox"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// home is a runner in the same process that says what it was asked.
type home struct {
	order.Runner
	asked []string
	at    map[string]string // where sessions are that are over
}

func (h *home) say(what string) { h.asked = append(h.asked, what) }
func (h *home) CarryOut(_ context.Context, o order.Order) error {
	h.say("carry out " + o.ID)
	return nil
}
func (h *home) Share(context.Context, order.Order) ([]string, error) {
	return []string{"refs/heads/b"}, nil
}
func (h *home) Machine() delivery.Machine            { return delivery.Machine{Checks: true} }
func (h *home) Alive() []string                      { return []string{"home-1.1"} }
func (h *home) Gone(s string)                        { h.say("gone " + s) }
func (h *home) Distrust(_, s string) (string, error) { h.say("distrust " + s); return "", nil }
func (h *home) Elsewhere(s string) string            { return h.at[s] }
func (h *home) Record(at string, s order.Said) error {
	h.say("record " + at + " " + s.Of + " " + string(s.Name))
	return nil
}
func (h *home) Ready() error                              { return order.ErrNoProgram }
func (h *home) Look(_, _, s, _, _ string) <-chan struct{} { h.say("look " + s); return nil }

// boss is a conductor that keeps what is handed in.
type boss struct {
	order.Conductor
	mu      sync.Mutex
	in      []delivery.Input
	renewed []string
	on      map[string]string // where sessions are that have not ended
	stirred atomic.Int32
}

func (b *boss) HandIn(_ context.Context, _ string, in delivery.Input) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.in = append(b.in, in)
	return nil
}
func (b *boss) Renew(s string) { b.renewed = append(b.renewed, s) }
func (b *boss) where(_, s string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.on[s]
}
func (b *boss) MachinesChanged() { b.stirred.Add(1) }

// told is what was handed in.
func (b *boss) told() []delivery.Input {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.in)
}

// joined are the runners that may dial in.
type joined struct{ atomic.Pointer[[]Known] }

func (j *joined) set(all ...Known) { j.Store(&all) }

const lostAfter = 5 * time.Minute

// begin makes a fleet in a bubble, with a runner gpu1 that has joined.
func begin(t *testing.T) (*Fleet, *home, *boss, *joined) {
	t.Helper()
	h, b, known := &home{}, &boss{}, &joined{}
	known.set(Known{Name: "gpu1", Labels: []string{"gpu"}})
	f := New(Options{
		Home: h, Conductor: b, Mail: mailbox.New(), Known: func() []Known { return *known.Load() }, Runs: func() []string { return []string{"R1"} }, Where: b.where,
		Settings: order.Settings{Text: "settings"}, Lost: lostAfter, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
	})
	t.Cleanup(f.Stop)
	return f, h, b, known
}

// started is an order to start a session on a runner.
func started(runner, session string) order.Order {
	o := order.Order{Command: delivery.Command{ID: "start/" + session, Do: delivery.DoStart, Runner: runner, Session: &delivery.Session{ID: session, Task: "T-1", Runner: runner}}}
	o.Run.Subject = "R"
	return o
}

// checked is an order for checks on another session's work.
func checked() order.Order {
	o := order.Order{Command: delivery.Command{ID: "gate/T-2/9", Do: delivery.DoGate, Runner: "gpu1", Task: &delivery.Task{ID: "T-2", Item: work.Item{Chain: work.Chain{Subject: "S2"}}}}}
	o.Run.Subject = "R"
	return o
}

// names of what a line has to send, in short.
func sent(t *testing.T, l *Line) (all []string) {
	t.Helper()
	for _, n := range l.take() {
		switch {
		case n.Settings != nil:
			all = append(all, "settings")
		case n.Order != nil:
			all = append(all, "order "+n.Order.Name)
		case n.Due != nil:
			all = append(all, "due "+strings.Join(*n.Due, ","))
		case n.Call != nil:
			all = append(all, "call "+n.Call.Do)
		}
	}
	return all
}

func follow(t *testing.T, f *Fleet, name string) *Line {
	t.Helper()
	l, err := f.Follow(name, 1)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

var here = order.Here{Protocol: 1, Agents: []order.Agent{{Name: "codex"}}, Places: 4, Checks: true}
