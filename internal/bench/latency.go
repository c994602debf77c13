package bench

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
)

// latency sends signals at a fixed rate, whatever comes back, while as many
// claimers wait as there are clients. It returns the times from when a signal was
// due to when a claimer had the work that it handed over. The first second is not
// counted.
func (o Options) latency(ctx context.Context, b *running) ([]time.Duration, error) {
	if err := o.addItems(ctx, b, "l"); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l := &loop{sessions: make(chan api.Grant, o.Items*len(phases)), due: map[string]time.Time{}}
	l.done = make(chan struct{})
	signals := o.Items * (len(phases) - 1)
	warm := min(o.Rate, signals/4) // until what adding and claiming the items left behind is settled
	l.want = signals - warm
	var running sync.WaitGroup
	for range o.Clients {
		running.Go(func() {
			for ctx.Err() == nil {
				g, err := b.client.Claim(ctx, api.Claim{Actor: "bench", Wait: true})
				if err != nil {
					cancel(err)
					return
				}
				l.returned(g)
			}
		})
	}
	outputs := outputs()
	held := make([]api.Grant, 0, o.Items)
	for range o.Items {
		select {
		case g := <-l.sessions:
			held = append(held, g)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	for _, g := range held {
		l.sessions <- g
	}
	start, gap := time.Now(), time.Second/time.Duration(o.Rate)
	for i := range signals {
		due := start.Add(time.Duration(i) * gap)
		select {
		case <-time.After(time.Until(due)):
		case <-ctx.Done():
		}
		var g api.Grant
		select {
		case g = <-l.sessions:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if i >= warm {
			l.expect(g.Work, due)
		}
		running.Go(func() {
			if err := accepted(b.client.Emit(ctx, g.Session, outputs[g.Phase])); err != nil {
				cancel(err)
			}
		})
	}
	select {
	case <-l.done:
	case <-ctx.Done():
	}
	err := context.Cause(ctx)
	cancel(errDone)
	running.Wait()
	return l.took, err
}

var errDone = errors.New("measured")

// loop is what runs between the signals and the claimers.
type loop struct {
	sessions chan api.Grant // that a signal can be sent for
	want     int
	done     chan struct{}

	mu   sync.Mutex
	due  map[string]time.Time // work -> when its signal was due
	took []time.Duration
}

func (l *loop) expect(work string, due time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.due[work] = due
}

// returned takes what a claimer got.
func (l *loop) returned(g api.Grant) {
	now := time.Now()
	l.mu.Lock()
	if due, ok := l.due[g.Work]; ok {
		l.took = append(l.took, now.Sub(due))
		delete(l.due, g.Work)
		if len(l.took) == l.want {
			close(l.done)
		}
	}
	l.mu.Unlock()
	if g.Phase != phases[len(phases)-1] {
		l.sessions <- g
	}
}
