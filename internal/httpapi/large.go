package httpapi

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/signalbox-dev/signalbox/internal/httpserver"
)

// How many bytes a body has without waiting for room; and for how many there is room in all.
const (
	smallBody = 64 << 10
	largeRoom = 64 << 20 // four of the largest outputs, or 32 of the largest plans
)

// largePatience is for how long a large body waits for room. One that is being taken ends sooner, if
// its client sends it.
const largePatience = 2 * time.Minute

var errNoRoom = fmt.Errorf("large requests of %d MiB are being taken, and for %v none has ended: try again later", largeRoom>>20, largePatience)

// body is the body of a request, of which at most so many bytes are read. It takes room for all of them when
// more has come than a small one has: who sends nothing takes nobody's room. One that may be longer than all the room is never held as a whole,
// and takes none.
type body struct {
	io.ReadCloser
	w     http.ResponseWriter
	r     *http.Request
	room  *semaphore.Weighted
	most  int64
	small int64 // what is left of a small one
	took  bool
	holds bool // room
}

// bound bounds the body of a request. The room that it takes is kept until end is called.
func (s *Server) bound(w http.ResponseWriter, r *http.Request, most int64) (bounded *http.Request, end func()) {
	b := &body{http.MaxBytesReader(w, r.Body, most), w, r, s.room, most, smallBody + 1, most <= smallBody || most > largeRoom, false}
	bounded = r.WithContext(r.Context()) // the server has to find the body as it was, to leave what was not read of it
	bounded.Body = b
	return bounded, b.end
}

func (b *body) Read(p []byte) (int, error) {
	if b.took {
		return b.ReadCloser.Read(p)
	}
	if b.small == 0 {
		if err := b.take(); err != nil {
			return 0, err
		}
		return b.ReadCloser.Read(p)
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.small)])
	b.small -= int64(n)
	return n, err
}

// take waits until there is room.
func (b *body) take() error {
	ctx, cancel := context.WithTimeoutCause(b.r.Context(), largePatience, errNoRoom)
	defer cancel()
	if b.room.Acquire(ctx, b.most) != nil {
		return context.Cause(ctx)
	}
	b.took, b.holds = true, true
	httpserver.BodyBegins(b.w, b.r)
	return nil
}

func (b *body) end() {
	if b.holds {
		b.holds = false
		b.room.Release(b.most)
	}
}

// Close implements [io.Closer].
func (b *body) Close() error {
	b.end()
	return b.ReadCloser.Close()
}
