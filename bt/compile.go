package bt

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/safetext"
)

// What a tree may be at most.
const (
	maxNodes    = 10_000 // subtrees counted as often as they are used
	maxTreeDeep = 500
	maxPath     = 8192 // bytes
	maxTime     = 365 * 24 * time.Hour
	maxProblems = 100 // that are told
)

// A Library is what a tree's leaves are made of.
type Library struct {
	// Functions are for actions and conditions, by names such as "signals.has_signal". A
	// node's fn finds one by its last components: "bt.conditions.signals.has_signal"
	// does, and so does "has_signal" if no other function is called like that.
	Functions map[string]Leaf
	// Keys are the types that the functions want keys to have. A tree that declares one of
	// them otherwise is refused.
	Keys Schema
	// Types are types of keys, besides the built-in ones, which stay as they are: any,
	// string, bool, int, float, number, list, map, table.
	Types map[string]Type
	// LLM, Tool and Script make the leaves of these kinds. A tree with a kind that the
	// library does not make is refused.
	LLM    func(LLMCall) (Leaf, error)
	Tool   func(ToolCall) (Leaf, error)
	Script func(name string, s Script) (Leaf, error)
}

// A Problem is one thing that is wrong with a tree.
type Problem struct {
	At   string // file:line, if known
	Node string // the node's path
	Text string
}

// Error returns the problem on one line, as it may be printed.
func (p Problem) Error() string {
	const most = 500 // columns of each part
	var b strings.Builder
	if p.At != "" {
		b.WriteString(safetext.Cut(p.At, most) + ": ")
	}
	if p.Node != "" {
		b.WriteString(safetext.Cut(p.Node, most) + ": ")
	}
	b.WriteString(safetext.Cut(p.Text, most))
	return b.String()
}

// A Program is a tree that was checked and can be run, any number of times.
type Program struct {
	name        string
	description string
	nodes       []node // in the order of the tree, so that a node's descendants follow it
	steps       []step // of the same nodes
	scopes      []scopeInfo
	types       map[string]Type
}

// node is a node of a program.
type node struct {
	*Node
	path        string
	parent, end int32   // its descendants end before end
	children    []int32 //
	depth       int32
	scope       int32 // that its leaves write to
	parallel    int32 // the nearest parallel node above, or -1
	budget      int32 // the nearest budget above, or -1
	leaf        Leaf
}

// The scopes that every program has.
const (
	globalScope = 0
	treeScope   = 1
)

// scopeInfo is what is known of a scope. Its keys are declared by name.
type scopeInfo struct {
	parent int32
	name   string
	keys   Schema
	ports  map[string]bound
}

// compiler makes a program out of a tree.
type compiler struct {
	Program
	library  Library
	subtrees map[string]*Subtree
	problems []error
	tooLarge bool
	alone    bool     // what is compiled is used by nothing
	using    []string // the subtrees around the present node
}

// Compile checks a tree and makes it ready to run. The error has every [Problem] that
// was found.
func Compile(t Tree, library Library) (*Program, error) {
	c := &compiler{library: library, subtrees: map[string]*Subtree{}}
	c.name, c.description = t.Name, t.Description
	c.types = maps.Clone(builtinTypes)
	for name, check := range library.Types {
		if builtinTypes[name] == nil {
			c.types[name] = check
		}
	}
	c.scopes = []scopeInfo{{-1, "global", t.Blackboard, nil}, {globalScope, t.Name, t.Blackboard, nil}}
	c.schema(t.At, t.Name, t.Blackboard)
	for i, s := range t.Subtrees {
		if c.subtrees[s.Name] != nil {
			c.problem(s.At, s.Name, "there are two subtrees of this name")
		}
		c.subtrees[s.Name] = &t.Subtrees[i]
		c.schema(s.At, s.Name, s.Blackboard)
		c.checkPorts(s)
		if s.Root == nil {
			c.problem(s.At, s.Name, "the subtree has no root")
		}
	}
	if t.Root == nil {
		c.problem(t.At, t.Name, "the tree has no root")
	} else {
		c.add(t.Root, -1, treeScope, t.Name)
	}
	c.unused(t)
	if len(c.problems) > 0 {
		return nil, errors.Join(c.problems...)
	}
	for _, n := range c.nodes {
		op := ops[n.Kind]
		if op == opLeaf && n.budget >= 0 {
			op = opBudgeted
		}
		c.steps = append(c.steps, step{op, n.Kind == KindCondition, n.end, n.leaf.Tick})
	}
	return &c.Program, nil
}

func (c *compiler) problem(at, path, format string, args ...any) {
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, Problem{at, path, fmt.Sprintf(format, args...)})
	}
}

// enough reports whether there is no use in going on.
func (c *compiler) enough() bool { return c.tooLarge || len(c.problems) >= maxProblems }

func (c *compiler) schema(at, name string, s Schema) {
	for _, key := range slices.Sorted(maps.Keys(s)) {
		want := c.library.Keys[key]
		switch {
		case c.types[s[key]] == nil:
			c.problem(at, name, "key %.80q: there is no type %.80q; there are %s", key, s[key], strings.Join(typeNames(c.library.Types), ", "))
		case want != "" && s[key] != want:
			c.problem(at, name, "key %.80q has the type %s, and the functions that use it want %s", key, s[key], want)
		}
	}
}

// unused compiles subtrees that nothing uses, so that what is wrong with them shows; they
// are no part of the program.
func (c *compiler) unused(t Tree) {
	used := map[string]bool{}
	for _, n := range c.nodes {
		if n.Kind == KindSubtree {
			used[n.Subtree] = true
		}
	}
	for _, s := range t.Subtrees {
		if !used[s.Name] && s.Root != nil && !c.enough() {
			nodes, scopes := c.nodes, c.scopes
			c.nodes, c.scopes, c.alone = nil, slices.Clone(scopes), true
			c.add(&Node{Kind: KindSubtree, Subtree: s.Name, At: s.At}, -1, treeScope, t.Name)
			c.nodes, c.scopes, c.alone = nodes, scopes, false
		}
	}
}

// add appends a node and what is below it.
func (c *compiler) add(n *Node, parent, scope int32, above string) int32 {
	if n == nil {
		c.problem("", above, "a child is missing")
		return -1
	}
	path := above + "/" + n.label()
	at := int32(len(c.nodes))
	depth, parallel, budget := int32(0), int32(-1), int32(-1)
	if parent >= 0 {
		depth, parallel, budget = c.nodes[parent].depth+1, c.nodes[parent].parallel, c.nodes[parent].budget
		switch c.nodes[parent].Kind {
		case KindParallel:
			parallel = parent
		case KindBudget:
			budget = parent
		}
	}
	if len(c.nodes) >= maxNodes || depth > maxTreeDeep || len(path) > maxPath {
		c.tooLarge = true
		c.problem(n.At, above, "the tree is too large: at most %d nodes, %d deep, with paths of %d bytes, and subtrees counted as often as they are used", maxNodes, maxTreeDeep, maxPath)
		return -1
	}
	c.nodes = append(c.nodes, node{Node: n, path: path, parent: parent, depth: depth, scope: scope, parallel: parallel, budget: budget})
	before := len(c.problems)
	c.checkNode(n, path)
	switch {
	case n.Kind == KindSubtree:
		c.enter(at, scope, path)
	case n.Kind.Leaf():
		if len(c.problems) == before {
			c.nodes[at].leaf = c.leafOf(n, path)
			c.checkKeys(n, scope, path, c.nodes[at].leaf)
		}
	default:
		if n.Kind == KindForEach {
			c.reads(n, scope, path, n.List)
			c.writes(n, scope, path, n.Item)
			if t := c.declared(scope, n.List); t != "" && t != "list" && t != "any" {
				c.problem(n.At, path, "key %.80q has the type %s, and for_each goes through a list", n.List, t)
			}
		}
		if n.Kind == KindSwitch {
			c.checkSwitch(n, scope, path)
		}
		for _, child := range n.Children {
			i := c.add(child, at, scope, path)
			if c.enough() {
				return at
			}
			c.nodes[at].children = append(c.nodes[at].children, i)
		}
		if n.Kind == KindGuard {
			c.checkGuard(n, at, path)
		}
	}
	c.nodes[at].end = int32(len(c.nodes))
	return at
}

// enter puts a subtree below the node that uses it.
func (c *compiler) enter(at, scope int32, path string) {
	n := c.nodes[at]
	s := c.subtrees[n.Subtree]
	switch {
	case s == nil:
		c.problem(n.At, path, "there is no subtree %.80q%s", n.Subtree, nearest(n.Subtree, slices.Sorted(maps.Keys(c.subtrees))))
		return
	case slices.Contains(c.using, n.Subtree):
		c.problem(n.At, path, "the subtree uses itself: %s", strings.Join(append(slices.Clone(c.using), n.Subtree), " > "))
		return
	case s.Root == nil:
		return
	}
	c.using = append(c.using, n.Subtree)
	c.scopes = append(c.scopes, scopeInfo{scope, s.Name, s.Blackboard, c.bind(n.Node, s, scope, path)})
	if i := c.add(s.Root, at, int32(len(c.scopes)-1), path); i >= 0 {
		c.nodes[at].children = []int32{i}
	}
	c.using = c.using[:len(c.using)-1]
}

// label is how a node is called in paths.
func (n *Node) label() string {
	switch {
	case n.Kind == KindSubtree:
		return n.Subtree
	case n.Name != "":
		return n.Name
	}
	return string(n.Kind)
}

// leafOf finds or makes what a leaf does.
func (c *compiler) leafOf(n *Node, path string) Leaf {
	var leaf Leaf
	var err error
	missing := false
	switch n.Kind {
	case KindAction, KindCondition:
		return c.function(n, path)
	case KindLLMCall:
		if missing = c.library.LLM == nil; !missing {
			leaf, err = c.library.LLM(n.LLM.withDefaults())
		}
	case KindTool:
		if missing = c.library.Tool == nil; !missing {
			leaf, err = c.library.Tool(*n.Tool)
		}
	case KindScript:
		if missing = c.library.Script == nil; !missing {
			s := *n.Script
			if s.Timeout == 0 {
				s.Timeout = DefaultScriptTimeout
			}
			leaf, err = c.library.Script(n.label(), s)
		}
	}
	switch {
	case missing:
		c.problem(n.At, path, "nothing here can do a %s", n.Kind)
	case err != nil:
		c.problem(n.At, path, "%v", err)
	}
	return leaf
}

func (l LLMCall) withDefaults() LLMCall {
	if l.Timeout == 0 {
		l.Timeout = DefaultLLMTimeout
	}
	if l.Backoff == 0 {
		l.Backoff = DefaultLLMBackoff
	}
	if l.Retries == 0 {
		l.Retries = DefaultLLMRetries
	}
	l.Retries = max(l.Retries, 0)
	return l
}

// function finds the function that a node names, and checks its arguments.
func (c *compiler) function(n *Node, path string) Leaf {
	name, err := resolve(n.Fn, c.library.Functions)
	if err != nil {
		c.problem(n.At, path, "%v", err)
		return Leaf{}
	}
	leaf := c.library.Functions[name]
	if n.Kind == KindCondition && leaf.async {
		c.problem(n.At, path, "a condition is never RUNNING, and %s takes its time: make it an action", name)
	}
	if leaf.Check != nil {
		if err := leaf.Check(n.Args); err != nil {
			c.problem(n.At, path, "%s: %v", name, err)
		}
	}
	for _, arg := range slices.Sorted(maps.Keys(n.Args)) {
		if !slices.Contains(leaf.Params, arg) {
			c.problem(n.At, path, "%s takes no argument %.80q%s", name, arg, nearest(arg, leaf.Params))
		}
		if _, err := sizeOf(n.Args[arg]); err != nil {
			c.problem(n.At, path, "argument %.80q: %v", arg, err)
		}
	}
	return leaf
}

// resolve finds the function that is meant by a name: the one of that name, the longest
// one that the name ends with, or the only one that ends with it.
func resolve(fn string, functions map[string]Leaf) (string, error) {
	if _, ok := functions[fn]; ok {
		return fn, nil
	}
	longest := ""
	var shorter []string
	for name := range functions {
		if strings.HasSuffix(fn, "."+name) && len(name) > len(longest) {
			longest = name
		}
		if strings.HasSuffix(name, "."+fn) {
			shorter = append(shorter, name)
		}
	}
	switch {
	case longest != "":
		return longest, nil
	case len(shorter) == 1:
		return shorter[0], nil
	case len(shorter) > 1:
		slices.Sort(shorter)
		return "", fmt.Errorf("fn %.80q can be %s: say which", fn, strings.Join(shorter, " or "))
	}
	return "", fmt.Errorf("there is no function %.80q%s", fn, nearest(fn, slices.Sorted(maps.Keys(functions))))
}

// checkKeys checks that the keys which a leaf is seen to use are declared.
func (c *compiler) checkKeys(n *Node, scope int32, path string, leaf Leaf) {
	c.reads(n, scope, path, leaf.Reads...)
	c.writes(n, scope, path, leaf.Writes...)
	if n.LLM != nil {
		c.reads(n, scope, path, n.LLM.Prompt...)
		c.writes(n, scope, path, n.LLM.Stream)
	}
	if n.Tool != nil {
		for _, arg := range slices.Sorted(maps.Keys(n.Tool.From)) {
			c.reads(n, scope, path, n.Tool.From[arg])
		}
		c.writes(n, scope, path, n.Tool.Result)
	}
}

// need checks that a key is declared, and reports whether it is.
func (c *compiler) need(n *Node, scope int32, path, key string) bool {
	if key == "" || c.declared(scope, key) != "" {
		return key != ""
	}
	declaration := "it"
	if t := c.library.Keys[key]; t != "" {
		declaration = fmt.Sprintf("%s = %q", key, t)
	}
	var known []string
	for s := scope; s >= 0; s = c.scopes[s].parent {
		known = slices.AppendSeq(known, maps.Keys(c.scopes[s].keys))
	}
	slices.Sort(known)
	c.problem(n.At, path, "key %.80q is not declared: add %.80s to the blackboard of %q%s", key, declaration, c.scopes[scope].name, nearest(key, known))
	return false
}

// declared returns the type of a key as a scope sees it, or "".
func (p *Program) declared(scope int32, key string) string {
	for ; scope >= 0; scope = p.scopes[scope].parent {
		if t := p.scopes[scope].keys[key]; t != "" {
			return t
		}
	}
	return ""
}

// nearest says which of some names may have been meant.
func nearest(name string, names []string) string {
	const most = 100 // letters: the work grows with their square
	last := name[strings.LastIndex(name, ".")+1:]
	if len(last) > most {
		return ""
	}
	best, distance := "", len(last)/2+1
	for _, n := range names {
		other := n[strings.LastIndex(n, ".")+1:]
		if len(other) > most {
			continue
		}
		if d := distanceOf(last, other); d < distance {
			best, distance = n, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; is %q meant?", best)
}

// distanceOf counts the letters to change to make one word of another.
func distanceOf(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

// A NodeInfo is what there is to know about a node of a program.
type NodeInfo struct {
	Index    int // its place in the order of the tree
	Parent   int // -1 for the root
	Children []int
	Depth    int
	Path     string
	Scope    string // the tree or subtree that it belongs to
	Node     *Node
}

// Name returns the tree's name.
func (p *Program) Name() string { return p.name }

// Description returns what the tree says of itself.
func (p *Program) Description() string { return p.description }

// Nodes returns every node, in the order of the tree, with subtrees in the places where
// they are used.
func (p *Program) Nodes() []NodeInfo {
	all := make([]NodeInfo, len(p.nodes))
	for i, n := range p.nodes {
		all[i] = NodeInfo{Index: i, Parent: int(n.parent), Depth: int(n.depth), Path: n.path,
			Scope: p.scopes[n.scope].name, Node: n.Node}
		for _, child := range n.children {
			all[i].Children = append(all[i].Children, int(child))
		}
	}
	return all
}

// backoff is the pause before a retry, the first of which is number 0.
func backoff(first time.Duration, retry int32) time.Duration {
	const most = time.Hour
	for range min(retry, 40) {
		first = max(first, min(2*first, most))
	}
	return first
}
