package lua

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/signalbox-dev/signalbox/bt"
	"github.com/signalbox-dev/signalbox/safetext"
)

var update = flag.Bool("update", false, "write the files that results are compared with")

var testLimits = limits{time.Minute, 50_000_000, maxMemory}

// eval runs a source and returns what it returns, tables as lists or maps.
func eval(t testing.TB, name, source string, globals map[string]any) ([]any, error) {
	t.Helper()
	c, err := compile(name, []byte(source))
	if err != nil {
		return nil, err
	}
	out, err := c.run(context.Background(), globals, testLimits)
	for i, v := range out.values {
		if tab, ok := v.(*table); ok {
			if out.values[i], err = tab.plain(false); err != nil {
				return nil, err
			}
		}
	}
	return out.values, err
}

// The files in testdata/language assert how Lua behaves here. They run at the same time
// too, since nothing is shared.
func TestLanguage(t *testing.T) {
	files, err := filepath.Glob("testdata/language/*.lua")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, path := range files {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var wait sync.WaitGroup
		atOnce := 2
		if testing.Short() {
			atOnce = 1
		}
		for range atOnce {
			wait.Go(func() {
				if _, err := eval(t, filepath.Base(path), string(source), nil); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
	}
}

// A tree's description and a file's problems are compared with files.
func TestLoad(t *testing.T) {
	for _, path := range must(filepath.Glob("testdata/*/*.lua")) {
		kind := filepath.Base(filepath.Dir(path))
		if kind != "good" && kind != "bad" {
			continue
		}
		t.Run(kind+"/"+filepath.Base(path), func(t *testing.T) {
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			tree, err := Load(t.Context(), filepath.Base(path), source)
			if (err == nil) != (kind == "good") {
				t.Errorf("got %v", err)
			}
			got := fmt.Sprintln(err)
			if err == nil {
				got = describe(reflect.ValueOf(tree), "")
			}
			golden := strings.TrimSuffix(path, ".lua") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// describe writes down what of a description is set.
func describe(v reflect.Value, indent string) string {
	var own, inner strings.Builder
	for i := range v.NumField() {
		name, field := v.Type().Field(i).Name, v.Field(i)
		if field.IsZero() {
			continue
		}
		switch x := field.Interface().(type) {
		case *bt.Node:
			inner.WriteString(describe(reflect.ValueOf(*x), indent+"    "))
		case []*bt.Node:
			for _, child := range x {
				inner.WriteString(describe(reflect.ValueOf(*child), indent+"    "))
			}
		case []bt.Subtree:
			for _, s := range x {
				inner.WriteString(describe(reflect.ValueOf(s), ""))
			}
		case string:
			fmt.Fprintf(&own, " %s=%q", name, x)
		default:
			fmt.Fprintf(&own, " %s=%+v", name, reflect.Indirect(field).Interface())
		}
	}
	return indent + strings.TrimSpace(own.String()) + "\n" + inner.String()
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Every problem is a bt.Problem, so that callers can tell the place.
func TestProblems(t *testing.T) {
	for _, source := range []string{"x = ", "error('x')", "BT.inverter()", "while true do end", "local x = nil + 1"} {
		_, err := Load(t.Context(), "file.lua", []byte(source))
		var p bt.Problem
		if !errors.As(err, &p) || p.At != "file.lua:1" {
			t.Errorf("%s: %v, at %q", source, err, p.At)
		}
	}
	_, err := Load(t.Context(), "bad\x1b[2J\nname", []byte("x ="))
	if err == nil || strings.ContainsAny(err.Error(), "\x1b\n") {
		t.Errorf("got %q", err)
	}
}

// A node stands where its constructor is called, also in a function's return.
func TestPlaces(t *testing.T) {
	tree, err := Load(t.Context(), "p.lua", []byte("local function f()\n  return BT.action('x', { fn = 'f' })\nend\n\nBT.tree('t', {\n  root = BT.sequence({\n    f(),\n    BT.action('y',\n      { fn = 'f' }),\n  }),\n})"))
	if err != nil {
		t.Fatal(err)
	}
	got := []string{tree.At, tree.Root.At, tree.Root.Children[0].At, tree.Root.Children[1].At}
	if diff := cmp.Diff([]string{"p.lua:5", "p.lua:6", "p.lua:2", "p.lua:8"}, got); diff != "" {
		t.Error(diff)
	}
}

// What goes into Lua comes out the same.
func TestRoundTrip(t *testing.T) {
	plain := rapid.OneOf(
		rapid.Just(any(true)), rapid.Just(any(false)),
		rapid.Map(rapid.Int(), func(n int) any { return n }),
		rapid.Map(rapid.Float64(), func(x float64) any { return x }),
		rapid.Map(rapid.String(), func(s string) any { return strings.ToValidUTF8(s, "") }),
	)
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		if depth == 0 {
			return plain
		}
		return rapid.OneOf(plain,
			rapid.Map(rapid.SliceOfN(value(depth-1), 1, 12), func(l []any) any { return l }),
			rapid.Map(rapid.MapOfN(rapid.StringN(1, 5, 20), value(depth-1), 1, 12), func(m map[string]any) any { return m }))
	}
	rapid.Check(t, func(rt *rapid.T) {
		want := value(3).Draw(rt, "value")
		echo := function(func(call) (any, error) { return want, nil })
		got, err := eval(t, "x.lua", "return echo()", map[string]any{"echo": echo})
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff([]any{want}, got); diff != "" {
			rt.Error(diff)
		}
	})
}

func TestFromLua(t *testing.T) {
	for _, c := range []struct {
		source string
		want   any
		err    string
	}{
		{`return nil`, nil, ""},
		{`return 1, 2`, 1, ""},
		{`return 1.0`, 1.0, ""},
		{`return {}`, []any{}, ""},
		{`return { 1, "x", { true } }`, []any{1, "x", []any{true}}, ""},
		{`return { a = { b = 1 } }`, map[string]any{"a": map[string]any{"b": 1}}, ""},
		{`return setmetatable({ 1 }, { __index = error, __len = error, __pairs = error })`, []any{1}, ""},
		{`return "a\xffb"`, "a\ufffdb", ""},
		{`return { ["a\xff"] = 1 }`, map[string]any{"a\ufffd": 1}, ""},
		{`local t = { 1 } return { t, t }`, []any{[]any{1}, []any{1}}, ""},
		{`return { 1, a = 2 }`, nil, "elements and named fields"},
		{`return { 1, nil, nil, 4 }`, nil, "a list has a gap"},
		{`return { [500] = 1 }`, nil, "has the key 500"},
		{`return { [true] = 1 }`, nil, "has the key a boolean"},
		{`return { [0.5] = 1 }`, nil, "has the key 0.5"},
		{`return 1 / 0`, nil, "infinite or not a number"},
		{`return { { x = 0 / 0 } }`, nil, "[1]: x: it is no number that can be kept"},
		{`return print`, nil, "a function can't be used"},
		{`local t = {} t[1] = t return t`, nil, "deeper than 100"},
		{`local t = {} for i = 1, 99 do t = { t } end return #t == 1`, true, ""},
		{`local t = {} for i = 1, 101 do t = { t } end return t`, nil, "deeper than 100"},
	} {
		got, err := eval(t, "x.lua", c.source, nil)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: got %v, want %s", c.source, err, c.err)
			}
			continue
		}
		if err != nil || len(got) == 0 || !reflect.DeepEqual(got[0], c.want) {
			t.Errorf("%s: got %#v, %v", c.source, got, err)
		}
	}
	for _, x := range []any{math.NaN(), math.Inf(1), []any{math.Inf(-1)}} {
		if _, err := eval(t, "x.lua", "", map[string]any{"x": x}); err == nil {
			t.Errorf("%v went into Lua", x)
		}
	}
}

// A script decides, and what it sets is set when it has ended well.
func TestScript(t *testing.T) {
	const before = "a=1 l=[1 2] m=map[x:1]"
	const wanted = "a script returns true, false, BT.SUCCESS or BT.FAILURE, and not "
	for _, c := range []struct {
		source string
		status bt.Status
		note   string
		keys   string
	}{
		{`return true`, bt.Success, "", before},
		{`return BT.SUCCESS`, bt.Success, "", before},
		{`return false`, bt.Failure, "", before},
		{`return BT.FAILURE`, bt.Failure, "", before},
		{`local x = 1`, bt.Failure, wanted + "nothing", before},
		{`return 1`, bt.Failure, wanted + "the number 1", before},
		{`return {}`, bt.Failure, wanted + "a table", before},
		{`return BT.RUNNING`, bt.Failure, "decide:1: there is no BT.RUNNING: there are FAILURE, SUCCESS", before},
		{`bb.set("a", bb.get("a") + 1) return bb.get("a") == 2`, bt.Success, "", "a=2 l=[1 2] m=map[x:1]"},
		{`bb.set_global("a", 3) return true`, bt.Success, "", "a=3 l=[1 2] m=map[x:1]"},
		{`bb.set("a", 5) error("no")`, bt.Failure, "decide:1: no", before},
		{`bb.set("a", 5) return false`, bt.Failure, "", "a=5 l=[1 2] m=map[x:1]"},
		{`bb.set("a", "text") return true`, bt.Failure, `key "a" has the type int: string is no int`, before},
		{`bb.set("m", {}) bb.set("l", {}) return true`, bt.Success, "", "a=1 l=[] m=map[]"},
		{`bb.get("l")[1] = 7 return bb.get("l")[1] == 1`, bt.Success, "", before},
		{`bb.set("l", { 1, x = 2 }) return true`, bt.Failure, "decide:1: " + errMixed.Error(), before},
		{`bb.set("a") return true`, bt.Failure, "decide:1: it takes a key and a value", before},
		{`return bb.get(1)`, bt.Failure, "decide:1: the first argument is a key: a text", before},
		{`bb.get = nil`, bt.Failure, "decide:1: bb can't be changed", before},
		{`print("hello\27[2J", 1) return true`, bt.Success, `hello\x1b[2J\t1`, before},
	} {
		status, note, keys := decide(t, c.source)
		if status != c.status || note != c.note || keys != c.keys {
			t.Errorf("%s:\ngot  %v, %s, %s\nwant %v, %s, %s", c.source, status, note, keys, c.status, c.note, c.keys)
		}
	}
}

// decide runs a script between two actions and returns its status and note, and the keys
// after it.
func decide(t *testing.T, source string) (status bt.Status, note, keys string) {
	t.Helper()
	functions := map[string]bt.Leaf{
		"before": bt.Func(func(c *bt.Context) bt.Status {
			c.SetGlobal("a", 1)
			c.SetGlobal("l", []any{1, 2})
			c.SetGlobal("m", map[string]any{"x": 1})
			return bt.Success
		}),
		"after": bt.Func(func(c *bt.Context) bt.Status {
			keys = fmt.Sprintf("a=%v l=%v m=%v", c.Get("a"), c.Get("l"), c.Get("m"))
			return bt.Success
		}),
	}
	tree := bt.Tree{Name: "t", Blackboard: bt.Schema{"a": "int", "l": "list", "m": "map"}, Root: bt.Sequence(
		bt.Action("before", "before", nil),
		bt.AlwaysSucceed(bt.RunScript("decide", bt.Script{Source: source})),
		bt.Action("after", "after", nil),
	)}
	program, err := bt.Compile(tree, bt.Library{Script: Script, Functions: functions})
	if err != nil {
		t.Fatal(err)
	}
	nodes := program.Nodes()
	run := program.Start(bt.Options{Trace: func(_ int, _ time.Duration, entries []bt.Entry) {
		for _, e := range entries {
			if nodes[e.Node].Node.Kind == bt.KindScript && e.Status.Finished() {
				status, note = e.Status, e.Note
			}
		}
	}})
	defer run.Close()
	if _, err := run.Drive(t.Context()); err != nil {
		t.Fatal(err)
	}
	return status, note, keys
}

// What a script sets stays in its scope; set_global sets for all.
func TestScopesOfScripts(t *testing.T) {
	board := &bt.Blackboard{}
	tree := bt.Tree{Name: "t", Blackboard: bt.Schema{"a": "int", "b": "int"}, Root: bt.RunScript("decide", bt.Script{Source: `bb.set("a", 1) bb.set_global("b", 2) return true`})}
	program, err := bt.Compile(tree, bt.Library{Script: Script})
	if err != nil {
		t.Fatal(err)
	}
	run := program.Start(bt.Options{Blackboard: board})
	defer run.Close()
	if status, err := run.Drive(t.Context()); status != bt.Success || err != nil {
		t.Fatal(status, err)
	}
	if a, b := board.Get("a"), board.Get("b"); a != nil || b != 2 {
		t.Errorf("a is %v, b %v", a, b)
	}
}

// What a script may use follows from its time, which has an end.
func TestLimitsOfScripts(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{
		0: bt.DefaultScriptTimeout, -1: bt.DefaultScriptTimeout, time.Second: time.Second, bt.MaxScriptTimeout: bt.MaxScriptTimeout, time.Hour: bt.MaxScriptTimeout,
	} {
		if l := scriptLimits(timeout); l.time != want || l.steps != uint64(want.Seconds()*stepsPerSecond)+1 || l.memory != maxMemory {
			t.Errorf("%v: %+v", timeout, l)
		}
	}
}

// What a script prints is kept up to a bound, and it goes on.
func TestPrinted(t *testing.T) {
	c, err := compile("print.lua", []byte(`for i = 1, 20 do print(string.rep("x", 10000)) end return true`))
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.run(t.Context(), nil, testLimits)
	if err != nil || len(out.printed) != maxPrinted || len(out.values) != 1 || out.values[0] != true {
		t.Errorf("%d bytes are kept; it returned %v, %v", len(out.printed), out.values, err)
	}
}

// A file has a bounded number of nodes.
func TestNodes(t *testing.T) {
	for nodes, want := range map[int]bool{maxNodes - 1: true, maxNodes + 1: false} {
		source := fmt.Sprintf(`local f = { fn = "f" } for i = 2, %d do BT.action("a", f) end BT.tree("t", { root = BT.action("a", f) })`, nodes)
		if _, err := Load(t.Context(), "nodes.lua", []byte(source)); (err == nil) != want || !want && !strings.Contains(err.Error(), "10000 nodes") {
			t.Errorf("%d nodes: %v", nodes, err)
		}
	}
}

// A script that names a key which is not declared is refused, and so is one that is no
// Lua.
func TestScriptAtLoad(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{`return bb.get("a")`, ""},
		{`return bb.get(key)`, ""},
		{`return bb.get("b")`, `key "b" is not declared`},
		{`bb.set('c', 1)`, `key "c" is not declared`},
		{`bb.set_global("d", 1)`, `key "d" is not declared`},
		{"local x\nreturn return", "t/decide: decide:2: unexpected symbol near 'return'"},
	} {
		tree := bt.Tree{Name: "t", Blackboard: bt.Schema{"a": "any"}, Root: bt.RunScript("decide", bt.Script{Source: c.source})}
		_, err := bt.Compile(tree, bt.Library{Script: Script})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %s", c.source, err, c.want)
		}
	}
}

// A script that is given up ends.
func TestScriptHalted(t *testing.T) {
	defer goleak.VerifyNone(t)
	tree := bt.Tree{Name: "t", Root: bt.Timeout(10*time.Millisecond, bt.RunScript("slow", bt.Script{Source: "while true do end", Timeout: bt.MaxScriptTimeout}))}
	program, err := bt.Compile(tree, bt.Library{Script: Script})
	if err != nil {
		t.Fatal(err)
	}
	run := program.Start(bt.Options{})
	began := time.Now()
	status, err := run.Drive(t.Context())
	run.Close()
	if status != bt.Failure || err != nil || time.Since(began) >= bt.MaxScriptTimeout {
		t.Errorf("got %v, %v after %v", status, err, time.Since(began))
	}
}

func FuzzLoad(f *testing.F) {
	for _, path := range must(filepath.Glob("testdata/*/*.lua")) {
		source, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(source))
	}
	f.Fuzz(func(t *testing.T, source string) {
		c, err := compile("fuzz.lua", []byte(source))
		if err != nil {
			return
		}
		l := &loader{file: "fuzz.lua"}
		_, err = c.run(t.Context(), map[string]any{"BT": l.functions()}, limits{time.Minute, 200_000, 1 << 20})
		for _, err := range append(l.problems, err) {
			var p bt.Problem
			if err != nil && (!errors.As(err, &p) || len(p.Text) > 10*maxErrorText || safetext.Escape(p.Error()) != p.Error()) {
				t.Errorf("%T: %q", err, err)
			}
		}
	})
}

// A long list of children is written as it comes, but for its last.
func TestLongList(t *testing.T) {
	const child = `BT.action("x", { fn = "f" })`
	source := func(last string) []byte {
		return []byte(`BT.tree("t", { root = BT.sequence({ ` + strings.Repeat(child+", ", 300) + last + ` }) })`)
	}
	if _, err := Load(t.Context(), "long.lua", source(child)); err == nil || !strings.Contains(err.Error(), "put brackets around that call") {
		t.Errorf("got %v", err)
	}
	tree, err := Load(t.Context(), "long.lua", source("("+child+")"))
	if err != nil || len(tree.Root.Children) != 301 {
		t.Errorf("got %v, %v", tree.Root, err)
	}
}
