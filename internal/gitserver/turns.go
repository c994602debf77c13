package gitserver

import (
	"context"
	"sync"
)

// turns are the places of requests that are served at once. One machine has three quarters of them at most: whatever it does with those, others are
// served.
type turns struct {
	all   chan struct{}
	share int // of one machine

	mu  sync.Mutex
	own map[string]*share // of machines that are served, or wait
}

// share is what one machine has.
type share struct {
	places chan struct{}
	users  int // requests that are served, or wait
}

func newTurns(count int) *turns {
	return &turns{all: make(chan struct{}, count), share: max(count*3/4, 1), own: map[string]*share{}}
}

// take waits for a place for a machine, which has it until leave is called.
func (t *turns) take(ctx context.Context, who string) (leave func(), err error) {
	t.mu.Lock()
	its := t.own[who]
	if its == nil {
		its = &share{places: make(chan struct{}, t.share)}
		t.own[who] = its
	}
	its.users++
	t.mu.Unlock()
	var taken []chan struct{}
	leave = func() {
		for _, places := range taken {
			<-places
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		if its.users--; its.users == 0 {
			delete(t.own, who)
		}
	}
	for _, places := range []chan struct{}{its.places, t.all} {
		select {
		case places <- struct{}{}:
			taken = append(taken, places)
		case <-ctx.Done():
			leave()
			return nil, context.Cause(ctx)
		}
	}
	return leave, nil
}
