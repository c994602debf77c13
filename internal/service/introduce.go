package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/memberlink"
	"github.com/signalbox-dev/signalbox/internal/membership"
	"github.com/signalbox-dev/signalbox/internal/pin"
	"github.com/signalbox-dev/signalbox/ledger"
)

// A member that was away does not know who has joined since, and who that is may be the only one left to tell it. So whoever is refused introduces itself.

// introductions are the members that have proven that they joined after all that this box's ledger has.
type introductions struct {
	mu  sync.Mutex
	all []access.Member // in the order of their ids
}

// maxIntroduced is how many are remembered: of more, those who joined last.
const maxIntroduced = access.MaxMembers

// add takes one in.
func (i *introductions) add(one access.Member) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.all = slices.DeleteFunc(i.all, func(o access.Member) bool { return o.ID == one.ID })
	i.all = append(i.all, one)
	slices.SortFunc(i.all, func(x, y access.Member) int { return cmp.Compare(x.ID, y.ID) })
	if more := len(i.all) - maxIntroduced; more > 0 {
		i.all = slices.Delete(i.all, 0, more)
	}
}

// with adds those that have joined after all others, and forgets those of whom the ledger says what became.
func (i *introductions) with(known access.Members) access.Members {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.all = slices.DeleteFunc(i.all, func(o access.Member) bool { return o.ID <= known.Last })
	if len(i.all) > 0 {
		known.All = slices.Concat(known.All, i.all)
	}
	return known
}

// lastOf returns the highest id.
func lastOf(all []access.Member) (last uint64) {
	for _, o := range all {
		last = max(last, o.ID)
	}
	return last
}

// linked are the members that this box speaks to.
func (c *cluster) linked() access.Members { return c.withLeaving(c.members()) }

// Linked implements [httpapi.Cluster].
func (c *cluster) Linked() []access.Member { return c.linked().All }

// toldFor is for how long a box that has left is still answered when the log counts it no more, so that it is told.
const toldFor = 10 * time.Second

// withLeaving adds those that the ledger says have left, for as long as the log counts them, as their votes may be needed for that to end, and a little longer, as
// they have to be told.
func (c *cluster) withLeaving(all access.Members) access.Members {
	b := c.box.Load()
	if b == nil {
		return all
	}
	counted := b.InCluster().Members.All()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range c.known.Load().Members {
		if _, in := all.ByID(o.ID); in {
			continue
		}
		if needed, seen := c.left[o.ID]; !seen || slices.Contains(counted, o.ID) {
			c.left[o.ID] = time.Now()
		} else if time.Since(needed) > toldFor {
			continue
		}
		all.All = append(slices.Clip(all.All), o)
	}
	return all
}

// Why an introduction is refused.
var (
	errOthersKey  = errors.New("the proof is of a box with another key")
	errNotAhead   = errors.New("the proof says nothing that is not known here")
	errNotOpenYet = errors.New("this box is not open yet")
	errNotSettled = errors.New("it was taken out, and may be needed until the others have agreed on that")
)

// Introduced implements [httpapi.Cluster].
func (c *cluster) Introduced(key string, p ledger.Proof) error {
	b := c.box.Load()
	if b == nil {
		return errNotOpenYet
	}
	one, err := b.Joined(p)
	now, log := b.Members(), b.InCluster()
	_, in := now.ByID(one.ID)
	last := max(now.Last, lastOf(c.known.Load().Members))
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", access.ErrNoMember, err)
	case !pin.Same(one.Key, key):
		return fmt.Errorf("%w: %w", access.ErrNoMember, errOthersKey)
	case one.ID <= now.Last && !in && (log.Leader == 0 || slices.Contains(log.Members.All(), one.ID)):
		return fmt.Errorf("%w: %w", access.ErrNoMember, errNotSettled)
	case one.ID <= now.Last && !in:
		return access.ErrMemberGone
	case one.ID <= last:
		return fmt.Errorf("%w: %w", access.ErrNoMember, errNotAhead)
	}
	c.logger.Info("a box has joined the cluster while this one was away", "name", one.Name, "id", one.ID)
	c.introduced.add(one)
	return nil
}

// introducePatience is how long an introduction may take, and introduceEvery how often this box introduces itself at most.
const (
	introducePatience = 3 * time.Second
	introduceEvery    = time.Second
)

// refusals are the members that have refused this box, of those that its own ledger has beside it since it was taken out.
type refusals map[uint64]bool

// settled takes one more, and says whether they are a majority: each has seen the log count this box no more.
func (r refusals) settled(by uint64, all access.Members) bool {
	if _, in := all.ByID(by); in {
		r[by] = true
	}
	return 2*len(r) > len(all.All)
}

// introduce tells a member that this box has joined. It does not wait. If it was taken out, the box stops. For that one member's word is enough: its key is known, it says so
// only while one leads that has agreed on it, and a member that lies can do the same with the owner's token, which it has. Nothing is lost by it: the box can be started again.
func (c *cluster) introduce(to memberlink.Peer) {
	b := c.box.Load()
	if b == nil || !c.introducing.CompareAndSwap(false, true) {
		return
	}
	begun := c.group.Go(func(ctx context.Context) {
		defer c.introducing.Store(false)
		asking, cancel := context.WithTimeout(ctx, introducePatience)
		defer cancel()
		id := c.known.Load().ID
		proof, err := b.ProveJoined(id)
		switch _, in := b.Members().ByID(id); {
		case !in && b.Members().Last >= id:
			if err = errNotSettled; c.refused.settled(to.ID, b.Members()) {
				err = access.ErrMemberGone
			}
		case err == nil:
			err = membership.Introduce(asking, c.key, access.Member{Key: to.Key, Addresses: to.Addresses}, proof)
		}
		if err == nil {
			return
		}
		if p, answered := errors.AsType[*api.Problem](err); errors.Is(err, access.ErrMemberGone) || answered && p.Code == api.CodeGone {
			b.Fail(access.ErrMemberGone)
			return
		}
		c.logger.Warn("a member does not know this box, which has joined while it was away", "member", to.Name, "id", to.ID, "error", err)
		select {
		case <-time.After(introduceEvery):
		case <-ctx.Done():
		}
	})
	if !begun {
		c.introducing.Store(false)
	}
}
