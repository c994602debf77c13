package conductor

import (
	"context"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/order"
)

// AskedByHand says that there is a new question about work that stands alone. It does not wait.
func (c *Conductor) AskedByHand() {
	select {
	case c.askedByHand <- struct{}{}:
	default:
	}
}

// TellByHand tells of the questions about work that stands alone, for as long as the conductor runs; as [decider.tellOf]
// tells of a run's. There may be any number of such questions, so they are told one after the other.
func (c *Conductor) TellByHand(n order.Notifier) {
	ways := waysOf(c.config.Notify)
	if len(ways) == 0 {
		return
	}
	c.AskedByHand() // what is open already
	c.group.Go(func(ctx context.Context) {
		told := map[string]map[order.Way]bool{} // by question
		pause := notifyAgain
		for again := (<-chan time.Time)(nil); ; {
			select {
			case <-c.askedByHand:
			case <-again:
			case <-c.drainBegun:
				return
			case <-ctx.Done():
				return
			}
			again = nil
			if c.tellRound(ctx, n, ways, told) {
				pause = notifyAgain
				continue
			}
			again = time.After(pause)
			pause = min(2*pause, notifySlowest)
		}
	})
}

// tellRound tries once to tell of each open question that somebody was not told of yet, and reports whether that was done.
func (c *Conductor) tellRound(ctx context.Context, n order.Notifier, ways []order.Way, told map[string]map[order.Way]bool) bool {
	open := map[string]bool{}
	all := true
	for _, q := range c.ledger.QuestionsByHand() {
		open[q.ID] = true
		if told[q.ID] == nil {
			told[q.ID] = map[order.Way]bool{}
		}
		for _, by := range ways {
			if told[q.ID][by] || ctx.Err() != nil || c.Draining() {
				continue
			}
			err := n.Notify(ctx, by, q)
			if told[q.ID][by] = err == nil; err != nil {
				all = false
				c.untold(by, q, err)
			}
		}
	}
	for id := range told {
		if !open[id] {
			delete(told, id)
		}
	}
	return all
}

// waysOf returns how somebody is told of questions.
func waysOf(n config.Notify) (ways []order.Way) {
	if n.Command != "" {
		ways = append(ways, order.ByCommand)
	}
	if n.Webhook != "" {
		ways = append(ways, order.ByWebhook)
	}
	return ways
}

func (c *Conductor) untold(by order.Way, q api.Question, err error) {
	c.logger.Warn("nobody was told of a question by the "+string(by), "question", q.ID, "error", err)
}
