package bt

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPanicIsInTheTrace(t *testing.T) {
	run := newCast("a=P").start(t, Sequence(act("a")), Options{})
	if status, err := run.Tick(t.Context(), at("0")); status != Failure || err != nil {
		t.Fatal(status, err)
	}
	note := run.Trace()[1].Note
	if !strings.HasPrefix(note, "it panicked: as it was told\n") || !strings.Contains(note, "answer.give") || len(note) > 3000 {
		t.Errorf("%s", note)
	}
	text := string(run.program.AppendTrace(nil, 1, 0, run.Trace()))
	if want := "tick 1 at 0s\n  sequence FAILURE\n    action a FAILURE: it panicked: as it was told\n"; text != want {
		t.Errorf("%s", text)
	}
}

func TestStatusAndTrace(t *testing.T) {
	l := newCast("b=RS").library()
	inner := l.Functions["leaf"].Tick
	l.Functions["leaf"] = Func(func(c *Context) Status { c.Note("it is %s", c.Name()); return inner(c) })
	var traced []byte
	var run *Run
	run = begin(t, Tree{Name: "tree", Root: Sequence(act("a"), act("b"), act("c"))}, l, Options{
		Trace: func(tick int, at time.Duration, entries []Entry) {
			traced = run.program.AppendTrace(traced, tick, at, entries)
		},
	})
	state := func() (all []string) {
		for i := range run.program.nodes {
			status, since := run.Status(i)
			all = append(all, fmt.Sprint(status, " ", since))
		}
		return all
	}
	for _, c := range []struct {
		at   string
		want []string
	}{
		{"0", []string{"RUNNING 0s", "SUCCESS 0s", "RUNNING 0s", "FRESH 0s"}},
		{"1.5", []string{"SUCCESS 1.5s", "SUCCESS 0s", "SUCCESS 1.5s", "SUCCESS 0s"}},
	} {
		if _, err := run.Tick(t.Context(), at(c.at)); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, state()); d != "" {
			t.Errorf("at %s (-want +got):\n%s", c.at, d)
		}
	}
	const want = `tick 1 at 0s
  sequence RUNNING
    action a SUCCESS: it is a
    action b RUNNING: it is b
tick 2 at 1.5s
  sequence SUCCESS 1.5s
    action b SUCCESS 1.5s: it is b
    action c SUCCESS: it is c
`
	if d := cmp.Diff(want, string(traced)); d != "" || run.Ticks() != 2 {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestCancelledAtEachNode ends the context in each leaf in turn. Nothing is asked after
// it, and what is RUNNING is given up, once.
func TestCancelledAtEachNode(t *testing.T) {
	tree := func() *Node {
		return Sequence(
			Selector(Inverter(act("a")), Parallel(1, act("b"), Retry(2, 0, act("c"))), act("never")),
			Repeat(2, Fresh, AlwaysSucceed(Guard(cond("d"), Timeout(time.Hour, act("e"))))),
			Parallel(0, act("f"), Sequence(act("g"), act("h"))),
			Cooldown(time.Second, AlwaysFail(act("i"))),
		)
	}
	const answers = "b=RF c=RFRS e=RSS f=RRS g=S h=RS i=F"
	times := []string{"0", "1", "2", "3", "4", "5", "6", "7"}
	whole := newCast(answers)
	run := whole.start(t, tree(), Options{})
	status := Running
	for i := 0; status == Running; i++ {
		status, _ = run.Tick(t.Context(), at(times[i]))
	}
	leaves := len(whole.asked.String())
	if status != Failure || strings.Contains(whole.asked.String(), "~") || leaves < 15 {
		t.Fatalf("the whole run: %v, %s", status, &whole.asked)
	}
	for k := 1; k <= leaves; k++ {
		ctx, cancel := context.WithCancel(t.Context())
		cast := newCast(answers)
		under := map[string]bool{}
		l := library(func(leaf string) answer {
			a := cast.answer(leaf)
			if under[leaf] = a.status == Running; cast.asked.Len() == k {
				cancel()
			}
			return a
		}, func() {}, func(leaf string) {
			if !under[leaf] {
				t.Errorf("%d: %s is given up, but was not RUNNING", k, leaf)
			}
			under[leaf] = false
		})
		run := begin(t, Tree{Name: "tree", Root: tree()}, l, Options{})
		var status Status
		var err error
		for i := 0; err == nil; i++ {
			status, err = run.Tick(ctx, at(times[i]))
		}
		root := run.Trace()[0]
		if status != Failure || !errors.Is(err, context.Canceled) || root.Status != Failure || root.Note != "context canceled" {
			t.Errorf("%d: %v, %v; %+v", k, status, err, root)
		}
		if got := cast.asked.String(); got != whole.asked.String()[:k] {
			t.Errorf("%d: asked %s", k, got)
		}
		for leaf, still := range under {
			if still {
				t.Errorf("%d: %s is left RUNNING", k, leaf)
			}
		}
		if stopped := strings.Count(string(run.program.AppendTrace(nil, 1, 0, run.Trace()[1:])), "context canceled"); stopped > 1 {
			t.Errorf("%d: %d nodes were reached after the end:\n%s", k, stopped, run.program.AppendTrace(nil, 1, 0, run.Trace()))
		}
		if again, err := run.Tick(t.Context(), at("9")); again != Failure || !errors.Is(err, context.Canceled) {
			t.Errorf("%d: a run that was cancelled goes on: %v, %v", k, again, err)
		}
	}
}

func TestCancelledNodesTakeNoTime(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l := newCast("a=RS").library()
	l.Functions["cancel"] = Func(func(*Context) Status { cancel(); return Success })
	run := begin(t, Tree{Name: "tree", Root: Sequence(act("a"), do("cancel"), act("b"))}, l, Options{})
	if status, err := run.Tick(ctx, at("0")); status != Running || err != nil {
		t.Fatal(status, err)
	}
	if _, err := run.Tick(ctx, at("5")); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	const want = "tick 2 at 5s\n  sequence FAILURE 5s: context canceled\n    action a SUCCESS 5s\n    action cancel SUCCESS\n    action b FAILURE: context canceled\n"
	if d := cmp.Diff(want, string(run.program.AppendTrace(nil, 2, 5*time.Second, run.Trace()))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestModelSaysWhenToTryAgain(t *testing.T) {
	asked := 0
	l := Library{LLM: func(LLMCall) (Leaf, error) {
		return Func(func(c *Context) Status {
			asked++
			c.Note("busy")
			c.Temporary([]time.Duration{10 * time.Second, time.Second, 0, 0}[asked-1])
			return Failure
		}), nil
	}}
	run := begin(t, Tree{Name: "tree", Root: ask("a")}, l, Options{})
	for i, tick := range []string{"0", "10", "14", "22"} { // 10 s as it says, then 4 and 8 s
		status, err := run.Tick(t.Context(), at(tick))
		if err != nil || asked != i+1 {
			t.Errorf("at %s: %v, %v, asked %d times", tick, status, err, asked)
		}
		want := []string{"busy; again in 10s", "busy; again in 4s", "busy; again in 8s", "busy"}[i]
		if got := run.Trace()[0].Note; got != want {
			t.Errorf("at %s: %q", tick, got)
		}
	}
}

// TestModelHas120Seconds waits for a model that is alive but never done.
func TestModelHas120Seconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, ended := 0, atomic.Int64{}
		l := Library{LLM: func(call LLMCall) (Leaf, error) {
			return Async(func(c *Context) Work {
				alive := c.Alive()
				begun++
				return func(ctx context.Context) func(*Context) Status {
					for ctx.Err() == nil {
						alive()
						select {
						case <-ctx.Done():
						case <-time.After(10 * time.Second):
						}
					}
					ended.Add(1)
					return nil
				}
			}), nil
		}}
		program, err := Compile(Tree{Name: "tree", Root: ask("a")}, l)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		run := program.Start(Options{})
		status, err := run.Drive(t.Context())
		run.Close()
		// Four attempts of 120 s, with 2, 4 and 8 s in between.
		if took := time.Since(start); status != Failure || err != nil || took != 4*120*time.Second+14*time.Second {
			t.Errorf("%v, %v after %v", status, err, took)
		}
		if note := run.Trace()[0].Note; begun != 4 || ended.Load() != 4 || note != "no reply in 2m0s" {
			t.Errorf("begun %d times, ended %d times: %s", begun, ended.Load(), note)
		}
	})
}

func TestWatchdog(t *testing.T) {
	type event struct {
		After time.Duration
		What  string
	}
	hang := Async(func(*Context) Work {
		return func(ctx context.Context) func(*Context) Status { <-ctx.Done(); return nil }
	})
	once := Async(func(c *Context) Work {
		alive := c.Alive()
		return func(ctx context.Context) func(*Context) Status {
			time.Sleep(20 * time.Second)
			alive()
			<-ctx.Done()
			return nil
		}
	})
	for _, c := range []struct {
		what string
		root *Node
		want []event
	}{
		{"nothing moves", do("hang"), []event{{30 * time.Second, "nothing has moved in the tree for 30s"}, {60 * time.Second, ErrStalled.Error()}}},
		{"a failure is a move", Selector(Timeout(10*time.Second, do("hang")), Sequence(do("no")), do("hang")), []event{{40 * time.Second, "nothing has moved in the tree for 30s"}, {70 * time.Second, ErrStalled.Error()}}},
		{"a sign of life counts when it is seen", do("once"), []event{{60 * time.Second, "nothing has moved in the tree for 30s"}, {90 * time.Second, ErrStalled.Error()}}},
		{"a model that is asked has its own time-out", AskModel("ask", LLMCall{Retries: -1}), []event{{120 * time.Second, "FAILURE"}}},
		{"a pause is no stall", Retry(1, 200*time.Second, do("no")), []event{{200 * time.Second, "FAILURE"}}},
		{"it is warned of again", Sequence(AlwaysSucceed(Timeout(40*time.Second, do("hang"))), do("yes"), do("hang")),
			[]event{{30 * time.Second, "nothing has moved in the tree for 30s"}, {70 * time.Second, "nothing has moved in the tree for 30s"}, {100 * time.Second, ErrStalled.Error()}}},
	} {
		t.Run(c.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				var got []event
				say := func(what string) { got = append(got, event{time.Since(start), what}) }
				l := Library{LLM: func(LLMCall) (Leaf, error) { return hang, nil }, Functions: map[string]Leaf{"hang": hang, "once": once,
					"no": Func(func(*Context) Status { return Failure }), "yes": Func(func(*Context) Status { return Success })}}
				program, err := Compile(Tree{Name: "tree", Root: c.root}, l)
				if err != nil {
					t.Fatal(err)
				}
				run := program.Start(Options{Warn: say})
				defer run.Close()
				status, err := run.Drive(t.Context())
				if err != nil {
					say(err.Error())
				} else {
					say(status.String())
				}
				if d := cmp.Diff(c.want, got); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
			})
		})
	}
}

// TestWatchdogOfATimeBefore1970 has a clock that begins at the zero time.
func TestWatchdogOfATimeBefore1970(t *testing.T) {
	run := newCast("a=R").start(t, act("a"), Options{})
	if _, err := run.Tick(t.Context(), time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, err := run.Tick(t.Context(), time.Time{}.Add(StallFail)); !errors.Is(err, ErrStalled) {
		t.Error(err)
	}
}

func TestThousandTicks(t *testing.T) {
	asked := 0
	for what, root := range map[string]*Node{"a round without end": Repeat(0, Success, do("no")), "a retry without end": Retry(1<<30, 0, do("no"))} {
		asked = 0
		l := Library{Functions: map[string]Leaf{"no": Func(func(*Context) Status { asked++; return Failure })}}
		run := begin(t, Tree{Name: "tree", Root: root}, l, Options{})
		if status, err := run.Drive(t.Context()); status != Failure || !errors.Is(err, ErrTicks) || asked != 1000 {
			t.Errorf("%s: %v, %v after %d", what, status, err, asked)
		}
		if status, err := run.Drive(t.Context()); status != Failure || !errors.Is(err, ErrTicks) || asked != 1000 {
			t.Errorf("%s goes on: %v, %v after %d", what, status, err, asked)
		}
	}
	// Each event has its own thousand.
	asked = 0
	l := Library{Functions: map[string]Leaf{"yes": Func(func(*Context) Status { asked++; return Success })}}
	run := begin(t, Tree{Name: "tree", Root: Repeat(999, Fresh, do("yes"))}, l, Options{})
	for range 3 {
		if status, err := run.Drive(t.Context()); status != Success || err != nil {
			t.Fatal(status, err)
		}
	}
	if asked != 3*999 {
		t.Errorf("asked %d times", asked)
	}
}

func TestAsync(t *testing.T) {
	after := func(d time.Duration, decide func(*Context) Status) Leaf {
		return Async(func(c *Context) Work {
			return func(ctx context.Context) func(*Context) Status {
				select {
				case <-time.After(d):
				case <-ctx.Done():
				}
				return decide
			}
		})
	}
	l := Library{Functions: map[string]Leaf{
		"slow":   after(5*time.Second, func(c *Context) Status { c.Set("k", "done"); return Success }),
		"slower": after(8*time.Second, func(c *Context) Status { return end(c.Get("k") == "done") }),
		"none":   after(time.Second, nil),
		"panics": Async(func(*Context) Work {
			return func(context.Context) func(*Context) Status { panic("beside the tree") }
		}),
		"refuses": Async(func(*Context) Work { return nil }),
	}}
	for _, c := range []struct {
		root *Node
		want Status
		took time.Duration
		note string // of the last leaf
	}{
		{Parallel(0, do("slow"), do("slower")), Success, 8 * time.Second, ""},
		{Parallel(1, do("slow"), do("slower")), Success, 5 * time.Second, ""},
		{Timeout(3*time.Second, do("slow")), Failure, 3 * time.Second, ""},
		{Sequence(do("slow"), do("slow")), Success, 10 * time.Second, ""},
		{do("none"), Failure, time.Second, ""},
		{do("panics"), Failure, 0, "it panicked: beside the tree"},
		{do("refuses"), Failure, 0, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			program, err := Compile(Tree{Name: "tree", Blackboard: Schema{"k": "string"}, Root: c.root}, l)
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			run := program.Start(Options{})
			status, err := run.Drive(t.Context())
			took := time.Since(start)
			run.Close()
			if status != c.want || err != nil || took != c.took || time.Since(start) != took {
				t.Errorf("%v: %v, %v after %v, closed after %v", c.root.Title(), status, err, took, time.Since(start))
			}
			entries := run.Trace()
			if note, _, _ := strings.Cut(entries[len(entries)-1].Note, "\n"); c.note != "" && note != c.note {
				t.Errorf("%v: %q", c.root.Title(), note)
			}
		})
	}
}

// TestCloseGivesUp closes a run in the middle: its work's contexts end, and Close waits
// for the work.
func TestCloseGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Int64
		l := newCast("").library()
		halted := ""
		l.Functions["hold"] = Leaf{Tick: func(*Context) Status { return Running }, Halt: func(c *Context) { halted += c.Name(); panic("in halt") }}
		l.Functions["work"] = Async(func(*Context) Work {
			return func(ctx context.Context) func(*Context) Status {
				<-ctx.Done()
				time.Sleep(time.Second) // it cleans up
				ended.Add(1)
				return nil
			}
		})
		var warned []string
		program, err := Compile(Tree{Name: "tree", Root: Parallel(0, do("hold"), do("work"), Sequence(act("a"), do("work")))}, l)
		if err != nil {
			t.Fatal(err)
		}
		run := program.Start(Options{Warn: func(text string) { warned = append(warned, text) }})
		if status, err := run.Tick(t.Context(), time.Now()); status != Running || err != nil {
			t.Fatal(status, err)
		}
		run.Close()
		run.Close()
		if ended.Load() != 2 || halted != "hold" || len(warned) != 1 || !strings.HasPrefix(warned[0], "tree/parallel/hold: it panicked: in halt") {
			t.Errorf("%d ended; halted %q; warned %q", ended.Load(), halted, warned)
		}
		if status, err := run.Tick(t.Context(), time.Now()); status != Failure || err == nil || err.Error() != "the run is closed" {
			t.Error(status, err)
		}
	})
}

// TestWrappedWorkEnds has a leaf that uses an asynchronous one, and fails beside it.
func TestWrappedWorkEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := Async(func(*Context) Work {
			return func(ctx context.Context) func(*Context) Status { <-ctx.Done(); return nil }
		})
		l := Library{Functions: map[string]Leaf{"fails": Func(func(c *Context) Status { work.Tick(c); return Failure })}}
		program, err := Compile(Tree{Name: "tree", Root: do("fails")}, l)
		if err != nil {
			t.Fatal(err)
		}
		run := program.Start(Options{})
		if status, err := run.Tick(t.Context(), time.Now()); status != Failure || err != nil {
			t.Error(status, err)
		}
		run.Close()
	})
}

func TestLeafThatReturnsNoStatus(t *testing.T) {
	for _, status := range []Status{Fresh, 9} {
		l := Library{Functions: map[string]Leaf{"odd": Func(func(*Context) Status { return status })}}
		run := begin(t, Tree{Name: "tree", Root: do("odd")}, l, Options{})
		if got, err := run.Tick(t.Context(), at("0")); got != Failure || err != nil || run.Trace()[0].Note != "it returned "+status.String() {
			t.Errorf("%v: %v, %v, %q", status, got, err, run.Trace()[0].Note)
		}
	}
}

// TestTimeNeverGoesBack ticks with a clock that is set back.
func TestTimeNeverGoesBack(t *testing.T) {
	run := newCast("a=R").start(t, Timeout(5*time.Second, act("a")), Options{})
	for _, c := range []struct {
		at   string
		want Status
	}{{"3", Running}, {"7.9", Running}, {"1", Running}, {"8", Failure}} {
		if got, err := run.Tick(t.Context(), at(c.at)); got != c.want || err != nil {
			t.Errorf("at %s: %v, %v", c.at, got, err)
		}
	}
}

func TestTickDoesNotAllocate(t *testing.T) {
	cancellable, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, ctx := range []context.Context{context.Background(), cancellable} {
		run := hundred(t).Start(Options{})
		defer run.Close()
		tick := func() {
			if status, err := run.Tick(ctx, at("0")); status != Success || err != nil {
				t.Error(status, err)
			}
		}
		if n := testing.AllocsPerRun(100, tick); n != 0 {
			t.Errorf("%v: a tick of 100 nodes allocates %v times", ctx, n)
		}
	}
}

func TestNotesAreOfTheirTick(t *testing.T) {
	l := newCast("").library()
	said := false
	l.Functions["once"] = Func(func(c *Context) Status {
		if !said {
			c.Note("first")
		}
		said = true
		return Success
	})
	run := begin(t, Tree{Name: "tree", Root: Sequence(do("once"))}, l, Options{})
	for _, want := range []string{"first", ""} {
		if _, err := run.Tick(t.Context(), at("0")); err != nil || run.Trace()[1].Note != want {
			t.Errorf("%v, %+v", err, run.Trace())
		}
	}
}

// TestCancelledFromBeside ends the context while no leaf is asked: nodes notice all the same.
func TestCancelledFromBeside(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var run *Run
	looked := 0
	l := Library{Types: map[string]Type{"watched": func(any) error {
		if looked++; looked == 2 {
			cancel()
			for until := time.Now().Add(time.Minute); !run.ended.Load() && time.Now().Before(until); {
				time.Sleep(time.Millisecond)
			}
		}
		return nil
	}}}
	board, err := NewBlackboard(map[string]any{"list": []any{1, 2, 3, 4}})
	if err != nil {
		t.Fatal(err)
	}
	tree := Tree{Name: "tree", Blackboard: Schema{"list": "list", "item": "watched"}, Root: ForEach("list", "item", Sequence())}
	run = begin(t, tree, l, Options{Blackboard: board})
	if status, err := run.Tick(ctx, at("0")); status != Failure || !errors.Is(err, context.Canceled) || looked != 2 {
		t.Errorf("%v, %v after %d elements", status, err, looked)
	}
}

// TestContextsInTurn ticks with one context after the other: the end of one that was is
// nothing to the run.
func TestContextsInTurn(t *testing.T) {
	run := newCast("").start(t, Sequence(act("a")), Options{})
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		if status, err := run.Tick(ctx, at("0")); status != Success || err != nil {
			t.Fatal(status, err)
		}
		cancel()
	}
	if status, err := run.Tick(context.Background(), at("0")); status != Success || err != nil {
		t.Fatal(status, err)
	}
}

func TestStatusText(t *testing.T) {
	for _, s := range []Status{Fresh, Running, Success, Failure} {
		text, err := s.MarshalText()
		var back Status
		if err != nil || back.UnmarshalText(text) != nil || back != s {
			t.Errorf("%s: %v", text, back)
		}
	}
	var s Status
	if err := s.UnmarshalText([]byte("DONE")); err == nil {
		t.Error("DONE is a status")
	}
}

// A second event does not inherit the stillness before it, and a leaf that asks for a tick
// gets it.
func TestEventsAndAgain(t *testing.T) {
	asked := 0
	program, err := Compile(Tree{Name: "tree", Root: do("poll")}, Library{Functions: map[string]Leaf{
		"poll": Func(func(c *Context) Status {
			if asked++; asked%3 == 0 {
				return Success
			}
			c.Again(time.Second)
			return Running
		}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	run := program.Start(Options{})
	defer run.Close()
	at := time.Unix(0, 0)
	for event := range 2 {
		for {
			status, err := run.Tick(t.Context(), at)
			if err != nil {
				t.Fatal(err)
			}
			if status == Success {
				break
			}
			due, ok := run.Due()
			if !ok || due.Sub(at) != time.Second {
				t.Fatalf("event %d: due %v after the tick", event, due.Sub(at))
			}
			at = due
		}
		at = at.Add(10 * time.Minute)
	}
	if asked != 6 {
		t.Errorf("asked %d times", asked)
	}
}
