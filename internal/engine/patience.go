package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	// The pauses between attempts.
	firstPause   = time.Millisecond
	longestPause = 250 * time.Millisecond

	// How long the engine has to answer a question, before it is asked again.
	askWait = 2 * time.Second
)

// patience paces attempts: with growing pauses, and not for ever. The zero value
// is ready for the first failure.
type patience struct {
	since time.Time
	pause time.Duration
}

// again waits before another attempt, and says whether there should be one.
func (p *patience) again(ctx context.Context, j *JetStream) bool {
	if p.since.IsZero() {
		*p = patience{time.Now(), firstPause}
	}
	if time.Since(p.since) > j.readyWait {
		return false
	}
	timer := time.NewTimer(p.pause/2 + rand.N(p.pause))
	defer timer.Stop()
	p.pause = min(2*p.pause, longestPause)
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	case <-j.closing:
		return false
	}
}

// insist asks until there is an answer. What is asked changes nothing, so it may
// be asked twice.
func (j *JetStream) insist(ctx context.Context, question string, ask func(context.Context) error) error {
	var p patience
	for {
		if err := j.usable(ctx); err != nil {
			return err
		}
		attempt, cancel := context.WithTimeout(ctx, askWait)
		err := ask(attempt)
		cancel()
		if err == nil {
			return nil
		}
		if !p.again(ctx, j) {
			// As text: the end of an attempt must not pass for that of the caller's context.
			return j.because(ctx, fmt.Errorf("ask the engine for %s: %w: %s", question, ErrNotReady, err.Error()))
		}
	}
}

// usable says why nothing can be asked.
func (j *JetStream) usable(ctx context.Context) error {
	select {
	case <-j.closing:
		return ErrClosed
	default:
		return ctx.Err()
	}
}

// because returns why a call failed: its end or the engine's, if they have come,
// or else err.
func (j *JetStream) because(ctx context.Context, err error) error {
	if end := j.usable(ctx); end != nil {
		return end
	}
	return err
}
