package boxtools

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/httpserver"
	"github.com/signalbox-dev/signalbox/internal/mcpserver"
)

// Client is who calls the tools over HTTP.
type Client struct {
	Name   string
	Scopes []access.Scope
}

// Handler answers MCP over HTTP, to clients that who knows, each by its own host and with the tools of its scopes. Pages of
// other sites are refused, and requests that come by another name than that of this machine.
func Handler(who func(*http.Request) (Client, bool), host func(Client) Host, o Options) http.Handler {
	var all servers
	return mcpserver.Guard(nil, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, ok := who(r)
		if !ok {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "the tools need a token that may read, operate or answer: `signalbox token create` makes one", http.StatusUnauthorized)
			return
		}
		if err := received(w, r); err != nil {
			status := http.StatusBadRequest
			if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
				status = http.StatusRequestEntityTooLarge
			}
			http.Error(w, err.Error(), status)
			return
		}
		all.of(c, func() *mcpserver.Server {
			own := o
			own.Scopes = c.Scopes
			return New(host(c), own)
		}).Protocol().ServeHTTP(late{w}, r)
	}))
}

// received reads all of a request, whose answer may be long in coming: from then on it is noticed when the client leaves.
func received(w http.ResponseWriter, r *http.Request) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		return fmt.Errorf("the request can't be read: %w", err)
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return httpserver.Waits(r)
}

// late is an answer that may come late: its client has the usual time to take it, from when it comes.
type late struct{ http.ResponseWriter }

func (l late) WriteHeader(status int) {
	httpserver.Answering(l.ResponseWriter)
	l.ResponseWriter.WriteHeader(status)
}

func (l late) Write(p []byte) (int, error) {
	httpserver.Answering(l.ResponseWriter)
	return l.ResponseWriter.Write(p)
}

func (l late) Unwrap() http.ResponseWriter { return l.ResponseWriter }

// servers are those of clients, so that what one was told is remembered from one request to the next.
type servers struct {
	mu  sync.Mutex
	all map[string]*mcpserver.Server
}

// maxServers is of how many clients that is.
const maxServers = 64

func (s *servers) of(c Client, make func() *mcpserver.Server) *mcpserver.Server {
	names := []string{c.Name}
	for _, scope := range c.Scopes {
		names = append(names, string(scope))
	}
	key := strings.Join(names, " ")
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.all[key]; ok {
		return known
	}
	if s.all == nil || len(s.all) >= maxServers {
		s.all = map[string]*mcpserver.Server{} // clients are told again what they were told, and ask again for files
	}
	s.all[key] = make()
	return s.all[key]
}
