package picture_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/signalbox-dev/signalbox/internal/picture"
)

// tasks draws a plan: tasks wait for others, for what there is not, for themselves and in circles.
func tasks(t *rapid.T, most int) (all []picture.Task) {
	n := rapid.IntRange(0, most).Draw(t, "tasks")
	for i := range n {
		one := picture.Task{ID: fmt.Sprintf("T-%d", i), Over: rapid.IntRange(0, 3).Draw(t, "over") == 0}
		for range rapid.IntRange(0, 3).Draw(t, "waits") {
			one.Waits = append(one.Waits, fmt.Sprintf("T-%d", rapid.IntRange(0, n).Draw(t, "for")))
		}
		all = append(all, one)
	}
	return all
}

// Boxes lie beside each other and in the drawing, lines lead forward, and the same plan is drawn the same.
func TestDraw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plan := tasks(t, 60)
		g := picture.Draw(plan)
		if !cmp.Equal(g, picture.Draw(plan)) {
			t.Fatal("the same plan is drawn differently")
		}
		if len(g.Nodes) != len(plan) || g.Undrawn || g.Folded != 0 {
			t.Fatalf("%d of %d tasks are drawn", len(g.Nodes), len(plan))
		}
		for i, a := range g.Nodes {
			if a.X < 0 || a.Y < 0 || a.X+a.W > g.Width || a.Y+a.H > g.Height {
				t.Fatalf("%+v is not in %d×%d", a, g.Width, g.Height)
			}
			for _, b := range g.Nodes[:i] {
				if a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
					t.Fatalf("%+v lies over %+v", a, b)
				}
			}
		}
		for _, e := range g.Edges {
			from, to := g.Nodes[e.From], g.Nodes[e.To]
			if from.X+from.W >= to.X || !slices.Contains(to.Waits, from.ID) {
				t.Fatalf("a line leads from %+v to %+v", from, to)
			}
		}
	})
}

// Of a plan without circles, whoever waits is right of what it waits for, and a line leads there, if by others.
func TestDrawOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var plan []picture.Task
		for i := range rapid.IntRange(1, 40).Draw(t, "tasks") {
			one := picture.Task{ID: fmt.Sprint(i)}
			for range rapid.IntRange(0, min(i, 3)).Draw(t, "waits") {
				one.Waits = append(one.Waits, fmt.Sprint(rapid.IntRange(0, i-1).Draw(t, "for")))
			}
			plan = append(plan, one)
		}
		g := picture.Draw(plan)
		reach := map[[2]int]bool{}
		for to := range plan { // the plan's order is one in which what is waited for comes first
			for _, e := range g.Edges {
				if e.To == to {
					reach[[2]int{e.From, to}] = true
					for far := range plan {
						if reach[[2]int{far, e.From}] {
							if reach[[2]int{far, to}] = true; slices.ContainsFunc(g.Edges, func(x picture.Edge) bool { return x.From == far && x.To == to }) {
								t.Fatalf("a line from %d to %d follows from others", far, to)
							}
						}
					}
				}
			}
			for _, w := range plan[to].Waits {
				from, _ := strconv.Atoi(w)
				if !reach[[2]int{from, to}] || g.Nodes[from].X+g.Nodes[from].W >= g.Nodes[to].X {
					t.Fatalf("%d waits for %d, and that is not to be seen", to, from)
				}
			}
		}
		for i := 1; i < len(g.Critical); i++ {
			a, _ := strconv.Atoi(g.Critical[i-1])
			b, _ := strconv.Atoi(g.Critical[i])
			if !slices.Contains(plan[b].Waits, plan[a].ID) {
				t.Fatalf("the chain %v is none", g.Critical)
			}
		}
	})
}

// The longest chain of what is left is marked; what is over does not count.
func TestCritical(t *testing.T) {
	g := picture.Draw([]picture.Task{
		{ID: "A", Over: true}, {ID: "B", Over: true, Waits: []string{"A"}}, {ID: "C", Over: true, Waits: []string{"B"}}, {ID: "D", Waits: []string{"C"}},
		{ID: "X"}, {ID: "Y", Waits: []string{"X", "A"}},
	})
	if want := []string{"X", "Y"}; !slices.Equal(g.Critical, want) {
		t.Errorf("the chain is %v", g.Critical)
	}
	for _, e := range g.Edges {
		if e.Critical != (g.Nodes[e.From].ID == "X") {
			t.Errorf("%+v", e)
		}
	}
}

// Of too many tasks those that are over are left out, and if it is still too many all are.
func TestDrawMany(t *testing.T) {
	var plan []picture.Task
	for i := range 1000 {
		one := picture.Task{ID: fmt.Sprint(i), Over: i < 900}
		if i > 0 {
			one.Waits = []string{fmt.Sprint(i - 1)}
		}
		plan = append(plan, one)
	}
	if g := picture.Draw(plan); len(g.Nodes) != 100 || g.Folded != 900 || g.Undrawn || len(g.Critical) != 100 {
		t.Errorf("%d drawn, %d folded, %v, %d", len(g.Nodes), g.Folded, g.Undrawn, len(g.Critical))
	}
	for i := range plan {
		plan[i].Over = false
	}
	if g := picture.Draw(plan); len(g.Nodes) != 0 || !g.Undrawn || g.Folded != 0 || len(g.Critical) != 1000 {
		t.Errorf("%d drawn, %d folded, %v", len(g.Nodes), g.Folded, g.Undrawn)
	}
	if g := picture.Draw(nil); g.Undrawn || len(g.Nodes) != 0 {
		t.Errorf("no plan: %+v", g)
	}
}

func number(t *rapid.T, percent string) float64 {
	x, err := strconv.ParseFloat(strings.TrimSuffix(percent, "%"), 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// Whatever the times are, what is drawn lies in the picture, and few things are.
func TestLay(t *testing.T) {
	start := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	moment := rapid.Custom(func(t *rapid.T) time.Time {
		return start.Add(time.Duration(rapid.Int64Range(-1e15, 1e17).Draw(t, "at")))
	})
	rapid.Check(t, func(t *rapid.T) {
		var all []picture.Stretch
		for range rapid.IntRange(0, 100).Draw(t, "stretches") {
			all = append(all, picture.Stretch{
				Row: fmt.Sprint(rapid.IntRange(0, 60).Draw(t, "row")), From: moment.Draw(t, "from"), To: moment.Draw(t, "to"), Moment: rapid.Bool().Draw(t, "moment"),
			})
		}
		l := picture.Lay(all, start, moment.Draw(t, "end"))
		if len(l.Rows) > 40 || len(l.Ticks) > 6 || len(l.Ticks) == 0 {
			t.Fatalf("%d rows, %d ticks", len(l.Rows), len(l.Ticks))
		}
		for _, r := range l.Rows {
			if r.BarY+12 > l.Height || len(r.Bars)+len(r.Marks) == 0 {
				t.Fatalf("%+v in %d", r, l.Height)
			}
			for _, b := range r.Bars {
				if x, w := number(t, b.X), number(t, b.Width); x < 0 || w < 0.39 || x+w > 100.02 {
					t.Fatalf("%+v", b)
				}
			}
			for _, m := range r.Marks {
				if x := number(t, m.X); x < 0 || x > 100 {
					t.Fatalf("%+v", m)
				}
			}
		}
	})
}

// Bars are in proportion; the smallest can be seen, and nothing has none.
func TestMeasure(t *testing.T) {
	b := picture.Measure([]picture.Amount{{Label: "a", Value: 1000, Words: "1000"}, {Label: "b", Value: 250}, {Label: "c", Value: 0.001}, {Label: "d"}})
	var widths []string
	for _, r := range b.Rows {
		widths = append(widths, r.Width)
	}
	if want := []string{"100.00%", "25.00%", "0.40%", "0.00%"}; !slices.Equal(widths, want) {
		t.Errorf("%v", widths)
	}
	if b := picture.Share([]picture.Amount{{Value: 0.25}, {Value: 3}}, 1); b.Rows[0].Width != "25.00%" || b.Rows[1].Width != "100.00%" {
		t.Errorf("parts of 1: %+v", b.Rows)
	}
	if b := picture.Measure(make([]picture.Amount, 50)); len(b.Rows) != 20 || b.Left != 30 {
		t.Errorf("%d rows, %d left", len(b.Rows), b.Left)
	}
}
