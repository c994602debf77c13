package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/safetext"
)

// maxErrors is how many errors are kept: more help nobody.
const maxErrors = 100

// Error is one thing that is wrong with a plan.
type Error struct {
	Line int    // from 1; 0 if it is about the plan as a whole
	Text string // safe to print
}

func (e Error) Error() string {
	if e.Line == 0 {
		return e.Text
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Text)
}

// Errors is everything that is wrong with a plan, by line.
type Errors struct {
	List []Error // 1 to 100
	More int     // how many were left out
}

func (e *Errors) Error() string {
	if len(e.List) == 1 && e.More == 0 {
		return e.List[0].Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d things are wrong with the plan:", len(e.List)+e.More)
	for _, x := range e.List {
		b.WriteString("\n  " + x.Error())
	}
	if e.More > 0 {
		fmt.Fprintf(&b, "\n  and %d more", e.More)
	}
	return b.String()
}

func (e *Errors) add(line int, format string, args ...any) {
	if len(e.List) == maxErrors {
		e.More++
		return
	}
	e.List = append(e.List, Error{line, fmt.Sprintf(format, args...)})
}

// orNil returns the errors by line, or nil if there are none.
func (e *Errors) orNil() error {
	if len(e.List) == 0 {
		return nil
	}
	slices.SortStableFunc(e.List, func(a, b Error) int { return a.Line - b.Line })
	return e
}

// quote puts a plan's text into an error.
func quote(s string) string { return `"` + cut(safetext.Escape(s), 60) + `"` }
