package runner

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/mailbox"
	"github.com/signalbox-dev/signalbox/internal/process"
)

// newRepo makes a repository with a commit.
func newRepo(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	git(t, dir, "init", "-q", "-b", "trunk")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "start")
	return dir
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(process.CleanEnv(os.Environ()), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// newRunner makes a runner in a repository, for a conductor that may be nil. Its program is this one.
func newRunner(t *testing.T, repo string, settings config.Config, c Conductor) *Runner {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	x, err := New(t.Context(), Options{
		Dir: t.TempDir(), Program: program, Repo: repo, Config: settings, Conductor: c, Mail: mailbox.New(), Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		Redact: func(text string) string { return text }, Hidden: func() ([]string, error) { return nil, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Stop)
	return x
}

// Nothing is kept of a run that has ended.
func TestFinishedLeavesNothing(t *testing.T) {
	repo := newRepo(t)
	x := newRunner(t, repo, config.Config{}, nil)
	_, base, err := x.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := delivery.Run{}
	r.ID, r.Subject, r.Branch = "R1", "subject", "signalbox/R1"
	if made, err := x.MakeBranch(t.Context(), r.Branch, base); err != nil || !made {
		t.Fatal(made, err)
	}
	if err := x.Begin(t.Context(), r.Subject, r.Branch, true); err != nil {
		t.Fatal(err)
	}
	if marked, err := x.Marked(nil); err != nil || len(marked) != 1 || len(x.branches) != 1 {
		t.Fatalf("marks of %v, branches %v, %v", marked, x.branches, err)
	}
	x.Finished(t.Context(), r)
	if marked, err := x.Marked(nil); err != nil || len(marked) > 0 || len(x.branches) > 0 {
		t.Errorf("marks of %v, branches %v, %v", marked, x.branches, err)
	}
	if said := x.astray(t.Context(), r.Branch); said != nil || len(x.branches) > 0 {
		t.Errorf("a look after the end finds %v, and keeps %v", said, x.branches)
	}
}

// What could not be taken away is not forgotten, nor what was not even tried.
func TestFinishedTooEarly(t *testing.T) {
	repo := newRepo(t)
	x := newRunner(t, repo, config.Config{}, nil)
	r := delivery.Run{}
	r.ID, r.Subject, r.Branch = "R1", "subject", "signalbox/R1"
	if err := x.Begin(t.Context(), r.Subject, r.Branch, true); err != nil {
		t.Fatal(err)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	x.Finished(stopped, r)
	if marked, err := x.Marked(nil); err != nil || len(marked) != 1 {
		t.Errorf("marks of %v, %v", marked, err)
	}
}
