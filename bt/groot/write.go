package groot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/signalbox-dev/signalbox/bt"
)

// What stands in attributes that are not BehaviorTree.CPP's.
const (
	blackboardAttribute = "_blackboard" // of a tree: the keys that it declares, in JSON
	argsAttribute       = "_args"       // of a node: arguments whose names can't be those of attributes
)

// writer makes elements of a tree.
type writer struct {
	models map[[2]string]map[string]bool // ports, by class and name
}

// Write writes a tree as [Parse] reads it. Nodes that BehaviorTree.CPP does not have are
// declared in the TreeNodesModel: Guard, Cooldown, ForEach, RetryWithBackoff, RepeatUntil,
// PreciseTimeout (one that is not of whole milliseconds), SwitchOn (one of more or fewer
// cases than theirs), Budget, LLMCall, ToolCall and RunScript. A
// function or a tree of such a name, or of one that BehaviorTree.CPP has, is an error, and
// so are a tree of a function's name, a function that is an action and a condition, and a reactive
// node or a parallel without children: BehaviorTree.CPP would refuse the file.
func Write(to io.Writer, t bt.Tree) error {
	w := &writer{models: map[[2]string]map[string]bool{}}
	root := &element{name: "root"}
	root.set("BTCPP_format", "4")
	root.set("main_tree_to_execute", t.Name)
	trees := append([]bt.Subtree{{Name: t.Name, Description: t.Description, Blackboard: t.Blackboard, Root: t.Root}}, t.Subtrees...)
	seen := map[string]bool{}
	for _, s := range trees {
		if seen[s.Name] {
			return fmt.Errorf("there are two trees of the name %.80q: a file has each name once", s.Name)
		}
		if taken(s.Name) {
			return fmt.Errorf("a tree can't be called %.80q in a file: a node is", s.Name)
		}
		seen[s.Name] = true
		e, err := w.tree(s)
		if err != nil {
			return err
		}
		root.children = append(root.children, e)
	}
	model := w.model()
	for _, e := range model.children {
		if seen[e.at] {
			return fmt.Errorf("a tree can't be called %.80q in a file: a node or a function is", e.at)
		}
		if _, both := w.models[[2]string{condition, e.at}]; both && e.name == action {
			return fmt.Errorf("the function %.80q is an action here and a condition there: in a file each name is one or the other", e.at)
		}
	}
	for _, s := range t.Subtrees {
		if len(s.Ports) > 0 {
			model.children = append(model.children, ports(s))
		}
	}
	root.children = append(root.children, model)
	var out bytes.Buffer
	out.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n")
	if err := root.print(&out, 0); err != nil {
		return err
	}
	if out.Len() > MaxSize {
		return fmt.Errorf("the tree takes more than the %d MiB that a file may have", MaxSize>>20)
	}
	_, err := to.Write(out.Bytes())
	return err
}

func (w *writer) tree(s bt.Subtree) (*element, error) {
	e := &element{name: "BehaviorTree", at: s.Name}
	e.set("ID", s.Name)
	if s.Description != "" {
		e.set("_description", s.Description)
	}
	keys, err := json.Marshal(s.Blackboard)
	if err != nil {
		return nil, fmt.Errorf("the keys of the tree %.80q can't be written: %w", s.Name, err)
	}
	if bytes.Contains(keys, []byte(noUTF8)) {
		return nil, fmt.Errorf("the keys of the tree %.80q can't be written: they are no UTF-8 text", s.Name)
	}
	e.set(blackboardAttribute, string(keys))
	if s.Root == nil {
		return nil, fmt.Errorf("the tree %.80q has no root", s.Name)
	}
	child, err := w.node(s.Root, s.Name, 1)
	e.children = []*element{child}
	return e, err
}

func (w *writer) node(n *bt.Node, above string, depth int) (*element, error) {
	if n == nil {
		return nil, fmt.Errorf("%s: a child is missing", above)
	}
	if depth+2 > maxDepth {
		return nil, fmt.Errorf("%s: the tree is more than %d deep", above, maxDepth-3)
	}
	e := &element{at: above + "/" + string(n.Kind)}
	var err error
	switch n.Kind {
	case bt.KindAction, bt.KindCondition:
		err = w.function(e, n)
	case bt.KindSubtree:
		e.name = subtree
		e.set("ID", n.Subtree)
		for _, name := range slices.Sorted(maps.Keys(n.Ports)) {
			if !portable(name) {
				err = fmt.Errorf("a port can't be called %.80q in a file", name)
			}
			if n.Ports[name] == "=" {
				err = errors.New(noKey)
			}
			e.set(name, "{"+n.Ports[name]+"}")
		}
	default:
		err = w.shaped(e, n)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.at, err)
	}
	if n.Name != "" {
		e.set("name", n.Name)
	}
	if n.Description != "" {
		e.set("_description", n.Description)
	}
	for _, child := range n.Children {
		c, err := w.node(child, e.at, depth+1)
		if err != nil {
			return nil, err
		}
		e.children = append(e.children, c)
	}
	return e, nil
}

// shaped writes a node that is no function.
func (w *writer) shaped(e *element, n *bt.Node) error {
	if n.Kind == bt.KindLLMCall && n.LLM == nil || n.Kind == bt.KindTool && n.Tool == nil || n.Kind == bt.KindScript && n.Script == nil {
		return errors.New("it does not say what it does")
	}
	for _, s := range shapes {
		if s.kind != n.Kind || s.fits != nil && !s.fits(n) {
			continue
		}
		if (n.Kind == bt.KindReactiveSequence || n.Kind == bt.KindReactiveSelector || n.Kind == bt.KindParallel) && childless(n) {
			return fmt.Errorf("<%s> has at least one child in a file", s.element)
		}
		e.name = s.element
		f := &fields{element: e}
		if s.fields != nil {
			same := *n // what is written stays as it is
			s.fields(f, &same)
		}
		if s.model != "" {
			w.declare(s.model, s.element, f.declared)
		}
		return f.problem
	}
	return fmt.Errorf("a node of the kind %.80q can't be written", n.Kind)
}

// function writes an action or a condition.
func (w *writer) function(e *element, n *bt.Node) error {
	e.name = action
	if n.Kind == bt.KindCondition {
		e.name = condition
	}
	if taken(n.Fn) || n.Fn == "" {
		return fmt.Errorf("a function can't be called %q: a node is", n.Fn)
	}
	e.set("ID", n.Fn)
	names := slices.Sorted(maps.Keys(n.Args))
	if slices.ContainsFunc(names, func(name string) bool { return !portable(name) }) {
		f := &fields{element: e}
		f.args(argsAttribute, &n.Args)
		w.declare(e.name, n.Fn, nil)
		return f.problem
	}
	for _, name := range names {
		text, err := textOf(n.Args[name])
		if err != nil {
			return fmt.Errorf("argument %.80q: %w", name, err)
		}
		e.set(name, text)
	}
	w.declare(e.name, n.Fn, names)
	return nil
}

// taken reports whether a node has a name.
func taken(name string) bool {
	return slices.Contains(absent, name) || slices.ContainsFunc(shapes, func(s shape) bool { return s.element == name })
}

// portable reports whether an attribute can have a name.
func portable(name string) bool { return port.MatchString(name) && name != "ID" && name != "name" }

// ports declares those of a subtree.
func ports(s bt.Subtree) *element {
	e := &element{name: subtree, at: s.Name}
	e.set("ID", s.Name)
	for _, name := range slices.Sorted(maps.Keys(s.Ports)) {
		p := &element{name: map[bt.Port]string{bt.In: "input_port", bt.Out: "output_port", bt.InOut: "inout_port"}[s.Ports[name]]}
		p.set("name", name)
		e.children = append(e.children, p)
	}
	return e
}

// declare adds a node to the model.
func (w *writer) declare(class, name string, ports []string) {
	at := [2]string{class, name}
	if w.models[at] == nil {
		w.models[at] = map[string]bool{}
	}
	for _, p := range ports {
		w.models[at][p] = true
	}
}

// model declares the nodes that are not BehaviorTree.CPP's.
func (w *writer) model() *element {
	all := &element{name: "TreeNodesModel"}
	for _, at := range slices.SortedFunc(maps.Keys(w.models), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		e := &element{name: at[0], at: at[1]}
		e.set("ID", at[1])
		for _, name := range slices.Sorted(maps.Keys(w.models[at])) {
			p := &element{name: "input_port"}
			p.set("name", name)
			e.children = append(e.children, p)
		}
		all.children = append(all.children, e)
	}
	return all
}
