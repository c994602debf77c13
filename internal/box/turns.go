package box

import (
	"context"
	"sync"
)

// turns lets those who have the same key go one after the other. Requests need it that
// append to a subject of the box's own choice: the log's condition makes one of
// two appends to the same subject only. The zero value is ready to use.
type turns[K comparable] struct {
	mu   sync.Mutex
	keys map[K]chan struct{} // closed when who has the turn ends it
}

// take returns when nobody else has the turn of this key. The turn lasts until end is called.
func (t *turns[K]) take(ctx context.Context, key K) (end func(), err error) {
	for {
		t.mu.Lock()
		before := t.keys[key]
		if before == nil {
			if t.keys == nil {
				t.keys = map[K]chan struct{}{}
			}
			mine := make(chan struct{})
			t.keys[key] = mine
			t.mu.Unlock()
			return func() {
				t.mu.Lock()
				delete(t.keys, key)
				t.mu.Unlock()
				close(mine)
			}, nil
		}
		t.mu.Unlock()
		select {
		case <-before:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
