package box

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// A request does not wait for one of another kind that happens to have the same key.
func TestKeyOfAWaitingClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := Dir(t.TempDir())
		b := onLog(t, dir, archive.Dir(dir.Archive("")), nil, func(a *archive.Archive, f archive.Follower) engine.Log {
			fold := f.Fold
			f.Fold = func(records []engine.Record) error {
				err := fold(records)
				synctest.Wait() // whom it wakes goes on before the log's tip rises
				return err
			}
			return archive.NewLog(a, f)
		})
		defer closeBox(t, b)
		const key = "run"
		claimed := make(chan error, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		go func() {
			_, err := b.Claim(ctx, api.Claim{Actor: "ann", Wait: true}, key)
			claimed <- err
		}()
		synctest.Wait()
		unlock, err := b.requests.Lock(ctx, keyOfKind{startPlanRun, ""})
		if err != nil {
			t.Fatalf("a run can't be started: %v", err)
		}
		unlock()
		if _, err := b.Ask(ctx, work.OperatorActor, api.Ask{Question: "why?"}, key); err != nil {
			t.Errorf("nothing can be asked: %v", err)
		}
		if _, err := b.Add(ctx, work.OperatorActor, api.AddWork{Title: "a title"}, key); err != nil {
			t.Errorf("nothing can be added: %v", err)
		}
		if err := <-claimed; err != nil {
			t.Errorf("what was added is not granted: %v", err)
		}
	})
}

// Each kind of request has keys of its own: in memory, after a restart, and when what was added has
// left memory.
func TestKeysOfKinds(t *testing.T) {
	t.Parallel()
	dir := Dir(t.TempDir())
	b := inDir(t, dir)
	const key = "the same"
	item, err := b.Add(t.Context(), work.OperatorActor, api.AddWork{Title: "a title"}, key)
	if err != nil {
		t.Fatal(err)
	}
	question, err := b.Ask(t.Context(), work.OperatorActor, api.Ask{Question: "why?"}, key)
	if err != nil {
		t.Fatal(err)
	}
	same := func(when string) {
		t.Helper()
		if again, err := b.Add(t.Context(), work.OperatorActor, api.AddWork{Title: "a title"}, key); err != nil || again.Subject != item.Subject {
			t.Errorf("%s: %+v, %v", when, again, err)
		}
		if again, err := b.Ask(t.Context(), work.OperatorActor, api.Ask{Question: "why?"}, key); err != nil || again != question {
			t.Errorf("%s: %+v, %v", when, again, err)
		}
	}
	same("in memory")
	if _, err := b.Override(work.OperatorActor, item.ID, api.Override{Phase: agentsig.PhaseCompleted, Reason: "done"}, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Answered(question.ID, api.Answered{Outcome: "answered"}, ""); err != nil {
		t.Fatal(err)
	}
	closeBox(t, b)
	b = inDir(t, dir)
	defer func() { closeBox(t, b) }()
	same("after a restart")
	if _, err := b.seal(); err != nil {
		t.Fatal(err)
	}
	if err := b.evict(uint64(b.archive.Sealed()), b.now().Add(2*overFor)); err != nil {
		t.Fatal(err)
	}
	if len(b.state.trails) != 0 {
		t.Fatalf("%d subjects are in memory", len(b.state.trails))
	}
	same("when they have left")
}

// A key starts one run: for another plan it is refused, also when the run has ended.
func TestKeyIsForOnePlan(t *testing.T) {
	t.Parallel()
	b := inDir(t, Dir(t.TempDir()))
	defer closeBox(t, b)
	run := b.newSubject()
	record := func(event string, payload any) {
		t.Helper()
		if err := b.Ledger().RecordRun(t.Context(), run, delivery.Event{Type: event, Actor: work.OperatorActor, Payload: payload}); err != nil {
			t.Fatal(err)
		}
	}
	look := func(when string) {
		t.Helper()
		if other, err := b.Ledger().Delivering("another plan", "k1"); !errors.Is(err, errKeyReused) {
			t.Errorf("%s, with another plan: %q, %v", when, other, err)
		}
		if same, err := b.Ledger().Delivering("a plan", "k1"); err != nil || same != run {
			t.Errorf("%s: %q, %v; want %s", when, same, err, run)
		}
	}
	record(delivery.RunStarted, delivery.Started{ID: "R1", Title: "t", Digest: "a plan", Key: "k1"})
	look("while it runs")
	if same, err := b.Ledger().Delivering("a plan", ""); err != nil || same != run {
		t.Errorf("the plan without a key: %q, %v", same, err)
	}
	record(delivery.RunFinished, delivery.Finished{Outcome: delivery.Completed})
	look("when it has ended")
	if other, err := b.Ledger().Delivering("a plan", ""); err != nil || other != "" {
		t.Errorf("the plan again, without a key: %q, %v", other, err)
	}
}

// A request whose answer was lost is found by its key however many others came meanwhile, and also after
// a restart.
func TestKeyIsKeptByTime(t *testing.T) {
	t.Parallel()
	dir := Dir(t.TempDir())
	b := oneItem(t, dir, nil)
	first, err := b.Override(work.OperatorActor, "T-1", api.Override{Phase: agentsig.PhaseDraft, Reason: "mine"}, "mine")
	if err != nil {
		t.Fatal(err)
	}
	phases := []agentsig.Phase{agentsig.PhaseImplementation, agentsig.PhaseDraft}
	for n := range 100 {
		if _, err := b.Override(work.OperatorActor, "T-1", api.Override{Phase: phases[n%2], Reason: "another's"}, fmt.Sprint("key ", n)); err != nil {
			t.Fatal(err)
		}
	}
	again := func(when string) {
		t.Helper()
		if r, err := b.Override(work.OperatorActor, "T-1", api.Override{Phase: agentsig.PhaseImplementation, Reason: "mine"}, "mine"); err != nil || r.Sequence != first.Sequence {
			t.Errorf("%s: first %+v, then %+v, %v", when, first, r, err)
		}
	}
	again("in memory")
	closeBox(t, b)
	b = inDir(t, dir)
	defer func() { closeBox(t, b) }()
	again("after a restart")
}

// Keys are forgotten when no client can still repeat its request, whichever way the clock was set.
func TestKeysAreForgotten(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, step := range []time.Duration{keepRequests / 100, -keepRequests / 100, 2 * keepRequests} {
		var r requests
		for seq := range uint64(10_000) {
			now = now.Add(step)
			r.note(seq+1, ledger.Event{Key: fmt.Sprint(seq), Time: now})
		}
		if len(r.All) > 500 {
			t.Errorf("%d requests are remembered, with %v between two", len(r.All), step)
		}
		if last := r.All[len(r.All)-1]; !last.Of("9999") {
			t.Errorf("the latest is forgotten, with %v between two", step)
		}
	}
	if keepRequests < 10*api.Patience {
		t.Errorf("keys are kept for %v, and clients repeat requests for %v", keepRequests, api.Patience)
	}
}
