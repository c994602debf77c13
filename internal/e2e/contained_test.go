//go:build unix

package e2e_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a check leaves running, also in a session of its own, is ended with it.
func TestCheckLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "checks: [{name: forks, command: 'setsid sh -c \"sleep 300; : $PWD\" >/dev/null 2>&1 & true'}]\n")
	w.tasks("T-1")
	w.completed(w.deliver())
	if left := w.leftovers(); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

// An agent that stops its own session can't hold up the run: a session that does not
// end when it is told to is killed.
func TestFrozenSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "limits: {grace: 1s}\n")
	w.tasks("T-1")
	w.script("T-1.developer", "kill -STOP $PPID\nsleep 300\n")
	run := w.start("run", "plan.md")
	w.until("the agent is at work", func() bool { return w.has("T-1.developer.1") })
	if r := w.signalbox("cancel", "--run"); r.code != 0 || !strings.Contains(r.out, "R1 is cancelled") {
		t.Errorf("cancel: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	if r := run.wait(); r.code != 1 || !strings.Contains(r.out, "cancelled") {
		t.Errorf("run: exit code %d\n%s%s", r.code, r.out, r.err)
	}
}

// Nor can it hold up its task: a turn that takes far longer than the session would let it has run out
// of time, and somebody else begins anew.
func TestFrozenTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "limits: {grace: 1s}\nroles: {developer: {wall_clock: 15s}}\n")
	w.tasks("T-1")
	w.script("T-1.developer.1", "kill -STOP $PPID\nsleep 300\n")
	w.completed(w.deliver())
	if diff := cmp.Diff(tell(added, develops, "LeaseReleased IMPLEMENTATION", develops, built, reviewed, audited), w.tale("T-1")); diff != "" {
		t.Errorf("on the task (-want +got):\n%s", diff)
	}
	if !strings.Contains(w.prompt("T-1", "developer", 2), "ran out of time") {
		t.Errorf("the next agent is not told:\n%s", w.prompt("T-1", "developer", 2))
	}
	if left := w.leftovers(); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

// A setup that fails is trouble with the environment, not of the agent: it is repaired,
// and no agent works without it.
func TestSetup(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.settings("worktree: {setup: 'test -f %s/works && touch set-up'}\n", w.scripts)
	w.tasks("T-1")
	w.script("developer", "test -f set-up || exit 9\n"+honest["developer"])
	w.script("remediation", "touch \"$SCRIPTS/works\"\n"+honest["remediation"])
	w.completed(w.deliver())
	if got := w.types("T-1")[1:5]; !slices.Equal(got, []string{"LeaseGranted", "LeaseReleased", "WorkBlocked", "WorkUnblocked"}) {
		t.Errorf("the task begins with %v:\n%s", got, w.story())
	}
}
