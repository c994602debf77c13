//go:build unix

package e2e_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/delivery"
)

var idle = flag.Duration("idle", 5*time.Second, "for how long a plan that waits for a person is watched")

// A plan that waits only for a person costs nothing: no agent, no event, no request,
// and next to no time of the processor.
func TestIdle(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what processes do is read in /proc")
	}
	asking := func(t *testing.T) *world {
		w := newWorld(t, "")
		w.script("developer", "echo SEEKING_DIVINE_CLARIFICATION $run\necho Question: Which one?\n")
		w.tasks("T-1", "T-2: T-1")
		return w
	}
	t.Run("run", func(t *testing.T) {
		t.Parallel()
		w := asking(t)
		run := w.waiting()
		w.costsNothing(run)
	})
	t.Run("up", func(t *testing.T) {
		t.Parallel()
		w := asking(t)
		n := w.up()
		run := w.waiting()
		w.costsNothing(n.cmd.Process.Pid, run)
	})
}

// waiting begins `signalbox run --wait`, and returns its process when the plan waits
// for a person. It ends with the test.
func (w *world) waiting() (pid int) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	cmd := w.command(ctx, "run", "plan.md", "--wait")
	if err := cmd.Start(); err != nil {
		cancel()
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was interrupted
	})
	w.until("a question is asked", func() bool {
		if _, err := os.Stat(filepath.Join(w.dir, ".signalbox", "box.json")); err != nil || len(w.leftovers()) > 1 {
			return false // the box is being opened, or the developer is at work
		}
		events := w.events()
		return len(events) > 0 && events[len(events)-1].Type == delivery.QuestionAsked && len(w.sessions()) == 0
	})
	return cmd.Process.Pid
}

// effort is what a process has done since it was started.
type effort struct {
	cpu   time.Duration
	calls int // that write, to whatever it is
	bytes int // that they wrote
}

func effortOf(t *testing.T, pid int) effort {
	t.Helper()
	p, ok := look(pid)
	if !ok {
		t.Fatalf("the process %d has ended", pid)
	}
	e := effort{cpu: p.cpu}
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "io"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		n, _ := strconv.Atoi(value)
		switch name {
		case "syscw":
			e.calls = n
		case "wchar":
			e.bytes = n
		}
	}
	return e
}

// quiet reports whether a process wrote nothing but wake-ups to itself.
func (e effort) quiet() bool { return e.bytes <= wakeUp*e.calls }

// spent is what processes do together in some time.
func (w *world) spent(span time.Duration, pids []int) (sum effort) {
	w.t.Helper()
	before := map[int]effort{}
	for _, pid := range pids {
		before[pid] = effortOf(w.t, pid)
	}
	select {
	case <-time.After(span):
	case <-w.t.Context().Done():
	}
	for _, pid := range pids {
		after := effortOf(w.t, pid)
		sum.cpu += after.cpu - before[pid].cpu
		sum.calls += after.calls - before[pid].calls
		sum.bytes += after.bytes - before[pid].bytes
	}
	return sum
}

// costsNothing watches processes for as long as the flag says.
func (w *world) costsNothing(pids ...int) {
	w.t.Helper()
	for range 30 { // what ends meanwhile was not caused by waiting; on a busy machine that takes a while
		if w.spent(time.Second, pids).quiet() {
			break
		}
	}
	events, started := len(w.events()), len(w.started())
	sum := w.spent(*idle, pids)
	w.t.Logf("%v of waiting: %v of the processor, %d writes of %d bytes together, %d events, %d starts",
		*idle, sum.cpu, sum.calls, sum.bytes, len(w.events())-events, len(w.started())-started)
	if len(w.events()) != events || len(w.started()) != started {
		w.t.Errorf("something was recorded or started:\n%s", w.story())
	}
	if most := max(*idle/120, 50*time.Millisecond); sum.cpu > most { // 0.5 s a minute; less than a few ticks can't be told
		w.t.Errorf("it took %v of the processor, want %v at most", sum.cpu, most)
	}
	if !sum.quiet() {
		w.t.Errorf("%d bytes in %d writes: something asks, or is asked and answers", sum.bytes, sum.calls)
	}
}

// wakeUp is what Go's runtime writes to itself when a timer is due. The shortest
// request or answer is many times as long.
const wakeUp = 8
