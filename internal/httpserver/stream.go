package httpserver

import (
	"context"
	"io"
	"net"
	"net/http"
	"time"
)

// Stream is an answer that goes on. A client that does not take the next piece within [StreamPatience]
// is disconnected, and so is one that sends something meanwhile ([Waits]), and everybody when the server's context ends. It has to be ended.
type Stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	ctx     context.Context
	stop    func() bool
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
	s.stop = context.AfterFunc(s.ctx, func() { _ = s.control.SetWriteDeadline(time.Now()) }) // ends a Send
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

// End ends the stream.
func (s *Stream) End() { s.stop() }
