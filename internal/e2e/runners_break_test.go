//go:build linux

package e2e_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
)

var breaks = flag.String("breaks", "2", "after how many of a delivery's events to break a machine or a link, evenly spread: a number, or all")

// The tasks of a breakable delivery. The last one begins when the others are merged.
var breakable = []string{"T-1", "T-2", "T-3", "T-4"}

// hold keeps the last task's developer from ending for as long as there is a file with this name among the scripts.
const hold = "hold"

// newBreakable has a delivery with a review that fails at first, whose agents take their time, and note what they have committed.
func newBreakable(t *testing.T) *fleet {
	t.Helper()
	return newLimited(t, "")
}

// newLimited does the same with more limits.
func newLimited(t *testing.T, limits string) *fleet {
	t.Helper()
	w := newWorld(t, "checks: [{name: there, command: test -f README.md}]\n"+strings.Replace(farAway, "runner_lost: 10s", "runner_lost: 10s"+limits, 1))
	note := "git rev-parse HEAD >\"$SCRIPTS/starts/$name.$role.$n/commit\"\n"
	said := "echo said >\"$SCRIPTS/starts/$name.$role.$n/said\"\n"
	for role, text := range honest {
		w.script(role, "sleep 0.1\n"+text+said)
	}
	developer := "sleep 0.1\n" + strings.Replace(honest["developer"], "echo READY", note+"echo READY", 1) + said
	w.script("developer", developer)
	w.script("T-1.critic.1", "sleep 0.1\necho REVIEW_FAILED: T-1 $run\necho Issues Found: it is too short\n"+said)
	w.script("T-4.developer", "while [ -f \"$SCRIPTS/"+hold+"\" ]; do sleep 0.05; done\n"+developer)
	w.tasks("T-1", "T-2: T-1", "T-3", "T-4: T-2, T-3")
	f := newFleet(w, 3)
	f.begun()
	return f
}

// breakPoints are the numbers of events after which something is broken: of all that an unbroken delivery takes, as many as the flag says.
func breakPoints(t *testing.T) []uint64 {
	t.Helper()
	f := newBreakable(t)
	f.completed(f.node.finish(f.world))
	f.judge(breakable...)
	all := uint64(len(f.events()))
	f.over()
	count := all
	if *breaks != "all" {
		n, err := strconv.ParseUint(*breaks, 10, 64)
		if err != nil || n == 0 {
			t.Fatalf("-breaks %q: want a number, or all", *breaks)
		}
		count = min(n, all)
	}
	var at []uint64
	for n := range count {
		at = append(at, n*all/count+all/count/2+1)
	}
	if count == all {
		at = nil
		for n := range all {
			at = append(at, n+1)
		}
	}
	t.Logf("a delivery has %d events; breaks after %d", all, at)
	return at
}

// busy returns the runner whose session began last; if none has one, one of them.
func (f *fleet) busy() *far {
	var newest proc
	at := f.far[0]
	for _, r := range f.far {
		for _, p := range r.sessions() {
			if cmp.Or(cmp.Compare(p.started, newest.started), cmp.Compare(p.pid, newest.pid)) > 0 {
				newest, at = p, r
			}
		}
	}
	return at
}

// sessions are the processes of sessions on the runner's machine.
func (r *far) sessions() []proc {
	return slices.DeleteFunc(r.m.processes(), func(p proc) bool { return !strings.Contains(p.line, " session "+r.dir) })
}

// held keeps the run from ending.
func (f *fleet) held() { f.script(hold, "") }

func (f *fleet) letGo() {
	f.t.Helper()
	if err := os.Remove(filepath.Join(f.scripts, hold)); err != nil {
		f.t.Fatal(err)
	}
}

// lost waits until the box takes a runner for lost.
func (f *fleet) lost(r *far) {
	f.t.Helper()
	f.until(r.name+" is lost", func() bool { return f.state(r) == api.RunnerLost })
}

// back waits until the box has contact to a runner again.
func (f *fleet) back(r *far) {
	f.t.Helper()
	f.until(r.name+" is back", func() bool { return f.state(r) == api.RunnerPresent })
}

// settled waits until none of these processes is left.
func (f *fleet) settled(were []proc) {
	f.t.Helper()
	f.until("the sessions that are over end", func() bool {
		return !slices.ContainsFunc(were, func(p proc) bool { now, lives := look(p.pid); return lives && now.started == p.started })
	})
}

// late checks that what sessions did that were lost is there: the word of an agent that came to its end is recorded as late, unless it
// came before its runner was lost, and what it committed is in a ref of the box's. The run goes on meanwhile.
func (f *fleet) late() (count int) {
	f.t.Helper()
	lost, recorded, inTime := map[string]bool{}, map[string]bool{}, map[string]bool{}
	missing := func() (missing []string) {
		clear(lost)
		clear(recorded)
		clear(inTime)
		for _, e := range f.events() {
			switch {
			case e.Type == delivery.SessionEnded && strings.Contains(string(e.Payload), `"how":"lost"`):
				lost[e.Session] = true
			case e.Type == work.LateResultRecorded:
				recorded[e.Session] = true
			case e.Type == work.AgentSessionCompleted:
				inTime[e.Session] = true
			}
		}
		files, err := filepath.Glob(filepath.Join(f.scripts, "starts", "*", "said"))
		if err != nil {
			f.t.Fatal(err)
		}
		for _, file := range files {
			name, err := os.ReadFile(filepath.Join(filepath.Dir(file), "session"))
			if err != nil {
				f.t.Fatal(err)
			}
			session, _, _ := strings.Cut(string(name), "@")
			if !lost[session] || inTime[session] {
				continue
			}
			if !recorded[session] {
				missing = append(missing, "the word of "+session)
			}
			commit, err := os.ReadFile(filepath.Join(filepath.Dir(file), "commit"))
			if id := strings.TrimSpace(string(commit)); err == nil && (id == f.git("rev-parse", "trunk") || !f.hasRef(id)) {
				missing = append(missing, "the commit of "+session)
			}
		}
		return missing
	}
	var left []string
	defer func() {
		if f.t.Failed() {
			f.t.Logf("missing: %v", left)
		}
	}()
	f.until("what was late is recorded", func() bool {
		left = missing()
		return len(left) == 0
	})
	return len(recorded)
}

// hasRef reports whether a ref that a session has pushed has a commit.
func (f *fleet) hasRef(commit string) bool {
	f.t.Helper()
	exchange := filepath.Join(f.dir, ".signalbox", "exchange.git")
	out, err := exec.CommandContext(f.t.Context(), "git", "--git-dir", exchange, "for-each-ref", "--contains", commit, "refs/tasks/").Output()
	return err == nil && len(out) > 0 // it fails if there is no such commit
}

// TestRunnersBroken: after each event of a delivery
//
//   - the machine of the runner at work dies, and is started again: at once, or when the box has given its work to others;
//   - the box's machine dies, and is started again;
//   - the cable of the runner at work is taken out until the box has given its work to others; what it did meanwhile comes late.
func TestRunnersBroken(t *testing.T) {
	for i, after := range breakPoints(t) {
		for what, broken := range map[string]func(f *fleet){
			"runner": func(f *fleet) {
				f.held()
				r := f.busy()
				r.kill()
				if i%2 == 1 {
					f.lost(r)
				}
				r.start()
				f.back(r)
				f.letGo()
			},
			"box": func(f *fleet) {
				f.home.die()
				f.node.kill()
				f.up()
			},
			"cable": func(f *fleet) {
				f.held()
				r := f.busy()
				r.m.unplug()
				were := r.sessions()
				f.lost(r)
				r.m.plug()
				f.back(r)
				f.settled(were)
				f.t.Logf("%d results came late", f.late())
				f.letGo()
			},
		} {
			t.Run(fmt.Sprintf("%s %d", what, after), func(t *testing.T) {
				t.Parallel()
				f := newBreakable(t)
				f.node.begin(f.world)
				f.node.reach(after)
				broken(f)
				f.completed(f.node.finish(f.world))
				if n := len(f.crashes()); n > 0 && what == "box" {
					t.Errorf("%d sessions crashed, and none was killed:\n%s", n, f.story())
				}
				f.judge(breakable...)
				f.over()
			})
		}
	}
}

// What is done on a runner while it is lost comes late: it is recorded, its commit is kept, and the task goes on with who holds it now.
func TestRunnerLate(t *testing.T) {
	for _, c := range []struct {
		name    string
		disturb func(f *fleet, r *far)
		restore func(f *fleet, r *far)
	}{
		{"cut", func(_ *fleet, r *far) { r.m.unplug() }, func(_ *fleet, r *far) { r.m.plug() }},
		{"stopped", func(_ *fleet, r *far) { r.m.stop() }, func(_ *fleet, r *far) { r.m.goOn() }},
		{"deaf", func(f *fleet, r *far) { f.home.losesTo(r.m) }, func(f *fleet, r *far) { f.home.findsAgain(r.m) }},
		{"dumb", func(f *fleet, r *far) { r.m.losesTo(f.home) }, func(f *fleet, r *far) { r.m.findsAgain(f.home) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newBreakable(t)
			developer, err := os.ReadFile(filepath.Join(f.scripts, "developer"))
			if err != nil {
				t.Fatal(err)
			}
			f.script("T-3.developer.1", waitFor("go")+string(developer))
			f.tasks("T-3")
			f.node.begin(f.world)
			f.until("a developer is at work", func() bool { return f.has("T-3.developer.1") })
			f.script("T-3.developer.2", waitFor("go-2")+string(developer))
			r := f.busy()
			were := r.sessions()
			c.disturb(f, r)
			f.lost(r)
			f.until("another developer is at work", func() bool { return f.has("T-3.developer.2") })
			f.script("go", "")
			if c.name != "stopped" {
				f.until("the first one has said its word", func() bool {
					_, err := os.Stat(filepath.Join(f.scripts, "starts", "T-3.developer.1", "said"))
					return err == nil
				})
			}
			c.restore(f, r)
			f.back(r)
			f.settled(were)
			if n := f.late(); n != 1 && c.name != "stopped" { // who is told that it is over may have said nothing
				t.Errorf("%d results came late:\n%s", n, f.story())
			}
			f.script("go-2", "")
			f.completed(f.node.finish(f.world))
			f.judge("T-3")
			f.over()
		})
	}
}

// A runner that is removed ends its sessions with all that they have begun, leaves, and can join again where it was. One that leaves at once
// leaves its sessions to the next one; if none comes, they end by themselves.
func TestRunnersGone(t *testing.T) {
	for _, removed := range []bool{true, false} {
		t.Run(fmt.Sprintf("removed %t", removed), func(t *testing.T) {
			t.Parallel()
			f := newLimited(t, ", orphan: 2s")
			f.script("T-3.developer.1", "sleep 1000 &\n"+waitFor("never"))
			f.tasks("T-3")
			f.node.begin(f.world)
			f.until("a developer is at work", func() bool { return f.has("T-3.developer.1") })
			r := f.busy()
			if removed {
				f.signalbox("runner", "remove", r.name)
			} else if err := r.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
				t.Fatal(err)
			}
			err := r.cmd.Wait()
			r.ended = true
			left := r.m.processes()
			if removed == (err == nil) || removed != strings.Contains(r.said.String(), r.name+" was removed at the box "+f.home.addr+":"+secureAt+": have it invited again") || removed != (len(left) == 0) {
				t.Errorf("it ends with %v, and leaves %v:\n%s", err, left, r.said.String())
			}
			f.until("its sessions end", func() bool { return len(r.m.processes()) == 0 })
			f.completed(f.node.finish(f.world))
			if removed {
				r.join()
			}
			r.start()
			f.back(r)
			f.judge("T-3")
			f.over()
		})
	}
}

// A delivery over a line that takes 200 ms each way and loses every twentieth packet.
func TestRunnersSlowLine(t *testing.T) {
	t.Parallel()
	f := newBreakable(t)
	for _, r := range f.far {
		r.m.slowTo(f.home, 200*time.Millisecond, 0.05)
	}
	f.completed(f.node.finish(f.world))
	f.judge(breakable...)
	f.over()
}

// The disk of a runner at work is full for a while: what its agent does meanwhile fails, and the plan is delivered all the same.
func TestRunnerFullDisk(t *testing.T) {
	t.Parallel()
	f := newBreakable(t)
	r := f.far[0]
	r.leave()
	f.must("runner", "remove", r.name)
	if err := os.RemoveAll(r.dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(r.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", r.dir, "tmpfs", 0, "size=32m"); err != nil {
		t.Skipf("NOT TESTED: no disk can be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(r.dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(r.kill)
	r.join()
	r.start()
	f.back(r)
	developer, err := os.ReadFile(filepath.Join(f.scripts, "developer"))
	if err != nil {
		t.Fatal(err)
	}
	f.script("T-3.developer.1", waitFor("go")+"set -e\n"+string(developer))
	f.tasks("T-3")
	f.node.begin(f.world)
	f.until("a developer is at work", func() bool { return f.has("T-3.developer.1") })
	if at := f.busy(); at != r {
		t.Fatalf("it works on %s", at.name)
	}
	full := filepath.Join(r.dir, "full")
	if err := fill(full); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	f.script("go", "")
	f.until("its agent has ended", func() bool { return len(r.sessions()) == 0 || f.has("T-3.developer.2") })
	if err := os.Remove(full); err != nil {
		t.Fatal(err)
	}
	f.completed(f.node.finish(f.world))
	f.judge("T-3")
	f.over()
}

// fill writes a file until nothing more fits.
func fill(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	for piece := make([]byte, 64<<10); err == nil; {
		_, err = file.Write(piece)
	}
	for piece := make([]byte, 1<<10); len(piece) > 0; piece = piece[:len(piece)/2] { // and what is left of a page
		_, _ = file.Write(piece)
	}
	return err
}

var aheadProgram = flag.Bool("clock", false, "build the program with a clock that is a day ahead, which takes minutes, and have a runner run it")

// A runner whose clock is a day ahead: its program reads it, and all its processes, as is the case where the machine's clock is wrong.
func TestRunnerClock(t *testing.T) {
	if !*aheadProgram {
		t.Skip("NOT TESTED: -clock has the program be built with another clock")
	}
	t.Parallel()
	goroot, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(strings.TrimSpace(string(goroot)), "src", "time", "time.go")
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	const reads = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	if strings.Count(string(text), reads) != 1 {
		t.Fatalf("time.Now is not what it was: this test has to be adapted to this Go")
	}
	dir := t.TempDir()
	changed, overlay, ahead := filepath.Join(dir, "time.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "signalbox")
	if err := os.WriteFile(changed, []byte(strings.Replace(string(text), reads, reads+"\tsec += 24 * 60 * 60\n", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{source: changed}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, replace, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "-o", ahead, "../../cmd/signalbox").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f := newBreakable(t)
	for i, r := range f.far {
		r.leave()
		if i < 2 { // the third one is as it was
			r.program = ahead
		}
		r.start()
	}
	f.present()
	f.completed(f.node.finish(f.world))
	f.judge(breakable...)
	f.over()
}
