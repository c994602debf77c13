// Package keylock has a lock for each key.
package keylock

import (
	"context"
	"sync"
)

// Lock is a lock for each key. The zero value is ready to use, and keeps nothing of keys that nobody holds.
type Lock[K comparable] struct {
	mu   sync.Mutex
	keys map[K]chan struct{} // closed when its holder unlocks it
}

// Lock returns when nobody else holds this key, and holds it until unlock is called.
func (l *Lock[K]) Lock(ctx context.Context, key K) (unlock func(), err error) {
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

// Held returns how many keys are held.
func (l *Lock[K]) Held() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.keys)
}
