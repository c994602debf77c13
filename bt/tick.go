package bt

import (
	"fmt"
	"maps"
	"time"
)

// tick ticks a node and notes what came of it.
func (r *Run) tick(at int32) Status {
	s := &r.states[at]
	entry := r.enter(at)
	fresh := s.status == Fresh
	if fresh {
		s.since = r.elapsed
	}
	r.stop(at)
	if r.broken != nil {
		return r.leave(at, entry, Failure, r.broken.Error())
	}
	s.status = Running
	status, note := r.step(at, fresh)
	if r.broken != nil {
		status = Failure
	}
	return r.leave(at, entry, status, note)
}

// enter appends a node's entry to the trace, and returns where it is.
func (r *Run) enter(at int32) int {
	if len(r.entries) == maxEntries {
		return -1
	}
	r.entries = append(r.entries, Entry{Node: int(at)})
	return len(r.entries) - 1
}

// leave completes a node's entry, and returns the status.
func (r *Run) leave(at int32, entry int, status Status, note string) Status {
	s := &r.states[at]
	s.status = status
	if status.Finished() {
		s.until = r.elapsed
	}
	if entry >= 0 {
		e := &r.entries[entry]
		e.Status, e.Elapsed, e.Note = status, r.elapsed-s.since, note
	}
	return status
}

// stop sees whether the run's context has ended; in a replay, whether it had.
func (r *Run) stop(at int32) {
	if r.broken != nil {
		return
	}
	if r.options.replay != nil {
		r.broken = r.options.replay.stopped(at)
		return
	}
	if err := r.context.ctx.Err(); err != nil {
		r.broken = err
		r.options.Record.stop(at, err)
	}
}

// step does what a node's kind says.
func (r *Run) step(at int32, fresh bool) (Status, string) {
	n := &r.program.nodes[at]
	s := &r.states[at]
	switch n.Kind {
	case KindSequence:
		return r.inOrder(n, s, Failure)
	case KindSelector:
		return r.inOrder(n, s, Success)
	case KindParallel:
		return r.parallel(at, n, s, fresh)
	case KindForEach:
		return r.forEach(at, n, s, fresh)
	case KindTimeout:
		return r.timeout(n, s)
	case KindRetry:
		return r.retry(n, s)
	case KindGuard:
		return r.guard(n)
	case KindCooldown:
		return r.cooldown(n, s)
	case KindRepeat:
		return r.repeat(n, s)
	case KindInverter:
		return invert(r.tick(n.children[0])), ""
	case KindAlwaysSucceed:
		return once(r.tick(n.children[0]), Success), ""
	case KindAlwaysFail:
		return once(r.tick(n.children[0]), Failure), ""
	case KindSubtree:
		if fresh {
			r.board.clear(r.scopes[r.program.nodes[n.children[0]].scope])
		}
		return r.tick(n.children[0]), ""
	case KindLLMCall:
		return r.llmCall(at, n, s)
	}
	return r.leaf(at)
}

// inOrder ticks children from the present one on until one has the deciding status.
func (r *Run) inOrder(n *node, s *state, decides Status) (Status, string) {
	for ; int(s.index) < len(n.children); s.index++ {
		if status := r.tick(n.children[s.index]); status == Running || status == decides || r.broken != nil {
			return status, ""
		}
	}
	return invert(decides), ""
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
			r.states[p].conflict = key
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

func (r *Run) parallel(at int32, n *node, s *state, fresh bool) (Status, string) {
	if fresh {
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
	case s.conflict != "":
		status, note = Failure, fmt.Sprintf("two children have written the key %.40q", s.conflict)
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
	if fresh {
		list, ok := r.get(at, n.List).([]any)
		if !ok {
			return Failure, fmt.Sprintf("there is no list under %q", n.List)
		}
		s.list = list
	}
	child := n.children[0]
	for ; int(s.index) < len(s.list); s.index++ {
		if r.states[child].status == Fresh {
			c := r.contextFor(at)
			r.set(c, n.scope, n.Item, s.list[s.index])
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
			s.count++
		case !n.ContinueOnFailure:
			return Failure, ""
		}
		r.reset(child)
	}
	if int(s.count) < n.Min {
		return Failure, fmt.Sprintf("%d of at least %d elements succeeded", s.count, n.Min)
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

func (r *Run) cooldown(n *node, s *state) (Status, string) {
	child := n.children[0]
	if ready := s.finished + n.Duration; s.cooling && r.elapsed < ready {
		return Failure, fmt.Sprintf("it cools down for another %v", ready-r.elapsed)
	}
	status := r.tick(child)
	if status.Finished() {
		s.finished, s.cooling = r.elapsed, true
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
	if !s.asked {
		s.start = r.elapsed
	}
	call := n.LLM.withDefaults()
	status, note := r.leaf(at)
	temporary, after := r.context.temporary, r.context.after
	if status == Running {
		if r.elapsed-s.start < call.Timeout { // which bounds it, so it is no stall
			r.pause(s.start + call.Timeout)
			return Running, note
		}
		r.haltLeaf(at)
		status, note, temporary, after = Failure, fmt.Sprintf("no reply in %v", call.Timeout), true, 0
	}
	if status != Failure || !temporary || int(s.index) >= call.Retries || r.broken != nil {
		return status, note
	}
	again := r.attempt(s, max(backoff(call.Backoff, s.index), after))
	if note != "" {
		again = note + "; " + again
	}
	return Running, again
}

// leaf ticks a leaf, or takes what it did from a recording.
func (r *Run) leaf(at int32) (status Status, note string) {
	n := &r.program.nodes[at]
	c := r.contextFor(at)
	if r.options.replay != nil {
		status = r.options.replay.leaf(r, c)
	} else {
		status = r.call(n, c)
		r.options.Record.leaf(at, status, c)
	}
	if s := &r.states[at]; status == Running {
		s.asked = true
	} else {
		s.end()
		r.moved(r.elapsed)
	}
	if c.fault != "" {
		return status, c.fault
	}
	return status, c.note
}

// call calls a leaf's function and holds it to the rules.
func (r *Run) call(n *node, c *Context) (status Status) {
	defer func() {
		if p := recover(); p != nil {
			c.fail("%s", panicText(p))
			status = Failure
		}
	}()
	status = n.leaf.Tick(c)
	switch {
	case status == Running && n.Kind == KindCondition:
		c.fail("a condition can't be RUNNING")
	case status != Running && !status.Finished():
		c.fail("it returned %v", status)
	}
	if c.fault != "" {
		status = Failure
	}
	return status
}
