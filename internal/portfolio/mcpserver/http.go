package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/httpserver"
	"github.com/signalbox-dev/signalbox/internal/mcpserver"
	"github.com/signalbox-dev/signalbox/safetext"
)

// Path is where the server answers over HTTP.
const Path = mcpserver.Path

// ErrExposed refuses to listen where other machines could connect, unless Options.Hosts says so.
var ErrExposed = errors.New("other machines could read the portfolio there, without a password")

// Handler answers MCP over streamable HTTP on Path, without sessions. A page of another site
// can't use it: a request's Host has to be of this machine or one of Options.Hosts, and its
// Origin, if a browser sent one, the same.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(Path, s.Protocol())
	return mcpserver.Guard(s.hosts, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := httpserver.Admit(w, r); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		mux.ServeHTTP(w, r)
	}))
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
		public = net.JoinHostPort(strings.ToLower(s.hosts[0]), fmt.Sprint(host.Port))
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
