//go:build linux

package e2e_test

import (
	"strings"
	"testing"
)

// Who declares the environment healthy is told before what that does, and afterwards, wherever a person looks, that nothing is checked.
func TestToleratedIsSaid(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "checks: [{name: make-test, command: 'false'}]\nlimits: {remediation_rounds: 1}\n")
	w.script("health_auditor", "echo HEALTH_AUDIT: UNHEALTHY $run\n")
	w.tasks("T-1")
	if r := w.signalbox("run", "plan.md"); r.code != 2 {
		t.Fatalf("%+v", r)
	}
	says := func(what, out, text string) {
		t.Helper()
		if !strings.Contains(strings.Join(strings.Fields(out), " "), text) {
			t.Errorf("%s does not say %q:\n%s", what, text, out)
		}
	}
	says("the question", w.must("inbox"), "make-test fails before any work: `healthy` lets every task pass it in this run, whatever it says; then nothing is checked")
	w.must("answer", "R1-Q1", "healthy")
	const unchecked = "nothing is checked: make-test fails on the base, tolerated"
	run := w.signalbox("run")
	if run.code != 0 {
		t.Fatalf("%+v", run)
	}
	says("the summary", run.out[strings.LastIndex(run.out, "merged to the branch"):], unchecked)
	says("status", w.must("status"), unchecked)
	show := w.must("show", "T-1")
	says("show", show, "make-test failed, tolerated")
	if strings.Contains(show, "passed: make-test") {
		t.Errorf("show says that the gate passed:\n%s", show)
	}
}
