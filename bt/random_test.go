package bt

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	trees    = flag.Int("trees", 2_000, "how many random trees are run against the reference; 200000 for the full measure")
	firstOne = flag.Uint64("tree", 0, "the number of the first random tree")
)

// situation is a tree, and all that happens to it. The number decides what its leaves
// answer and when it is ticked, so that a part of the tree does what it did in the whole.
type situation struct {
	number uint64
	tree   Tree
	global map[string]any
	ticks  int
}

// dice are rolled for one purpose in a situation.
func (s *situation) dice(purpose string, n int) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprint(h, purpose)
	h.Write(binary.AppendVarint(nil, int64(n)))
	return rand.New(rand.NewPCG(s.number, h.Sum64()))
}

// answers says what each leaf answers, time after time.
func (s *situation) answers() func(leaf string) answer {
	asked := map[string]int{}
	return func(leaf string) answer {
		asked[leaf]++
		d := s.dice(leaf, asked[leaf])
		a := answer{status: Running + Status(d.IntN(3))}
		switch d.IntN(40) {
		case 0:
			a.panics = true
		case 1:
			a.cancels = d.IntN(5) == 0
		case 2, 3, 4, 5:
			a.key, a.value = pick(d, "x", "y", "list", "in", "out", "both"), pick[any](d, 1, []any{}, []any{"a", "b"}, nil)
			a.global = d.IntN(3) == 0
		}
		a.spends = pick(d, Spent{}, Spent{Tokens: 3}, Spent{Money: 2}, Spent{Tokens: 1, Money: 1})
		if d.IntN(2) == 0 {
			a.temporary, a.after = true, pick(d, 0, 0, 3*time.Second)
		}
		return a
	}
}

// pause says how long it takes to the next tick, which is due at a time or never.
func (s *situation) pause(tick int, due time.Duration) time.Duration {
	d := s.dice("tick", tick)
	if due > 0 && d.IntN(3) == 0 {
		return due
	}
	return pick(d, 0, time.Second, time.Second, 3*time.Second, 10*time.Second, 31*time.Second)
}

func pick[T any](d *rand.Rand, from ...T) T { return from[d.IntN(len(from))] }

// newSituation makes up a situation.
func newSituation(number uint64) *situation {
	s := &situation{number: number}
	d := s.dice("tree", 0)
	g := generator{dice: d, left: 3 + d.IntN(30)}
	keys := Schema{"x": "any", "y": "any", "list": "any", "item": "any"}
	s.tree = Tree{Name: "random", Blackboard: keys, Subtrees: []Subtree{{Name: "part",
		Blackboard: Schema{"x": "any", "in": "any", "out": "any", "both": "any"}, Ports: map[string]Port{"in": In, "out": Out, "both": InOut}}}}
	s.tree.Root = g.node(0)
	g.part, g.left = true, 3+d.IntN(8)
	s.tree.Subtrees[0].Root = g.node(1)
	s.global = pick(d, nil, map[string]any{"list": []any{}}, map[string]any{"list": []any{1, 2, 3}}, map[string]any{"list": []any{1}})
	s.ticks = 3 + d.IntN(15)
	return s
}

// generator makes up nodes, so many.
type generator struct {
	dice *rand.Rand
	left int
	part bool // of the subtree, which uses none
}

var (
	leaves     = []Kind{KindAction, KindAction, KindAction, KindCondition, KindLLMCall, KindTool, KindScript, KindSubtree}
	composites = []Kind{KindReactiveSequence, KindReactiveSelector, KindSwitch, KindBudget, KindSequence, KindSequence, KindSelector, KindSelector, KindParallel, KindParallel, KindForEach, KindTimeout,
		KindRetry, KindGuard, KindCooldown, KindInverter, KindAlwaysSucceed, KindAlwaysFail, KindRepeat}
)

func (g *generator) node(depth int) *Node {
	g.left--
	n := &Node{Kind: pick(g.dice, composites...)}
	if g.left <= 0 || depth > 6 || depth > 0 && g.dice.IntN(4) == 0 {
		n.Kind = pick(g.dice, leaves...)
	}
	if n.Kind == KindSubtree {
		if !g.part {
			n.Subtree = "part"
			key := func() string { return pick(g.dice, "x", "y", "list", "item") }
			n.Ports = map[string]string{"in": key(), "out": key(), "both": key()}
			return n
		}
		n.Kind = KindAction
	}
	n.Name = fmt.Sprintf("%s%d", n.Kind, g.left)
	if g.part {
		n.Name = "part-" + n.Name
	}
	g.settle(n)
	for range g.children(n.Kind) {
		n.Children = append(n.Children, g.node(depth+1))
	}
	if n.Kind == KindGuard {
		n.Children[0] = g.condition(0)
	}
	n.Need = min(n.Need, len(n.Children))
	if n.Kind == KindSwitch {
		n.Cases = []any{1, "a", 2.0, true}[:len(n.Children)-g.dice.IntN(2)]
	}
	return n
}

func (g *generator) children(k Kind) int {
	switch {
	case k.Leaf():
		return 0
	case k == KindSequence || k == KindSelector || k == KindParallel || k == KindReactiveSequence || k == KindReactiveSelector:
		return g.dice.IntN(5)
	case k == KindGuard:
		return 2
	case k == KindSwitch:
		return 2 + g.dice.IntN(3)
	}
	return 1
}

// settle sets what a node's kind has.
func (g *generator) settle(n *Node) {
	d := g.dice
	switch n.Kind {
	case KindParallel:
		n.Need = d.IntN(3)
	case KindForEach:
		n.List, n.Item, n.Min, n.ContinueOnFailure = "list", pick(d, "x", "item"), d.IntN(3), d.IntN(2) == 0
		if g.part {
			n.List, n.Item = pick(d, "list", "in", "both"), pick(d, "x", "item", "out", "both")
		}
	case KindSwitch:
		n.Key = pick(d, "x", "y", "item")
		if g.part {
			n.Key = pick(d, "x", "in", "both")
		}
	case KindBudget:
		n.Budget = pick(d, Budget{Spent: Spent{Tokens: 5}}, Budget{Spent: Spent{Money: 3}}, Budget{Spent{8, 8}, 4 * time.Second}, Budget{Time: 2 * time.Second})
	case KindTimeout, KindCooldown:
		n.Duration = time.Duration(1+d.IntN(8)) * time.Second
	case KindRetry:
		n.Retries, n.Backoff = d.IntN(4), time.Duration(d.IntN(3))*time.Second
	case KindRepeat:
		n.Times, n.StopOn = d.IntN(4), pick(d, Fresh, Success, Failure)
	case KindAction, KindCondition:
		n.Fn = "leaf"
	case KindLLMCall:
		n.LLM = &LLMCall{Timeout: time.Duration(1+d.IntN(8)) * time.Second, Retries: 1 + d.IntN(3), Backoff: time.Second}
	case KindTool:
		n.Tool = &ToolCall{Tool: "leaf"}
	case KindScript:
		n.Script = &Script{Source: "leaf"}
	}
}

// condition makes up what a guard asks.
func (g *generator) condition(depth int) *Node {
	g.left--
	n := &Node{Kind: KindCondition, Fn: "leaf"}
	if depth < 2 && g.dice.IntN(4) == 0 {
		n.Kind, n.Fn = pick(g.dice, KindSequence, KindSelector, KindInverter), ""
		for range max(1, g.children(n.Kind)) {
			n.Children = append(n.Children, g.condition(depth+1))
		}
	}
	n.Name = fmt.Sprintf("guards%d", g.left)
	if g.part {
		n.Name = "part-" + n.Name
	}
	return n
}

// heard is what the engine did in a tick.
type heard struct {
	Status        Status
	Trace, Halted []string
	Due           time.Duration // of a tree that is RUNNING
}

// library has leaves that answer as they are told.
func library(answer func(leaf string) answer, cancel func(), halted func(leaf string)) Library {
	leaf := Leaf{
		Tick: func(c *Context) Status { return answer(c.Name()).give(c, cancel) },
		Halt: func(c *Context) { halted(c.Name()) },
	}
	return Library{
		Functions: map[string]Leaf{"leaf": leaf},
		LLM:       func(LLMCall) (Leaf, error) { return leaf, nil },
		Tool:      func(ToolCall) (Leaf, error) { return leaf, nil },
		Script:    func(string, Script) (Leaf, error) { return leaf, nil },
	}
}

func (a answer) give(c *Context, cancel func()) Status {
	if a.key != "" && a.global {
		c.SetGlobal(a.key, a.value)
	} else if a.key != "" {
		c.Set(a.key, a.value)
	}
	if a.spends != (Spent{}) {
		c.Spend(a.spends)
	}
	if a.cancels {
		cancel()
	}
	if a.temporary {
		c.Temporary(a.after)
	}
	if a.panics {
		panic("as it was told")
	}
	return a.status
}

// difference runs engine and reference, and says where they differ.
func (s *situation) difference() string {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var halted []string
	program, err := Compile(s.tree, library(s.answers(), cancel, func(leaf string) { halted = append(halted, leaf) }))
	if err != nil {
		return ""
	}
	board, err := NewBlackboard(s.global)
	if err != nil {
		return err.Error()
	}
	run := program.Start(Options{Blackboard: board})
	defer run.Close()
	reference := newModel(s.tree, s.global, s.answers())
	began, now := time.Unix(1000, 0), time.Duration(0)
	for tick := range s.ticks {
		var got, want heard
		halted = nil
		got.Status, err = run.Tick(ctx, began.Add(now))
		got.Trace = traceOf(program, run.Trace())
		got.Halted = slices.Sorted(slices.Values(halted))
		want.Status = reference.tick(now)
		want.Trace = reference.trace
		want.Halted = slices.Sorted(slices.Values(reference.halted))
		if got.Status == Running {
			at, _ := run.Due()
			got.Due, want.Due = at.Sub(began), reference.due
		}
		if !reflect.DeepEqual(want, got) {
			return fmt.Sprintf("tick %d at %v (-reference +engine):\n%s", tick+1, now, cmp.Diff(want, got))
		}
		if err != nil != reference.over {
			return fmt.Sprintf("tick %d: the run ended with %v, the reference's: %v", tick+1, err, reference.over)
		}
		now += s.pause(tick, got.Due-now)
	}
	return ""
}

// traceOf gives each node's name and status, but for those that were not reached any more.
func traceOf(p *Program, entries []Entry) []string {
	var all []string
	for i, e := range entries {
		if i == 0 || e.Note != context.Canceled.Error() {
			n := p.nodes[e.Node]
			all = append(all, n.Name+n.Subtree+" "+e.Status.String())
		}
	}
	return all
}

func TestReference(t *testing.T) {
	n := *trees
	if testing.Short() {
		n = min(n, 500)
	}
	for i := range uint64(n) {
		s := newSituation(*firstOne + i)
		if s.difference() != "" {
			s.shrink()
			t.Fatalf("-tree %d, made smaller:\n%s%s", s.number, s, s.difference())
		}
	}
}

// TestReferenceReaches looks whether the random trees do what is to be compared.
func TestReferenceReaches(t *testing.T) {
	seen := map[string]int{}
	for i := range uint64(1000) {
		s := newSituation(i)
		program, err := Compile(s.tree, library(s.answers(), func() {}, func(string) { seen["halt"]++ }))
		if err != nil {
			t.Fatal(err)
		}
		board, _ := NewBlackboard(s.global)
		run := program.Start(Options{Blackboard: board})
		for tick := range s.ticks {
			if _, err := run.Tick(t.Context(), time.Unix(int64(tick), 0)); err != nil {
				t.Fatal(err)
			}
			for _, e := range run.Trace() {
				seen[string(program.nodes[e.Node].Kind)+" "+e.Status.String()]++
				why, _, _ := strings.Cut(e.Note, " ")
				seen[why]++
			}
		}
		run.Close()
	}
	for _, kind := range slices.Concat(composites, leaves) {
		for _, status := range []Status{Running, Success, Failure} {
			what := string(kind) + " " + status.String()
			never := kind == KindCondition && status == Running || kind == KindAlwaysFail && status == Success || kind == KindAlwaysSucceed && status == Failure
			if seen[what] < 10 != never {
				t.Errorf("%s: %d times", what, seen[what])
			}
		}
	}
	for _, what := range []string{"halt", "again", "two", "there", "it", "no"} {
		if seen[what] < 5 {
			t.Errorf("%q: %d times", what, seen[what])
		}
	}
}
