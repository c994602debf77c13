package bt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Options are what a run is given.
type Options struct {
	// Blackboard is the global scope. Nil stands for an empty one.
	Blackboard *Blackboard
	// Clock is what Drive tells the time by; time.Now if nil.
	Clock func() time.Time
	// Trace, if there is one, gets the entries of each tick at its end. They are good
	// until it returns.
	Trace func(tick int, at time.Duration, entries []Entry)
	// Again, if there is one, is told of each model call that is tried again, before the wait.
	Again func(Attempt)
	// Warn, if there is one, is told what is not in order but fails nothing.
	Warn func(text string)
	// Limits bound the run.
	Limits Limits
	// Record, if there is one, writes down what a replay needs.
	Record *Recorder

	replay *replayer
}

// An Attempt is a further one at a model call.
type Attempt struct {
	Node   int           // the call's, by its index in [Program.Nodes]
	After  time.Duration // the wait before it
	Number int           // from 1
	Of     int           // how many there can be
}

// A Run is one run of a program. It is not safe for concurrent use. It must be closed.
type Run struct {
	program *Program
	options Options
	limits  Limits // with defaults
	board   *Blackboard
	scopes  []scope // by scope; the global one is the blackboard's
	states  []state
	extras  []extra
	entries []Entry
	warned  map[string]bool
	context Context
	plain   bool            // nothing is recorded or replayed
	done    <-chan struct{} // of the last tick's context
	ended   *atomic.Bool    // that context may have ended
	unhook  func() bool     // ends what sets the flag

	began    time.Time
	elapsed  time.Duration // at this tick, from the first
	ticks    int
	dueAt    time.Duration // when a tick is due without anything waking it
	again    bool          // a tick is due at once
	progress time.Duration // when something last moved
	stalled  bool          // it was warned of
	broken   error         // what ended the run
	refused  []error       // values that keys could not have, since Drive was called

	carried     int            // of a run that is resumed: how many ticks the present event has had
	interrupted map[int32]bool // and its leaves that were under way

	writers map[written]int32 // the child of a parallel node that has written a key
	jobs    sync.WaitGroup
	woken   chan struct{}
	living  atomic.Bool // there was a sign of life since the last tick
}

// state is what a run knows of a node. It is small and has no pointers, so that many are
// made FRESH at once.
type state struct {
	status  Status
	asked   bool          // of a leaf: its function returned RUNNING
	working bool          // of a leaf: it has a job
	index   int32         // the present child's place; or the element, attempt or round
	since   time.Duration // when it was first ticked
	until   time.Duration // when a pause ends, or when it finished
}

// extra is what a run knows of nodes of some kinds. What begins anew sets it anew.
type extra struct {
	count    int           // of a for_each: how many elements succeeded
	list     []any         //
	start    time.Duration // of an llm_call: when the present attempt began
	finished time.Duration // of a cooldown: when its child finished last
	cooling  bool          //
	conflict string        // of a parallel node: a key that two children have written
	spent    Spent         // of a budget: below it
	job      *job          // of a leaf
}

const never = time.Duration(1<<63 - 1)

// Start begins a run.
func (p *Program) Start(o Options) *Run {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Blackboard == nil {
		o.Blackboard = &Blackboard{}
	}
	r := &Run{
		program: p, options: o, limits: o.Limits.withDefaults(), board: o.Blackboard,
		scopes: make([]scope, len(p.scopes)), states: make([]state, len(p.nodes)), extras: make([]extra, len(p.nodes)),
		entries: make([]Entry, 0, len(p.nodes)), warned: map[string]bool{},
		dueAt: never, woken: make(chan struct{}, 1),
		plain: o.Record == nil && o.replay == nil, ended: new(atomic.Bool),
	}
	r.context.run = r
	r.scopes[globalScope] = r.board.global()
	for i := range r.scopes[treeScope:] {
		r.scopes[treeScope+i] = scope{}
	}
	return r
}

// Tick ticks the tree at a time, which is never before that of the last tick. An error
// says why the run can't go on: the context's, [ErrStalled], or a replay's.
func (r *Run) Tick(ctx context.Context, now time.Time) (Status, error) {
	if r.broken != nil {
		return Failure, r.broken
	}
	if r.options.replay != nil {
		r.options.replay.resumeTick(r, now)
	}
	if r.ticks == 0 {
		r.began = now
		r.options.Record.begin(r)
	}
	r.ticks++
	r.elapsed = max(r.elapsed, now.Sub(r.began))
	r.dueAt, r.again = never, false
	r.entries = r.entries[:0]
	if r.states[0].status.Finished() {
		r.reset(0)
		r.board.clear(r.scopes[treeScope])
		r.moved(r.elapsed)
	}
	if r.living.Swap(false) {
		r.moved(r.elapsed)
	}
	r.follow(ctx)
	r.context.now = r.began.Add(r.elapsed)
	r.options.Record.tick(r)
	if r.options.replay != nil && r.options.replay.over() {
		r.goLive()
	}
	status := r.tick(0)
	r.stop(-1)
	if status == Running && r.broken == nil {
		r.watch()
	}
	if r.broken != nil {
		r.halt(0)
		status = Failure
		r.states[0].status = Failure
		if len(r.entries) > 0 {
			r.entries[0].Status, r.entries[0].Note = Failure, r.broken.Error()
		}
	}
	if r.options.Trace != nil {
		r.options.Trace(r.ticks, r.elapsed, r.entries)
	}
	return status, r.broken
}

// follow makes a context the tick's. Nodes look at a flag, which costs them less than to
// ask the context; it is set when the context ends, and nodes of a replay always ask.
func (r *Run) follow(ctx context.Context) {
	r.context.ctx = ctx
	if done := ctx.Done(); done != r.done {
		r.unfollow()
		ended := new(atomic.Bool)
		r.done, r.ended = done, ended
		if done != nil {
			r.unhook = context.AfterFunc(ctx, func() { ended.Store(true) })
		}
	}
	if r.look(); r.options.replay != nil {
		r.ended.Store(true)
	}
}

// look sees at once whether the context has ended, after a function that may have ended it.
func (r *Run) look() {
	if r.done != nil && r.context.ctx.Err() != nil {
		r.ended.Store(true)
	}
}

func (r *Run) unfollow() {
	if r.unhook != nil {
		r.unhook()
		r.unhook = nil
	}
}

// watch warns of a run in which nothing moves, and ends it.
func (r *Run) watch() {
	still, l := r.elapsed-r.progress, &r.limits
	if still >= l.StallFail {
		r.broken = l.stalled()
		return
	}
	if still >= l.StallWarn && !r.stalled {
		r.stalled = true
		r.warn(fmt.Sprintf("nothing has moved in the tree for %v", l.StallWarn))
	}
	next := l.StallFail
	if !r.stalled {
		next = min(next, l.StallWarn)
	}
	r.dueAt = min(r.dueAt, r.progress+next)
}

// moved notes that something got ahead.
func (r *Run) moved(at time.Duration) { r.progress, r.stalled = at, false }

// Due says when the next tick is due if nothing wakes the run before, and false if
// nothing but a leaf can make a difference.
func (r *Run) Due() (time.Time, bool) {
	if r.again {
		return r.began.Add(r.elapsed), true
	}
	return r.began.Add(min(r.dueAt, 1<<61)), r.dueAt != never
}

// Ticks returns how often the run was ticked.
func (r *Run) Ticks() int { return r.ticks }

// Trace returns what the last tick did, until the next one.
func (r *Run) Trace() []Entry { return r.entries }

// Status returns what is known of a node, and for how long it has been or was RUNNING.
func (r *Run) Status(node int) (Status, time.Duration) {
	s := r.states[node]
	switch s.status {
	case Fresh:
		return Fresh, 0
	case Running:
		return Running, r.elapsed - s.since
	}
	return s.status, s.until - s.since
}

// Drive ticks the tree until it has finished, and waits in between: for a leaf's work,
// for the time when a tick is due, and for the context. An error says why there is no
// result of the tree's own: [ErrTicks], [ErrStalled] or the context's. A tree that fails
// by itself has no error, unless a value was refused on the way: [ErrValue].
func (r *Run) Drive(ctx context.Context) (Status, error) {
	r.refused = nil
	timer := time.NewTimer(0)
	defer timer.Stop()
	carried := r.carried
	r.carried = 0
	for ticks := carried + 1; ; ticks++ {
		status, err := r.Tick(ctx, r.options.Clock())
		if status == Failure && err == nil {
			err = errors.Join(r.refused...)
		}
		if status != Running || err != nil {
			return status, err
		}
		if ticks >= r.limits.Ticks {
			break
		}
		if r.again || ticks == carried+1 && len(r.interrupted) > 0 { // what was under way went with its process: nothing wakes it
			continue
		}
		at, _ := r.Due() // a run that is RUNNING is watched, so there is a time
		timer.Reset(at.Sub(r.options.Clock()))
		select {
		case <-r.woken:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	r.broken = r.limits.ticked()
	r.halt(0)
	return Failure, r.broken
}

// Close gives up what is RUNNING and returns when its work has ended.
func (r *Run) Close() {
	if r.states[0].status == Running {
		r.halt(0)
	}
	if r.broken == nil {
		r.broken = errors.New("the run is closed")
	}
	r.unfollow()
	r.jobs.Wait()
	for _, s := range r.scopes[treeScope:] {
		r.board.clear(s)
	}
}

func (r *Run) wake() {
	r.alive()
	select {
	case r.woken <- struct{}{}:
	default:
	}
}

func (r *Run) alive() { r.living.Store(true) }

func (r *Run) warn(text string) {
	if r.options.Warn != nil {
		r.options.Warn(text)
	}
}

// reset makes a node and all below it FRESH.
func (r *Run) reset(at int32) { clear(r.states[at:r.program.steps[at].end]) }

// halt gives up what is RUNNING at and below a node, which is FRESH then.
func (r *Run) halt(at int32) {
	for i := at; i < r.program.steps[at].end; i++ {
		r.haltLeaf(i)
		r.extras[i].list = nil
	}
	r.reset(at)
}

// haltLeaf tells a leaf that is under way that it is given up, once.
func (r *Run) haltLeaf(at int32) {
	asked, halt := r.states[at].asked, r.program.nodes[at].leaf.Halt
	r.end(at)
	defer delete(r.interrupted, at)
	replay := r.options.replay
	if !asked || halt == nil || replay != nil && (!replay.resuming || r.program.nodes[at].leaf.Restore == nil) {
		return
	}
	c := r.contextFor(at)
	c.halted = true
	defer func() {
		if p := recover(); p != nil {
			r.warn(r.program.nodes[at].path + ": " + panicText(p))
		}
	}()
	halt(c)
	r.look()
}

// end notes that a leaf is not under way any more, and ends its work if there is any.
func (r *Run) end(at int32) {
	s := &r.states[at]
	if s.working {
		r.extras[at].job.cancel()
		r.extras[at].job = nil
	}
	s.asked, s.working = false, false
}

// contextFor makes the run's one context the leaf's. Few leaves leave something in it.
func (r *Run) contextFor(at int32) *Context {
	c := &r.context
	c.node = at
	if c.halted || c.temporary || c.note != "" || c.fault != "" || c.spent != (Spent{}) {
		c.halted, c.note, c.fault, c.temporary, c.after, c.spent = false, "", "", false, 0, Spent{}
	}
	return c
}

func panicText(p any) string {
	const most = 2000
	stack := debug.Stack()
	return fmt.Sprintf("it panicked: %.200v\n%.*s", p, most, stack)
}

// get looks a key up from a node's scope upwards. A port is looked up as the key that it
// stands for.
func (r *Run) get(at int32, key string) any {
	s := r.program.nodes[at].scope
	if r.program.declared(s, key) == "" {
		r.undeclared(at, key)
	}
	for ; s > globalScope; s = r.program.scopes[s].parent {
		if p, ok := r.program.scopes[s].ports[key]; ok {
			if !p.port.reads() {
				r.warnOnce(fmt.Sprintf("%s can't read the key %.40q: it is an output of the subtree", r.program.nodes[at].path, key))
				return nil
			}
			key = p.key
		} else if c, ok := r.scopes[s][key]; ok {
			return c.value
		}
	}
	return r.board.Get(key)
}

// set sets a key in a scope; a port is set as the key that it stands for. What is wrong
// fails the leaf.
func (r *Run) set(c *Context, in int32, key string, value any) {
	if c.halted {
		r.warn(fmt.Sprintf("%s can't set the key %.40q: it was given up", r.program.nodes[c.node].path, key))
		return
	}
	for {
		if !r.typed(c, in, key, value) {
			return
		}
		p, ok := r.program.scopes[in].ports[key]
		if !ok {
			break
		}
		if !p.port.writes() {
			r.refuse(c, fmt.Errorf("key %.40q is an input of the subtree: it can't be set", key))
			return
		}
		in, key = r.program.scopes[in].parent, p.key
	}
	if err := r.board.put(r.scopes[in], key, value, r.limits.Blackboard); err != nil {
		r.refuse(c, fmt.Errorf("key %.40q: %w", key, err))
		return
	}
	r.wrote(c.node, in, key)
	r.options.Record.write(in, key, value)
}

// refuse fails a leaf that sets what can't be, and keeps it for the error of Drive.
func (r *Run) refuse(c *Context, err error) {
	const most = 10
	c.fail("%v", err)
	if len(r.refused) < most {
		r.refused = append(r.refused, fmt.Errorf("%w: %s: %w", ErrValue, r.program.nodes[c.node].path, err))
	}
}

// typed reports whether a key can have a value.
func (r *Run) typed(c *Context, in int32, key string, value any) bool {
	name := r.program.declared(in, key)
	if name == "" {
		r.undeclared(c.node, key)
	} else if value != nil {
		if err := checked(r.program.types[name], value); err != nil {
			r.refuse(c, fmt.Errorf("key %.40q has the type %s: %w", key, name, err))
			return false
		}
	}
	return true
}

// checked calls a type's check, which is the library's and may panic.
func checked(check Type, value any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New(panicText(p))
		}
	}()
	return check(value)
}

func (r *Run) undeclared(at int32, key string) {
	r.warnOnce(fmt.Sprintf("%s uses the key %.40q, which is not declared", r.program.nodes[at].path, key))
}

// warnOnce warns of something that may happen at each tick.
func (r *Run) warnOnce(text string) {
	const most = 100
	if !r.warned[text] && len(r.warned) < most {
		r.warned[text] = true
		r.warn(text)
	}
}

func (r *Run) visible(at int32) map[string]any {
	var chain []int32
	for s := r.program.nodes[at].scope; s > globalScope; s = r.program.scopes[s].parent {
		chain = append(chain, s)
	}
	all := r.board.Values()
	for _, s := range slices.Backward(chain) {
		inside := r.scopes[s].values()
		for key, p := range r.program.scopes[s].ports {
			inside[key] = nil
			if p.port.reads() {
				inside[key] = all[p.key]
			}
		}
		maps.Copy(all, inside)
	}
	return all
}
