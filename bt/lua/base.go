package lua

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	rt "github.com/arnodel/golua/runtime"
)

// baseFunctions are the functions without a library. The interpreter's own ones can't be
// used: they share state between runs, survive quotas, and show addresses.
var baseFunctions = map[string]builtin{
	"assert":       assert,
	"error":        raise,
	"getmetatable": getMetatable,
	"ipairs":       ipairs,
	"next":         next,
	"pairs":        pairs,
	"pcall":        pcall,
	"print":        print,
	"rawequal":     rawEqual,
	"rawget":       rawGet,
	"rawlen":       rawLen,
	"rawset":       rawSet,
	"select":       selectFrom,
	"setmetatable": setMetatable,
	"tonumber":     toNumber,
	"tostring":     toString,
	"type":         typeOf,
	"xpcall":       xpcall,
}

func assert(a *arguments) ([]rt.Value, error) {
	v, err := a.any(0)
	switch {
	case err != nil:
		return nil, err
	case rt.Truth(v):
		return a.v, nil
	case len(a.v) > 1:
		return nil, rt.NewError(a.v[1])
	}
	return nil, errors.New("assertion failed")
}

func raise(a *arguments) ([]rt.Value, error) {
	level, err := a.integerOr(1, 1)
	if err != nil {
		return nil, err
	}
	raised := rt.NewError(a.get(0))
	if level != 1 {
		raised = raised.AddContext(a.cont.Next(), max(0, min(level, 200)))
	}
	return nil, raised
}

func pcall(a *arguments) ([]rt.Value, error) {
	f, err := a.any(0)
	if err != nil {
		return nil, err
	}
	return a.protect(nil, f, a.v[1:]), nil
}

func xpcall(a *arguments) ([]rt.Value, error) {
	handler, ok := a.get(1).TryCallable()
	if !ok {
		return nil, a.want(1, "function")
	}
	return a.protect(handler, a.v[0], a.v[2:]), nil
}

// protect calls f and turns an error into a result. A quota that was used up inside ends
// the run.
func (a *arguments) protect(handler rt.Callable, f rt.Value, args []rt.Value) []rt.Value {
	results := rt.NewTerminationWith(a.cont, 0, true)
	ended, err := a.t.CallContext(rt.RuntimeContextDef{MessageHandler: handler}, func() error {
		return rt.Call(a.t, f, args, results)
	})
	a.survive(ended, err)
	if err != nil {
		return []rt.Value{rt.BoolValue(false), rt.ErrorValue(err)}
	}
	return append(one(rt.BoolValue(true)), results.Etc()...)
}

func print(a *arguments) ([]rt.Value, error) {
	for i, v := range a.v {
		text, err := a.textOf(v)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			a.write("\t")
		}
		a.write(text)
	}
	a.write("\n")
	return nil, nil
}

func (s *sandbox) write(text string) {
	s.printed = append(s.printed, text[:min(len(text), maxPrinted-len(s.printed))]...)
}

func toString(a *arguments) ([]rt.Value, error) {
	v, err := a.any(0)
	if err != nil {
		return nil, err
	}
	text, err := a.textOf(v)
	if err != nil {
		return nil, err
	}
	return one(a.newText(text)), nil
}

// textOf is tostring. What has an address shows its type only: runs are deterministic.
func (a *arguments) textOf(v rt.Value) (string, error) {
	if meta := a.r.RawMetatable(v); meta != nil {
		if f := meta.Get(rt.StringValue("__tostring")); !f.IsNil() {
			result, err := a.callValue(f, v)
			if err != nil {
				return "", err
			}
			text, ok := result.TryString()
			if !ok {
				return "", errors.New("'__tostring' must return a string")
			}
			return text, nil
		}
	}
	switch v.Type() {
	case rt.NilType, rt.BoolType, rt.IntType, rt.FloatType, rt.StringType:
		text, _ := v.ToString()
		return text, nil
	}
	return v.TypeName(), nil
}

func toNumber(a *arguments) ([]rt.Value, error) {
	v, err := a.any(0)
	if err != nil {
		return nil, err
	}
	text, isText := v.TryString()
	a.r.RequireCPU(uint64(len(text)))
	if a.get(1).IsNil() {
		if n, kind := rt.ToNumberValue(v); kind != rt.NaN {
			return one(n), nil
		}
		return one(rt.NilValue), nil
	}
	base, err := a.integer(1)
	switch {
	case err != nil:
		return nil, err
	case !isText:
		return nil, a.want(0, "string")
	case base < 2 || base > 36:
		return nil, a.bad(1, "base out of range")
	}
	return one(digits(strings.ToLower(strings.Trim(text, " \t\n\v\f\r")), base)), nil
}

// digits reads a whole number in a base. It wraps around, as Lua's does.
func digits(text string, base int) rt.Value {
	negative := strings.HasPrefix(text, "-")
	text = strings.TrimPrefix(text, "-")
	if text == "" {
		return rt.NilValue
	}
	n := int64(0)
	for i := range len(text) {
		digit := strings.IndexByte("0123456789abcdefghijklmnopqrstuvwxyz"[:base], text[i])
		if digit < 0 {
			return rt.NilValue
		}
		n = n*int64(base) + int64(digit)
	}
	if negative {
		n = -n
	}
	return rt.IntValue(n)
}

func typeOf(a *arguments) ([]rt.Value, error) {
	v, err := a.any(0)
	return one(rt.StringValue(v.TypeName())), err
}

func rawEqual(a *arguments) ([]rt.Value, error) {
	if _, err := a.any(1); err != nil {
		return nil, err
	}
	equal, _ := rt.RawEqual(a.v[0], a.v[1])
	return one(rt.BoolValue(equal)), nil
}

func rawGet(a *arguments) ([]rt.Value, error) {
	t, err := a.table(0)
	if err != nil {
		return nil, err
	}
	return one(t.Get(a.get(1))), nil
}

func rawLen(a *arguments) ([]rt.Value, error) {
	if s, ok := a.get(0).TryString(); ok {
		return one(rt.IntValue(int64(len(s)))), nil
	}
	t, err := a.table(0)
	if err != nil {
		return nil, err
	}
	return one(rt.IntValue(t.Len())), nil
}

func rawSet(a *arguments) ([]rt.Value, error) {
	t, err := a.table(0)
	if err != nil {
		return nil, err
	}
	return one(a.v[0]), a.r.SetTableCheck(t, a.get(1), a.get(2))
}

func selectFrom(a *arguments) ([]rt.Value, error) {
	if s, ok := a.get(0).TryString(); ok && s == "#" {
		return one(rt.IntValue(int64(len(a.v) - 1))), nil
	}
	n, err := a.integer(0)
	if err != nil {
		return nil, err
	}
	if n < 0 {
		n += len(a.v)
	}
	if n < 1 {
		return nil, a.bad(0, "index out of range")
	}
	return a.v[min(n, len(a.v)):], nil
}

func getMetatable(a *arguments) ([]rt.Value, error) {
	v, err := a.any(0)
	return one(a.r.Metatable(v)), err
}

func setMetatable(a *arguments) ([]rt.Value, error) {
	t, err := a.table(0)
	if err != nil {
		return nil, err
	}
	if meta := t.Metatable(); meta != nil && !meta.Get(rt.StringValue("__metatable")).IsNil() {
		return nil, errors.New("cannot change a protected metatable")
	}
	if len(a.v) > 1 && a.v[1].IsNil() {
		t.SetMetatable(nil)
		return one(a.v[0]), nil
	}
	meta, err := a.table(1)
	if err != nil {
		return nil, err
	}
	// A finalizer would run at any time, for as long as it likes.
	if !meta.Get(rt.StringValue("__gc")).IsNil() {
		return nil, errors.New("'__gc' is not there for scripts")
	}
	t.SetMetatable(meta)
	return one(a.v[0]), nil
}

func ipairs(a *arguments) ([]rt.Value, error) {
	v, err := a.any(0)
	if err != nil {
		return nil, err
	}
	step := a.function("ipairs", func(a *arguments) ([]rt.Value, error) {
		i, err := a.integer(1)
		if err != nil {
			return nil, err
		}
		item, err := rt.Index(a.t, a.v[0], rt.IntValue(int64(i)+1))
		if err != nil || item.IsNil() {
			return one(rt.NilValue), err
		}
		return []rt.Value{rt.IntValue(int64(i) + 1), item}, nil
	})
	return []rt.Value{step, v, rt.IntValue(0)}, nil
}

// pairs goes through a table in the order of its keys. The interpreter's order is another
// one in each process.
func pairs(a *arguments) ([]rt.Value, error) {
	v, err := a.any(0)
	if err != nil {
		return nil, err
	}
	if meta := a.r.RawMetatable(v); meta != nil {
		if f := meta.Get(rt.StringValue("__pairs")); !f.IsNil() {
			results := rt.NewTerminationWith(a.cont, 3, false)
			err := rt.Call(a.t, f, one(v), results)
			return []rt.Value{results.Get(0), results.Get(1), results.Get(2)}, err
		}
	}
	t, err := a.table(0)
	if err != nil {
		return nil, err
	}
	keys, err := a.keys(t)
	if err != nil {
		return nil, err
	}
	all := len(keys)
	step := a.function("next", func(a *arguments) ([]rt.Value, error) {
		for len(keys) > 0 {
			key := keys[0]
			keys = keys[1:]
			if value := t.Get(key); !value.IsNil() {
				return []rt.Value{key, value}, nil
			}
		}
		a.release(valueSize * all)
		all = 0
		return one(rt.NilValue), nil
	})
	return []rt.Value{step, v, rt.NilValue}, nil
}

// next is in the order of pairs, and slow: it sorts each time.
func next(a *arguments) ([]rt.Value, error) {
	t, err := a.table(0)
	if err != nil {
		return nil, err
	}
	keys, err := a.keys(t)
	if err != nil {
		return nil, err
	}
	defer a.release(valueSize * len(keys))
	i := 0
	if last := a.get(1); !last.IsNil() {
		n, found := slices.BinarySearchFunc(keys, last, compareKeys)
		if i = n; found {
			i++
		}
	}
	if i >= len(keys) {
		return one(rt.NilValue), nil
	}
	return []rt.Value{keys[i], t.Get(keys[i])}, nil
}

// keys returns the keys of a table in order: numbers, strings, false, true.
func (a *arguments) keys(t *rt.Table) ([]rt.Value, error) {
	var keys []rt.Value
	for k, _, ok := t.Next(rt.NilValue); ok && !k.IsNil(); k, _, ok = t.Next(k) {
		if keyRank(k) < 0 {
			return nil, errors.New("the keys have no order: one is a " + k.TypeName() + ", and not a number, string or boolean")
		}
		a.r.RequireCPU(1)
		a.r.RequireBytes(valueSize)
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(x, y rt.Value) int {
		a.r.RequireCPU(1)
		return compareKeys(x, y)
	})
	return keys, nil
}

func keyRank(v rt.Value) int {
	switch v.Type() {
	case rt.IntType, rt.FloatType:
		return 0
	case rt.StringType:
		return 1
	case rt.BoolType:
		return 2
	}
	return -1
}

func compareKeys(x, y rt.Value) int {
	if c := cmp.Compare(keyRank(x), keyRank(y)); c != 0 {
		return c
	}
	switch x.Type() {
	case rt.StringType:
		return strings.Compare(x.AsString(), y.AsString())
	case rt.BoolType:
		if x.AsBool() == y.AsBool() {
			return 0
		}
		if y.AsBool() {
			return -1
		}
		return 1
	}
	if m, ok := x.TryInt(); ok {
		if n, ok := y.TryInt(); ok {
			return cmp.Compare(m, n)
		}
	}
	m, _ := rt.ToFloat(x)
	n, _ := rt.ToFloat(y)
	return cmp.Compare(m, n)
}
