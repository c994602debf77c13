package web

import (
	"bytes"
	"errors"
	"io"
	"net/http"
)

// direct has a handler of this process answer a client's requests. An answer is held whole: the page asks for nothing that goes on.
type direct struct{ handler http.Handler }

// maxAnswer is how long an answer may be, in bytes.
const maxAnswer = 64 << 20

var errLongAnswer = errors.New("the answer is too long to be shown")

// RoundTrip implements [http.RoundTripper].
func (d direct) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := &answer{header: http.Header{}, status: http.StatusOK}
	defer func() {
		switch broke := recover(); broke {
		case nil:
		case http.ErrAbortHandler:
			resp, err = nil, io.ErrUnexpectedEOF
		default:
			panic(broke)
		}
	}()
	d.handler.ServeHTTP(w, r)
	if w.long {
		return nil, errLongAnswer
	}
	return &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
	}, nil
}

// answer is what a handler writes.
type answer struct {
	header http.Header
	status int
	begun  bool
	body   bytes.Buffer
	long   bool
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if !a.begun {
		a.status, a.begun = status, true
	}
}

func (a *answer) Write(p []byte) (int, error) {
	a.begun = true
	if a.body.Len()+len(p) > maxAnswer {
		a.long = true
		return 0, errLongAnswer
	}
	return a.body.Write(p)
}

// Flush implements [http.Flusher]: streams of what there is are flushed.
func (a *answer) Flush() {}
