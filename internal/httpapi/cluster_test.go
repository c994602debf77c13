package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/conductor"
	"github.com/signalbox-dev/signalbox/internal/pin"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// fakeCluster is a cluster that is as a test says.
type fakeCluster struct {
	peer  *pin.Key // of the only other box
	never bool     // it has heard of none that leads

	mu      sync.Mutex
	number  uint64          // of the term
	term    context.Context // nil if this box does not lead
	carrier http.RoundTripper
	changed chan struct{}
}

// clusterOf is one with another box that has a key; this one leads.
func clusterOf(peer *pin.Key) *fakeCluster {
	return &fakeCluster{peer: peer, term: context.Background(), changed: make(chan struct{})}
}

// is has this box lead in a term, or another one reached by a carrier; neither if both are nil.
func (c *fakeCluster) is(term context.Context, carrier http.RoundTripper) *fakeCluster {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.term, c.carrier = term, carrier
	close(c.changed)
	c.changed = make(chan struct{})
	return c
}

func (c *fakeCluster) Leading() (uint64, context.Context, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.number, c.term, c.term != nil
}

func (c *fakeCluster) Leader() (http.RoundTripper, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.carrier, c.carrier != nil
}

func (c *fakeCluster) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

func (c *fakeCluster) ByKey(hash string) (access.Member, bool) {
	one := access.Member{ID: 2, Name: "b", Key: c.peer.Hash()}
	return one, hash == one.Key
}

func (c *fakeCluster) Heard() time.Time {
	if c.never {
		return time.Time{}
	}
	return time.Now().Add(-70 * time.Millisecond)
}
func (*fakeCluster) Self() access.Member {
	return access.Member{ID: 1, Name: "a", Addresses: []string{"192.0.2.1:7443"}}
}
func (*fakeCluster) Receive(uint64, []byte) {}
func (*fakeCluster) Word() api.MemberWord   { return api.MemberWord{ID: 1} }
func (*fakeCluster) Status(context.Context) (api.ClusterStatus, error) {
	return api.ClusterStatus{Self: "a"}, nil
}

// carried carries requests by a function.
type carried func(*http.Request) (*http.Response, error)

func (c carried) RoundTrip(r *http.Request) (*http.Response, error) { return c(r) }

// answers is a carrier to somebody who answers everything alike.
func answers(status int, body string) carried {
	return func(r *http.Request) (*http.Response, error) {
		if r.Body != nil {
			_, _ = io.Copy(io.Discard, r.Body)
		}
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r}, nil
	}
}

// inCluster is a server of a box, in a cluster with one other.
func inCluster(t *testing.T) (*Server, *box.Box, *fakeCluster) {
	t.Helper()
	b, c := openBox(t), clusterOf(made(t))
	return New(b, conductor.New(b.Ledger(), conductor.Options{}), nil).WithCluster(c), b, c
}

// Where a request came from is what a box of the cluster says; from anybody else that is refused, whatever they may.
func TestPassedHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b, c := inCluster(t)
		s.WithFleet(fleetOf(t), answersGit{})
		h := s.Handler()
		own, runner, guest := tokenOf(b), made(t), made(t)
		joined(t, b, "runner", runner)
		session := b.Ledger().SessionToken("x")
		passed := func(token, n, key, secure string) http.Header {
			return bearer(token, passedHeader, n, keyHeader, key, secureHeader, secure)
		}
		peer, stranger := shown(t, c.peer), shown(t, guest)
		for name, o := range map[string]struct {
			route string
			caller
			want int
		}{
			"the owner's":                     {"GET /v1/work", caller{headers: passed(own, "1", "", "true"), tls: peer}, http.StatusOK},
			"by two boxes":                    {"GET /v1/work", caller{headers: passed(own, "2", "", "true"), tls: peer}, http.StatusOK},
			"by three":                        {"GET /v1/work", caller{headers: passed(own, "3", "", "true"), tls: peer}, http.StatusBadRequest},
			"by none":                         {"GET /v1/work", caller{headers: passed(own, "0", "", "true"), tls: peer}, http.StatusBadRequest},
			"by no number":                    {"GET /v1/work", caller{headers: bearer(own, keyHeader, ""), tls: peer}, http.StatusBadRequest},
			"with a key that is none":         {"GET /v1/work", caller{headers: passed(own, "1", "x", "true"), tls: peer}, http.StatusBadRequest},
			"nobody's":                        {"GET /v1/work", caller{headers: passed("", "1", "", "true"), tls: peer}, http.StatusUnauthorized},
			"a runner's":                      {"GET /v1/runner/box", caller{headers: passed("", "1", runner.Hash(), "true"), tls: peer}, http.StatusOK},
			"a runner's, of what is not its":  {"GET /v1/work", caller{headers: passed("", "1", runner.Hash(), "true"), tls: peer}, http.StatusForbidden},
			"a guest's":                       {"GET /v1/runner/box", caller{headers: passed("", "1", guest.Hash(), "true"), tls: peer}, http.StatusUnauthorized},
			"a box's own":                     {"GET /v1/member/word", caller{headers: passed("", "1", c.peer.Hash(), "true"), tls: peer}, http.StatusOK},
			"a person's, of what is a box's":  {"GET /v1/member/word", caller{headers: passed(own, "1", "", "true"), tls: peer}, http.StatusForbidden},
			"a session's, by its runner":      {"GET /v1/sessions/{session}/commands", caller{headers: passed(session, "1", runner.Hash(), "true"), tls: peer}, 0},
			"a session's, of another machine": {"GET /v1/sessions/{session}/commands", caller{headers: passed(session, "1", "", "true"), tls: peer}, http.StatusForbidden},
			"a session's, of that machine":    {"GET /v1/sessions/{session}/commands", caller{headers: passed(session, "1", "", "false"), tls: peer}, 0},
			"said by the owner":               {"GET /v1/work", caller{headers: passed(own, "1", "", "true")}, http.StatusForbidden},
			"said by the owner, over TLS":     {"GET /v1/work", caller{headers: passed(own, "1", "", "true"), tls: shown(t, nil)}, http.StatusForbidden},
			"said by a guest":                 {"GET /v1/work", caller{headers: passed(own, "1", "", "true"), tls: stranger}, http.StatusForbidden},
			"said by a runner":                {"GET /v1/runner/box", caller{headers: passed("", "1", c.peer.Hash(), "true"), tls: shown(t, runner)}, http.StatusForbidden},
			"a key, said by a runner":         {"GET /v1/runner/box", caller{headers: bearer("", keyHeader, c.peer.Hash()), tls: shown(t, runner)}, http.StatusForbidden},
			"a place, said by a session":      {"GET /v1/sessions/{session}/commands", caller{headers: bearer(session, secureHeader, "false"), tls: shown(t, nil)}, http.StatusForbidden},
		} {
			status, answer := calledOver(t, h, o.route, "x", o.caller)
			if o.want == 0 && status != http.StatusUnauthorized && status != http.StatusForbidden {
				continue
			}
			if status != o.want {
				t.Errorf("%s: %d %s, want %d", name, status, answer, o.want)
			}
		}
	})
}

// askOf makes a request with the owner's token, by the test's own time.
func askOf(t *testing.T, s *Server, method, target string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader("{}"))
	r.Header = bearer(tokenOf(s.box), headers...)
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

// Without a box that leads a request waits for one, and is told after a while that nobody knows: clients ask again. Once there is one it answers.
func TestNoLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, c := inCluster(t)
		c.is(context.Context(nil), nil)
		for _, route := range []string{"GET /v1/runs", "POST /v1/work", "GET /v1/work"} {
			s.catches = func(context.Context) error { return errors.New("nobody answers") }
			method, path, _ := strings.Cut(route, " ")
			began := time.Now()
			w := askOf(t, s, method, path)
			if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), `"code":"`+api.CodeNoLeader+`"`) {
				t.Errorf("%s: %d %s", route, w.Code, w.Body)
			}
			if took := time.Since(began); took < leaderPatience || took > leaderPatience+foldPatience {
				t.Errorf("%s: it took %v", route, took)
			}
		}
		time.AfterFunc(time.Second, func() { c.is(context.Context(nil), answers(http.StatusOK, "elsewhere")) })
		began := time.Now()
		if w := askOf(t, s, http.MethodGet, "/v1/runs"); w.Code != http.StatusOK || w.Body.String() != "elsewhere" || time.Since(began) != time.Second {
			t.Errorf("when another box leads: %d %s after %v", w.Code, w.Body, time.Since(began))
		}
		c.is(context.Context(nil), nil)
		time.AfterFunc(time.Second, func() { c.is(context.Background(), nil) })
		s.catches = s.box.CatchUp
		if w := askOf(t, s, http.MethodGet, "/v1/runs"); w.Code != http.StatusOK || w.Body.String() == "elsewhere" {
			t.Errorf("when this box leads: %d %s", w.Code, w.Body)
		}
		c.is(context.Context(nil), nil)
		s.catches = func(context.Context) error { return errors.New("nobody answers") }
		for _, route := range answeredHere[:4] { // what is about this box needs no other
			method, path, _ := strings.Cut(route, " ")
			if began := time.Now(); askOf(t, s, method, path).Code == http.StatusServiceUnavailable && path != "/metrics" || time.Since(began) != 0 {
				t.Errorf("%s waits for another box", route)
			}
		}
	})
}

// Who leads makes sure that it still does before it answers what is read, and a renewal; what is recorded needs no such thing. Others answer what they have folded,
// once that is all, and have the box that leads answer if it takes too long; or at once, and say how old it is, if they are asked to.
func TestReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b, c := inCluster(t)
		caught := 0
		s.catches = func(context.Context) error { caught++; return nil }
		if _, err := b.Add(t.Context(), work.OperatorActor, api.AddWork{ID: "T-0", Title: "x", Phase: agentsig.PhaseImplementation}, ""); err != nil {
			t.Fatal(err)
		}
		grant, err := b.Claim(t.Context(), api.Claim{Work: "T-0", Actor: "agent"}, "")
		if err != nil {
			t.Fatal(err)
		}
		if w := askOf(t, s, http.MethodPost, "/v1/sessions/"+grant.Session+"/renew"); w.Code != http.StatusOK || caught != 1 {
			t.Errorf("a lease that is renewed: %d %s, it looked %d times", w.Code, w.Body, caught)
		}
		for route, want := range map[string]int{
			"GET /v1/work": 1, "GET /v1/runs": 1, "GET /v1/questions": 1, "POST /v1/work": 0, "POST /v1/claims": 0, "GET /v1/status": 0, "GET /v1/work?stale=ok": 0,
		} {
			caught = 0
			method, path, _ := strings.Cut(route, " ")
			if askOf(t, s, method, path); caught != want {
				t.Errorf("%s, at the box that leads: it looked %d times", route, caught)
			}
		}
		c.is(context.Context(nil), answers(http.StatusOK, "elsewhere"))
		for route, want := range map[string]bool{"GET /v1/work": true, "GET /v1/events": true, "GET /v1/tokens": true, "GET /v1/runs": false, "POST /v1/work": false, "POST /v1/claims": false} {
			method, path, _ := strings.Cut(route, " ")
			if w := askOf(t, s, method, path); (w.Body.String() != "elsewhere") != want {
				t.Errorf("%s, at another box: %d %s", route, w.Code, w.Body)
			}
		}
		s.catches = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		began := time.Now()
		if w := askOf(t, s, http.MethodGet, "/v1/work"); w.Body.String() != "elsewhere" || time.Since(began) != foldPatience {
			t.Errorf("what another box can't know: %s after %v", w.Body, time.Since(began))
		}
		began = time.Now()
		w := askOf(t, s, http.MethodGet, "/v1/work?stale=ok")
		if w.Code != http.StatusOK || time.Since(began) != 0 || w.Header().Get(api.EventsHeader) != fmt.Sprint(s.box.Folded()) || w.Header().Get(api.AgeHeader) != "70" {
			t.Errorf("what may be old: %d %v after %v", w.Code, w.Header(), time.Since(began))
		}
		for _, path := range []string{"/v1/runs?stale=ok", "/v1/runs/latest?stale=ok", "/v1/questions?stale=ok"} {
			if w := askOf(t, s, http.MethodGet, path); w.Body.String() == "elsewhere" || w.Code < 400 && w.Header().Get(api.AgeHeader) != "70" {
				t.Errorf("%s: %d %v %s", path, w.Code, w.Header(), w.Body)
			}
		}
		if w := askOf(t, s, http.MethodGet, "/v1/runs/latest/watch?stale=ok"); w.Body.String() != "elsewhere" {
			t.Errorf("what goes on: %s", w.Body)
		}
		c.never = true
		if w := askOf(t, s, http.MethodGet, "/v1/work?stale=ok"); w.Code != http.StatusOK || w.Header().Values(api.AgeHeader) != nil || w.Header().Get(api.EventsHeader) == "" {
			t.Errorf("of a box that has heard of none that leads: %d %v", w.Code, w.Header())
		}
	})
}

// What was recorded at another box a moment ago counts: who was let in there gets in here, and whose token was revoked there reads nothing.
func TestMomentAgo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b, c := inCluster(t)
		late := made(t)
		s.catches = func(context.Context) error {
			if _, known := b.RunnerByKey(late.Hash()); !known {
				joined(t, b, "runner", late)
			}
			return nil
		}
		s.WithFleet(fleetOf(t), answersGit{})
		if status, answer := calledOver(t, s.Handler(), "GET /v1/runner/box", "x", caller{headers: bearer(""), tls: shown(t, late)}); status != http.StatusOK {
			t.Errorf("a runner that has just joined: %d %s", status, answer)
		}
		c.is(context.Context(nil), answers(http.StatusOK, "elsewhere"))
		token := newToken(t, b, "ci", 0, access.Read)
		h := s.Handler()
		s.catches = func(context.Context) error { return nil }
		if status, answer := called(t, h, "GET /v1/work", "", bearer(token)); status != http.StatusOK {
			t.Errorf("a token: %d %s", status, answer)
		}
		s.catches = func(context.Context) error {
			_, err := b.RevokeToken("ci", "")
			return err
		}
		if status, answer := called(t, h, "GET /v1/work", "", bearer(token)); status != http.StatusUnauthorized {
			t.Errorf("a token that was just revoked: %d %s", status, answer)
		}
	})
}

// The tools ask for a client with the owner's token, so nobody asks later whether its own is good: a box that can't know that offers them to no client.
func TestToolsAfterRevoked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b, c := inCluster(t)
		offered := 0
		s.WithTools(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { offered++ }))
		c.is(context.Context(nil), answers(http.StatusOK, "elsewhere"))
		h, token := s.Handler(), newToken(t, b, "ci", 0, access.Operate)
		for name, o := range map[string]struct {
			token   string
			catches error
			status  int
			offered int
		}{
			"a client's":                        {token, nil, http.StatusOK, 1},
			"a client's, and the box is behind": {token, errors.New("nobody answers"), http.StatusServiceUnavailable, 0},
			"the owner's, and it is behind":     {tokenOf(b), errors.New("nobody answers"), http.StatusOK, 1},
		} {
			offered, s.catches = 0, func(context.Context) error { return o.catches }
			if status, answer := called(t, h, "POST "+ToolsPath, "", bearer(o.token)); status != o.status || offered != o.offered {
				t.Errorf("%s: %d %s, offered %d times", name, status, answer, offered)
			}
		}
		offered, s.catches = 0, func(context.Context) error {
			_, err := b.RevokeToken("ci", "")
			return err
		}
		if status, answer := called(t, h, "POST "+ToolsPath, "", bearer(token)); status != http.StatusUnauthorized || offered != 0 {
			t.Errorf("a token that was just revoked: %d %s, offered %d times", status, answer, offered)
		}
	})
}

// What is under way at a box ends when it leads no more, and the client asks again.
func TestDeposed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b, c := inCluster(t)
		term, end := context.WithCancel(t.Context())
		c.is(term, nil)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/claims", strings.NewReader(`{"actor":"ann","wait":true}`))
		r.Header = bearer(tokenOf(b))
		w := httptest.NewRecorder()
		over := make(chan struct{})
		go func() {
			defer close(over)
			s.Handler().ServeHTTP(w, r)
		}()
		synctest.Wait()
		select {
		case <-over:
			t.Fatalf("a claim does not wait: %d %s", w.Code, w.Body)
		default:
		}
		end()
		<-over
		if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), api.CodeStopping) && !strings.Contains(w.Body.String(), api.CodeNoLeader) {
			t.Errorf("a claim at a box that leads no more: %d %s", w.Code, w.Body)
		}
	})
}

// overSockets lets a box that does not lead answer on a socket; who leads is a handler on another one.
func overSockets(t *testing.T, leader http.HandlerFunc) (address, token string) {
	t.Helper()
	s, b, c := inCluster(t)
	far := httptest.NewServer(leader)
	t.Cleanup(far.Close)
	to, err := url.Parse(far.URL)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	c.is(context.Context(nil), carried(func(r *http.Request) (*http.Response, error) {
		r = r.Clone(r.Context())
		r.URL.Scheme, r.URL.Host = "http", to.Host
		return transport.RoundTrip(r)
	}))
	l, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String(), tokenOf(b)
}

func send(t *testing.T, ctx context.Context, address, token, method, path string, body io.Reader) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, "http://"+address+path, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = bearer(token, api.KeyHeader, "k1", "X-Other", "kept")
	r.Close = true
	return http.DefaultClient.Do(r)
}

// A request goes to the box that leads as it came, with a body of any size, and its answer comes back as it was.
func TestPassOn(t *testing.T) {
	type seen struct {
		path, body, key, other, passed, secure, token string
	}
	var mu sync.Mutex
	var last seen
	address, token := overSockets(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		last = seen{r.URL.RequestURI(), string(body), r.Header.Get(api.KeyHeader), r.Header.Get("X-Other"), r.Header.Get(passedHeader), r.Header.Get(secureHeader), r.Header.Get("Authorization")}
		mu.Unlock()
		if len(r.Header.Values(keyHeader)) != 0 {
			t.Error("a key was passed on, and there was none")
		}
		w.Header().Set("X-Answer", "kept")
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write(bytes.Repeat([]byte("y"), len(body)))
	})
	for _, size := range []int{0, 1, 4095, 64 << 10} {
		for _, hides := range []bool{false, true} { // its length
			var body io.Reader = strings.NewReader(strings.Repeat("x", size))
			if hides {
				body = io.MultiReader(body)
			}
			resp, err := send(t, t.Context(), address, token, http.MethodPost, "/v1/work?a=b%20c", body)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil || resp.StatusCode != http.StatusTeapot || len(got) != size || resp.Header.Get("X-Answer") != "kept" {
				t.Errorf("%d bytes: %d, %d bytes, %v", size, resp.StatusCode, len(got), err)
			}
			mu.Lock()
			if want := (seen{"/v1/work?a=b%20c", strings.Repeat("x", size), "k1", "kept", "1", "false", "Bearer " + token}); last != want {
				t.Errorf("%d bytes: %.300q arrived", size, fmt.Sprint(last))
			}
			mu.Unlock()
		}
	}
	resp, err := send(t, t.Context(), address, token, http.MethodPost, "/v1/work", strings.NewReader(strings.Repeat("x", 64<<10+1)))
	if err != nil {
		t.Fatal(err)
	}
	if _ = resp.Body.Close(); resp.StatusCode != http.StatusRequestEntityTooLarge && resp.StatusCode != http.StatusBadRequest {
		t.Errorf("a body that is too large: %d", resp.StatusCode)
	}
}

// An answer comes piece by piece, as it is made; and a client that goes ends the request at the box that leads.
func TestPassOnStreams(t *testing.T) {
	gone := make(chan struct{})
	address, token := overSockets(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // a server notices only after this that somebody is gone
		_, _ = io.WriteString(w, "first")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		gone <- struct{}{}
	})
	for _, c := range []struct {
		method, path string
		body         io.Reader
	}{{http.MethodGet, "/v1/runs/x/watch", nil}, {http.MethodPost, "/v1/claims", strings.NewReader(`{"actor":"ann","wait":true}`)}} {
		ctx, leave := context.WithCancel(t.Context())
		resp, err := send(t, ctx, address, token, c.method, c.path, c.body)
		if err != nil {
			t.Fatal(err)
		}
		piece := make([]byte, 5)
		if _, err := io.ReadFull(resp.Body, piece); err != nil || string(piece) != "first" {
			t.Errorf("the first piece: %q, %v", piece, err)
		}
		leave()
		<-gone
		_ = resp.Body.Close()
	}
}

// If the box that leads dies before it answers, nobody knows, and the client asks again; in the middle, what came is never taken for all of it.
func TestLeaderDies(t *testing.T) {
	address, token := overSockets(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("how") {
		case "length":
			w.Header().Set("Content-Length", "10")
			fallthrough
		case "pieces":
			_, _ = io.WriteString(w, "half")
			_ = http.NewResponseController(w).Flush()
		}
		panic(http.ErrAbortHandler)
	})
	resp, err := send(t, t.Context(), address, token, http.MethodPost, "/v1/work", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(resp.Body)
	if _ = resp.Body.Close(); err != nil || resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(answer), `"code":"`+api.CodeUnknown+`"`) {
		t.Errorf("before it answers: %d %s, %v", resp.StatusCode, answer, err)
	}
	for _, how := range []string{"length", "pieces"} {
		resp, err := send(t, t.Context(), address, token, http.MethodPost, "/v1/work?how="+how, strings.NewReader("{}"))
		if err != nil {
			continue // it may come before the head
		}
		answer, err := io.ReadAll(resp.Body)
		if _ = resp.Body.Close(); err == nil {
			t.Errorf("by %s: %q is all of it", how, answer)
		}
	}
}

func (c *fakeCluster) Introduced(string, ledger.Proof) error { return nil }

func (c *fakeCluster) Linked() []access.Member { return nil }

// Strangers who introduce themselves without end keep neither runners nor boxes from joining, nor a member from introducing itself: it may be the only one that can
// tell this one.
func TestManyIntroductions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, _ := inCluster(t)
		h := s.Handler()
		for range 3 * joinsAtOnce {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, introducePath, strings.NewReader(`{"proof":{}}`))
			r.TLS = shown(t, made(t))
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, r); w.Code == http.StatusTooManyRequests || strings.Contains(w.Body.String(), errManyJoins.Error()) {
				t.Fatalf("an introduction: %d %s", w.Code, w.Body)
			}
		}
		if _, ok := s.joins.Take(time.Now()); !ok {
			t.Error("nobody can join")
		}
	})
}

// A box that stands alone says so to whoever would change its cluster, as to who looks at it.
func TestStandsAlone(t *testing.T) {
	b := openBox(t)
	s := New(b, conductor.New(b.Ledger(), conductor.Options{}), nil)
	for _, route := range []string{"GET /v1/cluster", "POST /v1/cluster/members", "POST /v1/cluster/members/x/leave"} {
		method, path, _ := strings.Cut(route, " ")
		if w := askOf(t, s, method, path); w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "stands alone") {
			t.Errorf("%s: %d %s", route, w.Code, w.Body)
		}
	}
}
