package delivery

import (
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/work"
)

// healthyMeans says what the operator does who declares the environment healthy.
func (r *Run) healthyMeans() string {
	names := r.failing()
	if len(names) == 0 {
		return "`healthy` lets every task pass the checks that still fail then, in this run, whatever they say"
	}
	pass := ": `healthy` lets every task pass it in this run, whatever it says"
	if len(names) > 1 {
		pass = ": `healthy` lets every task pass them in this run, whatever they say"
	}
	text := cut(strings.Join(names, ", ")) + fails(names) + "before any work" + pass
	if r.allOf(append(slices.Clone(r.Tolerated), names...)) {
		text += "; then nothing is checked"
	}
	return text
}

// fails is the verb for some checks.
func fails(names []string) string {
	if len(names) == 1 {
		return " fails "
	}
	return " fail "
}

// allOf reports whether the run has no check besides these.
func (r *Run) allOf(names []string) bool {
	return len(names) > 0 && len(names) >= r.Checks && (r.Baseline == nil ||
		!slices.ContainsFunc(r.Baseline.Checks, func(c work.Check) bool { return !slices.Contains(names, c.Name) }))
}

// Unchecked says which checks the gate lets every task of the run pass, whatever they say, because the operator declared the
// environment healthy; empty if there are none.
func (r *Run) Unchecked() string {
	names := r.Tolerated
	if len(names) == 0 {
		return ""
	}
	what := "not checked: "
	if r.allOf(names) {
		what = "nothing is checked: "
	}
	return what + cut(strings.Join(names, ", ")) + fails(names) + "on the base, tolerated"
}

// declared is what is not checked after remediation that ended because the operator said so.
func (r *Run) declared() string {
	if !r.Remediation.Declared {
		return ""
	}
	return r.Unchecked()
}
