package lua

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	rt "github.com/arnodel/golua/runtime"
)

// maxNesting bounds how deep lists and maps lie in each other.
const maxNesting = 100

// function is a Go function for scripts. Its error is raised at the place of the call.
type function func(c call) (any, error)

// call is a script's call of a function. Arguments that are tables come as *table, and
// those that can't be had as an error.
type call struct {
	line int
	args []any
}

// fault returns what is wrong with the first argument that can't be had.
func (c call) fault() error {
	for i, arg := range c.args {
		if err, ok := arg.(error); ok {
			return fmt.Errorf("argument %d: %w", i+1, err)
		}
	}
	return nil
}

// table is a Lua table: its elements 1 to n, and its fields. Metatables are not looked
// at. An element that is missing is nil.
type table struct {
	items  []any
	fields map[string]any
	gaps   bool // elements are missing
}

// plain returns the table as a list or a map. An empty one is a map if asMap says so.
func (t *table) plain(asMap bool) (any, error) {
	switch {
	case t.gaps:
		return nil, errGap
	case len(t.items) > 0 && len(t.fields) > 0:
		return nil, errMixed
	case len(t.fields) > 0 || asMap && len(t.items) == 0:
		return t.fields, nil
	}
	return t.items, nil
}

var (
	errGap    = errors.New("a list has a gap: its elements are 1, 2, 3 and so on")
	errMixed  = errors.New("a table has both elements and named fields: it can't be a list and a map at once")
	errNested = fmt.Errorf("tables lie deeper than %d in each other, or in themselves", maxNesting)
)

// toLua makes a Lua value of nil, bool, int, float64, string, []any, map[string]any and
// function. What is of another type becomes a value that a script can only pass on.
func (s *sandbox) toLua(value any, depth int) (rt.Value, error) {
	if depth > maxNesting {
		return rt.NilValue, errNested
	}
	s.r.RequireCPU(1)
	switch v := value.(type) {
	case nil:
		return rt.NilValue, nil
	case bool:
		return rt.BoolValue(v), nil
	case int:
		return rt.IntValue(int64(v)), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return rt.NilValue, fmt.Errorf("%v is no number that can be kept", v)
		}
		return rt.FloatValue(v), nil
	case string:
		s.r.RequireBytes(32) // the text itself is there already
		return rt.StringValue(v), nil
	case []any:
		t := s.newTable()
		for i, item := range v {
			x, err := s.toLua(item, depth+1)
			if err != nil {
				return rt.NilValue, err
			}
			s.r.SetTable(t, rt.IntValue(int64(i+1)), x)
		}
		return rt.TableValue(t), nil
	case map[string]any:
		t := s.newTable()
		for key, item := range v {
			x, err := s.toLua(item, depth+1)
			if err != nil {
				return rt.NilValue, err
			}
			s.r.SetTable(t, s.newText(key), x)
		}
		return rt.TableValue(t), nil
	case function:
		return s.hostFunction(v), nil
	case module:
		return s.newModule(v)
	}
	s.r.RequireBytes(64)
	return rt.UserDataValue(rt.NewUserData(value, nil)), nil
}

func (s *sandbox) newTable() *rt.Table {
	s.r.RequireBytes(64)
	return rt.NewTable()
}

func (s *sandbox) newModule(m module) (rt.Value, error) {
	members, err := s.toLua(m.members, 0)
	if err != nil {
		return rt.NilValue, err
	}
	meta := rt.NewTable()
	s.r.SetEnv(meta, "__index", s.function("", func(a *arguments) ([]rt.Value, error) {
		if v := members.AsTable().Get(a.get(1)); !v.IsNil() {
			return one(v), nil
		}
		key, _ := a.get(1).ToString()
		return nil, a.here(m.missing(key))
	}))
	s.r.SetEnv(meta, "__newindex", s.function("", func(a *arguments) ([]rt.Value, error) {
		return nil, a.here(fmt.Errorf("%s can't be changed", m.name))
	}))
	s.r.SetEnv(meta, "__metatable", rt.BoolValue(false))
	t := rt.NewTable()
	t.SetMetatable(meta)
	return rt.TableValue(t), nil
}

func (s *sandbox) hostFunction(f function) rt.Value {
	return s.function("", func(a *arguments) ([]rt.Value, error) {
		c := call{line: a.line}
		for _, v := range a.v {
			value, err := a.fromLua(v)
			if err != nil {
				value = err
			}
			c.args = append(c.args, value)
		}
		result, err := f(c)
		if err != nil {
			return nil, err
		}
		v, err := a.toLua(result, 0)
		return one(v), err
	})
}

// fromLua makes a Go value of a Lua value. A table comes as a *table, and what is in it
// as nil, bool, int, float64, string, []any, map[string]any, or what toLua was given;
// further down only plain values are taken.
func (s *sandbox) fromLua(v rt.Value) (any, error) {
	if t, ok := v.TryTable(); ok {
		return s.tableFrom(t, 0)
	}
	return s.plainFrom(v, 0)
}

func (s *sandbox) tableFrom(t *rt.Table, depth int) (*table, error) {
	if depth > maxNesting {
		return nil, errNested
	}
	out := &table{items: []any{}, fields: map[string]any{}}
	s.r.RequireBytes(128)
	n, gaps := s.lastElement(t)
	out.gaps = gaps
	for i := range n {
		item, err := s.plainFrom(t.Get(rt.IntValue(i+1)), depth+1)
		if err != nil {
			return nil, inside(fmt.Sprintf("[%d]", i+1), err)
		}
		out.items = append(out.items, item)
	}
	for k, v, ok := t.Next(rt.NilValue); ok && !k.IsNil(); k, v, ok = t.Next(k) {
		if i, isInt := k.TryInt(); isInt && 1 <= i && i <= n {
			continue
		}
		key, isText := k.TryString()
		if !isText {
			text, _ := k.ToString()
			if k.NumberType() == rt.UnknownType {
				text = "a " + k.TypeName()
			}
			return nil, fmt.Errorf("a table has the key %.40s: keys are texts, or 1, 2, 3 and so on", text)
		}
		value, err := s.plainFrom(v, depth+1)
		if err != nil {
			return nil, inside(fmt.Sprintf("%.40s", clean(key)), err)
		}
		out.fields[s.mend(key)] = value
	}
	return out, nil
}

// maxGap is how many elements can be missing in a row for a table to be a list.
const maxGap = 100

// lastElement returns the number of a list's last element.
func (s *sandbox) lastElement(t *rt.Table) (last int64, gaps bool) {
	for i := int64(1); i <= last+maxGap; i++ {
		s.r.RequireCPU(1)
		if !t.Get(rt.IntValue(i)).IsNil() {
			gaps = gaps || i > last+1
			last = i
		}
	}
	return last, gaps
}

// inside says where in a table an error is, unless that is everywhere.
func inside(key string, err error) error {
	if errors.Is(err, errNested) {
		return err
	}
	return fmt.Errorf("%s: %w", key, err)
}

// plainFrom converts what is no table, or a table that is a list or a map.
func (s *sandbox) plainFrom(v rt.Value, depth int) (any, error) {
	s.r.RequireCPU(1)
	s.r.RequireBytes(32)
	switch v.Type() {
	case rt.NilType:
		return nil, nil
	case rt.BoolType:
		return v.AsBool(), nil
	case rt.IntType:
		if n := v.AsInt(); int64(int(n)) == n {
			return int(n), nil
		}
		return nil, fmt.Errorf("%d is too large here", v.AsInt())
	case rt.FloatType:
		x := v.AsFloat()
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, errors.New("it is no number that can be kept: it is infinite or not a number")
		}
		return x, nil
	case rt.StringType:
		return s.mend(v.AsString()), nil
	case rt.TableType:
		t, err := s.tableFrom(v.AsTable(), depth)
		if err != nil {
			return nil, err
		}
		return t.plain(false)
	case rt.UserDataType:
		if depth <= 1 {
			return v.AsUserData().Value(), nil
		}
		return nil, errors.New("a node stands where a value should")
	}
	return nil, fmt.Errorf("a %s can't be used as a value here", v.TypeName())
}

// mend replaces what is no UTF-8.
func (s *sandbox) mend(text string) string {
	s.r.RequireCPU(uint64(len(text)) / 16)
	if utf8.ValidString(text) {
		return text
	}
	s.r.RequireBytes(3 * len(text))
	return strings.ToValidUTF8(text, "\ufffd")
}
