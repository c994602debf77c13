package benchmark

import (
	"context"
	"slices"
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
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.Run("background", func(b *testing.B) { compare(b, context.Background()) })
	b.Run("cancellable", func(b *testing.B) { compare(b, ctx) })
}

// compare measures a tick with a context, alone and beside the other library's.
func compare(b *testing.B, ctx context.Context) {
	run, now := ours(b), time.Unix(0, 0)
	defer run.Close()
	tick := func() {
		if s, err := run.Tick(ctx, now); s != bt.Success || err != nil {
			b.Fatal(s, err)
		}
	}
	b.Run("bt", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			tick()
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
		b.Run(c.name, func(b *testing.B) {
			inTurn(b, tick, func() {
				if s, err := root.Tick(); s != other.Success || err != nil {
					b.Fatal(s, err)
				}
			})
		})
	}
}

// inTurn measures two functions in rounds, now the one and now the other, so that what
// else the machine does hits both. It reports the medians of the rounds: of the time of
// each, and of how many times the first one's time the second takes.
func inTurn(b *testing.B, first, second func()) {
	var one, two, ratio []float64
	for b.Loop() {
		x, y := timed(first), timed(second)
		one, two, ratio = append(one, x), append(two, y), append(ratio, y/x)
	}
	b.ReportMetric(0, "ns/op") // of a round, which says nothing
	b.ReportMetric(median(one), "bt_ns/tick")
	b.ReportMetric(median(two), "other_ns/tick")
	b.ReportMetric(median(ratio), "x_bt")
}

// timed says how many nanoseconds a call takes, of a hundred.
func timed(f func()) float64 {
	const calls = 100
	began := time.Now()
	for range calls {
		f()
	}
	return float64(time.Since(began)) / calls
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}
