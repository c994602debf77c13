package lua

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arnodel/golua/scanner"
	"github.com/arnodel/golua/token"

	"github.com/signalbox-dev/signalbox/bt"
)

// stepsPerSecond turns a script's time into steps, of which it would take more than that
// many only on a machine that is twice as fast as any.
const stepsPerSecond = 20_000_000

// maxNote bounds what the trace shows of what a script prints, in bytes.
const maxNote = 200

// What a script returns, besides true and false.
const (
	wordSuccess = "SUCCESS"
	wordFailure = "FAILURE"
)

// Script makes the leaf of a script; it is what [bt.Library] has for that. Syntax errors
// show here. The script runs beside the tree.
func Script(name string, s bt.Script) (bt.Leaf, error) {
	c, err := compile(name, []byte(s.Source))
	if err != nil {
		return bt.Leaf{}, err
	}
	l := scriptLimits(s.Timeout)
	leaf := bt.Async(func(b *bt.Context) bt.Work {
		board := &board{values: b.Visible()}
		return func(ctx context.Context) func(*bt.Context) bt.Status {
			out, err := c.run(ctx, board.globals(), l)
			return func(b *bt.Context) bt.Status { return board.decide(b, out, err) }
		}
	})
	return leaf.Using(keysIn(s.Source)), nil
}

// scriptLimits are what a script with this time-out may use; 0 stands for the usual one.
func scriptLimits(timeout time.Duration) limits {
	if timeout <= 0 {
		timeout = bt.DefaultScriptTimeout
	}
	timeout = min(timeout, bt.MaxScriptTimeout)
	return limits{timeout, uint64(timeout.Seconds()*stepsPerSecond) + 1, maxMemory}
}

// board is the blackboard as a script has it: a copy, and what it sets.
type board struct {
	values map[string]any
	writes []write
}

type write struct {
	key    string
	value  any
	global bool
}

func (b *board) globals() map[string]any {
	return map[string]any{
		"BT": module{name: "BT", members: map[string]any{wordSuccess: wordSuccess, wordFailure: wordFailure}},
		"bb": module{name: "bb", members: map[string]any{
			"get":        function(b.get),
			"set":        function(func(c call) (any, error) { return nil, b.set(c, false) }),
			"set_global": function(func(c call) (any, error) { return nil, b.set(c, true) }),
		}},
	}
}

var errKey = errors.New("the first argument is a key: a text")

func (b *board) get(c call) (any, error) {
	if err := c.fault(); err != nil {
		return nil, err
	}
	if len(c.args) == 0 {
		return nil, errKey
	}
	key, ok := c.args[0].(string)
	if !ok {
		return nil, errKey
	}
	return b.values[key], nil
}

func (b *board) set(c call, global bool) error {
	if err := c.fault(); err != nil {
		return err
	}
	if len(c.args) < 2 {
		return errors.New("it takes a key and a value")
	}
	key, ok := c.args[0].(string)
	if !ok {
		return errKey
	}
	value := c.args[1]
	if t, ok := value.(*table); ok {
		_, isMap := b.values[key].(map[string]any)
		plain, err := t.plain(isMap)
		if err != nil {
			return err
		}
		value = plain
	}
	b.values[key] = value
	b.writes = append(b.writes, write{key, value, global})
	return nil
}

// decide sets what the script has set, and says how the leaf ends.
func (b *board) decide(c *bt.Context, out outcome, err error) bt.Status {
	if err != nil {
		c.Note("%v", err)
		return bt.Failure
	}
	for _, w := range b.writes {
		if w.global {
			c.SetGlobal(w.key, w.value)
		} else {
			c.Set(w.key, w.value)
		}
	}
	if text := strings.TrimSpace(out.printed); text != "" {
		c.Note("%s", clean(text[:min(len(text), maxNote)]))
	}
	var answer any
	if len(out.values) > 0 {
		answer = out.values[0]
	}
	switch answer {
	case true, wordSuccess:
		return bt.Success
	case false, wordFailure:
		return bt.Failure
	}
	c.Note("a script returns true, false, BT.SUCCESS or BT.FAILURE, and not %s", kindOf(answer))
	return bt.Failure
}

// keysIn finds the keys that a script names outright, so that a tree which does not
// declare them is refused.
func keysIn(source string) (reads, writes []string) {
	s := scanner.New("", []byte(source))
	var last [4]*token.Token
	for t := s.Scan(); t != nil && t.Type != token.EOF && t.Type != token.INVALID && t.Type != token.UNFINISHED; t = s.Scan() {
		if t.Type == token.STRING && last[3] != nil && last[3].Type == token.SgOpenBkt && last[1] != nil &&
			last[0] != nil && string(last[0].Lit) == "bb" && last[1].Type == token.SgDot {
			key := string(t.Lit[1 : len(t.Lit)-1])
			if !strings.Contains(key, `\`) {
				switch string(last[2].Lit) {
				case "get":
					reads = append(reads, key)
				case "set", "set_global":
					writes = append(writes, key)
				}
			}
		}
		copy(last[:], last[1:])
		last[3] = t
	}
	slices.Sort(reads)
	slices.Sort(writes)
	return slices.Compact(reads), slices.Compact(writes)
}

// module is a table of functions and values that scripts can't change. A name that it
// does not have is an error, since it is misspelt.
type module struct {
	name    string
	members map[string]any
}

func (m module) missing(key string) error {
	var names []string
	for name := range m.members {
		names = append(names, name)
	}
	slices.Sort(names)
	return fmt.Errorf("there is no %s.%.40s: there are %s", m.name, key, strings.Join(names, ", "))
}
