package memberlink

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/member"
	"github.com/signalbox-dev/signalbox/internal/pin"
)

var (
	errSize  = errors.New("no message has so many bytes")
	errAlone = errors.New("the member was not reached a moment ago")
	errTaken = errors.New("the other side has ended the stream")
)

// Send carries messages to a member, in their order, and returns when the system has taken them. It may wait, and messages may be lost: see the package
// comment. It implements [raftlog.Transport].
func (l *Links) Send(ctx context.Context, to uint64, messages ...[]byte) error {
	for _, m := range messages {
		if len(m) == 0 || len(m) > member.MaxMessage {
			return errSize
		}
	}
	k, err := l.to(to)
	if err != nil {
		return err
	}
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	s, err := k.opened(ctx)
	if err != nil {
		return err
	}
	if err := s.send(ctx, messages); err != nil {
		s.end(err)
		k.lost()
		return err
	}
	return nil
}

// opened returns the stream that is open, or opens one, unless the member is to be left alone.
func (k *link) opened(ctx context.Context) (*stream, error) {
	if k.stream != nil && k.stream.ended() {
		k.lost()
	}
	if k.stream != nil {
		return k.stream, nil
	}
	if time.Now().Before(k.until) {
		return nil, errAlone
	}
	s, err := k.open(ctx)
	if err != nil && ctx.Err() == nil {
		k.failed()
		k.say(err)
		if k.stranger != nil && pin.Refused(err) {
			k.stranger(k.peer)
		}
	}
	k.stream = s
	return s, err
}

// lost gives up the stream that has ended. Another one is opened at once if it had lasted.
func (k *link) lost() {
	s := k.stream
	k.stream = nil
	k.say(s.why)
	if time.Since(s.since) < lasting {
		k.failed()
	} else {
		k.fails = 0
	}
}

// stream is the long request that carries messages.
type stream struct {
	conn  *tls.Conn
	since time.Time
	chunk []byte    // what goes out next
	until time.Time // the message in it has to be taken

	once sync.Once
	over chan struct{} // closed when it has ended
	why  error         // it has ended; set before over is closed
}

const streamHead = "POST " + MessagesPath + " HTTP/1.1\r\nHost: member\r\nContent-Type: application/octet-stream\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"

// open begins a stream, and returns when the other side takes what comes on it.
func (k *link) open(ctx context.Context) (*stream, error) {
	begun := time.Now()
	conn, err := k.race(ctx, dialPatience, stuck)
	if err != nil {
		return nil, err
	}
	s := &stream{conn: conn, since: begun, chunk: make([]byte, 16<<10), over: make(chan struct{})}
	stop := context.AfterFunc(ctx, func() { s.end(ctx.Err()) })
	defer stop()
	_ = conn.SetDeadline(begun.Add(dialPatience)) // an open connection takes it; of another one, what follows says so
	_, err = io.WriteString(conn, streamHead)
	in := bufio.NewReader(conn)
	if err == nil {
		err = answered(in, http.StatusContinue)
	}
	if err == nil {
		err = conn.SetDeadline(time.Time{})
	}
	if err != nil {
		s.end(err)
		return nil, err
	}
	watched := k.running.Go(func(context.Context) {
		err := answered(in, http.StatusOK)
		if err == nil {
			err = errTaken
		}
		s.end(err)
	})
	if !watched {
		s.end(errGone)
		return nil, errGone
	}
	return s, nil
}

// answered waits for an answer, and fails if it is another one than is wanted.
func answered(in *bufio.Reader, want int) error {
	answer, err := http.ReadResponse(in, &http.Request{Method: http.MethodPost})
	if err != nil {
		return err
	}
	_ = answer.Body.Close() // the connection ends with it
	if answer.StatusCode != want {
		return fmt.Errorf("it answers %s", answer.Status)
	}
	return nil
}

func (s *stream) ended() bool {
	select {
	case <-s.over:
		return true
	default:
		return false
	}
}

func (s *stream) end(why error) {
	s.once.Do(func() {
		s.why = why
		close(s.over)
		_ = s.conn.NetConn().Close() // whoever uses it is told
	})
}

// frameHead is how many bytes stand before a message: its length.
const frameHead = 4

// A chunk is one record of TLS at most, which has up to 16 KiB. Its size stands before it in four digits.
const (
	chunkHead = len("0000\r\n")
	chunkEnd  = "\r\n"
	maxChunk  = 16<<10 - chunkHead - len(chunkEnd)
)

// send writes messages, as few chunks as they need. The system takes all of them, or the stream is of no more use.
func (s *stream) send(ctx context.Context, messages [][]byte) error {
	defer context.AfterFunc(ctx, func() { s.end(ctx.Err()) })()
	s.chunk = s.chunk[:chunkHead]
	for _, message := range messages {
		s.until = time.Now().Add(wholeMessage)
		var head [frameHead]byte
		binary.BigEndian.PutUint32(head[:], uint32(len(message)))
		if err := s.put(head[:]); err != nil {
			return err
		}
		if err := s.put(message); err != nil {
			return err
		}
	}
	return s.flush()
}

// put appends bytes to the chunk, which goes out when it is full.
func (s *stream) put(b []byte) error {
	for len(b) > 0 {
		if len(s.chunk) == chunkHead+maxChunk {
			if err := s.flush(); err != nil {
				return err
			}
		}
		n := min(len(b), chunkHead+maxChunk-len(s.chunk))
		s.chunk, b = append(s.chunk, b[:n]...), b[n:]
	}
	return nil
}

// flush sends the chunk. The other side has to take it soon.
func (s *stream) flush() error {
	if len(s.chunk) == chunkHead {
		return nil // a chunk of nothing would end the stream
	}
	copy(s.chunk, fmt.Appendf(nil, "%04x\r\n", len(s.chunk)-chunkHead))
	until := time.Now().Add(stuck)
	if s.until.Before(until) {
		until = s.until
	}
	if err := s.conn.SetWriteDeadline(until); err != nil {
		return err
	}
	_, err := s.conn.Write(append(s.chunk, chunkEnd...))
	s.chunk = s.chunk[:chunkHead]
	return err
}
