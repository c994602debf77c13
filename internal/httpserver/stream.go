package httpserver

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// Stream is an answer that goes on. A client that does not take the next piece within [StreamPatience]
// is disconnected, and so is one that sends something meanwhile ([Waits]), and everybody when the server's context ends. It has to be ended.
type Stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	ctx     context.Context
	end     func()
}

// streamBuffer is what the system keeps of a stream that its client has not taken, in bytes: enough for
// a burst, and not the megabytes that it would let gather.
const streamBuffer = 64 << 10

// mostIgnored is what a request for a stream may have in its body, which nobody reads.
const mostIgnored = 64 << 10

// NewStream begins an answer that goes on. It fails if the request does not come to an end, and
// if another has come behind it.
func NewStream(w http.ResponseWriter, r *http.Request) (*Stream, error) {
	if _, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, mostIgnored)); err != nil {
		return nil, err // and not later: the server waits for what is left of a request before it answers
	}
	if err := Waits(r); err != nil {
		return nil, err
	}
	s := &Stream{w: w, control: http.NewResponseController(w), ctx: r.Context()}
	if c := connectionOf(r); c != nil {
		if tcp, ok := c.Conn.(*net.TCPConn); ok {
			_ = tcp.SetWriteBuffer(streamBuffer) // a hint to the system
		}
	}
	cut := make(chan struct{})
	stop := context.AfterFunc(s.ctx, func() {
		_ = s.control.SetWriteDeadline(time.Now()) // ends a Send
		close(cut)
	})
	s.end = sync.OnceFunc(func() {
		if !stop() {
			<-cut
		}
		_ = s.control.SetWriteDeadline(time.Now().Add(lastPatience))
	})
	return s, nil
}

// Send sends on what write writes.
func (s *Stream) Send(write func(io.Writer) error) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(StreamPatience)) // a writer without deadlines has no connection to hold up
	if err := s.ctx.Err(); err != nil {
		return err // now, and not before: the deadline that ends it may have been replaced
	}
	if err := write(s.w); err != nil {
		return err
	}
	return s.control.Flush()
}

// End ends the stream. What says that to the client is still sent, if it takes it at once: over TLS, what comes after a write that was
// cut off looks forged.
func (s *Stream) End() { s.end() }

// lastPatience is for how long a client may take the last bytes of a stream.
const lastPatience = 500 * time.Millisecond

// Pieces returns what a request sends and takes if both may be of any length: only the next piece of it has to come, or be
// taken, within a time. Both may go on at once. Whoever has answered calls done: what is left of the request is not waited
// for then.
func Pieces(w http.ResponseWriter, r *http.Request, patience time.Duration) (in io.Reader, out io.Writer, done func()) {
	p := pieces{w, r.Body, http.NewResponseController(w), patience}
	_ = p.control.EnableFullDuplex() // HTTP/2 is without
	_ = p.control.SetReadDeadline(time.Time{})
	_ = p.control.SetWriteDeadline(time.Time{}) // a writer without deadlines has no connection to hold up
	return readPieces{p}, writePieces{p}, func() {
		Answering(w)
		_ = p.control.SetReadDeadline(time.Now().Add(strangersBody)) // as above
	}
}

type pieces struct {
	w        http.ResponseWriter
	body     io.Reader
	control  *http.ResponseController
	patience time.Duration
}

type (
	readPieces  struct{ pieces }
	writePieces struct{ pieces }
)

// Read reads the next piece. No deadline is left: it would end the request's context, or what is read later.
func (p readPieces) Read(b []byte) (int, error) {
	_ = p.control.SetReadDeadline(time.Now().Add(p.patience)) // as above
	n, err := p.body.Read(b)
	_ = p.control.SetReadDeadline(time.Time{})
	return n, err
}

func (p writePieces) Write(b []byte) (int, error) {
	_ = p.control.SetWriteDeadline(time.Now().Add(p.patience)) // as above
	defer func() { _ = p.control.SetWriteDeadline(time.Time{}) }()
	n, err := p.w.Write(b)
	if err == nil {
		err = p.control.Flush()
	}
	return n, err
}
