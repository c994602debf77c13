package box

import (
	"context"
	"sync"
)

// keyLock is a lock for each key. Requests need it that
// append to a subject of the box's own choice: the log's condition makes one of
// two appends to the same subject only. The zero value is ready to use.
type keyLock[K comparable] struct {
	mu   sync.Mutex
	keys map[K]chan struct{} // closed when its holder unlocks it
}

// lock returns when nobody else holds this key, and holds it until unlock is called.
func (l *keyLock[K]) lock(ctx context.Context, key K) (unlock func(), err error) {
	for {
		l.mu.Lock()
		before := l.keys[key]
		if before == nil {
			if l.keys == nil {
				l.keys = map[K]chan struct{}{}
			}
			mine := make(chan struct{})
			l.keys[key] = mine
			l.mu.Unlock()
			return func() {
				l.mu.Lock()
				delete(l.keys, key)
				l.mu.Unlock()
				close(mine)
			}, nil
		}
		l.mu.Unlock()
		select {
		case <-before:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
