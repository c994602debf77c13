package fleet

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/mailbox"
	"github.com/signalbox-dev/signalbox/internal/order"
)

// farHome is the home of another box, which can be away.
type farHome struct {
	home
	away    bool
	cleaned []string
}

func (h *farHome) Machine() delivery.Machine {
	return delivery.Machine{Away: h.away, Agents: []string{"claude"}}
}
func (h *farHome) Alive() []string       { return []string{"far-1.1"} }
func (h *farHome) Ready() error          { return nil }
func (h *farHome) TurnEnded(s, _ string) { h.say("turn ended " + s) }
func (h *farHome) Unmark(run string)     { h.cleaned = append(h.cleaned, "unmark "+run) }
func (h *farHome) Marked(known func() []string) ([]string, error) {
	h.cleaned = append(h.cleaned, "marked "+strings.Join(known(), ","))
	return []string{"far run"}, h.err()
}
func (h *farHome) Records(context.Context) ([]order.Record, error) {
	return []order.Record{{Name: "far-1.1"}}, h.err()
}
func (h *farHome) RunsLeft(context.Context) ([]string, error) { return []string{"R1", "R2"}, h.err() }
func (h *farHome) Homes(context.Context) int64                { return 5 }
func (h *farHome) err() error {
	if h.away {
		return order.ErrUnreached
	}
	return nil
}

// ownHome is that of this box, as far as what lies there is asked for.
type ownHome struct {
	home
	known []string
	fails error
}

func (h *ownHome) Marked(known func() []string) ([]string, error) {
	h.known = known()
	return []string{"own run"}, h.fails
}
func (h *ownHome) Unmark(run string) { h.say("unmark " + run) }
func (h *ownHome) Records(context.Context) ([]order.Record, error) {
	return []order.Record{{Name: "own-1.1"}}, h.fails
}
func (h *ownHome) RunsLeft(context.Context) ([]string, error) { return []string{"R1", "R3"}, h.fails }
func (h *ownHome) Homes(context.Context) int64                { return 2 }

// two makes the fleet of a box that leads, with its own home and that of box c, where sessions and runs are whose names begin with "far".
func two(t *testing.T) (*Fleet, *ownHome, *farHome, *joined) {
	t.Helper()
	own, far, known := &ownHome{}, &farHome{}, &joined{}
	known.set()
	f := New(Options{
		Home: own, Conductor: &boss{}, Mail: mailbox.New(), Known: func() []Known { return *known.Load() }, Runs: func() []string { return nil },
		HomeOf: func(box string) Home {
			if box == "c" {
				return far
			}
			return own
		},
		Others: func() []Home { return []Home{far} },
		BoxOf: func(name string) string {
			if strings.HasPrefix(name, "far") {
				return "c"
			}
			return "a"
		},
		Where: func(string, string) string { return "" }, Lost: lostAfter, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
	})
	t.Cleanup(f.Stop)
	return f, own, far, known
}

// What is about a run goes to its home, and what is about another machine goes there, whoever's home the run has.
func TestHomeOfRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, own, far, known := two(t)
		c := f.Of("c").(*Fleet)
		if f.Of("a") != order.Runner(f) || f.Of("c") != order.Runner(c) || f.At("c") != c {
			t.Error("there are more fleets than homes")
		}
		for _, x := range []*Fleet{f, c} {
			if err := x.CarryOut(t.Context(), order.Order{Command: delivery.Command{ID: "merge/1"}}); err != nil {
				t.Error(err)
			}
			x.Gone("S-1.1")
		}
		if want := []string{"carry out merge/1", "gone S-1.1"}; !slices.Equal(own.asked, want) || !slices.Equal(far.asked, want) {
			t.Errorf("asked was %q, and at c %q", own.asked, far.asked)
		}
		if err := c.Ready(); err != nil || !errors.Is(f.Ready(), order.ErrNoProgram) {
			t.Error("the homes are mixed up")
		}
		known.set(Known{Name: "gpu1"})
		its := started("gpu1", "far-1.1")
		its.Run.Home = "c"
		go func() { _ = c.CarryOut(t.Context(), its) }()
		synctest.Wait()
		if got := sent(t, follow(t, f, "gpu1")); len(got) != 3 {
			t.Errorf("gpu1 is sent %q", got)
		}
		if _, at, err := f.Fetches("gpu1", its.Name()); err != nil || at != Home(far) || f.HomeOf("far-1.1") != Home(far) || f.HomeOf("S-1.1") != Home(own) {
			t.Errorf("it fetches from %v, %v", at, err)
		}
		c.TurnEnded("far-1.1", "p")
		if len(far.asked) != 2 {
			t.Errorf("what is gpu1's went home: %q", far.asked)
		}
	})
}

// A session that has ended at another box's home is forgotten here, where its mail is.
func TestGoneIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _, _, _ := two(t)
		f.o.Mail.Send("far-1.1", api.SessionCommand{ID: "p"}, nil)
		f.At("c").Gone("far-1.1")
		if f.o.Mail.Len() != 0 {
			t.Error("its mail is kept")
		}
	})
}

// A home that is not reached is a machine that is away, also if there is no other; one that is, and no other, is no machine: as a box alone.
func TestHomeIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _, far, known := two(t)
		if f.Machines() != nil || f.At("c").Machines() != nil {
			t.Error("there are machines")
		}
		far.away = true
		if m := f.At("c").Machines(); len(m) != 1 || !m[0].Away || m[0].Name != "" || f.Machines() != nil {
			t.Errorf("%+v, and at home %+v", m, f.Machines())
		}
		known.set(Known{Name: "gpu1"})
		if m, home := f.At("c").Machines(), f.Machines(); len(m) != 2 || !m[0].Away || m[1].Name != "gpu1" || len(home) != 2 || home[0].Away {
			t.Errorf("%+v, and at home %+v", m, home)
		}
		if err := f.Owns("far-1.1", "gpu1"); !errors.Is(err, order.ErrUnreached) {
			t.Errorf("whose a session is that home knows, which is away: %v", err)
		}
		far.away = false
		far.at = map[string]string{"far-1.1": "gpu1"}
		if err := f.Owns("far-1.1", "gpu1"); err != nil {
			t.Error(err)
		}
		if err := f.Owns("far-2.1", "gpu1"); !errors.Is(err, ErrNotYours) {
			t.Error(err)
		}
		if err := f.Record("gpu1", order.Said{Of: "far-1.1", Name: order.SaidTranscript}); err != nil || len(far.asked) != 1 {
			t.Errorf("%v; c was asked %q", err, far.asked)
		}
	})
}

// What lies at homes is that of all that are reached; this one's word counts.
func TestAllHomes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, own, far, _ := two(t)
		all := func() (said []string, err error) {
			marked, err := f.Marked(func() []string { return []string{"far run", "own run"} })
			records, second := f.Records(t.Context())
			runs, third := f.RunsLeft(t.Context())
			for _, r := range records {
				said = append(said, r.Name)
			}
			return append(append(said, marked...), runs...), errors.Join(err, second, third)
		}
		said, err := all()
		if want := []string{"own-1.1", "far-1.1", "own run", "far run", "R1", "R3", "R2"}; err != nil || !slices.Equal(said, want) {
			t.Errorf("%q, %v; want %q", said, err, want)
		}
		if !slices.Equal(own.known, []string{"own run"}) || !slices.Equal(far.cleaned, []string{"marked far run"}) {
			t.Errorf("each home is told of runs: %q, %q", own.known, far.cleaned)
		}
		if alive := f.Alive(); !slices.Equal(alive, []string{"home-1.1", "far-1.1"}) || f.Homes(t.Context()) != 7 {
			t.Errorf("%q; %d", alive, f.Homes(t.Context()))
		}
		f.Unmark("S")
		if !slices.Contains(own.asked, "unmark S") || !slices.Contains(far.cleaned, "unmark S") {
			t.Errorf("%q, %q", own.asked, far.cleaned)
		}
		far.away = true
		if said, err := all(); err != nil || !slices.Equal(said, []string{"own-1.1", "own run", "R1", "R3"}) {
			t.Errorf("without c: %q, %v", said, err)
		}
		own.fails = errors.New("it fails")
		if _, err := all(); !errors.Is(err, own.fails) {
			t.Error(err)
		}
	})
}
