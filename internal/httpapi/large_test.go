package httpapi

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/signalbox-dev/signalbox/internal/homelink"
)

// An order is held for as long as it takes. Once it is read it is no large request any more: others of any size are taken meanwhile.
func TestHeldOrdersLeaveRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, c := inCluster(t)
		ctx, end := context.WithCancel(t.Context())
		var held atomic.Int64
		s.WithHomes(Homes{Home: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				t.Error(err)
			}
			_ = r.Body.Close()
			held.Add(1)
			<-r.Context().Done()
		})})
		h, peer := s.Handler(), shown(t, c.peer)
		over := make(chan struct{})
		for range 2 {
			go func() {
				r := httptest.NewRequestWithContext(ctx, http.MethodPost, homelink.HomePath+"carry-out", strings.NewReader(strings.Repeat(" ", 2*smallBody)))
				r.TLS = peer
				h.ServeHTTP(httptest.NewRecorder(), r)
				over <- struct{}{}
			}()
		}
		synctest.Wait()
		if n := held.Load(); n != 2 {
			t.Errorf("%d orders are held", n)
		}
		end()
		<-over
		<-over
		if !s.room.TryAcquire(largeRoom) {
			t.Error("some room is never free again")
		}
	})
}
