package bt

import "time"

// Kind is what a node does; the package comment has a line on each.
type Kind string

// The kinds.
const (
	KindSequence         Kind = "sequence"
	KindSelector         Kind = "selector"
	KindReactiveSequence Kind = "reactive_sequence"
	KindReactiveSelector Kind = "reactive_selector"
	KindSwitch           Kind = "switch"
	KindParallel         Kind = "parallel"
	KindForEach          Kind = "for_each"
	KindTimeout          Kind = "timeout"
	KindRetry            Kind = "retry"
	KindGuard            Kind = "guard"
	KindCooldown         Kind = "cooldown"
	KindInverter         Kind = "inverter"
	KindAlwaysSucceed    Kind = "always_succeed"
	KindAlwaysFail       Kind = "always_fail"
	KindRepeat           Kind = "repeat"
	KindBudget           Kind = "budget"
	KindAction           Kind = "action"
	KindCondition        Kind = "condition"
	KindLLMCall          Kind = "llm_call"
	KindTool             Kind = "tool"
	KindScript           Kind = "script"
	KindSubtree          Kind = "subtree"
)

// Leaf reports whether nodes of the kind do something themselves.
func (k Kind) Leaf() bool {
	switch k {
	case KindAction, KindCondition, KindLLMCall, KindTool, KindScript:
		return true
	}
	return false
}

// A Tree is a behaviour tree's description.
type Tree struct {
	Name        string
	Description string
	Blackboard  Schema // of the tree's scope, and of the global one
	Root        *Node
	Subtrees    []Subtree
	At          string // where it stands, as file:line, for errors; may be empty
}

// A Subtree is a part that a tree uses by its name. Its Blackboard declares the keys of
// its own scope.
type Subtree struct {
	Name        string
	Description string
	Blackboard  Schema
	Ports       map[string]Port // those of its keys that stand for keys of whoever uses it
	Root        *Node
	At          string
}

// Port says what a subtree does with a key that stands for one of whoever uses it.
type Port string

// The ports.
const (
	In    Port = "in"    // it reads the key, and can't set it
	Out   Port = "out"   // it sets the key, and can't read it
	InOut Port = "inout" // both
)

// A Node is a node's description. The constructors set what its kind has; a node may
// stand in several places.
type Node struct {
	Kind        Kind
	Name        string
	Description string
	Children    []*Node
	At          string // where it stands, as file:line, for errors; may be empty

	Fn   string // action, condition: the name of a function in the library
	Args Args   // action, condition: bound arguments

	Need int // parallel: how many children must succeed; 0 for all

	List, Item        string // for_each: the key of the list, and the one its child finds the element under
	Min               int    // for_each: how many elements must succeed
	ContinueOnFailure bool   // for_each: an element that fails does not fail the node

	Duration time.Duration // timeout, cooldown
	Retries  int           // retry: how often the child is tried again
	Backoff  time.Duration // retry: the pause before the first retry; each further one is twice as long

	Key   string // switch: the key whose value decides
	Cases []any  // switch: the value that each child is for; one child more is for all others

	Budget Budget // budget

	Times  int    // repeat: how often; 0 for without end
	StopOn Status // repeat: Success or Failure of the child ends it with success; Fresh for neither

	LLM    *LLMCall
	Tool   *ToolCall
	Script *Script

	Subtree string            // subtree: the name of one
	Ports   map[string]string // subtree: each of its ports, and the key that it stands for here
}

// Spent is what a leaf has used up; it says so with [Context.Spend].
type Spent struct {
	Tokens int   `json:"tokens,omitempty"`
	Money  int64 `json:"money,omitempty"` // in millionths, so that sums are exact
}

// A Budget is what may be used up below a node. What is 0 has no limit.
type Budget struct {
	Spent
	Time time.Duration
}

// LLMCall says how a model is asked. What asks it is the library's.
type LLMCall struct {
	Model   string        // empty for the library's choice
	Prompt  []string      // keys whose values are the prompt
	Stream  string        // the key that holds the reply as it comes, if any
	Budget  int           // tokens of the reply; 0 for the library's choice
	Timeout time.Duration // of one attempt; DefaultLLMTimeout if 0
	Retries int           // after a failure that may pass; DefaultLLMRetries if 0, none if negative
	Backoff time.Duration // before the first retry, doubling; DefaultLLMBackoff if 0
}

// What holds for an llm_call that says nothing.
const (
	DefaultLLMRetries = 3
	DefaultLLMTimeout = 120 * time.Second
	DefaultLLMBackoff = 2 * time.Second
)

// ToolCall says which tool is called. What calls it is the library's.
type ToolCall struct {
	Tool   string
	Args   Args              // fixed arguments
	From   map[string]string // arguments from the blackboard: the argument's name and the key
	Result string            // the key that gets the result
}

// Script is a piece of program that decides a leaf. What runs it is the library's.
type Script struct {
	Source  string
	Timeout time.Duration // DefaultScriptTimeout if 0, MaxScriptTimeout at most
}

// How long a script may run.
const (
	DefaultScriptTimeout = 5 * time.Second
	MaxScriptTimeout     = 30 * time.Second
)

// Args are a leaf's bound arguments: values as a blackboard has them.
type Args map[string]any

// Text returns an argument, or the default if it is not there or no text.
func (a Args) Text(name, otherwise string) string {
	if s, ok := a[name].(string); ok {
		return s
	}
	return otherwise
}

// Number returns an argument, or the default if it is not there or no number.
func (a Args) Number(name string, otherwise float64) float64 {
	switch n := a[name].(type) {
	case int:
		return float64(n)
	case float64:
		return n
	}
	return otherwise
}

// Int returns an argument, or the default if it is not there or no whole number.
func (a Args) Int(name string, otherwise int) int {
	switch n := a[name].(type) {
	case int:
		return n
	case float64:
		if n == float64(int(n)) {
			return int(n)
		}
	}
	return otherwise
}

// Sequence makes a sequence.
func Sequence(children ...*Node) *Node { return &Node{Kind: KindSequence, Children: children} }

// Selector makes a selector.
func Selector(children ...*Node) *Node { return &Node{Kind: KindSelector, Children: children} }

// ReactiveSequence makes a sequence that asks its children from the first on at each tick.
func ReactiveSequence(children ...*Node) *Node {
	return &Node{Kind: KindReactiveSequence, Children: children}
}

// ReactiveSelector makes a selector that asks its children from the first on at each tick.
func ReactiveSelector(children ...*Node) *Node {
	return &Node{Kind: KindReactiveSelector, Children: children}
}

// A Case is a child of a switch, and the value that it is for: a text, a number or a bool.
type Case struct {
	Is    any
	Child *Node
}

// Switch makes a node that ticks the child for the value of a key, or the other one,
// which may be nil.
func Switch(key string, otherwise *Node, cases ...Case) *Node {
	n := &Node{Kind: KindSwitch, Key: key}
	for _, c := range cases {
		n.Cases, n.Children = append(n.Cases, c.Is), append(n.Children, c.Child)
	}
	if otherwise != nil {
		n.Children = append(n.Children, otherwise)
	}
	return n
}

// WithBudget makes a budget.
func WithBudget(b Budget, child *Node) *Node {
	return &Node{Kind: KindBudget, Budget: b, Children: []*Node{child}}
}

// Parallel makes a parallel node of which so many children must succeed; 0 is all.
func Parallel(need int, children ...*Node) *Node {
	return &Node{Kind: KindParallel, Need: need, Children: children}
}

// ForEach makes a node that ticks its child for each element of the list under a key,
// with the element under another.
func ForEach(list, item string, child *Node) *Node {
	return &Node{Kind: KindForEach, List: list, Item: item, Children: []*Node{child}}
}

// Timeout makes a timeout.
func Timeout(d time.Duration, child *Node) *Node {
	return &Node{Kind: KindTimeout, Duration: d, Children: []*Node{child}}
}

// Retry makes a retry.
func Retry(retries int, backoff time.Duration, child *Node) *Node {
	return &Node{Kind: KindRetry, Retries: retries, Backoff: backoff, Children: []*Node{child}}
}

// Guard makes a guard. The condition may be made of several by sequences, selectors and
// inverters.
func Guard(condition, child *Node) *Node {
	return &Node{Kind: KindGuard, Children: []*Node{condition, child}}
}

// Cooldown makes a cooldown.
func Cooldown(d time.Duration, child *Node) *Node {
	return &Node{Kind: KindCooldown, Duration: d, Children: []*Node{child}}
}

// Inverter makes an inverter.
func Inverter(child *Node) *Node { return &Node{Kind: KindInverter, Children: []*Node{child}} }

// AlwaysSucceed makes a node that succeeds when its child has finished.
func AlwaysSucceed(child *Node) *Node {
	return &Node{Kind: KindAlwaysSucceed, Children: []*Node{child}}
}

// AlwaysFail makes a node that fails when its child has finished.
func AlwaysFail(child *Node) *Node { return &Node{Kind: KindAlwaysFail, Children: []*Node{child}} }

// Repeat makes a node that ticks its child again when it has finished. Without stopOn
// (Fresh) it succeeds after so many successes, and a failure fails it. With stopOn it
// succeeds when the child ends like that, and fails if it has not after so many times.
// Each round is a tick of its own.
func Repeat(times int, stopOn Status, child *Node) *Node {
	return &Node{Kind: KindRepeat, Times: times, StopOn: stopOn, Children: []*Node{child}}
}

// Action makes an action.
func Action(name, fn string, args Args) *Node {
	return &Node{Kind: KindAction, Name: name, Fn: fn, Args: args}
}

// Condition makes a condition.
func Condition(name, fn string, args Args) *Node {
	return &Node{Kind: KindCondition, Name: name, Fn: fn, Args: args}
}

// AskModel makes an llm_call.
func AskModel(name string, call LLMCall) *Node {
	return &Node{Kind: KindLLMCall, Name: name, LLM: &call}
}

// CallTool makes a tool node.
func CallTool(name string, call ToolCall) *Node {
	return &Node{Kind: KindTool, Name: name, Tool: &call}
}

// RunScript makes a script node.
func RunScript(name string, script Script) *Node {
	return &Node{Kind: KindScript, Name: name, Script: &script}
}

// UseSubtree makes a node that is a subtree of that name.
func UseSubtree(name string) *Node { return &Node{Kind: KindSubtree, Subtree: name} }

// UseSubtreeWith makes a node that is a subtree of that name, with keys for its ports.
func UseSubtreeWith(name string, ports map[string]string) *Node {
	return &Node{Kind: KindSubtree, Subtree: name, Ports: ports}
}
