package box

import (
	"context"
	"sync"
)

// turns lets requests of a kind with the same key go one after the other. Those need it
// that append to a subject of the box's own choice: the log's condition makes one of
// two appends to the same subject only. The zero value is ready to use.
type turns struct {
	mu   sync.Mutex
	keys map[keyOfKind]chan struct{} // closed when the request that is under way ends
}

// keyOfKind is a request's key. Clients choose keys, so those of two kinds of requests have nothing
// to do with each other.
type keyOfKind struct {
	kind requestKind
	key  string
}

// requestKind is what a request asks for, of those that append to a subject of the box's own choice.
type requestKind string

const (
	addItem      requestKind = "item"
	claimItem    requestKind = "claim"
	askQuestion  requestKind = "conversation"
	startPlanRun requestKind = "run" // which all go one after the other, whatever their keys
)

// take returns when no other request of this kind with this key is under way. The turn lasts
// until end is called.
func (t *turns) take(ctx context.Context, kind requestKind, name string) (end func(), err error) {
	key := keyOfKind{kind, name}
	for {
		t.mu.Lock()
		before := t.keys[key]
		if before == nil {
			if t.keys == nil {
				t.keys = map[keyOfKind]chan struct{}{}
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
