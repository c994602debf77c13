package bt

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestLimits(t *testing.T) {
	l := newCast("hang=R").library()
	l.Functions["set"] = Func(func(c *Context) Status { c.Set("k", strings.Repeat("x", 1000)); return Success })
	for _, c := range []struct {
		what   string
		root   *Node
		limits Limits
		is     error
		want   string // the error
		after  time.Duration
		ticks  int
		warned string
	}{
		{"ticks", Repeat(0, Failure, act("a")), Limits{Ticks: 7}, ErrTicks, "the tree was ticked 7 times without an end", 0, 7, ""},
		{"one tick", Repeat(0, Failure, act("a")), Limits{Ticks: 1}, ErrTicks, "the tree was ticked 1 time without an end", 0, 1, ""},
		{"more ticks than there are by default", Repeat(1500, Fresh, act("a")), Limits{Ticks: 1500}, nil, "", 0, 1500, ""},
		{"ticks by default", Repeat(0, Failure, act("a")), Limits{Ticks: -1}, ErrTicks, ErrTicks.Error(), 0, 1000, ""},
		{"stall", act("hang"), Limits{StallWarn: 2 * time.Second, StallFail: 2 * time.Minute}, ErrStalled, "nothing has moved in the tree for 2m", 2 * time.Minute, 3, "nothing has moved in the tree for 2s"},
		{"a stall without a warning before it", act("hang"), Limits{StallFail: 5 * time.Second}, ErrStalled, "nothing has moved in the tree for 5s", 5 * time.Second, 2, ""},
		{"stall by default", act("hang"), Limits{}, ErrStalled, ErrStalled.Error(), time.Minute, 3, "nothing has moved in the tree for 30s"},
		{"a stall that can't be counted", act("hang"), Limits{StallWarn: 1<<63 - 1, StallFail: 1<<63 - 1}, ErrStalled, "nothing has moved in the tree for 8760h", maxTime, 2, ""},
		{"blackboard", do("set"), Limits{Blackboard: 1000}, ErrValue, `a key can't have this value: tree/set: key "k": the blackboard would hold 1033 bytes, more than the 1000 it may`, 0, 1, ""},
		{"blackboard that is large enough", do("set"), Limits{Blackboard: 1033}, nil, "", 0, 1, ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				warned := ""
				tree := Tree{Name: "tree", Root: c.root, Blackboard: Schema{"k": "any"}}
				program, err := Compile(tree, l)
				if err != nil {
					t.Fatal(err)
				}
				var recording bytes.Buffer
				record := NewRecorder(&recording)
				run := program.Start(Options{Limits: c.limits, Record: record, Warn: func(text string) { warned += text }})
				began := time.Now()
				status, err := run.Drive(t.Context())
				if !errors.Is(err, c.is) || err != nil && err.Error() != c.want || (status == Failure) != (c.is != nil) {
					t.Errorf("%v, %v", status, err)
				}
				if after := time.Since(began); after != c.after || run.Ticks() != c.ticks || warned != c.warned {
					t.Errorf("after %v and %d ticks; warned: %q", after, run.Ticks(), warned)
				}
				run.Close()
				if err := record.Flush(); err != nil {
					t.Fatal(err)
				}
				last := Fresh
				status, err = program.Replay(&recording, func(_ int, _ time.Duration, entries []Entry) { last = entries[0].Status })
				if want := Running; err != nil || errors.Is(c.is, ErrTicks) && status != want || !errors.Is(c.is, ErrTicks) && (status == Failure) != (c.is != nil) || last != status {
					t.Errorf("replay: %v, %v, %v", status, last, err)
				}
			})
		})
	}
}

// TestDriveTellsOfValues has a leaf set what a key can't have: the error says so if the tree
// fails, and not if the tree knows how to go on.
func TestDriveTellsOfValues(t *testing.T) {
	l := Library{Functions: map[string]Leaf{
		"bad": Func(func(c *Context) Status { c.Set("n", "text"); return Success }),
		"odd": Func(func(c *Context) Status { c.Set("odd", 1); return Failure }),
		"no":  Func(func(*Context) Status { return Failure }),
	}}
	const refused = `a key can't have this value: tree/sequence/bad: key "n" has the type int: string is no int`
	for _, c := range []struct {
		what string
		root *Node
		want string
	}{
		{"the tree fails", Sequence(do("bad")), refused},
		{"the tree goes on", Selector(do("bad"), Sequence()), ""},
		{"the tree fails later", Sequence(AlwaysSucceed(do("bad")), do("no")), strings.Replace(refused, "sequence/", "sequence/always_succeed/", 1)},
		{"the tree fails by itself", Sequence(do("no")), ""},
		{"a key that is not declared is a warning", Sequence(do("odd")), ""},
		{"ten at most are told", AlwaysFail(Repeat(20, Failure, AlwaysSucceed(do("bad")))), strings.TrimSuffix(strings.Repeat(
			strings.Replace(refused, "sequence/", "always_fail/repeat/always_succeed/", 1)+"\n", 10), "\n")},
	} {
		run := begin(t, Tree{Name: "tree", Root: c.root, Blackboard: Schema{"n": "int"}}, l, Options{})
		for range 2 { // what a Drive before it was told is not told again
			status, err := run.Drive(t.Context())
			if (err == nil) != (c.want == "") || err != nil && (err.Error() != c.want || !errors.Is(err, ErrValue) || status != Failure) {
				t.Errorf("%s: %v, %v", c.what, status, err)
			}
		}
	}
}
