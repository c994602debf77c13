package homelink

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"path"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/httpserver"
	"github.com/signalbox-dev/signalbox/internal/order"
)

// method carries out what a question asks.
type method func(ctx context.Context, q question) (answer, error)

// server answers questions by methods.
type server struct {
	methods map[string]method
	watches bool // a request ends when its caller is not heard of any more
	beat    time.Duration
	logger  *slog.Logger

	mu    sync.Mutex
	heard map[string]time.Time // callers
}

func newServer(methods map[string]method, watches bool, l *slog.Logger) *server {
	return &server{methods: methods, watches: watches, beat: order.Heartbeat, logger: l, heard: map[string]time.Time{}}
}

// ServeHTTP answers a request for the method that its path ends with. That its caller goes ends it.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := path.Base(r.URL.Path)
	do := s.methods[name]
	if do == nil {
		refuse(w, http.StatusNotFound, api.CodeNotFound, "a box asks no such thing of another")
		return
	}
	var q question
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	if err == nil {
		err = errors.Join(r.Body.Close(), json.Unmarshal(body, &q)) // what is asked may take hours, and others have bodies too
	}
	if err == nil {
		err = httpserver.Waits(r)
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		refuse(w, http.StatusRequestEntityTooLarge, api.CodeInvalid, "what another box asks is too long")
		return
	case err != nil:
		refuse(w, http.StatusBadRequest, api.CodeInvalid, "what another box asks can't be read: "+err.Error())
		return
	}
	s.hear(r.Header.Get(callerHeader))
	s.hold(w, r, name, func(ctx context.Context) answer {
		a, err := do(ctx, q)
		a.Failure = fail(err)
		return a
	})
}

// refuse answers what is no question.
func refuse(w http.ResponseWriter, status int, code, message string) {
	httpserver.Answering(w)
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode((&api.Problem{Code: code, Message: message}).Details(status)) // who has gone misses it
}

// hold says now and then that this box is there, until there is an answer, which ends when nobody is there to hear it. What was begun has ended when
// it returns.
func (s *server) hold(w http.ResponseWriter, r *http.Request, name string, do func(ctx context.Context) answer) {
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	done := make(chan answer, 1)
	go func() { done <- do(ctx) }()
	control := http.NewResponseController(w)
	write := func(data []byte) error {
		_ = control.SetWriteDeadline(time.Now().Add(silence * s.beat)) // a writer without deadlines has no connection to hold up
		if _, err := w.Write(data); err != nil {
			return err
		}
		return control.Flush()
	}
	w.Header().Set("Content-Type", "application/json")
	tick := time.NewTicker(s.beat)
	defer tick.Stop()
	err := write([]byte("\n"))
	for err == nil {
		select {
		case a := <-done:
			data, err := json.Marshal(a)
			if err != nil {
				data, _ = json.Marshal(answer{Failure: fail(err)}) // which is text
			}
			_ = write(append(data, '\n')) // who has gone asks again
			return
		case <-tick.C:
			if err = write([]byte("\n")); err == nil && s.watches && s.silent(r.Header.Get(callerHeader)) {
				err = errSilent
			}
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	cancel(err)
	<-done
	s.logger.Debug("what another box asked was ended, as it is not there any more", "method", name, "error", err)
}

// hear notes that a caller is there, and forgets those that have gone.
func (s *server) hear(caller string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for other, at := range s.heard {
		if now.Sub(at) > 2*silence*s.beat {
			delete(s.heard, other)
		}
	}
	s.heard[caller] = now
}

// silent reports whether a caller was not heard of for some beats.
func (s *server) silent(caller string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.heard[caller]) > silence*s.beat
}
