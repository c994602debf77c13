package rehearsal

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/bt"
	"github.com/signalbox-dev/signalbox/safetext"
)

// Compile makes a program of a tree, to be drawn: any function, model, tool and script will
// do; the rest of the tree has to be in order.
func Compile(tree bt.Tree) (*bt.Program, error) {
	return bt.Compile(tree, (&play{}).library(tree))
}

// Outcome is what came of a rehearsal. The marks are for the program's drawing.
type Outcome struct {
	Status  bt.Status
	Program *bt.Program
	Marks   []bt.Entry
}

// Rehearse runs a tree with these results, and writes the trace of each tick and, in the
// end, the tree's status. The tree is held to what [Compile] asks of it. A run that is
// ended because it stalled, or has no end, has failed; that is no error. Results for a
// leaf that there is not are an [Error].
func Rehearse(tree bt.Tree, r Results, out io.Writer) (Outcome, error) {
	p := &play{results: r, next: map[string]int{}, waits: map[string]bool{}}
	program, err := bt.Compile(tree, p.library(tree))
	if err != nil {
		return Outcome{}, err
	}
	if err := r.check(program); err != nil {
		return Outcome{}, err
	}
	o := Outcome{Program: program}
	var b []byte
	run := program.Start(bt.Options{
		Clock: func() time.Time { return p.now },
		Warn:  func(text string) { b = fmt.Appendf(b, "warning: %s\n", safetext.Escape(text)) },
		Trace: func(tick int, at time.Duration, entries []bt.Entry) {
			b = program.AppendTrace(b, tick, at, entries)
			o.Marks = program.Mark(o.Marks, entries)
		},
	})
	defer run.Close()
	start := time.Unix(0, 0).UTC()
	p.now = start
	never := bt.NewContext(nil, start, nil).Context() // it does not end
	for more := true; more; {
		if r.ticks != nil {
			p.now = start.Add(r.ticks[run.Ticks()])
		}
		clear(p.waits)
		o.Status, err = run.Tick(never, p.now)
		if _, failed := out.Write(b); failed != nil {
			return o, failed
		}
		b = b[:0]
		p.now = p.after(run)
		more = err == nil && o.Status == bt.Running && run.Ticks() < maxTicks
		if r.ticks != nil {
			more = err == nil && run.Ticks() < len(r.ticks)
		}
	}
	if err == nil && run.Ticks() == maxTicks && o.Status == bt.Running && r.ticks == nil {
		o.Status, err = bt.Failure, bt.ErrTicks
	}
	_, failed := fmt.Fprintln(out, ending(o.Status, run.Ticks(), err))
	return o, failed
}

// ending is the last line.
func ending(status bt.Status, ticks int, why error) string {
	text := fmt.Sprintf("%v after %d ticks", status, ticks)
	if ticks == 1 {
		text = fmt.Sprintf("%v after 1 tick", status)
	}
	if why != nil {
		text += ": " + why.Error()
	}
	return text
}

// play is one rehearsal.
type play struct {
	results Results
	next    map[string]int // how often a leaf was asked
	now     time.Time
	waits   map[string]bool // the leaves that were asked in this tick and are RUNNING
}

// after says when the next tick comes.
func (p *play) after(run *bt.Run) time.Time {
	due, ok := run.Due()
	second := p.now.Add(time.Second)
	if len(p.waits) > 0 && (!ok || due.After(second)) {
		return second
	}
	return due
}

// tick is what every leaf does.
func (p *play) tick(c *bt.Context) bt.Status {
	r := p.result(c.Name())
	for _, key := range slices.Sorted(maps.Keys(r.set)) {
		c.Set(key, r.set[key])
	}
	c.Spend(r.spent)
	for _, key := range slices.Sorted(maps.Keys(r.global)) {
		c.SetGlobal(key, r.global[key])
	}
	switch r.word {
	case "running":
		p.waits[c.Name()] = true
		return bt.Running
	case "failure":
		return bt.Failure
	case "temporary":
		c.Temporary(0)
		return bt.Failure
	case "panic":
		panic("as the results say")
	}
	return bt.Success
}

// result is what a leaf answers this time.
func (p *play) result(name string) result {
	all := p.results.otherwise
	if named, ok := p.results.leaves[name]; ok {
		all = named.results
	}
	if len(all) == 0 {
		return result{word: "success"}
	}
	i := p.next[name]
	p.next[name]++
	return all[min(i, len(all)-1)]
}

// library has all that the tree asks for.
func (p *play) library(tree bt.Tree) bt.Library {
	leaf := bt.Leaf{Tick: p.tick, Halt: func(c *bt.Context) { delete(p.waits, c.Name()) }}
	l := bt.Library{
		Functions: map[string]bt.Leaf{},
		Types:     map[string]bt.Type{},
		LLM:       func(bt.LLMCall) (bt.Leaf, error) { return leaf, nil },
		Tool:      func(bt.ToolCall) (bt.Leaf, error) { return leaf, nil },
		Script:    func(string, bt.Script) (bt.Leaf, error) { return leaf, nil },
	}
	types := func(s bt.Schema) {
		for _, name := range s { // the built-in ones stay as they are
			l.Types[name] = func(any) error { return nil }
		}
	}
	seen := map[*bt.Node]bool{}
	var learn func(*bt.Node)
	learn = func(n *bt.Node) {
		if n == nil || seen[n] {
			return
		}
		seen[n] = true
		if n.Fn != "" {
			function := leaf
			function.Params = slices.AppendSeq(l.Functions[n.Fn].Params, maps.Keys(n.Args))
			l.Functions[n.Fn] = function
		}
		for _, child := range n.Children {
			learn(child)
		}
	}
	types(tree.Blackboard)
	learn(tree.Root)
	for _, s := range tree.Subtrees {
		types(s.Blackboard)
		learn(s.Root)
	}
	return l
}

// check looks whether the results are for leaves that there are.
func (r Results) check(program *bt.Program) error {
	kinds := map[string][]bt.Kind{}
	for _, n := range program.Nodes() {
		if n.Node.Kind.Leaf() {
			name := n.Node.Name
			if name == "" {
				name = string(n.Node.Kind)
			}
			kinds[name] = append(kinds[name], n.Node.Kind)
		}
	}
	var problems []error
	for _, name := range slices.SortedFunc(maps.Keys(r.leaves), func(a, b string) int { return r.leaves[a].line - r.leaves[b].line }) {
		named := r.leaves[name]
		temporary := slices.ContainsFunc(named.results, func(r result) bool { return r.word == "temporary" })
		switch {
		case kinds[name] == nil:
			problems = append(problems, &Error{named.line, fmt.Sprintf("there is no leaf %.80q: there is %s", name, list(slices.Sorted(maps.Keys(kinds))))})
		case temporary && slices.ContainsFunc(kinds[name], func(k bt.Kind) bool { return k != bt.KindLLMCall }):
			problems = append(problems, &Error{named.line, fmt.Sprintf("temporary is for an llm_call, and %.80q is none", name)})
		}
	}
	return errors.Join(problems...)
}

// list names so many.
func list(names []string) string {
	const most = 30
	var b strings.Builder
	for i, name := range names {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(names)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%.80q", name)
	}
	if len(names) == 0 {
		return "none"
	}
	return b.String()
}
