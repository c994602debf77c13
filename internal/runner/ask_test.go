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
	"github.com/signalbox-dev/signalbox/internal/gittest"
)

// Each agent is asked once, as the first role that it plays, with its variables, in a worktree of the last commit; and
// nothing is left of it.
func TestAsk(t *testing.T) {
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
			if _, err := os.Stat(started); err == nil {
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

// runs reports whether a process does: of one that has ended and was not taken note of yet, there is no command line.
func runs(pid string) bool {
	line, err := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
	return err == nil && len(line) > 0
}
