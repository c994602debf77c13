package runner

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/internal/order"
)

// found returns what is left of the bench's task.
func (b *bench) found() order.Left {
	b.t.Helper()
	all, err := b.Left(b.t.Context(), b.run)
	if err != nil {
		b.t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(l order.Left) bool { return l.Task == "T-1" })
	if i < 0 {
		b.t.Fatalf("nothing is left of the task: %+v", all)
	}
	return all[i]
}

// What would be lost with a worktree is counted; when it is put away, all of it is on its branch.
func TestPutAway(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if _, err := b.tree(t.Context(), b.run, "T-1"); err != nil {
		t.Fatal(err)
	}
	if l := b.found(); !l.Safe() || l.Worktree == "" || l.Branch == "" || l.CheckedOut {
		t.Errorf("with nothing in it: %+v", l)
	}
	b.change("new.txt", "new\n")
	l := b.found()
	if l.Safe() || l.Uncommitted != 1 || l.Unmerged != 0 || l.Bytes == 0 {
		t.Errorf("with a file: %+v", l)
	}
	if err := b.PutAway(t.Context(), b.run, l); err != nil {
		t.Fatal(err)
	}
	l = b.found()
	if l.Worktree != "" || l.Unmerged != 1 || gittest.Git(t, b.repo, "show", l.Branch+":new.txt") != "new" {
		t.Errorf("put away: %+v", l)
	}
	gittest.Git(t, b.repo, "branch", "mine", l.Branch)
	if l = b.found(); !l.Safe() {
		t.Errorf("with a branch of the user's: %+v", l)
	}
	gittest.Git(t, b.repo, "commit", "-q", "--allow-empty", "-m", "more")
	if err := b.Discard(t.Context(), b.run, order.Left{Task: "T-1", Branch: l.Branch, Commit: gittest.Git(t, b.repo, "rev-parse", "HEAD")}); err == nil {
		t.Error("a branch that is not where it was looked at is deleted")
	}
	if err := b.Discard(t.Context(), b.run, l); err != nil {
		t.Fatal(err)
	}
	if got := gittest.Git(t, b.repo, "for-each-ref", "refs/heads/"+allTaskBranches); got != "" {
		t.Errorf("left: %s", got)
	}
}

// A branch that the user has checked out stays, and a worktree whose place something else has taken is not believed.
func TestLeftIsNotOurs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	gittest.Git(t, b.repo, "worktree", "add", "-q", filepath.Join(t.TempDir(), "own"), b.run.Branch)
	all, err := b.Left(t.Context(), b.run)
	if err != nil || len(all) != 1 || !all[0].CheckedOut || b.Discard(t.Context(), b.run, all[0]) == nil {
		t.Errorf("%+v, %v", all, err)
	}
	path := b.treePath("R1", "T-1")
	if err := os.MkdirAll(filepath.Join(path, "mine"), 0o700); err != nil {
		t.Fatal(err)
	}
	if l := b.found(); l.Safe() || l.Unread == "" || b.Discard(t.Context(), b.run, l) == nil {
		t.Errorf("no worktree: %+v", l)
	}
	if _, err := os.Stat(filepath.Join(path, "mine")); err != nil {
		t.Error(err)
	}
}

// Records go as a whole, and where an agent put a link, the link goes and nothing else.
func TestRemoveRecords(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	treasure := t.TempDir()
	for _, path := range []string{filepath.Join(treasure, "mine"), filepath.Join(b.sessionDir("item-1.1"), "transcript"), filepath.Join(b.gateLogs(), "item-1.1.log"), filepath.Join(b.sessionDir("mine"), "x")} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("said"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, link := range []string{b.sessionDir("item-1.2"), filepath.Join(b.sessionDir("item-1.1"), "way"), filepath.Join(b.gateLogs(), "item-1.2.log")} {
		if err := os.Symlink(treasure, link); err != nil {
			t.Fatal(err)
		}
	}
	records, err := b.Records(t.Context())
	if err != nil || len(records) != 4 || records[0].Bytes != 4 || records[0].Subject != "item" {
		t.Fatalf("%+v, %v", records, err)
	}
	for _, r := range records {
		if err := b.RemoveRecord(r); err != nil {
			t.Error(err)
		}
	}
	if left, err := b.Records(t.Context()); err != nil || len(left) != 0 {
		t.Errorf("%+v, %v", left, err)
	}
	for _, path := range []string{filepath.Join(treasure, "mine"), b.sessionDir("mine")} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Lstat(filepath.Join(b.dir, trashDir)); err == nil {
		t.Error("something is left half removed")
	}
}

// The runs that something is left of are known by the names of branches and directories, and no others.
func TestRunsLeft(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, name := range []string{"signalbox/mine", "signalbox/R2x", allTaskBranches + "/R3/T-1/work", "R4"} {
		gittest.Git(t, b.repo, "branch", name)
	}
	if err := os.MkdirAll(b.treePath("R10", ""), 0o700); err != nil {
		t.Fatal(err)
	}
	ids, err := b.RunsLeft(t.Context())
	if got := strings.Join(ids, " "); err != nil || got != "R1 R3 R10" {
		t.Errorf("%s, %v", got, err)
	}
}

// The ids of tasks are names of files and branches, each another one, and none leads elsewhere.
func TestFileName(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{"T-1": "T-1", "#12": "=12", "org/repo#12": "org@repo=12", "a.b_c": "a.b_c", "#remediation": "=remediation"} {
		if got := fileName(id); got != want || got == remediationTree {
			t.Errorf("%s is called %s; want %s", id, got, want)
		}
	}
	if got := treePath("box", "R1", "org/repo#12"); got != filepath.Join("box", "worktrees", "R1", "org@repo=12") {
		t.Error(got)
	}
	if got := taskBranch("R1", "org/repo#12"); got != "signalbox-tasks/R1/org@repo=12/work" {
		t.Error(got)
	}
}

// What is left of a task is not called somebody else's for its id.
func TestLeftOfIssue(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, task := range b.run.Tasks {
		task.ID = "org/repo#12"
	}
	if _, err := b.tree(t.Context(), b.run, "org/repo#12"); err != nil {
		t.Fatal(err)
	}
	all, err := b.Left(t.Context(), b.run)
	if err != nil || len(all) == 0 || all[0].Task != "org/repo#12" || all[0].Worktree == "" || slices.ContainsFunc(all, func(l order.Left) bool { return l.Aside }) {
		t.Errorf("%+v, %v", all, err)
	}
}
