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
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/conductor"
	"github.com/signalbox-dev/signalbox/internal/fleet"
	"github.com/signalbox-dev/signalbox/internal/httpserver"
)

// Server answers requests to a box.
type Server struct {
	box       *box.Box
	conductor *conductor.Conductor
	logger    *slog.Logger
	room      *semaphore.Weighted         // for large requests
	tools     http.Handler                // for agents; nil if there are none
	page      Page                        // for browsers; nil if there is none
	metrics   func(io.Writer) error       // in Prometheus's text format; nil if there are none
	messages  func() api.Messages         // to people; nil if there are none
	fleet     *fleet.Fleet                // of runners on other machines; nil if there are none
	git       Git                         // that they fetch from and push to
	runners   func() []api.Runner         // as they are; nil if the ledger alone says that
	homes     Homes                       // of its runs
	cluster   Cluster                     // that the box is in; nil if it stands alone
	catches   func(context.Context) error // up with what was recorded anywhere in the cluster
	secure    *Secure                     // how the box answers beyond its machine; nil if it does not
	joins     *httpserver.Pace            // of who tries to become a runner
	refusals  *httpserver.Pace            // of what is logged of strangers who may not ask
	following crowd                       // clients that follow
	reading   crowd                       // clients that read the events that there are

	runnersRefusals sync.Map // of what is logged of a runner, by its name: a [httpserver.Pace] each
}

// New makes a server for a box, and who conducts its runs. The logger may be nil.
func New(b *box.Box, c *conductor.Conductor, logger *slog.Logger) *Server {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Server{
		box: b, catches: b.CatchUp, conductor: c, logger: logger, room: semaphore.NewWeighted(largeRoom),
		joins: httpserver.NewPace(joinsAtOnce, joinsEvery), refusals: httpserver.StrangersPace(),
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
func (s *Server) status(w http.ResponseWriter, r *http.Request, _ access.Principal) error {
	status := s.box.Status()
	status.Box.Runners = Unreached(s.box, s.secure)
	if s.messages != nil {
		m := s.messages()
		status.Messages = &m
	}
	if s.cluster != nil {
		c, err := s.cluster.Status(r.Context())
		if err != nil {
			return err
		}
		short := c.Short()
		status.Cluster = &short
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

// all are the API's routes, those by which runners get in, those for runners alone, and that of the tools.
func (s *Server) all() []route {
	routes := slices.Concat(s.routes(), s.enrolment(), s.runnerRoutes(), s.clusterRoutes(), s.homeRoutes())
	if s.tools == nil {
		return routes
	}
	return append(routes, route{"POST " + ToolsPath, access.ToRead, maxTools, s.offer})
}

// offer offers the tools. They ask for a client with the owner's token, so that its own is good is known here or nowhere.
func (s *Server) offer(w http.ResponseWriter, r *http.Request, p access.Principal) (err error) {
	if s.cluster != nil && p.Kind == access.Client {
		if s.catchUp(r.Context()) != nil {
			return errNoLeader
		}
		if p, err = s.authorize(r, access.ToRead); err != nil {
			return err
		}
	}
	s.tools.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), asksKey{}, p)))
	return nil
}

// ListenAgain is [Listen] for a box that listened on a port before. If any free port will do, it takes that one while nobody else has it: a page
// that is open in a browser finds the box again.
func ListenAgain(ctx context.Context, address string, before uint16) (net.Listener, error) {
	if host, port, err := net.SplitHostPort(address); err == nil && port == "0" && before > 0 {
		if l, err := Listen(ctx, net.JoinHostPort(host, strconv.Itoa(int(before)))); err == nil {
			return l, nil
		}
	}
	return Listen(ctx, address)
}

// Listen opens the address that the box answers on. It has to be on this machine:
// requests are not encrypted.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("the address to listen on: %w", err)
	}
	if !onLoopback(host) {
		return nil, fmt.Errorf("without TLS a box listens on loopback only (127.0.0.1, ::1, localhost), not on %q: requests are not encrypted", host)
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
		return errors.Join(err, l.Close(), s.secure.close())
	}
	server := httpserver.New(s.Handler(), s.logger)
	server.BaseContext = func(net.Listener) context.Context { return s.box.Context() }
	ended, all := s.serve(server, l)
	select {
	case err := <-ended:
		_ = server.Close() // the other listener ends, too
		for range all - 1 {
			<-ended
		}
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
	for range all {
		<-ended
	}
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
			req, err := s.came(req)
			var p access.Principal
			if err == nil {
				p, err = s.known(req, r.needs)
			}
			if err != nil {
				s.logRefusal(req, err)
				httpserver.Refuse(w)
				problem(w, err)
				return
			}
			if err := admit(w, req, p, r); err != nil {
				problem(w, err)
				return
			}
			req, end := s.bound(w, req, cmp.Or(r.most, smallBody))
			defer end()
			elsewhere, req, done, err := s.settle(w, req, r)
			defer done()
			switch {
			case err != nil:
			case elsewhere != nil:
				err = s.passOn(w, req, elsewhere, r)
			default:
				if s.cluster != nil { // what was recorded meanwhile counts, so a token that was revoked elsewhere reads nothing
					p, err = s.authorize(req, r.needs)
				}
				if err == nil {
					err = r.handle(w, req, p)
				}
				if err != nil && !confirmed(r) && !slices.Contains(answeredHere, r.pattern) {
					err = s.refusal(req, err)
				}
			}
			if errors.Is(err, archive.ErrFailed) {
				<-s.box.Done() // whoever is told this finds /readyz say the same
			}
			if err != nil {
				s.logBroken(req, p, err)
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

var errNotReady = errors.New("the box takes no requests: look at it on its machine")

// ready answers whether the box takes requests.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	if err := s.box.Writable(); err != nil {
		if secureOrigin(r) { // who asks from elsewhere without a token is not told of files
			err = errNotReady
		}
		problem(w, err)
		return
	}
	fmt.Fprintln(w, "ok")
}
