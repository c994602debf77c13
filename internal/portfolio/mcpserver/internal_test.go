package mcpserver

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/portfolio/exitsignal"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"
)

// stuck is a tool that ends only when it is told to.
type stuck struct {
	Tools
	waiting, ended chan struct{}
}

func (s stuck) CheckExitSignals(ctx context.Context, _ exitsignal.Params) reply.Reply {
	close(s.waiting)
	<-ctx.Done()
	close(s.ended)
	return reply.Reply{Failed: true, Body: map[string]string{"status": "error"}}
}

func TestHTTPStopCancelsCalls(t *testing.T) {
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	s := stuck{waiting: make(chan struct{}), ended: make(chan struct{})}
	served := make(chan error, 1)
	go func() { served <- New(s, "1", Options{}).serve(ctx, l, time.Millisecond, func() {}) }()
	go func() {
		<-s.waiting
		stop()
	}()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+l.Addr().String()+Path,
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"check_exit_signals","arguments":{"ticker":"VTI"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Close = true
	if response, err := http.DefaultTransport.RoundTrip(r); err == nil { // it may be cut off
		_ = response.Body.Close()
	}
	<-s.ended
	if err := <-served; err != nil {
		t.Errorf("a stop is no error: %v", err)
	}
}

func TestOldFilesAreForgotten(t *testing.T) {
	s := New(stuck{}, "1", Options{})
	dir := t.TempDir()
	link := func(i int) string {
		path := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := s.files.link(path)
		if err != nil {
			t.Fatal(err)
		}
		return l.URI
	}
	first, second := link(0), link(1)
	for i := range maxFiles - 1 {
		link(2 + i)
	}
	if s.files.knows(first) || !s.files.knows(second) {
		t.Errorf("knows the first: %v, the second: %v", s.files.knows(first), s.files.knows(second))
	}
	link(1) // a file that is linked again is no second one
	if n := len(s.files.uris); n != maxFiles {
		t.Errorf("knows %d files", n)
	}
	if _, err := s.files.link(dir); err == nil {
		t.Error("a directory was linked")
	}
}

func TestFileURI(t *testing.T) {
	for path, want := range map[string]string{
		"/logs/a b.json":    "file:///logs/a%20b.json",
		"/logs/100%#?.json": "file:///logs/100%25%23%3F.json",
		"C:/logs/a.json":    "file:///C:/logs/a.json",
	} {
		if got := fileURI(path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}

// FuzzArguments reads anything: it gives a problem or values that the schema allows, and no panic.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{``, `null`, `{}`, `[]`, `{"ticker":"A","shares":1.50,"format":"agent"}`, `{"min_loss":-0,"as_of":"2024-02-29"}`, `{"x":{"y":[1e9]}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &Server{}
		for _, read := range []func() (*arguments, call){
			func() (*arguments, call) {
				a := readArguments(data, exitSignals.input)
				return a, s.exitSignals(a)
			},
			func() (*arguments, call) {
				a := readArguments(data, taxLossHarvest.input)
				return a, s.taxLossHarvest(a)
			},
		} {
			a, c := read()
			if c.output != reply.OutputInline && c.output != reply.OutputFile || c.format == "" {
				t.Errorf("format %q, output %q", c.format, c.output)
			}
			if err := a.problem(); err != nil && strings.ContainsAny(err.Error(), "\n\x1b\u202e") {
				t.Errorf("not safe to print: %q", err)
			}
		}
	})
}
