package conductor

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// ToCheckByHand says that something happened to work that stands alone and waits for checks, or did. It does not wait.
func (c *Conductor) ToCheckByHand() {
	select {
	case c.toCheckByHand <- struct{}{}:
	default:
	}
}

// CheckByHand has the checks run on work that stands alone and has a branch, if the settings want that, for as long as the
// conductor runs. There may be any number of such items, so they are checked one after the other, the one first that has
// waited longest; the checks of runs have their own places. What is under way when the conductor stops is not recorded, and
// begins anew at the next start.
func (c *Conductor) CheckByHand(x order.Checker) {
	if c.config.Gate.Checks != config.On || c.Draining() {
		return
	}
	c.again()
	c.group.Load().Go(func(ctx context.Context) {
		for {
			var again <-chan time.Time
			if item, ok := c.ledger.FirstToCheck(); ok {
				if c.check(ctx, x, item) {
					continue
				}
				again = time.After(unsurePause)
			}
			select {
			case <-c.toCheckByHand:
			case <-again:
			case <-c.drainBegun:
				return
			case <-ctx.Done():
				return
			}
		}
	})
}

// check has the checks run on an item, again if its branch moves meanwhile, and records what came of them. It reports false
// if the item has to be looked at again later.
func (c *Conductor) check(ctx context.Context, x order.Checker, item work.Item) bool {
	for moves := 0; ; moves++ {
		result, err := c.runChecks(ctx, x, item)
		if err != nil {
			return ctx.Err() == nil && !c.Draining() // the item has left the phase
		}
		result.Moves = moves
		err = c.ledger.RecordItem(item.Subject, result.Key(), result)
		switch {
		case err == nil:
			return true
		case errors.Is(err, work.ErrBranchMoved):
			c.logger.Info("a branch was moved while its checks ran: they run again", "work", item.ID, "branch", item.Branch)
			continue
		case refused(err):
			return true // something else happened to it meanwhile
		}
		c.logger.Warn("what the checks say was not recorded", "work", item.ID, "error", err)
		return false
	}
}

// runChecks runs the checks on an item, and ends them if the item leaves the phase or nothing is started any more. It returns
// when nothing of them runs any more.
func (c *Conductor) runChecks(ctx context.Context, x order.Checker, item work.Item) (result work.Checked, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	ended := make(chan struct{})
	running.Go(func() {
		defer close(ended)
		result, err = x.CheckBranch(ctx, item)
	})
	defer running.Wait()
	drain := c.drainBegun
	for {
		select {
		case <-ended:
			return result, errors.Join(err, ctx.Err())
		case <-c.toCheckByHand:
			if now, err := c.ledger.ItemNamed(item.ID); err == nil && (!now.ToCheck() || now.Entered != item.Entered) {
				cancel()
			}
		case <-drain:
			drain = nil
			cancel()
		}
	}
}
