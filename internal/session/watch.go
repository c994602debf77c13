package session

import "time"

// Watch tells from the times at which an agent was heard what is to be done about its
// silence. It has no clock: the time comes with each call.
//
// After Silence without output an agent that can be told things is asked for progress.
// Silence and Answer without output are a miss, asked or not; Misses in a row, and the
// agent has stalled. Any output begins anew, and an agent that waits for a tool is not
// silent. A turn that takes longer than WallClock has timed out, whatever is heard.
type Watch struct {
	WallClock, Silence, Answer time.Duration
	Misses                     int
	CanBeTold                  bool

	began  time.Time // of the turn
	since  time.Time // of the last output or miss
	asked  bool      // since then
	missed int       // in a row
	busy   bool      // a tool is open
}

// Step is what a Watch wants done.
type Step int

// The steps.
const (
	StepWait     Step = iota
	StepAsk           // the agent for progress
	StepStalled       // end it
	StepTimedOut      // end it
)

// Begin begins a turn.
func (w *Watch) Begin(now time.Time) {
	w.began, w.busy = now, false
	w.Heard(now)
}

// Heard takes note of output.
func (w *Watch) Heard(now time.Time) { w.since, w.asked, w.missed = now, false, 0 }

// Working takes note that the agent waits for a tool, or does not any more.
func (w *Watch) Working(busy bool, now time.Time) {
	w.busy = busy
	w.Heard(now)
}

// Next returns when Check may have something to say.
func (w *Watch) Next() time.Time {
	next := w.since.Add(w.Silence)
	if w.asked || !w.CanBeTold {
		next = next.Add(w.Answer)
	}
	if end := w.began.Add(w.WallClock); w.busy || end.Before(next) {
		return end
	}
	return next
}

// Check returns what is to be done now. However late it is called, it finds one miss: a
// machine that slept did not give the agent a chance to speak.
func (w *Watch) Check(now time.Time) Step {
	switch {
	case !now.Before(w.began.Add(w.WallClock)):
		return StepTimedOut
	case now.Before(w.Next()):
		return StepWait
	case w.CanBeTold && !w.asked:
		w.asked = true
		w.since = now.Add(-w.Silence) // the answer is due Answer from now
		return StepAsk
	}
	missed := w.missed + 1
	w.Heard(now)
	w.missed = missed
	if missed >= w.Misses {
		return StepStalled
	}
	return StepWait
}
