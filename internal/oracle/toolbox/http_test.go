package toolbox

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// address serves a handler, and is the server's place in a configuration.
func address(t *testing.T, h http.Handler) (*httptest.Server, Server) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s, Server{URL: s.URL + "/mcp", Timeout: 20 * time.Second}
}

// streamable speaks MCP, in a protocol with sessions or without.
func streamable(t *testing.T, sessions bool, over <-chan struct{}) http.Handler {
	server := testServer("ok", over)
	t.Cleanup(func() {
		for s := range server.Sessions() {
			_ = s.Close() // one that nobody took leave of
		}
	})
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: !sessions})
	if !sessions {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= "2026" {
			http.Error(w, "too new", http.StatusBadRequest)
			return
		}
		h.ServeHTTP(w, r)
	})
}

func TestHTTPServer(t *testing.T) {
	t.Parallel()
	for name, sessions := range map[string]bool{"with sessions": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			var strange atomic.Int32
			over := make(chan struct{})
			defer close(over)
			h := streamable(t, sessions, over)
			_, s := address(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer key" || r.URL.Path != "/mcp" {
					strange.Add(1)
				}
				h.ServeHTTP(w, r)
			}))
			s.Headers = map[string]string{"authorization": "Bearer key"}
			b := opened(t, with(s))
			if (b.servers[0].current.session.ID() != "") != sessions {
				t.Fatal("the test's server is not what it should be")
			}
			if got := must(t, b, "echo", testArguments{Text: "hello"}); got != "hello" {
				t.Errorf("got %q", got)
			}
			if r := call(t, b, "fail", nil); !r.Failed || r.Text != "the moon is down" {
				t.Errorf("%+v", r)
			}
			address, started := told(t)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-started
				cancel()
			}()
			if r := b.Call(ctx, "slow", []byte(`{"tell":"`+address+`"}`)); !r.Failed || !strings.Contains(r.Text, "was cancelled") {
				t.Errorf("%+v", r)
			}
			if got := must(t, b, "echo", testArguments{Text: "again"}); got != "again" {
				t.Errorf("got %q", got)
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
			if n := strange.Load(); n > 0 {
				t.Errorf("%d requests without the header, or elsewhere", n)
			}
		})
	}
}

// A server that was started anew knows no session, and has not looked at the call.
func TestHTTPServerForgets(t *testing.T) {
	t.Parallel()
	var current atomic.Pointer[http.Handler]
	start := func() {
		h := streamable(t, true, nil)
		current.Store(&h)
	}
	start()
	_, s := address(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*current.Load()).ServeHTTP(w, r) }))
	b := opened(t, with(s))
	start()
	if got := must(t, b, "echo", testArguments{Text: "hello"}); got != "hello" {
		t.Errorf("got %q", got)
	}
}

func TestHTTPServerGone(t *testing.T) {
	t.Parallel()
	server, s := address(t, streamable(t, true, nil))
	s.URL += "?key=hush-hush"
	b := opened(t, with(s))
	server.CloseClientConnections()
	server.Close()
	ends(t, func() {
		if r := call(t, b, "echo", testArguments{}); !r.Failed || !strings.Contains(r.Text, ": see that it runs") || strings.Contains(r.Text, "hush") {
			t.Errorf("%+v", r)
		}
	})
	_, err := Open(t.Context(), with(s))
	if err == nil || !strings.Contains(err.Error(), `the MCP server "test" did not answer: dial tcp`) || strings.Contains(err.Error(), "hush") {
		t.Error(err)
	}
}

func TestHTTPServerRefuses(t *testing.T) {
	t.Parallel()
	const key = "tell-no-one"
	elsewhere, _ := address(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the headers went elsewhere: %v", r.Header)
	}))
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"unauthorized": {func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "no "+r.Header.Get("Authorization"), http.StatusUnauthorized)
		}, "Unauthorized: see that it runs, and that its url and headers are right"},
		"not MCP": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>hello") }, "its last answer was 200 OK, text/html"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}, "it leads to another place"},
		"endless answer": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for range maxMessage>>20 + 2 {
				_, _ = w.Write(make([]byte, 1<<20))
			}
		}, "the answer has more than 16 MiB"},
		"endless event": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: ")
			for range maxMessage>>20 + 2 {
				_, _ = w.Write([]byte(strings.Repeat("x", 1<<20)))
			}
		}, "did not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			_, s := address(t, c.handler)
			s.Headers = map[string]string{"Authorization": "Bearer " + key}
			ends(t, func() {
				_, err := Open(t.Context(), with(s))
				if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), key) {
					t.Errorf("%v\nwant %s", err, c.want)
				}
			})
		})
	}
}

func TestHTTPServerHangs(t *testing.T) {
	t.Parallel() // it waits
	over := make(chan struct{})
	_, s := address(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-over:
		}
	}))
	t.Cleanup(func() { close(over) })
	s.Timeout = time.Second
	ends(t, func() {
		if _, err := Open(t.Context(), with(s)); err == nil || !strings.Contains(err.Error(), "did not answer within 1s") {
			t.Error(err)
		}
	})
}
