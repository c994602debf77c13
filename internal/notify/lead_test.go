package notify

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// election says which of some boxes leads.
type election struct {
	mu      sync.Mutex
	leader  int // 0 for none
	term    uint64
	changed chan struct{}
	at      time.Time // of the last change
}

func newElection() *election { return &election{changed: make(chan struct{})} }

func (e *election) of(box int) func() (bool, uint64, <-chan struct{}) {
	return func() (bool, uint64, <-chan struct{}) {
		e.mu.Lock()
		defer e.mu.Unlock()
		term := e.term
		if e.leader == 0 {
			term = 0
		}
		return e.leader == box, term, e.changed
	}
}

func (e *election) elect(box int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.leader = box
	e.term++
	e.at = time.Now()
	close(e.changed)
	e.changed = make(chan struct{})
}

// justChanged says whether another box leads since this very moment: who begins to tell may have looked before.
func (e *election) justChanged() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return time.Now().Equal(e.at)
}

// member returns a teller of a box in a cluster.
func (e *election) member(b Box, file string, box int) (*Teller, *listener) {
	t, l := teller(b, file, byCommand)
	t.o.Leads, t.leads = e.of(box), false
	return t, l
}

// Only the box that leads tells. One that begins to tells what happened in the last minute, under the ids that it had, and nothing older; what it drops is not
// lost. What nobody could tell, as none led, is told, however long that was.
func TestLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, e, dir := newBox(), newElection(), t.TempDir()
		first, l1 := e.member(b, filepath.Join(dir, "1"), 1)
		second, l2 := e.member(b, filepath.Join(dir, "2"), 2)
		stop1, stop2 := run(t, first), run(t, second)
		l1.want(t, "while none leads")
		e.elect(1)
		b.asks("S1", "Q1")
		l1.want(t, "the box that leads", "command question Q1")
		l2.want(t, "a box that does not")
		if s := second.Status(); s != (api.Messages{}) {
			t.Errorf("what it keeps for the other counts: %+v", s)
		}
		second.Settle(t.Context()) // it has nothing to wait for
		time.Sleep(keepsFor + time.Second)
		b.record("S2", delivery.RunFinished, delivery.Finished{})
		l1.want(t, "the box that leads", "command failed R2")
		time.Sleep(keepsFor)
		e.elect(2)
		l2.want(t, "what happened in the last minute", "command failed R2")
		if l1.all[1].ID != l2.all[0].ID {
			t.Errorf("told under the ids %s and %s", l1.all[1].ID, l2.all[0].ID)
		}
		b.asks("S1", "Q2")
		l1.want(t, "the one that led before")
		l2.want(t, "the one that leads now", "command question Q2")
		e.elect(0)
		b.record("S3", delivery.RunFinished, delivery.Finished{}) // stored, and the box that led did not live to say so
		time.Sleep(10 * time.Hour)
		e.elect(1)
		l1.want(t, "after none led", "command question Q2", "command failed R3")
		if s := first.Status(); s != (api.Messages{}) {
			t.Errorf("the status is %+v", s)
		}
		stop1()
		stop2()
	})
}

// What a box could not tell while it led stays with it, over a restart too, and is told when it leads again; not if nothing waits any more.
func TestLedBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, e, file := newBox(), newElection(), filepath.Join(t.TempDir(), "1")
		first, l := e.member(b, file, 1)
		stop := run(t, first)
		e.elect(1)
		l.set(func() { l.fails["command"] = errNobody })
		b.asks("S1", "Q1")
		b.asks("S2", "Q2")
		l.take()
		e.elect(2)
		time.Sleep(time.Hour)
		l.want(t, "while another leads")
		if s := first.Status(); s.Undelivered != 2 {
			t.Errorf("the status is %+v", s)
		}
		stop()
		b.record("S2", delivery.QuestionAnswered, delivery.Answered{})
		again, l := e.member(b, file, 1)
		stop = run(t, again)
		e.elect(1)
		l.want(t, "when it leads again", "command question Q1")
		stop()
	})
}

// A box that was away, or has just joined, reads what happened long ago, which others have told. However much that is, it does not hold up what follows, and counts as
// no loss.
func TestCatchesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, e, dir := newBox(), newElection(), t.TempDir()
		e.elect(1)
		first, _ := e.member(b, filepath.Join(dir, "2"), 2)
		run(t, first)()
		for range 3 {
			b.record("S1", delivery.RunFinished, delivery.Finished{})
		}
		time.Sleep(2 * longAgo)
		for i := range maxUntold + 10 {
			b.record(fmt.Sprint("S", i), delivery.RunFinished, delivery.Finished{})
		}
		fresh, l := e.member(b, filepath.Join(dir, "2"), 2)
		stop := run(t, fresh)
		e.elect(2)
		if got := l.take(); len(got) != maxUntold || got[0] != "command failed R10" {
			t.Errorf("%d were told, from %q on", len(got), got[:1])
		}
		if s := fresh.Status(); s != (api.Messages{}) {
			t.Errorf("the status is %+v", s)
		}
		stop()
	})
}

// A box that was killed may know less of what is committed when it starts than it did before. It forgets nothing for that.
func TestBehindItsMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, e, file := newBox(), newElection(), filepath.Join(t.TempDir(), "1")
		first, l := e.member(b, file, 1)
		stop := run(t, first)
		e.elect(1)
		l.set(func() { l.fails["command"] = errNobody })
		b.asks("S1", "Q1")
		l.take()
		stop()
		behind := newBox()
		again, l := e.member(behind, file, 1)
		stop = run(t, again)
		l.want(t, "before it knows")
		behind.asks("S1", "Q1")
		l.want(t, "when it knows", "command question Q1")
		stop()
	})
}

// Three boxes, of which any one leads, dies or comes back at any moment: all that happens is told, and a box begins to tell only while it leads.
func TestThreeBoxes(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			b, e, dir := newBox(), newElection(), t.TempDir()
			told, by := map[string]int{}, &sync.Mutex{}
			var stops [3]func()
			start := func(i int) {
				one, _ := e.member(b, filepath.Join(dir, fmt.Sprint(i)), i+1)
				one.senders[ByCommand] = func(ctx context.Context, m Message) error {
					if leads, _, _ := one.o.Leads(); !leads && !e.justChanged() {
						t.Errorf("seed %d: box %d tells, and does not lead", seed, i+1)
					}
					select { // it takes a while
					case <-time.After(time.Duration(m.Sequence%3) * time.Second):
					case <-ctx.Done():
						return ctx.Err()
					}
					by.Lock()
					defer by.Unlock()
					told[m.ID]++
					return nil
				}
				stops[i] = run(t, one)
			}
			kill := func(i int) { // what it writes while it stops it would not have written
				file := filepath.Join(dir, fmt.Sprint(i))
				left, err := os.ReadFile(file)
				stops[i]()
				if err == nil {
					err = os.WriteFile(file, left, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			for i := range stops {
				start(i)
			}
			leads, events := 1, 0
			e.elect(leads)
			for range 60 {
				switch r.IntN(6) {
				case 0, 1, 2:
					b.record(fmt.Sprint("S", events), delivery.RunFinished, delivery.Finished{})
					events++
				case 3:
					time.Sleep(time.Duration(r.IntN(90)) * time.Second)
				case 4: // the box that leads dies, and another one leads after a while
					kill(leads - 1)
					e.elect(0)
					time.Sleep(time.Duration(r.IntN(200)) * time.Second)
					start(leads - 1)
					leads = 1 + (leads+r.IntN(2))%3
					e.elect(leads)
				case 5:
					other := leads % 3
					kill(other)
					start(other)
				}
			}
			for i := range stops { // what a box could not tell while it led it tells when it leads again
				e.elect(i + 1)
				time.Sleep(time.Hour)
			}
			by.Lock()
			if len(told) != events {
				t.Errorf("seed %d: %d of %d were told", seed, len(told), events)
			}
			by.Unlock()
			for _, stop := range stops {
				stop()
			}
		})
	}
}

// What a box keeps for another is not its own to tell after a restart either, and a minute later it is gone.
func TestKeptOverRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for after, want := range map[time.Duration][]string{keepsFor / 2: {"command question Q1"}, 2 * keepsFor: nil} {
			b, e, file := newBox(), newElection(), filepath.Join(t.TempDir(), "2")
			e.elect(1)
			second, _ := e.member(b, file, 2)
			stop := run(t, second)
			b.asks("S1", "Q1")
			synctest.Wait()
			stop()
			time.Sleep(time.Hour)
			again, l := e.member(b, file, 2)
			stop = run(t, again)
			time.Sleep(after)
			e.elect(2)
			l.want(t, after.String()+" after the restart", want...)
			stop()
		}
	})
}
