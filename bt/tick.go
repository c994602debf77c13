package bt

// op is what a tick does with a node. Numbers in a row, so that it is one jump.
type op uint8

const (
	opLeaf op = iota // action, condition, tool, script
	opSequence
	opSelector
	opInverter
	opAlwaysSucceed
	opAlwaysFail
	opSubtree
	opParallel
	opForEach
	opTimeout
	opRetry
	opGuard
	opCooldown
	opRepeat
	opLLMCall
	opReactiveSequence
	opReactiveSelector
	opSwitch
	opBudget
	opBudgeted // a leaf below a budget
)

var ops = map[Kind]op{
	KindAction: opLeaf, KindCondition: opLeaf, KindTool: opLeaf, KindScript: opLeaf,
	KindSequence: opSequence, KindSelector: opSelector, KindInverter: opInverter,
	KindAlwaysSucceed: opAlwaysSucceed, KindAlwaysFail: opAlwaysFail, KindSubtree: opSubtree,
	KindParallel: opParallel, KindForEach: opForEach, KindTimeout: opTimeout, KindRetry: opRetry,
	KindGuard: opGuard, KindCooldown: opCooldown, KindRepeat: opRepeat, KindLLMCall: opLLMCall,
	KindReactiveSequence: opReactiveSequence, KindReactiveSelector: opReactiveSelector,
	KindSwitch: opSwitch, KindBudget: opBudget,
}

// step is what every tick needs of a node. All else of it stands in [node], so that a
// tick goes through little memory. A node's children follow it: the first at once, each
// further one at the end of the one before.
type step struct {
	op        op
	condition bool
	end       int32
	leaf      func(*Context) Status
}

// tick ticks a node and notes what came of it.
func (r *Run) tick(at int32) Status {
	steps := r.program.steps
	n := &steps[at]
	if n.op == opLeaf {
		return r.tickLeaf(at, n)
	}
	s := &r.states[at]
	entry := r.enter()
	fresh := s.status == Fresh
	if fresh {
		s.since = r.elapsed
	}
	if r.ended.Load() && r.stop(at) {
		return r.leave(at, s, entry, Failure, r.broken.Error())
	}
	s.status = Running
	status, note := Success, ""
	switch n.op {
	case opSequence:
		// The present child is kept by its place, which is never 0.
		for child := max(s.index, at+1); child < n.end; child = steps[child].end {
			if status = r.tick(child); status != Success {
				s.index = child
				break
			}
		}
	case opSelector:
		status = Failure
		for child := max(s.index, at+1); child < n.end; child = steps[child].end {
			if status = r.tick(child); status != Failure || r.broken != nil {
				s.index = child
				break
			}
		}
	case opInverter:
		status = invert(r.tick(at + 1))
	case opAlwaysSucceed:
		status = once(r.tick(at+1), Success)
	case opAlwaysFail:
		status = once(r.tick(at+1), Failure)
	default:
		status, note = r.further(at, n.op, s, fresh)
	}
	if r.broken != nil {
		status = Failure
	}
	return r.leave(at, s, entry, status, note)
}

// tickLeaf ticks a leaf.
func (r *Run) tickLeaf(at int32, n *step) (status Status) {
	s := &r.states[at]
	entry := r.enter()
	if s.status == Fresh {
		s.since = r.elapsed
	}
	if r.ended.Load() && r.stop(at) {
		return r.leave(at, s, entry, Failure, r.broken.Error())
	}
	s.status = Running
	if !r.plain {
		status, note := r.leaf(at)
		if r.broken != nil {
			status = Failure
		}
		return r.leave(at, s, entry, status, note)
	}
	c := r.contextFor(at)
	status = r.call(n, c)
	if s.working || c.fault != "" || status == Running {
		return r.leave(at, s, entry, status, r.settle(at, status, c))
	}
	s.asked = false
	r.progress, r.stalled = r.elapsed, false
	return r.leave(at, s, entry, status, c.note)
}

// enter makes room for a node's entry in the trace, and returns where it is.
func (r *Run) enter() int {
	i := len(r.entries)
	switch {
	case i < cap(r.entries):
		r.entries = r.entries[:i+1]
	case i >= maxEntries:
		return -1
	default:
		r.entries = append(r.entries, Entry{})
	}
	return i
}

// leave writes a node's entry, and returns the status.
func (r *Run) leave(at int32, s *state, entry int, status Status, note string) Status {
	s.status = status
	if status != Running {
		s.until = r.elapsed
	}
	if entry >= 0 {
		e := &r.entries[entry]
		e.Node, e.Status, e.Elapsed = int(at), status, r.elapsed-s.since
		if e.Note != "" || note != "" { // a pointer costs more to write than to look at
			e.Note = note
		}
	}
	return status
}

// stop reports whether the run is broken, after it has seen whether its context has
// ended; in a replay, whether it had.
func (r *Run) stop(at int32) bool {
	switch {
	case r.broken != nil:
	case r.options.replay != nil:
		r.broken = r.options.replay.stopped(at)
	default:
		if err := r.context.ctx.Err(); err != nil {
			r.broken = err
			r.options.Record.stop(at, err)
		}
	}
	return r.broken != nil
}

// leaf ticks a leaf, or takes what it did from a recording.
func (r *Run) leaf(at int32) (status Status, note string) {
	c := r.contextFor(at)
	if r.options.replay != nil || r.options.Record != nil {
		status = r.recordedLeaf(c)
	} else {
		status = r.call(&r.program.steps[at], c)
	}
	return status, r.settle(at, status, c)
}

// settle notes what a leaf's function returned, and returns what the trace says of it.
func (r *Run) settle(at int32, status Status, c *Context) string {
	if status == Running {
		r.states[at].asked = true
	} else {
		r.end(at)
		r.moved(r.elapsed)
	}
	if c.fault != "" {
		return c.fault
	}
	return c.note
}

// call calls a leaf's function and holds it to the rules.
func (r *Run) call(n *step, c *Context) (status Status) {
	returned := false
	defer func() {
		if !returned {
			status = c.recovered(recover())
		}
	}()
	status = n.leaf(c)
	returned = true
	r.look()
	if status == Running && n.condition || status-Running > Failure-Running {
		c.misused(status)
	}
	if c.fault != "" {
		if status == Running && !n.condition {
			r.abandon(c)
		}
		status = Failure
	}
	return status
}

// abandon tells a leaf that has just said it is RUNNING, and may not be, that it is given up.
func (r *Run) abandon(c *Context) {
	before := *c
	r.states[c.node].asked = true
	r.haltLeaf(c.node)
	*c = before
}

// recovered takes what a leaf's function panicked with; nothing if it ended its goroutine.
func (c *Context) recovered(p any) Status {
	if p != nil {
		c.fail("%s", panicText(p))
	}
	return Failure
}

// misused says of a leaf's function that it returned what it must not.
func (c *Context) misused(status Status) {
	if status == Running {
		c.fail("a condition can't be RUNNING")
	} else {
		c.fail("it returned %v", status)
	}
}
