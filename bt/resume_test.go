package bt

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var resumed = flag.Int("resumed", 2_000, "how many random trees are stopped and resumed; 100000 for the full measure")

// memory is a file in memory.
type memory struct {
	data []byte
	at   int
}

func (m *memory) Read(p []byte) (int, error) {
	if m.at >= len(m.data) {
		return 0, io.EOF
	}
	n := copy(p, m.data[m.at:])
	m.at += n
	return n, nil
}

func (m *memory) Write(p []byte) (int, error) {
	m.data = append(m.data[:m.at], p...)
	m.at = len(m.data)
	return len(p), nil
}

func (m *memory) Seek(offset int64, _ int) (int64, error) { m.at = int(offset); return offset, nil }

func (m *memory) Truncate(size int64) error { m.data = m.data[:size]; return nil }

// killed is what a process is ended with, in the midst of a write.
type killed struct{}

// deadly is a file on which a process ends when so many bytes are written: at once, or
// with the next write.
type deadly struct {
	*memory
	room   int
	atOnce bool
}

func (d *deadly) Write(p []byte) (int, error) {
	n := min(len(p), d.room)
	d.room -= n
	_, _ = d.memory.Write(p[:n]) // into memory
	if n < len(p) || d.room == 0 && d.atOnce {
		panic(killed{})
	}
	return n, nil
}

// world is what leaves act on. It outlives the processes.
type world struct {
	*situation
	answer  func(leaf string) answer
	calls   []string // that were carried out
	open    *answer  // to the last of them, which the recording does not know
	stopAt  int      // the call that ends the context; 0 for none
	cancel  func()
	faults  []string
	told    int      // of calls that were carried out
	restore []string // what leaves were told to put back
}

func (w *world) library() Library {
	tick := func(c *Context) Status {
		var a answer
		switch {
		case w.open == nil:
			a = w.answer(c.Name())
			a.cancels = false // the processes are ended by others
			w.calls = append(w.calls, c.Name())
			if len(w.calls) == w.stopAt {
				w.cancel()
			}
		case w.calls[len(w.calls)-1] != c.Name():
			w.faults = append(w.faults, fmt.Sprintf("%s goes on, and %s was under way", c.Name(), w.calls[len(w.calls)-1]))
			return Failure
		case !c.Interrupted():
			w.faults = append(w.faults, c.Name()+" was carried out, and is not told so")
			return Failure
		default:
			a, w.open = *w.open, nil
			w.told++
		}
		c.Save(len(w.calls))
		return a.give(c, nil)
	}
	leaf := Leaf{Tick: tick, Restore: func(_ *Context, _ Status, saved any) { w.restore = append(w.restore, w.calls[saved.(int)-1]) }}
	return Library{
		Functions: map[string]Leaf{"leaf": leaf},
		LLM:       func(LLMCall) (Leaf, error) { return leaf, nil },
		Tool:      func(ToolCall) (Leaf, error) { return leaf, nil },
		Script:    func(string, Script) (Leaf, error) { return leaf, nil },
	}
}

// life is what one process saw.
type life struct {
	trace  bytes.Buffer
	nows   []time.Duration
	dues   []time.Duration
	status Status
	err    error
	died   bool
	values map[string]any
}

// live ticks a run of the situation's tree from where it is to the end of the situation.
// The times are those of another life, if there is one.
func (w *world) live(t *testing.T, file RecordingFile, began time.Time, before *life) (l *life) {
	l = &life{}
	program, err := Compile(w.tree, w.library())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w.cancel = cancel
	defer func() {
		if p := recover(); p != nil {
			if p != any(killed{}) {
				panic(p)
			}
			l.died = true
		}
	}()
	board := &Blackboard{}
	if err := board.fill(w.global, MaxBlackboard); err != nil {
		t.Fatal(err)
	}
	run, err := program.Resume(file, Options{Blackboard: board, Trace: func(tick int, at time.Duration, entries []Entry) {
		l.trace.Write(program.AppendTrace(nil, tick, at, entries))
	}})
	if err != nil {
		t.Fatalf("-tree %d: %v", w.number, err)
	}
	if before != nil {
		l.nows, l.dues = before.nows[:run.Ticks()+1], before.dues[:run.Ticks()]
	} else {
		l.nows = []time.Duration{0}
	}
	for tick := run.Ticks(); tick < w.ticks && l.err == nil; tick++ {
		l.status, l.err = run.Tick(ctx, began.Add(l.nows[tick]))
		due := time.Duration(0)
		if l.status == Running {
			at, _ := run.Due()
			due = at.Sub(began)
		}
		l.dues = append(l.dues, due)
		l.nows = append(l.nows[:tick+1:tick+1], l.nows[tick]+w.pause(tick, due-l.nows[tick]))
	}
	run.Close()
	l.values = board.Values()
	return l
}

// TestResume stops random trees anywhere, in the midst of a line too, or by their context,
// once or several times. What is resumed does what a run does that nothing stops.
func TestResume(t *testing.T) {
	n, seen := *resumed, map[string]int{}
	if testing.Short() {
		n = min(n, 500)
	}
	for i := range uint64(n) {
		whole := &world{situation: newSituation(*firstOne + i)}
		whole.answer = whole.answers()
		file, began := &memory{}, time.Unix(1000, 0)
		want := whole.live(t, file, began, nil)

		w := &world{situation: whole.situation, answer: whole.answers()}
		broken := &memory{}
		d := w.dice("stop", 0)
		var got *life
		for lives := 0; ; lives++ {
			room := 1 << 40
			if left := len(file.data) - len(broken.data); lives < 3 && left > 0 {
				room = 1 + d.IntN(left)
			}
			if lives < 3 && d.IntN(4) == 0 {
				w.stopAt, room = len(w.calls)+1+d.IntN(5), 1<<40
			}
			w.restore = nil
			known := results(broken.data)
			got = w.live(t, &deadly{broken, room, d.IntN(2) == 0}, began, want)
			stopped := errors.Is(got.err, context.Canceled)
			switch {
			case len(w.faults) > 0:
				t.Fatalf("-tree %d\n%s%q", w.number, w, w.faults)
			case got.died:
				seen["killed"]++
			case stopped:
				seen["stopped"]++
			}
			if !cmp.Equal(w.restore, w.calls[:known], cmpopts.EquateEmpty()) {
				t.Fatalf("-tree %d: of %q these were put back: %q", w.number, w.calls[:known], w.restore)
			}
			if !got.died && !stopped {
				break
			}
			w.open = w.unknown(broken.data)
			if bytes.Contains(broken.data, []byte("\n")) { // or else it has not begun
				began = time.Unix(1000, 0).Add(pick(d, 0, -10000*time.Hour, 3*time.Hour, 10*time.Minute))
			}
		}
		seen["told"] += w.told
		if d := cmp.Diff(want.trace.String(), got.trace.String()); d != "" {
			t.Fatalf("-tree %d\n%s(-whole +resumed)\n%s", w.number, w, d)
		}
		type end struct {
			Status Status
			Error  string
			Values map[string]any
			Dues   []time.Duration
			Calls  []string
		}
		ends := func(l *life, w *world) end {
			return end{l.status, fmt.Sprint(l.err), l.values, l.dues, w.calls}
		}
		if d := cmp.Diff(ends(want, whole), ends(got, w)); d != "" {
			t.Fatalf("-tree %d\n%s(-whole +resumed)\n%s", w.number, w, d)
		}
		if !bytes.Contains(file.data, []byte("panicked")) && !bytes.Equal(file.data, broken.data) { // a stack has addresses
			t.Fatalf("-tree %d: the recordings differ (-whole +resumed)\n%s", w.number, cmp.Diff(string(file.data), string(broken.data)))
		}
	}
	for _, what := range []string{"killed", "stopped", "told"} {
		if seen[what] < n/20 {
			t.Errorf("%s: %d times", what, seen[what])
		}
	}
}

// unknown returns the answer to the last call, if the recording has no result of it.
func (w *world) unknown(recording []byte) *answer {
	if results(recording) == len(w.calls) {
		return nil
	}
	again := w.answers()
	var last answer
	for _, leaf := range w.calls {
		last = again(leaf)
	}
	last.cancels = false
	return &last
}

// results counts what leaves did.
func results(recording []byte) int {
	n := 0
	for _, l := range bytes.SplitAfter(recording, []byte("\n")) {
		if bytes.HasPrefix(l, []byte(`{"leaf"`)) && bytes.HasSuffix(l, []byte("\n")) {
			n++
		}
	}
	return n
}

// damaged is a program with a recording of five ticks.
func damaged(t *testing.T) (*Program, []byte) {
	t.Helper()
	tree := Tree{Name: "tree", Blackboard: Schema{"key": "string"}, Root: Sequence(act("a"), do("set"), act("b"))}
	l := newCast("b=RRRS").library()
	l.Functions["set"] = Func(func(c *Context) Status { c.Set("key", "some value that is long enough"); return Success })
	program, recording, _ := recorded(t, tree, l, "0", "1", "2", "3", "4")
	return program, []byte(recording)
}

// TestResumeOfDamage changes every byte of a recording, and cuts it at every byte.
func TestResumeOfDamage(t *testing.T) {
	program, recording := damaged(t)
	last := bytes.LastIndexByte(recording[:len(recording)-1], '\n') + 1
	for i := range recording {
		for _, to := range []byte{recording[i] ^ 1, '\n', 0, '"'} {
			if to == recording[i] {
				continue
			}
			data := bytes.Clone(recording)
			data[i] = to
			run, err := program.Resume(&memory{data: data}, Options{})
			if torn := i == len(recording)-1; err == nil != torn {
				t.Fatalf("byte %d of %d is %q: %v", i, len(recording), to, err)
			}
			if err != nil && !strings.Contains(err.Error(), fmt.Sprintf("line %d of the recording: its sum", 1+bytes.Count(recording[:i], []byte("\n")))) {
				t.Fatalf("byte %d is %q: %v", i, to, err)
			}
			if run != nil {
				run.Close()
			}
		}
		file := &memory{data: bytes.Clone(recording[:i])}
		run, err := program.Resume(file, Options{})
		if err != nil {
			t.Fatalf("cut at %d: %v", i, err)
		}
		if want := recording[:bytes.LastIndexByte(recording[:i], '\n')+1]; !bytes.Equal(file.data, want) {
			t.Fatalf("cut at %d there is %q left", i, file.data)
		}
		run.Close()
	}
	lines := bytes.SplitAfter(recording[:last], []byte("\n"))
	for i := range len(lines) - 2 {
		data := bytes.Join(append(append([][]byte{}, lines[:i]...), lines[i+1:]...), nil)
		if _, err := program.Resume(&memory{data: data}, Options{}); err == nil {
			t.Errorf("without line %d it is resumed", i+1)
		}
	}
}

func TestResumeOfSomethingElse(t *testing.T) {
	program, recording := damaged(t)
	l := strings.SplitAfter(string(recording), "\n")
	for _, c := range []struct{ what, recording, want string }{
		{"another tree", resealed(`{"tree":"other","nodes":3}`), `no recording of the tree "tree" as it is now`},
		{"another version of it", resealed(strings.Replace(l[0], `"print":"`, `"print":"0`, 1)), `no recording of the tree "tree" as it is now`},
		{"no tree", resealed(l[1]), "line 1 of the recording: the tree is named in the first line"},
		{"two trees", resealed(l[0], l[0]), "line 2 of the recording: the tree is named in the first line, and nowhere else"},
		{"no tick", resealed(l[0], l[2]), "line 2 of the recording: it has no tick"},
		{"ticks in no order", resealed(l[0], strings.Replace(l[1], `"tick":1`, `"tick":2`, 1)), "line 2 of the recording: it has tick 2, and 1 is due"},
		{"more after the end", resealed(l[0], l[1], `{"node":0,"stop":"enough"}`, l[2]), "line 4 of the recording: the run was stopped at line 3"},
		{"a field that nobody knows", resealed(l[0], strings.Replace(l[1], `"tick"`, `"tock":1,"tick"`, 1)), `line 2 of the recording: json: unknown field "tock"`},
		{"a tick with other leaves", resealed(l[0], l[1], l[3], l[4], strings.Replace(l[1], `"tick":1`, `"tick":2`, 1)), `went another way: at tick 1 it has "" where the tree asks "tree/sequence/set"`},
	} {
		data := []byte(c.recording)
		if _, err := program.Resume(&memory{data: data}, Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.what, err)
		}
		if string(data) != c.recording {
			t.Errorf("%s: the file was changed", c.what)
		}
	}
	// what only shows in the last tick
	run, err := program.Resume(&memory{data: []byte(resealed(l[0], l[1], l[4], l[5]))}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	if _, err := run.Tick(t.Context(), at("0")); !errors.Is(err, errDiffers) {
		t.Error(err)
	}
}

// A question whose last tick is recorded to its end has its result at once.
func TestResumeOfAFinishedRun(t *testing.T) {
	calls := 0
	program, err := Compile(Tree{Name: "tree", Root: Sequence(do("a"), do("a"))}, doing(map[string]func(*Context){"a": func(*Context) { calls++ }}))
	if err != nil {
		t.Fatal(err)
	}
	file := &memory{}
	for range 3 {
		run, err := program.Resume(file, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if status, err := run.Drive(t.Context()); status != Success || err != nil || calls != 2 {
			t.Errorf("%v, %v after %d calls", status, err, calls)
		}
		run.Close()
	}
}

// The ticks of an event are counted over all lives.
func TestResumeCountsTicks(t *testing.T) {
	program, err := Compile(Tree{Name: "tree", Root: Repeat(0, Fresh, act("a"))}, newCast("").library())
	if err != nil {
		t.Fatal(err)
	}
	file := &memory{}
	run := program.Start(Options{Record: NewRecorder(file)})
	for range 700 {
		if _, err := run.Tick(t.Context(), at("0")); err != nil {
			t.Fatal(err)
		}
	}
	run.Close()
	if run, err = program.Resume(file, Options{}); err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	if _, err := run.Drive(t.Context()); !errors.Is(err, ErrTicks) || run.Ticks() != MaxTicks {
		t.Errorf("%v after %d ticks", err, run.Ticks())
	}
}

// TestResumeBeside resumes a run whose work beside the tree went with its process, from a
// real file, on a clock that was set back by a year. The waits are those that were left.
func TestResumeBeside(t *testing.T) {
	file := filepath.Join(t.TempDir(), "recording")
	synctest.Test(t, func(t *testing.T) {
		var begun, finished []string
		leaf := func(name string, takes time.Duration) Leaf {
			return Async(func(c *Context) Work {
				begun = append(begun, fmt.Sprintf("%s %v", name, c.Interrupted()))
				return func(ctx context.Context) func(*Context) Status {
					select {
					case <-time.After(takes):
					case <-ctx.Done():
					}
					return func(*Context) Status { finished = append(finished, name); return Success }
				}
			})
		}
		tree := Tree{Name: "tree", Root: Sequence(do("first"), Timeout(30*time.Second, Parallel(0, do("short"), do("long"))))}
		program, err := Compile(tree, Library{Functions: map[string]Leaf{
			"first": leaf("first", time.Second), "short": leaf("short", 2*time.Second), "long": leaf("long", 12*time.Second),
		}})
		if err != nil {
			t.Fatal(err)
		}
		to, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer to.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 9*time.Second)
		defer cancel()
		run := program.Start(Options{Record: NewRecorder(to)})
		if _, err := run.Drive(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		run.Close()
		began := time.Now()
		back := func() time.Time { return time.Now().Add(-365 * 24 * time.Hour) }
		var trace []byte
		run, err = program.Resume(to, Options{Clock: back, Trace: func(tick int, at time.Duration, entries []Entry) {
			for _, e := range entries {
				if e.Elapsed < 0 {
					t.Errorf("%v has taken %v", program.nodes[e.Node].path, e.Elapsed)
				}
			}
			trace = program.AppendTrace(trace, tick, at, entries)
		}})
		if err != nil {
			t.Fatal(err)
		}
		if under := run.Interrupted(); len(under) != 1 || program.nodes[under[0]].label() != "long" {
			t.Errorf("under way: %v", under)
		}
		if status, err := run.Drive(t.Context()); status != Success || err != nil {
			t.Error(status, err)
		}
		run.Close()
		if took := time.Since(began); took != 12*time.Second {
			t.Errorf("it took %v", took)
		}
		if d := cmp.Diff([]string{"first false", "short false", "long false", "long true"}, begun); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff([]string{"first", "short", "long"}, finished); d != "" {
			t.Error(d)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var again []byte
		if status, err := program.Replay(bytes.NewReader(data), func(tick int, at time.Duration, entries []Entry) {
			again = program.AppendTrace(again, tick, at, entries)
		}); status != Success || err != nil {
			t.Error(status, err)
		}
		if d := cmp.Diff(string(trace), string(again)); d != "" {
			t.Errorf("(-resumed +replayed)\n%s", d)
		}
	})
}

// TestResumeWaiting resumes a run whose process was killed while it waited for work beside the tree: the
// work begins at once, and not when the run is found to stand still.
func TestResumeWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := 0
		program, err := Compile(Tree{Name: "tree", Root: Sequence(do("ask"), do("ask"))}, Library{Functions: map[string]Leaf{
			"ask": Async(func(*Context) Work {
				begun++
				return func(context.Context) func(*Context) Status {
					time.Sleep(2 * time.Second)
					return func(*Context) Status { return Success }
				}
			}),
		}})
		if err != nil {
			t.Fatal(err)
		}
		whole := &memory{}
		run := program.Start(Options{Record: NewRecorder(whole)})
		if status, err := run.Drive(t.Context()); status != Success || err != nil {
			t.Fatal(status, err)
		}
		run.Close()
		lines := bytes.SplitAfter(whole.data, []byte("\n"))
		for n := range lines {
			if !bytes.Contains(lines[n], []byte(`"RUNNING"`)) {
				continue
			}
			begun = 0
			began, warned := time.Now(), 0
			run, err := program.Resume(&memory{data: bytes.Join(lines[:n+1], nil)}, Options{Warn: func(string) { warned++ }})
			if err != nil {
				t.Fatal(err)
			}
			status, err := run.Drive(t.Context())
			run.Close()
			if took := time.Since(began); status != Success || err != nil || took != time.Duration(begun)*2*time.Second || begun == 0 || warned != 0 {
				t.Errorf("killed after line %d: %v, %v, took %v for %d calls, %d warnings", n+1, status, err, took, begun, warned)
			}
		}
	})
}
