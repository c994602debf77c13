//go:build linux

package e2e_test

import (
	"strings"
	"testing"
)

// Settings that are changed while a box runs: no run is started or amended by the old ones, and status and doctor say so. What is under
// way goes on, a comment is no change, and after a restart the new ones hold.
func TestSettingsChangeUnderABox(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.settings("# a comment\nlisten: 127.0.0.1:0\n")
	w.script("T-1.developer.1", "echo SEEKING_DIVINE_CLARIFICATION $run\necho Question: Which one?\n")
	w.version("T-1 Do it.")
	n := w.up()
	w.settings("# another\n")
	if r := w.signalbox("run", "plan.md"); r.code != 2 {
		t.Fatalf("a comment was changed: %+v", r)
	}
	for _, args := range [][]string{{"status"}, {"doctor"}} {
		if r := w.signalbox(args...); strings.Contains(r.out, "was changed since") {
			t.Errorf("%s, when a comment was changed:\n%s", args[0], r.out)
		}
	}
	w.settings("audit: always\n")
	for _, args := range [][]string{{"status"}, {"doctor"}} {
		if r := w.signalbox(args...); !strings.Contains(strings.Join(strings.Fields(r.out), " "), "signalbox.yaml was changed since the box started") {
			t.Errorf("%s does not say that the settings were changed:\n%s", args[0], r.out)
		}
	}
	for _, args := range [][]string{{"run", "plan.md"}, {"run"}} {
		if r := w.signalbox(args...); r.code != 2 || !strings.Contains(r.out, "Which one?") {
			t.Errorf("%q does not go on: %+v", args, r)
		}
	}
	w.version("T-1 Do it.", "T-2 Do this.")
	for _, args := range [][]string{{"run", "write a file"}, {"run", "--amend", "plan.md"}, {"run", "--beside", "plan.md"}, {"run", "--dry-run", "plan.md"}} {
		if r := w.signalbox(args...); r.code != 1 || !strings.Contains(r.err, "restart the box") {
			t.Errorf("%q by old settings: %+v", args, r)
		}
	}
	if runs := w.types("R2"); len(runs) > 0 {
		t.Errorf("another run was started: %v", runs)
	}
	n.stop()
	w.up()
	if r := w.signalbox("run", "write a file"); r.code != 0 || strings.Contains(r.out, "not audited") {
		t.Errorf("after a restart: %+v", r)
	}
	if out := w.must("status", "--json"); strings.Contains(out, `"changed"`) || !strings.Contains(out, `"digest"`) {
		t.Errorf("after a restart: %s", out)
	}
}
