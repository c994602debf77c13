package bt_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/signalbox-dev/signalbox/bt"
)

var updateDrawings = flag.Bool("update", false, "rewrite the drawings in testdata/draw")

// results are what leaves answer, tick by tick; the last one repeats. A leaf that is not
// there succeeds.
type results map[string][]bt.Status

// leaves makes a library for any tree: it has every function that the tree names.
func (r results) leaves(t bt.Tree) bt.Library {
	asked := map[string]int{}
	tick := func(c *bt.Context) bt.Status {
		all := r[c.Name()]
		if len(all) == 0 {
			return bt.Success
		}
		s := all[min(asked[c.Name()], len(all)-1)]
		asked[c.Name()]++
		if s == bt.Failure {
			c.Note("%s could not be done: nobody answered\nand more", c.Name())
		}
		return s
	}
	library := bt.Library{
		Functions: map[string]bt.Leaf{},
		LLM:       func(bt.LLMCall) (bt.Leaf, error) { return bt.Func(tick), nil },
		Tool:      func(bt.ToolCall) (bt.Leaf, error) { return bt.Func(tick), nil },
		Script:    func(string, bt.Script) (bt.Leaf, error) { return bt.Func(tick), nil },
	}
	var visit func(n *bt.Node)
	visit = func(n *bt.Node) {
		var params []string
		for arg := range n.Args {
			params = append(params, arg)
		}
		library.Functions[n.Fn] = bt.Func(tick, append(params, library.Functions[n.Fn].Params...)...)
		for _, child := range n.Children {
			visit(child)
		}
	}
	visit(t.Root)
	for _, s := range t.Subtrees {
		visit(s.Root)
	}
	return library
}

// drawable compiles a tree and ticks it at these times, and returns its marks.
func drawable(t interface{ Fatal(...any) }, tree bt.Tree, r results, times ...time.Duration) (*bt.Program, []bt.Entry) {
	p, err := bt.Compile(tree, r.leaves(tree))
	if err != nil {
		t.Fatal(err)
	}
	var marks []bt.Entry
	run := p.Start(bt.Options{Trace: func(_ int, _ time.Duration, e []bt.Entry) { marks = p.Mark(marks, e) }})
	defer run.Close()
	for _, at := range times {
		if _, err := run.Tick(context.Background(), time.Unix(0, 0).Add(at)); err != nil {
			t.Fatal(err)
		}
	}
	return p, marks
}

// agentTree is an agent's loop: a model is asked, its signal is read, and decides.
func agentTree() bt.Tree {
	is := func(name, kind string) *bt.Node {
		return bt.Condition(name, "bt.conditions.signals.signal_type_is", bt.Args{"expected_type": kind})
	}
	act := func(name, fn string) *bt.Node { return bt.Action(name, "bt.actions."+fn, nil) }
	turn := bt.Sequence(
		act("build-llm-request", "oracle.build_llm_request"),
		bt.AskModel("", bt.LLMCall{Prompt: []string{"messages", "tools"}, Stream: "llm_response", Budget: 4000}),
		bt.AlwaysSucceed(bt.Sequence(
			act("parse-signal", "signal_actions.parse_response_signal"),
			act("update-signal-state", "signal_actions.update_signal_state"),
			bt.AlwaysSucceed(act("log-signal", "signal_actions.log_signal")),
			act("strip-signal", "signal_actions.strip_signal_from_response"),
		)),
		bt.Selector(
			bt.Sequence(is("is-stuck", "stuck"), act("noop", "oracle.noop")),
			bt.Sequence(is("context-sufficient", "context_sufficient"), act("noop", "oracle.noop")),
			bt.UseSubtree("tool-calls"),
		),
	)
	calls := bt.Timeout(30*time.Second, bt.Retry(2, time.Second, bt.CallTool("search", bt.ToolCall{
		Tool: "search_code", Args: bt.Args{"limit": 20}, From: map[string]string{"query": "call"}, Result: "results",
	})))
	return bt.Tree{
		Name: "oracle-agent", Description: "Answers a question with tools; the model's signals steer it",
		Blackboard: bt.Schema{"messages": "list", "tools": "list", "llm_response": "string", "call": "any", "results": "any"},
		Root: bt.Sequence(
			act("reset-state", "oracle.reset_state"),
			bt.Parallel(0, act("load-history", "oracle.load_history"), act("connect-tools", "oracle.connect_tools")),
			bt.Guard(bt.Condition("within-budget", "bt.conditions.within_budget", bt.Args{"turns": 30, "tokens": 200000}),
				bt.Repeat(30, bt.Failure, bt.UseSubtree("agent-turn"))),
			act("emit-done", "oracle.emit_done"),
		),
		Subtrees: []bt.Subtree{{Name: "agent-turn", Root: turn}, {Name: "tool-calls", Root: calls}},
	}
}

// kindsTree has every kind, with all that can be set, and what is shortened.
func kindsTree() bt.Tree {
	leaf := func(name string) *bt.Node { return bt.Action(name, name, nil) }
	return bt.Tree{
		Name: "kinds", Blackboard: bt.Schema{"list": "list", "item": "any", "a": "any", "b": "any"},
		Root: bt.Sequence(
			bt.Parallel(0, leaf("a"), leaf("b")),
			bt.Parallel(1, leaf("a"), leaf("b")),
			&bt.Node{Kind: bt.KindForEach, Name: "each", List: "list", Item: "item", Min: 2, ContinueOnFailure: true, Children: []*bt.Node{leaf("one")}},
			bt.ForEach("list", "item", leaf("one")),
			bt.Timeout(90*time.Second, bt.Cooldown(time.Hour, bt.Inverter(bt.AlwaysFail(bt.AlwaysSucceed(leaf("deep")))))),
			bt.Retry(1, 0, bt.Retry(3, 1500*time.Millisecond, leaf("again"))),
			bt.Repeat(0, bt.Fresh, bt.Repeat(0, bt.Success, bt.Repeat(1, bt.Fresh, bt.Repeat(5, bt.Failure, leaf("round"))))),
			bt.Selector(bt.Condition("", "some.where.ready", nil), bt.UseSubtree("part"), bt.UseSubtree("part")),
			bt.ReactiveSequence(leaf("a"), bt.ReactiveSelector(leaf("b"))),
			bt.Switch("a", leaf("other"), bt.Case{Is: "code", Child: leaf("a")}, bt.Case{Is: 2, Child: leaf("b")}, bt.Case{Is: 0.5, Child: leaf("b")}, bt.Case{Is: true, Child: leaf("b")}),
			bt.Switch("b", nil, bt.Case{Is: strings.Repeat("long ", 100), Child: leaf("a")}),
			bt.WithBudget(bt.Budget{Spent: bt.Spent{Tokens: 1, Money: 1_050_000}, Time: time.Minute}, bt.WithBudget(bt.Budget{Spent: bt.Spent{Money: 3_000_000}}, leaf("a"))),
			bt.UseSubtreeWith("ported", map[string]string{"in": "a", "out": "b"}),
			bt.Action("values", "take", bt.Args{"a": nil, "b": true, "c": -1, "d": 0.25, "e": `say "yes" \o/`,
				"f": []any{1, "two"}, "g": map[string]any{"y": 2, "x": []any{}}}),
			bt.Action("long", "take", bt.Args{"text": strings.Repeat("long ", 1000)}),
			bt.Action(strings.Repeat("name", 100), "package.function", nil),
			bt.AskModel("ask", bt.LLMCall{Model: "m", Prompt: []string{"a", "b"}, Stream: "a", Budget: 100, Timeout: time.Minute, Retries: 1, Backoff: time.Second}),
			bt.AskModel("", bt.LLMCall{Retries: -1}),
			bt.AskModel("", bt.LLMCall{Stream: "a"}),
			bt.CallTool("", bt.ToolCall{Tool: "list_files"}),
			bt.CallTool("read", bt.ToolCall{Tool: "read_file", Args: bt.Args{"path": "/etc/hosts", "both": 1}, From: map[string]string{"at": "a", "both": "b"}, Result: "b"}),
			bt.RunScript("count", bt.Script{Source: "local n = 1\nreturn n == 1\n", Timeout: 2 * time.Second}),
			bt.RunScript("yes", bt.Script{Source: "return true"}),
		),
		Subtrees: []bt.Subtree{{Name: "part", Root: bt.Inverter(leaf("in"))},
			{Name: "ported", Blackboard: bt.Schema{"in": "any", "out": "any"}, Ports: map[string]bt.Port{"in": bt.In, "out": bt.Out}, Root: leaf("in")}},
	}
}

// hostileTree has names that would do harm to a terminal or a page.
func hostileTree() bt.Tree {
	evil := []string{
		"\x1b[31mred\x1b]0;title\a", "two\nlines\r\ttab", "\u202edesrever\u2066", "zero\u200bwidth\ufeff", "bad\xff\xfe\xc0utf8",
		`</text></svg><script>alert(1)</script>`, `"'&<>]]>&amp;`, "a" + strings.Repeat("\u0301", 200), "\u0301", "\ufffe\uffff\U000e0041\u3164",
		"界界界" + strings.Repeat("界", 100), "❤\ufe0f 👩\u200d💻", strings.Repeat("\x00", 100), "﷽﷽﷽﷽﷽", "مرحبا שלום", "   ", "│ └─ fake",
	}
	root := bt.Sequence()
	root.Name, root.Description = evil[0], evil[5]
	for _, name := range evil {
		n := bt.Action(strings.ToValidUTF8(name, "?"), "x."+name, bt.Args{name: name, "n": []any{name, map[string]any{name: 1}}})
		n.Description = name
		root.Children = append(root.Children, n)
	}
	root.Children = append(root.Children, bt.UseSubtree(evil[0]), bt.CallTool(evil[5], bt.ToolCall{Tool: evil[5], From: map[string]string{evil[0]: "\x1b"}, Result: "\x1b"}))
	return bt.Tree{Name: evil[0] + evil[5], Description: evil[2] + evil[6] + "\nsecond line", Root: root,
		Blackboard: bt.Schema{"\x1b": "any"}, Subtrees: []bt.Subtree{{Name: evil[0], Root: bt.Action("in", "in", nil)}}}
}

var (
	running = []bt.Status{bt.Running}
	failing = []bt.Status{bt.Failure}
)

// drawings are the ones that are kept in testdata/draw.
var drawings = []struct {
	name    string
	tree    func() bt.Tree
	results results
	times   []time.Duration
}{
	{"agent", agentTree, nil, nil},
	{"agent-run", agentTree, results{
		"connect-tools": {bt.Running, bt.Success}, "is-stuck": failing, "context-sufficient": failing, "log-signal": failing, "search": running,
	}, []time.Duration{0, 1234567 * time.Microsecond, 4 * time.Second, 31300 * time.Millisecond}},
	{"kinds", kindsTree, nil, nil},
	{"hostile", hostileTree, results{`"'&<>]]>&amp;`: failing}, []time.Duration{0}},
}

// golden compares what was drawn with the file that it should be.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", "draw", name)
	if *updateDrawings {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got); -update writes it:\n%s", path, diff)
	}
}

func drawText(t interface{ Fatal(...any) }, p *bt.Program, marks []bt.Entry) string {
	var out bytes.Buffer
	if err := p.Draw(&out, marks, nil); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestDraw(t *testing.T) {
	for _, d := range drawings {
		t.Run(d.name, func(t *testing.T) {
			p, marks := drawable(t, d.tree(), d.results, d.times...)
			text := drawText(t, p, marks)
			golden(t, d.name+".txt", []byte(text))
			checkText(t, p, text)
		})
	}
}

// checkText checks what holds for every drawing as text: a line for each node, in which its
// name stands if nothing is wrong with it, and nothing that a terminal would obey.
func checkText(t interface{ Fatalf(string, ...any) }, p *bt.Program, text string) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	nodes := p.Nodes()
	if len(lines) != len(nodes)+1 {
		t.Fatalf("%d nodes have %d lines:\n%s", len(nodes), len(lines), text)
	}
	if !utf8.ValidString(text) {
		t.Fatalf("%q is no UTF-8", text)
	}
	for _, r := range text {
		if r != '\n' && !unicode.IsGraphic(r) || unicode.Is(unicode.Variation_Selector, r) {
			t.Fatalf("%q has %q", text, r)
		}
	}
	for i, n := range nodes {
		want := string(n.Node.Kind)
		if name := shown(n.Node); name != "" {
			want += " " + name
		}
		if !strings.Contains(lines[i+1], "─ "+want) {
			t.Fatalf("%q is not in %q", want, lines[i+1])
		}
		columns, pile := measure(lines[i+1])
		if most := 250 + 3*n.Depth; columns > most {
			t.Fatalf("%q takes %d columns, more than %d", lines[i+1], columns, most)
		}
		if pile > 3 {
			t.Fatalf("%q has %d accents on one character", lines[i+1], pile)
		}
	}
}

// measure returns how many columns a line takes at least, and how many accents its highest
// pile has. Accents take no column: a line of few columns can have many characters.
func measure(line string) (columns, pile int) {
	accents := 0
	for _, r := range line {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me):
			accents++
			pile = max(pile, accents)
			continue
		case unicode.Is(unicode.Han, r), r >= 0xac00 && r <= 0xd7a3: // Chinese and Korean
			columns++
		}
		columns++
		accents = 0
	}
	return columns, pile
}

// TestDrawFits draws names of characters that take no column, one, two, or are written as
// escapes: none takes more columns than names may, and those with room to spare are not cut.
func TestDrawFits(t *testing.T) {
	for _, c := range []struct {
		name string
		want int // columns, where the name is cut; else all of it shows
	}{
		{strings.Repeat("a", 40), 0},
		{strings.Repeat("a", 41), 40},
		{strings.Repeat("e\u0301", 40), 0},
		{strings.Repeat("e\u0301", 41), 40},
		{"a" + strings.Repeat("\u0301", 100), 40},
		{strings.Repeat("日", 20), 0},
		{strings.Repeat("日", 21), 39},
		{strings.Repeat("한", 20) + "a", 39},
		{"a\x01\u202e", 11},
	} {
		p, _ := drawable(t, bt.Tree{Name: "t", Root: bt.Action(c.name, "x.f", nil)}, nil)
		_, line, _ := strings.Cut(drawText(t, p, nil), "action ")
		drawn, _, _ := strings.Cut(line, "  ")
		columns, pile := measure(drawn)
		switch {
		case pile > 3:
			t.Errorf("%q is drawn as %q, with %d accents on a character", c.name, drawn, pile)
		case c.want == 0 && drawn != c.name:
			t.Errorf("%q is drawn as %q", c.name, drawn)
		case c.want > 0 && columns != c.want:
			t.Errorf("%q is drawn as %q, in %d columns, want %d", c.name, drawn, columns, c.want)
		}
	}

	value := strings.Repeat("e\u0301\u0302\u0303", 30)
	p, _ := drawable(t, bt.Tree{Name: "t", Root: bt.Action("a", "x.f", bt.Args{"v": value})}, nil)
	if text := drawText(t, p, nil); !strings.Contains(text, `f(v="`+value+`")`) {
		t.Errorf("a value that fits is drawn as %q", text)
	}
}

// shown is how a name of plain letters is drawn; of others it is "".
func shown(n *bt.Node) string {
	name := n.Name
	if n.Kind == bt.KindSubtree {
		name = n.Subtree
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' }) {
		return ""
	}
	if len(name) > 40 {
		return name[:39] + "…"
	}
	return name
}

func TestDrawPaint(t *testing.T) {
	p, marks := drawable(t, agentTree(), results{"load-history": running, "connect-tools": failing}, 0, time.Second)
	var out bytes.Buffer
	err := p.Draw(&out, marks, func(s bt.Status, word string) string { return fmt.Sprintf("<%d>%s</>", s, word) })
	if err != nil {
		t.Fatal(err)
	}
	painted := out.String()
	if !strings.Contains(painted, "<3>FAILURE</>") || !strings.Contains(painted, "<2>SUCCESS</>") {
		t.Errorf("statuses are not painted:\n%s", painted)
	}
	plain := painted
	for _, s := range []string{"<0>", "<1>", "<2>", "<3>", "</>"} {
		plain = strings.ReplaceAll(plain, s, "")
	}
	if diff := cmp.Diff(drawText(t, p, marks), plain); diff != "" {
		t.Errorf("painting changes more than colours:\n%s", diff)
	}
}

func TestDrawTellsOfFailedWrites(t *testing.T) {
	p, _ := drawable(t, agentTree(), nil)
	if err := p.Draw(full{}, nil, nil); !errors.Is(err, errFull) {
		t.Errorf("Draw says %v", err)
	}
	if err := p.DrawSVG(full{}, nil); !errors.Is(err, errFull) {
		t.Errorf("DrawSVG says %v", err)
	}
}

var errFull = errors.New("no space left")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

// TestMark goes through runs in which nodes are given up and begun anew.
func TestMark(t *testing.T) {
	again := []bt.Status{bt.Failure, bt.Running, bt.Success}
	tests := []struct {
		name    string
		root    *bt.Node
		results results
		times   []time.Duration
		want    string // statuses in the order of the tree
	}{
		{"not ticked", bt.Sequence(bt.Action("a", "a", nil), bt.Action("b", "b", nil)), results{"a": failing}, []time.Duration{0}, "FAILURE FAILURE FRESH"},
		{"given up", bt.Timeout(time.Second, bt.Action("a", "a", nil)), results{"a": running}, []time.Duration{0, time.Second}, "FAILURE RUNNING"},
		{"retried", bt.Retry(1, 0, bt.Sequence(bt.Action("a", "a", nil), bt.Action("b", "b", nil))),
			results{"a": {bt.Success, bt.Running}, "b": failing}, []time.Duration{0, 0}, "RUNNING RUNNING RUNNING FRESH"},
		{"waiting to retry", bt.Retry(1, time.Second, bt.Action("a", "a", nil)), results{"a": again}, []time.Duration{0, 1}, "RUNNING FAILURE"},
		{"begun anew", bt.Selector(bt.Action("a", "a", nil), bt.Action("b", "b", nil)), results{"a": {bt.Failure, bt.Success}}, []time.Duration{0, 1}, "SUCCESS SUCCESS FRESH"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, marks := drawable(t, bt.Tree{Name: "t", Root: tt.root}, tt.results, tt.times...)
			var got []string
			for _, m := range marks {
				got = append(got, m.Status.String())
			}
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("%s, not %s", s, tt.want)
			}
		})
	}
}

// TestMarkAgrees checks that marks say of a node what the run does, as long as it knows.
func TestMarkAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := randomTree(t)
		answers := results{}
		for _, name := range plainNames {
			answers[name] = rapid.SliceOfN(rapid.SampledFrom([]bt.Status{bt.Running, bt.Success, bt.Failure}), 1, 5).Draw(t, name)
		}
		p, err := bt.Compile(tree, answers.leaves(tree))
		if err != nil {
			t.Fatal(err)
		}
		run := p.Start(bt.Options{})
		defer run.Close()
		var marks []bt.Entry
		now := time.Unix(0, 0)
		for range 10 {
			now = now.Add(time.Duration(rapid.IntRange(0, 5000).Draw(t, "pause")) * time.Millisecond)
			if _, err := run.Tick(context.Background(), now); err != nil {
				return
			}
			marks = p.Mark(marks, run.Trace())
			for i, m := range marks {
				s, took := run.Status(i)
				if s != bt.Fresh && (s != m.Status || took != m.Elapsed) {
					t.Fatalf("node %d is %v for %v, and marked %v for %v:\n%s", i, s, took, m.Status, m.Elapsed, drawText(t, p, marks))
				}
			}
		}
	})
}

var plainNames = []string{"a", "b", "c", "long-name-of-a-leaf", strings.Repeat("longer-than-there-is-room-for-", 3)}

// randomTree makes a tree of all kinds, with plain names and others.
func randomTree(t *rapid.T) bt.Tree {
	tree := bt.Tree{Name: rapid.String().Draw(t, "tree"), Description: rapid.String().Draw(t, "description"), Blackboard: bt.Schema{"k": "any"}}
	names := rapid.OneOf(rapid.SampledFrom(plainNames), rapid.String())
	left := 60
	var node func(depth, parts int) *bt.Node
	node = func(depth, parts int) *bt.Node {
		left--
		k := rapid.IntRange(0, 15).Draw(t, "kind")
		if depth == 0 || left <= 0 {
			k %= 4
		}
		below := func() *bt.Node { return node(depth-1, parts) }
		several := func() (all []*bt.Node) {
			for range rapid.IntRange(0, 4).Draw(t, "children") {
				all = append(all, below())
			}
			return all
		}
		seconds := time.Duration(rapid.IntRange(1, 100000).Draw(t, "ms")) * time.Millisecond
		name := names.Draw(t, "name")
		var n *bt.Node
		switch k {
		case 0:
			n = bt.Action(name, "x.f", bt.Args{"v": rapid.String().Draw(t, "value")})
		case 1:
			n = bt.Condition(name, "f"+name, nil)
		case 2:
			n = bt.CallTool(name, bt.ToolCall{Tool: "t" + name, From: map[string]string{name: "k"}, Result: "k"})
		case 3:
			n = bt.AskModel(name, bt.LLMCall{Model: name, Prompt: []string{"k"}})
		case 4:
			n = bt.Timeout(seconds, below())
		case 5:
			n = bt.Retry(2, seconds, below())
		case 6:
			n = bt.Cooldown(seconds, below())
		case 7:
			n = bt.Inverter(below())
		case 8:
			n = bt.AlwaysSucceed(below())
		case 9:
			n = bt.Repeat(2, bt.Fresh, below())
		case 10:
			n = bt.Guard(bt.Condition(name, "f"+name, nil), below())
		case 11, 12:
			n = bt.Sequence(several()...)
		case 13:
			n = bt.Selector(several()...)
		case 14:
			n = bt.Parallel(0, several()...)
		case 15:
			if parts == 0 {
				return below()
			}
			part := fmt.Sprint("part-", len(tree.Subtrees), name)
			at := len(tree.Subtrees)
			tree.Subtrees = append(tree.Subtrees, bt.Subtree{Name: part})
			root := node(depth-1, parts-1)
			tree.Subtrees[at].Root = root
			return bt.UseSubtree(part)
		}
		n.Name = name
		return n
	}
	tree.Root = node(8, 3)
	return tree
}

func ExampleProgram_Draw() {
	tree := bt.Tree{Name: "door", Root: bt.Selector(
		bt.Sequence(bt.Condition("open", "is_open", nil), bt.Action("walk-through", "walk", bt.Args{"steps": 3})),
		bt.Retry(2, time.Second, bt.Action("knock", "knock", nil)),
	)}
	no := bt.Func(func(c *bt.Context) bt.Status {
		c.Note("nobody is there")
		return bt.Failure
	}, "steps")
	program, err := bt.Compile(tree, bt.Library{Functions: map[string]bt.Leaf{"is_open": no, "walk": no, "knock": no}})
	if err != nil {
		fmt.Println(err)
		return
	}
	run := program.Start(bt.Options{})
	defer run.Close()
	if _, err := run.Tick(context.Background(), time.Unix(0, 0)); err != nil {
		fmt.Println(err)
		return
	}
	if err := program.Draw(os.Stdout, program.Mark(nil, run.Trace()), nil); err != nil {
		fmt.Println(err)
	}
	// Output:
	// door
	// RUNNING  └─ selector
	// FAILURE     ├─ sequence
	// FAILURE     │  ├─ condition open  is_open(): nobody is there
	//             │  └─ action walk-through  walk(steps=3)
	// RUNNING     └─ retry  2 retries, first after 1s: again in 1s
	// FAILURE        └─ action knock: nobody is there
}
