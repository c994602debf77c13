package groot_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/signalbox-dev/signalbox/bt"
	"github.com/signalbox-dev/signalbox/bt/groot"
)

// same compares trees but for where their nodes stand.
var same = cmp.Options{
	cmpopts.EquateEmpty(), cmpopts.IgnoreFields(bt.Node{}, "At"), cmpopts.IgnoreFields(bt.Tree{}, "At"), cmpopts.IgnoreFields(bt.Subtree{}, "At"),
}

// stripped is a tree without where its nodes stand, and with nothing in place of what is empty.
func stripped(t bt.Tree) bt.Tree {
	t.At, t.Subtrees = "", slices.Clone(t.Subtrees)
	if len(t.Blackboard) == 0 {
		t.Blackboard = nil
	}
	t.Root = strip(t.Root)
	for i := range t.Subtrees {
		s := &t.Subtrees[i]
		if s.At, s.Root = "", strip(s.Root); len(s.Blackboard) == 0 {
			s.Blackboard = nil
		}
	}
	return t
}

func strip(n *bt.Node) *bt.Node {
	same := *n
	same.At, same.Children = "", nil
	for _, child := range n.Children {
		same.Children = append(same.Children, strip(child))
	}
	if len(same.Args) == 0 {
		same.Args = nil
	}
	if n.Tool != nil && len(n.Tool.Args) == 0 {
		tool := *n.Tool
		same.Tool, tool.Args = &tool, nil
	}
	return &same
}

// maker makes up trees.
type maker struct {
	*rand.Rand
	left int
}

func pick[T any](m *maker, from ...T) T { return from[m.IntN(len(from))] }

func (m *maker) text() string {
	return pick(m, "", "", "a", "two words", "<&>\"'", "line\nline\r\ttab", "{key}", "{=}", "=", "json:", "7", "true", "ünï \U0001F333", "\ufffd", strings.Repeat("x", m.IntN(300)))
}

func (m *maker) duration() time.Duration {
	return pick(m, time.Duration(1+m.IntN(100_000))*time.Millisecond, time.Duration(1+m.Int64N(1<<40)))
}

func (m *maker) value(depth int) any {
	switch m.IntN(8) {
	case 0:
		return nil
	case 1:
		return m.IntN(2) == 0
	case 2:
		return m.IntN(2000) - 1000
	case 3:
		return pick(m, 0.5, -1.0, 1e300, 5e-324, 7.0)
	case 4:
		if depth < 3 {
			return []any{m.value(depth + 1), m.value(depth + 1)}
		}
	case 5:
		if depth < 3 {
			return map[string]any{m.text(): m.value(depth + 1)}
		}
	}
	return m.text()
}

func (m *maker) args() bt.Args {
	args := bt.Args{}
	for range m.IntN(4) {
		args[pick(m, "a", "b_2", "Third", "name", "ID", "with blank", "ns:x", "_under", "ünï")] = m.value(0)
	}
	return args
}

func (m *maker) node(depth int) *bt.Node {
	m.left--
	kinds := []bt.Kind{bt.KindAction, bt.KindCondition, bt.KindLLMCall, bt.KindTool, bt.KindScript, bt.KindSubtree}
	if m.left > 0 && depth < 8 {
		kinds = append(kinds, bt.KindSequence, bt.KindSelector, bt.KindParallel, bt.KindGuard, bt.KindForEach, bt.KindTimeout, bt.KindRetry,
			bt.KindReactiveSequence, bt.KindReactiveSelector, bt.KindSwitch, bt.KindBudget, bt.KindCooldown, bt.KindInverter, bt.KindAlwaysSucceed, bt.KindAlwaysFail, bt.KindRepeat)
	}
	n := &bt.Node{Kind: pick(m, kinds...), Name: m.text(), Description: m.text()}
	children := 1
	switch n.Kind {
	case bt.KindAction, bt.KindCondition:
		n.Fn, n.Args, children = pick(m, "move", "signals.log", "Say Something"), m.args(), 0
		if n.Kind == bt.KindCondition {
			n.Fn = pick(m, "is near", "signals.has_signal")
		}
	case bt.KindLLMCall:
		n.LLM, children = &bt.LLMCall{Model: m.text(), Prompt: pick(m, nil, []string{"a", "<b>"}), Stream: pick(m, "", "key"), Budget: m.IntN(3),
			Timeout: m.duration(), Retries: m.IntN(5) - 1, Backoff: pick(m, 0, m.duration())}, 0
	case bt.KindTool:
		n.Tool, children = &bt.ToolCall{Tool: "tool", Args: m.args(), From: pick(m, nil, map[string]string{"x": "key", "<": "k"}), Result: pick(m, "", "r")}, 0
	case bt.KindScript:
		n.Script, children = &bt.Script{Source: "return 1 < 2 -- \"é\"\n", Timeout: pick(m, 0, m.duration())}, 0
	case bt.KindSubtree:
		n.Subtree, children = "part", 0
		n.Ports = pick(m, nil, map[string]string{"goal": "a key", "x": "y"})
	case bt.KindSwitch:
		n.Key = "a key"
		for range 1 + m.IntN(8) {
			n.Cases = append(n.Cases, m.value(0))
		}
		children = len(n.Cases) + m.IntN(2)
	case bt.KindBudget:
		n.Budget = bt.Budget{Spent: bt.Spent{Tokens: m.IntN(3), Money: m.Int64N(1 << 40)}, Time: pick(m, 0, m.duration())}
	case bt.KindReactiveSequence, bt.KindReactiveSelector:
		children = 1 + m.IntN(3)
	case bt.KindSequence, bt.KindSelector:
		children = m.IntN(4)
	case bt.KindParallel:
		children = 1 + m.IntN(3)
		n.Need = m.IntN(children + 1)
	case bt.KindGuard:
		children = 2
	case bt.KindForEach:
		n.List, n.Item, n.Min, n.ContinueOnFailure = "list", "an item", m.IntN(3), m.IntN(2) == 0
	case bt.KindTimeout, bt.KindCooldown:
		n.Duration = m.duration()
	case bt.KindRetry:
		n.Retries, n.Backoff = m.IntN(4), pick(m, 0, m.duration())
	case bt.KindRepeat:
		n.Times, n.StopOn = m.IntN(4), pick(m, bt.Fresh, bt.Success, bt.Failure)
	}
	for range children {
		n.Children = append(n.Children, m.node(depth+1))
	}
	return n
}

func (m *maker) tree() bt.Tree {
	keys := func() bt.Schema { return pick(m, nil, bt.Schema{"list": "list", "an <item>": "any"}) }
	return bt.Tree{Name: pick(m, "main", "a tree"), Description: m.text(), Blackboard: keys(), Root: m.node(0),
		Subtrees: []bt.Subtree{{Name: "part", Description: m.text(), Blackboard: bt.Schema{"goal": "string", "x": "any"}, Ports: map[string]bt.Port{"goal": bt.In, "x": pick(m, bt.Out, bt.InOut)}, Root: m.node(0)}, {Name: "unused", Root: m.node(0)}}}
}

// TestRoundTrip writes random trees and reads them again.
func TestRoundTrip(t *testing.T) {
	for seed := range uint64(1000) {
		m := &maker{Rand: rand.New(rand.NewPCG(seed, 1))}
		m.left = 1 + m.IntN(40)
		want := m.tree()
		var file, again bytes.Buffer
		if err := groot.Write(&file, want); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		got, err := groot.Parse("random.xml", file.Bytes())
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, file.String())
		}
		if !reflect.DeepEqual(stripped(want), stripped(got)) {
			d := cmp.Diff(want, got, same)
			t.Fatalf("seed %d (-written +read):\n%s\n%s", seed, d, file.String())
		}
		if err := groot.Write(&again, got); err != nil || again.String() != file.String() {
			t.Fatalf("seed %d: %v\n%s", seed, err, cmp.Diff(file.String(), again.String()))
		}
		if problems := formatProblems(file.Bytes()); len(problems) > 0 {
			t.Fatalf("seed %d: %q\n%s", seed, problems, file.String())
		}
	}
}

// library has every function that a tree of the examples names; each notes that it was called.
func library(tree bt.Tree, called *[]string) bt.Library {
	l := bt.Library{Functions: map[string]bt.Leaf{}}
	var add func(*bt.Node)
	add = func(n *bt.Node) {
		if n.Fn != "" {
			leaf := bt.Func(func(c *bt.Context) bt.Status {
				*called = append(*called, fmt.Sprint(c.Name(), " ", c.Args()))
				return map[bool]bt.Status{true: bt.Failure, false: bt.Success}[c.Args().Text("result", "") == "failure"]
			})
			for name := range n.Args {
				leaf.Params = append(leaf.Params, name)
			}
			l.Functions[n.Fn] = leaf
		}
		for _, child := range n.Children {
			add(child)
		}
	}
	add(tree.Root)
	for _, s := range tree.Subtrees {
		add(s.Root)
	}
	return l
}

// TestExamples reads files of the shapes that BehaviorTree.CPP's examples have and Groot2 writes, and runs them.
func TestExamples(t *testing.T) {
	for file, want := range map[string][]string{
		"testdata/door.xml":    {"condition map[result:failure]", "action map[result:failure]", "action map[result:failure]", "kick map[force:7 result:failure]", "action map[code:1234 gentle:true]", "through map[speed:0.5]"},
		"testdata/deliver.xml": {"AnyParcel map[result:failure]", "condition map[level:0.3]", "drive map[place:{place}]", "condition map[level:0.3]", "drive map[place:{place}]", "tell map[text:{said}]"},
		"testdata/errand.xml":  {"look map[]", "go map[goal:{shelf}]", "go map[goal:{shelf}]", "report map[text:all of it]"},
	} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tree, err := groot.Parse(file, source)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		var called []string
		program, err := bt.Compile(tree, library(tree, &called))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		run := program.Start(bt.Options{})
		status, err := run.Drive(context.Background())
		run.Close()
		if d := cmp.Diff(want, called); status != bt.Success || err != nil || d != "" {
			t.Errorf("%s: %v, %v\n%s", file, status, err, d)
		}
		var written bytes.Buffer
		if err := groot.Write(&written, tree); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if problems := formatProblems(written.Bytes()); len(problems) > 0 {
			t.Errorf("%s: %q", file, problems)
		}
		again, err := groot.Parse(file, written.Bytes())
		if d := cmp.Diff(tree, again, same); err != nil || d != "" {
			t.Errorf("%s: %v\n%s", file, err, d)
		}
	}
}

// TestPortsInferred has a subtree whose ports nobody declares, and one of which somebody declares one.
func TestPortsInferred(t *testing.T) {
	const file = `<root BTCPP_format="4" main_tree_to_execute="t"><BehaviorTree ID="t"><Sequence><SubTree ID="s" a="{x}"/><s b="="/></Sequence></BehaviorTree>` +
		`<BehaviorTree ID="s"><A/></BehaviorTree><TreeNodesModel><SubTree ID="s">%s</SubTree></TreeNodesModel></root>`
	for declared, want := range map[string]map[string]bt.Port{
		"":                       {"a": bt.InOut, "b": bt.InOut},
		`<input_port name="a"/>`: {"a": bt.In},
	} {
		tree, err := groot.Parse("f.xml", fmt.Appendf(nil, file, declared))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, tree.Subtrees[0].Ports); d != "" {
			t.Errorf("declared: %q\n%s", declared, d)
		}
		if d := cmp.Diff(bt.Schema{"x": "any", "b": "any"}, tree.Blackboard); d != "" {
			t.Error(d)
		}
	}
}

// in is a file with one tree of this content.
func in(content string) string {
	return `<root BTCPP_format="4"><BehaviorTree ID="t">` + content + `</BehaviorTree></root>`
}

func TestRefused(t *testing.T) {
	for _, c := range []struct{ what, file, want string }{
		{"nothing", "", "there is no tree in it"},
		{"no XML", "hello", "there is a text where a node is due"},
		{"no end", `<root BTCPP_format="4">`, "f.xml:1: XML syntax error"},
		{"another root", `<tree/>`, "the root of a tree's file is <root>"},
		{"two roots", in("<A/>") + in("<A/>"), "there is something after the root"},
		{"format 3", `<root BTCPP_format="3"/>`, `BTCPP_format is "4", and not "3"`},
		{"no format", `<root/>`, `BTCPP_format is "4", and not ""`},
		{"no tree", `<root BTCPP_format="4"/>`, "there are 0 trees"},
		{"two trees", `<root BTCPP_format="4"><BehaviorTree ID="a"><A/></BehaviorTree><BehaviorTree ID="b"><A/></BehaviorTree></root>`, "main_tree_to_execute says which"},
		{"another main tree", `<root BTCPP_format="4" main_tree_to_execute="b"><BehaviorTree ID="a"><A/></BehaviorTree></root>`, `there is no tree "b"`},
		{"no node", in(""), "a tree has one root, and not 0"},
		{"two nodes", in("<A/><B/>"), "a tree has one root, and not 2"},
		{"an include", `<root BTCPP_format="4"><include path="/etc/passwd"/></root>`, "<include> has no counterpart here"},
		{"a document type", `<!DOCTYPE root [<!ENTITY a "b">]>` + in("<A/>"), "a tree has no document type"},
		{"an entity", in(`<A x="&a;"/>`), "invalid character entity"},
		{"an instruction", `<?php ?>` + in("<A/>"), "no instructions for <?php"},
		{"another encoding", `<?xml version="1.0" encoding="UTF-16"?>` + in("<A/>"), "encoding"},
		{"a namespace", in(`<x:A/>`), "no namespaces"},
		{"an attribute twice", in(`<A x="1" x="2"/>`), `two attributes "x"`},
		{"a text", in("<Sequence>hello</Sequence>"), `a text where a node is due: "hello"`},
		{"Delay", in(`<Delay delay_msec="5"><A/></Delay>`), "<Delay> has no counterpart here"},
		{"Script", in(`<Script code="a:=1"/>`), "<Script> has no counterpart here"},
		{"IfThenElse", in(`<Control ID="IfThenElse"><A/><B/></Control>`), "<IfThenElse> has no counterpart here"},
		{"a stranger's decorator", in(`<Wrap><A/></Wrap>`), "<Wrap> has no counterpart here"},
		{"a declared decorator", `<root BTCPP_format="4"><BehaviorTree><W/></BehaviorTree><TreeNodesModel><Decorator ID="W"/></TreeNodesModel></root>`, "<W> has no counterpart here"},
		{"a precondition", in(`<A _skipIf="x == 1"/>`), "_skipIf has no counterpart here"},
		{"a precondition of a sequence", in(`<Sequence _while="x"><A/></Sequence>`), "_while of <Sequence> has no counterpart here"},
		{"_autoremap", in(`<SubTree ID="s" _autoremap="true"/>`), "_autoremap has no counterpart here"},
		{"no ID", in(`<Action/>`), "<Action> needs the ID of a node"},
		{"another attribute", in(`<Timeout msec="5" sec="1"><A/></Timeout>`), "sec of <Timeout> has no counterpart here"},
		{"no time", in(`<Timeout><A/></Timeout>`), "msec of <Timeout>: there is no time of more than 0"},
		{"a time that is a key", in(`<Timeout msec="{t}"><A/></Timeout>`), `"{t}" is no whole number`},
		{"a time that is too long", in(`<Timeout msec="9223372036854775807"><A/></Timeout>`), "msec of <Timeout>"},
		{"attempts without end", in(`<RetryUntilSuccessful num_attempts="-1"><A/></RetryUntilSuccessful>`), "num_attempts of <RetryUntilSuccessful>: -1"},
		{"0 cycles", in(`<Repeat num_cycles="0"><A/></Repeat>`), "num_cycles of <Repeat>: 0 is no number of times"},
		{"a parallel that fails early", in(`<Parallel success_count="1" failure_count="1"><A/><B/></Parallel>`), "needs 1 of 2 children fails here when 2 have failed, and not 1"},
		{"a key without braces", in(`<ForEach list="l" item="{i}"><A/></ForEach>`), "is no key of a blackboard in braces"},
		{"JSON that is none", in(`<A x="json:{"/>`), "x: unexpected EOF"},
		{"children of AlwaysSuccess", in(`<AlwaysSuccess><A/></AlwaysSuccess>`), "<AlwaysSuccess> has no children"},
		{"declared keys that are none", `<root BTCPP_format="4"><BehaviorTree ID="a" _blackboard="x"><A/></BehaviorTree></root>`, "_blackboard: invalid"},
	} {
		if _, err := groot.Parse("f.xml", []byte(c.file)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

// TestBounds has files that are large, deep and wide.
func TestBounds(t *testing.T) {
	for what, file := range map[string]string{
		"bytes": in(`<A x="` + strings.Repeat("x", groot.MaxSize) + `"/>`),
		"depth": in(strings.Repeat("<Inverter>", 2000) + "<A/>" + strings.Repeat("</Inverter>", 2000)),
		"nodes": in("<Sequence>" + strings.Repeat("<A/>", 30_000) + "</Sequence>"),
	} {
		if _, err := groot.Parse("f.xml", []byte(file)); err == nil || !strings.Contains(err.Error(), "may have") && !strings.Contains(err.Error(), "too large") {
			t.Errorf("%s: %v", what, err)
		}
	}
	problems := in("<Sequence>" + strings.Repeat("<Delay/>", 10_000) + "</Sequence>")
	if _, err := groot.Parse("f.xml", []byte(problems)); err == nil || strings.Count(err.Error(), "\n") != 99 {
		t.Errorf("%.100v", err)
	}
}

func TestNotWritten(t *testing.T) {
	deep := bt.Action("a", "f", nil)
	for range 600 {
		deep = bt.Inverter(deep)
	}
	for _, c := range []struct {
		what string
		tree bt.Tree
		want string
	}{
		{"a tree without a root", bt.Tree{Name: "t"}, `the tree "t" has no root`},
		{"a child that is missing", bt.Tree{Name: "t", Root: bt.Sequence(nil)}, "t/sequence: a child is missing"},
		{"a subtree of the tree's name", bt.Tree{Name: "t", Root: bt.Action("", "f", nil), Subtrees: []bt.Subtree{{Name: "t", Root: bt.Action("", "f", nil)}}}, `two trees of the name "t"`},
		{"a function of a node's name", bt.Tree{Name: "t", Root: bt.Action("", "Sequence", nil)}, `a function can't be called "Sequence"`},
		{"a text that XML can't hold", bt.Tree{Name: "t", Root: bt.Action("a\x01", "f", nil)}, `XML can't hold the text "a\x01"`},
		{"an argument that is no UTF-8", bt.Tree{Name: "t", Root: bt.Action("a", "f", bt.Args{"x": "\xff"})}, "no UTF-8"},
		{"a tree of a node's name", bt.Tree{Name: "Sequence", Root: bt.Action("a", "f", nil)}, `a tree can't be called "Sequence" in a file`},
		{"a tree of a function's name", bt.Tree{Name: "t", Root: bt.Action("a", "f", nil), Subtrees: []bt.Subtree{{Name: "f", Root: bt.Action("a", "g", nil)}}}, `a tree can't be called "f" in a file`},
		{"a function that is both", bt.Tree{Name: "t", Root: bt.Sequence(bt.Action("a", "f", nil), bt.Condition("c", "f", nil))}, `the function "f" is an action here and a condition there`},
		{"a reactive sequence of nothing", bt.Tree{Name: "t", Root: bt.ReactiveSequence()}, "<ReactiveSequence> has at least one child in a file"},
		{"a parallel of nothing", bt.Tree{Name: "t", Root: &bt.Node{Kind: bt.KindParallel}}, "<Parallel> has at least one child in a file"},
		{"a key called =", bt.Tree{Name: "t", Root: &bt.Node{Kind: bt.KindForEach, List: "=", Item: "i", Children: []*bt.Node{bt.Action("a", "f", nil)}}}, `a key can't be called "=" in a file`},
		{"a port's key called =", bt.Tree{Name: "t", Root: &bt.Node{Kind: bt.KindSubtree, Subtree: "s", Ports: map[string]string{"p": "="}}}, `a key can't be called "=" in a file`},
		{"a kind that is none", bt.Tree{Name: "t", Root: &bt.Node{Kind: "dance"}}, `a node of the kind "dance" can't be written`},
		{"a call of nothing", bt.Tree{Name: "t", Root: &bt.Node{Kind: bt.KindLLMCall}}, "it does not say what it does"},
		{"a tree that is too deep", bt.Tree{Name: "t", Root: deep}, "deep"},
	} {
		if err := groot.Write(&bytes.Buffer{}, c.tree); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

// FuzzParse reads what nobody has written. What can be read can be written, and is the same.
func FuzzParse(f *testing.F) {
	f.Add(in(`<Sequence><A x="1"/><Parallel success_count="-1"><B/><C name="c"/></Parallel></Sequence>`))
	f.Add(in(`<ForEach list="{l}" item="{i}"><RepeatUntil stop_on="SUCCESS" num_cycles="3"><SubTree ID="t"/></RepeatUntil></ForEach>`))
	f.Add(in(`<LLMCall prompt_keys='["a"]' timeout="1s" stream="{k}"/>`))
	f.Fuzz(func(t *testing.T, file string) {
		tree, err := groot.Parse("f.xml", []byte(file))
		if err != nil {
			return
		}
		var written bytes.Buffer
		if err := groot.Write(&written, tree); err != nil {
			return // two trees of one name, and others that can be read only
		}
		again, err := groot.Parse("f.xml", written.Bytes())
		if d := cmp.Diff(tree, again, same); err != nil || d != "" {
			t.Errorf("%v\n%s\n%s", err, d, written.String())
		}
	})
}
