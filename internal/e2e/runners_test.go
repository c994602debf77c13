//go:build linux

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// fleet is a world whose box is on a machine of its own, with runners on others.
type fleet struct {
	*world
	net  *machines
	home *machine
	node *node
	far  []*far
}

// far is a runner: its machine, its directory there, and its process.
type far struct {
	of      *fleet
	m       *machine
	name    string
	parity  string // of its number, a label besides "far"
	dir     string
	program string   // if it is not the one that all have
	env     []string // besides this process's
	cmd     *exec.Cmd
	said    output
	ended   bool
}

// secureAt is where a box listens for runners.
const secureAt = "7443"

// farAway has agents work on runners alone, and runners be lost as soon as settings may have it.
const farAway = "roles: {developer: {labels: [far]}, critic: {labels: [far]}, auditor: {labels: [far]}}\nlimits: {runner_lost: 10s}\n"

// newFleet has a world's box come up on a machine, and invites so many runners, each on a machine of its own, where nothing of the
// box's directory and of the user's repository can be seen. They are started by the test.
func newFleet(w *world, count int) *fleet {
	w.t.Helper()
	f := &fleet{world: w, net: newMachines(w.t, count+1)}
	f.home = f.net.all[0]
	w.before = f.home.within("")
	w.carrier = func(address func() (string, error)) *http.Transport { return f.home.dialer(address) }
	f.up()
	for i := range count {
		r := &far{of: f, m: f.net.all[i+1], name: fmt.Sprintf("r%d", i+1), parity: []string{"odd", "even"}[i%2], ended: true}
		var err error
		if r.dir, err = os.MkdirTemp("", "sbr"); err != nil { // as short as a socket's path has to be
			w.t.Fatal(err)
		}
		w.t.Cleanup(func() { cleared(w.t, r.dir) })
		w.t.Cleanup(r.kill)
		f.far = append(f.far, r)
		r.join()
	}
	w.t.Cleanup(func() {
		if w.t.Failed() {
			for _, r := range f.far {
				w.t.Logf("%s said:\n%s", r.name, r.said.String())
			}
		}
	})
	return f
}

// up has the box come up.
func (f *fleet) up() {
	f.t.Helper()
	f.node = f.world.up("--listen", f.home.addr+":"+secureAt)
}

// join has the runner join the box, with the line that its invitation prints.
func (r *far) join() {
	t := r.of.t
	t.Helper()
	invited := r.of.signalbox("runner", "invite", "--name", r.name, "--label", "far", "--label", r.parity, "--json")
	var i api.Invitation
	if err := json.Unmarshal([]byte(invited.out), &i); err != nil || i.Line == "" {
		t.Fatalf("invite: %s%s", invited.out, invited.err)
	}
	if out, err := r.command("join", i.Line).CombinedOutput(); err != nil {
		t.Fatalf("join: %v\n%s", err, out)
	}
}

// command returns a command of the runner's, on its machine.
func (r *far) command(args ...string) *exec.Cmd {
	program := r.program
	if program == "" {
		program = r.of.command(context.Background(), "version").Args[len(r.of.before)]
	}
	line := r.m.within(r.of.dir, append([]string{program, "runner", "--dir", r.dir}, args...)...)
	cmd := exec.CommandContext(context.Background(), line[0], line[1:]...)
	cmd.Dir = r.dir
	cmd.Env = slices.Concat(os.Environ(), []string{"NO_COLOR=1", "HOME=" + r.dir}, r.env) // where nobody is known to git
	return cmd
}

// start starts the runner. It ends with the test, if not before.
func (r *far) start(args ...string) {
	r.of.t.Helper()
	r.cmd = r.command(args...)
	r.cmd.Stderr = &r.said
	if err := r.cmd.Start(); err != nil {
		r.of.t.Fatal(err)
	}
	r.ended = false
}

// kill ends all that runs on the runner's machine.
func (r *far) kill() {
	r.m.die()
	if !r.ended {
		r.ended = true
		_ = r.cmd.Wait() // by a signal, which is no news
	}
}

// leave has the runner leave, which it does when it has nothing left to do.
func (r *far) leave() {
	r.of.t.Helper()
	if r.ended {
		return
	}
	r.ended = true
	_ = r.cmd.Process.Signal(syscall.SIGTERM)
	if err := r.cmd.Wait(); err != nil {
		r.of.t.Errorf("%s: %v\n%s", r.name, err, r.said.String())
	}
}

// present waits until the box has contact to all its runners.
func (f *fleet) present() {
	f.t.Helper()
	f.until("all runners are there", func() bool {
		return !slices.ContainsFunc(f.far, func(r *far) bool { return f.state(r) != api.RunnerPresent })
	})
}

// state is what the box says of a runner.
func (f *fleet) state(r *far) string {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	all, err := f.node.client.Runners(ctx)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, one := range all {
		if one.Name == r.name {
			return one.State
		}
	}
	return ""
}

// begun starts the runners, and returns when the box knows of them.
func (f *fleet) begun() {
	f.t.Helper()
	for _, r := range f.far {
		r.start()
	}
	f.present()
}

// quiet waits until nothing runs on any machine but the box and the runners themselves.
func (f *fleet) quiet() {
	f.t.Helper()
	var left []string
	look := func() bool {
		left = nil
		mains := map[*machine]int{f.home: f.node.cmd.Process.Pid}
		for _, r := range f.far {
			mains[r.m] = r.cmd.Process.Pid
		}
		for m, main := range mains {
			for _, p := range m.processes() {
				if p.pid != main {
					left = append(left, fmt.Sprintf("%s: %d %s", m.Namespace, p.pid, p.line))
				}
			}
			if n := unawaited(main); n > 0 {
				left = append(left, fmt.Sprintf("%s: %d processes that have ended, and that %d does not wait for", m.Namespace, n, main))
			}
		}
		return len(left) == 0 && len(f.leftovers()) == 0
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(patience); !look(); {
		select {
		case <-tick.C:
		case <-late:
			f.t.Fatalf("processes are left: %v\n%s", left, f.story())
		}
	}
}

// over has runners and box end, and checks that nothing is left on any machine.
func (f *fleet) over() {
	f.t.Helper()
	f.quiet()
	f.tidied()
	for _, r := range f.far {
		r.leave()
	}
	f.node.stop()
	for _, m := range f.net.all {
		if left := m.processes(); len(left) > 0 {
			f.t.Errorf("on %s are left %v", m.Namespace, left)
		}
	}
}

// ofType returns the payloads of the events of a type, with the events.
func ofType[P any](f *fleet, what string, do func(e recorded, p P)) {
	f.t.Helper()
	for _, e := range f.events() {
		if e.Type != what {
			continue
		}
		var p P
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			f.t.Fatal(err)
		}
		do(e, p)
	}
}

// judge holds ledger, agents' notes and git against each other: an agent was started for each lease but those whose end was none
// of its own, and what [fleet.delivered] says.
func (f *fleet) judge(tasks ...string) {
	f.t.Helper()
	grants := map[string]int{}
	for _, what := range []string{work.LeaseGranted, work.ReviewStarted} {
		ofType(f, what, func(e recorded, _ work.Granted) { grants[e.Session]++ })
	}
	f.startedOnce(grants, len(f.crashes()))
	f.delivered(tasks...)
}

// delivered checks that each task was merged once, by the ledger and by git, that nobody worked at home, that checks ran on another
// machine than their author's, and that all of it can be verified.
func (f *fleet) delivered(tasks ...string) {
	f.t.Helper()
	merged, author, checked := map[string]int{}, map[string]string{}, map[string]string{}
	for _, e := range f.events() {
		var p struct{ Role, Runner string }
		switch e.Type {
		case work.LeaseGranted, work.ReviewStarted, work.GatePassed:
			if err := json.Unmarshal(e.Payload, &p); err != nil {
				f.t.Fatal(err)
			}
		}
		switch e.Type {
		case work.LeaseGranted, work.ReviewStarted:
			if p.Role == "developer" {
				author[e.Work] = p.Runner
			}
			if p.Runner == "" {
				f.t.Errorf("%s works at home", e.Session)
			}
		case work.GatePassed:
			checked[e.Work] = p.Runner
			if p.Runner == author[e.Work] {
				f.t.Errorf("the checks on %s ran on %q, where it was done", e.Work, p.Runner)
			}
		case work.WorkMerged:
			merged[e.Work]++
		}
	}
	subjects := strings.Split(f.git("log", "--first-parent", "--format=%s", "trunk..signalbox/R1"), "\n")
	for _, task := range tasks {
		inGit := 0
		for _, s := range subjects {
			if strings.HasPrefix(s, "Merge "+task+": ") {
				inGit++
			}
		}
		if merged[task] != 1 || inGit != 1 {
			f.t.Errorf("%s was merged %d times by the ledger, %d times by git:\n%s\n%s", task, merged[task], inGit, subjects, f.story())
		}
	}
	if len(subjects) != len(tasks) {
		f.t.Errorf("the branch has %d merges, want %d:\n%s", len(subjects), len(tasks), subjects)
	}
	for _, author := range strings.Fields(f.git("log", "--format=%an", "trunk..signalbox/R1")) {
		if author != "Ann" { // whom git knows at home, and nobody else is known elsewhere
			f.t.Errorf("commits are made by %s", author)
		}
	}
	if r := f.signalbox("ledger", "verify"); r.code != 0 {
		f.t.Errorf("verify: %s%s", r.out, r.err)
	}
	for line := range strings.Lines(f.git("log", "--first-parent", "--format=%H %s", "trunk..signalbox/R1")) {
		merge, subject, _ := strings.Cut(line, " ")
		r := f.signalbox("verify", merge, "--key="+f.key("verifier.key"), "--archive=.signalbox/archive")
		if r.code != 0 {
			f.t.Errorf("verify %s: %s%s", merge, r.out, r.err)
		}
		task, _, _ := strings.Cut(strings.TrimPrefix(subject, "Merge "), ": ")
		if on := checked[task]; on != "" && !strings.Contains(strings.Join(strings.Fields(r.out), " "), "passed on the runner "+on+", signed with its key") {
			f.t.Errorf("verify %s, of %s, whose checks ran on %s, says\n%s", merge, task, on, r.out)
		}
	}
}

// worked returns how many agents worked on each runner, and how many checks ran there, by the ledger.
func (f *fleet) worked() (agents, checks map[string]int) {
	f.t.Helper()
	agents, checks = map[string]int{}, map[string]int{}
	for _, what := range []string{work.LeaseGranted, work.ReviewStarted} {
		ofType(f, what, func(_ recorded, p work.Granted) { agents[p.Runner]++ })
	}
	ofType(f, work.GatePassed, func(_ recorded, p struct{ Runner string }) { checks[p.Runner]++ })
	return agents, checks
}

// The quickstart's plan, with a box and three runners on four machines: its developers, critics and auditors are on the runners, and
// its checks on another one than the developer's.
func TestRunnersQuickstart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	example := filepath.Join("..", "..", "examples", "quickstart")
	for _, name := range []string{"plan.md", "test", "agent", "signalbox.yaml"} {
		text, err := os.ReadFile(filepath.Join(example, name))
		if err != nil {
			t.Fatal(err)
		}
		if name == "signalbox.yaml" {
			text = append(text, "roles: {developer: {labels: [far]}, critic: {labels: [far]}, auditor: {labels: [far]}}\n"...)
		}
		if err := os.WriteFile(filepath.Join(w.dir, name), text, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.git("add", "-A")
	w.git("commit", "-qm", "the quickstart")
	f := newFleet(w, 3)
	agent, err := os.ReadFile(filepath.Join(example, "agent"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range f.far { // "./agent" is looked for in the runner's directory
		if err := os.WriteFile(filepath.Join(r.dir, "agent"), agent, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	f.begun()
	w.completed(f.deliver())
	f.quiet()
	f.delivered("G-1", "G-2", "G-3")
	agents, checks := f.worked()
	t.Logf("agents by runner: %v, passed checks: %v", agents, checks)
	if len(agents) < 2 || agents[""] > 0 {
		t.Errorf("agents by runner: %v", agents)
	}
	if got := w.git("show", "signalbox/R1:bin/hello"); !strings.Contains(got, "farewell") {
		t.Errorf("merged was %q", got)
	}
	f.over()
}

// Thirty tasks by twelve agents at once, on three runners.
func TestRunnersThirtyTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "checks: [{name: there, command: test -f README.md}]\nroles: {developer: {labels: [far]}, critic: {labels: [far]}, auditor: {labels: [far]}}\nlimits: {agents: 12}\n")
	var tasks, names []string
	count := 18 // thirty, if all is wanted
	if *all {
		count = 30
	}
	first := count * 2 / 3
	for n := range count {
		name := "T-" + strconv.Itoa(n+1)
		names = append(names, name)
		if n >= first { // the last third come after two others
			name += fmt.Sprintf(": T-%d, T-%d", n-first+1, n-first/2+1)
		}
		tasks = append(tasks, name)
	}
	w.tasks(tasks...)
	// The first twelve are at work at the same time, or none of them ends.
	w.script("developer", "while [ \"$(ls \"$SCRIPTS/starts\" | grep -c developer)\" -lt 12 ]; do sleep 0.1; done\n"+honest["developer"])
	f := newFleet(w, 3)
	f.begun()
	w.completed(f.deliver())
	f.quiet()
	f.judge(names...)
	agents, checks := f.worked()
	t.Logf("agents by runner: %v, passed checks: %v", agents, checks)
	if len(agents) != 3 || len(checks) < 3 {
		t.Errorf("agents by runner: %v, passed checks: %v", agents, checks)
	}
	f.over()
}
