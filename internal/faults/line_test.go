package faults_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
)

// line stands between the clients and the box. Its address stays while the box
// comes and goes at others, and it loses an answer now and then: the request has
// reached the box, and the connection breaks.
type line struct {
	listener net.Listener
	lose     int // one answer of so many is lost
	lost     atomic.Int64
	running  sync.WaitGroup

	mu     sync.Mutex
	chance *rand.Rand
	box    string // its address; "" if there is none
	conns  map[net.Conn]bool
	closed bool
}

func newLine(ctx context.Context, lose int) (*line, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &line{listener: listener, lose: lose, conns: map[net.Conn]bool{}, chance: rand.New(rand.NewPCG(1, 4))}
	l.running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			l.running.Go(func() { l.carry(ctx, conn) })
		}
	})
	return l, nil
}

func (l *line) address() string { return l.listener.Addr().String() }

// to leads new connections to the box at an address.
func (l *line) to(address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.box = address
}

// close breaks every connection and returns when nothing is left of them.
func (l *line) close() error {
	err := l.listener.Close()
	l.mu.Lock()
	l.closed = true
	for conn := range l.conns {
		_ = conn.Close()
	}
	l.mu.Unlock()
	l.running.Wait()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	return err
}

// carry passes on what both ends say until one of them ends.
func (l *line) carry(ctx context.Context, client net.Conn) {
	defer client.Close()
	l.mu.Lock()
	address := l.box
	l.mu.Unlock()
	if address == "" {
		return
	}
	var dialer net.Dialer
	box, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return
	}
	defer box.Close()
	if !l.open(client, box) {
		return
	}
	defer l.forget(client, box)
	l.running.Go(func() {
		pass(box, client, func() bool { return true })
	})
	pass(client, box, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.chance.IntN(l.lose) > 0 {
			return true
		}
		l.lost.Add(1)
		return false
	})
}

// open remembers a connection, unless the line is closed.
func (l *line) open(conns ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	for _, c := range conns {
		l.conns[c] = true
	}
	return true
}

func (l *line) forget(conns ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range conns {
		delete(l.conns, c)
	}
}

// pass copies until the source ends or keep says no, and closes both.
func pass(to, from net.Conn, keep func() bool) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if !keep() {
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
