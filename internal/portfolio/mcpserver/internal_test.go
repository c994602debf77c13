package mcpserver

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/mcpserver"
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

// FuzzArguments reads anything: it gives a problem or values that the schema allows, and no panic.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{``, `null`, `{}`, `[]`, `{"ticker":"A","shares":1.50,"format":"agent"}`, `{"min_loss":-0,"as_of":"2024-02-29"}`, `{"x":{"y":[1e9]}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &Server{tools: stuck{}}
		for _, read := range []func() (*mcpserver.Arguments, call){
			func() (*mcpserver.Arguments, call) {
				a := mcpserver.ReadArguments(data, exitSignals.Input)
				return a, s.exitSignals(a)
			},
			func() (*mcpserver.Arguments, call) {
				a := mcpserver.ReadArguments(data, taxLossHarvest.Input)
				return a, s.taxLossHarvest(a)
			},
			func() (*mcpserver.Arguments, call) {
				a := mcpserver.ReadArguments(data, positions.Input)
				return a, s.positions(a)
			},
			func() (*mcpserver.Arguments, call) {
				a := mcpserver.ReadArguments(data, gains.Input)
				return a, s.gains(a)
			},
		} {
			a, c := read()
			if c.output != reply.OutputInline && c.output != reply.OutputFile || c.format == "" {
				t.Errorf("format %q, output %q", c.format, c.output)
			}
			if err := a.Problem(); err != nil && strings.ContainsAny(err.Error(), "\n\x1b\u202e") {
				t.Errorf("not safe to print: %q", err)
			}
		}
	})
}
