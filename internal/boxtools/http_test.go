package boxtools_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/signalbox-dev/signalbox/internal/access"
)

// post sends one request over a connection of its own.
func post(t *testing.T, url, body string, change func(*http.Request)) (status int, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer read")
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
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(data)
}

const listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

func TestWhoMayAsk(t *testing.T) {
	url := listen(t, newFake(t.TempDir()))
	for name, c := range map[string]struct {
		change func(*http.Request)
		want   int
	}{
		"a token":           {nil, 200},
		"no token":          {func(r *http.Request) { r.Header.Del("Authorization") }, 401},
		"another name":      {func(r *http.Request) { r.Host = "evil.example" }, 403},
		"a foreign page":    {func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }, 403},
		"a page of its own": {func(r *http.Request) { r.Header.Set("Origin", "http://"+r.URL.Host) }, 200},
	} {
		if status, body := post(t, url, listTools, c.change); status != c.want {
			t.Errorf("%s: status %d, want %d: %s", name, status, c.want, body)
		}
	}
	if status, body := post(t, url, " \n["+listTools+"]", nil); status != http.StatusBadRequest || !strings.Contains(body, "one by one") {
		t.Errorf("a batch: %d %.80s", status, body)
	}
	wait := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait_run","arguments":{"seconds":1}}}` + strings.Repeat(" ", 64<<10)
	if status, body := post(t, url, wait, func(r *http.Request) { r.Header.Set("Authorization", "Bearer read+operate"); r.ContentLength = -1 }); status != http.StatusOK || !strings.Contains(body, `"flag":"invalid"`) {
		t.Errorf("who waits keeps the room of a long request: %d %.300s", status, body)
	}
	if status, body := post(t, url, " \n"+listTools, nil); status != http.StatusOK {
		t.Errorf("blanks before a message: %d %.80s", status, body)
	}
	if status, body := post(t, url, `{"jsonrpc":"2.0","id":1,"method":"`+strings.Repeat("x", 5<<20)+`"}`, nil); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a long request: %d %.80s", status, body)
	}
}

// Clients of each version of the protocol are served: those that begin with initialize, and those that do not.
func TestVersions(t *testing.T) {
	url := listen(t, newFake(t.TempDir()))
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
		if status, body := post(t, url, hello, nil); status != http.StatusOK || !strings.Contains(body, `"protocolVersion":"`+version+`"`) {
			t.Errorf("%s: %d %.200s", version, status, body)
		}
		status, body := post(t, url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_run","arguments":{}}}`, func(r *http.Request) { r.Header.Set("Mcp-Protocol-Version", version) })
		if status != http.StatusOK || !strings.Contains(body, `"run":"R1"`) {
			t.Errorf("%s: %d %.200s", version, status, body)
		}
	}
	modern := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_run","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	status, body := post(t, url, modern, func(r *http.Request) {
		r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		r.Header.Set("Mcp-Method", "tools/call")
		r.Header.Set("Mcp-Name", "get_run")
	})
	if status != http.StatusOK || !strings.Contains(body, `"run":"R1"`) {
		t.Errorf("2026-07-28: %d %.200s", status, body)
	}
}

// A wait ends when its client cancels it, and other calls are answered meanwhile, however many wait.
func TestCancelledWait(t *testing.T) {
	on(t, func(t *testing.T, connected func(*testing.T, *fake, ...access.Scope) *mcp.ClientSession) {
		f := newFake(t.TempDir())
		f.run.Questions = nil
		session := connected(t, f, allScopes...)
		call(t, session, "get_run", `{}`) // it is told of all that there is
		f.following, f.left = make(chan struct{}), make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "wait_run", Arguments: map[string]any{"run": "R1"}})
			ended <- err
		}()
		<-f.following
		call(t, session, "list_questions", `{}`)
		cancel()
		if err := <-ended; err == nil {
			t.Error("a cancelled wait was answered")
		}
		<-f.left
		call(t, session, "list_questions", `{}`)
	})
}
