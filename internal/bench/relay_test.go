package bench

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// relay stands before a box, for the other boxes: it holds each piece that comes, in both directions, for as long as its delay says at that
// moment. It runs in the process that measures, so it takes its share of the cores.
type relay struct {
	listener net.Listener
	to       string
	delay    *atomic.Int64
	ctx      context.Context
	end      context.CancelFunc
	all      sync.WaitGroup
}

func newRelay(t *testing.T, at, to string, delay *atomic.Int64) *relay {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{listener: listener, to: to, delay: delay}
	r.ctx, r.end = context.WithCancel(context.Background())
	context.AfterFunc(r.ctx, func() { _ = listener.Close() })
	r.all.Go(func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return // it was closed
			}
			r.all.Go(func() { r.carry(in) })
		}
	})
	return r
}

// close ends all that it carries.
func (r *relay) close() {
	r.end()
	r.all.Wait()
}

func (r *relay) carry(in net.Conn) {
	defer func() { _ = in.Close() }()
	out, err := new(net.Dialer).DialContext(r.ctx, "tcp", r.to)
	if err != nil {
		return // whoever asked sees that it is closed
	}
	defer func() { _ = out.Close() }()
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = errors.Join(in.Close(), out.Close()) })()
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
		both.Go(func() {
			defer cancel() // nobody here closes one direction alone
			r.way(ctx, way[0], way[1])
		})
	}
	both.Wait()
}

type piece struct {
	data []byte
	due  time.Time
}

// way carries one direction, until one of both ends.
func (r *relay) way(ctx context.Context, from, to net.Conn) {
	pieces := make(chan piece, 1024)
	var writing sync.WaitGroup
	defer writing.Wait()
	defer close(pieces)
	writing.Go(func() {
		for p := range pieces {
			time.Sleep(time.Until(p.due))
			if _, err := to.Write(p.data); err != nil {
				_ = from.Close() // and its reader ends
				for range pieces {
				}
				return
			}
		}
	})
	room := make([]byte, 64<<10)
	for {
		n, err := from.Read(room)
		if n > 0 {
			select {
			case pieces <- piece{append([]byte(nil), room[:n]...), time.Now().Add(time.Duration(r.delay.Load()))}:
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}
