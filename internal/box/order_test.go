package box

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// Order is the ledger's, whatever the clock says: the latest run is the one that was started last, and
// pages are in the order of adding; after a restart too, and when all of it has left memory.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 6))
			dir := Dir(t.TempDir())
			var runs, items []string
			for life := range 4 {
				var clock atomic.Int64
				clock.Store(r.Int64N(4e12) - 1e11) // from before 1970 to after 2090
				b := onClock(t, dir, archive.Dir(dir.Archive("")), nil, func() time.Time { return time.UnixMilli(clock.Load()) })
				for n := range 3 {
					id := fmt.Sprintf("%d-%d", life, n)
					finishedRun(t, b, "R"+id, "T")
					if err := tryAdd(t, b, "W"+id); err != nil {
						t.Fatal(err)
					}
					runs, items = append(runs, "R"+id), append(items, "R"+id+".T", "W"+id)
					clock.Add(-r.Int64N(time.Hour.Milliseconds()))
				}
				inOrder(t, b, runs, items)
				if _, err := b.seal(); err != nil {
					t.Fatal(err)
				}
				if err := b.evict(uint64(b.archive.Sealed()), time.UnixMilli(1e13)); err != nil {
					t.Fatal(err)
				}
				if len(b.state.runs) > 0 {
					t.Errorf("%d runs are still in memory", len(b.state.runs))
				}
				inOrder(t, b, runs, items)
				closeBox(t, b)
			}
		})
	}
}

func inOrder(t *testing.T, b *Box, runs, items []string) {
	t.Helper()
	subject, err := b.state.latestRun()
	if err != nil {
		t.Fatal(err)
	}
	if v, err := b.showRun(subject); err != nil || v.ID != runs[len(runs)-1] {
		t.Errorf("the latest run is %s, want %s (%v)", v.ID, runs[len(runs)-1], err)
	}
	var gotRuns, gotItems []string
	for from := (api.From{Limit: 2}); ; {
		page, err := b.Runs(t.Context(), false, from)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Items {
			gotRuns = append(gotRuns, r.ID)
		}
		if from.After = page.Next; page.Next == "" {
			break
		}
	}
	for from := (api.From{Limit: 2}); ; {
		page, err := b.List(t.Context(), "", from)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range page.Items {
			gotItems = append(gotItems, w.ID)
		}
		if from.After = page.Next; page.Next == "" {
			break
		}
	}
	if diff := cmp.Diff(runs, gotRuns); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(items, gotItems); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
}

// Of runs that have not ended the latest is the one that was started last, also if a ledger of a version
// before gave it a smaller subject; and questions are in the order in which they were asked.
func TestLiveOrder(t *testing.T) {
	t.Parallel()
	var clock atomic.Int64
	clock.Store(2e12)
	dir := Dir(t.TempDir())
	b := onClock(t, dir, archive.Dir(dir.Archive("")), nil, func() time.Time { return time.UnixMilli(clock.Load()) })
	defer closeBox(t, b)
	plan, err := b.archive.PutBlob([]byte("# A plan\n"))
	if err != nil {
		t.Fatal(err)
	}
	start := func(subject, id string) {
		t.Helper()
		for _, e := range []delivery.Event{
			{Type: delivery.RunStarted, Actor: work.OperatorActor, Payload: delivery.Started{ID: id, Plan: plan, Title: "a plan", Branch: "main", Key: id, Digest: id}},
			{Type: delivery.QuestionAsked, Actor: work.BoxActor, Payload: delivery.Question{ID: "Q-" + id, Cause: delivery.CauseExit, Text: "go on?"}},
		} {
			if err := b.Ledger().RecordRun(t.Context(), subject, e); err != nil {
				t.Fatal(err)
			}
		}
	}
	start(subjectAfter("", b.now()), "R1")
	clock.Store(1e12)
	start(subjectAfter("", b.now()), "R2")
	page, err := b.Runs(t.Context(), true, api.From{Limit: 1})
	if err != nil || len(page.Items) != 1 || page.Items[0].ID != "R1" || page.Next != "R1" {
		t.Fatalf("the first page: %+v, %v", page, err)
	}
	if page, err = b.Runs(t.Context(), true, api.From{After: "R1", Limit: 1}); err != nil || len(page.Items) != 1 || page.Items[0].ID != "R2" {
		t.Errorf("the second page: %+v, %v", page, err)
	}
	if subject, err := b.state.latestRun(); err != nil || b.state.runs[subject].ID != "R2" {
		t.Errorf("the latest: %s, %v", subject, err)
	}
	questions := b.Questions()
	if len(questions) != 2 || questions[0].ID != "Q-R1" || questions[1].ID != "Q-R2" {
		t.Errorf("questions: %+v", questions)
	}
}
