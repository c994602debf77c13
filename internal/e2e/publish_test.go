//go:build unix

package e2e_test

import (
	"strings"
	"testing"
)

// A pull request that was asked for and could not be opened is said at the end, with the reason, and by the exit code.
func TestUnpublished(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "merge: pr\n")
	w.tasks("T-1")
	got := w.signalbox("run", "plan.md")
	if got.code != 1 || !strings.Contains(got.out, "the pull request could not be opened: ") || !strings.Contains(got.out, "1 of 1 task") {
		t.Errorf("exit code %d:\n%s%s", got.code, got.out, got.err)
	}
	if run := w.deliver(); run.Unpublished == "" && run.ID == "R1" {
		t.Errorf("%+v", run)
	}
}
