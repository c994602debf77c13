package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/signalbox-dev/signalbox/internal/httpserver"
	"github.com/signalbox-dev/signalbox/safetext"
)

// Path is where the server answers over HTTP.
const Path = "/mcp"

// ErrExposed refuses to listen where other machines could connect, unless Options.Hosts says so.
var ErrExposed = errors.New("other machines could read the portfolio there, without a password")

// Handler answers MCP over streamable HTTP on Path, without sessions. A page of another site
// can't use it: a request's Host has to be of this machine or one of Options.Hosts, and its
// Origin, if a browser sent one, the same.
func (s *Server) Handler() http.Handler {
	protocol := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.mcp }, &mcp.StreamableHTTPOptions{
		Stateless:                  true, // as the protocol has it since 2026-07-28
		JSONResponse:               true,
		Logger:                     s.logger,
		MaxRequestBodyBytes:        maxRequest,
		DisableLocalhostProtection: true, // it refuses Options.Hosts behind a proxy; the check below is stricter
	})
	mux := http.NewServeMux()
	mux.HandleFunc(Path, func(w http.ResponseWriter, r *http.Request) {
		protocol.ServeHTTP(w, r.WithContext(withCarrier(r.Context())))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.expects(r.Host) {
			http.Error(w, fmt.Sprintf("this server is not %s; use a loopback address, or start it with that name among its hosts", safetext.Escape(r.Host)), http.StatusForbidden)
			return
		}
		if !sameOrigin(r) {
			http.Error(w, "pages of other sites may not use this server", http.StatusForbidden)
			return
		}
		if err := httpserver.Admit(w, r); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// expects tells whether a request to this host is meant for the server. Any other name was made
// to point here by somebody else.
func (s *Server) expects(host string) bool {
	name := strings.ToLower(host)
	if bare, _, err := net.SplitHostPort(name); err == nil {
		name = bare
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback() || slices.Contains(s.hosts, name)
}

// sameOrigin tells whether no page sent the request, or one of this server.
func sameOrigin(r *http.Request) bool {
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || !strings.EqualFold(u.Host, r.Host) {
			return false
		}
	}
	return true
}

// grace is how long calls may go on when the server stops. They are cancelled then, and have the
// same time again to end.
const grace = 5 * time.Second

// ListenAndServe answers over HTTP until ctx ends, which is no error; calls get a little time to
// finish then. An address that other machines can reach is refused unless Options.Hosts says
// how they may. It announces the URL as soon as clients can connect.
func (s *Server) ListenAndServe(ctx context.Context, addr string, announce func(url string)) error {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("can't listen on %s: %w", safetext.Escape(addr), err)
	}
	host := l.Addr().(*net.TCPAddr)
	public := host.String()
	if !host.IP.IsLoopback() {
		if len(s.hosts) == 0 {
			return errors.Join(fmt.Errorf("can't listen on %s: %w; use 127.0.0.1, or name the hosts that it may be reached by", safetext.Escape(addr), ErrExposed), l.Close())
		}
		public = net.JoinHostPort(s.hosts[0], fmt.Sprint(host.Port))
	}
	return s.serve(ctx, l, grace, func() { announce("http://" + public + Path) })
}

func (s *Server) serve(ctx context.Context, l net.Listener, grace time.Duration, announce func()) error {
	calls, endCalls := context.WithCancel(context.WithoutCancel(ctx))
	defer endCalls()
	server := httpserver.New(s.Handler(), s.logger)
	server.BaseContext = func(net.Listener) context.Context { return calls }
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	announce()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	defer time.AfterFunc(grace, endCalls).Stop()
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*grace)
	defer cancel()
	if server.Shutdown(stopping) != nil {
		_ = server.Close() // who has not finished by now is cut off
	}
	<-ended
	return nil
}
