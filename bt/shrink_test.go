package bt

import (
	"fmt"
	"slices"
	"strings"
)

// shrink makes a situation in which engine and reference differ as small as it gets.
func (s *situation) shrink() {
	for smaller := true; smaller; {
		smaller = false
		for _, less := range s.smaller() {
			if less.difference() != "" {
				*s, smaller = *less, true
				break
			}
		}
	}
}

// smaller returns situations with one thing less.
func (s *situation) smaller() []*situation {
	var all []*situation
	if s.ticks > 1 {
		less := *s
		less.ticks--
		all = append(all, &less)
	}
	for _, root := range smaller(s.tree.Root) {
		less := *s
		less.tree.Root = root
		all = append(all, &less)
	}
	for _, root := range smaller(s.tree.Subtrees[0].Root) {
		less := *s
		less.tree.Subtrees = slices.Clone(s.tree.Subtrees)
		less.tree.Subtrees[0].Root = root
		all = append(all, &less)
	}
	return all
}

// smaller returns a node's children, and the node without one, or with a smaller one.
func smaller(n *Node) []*Node {
	all := slices.Clone(n.Children)
	for i, child := range n.Children {
		with := func(instead ...*Node) {
			less := *n
			less.Children = slices.Concat(n.Children[:i], instead, n.Children[i+1:])
			all = append(all, &less)
		}
		with()
		for _, c := range smaller(child) {
			with(c)
		}
	}
	return all
}

// String shows the situation's tree.
func (s *situation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "global %v, %d ticks\n", s.global, s.ticks)
	show(&b, s.tree.Root, 0)
	fmt.Fprintln(&b, "subtree part:")
	show(&b, s.tree.Subtrees[0].Root, 1)
	return b.String()
}

func show(b *strings.Builder, n *Node, depth int) {
	fmt.Fprintf(b, "%s%s", strings.Repeat("  ", depth), n.Title())
	switch n.Kind {
	case KindSubtree:
		fmt.Fprintf(b, " %v", n.Ports)
	case KindSwitch:
		fmt.Fprintf(b, " %s %v", n.Key, n.Cases)
	case KindBudget:
		fmt.Fprintf(b, " %+v", n.Budget)
	case KindParallel:
		fmt.Fprintf(b, " need=%d", n.Need)
	case KindForEach:
		fmt.Fprintf(b, " item=%s min=%d continue=%v", n.Item, n.Min, n.ContinueOnFailure)
	case KindTimeout, KindCooldown:
		fmt.Fprintf(b, " %v", n.Duration)
	case KindRetry:
		fmt.Fprintf(b, " retries=%d backoff=%v", n.Retries, n.Backoff)
	case KindRepeat:
		fmt.Fprintf(b, " times=%d stop=%v", n.Times, n.StopOn)
	case KindLLMCall:
		fmt.Fprintf(b, " timeout=%v retries=%d backoff=%v", n.LLM.Timeout, n.LLM.Retries, n.LLM.Backoff)
	}
	fmt.Fprintln(b)
	for _, child := range n.Children {
		show(b, child, depth+1)
	}
}
