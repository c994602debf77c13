//go:build unix

package e2e_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/ledger"
)

// program is the signalbox program, built once for all tests.
var program string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		if code, done := alone(); done {
			return code
		}
		if err := flag.Set("test.parallel", "6"); err != nil { // they wait for processes; -parallel says otherwise
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		for _, entry := range os.Environ() { // a hook's GIT_DIR would make the tests work in the user's repository
			if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "GIT_") {
				_ = os.Unsetenv(name)
			}
		}
		dir, err := os.MkdirTemp("", "signalbox-e2e-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(dir) }()
		program = filepath.Join(dir, "signalbox")
		build := append([]string{"run", "-exec", "cp"}, buildFlags...) // go run keeps what it has linked, go build does not
		if out, err := exec.CommandContext(context.Background(), "go", append(build, "../../cmd/signalbox", program)...).CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%s\n%v\n", out, err)
			return 1
		}
		races := filepath.Join(dir, "race") // what the race detector finds in the program, if that is built with it
		_ = os.Setenv("GORACE", "atexit_sleep_ms=50 log_path="+races)
		code := m.Run()
		reports, _ := filepath.Glob(races + ".*")
		for _, report := range reports {
			text, err := os.ReadFile(report)
			fmt.Fprintf(os.Stderr, "the program has a race:\n%s%v\n", text, err)
			code = 1
		}
		return code
	}())
}

var all = flag.Bool("all", false, "each program and each attack in each sandbox, and as many runs and tasks as there can be; otherwise a part, in which every kind is")

// world is a repository with a plan, and agents that do what a test says.
type world struct {
	t       *testing.T
	dir     string // the repository
	scripts string // what agents do, by task and role

	program string                                               // the program, if it is not the one that all tests have
	env     []string                                             // besides this process's
	before  []string                                             // what its commands are run by, and with
	carrier func(address func() (string, error)) *http.Transport // of requests to the box, if it is not to be reached from here
	source  func() []recorded                                    // what was recorded, if several boxes keep it
}

// The agent of all roles: it runs the first of these that is there, TASK.ROLE.N for
// its Nth start, TASK.ROLE, ROLE; and notes that it was started. Scripts are shell,
// and have $prompt (what it was told), $run (what its signals carry), $task, $role, $n and $turn.
const agent = `#!/bin/sh
task=$SIGNALBOX_TASK role=$SIGNALBOX_ROLE turn=$SIGNALBOX_TURN name=${SIGNALBOX_TASK##*/}
prompt=$(cat)
run=$(printf '%s\n' "$prompt" | sed -n 's/^\(run=[^ ]*\) belongs to this session.*/\1/p' | tail -n 1)
n=1
while ! mkdir "$SCRIPTS/starts/$name.$role.$n" 2>/dev/null; do n=$((n+1)); done
printf '%s' "$prompt" >"$SCRIPTS/starts/$name.$role.$n/prompt"
printf '%s' "$SIGNALBOX_SESSION" >"$SCRIPTS/starts/$name.$role.$n/session"
for script in "$name.$role.$n" "$name.$role" "$role"; do
  if [ -f "$SCRIPTS/$script" ]; then . "$SCRIPTS/$script"; exit; fi
done
echo "no script for $task $role" >&2
exit 9
`

// What agents do if a test says nothing else: it works. A developer has a commit of its own each time, as one that did not
// pass is not judged again.
var honest = map[string]string{
	"analyst":        "echo EXPANDED_TASK_SPECIFICATION: $task $run\necho Confidence: HIGH\n",
	"developer":      "echo done >$name.txt\ngit add -A && git commit --allow-empty -qm $task\necho READY_FOR_REVIEW: $task $run\n",
	"critic":         "echo REVIEW_PASSED: $task $run\n",
	"auditor":        "echo AUDIT_PASSED: $task $run\n",
	"remediation":    "echo REMEDIATION_COMPLETE $run\n",
	"health_auditor": "echo HEALTH_AUDIT: HEALTHY $run\n",
	"expert":         "echo EXPERT_ADVICE: $task $run\necho Use the other door.\n",
}

// quick are the tests that run with -short: whole deliveries, one of them with a restart in the middle.
var quick = []string{"TestDeliver", "TestAdopt"}

// notShort skips the test with -short, unless it is a quick one.
func notShort(t *testing.T) {
	t.Helper()
	name, _, _ := strings.Cut(t.Name(), "/")
	if testing.Short() && !slices.Contains(quick, name) {
		t.Skipf("takes whole deliveries; with -short only %s do", strings.Join(quick, " and "))
	}
}

// newWorld makes a repository with these settings, besides the agent. With -short it skips the
// test, unless it is a quick one.
func newWorld(t *testing.T, settings string) *world {
	t.Helper()
	notShort(t)
	w := &world{t: t, dir: t.TempDir(), scripts: t.TempDir()}
	if err := os.Mkdir(filepath.Join(w.scripts, "starts"), 0o700); err != nil {
		t.Fatal(err)
	}
	w.write("README.md", "a repository\n")
	w.write("signalbox.yaml", fmt.Sprintf("agents:\n  scripted:\n    command: [%s]\n    commands: exec\n    env: {SCRIPTS: %s}\n%s", filepath.Join(w.scripts, "agent"), w.scripts, settings))
	w.script("agent", agent)
	for role, text := range honest {
		w.script(role, text)
	}
	w.git("init", "-q", "-b", "trunk")
	w.git("config", "user.name", "Ann")
	w.git("config", "user.email", "ann@example.org")
	w.git("add", "-A")
	w.git("commit", "-qm", "start")
	t.Cleanup(func() {
		if left := w.leftovers(); len(left) > 0 {
			t.Errorf("processes are left over: %v", left)
		}
	})
	return w
}

func (w *world) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// script says what an agent does: by ROLE, TASK.ROLE or TASK.ROLE.N.
func (w *world) script(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.scripts, name), []byte(text), 0o700); err != nil {
		w.t.Fatal(err)
	}
}

// tasks writes plan.md with tasks, each "ID" or "ID: BLOCKER, BLOCKER".
func (w *world) tasks(tasks ...string) {
	w.t.Helper()
	var b strings.Builder
	b.WriteString("# A plan\n\n")
	for _, t := range tasks {
		id, blockers, ok := strings.Cut(t, ":")
		if !ok {
			blockers = "none"
		}
		fmt.Fprintf(&b, "#### Task %s: The task %s\n\n**Work**: Do %s.\n\n**Blocked By**: %s\n\n", id, id, id, strings.TrimSpace(blockers))
	}
	w.write("plan.md", b.String())
}

func (w *world) git(args ...string) string {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), "git", args...)
	cmd.Dir = w.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// result is how a command ended.
type result struct {
	out, err string
	code     int
}

// command returns a signalbox command to be run in the repository.
func (w *world) command(ctx context.Context, args ...string) *exec.Cmd {
	line := slices.Concat(w.before, []string{cmp.Or(w.program, program)}, args)
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Dir = w.dir
	cmd.Env = slices.Concat(os.Environ(), []string{"NO_COLOR=1"}, w.env)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
	return cmd
}

// signalbox runs a command to its end.
func (w *world) signalbox(args ...string) result {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), wholeDelivery)
	defer cancel()
	cmd := w.command(ctx, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		w.t.Fatalf("signalbox %s: %v\n%s%s", strings.Join(args, " "), err, out.String(), errs.String())
	}
	return result{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// deliver runs the plan, and returns the run as it is at the end.
func (w *world) deliver(args ...string) api.Run {
	w.t.Helper()
	r := w.signalbox(append([]string{"run", "plan.md", "--json"}, args...)...)
	var run api.Run
	if err := json.Unmarshal([]byte(r.out), &run); err != nil || run.ID == "" {
		w.t.Fatalf("run: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	return run
}

// completed fails the test unless the run has completed every task.
func (w *world) completed(r api.Run) {
	w.t.Helper()
	if r.Outcome != delivery.Completed {
		w.t.Fatalf("the run is %s %s:\n%s", r.State, r.Outcome, w.story())
	}
}

// recorded is an event of the ledger with what it is about.
type recorded struct {
	ledger.Event
	Work string // the item's id; the run's for its own
}

// events returns everything that was recorded, read from a copy of the archive's files. A box that lives replaces
// some of them when it seals, and a copy that is made meanwhile is no archive: then another one is made.
func (w *world) events() []recorded {
	w.t.Helper()
	if w.source != nil {
		return w.source()
	}
	keys := archive.Keys{Signer: w.key("signer.key"), Verifier: w.key("verifier.key")}
	to := filepath.Join(w.t.TempDir(), "archive")
	for late := time.Now().Add(time.Minute); ; {
		all, err := copied(filepath.Join(w.dir, ".signalbox", "archive"), to, keys)
		if err == nil {
			return all
		}
		if err = errors.Join(err, os.RemoveAll(to)); time.Now().After(late) {
			w.t.Fatal(err)
		}
	}
}

// copied copies an archive, and reads the copy.
func copied(from, to string, keys archive.Keys) (all []recorded, err error) {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return nil, err
	}
	a, err := archive.Open(archive.Dir(to), keys)
	if err != nil {
		return nil, err
	}
	defer func() { _ = a.Close() }() // a copy
	names := map[string]string{}
	err = a.Entries(0, func(_ int64, stored []byte) error {
		e, err := ledger.Decode(stored)
		if err == nil {
			all = append(all, withName(e, names))
		}
		return err
	})
	return all, err
}

// withName is an event with what it is about, by those before it, whose names are kept.
func withName(e ledger.Event, names map[string]string) recorded {
	var p struct{ ID, Task string }
	if e.ItemSeq == 1 && json.Unmarshal(e.Payload, &p) == nil {
		names[e.Subject] = cmp.Or(p.Task, p.ID)
	}
	return recorded{e, names[e.Subject]}
}

func (w *world) key(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, ".signalbox", name))
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.TrimSpace(string(data))
}

// types returns the types of the events on a task or run, in order.
func (w *world) types(work string) []string {
	w.t.Helper()
	var types []string
	for _, e := range w.events() {
		if e.Work == work {
			types = append(types, e.Type)
		}
	}
	return types
}

// payload decodes the payload of the first event of a type.
func payload[P any](w *world, what string) P {
	w.t.Helper()
	var p P
	for _, e := range w.events() {
		if e.Type == what {
			if err := json.Unmarshal(e.Payload, &p); err != nil {
				w.t.Fatal(err)
			}
			return p
		}
	}
	w.t.Fatalf("no %s was recorded:\n%s", what, w.story())
	return p
}

// story tells what was recorded.
func (w *world) story() string {
	var b strings.Builder
	for n, e := range w.events() {
		fmt.Fprintf(&b, "%3d %-6s %-24s %s\n", n+1, e.Work, e.Type, e.Payload)
	}
	return b.String()
}

// prompt returns what the Nth agent in a role on a task was told.
func (w *world) prompt(task, role string, n int) string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.scripts, "starts", fmt.Sprintf("%s.%s.%d", task, role, n), "prompt"))
	if err != nil {
		w.t.Fatalf("no such agent was started: %v\n%s", err, w.story())
	}
	return string(data)
}

// leftovers returns the processes of agents and sessions of this world that live.
func (w *world) leftovers() []string {
	var left []string
	dirs, _ := filepath.Glob("/proc/[0-9]*") // where there is none, nothing can be told
	for _, dir := range dirs {
		env, _ := os.ReadFile(filepath.Join(dir, "environ"))
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		if bytes.Contains(env, []byte("SCRIPTS="+w.scripts+"\x00")) || bytes.Contains(line, []byte(w.dir)) {
			left = append(left, filepath.Base(dir)+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return left
}
