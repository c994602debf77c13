package httpserver

import (
	"container/list"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// strangersTime is what a stranger has for its request before it may be disconnected for another one.
const strangersTime = 100 * time.Millisecond

// limited is a listener with a limit on the connections that it has given out.
type limited struct {
	net.Listener
	mostStrangers, mostKnown int
	left                     chan struct{} // gets something when there is one stranger less
	closed                   chan struct{}
	sealed                   bool // what is read is TLS's: a byte for it is not a byte of a request
	close                    sync.Once

	mu        sync.Mutex
	strangers *list.List // of *connection, the one that is there for longest first
	known     int
}

func limit(l net.Listener, strangers, known int) *limited {
	return &limited{
		Listener: l, mostStrangers: max(strangers, 1), mostKnown: max(known, 1),
		left: make(chan struct{}, 1), closed: make(chan struct{}), strangers: list.New(),
	}
}

// connection is one that was given out.
type connection struct {
	net.Conn
	from  *limited
	since time.Time
	place *list.Element // among the strangers; nil if it is none
	known atomic.Bool
	over  sync.Once

	waits atomic.Bool // one of its requests waits
	ahead atomic.Bool // the server has a byte of the next request, and does not read on until this one is answered
}

// Accept returns the next connection, when there is room for a stranger.
func (l *limited) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	for {
		conn, wait := l.add(c)
		if conn != nil {
			return conn, nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-l.left:
		case <-timer.C:
		case <-l.closed:
			timer.Stop()
			_ = c.Close() // it was never asked anything
			return nil, net.ErrClosed
		}
		timer.Stop()
	}
}

// add takes a connection in. If there are too many strangers, the one that is there for longest has to
// go; or, if all of them came just now, there is none for so long.
func (l *limited) add(c net.Conn) (*connection, time.Duration) {
	l.mu.Lock()
	var oldest *connection
	if l.strangers.Len() >= l.mostStrangers {
		oldest = l.strangers.Front().Value.(*connection)
		if wait := strangersTime - time.Since(oldest.since); wait > 0 {
			l.mu.Unlock()
			return nil, wait
		}
		l.forget(oldest)
	}
	conn := &connection{Conn: c, from: l, since: time.Now()}
	conn.place = l.strangers.PushBack(conn)
	l.mu.Unlock()
	if oldest != nil {
		_ = oldest.Close() // it has had its time
	}
	return conn, 0
}

// forget takes a connection out of the strangers. The caller holds the lock.
func (l *limited) forget(c *connection) {
	if c.place == nil {
		return
	}
	l.strangers.Remove(c.place)
	c.place = nil
	select {
	case l.left <- struct{}{}:
	default:
	}
}

// admit makes a stranger known, if there is room or it is needed.
func (l *limited) admit(c *connection, needed bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case c.known.Load():
		return true
	case l.known >= l.mostKnown && !needed || c.place == nil: // too many, or it has to go
		return false
	}
	l.forget(c)
	l.known++
	c.known.Store(true)
	return true
}

// dismiss disconnects all strangers: a server that shuts down would wait for their requests.
func (l *limited) dismiss() {
	l.mu.Lock()
	var all []*connection
	for e := l.strangers.Front(); e != nil; e = e.Next() {
		all = append(all, e.Value.(*connection))
	}
	l.mu.Unlock()
	for _, c := range all {
		_ = c.Close() // it has not asked anything
	}
}

// Close ends the listener. Connections stay.
func (l *limited) Close() error {
	l.close.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// Read reads what the client sends. While a request is carried out, the server reads a single byte, to
// notice that the client has gone; it does not notice that any more when it has got one. So a connection
// on which something comes behind a request that waits is closed.
func (c *connection) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	ahead := n > 0 && (len(p) == 1 || c.from.sealed && c.waits.Load())
	c.ahead.Store(ahead)
	if ahead && c.waits.Load() {
		_ = c.Close() // the error says enough
		return 0, ErrAhead
	}
	return n, err
}

// Close ends a connection, and makes room for another.
func (c *connection) Close() error {
	err := c.Conn.Close()
	c.over.Do(func() {
		c.from.mu.Lock()
		defer c.from.mu.Unlock()
		if c.known.Load() {
			c.from.known--
		}
		c.from.forget(c)
	})
	return err
}

// CloseWrite ends what is sent, so that a client still gets the answer to a request that was not read.
func (c *connection) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
