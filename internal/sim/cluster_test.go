package sim_test

import (
	"context"
	"math/rand/v2"
	"testing/synctest"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/conductor"
	"github.com/signalbox-dev/signalbox/internal/conductor/conductortest"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/internal/fleet"
	"github.com/signalbox-dev/signalbox/internal/homelink"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/ledger"
)

// cluster are the boxes of a world whose ledger is kept by several: the one that leads brings the run on, the home carries its orders out, and what
// comes of them is told to whichever leads by then.
type cluster struct {
	rand  *rand.Rand // of its own, so that worlds of one box are what they were
	boxes []*clusterBox
	leads *clusterBox // nil in a world of one box
	home  *homelink.Own
	seen  int // how much of the record there was when it was last drawn whether the lead moves
}

// clusterBox is a box with a fold of its own. Its conductor knows it as who carries out orders.
type clusterBox struct {
	*world
	number    int
	ledger    *conductortest.Ledger // nil before it leads the first time
	conductor *conductor.Conductor
	silent    bool // it ends without a word: what it has asked of the home goes on there for a while

	// What its goroutines change, under the world's lock.
	under   int      // its orders that are under way, as it knows
	orphans []func() // which end those that go on
}

// drawCluster gives some worlds three boxes.
func (w *world) drawCluster(seed uint64) {
	if seed%4 != 0 {
		return
	}
	w.cluster = cluster{rand: rand.New(rand.NewPCG(seed, 12)), home: homelink.NewOwn(homeOf{w: w})}
	for n := range 3 {
		w.cluster.boxes = append(w.cluster.boxes, &clusterBox{world: w, number: n})
	}
	w.cluster.leads = w.cluster.boxes[0]
}

// homeOf carries out orders, and is asked for nothing else.
type homeOf struct {
	fleet.Home
	w *world
}

func (h homeOf) CarryOut(ctx context.Context, o order.Order) error { return h.w.CarryOut(ctx, o) }

// CarryOut has the home carry out an order. There, it ends with that, unless the box ends without a word.
func (b *clusterBox) CarryOut(ctx context.Context, o order.Order) error {
	w := b.world
	w.mu.Lock()
	b.under++
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		b.under--
	}()
	there, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	end := func() { cancel(nil) }
	over := make(chan error, 1)
	go func() { over <- w.cluster.home.CarryOut(there, o) }()
	select {
	case err := <-over:
		end()
		return err
	case <-ctx.Done():
	}
	w.mu.Lock()
	silent := b.silent
	if silent {
		b.orphans = append(b.orphans, end)
	}
	w.mu.Unlock()
	if !silent {
		end()
		<-over
	}
	return ctx.Err()
}

// append records an event if the box leads.
func (b *clusterBox) append(e ledger.Event, record func() error) error {
	if b.cluster.leads != b {
		b.reached.add("world", "refused: leads no more")
		return engine.ErrNotReady
	}
	return b.world.append(e, record)
}

// silence ends what goes on at the home that boxes have asked which say nothing any more.
func (w *world) silence() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.cluster.boxes {
		for _, end := range b.orphans {
			end()
		}
		b.orphans = nil
	}
}

// perhapsLead has another box lead after some events.
func (w *world) perhapsLead() error {
	c := &w.cluster
	if c.leads == nil || w.draining || w.subject == "" || w.run.Finished != nil || w.record.n == c.seen {
		return nil
	}
	if c.seen = w.record.n; c.rand.IntN(12) > 0 {
		return nil
	}
	return w.lead()
}

// lead has another box lead. The one that does so no more may notice late; it records nothing, and nothing of it may be left running when it rests. What
// it has asked of the home may go on there, until it is asked for again, or for a while.
func (w *world) lead() error {
	c := &w.cluster
	old, was := c.leads, w.ledger
	next := c.boxes[(old.number+1+c.rand.IntN(2))%len(c.boxes)]
	w.reached.add("world", "lead moved")
	w.tell("     box %d leads, and box %d no more", next.number, old.number)
	_ = was.Meanwhile(func() error { c.leads = next; return nil })
	w.mu.Lock()
	old.silent, next.silent = c.rand.IntN(2) == 0, false
	w.mu.Unlock()
	recorded := w.record.n
	w.sayLate(old)
	old.conductor.Stop()
	synctest.Wait()
	switch {
	case w.violated != nil:
		return w.violated
	case was.Context().Err() != nil:
		return breaks("box %d stops, as it leads no more: %w", old.number, was.Failed())
	case w.record.n != recorded:
		return breaks("box %d has recorded something, and leads no more", old.number)
	case old.under > 0:
		return breaks("box %d rests, and %d of its orders go on", old.number, old.under)
	}
	for range c.rand.IntN(4) {
		w.betweenLeads()
	}
	if next.ledger == nil {
		l, err := was.Again(background)
		if err != nil {
			return err
		}
		next.ledger = l
	} else {
		w.reached.add("world", "lead came back")
		if err := next.ledger.Follow(was); err != nil {
			return err
		}
	}
	if err := w.compare(next.ledger); err != nil {
		return err
	}
	return w.open(next.ledger)
}

// sayLate has the box that leads no more act as if it did: time passes, or it is told something.
func (w *world) sayLate(old *clusterBox) {
	switch w.cluster.rand.IntN(3) {
	case 0:
		if wake := w.run.Wake(now()); wake.After(now()) && wake.Before(now().Add(time.Hour)) {
			time.Sleep(wake.Sub(now()))
			break
		}
		time.Sleep(leaveAlone + time.Millisecond)
	case 1:
		for _, id := range w.order {
			if p := w.processes[id]; len(p.outbox) > 0 && !w.unheard(p) {
				_ = old.conductor.HandIn(background, w.subject, p.outbox[0].in) // which is said again to who leads
				break
			}
		}
	}
	synctest.Wait()
}

// betweenLeads has an agent, or what goes on at the home, come further while nobody leads, up to what is to be told.
func (w *world) betweenLeads() {
	if w.cluster.rand.IntN(2) == 0 {
		w.act()
		return
	}
	all := w.underWay(func(e *errand) bool {
		reviews := e.Do == delivery.DoStart && (e.Session.Role == agentsig.RoleCritic || e.Session.Role == agentsig.RoleAuditor) // which is told before it begins
		return w.waits(e) && !reviews
	})
	if len(all) > 0 {
		_ = w.do(all[w.cluster.rand.IntN(len(all))]) // it fails only by what is told
	}
}
