package httpapi

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/conductor"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/fleet"
	"github.com/signalbox-dev/signalbox/internal/gitserver"
	"github.com/signalbox-dev/signalbox/internal/mailbox"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// whoMay says who may call each route, besides the owner: r is who has the scope read, a answer, o operate, b both of these, m metrics, s the session that
// the route is about, R a runner, P another box of the cluster, G who has a key alone; g is the gate, and nobody else. Nothing here is made of the routes.
var whoMay = map[string]string{
	"GET /metrics":                         "m",
	"GET /v1/status":                       "rao",
	"GET /v1/work":                         "rao",
	"POST /v1/work":                        "o",
	"GET /v1/work/{id}":                    "rao",
	"POST /v1/work/{id}/override":          "b",
	"POST /v1/work/{id}/gate":              "g",
	"POST /v1/claims":                      "o",
	"POST /v1/sessions/{session}/renew":    "o",
	"POST /v1/sessions/{session}/release":  "o",
	"POST /v1/sessions/{session}/emit":     "o",
	"POST /v1/sessions/{session}/report":   "os",
	"POST /v1/sessions/{session}/activity": "os",
	"GET /v1/sessions/{session}/commands":  "os",
	"POST /v1/conversations":               "o",
	"GET /v1/conversations/{id}":           "rao",
	"POST /v1/conversations/{id}/signals":  "o",
	"POST /v1/conversations/{id}/calls":    "o",
	"POST /v1/conversations/{id}/results":  "o",
	"POST /v1/conversations/{id}/end":      "o",
	"GET /v1/events":                       "rao",
	"GET /v1/events/{sequence}/proof":      "rao",
	"GET /v1/runs":                         "rao",
	"POST /v1/runs":                        "o",
	"GET /v1/runs/{run}":                   "rao",
	"GET /v1/runs/{run}/watch":             "rao",
	"POST /v1/runs/{run}/pause":            "o",
	"POST /v1/runs/{run}/resume":           "o",
	"POST /v1/runs/{run}/cancel":           "o",
	"POST /v1/clean":                       "o",
	"GET /v1/questions":                    "rao",
	"POST /v1/questions/{question}/answer": "a",
	"POST /v1/work/{id}/tell":              "o",
	"GET /v1/work/{id}/review":             "rao",
	"POST /v1/work/{id}/review":            "a",
	"POST /v1/work/{id}/take":              "o",
	"POST /v1/work/{id}/give":              "o",
	"POST /v1/work/{id}/cancel":            "o",
	"POST /v1/work/{id}/retry":             "o",
	"GET /v1/tokens":                       "",
	"POST /v1/tokens":                      "",
	"POST /v1/tokens/{id}/revoke":          "",
	"POST /v1/page":                        "",
	"GET /v1/runners":                      "rao",
	"POST /v1/runners":                     "",
	"POST /v1/runners/{name}/drain":        "o",
	"POST /v1/runners/{name}/remove":       "",
	"POST /v1/runner/join":                 "RG",

	"GET /v1/cluster": "rao",

	"POST /v1/cluster/members":              "",
	"POST /v1/cluster/members/{name}/leave": "",
	"POST /v1/cluster/join":                 "RG",
	"POST /v1/member/rejoin":                "P",
	"POST /v1/member/introduce":             "RG",
	"POST /v1/member/conductor/{method}":    "P",
	"POST /v1/member/home/{method}":         "P",
	"GET /v1/member/home/git/{path...}":     "P",
	"POST /v1/member/home/git/{path...}":    "P",
	"POST /v1/member/messages":              "P",
	"GET /v1/member/files/{name...}":        "P",
	"GET /v1/member/word":                   "P",

	"POST /v1/runner/here":                                  "R",
	"GET /v1/runner/box":                                    "R",
	"GET /v1/runner/orders":                                 "R",
	"POST /v1/runner/hand-in":                               "R",
	"POST /v1/runner/said":                                  "R",
	"POST /v1/runner/done":                                  "R",
	"POST /v1/runner/answer":                                "R",
	"POST /v1/runner/mail":                                  "R",
	"POST /v1/runner/ref":                                   "R",
	"GET /v1/runner/git/fetch/{order}/{path...}":            "R",
	"POST /v1/runner/git/fetch/{order}/{path...}":           "R",
	"GET /v1/runner/git/push/{session}/{number}/{path...}":  "R",
	"POST /v1/runner/git/push/{session}/{number}/{path...}": "R",

	"POST /mcp": "rao",
}

// caller is somebody who makes requests.
type caller struct {
	name    string
	headers http.Header
	is      string // letters of whoMay; O is the owner, n is who may nothing, and - is nobody
	tls     *tls.ConnectionState
}

func bearer(token string, more ...string) http.Header {
	h := http.Header{}
	if token != "" {
		h.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(more); i += 2 {
		h.Add(more[i], more[i+1])
	}
	return h
}

// newToken has a token made, as the owner.
func newToken(t *testing.T, b *box.Box, name string, ttl time.Duration, scopes ...access.Scope) string {
	t.Helper()
	made, err := b.CreateToken(api.NewToken{Name: name, Scopes: scopes, TTLMS: ttl.Milliseconds()}, "")
	if err != nil {
		t.Fatal(err)
	}
	return made.Secret
}

// callers lists every kind of principal, and who is none.
func callers(t *testing.T, b *box.Box) []caller {
	t.Helper()
	own, gate := b.Tokens()
	all := []caller{
		{"the owner", bearer(own), "O", nil},
		{"the gate", bearer(gate), "g", nil},
		{"nobody", bearer(""), "-", nil},
		{"an unknown token", bearer(access.Secret([32]byte{1})), "-", nil},
		{"an empty token", http.Header{"Authorization": {"Bearer "}}, "-", nil},
		{"another scheme", http.Header{"Authorization": {"Basic " + own}}, "-", nil},
		{"half the owner's token", bearer(own[:len(own)/2]), "-", nil},
	}
	for is, scopes := range map[string][]access.Scope{
		"r": {access.Read}, "a": {access.Answer}, "o": {access.Operate}, "m": {access.Metrics},
		"ra": {access.Read, access.Answer}, "ro": {access.Read, access.Operate}, "aob": {access.Answer, access.Operate}, "rm": {access.Read, access.Metrics},
	} {
		all = append(all,
			caller{"a token for " + access.Words(scopes, "+"), bearer(newToken(t, b, is, 0, scopes...)), is, nil},
			caller{"the owner for a client with " + access.Words(scopes, "+"), bearer(own, api.ClientHeader, "x", api.ScopesHeader, access.Words(scopes, " ")), is, nil})
	}
	all = append(all,
		caller{"the session", bearer(b.Ledger().SessionToken("x")), "s", nil},
		caller{"another session", bearer(b.Ledger().SessionToken("y")), "n", nil},
		caller{"a session that is none", bearer(b.Ledger().SessionToken("x") + "0"), "-", nil})
	all = append(all, overTLS(t, b)...)
	revoked := newToken(t, b, "revoked", 0, access.Operate)
	if _, err := b.RevokeToken("revoked", ""); err != nil {
		t.Fatal(err)
	}
	expired := newToken(t, b, "expired", time.Minute, access.Operate)
	time.Sleep(time.Minute) // of the test's own time
	return append(all, caller{"a revoked token", bearer(revoked), "-", nil}, caller{"an expired token", bearer(expired), "-", nil})
}

// expected is how a request is answered, as far as it is about who makes it: 0 if they may.
func expected(c caller, may string) int {
	switch {
	case c.is == "O" && may != "g" && !strings.ContainsAny(may, "RP"), strings.ContainsAny(may, c.is):
		return 0
	case strings.HasPrefix(c.is, "-"):
		return http.StatusUnauthorized
	}
	return http.StatusForbidden
}

// called makes a request of a route, with a body that is none, and returns the status and the answer.
func called(t *testing.T, h http.Handler, pattern, session string, headers http.Header) (int, string) {
	t.Helper()
	return calledOver(t, h, pattern, session, caller{headers: headers})
}

// calledOver does the same over the caller's connection.
func calledOver(t *testing.T, h http.Handler, pattern, session string, c caller) (int, string) {
	t.Helper()
	method, path, _ := strings.Cut(pattern, " ")
	path = strings.NewReplacer("{session}", session, "{id}", "x", "{run}", "x", "{question}", "x", "{name}", "x", "{order}", ordered.Name(), "{number}", "1", "{path...}", "info/refs", "{name...}", "checkpoint").Replace(path)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader("[]"))
	r.Header, r.TLS = c.headers.Clone(), c.tls
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// atHome is a box's own runner that has nothing to do.
type atHome struct{ fleet.Home }

func (atHome) Share(context.Context, order.Order) ([]string, error) { return nil, nil }

func (atHome) Elsewhere(session string) string { return map[string]string{"x": "runner"}[session] }

// answersGit takes whatever is asked of it.
type answersGit struct{}

func (answersGit) Serve(http.ResponseWriter, *http.Request, string, gitserver.Access) {}

// ordered is what the runner has to do.
var ordered = order.Order{Command: delivery.Command{ID: "gate/x", Do: delivery.DoGate, Runner: "runner"}}

// fleetOf is one in which the runner has that order, and had the session x.
func fleetOf(t *testing.T) *fleet.Fleet {
	t.Helper()
	f := fleet.New(fleet.Options{
		Home: atHome{}, Mail: mailbox.New(), Known: func() []fleet.Known { return []fleet.Known{{Name: "runner"}} }, Runs: func() []string { return nil },
		Lost: time.Hour, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _ = f.CarryOut(ctx, ordered) }()
	t.Cleanup(func() {
		cancel()
		f.Stop()
	})
	synctest.Wait()
	return f
}

// Every route is held against every principal.
func TestWhoMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openBox(t)
		tools := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if asks := Asks(r); asks.Kind != access.Owner && (asks.Kind != access.Client || asks.Name == "" || len(asks.Scopes) == 0) {
				t.Errorf("the tools are used by %+v", asks)
			}
		})
		s := New(b, conductor.New(b.Ledger(), conductor.Options{}), nil).WithTools(tools).WithFleet(fleetOf(t), answersGit{})
		peer := made(t)
		s.WithCluster(clusterOf(peer)).WithHomes(Homes{Home: http.NotFoundHandler(), Conductor: http.NotFoundHandler()})
		h, all := s.Handler(), callers(t, b)
		all = append(all,
			caller{"a box of the cluster", bearer(""), "P", shown(t, peer)},
			caller{"a box of the cluster with the owner's token", bearer(tokenOf(b)), "P", shown(t, peer)},
			caller{"a box of the cluster with the session's token", bearer(b.Ledger().SessionToken("x")), "P", shown(t, peer)})
		for _, r := range s.all() {
			may, ok := whoMay[r.pattern]
			if !ok {
				t.Errorf("nobody has said who may call %s: add it to whoMay", r.pattern)
				continue
			}
			for _, c := range all {
				status, answer := calledOver(t, h, r.pattern, "x", c)
				if status != http.StatusUnauthorized && status != http.StatusForbidden {
					status = 0
				}
				if want := expected(c, may); status != want {
					t.Errorf("%s calls %s: %d %s, want %d", c.name, r.pattern, status, answer, want)
				}
				code := map[int]string{http.StatusUnauthorized: `"code":"unauthorized"`, http.StatusForbidden: `"code":"forbidden"`}[status]
				if !strings.Contains(answer, code) {
					t.Errorf("%s calls %s, and is told %s", c.name, r.pattern, answer)
				}
			}
		}
		for pattern := range whoMay {
			if !slices.ContainsFunc(s.all(), func(r route) bool { return r.pattern == pattern }) {
				t.Errorf("there is no route %s", pattern)
			}
		}
	})
}

// A box that stands alone knows no other, and has none of the routes for them; it says so to who asks how its cluster is, or would change it.
func TestNoCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openBox(t)
		s := New(b, conductor.New(b.Ledger(), conductor.Options{}), nil)
		alone := []string{"GET /v1/cluster", "POST /v1/cluster/members", "POST /v1/cluster/members/{name}/leave"}
		for _, r := range s.all() {
			if (strings.Contains(r.pattern, "/v1/cluster") || strings.Contains(r.pattern, "/v1/member")) && !slices.Contains(alone, r.pattern) {
				t.Errorf("it answers %s", r.pattern)
			}
		}
		if status, answer := called(t, s.Handler(), "GET /v1/cluster", "", bearer(tokenOf(b))); status != http.StatusConflict || !strings.Contains(answer, "stands alone") {
			t.Errorf("%d %s", status, answer)
		}
		for _, header := range []string{passedHeader, keyHeader, secureHeader} {
			if status, answer := called(t, s.Handler(), "GET /v1/status", "", bearer(tokenOf(b), header, "1")); status != http.StatusForbidden {
				t.Errorf("%s: %d %s", header, status, answer)
			}
		}
	})
}

// Only the owner speaks for a client, and says whose name and which scopes.
func TestSpeakingFor(t *testing.T) {
	b := openBox(t)
	h := New(b, conductor.New(b.Ledger(), conductor.Options{}), nil).Handler()
	own, gate := b.Tokens()
	named := newToken(t, b, "ci", 0, access.Operate)
	for name, c := range map[string]struct {
		headers http.Header
		want    int
	}{
		"the owner":                 {bearer(own, api.ClientHeader, "mcp", api.ScopesHeader, "read  operate"), http.StatusOK},
		"a client":                  {bearer(named, api.ClientHeader, "mcp", api.ScopesHeader, "read"), http.StatusForbidden},
		"a client, of itself":       {bearer(named, api.ClientHeader, "ci"), http.StatusForbidden},
		"a client, of more":         {bearer(named, api.ScopesHeader, "read"), http.StatusForbidden},
		"the gate":                  {bearer(gate, api.ClientHeader, "mcp", api.ScopesHeader, "read"), http.StatusForbidden},
		"one of two":                {bearer(own, "Authorization", "Bearer "+named), http.StatusUnauthorized},
		"nobody":                    {bearer("", api.ClientHeader, "mcp", api.ScopesHeader, "read"), http.StatusUnauthorized},
		"without scopes":            {bearer(own, api.ClientHeader, "mcp"), http.StatusBadRequest},
		"with no scope":             {bearer(own, api.ClientHeader, "mcp", api.ScopesHeader, ""), http.StatusBadRequest},
		"with an unknown scope":     {bearer(own, api.ClientHeader, "mcp", api.ScopesHeader, "all"), http.StatusBadRequest},
		"without a name":            {bearer(own, api.ScopesHeader, "read"), http.StatusBadRequest},
		"with an empty name":        {bearer(own, api.ClientHeader, "", api.ScopesHeader, "read"), http.StatusBadRequest},
		"with a name that is none":  {bearer(own, api.ClientHeader, "Mcp", api.ScopesHeader, "read"), http.StatusBadRequest},
		"with two names":            {bearer(own, api.ClientHeader, "a", api.ClientHeader, "b", api.ScopesHeader, "read"), http.StatusBadRequest},
		"with two lists of scopes":  {bearer(own, api.ClientHeader, "a", api.ScopesHeader, "read", api.ScopesHeader, "operate"), http.StatusBadRequest},
		"for who may only do other": {bearer(own, api.ClientHeader, "mcp", api.ScopesHeader, "metrics"), http.StatusForbidden},
	} {
		if status, answer := called(t, h, "GET /v1/status", "", c.headers); status != c.want {
			t.Errorf("%s: %d %s, want %d", name, status, answer, c.want)
		}
	}
}

// What a client asks with the owner's key, or another client's, is a request of its own.
func TestKeysOfClients(t *testing.T) {
	address, token, _ := serve(t)
	owner := api.NewClient(address, token)
	defer owner.Close()
	one, err := owner.CreateToken(t.Context(), api.NewToken{Name: "one", Scopes: []access.Scope{access.Operate}})
	if err != nil {
		t.Fatal(err)
	}
	add := func(headers http.Header, title string) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/v1/work", strings.NewReader(`{"title":"`+title+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header, r.Close = headers, true
		r.Header.Set(api.KeyHeader, "the same")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var w api.Work
		if err := json.NewDecoder(resp.Body).Decode(&w); err != nil {
			t.Fatal(err)
		}
		return w.Title
	}
	asOne, asTwo := bearer(one.Secret), bearer(token, api.ClientHeader, "two", api.ScopesHeader, "operate")
	for range 2 { // the second time each finds its own
		for title, headers := range map[string]http.Header{"the owner's": bearer(token), "one's": asOne, "two's": asTwo} {
			if got := add(headers.Clone(), title); got != title {
				t.Errorf("who asked for %q got %q", title, got)
			}
		}
	}
	r := bearer(token)
	r.Set(api.KeyHeader, "client:one/the same")
	b := openBox(t)
	own, _ := b.Tokens()
	r.Set("Authorization", "Bearer "+own)
	if status, answer := called(t, New(b, conductor.New(b.Ledger(), conductor.Options{}), nil).Handler(), "POST /v1/work", "", r); status != http.StatusBadRequest || !strings.Contains(answer, "does not begin with") {
		t.Errorf("a key that could be a client's: %d %s", status, answer)
	}
}

// What a client does to work by hand is recorded in its name.
func TestClientsName(t *testing.T) {
	b := openBox(t)
	h := New(b, conductor.New(b.Ledger(), conductor.Options{}), nil).Handler()
	token := newToken(t, b, "ci", 0, access.Operate, access.Answer)
	for path, body := range map[string]string{
		"/v1/work": `{"id":"T-1","title":"x"}`, "/v1/work/T-0/override": `{"phase":"REVIEW","reason":"so"}`, "/v1/conversations": `{"question":"why?"}`,
	} {
		if _, err := b.Add(t.Context(), work.OperatorActor, api.AddWork{ID: "T-0", Title: "x"}, "first"); err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
		r.Header = bearer(token)
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if got := strings.Count(answerOf(t, h, bearer(token)), `"actor":"client:ci"`); got != 3 {
		t.Errorf("%d events are the client's", got)
	}
}

// answerOf returns all events.
func answerOf(t *testing.T, h http.Handler, headers http.Header) string {
	t.Helper()
	_, answer := called(t, h, "GET /v1/events", "", headers)
	return answer
}

// A token is shown once, listed without what it is, and good until it is revoked; also for the next box.
func TestTokenRoutes(t *testing.T) {
	address, token, _ := serve(t)
	owner := api.NewClient(address, token)
	defer owner.Close()
	if all, err := owner.Tokens(t.Context()); err != nil || len(all) != 0 {
		t.Fatalf("at first: %+v, %v", all, err)
	}
	made, err := owner.CreateToken(t.Context(), api.NewToken{Name: "ci", Scopes: []access.Scope{access.Read}, TTLMS: 3_600_000})
	if err != nil || made.Name != "ci" || made.ExpiresAt.Sub(made.CreatedAt) != time.Hour || len(made.Secret) != len(access.SecretPrefix)+64 {
		t.Fatalf("made: %+v, %v", made, err)
	}
	client := api.NewClient(address, made.Secret)
	defer client.Close()
	if _, err := client.Status(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := client.Add(t.Context(), api.AddWork{Title: "x"}); err == nil || !strings.Contains(err.Error(), "the client ci may read, and this needs the scope operate") {
		t.Errorf("a reader adds work: %v", err)
	}
	all, err := owner.Tokens(t.Context())
	if err != nil || len(all) != 1 || all[0].ID != made.ID || all[0].LastUsed.IsZero() {
		t.Errorf("listed: %+v, %v", all, err)
	}
	if _, err := owner.CreateToken(t.Context(), api.NewToken{Name: "ci", Scopes: []access.Scope{access.Read}}); err == nil || !strings.Contains(err.Error(), "revoke it first") {
		t.Errorf("a second of the name: %v", err)
	}
	speaking := owner.For("ci", access.Read, access.Operate)
	if w, err := speaking.Add(t.Context(), api.AddWork{Title: "x"}); err != nil || w.Title != "x" {
		t.Errorf("the owner for a client: %+v, %v", w, err)
	}
	if _, err := speaking.Tokens(t.Context()); err == nil || !strings.Contains(err.Error(), "owner alone") {
		t.Errorf("a client lists tokens: %v", err)
	}
	if gone, err := owner.RevokeToken(t.Context(), "ci"); err != nil || gone.ID != made.ID {
		t.Errorf("revoked: %+v, %v", gone, err)
	}
	if _, err := client.Status(t.Context()); err == nil || !strings.Contains(err.Error(), "revoked") {
		t.Errorf("with a revoked token: %v", err)
	}
	if _, err := owner.RevokeToken(t.Context(), made.ID); err == nil || !strings.Contains(err.Error(), "no such token") {
		t.Errorf("revoked twice: %v", err)
	}
}
