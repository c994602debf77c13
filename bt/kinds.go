package bt

import (
	"fmt"
	"maps"
	"time"
)

// further does what a node's kind says, for those of which few stand in a tree.
func (r *Run) further(at int32, op op, s *state, fresh bool) (Status, string) {
	n := &r.program.nodes[at]
	switch op {
	case opParallel:
		return r.parallel(at, n, fresh)
	case opForEach:
		status, note := r.forEach(at, n, s, fresh)
		if status != Running {
			r.extras[at].list = nil
		}
		return status, note
	case opTimeout:
		return r.timeout(n, s)
	case opRetry:
		return r.retry(n, s)
	case opGuard:
		return r.guard(n)
	case opCooldown:
		return r.cooldown(at, n)
	case opRepeat:
		return r.repeat(n, s)
	case opLLMCall:
		return r.llmCall(at, n, s)
	case opReactiveSequence:
		return r.reactive(n, Failure), ""
	case opReactiveSelector:
		return r.reactive(n, Success), ""
	case opSwitch:
		return r.choose(at, n, s)
	case opBudget:
		return r.budget(at, n, s, fresh)
	case opBudgeted:
		if note := r.overspent(at); note != "" {
			return Failure, note
		}
		return r.leaf(at)
	}
	if fresh { // opSubtree
		r.board.clear(r.scopes[r.program.nodes[at+1].scope])
	}
	return r.tick(at + 1), ""
}

func invert(s Status) Status {
	switch s {
	case Success:
		return Failure
	case Failure:
		return Success
	}
	return s
}

// once returns a status in place of any that is final.
func once(s, final Status) Status {
	if s.Finished() {
		return final
	}
	return s
}

// written is a key that was written below a parallel node.
type written struct {
	parallel, scope int32
	key             string
}

// wrote keeps who wrote a key below each parallel node around it.
func (r *Run) wrote(at, in int32, key string) {
	for p := r.program.nodes[at].parallel; p >= 0; p = r.program.nodes[p].parallel {
		w, child := written{p, in, key}, r.program.childAbove(p, at)
		if first, ok := r.writers[w]; ok && first != child {
			r.extras[p].conflict = key
		} else if !ok {
			if r.writers == nil {
				r.writers = map[written]int32{}
			}
			r.writers[w] = child
		}
	}
}

// childAbove returns the child of a node that another is or lies below.
func (p *Program) childAbove(of, at int32) int32 {
	for p.nodes[at].parent != of {
		at = p.nodes[at].parent
	}
	return at
}

func (r *Run) parallel(at int32, n *node, fresh bool) (Status, string) {
	x := &r.extras[at]
	if fresh {
		x.conflict = ""
		maps.DeleteFunc(r.writers, func(w written, _ int32) bool { return w.parallel == at })
	}
	need, succeeded, failed := n.Need, 0, 0
	if need == 0 {
		need = len(n.children)
	}
	for _, child := range n.children {
		status := r.states[child].status
		if !status.Finished() {
			status = r.tick(child)
		}
		switch status {
		case Success:
			succeeded++
		case Failure:
			failed++
		}
		if r.broken != nil {
			return Failure, ""
		}
	}
	status, note := Running, ""
	switch {
	case x.conflict != "":
		status, note = Failure, fmt.Sprintf("two children have written the key %.40q", x.conflict)
	case succeeded >= need:
		status = Success
	case failed > len(n.children)-need:
		status = Failure
	}
	if status != Running {
		r.haltChildren(n)
	}
	return status, note
}

// haltChildren gives up the children that are RUNNING. Those that finished stay as they are.
func (r *Run) haltChildren(n *node) {
	for _, child := range n.children {
		if r.states[child].status == Running {
			r.halt(child)
		}
	}
}

func (r *Run) forEach(at int32, n *node, s *state, fresh bool) (Status, string) {
	x := &r.extras[at]
	if fresh {
		list, ok := r.get(at, n.List).([]any)
		if !ok {
			return Failure, fmt.Sprintf("there is no list under %q", n.List)
		}
		x.list, x.count = list, 0
	}
	child := n.children[0]
	for ; int(s.index) < len(x.list); s.index++ {
		if r.states[child].status == Fresh {
			c := r.contextFor(at)
			r.set(c, n.scope, n.Item, x.list[s.index])
			r.options.Record.forget()
			if c.fault != "" {
				return Failure, c.fault
			}
		}
		status := r.tick(child)
		switch {
		case status == Running || r.broken != nil:
			return status, ""
		case status == Success:
			x.count++
		case !n.ContinueOnFailure:
			return Failure, ""
		}
		r.reset(child)
	}
	if x.count < n.Min {
		return Failure, fmt.Sprintf("%d of at least %d elements succeeded", x.count, n.Min)
	}
	return Success, ""
}

func (r *Run) timeout(n *node, s *state) (Status, string) {
	status := r.tick(n.children[0])
	if status != Running {
		return status, ""
	}
	if r.elapsed-s.since >= n.Duration {
		r.halt(n.children[0])
		return Failure, fmt.Sprintf("it took longer than %v", n.Duration)
	}
	r.due(s.since + n.Duration)
	return Running, ""
}

// due asks for a tick at a time.
func (r *Run) due(at time.Duration) { r.dueAt = min(r.dueAt, at) }

// pause asks for a tick at the end of a wait that is no stall.
func (r *Run) pause(until time.Duration) {
	r.due(until)
	r.moved(r.elapsed)
}

func (r *Run) retry(n *node, s *state) (Status, string) {
	if s.until > r.elapsed {
		r.pause(s.until)
		return Running, ""
	}
	status := r.tick(n.children[0])
	if status != Failure || int(s.index) >= n.Retries || r.broken != nil {
		return status, ""
	}
	r.reset(n.children[0])
	return Running, r.attempt(s, backoff(n.Backoff, s.index))
}

// attempt begins a further attempt after a pause.
func (r *Run) attempt(s *state, wait time.Duration) string {
	s.index++
	s.until = r.elapsed + wait
	if wait == 0 {
		r.again = true
		return "again"
	}
	r.pause(s.until)
	return "again in " + wait.String()
}

func (r *Run) guard(n *node) (Status, string) {
	condition, child := n.children[0], n.children[1]
	r.reset(condition)
	if r.tick(condition) != Success {
		if r.states[child].status == Running {
			r.halt(child)
		}
		return Failure, ""
	}
	return r.tick(child), ""
}

func (r *Run) cooldown(at int32, n *node) (Status, string) {
	child, x := n.children[0], &r.extras[at]
	if ready := x.finished + n.Duration; x.cooling && r.elapsed < ready {
		return Failure, fmt.Sprintf("it cools down for another %v", ready-r.elapsed)
	}
	status := r.tick(child)
	if status.Finished() {
		x.finished, x.cooling = r.elapsed, true
	}
	return status, ""
}

func (r *Run) repeat(n *node, s *state) (Status, string) {
	status := r.tick(n.children[0])
	if status == Running || r.broken != nil {
		return status, ""
	}
	switch {
	case n.StopOn == status:
		return Success, ""
	case n.StopOn == Fresh && status == Failure:
		return Failure, ""
	}
	s.index++
	if n.Times > 0 && int(s.index) >= n.Times {
		if n.StopOn == Fresh {
			return Success, ""
		}
		return Failure, fmt.Sprintf("%d times, and never %v", n.Times, n.StopOn)
	}
	r.reset(n.children[0])
	r.again = true
	return Running, ""
}

func (r *Run) llmCall(at int32, n *node, s *state) (Status, string) {
	if s.until > r.elapsed {
		r.pause(s.until)
		return Running, ""
	}
	if note := r.overspent(at); note != "" {
		return Failure, note
	}
	x := &r.extras[at]
	if !s.asked {
		x.start = r.elapsed
	}
	call := n.LLM.withDefaults()
	status, note := r.leaf(at)
	temporary, after := r.context.temporary, r.context.after
	if status == Running {
		if r.elapsed-x.start < call.Timeout { // which bounds it, so it is no stall
			r.pause(x.start + call.Timeout)
			return Running, note
		}
		r.haltLeaf(at)
		status, note, temporary, after = Failure, fmt.Sprintf("no reply in %v", call.Timeout), true, 0
	}
	if status != Failure || !temporary || int(s.index) >= call.Retries || r.broken != nil {
		return status, note
	}
	wait := max(backoff(call.Backoff, s.index), after)
	again := r.attempt(s, wait)
	if r.options.Again != nil {
		r.options.Again(Attempt{Node: int(at), After: wait, Number: int(s.index), Of: call.Retries})
	}
	if note != "" {
		again = note + "; " + again
	}
	return Running, again
}
