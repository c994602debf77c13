package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// workshop is a runner that checks work by hand, with a branch `fix` in its repository.
type workshop struct {
	*Runner
	repo, fix string
	item      work.Item
}

func newWorkshop(t *testing.T, check string) *workshop {
	t.Helper()
	repo := gittest.New(t)
	gittest.Git(t, repo, "switch", "-q", "-c", "fix")
	if err := os.WriteFile(filepath.Join(repo, "work.txt"), []byte("good\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	gittest.Git(t, repo, "add", "-A")
	gittest.Git(t, repo, "commit", "-q", "-m", "the work")
	w := &workshop{repo: repo, fix: gittest.Git(t, repo, "rev-parse", "fix")}
	gittest.Git(t, repo, "switch", "-q", "-")
	settings, err := config.Parse(filepath.Join(repo, config.File), fmt.Appendf(nil, "gate: {checks: on}\nchecks: [{name: one, command: %q}]\n", strings.ReplaceAll(check, "REPO", repo)))
	if err != nil {
		t.Fatal(err)
	}
	w.Runner = newRunner(t, repo, settings, nil)
	w.item = work.Item{Chain: work.Chain{Subject: "item"}, ID: "T-1", Branch: "fix", Phase: agentsig.PhaseCIPending, Entered: 7}
	return w
}

// refs are those of a repository.
func refs(t *testing.T, repo string) string { return gittest.Git(t, repo, "for-each-ref") }

// The checks run on what the branch has, and not on the user's checkout; what they print is kept; and nothing else is.
func TestCheckBranch(t *testing.T) {
	for name, c := range map[string]struct {
		check, branch string
		passed        bool
		output        string
	}{
		"it passes":             {check: "echo hello; grep good work.txt", branch: "fix", passed: true},
		"it fails":              {check: "echo hello; grep bad work.txt", branch: "fix", output: "exit code 1"},
		"it never ends":         {check: "echo hello; sleep 600", branch: "fix", output: "it did not end within 5s"},
		"it commits":            {check: "echo hello; git commit -q --allow-empty -m mine && git branch mine && git update-ref refs/heads/fix HEAD", branch: "fix", passed: true},
		"it passes what is old": {check: "echo hello; test ! -e work.txt", branch: "old", passed: true},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			if testing.Short() && name != "it passes" && name != "it fails" {
				t.Skip("two checks, one that passes and one that fails, run with -short")
			}
			w := newWorkshop(t, c.check)
			if name == "it never ends" {
				w.config.Checks[0].Timeout = 5 * time.Second // in which it says hello on a busy machine, too
			}
			gittest.Git(t, w.repo, "branch", "old", "fix~1")
			gittest.Git(t, w.repo, "pack-refs", "--all")
			w.item.Branch = c.branch
			before, want := refs(t, w.repo), gittest.Git(t, w.repo, "rev-parse", c.branch)
			got, err := w.CheckBranch(t.Context(), w.item)
			if err != nil || got.Trouble != "" || got.Entered != 7 || got.Commit != want || got.Tip != want || got.Passed != c.passed || len(got.Checks) != 1 || !strings.Contains(got.Output, c.output) {
				t.Errorf("%+v, %v", got, err)
			}
			if got.Unchanged != (c.branch == "old") {
				t.Errorf("%s: unchanged is %v", c.branch, got.Unchanged)
			}
			if after := refs(t, w.repo); after != before {
				t.Errorf("the user's refs were\n%s\nand are\n%s", before, after)
			}
			if kept := gittest.Git(t, exchangePath(w.dir), "for-each-ref", "refs/signalbox/by-hand/"); kept != "" {
				t.Errorf("the box keeps\n%s", kept)
			}
			log, err := os.ReadFile(filepath.Join(w.handLogs(), "item.log"))
			if err != nil || !strings.Contains(string(log), "\nhello\n") {
				t.Errorf("the log: %q, %v", log, err)
			}
		})
	}
}

// A branch that is checked out itself is held against nothing.
func TestCheckedOutBranchIsChanged(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, "true")
	gittest.Git(t, w.repo, "switch", "-q", "fix")
	if got, err := w.CheckBranch(t.Context(), w.item); err != nil || got.Unchanged || !got.Passed {
		t.Errorf("%+v, %v", got, err)
	}
}

// What checks printed on work by hand is kept for as long, and as much of it, as what runs leave.
func TestKeepHandLogs(t *testing.T) {
	for name, c := range map[string]struct{ keep, want string }{
		"by age":     {"keep: {transcripts: 48h}", "c.log d.log"},
		"by size":    {"keep: {megabytes: 1}", "d.log"},
		"for ever":   {"keep: {transcripts: 0s, megabytes: 0}", "a.log b.log c.log d.log"},
		"all of it":  {"keep: {megabytes: 3}", "a.log b.log c.log d.log"},
		"by default": {"", "a.log b.log c.log d.log"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			settings, err := config.Parse(filepath.Join(t.TempDir(), config.File), []byte(c.keep))
			if err != nil {
				t.Fatal(err)
			}
			x := newRunner(t, gittest.New(t), settings, nil)
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			must(x.keepLogs()) // there is nothing yet
			must(os.MkdirAll(x.handLogs(), 0o700))
			for n, log := range []string{"a.log", "b.log", "c.log", "d.log"} {
				path, at := filepath.Join(x.handLogs(), log), time.Now().Add(-time.Duration(4-n)*24*time.Hour+time.Hour)
				must(os.WriteFile(path, make([]byte, 700<<10), 0o600))
				must(os.Chtimes(path, at, at))
			}
			must(x.keepLogs())
			left, err := filepath.Glob(filepath.Join(x.handLogs(), "*"))
			must(err)
			for i := range left {
				left[i] = filepath.Base(left[i])
			}
			if got := strings.Join(left, " "); got != c.want {
				t.Errorf("%q is left; want %q", got, c.want)
			}
		})
	}
}

// What is no branch is none, whatever else git would take the name for.
func TestCheckNoBranch(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, "true")
	gittest.Git(t, w.repo, "tag", "refs/heads/tagged", "fix")
	gittest.Git(t, w.repo, "tag", "v1", "fix")
	gittest.Git(t, w.repo, "update-ref", "refs/remotes/origin/far", "fix")
	written := filepath.Join(t.TempDir(), "written")
	for _, name := range []string{"none", "tagged", "v1", "far", "origin/far", "refs/remotes/origin/far", "refs/heads/fix", "fix~1", "fix^{commit}", "../heads/fix", "HEAD", "-x", "--upload-pack=touch " + written, "--output=" + written} {
		w.item.Branch = name
		if got, err := w.CheckBranch(t.Context(), w.item); err != nil || got.Commit != "" || got.Tip != "" || got.Passed || got.Trouble != "" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if _, err := os.Stat(written); err == nil {
		t.Error("a name was taken for an option")
	}
}

// A branch that moves while its checks run, or goes, is told.
func TestCheckBranchMoves(t *testing.T) {
	for name, c := range map[string]struct{ check, tip string }{
		"moves": {"git -C REPO branch -f fix fix~1", "fix"},
		"goes":  {"git -C REPO branch -D fix", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkshop(t, c.check)
			got, err := w.CheckBranch(t.Context(), w.item)
			want := ""
			if c.tip != "" {
				want = gittest.Git(t, w.repo, "rev-parse", c.tip)
			}
			if err != nil || got.Trouble != "" || got.Commit != w.fix || got.Tip != want || got.Tip == got.Commit {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// What can't be checked is told as trouble; objects that are malformed are the work's fault; and a check that is cancelled
// says nothing.
func TestCheckBranchTrouble(t *testing.T) {
	t.Parallel() // it waits for git's lock
	w := newWorkshop(t, "true")
	w.config.Worktree = config.Worktree{Setup: "echo no network; false", SetupTimeout: config.DefaultCheckTimeout}
	got, err := w.CheckBranch(t.Context(), w.item)
	if err != nil || got.Passed || !strings.Contains(got.Trouble, "no network") {
		t.Errorf("a setup that fails: %+v, %v", got, err)
	}
	w.config.Worktree = config.Worktree{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := w.CheckBranch(ctx, w.item); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %+v, %v", got, err)
	}
	if testing.Short() {
		t.Skip("a malformed commit is tried again after 1, 2 and 4 seconds; not with -short")
	}
	malformed := gittest.Git(t, w.repo, "hash-object", "-t", "commit", "-w", "--literally", filepath.Join(w.repo, ".git", "HEAD"))
	if err := os.WriteFile(filepath.Join(w.repo, ".git", "refs", "heads", "fix"), []byte(malformed+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := w.CheckBranch(t.Context(), w.item); err != nil || got.Passed || got.Trouble == "" && got.Output == "" {
		t.Errorf("a malformed commit: %+v, %v", got, err)
	}
}
