package bt

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// doing makes a library of functions; those that return nothing succeed.
func doing(functions map[string]func(*Context)) Library {
	l := Library{Functions: map[string]Leaf{}}
	for name, f := range functions {
		l.Functions[name] = Func(func(c *Context) Status { f(c); return Success })
	}
	return l
}

// setting has functions that set the key x, each its own.
func setting() Library {
	return doing(map[string]func(*Context){
		"x":     func(c *Context) { c.Set("x", 1) },
		"y":     func(c *Context) { c.Set("y", 1) },
		"world": func(c *Context) { c.SetGlobal("x", 1) },
	})
}

func do(fn string) *Node { return Action(fn, fn, nil) }

func TestConflictingWrites(t *testing.T) {
	keys := Schema{"x": "int", "y": "int", "list": "list"}
	part := []Subtree{{Name: "part", Root: do("x")}, {Name: "world", Root: do("world")}}
	const conflict = `two children have written the key "x"`
	for _, c := range []struct {
		what string
		root *Node
		note string // of the parallel node; none if it succeeds
	}{
		{"two children, one key", Parallel(0, do("x"), do("x")), conflict},
		{"even if one is enough", Parallel(1, do("x"), do("x")), conflict},
		{"two keys", Parallel(0, do("x"), do("y")), ""},
		{"one child, twice", Parallel(0, Sequence(do("x"), do("x")), do("y")), ""},
		{"deep below", Parallel(0, Sequence(do("y"), Inverter(Inverter(do("x")))), AlwaysSucceed(Sequence(do("x")))), conflict},
		{"a nested one knows its own children only", Parallel(0, Parallel(0, do("x"), do("y"))), ""},
		{"the outer one sees through the inner", Parallel(0, Parallel(0, do("x")), do("x")), conflict},
		{"each subtree has its scope", Parallel(0, UseSubtree("part"), UseSubtree("part"), do("x")), ""},
		{"a subtree's global write is in nobody's scope", Parallel(0, UseSubtree("world"), UseSubtree("world")), conflict},
		{"a scope is not the one below", Parallel(0, do("world"), do("x")), ""},
		{"elements are writes", Parallel(0, ForEach("list", "x", do("y")), do("x")), conflict},
	} {
		t.Run(c.what, func(t *testing.T) {
			board, err := NewBlackboard(map[string]any{"list": []any{1}})
			if err != nil {
				t.Fatal(err)
			}
			run := begin(t, Tree{Name: "tree", Blackboard: keys, Root: c.root, Subtrees: part}, setting(), Options{Blackboard: board})
			status, err := run.Tick(t.Context(), at("0"))
			if err != nil || status != end(c.note == "") || run.Trace()[0].Note != c.note {
				t.Errorf("%v, %v, %q", status, err, run.Trace()[0].Note)
			}
		})
	}
}

func TestConflictOfDifferentTicks(t *testing.T) {
	ticks := 0
	l := setting()
	l.Functions["later"] = Func(func(c *Context) Status {
		if ticks++; ticks%2 == 1 {
			return Running
		}
		c.Set("x", 2)
		return Success
	})
	run := begin(t, Tree{Name: "tree", Blackboard: Schema{"x": "int"}, Root: Parallel(0, do("x"), do("later"))}, l, Options{})
	for i, want := range []Status{Running, Failure, Running, Failure} {
		if got, _ := run.Tick(t.Context(), at(fmt.Sprint(i))); got != want {
			t.Errorf("tick %d: %v", i+1, got)
		}
	}
	// What was written in an earlier round is no conflict.
	once := begin(t, Tree{Name: "tree", Blackboard: Schema{"x": "int"}, Root: Repeat(3, Fresh, Parallel(0, do("x")))}, l, Options{})
	for i, want := range []Status{Running, Running, Success} {
		if got, _ := once.Tick(t.Context(), at("0")); got != want {
			t.Errorf("round %d: %v", i+1, got)
		}
	}
}

func TestForEach(t *testing.T) {
	each := func(min int, goOn bool) *Node {
		n := ForEach("list", "item", do("take"))
		n.Min, n.ContinueOnFailure = min, goOn
		return n
	}
	abc := []any{"a", "b", "c"}
	for _, c := range []struct {
		what  string
		list  any
		root  *Node
		fails string // elements of which the child fails
		want  Status
		took  string
		note  string
	}{
		{"each", abc, each(0, false), "", Success, "abc", ""},
		{"empty", []any{}, each(0, false), "", Success, "", ""},
		{"empty, but one is the least", []any{}, each(1, false), "", Failure, "", "0 of at least 1 elements succeeded"},
		{"a failure ends it", abc, each(0, false), "b", Failure, "ab", ""},
		{"it goes on", abc, each(0, true), "b", Success, "abc", ""},
		{"it goes on, but too few succeed", abc, each(3, true), "b", Failure, "abc", "2 of at least 3 elements succeeded"},
		{"it goes on, and enough succeed", abc, each(2, true), "b", Success, "abc", ""},
		{"all fail, and that is fine", abc, each(0, true), "abc", Success, "abc", ""},
		{"no list", nil, each(0, true), "", Failure, "", `there is no list under "list"`},
		{"another thing", 7, each(0, true), "", Failure, "", `there is no list under "list"`},
		{"an element that the key can't have", []any{"a", 7}, each(0, true), "", Failure, "a", `key "item" has the type string: int is no string`},
	} {
		t.Run(c.what, func(t *testing.T) {
			took := ""
			l := Library{Functions: map[string]Leaf{"take": Func(func(x *Context) Status {
				item := x.Get("item").(string)
				took += item
				return end(!strings.Contains(c.fails, item))
			})}}
			board, err := NewBlackboard(map[string]any{"list": c.list})
			if err != nil {
				t.Fatal(err)
			}
			run := begin(t, Tree{Name: "tree", Blackboard: Schema{"list": "any", "item": "string"}, Root: c.root}, l, Options{Blackboard: board})
			status, err := run.Tick(t.Context(), at("0"))
			if status != c.want || err != nil || took != c.took || run.Trace()[0].Note != c.note {
				t.Errorf("%v, %v, took %q: %q", status, err, took, run.Trace()[0].Note)
			}
		})
	}
}

func TestForEachStaysWithItsElement(t *testing.T) {
	took := ""
	l := Library{Functions: map[string]Leaf{"take": Func(func(c *Context) Status {
		took += c.Get("item").(string)
		c.SetGlobal("list", []any{"x"}) // the list is the one of the first tick
		if len(took)%2 == 1 {
			return Running
		}
		return Success
	})}}
	board, err := NewBlackboard(map[string]any{"list": []any{"a", "b"}})
	if err != nil {
		t.Fatal(err)
	}
	run := begin(t, Tree{Name: "tree", Blackboard: Schema{"list": "list", "item": "string"}, Root: ForEach("list", "item", do("take"))}, l, Options{Blackboard: board})
	for i, want := range []Status{Running, Running, Success} {
		if got, _ := run.Tick(t.Context(), at("0")); got != want {
			t.Errorf("tick %d: %v", i+1, got)
		}
	}
	if took != "aabb" {
		t.Errorf("took %s", took)
	}
}

func TestScopes(t *testing.T) {
	var saw []string
	see := func(c *Context) { saw = append(saw, fmt.Sprintf("%v %v %v", c.Get("x"), c.Get("g"), c.Visible())) }
	l := doing(map[string]func(*Context){
		"see":  see,
		"tree": func(c *Context) { c.Set("x", "tree") },
		"sub":  func(c *Context) { c.Set("x", "sub"); c.SetGlobal("g", "global") },
	})
	inner := Subtree{Name: "inner", Root: Sequence(do("see"), do("sub"), do("see"))}
	outer := Subtree{Name: "outer", Root: Sequence(UseSubtree("inner"), do("see"))}
	tree := Tree{Name: "tree", Blackboard: Schema{"x": "string", "g": "string"}, Subtrees: []Subtree{inner, outer},
		Root: Sequence(do("see"), do("tree"), UseSubtree("outer"), UseSubtree("inner"), do("see"))}
	board, err := NewBlackboard(map[string]any{"x": "old"})
	if err != nil {
		t.Fatal(err)
	}
	run := begin(t, tree, l, Options{Blackboard: board})
	for range 2 {
		if status, err := run.Tick(t.Context(), at("0")); status != Success || err != nil {
			t.Fatal(status, err)
		}
	}
	const global = "g:global "
	round := func(g, known string) []string {
		return []string{
			"old " + g + " map[" + known + "x:old]",   // nobody has set it here
			"tree " + g + " map[" + known + "x:tree]", // a subtree in a subtree reads the tree's
			"sub global map[" + global + "x:sub]",     // and keeps what it writes
			"tree global map[" + global + "x:tree]",   // from the one around it
			"tree global map[" + global + "x:tree]",   // and from its next use
			"sub global map[" + global + "x:sub]",     //
			"tree global map[" + global + "x:tree]",   //
		}
	}
	// The second round finds the global key, and none of the first round's scopes.
	if d := cmp.Diff(slices.Concat(round("<nil>", ""), round("global", global)), saw); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	run.Close()
	if d := cmp.Diff(map[string]any{"x": "old", "g": "global"}, board.Values()); d != "" {
		t.Errorf("what outlives the run (-want +got):\n%s", d)
	}
}

func TestTypes(t *testing.T) {
	port := func(v any) error {
		if n, ok := v.(int); !ok || n < 1 || n > 65535 {
			return fmt.Errorf("%v is no port", v)
		}
		return nil
	}
	values := []any{nil, true, 7, 1.5, "s", []any{1}, map[string]any{"k": 1}, 70000}
	for _, c := range []struct{ name, fits string }{
		{"any", "ssssssss"}, {"bool", "ssffffff"}, {"int", "sfsffffs"}, {"float", "sfssfffs"}, {"number", "sfssfffs"},
		{"string", "sfffsfff"}, {"list", "sffffsff"}, {"map", "sfffffsf"}, {"table", "sfffffsf"}, {"port", "sfsfffff"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i, v := range values {
				l := doing(map[string]func(*Context){"set": func(x *Context) { x.Set("k", v) }})
				l.Types = map[string]Type{"port": port}
				run := begin(t, Tree{Name: "tree", Blackboard: Schema{"k": c.name}, Root: do("set")}, l, Options{})
				status, _ := run.Tick(t.Context(), at("0"))
				if want := end(c.fits[i] == 's'); status != want {
					t.Errorf("%#v: %v, %q", v, status, run.Trace()[0].Note)
				}
			}
		})
	}
}

func TestValuesThatCantBeHeld(t *testing.T) {
	deep := any(1)
	for range 200 {
		deep = []any{deep}
	}
	wide := any(1)
	for range 90 { // 2^90 values, if each is looked at
		wide = []any{wide, wide}
	}
	around := map[string]any{}
	around["a"], around["b"] = around, around
	for name, v := range map[string]any{
		"nan": math.NaN(), "inf": []any{math.Inf(1)}, "struct": struct{}{}, "int64": int64(1), "deep": deep, "wide": wide,
		"around": around, "inside": map[string]any{"k": []string{"a"}},
	} {
		if _, err := NewBlackboard(map[string]any{"k": v}); err == nil {
			t.Errorf("%s is held", name)
		}
	}
}

func TestBlackboardIsFull(t *testing.T) {
	megabyte := strings.Repeat("x", 1<<20)
	n := 0
	l := Library{Functions: map[string]Leaf{
		"value": Func(func(c *Context) Status { n++; c.Set(fmt.Sprint(n%1000), megabyte); return Success }),
		"key":   Func(func(c *Context) Status { n++; c.Set(fmt.Sprint(n)+megabyte, n); return Success }),
		"same":  Func(func(c *Context) Status { n++; c.Set("k", megabyte); return Success }),
	}}
	for _, c := range []struct {
		fn    string
		times int // until it is full
	}{{"value", 99}, {"key", 99}, {"same", 1000}} {
		n = 0
		run := begin(t, Tree{Name: "tree", Root: Repeat(1000, Fresh, do(c.fn))}, l, Options{})
		status := Running
		for status == Running {
			status, _ = run.Tick(t.Context(), at("0"))
		}
		full := c.times < 1000
		if note := run.Trace()[1].Note; n < c.times || n > c.times+1 || strings.Contains(note, "more than the 100 it may") != full {
			t.Errorf("%s: %v after %d times: %.200q", c.fn, status, n, note)
		}
		run.Close()
		if run.board.size != 0 {
			t.Errorf("%s: %d bytes are still counted", c.fn, run.board.size)
		}
	}
}

func TestUndeclared(t *testing.T) {
	l := doing(map[string]func(*Context){"touch": func(c *Context) { c.Get("here"); c.Get("gone"); c.Set("new", 1); c.SetGlobal("part", 1) }})
	var warned []string
	run := begin(t, Tree{Name: "tree", Blackboard: Schema{"here": "any"}, Root: Repeat(2, Fresh, UseSubtree("sub")),
		Subtrees: []Subtree{{Name: "sub", Blackboard: Schema{"part": "int"}, Root: do("touch")}}}, l,
		Options{Warn: func(text string) { warned = append(warned, text) }})
	for range 2 {
		if _, err := run.Tick(t.Context(), at("0")); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		`tree/repeat/sub/touch uses the key "gone", which is not declared`,
		`tree/repeat/sub/touch uses the key "new", which is not declared`,
		`tree/repeat/sub/touch uses the key "part", which is not declared`, // in the global scope
	}
	if d := cmp.Diff(want, warned); d != "" {
		t.Errorf("once each (-want +got):\n%s", d)
	}
}

// TestWarningsAreBounded runs a leaf that uses new keys without end.
func TestWarningsAreBounded(t *testing.T) {
	n, warned, longest := 0, 0, 0
	l := doing(map[string]func(*Context){"touch": func(c *Context) { n++; c.Get(fmt.Sprint(n, strings.Repeat("k", 1<<16))) }})
	run := begin(t, Tree{Name: "tree", Root: do("touch")}, l,
		Options{Warn: func(text string) { warned++; longest = max(longest, len(text)) }})
	for range 2000 {
		if _, err := run.Tick(t.Context(), at("0")); err != nil {
			t.Fatal(err)
		}
	}
	if warned > 200 || longest > 1000 || len(run.warned) > 200 {
		t.Errorf("%d warnings, the longest of %d bytes; %d are kept", warned, longest, len(run.warned))
	}
}

func TestContextByHand(t *testing.T) {
	c := NewContext(nil, at("0"), Args{"n": 2})
	if c.Get("k") != nil || c.Args().Int("n", 0) != 2 || !c.Now().Equal(at("0")) || c.Name() != "" || c.Context().Err() != nil {
		t.Error("a context without a blackboard")
	}
	c.Set("k", 1)
	c.SetGlobal("k", 1)
	c.Alive()()
	board := &Blackboard{}
	c = NewContext(board, at("0"), nil)
	c.Set("k", 1)
	c.SetGlobal("g", 2)
	if d := cmp.Diff(map[string]any{"k": 1, "g": 2}, c.Visible()); d != "" || board.Get("g") != 2 {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestArgs(t *testing.T) {
	a := Args{"s": "text", "i": 2, "f": 2.0, "h": 2.5}
	got := []any{a.Text("s", "-"), a.Text("i", "-"), a.Number("i", 0), a.Number("h", 0), a.Number("s", 9), a.Int("i", 0), a.Int("f", 0), a.Int("h", 9), a.Int("s", 9), a.Int("gone", 9)}
	if d := cmp.Diff([]any{"text", "-", 2.0, 2.5, 9.0, 2, 2, 9, 9, 9}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
