package httpserver

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
)

// Pace is how often something may be done that strangers cause: so many times at once, and then once in a while.
type Pace struct {
	most  int
	every time.Duration

	mu     sync.Mutex
	left   int
	since  time.Time // left is as it was then
	missed int
}

// NewPace makes a pace.
func NewPace(most int, every time.Duration) *Pace { return &Pace{most: most, every: every, left: most} }

// Take reports whether it may be done at a time, and if so, how often it might not since it was done last.
func (p *Pace) Take(now time.Time) (missed int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if more := now.Sub(p.since) / p.every; more > 0 {
		p.left = int(min(time.Duration(p.most), time.Duration(p.left)+more))
		p.since = now
	}
	if p.left == 0 {
		p.missed++
		return 0, false
	}
	missed, p.missed = p.missed, 0
	p.left--
	return missed, true
}

// What strangers do wrong is logged this often: 30 lines at once, and then one in 2 s.
const (
	strangersLines = 30
	strangersEvery = 2 * time.Second
)

// StrangersPace is how often something is logged that strangers do wrong.
func StrangersPace() *Pace { return NewPace(strangersLines, strangersEvery) }

// handshakeFailed begins what net/http logs of a handshake that failed.
var handshakeFailed = []byte("http: TLS handshake error")

// handshakes writes what a server logs, and of handshakes that failed only as much as a pace allows.
type handshakes struct {
	io.Writer
	pace *Pace
}

func (h handshakes) Write(line []byte) (int, error) {
	if !bytes.HasPrefix(line, handshakeFailed) {
		return h.Writer.Write(line)
	}
	missed, ok := h.pace.Take(time.Now())
	if !ok {
		return len(line), nil
	}
	if missed > 0 {
		fmt.Fprintf(h.Writer, "%d more failed since the last one that is here", missed)
	}
	return h.Writer.Write(line)
}
