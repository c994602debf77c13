//go:build unix

package e2e_test

import (
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// Agents play all roles, and a person approves the merge: they send it back once, with a comment that the developer is
// told, and approve the next. Somebody moves the branch before that is made: it is proposed anew, and the word before does not
// count. What is merged is what they approved, and the ledger names them.
func TestApproveMerge(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "merge: {approve: person}\n")
	w.tasks("T-1")
	w.reviews(w.deliver(), "merge")
	if now := w.git("rev-parse", "signalbox/R1"); now != w.git("rev-parse", "HEAD") {
		t.Fatalf("the branch has moved to %s before anybody approved that", now)
	}
	w.must("review", "T-1", "--reject", "--comment", "T-1.txt:1: say more than done")
	if r := w.signalbox("review", "T-1", "--accept"); r.code != 1 || !strings.Contains(r.err, "does not wait for a review") {
		t.Fatalf("what is sent back is accepted: exit code %d %s", r.code, r.err)
	}

	w.reviews(w.goOn(), "merge")
	if told := w.prompt("T-1", "developer", 2); !strings.Contains(told, "T-1.txt:1: say more than done") {
		t.Fatalf("the developer is not told what to change:\n%s", told)
	}
	first := w.accept()
	moved := w.git("commit-tree", "-p", first.Onto, "-m", "moved", first.Onto+"^{tree}")
	w.git("update-ref", "refs/heads/signalbox/R1", moved)
	w.reviews(w.goOn(), "merge")
	second := w.accept()
	if second.Onto != moved || second.Commit != first.Commit {
		t.Fatalf("accepted is %+v after %+v, and the branch is at %s", second, first, moved)
	}
	w.completed(w.goOn())

	want := []string{
		"MergeProposed box", "MergeFailed operator", "MergeProposed box", "MergeApproved operator", "MergeProposed box", "MergeApproved operator", "MergeAllowed box", "WorkMerged box",
	}
	if got := w.actors("T-1", work.MergeProposed, work.MergeApproved, work.MergeAllowed, work.MergeFailed, work.WorkMerged); !slices.Equal(got, want) {
		t.Errorf("who did what: %v\nwant %v", got, want)
	}
	approved := payload[work.Approved](w, work.MergeApproved)
	if parents := strings.Fields(w.git("log", "-1", "--format=%P %T", "signalbox/R1")); !slices.Equal(parents, []string{moved, second.Commit, approved.Tree}) {
		t.Errorf("merged is %v, approved %+v", parents, approved)
	}
	if started, _ := filepath.Glob(filepath.Join(w.scripts, "starts", "T-1.auditor.*")); len(started) != 2 {
		t.Errorf("the auditor was started for %v, want twice: a merge that is proposed anew needs no other audit", started)
	}
	if shown := w.must("show", "T-1", "--all"); !strings.Contains(shown, "approved by operator") || !strings.Contains(shown, "say more than done") || !strings.Contains(shown, "the merge proves itself") {
		t.Errorf("the card does not name who approved it:\n%s", shown)
	}
	w.reports()
}

// reports has the run's report say who approved the merge, with a proof that can be checked; it is the same each time.
func (w *world) reports() {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "run.html")
	if said := w.must("report", "R1", "-o", file); !strings.Contains(said, "all in the signed ledger") {
		w.t.Errorf("the report is written with %q", said)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, want := range []string{"approved the merge", "operator", "say more than done", "each of them, as it is told here, is in the tree that was signed"} {
		if !strings.Contains(string(data), want) {
			w.t.Errorf("the report has no %q", want)
		}
	}
	if again := w.must("report", "latest", "-o", "-"); again != strings.TrimSpace(string(data)) && again != string(data) {
		w.t.Error("the same run gives another report")
	}
	proof := regexp.MustCompile(`(?s)ledger check</code></summary><pre>(.*?)</pre>`).FindSubmatch(data)
	if proof == nil {
		w.t.Fatal("the report has no proof of the merge")
	}
	if err := os.WriteFile(file, []byte(html.UnescapeString(string(proof[1]))), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.must("ledger", "check", file)
}

// accepted is what a person has accepted.
type accepted struct{ Role, Commit, Onto string }

// accept accepts the merge of T-1.
func (w *world) accept() (a accepted) {
	w.t.Helper()
	w.decode(w.must("review", "T-1", "--accept", "--json"), &a)
	if a.Role != "merge" {
		w.t.Fatalf("accepted is %+v", a)
	}
	return a
}

// An approval goes on in a box that was killed after it, and checks do not run again on what they held on.
func TestApprovedOutlivesBox(t *testing.T) {
	t.Parallel()
	count := filepath.Join(t.TempDir(), "checked")
	w := newWorld(t, "merge: {approve: person}\nchecks: [{name: count, command: 'echo >>"+count+"'}]\n")
	w.tasks("T-1", "T-2")
	run := w.deliver()
	if all := w.inbox(); run.State != api.RunWaiting || len(all) != 1 || all[0].Kind != "review" || all[0].Role != "merge" {
		t.Fatalf("the run is %s, and this waits for a person: %+v\n%s", run.State, all, w.story())
	}
	for range 2 {
		w.must("review", w.inbox()[0].Task, "--accept") // no box runs
		run = w.goOn()
	}
	w.completed(run)
	ran, err := os.ReadFile(count)
	if err != nil {
		t.Fatal(err)
	}
	// The first checks, two gates, two merges.
	if n := strings.Count(string(ran), "\n"); n != 5 {
		t.Errorf("the checks ran %d times, want 5\n%s", n, w.story())
	}
}
