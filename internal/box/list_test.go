package box

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// least is compared with sorting everything.
func TestLeast(t *testing.T) {
	t.Parallel()
	for n := range 200 {
		r := rand.New(rand.NewPCG(uint64(n), 1))
		all := make([]string, r.IntN(60))
		for i := range all {
			all[i] = fmt.Sprintf("%02d", r.IntN(100))
		}
		l := least{limit: 1 + r.IntN(20)}
		for _, text := range all {
			l.add(text)
		}
		slices.Sort(all)
		all = slices.Compact(all)
		want, wantMore := all, false
		if len(all) > l.limit {
			want, wantMore = all[:l.limit], true
		}
		if got, more := l.page(); !slices.Equal(got, want) || more != wantMore {
			t.Fatalf("the first %d of %q: %q, more: %t", l.limit, all, got, more)
		}
	}
}

// runIDs are the ids of a page's runs.
func runIDs(p api.Page[api.Run]) (ids []string) {
	for _, r := range p.Items {
		ids = append(ids, r.ID)
	}
	return ids
}

func TestRunPages(t *testing.T) {
	t.Parallel()
	b := inDir(t, Dir(t.TempDir()))
	defer closeBox(t, b)
	if _, err := b.Run(api.LatestRun); err == nil {
		t.Error("there is a latest run of none")
	}
	finished := &delivery.Finished{Outcome: delivery.Completed}
	for n := 1; n <= 5; n++ {
		r := &delivery.Run{}
		r.ID, r.Subject, r.First, r.Seq = fmt.Sprint("R", n), fmt.Sprintf("%026d", n), uint64(n), uint64(n)
		if n != 2 && n != 3 {
			r.Finished = finished
		}
		b.state.runs[r.Subject] = r
	}
	defer clear(b.state.runs) // they are in no ledger
	for _, s := range []struct {
		live bool
		from api.From
		want []string
		next string
	}{
		{false, api.From{}, []string{"R1", "R2", "R3", "R4", "R5"}, ""},
		{false, api.From{Limit: 2}, []string{"R1", "R2"}, "R2"},
		{false, api.From{Limit: 2, After: "R2"}, []string{"R3", "R4"}, "R4"},
		{false, api.From{Limit: 2, After: "R4"}, []string{"R5"}, ""},
		{true, api.From{}, []string{"R2", "R3"}, ""},
		{true, api.From{Limit: 1}, []string{"R2"}, "R2"},
		{true, api.From{Limit: 1, After: "R2"}, []string{"R3"}, ""},
	} {
		s.from.Limit = cmp.Or(s.from.Limit, api.PageSize)
		page, err := b.Runs(t.Context(), s.live, s.from)
		if err != nil || !slices.Equal(runIDs(page), s.want) || page.Next != s.next {
			t.Errorf("live %t, %+v: %q, next %q, %v", s.live, s.from, runIDs(page), page.Next, err)
		}
	}
	if r, err := b.Run(api.LatestRun); err != nil || r.ID != "R3" {
		t.Errorf("the latest that has not ended: %s, %v", r.ID, err)
	}
	for _, r := range b.state.runs {
		r.Finished = finished
	}
	if r, err := b.Run(api.LatestRun); err != nil || r.ID != "R5" {
		t.Errorf("the latest, when all have ended: %s, %v", r.ID, err)
	}
}

// A run shows what it and its tasks may use, with what a person has added, and how often the gate sent a task back.
func TestRunShowsBudgetAndGate(t *testing.T) {
	t.Parallel()
	b := inDir(t, Dir(t.TempDir()))
	defer closeBox(t, b)
	r := &delivery.Run{Raised: 1}
	r.Settings.Budget = delivery.Budget{Tokens: 100, Task: delivery.Spend{CostUSD: 2}}
	r.ID, r.Subject, r.First, r.Seq = "R1", fmt.Sprintf("%026d", 1), 1, 1
	failed := &delivery.Task{ID: "T-1", Count: delivery.Count{Gates: 2}}
	lifted := &delivery.Task{ID: "T-2", TaskLeave: delivery.Leave{Lifted: true}}
	r.Tasks = []*delivery.Task{failed, lifted}
	b.state.runs[r.Subject] = r
	defer clear(b.state.runs) // it is in no ledger
	got, err := b.Run("R1")
	if err != nil {
		t.Fatal(err)
	}
	if got.Budget != (delivery.Spend{Tokens: 200}) || got.Tasks[0].Budget != (delivery.Spend{CostUSD: 2}) || got.Tasks[1].Budget != (delivery.Spend{}) {
		t.Errorf("budgets: %+v, %+v, %+v", got.Budget, got.Tasks[0].Budget, got.Tasks[1].Budget)
	}
	if got.Tasks[0].GateFailed != 2 || got.Tasks[1].GateFailed != 0 {
		t.Errorf("the gate: %d, %d", got.Tasks[0].GateFailed, got.Tasks[1].GateFailed)
	}
}

// Whoever asks for a list and leaves does the box no harm.
func TestListIsLeft(t *testing.T) {
	t.Parallel()
	b := inDir(t, Dir(t.TempDir()))
	if _, err := b.Add(t.Context(), work.OperatorActor, api.AddWork{Title: "a title"}, ""); err != nil {
		t.Fatal(err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := b.List(gone, "", api.From{Limit: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("items: %v", err)
	}
	if _, err := b.Runs(gone, false, api.From{Limit: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("runs: %v", err)
	}
	if err := b.Writable(); err != nil {
		t.Errorf("the box stops: %v", err)
	}
	if page, err := b.List(t.Context(), "", api.From{Limit: 1}); err != nil || len(page.Items) != 1 {
		t.Errorf("%+v, %v", page, err)
	}
	closeBox(t, b)
}
