package handoff

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

var errBroken = errors.New("broken")

// small is a load that ends at once: a batch to begin with, one that is measured, and four handoffs at a rate.
var small = Load{Items: 6, Workers: 3, Rate: 200, Seconds: 1}

// used counts: each reading is 18 s more than the one before.
func used() func([]int) time.Duration {
	n := 0
	return func([]int) time.Duration {
		n++
		return time.Duration(n) * 18 * time.Second
	}
}

// measured measures a fake while time goes on only where somebody sleeps.
// The fake is made there, as its channels have to be.
func measured(t *testing.T, make func() Instance, load Load) (s Sample, err error) {
	synctest.Test(t, func(t *testing.T) { s, err = Measure(t.Context(), make(), load, used()) })
	return s, err
}

func faulty(f faults) func() Instance { return func() Instance { return newFake(f) } }

func TestMeasure(t *testing.T) {
	s, err := measured(t, faulty(faults{}), small)
	if err != nil {
		t.Fatal(err)
	}
	want := Sample{
		HandoffsPerS: 1500, // three workers, 2 ms each
		P50:          2, P99: 2,
		Carried: 200 / (199.0/200 + 0.002), // the last of 200 is due after 199 of 200 parts of a second
		CPU:     1000,                      // of 18 handoffs, between two readings
		Verdict: Verdict{Items: 109},       // 3 to begin with, 6 that are measured, and 100 for 200 handoffs at the rate
	}
	if s != want {
		t.Errorf("%+v, want %+v", s, want)
	}
}

// TestMeasureLate checks that a handoff which waits for those before it is late from when it was due.
func TestMeasureLate(t *testing.T) {
	load := small
	load.Items, load.Workers, load.Rate = 1, 1, 1000
	s, err := measured(t, func() Instance {
		f := newFake(faults{})
		f.one = make(chan struct{}, 1)
		return f
	}, load)
	if err != nil {
		t.Fatal(err)
	}
	if s.Carried > 600 || s.P99 < 500 {
		t.Errorf("a system that ends 500 in a second carries %v of 1000, p99 %v ms", s.Carried, s.P99)
	}
}

func TestMeasureBatches(t *testing.T) {
	load := Load{Items: 6, Workers: 3, Time: time.Millisecond}
	s, err := measured(t, faulty(faults{}), load)
	if err != nil {
		t.Fatal(err)
	}
	if !s.Verdict.Once() || s.Verdict.Items < 9 || s.P50 != 0 {
		t.Errorf("%+v", s)
	}
}

func TestMeasureFaults(t *testing.T) {
	for _, c := range []struct {
		name   string
		faults faults
		want   Verdict
	}{
		{"a task is given out twice", faults{again: Task{"t0-3", 2}}, Verdict{Items: 109, Again: 1}},
		{"an item ends twice", faults{twice: "l-1"}, Verdict{Items: 109, Doubled: 1}},
		{"an end is not kept", faults{lost: "t0-5"}, Verdict{Items: 109, Lost: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := measured(t, faulty(c.faults), small)
			if err != nil {
				t.Fatal(err)
			}
			if s.Verdict != c.want || s.Verdict.Once() {
				t.Errorf("verdict %+v, want %+v", s.Verdict, c.want)
			}
		})
	}
}

func TestMeasureFails(t *testing.T) {
	for _, task := range []Task{{"warm-0", 1}, {"t0-3", 2}, {"l-99", 1}, {"l-0", 3}} {
		_, err := measured(t, faulty(faults{fails: task}), small)
		if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), task.Item) || strings.Count(err.Error(), "broken") != 1 {
			t.Errorf("%v can't be ended: %v", task, err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errBroken)
	if _, err := Measure(ctx, newFake(faults{}), small, used()); !errors.Is(err, errBroken) {
		t.Errorf("a measurement that is cancelled: %v", err)
	}
}

func TestMeasureAwaits(t *testing.T) {
	var a *awaited
	s, err := measured(t, func() Instance {
		a = &awaited{fake: newFake(faults{}), all: make(chan Task, 1000)}
		return a
	}, small)
	if err != nil {
		t.Fatal(err)
	}
	if !s.Verdict.Once() {
		t.Errorf("verdict %s", s.Verdict)
	}
	// Of a batch those that began last, as many as there are workers; of the last part all.
	if diff := cmp.Diff([]int{3, 3, 100}, a.awaits); diff != "" {
		t.Errorf("waited for (-want +got):\n%s", diff)
	}
}

// TestPullHolds checks that a worker which holds a task keeps nobody from asking, up to the limit.
func TestPullHolds(t *testing.T) {
	f := newFake(faults{})
	for _, item := range []string{"a", "b", "c", "d"} {
		_ = f.Add(t.Context(), item)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	held := make(chan string, 4)
	done := make(chan error)
	go func() {
		done <- f.Work(ctx, Workers{Waiting: 1, Held: 3}, func(ctx context.Context, t Task) error {
			held <- t.Item
			<-ctx.Done()
			return context.Cause(ctx)
		}, func(Task) {}, func() {})
	}()
	for range 3 {
		<-held
	}
	cancel(ErrEnough)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n := len(f.ready); n != 1 || len(held) != 0 {
		t.Errorf("%d tasks are left and %d more were held: want 1 and 0", n, len(held))
	}
}

func TestJudge(t *testing.T) {
	begun := func(items ...string) map[Task]int {
		all := map[Task]int{}
		for _, item := range items {
			for phase := 1; phase <= Phases; phase++ {
				all[Task{item, phase}]++
			}
		}
		return all
	}
	for _, c := range []struct {
		name  string
		begun map[Task]int
		ended map[string]int
		want  string
	}{
		{"all once", begun("a", "b"), map[string]int{"a": 1, "b": 1}, "yes"},
		{"nothing", map[Task]int{}, map[string]int{}, "NO: of 2 items 2 not ended, 6 phases given to nobody"},
		{"one lost", begun("a", "b"), map[string]int{"a": 1}, "NO: of 2 items 1 not ended"},
		{"one twice", begun("a", "b", "b"), map[string]int{"a": 1, "b": 2}, "NO: of 2 items 1 ended twice, 3 phases given to two workers"},
		{"a stranger", begun("a", "b"), map[string]int{"a": 1, "b": 1, "c": 1}, "NO: of 2 items 1 ended and never added"},
	} {
		if got := Judge([]string{"a", "b"}, c.begun, c.ended).String(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if (Verdict{}).Once() {
		t.Error("nothing was handed over, and that is said to be once")
	}
	if got, want := (Verdict{1, 2, 3, 4, 5, 6}).Add(Verdict{1, 1, 1, 1, 1, 1}), (Verdict{2, 3, 4, 5, 6, 7}); got != want {
		t.Errorf("sum %+v, want %+v", got, want)
	}
}

func TestStatistics(t *testing.T) {
	var all []time.Duration
	for i := range 200 {
		all = append(all, time.Duration(i+1))
	}
	for _, c := range []struct {
		values  []time.Duration
		percent int
		want    time.Duration
	}{{all, 50, 100}, {all, 99, 198}, {all, 100, 200}, {all, 0, 1}, {all[:1], 99, 1}, {all[:3], 50, 2}, {nil, 50, 0}} {
		if got := Quantile(c.values, c.percent); got != c.want {
			t.Errorf("%d %% of %d values: %d, want %d", c.percent, len(c.values), got, c.want)
		}
	}
	for _, c := range []struct {
		values []float64
		want   Spread
	}{{[]float64{3, 1, 2}, Spread{2, 1, 3}}, {[]float64{4, 1}, Spread{2.5, 1, 4}}, {[]float64{5}, Spread{5, 5, 5}}} {
		if got := SpreadOf(c.values); got != c.want {
			t.Errorf("%v: %v, want %v", c.values, got, c.want)
		}
	}
}

func TestTable(t *testing.T) {
	once := Verdict{Items: 10}
	rows := []Row{
		Row{System: "A", Version: "1", Settings: "synced"}.Summarise([]Sample{
			{HandoffsPerS: 1000, P50: 1, P99: 9, Carried: 50, CPU: 0.5, Verdict: once},
			{HandoffsPerS: 2000, P50: 3, P99: 12, Carried: 49, CPU: 0.5, Verdict: once},
			{HandoffsPerS: 1500, P50: 2, P99: 10, Carried: 50, CPU: 0.5, Verdict: once},
		}),
		Row{System: "B", Version: "2"}.Summarise([]Sample{{HandoffsPerS: 30, P50: 800, P99: 900, Carried: 31, CPU: 12.34, Verdict: Verdict{Items: 10, Doubled: 1}}}),
		Row{System: "C", Note: "not run: no such thing"}.Summarise(nil),
		Row{System: "D", Version: "3", Note: "failed: it ended"}.Summarise([]Sample{{HandoffsPerS: 750, P50: 1, P99: 1, Carried: 50, Verdict: once}}),
	}
	Compare(rows)
	got := Report{Rate: 50, Rows: rows}.Markdown()
	want := `| system | version | handoffs/s             | ratio | p50 ms               | p99 ms           | CPU ms | each once                     |
|--------|---------|------------------------|-------|----------------------|------------------|--------|-------------------------------|
| A      | 1       | 1500 (1000–2000)       | 1.00  | 2.00 (1.00–3.00)     | 10.0 (9.00–12.0) | 0.50   | yes                           |
| B      | 2       | 30.0                   | 0.02  | carries 31.0 of 50/s |                  | 12.3   | NO: of 10 items 1 ended twice |
| C      |         | not run: no such thing |       |                      |                  |        |                               |
| D      | 3       | 750                    | 0.50  | 1.00                 | 1.00             | 0.00   | yes; failed: it ended         |

- A: synced
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("table (-want +got):\n%s\n%s", diff, got)
	}
	for line := range strings.Lines(got) {
		if strings.HasPrefix(line, "|") && strings.Count(line, "|") != 9 {
			t.Errorf("a row with other cells: %s", line)
		}
	}
}

func TestCompareWithNothing(t *testing.T) {
	rows := []Row{{System: "A", Note: "not run: no such thing"}, Row{System: "B"}.Summarise([]Sample{{HandoffsPerS: 5, Verdict: Verdict{Items: 1}}})}
	Compare(rows)
	if rows[1].Ratio != 0 || strings.Contains(Report{Rows: rows}.Markdown(), "Inf") {
		t.Errorf("a ratio to nothing: %v", rows[1].Ratio)
	}
}
