package runner

import (
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// A turn has to end by the time that its role has, with something on top for the session's own end of it. A report of another
// turn does not end it, and between turns there is no time.
func TestTurnsEnd(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)
	x := &Runner{turns: map[string]turn{}, now: func() time.Time { return now }, Site: Site{config: config.Default()}, dir: t.TempDir()}
	by := x.turnsEnd(delivery.Session{ID: "s", Role: agentsig.RoleCritic})
	if !by().IsZero() {
		t.Errorf("nothing was begun, and it has to end by %v", by())
	}
	longest := x.config.Role(agentsig.RoleCritic).WallClock + x.config.Limits.Grace + endPatience
	x.turnBegins("s", "")
	if got := by(); !got.Equal(now.Add(longest)) {
		t.Errorf("the first turn has to end by %v, want %v", got, now.Add(longest))
	}
	x.TurnEnded("s", "")
	if !by().IsZero() {
		t.Errorf("it has ended, and has to end by %v", by())
	}
	now = now.Add(time.Hour)
	x.turnBegins("s", "prompt/2")
	x.TurnEnded("s", "") // again, as a report that was sent twice
	if got := by(); !got.Equal(now.Add(longest)) {
		t.Errorf("the second turn has to end by %v, want %v", got, now.Add(longest))
	}
}

// An order to stay with a session says at which turn that is, also of one that ended when nobody said so here.
func TestTurnIs(t *testing.T) {
	x := &Runner{turns: map[string]turn{"s": {prompt: "stale"}}, now: time.Now}
	for _, c := range []struct {
		s    delivery.Session
		want string
	}{
		{delivery.Session{Turn: 2, Prompt: &delivery.Prompt{ID: "p"}}, "stale"}, // until it is out
		{delivery.Session{Turn: 2, Prompt: &delivery.Prompt{ID: "p", Delivered: true}}, "p"},
		{delivery.Session{Turn: 1, Waiting: "x", Prompt: &delivery.Prompt{ID: "p", Delivered: true}}, "none"},
		{delivery.Session{}, ""},
		{delivery.Session{Turn: 1}, "none"},
	} {
		c.s.ID = "s"
		x.turnIs(c.s)
		got := "none"
		if at, ok := x.turns["s"]; ok {
			got = at.prompt
		}
		if got != c.want {
			t.Errorf("%+v is at the turn %q, want %q", c.s, got, c.want)
		}
	}
}
