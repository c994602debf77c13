package bt

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// portsTree uses a subtree twice, the second time through another one.
func portsTree(fn string) Tree {
	ports := map[string]Port{"in": In, "out": Out, "both": InOut}
	return Tree{Name: "tree", Blackboard: Schema{"question": "string", "answer": "any", "seen": "int", "in": "string"},
		Root: Sequence(do("begin"), UseSubtreeWith("outer", map[string]string{"in": "question", "out": "answer", "both": "seen"})),
		Subtrees: []Subtree{
			{Name: "outer", Blackboard: Schema{"in": "any", "out": "string", "both": "int", "own": "any"}, Ports: ports,
				Root: UseSubtreeWith("inner", map[string]string{"in": "in", "out": "out", "both": "both"})},
			{Name: "inner", Blackboard: Schema{"in": "any", "out": "any", "both": "any"}, Ports: ports, Root: do(fn)},
		}}
}

// TestPorts sets and gets keys through the ports of two subtrees.
func TestPorts(t *testing.T) {
	seen := map[string]any{}
	for _, c := range []struct {
		what string
		do   func(*Context)
		want map[string]any // on the tree's blackboard, or what the leaf has seen
		note string
	}{
		{"an input is read", func(c *Context) { seen["got"] = c.Get("in") }, map[string]any{"got": "why?"}, ""},
		{"an output is set", func(c *Context) { c.Set("out", "so") }, map[string]any{"answer": "so"}, ""},
		{"both are read and set", func(c *Context) { c.Set("both", c.Get("both").(int)+1) }, map[string]any{"seen": 2}, ""},
		{"an input can't be set", func(c *Context) { c.Set("in", "x") }, map[string]any{"question": "why?", "in": "the tree's own"}, `key "in" is an input of the subtree: it can't be set`},
		{"an output can't be read", func(c *Context) { c.Set("out", "so"); seen["got"] = c.Get("out") }, map[string]any{"got": nil}, ""},
		{"the type of the key around it holds", func(c *Context) { c.Set("both", "text") }, map[string]any{"seen": 1}, `key "both" has the type int: string is no int`},
		{"the type of the port between holds", func(c *Context) { c.Set("out", 1) }, map[string]any{"answer": "old"}, `key "out" has the type string: int is no string`},
		{"other keys are the subtree's own", func(c *Context) { c.Set("question", "mine"); seen["got"] = c.Get("question") }, map[string]any{"got": "mine"}, ""},
		{"all that can be seen", func(c *Context) { seen["got"] = c.Visible() },
			map[string]any{"got": map[string]any{"question": "why?", "answer": "old", "seen": 1, "in": "why?", "both": 1, "out": nil}}, ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			clear(seen)
			var board func(key string) any
			l := Library{Functions: map[string]Leaf{
				"begin": Func(func(c *Context) Status {
					c.Set("question", "why?")
					c.Set("seen", 1)
					c.Set("answer", "old")
					c.Set("in", "the tree's own")
					return Success
				}),
				"leaf": Func(func(x *Context) Status { c.do(x); return Success }),
			}}
			var warned []string
			run := begin(t, portsTree("leaf"), l, Options{Warn: func(text string) { warned = append(warned, text) }})
			board = func(key string) any { return run.scopes[treeScope][key].value }
			if _, err := run.Tick(t.Context(), at("0")); err != nil {
				t.Fatal(err)
			}
			got := map[string]any{}
			for key := range c.want {
				if got[key] = board(key); key == "got" {
					got[key] = seen["got"]
				}
			}
			entry := run.Trace()[len(run.Trace())-1]
			if d := cmp.Diff(c.want, got); d != "" || entry.Note != c.note || (entry.Status == Failure) != (c.note != "") {
				t.Errorf("%+v (-want +got)\n%s", entry, d)
			}
			if said := strings.Join(warned, "\n"); strings.Contains(said, "it is an output of the subtree") != (c.what == "an output can't be read") {
				t.Errorf("warned: %s", said)
			}
		})
	}
}

// TestConflictThroughPorts has two children of a parallel node write one key by two names.
func TestConflictThroughPorts(t *testing.T) {
	set := Func(func(c *Context) Status { c.Set("out", 1); return Success })
	tree := Tree{Name: "tree", Blackboard: Schema{"a": "any", "b": "any"},
		Root:     Parallel(0, UseSubtreeWith("s", map[string]string{"out": "a"}), UseSubtreeWith("s", map[string]string{"out": "b"})),
		Subtrees: []Subtree{{Name: "s", Blackboard: Schema{"out": "any"}, Ports: map[string]Port{"out": Out}, Root: do("set")}}}
	for second, want := range map[string]Status{"a": Failure, "b": Success} {
		tree.Root.Children[1].Ports["out"] = second
		run := begin(t, tree, Library{Functions: map[string]Leaf{"set": set}}, Options{})
		if status, err := run.Tick(t.Context(), at("0")); status != want || err != nil {
			t.Errorf("%s: %v, %v", second, status, err)
		}
	}
}

// TestUnusedSubtreeWithPorts compiles a subtree that nothing uses.
func TestUnusedSubtreeWithPorts(t *testing.T) {
	tree := portsTree("begin")
	tree.Root = do("begin")
	if _, err := Compile(tree, Library{Functions: map[string]Leaf{"begin": Func(nil)}}); err != nil {
		t.Error(err)
	}
}

func TestSpend(t *testing.T) {
	spends := []Spent{{Tokens: 3}, {Tokens: -9, Money: -1}, {Tokens: math.MaxInt, Money: math.MaxInt64}, {Tokens: math.MaxInt, Money: math.MaxInt64}}
	l := Library{Functions: map[string]Leaf{"spend": {
		Tick: func(c *Context) Status {
			if len(spends) > 0 {
				c.Spend(spends[0])
				spends = spends[1:]
			}
			return Running
		},
		Halt: func(c *Context) { c.Spend(Spent{Tokens: 1000}) },
	}}}
	inner := WithBudget(Budget{Spent: Spent{Tokens: math.MaxInt, Money: math.MaxInt64}}, do("spend"))
	run := begin(t, Tree{Name: "tree", Root: Sequence(inner)}, l, Options{})
	for _, want := range []Spent{{3, 0}, {3, 0}, {math.MaxInt, math.MaxInt64}, {math.MaxInt, math.MaxInt64}} {
		status, err := run.Tick(t.Context(), at("0"))
		if got := run.extras[1].spent; got != want || status != Running || err != nil {
			t.Errorf("%+v, not %+v; %v, %v", got, want, status, err)
		}
	}
	spends = []Spent{{Tokens: 3}}
	run = begin(t, Tree{Name: "tree", Root: Sequence(inner)}, l, Options{})
	if _, err := run.Tick(t.Context(), at("0")); err != nil {
		t.Fatal(err)
	}
	run.Close()
	if got := run.extras[1].spent.Tokens; got != 3 {
		t.Errorf("%d tokens after it was given up", got)
	}
	byHand := NewContext(nil, at("0"), nil)
	byHand.Spend(Spent{Tokens: 2})
	if byHand.spent.Tokens != 2 {
		t.Errorf("%+v", byHand.spent)
	}
}

// TestFaultWhileRunning fails a leaf that says it is RUNNING: it is told that it is given up.
func TestFaultWhileRunning(t *testing.T) {
	halted := 0
	l := Library{Functions: map[string]Leaf{"bad": {
		Tick: func(c *Context) Status { c.Note("mine"); c.Set("n", "text"); return Running },
		Halt: func(*Context) { halted++ },
	}}}
	run := begin(t, Tree{Name: "tree", Blackboard: Schema{"n": "int"}, Root: Sequence(do("bad"))}, l, Options{})
	status, err := run.Tick(t.Context(), at("0"))
	if note := run.Trace()[1].Note; status != Failure || err != nil || halted != 1 || note != `key "n" has the type int: string is no int` {
		t.Errorf("%v, %v, %d times, %q", status, err, halted, note)
	}
}

func TestAmount(t *testing.T) {
	for millionths, want := range map[int64]string{0: "0", 1: "0.000001", 250_000: "0.25", 3_000_000: "3", 1_050_000: "1.05"} {
		if got := amount(millionths); got != want {
			t.Errorf("%d: %s, not %s", millionths, got, want)
		}
	}
}
