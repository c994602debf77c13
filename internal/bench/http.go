package bench

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/httpserver"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// ServeHTTPAlone answers a handoff's requests as a box does, and keeps nothing of them: what is
// measured on it is what HTTP costs. It says where it answers in one line of JSON on out, and ends
// with ctx or with in.
func ServeHTTPAlone(ctx context.Context, in io.Reader, out io.Writer) error {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	a := answering{l.Addr().String(), rand.Text()}
	s := httpserver.New(nothingKept(a.Token), slog.New(slog.DiscardHandler))
	if err := json.NewEncoder(out).Encode(a); err != nil {
		return errors.Join(err, l.Close())
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, in)
	}()
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// nothingKept checks the token, reads requests and writes answers as long as the box's. Which item
// is handed over is made up.
func nothingKept(token string) http.Handler {
	var handoffs atomic.Uint64
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/claims", func(w http.ResponseWriter, r *http.Request) {
		var q api.Claim
		d := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10))
		d.DisallowUnknownFields()
		if err := d.Decode(&q); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		n := handoffs.Add(1) - 1
		t := work.Token{Epoch: 1, Counter: 1}
		answer(w, api.Grant{
			Session: t.Session(madeUpSubject), Work: madeUpWork, Phase: phases[n%uint64(len(phases))], Token: t,
			ExpiresAt: time.Now().UTC().Truncate(time.Millisecond), Title: madeUpTitle,
		})
	})
	mux.HandleFunc("POST /v1/sessions/{session}/emit", func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(http.MaxBytesReader(w, r.Body, api.MaxOutput)); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer(w, api.Emitted{
			Accepted: true, Event: work.AgentSessionCompleted, Work: madeUpWork, PhaseCompleted: phases[0],
			ExitReason: agentsig.ExitCompleted, NextPhase: phases[1], Sequence: 10_000 + handoffs.Load()%10_000,
		})
	})
	want := []byte("Bearer " + token)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
			http.Error(w, "the request has no valid token", http.StatusUnauthorized)
			return
		}
		if err := httpserver.Admit(w, r); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

const (
	madeUpSubject = "01JZZZZZZZZZZZZZZZZZZZZZZZ" // a ULID, as the box makes them
	madeUpWork    = "t0-1000"
	madeUpTitle   = "measured"
)

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a client that has gone is not measured
}
