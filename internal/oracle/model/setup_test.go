package model_test

import (
	"errors"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/signalbox-dev/signalbox/internal/modeltest"
	"github.com/signalbox-dev/signalbox/internal/oracle/model"
)

var update = flag.Bool("update", false, "rewrite the requests in testdata")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script serves a script.
func script(t *testing.T, text string) *modeltest.Server {
	t.Helper()
	parsed, err := modeltest.Parse("inline", text)
	if err != nil {
		t.Fatal(err)
	}
	s, err := modeltest.Start(parsed)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, r := range s.Unexpected() {
			t.Errorf("unexpected: %+v", r)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// client asks a server, which has no path.
func client(t *testing.T, p model.Provider, url string) model.Client {
	t.Helper()
	if p == model.OpenAI {
		url += "/v1"
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c, err := model.New(model.Settings{Provider: p, BaseURL: url, Key: "secret-key-0001", HTTP: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// both runs a test for each provider.
func both(t *testing.T, test func(t *testing.T, p model.Provider)) {
	t.Helper()
	for _, p := range []model.Provider{model.OpenAI, model.Anthropic} {
		t.Run(string(p), func(t *testing.T) { test(t, p) })
	}
}

func question(text string) model.Request {
	return model.Request{Model: "m", Messages: []model.Message{{Role: model.User, Text: text}}}
}

// raw serves whatever the handler says.
func raw(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// stream answers with a stream of events that has this text.
func stream(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, text)
	}
}

// failed is the error that a question must end with.
func failed(t *testing.T, c model.Client, r model.Request) *model.Error {
	t.Helper()
	reply, err := c.Reply(t.Context(), r, model.Sink{})
	var e *model.Error
	if !errors.As(err, &e) {
		t.Fatalf("the error is %v (%T), the reply %+.100v", err, err, reply)
	}
	return e
}

// transcript keeps what a sink is given.
type transcript struct {
	text, reasoning strings.Builder
	pieces, alive   int
}

func (k *transcript) sink() model.Sink {
	return model.Sink{
		Text:      func(s string) { k.pieces++; k.text.WriteString(s) },
		Reasoning: func(s string) { k.reasoning.WriteString(s) },
		Alive:     func() { k.alive++ },
	}
}
