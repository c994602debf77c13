package box

import (
	"context"
	"sync"
)

// turns lets requests with the same key go one after the other. Those need it that
// append to a subject of the box's own choice: the log's condition makes one of
// two appends to the same subject only. The zero value is ready to use.
type turns struct {
	mu   sync.Mutex
	keys map[string]chan struct{} // closed when the request that is under way ends
}

// take returns when no other request with this key is under way. The turn lasts
// until end is called.
func (t *turns) take(ctx context.Context, key string) (end func(), err error) {
	for {
		t.mu.Lock()
		before := t.keys[key]
		if before == nil {
			if t.keys == nil {
				t.keys = map[string]chan struct{}{}
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
