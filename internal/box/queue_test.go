package box

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// walked is a queue as simple as it can be: each claim in turn takes what is ready for longest of what fits.
type walked struct {
	ready   []readyItem // the one that is ready for longest first
	waiters []*walker
}

type walker struct {
	wish
	real *waiter
	got  string
	over bool // what it waits for will never come
}

func (q *walked) update(i work.Item) {
	q.ready = slices.DeleteFunc(q.ready, func(r readyItem) bool { return r.subject == i.Subject })
	if i.Claimable() {
		q.ready = append(q.ready, readyItem{i.Subject, post{i.Phase, i.Helper()}, i.Seq})
		slices.SortFunc(q.ready, func(a, b readyItem) int { return int(a.since) - int(b.since) })
	}
	if i.Phase == agentsig.PhaseCompleted {
		q.waiters = slices.DeleteFunc(q.waiters, func(w *walker) bool {
			w.over = w.over || w.subject == i.Subject
			return w.over
		})
	}
}

func (q *walked) take(w wish) (string, bool) {
	for n, r := range q.ready {
		if w.accepts(r.subject, r.post) {
			q.ready = slices.Delete(q.ready, n, n+1)
			return r.subject, true
		}
	}
	return "", false
}

func (q *walked) match() {
	q.waiters = slices.DeleteFunc(q.waiters, func(w *walker) (ok bool) {
		w.got, ok = q.take(w.wish)
		return ok
	})
}

// Claims that wait get what they would if every claim were asked at every change, in the order in which
// they came.
func TestQueueLikeAWalk(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		if err := queueLikeAWalk(rand.New(rand.NewPCG(seed, 16))); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func queueLikeAWalk(random *rand.Rand) error {
	real, simple := &state{items: map[string]*work.Item{}, queue: newQueue()}, &walked{}
	var waiting []*walker
	var taken []string // by claims that have not been granted it
	phases := append(agentsig.Phases(), "")
	roles := []agentsig.Role{"", "", agentsig.RoleDeveloper, agentsig.RoleCritic, agentsig.RoleAuditor}
	subject := func() string { return fmt.Sprint("item-", random.IntN(6)) }
	for step := range uint64(200) {
		switch random.IntN(8) {
		case 0, 1: // a batch was folded
			real.dispatch()
			simple.match()
		case 2, 3: // a claim comes
			w := wish{phase: phases[random.IntN(len(phases))], role: roles[random.IntN(len(roles))]}
			if random.IntN(3) == 0 {
				w.subject = subject()
			}
			simple.match()
			want, ok := simple.take(w)
			got, line, err := real.pick(w, true)
			if err != nil || got != want || (line == nil) != ok {
				return fmt.Errorf("%+v took %q, want %q: %w", w, got, want, err)
			}
			if ok {
				taken = append(taken, got)
				break
			}
			waiting = append(waiting, &walker{wish: w, real: line})
			simple.waiters = append(simple.waiters, waiting[len(waiting)-1])
		case 4: // a claim leaves
			if len(waiting) > 0 {
				w := waiting[random.IntN(len(waiting))]
				real.leave(w.real)
				waiting = slices.DeleteFunc(waiting, func(other *walker) bool { return other == w })
				simple.waiters = slices.DeleteFunc(simple.waiters, func(other *walker) bool { return other == w })
			}
		case 5: // what was taken is not granted
			if len(taken) > 0 {
				back := taken[0]
				taken = taken[1:]
				real.giveBack(back)
				simple.update(*real.items[back])
				simple.match()
			}
		default: // something happens to an item
			i := &work.Item{ID: "x", Phase: phases[random.IntN(len(phases)-1)]}
			i.Subject, i.Seq = subject(), step+1
			if random.IntN(4) == 0 {
				i.Lease = &work.Lease{}
			}
			real.items[i.Subject] = i
			real.queue.update(*i)
			simple.update(*i)
		}
		for _, w := range waiting {
			var got string
			open := true
			select {
			case got, open = <-w.real.offer:
			default:
			}
			if got != "" {
				taken = append(taken, got)
			}
			if got != w.got || open == w.over {
				return fmt.Errorf("step %d: %+v was offered %q, want %q; it goes on: %v, want %v", step, w.wish, got, w.got, open, !w.over)
			}
		}
		waiting = slices.DeleteFunc(waiting, func(w *walker) bool { return w.got != "" || w.over })
		if _, _, n := real.counts(); n != len(waiting) || n == 0 && len(real.queue.lines) > 0 {
			return fmt.Errorf("step %d: %d wait, want %d; lines %v", step, n, len(waiting), real.queue.lines)
		}
	}
	return nil
}

// A change of an item looks at no claim that it does not fit, and at the first alone of those that wish the same.
// Whoever looks at another finds what is no claim, and panics.
func TestQueueLooksAtWhatFits(t *testing.T) {
	t.Parallel()
	q := newQueue()
	trap := func(w wish) {
		for range 1000 {
			q.wait(w).place.Value = "not to be looked at"
		}
	}
	first := q.wait(wish{})
	trap(wish{})
	trap(wish{phase: agentsig.PhaseReview})
	trap(wish{role: agentsig.RoleAuditor})
	trap(wish{subject: "item", phase: agentsig.PhaseReview})
	trap(wish{subject: "another"})
	q.lines["another"][wish{}] = q.lines[""][wish{role: agentsig.RoleAuditor}] // nor at lines for another item
	i := work.Item{ID: "x", Phase: agentsig.PhaseDraft}
	i.Subject, i.Seq = "item", 1
	q.update(i)
	q.match()
	if first.place != nil {
		t.Error("the first still waits")
	}
}

// A claim does not overtake those that wait, although what they wait for was folded and not yet offered.
func TestClaimDoesNotOvertake(t *testing.T) {
	t.Parallel()
	s := newState()
	_, first, err := s.pick(wish{}, true)
	if err != nil || first == nil {
		t.Fatal(first, err)
	}
	i := work.Item{ID: "x", Phase: agentsig.PhaseDraft}
	i.Subject, i.Seq = "item", 1
	s.put(&work.Item{}, &i)
	if subject, _, err := s.pick(wish{}, false); subject != "" || err != nil {
		t.Errorf("the second took %q, %v", subject, err)
	}
	if first.place != nil {
		t.Error("the first still waits")
	}
}

// A claim does not wait for an item that was completed after it was looked at.
func TestClaimDoesNotWaitForNothing(t *testing.T) {
	t.Parallel()
	b := &Box{state: newState()}
	i := work.Item{ID: "x", Phase: agentsig.PhaseCompleted}
	i.Subject, i.Seq = "item", 1
	b.state.put(&work.Item{}, &i)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if subject, err := b.pick(ctx, wish{subject: "item"}, true); !errors.Is(err, work.ErrCompleted) {
		t.Errorf("it was offered %q, %v", subject, err)
	}
	if _, _, waiting := b.state.counts(); waiting != 0 {
		t.Errorf("%d wait", waiting)
	}
}

// So many claims wait and no more, whoever asks at the same time.
func TestManyClaimsWait(t *testing.T) {
	t.Parallel()
	s := newState()
	var refused atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range maxWaiting/8 + 1 {
				if _, _, err := s.pick(wish{role: agentsig.RoleCritic}, true); err != nil {
					refused.Add(1)
				}
			}
		})
	}
	all.Wait()
	if _, _, waiting := s.counts(); waiting != maxWaiting || refused.Load() != 8 {
		t.Errorf("%d wait, %d were refused", waiting, refused.Load())
	}
}

// BenchmarkUpdate is what a change of an item costs with so many claims that nothing fits.
func BenchmarkUpdate(b *testing.B) {
	for _, n := range []int{0, 1, 10_000} {
		b.Run(fmt.Sprint("waiting=", n), func(b *testing.B) {
			q := newQueue()
			for range n {
				q.wait(wish{phase: agentsig.PhaseReview, role: agentsig.RoleCritic})
			}
			i := work.Item{ID: "x", Phase: agentsig.PhaseDraft}
			i.Subject = "item"
			for b.Loop() {
				i.Seq++
				q.update(i)
				q.match()
			}
		})
	}
}
