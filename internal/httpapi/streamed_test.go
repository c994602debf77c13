package httpapi

import (
	"bytes"
	"io"
	"net/http/httptest"
	"testing"

	"golang.org/x/sync/semaphore"
)

// What may be longer than all the room for large requests, a member's messages and pushes, is taken piece by piece: it waits for no room, and is not cut off.
func TestStreamedTakesNoRoom(t *testing.T) {
	for _, most := range []int64{maxMessages, maxPush} {
		s := &Server{room: semaphore.NewWeighted(largeRoom)}
		if !s.room.TryAcquire(largeRoom) {
			t.Fatal("there is no room at first")
		}
		r, end := s.bound(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "POST", "/", bytes.NewReader(make([]byte, 1<<20))), most)
		if n, err := io.Copy(io.Discard, r.Body); n != 1<<20 || err != nil {
			t.Errorf("of %d bytes: %d, %v", 1<<20, n, err)
		}
		end()
		s.room.Release(largeRoom)
	}
}
