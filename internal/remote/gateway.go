package remote

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/background"
	"github.com/signalbox-dev/signalbox/internal/httpserver"
	"github.com/signalbox-dev/signalbox/internal/order"
)

// gateway passes on what sessions say to the box, and what it says to them, over the runner's own connections. Agents can reach it too, so it hears
// who has the token of a session that is here; the box looks at it again.
type gateway struct {
	of     *Remote
	server *httpserver.Server
	group  *background.Group

	refusals *httpserver.Pace // of what is logged of who is no session

	mu    sync.Mutex
	here  context.Context          // ends when the box is away
	lines map[string]chan struct{} // of sessions that are connected through to the box, each closed when that ends
}

// openGateway listens for sessions.
func openGateway(ctx context.Context, r *Remote) (*gateway, error) {
	g := &gateway{of: r, lines: map[string]chan struct{}{}, group: background.New(context.Background()), refusals: httpserver.StrangersPace()}
	var cancel context.CancelFunc
	g.here, cancel = context.WithCancel(context.Background())
	cancel() // the box was not met yet
	l, err := listenSocket(ctx, r.o.Dir)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/sessions/{session}/report", g.report)
	mux.HandleFunc("POST /v1/sessions/{session}/activity", g.pass)
	mux.HandleFunc("GET /v1/sessions/{session}/commands", g.commands)
	g.server = httpserver.New(mux, r.o.Logger)
	g.group.Go(func(context.Context) {
		if err := g.server.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
			r.o.Logger.Error("sessions can't be heard any more", "error", err)
		}
	})
	return g, nil
}

func (g *gateway) stop() {
	_ = g.server.Close() // sessions look for it again
	g.group.Stop()
}

// meet says that the box is there, until ctx ends.
func (g *gateway) meet(ctx context.Context) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.here = ctx
}

// upstream passes a request on to the box as it is.
func (g *gateway) upstream(w http.ResponseWriter, q *http.Request, answered func(*http.Response)) {
	proxy := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(&url.URL{Scheme: "http", Host: "box"})
			p.Out.Header.Del("Connection")
		},
		Transport: g.of.carrier, FlushInterval: -1, ErrorLog: slog.NewLogLogger(g.of.o.Logger.Handler(), slog.LevelDebug), // the session tries again
		ModifyResponse: func(r *http.Response) error {
			if answered != nil && r.StatusCode < http.StatusMultipleChoices {
				answered(r)
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { away(w, err) },
	}
	proxy.ServeHTTP(w, q)
}

// away tells a session that the box can't be asked now. It says the same again.
func away(w http.ResponseWriter, err error) {
	answer(w, http.StatusServiceUnavailable, api.CodeStopping, "the box can't be asked now: "+err.Error())
}

func answer(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	p := &api.Problem{Code: code, Message: message}
	_ = json.NewEncoder(w).Encode(p.Details(status)) // a session that has gone misses it
}

// admit takes a request's connection for one that may stay, if it is of the session that it is about.
func (g *gateway) admit(w http.ResponseWriter, q *http.Request) bool {
	session := q.PathValue("session")
	k, err := g.of.read(session)
	tokens := q.Header.Values("Authorization")
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		httpserver.Refuse(w)
		away(w, err)
		return false
	case err != nil, filepath.Base(session) != session, len(tokens) != 1, subtle.ConstantTimeCompare([]byte(tokens[0]), []byte("Bearer "+k.Token)) != 1:
		if missed, ok := g.refusals.Take(time.Now()); ok {
			g.of.o.Logger.Warn("who is no session of this runner's wants to speak to the box", "session", session, "not_logged_before", missed)
		}
		httpserver.Refuse(w)
		answer(w, http.StatusUnauthorized, api.CodeUnauthorized, "this runner has no such session, or it has another token")
		return false
	}
	if err := httpserver.Admit(w, q); err != nil {
		away(w, err)
		return false
	}
	if g.of.removed.Load() {
		answer(w, http.StatusNotFound, api.CodeGone, "the box has removed the runner of this session")
		return false
	}
	return true
}

func (g *gateway) pass(w http.ResponseWriter, q *http.Request) {
	if g.admit(w, q) {
		g.upstream(w, q, nil)
	}
}

// report passes a report on. Before the end of a turn or of a session is told, what the session has done is pushed.
func (g *gateway) report(w http.ResponseWriter, q *http.Request) {
	if !g.admit(w, q) {
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, q.Body, api.MaxReport))
	if err != nil {
		away(w, err)
		return
	}
	var r api.SessionReport
	if json.Unmarshal(body, &r) == nil { // else the box says what is wrong with it
		if err := g.of.pushFor(q.Context(), q.PathValue("session"), r); err != nil {
			away(w, err)
			return
		}
		g.of.heardEnd(q.PathValue("session"), r)
	}
	q.Body = io.NopCloser(bytes.NewReader(body))
	g.upstream(w, q, nil)
}

// commands connects a session through to the box for as long as both are there.
func (g *gateway) commands(w http.ResponseWriter, q *http.Request) {
	if !g.admit(w, q) {
		return
	}
	g.mu.Lock()
	here := g.here
	g.mu.Unlock()
	ctx, cancel := context.WithCancel(q.Context())
	defer cancel()
	defer context.AfterFunc(here, cancel)()
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // it goes on for as long as both are there
	session, lost := q.PathValue("session"), make(chan struct{})
	defer close(lost)
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.lines[session] == lost {
			delete(g.lines, session)
		}
	}()
	g.upstream(w, q.WithContext(ctx), func(*http.Response) {
		g.mu.Lock()
		g.lines[session] = lost
		g.mu.Unlock()
		g.of.hurry()
	})
}

// inTouch are the sessions that are connected through to the box.
func (g *gateway) inTouch() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Sorted(maps.Keys(g.lines))
}

// Connected reports whether a session is connected through to the box.
func (g *gateway) Connected(session string) (bool, <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	lost := g.lines[session]
	return lost != nil, lost
}

// Send has the box say something to a session.
func (g *gateway) Send(session string, c api.SessionCommand, delivered func()) {
	g.group.Go(func(ctx context.Context) {
		_, err := insist[struct{}](ctx, g.of, "/v1/runner/mail", order.Mail{Session: session, Command: c})
		if err != nil {
			g.of.o.Logger.Warn("a session was not told", "session", session, "command", c.ID, "error", err)
			return
		}
		if delivered != nil {
			delivered()
		}
	})
}

// Forget is the box's: a session that has ended is forgotten there.
func (g *gateway) Forget(string) {}

// insist says something to the box until it is answered, or ctx ends.
func insist[T any](ctx context.Context, r *Remote, path string, body any) (T, error) {
	return api.Insist(ctx, func() (v T, settled bool, err error) {
		v, err = api.Post[T](ctx, r.box, path, body)
		return v, err == nil || final(err) || api.Refused(err) || api.Gone(err), err
	})
}
