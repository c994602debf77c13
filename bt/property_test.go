package bt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stage runs situations with leaves of which some work beside the tree, and watches what
// becomes of them.
type stage struct {
	*situation
	answer func(leaf string) answer
	cancel func()
	under  map[int32]bool // leaves that are RUNNING
	begun  int            // work beside the tree
	ended  atomic.Int64
	faults []string
}

func (s *stage) library() Library {
	plain, beside := s.plain(), s.beside()
	watched := func(l Leaf) Leaf {
		tick := l.Tick
		l.Tick = func(c *Context) Status {
			delete(s.under, c.node)
			status := tick(c)
			s.under[c.node] = status == Running && c.run.program.nodes[c.node].Kind != KindCondition
			return status
		}
		l.Halt = func(c *Context) {
			if !s.under[c.node] {
				s.faults = append(s.faults, c.Name()+" is given up, but is not RUNNING")
			}
			delete(s.under, c.node)
		}
		return l
	}
	library := Library{Functions: map[string]Leaf{"leaf": watched(Func(func(c *Context) Status {
		if s.dice("beside "+c.Name(), 0).IntN(3) == 0 && c.run.program.nodes[c.node].Kind != KindCondition {
			return beside.Tick(c)
		}
		return plain.Tick(c)
	}))}}
	library.LLM = func(LLMCall) (Leaf, error) { return watched(beside), nil }
	library.Tool = func(ToolCall) (Leaf, error) { return watched(beside), nil }
	library.Script = func(string, Script) (Leaf, error) { return watched(plain), nil }
	return library
}

func (s *stage) plain() Leaf {
	return Func(func(c *Context) Status {
		c.Note("I am %s", c.Name())
		return s.answer(c.Name()).give(c, s.cancel)
	})
}

// beside is a leaf whose work takes a while, gives a sign of life, or never ends.
func (s *stage) beside() Leaf {
	return Async(func(c *Context) Work {
		s.begun++
		name, alive := c.Name(), c.Alive()
		d := s.dice("work "+name, s.begun)
		if d.IntN(20) == 0 {
			s.begun--
			return nil
		}
		takes := pick(d, 0, time.Second, 1500*time.Millisecond, 7*time.Second, 25*time.Second, time.Hour)
		panics := d.IntN(20) == 0
		return func(ctx context.Context) func(*Context) Status {
			defer s.ended.Add(1)
			select {
			case <-time.After(takes / 2):
			case <-ctx.Done():
			}
			alive()
			select {
			case <-time.After(takes - takes/2):
			case <-ctx.Done():
			}
			if panics {
				panic("beside the tree")
			}
			return func(c *Context) Status { return s.answer(name).give(c, s.cancel) }
		}
	})
}

// tracer writes down what a run traces, with notes in full.
func tracer(p *Program, to *bytes.Buffer) func(int, time.Duration, []Entry) {
	return func(tick int, at time.Duration, entries []Entry) {
		to.Write(p.AppendTrace(nil, tick, at, entries))
		for _, e := range entries {
			fmt.Fprintf(to, "%+v\n", e)
		}
	}
}

// play drives the situation's tree a few times, or ticks it, and closes it.
func (s *stage) play(t *testing.T) (program *Program, trace, recording *bytes.Buffer, last Status) {
	program, err := Compile(s.tree, s.library())
	if err != nil {
		t.Fatal(err)
	}
	board, err := NewBlackboard(s.global)
	if err != nil {
		t.Fatal(err)
	}
	trace, recording = &bytes.Buffer{}, &bytes.Buffer{}
	record := NewRecorder(recording)
	run := program.Start(Options{Blackboard: board, Record: record, Trace: tracer(program, trace)})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.cancel = cancel
	d := s.dice("driver", 0)
	driven := d.IntN(2) == 0
	if d.IntN(4) == 0 {
		var end func()
		ctx, end = context.WithTimeout(ctx, time.Duration(d.IntN(60))*time.Second)
		defer end()
	}
	for tick := 0; err == nil && tick < s.ticks; tick++ {
		if driven {
			last, err = run.Drive(ctx)
			continue
		}
		last, err = run.Tick(ctx, time.Now())
		time.Sleep(s.pause(tick, 0))
		synctest.Wait()
	}
	if errors.Is(err, ErrTicks) {
		last = Running // of the last tick
	}
	run.Close()
	if err := record.Flush(); err != nil {
		t.Fatal(err)
	}
	return program, trace, recording, last
}

// TestReplay runs random trees, and replays what was recorded of each. It also sees to it
// that nothing is left.
func TestReplay(t *testing.T) {
	seen, trees := map[string]int{}, uint64(1000)
	if testing.Short() {
		trees = 500
	}
	for i := range trees {
		synctest.Test(t, func(t *testing.T) {
			s := &stage{situation: newSituation(*firstOne + i), under: map[int32]bool{}}
			s.answer = s.answers()
			program, trace, recording, last := s.play(t)
			for node, still := range s.under {
				if still {
					s.faults = append(s.faults, program.nodes[node].path+" is left RUNNING")
				}
			}
			if int64(s.begun) != s.ended.Load() {
				s.faults = append(s.faults, fmt.Sprintf("work has begun %d times, and ended %d times", s.begun, s.ended.Load()))
			}
			var again bytes.Buffer
			status, err := program.Replay(recording, tracer(program, &again))
			if status != last || err != nil {
				s.faults = append(s.faults, fmt.Sprintf("replay: %v, %v; it was %v", status, err, last))
			}
			if !bytes.Equal(trace.Bytes(), again.Bytes()) {
				s.faults = append(s.faults, "replay (-recorded +replayed):\n"+cmp.Diff(trace.String(), again.String()))
			}
			if len(s.faults) > 0 {
				t.Fatalf("-tree %d\n%s%s", s.number, s, strings.Join(s.faults, "\n"))
			}
			for _, what := range []string{context.Canceled.Error(), context.DeadlineExceeded.Error(), ErrStalled.Error(), "beside the tree",
				"as it was told", "two children", "tick 1000 ", "no reply in", "it took longer"} {
				if strings.Contains(trace.String(), what) {
					seen[what]++
				}
			}
		})
		if t.Failed() {
			return
		}
	}
	for what, times := range seen {
		t.Logf("%s: %d", what, times)
	}
	if len(seen) < 9 {
		t.Error("what is to be replayed was not met")
	}
}

// TestSameRunSameTrace runs random trees twice.
func TestSameRunSameTrace(t *testing.T) {
	trees := uint64(1000)
	if testing.Short() {
		trees = 500
	}
	for i := range trees {
		s := newSituation(i)
		once := func() []byte {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			program, err := Compile(s.tree, library(s.answers(), cancel, func(string) {}))
			if err != nil {
				t.Fatal(err)
			}
			board, err := NewBlackboard(s.global)
			if err != nil {
				t.Fatal(err)
			}
			var trace []byte
			run := program.Start(Options{Blackboard: board, Trace: func(tick int, at time.Duration, entries []Entry) {
				trace = program.AppendTrace(trace, tick, at, entries)
			}})
			defer run.Close()
			now := at("0")
			for tick := range s.ticks {
				if _, err := run.Tick(ctx, now); err != nil {
					break
				}
				now = now.Add(s.pause(tick, 0))
			}
			return trace
		}
		if d := cmp.Diff(string(once()), string(once())); d != "" {
			t.Fatalf("-tree %d\n%s(-once +again)\n%s", s.number, s, d)
		}
	}
}
