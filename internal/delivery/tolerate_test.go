package delivery

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/work"
)

// Before the operator declares the environment healthy, the question says what that does; after it, the run says what is not checked.
func TestUnchecked(t *testing.T) {
	checks := []work.Check{{Name: "lint", Passed: true}, {Name: "test"}, {Name: "e2e"}}
	for name, c := range map[string]struct {
		checks             []work.Check
		tolerated          []string
		all                int
		means, isUnchecked string
	}{
		"nothing fails": {checks[:1], nil, 1, "`healthy` lets every task pass the checks that still fail then, in this run, whatever they say", ""},
		"one of two": {checks[:2], nil, 2, "test fails before any work: `healthy` lets every task pass it in this run, whatever it says",
			"not checked: test fails on the base, tolerated"},
		"two of three": {checks, nil, 3, "test, e2e fail before any work: `healthy` lets every task pass them in this run, whatever they say",
			"not checked: test, e2e fail on the base, tolerated"},
		"the only one": {checks[1:2], nil, 1, "test fails before any work: `healthy` lets every task pass it in this run, whatever it says; then nothing is checked",
			"nothing is checked: test fails on the base, tolerated"},
		"the last one": {checks[1:], []string{"test"}, 2, "e2e fails before any work: `healthy` lets every task pass it in this run, whatever it says; then nothing is checked",
			"nothing is checked: test, e2e fail on the base, tolerated"},
		"the plan has one more since": {checks[1:2], nil, 2, "test fails before any work: `healthy` lets every task pass it in this run, whatever it says",
			"not checked: test fails on the base, tolerated"},
	} {
		r := &Run{Tolerated: c.tolerated, Baseline: &Baseline{Checks: c.checks}}
		r.Checks = c.all
		if got := r.healthyMeans(); got != c.means {
			t.Errorf("%s: the question says\n%s", name, got)
		}
		r.tolerate()
		if got := r.Unchecked(); got != c.isUnchecked {
			t.Errorf("%s: the run says\n%s", name, got)
		}
	}
}
