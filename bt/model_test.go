package bt

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// model is what the reference interpreter keeps: which leaves are under way, and the
// values on its blackboard. Scopes and nodes go by their paths, digits in the order of
// the tree.
type model struct {
	subtrees        map[string]*Node
	answer          func(leaf string) answer
	trace, halted   []string
	now, due, moved time.Duration
	cancelled       bool // by a leaf
	stopped         bool // at a node
	anew            bool // the root has finished: the next tick is another event
	over            bool
	root            func() Status
	running         map[string]string            // the leaves that are RUNNING, and their names
	cooled          map[string]time.Duration     // the end of a cooldown
	values          map[[2]string]any            // by scope and key
	writes          [][3]string                  // path, scope and key
	directions      map[string]Port              // of the subtree's ports
	ports           map[string]string            // the scope around a subtree's
	bound           map[string]map[string]string // the keys for a subtree's ports, by its scope
	budgets         map[string]Budget
	spent           map[string][2]int // tokens and money below a budget
}

// answer is what a leaf does when it is asked.
type answer struct {
	status    Status
	panics    bool
	cancels   bool          // it ends the tick's context
	temporary bool          // its failure may pass
	after     time.Duration // and does not before this
	key       string        // it sets this one
	global    bool          // globally
	value     any
	spends    Spent
}

func newModel(t Tree, global map[string]any, answer func(leaf string) answer) *model {
	m := &model{answer: answer, subtrees: map[string]*Node{}, running: map[string]string{},
		cooled: map[string]time.Duration{}, values: map[[2]string]any{}, budgets: map[string]Budget{}, spent: map[string][2]int{},
		ports: map[string]string{}, bound: map[string]map[string]string{}}
	for _, s := range t.Subtrees {
		m.subtrees[s.Name], m.directions = s.Root, s.Ports
	}
	for key, v := range global {
		m.values[[2]string{"", key}] = v
	}
	m.root = m.node(t.Root, "0", "0")
	return m
}

// tick ticks the root.
func (m *model) tick(now time.Duration) Status {
	m.halted = nil
	if m.over {
		return Failure
	}
	m.now, m.due, m.trace = now, never, nil
	if m.anew {
		m.moved = now
	}
	status := m.root()
	if still := now - m.moved; m.cancelled || status == Running && still >= StallFail {
		m.halt("0")
		m.over, status = true, Failure
		m.trace[0] = m.trace[0][:strings.LastIndex(m.trace[0], " ")] + " FAILURE"
	} else if still < StallWarn {
		m.dueAt(m.moved + StallWarn)
	}
	if m.anew = status.Finished(); m.anew {
		m.forget("0")
	}
	m.dueAt(m.moved + StallFail)
	return status
}

// node returns a node that makes itself when it is ticked first, and after its end.
func (m *model) node(n *Node, scope, path string) func() Status {
	var made func() Status
	return func() Status {
		if m.stopped = m.stopped || m.cancelled; m.stopped {
			return Failure
		}
		if made == nil {
			made = m.begin(n, scope, path)
		}
		i := len(m.trace)
		m.trace = append(m.trace, "")
		status := made()
		if m.stopped {
			status = Failure
		}
		m.trace[i] = n.Name + n.Subtree + " " + status.String()
		if status.Finished() {
			made = nil
		}
		return status
	}
}

// exceeds reports whether more was spent below a budget than may be.
func (m *model) exceeds(path string) bool {
	b, spent := m.budgets[path], m.spent[path]
	return b.Tokens > 0 && spent[0] > b.Tokens || b.Money > 0 && spent[1] > int(b.Money)
}

// above returns the budgets that a leaf stands below.
func (m *model) above(leaf string) (all []string) {
	for path := range m.budgets {
		if strings.HasPrefix(leaf, path+"/") {
			all = append(all, path)
		}
	}
	return all
}

// ask asks a leaf, unless its budget is spent.
func (m *model) ask(n *Node, scope, path string) answer {
	if slices.ContainsFunc(m.above(path), m.exceeds) {
		m.halt(path)
		return answer{status: Failure}
	}
	a := m.answer(n.Name)
	for _, budget := range m.above(path) {
		spent := m.spent[budget]
		m.spent[budget] = [2]int{spent[0] + a.spends.Tokens, spent[1] + int(a.spends.Money)}
	}
	if a.global {
		scope = ""
	}
	refused := a.key != "" && !m.set(path, scope, a.key, a.value)
	m.cancelled = a.cancels
	if refused && !a.panics && a.status == Running && n.Kind != KindCondition {
		m.running[path] = n.Name
		m.halt(path)
	}
	if a.panics || refused || a.status == Running && n.Kind == KindCondition {
		a.status = Failure
	}
	if a.status == Running {
		m.running[path] = n.Name
	} else {
		delete(m.running, path)
		m.moved = m.now
	}
	return a
}

func (m *model) llmCall(n *Node, scope, path string, start *time.Duration, retry int, again func(time.Duration) Status) Status {
	if m.running[path] == "" {
		*start = m.now
	}
	a := m.ask(n, scope, path)
	if a.status == Running {
		if m.now-*start < n.LLM.Timeout {
			return m.waits(*start + n.LLM.Timeout)
		}
		m.halt(path)
		a = answer{status: Failure, temporary: true}
	}
	if a.status == Failure && a.temporary && retry < n.LLM.Retries {
		return again(max(n.LLM.Backoff<<retry, a.after))
	}
	return a.status
}

func (m *model) dueAt(at time.Duration) Status {
	m.due = min(m.due, at)
	return Running
}

// waits is RUNNING until a time, which is no stall.
func (m *model) waits(until time.Duration) Status {
	if until > m.now {
		m.moved = m.now
	}
	return m.dueAt(until)
}

// halt gives up the leaves that are RUNNING at and below a node.
func (m *model) halt(path string) {
	for _, leaf := range slices.Sorted(maps.Keys(m.running)) {
		if strings.HasPrefix(leaf+"/", path+"/") {
			m.halted = append(m.halted, m.running[leaf])
			delete(m.running, leaf)
		}
	}
}

func (m *model) forget(scope string) {
	maps.DeleteFunc(m.values, func(at [2]string, _ any) bool { return at[0] == scope })
}

func (m *model) get(scope, key string) any {
	for ; ; scope = scope[:max(strings.LastIndex(scope, "/"), 0)] {
		if outer := m.bound[scope][key]; outer != "" && m.directions[key] == Out {
			return nil
		} else if outer != "" {
			return m.get(m.ports[scope], outer)
		}
		if v, ok := m.values[[2]string{scope, key}]; ok || scope == "" {
			return v
		}
	}
}

func (m *model) set(path, scope, key string, v any) bool {
	if outer := m.bound[scope][key]; outer != "" {
		return m.directions[key] != In && m.set(path, m.ports[scope], outer, v)
	}
	m.values[[2]string{scope, key}] = v
	m.writes = append(m.writes, [3]string{path, scope, key})
	return true
}

// clash reports whether two children of a node have written one key since a write.
func (m *model) clash(path string, since int) bool {
	writers := map[[2]string]string{}
	for _, w := range m.writes[since:] {
		if !strings.HasPrefix(w[0], path+"/") {
			continue
		}
		at, child := [2]string{w[1], w[2]}, w[0][:len(path)+len("/0")]
		if writers[at] != "" && writers[at] != child {
			return true
		}
		writers[at] = child
	}
	return false
}
