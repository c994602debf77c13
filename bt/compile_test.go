package bt

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// ported is a tree that uses a subtree, with keys for its ports.
func ported(s Subtree, ports map[string]string) Tree {
	s.Name = "s"
	if s.Root == nil {
		s.Root = Sequence()
	}
	return Tree{Root: UseSubtreeWith("s", ports), Subtrees: []Subtree{s},
		Blackboard: Schema{"text": "string", "list": "list", "whole": "int", "half": "number"}}
}

func TestProblems(t *testing.T) {
	good := Library{Functions: map[string]Leaf{
		"leaf":                Func(nil, "threshold"),
		"signals.has_signal":  Func(nil),
		"oracle.log":          Func(nil),
		"signals.log":         Func(nil),
		"keys":                Func(nil).Using([]string{"seen"}, []string{"made"}),
		"other.very.long.one": Func(nil),
		"slow":                Async(nil),
		"checked": Func(nil, "n").Checked(func(a Args) error {
			if n := a.Int("n", 0); n != 1 && n != 2 {
				return errors.New("n is 1 or 2")
			}
			return nil
		}),
	}, Keys: Schema{"wanted": "int"}}
	full := good
	full.LLM = func(LLMCall) (Leaf, error) { return Leaf{}, errors.New("there is no model") }
	full.Tool = func(ToolCall) (Leaf, error) { return Leaf{}, nil }
	full.Script = func(name string, s Script) (Leaf, error) { return Leaf{}, fmt.Errorf("%s: %v", name, s.Timeout) }
	leaf := Action("a", "leaf", nil)
	fn := func(fn string) *Node { return Action("a", fn, nil) }
	for _, c := range []struct {
		what string
		tree Tree
		want string
	}{
		{"no root", Tree{}, "tree: the tree has no root"},
		{"a missing child", Tree{Root: Sequence(leaf, nil)}, "tree/sequence: a child is missing"},
		{"a kind that is none", Tree{Root: &Node{Kind: "jump"}}, `tree/jump: there is no kind of node "jump"`},
		{"too few children", Tree{Root: &Node{Kind: KindGuard, Children: []*Node{cond("a")}}}, "tree/guard: guard has 2 children, and not 1"},
		{"no children", Tree{Root: &Node{Kind: KindGuard}}, "tree/guard: guard has 2 children, and not 0"},
		{"children of a leaf", Tree{Root: &Node{Kind: KindAction, Fn: "leaf", Children: []*Node{leaf}}}, "tree/action: action has no children"},
		{"parallel, too many", Tree{Root: Parallel(2, leaf)}, "tree/parallel: 2 of 1 children can't succeed"},
		{"for_each without keys", Tree{Root: ForEach("", "", leaf)}, "tree/for_each: it needs the key of a list and a key for its element"},
		{"for_each, minimum", Tree{Root: &Node{Kind: KindForEach, List: "l", Item: "i", Min: -1, Children: []*Node{leaf}}, Blackboard: Schema{"l": "any", "i": "any"}}, "tree/for_each: a minimum of -1 can't be met"},
		{"a timeout of nothing", Tree{Root: Timeout(0, leaf)}, "tree/timeout: it needs a time of more than 0, and at most a year"},
		{"a cooldown of less", Tree{Root: Cooldown(-1, leaf)}, "tree/cooldown: it needs a time of more than 0, and at most a year"},
		{"a timeout that never comes", Tree{Root: Timeout(1<<63-1, leaf)}, "tree/timeout: it needs a time of more than 0, and at most a year"},
		{"retries", Tree{Root: Retry(-1, 0, leaf)}, "tree/retry: retries and back-off are 0 or more, the back-off at most a year"},
		{"repeat", Tree{Root: Repeat(1, Running, leaf)}, "tree/repeat: times is 0 or more, and what stops it is SUCCESS or FAILURE"},
		{"a guard of an action", Tree{Root: Guard(Sequence(cond("a"), Inverter(act("b"))), leaf)}, "tree/guard: a guard's condition is made of conditions: it is asked at each tick, and never RUNNING"},
		{"a switch without a key", Tree{Root: Switch("", nil, Case{1, leaf})}, "tree/switch: it needs the key whose value decides"},
		{"a switch without cases", Tree{Root: Switch("k", leaf), Blackboard: Schema{"k": "any"}}, "tree/switch: it needs a child for each case, and may have one more for all others: there are 1 for 0"},
		{"a switch with too few children", Tree{Root: &Node{Kind: KindSwitch, Key: "k", Cases: []any{1, 2}, Children: []*Node{leaf}}, Blackboard: Schema{"k": "any"}}, "tree/switch: it needs a child for each case, and may have one more for all others: there are 1 for 2"},
		{"a switch of a key that is not declared", Tree{Root: Switch("k", nil, Case{1, leaf})}, `tree/switch: key "k" is not declared: add it to the blackboard of "tree"`},
		{"a case that is no value", Tree{Root: Switch("k", nil, Case{[]any{}, leaf}), Blackboard: Schema{"k": "any"}}, "tree/switch: a case is a text, a number or a bool, and not list"},
		{"a case that never is", Tree{Root: Switch("k", nil, Case{"1", leaf}), Blackboard: Schema{"k": "int"}}, `tree/switch: key "k" has the type int, and is never "1"`},
		{"two cases that are the same", Tree{Root: Switch("k", nil, Case{1, leaf}, Case{1.0, leaf}), Blackboard: Schema{"k": "number"}}, "tree/switch: there are two cases for 1"},
		{"a budget of nothing", Tree{Root: WithBudget(Budget{}, leaf)}, "tree/budget: it needs tokens, money or a time"},
		{"a budget of less", Tree{Root: WithBudget(Budget{Spent{-1, 0}, time.Second}, leaf)}, "tree/budget: tokens, money and time are 0 or more, the time at most a year"},
		{"a guard of a reactive node", Tree{Root: Guard(ReactiveSequence(cond("a")), leaf)}, "tree/guard: a guard's condition is made of conditions: it is asked at each tick, and never RUNNING"},

		{"a port that is none", ported(Subtree{Blackboard: Schema{"p": "any"}, Ports: map[string]Port{"p": "through"}}, nil), `s: port "p" is in, out or inout, and not "through"
tree/s: port "p" stands for no key: add ports = {p = "a key"}`},
		{"a port without a type", ported(Subtree{Ports: map[string]Port{"p": In}}, map[string]string{"p": "text"}), `s: port "p" has no type: add it to the blackboard of "s"`},
		{"a port without a key", ported(Subtree{Blackboard: Schema{"p": "any"}, Ports: map[string]Port{"p": In}}, nil), `tree/s: port "p" stands for no key: add ports = {p = "a key"}`},
		{"a key for a port that there is not", ported(Subtree{Blackboard: Schema{"p": "any"}, Ports: map[string]Port{"port": In}}, map[string]string{"prot": "text"}), `s: port "port" has no type: add it to the blackboard of "s"
tree/s: s has no port "prot"; is "port" meant?
tree/s: port "port" stands for no key: add ports = {port = "a key"}`},
		{"a port for a key that is not declared", ported(Subtree{Blackboard: Schema{"p": "any"}, Ports: map[string]Port{"p": In}}, map[string]string{"p": "tex"}), `tree/s: key "tex" is not declared: add it to the blackboard of "tree"; is "text" meant?`},
		{"an input of another type", ported(Subtree{Blackboard: Schema{"p": "int"}, Ports: map[string]Port{"p": In}}, map[string]string{"p": "text"}), `tree/s: port "p" has the type int, and key "text" the type string`},
		{"an input that takes less", ported(Subtree{Blackboard: Schema{"p": "int"}, Ports: map[string]Port{"p": In}}, map[string]string{"p": "half"}), `tree/s: port "p" has the type int, and key "half" the type number`},
		{"an output that gives more", ported(Subtree{Blackboard: Schema{"p": "float"}, Ports: map[string]Port{"p": Out}}, map[string]string{"p": "whole"}), `tree/s: port "p" has the type float, and key "whole" the type int`},
		{"an output that is read", ported(Subtree{Blackboard: Schema{"p": "list", "i": "any"}, Ports: map[string]Port{"p": Out}, Root: ForEach("p", "i", leaf)}, map[string]string{"p": "list"}), `tree/s/for_each: key "p" is an output of the subtree, which can't be read: make it inout`},
		{"an input that is set", ported(Subtree{Blackboard: Schema{"p": "any"}, Ports: map[string]Port{"p": In}, Root: ForEach("list", "p", leaf)}, map[string]string{"p": "list"}), `tree/s/for_each: key "p" is an input of the subtree, which can't be set: make it inout`},
		{"an input that is given on as an output", Tree{Root: UseSubtreeWith("s", map[string]string{"p": "k"}), Blackboard: Schema{"k": "any"}, Subtrees: []Subtree{
			{Name: "s", Blackboard: Schema{"p": "any"}, Ports: map[string]Port{"p": In}, Root: UseSubtreeWith("t", map[string]string{"q": "p"})},
			{Name: "t", Blackboard: Schema{"q": "any"}, Ports: map[string]Port{"q": Out}, Root: leaf}}}, `tree/s/t: key "p" is an input of the subtree, which can't be set: make it inout`},

		{"an action without fn", Tree{Root: fn("")}, "tree/a: it needs fn, the function to call"},
		{"llm_call", Tree{Root: &Node{Kind: KindLLMCall}}, "tree/llm_call: there is no call"},
		{"llm_call's times", Tree{Root: AskModel("a", LLMCall{Timeout: -1})}, "tree/a: time-out, back-off and budget are 0 or more, the times at most a year"},
		{"a model that the library has not", Tree{Root: ask("a")}, "tree/a: there is no model"},
		{"a tool without a name", Tree{Root: CallTool("a", ToolCall{})}, "tree/a: it needs the name of a tool"},
		{"an empty script", Tree{Root: RunScript("a", Script{})}, "tree/a: there is no script"},
		{"a long script", Tree{Root: RunScript("a", Script{Source: "x", Timeout: 31 * time.Second})}, "tree/a: a script's time is at most 30s"},
		{"a script that the library refuses, with its default time", Tree{Root: RunScript("a", Script{Source: "x"})}, "tree/a: a: 5s"},

		{"a function that is misspelt", Tree{Root: fn("bt.conditions.has_singal")}, `tree/a: there is no function "bt.conditions.has_singal"; is "signals.has_signal" meant?`},
		{"a function that is like nothing", Tree{Root: fn("zzzzzzzzz")}, `tree/a: there is no function "zzzzzzzzz"`},
		{"a function that two can be", Tree{Root: fn("log")}, `tree/a: fn "log" can be oracle.log or signals.log: say which`},
		{"an argument that is misspelt", Tree{Root: Action("a", "leaf", Args{"treshold": 1})}, `tree/a: leaf takes no argument "treshold"; is "threshold" meant?`},
		{"an argument that is no value", Tree{Root: Action("a", "leaf", Args{"threshold": []int{1}})}, `tree/a: argument "threshold": a blackboard holds no []int: only nil, bool, int, float64, string, []any and map[string]any`},

		{"a type that is none", Tree{Root: leaf, Blackboard: Schema{"k": "strnig"}}, `tree: key "k": there is no type "strnig"; there are any, bool, float, int, list, map, number, string, table`},
		{"keys of a function", Tree{Root: fn("keys"), Blackboard: Schema{"seen": "any"}}, `tree/a: key "made" is not declared: add it to the blackboard of "tree"`},
		{"keys of for_each", Tree{Root: ForEach("l", "i", leaf), Blackboard: Schema{"l": "list"}}, `tree/for_each: key "i" is not declared: add it to the blackboard of "tree"`},
		{"a key of another type", Tree{Root: leaf, Blackboard: Schema{"wanted": "string"}}, `tree: key "wanted" has the type string, and the functions that use it want int`},
		{"a key whose type is known", Tree{Root: ForEach("l", "wanted", leaf), Blackboard: Schema{"l": "list"}}, `tree/for_each: key "wanted" is not declared: add wanted = "int" to the blackboard of "tree"`},
		{"a key that is misspelt", Tree{Root: ForEach("liszt", "i", leaf), Blackboard: Schema{"list": "list", "i": "any"}}, `tree/for_each: key "liszt" is not declared: add it to the blackboard of "tree"; is "list" meant?`},
		{"for_each over no list", Tree{Root: ForEach("l", "i", leaf), Blackboard: Schema{"l": "string", "i": "any"}}, `tree/for_each: key "l" has the type string, and for_each goes through a list`},
		{"an argument that the function refuses", Tree{Root: Action("a", "checked", Args{"n": 3})}, `tree/a: checked: n is 1 or 2`},
		{"a condition that takes its time", Tree{Root: Condition("a", "slow", nil)}, `tree/a: a condition is never RUNNING, and slow takes its time: make it an action`},
		{"keys of a tool", Tree{Root: CallTool("a", ToolCall{Tool: "t", From: map[string]string{"x": "from"}, Result: "to"}), Blackboard: Schema{"to": "any"}}, `tree/a: key "from" is not declared: add it to the blackboard of "tree"`},
		{"keys of a subtree are not the tree's", Tree{Root: Sequence(UseSubtree("s"), fn("keys")), Blackboard: Schema{"made": "any"},
			Subtrees: []Subtree{{Name: "s", Root: fn("keys"), Blackboard: Schema{"seen": "any"}}}}, `tree/sequence/a: key "seen" is not declared: add it to the blackboard of "tree"`},

		{"a subtree that there is not", Tree{Root: UseSubtree("tunr"), Subtrees: []Subtree{{Name: "turn", Root: leaf}}}, `tree/tunr: there is no subtree "tunr"; is "turn" meant?`},
		{"a subtree without a root", Tree{Root: UseSubtree("s"), Subtrees: []Subtree{{Name: "s"}}}, "s: the subtree has no root"},
		{"two subtrees of one name", Tree{Root: UseSubtree("s"), Subtrees: []Subtree{{Name: "s", Root: leaf}, {Name: "s", Root: leaf}}}, "s: there are two subtrees of this name"},
		{"a subtree that uses itself", Tree{Root: UseSubtree("s"), Subtrees: []Subtree{{Name: "s", Root: Sequence(UseSubtree("s"))}}}, "tree/s/sequence/s: the subtree uses itself: s > s"},
		{"subtrees that use each other", Tree{Root: UseSubtree("s"), Subtrees: []Subtree{{Name: "s", Root: Inverter(UseSubtree("t"))}, {Name: "t", Root: UseSubtree("s")}}}, "tree/s/inverter/t/s: the subtree uses itself: s > t > s"},
		{"what is wrong where nothing uses it", Tree{Root: leaf, Subtrees: []Subtree{{Name: "s", Root: fn("gone"), At: "t.lua:9"}}}, `tree/s/a: there is no function "gone"; is "other.very.long.one" meant?`},
		{"where it stands", Tree{Root: &Node{Kind: KindTimeout, Name: "limit", At: "t.lua:7", Children: []*Node{leaf}}}, "t.lua:7: tree/limit: it needs a time of more than 0, and at most a year"},
		{"all at once", Tree{Root: Sequence(Timeout(0, leaf), Retry(-1, 0, leaf))}, "tree/sequence/timeout: it needs a time of more than 0, and at most a year\ntree/sequence/retry: retries and back-off are 0 or more, the back-off at most a year"},
	} {
		t.Run(c.what, func(t *testing.T) {
			c.tree.Name = "tree"
			_, err := Compile(c.tree, full)
			if err == nil {
				t.Fatal("it compiles")
			}
			if d := cmp.Diff(c.want, err.Error()); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			var p Problem
			if !errors.As(err, &p) {
				t.Error("it is no Problem")
			}
		})
	}
	for _, root := range []*Node{ask("a"), CallTool("a", ToolCall{Tool: "t"}), RunScript("a", Script{Source: "x"})} {
		if _, err := Compile(Tree{Name: "tree", Root: root}, good); err == nil || err.Error() != "tree/a: nothing here can do a "+string(root.Kind) {
			t.Error(err)
		}
	}
}

func TestFunctionsAreFoundByTheirLastComponents(t *testing.T) {
	functions := map[string]Leaf{"a.log": {}, "b.a.log": {}, "signals.has": {}, "plain": {}}
	for fn, want := range map[string]string{
		"a.log": "a.log", "x.a.log": "a.log", "x.b.a.log": "b.a.log", "has": "signals.has",
		"backend.bt.signals.has": "signals.has", "plain": "plain", "x.plain": "plain",
	} {
		if got, err := resolve(fn, functions); got != want || err != nil {
			t.Errorf("%s: %q, %v", fn, got, err)
		}
	}
	for _, fn := range []string{"log", "xplain", "signals.has.", ".", "plain.x"} {
		if got, err := resolve(fn, functions); err == nil {
			t.Errorf("%s: %q", fn, got)
		}
	}
}

// TestHugeTrees compiles what would take for ever, or all memory, if it were followed.
func TestHugeTrees(t *testing.T) {
	double := func(leaf *Node) *Node {
		for range 100 {
			leaf = Sequence(leaf, leaf)
		}
		return leaf
	}
	var chain []Subtree
	for i := range 1000 {
		next := fmt.Sprintf("s%d", i+1)
		chain = append(chain, Subtree{Name: fmt.Sprintf("s%d", i), Root: Sequence(UseSubtree(next), UseSubtree(next))})
	}
	chain = append(chain, Subtree{Name: "s1000", Root: act("a")})
	around := Sequence(act("a"))
	around.Children = append(around.Children, around, around)
	circle := Sequence(cond("a"))
	circle.Children = append(circle.Children, circle)
	deep := act("a")
	for range 10_000 {
		deep = Inverter(deep)
	}
	long := Sequence()
	for range 9_000 {
		long.Children = append(long.Children, act("a"))
	}
	for range 490 {
		long = Inverter(long)
		long.Name = strings.Repeat("n", 100_000)
	}
	for what, tree := range map[string]Tree{
		"a node used twice by one used twice": {Root: double(act("a"))},
		"a condition used twice":              {Root: Guard(double(cond("a")), act("b"))},
		"subtrees":                            {Root: UseSubtree("s0"), Subtrees: chain},
		"subtrees that nothing uses":          {Root: act("a"), Subtrees: chain},
		"a node in itself":                    {Root: around},
		"a condition in itself":               {Root: Guard(circle, act("b"))},
		"a deep tree":                         {Root: deep},
		"long names":                          {Root: long},
		"a long fn":                           {Root: Sequence(slicesRepeat(Action("a", strings.Repeat("x", 1<<20), nil), 1000)...)},
		"a long list of nothing":              {Root: Sequence(make([]*Node, 1_000_000)...)},
	} {
		t.Run(what, func(t *testing.T) {
			tree.Name = "tree"
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Compile(tree, newCast("").library())
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Error("it compiles")
			}
			if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 200 {
				t.Errorf("it took %d MB", mb)
			}
		})
	}
}

func slicesRepeat(n *Node, times int) []*Node {
	all := make([]*Node, times)
	for i := range all {
		all[i] = n
	}
	return all
}

func TestNodes(t *testing.T) {
	twice := Inverter(act("b"))
	twice.Name = "twice"
	tree := Tree{Name: "tree", Description: "what it is for", Root: Sequence(UseSubtree("s"), twice),
		Subtrees: []Subtree{{Name: "s", Root: act("a")}}}
	program, err := Compile(tree, newCast("").library())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range program.Nodes() {
		got = append(got, fmt.Sprint(n.Index, n.Parent, n.Children, n.Depth, " ", n.Path, " ", n.Scope, " ", n.Node.Title()))
	}
	want := []string{
		"0 -1 [1 3] 0 tree/sequence tree sequence",
		"1 0 [2] 1 tree/sequence/s tree subtree s",
		"2 1 [] 2 tree/sequence/s/a s action a",
		"3 0 [4] 1 tree/sequence/twice tree inverter twice",
		"4 3 [] 2 tree/sequence/twice/b tree action b",
	}
	if d := cmp.Diff(want, got); d != "" || program.Name() != "tree" || program.Description() != "what it is for" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
