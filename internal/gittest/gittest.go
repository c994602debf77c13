// Package gittest makes repositories for tests, with git itself.
package gittest

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/process"
)

// New makes a repository with a commit, on the branch trunk.
func New(t testing.TB) (dir string) {
	t.Helper()
	dir = t.TempDir()
	Git(t, dir, "init", "-q", "-b", "trunk")
	Git(t, dir, "commit", "-q", "--allow-empty", "-m", "start")
	return dir
}

// Git runs git in a directory, without the settings of whoever runs the test, and returns what it prints.
func Git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	return GitIn(t, dir, "", args...)
}

// GitIn runs git with an input.
func GitIn(t testing.TB, dir, input string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(input)
	cmd.Env = append(process.CleanEnv(os.Environ()), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@b",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=maintenance.auto", "GIT_CONFIG_VALUE_0=false") // so that a commit is one process
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}
