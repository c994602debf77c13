package plugin

import "errors"

// State is what is at a place.
type State string

// The states.
const (
	Installed    State = "installed"
	Changed      State = "changed"   // some of it was changed since it was installed
	LeftOver     State = "left over" // it was removed, but for what was changed
	NotInstalled State = "not installed"
)

// Status is what is known of a place.
type Status struct {
	State State
	Why   string
}

// Inspect says what is at a place, by what it would take to remove it.
func Inspect(w Wanted, f Found) (Status, error) {
	l, err := w.layout()
	if err != nil {
		return Status{}, err
	}
	plan, err := Remove(w, f)
	switch {
	case errors.Is(err, ErrNotInstalled):
		return Status{State: NotInstalled}, nil
	case err != nil:
		return Status{}, err
	}
	s := Status{State: Installed}
	for _, step := range plan.Steps {
		if step.Action == Leave {
			s.State, s.Why = Changed, step.Path+": "+step.Why
			break
		}
	}
	if old, err := readManifest(f.files[manifestName], l); err == nil && old.Removed {
		s.State = LeftOver
		if s.Why == "" {
			s.Why = "it is as it was installed again: `signalbox plugin remove` takes it away"
		}
	}
	return s, nil
}
