package bt

import (
	"context"
	"testing"
	"time"
)

// hundred is a tree of 100 nodes of many kinds, all of whose leaves answer at once.
func hundred(t testing.TB) *Program {
	yes := Func(func(*Context) Status { return Success })
	no := Func(func(*Context) Status { return Failure })
	library := Library{Functions: map[string]Leaf{"yes": yes, "no": no}}
	var groups []*Node
	for range 9 {
		groups = append(groups, Selector(
			Sequence(Condition("no", "no", nil), Action("yes", "yes", nil)),
			Inverter(Action("yes", "yes", nil)),
			Sequence(Condition("yes", "yes", nil), AlwaysSucceed(Action("no", "no", nil)), Action("yes", "yes", nil)),
		))
	}
	program, err := Compile(Tree{Name: "hundred", Root: Sequence(groups...)}, library)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(program.Nodes()); got != 100 {
		t.Fatalf("the tree has %d nodes", got)
	}
	return program
}

func BenchmarkTick(b *testing.B) {
	r := hundred(b).Start(Options{})
	defer r.Close()
	now := time.Unix(0, 0)
	b.ReportAllocs()
	for b.Loop() {
		if s, err := r.Tick(context.Background(), now); s != Success || err != nil {
			b.Fatal(s, err)
		}
	}
}
