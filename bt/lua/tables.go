package lua

import (
	"errors"
	"math"
	"sort"
	"strings"

	rt "github.com/arnodel/golua/runtime"
)

// tableFunctions are the table library. It does not look at metatables: what the
// interpreter calls by them in one of its own loops holds memory until the loop ends.
var tableFunctions = map[string]builtin{
	"concat": concat,
	"insert": insert,
	"move":   move,
	"pack":   pack,
	"remove": remove,
	"sort":   sortTable,
	"unpack": unpack,
}

// maxUnpack is how many values unpack gives.
const maxUnpack = 10_000

// entry reads an element of a list, and setEntry sets one. They are charged for.
func (s *sandbox) entry(t *rt.Table, i int) rt.Value {
	s.r.RequireCPU(1)
	return t.Get(rt.IntValue(int64(i)))
}

func (s *sandbox) setEntry(t *rt.Table, i int, v rt.Value) {
	key := rt.IntValue(int64(i))
	s.r.RequireCPU(1)
	if !t.Reset(key, v) {
		s.r.SetTable(t, key, v)
	}
}

// span reads the arguments that say which elements are meant.
func (a *arguments) span(from, to int, t *rt.Table) (first, last int, err error) {
	if first, err = a.integerOr(from, 1); err != nil {
		return 0, 0, err
	}
	last, err = a.integerOr(to, int(t.Len()))
	return first, last, err
}

func concat(a *arguments) ([]rt.Value, error) {
	t, err := a.table(0)
	if err != nil {
		return nil, err
	}
	separator := ""
	if !a.get(1).IsNil() {
		if separator, err = a.text(1); err != nil {
			return nil, err
		}
	}
	first, last, err := a.span(2, 3, t)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for i := first; i <= last; i++ {
		v := a.entry(t, i)
		text, ok := v.ToString()
		if !ok {
			return nil, errors.New("invalid value (a " + v.TypeName() + ") in table for 'concat'")
		}
		a.r.RequireBytes(len(text) + len(separator))
		b.WriteString(text)
		if i == last { // which may be the largest number
			break
		}
		b.WriteString(separator)
	}
	return one(rt.StringValue(b.String())), nil
}

func insert(a *arguments) ([]rt.Value, error) {
	t, err := a.table(0)
	if err != nil {
		return nil, err
	}
	n := int(t.Len())
	switch len(a.v) {
	case 2:
		a.setEntry(t, n+1, a.v[1])
		return nil, nil
	case 3:
	default:
		return nil, errors.New("wrong number of arguments to 'insert'")
	}
	at, err := a.integer(1)
	switch {
	case err != nil:
		return nil, err
	case at < 1 || at > n+1:
		return nil, a.bad(1, "position out of bounds")
	}
	for i := n; i >= at; i-- {
		a.setEntry(t, i+1, a.entry(t, i))
	}
	a.setEntry(t, at, a.v[2])
	return nil, nil
}

func remove(a *arguments) ([]rt.Value, error) {
	t, err := a.table(0)
	if err != nil {
		return nil, err
	}
	n := int(t.Len())
	at, err := a.integerOr(1, n)
	switch {
	case err != nil:
		return nil, err
	case len(a.v) > 1 && (at < 1 || at > n+1) && (n > 0 || at != 0):
		return nil, a.bad(1, "position out of bounds")
	}
	removed := a.entry(t, at)
	for ; at < n; at++ {
		a.setEntry(t, at, a.entry(t, at+1))
	}
	a.setEntry(t, at, rt.NilValue)
	return one(removed), nil
}

func move(a *arguments) ([]rt.Value, error) {
	from, err := a.table(0)
	if err != nil {
		return nil, err
	}
	var numbers [3]int
	for i := range numbers {
		if numbers[i], err = a.integer(i + 1); err != nil {
			return nil, err
		}
	}
	to, result := from, a.v[0]
	if !a.get(4).IsNil() {
		if to, err = a.table(4); err != nil {
			return nil, err
		}
		result = a.v[4]
	}
	first, last, target := numbers[0], numbers[1], numbers[2]
	if last < first {
		return one(result), nil
	}
	if first <= 0 && last >= math.MaxInt+first {
		return nil, a.bad(2, "too many elements to move")
	}
	n := last - first + 1
	if target > math.MaxInt-n+1 {
		return nil, a.bad(3, "destination wrap around")
	}
	if to != from || target <= first || target > last {
		for i := range n {
			a.setEntry(to, target+i, a.entry(from, first+i))
		}
		return one(result), nil
	}
	for i := n - 1; i >= 0; i-- {
		a.setEntry(to, target+i, a.entry(from, first+i))
	}
	return one(result), nil
}

func pack(a *arguments) ([]rt.Value, error) {
	t := a.newTable()
	for i, v := range a.v {
		a.setEntry(t, i+1, v)
	}
	a.r.SetEnv(t, "n", rt.IntValue(int64(len(a.v))))
	return one(rt.TableValue(t)), nil
}

func unpack(a *arguments) ([]rt.Value, error) {
	t, err := a.table(0)
	if err != nil {
		return nil, err
	}
	first, last, err := a.span(1, 2, t)
	if err != nil || last < first {
		return nil, err
	}
	if uint(last)-uint(first) >= maxUnpack {
		return nil, errors.New("too many results to unpack")
	}
	n := last - first + 1
	a.r.RequireBytes(valueSize * n)
	defer a.release(valueSize * n)
	values := make([]rt.Value, n)
	for i := range values {
		values[i] = a.entry(t, first+i)
	}
	return values, nil
}

// sortError carries an error of a comparison out of a sort.
type sortError struct{ error }

func sortTable(a *arguments) (_ []rt.Value, err error) {
	t, err := a.table(0)
	if err != nil {
		return nil, err
	}
	if order := a.get(1); !order.IsNil() && order.Type() != rt.FunctionType {
		return nil, a.want(1, "function")
	}
	defer func() {
		switch p := recover().(type) {
		case nil:
		case sortError:
			err = p.error
		default:
			panic(p)
		}
	}()
	sort.Sort(&sorting{a, t, int(t.Len())})
	return nil, nil
}

// sorting sorts a list by the second argument.
type sorting struct {
	*arguments
	list *rt.Table
	n    int
}

func (s *sorting) Len() int { return s.n }

func (s *sorting) Swap(i, j int) {
	x, y := s.entry(s.list, i+1), s.entry(s.list, j+1)
	s.setEntry(s.list, i+1, y)
	s.setEntry(s.list, j+1, x)
}

func (s *sorting) Less(i, j int) bool {
	x, y := s.entry(s.list, i+1), s.entry(s.list, j+1)
	if order := s.get(1); !order.IsNil() {
		v, err := s.callValue(order, x, y)
		if err != nil {
			panic(sortError{err})
		}
		return rt.Truth(v)
	}
	less, err := rt.Lt(s.t, x, y)
	if err != nil {
		panic(sortError{err})
	}
	s.rewind()
	return less
}
