//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/redact"
	"github.com/signalbox-dev/signalbox/internal/session/agent"
)

// played is an evaluation with an agent in shell. It has $prompt and $run, which its signals carry.
func played(t *testing.T, script string) evaluation {
	t.Helper()
	const begin = `prompt=$(cat); run=$(printf '%s\n' "$prompt" | sed -n 's/^\(run=[^ ]*\) belongs to this session.*/\1/p'); `
	r, err := redact.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return evaluation{
		options: options{may: delivery.Spend{Tokens: 1000, CostUSD: 1}, limit: time.Minute, rounds: 1},
		program: program{name: "script", adapter: agent.AdapterPlain, command: []string{"sh", "-c", begin + script}},
		dir:     t.TempDir(), redact: r,
	}
}

// alonely has an agent in shell do the first task alone.
func alonely(ctx context.Context, t *testing.T, script string) (delivered, room) {
	t.Helper()
	e := played(t, script)
	at := room{task: allTasks(t)[0], dir: t.TempDir()}
	at.repo = filepath.Join(at.dir, "repo")
	if err := at.task.repository(t.Context(), at.repo); err != nil {
		t.Fatal(err)
	}
	d, err := e.alone(ctx, at)
	if err != nil {
		t.Fatal(err)
	}
	return d, at
}

// What an agent says last is its claim; if that can't be read, it is asked once.
func TestAlone(t *testing.T) {
	for _, c := range []struct {
		name, script string
		want         state
	}{
		{"done", `echo "READY_FOR_REVIEW: E-01 $run"`, stateDone},
		{"nothing to do", `echo "READY_FOR_REVIEW: E-01 $run"; echo "No Change Needed: it is there"`, stateDone},
		{"a person is asked", `echo "SEEKING_DIVINE_CLARIFICATION $run"; echo "Question: which?"`, stateAsks},
		{"it can't", `echo "TASK_INCOMPLETE: E-01 $run"; echo "Blocker: none of it is there"`, stateCant},
		{"no word", `echo done`, stateSilent},
		{"a signal of another session", `echo "READY_FOR_REVIEW: E-01 run=other"`, stateSilent},
		{"a word when it is asked", `[ "$SIGNALBOX_TURN" = 1 ] || echo "READY_FOR_REVIEW: E-01 $run"`, stateDone},
		{"a crash", `echo no login >&2; exit 3`, stateFailed},
		{"a crash after its word", `echo "READY_FOR_REVIEW: E-01 $run"; exit 3`, stateDone},
		{"too many tokens", `echo '{"input_tokens": 1000}' >"$SIGNALBOX_USAGE"; echo "READY_FOR_REVIEW: E-01 $run"`, stateBudget},
		{"too much money", `echo '{"cost_usd": 1.5}' >"$SIGNALBOX_USAGE"; echo "READY_FOR_REVIEW: E-01 $run"`, stateBudget},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d, _ := alonely(t.Context(), t, c.script)
			if d.state != c.want {
				t.Errorf("it ended with %q (%s), want %q", d.state, d.detail, c.want)
			}
			if c.want == stateFailed && !strings.Contains(d.detail, "no login") {
				t.Errorf("why: %q", d.detail)
			}
		})
	}
}

// The result is all that the agent left, committed or not, and what it was told is the task.
func TestAloneResult(t *testing.T) {
	d, at := alonely(t.Context(), t, `printf '%s' "$prompt" >prompt.txt; echo '{"input_tokens": 40, "output_tokens": 2, "cost_usd": 0.5}' >"$SIGNALBOX_USAGE"; echo "READY_FOR_REVIEW: E-01 $run"`)
	if want := (delivery.Usage{InputTokens: 40, OutputTokens: 2, CostUSD: .5}); d.usage != want {
		t.Errorf("used %+v", d.usage)
	}
	told, err := git(t.Context(), d.repo, "show", d.commit+":prompt.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# E-01: A program that prints the median\n", at.task.work().Work, at.task.work().Criteria[1], "- tests: `./test`", "READY_FOR_REVIEW: E-01", "SEEKING_DIVINE_CLARIFICATION"} {
		if !strings.Contains(told, want) {
			t.Errorf("there is no %q in\n%s", want, told)
		}
	}
}

// What an agent does to its repository changes neither what its result is nor what else is there, and has nothing run.
func TestAloneRepository(t *testing.T) {
	for name, script := range map[string]string{
		"removed":     `rm -rf .git`,
		"locked":      `touch .git/index.lock`,
		"not seen":    `git add -A; git update-index --skip-worktree README.md result; git commit -qm x; echo right >result; echo result >>.git/info/exclude; echo result >.gitignore`,
		"another":     `git init -q --bare ../other; rm -rf .git; echo "gitdir: $PWD/../other" >.git`,
		"signed":      `git config commit.gpgsign true; git config gpg.program "$PWD/../run"`,
		"a monitor":   `git config core.fsmonitor "$PWD/../run"`,
		"a filter":    `git config filter.x.clean "$PWD/../run"; git config filter.x.required true; echo '* filter=x' >.gitattributes`,
		"a worktree":  `git config core.worktree "$HOME"`,
		"hooks":       `printf '#!/bin/sh\n../run' >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; cp .git/hooks/pre-commit .git/hooks/post-checkout`,
		"broken":      `echo nonsense >.git/config; echo nonsense >.git/HEAD`,
		"a branch":    `git checkout -q -b other`,
		"above it":    `rm -rf .git; git -C .. init -q`,
		"no identity": `git config --unset user.name; git config --unset user.email`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, at := alonely(t.Context(), t, `printf '#!/bin/sh\ntouch "`+"$PWD"+`/../ran"\ncat\n' >../run; chmod +x ../run; echo wrong >result; `+script+`; echo right >result; echo "READY_FOR_REVIEW: E-01 $run"`)
			if d.state != stateDone || d.detail != "" {
				t.Errorf("it ended with %q: %s", d.state, d.detail)
			}
			if got, err := git(t.Context(), d.repo, "show", d.commit+":result"); err != nil || got != "right" {
				t.Errorf("the result is %q, %v", got, err)
			}
			if exists(t, filepath.Join(at.dir, "ran")) {
				t.Error("something of the agent's was run")
			}
			if exists(t, filepath.Join(at.dir, ".git", "index")) {
				t.Error("a repository above it was written")
			}
		})
	}
}

// elsewhere runs a test in a process of its own, and is false in that: a whole evaluation adopts what loses its parent, and ends all that
// its process has started.
func elsewhere(t *testing.T) bool {
	t.Helper()
	const there = "EVAL_TEST_ELSEWHERE"
	if os.Getenv(there) != "" {
		return false
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), there+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return true
}

// The hidden check is the one that was there before an agent was started, and if the tasks were changed no result counts.
func TestTasksAreChanged(t *testing.T) {
	if elsewhere(t) {
		return
	}
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "01-edge-case"), os.DirFS(filepath.Join("tasks", "01-edge-case"))); err != nil {
		t.Fatal(err)
	}
	tasks, err := loadTasks(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	check := filepath.Join(dir, "01-edge-case", "hidden", "check")
	before, err := os.ReadFile(check)
	if err != nil {
		t.Fatal(err)
	}
	e := played(t, `echo 'exit 0' >`+check+`; echo "READY_FOR_REVIEW: E-01 $run"`)
	r, err := e.one(t.Context(), tasks[0], byAlone, 2)
	if err != nil || r.Passed {
		t.Errorf("passed %v, %v", r.Passed, err)
	}
	if err := os.WriteFile(check, before, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := e.all(t.Context(), tasks, io.Discard); err == nil || !strings.Contains(err.Error(), "no result counts") {
		t.Errorf("error %v", err)
	}
}

// What an agent, or what it wrote, leaves running is ended, also if it has left its group and its environment.
func TestNothingIsLeftRunning(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux gives a process the orphans of its descendants")
	}
	if elsewhere(t) {
		return
	}
	dir := t.TempDir()
	leave := func(name string) string { // and go on when it has begun
		path := filepath.Join(dir, name)
		return `mkfifo ` + path + `.begun; setsid env -i /bin/sh -c 'echo $$ >` + path + `; echo >` + path + `.begun; exec /bin/sleep 600' </dev/null >/dev/null 2>&1 & read -r x <` + path + `.begun; `
	}
	k := allTasks(t)[0]
	k.judge = leave("check") + "exit 1"
	e := played(t, leave("agent")+`echo "READY_FOR_REVIEW: E-01 $run"`)
	e.signalbox = "/bin/false"
	if _, err := e.all(t.Context(), []task{k}, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"agent", "check"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("what the %s left is still there: %v", name, err)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// A key that a program prints is not in what is passed on.
func TestDetailHasNoKey(t *testing.T) {
	e := played(t, `echo "the key sk-ant-`+"api03-"+strings.Repeat("aB3", 12)+` is refused" >&2; exit 3`)
	r, err := e.one(t.Context(), allTasks(t)[0], byAlone, 1)
	if err != nil || r.State != stateFailed || !strings.Contains(r.Detail, "is refused") || strings.Contains(r.Detail, "aB3") {
		t.Errorf("%v, %+v", err, r)
	}
}

// When the time is over the agent is ended, and what it has done by then is its result.
func TestAloneTime(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second) // with what comes before, on a busy machine too
	defer cancel()
	d, _ := alonely(ctx, t, `echo half >half.txt; exec sleep 600`)
	if d.state != stateTime {
		t.Errorf("it ended with %q", d.state)
	}
	if _, err := git(t.Context(), d.repo, "show", d.commit+":half.txt"); err != nil {
		t.Error(err)
	}
}

func TestEnding(t *testing.T) {
	asks := func(c delivery.Cause) api.Run { return api.Run{Questions: []api.Question{{Cause: c, Text: "why?"}}} }
	for _, c := range []struct {
		exit int
		late bool
		run  api.Run
		want state
	}{
		{0, false, api.Run{}, stateDone},
		{0, true, api.Run{}, stateDone}, // it was done in time
		{130, true, api.Run{}, stateTime},
		{1, false, api.Run{}, stateOpen},
		{2, false, asks(delivery.CauseClarification), stateAsks},
		{2, false, asks(delivery.CauseBudget), stateBudget},
		{2, false, asks(delivery.CauseLogin), stateFailed},
	} {
		if got, _ := ending(c.exit, c.late, c.run); got != c.want {
			t.Errorf("exit code %d, late %v, %+v: %q, want %q", c.exit, c.late, c.run, got, c.want)
		}
	}
}

// A live model is not asked without --yes: what it can cost is said, and nothing is started.
func TestNothingIsSpentUnasked(t *testing.T) {
	t.Chdir("..")
	dir := t.TempDir()
	started := filepath.Join(dir, "started")
	if err := os.WriteFile(filepath.Join(dir, "claude"), []byte("#!/bin/sh\ntouch "+started+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("HOME", dir)
	var out, errs bytes.Buffer
	err := run(t.Context(), []string{"--tasks", "01,02", "--rounds", "3", "--usd", "0.5", "--signalbox", "/bin/false"}, &out, &errs)
	var usage usageError
	if !errors.As(err, &usage) || !strings.Contains(err.Error(), "--yes") {
		t.Errorf("error %v", err)
	}
	if !strings.Contains(errs.String(), "12 deliveries") || !strings.Contains(errs.String(), "6.00 USD at most") {
		t.Errorf("it says %s", &errs)
	}
	if exists(t, started) {
		t.Error("the program was started")
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".signalbox-eval-*")); len(left) > 0 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestParse(t *testing.T) {
	var usage usageError
	for _, args := range [][]string{{"--rounds", "0"}, {"--usd", "-1"}, {"--time", "1ms"}, {"more"}, {"--nonsense"}} {
		if _, err := parse(args, &bytes.Buffer{}); !errors.As(err, &usage) {
			t.Errorf("%v: %v", args, err)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{{nil, "claude"}, {[]string{"--model-server"}, minimalName}, {[]string{"--model-server", "--agent", "codex"}, "codex"}} {
		if o, err := parse(c.args, &bytes.Buffer{}); err != nil || o.agent != c.want {
			t.Errorf("%v: %q, %v", c.args, o.agent, err)
		}
	}
	for _, o := range []options{{agent: "nobody"}, {agent: minimalName}} {
		if _, err := findProgram(o); !errors.As(err, &usage) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
