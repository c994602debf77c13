package conductor

import (
	"context"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/order"
)

// tellOf tells of a question by the user's command and webhook. It is told at least once, with the same id:
// one that fails is tried again while the question is open, and so is every open question when a box
// is started.
func (d *decider) tellOf(ctx context.Context, q api.Question) {
	for _, by := range waysOf(d.all.config.Notify) {
		d.notify(ctx, by, q)
	}
}

// Pauses between tries to tell somebody of a question.
const (
	notifyAgain   = 10 * time.Second
	notifySlowest = 10 * time.Minute
)

func (d *decider) notify(ctx context.Context, by order.Way, q api.Question) {
	for pause := notifyAgain; !d.all.Draining() && d.open(q.ID); pause = min(2*pause, notifySlowest) {
		err := d.runner.Notify(ctx, by, q)
		if err == nil || ctx.Err() != nil {
			return
		}
		d.all.untold(by, q, err)
		select {
		case <-time.After(pause):
		case <-d.all.drainBegun:
			return
		case <-d.ended:
			return
		case <-ctx.Done():
			return
		}
	}
}

// open reports whether a question of the run waits for an answer, or a part in a task for a person.
func (d *decider) open(question string) (open bool) {
	d.ledger.WithRun(d.subject, func(r *delivery.Run) {
		open = slices.ContainsFunc(box.Waiting(r), func(q api.Question) bool { return q.ID == question })
	})
	return open
}
