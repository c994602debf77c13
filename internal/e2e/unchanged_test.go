//go:build unix

package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A task that changes no file is not done, whatever its developer does about it, and never ends as merged. It is sent
// back once, and then a person is asked; or a critic agrees that there is nothing to change, or does not.
func TestUnchanged(t *testing.T) {
	const ready, claims = "ready_for_review", "No Change Needed: the README has it"
	handsIn, sentBack := "AgentSessionCompleted "+ready+" CI_PENDING", "GateFailed IMPLEMENTATION"
	nothing := tell(added, develops, handsIn, sentBack, develops, handsIn, sentBack, "WorkBlocked unchanged BLOCKED")
	for _, c := range []struct {
		name      string
		developer string
		critic    string // if it does not pass everything
		task      []string
		cause     string // of the question that the run stops with; empty if it is completed
		checked   int    // how often the check runs, with the first time
		told      map[string][]string
	}{
		{
			name: "writes nothing", developer: say("READY_FOR_REVIEW: T-1", "Summary: all is done"),
			task: nothing, cause: "unchanged", checked: 1,
			told: map[string][]string{"T-1.developer.2": {"> Nothing was changed: change what the task asks for and commit it", "No Change Needed: REASON"}},
		},
		{
			name: "commits nothing", developer: "git commit -q --allow-empty -m done\n" + say("READY_FOR_REVIEW: T-1"),
			task: nothing, cause: "unchanged", checked: 1,
		},
		{
			name:      "takes its change back",
			developer: "echo $n >x; git add -A; git commit -qm x; git revert --no-edit HEAD >/dev/null\n" + say("READY_FOR_REVIEW: T-1"),
			task:      nothing, cause: "unchanged", checked: 1,
		},
		{
			name: "claims it and the critic agrees", developer: say("READY_FOR_REVIEW: T-1", claims),
			task: tell(added, develops, built, reviewed, "WorkUnchanged COMPLETED"), checked: 3, // each task's gate
			told: map[string][]string{
				"T-1.developer.1": {"No Change Needed: … (only if you changed nothing"},
				"T-1.critic.1":    {"Nothing was changed for this task", "> the README has it", "a claim, and nobody has checked it", "Do T-1.", "The gate has run the checks"},
			},
		},
		{
			name: "claims it and the critic does not agree", developer: say("READY_FOR_REVIEW: T-1", claims),
			critic: say("REVIEW_FAILED: T-1", "Required Fixes: the README does not have it"),
			task: tell(added, develops, built, "ReviewStarted critic REVIEW", "AgentSessionCompleted review_failed IMPLEMENTATION",
				develops, handsIn, sentBack, develops, handsIn, sentBack, "WorkBlocked reviews BLOCKED"), // the same commit is not reviewed twice
			cause: "reviews", checked: 2,
			told: map[string][]string{
				"T-1.developer.2": {"> Required Fixes: the README does not have it"},
				"T-1.developer.3": {"> Nothing was changed since the review failed, so nobody looked at it again.", "> Required Fixes: the README does not have it"},
			},
		},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "")
			w.settings("merge: pr\nlimits: {linger: 300ms, grace: 300ms}\nchecks: [{name: there, command: 'echo >>%s/checked; test -f README.md'}]\n", w.scripts)
			w.git("commit", "-qam", "settings")
			head := w.git("rev-parse", "HEAD")
			w.script("T-1.developer", c.developer)
			w.script("T-2.developer", strings.ReplaceAll(c.developer, "T-1", "T-2"))
			if c.critic != "" {
				w.script("critic", c.critic)
			}
			w.tasks("T-1", "T-2: T-1")
			run := w.signalbox("run", "plan.md")
			if diff := cmp.Diff(c.task, w.tale("T-1")); diff != "" {
				t.Errorf("on the task (-want +got):\n%s", diff)
			}
			for _, no := range []string{": merged", "  merged", "merged to", "git merge", "git log", "pull request"} {
				if strings.Contains(run.out, no) {
					t.Errorf("the run says %q:\n%s", no, run.out)
				}
			}
			if tip := w.git("rev-parse", "signalbox/R1"); tip != head {
				t.Errorf("the branch has moved to %s", tip)
			}
			for _, e := range w.events() {
				if e.Type == "WorkMerged" || e.Type == "MergeAllowed" || e.Type == "PullRequestOpened" {
					t.Errorf("%s of %s is recorded", e.Type, e.Work)
				}
			}
			checked, err := os.ReadFile(filepath.Join(w.scripts, "checked"))
			if n := strings.Count(string(checked), "\n"); err != nil || n != c.checked {
				t.Errorf("the check ran %d times, want %d, %v", n, c.checked, err)
			}
			for who, texts := range c.told {
				w.told(who, texts...)
			}
			if w.shown(c.cause); c.cause == "" {
				w.toldOfNoChange(run)
			} else if run.code == 0 || len(w.types("T-2")) != 1 {
				t.Errorf("exit code %d, and of T-2 is recorded: %v\n%s", run.code, w.types("T-2"), run.out)
			}
		})
	}
}

// shown fails the test unless programs are shown that both tasks were completed with no change, or a question with this cause.
func (w *world) shown(cause string) {
	w.t.Helper()
	var run struct {
		Tasks []struct {
			Phase    string
			NoChange string `json:"no_change"`
		}
		Questions []struct{ Cause string }
	}
	status := w.must("status", "--json")
	if err := json.Unmarshal([]byte(status), &run); err != nil || len(run.Tasks) != 2 {
		w.t.Fatalf("status: %v\n%s", err, status)
	}
	if cause != "" {
		if len(run.Questions) != 1 || run.Questions[0].Cause != cause || run.Tasks[0].NoChange != "" {
			w.t.Errorf("want a question for %s:\n%s", cause, status)
		}
		return
	}
	for _, task := range run.Tasks {
		if task.Phase != "COMPLETED" || task.NoChange != "the README has it" {
			w.t.Errorf("a task is shown as %+v", task)
		}
	}
}

// toldOfNoChange fails the test unless a person is told that nothing was changed, and what that is worth.
func (w *world) toldOfNoChange(run result) {
	w.t.Helper()
	if run.code != 0 {
		w.t.Errorf("run: exit code %d\n%s%s", run.code, run.out, run.err)
	}
	for what, c := range map[string]struct{ out, want string }{
		"run":           {run.out, "! 2 tasks completed with no change: nothing was merged for that\n  │ T-1: the README has it\n"},
		"what it is":    {run.out, "The developer claims it and the critic agrees: no auditor looked at it."},
		"what happened": {run.out, "T-1: completed, no change, the critic agrees: the README has it\n"},
		"the end":       {run.out, "the run has ended: completed, 2 completed (2 with no change), 0 left\n"},
		"runs":          {w.must("runs"), "  2 of 2, 2 no change  "},
		"runs --json":   {w.must("runs", "--json"), `"no_change":2`},
		"status":        {w.must("status"), fmt.Sprintf("✓ T-%d  The task T-%[1]d  no change\n", 2)},
	} {
		if !strings.Contains(c.out, c.want) {
			w.t.Errorf("%s: there is no %q in\n%s", what, c.want, c.out)
		}
	}
}
