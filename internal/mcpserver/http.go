package mcpserver

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/signalbox-dev/signalbox/safetext"
)

// Path is where servers answer over HTTP.
const Path = "/mcp"

// Protocol answers MCP over streamable HTTP, without sessions. Who may ask is for the caller to check ([Guard]).
func (s *Server) Protocol() http.Handler {
	protocol := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.mcp }, &mcp.StreamableHTTPOptions{
		Stateless:                  true, // as the protocol has it since 2026-07-28
		JSONResponse:               true,
		Logger:                     s.logger,
		MaxRequestBodyBytes:        int64(s.maxRequest),
		DisableLocalhostProtection: true, // it refuses further hosts behind a proxy; Guard is stricter
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := bufio.NewReader(r.Body)
		if begins(body) == '[' {
			http.Error(w, "a request is one message: send those of a batch one by one", http.StatusBadRequest)
			return
		}
		r = r.WithContext(context.WithValue(withCarrier(r.Context()), lengthKey{}, r.ContentLength)) // the server has to find the body as it was
		r.Body = struct {
			io.Reader
			io.Closer
		}{body, r.Body}
		protocol.ServeHTTP(w, r)
	})
}

// lengthKey is for how long a request is, in bytes.
type lengthKey struct{}

// begins returns the first byte of a JSON text, which is left to be read; 0 if there is none. A batch, which one version of the protocol
// had, would be worked on and answered as a whole: short requests of many calls take all the memory that there is.
func begins(text *bufio.Reader) byte {
	for {
		switch c, err := text.ReadByte(); {
		case err != nil:
			return 0
		case c != ' ' && c != '\t' && c != '\r' && c != '\n':
			_ = text.UnreadByte() // it was read just now
			return c
		}
	}
}

// Guard lets no page of another site in: a request's Host has to be of this machine or one of the hosts, and its
// Origin, if a browser sent one, the same.
func Guard(hosts []string, next http.Handler) http.Handler {
	var names []string
	for _, host := range hosts {
		names = append(names, strings.ToLower(host))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !expects(names, r.Host) {
			http.Error(w, fmt.Sprintf("this server is not %s; use a loopback address, or start it with that name among its hosts", safetext.Escape(r.Host)), http.StatusForbidden)
			return
		}
		if !sameOrigin(r) {
			http.Error(w, "pages of other sites may not use this server", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// expects tells whether a request to this host is meant for the server. Any other name was made
// to point here by somebody else.
func expects(hosts []string, host string) bool {
	name := strings.ToLower(host)
	if bare, _, err := net.SplitHostPort(name); err == nil {
		name = bare
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback() || slices.Contains(hosts, name)
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
