package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/session"
)

// The test's program is also what sessions are started with, in tests that have some.
func TestMain(m *testing.M) {
	if len(os.Args) != 3 || os.Args[1] != "session" {
		goleak.VerifyTestMain(m)
		return
	}
	spec, err := session.Read(os.Args[2])
	if err == nil {
		client := api.NewClient(api.SocketPrefix+filepath.Join(spec.Box, socketFile), spec.Token)
		err = session.Run(context.Background(), os.Args[2], client, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// errAway is what the stand-in says while it is not there.
var errAway = errors.New("the box is away")

// standIn is a box as a runner's requests find it. It is away at first.
type standIn struct {
	handler http.Handler

	mu    sync.Mutex
	there bool
	asked []string // METHOD PATH, of what arrived
	calls chan string
}

func newStandIn(h http.Handler) *standIn { return &standIn{handler: h, calls: make(chan string, 1000)} }

func (s *standIn) set(there bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.there = there
}

// arrived is what was asked so far.
func (s *standIn) arrived() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// RoundTrip implements [http.RoundTripper].
func (s *standIn) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	there := s.there
	if there {
		s.asked = append(s.asked, r.Method+" "+r.URL.EscapedPath())
	}
	s.mu.Unlock()
	s.calls <- r.Method + " " + r.URL.EscapedPath()
	if !there {
		return nil, errAway
	}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	defer func() { _ = r.Body.Close() }()
	in, out := io.Pipe()
	w := &answering{header: http.Header{}, out: out, begun: make(chan struct{})}
	go func() {
		s.handler.ServeHTTP(w, r)
		w.WriteHeader(http.StatusOK)
		_ = out.Close()
	}()
	select {
	case <-w.begun:
	case <-r.Context().Done():
		_ = in.CloseWithError(r.Context().Err())
		return nil, r.Context().Err()
	}
	context.AfterFunc(r.Context(), func() { _ = in.CloseWithError(r.Context().Err()) })
	return &http.Response{StatusCode: w.status, Header: w.header, Body: in, ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1, Request: r}, nil
}

// answering is an answer that is read while it is written.
type answering struct {
	header http.Header
	out    *io.PipeWriter
	begun  chan struct{}
	once   sync.Once
	status int
}

func (a *answering) Header() http.Header { return a.header }
func (a *answering) Flush()              {}
func (a *answering) WriteHeader(status int) {
	a.once.Do(func() {
		a.status = status
		close(a.begun)
	})
}

func (a *answering) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.out.Write(p)
}

// shortDir is a directory with a name that is short enough for a socket in it.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "r")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// logged is what is logged.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// opened is a runner of a box's in a directory, which ends with the test.
func opened(t *testing.T, dir string, box http.RoundTripper, log io.Writer) *Remote {
	t.Helper()
	r, err := Open(t.Context(), Options{Dir: dir, Name: "gpu1", Carrier: box, Program: "false", Version: "test", Now: time.Now, Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// word says something to a runner's socket.
func word(t *testing.T, dir, method, path string, body io.Reader, headers ...string) (status int, answer string) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, socketFile))
	}}
	r, err := http.NewRequestWithContext(t.Context(), method, "http://runner"+path, body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	resp, err := transport.RoundTrip(r)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp.StatusCode, err.Error()
	}
	return resp.StatusCode, string(text)
}

// A session is heard with its own token alone, and for itself; nothing is done, and nobody asked, for who has none. Agents can reach the
// socket.
func TestSocketAsksForTokens(t *testing.T) {
	dir, log := shortDir(t), &logged{}
	box := newStandIn(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	box.set(true)
	r := opened(t, dir, box, log)
	for name, token := range map[string]string{"A-1.1": "one", "B-1.1": "two", "C-1.1": ""} {
		if err := r.write(kept{Run: "R1", Token: token, Pushes: true}, name); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(r.keptPath("D-1.1"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	turn, err := json.Marshal(api.SessionReport{Seq: 1, Kind: api.ReportTurn, Turn: 1})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		method, path string
		headers      []string
		status       int
	}{
		"no token":                  {"POST", "/v1/sessions/B-1.1/report", nil, 401},
		"another session's token":   {"POST", "/v1/sessions/B-1.1/report", []string{"Authorization", "Bearer one"}, 401},
		"another scheme":            {"POST", "/v1/sessions/B-1.1/report", []string{"Authorization", "Basic two"}, 401},
		"two tokens":                {"POST", "/v1/sessions/B-1.1/report", []string{"Authorization", "Bearer two", "Authorization", "Bearer two"}, 401},
		"a path to the session":     {"POST", "/v1/sessions/..%2forders%2fB-1.1/report", []string{"Authorization", "Bearer two"}, 401},
		"a session that is none":    {"POST", "/v1/sessions/Z-9.9/report", []string{"Authorization", "Bearer two"}, 401},
		"a session without a token": {"POST", "/v1/sessions/C-1.1/report", []string{"Authorization", "Bearer "}, 401},
		"signs of life":             {"POST", "/v1/sessions/B-1.1/activity", nil, 401},
		"commands":                  {"GET", "/v1/sessions/B-1.1/commands", []string{"Authorization", "Bearer one"}, 401},
		"what can't be read":        {"POST", "/v1/sessions/D-1.1/report", []string{"Authorization", "Bearer two"}, 503},
		"the box's other routes":    {"GET", "/v1/status", []string{"Authorization", "Bearer two"}, 404},
		"a runner's route":          {"POST", "/v1/runner/hand-in", []string{"Authorization", "Bearer two"}, 404},
		"a way to another route":    {"POST", "/v1/sessions/../runner/here", []string{"Authorization", "Bearer two"}, 307},
		"another method":            {"DELETE", "/v1/sessions/B-1.1/report", []string{"Authorization", "Bearer two"}, 405},
	} {
		if status, answer := word(t, dir, c.method, c.path, bytes.NewReader(turn), c.headers...); status != c.status || strings.Contains(answer, "two") {
			t.Errorf("%s: %d %s, want %d", name, status, answer, c.status)
		}
	}
	if got := box.arrived(); len(got) != 0 {
		t.Errorf("the box was asked %q", got)
	}
	if !strings.Contains(log.String(), "session=B-1.1") || strings.Contains(log.String(), "two") {
		t.Errorf("the log says %s", log)
	}
	for range 100 { // as often as that is worth a line
		word(t, dir, "POST", "/v1/sessions/B-1.1/report", bytes.NewReader(turn))
	}
	if n := strings.Count(log.String(), "who is no session"); n > 50 {
		t.Errorf("%d lines are logged", n)
	}
	// The control: it is heard. A turn's end waits for the settings by which the work is pushed.
	if status, answer := word(t, dir, "POST", "/v1/sessions/B-1.1/activity", strings.NewReader("{}"), "Authorization", "Bearer two"); status != http.StatusOK {
		t.Errorf("signs of life: %d %s", status, answer)
	}
	if status, answer := word(t, dir, "POST", "/v1/sessions/B-1.1/report", bytes.NewReader(turn), "Authorization", "Bearer two"); status != http.StatusServiceUnavailable || !strings.Contains(answer, errNoSettings.Error()) {
		t.Errorf("a turn's end: %d %s", status, answer)
	}
	if got := box.arrived(); !slices.Equal(got, []string{"POST /v1/sessions/B-1.1/activity"}) {
		t.Errorf("the box was asked %q", got)
	}
}
