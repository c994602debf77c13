package lua

import (
	"fmt"
	"math"

	rt "github.com/arnodel/golua/runtime"
)

// builtin is a function of ours that scripts call.
type builtin func(a *arguments) ([]rt.Value, error)

// arguments are what a builtin is called with.
type arguments struct {
	*sandbox
	name string
	cont *rt.GoCont
	v    []rt.Value
}

const valueSize = 24 // of a value, as the interpreter counts it

// function makes a Lua function. Its arguments and results are charged for.
func (s *sandbox) function(name string, f builtin) rt.Value {
	g := rt.NewGoFunction(func(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
		s.poll()
		in := c.Etc()
		s.r.RequireCPU(uint64(len(in)))
		out, err := f(&arguments{s, name, c, in})
		if err != nil {
			return nil, err
		}
		s.r.RequireCPU(uint64(len(out)))
		s.release(valueSize * len(in))
		return c.PushingNext(t.Runtime, out...), nil
	}, name, 0, true)
	g.SolemnlyDeclareCompliance(safe)
	return rt.FunctionValue(g)
}

// release gives memory back to the quota, unless it was taken from another one.
func (s *sandbox) release(n int) {
	if s.r.UsedResources().Memory >= uint64(n) {
		s.r.ReleaseBytes(n)
	}
}

func (s *sandbox) defineAll(table *rt.Table, functions map[string]builtin) {
	for name, f := range functions {
		s.r.SetEnv(table, name, s.function(name, f))
	}
}

// callValue calls a Lua function for one result.
func (a *arguments) callValue(f rt.Value, args ...rt.Value) (rt.Value, error) {
	result := rt.NewTerminationWith(a.cont, 1, false)
	if err := rt.Call(a.t, f, args, result); err != nil {
		return rt.NilValue, err
	}
	return result.Get(0), nil
}

// rewind makes the interpreter forget what it has called by a metamethod, which it would
// keep until this function returns.
func (a *arguments) rewind() {
	_ = a.t.RunContinuation(rt.NewTermination(a.cont, nil, nil)) // does nothing else, and can't fail
}

func (a *arguments) get(i int) rt.Value {
	if i < len(a.v) {
		return a.v[i]
	}
	return rt.NilValue
}

func (a *arguments) bad(i int, format string, args ...any) error {
	return fmt.Errorf("bad argument #%d to '%s' (%s)", i+1, a.name, fmt.Sprintf(format, args...))
}

// here gives an error its place, in functions that metatables have: the interpreter would
// give it the caller's.
func (a *arguments) here(err error) error {
	text := fmt.Sprintf("%s:%d: %v", a.sandbox.name, a.line, err)
	return rt.NewError(rt.StringValue(text)).AddContext(nil, 0)
}

func (a *arguments) want(i int, what string) error {
	got := "no value"
	if i < len(a.v) {
		got = a.v[i].TypeName()
	}
	return a.bad(i, "%s expected, got %s", what, got)
}

func (a *arguments) any(i int) (rt.Value, error) {
	if i >= len(a.v) {
		return rt.NilValue, a.bad(i, "value expected")
	}
	return a.v[i], nil
}

func (a *arguments) table(i int) (*rt.Table, error) {
	t, ok := a.get(i).TryTable()
	if !ok {
		return nil, a.want(i, "table")
	}
	return t, nil
}

// text returns an argument that is a string or a number.
func (a *arguments) text(i int) (string, error) {
	v := a.get(i)
	if s, ok := v.TryString(); ok {
		return s, nil
	}
	if s, ok := v.ToString(); ok {
		return s, nil
	}
	return "", a.want(i, "string")
}

func (a *arguments) integer(i int) (int, error) {
	n, ok := rt.ToIntNoString(a.get(i))
	switch {
	case !ok && a.get(i).NumberType() != rt.UnknownType:
		return 0, a.bad(i, "number has no integer representation")
	case !ok:
		return 0, a.want(i, "number")
	}
	return int(max(math.MinInt, min(n, math.MaxInt))), nil
}

// integerOr is integer with a default.
func (a *arguments) integerOr(i, otherwise int) (int, error) {
	if a.get(i).IsNil() {
		return otherwise, nil
	}
	return a.integer(i)
}

// newText makes a Lua string that the quota is charged for.
func (s *sandbox) newText(text string) rt.Value {
	s.r.RequireBytes(len(text) + 32)
	return rt.StringValue(text)
}

func one(v rt.Value) []rt.Value { return []rt.Value{v} }
