//go:build unix

package e2e_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Work whose worktree vanishes before the gate is not judged: a person is asked, who has it done again.
func TestVanishedWorktree(t *testing.T) {
	for name, vanish := range map[string]string{
		"the worktree":         `rm -rf "$PWD"`,
		"what git keeps of it": `rm -rf "$(git rev-parse --path-format=absolute --git-common-dir)/worktrees"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "worktree: {setup: echo ready >set-up}\nlimits: {linger: 300ms, grace: 300ms}\n")
			w.tasks("T-1")
			w.script("T-1.developer.1", "echo done >T-1.txt\n"+vanish+"\necho READY_FOR_REVIEW: T-1 $run\n")
			w.script("T-1.developer.2", "cp set-up T-1.txt && echo READY_FOR_REVIEW: T-1 $run\n") // it is made ready again
			run := w.deliver()
			if run.State != api.RunWaiting || len(run.Questions) != 1 || !strings.Contains(run.Questions[0].Context, filepath.Join("worktrees", "R1", "T-1")) {
				t.Fatalf("the run is %s with %+v\n%s", run.State, run.Questions, w.story())
			}
			n := w.up()
			w.must("work", "override", "R1.T-1", "--phase", "IMPLEMENTATION", "--reason", "once more")
			w.until("a developer begins again", func() bool { return w.has("T-1.developer.2") })
			w.completed(n.finish(w))
			if got := w.git("show", "signalbox/R1:T-1.txt"); got != "ready" {
				t.Errorf("merged: %q", got)
			}
			if name == "what git keeps of it" {
				if text, err := os.ReadFile(filepath.Join(w.dir, ".signalbox", "worktrees", "R1", "T-1.kept-1", "T-1.txt")); err != nil || string(text) != "done\n" {
					t.Errorf("what was left is not kept: %q, %v", text, err)
				}
			}
		})
	}
}

// An agent without a sandbox that damages its session's directory and kills the session has crashed: it is ended,
// and the next one goes on.
func TestDamagedSession(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are found in /proc")
	}
	for name, damage := range map[string]string{
		"the directory is moved":        `mv "$session" "$session.moved"`,
		"nothing can be set aside":      `touch "$session/refused"; echo garbage >"$session/outbox/00001.json"`,
		"a directory is a report":       `mkdir -p "$session/outbox/00001.json/a" "$session/refused/00001.json/b"`,
		"there is no outbox":            `rm -r "$session/outbox"; touch "$session/outbox"`,
		"what it is to do is gone":      `echo garbage >"$session/spec.json"`,
		"nobody knows the agent":        `echo garbage >"$session/agent.json"`,
		"the agent is a directory":      `rm "$session/agent.json"; mkdir -p "$session/agent.json/a"`,
		"the session's number is wrong": `echo '{"pid":1,"started":"never"}' >"$session/session.json"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "limits: {grace: 300ms}\n")
			w.tasks("T-1")
			w.script("T-1.developer.1", "session=$(dirname \"$(dirname \"$SIGNALBOX_USAGE\")\")\nuntil test -f \"$session/agent.json\"; do sleep 0.01; done\nprocess=$PPID\n"+
				damage+"\nkill -KILL $process\nsleep 300\n")
			w.completed(w.deliver())
			if diff := cmp.Diff(tell(added, develops, "LeaseReleased IMPLEMENTATION", develops, built, reviewed, audited), w.tale("T-1")); diff != "" {
				t.Errorf("on the task (-want +got):\n%s", diff)
			}
			if left := w.leftovers(); len(left) > 0 {
				t.Errorf("left over: %v", left)
			}
		})
	}
}

// A session that its agent froze is killed at its time, also if nothing tells any more which process it is.
func TestFrozenUnknown(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are found in /proc")
	}
	t.Parallel()
	w := newWorld(t, "limits: {grace: 1s}\nroles: {developer: {wall_clock: 15s}}\n") // in which the next one does its work
	w.tasks("T-1")
	w.script("T-1.developer.1", "session=$(dirname \"$(dirname \"$SIGNALBOX_USAGE\")\")\nrm \"$session/session.json\" \"$session/spec.json\"\nkill -STOP $PPID\nsleep 300\n")
	w.completed(w.deliver())
	if left := w.leftovers(); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

// Each of these faults is noticed by the test that it names.
func TestVanishedMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "^TestVanishedWorktree$", Mutant: mutant.Mutant{Name: "a worktree that is gone is made anew, and judged", File: "../runner/verify.go", Old: "if err := x.remains(ctx, r, name); err != nil {", New: "if err := error(nil); err != nil {"}},
		{By: "^TestVanishedWorktree$", Mutant: mutant.Mutant{Name: "a worktree that is made anew is not made ready", File: "../runner/runner.go", Old: "errors.Is(err, worktree.ErrNotWorktree) {", New: "errors.Is(err, os.ErrExist) {"}},
		{By: "^TestFrozenTurn$", Mutant: mutant.Mutant{Name: "a session that was killed for its time has crashed", File: "../runner/supervise.go", Old: "How: delivery.TimedOut, Detail:", New: "How: delivery.Crashed, Detail:"}},
	})
}
