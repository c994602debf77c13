//go:build unix

package e2e_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/mutant"
	"github.com/signalbox-dev/signalbox/internal/session"
)

var kills = flag.String("kills", "4", "after how many of a delivery's events to kill, evenly spread: a number, or all")

// killWorld has three tasks, a check and a review that fails at first. Its agents take
// their time, so that a kill finds them alive.
func killWorld(t *testing.T) *world {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("processes are found in /proc")
	}
	w := newWorld(t, "checks: [{name: there, command: test -f README.md}]\n")
	for role, text := range honest {
		w.script(role, "sleep 0.1\n"+text)
	}
	w.script("T-1.critic.1", "sleep 0.1\necho REVIEW_FAILED: T-1 $run\necho Issues Found: it is too short\n")
	w.script("T-1.developer.2", "sleep 0.1\necho more >>T-1.txt\ngit commit -qam more\necho READY_FOR_REVIEW: T-1 $run\n")
	w.tasks("T-1", "T-2: T-1", "T-3")
	return w
}

// places are the numbers of events after which to kill: of all that a delivery takes,
// as many as the flag says.
func places(t *testing.T) []uint64 {
	t.Helper()
	w := killWorld(t)
	n := w.up()
	w.completed(n.finish(w))
	w.sound(0)
	all := uint64(len(w.events()))
	n.stop()
	count := all
	if *kills != "all" {
		n, err := strconv.ParseUint(*kills, 10, 64)
		if err != nil || n == 0 {
			t.Fatalf("-kills %q: want a number, or all", *kills)
		}
		count = min(n, all)
	}
	var at []uint64
	for n := range count {
		at = append(at, n*all/count+1)
	}
	t.Logf("a delivery has %d events; kills after %d", all, at)
	return at
}

// A box that is killed anywhere leaves its agents at work, and the next one goes on
// with them: nothing is lost, done twice or left over.
func TestKillBox(t *testing.T) {
	for _, after := range places(t) {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			t.Parallel()
			w := killWorld(t)
			n := w.up()
			n.begin(w)
			n.reach(after)
			n.kill()
			n = w.up()
			w.completed(n.finish(w))
			w.gone()
			w.tidied()
			n.stop()
			w.sound(0)
		})
	}
}

// A session's process that is killed costs its agent's turn and nothing else.
func TestKillSession(t *testing.T) {
	for _, after := range places(t) {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			t.Parallel()
			w := killWorld(t)
			n := w.up()
			n.begin(w)
			n.reach(after)
			crashes := 0
			if live := w.sessions(); len(live) > 0 {
				newest := slices.MaxFunc(live, func(a, b proc) int { return cmp.Or(cmp.Compare(a.started, b.started), cmp.Compare(a.pid, b.pid)) })
				if syscall.Kill(newest.pid, syscall.SIGKILL) == nil {
					crashes = 1
				}
			}
			w.completed(n.finish(w))
			w.gone()
			w.tidied()
			n.stop()
			w.sound(crashes)
		})
	}
}

// tidied waits until all runs are tidied up after, and checks that of a completed one the user's repository
// has its branch, and nothing else.
func (w *world) tidied() {
	w.t.Helper()
	w.until("the runs are tidied up after", func() bool {
		left, _ := os.ReadDir(filepath.Join(w.dir, ".signalbox", "runs"))
		return len(left) == 0
	})
	if list := w.git("worktree", "list"); strings.Contains(list, "\n") {
		w.t.Errorf("worktrees are left:\n%s", list)
	}
	if refs := w.git("for-each-ref", "--format=%(refname)"); refs != "refs/heads/signalbox/R1\nrefs/heads/trunk" {
		w.t.Errorf("refs are left:\n%s", refs)
	}
	for _, name := range []string{"worktrees", "signalbox"} {
		if left, err := os.ReadDir(filepath.Join(w.dir, ".git", name)); len(left) > 0 {
			w.t.Errorf("in .git/%s are left %v, %v", name, left, err)
		}
	}
}

// sound checks the ledger, the agents' own notes and git against each other, after
// a plan was completed in which so many sessions were killed.
func (w *world) sound(killed int) {
	w.t.Helper()
	merged, grants := map[string]int{}, map[string]int{}
	for _, e := range w.events() {
		switch e.Type {
		case "LeaseGranted", "ReviewStarted":
			grants[e.Session]++
		case "WorkMerged":
			merged[e.Work]++
		}
	}
	if crashed := w.crashes(); len(crashed) > killed {
		w.t.Errorf("%d sessions did not end well, and %d were killed:\n%s", len(crashed), killed, w.story())
	}
	w.startedOnce(grants, killed)
	subjects := strings.Split(w.git("log", "--format=%s", "trunk..signalbox/R1"), "\n")
	for _, task := range []string{"T-1", "T-2", "T-3"} {
		inGit := 0
		for _, s := range subjects {
			if s == fmt.Sprintf("Merge %s: The task %s", task, task) {
				inGit++
			}
		}
		if merged[task] != 1 || inGit != 1 {
			w.t.Errorf("%s was merged %d times by the ledger, %d times by git:\n%s\n%s", task, merged[task], inGit, subjects, w.story())
		}
		if text := w.git("show", "signalbox/R1:"+task+".txt"); !strings.HasPrefix(text, "done") {
			w.t.Errorf("the work on %s is lost: %q", task, text)
		}
	}
	if r := w.signalbox("ledger", "verify"); r.code != 0 {
		w.t.Errorf("verify: %s%s", r.out, r.err)
	}
	for _, merge := range strings.Fields(w.git("log", "--first-parent", "--format=%H", "trunk..signalbox/R1")) {
		if r := w.signalbox("verify", merge, "--key="+w.key("verifier.key"), "--archive=.signalbox/archive"); r.code != 0 {
			w.t.Errorf("verify %s: %s%s", merge, r.out, r.err)
		}
	}
}

// startedOnce checks that for each lease that was granted one agent was started, and
// for nothing else; one that was killed may not have come so far.
func (w *world) startedOnce(grants map[string]int, killed int) {
	w.t.Helper()
	files, err := filepath.Glob(filepath.Join(w.scripts, "starts", "*", "session"))
	if err != nil {
		w.t.Fatal(err)
	}
	started := map[string]int{}
	for _, file := range files {
		name, err := os.ReadFile(file)
		if err != nil {
			w.t.Fatal(err)
		}
		if len(name) == 0 && killed > 0 {
			continue // it was killed before it had noted its name
		}
		session, _, _ := strings.Cut(string(name), "@")
		if started[session]++; started[session] > 1 || grants[session] == 0 {
			w.t.Errorf("%s was started %d times, and has %d leases:\n%s", session, started[session], grants[session], w.story())
		}
	}
	if missing := len(grants) - len(started); missing < 0 || missing > killed {
		w.t.Errorf("of %d leases %d led to an agent:\n%s", len(grants), len(started), w.story())
	}
}

// An agent that is in the middle of its work when the box is killed is found by the
// next one, and its word counts.
func TestAdopt(t *testing.T) {
	t.Parallel()
	w := killWorld(t)
	w.script("T-1.developer.1", waitFor("go")+honest["developer"])
	w.script("T-3.developer.1", waitFor("go")+honest["developer"])
	n := w.up()
	n.begin(w)
	w.until("two developers are at work", func() bool { return len(w.started()) == 2 })
	n.kill()
	n = w.up()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := n.client.FollowRun(ctx, "R1", func(r api.Run) error {
		near := 0
		for _, task := range r.Tasks {
			if task.Agent != nil && !task.Agent.Away {
				near++
			}
		}
		if near == 2 {
			return errReached
		}
		return nil
	})
	if !errors.Is(err, errReached) {
		t.Fatalf("the sessions are not in touch again: %v\n%s", err, w.story())
	}
	w.script("go", "")
	w.completed(n.finish(w))
	w.gone()
	n.stop()
	w.sound(0)
}

// A session's process is killed in the middle of its agent's work: the agent and what
// it started are ended, and the next one goes on with what it left.
func TestSessionKilled(t *testing.T) {
	t.Parallel()
	w := killWorld(t)
	w.script("T-1.developer.1", "echo half >half.txt\nsetsid sleep 300 &\n"+waitFor("never"))
	w.script("T-1.developer.2", "test -f half.txt || exit 7\n"+honest["developer"])
	n := w.up()
	n.begin(w)
	half := filepath.Join(w.dir, ".signalbox", "worktrees", "R1", "T-1", "half.txt")
	w.until("an agent is at work", func() bool { _, err := os.Stat(half); return err == nil })
	for _, p := range w.sessions() {
		if w.taskOf(p) == "T-1" {
			_ = syscall.Kill(p.pid, syscall.SIGKILL) // if it has ended, the count below tells
		}
	}
	w.until("the next agent is at work", func() bool { return w.has("T-1.developer.2") })
	w.completed(n.finish(w))
	w.gone()
	n.stop()
	w.sound(1)
	if got := len(w.crashes()); got != 1 {
		t.Errorf("%d crashes are recorded:\n%s", got, w.story())
	}
}

// What an agent said while there was no box counts, also if its session's process was
// killed before there was one again.
func TestWordOfTheDead(t *testing.T) {
	t.Parallel()
	w := killWorld(t)
	w.script("T-1.developer.1", waitFor("go")+honest["developer"])
	w.tasks("T-1")
	n := w.up()
	n.begin(w)
	w.until("an agent is at work", func() bool { return len(w.started()) == 1 && len(w.sessions()) == 1 })
	n.kill()
	dead := w.sessions()[0]
	w.script("go", "")
	reports := filepath.Join(w.dir, ".signalbox", "sessions", "*", "outbox", "*.json")
	w.until("its word is kept", func() bool { found, _ := filepath.Glob(reports); return len(found) > 0 })
	_ = syscall.Kill(dead.pid, syscall.SIGKILL)
	n = w.up()
	w.completed(n.finish(w))
	w.gone()
	n.stop()
	if starts := len(w.started()); starts != 5 { // with the review that fails at first
		t.Errorf("%d agents were started:\n%s", starts, w.story())
	}
}

// A report that no box will ever take is set aside: a person is told, and the run goes on.
func TestRefusedWord(t *testing.T) {
	t.Parallel()
	for name, dead := range map[string]bool{"of the dead": true, "of the living": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := killWorld(t)
			w.script("T-1.developer.1", waitFor("go")+honest["developer"])
			w.tasks("T-1")
			n := w.up()
			n.begin(w)
			w.until("an agent is at work", func() bool { return len(w.started()) == 1 && len(w.sessions()) == 1 })
			n.kill()
			p := w.sessions()[0]
			w.script("go", "")
			reports := filepath.Join(w.dir, ".signalbox", "sessions", "*", "outbox", "*.json")
			var found []string
			w.until("its word is kept", func() bool { found, _ = filepath.Glob(reports); return len(found) > 0 })
			if dead {
				_ = syscall.Kill(p.pid, syscall.SIGKILL)
			}
			// A report as another version may have written it.
			// The living reads it at any moment, so that it has to change as a whole.
			other := filepath.Join(t.TempDir(), "other")
			if err := os.WriteFile(other, []byte(`{"seq":1,"kind":"word","turn":1,"bytes":0,"sha256":"","at":"2026-01-01T00:00:00Z"}`), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(other, found[0]); err != nil {
				t.Fatal(err)
			}
			n = w.up()
			w.completed(n.finish(w))
			w.gone()
			n.stop()
			denied := w.payloads(delivery.PermissionDenied)
			if len(denied) != 1 || !strings.Contains(fmt.Sprint(denied[0]["text"]), "a report is a turn, a note or the end") {
				t.Errorf("denied: %v\n%s", denied, w.story())
			}
			kept, err := filepath.Glob(filepath.Join(w.dir, ".signalbox", "sessions", "*", "refused", "00001.json"))
			if err != nil || len(kept) != 1 {
				t.Errorf("kept: %v, %v", kept, err)
			}
			if got := len(w.crashes()); (got == 1) != dead {
				t.Errorf("%d crashes are recorded:\n%s", got, w.story())
			}
		})
	}
}

// Each of these faults, put in on purpose, is noticed by the test beside it.
func TestKillMutants(t *testing.T) {
	for _, m := range []struct {
		mutant.Mutant
		by string // the test that notices
	}{
		{mutant.Mutant{Name: "runs are not gone on with after a restart", File: "../box/runs.go",
			Old: "if run.Live() {", New: "if run.Live() && false {"}, "TestAdopt$"},
		{mutant.Mutant{Name: "a session whose process was killed is waited for", File: "../runner/supervise.go",
			Old: "for session.Alive(dir) {", New: "for session.Alive(dir) || true {"}, "TestSessionKilled$"},
		{mutant.Mutant{Name: "what a killed session's agent left goes on", File: "../runner/supervise.go",
			Old: "if err := session.Clean(dir, s.ID); err != nil", New: "if err := error(nil); err != nil"}, "TestSessionKilled$"},
		{mutant.Mutant{Name: "what a killed session had to report is lost", File: "../runner/supervise.go",
			Old: "x.conductor.Report(ctx, s.ID, r)", New: "error(nil)"}, "TestWordOfTheDead$"},
		{mutant.Mutant{Name: "the box does not note that a turn's report was refused", File: "../conductor/reports.go",
			Old: `if r.Denied != "" {`, New: `if r.Denied != "" && r.Kind == api.ReportNote {`}, "TestRefusedWord/of_the_living$"},
	} {
		t.Run(m.Name, func(t *testing.T) {
			m.Check(t, ".", m.by)
		})
	}
}

// gone waits until no process of the world is left.
func (w *world) gone() {
	w.t.Helper()
	w.until("the sessions end", func() bool { return len(w.leftovers()) == 0 })
}

// taskOf returns the task that a session's process works on.
func (w *world) taskOf(p proc) string {
	_, dir, _ := strings.Cut(p.line, " session ")
	spec, err := session.Read(strings.TrimSpace(dir))
	if err != nil {
		w.t.Fatal(err)
	}
	return spec.Task
}

// crashes returns the sessions that did not end as they should.
func (w *world) crashes() []string {
	w.t.Helper()
	var all []string
	for _, e := range w.events() {
		var ended delivery.Ended
		if e.Type != delivery.SessionEnded {
			continue
		}
		if err := json.Unmarshal(e.Payload, &ended); err != nil {
			w.t.Fatal(err)
		}
		if ended.How != delivery.Done {
			all = append(all, e.Session)
		}
	}
	return all
}

// started returns the agents that were started, as TASK.ROLE.N.
func (w *world) started() []string {
	files, err := filepath.Glob(filepath.Join(w.scripts, "starts", "*", "session"))
	if err != nil {
		w.t.Fatal(err)
	}
	for i, f := range files {
		files[i] = filepath.Base(filepath.Dir(f))
	}
	return files
}
