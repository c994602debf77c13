//go:build unix

package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
)

var (
	manyRuns  = flag.Int("runs", 10, "how many runs TestManyRuns takes to their end; 200 for the full measure")
	manyItems = flag.Int("items", 400, "how many work items TestManyRuns takes to COMPLETED beside them; 50000 for the full measure")
	rest      = flag.Duration("rest", 0, "how long TestManyRuns lets the box rest before it looks at its memory; 15s for the full measure")
)

// Many runs and items go through one box. When all are over, it holds as many goroutines and
// descriptors as after the first few, and the next start runs git as often.
func TestManyRuns(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("descriptors and memory are read in /proc")
	}
	m := newMeasured(t, "exit_protocol: true\nlimits: {agents: 8}\nchecks: [{name: there, command: test -f README.md}]\n")
	m.countGit()
	n := m.up()
	m.deliver(n, 0, fewRuns)
	m.hand(n, 0, fewItems)
	m.settle(n)
	n.stop()
	n, first := m.next()
	before := m.look(n)
	t.Logf("after %d runs and %d items: %s", fewRuns, fewItems, before)
	runs, items := fewRuns, fewItems
	for _, percent := range []int{10, 50, 100} {
		items = m.hand(n, items, *manyItems*percent/100)
		runs = m.deliver(n, runs, *manyRuns*percent/100)
		m.settle(n)
		var after figure
		m.until("the box holds as many goroutines as it began with, and few more descriptors", func() bool {
			after = m.look(n)
			return after.goroutines <= before.goroutines && after.descriptors <= before.descriptors+indexFiles
		})
		t.Logf("%3d %%, %d runs and %d items: %s", percent, runs, items, after)
	}
	n.stop()
	n, last := m.next()
	t.Logf("after all of it: %s", m.look(n))
	if last != first {
		t.Errorf("a start ran git %d times after %d runs, and %d times after %d", first, fewRuns, last, runs)
	}
	if list := m.git("worktree", "list"); strings.Contains(list, "\n") {
		t.Errorf("worktrees are left in the user's repository:\n%s", list)
	}
	n.stop()
}

// What a box has behind it when it is looked at for the first time.
const fewRuns, fewItems = 2, 10

// indexFiles is how many files the index of what has left memory can have, however much that is. They are
// open.
const indexFiles = 10

// figure is what a box holds.
type figure struct {
	goroutines, descriptors int
	files, transcripts      int // of transcripts there is a directory for each session, as the documentation says
	resident, own           int // bytes: all, and without the program's file
	heap, idle              int // bytes of its own: in use, and kept for later
}

func (f figure) String() string {
	return fmt.Sprintf("%d goroutines, %d descriptors, %.1f MB resident, %.1f of its own (heap %.1f, idle %.1f), %d files and %d of sessions",
		f.goroutines, f.descriptors, float64(f.resident)/1e6, float64(f.own)/1e6, float64(f.heap)/1e6, float64(f.idle)/1e6, f.files, f.transcripts)
}

// measured is a world whose box says what it holds.
type measured struct {
	*world
	probe string // where the box says what it holds
}

func newMeasured(t *testing.T, settings string) *measured {
	t.Helper()
	m := &measured{newWorld(t, settings), filepath.Join(t.TempDir(), "probe")}
	m.program = filepath.Join(t.TempDir(), "signalbox")
	if out, err := exec.CommandContext(t.Context(), "go", "run", "-exec", "cp", "./testdata/probe", m.program).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	m.env = []string{"SIGNALBOX_PROBE=" + m.probe}
	return m
}

// countGit has the box's calls of git be counted.
func (m *measured) countGit() {
	m.t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		m.t.Fatal(err)
	}
	dir := m.t.TempDir()
	counted := fmt.Sprintf("#!/bin/sh\necho \"$*\" >>%s/gits\nexec %s \"$@\"\n", m.scripts, git)
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(counted), 0o700); err != nil {
		m.t.Fatal(err)
	}
	m.env = append(m.env, "PATH="+dir+":"+os.Getenv("PATH"))
}

// next starts a box, and returns how often it runs git until it has nothing more to do.
func (m *measured) next() (*node, int) {
	m.t.Helper()
	before, began := m.gits(), time.Now()
	n := m.up()
	took, count := time.Since(began), m.gits()
	for { // what it does in the background comes at once, one after the other
		select {
		case <-time.After(time.Second):
		case <-m.t.Context().Done():
		}
		works := living(func(p proc) bool { return p.parent == n.cmd.Process.Pid }) // on a busy machine, one git can take that long
		now := m.gits()
		if now == count && len(works) == 0 {
			m.t.Logf("a start took %v and ran git %d times", took.Round(time.Millisecond), count-before)
			return n, count - before
		}
		count = now
	}
}

// gits returns how often a box has run git.
func (m *measured) gits() int { return strings.Count(m.read("gits"), "\n") }

// hand takes items from a number to another through their last phases, by agents that wait for nothing.
func (m *measured) hand(n *node, from, to int) int {
	m.t.Helper()
	m.each(from, to, 32, func(ctx context.Context, number int) error {
		id := fmt.Sprintf("I-%d", number)
		_, err := n.client.Add(ctx, api.AddWork{ID: id, Title: "a title as people write them", Phase: agentsig.PhaseReview})
		for _, phase := range []agentsig.Phase{agentsig.PhaseReview, agentsig.PhaseReadyForMerge} {
			var g api.Grant
			if err == nil {
				g, err = n.client.Claim(ctx, api.Claim{Actor: "agent", Work: id})
			}
			var said []byte
			if err == nil {
				said, err = agentsig.NewExitSignal(phase, agentsig.ExitCompleted).WithNotes("done, and all tests pass").JSON()
			}
			if err == nil {
				_, err = n.client.Emit(ctx, g.Session, said)
			}
		}
		return err
	})
	return max(from, to)
}

// deliver brings runs from a number to another to their end, four at once, each with a task.
func (m *measured) deliver(n *node, from, to int) int {
	m.t.Helper()
	m.each(from, to, 4, func(ctx context.Context, number int) error {
		plan := fmt.Sprintf("# Plan %d\n\n#### Task T-%d: The task\n\n**Work**: Do it.\n\n**Blocked By**: none\n", number, number)
		r, err := n.client.Deliver(ctx, api.StartRun{Plan: plan})
		if err != nil {
			return err
		}
		err = n.client.FollowRun(ctx, r.ID, func(now api.Run) error { r = now; return nil })
		if err == nil && r.Outcome != delivery.Completed {
			err = fmt.Errorf("the run %s is %s %s", r.ID, r.State, r.Outcome)
		}
		return err
	})
	return max(from, to)
}

// each calls f with the numbers from one to another, so many at once.
func (m *measured) each(from, to, atOnce int, f func(context.Context, int) error) {
	m.t.Helper()
	numbers := make(chan int)
	ctx, cancel := context.WithCancel(m.t.Context())
	defer cancel()
	var all sync.WaitGroup
	for range atOnce {
		all.Go(func() {
			for number := range numbers {
				if err := f(ctx, number); err != nil && ctx.Err() == nil {
					m.t.Error(err)
					cancel()
				}
			}
		})
	}
	for number := from; number < to && ctx.Err() == nil; number++ {
		numbers <- number
	}
	close(numbers)
	all.Wait()
	if m.t.Failed() {
		m.t.FailNow()
	}
}

// settle returns when nothing is left to do of the runs, nobody is connected to the box, and it has rested.
func (m *measured) settle(n *node) {
	m.t.Helper()
	n.client.Close()
	defer func() {
		if m.t.Failed() {
			m.t.Logf("the box said:\n%s", n.said.String())
		}
	}()
	m.until("all runs are tidied up", func() bool {
		left, _ := os.ReadDir(filepath.Join(m.dir, ".signalbox", "runs"))
		return len(left)+len(m.sessions()) == 0
	})
	select {
	case <-time.After(*rest):
	case <-m.t.Context().Done():
	}
}

// look returns what a box holds.
func (m *measured) look(n *node) (f figure) {
	m.t.Helper()
	proc := filepath.Join("/proc", strconv.Itoa(n.cmd.Process.Pid))
	status, err := os.ReadFile(filepath.Join(proc, "status"))
	if err != nil {
		m.t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(`(VmRSS|RssAnon):\s+(\d+) kB`).FindAllSubmatch(status, -1) {
		kb, _ := strconv.Atoi(string(found[2])) // digits
		if string(found[1]) == "VmRSS" {
			f.resident = kb << 10
		} else {
			f.own = kb << 10
		}
	}
	open, err := os.ReadDir(filepath.Join(proc, "fd"))
	if err != nil {
		m.t.Fatal(err)
	}
	f.descriptors = len(open)
	for _, count := range []struct {
		dir  string
		into *int
	}{{".signalbox", &f.files}, {".signalbox/sessions", &f.transcripts}} {
		_ = filepath.WalkDir(filepath.Join(m.dir, count.dir), func(_ string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				*count.into++
			}
			return nil
		})
	}
	f.files -= f.transcripts
	m.ask(n, &f)
	return f
}

// ask has the box say what only it knows.
func (m *measured) ask(n *node, f *figure) {
	m.t.Helper()
	if err := os.Remove(m.probe); err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.t.Fatal(err)
	}
	if err := n.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		m.t.Fatal(err)
	}
	var said struct{ Goroutines, Heap, Idle int }
	m.until("the box says what it holds", func() bool {
		data, err := os.ReadFile(m.probe)
		return err == nil && json.Unmarshal(data, &said) == nil
	})
	f.goroutines, f.heap, f.idle = said.Goroutines, said.Heap, said.Idle
}
