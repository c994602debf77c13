package telemetry

import (
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/signalbox-dev/signalbox/agentsig"
)

const (
	maxValues = 50 // how many values of a label there are that others have chosen, besides other
	maxValue  = 64 // how long a value is, in bytes
	other     = "other"
)

// value returns a text that can be a label's value, or other.
func value(text string) string {
	if len(text) > maxValue || !utf8.ValidString(text) {
		return other
	}
	return text
}

// names are the values of a label that others have chosen, the first that came. They stay for as long as the process runs:
// a series that changes its label is another one.
type names struct {
	mu    *sync.Mutex
	known map[string]bool
}

func newNames() names { return names{&sync.Mutex{}, map[string]bool{}} }

// bound returns the name, or other if it is one too many.
func (n names) bound(name string) string {
	name = value(name)
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.known[name] && len(n.known) >= maxValues {
		return other
	}
	n.known[name] = true
	return name
}

// oneOf returns what is among those that there can be, or other: a ledger of another version may have more.
func oneOf[T ~string](x T, all []T) string {
	if !slices.Contains(all, x) {
		return other
	}
	return string(x)
}

func role(r agentsig.Role) string     { return oneOf(r, agentsig.Roles()) }
func reason(r agentsig.Reason) string { return oneOf(r, agentsig.Reasons()) }

func kind(k agentsig.Kind) string {
	if _, ok := agentsig.Lookup(k); ok || k == agentsig.KindUnknown || k == agentsig.KindAmbiguous || k == agentsig.KindExit {
		return string(k)
	}
	return other
}
