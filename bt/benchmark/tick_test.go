package benchmark

import (
	"context"
	"testing"
	"time"

	other "github.com/joeycumines/go-behaviortree"

	"github.com/signalbox-dev/signalbox/bt"
)

const groups = 9 // of 11 nodes, below one root

// ours is the tree of 100 nodes.
func ours(b *testing.B) *bt.Run {
	library := bt.Library{Functions: map[string]bt.Leaf{
		"yes": bt.Func(func(*bt.Context) bt.Status { return bt.Success }),
		"no":  bt.Func(func(*bt.Context) bt.Status { return bt.Failure }),
	}}
	var all []*bt.Node
	for range groups {
		all = append(all, bt.Selector(
			bt.Sequence(bt.Condition("no", "no", nil), bt.Action("yes", "yes", nil)),
			bt.Inverter(bt.Action("yes", "yes", nil)),
			bt.Sequence(bt.Condition("yes", "yes", nil), bt.AlwaysSucceed(bt.Action("no", "no", nil)), bt.Action("yes", "yes", nil)),
		))
	}
	program, err := bt.Compile(bt.Tree{Name: "hundred", Root: bt.Sequence(all...)}, library)
	if err != nil {
		b.Fatal(err)
	}
	if n := len(program.Nodes()); n != 100 {
		b.Fatalf("the tree has %d nodes", n)
	}
	return program.Start(bt.Options{})
}

// theirs is the same tree, with or without a memory of where it was RUNNING.
func theirs(remember func(other.Tick) other.Tick) other.Node {
	yes := other.New(func([]other.Node) (other.Status, error) { return other.Success, nil })
	no := other.New(func([]other.Node) (other.Status, error) { return other.Failure, nil })
	sequence := func(children ...other.Node) other.Node { return other.New(remember(other.Sequence), children...) }
	selector := func(children ...other.Node) other.Node { return other.New(remember(other.Selector), children...) }
	inverter := func(child other.Node) other.Node { return other.New(other.Not(other.Sequence), child) }
	alwaysSucceed := func(child other.Node) other.Node {
		return other.New(func(children []other.Node) (other.Status, error) {
			status, err := children[0].Tick()
			if status == other.Failure && err == nil {
				status = other.Success
			}
			return status, err
		}, child)
	}
	var all []other.Node
	for range groups {
		all = append(all, selector(sequence(no, yes), inverter(yes), sequence(yes, alwaysSucceed(no), yes)))
	}
	return sequence(all...)
}

func BenchmarkTick(b *testing.B) {
	run := ours(b)
	defer run.Close()
	ctx, now := context.Background(), time.Unix(0, 0)
	tick := func(b *testing.B) {
		if s, err := run.Tick(ctx, now); s != bt.Success || err != nil {
			b.Fatal(s, err)
		}
	}
	b.Run("bt", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			tick(b)
		}
	})
	for _, c := range []struct {
		name     string
		remember func(other.Tick) other.Tick
	}{
		{"go-behaviortree", func(t other.Tick) other.Tick { return t }},
		{"go-behaviortree-memorize", other.Memorize},
	} {
		root := theirs(c.remember)
		otherTick := func(b *testing.B) {
			if s, err := root.Tick(); s != other.Success || err != nil {
				b.Fatal(s, err)
			}
		}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				otherTick(b)
			}
		})
		b.Run("both/"+c.name, func(b *testing.B) {
			var first, second time.Duration
			for b.Loop() { // in turn, so that what else the machine does hits both
				first += timed(func() { tick(b) })
				second += timed(func() { otherTick(b) })
			}
			b.ReportMetric(float64(second)/float64(first), "x_bt")
		})
	}
}

// timed says how long a hundred calls take.
func timed(f func()) time.Duration {
	began := time.Now()
	for range 100 {
		f()
	}
	return time.Since(began)
}
