package plugin

import (
	"errors"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/access"
)

// State is what is at a place.
type State string

// The states.
const (
	Installed    State = "installed"
	Changed      State = "changed"   // some of it was changed since it was installed
	LeftOver     State = "left over" // it was removed, but for what was changed
	Foreign      State = "not ours"  // the server is there, and no installation is known
	NotInstalled State = "not installed"
)

// Status is what is known of a place.
type Status struct {
	State  State
	Why    string
	Scopes []access.Scope // of the server that is there; none if there is none, or if it can't be told
}

// Inspect says what is at a place, by what it would take to remove it.
func Inspect(w Wanted, f Found) (Status, error) {
	l, err := w.layout()
	if err != nil {
		return Status{}, err
	}
	_, there, _, err := l.keeping.find(f.files[l.serves])
	plan, removed := Remove(w, f)
	switch {
	case errors.Is(removed, ErrNotInstalled) && err != nil:
		return Status{}, errors.New(named(l.serves, err))
	case errors.Is(removed, ErrNotInstalled) && there:
		return Status{State: Foreign, Why: named(l.serves, errForeignServer), Scopes: l.scopes(w, f)}, nil
	case errors.Is(removed, ErrNotInstalled):
		return Status{State: NotInstalled}, nil
	case removed != nil:
		return Status{}, removed
	}
	s := Status{State: Installed, Scopes: l.scopes(w, f)}
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

var errForeignServer = errors.New("it has a server " + Name + " that signalbox plugin install did not write")

// scopes are those of the server that is there. A repository can come from a stranger: they are told only of a server that is
// written, to the letter, as an installation writes one.
func (l layout) scopes(w Wanted, f Found) []access.Scope {
	text, _, _, err := l.keeping.find(f.files[l.serves])
	s := l.keeping.read(text)
	if as, wrong := l.keeping.text(s); err != nil || wrong != nil || as != text || len(s.Args) == 0 {
		return nil
	}
	w.Scopes = nil
	for name := range strings.SplitSeq(s.Args[len(s.Args)-1], ",") {
		w.Scopes = append(w.Scopes, access.Scope(name))
	}
	if access.CheckScopes(w.Scopes) != nil || !slices.Equal(w.server().Args, s.Args) {
		return nil
	}
	return w.Scopes
}
