package tui_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/tui"
)

// After every Show the screen has the frame, the cursor below it, nothing further
// down, and above it only what was there before: whatever is shown, and however
// the size changes.
func TestLiveKeepsTheScreen(t *testing.T) {
	for _, reflow := range []bool{false, true} {
		for seed := range uint64(10) {
			g := rand.New(rand.NewPCG(seed, 7))
			s := newScreen(20+g.IntN(160), 2+g.IntN(40), reflow)
			for range g.IntN(50) {
				fmt.Fprint(s, "$ shell\r\n")
			}
			live := tui.NewLive(s, func() (int, int) { return s.columns, s.rows }, seed%2 == 0)
			for range 30 {
				if g.IntN(4) == 0 {
					s.resize(2+g.IntN(180), 2+g.IntN(40))
				}
				r, at := random(g), now.Add(time.Duration(g.IntN(100))*time.Second)
				if err := live.Show(r, at); err != nil {
					t.Fatal(err)
				}
				checkScreen(t, s, tui.Frame(r, tui.Options{Width: s.columns - 1, Height: s.rows - 1, Now: at}), true)
			}
			before := s.text()
			if err := live.Close(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, s.text()); diff != "" || s.hidden {
				t.Fatalf("Close changed the screen, or left the cursor hidden (%v):\n%s", s.hidden, diff)
			}
		}
	}
}

func checkScreen(t *testing.T, s *screen, frame []string, hidden bool) {
	t.Helper()
	text := s.text()
	switch {
	case len(s.wrong) > 0:
		t.Fatalf("the terminal was sent %v", s.wrong)
	case s.updating || s.hidden != hidden || s.x != 0 || s.y < len(frame):
		t.Fatalf("an update is open (%v), the cursor hidden (%v) at %d, %d below %d lines", s.updating, s.hidden, s.x, s.y, len(frame))
	}
	if diff := cmp.Diff(frame, text[s.y-len(frame):s.y]); diff != "" {
		t.Fatalf("the screen (%dx%d) does not show the frame (-frame +screen):\n%s", s.columns, s.rows, diff)
	}
	for _, l := range text[:s.y-len(frame)] {
		if l != "" && l != "$ shell" {
			t.Fatalf("%q is left above the frame", l)
		}
	}
	if below := strings.Join(text[s.y:], ""); below != "" {
		t.Fatalf("%q is left below the frame", below)
	}
}

// What was on the screen before stays above the frame, as long as its size does.
func TestLiveKeepsWhatWasThere(t *testing.T) {
	s := newScreen(80, 40, false)
	fmt.Fprint(s, "$ signalbox run plan.md\r\n")
	live := tui.NewLive(s, func() (int, int) { return 80, 40 }, true)
	for _, r := range []api.Run{starting(), states(), questions(), starting()} {
		if err := live.Show(r, now); err != nil {
			t.Fatal(err)
		}
		if got := s.text()[0]; got != "$ signalbox run plan.md" {
			t.Fatalf("the first line is %q", got)
		}
	}
}

// writes counts the calls of Write.
type writes struct {
	text strings.Builder
	n    int
	fail error
}

func (w *writes) Write(p []byte) (int, error) {
	w.n++
	if w.fail != nil {
		return 0, w.fail
	}
	return w.text.Write(p)
}

func TestLiveWritesWhatChanged(t *testing.T) {
	var w writes
	live := tui.NewLive(&w, func() (int, int) { return 0, 0 }, false)
	if err := live.Close(); err != nil || w.n != 0 {
		t.Fatalf("Close before anything was shown: %v, %d writes", err, w.n)
	}
	for _, c := range []struct {
		at   time.Time
		want int
	}{{now, 1}, {now, 1}, {now.Add(time.Second), 2}} {
		if err := live.Show(states(), c.at); err != nil || w.n != c.want {
			t.Fatalf("%v, %d writes, want %d", err, w.n, c.want)
		}
	}
	for range 2 {
		if err := live.Close(); err != nil || w.n != 3 {
			t.Fatalf("Close: %v, %d writes", err, w.n)
		}
	}
}

// A terminal that is gone is an error, and the cursor is given back all the same.
func TestLiveReportsAFailedWrite(t *testing.T) {
	gone := errors.New("gone")
	w := writes{fail: gone}
	live := tui.NewLive(&w, func() (int, int) { return 80, 24 }, false)
	if err := live.Show(states(), now); !errors.Is(err, gone) {
		t.Fatal(err)
	}
	w.fail = nil
	if err := live.Close(); err != nil || w.text.String() != "\x1b[?25h" {
		t.Fatalf("%v, %q", err, w.text.String())
	}
}

func TestPlain(t *testing.T) {
	var w writes
	p := tui.NewPlain(&w, 0)
	r := api.Run{}
	for i, text := range []string{"the run is started", "T-1 \x1b[2Jis\nmerged", "R1-Q1 needs an answer", "done"} {
		r.Notices = append(r.Notices, api.Notice{Sequence: uint64(2 * i), At: start.Add(time.Duration(i) * time.Second).In(time.FixedZone("", 3600)), Text: text, Grave: i == 2})
	}
	r.Notices[0].Sequence = 1
	r.Notices[1].Sequence = 1 // one event can have two notices
	all := r.Notices
	for _, window := range [][]api.Notice{nil, all[:2], all[:2], all[1:3], all[2:], all} {
		r.Notices = window
		if err := p.Show(r, now); err != nil {
			t.Fatal(err)
		}
	}
	want := `2026-03-02T09:00:00Z the run is started
2026-03-02T09:00:01Z T-1 \x1b[2Jis\nmerged
2026-03-02T09:00:02Z ! R1-Q1 needs an answer
2026-03-02T09:00:03Z done
`
	if diff := cmp.Diff(want, w.text.String()); diff != "" {
		t.Error(diff)
	}
	if w.n != 3 {
		t.Errorf("%d writes, want one for each Show with something new", w.n)
	}
}

func TestPlainReportsAFailedWrite(t *testing.T) {
	w := writes{fail: errors.New("gone")}
	p := tui.NewPlain(&w, 0)
	if err := p.Show(states(), now); !errors.Is(err, w.fail) {
		t.Fatal(err)
	}
	w.fail = nil
	if err := p.Show(states(), now); err != nil || strings.Count(w.text.String(), "\n") != len(states().Notices) {
		t.Fatalf("what was not written is not written later: %v, %q", err, w.text.String())
	}
}

// That the first checks run is said once, when they begin, and again if they begin again; where nothing is checked, nothing is said.
func TestPlainSaysThatTheFirstChecksRun(t *testing.T) {
	var w writes
	p := tui.NewPlain(&w, 0)
	waits := func(checks int, why ...delivery.Wait) {
		r := api.Run{Checks: checks}
		for _, one := range why {
			r.Tasks = append(r.Tasks, api.Task{Why: one})
		}
		if err := p.Show(r, start); err != nil {
			t.Fatal(err)
		}
	}
	waits(2)
	waits(0, delivery.WaitBaseline)
	waits(2, delivery.WaitBlocker, delivery.WaitBaseline)
	waits(2, delivery.WaitBaseline, delivery.WaitBaseline)
	waits(2, delivery.WaitSession)
	waits(1, delivery.WaitBaseline)
	want := `2026-03-02T09:00:00Z the gate runs 2 checks on what the work starts from; agents are started after that
2026-03-02T09:00:00Z the gate runs 1 check on what the work starts from; agents are started after that
`
	if diff := cmp.Diff(want, w.text.String()); diff != "" {
		t.Error(diff)
	}
}
