//go:build unix

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/api"
)

// Work whose worktree vanishes before the gate is not judged: a person is asked, who has it done again.
func TestVanishedWorktree(t *testing.T) {
	for name, vanish := range map[string]string{
		"the worktree":         `rm -rf "$PWD"`,
		"what git keeps of it": `rm -rf "$(git rev-parse --path-format=absolute --git-common-dir)/worktrees"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "limits: {linger: 300ms, grace: 300ms}\n")
			w.tasks("T-1")
			w.script("T-1.developer.1", "echo done >T-1.txt\n"+vanish+"\necho READY_FOR_REVIEW: T-1 $run\n")
			run := w.deliver()
			if run.State != api.RunWaiting || len(run.Questions) != 1 || !strings.Contains(run.Questions[0].Context, filepath.Join("worktrees", "R1", "T-1")) {
				t.Fatalf("the run is %s with %+v\n%s", run.State, run.Questions, w.story())
			}
			w.must("work", "override", "R1.T-1", "--phase", "IMPLEMENTATION", "--reason", "once more")
			w.completed(w.goOn())
			if got := w.git("show", "signalbox/R1:T-1.txt"); got != "done" {
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
