package groot

import (
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/bt"
)

// shape is how nodes of a kind stand in a file. The first of a kind that fits a node is
// written.
type shape struct {
	element string
	kind    bt.Kind
	model   string // the class by which a node of our own is declared; empty for BehaviorTree.CPP's
	fits    func(*bt.Node) bool
	fields  func(*fields, *bt.Node)
}

// The classes of nodes.
const (
	control   = "Control"
	decorator = "Decorator"
	action    = "Action"
	condition = "Condition"
	subtree   = "SubTree"
)

var shapes = []shape{
	{element: "AlwaysSuccess", kind: bt.KindSequence, fits: childless},
	{element: "Sequence", kind: bt.KindSequence},
	{element: "AlwaysFailure", kind: bt.KindSelector, fits: childless},
	{element: "Fallback", kind: bt.KindSelector},
	{element: "ReactiveSequence", kind: bt.KindReactiveSequence},
	{element: "ReactiveFallback", kind: bt.KindReactiveSelector},
	switches(2), switches(3), switches(4), switches(5), switches(6),
	{element: "SwitchOn", kind: bt.KindSwitch, model: control, fields: func(f *fields, n *bt.Node) {
		f.key("variable", &n.Key)
		f.values("cases", &n.Cases)
	}},
	{element: "Budget", kind: bt.KindBudget, model: decorator, fields: func(f *fields, n *bt.Node) {
		money := int(n.Budget.Money)
		f.number("tokens", &n.Budget.Tokens)
		f.number("money", &money)
		f.duration("time", &n.Budget.Time)
		n.Budget.Money = int64(money)
	}},
	{element: "Parallel", kind: bt.KindParallel, fields: parallel},
	{element: "Inverter", kind: bt.KindInverter},
	{element: "ForceSuccess", kind: bt.KindAlwaysSucceed},
	{element: "ForceFailure", kind: bt.KindAlwaysFail},
	{element: "Timeout", kind: bt.KindTimeout,
		fits:   func(n *bt.Node) bool { return n.Duration > 0 && n.Duration%time.Millisecond == 0 },
		fields: func(f *fields, n *bt.Node) { f.msec("msec", &n.Duration) }},
	{element: "PreciseTimeout", kind: bt.KindTimeout, model: decorator, fields: duration},
	{element: "RetryUntilSuccessful", kind: bt.KindRetry, fits: func(n *bt.Node) bool { return n.Backoff == 0 }, fields: attempts},
	{element: "RetryWithBackoff", kind: bt.KindRetry, model: decorator, fields: func(f *fields, n *bt.Node) {
		attempts(f, n)
		f.duration("backoff", &n.Backoff)
	}},
	{element: "Repeat", kind: bt.KindRepeat, fits: func(n *bt.Node) bool { return n.StopOn == bt.Fresh }, fields: cycles},
	{element: "KeepRunningUntilFailure", kind: bt.KindRepeat, fits: func(*bt.Node) bool { return false }},
	{element: "RepeatUntil", kind: bt.KindRepeat, model: decorator, fields: func(f *fields, n *bt.Node) {
		cycles(f, n)
		f.status("stop_on", &n.StopOn)
	}},
	{element: "Guard", kind: bt.KindGuard, model: control},
	{element: "Cooldown", kind: bt.KindCooldown, model: decorator, fields: duration},
	{element: "ForEach", kind: bt.KindForEach, model: decorator, fields: func(f *fields, n *bt.Node) {
		f.key("list", &n.List)
		f.key("item", &n.Item)
		f.number("min", &n.Min)
		f.flag("continue_on_failure", &n.ContinueOnFailure)
	}},
	{element: "LLMCall", kind: bt.KindLLMCall, model: action, fields: llmCall},
	{element: "ToolCall", kind: bt.KindTool, model: action, fields: toolCall},
	{element: "RunScript", kind: bt.KindScript, model: action, fields: script},
}

// absent are nodes of BehaviorTree.CPP that have no counterpart.
var absent = []string{"AsyncFallback", "AsyncSequence", "ConsumeQueue", "Delay", "EntryUpdatedAction", "EntryUpdatedDecorator", "IfThenElse",
	"LoopBool", "LoopDouble", "LoopInt", "LoopString", "ManualSelector", "ParallelAll", "Precondition", "RunOnce", "Script", "ScriptCondition",
	"SequenceStar", "SequenceWithMemory", "SetBlackboard", "SkipUnlessUpdated", "Sleep", "SubTreePlus", "TestNode", "TryCatch", "UnsetBlackboard",
	"WaitValueUpdate", "WasEntryUpdated", "WhileDoElse"}

// switches is BehaviorTree.CPP's switch of so many cases, which has one child more.
func switches(cases int) shape {
	return shape{element: fmt.Sprintf("Switch%d", cases), kind: bt.KindSwitch,
		fits: func(n *bt.Node) bool { return len(n.Cases) == cases && len(n.Children) == cases+1 },
		fields: func(f *fields, n *bt.Node) {
			f.key("variable", &n.Key)
			if f.reads {
				n.Cases = make([]any, cases)
			}
			for i := range n.Cases {
				f.value(fmt.Sprintf("case_%d", i+1), &n.Cases[i])
			}
			if len(n.Children) != cases+1 {
				f.fail("children", "there are %d, and not %d", len(n.Children), cases+1)
			}
		}}
}

func childless(n *bt.Node) bool { return len(n.Children) == 0 }

func duration(f *fields, n *bt.Node) { f.duration("duration", &n.Duration) }

// attempts are one more than retries.
func attempts(f *fields, n *bt.Node) {
	count := n.Retries + 1
	if f.number("num_attempts", &count); f.reads && count < 1 {
		f.fail("num_attempts", "%d: only so many attempts can be made here, 1 or more", count)
	}
	n.Retries = count - 1
}

// cycles are how often something is repeated; -1 is without end.
func cycles(f *fields, n *bt.Node) {
	count := n.Times
	if count == 0 {
		count = -1
	}
	if f.number("num_cycles", &count); count == 0 || count < -1 {
		f.fail("num_cycles", "%d is no number of times", count)
	}
	n.Times = max(count, 0)
}

// parallel: a negative number counts from the number of children, -1 being all of them.
func parallel(f *fields, n *bt.Node) {
	all := len(n.Children)
	success, failure := n.Need, all-n.Need+1
	if n.Need == 0 {
		success, failure = -1, 1
	}
	f.number("success_count", &success)
	f.number("failure_count", &failure)
	if !f.reads {
		return
	}
	counted := func(count, missing int) int {
		switch {
		case count == 0:
			return missing
		case count < 0:
			return max(all+count+1, 0)
		}
		return count
	}
	need, fails := counted(success, all), counted(failure, 1)
	if fails != all-need+1 {
		f.fail("failure_count", "a parallel that needs %d of %d children fails here when %d have failed, and not %d", need, all, all-need+1, fails)
	}
	if n.Need = need; success == -1 || success == 0 {
		n.Need = 0
	}
}

func llmCall(f *fields, n *bt.Node) {
	if f.reads {
		n.LLM = &bt.LLMCall{}
	}
	f.text("model", &n.LLM.Model)
	f.json("prompt_keys", &n.LLM.Prompt, len(n.LLM.Prompt) == 0)
	f.key("stream", &n.LLM.Stream)
	f.number("budget", &n.LLM.Budget)
	f.duration("timeout", &n.LLM.Timeout)
	f.number("retries", &n.LLM.Retries)
	f.duration("backoff", &n.LLM.Backoff)
}

func toolCall(f *fields, n *bt.Node) {
	if f.reads {
		n.Tool = &bt.ToolCall{}
	}
	f.text("tool", &n.Tool.Tool)
	f.args("args", &n.Tool.Args)
	f.json("from", &n.Tool.From, len(n.Tool.From) == 0)
	f.key("result", &n.Tool.Result)
}

func script(f *fields, n *bt.Node) {
	if f.reads {
		n.Script = &bt.Script{}
	}
	f.text("source", &n.Script.Source)
	f.duration("timeout", &n.Script.Timeout)
}
