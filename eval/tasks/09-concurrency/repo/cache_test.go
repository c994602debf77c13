package cache

import "testing"

func TestGet(t *testing.T) {
	var c Cache
	loaded := 0
	load := func() string { loaded++; return "value" }
	for range 3 {
		if got := c.Get("key", load); got != "value" {
			t.Errorf("got %q", got)
		}
	}
	if loaded != 1 {
		t.Errorf("loaded %d times", loaded)
	}
}
