package bt

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// begin is a naive second interpreter of trees: what a node does from its first tick to
// its last, by the package's comment. It shares no code with the engine, and there is no
// state to reset: a node that begins anew is made anew. [model] has its blackboard.
func (m *model) begin(n *Node, scope, path string) func() Status {
	children, kids := n.Children, []func() Status{}
	if n.Kind == KindSubtree {
		m.ports[path+"/0"] = scope
		scope, children = path+"/0", []*Node{m.subtrees[n.Subtree]}
		m.bound[scope] = n.Ports
		m.forget(scope)
	}
	for i, child := range children {
		kids = append(kids, m.node(child, scope, path+"/"+strconv.Itoa(i)))
	}
	statuses := make([]Status, len(kids)) // of a parallel's children, or else what child 0 was last
	since, until, round, succeeded, writes := m.now, m.now, 0, 0, len(m.writes)
	list, isList := m.get(scope, n.List).([]any)
	if n.Kind == KindBudget {
		m.spent[path] = [2]int{}
		m.budgets[path] = n.Budget
	}
	passOver := func(i int) {
		if statuses[i] == Running {
			m.trace = append(m.trace, children[i].Name+children[i].Subtree+" FRESH")
			m.halt(path + "/" + strconv.Itoa(i))
			kids[i], statuses[i] = m.node(children[i], scope, path+"/"+strconv.Itoa(i)), Fresh
		}
	}
	again := func(wait time.Duration) Status {
		round, until = round+1, m.now+wait
		return m.waits(until)
	}
	return func() Status {
		if until > m.now {
			return m.waits(until)
		}
		if n.Kind == KindCooldown && statuses[0] != Running && m.now < m.cooled[path] {
			return Failure
		}
		switch n.Kind {
		case KindSequence, KindSelector:
			for ; round < len(kids); round++ {
				if s := kids[round](); s == Running || s == end(n.Kind != KindSequence) {
					return s
				}
			}
			return end(n.Kind == KindSequence)
		case KindReactiveSequence, KindReactiveSelector:
			for i := range kids {
				statuses[i] = kids[i]()
				if statuses[i] == Running || statuses[i] == end(n.Kind != KindReactiveSequence) {
					for later := i + 1; later < len(kids) && !m.stopped; later++ {
						passOver(later)
					}
					return statuses[i]
				}
			}
			return end(n.Kind == KindReactiveSequence)
		case KindSwitch:
			chosen := slices.IndexFunc(n.Cases, func(is any) bool { return fmt.Sprint(is) == fmt.Sprint(m.get(scope, n.Key)) })
			if chosen < 0 && len(kids) > len(n.Cases) {
				chosen = len(n.Cases)
			}
			for i := range kids {
				if i != chosen {
					passOver(i)
				}
			}
			if chosen < 0 {
				return Failure
			}
			statuses[chosen] = kids[chosen]()
			return statuses[chosen]
		case KindParallel:
			counts, need := map[Status]int{}, cmp.Or(n.Need, len(kids))
			for i := range kids {
				if !statuses[i].Finished() {
					statuses[i] = kids[i]()
				}
				counts[statuses[i]]++
			}
			clash := m.clash(path, writes)
			if !clash && counts[Success] < need && len(kids)-counts[Failure] >= need {
				return Running
			}
			m.halt(path)
			return end(!clash && counts[Success] >= need)
		case KindForEach:
			for ; isList && round < len(list); round++ {
				if statuses[0] != Running && !m.set(path, scope, n.Item, list[round]) {
					return Failure
				}
				statuses[0] = kids[0]()
				if statuses[0] == Running || statuses[0] == Failure && !n.ContinueOnFailure {
					return statuses[0]
				}
				succeeded += map[Status]int{Success: 1}[statuses[0]]
			}
			return end(isList && succeeded >= n.Min)
		case KindGuard:
			if kids[0]() == Success {
				return kids[1]()
			}
			m.halt(path)
			return Failure
		case KindLLMCall:
			return m.llmCall(n, scope, path, &since, round, again)
		case KindAction, KindCondition, KindTool, KindScript:
			return m.ask(n, scope, path).status
		}
		s := kids[0]()
		statuses[0] = s
		switch {
		case n.Kind == KindBudget && (m.exceeds(path) || s == Running && n.Budget.Time > 0 && m.now-since >= n.Budget.Time):
			m.halt(path)
			return Failure
		case n.Kind == KindBudget && s == Running && n.Budget.Time > 0:
			return m.dueAt(since + n.Budget.Time)
		case n.Kind == KindTimeout && s == Running && m.now-since >= n.Duration:
			m.halt(path)
			return Failure
		case n.Kind == KindTimeout && s == Running:
			return m.dueAt(since + n.Duration)
		case s == Running || n.Kind == KindSubtree || n.Kind == KindTimeout:
			return s
		case n.Kind == KindRetry && s == Failure && round < n.Retries:
			return again(n.Backoff << round)
		case n.Kind == KindCooldown:
			m.cooled[path] = m.now + n.Duration
		case n.Kind == KindInverter:
			return end(s == Failure)
		case n.Kind == KindAlwaysSucceed || n.Kind == KindAlwaysFail:
			return end(n.Kind == KindAlwaysSucceed)
		case n.Kind == KindRepeat && (s == n.StopOn || n.StopOn == Fresh && s == Failure):
			return end(s == n.StopOn)
		case n.Kind == KindRepeat && n.Times > 0 && round+1 == n.Times:
			return end(n.StopOn == Fresh)
		case n.Kind == KindRepeat:
			return again(0)
		}
		return s
	}
}

func end(succeeds bool) Status {
	if succeeds {
		return Success
	}
	return Failure
}
