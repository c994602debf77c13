package runner

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/internal/worktree"
)

// atWork is a repository with a run and a task that an agent works on.
type atWork struct {
	t         *testing.T
	repo, dir string // of the user, of the box
	site      Site
	tree      string
	base      string
	task      TaskWork
}

func newAtWork(t *testing.T) *atWork {
	t.Helper()
	repo := gittest.New(t)
	w := &atWork{t: t, repo: repo, dir: filepath.Join(repo, ".signalbox"), site: siteWith(t, repo, "agents: {none: {command: [\"false\"]}}\n")}
	w.base = gittest.Git(t, repo, "rev-parse", "HEAD")
	w.task = TaskWork{Run: "R1", Task: "T-1", Branch: "signalbox/R1", Start: w.base}
	w.tree = treePath(w.dir, "R1", "T-1")
	gittest.Git(t, repo, "branch", w.task.Branch)
	if err := w.site.repo.Add(t.Context(), w.tree, taskBranch("R1", "T-1"), w.base); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *atWork) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.tree, name), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// commit commits what is in the worktree.
func (w *atWork) commit() string {
	w.t.Helper()
	gittest.Git(w.t, w.tree, "add", "--all")
	gittest.Git(w.t, w.tree, "commit", "-q", "-m", "work")
	return gittest.Git(w.t, w.tree, "rev-parse", "HEAD")
}

// shown returns what is shown of the task, and closes it.
func (w *atWork) shown() (Changes, string) {
	w.t.Helper()
	c, err := w.site.changes(w.t.Context(), w.dir, w.task, time.Minute)
	if err != nil {
		w.t.Fatal(err)
	}
	var out bytes.Buffer
	if err := errors.Join(c.Diff(w.t.Context(), worktree.Diff{}, &out), c.Close()); err != nil {
		w.t.Fatal(err)
	}
	return *c, out.String()
}

// While an agent works, its worktree is shown; without it the branch; and nothing if nobody has begun.
func TestChangesLive(t *testing.T) {
	t.Parallel()
	w := newAtWork(t)
	w.write("a.txt", "committed\n")
	commit := w.commit()
	if c, diff := w.shown(); !c.Live || c.Uncommitted || c.Commit != commit || c.Base != w.base || !strings.Contains(diff, "+committed\n") {
		t.Errorf("%+v\n%s", c, diff)
	}
	w.write("b.txt", "not committed\n")
	if c, diff := w.shown(); !c.Live || !c.Uncommitted || c.Commit != commit || !strings.Contains(diff, "+committed\n") || !strings.Contains(diff, "+not committed\n") {
		t.Errorf("%+v\n%s", c, diff)
	}
	w.task.Commit, w.task.Base = w.base, "0123" // what was judged before does not count for what was done since
	if c, _ := w.shown(); c.Base != w.base {
		t.Errorf("it begins at %s", c.Base)
	}
	w.task.Since = commit
	if c, diff := w.shown(); c.Base != commit || strings.Contains(diff, "+committed\n") || !strings.Contains(diff, "+not committed\n") {
		t.Errorf("since the commit: %+v\n%s", c, diff)
	}
	w.task.Since = strings.Repeat("1", 40)
	if _, err := w.site.Changes(t.Context(), w.dir, w.task); !errors.Is(err, ErrGone) {
		t.Errorf("what is to be compared with is not there: %v", err)
	}
	w.task.Since = ""

	// A pipe in the way: what is committed is shown, and why no more.
	if err := syscall.Mkfifo(filepath.Join(w.tree, ".gitattributes"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := w.site.changes(t.Context(), w.dir, w.task, 200*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if c.Live || c.Commit != commit || !errors.Is(c.Unread, worktree.ErrTooSlow) {
		t.Errorf("%+v", c)
	}
	gittest.Git(t, w.repo, "worktree", "remove", "--force", "--force", w.tree)
	if c, diff := w.shown(); c.Live || c.Unread != nil || c.Commit != commit || !strings.Contains(diff, "+committed\n") {
		t.Errorf("%+v\n%s", c, diff)
	}
	gittest.Git(t, w.repo, "branch", "-D", w.task.Branch) // by the user
	if c, _ := w.shown(); c.Base != w.base {
		t.Errorf("without the run's branch it begins at %s", c.Base)
	}
	w.task.Commit = ""
	gittest.Git(t, w.repo, "branch", "-D", taskBranch("R1", "T-1"))
	if _, err := w.site.Changes(t.Context(), w.dir, w.task); !errors.Is(err, ErrNoWork) {
		t.Errorf("nobody has worked, and it is %v", err)
	}
}

// What is judged is shown as the box took it, whatever became of the agent's objects; and what was merged from the user's
// repository, when the box has it no more.
func TestChangesSettled(t *testing.T) {
	t.Parallel()
	w := newAtWork(t)
	w.write("a.txt", "judged\n")
	commit := w.commit()
	exchange, err := worktree.OpenExchange(t.Context(), w.site.repo, exchangePath(w.dir))
	if err != nil {
		t.Fatal(err)
	}
	if err := exchange.Take(t.Context(), commit, "R1"); err != nil {
		t.Fatal(err)
	}
	w.task.Commit, w.task.Base, w.task.Settled = commit, w.base, true
	w.write("a.txt", "something else by now\n")
	blob := gittest.Git(t, w.repo, "rev-parse", commit+":a.txt")
	other := gittest.GitIn(t, w.repo, "forged\n", "hash-object", "-w", "--stdin")
	object := func(name string) string { return filepath.Join(w.repo, ".git", "objects", name[:2], name[2:]) }
	forged, err := os.ReadFile(object(other))
	if err != nil {
		t.Fatal(err)
	}
	honest, err := os.ReadFile(object(blob))
	if err == nil {
		err = errors.Join(os.Remove(object(blob)), os.WriteFile(object(blob), forged, 0o400))
	}
	if err != nil {
		t.Fatal(err)
	}
	if c, diff := w.shown(); c.Live || c.Uncommitted || c.Commit != commit || c.Base != w.base || !strings.HasSuffix(diff, "\n+judged\n") {
		t.Errorf("%+v\n%s", c, diff)
	}

	// Merged, and the exchange has gone.
	if err := errors.Join(os.RemoveAll(exchangePath(w.dir)), os.Remove(object(blob)), os.WriteFile(object(blob), honest, 0o400)); err != nil {
		t.Fatal(err)
	}
	gittest.Git(t, w.repo, "branch", "-f", w.task.Branch, commit)
	if c, diff := w.shown(); c.Base != w.base || !strings.Contains(diff, "+judged\n") {
		t.Errorf("%+v\n%s", c, diff)
	}
	w.task.Base, w.task.Onto = "", w.base // nobody has looked at it
	if c, diff := w.shown(); c.Base != w.base || !strings.Contains(diff, "+judged\n") {
		t.Errorf("past the reviews: %+v\n%s", c, diff)
	}
	w.task.Commit = "--output=x"
	if _, err := w.site.Changes(t.Context(), w.dir, w.task); !errors.Is(err, ErrGone) {
		t.Errorf("what is no commit is shown: %v", err)
	}
	w.task.Commit, w.task.Since = commit, strings.Repeat("1", 40)
	if _, err := w.site.Changes(t.Context(), w.dir, w.task); !errors.Is(err, ErrGone) {
		t.Errorf("what is to be compared with is not there: %v", err)
	}
}
