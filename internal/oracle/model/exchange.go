package model

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
)

const (
	maxEvent   = 2 * maxReply // one event of a stream, with its quoting
	maxFailure = 64 << 10     // what is read of an answer that is no reply
	maxRest    = 4 << 10      // what is read after the end of a reply, and for how long
	restTime   = 50 * time.Millisecond
)

// exchange is one request and its answer on their way through HTTP. Both vendors' libraries
// hand them to it, so what is not a stream of events is told here, for both alike.
type exchange struct {
	provider Provider
	key      string
	alive    func()
	cancel   context.CancelFunc
	// complaint is the error event that the library's error is about, or nil.
	complaint func(error) []byte
	body      *body // once there is one
}

// begin begins an exchange for both libraries. What they do ends with the context that it
// returns, which cancel ends.
func (x *exchange) begin(ctx context.Context) context.Context {
	ctx, x.cancel = context.WithCancel(ctx)
	return ctx
}

// send is a middleware of the vendors' libraries.
func (x *exchange) send(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	// What compresses holds pieces back until it has enough of them.
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := next(req)
	if err != nil {
		return nil, x.unreachable(err)
	}
	if err := x.check(resp); err != nil {
		_ = resp.Body.Close() // there is an error already
		return nil, err
	}
	x.body = &body{ReadCloser: resp.Body, exchange: x}
	resp.Body = x.body
	return resp, nil
}

// check returns why an answer is no stream of events, as far as its header tells.
func (x *exchange) check(resp *http.Response) error {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	encoding := resp.Header.Get("Content-Encoding")
	switch {
	case resp.StatusCode >= 400:
		return x.refusal(resp, beginning(resp), time.Now())
	case resp.StatusCode >= 300:
		return &Error{Status: resp.StatusCode,
			Message: x.clean("it refers to " + resp.Header.Get("Location") + "; the key is not taken there: give the base URL of the server itself")}
	case encoding != "" && encoding != "identity":
		return &Error{Message: x.clean("the reply is compressed, which was not asked for (" + encoding + "); is there a proxy in between?")}
	case kind == "application/json":
		raw := beginning(resp)
		if readComplaint(raw).message != "" {
			return x.event(raw)
		}
		return x.noStream(kind, raw)
	case kind == "text/html":
		return x.noStream(kind, beginning(resp))
	}
	return nil
}

// beginning is what an answer begins with. What can't be read is missing from a message.
func beginning(resp *http.Response) []byte {
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, maxFailure))
	return raw
}

func (x *exchange) noStream(kind string, raw []byte) *Error {
	if kind == "" {
		kind = "something"
	}
	return &Error{Message: x.clean(fmt.Sprintf("it answers with %s that is no stream of events; is the base URL that of an API? It begins: %s", kind, bound(x.hideKey(string(raw)), 120)))}
}

// events is a stream of either vendor's library.
type events[T any] interface {
	Next() bool
	Current() T
	Err() error
	Close() error
}

// read takes what comes until take says that nothing more is wanted, or the stream ends. It
// must have come to its end mark by then.
func read[T any](stream events[T], x *exchange, g *gatherer, take func(T) (bool, error)) error {
	defer func() { _ = stream.Close() }() // what was to be read has been
	for stream.Next() {
		if enough, err := take(stream.Current()); enough || err != nil {
			return err
		}
	}
	switch err := stream.Err(); {
	case g.finished: // what breaks after the end mark costs nothing
		return nil
	case err != nil:
		return err
	}
	return x.brokenOff()
}

// failure makes the error that Reply returns. That of the context comes before all others:
// they are its consequence.
func (x *exchange) failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var e *Error
	if !errors.As(err, &e) {
		if raw := x.complaint(err); raw != nil {
			e = x.event(raw)
		} else {
			e = &Error{Message: x.clean("the reply can't be read: " + err.Error()), Err: err}
		}
	}
	e.Provider = x.provider
	return e
}

// brokenOff is the error of a stream without its end.
func (x *exchange) brokenOff() *Error {
	if x.body != nil && !x.body.hasEvents() {
		return x.noStream("", x.body.head)
	}
	return &Error{Message: "the reply ends before its end", Temporary: true}
}

// withheld is the error of a reply that the provider has stopped.
func withheld(reason string) *Error {
	return &Error{Message: "the provider's filter has withheld the reply (" + reason + "); ask in other words"}
}

// body is a stream of events on its way to the vendor's library, which reads any event
// whole, whatever its size.
type body struct {
	io.ReadCloser
	exchange *exchange
	head     []byte // the first bytes
	event    int    // bytes since the last empty line
	empty    bool   // the line so far
	over     bool
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		if b.exchange.alive != nil {
			b.exchange.alive()
		}
		b.measure(p[:n])
	}
	switch {
	case b.event > maxEvent:
		return 0, &Error{Message: fmt.Sprintf("the reply has an event that is larger than %d MiB", maxEvent>>20)}
	case err == nil:
		return n, nil
	}
	b.over = true
	if !errors.Is(err, io.EOF) {
		err = &Error{Message: b.exchange.clean("the reply broke off: " + err.Error()), Temporary: true, Err: err}
	}
	return n, err
}

func (b *body) measure(p []byte) {
	b.head = append(b.head, p[:min(len(p), 512-len(b.head))]...)
	for _, c := range p {
		b.event++
		switch c {
		case '\n':
			if b.empty {
				b.event = 0
			}
			b.empty = true
		case '\r':
		default:
			b.empty = false
		}
	}
}

// hasEvents reports whether what came begins like events, or is nothing.
func (b *body) hasEvents() bool {
	lines := bytes.Split(b.head, []byte("\n"))
	for i, line := range lines {
		for _, field := range []string{"data:", "event:", "id:", "retry:", ":"} {
			if bytes.HasPrefix(line, []byte(field)) || i == len(lines)-1 && strings.HasPrefix(field, string(line)) {
				return true
			}
		}
	}
	return false
}

// Close reads the little that may be left after the last event, so that the connection can
// be used again.
func (b *body) Close() error {
	if !b.over {
		b.over = true
		limit := time.AfterFunc(restTime, b.exchange.cancel)
		_, _ = io.CopyN(io.Discard, b.ReadCloser, maxRest) // no matter what
		limit.Stop()
	}
	return b.ReadCloser.Close()
}
