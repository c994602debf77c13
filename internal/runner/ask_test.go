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
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/internal/process"
)

// Each agent is asked once, as the first role that it plays, with its variables, in a worktree of the last commit; and
// nothing is left of it.
func TestAsk(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	inquiry := func(settings string) Inquiry {
		c, err := config.Parse(filepath.Join(b.repo, config.File), []byte(settings))
		if err != nil {
			t.Fatal(err)
		}
		return Inquiry{Repo: b.repo, Hidden: []string{b.dir}, Program: b.program, Config: c, Time: time.Minute}
	}
	before := gittest.Git(t, b.repo, "status", "--porcelain", "--ignored")
	roles := ""
	for _, role := range agentsig.Roles() {
		if role != agentsig.RoleCritic && role != agentsig.RoleAuditor {
			roles += fmt.Sprintf(", %s: {agent: good}", role)
		}
	}
	in := inquiry(`agents:
  good: {command: [sh, -c, 'cat README.md; echo "$SIGNALBOX_ROLE $MINE $(sed -n s/.*word/word/p)"'], env: {MINE: yes}}
  bad: {command: [sh, -c, 'echo "token=ghp_0123456789abcdefghijABCDEFGHIJ012345" >&2; exit 77']}
roles: {critic: {agent: bad}, auditor: {agent: person}` + roles + "}\n")
	answers, err := Ask(t.Context(), in)
	if err != nil || len(answers) != 2 {
		t.Fatal(answers, err)
	}
	for _, a := range answers {
		switch {
		case a.Agent == "good" && a.How == api.HowDone && a.Said == string(a.Role)+" yes word: ready" && a.Role != agentsig.RoleCritic:
		case a.Agent == "bad" && a.How == api.HowLoggedOut && a.Role == agentsig.RoleCritic && strings.Contains(a.Detail, "exit status 77") && !strings.Contains(a.Detail, "ABCDEF"):
		default:
			t.Errorf("%+v", a)
		}
	}
	started := filepath.Join(t.TempDir(), "started")
	in = inquiry(fmt.Sprintf("agents: {stuck: {command: [sh, -c, 'echo $$ >%s; sleep 300']}}\nlimits: {grace: 1s}\n", started))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for t.Context().Err() == nil {
			if pid, _ := os.ReadFile(started); len(pid) > 0 { // it may not be there yet
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if _, err := Ask(ctx, in); !errors.Is(err, context.Canceled) {
		t.Errorf("broken off: %v", err)
	}
	if pid, err := os.ReadFile(started); err != nil || runs(strings.TrimSpace(string(pid))) {
		t.Errorf("the agent %s runs on: %v", pid, err)
	}
	if after := gittest.Git(t, b.repo, "status", "--porcelain", "--ignored"); after != before {
		t.Errorf("left behind:\n%s", after)
	}
}

// Of one that was killed, the next one ends what goes on and removes the directory; one that is at work is left alone.
func TestAskAfterKilled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	started := filepath.Join(t.TempDir(), "started")
	settings := func(text string) config.Config {
		c, err := config.Parse(filepath.Join(b.repo, config.File), []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	x, done, err := makeshift(t.Context(), b.repo, b.program, settings(fmt.Sprintf("agents: {stuck: {command: [sh, -c, 'echo $$ >%s; sleep 300']}}\nlimits: {grace: 1s}\n", started)), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = done() }() // there is nothing left by then
	_, commit, err := x.repo.Head(t.Context())
	if err == nil {
		err = x.exchange.TakeBase(t.Context(), commit)
	}
	if err == nil {
		err = os.MkdirAll(x.gatePath(1), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	check, err := process.Start(process.Command{Path: "sleep", Args: []string{"600"}, Dir: x.gatePath(1), Env: os.Environ(), Marker: marker(x.gatePath(1))})
	if err != nil {
		t.Fatal(err)
	}
	defer check.End(0)
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan Answer, 1)
	go func() {
		asked <- x.ask(ctx, delivery.Session{ID: "ask-1", Role: agentsig.RoleDeveloper, Agent: "stuck"}, commit, time.Hour)
	}()
	defer func() { cancel(); <-asked }()
	var pid string
	for pid == "" && t.Context().Err() == nil {
		text, _ := os.ReadFile(started) // it is not there yet
		pid = strings.TrimSpace(string(text))
		time.Sleep(time.Millisecond)
	}
	next := Inquiry{Repo: b.repo, Program: b.program, Time: time.Minute, Config: settings("agents: {good: {command: [sh, -c, 'echo ready']}}\n")}
	if _, err := Ask(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(x.sessionDir("ask-1")); err != nil || !runs(pid) {
		t.Fatalf("what is at work is not: %v", err)
	}
	lock := filepath.Join(x.dir, makeshiftLock) // another file is locked by nobody, as that of a process that was killed
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	write(t, lock)
	if _, err := Ask(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	if runs(pid) {
		t.Error("the agent goes on")
	}
	select {
	case <-check.Done():
	case <-time.After(time.Minute):
		t.Error("the check goes on")
	}
	if left, _ := filepath.Glob(filepath.Join(b.repo, makeshiftPrefix+"*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// runs reports whether a process does: of one that has ended and was not taken note of yet, there is no command line.
func runs(pid string) bool {
	line, err := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
	return err == nil && len(line) > 0
}
