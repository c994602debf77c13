package worktree_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/internal/worktree"
)

// A branch that is not merged stays when the one that it was for is gone.
func TestTidyWithoutTheOther(t *testing.T) {
	dir := gittest.New(t)
	gittest.Git(t, dir, "commit", "-q", "--allow-empty", "-m", "start")
	gittest.Git(t, dir, "branch", "tasks/T-1/work")
	repo, err := worktree.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := repo.Tidy(t.Context(), "tasks/T-1/work", "gone", false); err != nil {
		t.Fatal(err)
	}
	if names, err := repo.Branches(t.Context(), "tasks/"); err != nil || len(names) != 1 {
		t.Errorf("%v, %v", names, err)
	}
}
