package agentformat

import (
	"cmp"
	"slices"
)

// A Severity is how much a flag matters.
type Severity string

// The severities, the worst first.
const (
	Error   Severity = "error"   // the reply can't be decided from
	Warning Severity = "warning" // decide with care
	Info    Severity = "info"    // worth knowing
	Success Severity = "success" // all is well
)

// rank orders severities. One that is not known ranks as Info: it is worth knowing, and must
// neither raise an alarm nor sink below an all-clear.
func (s Severity) rank() int {
	switch s {
	case Error:
		return 0
	case Warning:
		return 1
	case Success:
		return 3
	}
	return 2
}

// A Flag is one thing that an agent should know before it decides.
type Flag struct {
	Name     string   `json:"flag"` // to branch on, as in low_coverage
	Severity Severity `json:"severity"`
	Message  string   `json:"message"` // one sentence, with its numbers
}

// SortFlags puts the worst first. Flags of one severity stay in their order.
func SortFlags(flags []Flag) {
	slices.SortStableFunc(flags, func(a, b Flag) int {
		return cmp.Compare(a.Severity.rank(), b.Severity.rank())
	})
}
