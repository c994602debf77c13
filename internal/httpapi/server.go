package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/conductor"
	"github.com/signalbox-dev/signalbox/internal/httpserver"
)

// Server answers requests to a box.
type Server struct {
	box       *box.Box
	conductor *conductor.Conductor
	logger    *slog.Logger
	room      *semaphore.Weighted   // for large requests
	tools     http.Handler          // for agents; nil if there are none
	page      Page                  // for browsers; nil if there is none
	metrics   func(io.Writer) error // in Prometheus's text format; nil if there are none
	messages  func() api.Messages   // to people; nil if there are none
	following crowd                 // clients that follow
	reading   crowd                 // clients that read the events that there are
}

// New makes a server for a box, and who conducts its runs. The logger may be nil.
func New(b *box.Box, c *conductor.Conductor, logger *slog.Logger) *Server {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Server{
		box: b, conductor: c, logger: logger, room: semaphore.NewWeighted(largeRoom),
		following: crowd{make(chan struct{}, maxFollowing), errManyFollow}, reading: crowd{make(chan struct{}, maxReading), errManyRead},
	}
}

// WithTools has the server offer tools to agents on [ToolsPath], to whoever may read. The handler finds who asks by [Asks].
func (s *Server) WithTools(tools http.Handler) *Server {
	s.tools = tools
	return s
}

// WithMetrics has the server answer /metrics with what write writes, in Prometheus's text format, to whoever has that scope.
func (s *Server) WithMetrics(write func(io.Writer) error) *Server {
	s.metrics = write
	return s
}

// WithMessages has the server's status say what people were not told yet.
func (s *Server) WithMessages(messages func() api.Messages) *Server {
	s.messages = messages
	return s
}

// status says how the box is.
func (s *Server) status(w http.ResponseWriter, _ *http.Request, _ access.Principal) error {
	status := s.box.Status()
	if s.messages != nil {
		m := s.messages()
		status.Messages = &m
	}
	return reply(w, status, nil)
}

// ToolsPath is where a box offers tools to agents.
const ToolsPath = "/mcp"

// maxTools is how long a request to the tools may be, in bytes: it can carry a plan.
const maxTools = 4 * api.MaxPlan

type asksKey struct{}

// Asks returns who makes a request that was handed on.
func Asks(r *http.Request) access.Principal {
	p, _ := r.Context().Value(asksKey{}).(access.Principal)
	return p
}

// all are the API's routes, and that of the tools.
func (s *Server) all() []route {
	if s.tools == nil {
		return s.routes()
	}
	return append(s.routes(), route{"POST " + ToolsPath, access.ToRead, maxTools, func(w http.ResponseWriter, r *http.Request, p access.Principal) error {
		s.tools.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), asksKey{}, p)))
		return nil
	}})
}

// Listen opens the address that the box answers on. It has to be on this machine:
// requests are not encrypted.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("the address to listen on: %w", err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("a box listens on loopback only (127.0.0.1, ::1, localhost), not on %q: requests are not encrypted", host)
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		err = fmt.Errorf("a box can't listen on %s: %w: name another address (--listen, or listen in signalbox.yaml), or none, and it takes a free port", address, err)
	}
	return l, err
}

// failedListen is for how long a box that failed goes on answering before it stops, so that whoever
// asks /readyz or for its status is told why.
const failedListen = 2 * time.Second

// Serve answers on the listener until ctx ends or the box stops, and then stops the box. A box that failed
// goes on to say so for a moment: who asks then is told why, instead of finding nobody. Whoever opened the box
// closes it afterwards.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if err := s.box.Announce(l.Addr().String()); err != nil {
		return errors.Join(err, l.Close())
	}
	server := httpserver.New(s.Handler(), s.logger)
	server.BaseContext = func(net.Listener) context.Context { return s.box.Context() }
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	case <-s.box.Done():
		tellFailure(ctx, s.box.Writable())
	}
	withdrawn := s.box.Withdraw() // before it can't be asked any more
	s.box.Stop()                  // ends what waits, so that the server can shut down
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if server.Shutdown(grace) != nil {
		_ = server.Close() // who has not finished by now is cut off
	}
	<-ended
	return withdrawn
}

// tellFailure waits while a box is asked how it is, if it stopped because it failed; no longer than ctx.
func tellFailure(ctx context.Context, why error) {
	if !errors.Is(why, box.ErrCannotWrite) {
		return
	}
	select {
	case <-time.After(failedListen):
	case <-ctx.Done():
	}
}

// Handler answers requests: the page's, if they are under its name, and the API's under all others.
func (s *Server) Handler() http.Handler {
	requests := s.requests()
	if s.page == nil {
		return requests
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.page.For(r) {
			s.page.ServeHTTP(w, r)
			return
		}
		requests.ServeHTTP(w, r)
	})
}

// requests answers the API's requests.
func (s *Server) requests() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", s.ready)
	for _, r := range s.all() {
		mux.HandleFunc(r.pattern, func(w http.ResponseWriter, req *http.Request) {
			p, err := s.authorize(req, r.needs)
			if err != nil {
				httpserver.Refuse(w)
				problem(w, err)
				return
			}
			if err := httpserver.Admit(w, req); err != nil {
				problem(w, err)
				return
			}
			req, end := s.bound(w, req, cmp.Or(r.most, smallBody))
			defer end()
			err = r.handle(w, req, p)
			if errors.Is(err, archive.ErrFailed) {
				<-s.box.Done() // whoever is told this finds /readyz say the same
			}
			if err != nil {
				problem(w, err)
			}
		})
	}
	return mux
}

// metricsType is Prometheus's text format.
const metricsType = "text/plain; version=0.0.4; charset=utf-8"

var errNoMetrics = errors.New("this box has no metrics: it is there for one command alone")

// figures answers with what the box tells Prometheus.
func (s *Server) figures(w http.ResponseWriter, _ *http.Request, _ access.Principal) error {
	if s.metrics == nil {
		return errNoMetrics
	}
	var body bytes.Buffer
	if err := s.metrics(&body); err != nil {
		return err
	}
	w.Header().Set("Content-Type", metricsType)
	_, _ = w.Write(body.Bytes()) // a client that stopped reading misses it
	return nil
}

// ready answers whether the box takes requests.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	if err := s.box.Writable(); err != nil {
		problem(w, err)
		return
	}
	fmt.Fprintln(w, "ok")
}
