package bt

import (
	"fmt"
	"math"
	"slices"
	"sync"
)

// MaxBlackboard is how much all values of a run may take together, in bytes, unless its
// [Limits] say otherwise.
const MaxBlackboard = 100 << 20

// maxDepth bounds how deep lists and maps lie in each other.
const maxDepth = 100

// Schema declares keys: a name and a type's name each.
type Schema map[string]string

// A Type checks the values of a key.
type Type func(value any) error

// builtinTypes are those that every schema can name.
var builtinTypes = map[string]Type{
	"any":    func(any) error { return nil },
	"string": check[string],
	"bool":   check[bool],
	"int":    check[int],
	"float":  checkFloat,
	"number": checkFloat,
	"list":   check[[]any],
	"map":    check[map[string]any],
	"table":  check[map[string]any],
}

func check[T any](value any) error {
	if _, ok := value.(T); !ok {
		var want T
		return fmt.Errorf("%s is no %s", typeOf(value), typeOf(want))
	}
	return nil
}

func checkFloat(value any) error {
	if _, ok := value.(int); ok {
		return nil
	}
	return check[float64](value)
}

// typeOf names a value's type as a schema does.
func typeOf(value any) string {
	switch value.(type) {
	case nil:
		return "nil"
	case string:
		return "string"
	case bool:
		return "bool"
	case int:
		return "int"
	case float64:
		return "float"
	case []any:
		return "list"
	case map[string]any:
		return "map"
	}
	return fmt.Sprintf("%T", value)
}

// A Blackboard holds the values that outlive a run: its global scope. A run's own
// scopes, of the tree and of each subtree, come and go with it. Values are nil, bool,
// int, float64, string, []any and map[string]any of these; once set, nobody changes
// what they refer to. A nil Blackboard has nothing. It is safe for concurrent use.
type Blackboard struct {
	mu     sync.Mutex
	values scope
	size   int // of the values in all scopes of the run as well
}

type scope map[string]cell

type cell struct {
	value any
	size  int
}

// NewBlackboard returns a blackboard with these values, or why one of them can't be.
func NewBlackboard(values map[string]any) (*Blackboard, error) {
	b := &Blackboard{}
	for key, value := range values {
		if err := b.put(b.global(), key, value, MaxBlackboard); err != nil {
			return nil, fmt.Errorf("key %q: %w", key, err)
		}
	}
	return b, nil
}

// global returns the blackboard's own scope.
func (b *Blackboard) global() scope {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.values == nil {
		b.values = scope{}
	}
	return b.values
}

// Get returns the value of a key in the global scope, and nil if there is none.
func (b *Blackboard) Get(key string) any {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.values[key].value
}

// Values returns all that is in the global scope.
func (b *Blackboard) Values() map[string]any {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.values.values()
}

func (s scope) values() map[string]any {
	all := make(map[string]any, len(s))
	for key, c := range s {
		all[key] = c.value
	}
	return all
}

// put sets a key in one of the scopes that count against the limit.
func (b *Blackboard) put(in scope, key string, value any, most int) error {
	size, err := sizeOf(value)
	if err != nil {
		return err
	}
	size += word + len(key)
	b.mu.Lock()
	defer b.mu.Unlock()
	total := b.size - in[key].size + size
	switch {
	case total > most && most < 1<<20:
		return fmt.Errorf("the blackboard would hold %d bytes, more than the %d it may", total, most)
	case total > most:
		return fmt.Errorf("the blackboard would hold %d MB, more than the %d it may", total>>20, most>>20)
	}
	b.size = total
	in[key] = cell{value, size}
	return nil
}

// clear empties a scope.
func (b *Blackboard) clear(s scope) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range s {
		b.size -= c.size
	}
	clear(s)
}

// word is what a value takes at least.
const word = 16

// sizeOf says how much a value takes, and what is wrong with one that can't be held.
func sizeOf(value any) (int, error) {
	size := 0
	err := measure(value, &size, 0)
	return size, err
}

// measure adds what a value takes. It ends when that is too much, since a value may hold
// another many times over.
func measure(value any, size *int, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("lists and maps lie deeper than %d in each other", maxDepth)
	}
	*size += word
	switch v := value.(type) {
	case nil, bool, int:
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%v is no number that can be kept", v)
		}
	case string:
		*size += len(v)
	case []any:
		for _, x := range v {
			if err := measure(x, size, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, x := range v {
			*size += word + len(key)
			if err := measure(x, size, depth+1); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("a blackboard holds no %T: only nil, bool, int, float64, string, []any and map[string]any", value)
	}
	if *size > MaxBlackboard {
		return fmt.Errorf("it takes more than the %d MB that a blackboard may hold", MaxBlackboard>>20)
	}
	return nil
}

// typeNames lists the types that a schema can name.
func typeNames(types map[string]Type) []string {
	var all []string
	for name := range builtinTypes {
		all = append(all, name)
	}
	for name := range types {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}
