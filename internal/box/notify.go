package box

import (
	"context"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/runner"
)

// tellOf tells of a question by the user's command and webhook. It is told at least once, with the same id:
// one that fails is tried again until the question's run is over, and so is every open question when a box
// is started.
func (c *conductor) tellOf(ctx context.Context, q api.Question) {
	if c.box.config.Notify.Command != "" {
		c.notify(ctx, runner.ByCommand, q)
	}
	if c.box.config.Notify.Webhook != "" {
		c.notify(ctx, runner.ByWebhook, q)
	}
}

// Pauses between tries to tell somebody of a question.
const (
	notifyAgain   = 10 * time.Second
	notifySlowest = 10 * time.Minute
)

func (c *conductor) notify(ctx context.Context, by string, q api.Question) {
	b := c.box
	for pause := notifyAgain; ; pause = min(2*pause, notifySlowest) {
		err := b.runner.Notify(ctx, by, q)
		if err == nil || ctx.Err() != nil || b.draining() || !b.open(q.ID) {
			return
		}
		b.logger.Warn("nobody was told of a question by the "+by, "question", q.ID, "error", err)
		select {
		case <-time.After(pause):
		case <-b.drainBegun:
			return
		case <-c.ended:
			return
		case <-ctx.Done():
			return
		}
	}
}
