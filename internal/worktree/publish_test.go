package worktree_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/worktree"
)

// A branch is pushed to origin, and gh is asked for a pull request once: the second
// time it is found.
func TestPublish(t *testing.T) {
	dir, origin, bin := t.TempDir(), t.TempDir(), t.TempDir()
	git := func(at string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = at
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git(origin, "init", "-q", "--bare")
	git(dir, "init", "-q", "-b", "trunk")
	git(dir, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", "start")
	git(dir, "remote", "add", "origin", origin)
	git(dir, "branch", "signalbox/R1")
	repo, err := worktree.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	pr := worktree.PullRequest{Branch: "signalbox/R1", Onto: "trunk", Title: "A plan", Body: "- T-1"}
	gitPath, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(gitPath, filepath.Join(bin, "git")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	if _, err := repo.Publish(t.Context(), pr); !errors.Is(err, worktree.ErrNoGH) {
		t.Errorf("without gh: %v", err)
	}
	script := `#!/bin/sh
echo "$@" >>"` + bin + `/calls"
case $2 in
view) while read -r url; do echo "$url"; done <"` + bin + `/url" 2>/dev/null || exit 1 ;;
create) echo https://example.org/pull/7 >"` + bin + `/url"; echo "Creating pull request"; echo https://example.org/pull/7 ;;
esac
`
	if err := os.WriteFile(filepath.Join(bin, "gh"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		url, err := repo.Publish(t.Context(), pr)
		if err != nil || url != "https://example.org/pull/7" {
			t.Errorf("%q, %v", url, err)
		}
	}
	calls, err := os.ReadFile(filepath.Join(bin, "calls"))
	if err != nil || strings.Count(string(calls), "pr create --head signalbox/R1 --base trunk --title A plan") != 1 {
		t.Errorf("%v: gh was called with\n%s", err, calls)
	}
	t.Setenv("PATH", os.Getenv("PATH")+":/usr/bin:/bin")
	if git(origin, "rev-parse", "refs/heads/signalbox/R1") != git(dir, "rev-parse", "HEAD") {
		t.Error("the branch was not pushed")
	}
	pr.Onto = ""
	if _, err := repo.Publish(t.Context(), pr); !errors.Is(err, worktree.ErrNoBranch) {
		t.Errorf("for no branch: %v", err)
	}
}
