package mcpserver

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ServeStdio answers one client until its input ends or ctx does, neither of which is an error.
// Calls that came before the end of the input are answered; the end of ctx cancels them. Nothing
// but the protocol is written to out. It closes in, so that nothing is left reading from it.
func (s *Server) ServeStdio(ctx context.Context, in io.ReadCloser, out io.Writer) error {
	transport := answering{&mcp.IOTransport{Reader: in, Writer: open{out}, MaxLineLength: s.maxRequest}}
	session, err := s.mcp.Connect(withCarrier(ctx), transport, nil)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			return fmt.Errorf("the client's messages can't be read or answered any more; each is one line of JSON of at most %d MB: %w", s.maxRequest>>20, err)
		}
	case <-ctx.Done():
		_ = session.Close() // the input may be closed already
		<-ended
	}
	return nil
}

// open is a writer that the transport does not close: it is the caller's.
type open struct{ io.Writer }

func (open) Close() error { return nil }

// answering is a transport that passes on the end of the input once all calls are answered. The
// SDK drops the answers that are not written by then, and a client that pipes its messages in
// would get none.
type answering struct{ mcp.Transport }

func (t answering) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &answeringConn{Connection: c, answered: make(chan struct{}, 1), closed: make(chan struct{}), open: map[any]bool{}}, nil
}

type answeringConn struct {
	mcp.Connection
	answered chan struct{} // an answer was written
	closing  sync.Once
	closed   chan struct{}

	mu   sync.Mutex
	open map[any]bool // calls without an answer, by their id: one that is used twice is answered once
}

func (c *answeringConn) waits(id jsonrpc.ID, open bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if open {
		c.open[id.Raw()] = true
	} else {
		delete(c.open, id.Raw())
	}
}

func (c *answeringConn) waiting() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open) > 0
}

func (c *answeringConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if request, ok := m.(*jsonrpc.Request); ok && err == nil && request.IsCall() {
		c.waits(request.ID, true)
	}
	for err != nil && c.waiting() {
		select {
		case <-c.answered:
		case <-c.closed:
			return nil, err
		}
	}
	return m, err
}

func (c *answeringConn) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if response, ok := m.(*jsonrpc.Response); ok {
		c.waits(response.ID, false)
		select {
		case c.answered <- struct{}{}:
		default: // the reader has yet to see an earlier one
		}
	}
	return err
}

func (c *answeringConn) Close() error {
	c.closing.Do(func() { close(c.closed) })
	return c.Connection.Close()
}

type carrierKey struct{}

// withCarrier makes ctx known to the calls that it carries. The SDK cuts them off from the end
// of the context that it is given, but passes its values.
func withCarrier(ctx context.Context) context.Context {
	return context.WithValue(ctx, carrierKey{}, ctx)
}

// endWithCarrier ends a call when nobody is left to answer: the server stops, or the client's
// request is gone.
func endWithCarrier(ctx context.Context) (context.Context, context.CancelFunc) {
	carrier := ctx.Value(carrierKey{}).(context.Context)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(carrier, func() { cancel(context.Cause(carrier)) })
	return ctx, func() { stop(); cancel(nil) }
}
