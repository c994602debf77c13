package session_test

import (
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/session"
)

// A watch in words: what happens at which second, and what is to be done about it.
func TestWatch(t *testing.T) {
	const wait, ask, stalled, timedOut = session.StepWait, session.StepAsk, session.StepStalled, session.StepTimedOut
	type at struct {
		second float64
		heard  bool
		want   session.Step
		next   float64 // when to look again
	}
	for name, c := range map[string]struct {
		told  bool
		steps []at
	}{
		"asked, and stalled after two misses": {true, []at{
			{9.9, false, wait, 10}, {10, false, ask, 12}, {11, false, wait, 12}, {12, false, wait, 22},
			{22, false, ask, 24}, {24, false, stalled, 34},
		}},
		"any output begins anew": {true, []at{
			{10, false, ask, 12}, {11, true, wait, 21}, {21, false, ask, 23}, {23, false, wait, 33}, {24, true, wait, 34},
			{34, false, ask, 36}, {36, false, wait, 46}, {46, false, ask, 48}, {48, false, stalled, 58},
		}},
		"one that can't be told is not asked": {false, []at{
			{10, false, wait, 12}, {12, false, wait, 24}, {24, false, stalled, 36},
		}},
		"its output counts too": {false, []at{
			{12, false, wait, 24}, {23, true, wait, 35}, {35, false, wait, 47}, {47, false, stalled, 59},
		}},
		"a machine that slept": {true, []at{{90, false, ask, 92}, {95, false, wait, 100}, {99, true, wait, 100}}},
		"the wall clock":       {true, []at{{95, true, wait, 100}, {100, true, timedOut, 100}}},
	} {
		t.Run(name, func(t *testing.T) {
			begin := time.Unix(1000, 0)
			w := session.Watch{WallClock: 100 * time.Second, Silence: 10 * time.Second, Answer: 2 * time.Second, Misses: 2, CanBeTold: c.told}
			w.Begin(begin)
			for _, s := range c.steps {
				now := begin.Add(time.Duration(s.second * float64(time.Second)))
				if s.heard {
					w.Heard(now)
				}
				if got := w.Check(now); got != s.want {
					t.Fatalf("at %v: step %v, want %v", s.second, got, s.want)
				}
				if got := w.Next().Sub(begin).Seconds(); got != s.next {
					t.Fatalf("at %v: look again at %v, want %v", s.second, got, s.next)
				}
			}
		})
	}
}
