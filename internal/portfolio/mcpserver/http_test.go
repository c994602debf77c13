package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/portfolio/mcpserver"
)

// post sends one request over a connection of its own.
func post(t *testing.T, url, body string, change func(*http.Request)) (status int, answer []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Close = true
	if change != nil {
		change(r)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, answer
}

func TestHostAndOrigin(t *testing.T) {
	server := listen(t, &fake{}, mcpserver.Options{Hosts: []string{"Portfolio.example"}})
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	port := ":" + u.Port()
	for _, c := range []struct {
		host    string
		origins []string
		want    int
	}{
		{"127.0.0.1" + port, nil, 200},
		{"localhost" + port, nil, 200},
		{"LOCALHOST", nil, 200},
		{"[::1]" + port, nil, 200},
		{"[::1]", nil, 200},
		{"127.8.9.1:1", nil, 200},
		{"portfolio.example", nil, 200},
		{"portfolio.example:443", nil, 200},
		{"evil.example", nil, 403},
		{"evil.example" + port, nil, 403},
		{"127.0.0.1.evil.example" + port, nil, 403},
		{"localhost.evil.example", nil, 403},
		{"portfolio.example.evil.example", nil, 403},
		{"0.0.0.0" + port, nil, 403},
		{"192.168.1.1" + port, nil, 403},

		{"localhost" + port, []string{"http://localhost" + port}, 200},
		{"portfolio.example", []string{"https://PORTFOLIO.example"}, 200},
		{"localhost" + port, []string{"http://evil.example"}, 403},
		{"localhost" + port, []string{"http://localhost"}, 403},
		{"localhost" + port, []string{"http://localhost:1"}, 403},
		{"localhost" + port, []string{"http://127.0.0.1" + port}, 403},
		{"localhost" + port, []string{"null"}, 403},
		{"localhost" + port, []string{"file://localhost" + port}, 403},
		{"localhost" + port, []string{"http://localhost" + port, "http://evil.example"}, 403},
		{"evil.example", []string{"http://evil.example"}, 403},
	} {
		status, body := post(t, server, message(1, "ping", `{}`), func(r *http.Request) {
			r.Host = c.host
			r.Header["Origin"] = c.origins
		})
		if status != c.want {
			t.Errorf("host %s, origin %s: status %d, want %d: %s", c.host, c.origins, status, c.want, body)
		}
	}
}

func TestHTTPRequests(t *testing.T) {
	server := listen(t, &fake{}, mcpserver.Options{})
	status, body := post(t, server, `{"jsonrpc":"2.0","id":1,"method":"`+strings.Repeat("x", 1<<20)+`"}`, nil)
	if status != http.StatusRequestEntityTooLarge {
		t.Errorf("a long request: %d %s", status, body)
	}
	if status, _ := post(t, server, "{", nil); status != http.StatusBadRequest {
		t.Errorf("half a request: %d", status)
	}
	if status, _ := post(t, strings.TrimSuffix(server, mcpserver.Path), "{}", nil); status != http.StatusNotFound {
		t.Errorf("another path: %d", status)
	}
	if status, _ := post(t, server, "", func(r *http.Request) { r.Method = http.MethodGet }); status != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", status)
	}
	// Both the protocol of sessions and the one without are served, on the same URL.
	if status, body := post(t, server, initialize, nil); status != http.StatusOK || !strings.Contains(string(body), `"protocolVersion":"2025-06-18"`) {
		t.Errorf("initialize: %d %s", status, body)
	}
	modern := `{"name":"check_exit_signals","arguments":{"ticker":"VTI"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}`
	status, body = post(t, server, message(1, "tools/call", modern), func(r *http.Request) {
		r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		r.Header.Set("Mcp-Method", "tools/call")
		r.Header.Set("Mcp-Name", "check_exit_signals")
	})
	if status != http.StatusOK || !strings.Contains(string(body), `"ticker":"VTI"`) {
		t.Errorf("a call without a session: %d %s", status, body)
	}
}

func TestListensOnLoopbackOnly(t *testing.T) {
	for _, addr := range []string{":0", "0.0.0.0:0"} {
		err := mcpserver.New(&fake{}, "1", mcpserver.Options{}).ListenAndServe(t.Context(), addr, func(url string) { t.Errorf("listens on %s", url) })
		if !errors.Is(err, mcpserver.ErrExposed) {
			t.Errorf("%s: %v", addr, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var announced string
	err := mcpserver.New(&fake{}, "1", mcpserver.Options{Hosts: []string{"nas.example"}}).ListenAndServe(ctx, ":0", func(url string) {
		announced = url
		cancel()
	})
	if err != nil || !strings.HasPrefix(announced, "http://nas.example:") {
		t.Errorf("told otherwise: %q, %v", announced, err)
	}
	if err := mcpserver.New(&fake{}, "1", mcpserver.Options{}).ListenAndServe(t.Context(), "127.0.0.1:port", nil); err == nil {
		t.Error("there is no such port")
	}
}

func TestHTTPStopLetsCallsFinish(t *testing.T) {
	f := &fake{waiting: make(chan struct{}), finish: make(chan struct{})}
	server, stop := start(t, f, mcpserver.Options{})
	stopped := make(chan error, 1)
	go func() {
		<-f.waiting
		go func() { stopped <- stop() }()
		var dialer net.Dialer
		for { // until the server has begun to stop
			c, err := dialer.DialContext(t.Context(), "tcp", strings.TrimSuffix(strings.TrimPrefix(server, "http://"), mcpserver.Path))
			if err != nil {
				break
			}
			_ = c.Close()
		}
		close(f.finish)
	}()
	status, body := post(t, server, message(1, "tools/call", `{"name":"check_exit_signals","arguments":{"ticker":"FINISH"}}`), nil)
	if status != http.StatusOK || !strings.Contains(string(body), `"ticker":"FINISH"`) {
		t.Errorf("%d %s", status, body)
	}
	if err := <-stopped; err != nil {
		t.Errorf("a stop is no error: %v", err)
	}
}

func TestResultsArePrivate(t *testing.T) {
	server := listen(t, &fake{}, mcpserver.Options{})
	_, body := post(t, server, message(1, "tools/list", `{}`), nil)
	var answer struct{ Result struct{ CacheScope string } }
	if err := json.Unmarshal(body, &answer); err != nil || answer.Result.CacheScope != "private" {
		t.Errorf("%q, %v", answer.Result.CacheScope, err)
	}
}
