package runner

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/sandbox"
	"github.com/signalbox-dev/signalbox/internal/session"
)

// confined makes a bench whose agents and checks run in Landlock, in a home directory of its own.
func confined(t *testing.T) *bench {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"} {
		t.Setenv(name, "")
	}
	b := newBench(t)
	settings, err := config.Parse(filepath.Join(b.repo, config.File), []byte("agents: {claude: {adapter: claude, command: [claude]}}\nsandbox: {kind: landlock}\n"))
	if err != nil {
		t.Fatal(err)
	}
	b.config = settings
	b.hidden = func() ([]string, error) { return []string{b.dir}, nil }
	b.followed = newFollowed(b.dir, settings)
	return b
}

// An agent in a sandbox can write its worktree if its role changes files, and nothing of the box; from the commands that it
// runs, what its program keeps is hidden too.
func TestConfine(t *testing.T) {
	b := confined(t)
	for role, writes := range map[agentsig.Role]bool{agentsig.RoleDeveloper: true, agentsig.RoleCritic: false} {
		set, agent := b.config.Role(role), b.config.Agents["claude"]
		cage, err := b.confine(delivery.Session{ID: "s", Agent: "claude", Role: role}, set, agent, []string{"claude"}, "/tree", gitPaths{})
		if err != nil {
			t.Fatal(err)
		}
		p := cage.program
		if slices.Contains(p.Write, "/tree") != writes || slices.Contains(p.Read, "/tree") == writes {
			t.Errorf("%s writes %v, reads %v", role, p.Write, p.Read)
		}
		if !slices.Contains(p.Hidden, b.dir) || slices.Contains(p.Write, b.dir) || p.Kind != sandbox.Landlock {
			t.Errorf("%s: %+v", role, p)
		}
		private := session.Private(b.sessionDir("s"))
		if !slices.Contains(p.Write, private) || !slices.Contains(cage.nested.Hidden, private) {
			t.Errorf("what the program keeps for itself: %v, hidden from its commands: %v", p.Write, cage.nested.Hidden)
		}
	}
	none := b.config.Role(agentsig.RoleDeveloper)
	none.Sandbox = sandbox.None
	if cage, err := b.confine(delivery.Session{ID: "s"}, none, config.Agent{}, []string{"claude"}, "/tree", gitPaths{}); err != nil || cage.program != nil || cage.nested != nil {
		t.Errorf("without a sandbox: %+v, %v", cage, err)
	}
}

// Checks in a sandbox write their worktree and their home, and see neither the box nor what agents' programs keep.
func TestShell(t *testing.T) {
	b := confined(t)
	kept := filepath.Join(os.Getenv("HOME"), ".claude")
	tree := filepath.Join(t.TempDir(), "tree")
	if err := errors.Join(os.MkdirAll(kept, 0o700), os.MkdirAll(tree, 0o700)); err != nil {
		t.Fatal(err)
	}
	h, err := b.takeHome(t.Context(), trial{run: "R1"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.leaveHome(h, trial{run: "R1"}, false)
	shell, done, err := b.shell(tree, h)
	if err != nil {
		t.Fatal(err)
	}
	policy := strings.Join(shell, "\n")
	for _, path := range []string{tree, h.Path, b.dir, kept} {
		if !strings.Contains(policy, path) {
			t.Errorf("%s is not in the policy:\n%s", path, policy)
		}
	}
	if _, err := os.Stat(tree + tempSuffix); err != nil {
		t.Error(err)
	}
	done()
	if _, err := os.Stat(tree + tempSuffix); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("temporary files stay: %v", err)
	}
	b.config.Sandbox.Checks = config.Off
	if shell, _, err := b.shell(tree, nil); err != nil || !slices.Equal(shell, []string{"sh"}) {
		t.Errorf("without a sandbox: %q, %v", shell, err)
	}
}

// What a reviewer's program follows is looked at before agents start. A change is told until somebody agrees to it; a reviewer
// is not started meanwhile.
func TestDistrust(t *testing.T) {
	b := confined(t)
	file := filepath.Join(os.Getenv("HOME"), ".claude", "settings.json")
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("{}"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := b.Resume(t.Context(), true, b.run.Branch); err != nil {
		t.Fatal(err)
	}
	if reason, err := b.Distrust("R1", ""); err != nil || reason != "" {
		t.Errorf("nothing was changed: %q, %v", reason, err)
	}
	if err := os.WriteFile(file, []byte(`{"hooks":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if reason, err := b.Distrust("R1", ""); err != nil || !strings.Contains(reason, "~/.claude/settings.json") || !strings.Contains(reason, "R1") {
			t.Errorf("%q, %v", reason, err)
		}
	}
	o := order.Order{Command: delivery.Command{Session: &delivery.Session{ID: "s", Role: agentsig.RoleCritic}}, Run: b.run.Copy(), Reviews: true}
	if err := b.trust(t.Context(), o); !errors.Is(err, errDistrust) {
		t.Errorf("a reviewer is started: %v", err)
	}
	if in, ok := b.last().(delivery.Distrust); !ok || in.Session != "s" {
		t.Errorf("told %+v", b.last())
	}
	o.Reviews = false
	if err := b.trust(t.Context(), o); err != nil {
		t.Errorf("a developer is not started: %v", err)
	}
	b.LeaveFollowed("R1")
	if err := b.AcceptFollowed(); err != nil {
		t.Fatal(err)
	}
	if reason, err := b.Distrust("R1", ""); err != nil || reason != "" {
		t.Errorf("somebody agreed: %q, %v", reason, err)
	}
}

// A run whose sandbox can't be made, or whose reviewer could be spoken for, is refused with words.
func TestReady(t *testing.T) {
	b := confined(t)
	b.config.Sandbox.Write = []string{"/nowhere/at/all"}
	if err := b.Ready(); !errors.Is(err, order.ErrNoSandbox) {
		t.Errorf("a place that is not there: %v", err)
	}
	settings, err := config.Parse(filepath.Join(b.repo, config.File), []byte("agents: {script: {command: [./script]}}\nsandbox: {kind: landlock}\n"))
	if err != nil {
		t.Fatal(err)
	}
	b.config = settings
	if err := b.canReview(); !errors.Is(err, order.ErrUnprotected) || !strings.Contains(err.Error(), "the critic") {
		t.Errorf("a script that reviews: %v", err)
	}
	b.config.Review = config.ReviewUnprotected
	if err := b.canReview(); err != nil {
		t.Error(err)
	}
}

// The names of a run's branches are free until one of them is taken; a branch that is there is never taken for ours.
func TestFree(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if free, err := b.Free(t.Context(), "R2"); err != nil || !free {
		t.Errorf("%v, %v", free, err)
	}
	gittest.Git(t, b.repo, "branch", taskBranch("R2", "T-1"))
	if free, err := b.Free(t.Context(), "R2"); err != nil || free {
		t.Errorf("%v, %v", free, err)
	}
	if made, err := b.MakeBranch(t.Context(), b.run.Branch, "HEAD"); err != nil || made {
		t.Errorf("it was made again: %v, %v", made, err)
	}
}

// The worktree of remediation catches up with the run's branch, unless there is work in it that was not merged.
func TestCatchUp(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := &delivery.Session{ID: "run-1.1", Role: agentsig.RoleRemediation, Round: 1}
	o := order.Order{Command: delivery.Command{Session: s}, Run: b.run.Copy()}
	in, err := b.room(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	next := func(text string) string {
		if err := os.WriteFile(filepath.Join(b.repo, "README.md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		gittest.Git(t, b.repo, "commit", "-q", "-a", "-m", "next")
		gittest.Git(t, b.repo, "branch", "-f", b.run.Branch, "HEAD")
		return gittest.Git(t, b.repo, "rev-parse", "HEAD")
	}
	tip := next("next\n")
	if _, err := b.room(t.Context(), o); err != nil || gittest.Git(t, in.path, "rev-parse", "HEAD") != tip {
		t.Errorf("it is behind: %v", err)
	}
	if err := os.WriteFile(filepath.Join(in.path, "half.txt"), []byte("half\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	next("and again\n")
	if _, err := b.room(t.Context(), o); err != nil || gittest.Git(t, in.path, "rev-parse", "HEAD") != tip {
		t.Errorf("work that was not merged is left behind: %v", err)
	}
}
