package delivery

import (
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
	"github.com/signalbox-dev/signalbox/safetext"
)

// Protection says whether the verdicts on a task are those of gate, critic and auditor for
// certain, or could have been given by what they judge.
type Protection string

// The two of them. A run whose start does not say is as good as none.
const (
	Held   Protection = "held"
	Unheld Protection = "none"
)

// Protect records what a run does not protect; nothing is held then.
func (s *Settings) Protect(unprotected []string) {
	s.Protection, s.Unprotected = Held, unprotected
	if len(unprotected) > 0 {
		s.Protection = Unheld
	}
}

// unrecorded stands for what a run does not protect that was started by a version that did
// not record it.
const unrecorded = "it was started by a version of Signalbox that did not record what it protects"

// Exposed says in words which verdicts of the run could be forged: none if the list is empty.
func (r *Run) Exposed() []string {
	switch {
	case r.Settings.Protection == "":
		return []string{unrecorded}
	case len(r.Settings.Unprotected) > 0:
		return r.Settings.Unprotected
	}
	return r.Lost
}

// Protection says what holds for a task. It is none if the run protected nothing when it was
// started, or no longer did before the task was completed; if the operator took the task past
// a verdict; and if somebody worked on it, or reported for the gate, whom the box had not started.
func (r *Run) Protection(t *Task) Protection {
	if r.Settings.Protection != Held || t.Lost || t.Skipped || t.ByHand {
		return Unheld
	}
	return Held
}

// NotProtected says to a person what a run does not protect; nothing if that is nothing.
func NotProtected(unprotected []string) string {
	if len(unprotected) == 0 {
		return ""
	}
	const advice = "; `signalbox doctor` says what to do"
	return "not protected: " + clip(safetext.Escape(strings.Join(unprotected, "; ")), maxWords-len(advice)-len("not protected: ")) + advice
}

// Unprotected says what the settings do not protect with which a box goes on.
type Unprotected struct{ What []string }

func (in Unprotected) decide(r *Run, _ time.Time) ([]Write, error) {
	if !r.Live() || len(in.What) == 0 || r.Settings.Protection != Held || slices.Equal(in.What, r.Lost) {
		return nil, nil
	}
	return []Write{r.event(ProtectionLost, "", Exposure{in.What})}, nil
}

// Exposure is the payload of ProtectionLost.
type Exposure struct {
	Unprotected []string `json:"unprotected"`
}

func (r *Run) protectionLost(_ ledger.Event, p Exposure) {
	r.Lost = p.Unprotected
	for _, t := range r.Tasks {
		t.Lost = t.Lost || t.Item.Phase != agentsig.PhaseCompleted
	}
}

// overridden notes whether the operator took a task past a verdict. Back at its beginning
// all verdicts are given anew.
func (t *Task) overridden() {
	switch t.Item.Phase {
	case agentsig.PhaseBlocked: // it goes on where it was
	case agentsig.PhaseDraft, agentsig.PhaseImplementation:
		t.Skipped = false
	default:
		t.Skipped = true
	}
}

// workedOn notes that a session has ended that the box did not start.
func (t *Task) workedOn(before work.Item) {
	t.ByHand = t.ByHand || before.Lease.Agent == ""
}
