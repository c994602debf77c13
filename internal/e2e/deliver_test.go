//go:build unix

package e2e_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Two tasks, one after the other, from the plan to the merged branch; the
// operator's checkout and branch are as they were.
func TestDeliver(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "checks: [{name: there, command: test -f README.md}]\n")
	w.tasks("T-1", "T-2: T-1")
	head, status := w.git("rev-parse", "HEAD"), w.git("status", "--porcelain")
	w.completed(w.deliver())
	want := []string{
		"WorkAdded", "LeaseGranted", "AgentSessionCompleted", "GatePassed", "ReviewStarted", "WorkShown", "AgentSessionCompleted",
		"LeaseGranted", "WorkShown", "AgentSessionCompleted", "MergeAllowed", "WorkMerged",
	}
	for _, task := range []string{"T-1", "T-2"} {
		if diff := cmp.Diff(want, w.types(task)); diff != "" {
			t.Errorf("%s:\n%s", task, diff)
		}
	}
	events := w.events()
	merged := slices.IndexFunc(events, func(e recorded) bool { return e.Work == "T-1" && e.Type == "WorkMerged" })
	started := slices.IndexFunc(events, func(e recorded) bool { return e.Work == "T-2" && e.Type == "LeaseGranted" })
	if started < merged {
		t.Errorf("T-2 was started before T-1 was merged")
	}
	if got := w.git("show", "signalbox/R1:T-2.txt"); got != "done" {
		t.Errorf("merged: %q", got)
	}
	if got := w.git("rev-parse", "HEAD"); got != head || w.git("status", "--porcelain") != status || w.git("branch", "--show-current") != "trunk" {
		t.Errorf("the checkout is not as it was")
	}
	if r := w.signalbox("ledger", "verify"); r.code != 0 {
		t.Errorf("verify: %s%s", r.out, r.err)
	}
}
