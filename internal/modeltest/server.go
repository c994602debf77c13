package modeltest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	maxBody       = 96 << 20 // a history can hold what was flooded
	maxRequests   = 500
	maxUnexpected = 100
	maxRemembered = 64 << 10 // of a text
)

// Server answers out of scripts. It must be closed.
type Server struct {
	scripts []Script
	http    *http.Server
	url     string
	running sync.WaitGroup

	mu         sync.Mutex
	closed     bool
	ids        int
	tries      map[place]int
	holds      map[string]*hold
	requests   []*Request
	unexpected []*Request
	cut        int
	drip       bool
}

// hold is a place where replies wait.
type hold struct{ reached, released chan struct{} }

// Request is something that the server was asked.
type Request struct {
	Wire  string // anthropic, responses, chat, gemini; empty for what is none of them
	Path  string // with its method: "POST /v1/messages"
	Model string
	// Prompt is the user's newest text, Results what tools have given since the newest
	// reply, System the instructions. Each is cut at 64 KiB.
	Prompt  string
	Results []string
	System  string
	// Messages counts the history: each text of the user, reply and result is one.
	Messages int
	// Conversation, Turn and Reply say which reply was meant; the first is 1.
	Conversation string
	Turn, Reply  int
	// Side is set for what a program asks on its own account.
	Side bool
	// Problem says why the request was not expected, or is empty.
	Problem string
	// At is when the request arrived, Done when the newest piece of its answer set out: of
	// one that has ended, the last. It is never later than the client can know of it.
	At, Done time.Time
}

// Start serves the scripts on a port of its own on 127.0.0.1. Of conversations that fit a
// request the first is meant.
func Start(scripts ...Script) (*Server, error) {
	var listen net.ListenConfig
	l, err := listen.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("model server: %w", err)
	}
	s := &Server{
		scripts: scripts,
		url:     "http://" + l.Addr().String(),
		tries:   map[place]int{},
		holds:   map[string]*hold{},
		cut:     -1,
	}
	s.http = &http.Server{
		Handler:           http.HandlerFunc(s.handle),
		ReadHeaderTimeout: time.Minute,
	}
	s.running.Go(func() {
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.remember(&Request{At: time.Now(), Problem: "the server has ended: " + err.Error()})
		}
	})
	return s, nil
}

// URL is where the server is, without a path: "http://127.0.0.1:1234".
func (s *Server) URL() string { return s.url }

// Close ends the server and every reply that is under way.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	err := s.http.Close()
	s.running.Wait()
	return err
}

// Cut has every content of the replies to come sent in two pieces, the first of that many
// bytes, fewer where these would end within a character. What is shorter is sent whole. It
// comes before what the script says of pieces, until it is called with less than 0.
func (s *Server) Cut(bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut = bytes
}

// Drip has the answers to come sent byte by byte, each byte on its own, or no longer.
func (s *Server) Drip(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drip = on
}

// enter counts a request as running, unless the server is being closed.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.running.Add(1)
	}
	return !s.closed
}

// Release lets replies go on that wait under this name, and all that come to it later.
func (s *Server) Release(name string) {
	h := s.hold(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	closeOnce(h.released)
}

// Reached is closed when a reply has come to wait under this name.
func (s *Server) Reached(name string) <-chan struct{} { return s.hold(name).reached }

func (s *Server) hold(name string) *hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holds[name] == nil {
		s.holds[name] = &hold{make(chan struct{}), make(chan struct{})}
	}
	return s.holds[name]
}

func (s *Server) reach(h *hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	closeOnce(h.reached)
}

func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

// Requests is what was asked, oldest first: the newest 500.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return values(s.requests)
}

// Unexpected is what the script does not provide for, oldest first, up to 100. A test
// fails if there is any.
func (s *Server) Unexpected() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return values(s.unexpected)
}

func values(requests []*Request) []Request {
	var all []Request
	for _, r := range requests {
		all = append(all, *r)
	}
	return all
}

// remember keeps a request. From then on only its Done changes, under the lock.
func (s *Server) remember(r *Request) {
	r.Prompt, r.System = cut(r.Prompt), cut(r.System)
	r.Results = slices.Clone(r.Results)
	for i := range r.Results {
		r.Results[i] = cut(r.Results[i])
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.requests) == maxRequests {
		s.requests = slices.Delete(s.requests, 0, 1)
	}
	s.requests = append(s.requests, r)
	if r.Problem != "" && len(s.unexpected) < maxUnexpected {
		s.unexpected = append(s.unexpected, r)
	}
}

func cut(text string) string {
	if len(text) > maxRemembered {
		return strings.Clone(text[:maxRemembered])
	}
	return text
}

func (s *Server) handle(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		panic(http.ErrAbortHandler)
	}
	defer s.running.Done()
	seen := &Request{Path: r.Method + " " + r.URL.Path, At: time.Now()}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if large := (*http.MaxBytesError)(nil); err != nil && !errors.As(err, &large) {
		panic(http.ErrAbortHandler) // the client went away in the middle of it
	}
	if err != nil {
		seen.Problem = "the body can't be read: " + err.Error()
		s.remember(seen)
		http.Error(w, "the request is too large", http.StatusRequestEntityTooLarge)
		return
	}
	w = s.sender(w, seen)
	p := r.URL.Path
	post := r.Method == http.MethodPost
	gemName, gemVerb, _ := strings.Cut(p[strings.LastIndex(p, "/")+1:], ":")
	switch {
	case post && strings.HasSuffix(p, "/messages"):
		s.answer(w, r, anthropic{}, &ask{}, body, seen)
	case post && strings.HasSuffix(p, "/chat/completions"):
		s.answer(w, r, chat{}, &ask{}, body, seen)
	case post && strings.HasSuffix(p, "/responses"):
		s.answer(w, r, responses{}, &ask{}, body, seen)
	case post && (gemVerb == "generateContent" || gemVerb == "streamGenerateContent"):
		s.answer(w, r, gemini{}, &ask{model: gemName, stream: gemVerb != "generateContent"}, body, seen)
	default:
		s.probe(w, r, seen)
	}
}

// probe answers what is not about a reply.
func (s *Server) probe(w http.ResponseWriter, r *http.Request, seen *Request) {
	p := r.URL.Path
	status, body := http.StatusOK, object{}
	switch {
	case strings.HasSuffix(p, "/count_tokens"):
		body = object{"input_tokens": 100}
	case strings.HasSuffix(p, ":countTokens"):
		body = object{"totalTokens": 100}
	case strings.HasSuffix(p, "/v1beta/models"):
		body = object{"models": []any{object{"name": "models/scripted", "displayName": "Scripted",
			"supportedGenerationMethods": []string{"generateContent", "countTokens"}}}}
	case strings.HasSuffix(p, "/models"):
		body = object{"object": "list", "has_more": false, "first_id": "scripted", "last_id": "scripted",
			"data": []any{object{"id": "scripted", "object": "model", "type": "model", "created": 0,
				"owned_by": "script", "display_name": "Scripted", "created_at": "1970-01-01T00:00:00Z"}}}
	case r.Header.Get("Upgrade") != "":
		status, body = http.StatusUpgradeRequired, object{"error": object{"message": "no websocket here: ask by POST"}}
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		if p != "/" {
			status, body = http.StatusNotFound, object{"error": object{"message": "nothing here"}}
		}
	default:
		seen.Problem = "the path is none of a model's"
		status, body = http.StatusNotFound, object{"error": object{"message": seen.Problem}}
	}
	s.remember(seen)
	sendJSON(w, status, body)
}

func sendJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encode(body)) // a client that has gone needs no answer
}

// refuse answers what the script does not provide for. The status is one that clients
// do not try again.
func (s *Server) refuse(w http.ResponseWriter, form wire, seen *Request, err error) {
	seen.Problem = err.Error()
	s.remember(seen)
	sendJSON(w, http.StatusBadRequest, form.failure(http.StatusBadRequest, seen.Problem))
}

// nextID is unique for the server.
func (s *Server) nextID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids++
	return fmt.Sprintf("%024d", s.ids)
}

// try counts the attempts at a reply and tells how many there were before.
func (s *Server) try(at place) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tries[at]++
	return s.tries[at] - 1
}
