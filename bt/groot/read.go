package groot

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/bt"
)

// reader makes a tree of elements.
type reader struct {
	models   map[string]string             // the class of a node, by its name
	ports    map[string]map[string]bt.Port // of subtrees
	keys     bt.Schema                     // that the present tree names
	problems []error
}

// Parse reads a tree from a file. The error has every [bt.Problem] that was found. Keys that
// no tree declares are those that its nodes name in braces, of any type.
func Parse(file string, source []byte) (bt.Tree, error) {
	root, err := parse(file, source)
	if err != nil {
		return bt.Tree{}, err
	}
	r := &reader{models: map[string]string{}, ports: map[string]map[string]bt.Port{}}
	t := r.file(root)
	if len(r.problems) > 0 {
		return bt.Tree{}, errors.Join(r.problems...)
	}
	return t, nil
}

func (r *reader) problem(e *element, format string, args ...any) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, bt.Problem{At: e.at, Text: fmt.Sprintf(format, args...)})
	}
}

// file reads a whole file.
func (r *reader) file(root *element) bt.Tree {
	if root.name != "root" {
		r.problem(root, "the root of a tree's file is <root>, and not <%.80s>", root.name)
		return bt.Tree{}
	}
	if form, _ := root.take("BTCPP_format"); form != "4" {
		r.problem(root, `BTCPP_format is "4", and not %.80q`, form)
		return bt.Tree{}
	}
	main, _ := root.take("main_tree_to_execute")
	root.take("project_name")
	r.leftOver(root)
	for _, e := range root.children {
		if e.name == "TreeNodesModel" {
			for _, model := range e.children {
				if id, ok := model.take("ID"); ok {
					r.models[id] = model.name
					r.port(id, model)
				}
			}
		}
	}
	r.inferPorts(root)
	var trees []bt.Subtree
	for _, e := range root.children {
		switch e.name {
		case "BehaviorTree":
			trees = append(trees, r.tree(e))
		case "TreeNodesModel":
		default:
			r.problem(e, "<%.80s> has no counterpart here", e.name)
		}
	}
	return r.main(root, trees, main)
}

// main finds the tree that is run; the others are its subtrees.
func (r *reader) main(root *element, trees []bt.Subtree, name string) bt.Tree {
	i := slices.IndexFunc(trees, func(t bt.Subtree) bool { return t.Name == name })
	switch {
	case i >= 0:
	case len(trees) == 1 && name == "":
		i = 0
	case name != "":
		r.problem(root, "there is no tree %.80q, which main_tree_to_execute names", name)
		return bt.Tree{}
	default:
		r.problem(root, "there are %d trees: main_tree_to_execute says which one is run", len(trees))
		return bt.Tree{}
	}
	m := trees[i]
	return bt.Tree{Name: m.Name, Description: m.Description, Blackboard: m.Blackboard, Root: m.Root, At: m.At, Subtrees: slices.Delete(trees, i, i+1)}
}

// tree reads one of a file's trees.
func (r *reader) tree(e *element) bt.Subtree {
	t := bt.Subtree{At: e.at}
	t.Name, _ = e.take("ID")
	t.Description, _ = e.take("_description")
	declared, ok := e.take(blackboardAttribute)
	r.keys = bt.Schema{}
	if len(e.children) != 1 {
		r.problem(e, "a tree has one root, and not %d", len(e.children))
		return t
	}
	t.Root = r.node(e.children[0])
	if t.Blackboard = r.keys; ok {
		t.Blackboard = nil
		if err := json.Unmarshal([]byte(declared), &t.Blackboard); err != nil {
			r.problem(e, "%s: %v", blackboardAttribute, err)
		}
	}
	for name := range r.ports[t.Name] {
		t.Ports = r.ports[t.Name]
		if t.Blackboard == nil {
			t.Blackboard = bt.Schema{}
		}
		if t.Blackboard[name] == "" {
			t.Blackboard[name] = "any"
		}
	}
	r.leftOver(e)
	return t
}

// port reads the ports of a subtree's model.
func (r *reader) port(id string, model *element) {
	kinds := map[string]bt.Port{"input_port": bt.In, "output_port": bt.Out, "inout_port": bt.InOut}
	for _, p := range model.children {
		if name, ok := p.take("name"); ok && model.name == subtree && kinds[p.name] != "" {
			if r.ports[id] == nil {
				r.ports[id] = map[string]bt.Port{}
			}
			r.ports[id][name] = kinds[p.name]
		}
	}
}

// inferPorts gives a subtree for which no model declares ports those that its users bind: in and out, as
// BehaviorTree.CPP takes them.
func (r *reader) inferPorts(root *element) {
	declared := map[string]bool{}
	for name := range r.ports {
		declared[name] = true
	}
	var look func(*element)
	look = func(e *element) {
		id, isSubtree := e.name, r.models[e.name] == subtree
		if e.name == subtree {
			id, isSubtree = e.value("ID"), true
		}
		for _, a := range e.attributes {
			if _, ok := keyOf(a); !isSubtree || declared[id] || !ok || !portable(a.name) {
				continue
			}
			if r.ports[id] == nil {
				r.ports[id] = map[string]bt.Port{}
			}
			r.ports[id][a.name] = bt.InOut
		}
		for _, child := range e.children {
			look(child)
		}
	}
	for _, e := range root.children {
		if e.name == "BehaviorTree" {
			look(e)
		}
	}
}

// node reads a node and what is below it.
func (r *reader) node(e *element) *bt.Node {
	n := &bt.Node{At: e.at}
	n.Name, _ = e.take("name")
	n.Description, _ = e.take("_description")
	e.take("_uid") // the editor's own
	for _, a := range e.attributes {
		if key, ok := keyOf(a); ok {
			r.keys[key] = "any"
		}
	}
	class, name := "", e.name
	switch e.name {
	case action, condition, control, decorator, subtree:
		class = e.name
		id, ok := e.take("ID")
		if !ok {
			r.problem(e, "<%s> needs the ID of a node", e.name)
		}
		name = id
	default:
		class = r.models[e.name]
	}
	for _, child := range e.children {
		n.Children = append(n.Children, r.node(child))
	}
	if class == subtree {
		n.Kind, n.Subtree = bt.KindSubtree, name
		if remap, _ := e.take("_autoremap"); remap == "true" || remap == "1" {
			r.problem(e, "_autoremap has no counterpart here: name the subtree's ports one by one")
		}
		for _, a := range e.attributes {
			key, ok := keyOf(a)
			if !ok || strings.HasPrefix(a.name, "_") {
				r.problem(e, "%.80s of <SubTree> has no counterpart here: a port stands for a key in braces", a.name)
			}
			if n.Ports == nil {
				n.Ports = map[string]string{}
			}
			n.Ports[a.name] = key
		}
		return n
	}
	if i := slices.IndexFunc(shapes, func(s shape) bool { return s.element == name }); i >= 0 {
		r.shaped(e, n, &shapes[i])
		return n
	}
	if slices.Contains(absent, name) || len(n.Children) > 0 || class == control || class == decorator {
		r.problem(e, "<%.80s> has no counterpart here", name)
		return n
	}
	if n.Kind = bt.KindAction; class == condition {
		n.Kind = bt.KindCondition
	}
	n.Fn = name
	r.arguments(e, n)
	return n
}

// shaped reads the attributes of a node that is no function.
func (r *reader) shaped(e *element, n *bt.Node, s *shape) {
	n.Kind = s.kind
	if s.fits != nil && s.element != "KeepRunningUntilFailure" && s.fields == nil && len(n.Children) > 0 {
		r.problem(e, "<%s> has no children", s.element)
	}
	if s.fields != nil {
		f := &fields{element: e, reads: true}
		if s.fields(f, n); f.problem != nil {
			r.problem(e, "%v", f.problem)
		}
	}
	r.leftOver(e)
}

// arguments makes arguments of attributes.
func (r *reader) arguments(e *element, n *bt.Node) {
	f := &fields{element: e, reads: true}
	if f.args(argsAttribute, &n.Args); f.problem != nil {
		r.problem(e, "%v", f.problem)
	}
	for _, a := range e.attributes {
		if strings.HasPrefix(a.name, "_") {
			r.problem(e, "%.80s has no counterpart here", a.name)
			continue
		}
		if sameName(a.value) {
			a.value = "{" + a.name + "}"
		}
		v, err := valueOf(a.value)
		if err != nil {
			r.problem(e, "%.80s: %v", a.name, err)
		}
		if n.Args == nil {
			n.Args = bt.Args{}
		}
		n.Args[a.name] = v
	}
}

// leftOver refuses attributes that nobody has read.
func (r *reader) leftOver(e *element) {
	for _, a := range e.attributes {
		r.problem(e, "%.80s of <%.80s> has no counterpart here", a.name, e.name)
	}
}
