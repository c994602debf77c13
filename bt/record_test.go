package bt

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// recorded runs a tree once, and returns what was recorded and the trace.
func recorded(t *testing.T, tree Tree, l Library, ticks ...string) (*Program, string, string) {
	t.Helper()
	program, err := Compile(tree, l)
	if err != nil {
		t.Fatal(err)
	}
	var recording, trace bytes.Buffer
	record := NewRecorder(&recording)
	run := program.Start(Options{Record: record, Trace: tracer(program, &trace)})
	defer run.Close()
	for _, tick := range ticks {
		if _, err := run.Tick(t.Context(), at(tick)); err != nil {
			t.Fatal(err)
		}
	}
	if err := record.Flush(); err != nil {
		t.Fatal(err)
	}
	return program, recording.String(), trace.String()
}

func TestReplayOfOddTexts(t *testing.T) {
	l := Library{Functions: map[string]Leaf{
		"note":  Func(func(c *Context) Status { c.Note("\xff<&>\u2028\x00\n%s", "second line"); return Failure }),
		"panic": Func(func(c *Context) Status { c.Set("k\xff", "v\xff"); panic("\xfe\xff") }),
	}}
	tree := Tree{Name: "tree\xff", Root: Selector(Action("a\xff", "note", nil), Action("b\n", "panic", nil))}
	program, recording, trace := recorded(t, tree, l, "0", "1")
	var again bytes.Buffer
	if status, err := program.Replay(strings.NewReader(recording), tracer(program, &again)); status != Failure || err != nil {
		t.Fatal(status, err)
	}
	if d := cmp.Diff(trace, again.String()); d != "" {
		t.Errorf("(-recorded +replayed):\n%s", d)
	}
}

// TestReplayOfHalt has a leaf that would set, while it is given up, what a later one reads.
func TestReplayOfHalt(t *testing.T) {
	var warned []string
	l := newCast("a=R").library()
	l.Functions["hold"] = Leaf{Tick: func(*Context) Status { return Running }, Halt: func(c *Context) { c.Set("list", []any{1, 2}) }}
	tree := Tree{Name: "tree", Blackboard: Schema{"list": "list", "item": "any"},
		Root: Sequence(AlwaysSucceed(Timeout(time.Second, do("hold"))), AlwaysSucceed(ForEach("list", "item", act("b"))))}
	program, err := Compile(tree, l)
	if err != nil {
		t.Fatal(err)
	}
	var recording, trace, again bytes.Buffer
	record := NewRecorder(&recording)
	run := program.Start(Options{Record: record, Trace: tracer(program, &trace), Warn: func(text string) { warned = append(warned, text) }})
	defer run.Close()
	for _, tick := range []string{"0", "1"} {
		if _, err := run.Tick(t.Context(), at(tick)); err != nil {
			t.Fatal(err)
		}
	}
	if err := record.Flush(); err != nil {
		t.Fatal(err)
	}
	if _, err := program.Replay(&recording, tracer(program, &again)); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(trace.String(), again.String()); d != "" {
		t.Errorf("(-recorded +replayed):\n%s", d)
	}
	if len(warned) != 1 || !strings.Contains(warned[0], `hold can't set the key "list": it was given up`) {
		t.Errorf("warned %q", warned)
	}
}

// TestRecordedValues keeps the types of values.
func TestRecordedValues(t *testing.T) {
	want := map[string]any{"nil": nil, "bool": true, "int": 7, "large": 1<<53 + 1, "float": 7.0, "tiny": 5e-324, "huge": 1e300, "minus": -0.5,
		"string": "a\"<\u2028", "odd": "a\xff\x00", "marks": map[string]any{"\x00bytes": "YQ==", "\xfe": []any{"\xfd", 2.0}}, "empty": map[string]any{"\x00": map[string]any{}}, "list": []any{1, 1.0, []any{}}, "map": map[string]any{"k": nil}}
	data, err := json.Marshal(value{want})
	if err != nil {
		t.Fatal(err)
	}
	var got value
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got.v); d != "" {
		t.Errorf("%s\n(-want +got):\n%s", data, d)
	}
}

func TestReplayStartsWithTheGlobalScope(t *testing.T) {
	board, err := NewBlackboard(map[string]any{"list": []any{1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	program, err := Compile(Tree{Name: "tree", Blackboard: Schema{"list": "list", "item": "int"}, Root: ForEach("list", "item", do("drop"))},
		doing(map[string]func(*Context){"drop": func(c *Context) { c.SetGlobal("list", []any{}) }}))
	if err != nil {
		t.Fatal(err)
	}
	var recording, trace, again bytes.Buffer
	record := NewRecorder(&recording)
	run := program.Start(Options{Blackboard: board, Record: record, Trace: tracer(program, &trace)})
	defer run.Close()
	for range 2 {
		if _, err := run.Tick(t.Context(), at("0")); err != nil {
			t.Fatal(err)
		}
	}
	if err := record.Flush(); err != nil {
		t.Fatal(err)
	}
	if status, err := program.Replay(&recording, tracer(program, &again)); status != Success || err != nil {
		t.Fatal(status, err)
	}
	if d := cmp.Diff(trace.String(), again.String()); d != "" || strings.Count(trace.String(), "action drop") != 2 {
		t.Errorf("(-recorded +replayed):\n%s", d)
	}
}

// resealed gives lines the sums that they would have, without those that they have.
func resealed(lines ...string) string {
	var all []byte
	sum := uint32(0)
	for _, l := range lines {
		body := []byte(strings.TrimSuffix(l, "\n"))
		if at := bytes.LastIndex(body, []byte(sealStart)); at >= 0 {
			body = append(body[:at:at], '}')
		}
		if len(body) > 0 {
			body, sum = sealed(body, sum)
			all = append(append(all, body...), '\n')
		}
	}
	return string(all)
}

func TestReplayOfSomethingElse(t *testing.T) {
	tree := Tree{Name: "tree", Root: Sequence(act("a"), act("b"))}
	program, recording, _ := recorded(t, tree, newCast("b=RS").library(), "0", "1")
	l := strings.SplitAfter(recording, "\n")
	if len(l) != 9 || !strings.Contains(l[2], "begun") {
		t.Fatalf("%q", l)
	}
	other := strings.Replace(l[0], `"print":"`, `"print":"x`, 1)
	scope := strings.Replace(l[3], `"status"`, `"writes":[{"scope":9,"key":"k","value":1}],"status"`, 1)
	for _, c := range []struct{ what, recording, want string }{
		{"nothing", "", `this is no recording of the tree "tree" as it is now`},
		{"another file", "hello", `this is no recording of the tree "tree" as it is now`},
		{"another tree", resealed(`{"tree":"other","nodes":3}`), `this is no recording of the tree "tree" as it is now`},
		{"an older tree", resealed(other), `this is no recording of the tree "tree" as it is now`},
		{"a leaf is missing", resealed(l[0], l[1], l[4], l[5]), `another way: at tick 1 it has "" where the tree asks "tree/sequence/a"`},
		{"a leaf is another", resealed(l[0], l[1], l[5]), `another way: at tick 1 it has "tree/sequence/b" where the tree asks "tree/sequence/a"`},
		{"the end is missing", strings.Join(l[:4], ""), `another way: it ends at tick 1 where the tree asks "tree/sequence/b": EOF`},
		{"a line is cut", recording[:len(recording)-5], `another way: it ends at tick 2 where the tree asks "tree/sequence/b": the last line is not whole: unexpected EOF`},
		{"a line is missing", strings.Join(append(slices.Clone(l[:2]), l[3:]...), ""), `line 3 of the recording: its sum is not that of what it has, or a line is missing before it`},
		{"a leaf too many", resealed(append(slices.Clone(l), l[3])...), "line 9 has no tick where one is due, after tick 2"},
		{"a scope that is none", resealed(l[0], l[1], l[2], scope), "there is no scope 9"},
	} {
		if _, err := program.Replay(strings.NewReader(c.recording), nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	if status, err := program.Replay(strings.NewReader(recording), nil); status != Success || err != nil {
		t.Error(status, err)
	}
}

// A run ends before it does something that can't be written down.
func TestRecordingOnAFullDisk(t *testing.T) {
	full := errors.New("the disk is full")
	calls := 0
	program, err := Compile(Tree{Name: "tree", Root: Sequence(do("a"), do("a"), do("a"))}, doing(map[string]func(*Context){"a": func(*Context) { calls++ }}))
	if err != nil {
		t.Fatal(err)
	}
	for room, want := range map[int]int{0: 0, 2: 0, 3: 1, 4: 1, 5: 2} { // lines
		calls = 0
		record := NewRecorder(&failing{room, full})
		run := program.Start(Options{Record: record})
		if status, err := run.Tick(t.Context(), at("0")); status != Failure || !errors.Is(err, full) {
			t.Error(room, status, err)
		}
		if err := record.Flush(); !errors.Is(err, full) || calls != want {
			t.Errorf("%d: %v; %d leaves were called, want %d", room, err, calls, want)
		}
		run.Close()
	}
}

type failing struct {
	room int
	err  error
}

func (f *failing) Write(p []byte) (int, error) {
	if f.room == 0 {
		return 0, f.err
	}
	f.room--
	return len(p), nil
}

// FuzzReplay reads recordings that nobody made.
func FuzzReplay(f *testing.F) {
	tree := Tree{Name: "t", Blackboard: Schema{"list": "list", "item": "any"}, Subtrees: []Subtree{{Name: "s", Root: act("c")}},
		Root: Parallel(1, Retry(1, time.Second, act("a")), Guard(cond("g"), ask("b")), UseSubtree("s"), ForEach("list", "item", act("d")))}
	program, err := Compile(tree, newCast("").library())
	if err != nil {
		f.Fatal(err)
	}
	head := `{"tree":"t","nodes":10,"print":"` + program.print() + `","began":"2001-02-03T04:05:06Z","global":{"list":[1,2.5,"x"]}}` + "\n" + `{"tick":1}` + "\n"
	f.Add(head + `{"leaf":"t/parallel/retry/a","node":2,"status":"FAILURE","writes":[{"scope":1,"key":"list","value":[1]}]}`)
	f.Add(head + `{"node":1,"stop":"context canceled"}`)
	f.Add(head + `{"leaf":"t/parallel/retry/a","node":2,"status":"FRESH"}` + "\n" + `{"leaf":"t/parallel/guard/g","node":4,"status":"RUNNING"}`)
	f.Fuzz(func(t *testing.T, recording string) {
		if strings.Count(recording, "\n") < 1000 {
			recording = resealed(strings.Split(recording, "\n")...)
		}
		_, err := program.Replay(strings.NewReader(recording), func(tick int, at time.Duration, entries []Entry) {
			program.AppendTrace(nil, tick, at, entries)
		})
		if err == nil && !strings.Contains(recording, `"tree"`) {
			t.Error("it is replayed")
		}
		if run, err := program.Resume(&memory{data: []byte(recording)}, Options{}); err == nil {
			for range 3 {
				_, _ = run.Tick(t.Context(), time.Unix(0, 0)) // whatever comes of it
			}
			run.Close()
		}
	})
}

// A sign of life is no leaf's doing, and is replayed all the same.
func TestReplayOfSigns(t *testing.T) {
	var alive func()
	program, err := Compile(Tree{Name: "tree", Root: do("hang")}, Library{Functions: map[string]Leaf{
		"hang": Func(func(c *Context) Status { alive = c.Alive(); return Running }),
	}})
	if err != nil {
		t.Fatal(err)
	}
	var recording bytes.Buffer
	var first, second []byte
	record := NewRecorder(&recording)
	run := program.Start(Options{Record: record, Trace: func(tick int, at time.Duration, entries []Entry) {
		first = program.AppendTrace(first, tick, at, entries)
	}})
	defer run.Close()
	for at := range 10 {
		if _, err := run.Tick(t.Context(), time.Unix(int64(20*at), 0)); err != nil {
			break
		}
		if at == 1 {
			alive()
		}
	}
	if err := record.Flush(); err != nil {
		t.Fatal(err)
	}
	_, err = program.Replay(&recording, func(tick int, at time.Duration, entries []Entry) {
		second = program.AppendTrace(second, tick, at, entries)
	})
	if err != nil || !bytes.Contains(first, []byte("at 1m40s")) {
		t.Errorf("%v\n%s", err, first)
	}
	if d := cmp.Diff(string(first), string(second)); d != "" {
		t.Error(d)
	}
}
