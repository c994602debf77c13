package bt

// checkNode checks what a node's kind demands of it.
func (c *compiler) checkNode(n *Node, path string) {
	say := func(format string, args ...any) { c.problem(n.At, path, format, args...) }
	want := map[Kind]int{KindTimeout: 1, KindRetry: 1, KindCooldown: 1, KindInverter: 1, KindAlwaysSucceed: 1,
		KindAlwaysFail: 1, KindRepeat: 1, KindForEach: 1, KindGuard: 2, KindBudget: 1}
	if count, ok := want[n.Kind]; ok && len(n.Children) != count {
		say("%s has %d children, and not %d", n.Kind, count, len(n.Children))
	}
	if (n.Kind.Leaf() || n.Kind == KindSubtree) && len(n.Children) > 0 {
		say("%s has no children", n.Kind)
	}
	switch n.Kind {
	case KindSequence, KindSelector, KindReactiveSequence, KindReactiveSelector, KindSwitch, KindInverter, KindAlwaysSucceed, KindAlwaysFail, KindSubtree, KindGuard, KindTool:
	case KindParallel:
		if n.Need < 0 || n.Need > len(n.Children) {
			say("%d of %d children can't succeed", n.Need, len(n.Children))
		}
	case KindForEach:
		if n.List == "" || n.Item == "" {
			say("it needs the key of a list and a key for its element")
		}
		if n.Min < 0 {
			say("a minimum of %d can't be met", n.Min)
		}
	case KindTimeout, KindCooldown:
		if n.Duration <= 0 || n.Duration > maxTime {
			say("it needs a time of more than 0, and at most a year")
		}
	case KindRetry:
		if n.Retries < 0 || n.Backoff < 0 || n.Backoff > maxTime {
			say("retries and back-off are 0 or more, the back-off at most a year")
		}
	case KindRepeat:
		if n.Times < 0 || n.StopOn == Running {
			say("times is 0 or more, and what stops it is SUCCESS or FAILURE")
		}
	case KindBudget:
		if wrong := n.Budget.check(); wrong != "" {
			say("%s", wrong)
		}
	case KindAction, KindCondition:
		if n.Fn == "" {
			say("it needs fn, the function to call")
		}
	case KindLLMCall:
		c.checkLLM(n, path)
	case KindScript:
		if n.Script == nil || n.Script.Source == "" {
			say("there is no script")
		} else if n.Script.Timeout < 0 || n.Script.Timeout > MaxScriptTimeout {
			say("a script's time is at most %v", MaxScriptTimeout)
		}
	default:
		say("there is no kind of node %.80q", n.Kind)
	}
	if n.Kind == KindTool && (n.Tool == nil || n.Tool.Tool == "") {
		say("it needs the name of a tool")
	}
}

func (c *compiler) checkLLM(n *Node, path string) {
	switch {
	case n.LLM == nil:
		c.problem(n.At, path, "there is no call")
	case min(n.LLM.Timeout, n.LLM.Backoff) < 0 || max(n.LLM.Timeout, n.LLM.Backoff) > maxTime || n.LLM.Budget < 0:
		c.problem(n.At, path, "time-out, back-off and budget are 0 or more, the times at most a year")
	}
}

// checkSwitch checks a switch's cases, and that its key can have them.
func (c *compiler) checkSwitch(n *Node, scope int32, path string) {
	say := func(format string, args ...any) { c.problem(n.At, path, format, args...) }
	if n.Key == "" {
		say("it needs the key whose value decides")
	}
	if more := len(n.Children) - len(n.Cases); len(n.Cases) == 0 || more < 0 || more > 1 {
		say("it needs a child for each case, and may have one more for all others: there are %d for %d", len(n.Children), len(n.Cases))
	}
	c.reads(n, scope, path, n.Key)
	declared := c.declared(scope, n.Key)
	for i, is := range n.Cases {
		name := typeOf(is)
		switch name {
		case "string", "bool", "int", "float":
		default:
			say("a case is a text, a number or a bool, and not %s", name)
			continue
		}
		if builtinTypes[declared] != nil && builtinTypes[declared](is) != nil && (declared != "int" || name != "float") {
			say("key %.80q has the type %s, and is never %s", n.Key, declared, shown(is))
		}
		for _, other := range n.Cases[:i] {
			if same(other, is) {
				say("there are two cases for %s", shown(is))
			}
		}
	}
}

// checkGuard checks that a guard's condition is made of conditions only.
func (c *compiler) checkGuard(n *Node, at int32, path string) {
	if len(n.Children) == 0 || n.Children[0] == nil {
		return
	}
	condition := c.nodes[at].children[0]
	for _, below := range c.nodes[condition:c.nodes[condition].end] {
		switch below.Kind {
		case KindCondition, KindSequence, KindSelector, KindInverter:
		default:
			c.problem(n.At, path, "a guard's condition is made of conditions: it is asked at each tick, and never RUNNING")
			return
		}
	}
}
