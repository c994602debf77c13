//go:build unix

package runner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/gittest"
)

// The agents of these tests: shell scripts that know what their signals have to carry.
const drafter = `#!/bin/sh
prompt=$(cat)
run=$(printf '%s\n' "$prompt" | sed -n 's/^\(run=[^ ]*\) belongs to this session.*/\1/p' | tail -n 1)
`

const written = `echo PLAN_BEGINS $run
printf '# A plan\n\n#### Task T-1: a\n\n**Work**: b\n'
echo PLAN_ENDS $run
`

// draft has an agent write a plan in a repository, and fails the test if anything is left there.
func draft(t *testing.T, repo, script string) (Drafted, error) {
	t.Helper()
	agent := filepath.Join(t.TempDir(), "agent")
	if err := os.WriteFile(agent, []byte(drafter+script), 0o700); err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse(filepath.Join(repo, config.File), []byte("agents: {a: {command: ["+agent+"]}, default: {command: [\"false\"]}}\nlimits: {grace: 200ms}\n"))
	if err != nil {
		t.Fatal(err)
	}
	made, err := Draft(t.Context(), Drafting{Repo: repo, Program: "none", Config: c, Agent: "a", Goal: "count words"})
	entries, lerr := os.ReadDir(repo)
	if lerr != nil || len(entries) != 1 {
		t.Errorf("%v are in the checkout, %v; want .git alone", entries, lerr)
	}
	if got := gittest.Git(t, repo, "worktree", "list"); strings.Contains(got, "\n") {
		t.Errorf("worktrees:\n%s", got)
	}
	return made, err
}

// A plan is taken from what the agent says, and only if it can be read; then, and if the agent asks, fails or writes
// none, it has ended and nothing is left.
func TestDraft(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	made, err := draft(t, repo, written)
	if err != nil || len(made.Plan.Tasks) != 1 || made.Plan.Title != "A plan" || made.Agent != "a" || len(made.Changed) > 0 {
		t.Errorf("%+v, %v", made, err)
	}
	// What was refused is told once, with all that was told before.
	again := `case $prompt in *"There was no plan between"*"count words"*) ;; *"count words"*"There was no plan between"*) ;; *) echo not yet; exit ;; esac
`
	if made, err = draft(t, repo, again+written); err != nil || len(made.Plan.Tasks) != 1 {
		t.Errorf("the second time: %+v, %v", made, err)
	}
	if testing.Short() {
		t.Skip("each draft is a session; two are made with -short")
	}
	if _, err = draft(t, repo, "echo no"); !errors.Is(err, ErrNoPlan) {
		t.Errorf("without a plan: %v", err)
	}
	if _, err = draft(t, repo, strings.ReplaceAll(written, "$run", "run=other")); !errors.Is(err, ErrNoPlan) {
		t.Errorf("with another's mark: %v", err)
	}
	if _, err = draft(t, repo, strings.ReplaceAll(written, "**Work**: b", "")); !errors.Is(err, ErrNoPlan) || !strings.Contains(err.Error(), "task T-1 has no Work") {
		t.Errorf("one that is refused: %v", err)
	}
	if _, err = draft(t, repo, "echo SEEKING_DIVINE_CLARIFICATION $run\nprintf 'Question: which \\033[2Jwords\\n'"); !errors.Is(err, ErrQuestion) || !strings.Contains(err.Error(), `Question: which \x1b[2Jwords`) {
		t.Errorf("a question: %v", err)
	}
	if _, err = draft(t, repo, "echo out of paper >&2\nexit 3"); err == nil || !strings.Contains(err.Error(), "the agent did not finish (crashed): exit status 3: out of paper") {
		t.Errorf("a crash: %v", err)
	}
}

// The agent is in a worktree of its own, at the last commit, and what it does to the checkout all the same is said.
func TestDraftElsewhere(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	if _, err := draft(t, repo, "echo x >x.txt\ntest \"$(git rev-parse HEAD)\" = "+gittest.Git(t, repo, "rev-parse", "HEAD")+" || exit 3\n"+written); err != nil {
		t.Error(err)
	}
	made, err := draft(t, repo, "git -C "+repo+" -c user.name=a -c user.email=a@example.org commit -q --allow-empty -m mine\n"+written)
	if err != nil || len(made.Changed) == 0 {
		t.Errorf("%+v, %v", made, err)
	}
}

// Who ends a draft waits for its agent to be gone.
func TestDraftCancelled(t *testing.T) {
	t.Parallel()
	repo, here := gittest.New(t), filepath.Join(t.TempDir(), "here")
	if err := syscall.Mkfifo(here, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse(filepath.Join(repo, config.File), []byte("agents: {a: {command: [sh, -c, 'echo here >\""+here+"\"; sleep 600']}}\nlimits: {grace: 200ms}\n"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := Draft(ctx, Drafting{Repo: repo, Program: "none", Config: c, Goal: "count words"})
		ended <- err
	}()
	if _, err := os.ReadFile(here); err != nil { // it ends when the agent has written to it
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(repo, makeshiftPrefix+"*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// What lies in the repository under the name of a makeshift is none of ours: neither it nor what it leads to is touched.
func TestSweepOthers(t *testing.T) {
	t.Parallel()
	repo, aim := t.TempDir(), t.TempDir()
	for _, name := range []string{"agent.json", "tmp/x"} {
		write(t, filepath.Join(aim, name))
	}
	committed := filepath.Join(repo, makeshiftPrefix+"committed")
	write(t, filepath.Join(committed, makeshiftLock))
	linked, err := os.MkdirTemp(repo, makeshiftPrefix)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(linked, makeshiftLock))
	for _, dir := range []string{committed, linked} {
		if err := os.Mkdir(filepath.Join(dir, sessionsDir), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(aim, filepath.Join(dir, sessionsDir, draftSession)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(committed, 0o755); err != nil {
		t.Fatal(err)
	}
	sweepMakeshifts(repo)
	for _, path := range []string{filepath.Join(aim, "agent.json"), filepath.Join(aim, "tmp/x"), filepath.Join(committed, makeshiftLock)} {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Lstat(linked); err == nil {
		t.Error("what was left is still there")
	}
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}
