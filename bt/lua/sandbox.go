package lua

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/arnodel/golua/lib/mathlib"
	"github.com/arnodel/golua/lib/utf8lib"
	rt "github.com/arnodel/golua/runtime"

	"github.com/signalbox-dev/signalbox/bt"
	"github.com/signalbox-dev/signalbox/safetext"
)

// ErrLimit is in the error of a file or script that was ended because it used more
// time, steps, memory or nested calls than it may.
var ErrLimit = errors.New("it uses more than it may")

// limits are what a run may use.
type limits struct {
	time  time.Duration
	steps uint64 // of the interpreter, some 20 to 50 million a second
	// memory is in bytes as the interpreter counts them: what was allocated, not what
	// is still held. A table's entry counts 16, and takes up to 170 while it grows: 4 MiB
	// can be 60 in the process.
	memory uint64
}

// maxFrames bounds the stack. Functions that call functions need none of it, but
// metamethods and callbacks do, and a stack that overflows ends the process.
const maxFrames = 3000

// maxPrinted is how much of what a script prints is kept, in bytes.
const maxPrinted = 64 << 10

// outcome is what a run has left.
type outcome struct {
	values  []any // that it returned; tables as *table
	printed string
}

// sandbox is one run of a chunk. Everything happens in the goroutine that runs it.
//
// The interpreter's own quotas hold most of what a script can try. These are held here:
// pcall, which would survive a quota; time and cancellation, which the interpreter knows too
// late or not at all; the depth of metamethods; tables, functions and calls of libraries that
// it does not count, or not by what they cost. It calls watch at each mark that compile has
// left in the code.
type sandbox struct {
	ctx     context.Context
	name    string
	limits  limits
	r       *rt.Runtime
	t       *rt.Thread
	over    atomic.Bool // the context has ended
	stopped error       // why the run was ended before its time
	line    int         // that it is at
	watched uint
	frame   [1]uintptr
	printed []byte
}

// halt is the panic that ends a run. No script can catch it.
type halt struct{}

// run runs the chunk with these globals besides the libraries: functions, values, and
// maps of them. Errors have file and line; what they carry of the script is escaped.
func (c *chunk) run(ctx context.Context, globals map[string]any, l limits) (outcome, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, l.time, fmt.Errorf("%w: %v of time", ErrLimit, l.time))
	defer cancel()
	s := &sandbox{ctx: ctx, name: c.name, limits: l, r: newRuntime()}
	s.t = s.r.MainThread()
	s.over.Store(ctx.Err() != nil)
	defer context.AfterFunc(ctx, func() { s.over.Store(true) })()
	var out outcome
	err := s.guard(func() error {
		env := s.libraries()
		hook := rt.NewGoFunction(s.watch, "watch", 2, false)
		hook.SolemnlyDeclareCompliance(safe)
		s.t.SetupHooks(rt.DebugHooks{DebugHookFlags: rt.HookFlagLine, Hook: rt.FunctionValue(hook)})
		quota := rt.RuntimeContextDef{HardLimits: rt.RuntimeResources{Cpu: l.steps, Memory: l.memory}}
		ended, err := s.t.CallContext(quota, func() error { return s.call(c, env, globals, &out) })
		s.survive(ended, err)
		return err
	})
	out.printed = string(s.printed)
	switch {
	case s.stopped != nil:
		return out, s.problem(s.line, s.stopped.Error(), s.stopped)
	case err != nil:
		return out, s.uncaught(err)
	}
	return out, nil
}

func (s *sandbox) call(c *chunk, env *rt.Table, globals map[string]any, out *outcome) error {
	for name, value := range globals {
		v, err := s.toLua(value, 0)
		if err != nil {
			return fmt.Errorf("global %s: %w", name, err)
		}
		s.r.SetEnv(env, name, v)
	}
	closure := s.r.LoadLuaUnit(c.unit, rt.TableValue(env))
	results := rt.NewTerminationWith(nil, 0, true)
	if err := rt.Call(s.t, rt.FunctionValue(closure), nil, results); err != nil {
		return err
	}
	for _, v := range results.Etc() {
		value, err := s.fromLua(v)
		if err != nil {
			return fmt.Errorf("what the script returns: %w", err)
		}
		out.values = append(out.values, value)
	}
	return nil
}

// newRuntime returns an interpreter. Its finalizer, which would run Lua when the garbage
// collector finds it, is taken off.
func newRuntime() *rt.Runtime {
	r := rt.New(nil)
	r.SetWarner(nil)
	goruntime.SetFinalizer(r, nil)
	return r
}

// guard runs f, which may halt. A panic of the interpreter is a fault of the script
// that has found it: the runtime is given up with it.
func (s *sandbox) guard(f func() error) (err error) {
	defer func() {
		p := recover()
		var quota rt.ContextTerminationError
		switch {
		case p == nil || p == halt{}:
		case s.stopped != nil:
		default:
			if e, ok := p.(error); ok && errors.As(e, &quota) {
				s.stopped = s.quotaError(quota)
				return
			}
			s.stopped = fmt.Errorf("the interpreter has failed: %.200q", fmt.Sprint(p))
		}
	}()
	return f()
}

// stop ends the run.
func (s *sandbox) stop(why error) {
	if s.stopped == nil {
		s.stopped = why
	}
	panic(halt{})
}

// poll ends the run if its time is over, or a quota was used up and somebody has caught
// the interpreter's panic.
func (s *sandbox) poll() {
	switch {
	case s.stopped != nil:
		s.stop(s.stopped)
	case s.over.Load():
		s.stop(context.Cause(s.ctx))
	case s.r.Status() != rt.StatusLive:
		s.stop(ErrLimit)
	}
}

// watchSteps is what a call of watch takes in time.
const watchSteps = 10

// watch is called at each new line, at each turn of a loop and at each call.
func (s *sandbox) watch(_ *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
	s.r.RequireCPU(watchSteps)
	switch at := c.Arg(1).AsInt(); at / firstMark {
	case 0:
		s.line = int(at)
	case markMakes:
		s.r.RequireMem(64)
	}
	s.poll()
	if s.watched++; s.watched%64 == 0 && goruntime.Callers(maxFrames, s.frame[:]) > 0 {
		s.stop(fmt.Errorf("%w: its calls lie too deep in each other", ErrLimit))
	}
	return c.Next(), nil
}

// survive ends the run if a call inside it has ended by a quota.
func (s *sandbox) survive(ended rt.RuntimeContext, err error) {
	var quota rt.ContextTerminationError
	if errors.As(err, &quota) || ended.Status() == rt.StatusKilled {
		s.stop(s.quotaError(quota))
	}
}

// quotaError says which quota was used up. The interpreter says so in its text only.
func (s *sandbox) quotaError(quota rt.ContextTerminationError) error {
	if strings.HasPrefix(quota.Error(), "memory") {
		return fmt.Errorf("%w: %d KiB of memory", ErrLimit, s.limits.memory>>10)
	}
	return fmt.Errorf("%w: %d steps", ErrLimit, s.limits.steps)
}

// uncaught makes an error of what a script raised and nobody caught.
func (s *sandbox) uncaught(err error) error {
	text := err.Error()
	if e, ok := rt.AsError(err); ok {
		v := e.Value()
		message, isText := v.TryString()
		if !isText {
			message = "an error that is no text, but a " + v.TypeName()
		}
		text = message
	}
	line := s.line
	if rest, ok := strings.CutPrefix(text, s.name+":"); ok {
		var at int
		if n, _ := fmt.Sscanf(rest, "%d:", &at); n == 1 {
			line = at
			_, text, _ = strings.Cut(rest, ":")
			text = strings.TrimPrefix(text, " ")
		}
	}
	return s.problem(line, text, nil)
}

// maxErrorText bounds what an error says, in bytes.
const maxErrorText = 1 << 10

func (s *sandbox) problem(line int, text string, cause error) error {
	return problem(s.name, line, text, cause)
}

// problem makes the error of a place in a file.
func problem(name string, line int, text string, cause error) error {
	return &placed{bt.Problem{At: at(name, line), Text: clean(text)}, cause}
}

func at(name string, line int) string {
	if line <= 0 {
		return name
	}
	return fmt.Sprintf("%s:%d", name, line)
}

// clean makes text of a script fit for an error.
func clean(text string) string {
	if len(text) > maxErrorText {
		text = strings.ToValidUTF8(text[:maxErrorText], "") + "…"
	}
	return safetext.Escape(text)
}

// placed is a problem with the error that it comes from.
type placed struct {
	bt.Problem
	cause error
}

func (p *placed) Unwrap() []error {
	if p.cause == nil {
		return []error{p.Problem}
	}
	return []error{p.Problem, p.cause}
}

// safe says of a function that it keeps to the quotas.
const safe = rt.ComplyCpuSafe | rt.ComplyMemSafe | rt.ComplyTimeSafe | rt.ComplyIoSafe

// libraries returns the globals of every script. What is not named here a script does
// not have: no os, io, debug, package, load or coroutine (each coroutine is a goroutine,
// in which a fault of the interpreter ends the process, and which stays when nobody
// resumes it), nothing random, and no addresses.
func (s *sandbox) libraries() *rt.Table {
	env := rt.NewTable()
	s.defineAll(env, baseFunctions)
	s.r.SetEnv(env, "_G", rt.TableValue(env))
	s.r.SetEnv(env, "_VERSION", rt.StringValue("Lua 5.5"))

	text := rt.NewTable()
	s.defineAll(text, stringFunctions)
	s.r.SetEnv(env, "string", rt.TableValue(text))
	meta := rt.NewTable()
	s.r.SetEnv(meta, "__index", rt.TableValue(text))
	s.r.SetStringMeta(meta)

	tables := rt.NewTable()
	s.defineAll(tables, tableFunctions)
	s.r.SetEnv(env, "table", rt.TableValue(tables))
	math, _ := mathlib.LibLoader.Load(s.r)
	s.adopt(env, "math", math, "abs", "acos", "asin", "atan", "ceil", "cos", "deg", "exp", "floor", "fmod", "huge", "log",
		"max", "maxinteger", "min", "mininteger", "modf", "pi", "rad", "sin", "sqrt", "tan", "tointeger", "type", "ult")
	runes, _ := utf8lib.LibLoader.Load(s.r)
	s.adopt(env, "utf8", runes, "char", "charpattern", "codepoint", "codes", "len", "offset")

	strict := rt.NewTable()
	s.r.SetEnv(strict, "__index", s.function("", func(a *arguments) ([]rt.Value, error) {
		name, _ := a.get(1).ToString()
		return nil, a.here(fmt.Errorf("there is no variable '%.40s'", name))
	}))
	env.SetMetatable(strict)
	return env
}

// adopt gives a library of the interpreter to scripts, by these names only.
func (s *sandbox) adopt(env *rt.Table, name string, library rt.Value, names ...string) {
	own := rt.NewTable()
	for _, n := range names {
		s.r.SetEnv(own, n, library.AsTable().Get(rt.StringValue(n)))
	}
	s.r.SetEnv(env, name, rt.TableValue(own))
}
