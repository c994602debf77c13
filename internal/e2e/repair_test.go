//go:build unix

package e2e_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// Pieces of the tale of a run whose environment is repaired.
var (
	repairs = []string{"SessionGranted remediation 1", "RemediationCompleted 1", "SessionGranted health_auditor 1", "HealthAudited 1 true", "RepairChecked 1"}
	reviews = "SessionGranted critic 1"
)

// blocked makes a world in which a developer calls the environment broken, and an agent
// that should repair it commits something with it.
func blocked(t *testing.T, settings string) *world {
	t.Helper()
	w := newWorld(t, settings)
	w.tasks("T-1")
	w.script("T-1.developer.1", "echo INFRA_BLOCKED: $task $run\necho Issue: the database is down\n")
	w.script("remediation", "echo back door >door.txt\ngit add -A && git commit -qm 'fix the environment'\n"+honest["remediation"])
	return w
}

// What an agent commits that should repair the environment is not merged if a critic
// refuses it: not when the checks pass, and not when a person declares the environment
// healthy.
func TestRepairRefused(t *testing.T) {
	t.Parallel()
	w := blocked(t, "limits: {remediation_rounds: 2}\nchecks: [{name: sound, command: test -f README.md}]\n")
	w.script("remediation.critic", "echo REVIEW_FAILED: $task $run\necho '- door.txt is a back door: take it out'\n")
	r := w.signalbox("run", "plan.md")
	if r.code != 2 || !strings.Contains(r.out, "review failed: - door.txt is a back door") || !strings.Contains(r.out, "after 2 rounds of remediation") {
		t.Errorf("run: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	w.told("remediation.critic.1", "Review of a repair of the environment (round 1)", "the database is down", "- sound: passed", "git diff ")
	w.told("remediation.remediation.2", "door.txt is a back door", "the database is down")
	nothing := func() {
		t.Helper()
		if files := w.git("log", "--format=", "--name-only", "trunk..signalbox/R1"); strings.Contains(files, "door") {
			t.Errorf("merged:\n%s\n%s", files, w.story())
		}
	}
	nothing()
	w.must("answer", "R1-Q1", "healthy")
	w.completed(w.goOn())
	nothing()
	if types := w.types("R1"); slices.Contains(types, delivery.RepairMerged) || !slices.Contains(types, delivery.RemediationEnded) {
		t.Errorf("on the run: %v", types)
	}
	if p := payload[delivery.Round](w, delivery.RemediationEnded); !strings.Contains(p.Detail, "is not merged") {
		t.Errorf("at the end of remediation: %+v", p)
	}
	w.untouched()
}

// A repair that a critic passes is merged as the critic saw it, and the run says what
// was merged. What the critic left in its worktree, and what came to the repair's meanwhile, is
// not in it.
func TestRepairMerged(t *testing.T) {
	t.Parallel()
	w := blocked(t, "checks: [{name: sound, command: test -f README.md}]\n")
	w.script("remediation", "echo mended >mended.txt\n"+honest["remediation"]) // which the box commits
	const evil = "echo evil >evil.txt\ngit add -A && git commit -qm evil\n"
	w.script("remediation.critic", evil+"cd '"+filepath.Join(w.dir, ".signalbox", "worktrees", "R1", "+remediation")+"'\n"+evil+honest["critic"])
	r := w.signalbox("run", "plan.md")
	if r.code != 0 || !strings.Contains(r.out, "merged the repair ") || !strings.Contains(r.out, "! repair of the environment merged: ") {
		t.Errorf("run: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	if diff := cmp.Diff(tell(started, "RemediationStarted 1", repairs, reviews, "RepairReviewed 1", "MergeAllowed", "RepairMerged", "RemediationEnded 1 true", finished), w.tale("R1")); diff != "" {
		t.Errorf("on the run (-want +got):\n%s", diff)
	}
	merged := payload[delivery.RepairMerge](w, delivery.RepairMerged)
	if r := w.signalbox("verify", merged.Merge, "--key="+w.key("verifier.key"), "--archive=.signalbox/archive"); r.code != 0 ||
		!strings.Contains(r.out, "is the merge of +remediation (run R1)") || !strings.Contains(r.out, "passed by the session ") || !strings.Contains(r.out, "has this commit's name") {
		t.Errorf("verify: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	reviewed := payload[delivery.RepairReview](w, delivery.RepairReviewed)
	if merged.Commit != reviewed.Commit || merged.Commit != w.git("rev-parse", merged.Merge+"^2") || !slices.Equal(merged.Names, []string{"mended.txt"}) {
		t.Errorf("merged: %+v, reviewed: %+v", merged, reviewed)
	}
	if files := strings.Fields(w.git("ls-tree", "--name-only", "signalbox/R1")); !slices.Contains(files, "mended.txt") || slices.Contains(files, "evil.txt") {
		t.Errorf("on the branch: %v", files)
	}
	var run api.Run
	if err := json.Unmarshal([]byte(w.must("status", "--json")), &run); err != nil || len(run.Repairs) != 1 || run.Repairs[0].Merge != merged.Merge {
		t.Errorf("status: %+v, %v", run.Repairs, err)
	}
	if evil := w.git("log", "--format=%s", "signalbox-tasks/R1/+remediation/work"); !strings.HasPrefix(evil, "evil\n") {
		t.Errorf("the worktree of the repair did not move on:\n%s", evil)
	}
	w.untouched()
}

// A box that is stopped during the review goes on with another critic.
func TestRepairReviewAfterRestart(t *testing.T) {
	t.Parallel()
	w := blocked(t, "")
	w.script("remediation.critic.1", "sleep 300\n")
	run := w.start("run", "plan.md")
	w.until("the critic is at work", func() bool { return w.has("remediation.critic.1") })
	run.interrupt()
	w.completed(w.goOn())
	want := tell(started, "RemediationStarted 1", repairs, reviews, "SessionEnded critic stopped", reviews, "RepairReviewed 1", "MergeAllowed", "RepairMerged", "RemediationEnded 1 true", finished)
	if diff := cmp.Diff(want, w.tale("R1")); diff != "" {
		t.Errorf("on the run (-want +got):\n%s", diff)
	}
}
