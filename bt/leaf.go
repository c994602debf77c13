package bt

import (
	"context"
	"fmt"
	"time"
)

// A Leaf is what a leaf of a tree does.
type Leaf struct {
	// Tick does it, or a step of it. It returns Running, Success or Failure. One that is
	// Running is ticked again when something wakes the run: [Async] work that has ended, or
	// the time that it asked for ([Context.Again]).
	Tick func(*Context) Status
	// Halt, if there is one, is called when a leaf that is RUNNING is given up: once, after
	// the context of its [Async] work has ended. It can't set keys.
	Halt func(*Context)
	// Restore, if there is one, is called in a resumed run in place of each call that the
	// recording has, with what that returned and kept with [Context.Save], or nil: it puts
	// back what the leaf holds outside the blackboard. What it sets and notes is replaced by
	// what is recorded, and what it spends does not count. A leaf that has it is also told again that it was given up.
	Restore func(c *Context, returned Status, saved any)
	// Reads and Writes name the keys that Tick uses, so that a tree that does not
	// declare them is refused.
	Reads, Writes []string
	// Params name the arguments that it takes. Check, if there is one, says what is wrong
	// with those that a tree binds.
	Params []string
	Check  func(Args) error

	async bool
}

// Func makes a leaf of a function that takes these arguments.
func Func(tick func(*Context) Status, params ...string) Leaf {
	return Leaf{Tick: tick, Params: params}
}

// Beside reports whether the leaf works beside the tree: whether [Async] made it.
func (l Leaf) Beside() bool { return l.async }

// Using returns the leaf with the keys that it reads and writes.
func (l Leaf) Using(reads, writes []string) Leaf {
	l.Reads, l.Writes = reads, writes
	return l
}

// Checked returns the leaf with a check of its bound arguments.
func (l Leaf) Checked(check func(Args) error) Leaf {
	l.Check = check
	return l
}

// A Context is what a leaf gets to know and may do in a tick. It is good until the
// leaf's function returns.
type Context struct {
	run  *Run
	node int32
	now  time.Time
	ctx  context.Context
	fake *Blackboard // of a context that no run made
	args Args        // of such a one

	halted    bool // it is for Halt
	restoring bool // it is for Restore
	note      string
	fault     string
	temporary bool
	after     time.Duration
	spent     Spent
}

// NewContext returns a context outside any run, to call a leaf's function by hand. The
// blackboard is its only scope; it may be nil.
func NewContext(b *Blackboard, now time.Time, args Args) *Context {
	return &Context{fake: b, now: now, args: args, ctx: context.Background()}
}

// Name returns what the leaf is called in its tree: its name, or its kind if it has none.
func (c *Context) Name() string {
	if c.run == nil {
		return ""
	}
	return c.run.program.nodes[c.node].label()
}

// Now returns the time of the tick.
func (c *Context) Now() time.Time { return c.now }

// Context returns the context of the tick.
func (c *Context) Context() context.Context { return c.ctx }

// Args returns the leaf's bound arguments.
func (c *Context) Args() Args {
	if c.run == nil {
		return c.args
	}
	return c.run.program.nodes[c.node].Args
}

// Get returns the value of a key: of the leaf's own scope, or else of those around it,
// up to the global one. It returns nil if there is none.
func (c *Context) Get(key string) any {
	if c.run == nil {
		return c.fake.Get(key)
	}
	return c.run.get(c.node, key)
}

// Set sets a key in the leaf's own scope: the subtree's that it stands in, or the
// tree's. A value that the key can't have fails the leaf.
func (c *Context) Set(key string, value any) {
	if c.run == nil {
		c.write(c.fake, key, value)
		return
	}
	c.run.set(c, c.run.program.nodes[c.node].scope, key, value)
}

// SetGlobal sets a key in the global scope, which all of the tree sees and which
// outlives the run.
func (c *Context) SetGlobal(key string, value any) {
	if c.run == nil {
		c.write(c.fake, key, value)
		return
	}
	c.run.set(c, globalScope, key, value)
}

func (c *Context) write(b *Blackboard, key string, value any) {
	if b == nil {
		c.fail("there is no blackboard to set %.40q on", key)
		return
	}
	if err := b.put(b.global(), key, value, MaxBlackboard); err != nil {
		c.fail("key %.40q: %v", key, err)
	}
}

// Visible returns every value that the leaf can get.
func (c *Context) Visible() map[string]any {
	if c.run == nil {
		return c.fake.Values()
	}
	return c.run.visible(c.node)
}

// Note puts a text beside the leaf in the trace of this tick.
func (c *Context) Note(format string, args ...any) { c.note = text(fmt.Sprintf(format, args...)) }

// Save keeps a value with the leaf's result in the recording, for its Restore. It is one
// that a blackboard can have; the last one of a tick counts.
func (c *Context) Save(v any) {
	if _, err := sizeOf(v); err != nil {
		c.fail("what is saved: %v", err)
	} else if c.run != nil && c.run.options.Record != nil {
		c.run.options.Record.saved = value{v}
	}
}

// Interrupted reports whether the leaf was under way when the run was stopped that this one
// resumes, and is called for the first time since: what it does may have been carried out.
func (c *Context) Interrupted() bool { return c.run != nil && c.run.interrupted[c.node] }

// Temporary says of a failure that it may pass, so that an llm_call tries again, at the
// earliest after this time.
func (c *Context) Temporary(after time.Duration) { c.temporary, c.after = true, after }

// Again asks for a tick after this time, for a leaf that is RUNNING and would not be
// ticked otherwise.
func (c *Context) Again(after time.Duration) {
	if c.run != nil {
		c.run.due(c.run.elapsed + max(after, 0))
	}
}

// Alive returns a function for work beside the tree to call when it gets ahead, so that
// the run does not count as stalled. It may be called from anywhere, at any time.
func (c *Context) Alive() func() {
	if c.run == nil {
		return func() {}
	}
	return c.run.alive
}

// fail makes the leaf fail whatever it returns.
func (c *Context) fail(format string, args ...any) {
	if c.fault == "" {
		c.fault = text(fmt.Sprintf(format, args...))
	}
}

// Work is done beside the tree, in a goroutine of its own. It ends soon after its
// context does. What it returns is called in the next tick, with the leaf's context, and
// decides.
type Work func(context.Context) (decide func(*Context) Status)

// Async makes a leaf of work that takes long. Begin is called in the tick, and may use
// its context; the work may not. While it runs the leaf is RUNNING; a leaf that is given
// up ends the work's context, and so does the end of the tick's own. A begin that returns
// nil fails the leaf.
func Async(begin func(*Context) Work, params ...string) Leaf {
	return Leaf{
		Tick: func(c *Context) Status {
			if c.run == nil {
				panic("bt: an asynchronous leaf needs a run")
			}
			if c.run.states[c.node].working {
				return c.run.extras[c.node].job.poll(c)
			}
			work := begin(c)
			if work == nil {
				return Failure
			}
			c.run.states[c.node].working = true
			c.run.extras[c.node].job = c.run.begin(c.ctx, work)
			return Running
		},
		Params: params,
		async:  true,
	}
}

// job is work under way.
type job struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when decide is there
	decide func(*Context) Status
}

// begin starts work; its end wakes the run.
func (r *Run) begin(ctx context.Context, work Work) *job {
	ctx, cancel := context.WithCancel(ctx)
	j := &job{cancel: cancel, done: make(chan struct{})}
	r.jobs.Go(func() {
		defer r.wake()
		defer cancel()
		defer close(j.done)
		defer func() {
			if p := recover(); p != nil {
				text := panicText(p)
				j.decide = func(c *Context) Status { c.fail("%s", text); return Failure }
			}
		}()
		j.decide = work(ctx)
	})
	return j
}

func (j *job) poll(c *Context) Status {
	select {
	case <-j.done:
	default:
		return Running
	}
	c.run.states[c.node].working = false
	c.run.extras[c.node].job = nil
	if j.decide == nil {
		return Failure
	}
	if status := j.decide(c); status != Running {
		return status
	}
	c.fail("its work has ended: it can't be RUNNING any more")
	return Failure
}
