//go:build unix

package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/ledger"
)

// node is a box in a process of its own, and a client of it.
type node struct {
	t      *testing.T
	cmd    *exec.Cmd
	client *api.Client
	said   bytes.Buffer // on its standard error; to be read when it has ended
	ended  bool
}

// up runs `signalbox up`, and returns when it listens. It ends with the test, if not
// before.
func (w *world) up(args ...string) *node {
	w.t.Helper()
	n := &node{t: w.t, cmd: w.command(context.WithoutCancel(w.t.Context()), append([]string{"up", "--json"}, args...)...)}
	n.cmd.Stderr = &n.said
	out, err := n.cmd.StdoutPipe()
	if err == nil {
		err = n.cmd.Start()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(w.endSessions)
	w.t.Cleanup(n.stop)
	said, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		n.kill()
		w.t.Fatalf("the box did not come up: %v\n%s", err, n.said.String())
	}
	dir := box.Dir(filepath.Join(w.dir, ".signalbox"))
	w.until("the box is found that says "+strings.TrimSpace(said), func() bool { _, err := dir.Address(); return err == nil })
	token, err := dir.APIToken()
	if err != nil {
		w.t.Fatal(err)
	}
	n.client = api.FollowingClient(dir.Address, token)
	if w.carrier != nil {
		n.client = api.ClientOver(w.carrier(dir.Address), token)
	}
	n.client = n.client.WithPatience(0)
	w.t.Cleanup(n.client.Close)
	return n
}

// endSessions ends what a test that failed has left: sessions would wait for a box.
func (w *world) endSessions() {
	if !w.t.Failed() {
		return
	}
	for range 100 {
		left := w.leftovers()
		if len(left) == 0 {
			return
		}
		for _, l := range left {
			number, _, _ := strings.Cut(l, " ")
			if pid, err := strconv.Atoi(number); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended by itself
			}
		}
	}
}

// kill is kill -9.
func (n *node) kill() { n.end(os.Kill) }

// stop asks the box to end.
func (n *node) stop() { n.end(syscall.SIGTERM) }

func (n *node) end(s os.Signal) {
	if !n.ended {
		n.ended = true
		_ = n.cmd.Process.Signal(s) // it may have ended by itself
		_ = n.cmd.Wait()            // with a signal, which is no news
	}
}

// errReached ends the following of events.
var errReached = errors.New("the event is there")

// reach returns when so many events are in the archive, or the run has finished.
func (n *node) reach(events uint64) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), wholeDelivery)
	defer cancel()
	err := n.client.Events(ctx, "", 0, true, func(e api.Event) error {
		recorded, err := ledger.Decode(e.Event)
		if err == nil && (e.Sequence >= events || recorded.Type == "RunFinished") {
			err = errReached
		}
		return err
	})
	if !errors.Is(err, errReached) {
		n.t.Fatalf("event %d is not reached: %v", events, err)
	}
}

// finish sees to it that the world's plan is under way, and returns the run when it
// has ended or waits for a person.
func (n *node) finish(w *world) api.Run {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), wholeDelivery)
	defer cancel()
	page, err := n.client.Runs(ctx, false, api.From{})
	if err != nil {
		n.t.Fatal(err)
	}
	runs := page.Items
	if len(runs) == 0 {
		runs = append(runs, n.begin(w))
	}
	var last api.Run
	err = n.client.FollowRun(ctx, runs[0].ID, func(r api.Run) error {
		if last = r; r.State == api.RunWaiting {
			return errReached
		}
		return nil
	})
	if err != nil && !errors.Is(err, errReached) {
		n.t.Fatalf("the run %s did not end: %v\n%s", last.ID, err, w.story())
	}
	return last
}

// begin hands the plan in.
func (n *node) begin(w *world) api.Run {
	n.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.dir, "plan.md"))
	if err != nil {
		n.t.Fatal(err)
	}
	r, err := n.client.Deliver(n.t.Context(), api.StartRun{Plan: string(text)})
	if err != nil {
		n.t.Fatal(err)
	}
	return r
}

// patience bounds every wait for what processes bring about; nothing waits for it to pass.
const patience = 2 * time.Minute

// wholeDelivery is the same for all that a plan takes, with many tasks and on a busy machine.
const wholeDelivery = 10 * time.Minute

// until waits for something that processes bring about.
func (w *world) until(what string, holds func() bool) {
	w.t.Helper()
	w.within(patience, what, holds)
}

// within is until, with a patience of its own.
func (w *world) within(patience time.Duration, what string, holds func() bool) {
	w.t.Helper()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(patience); !holds(); {
		select {
		case <-tick.C:
		case <-late:
			w.t.Fatalf("%s: not within %v; left: %v\n%s", what, patience, w.leftovers(), w.story())
		}
	}
}

// proc is a process as /proc shows it.
type proc struct {
	pid     int
	parent  int
	started uint64 // in clock ticks since the machine was started
	cpu     time.Duration
	line    string
}

// ticks is how many clock ticks the kernel counts in a second, wherever Linux runs.
const ticks = 100

// look returns a process, if it lives.
func look(pid int) (proc, bool) {
	p, lives, _ := inspect(pid)
	return p, lives
}

// inspect returns a process that lives, or one that has ended and is not waited for yet.
func inspect(pid int) (p proc, lives, ended bool) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	_, rest, ok := strings.Cut(string(stat), ") ") // the name before it may hold anything
	fields := strings.Fields(rest)
	if err != nil || !ok || len(fields) < 20 {
		return proc{}, false, false
	}
	number := func(n int) uint64 { v, _ := strconv.ParseUint(fields[n-3], 10, 64); return v } // as proc(5) counts
	line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
	return proc{
		pid: pid, parent: int(number(4)), started: number(22), cpu: time.Duration(number(14)+number(15)) * time.Second / ticks,
		line: strings.ReplaceAll(string(line), "\x00", " "),
	}, fields[0] != "Z", fields[0] == "Z"
}

// sessions returns the session processes of this world that live.
func (w *world) sessions() []proc {
	return living(func(p proc) bool { return strings.Contains(p.line, " session "+w.dir) })
}

// living returns the processes that live and are so.
func living(are func(proc) bool) (all []proc) {
	for _, pid := range pids() {
		if p, ok := look(pid); ok && are(p) {
			all = append(all, p)
		}
	}
	return all
}

// unawaited counts the children of a process that have ended and that it has not waited for.
func unawaited(parent int) (n int) {
	for _, pid := range pids() {
		if p, _, ended := inspect(pid); ended && p.parent == parent {
			n++
		}
	}
	return n
}

func pids() (all []int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		all = append(all, pid)
	}
	return all
}
