package lua

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/bt"
	"github.com/signalbox-dev/signalbox/safetext"
)

// What a file may use. The steps end it before the time does, so that the same file fares
// the same on a slow machine.
const (
	loadTime  = 2 * time.Second
	loadSteps = 20_000_000
	maxMemory = 4 << 20 // of files and of scripts
)

// What a description may have at most.
const (
	maxNodes    = 10_000
	maxName     = 100 // bytes
	maxProblems = 100
	maxTime     = 24 * time.Hour
)

// Load evaluates a file and returns the tree that it describes. The name is for errors
// and the nodes' places. The error has every [bt.Problem] that was found.
func Load(ctx context.Context, name string, source []byte) (bt.Tree, error) {
	c, err := compile(name, source)
	if err != nil {
		return bt.Tree{}, err
	}
	l := &loader{file: c.name}
	globals := map[string]any{"BT": l.functions()}
	out, err := c.run(ctx, globals, limits{loadTime, loadSteps, maxMemory})
	switch {
	case err != nil:
		l.problems = append(l.problems, err)
	case l.tree == nil:
		l.say(0, "", "there is no tree: call BT.tree")
	case len(out.values) > 0 && out.values[0] != nil && out.values[0] != any(l.tree):
		l.say(0, "", "the file returns something else than its tree: return that, or nothing")
	}
	if len(l.problems) > 0 {
		return bt.Tree{}, errors.Join(l.problems...)
	}
	l.tree.Subtrees = l.subtrees
	return *l.tree, nil
}

// loader takes down what a file describes. A constructor that is called wrongly says so
// and returns a node all the same, so that the rest of the file is looked at too.
type loader struct {
	file     string
	tree     *bt.Tree
	subtrees []bt.Subtree
	nodes    int
	problems []error
}

func (l *loader) say(line int, node, format string, args ...any) {
	if len(l.problems) < maxProblems {
		l.problems = append(l.problems, bt.Problem{At: at(l.file, line), Node: clean(node), Text: clean(fmt.Sprintf(format, args...))})
	}
}

// functions are what BT has in a file.
func (l *loader) functions() module {
	m := module{name: "BT", members: map[string]any{"tree": function(l.makeTree), "subtree": function(l.makeSubtree), "case": function(l.makeCase)}}
	for name, make := range map[string]func(*constructor){
		"sequence":          (*constructor).composite,
		"selector":          (*constructor).composite,
		"reactive_sequence": (*constructor).composite,
		"reactive_selector": (*constructor).composite,
		"switch":            (*constructor).choice,
		"budget":            (*constructor).budget,
		"parallel":          (*constructor).parallel,
		"for_each":          (*constructor).forEach,
		"timeout":           (*constructor).timed,
		"cooldown":          (*constructor).timed,
		"retry":             (*constructor).retry,
		"guard":             (*constructor).guard,
		"inverter":          (*constructor).decorator,
		"always_succeed":    (*constructor).decorator,
		"always_fail":       (*constructor).decorator,
		"loop":              (*constructor).loop,
		"action":            (*constructor).call,
		"condition":         (*constructor).call,
		"llm_call":          (*constructor).llmCall,
		"tool":              (*constructor).tool,
		"script":            (*constructor).script,
	} {
		m.members[name] = function(func(c call) (any, error) {
			k, ok := l.constructor(name, c)
			if ok {
				make(k)
				k.finish()
			}
			return k.node, k.err
		})
	}
	return m
}

// constructor is one call of a function of BT.
type constructor struct {
	*loader
	line int
	word string // the function's name
	node *bt.Node
	args []any
	err  error // that ends the file
}

// constructor begins a node. A text as the first argument is its name. It reports whether
// the arguments can be looked at.
func (l *loader) constructor(word string, c call) (*constructor, bool) {
	kind := bt.Kind(word)
	if word == "loop" {
		kind = bt.KindRepeat
	}
	k := &constructor{loader: l, line: c.line, word: word, args: c.args, node: &bt.Node{Kind: kind, At: at(l.file, c.line)}}
	if l.nodes++; l.nodes > maxNodes {
		k.err = fmt.Errorf("%w: %d nodes", ErrLimit, maxNodes)
	}
	if len(k.args) > 0 {
		if name, ok := k.args[0].(string); ok {
			k.args = k.args[1:]
			k.node.Name = k.goodName(name)
		}
	}
	err := c.fault()
	if err != nil {
		k.wrong("%v", err)
	}
	return k, err == nil
}

func (k *constructor) wrong(format string, args ...any) {
	label := "BT." + k.word
	if k.node.Name != "" {
		label = k.node.Name
	}
	k.say(k.line, label, format, args...)
}

// goodName checks a name, which is shown in traces and drawings.
func (k *constructor) goodName(name string) string {
	switch {
	case name == "":
		k.wrong("its name is empty")
	case len(name) > maxName:
		k.wrong("its name is longer than %d bytes", maxName)
		name = ""
	case safetext.Escape(name) != name:
		k.wrong("its name %q is no line of plain text", name)
		name = ""
	}
	return name
}

func (k *constructor) needsName() {
	if k.node.Name == "" {
		k.wrong("it needs a name as its first argument")
	}
}

// next takes the next argument.
func (k *constructor) next() any {
	if len(k.args) == 0 {
		return nil
	}
	first := k.args[0]
	k.args = k.args[1:]
	return first
}

// finish says what is left of the arguments.
func (k *constructor) finish() {
	if len(k.args) > 0 {
		k.wrong("BT.%s takes fewer arguments", k.word)
	}
}

// child takes an argument that is a node.
func (k *constructor) child(what string) {
	switch v := k.next().(type) {
	case *bt.Node:
		k.node.Children = append(k.node.Children, v)
	case nil:
		k.wrong("its %s is missing: is a name misspelt, or does a function return nothing?", what)
	default:
		k.wrong("its %s is no node, but %s", what, kindOf(v))
	}
}

// children takes an argument that is a table of nodes.
func (k *constructor) children() {
	t, ok := k.next().(*table)
	if !ok {
		k.wrong("it needs a table of children: BT.%s({ … })", k.word)
		return
	}
	for i, item := range t.items {
		switch v := item.(type) {
		case *bt.Node:
			k.node.Children = append(k.node.Children, v)
		case nil:
			k.wrong("child %d is missing: is a name misspelt, or does a function return nothing?", i+1)
		default:
			k.wrong("child %d is no node, but %s", i+1, kindOf(v))
		}
	}
	if len(t.items) == 0 {
		k.wrong("it has no children")
	}
	o := options{k, t.fields, nil}
	k.node.Description = o.text("description")
	o.done()
}

// options takes an argument that is a table of settings.
func (k *constructor) options() options {
	o := options{constructor: k}
	switch v := k.next().(type) {
	case nil:
	case *table:
		o.fields = v.fields
		if len(v.items) > 0 {
			k.wrong("its settings have names: the first element has none")
		}
	default:
		k.wrong("its settings are a table, and not %s", kindOf(v))
	}
	if d := o.text("description"); d != "" {
		k.node.Description = d
	}
	return o
}

func (k *constructor) composite() { k.children() }

// choice takes the cases of a switch, and its settings.
func (k *constructor) choice() {
	t, ok := k.next().(*table)
	if !ok {
		k.wrong("it needs a table of cases: BT.switch({ BT.case(value, child), … }, { key = \"a key\" })")
		return
	}
	for i, item := range t.items {
		c, ok := item.(*bt.Case)
		if !ok {
			k.wrong("case %d is made by BT.case(value, child), and is not %s", i+1, kindOf(item))
			continue
		}
		k.node.Cases, k.node.Children = append(k.node.Cases, c.Is), append(k.node.Children, c.Child)
	}
	if len(t.items) == 0 {
		k.wrong("it has no cases")
	}
	inner := options{k, t.fields, nil}
	k.node.Description = inner.text("description")
	inner.done()
	o := k.options()
	defer o.done()
	k.node.Key = o.needed("key", "the key whose value decides")
	switch v := o.take("default").(type) {
	case nil:
	case *bt.Node:
		k.node.Children = append(k.node.Children, v)
	default:
		k.wrong("default is a node, and not %s", kindOf(v))
	}
}

// makeCase is BT.case.
func (l *loader) makeCase(c call) (any, error) {
	k := &constructor{loader: l, line: c.line, word: "case", args: c.args, node: &bt.Node{}}
	if err := c.fault(); err != nil {
		k.wrong("%v", err)
		return &bt.Case{}, nil
	}
	is := k.next()
	switch is.(type) {
	case string, bool, int, float64:
	default:
		k.wrong("its value is a text, a number, true or false, and not %s", kindOf(is))
	}
	k.child("child")
	k.finish()
	made := &bt.Case{Is: is}
	if len(k.node.Children) > 0 {
		made.Child = k.node.Children[0]
	}
	return made, nil
}

func (k *constructor) budget() {
	k.child("child")
	o := k.options()
	defer o.done()
	b := &k.node.Budget
	b.Tokens, b.Money, b.Time = o.whole("tokens"), o.money("money"), o.seconds("seconds")
	if !o.has("tokens") && !o.has("money") && !o.has("seconds") {
		k.wrong("it needs tokens, money or seconds")
	}
}

func (k *constructor) parallel() {
	k.children()
	o := k.options()
	defer o.done()
	switch v := o.take("succeed").(type) {
	case nil:
	case int:
		if k.node.Need = v; v < 1 {
			k.wrong("succeed is \"all\", \"one\" or a number from 1")
		}
	case string:
		switch v {
		case "all":
		case "one":
			k.node.Need = 1
		default:
			k.wrong("succeed is \"all\", \"one\" or a number, and not %q", v)
		}
	default:
		k.wrong("succeed is \"all\", \"one\" or a number, and not %s", kindOf(v))
	}
}

func (k *constructor) forEach() {
	k.child("child")
	o := k.options()
	defer o.done()
	k.node.List, k.node.Item = o.needed("list", "the key of a list"), o.needed("item", "the key for its element")
	k.node.Min = o.whole("min")
	k.node.ContinueOnFailure = o.flag("continue_on_failure")
}

func (k *constructor) timed() {
	k.child("child")
	o := k.options()
	defer o.done()
	if k.node.Duration = o.seconds("seconds"); k.node.Duration == 0 && !o.has("seconds") {
		k.wrong("it needs seconds, a time")
	}
}

func (k *constructor) retry() {
	k.child("child")
	o := k.options()
	defer o.done()
	if !o.has("retries") {
		k.wrong("it needs retries, how often to try again")
	}
	k.node.Retries, k.node.Backoff = o.whole("retries"), o.seconds("backoff")
}

func (k *constructor) guard() {
	k.child("condition")
	k.child("child")
	o := k.options()
	o.done()
}

func (k *constructor) decorator() {
	k.child("child")
	o := k.options()
	o.done()
}

func (k *constructor) loop() {
	k.child("child")
	o := k.options()
	defer o.done()
	k.node.Times = o.whole("times")
	switch stop := o.text("stop_on"); stop {
	case "":
	case "success":
		k.node.StopOn = bt.Success
	case "failure":
		k.node.StopOn = bt.Failure
	default:
		k.wrong("stop_on is \"success\" or \"failure\", and not %q", stop)
	}
}

func (k *constructor) call() {
	k.needsName()
	o := k.options()
	defer o.done()
	k.node.Fn, k.node.Args = o.needed("fn", "the function to call"), o.args("args")
}

func (k *constructor) llmCall() {
	o := k.options()
	defer o.done()
	l := &bt.LLMCall{Model: o.text("model"), Prompt: o.texts("prompt_keys"), Stream: o.text("stream_key"),
		Budget: o.whole("budget"), Timeout: o.seconds("timeout"), Backoff: o.seconds("backoff")}
	if o.has("retries") {
		// None is none: in bt, 0 stands for the default.
		if l.Retries = o.whole("retries"); l.Retries == 0 {
			l.Retries = -1
		}
	}
	k.node.LLM = l
}

func (k *constructor) tool() {
	k.needsName()
	o := k.options()
	defer o.done()
	k.node.Tool = &bt.ToolCall{Tool: o.needed("tool", "the name of a tool"), Args: o.args("args"), From: o.names("from"), Result: o.text("result")}
}

func (k *constructor) script() {
	k.needsName()
	o := k.options()
	defer o.done()
	k.node.Script = &bt.Script{Source: o.needed("source", "the script's text"), Timeout: o.seconds("timeout")}
	if k.node.Script.Timeout > bt.MaxScriptTimeout {
		k.wrong("its timeout is more than %v", bt.MaxScriptTimeout)
	}
}

// makeTree is BT.tree.
func (l *loader) makeTree(c call) (any, error) {
	k, ok := l.constructor("tree", c)
	t := &bt.Tree{Name: k.node.Name, At: k.node.At}
	if ok {
		k.needsName()
		t.Blackboard, t.Root = k.scope()
		t.Description = k.node.Description
		k.finish()
	}
	if l.tree == nil {
		l.tree = t
	} else {
		k.wrong("there is a tree already, at %s: a file has one, and the parts of it are BT.subtree", l.tree.At)
	}
	return t, k.err
}

// makeSubtree is BT.subtree, which defines one or uses one.
func (l *loader) makeSubtree(c call) (any, error) {
	k, ok := l.constructor("subtree", c)
	s := bt.Subtree{Name: k.node.Name, At: k.node.At}
	if ok {
		k.needsName()
		if k.usesSubtree() {
			k.node.Subtree, k.node.Name = k.node.Name, ""
			if len(k.args) > 0 {
				o := k.options()
				k.node.Ports = o.names("ports")
				o.done()
			}
			k.finish()
			return k.node, k.err
		}
		s.Ports = k.ports()
		s.Blackboard, s.Root = k.scope()
		s.Description = k.node.Description
		k.finish()
	}
	l.subtrees = append(l.subtrees, s)
	return &s, k.err
}

// usesSubtree reports whether BT.subtree uses one: it has a name alone, or ports and
// nothing that defines one.
func (k *constructor) usesSubtree() bool {
	if len(k.args) == 0 {
		return true
	}
	t, ok := k.args[0].(*table)
	return ok && t.fields["ports"] != nil && t.fields["root"] == nil && t.fields["blackboard"] == nil
}

// ports takes the ports that a subtree has out of its settings.
func (k *constructor) ports() map[string]bt.Port {
	t, ok := k.args[0].(*table)
	if !ok {
		return nil
	}
	o := options{k, t.fields, nil}
	names := o.names("ports")
	delete(t.fields, "ports")
	if len(names) == 0 {
		return nil
	}
	all := map[string]bt.Port{}
	for key, port := range names {
		all[key] = bt.Port(port)
	}
	return all
}

// scope takes the settings that trees and subtrees have.
func (k *constructor) scope() (bt.Schema, *bt.Node) {
	o := k.options()
	defer o.done()
	schema := bt.Schema(o.names("blackboard"))
	root, ok := o.take("root").(*bt.Node)
	if !ok {
		k.wrong("it needs root, a node")
	}
	return schema, root
}
