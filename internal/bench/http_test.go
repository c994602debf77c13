package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/conductor"
	"github.com/signalbox-dev/signalbox/internal/httpapi"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// The slower of the two is what a handoff is compared with, handoffs with handoffs: each is two
// appends and two requests.
func TestRatio(t *testing.T) {
	for _, c := range []struct{ handoffs, appends, requests, want float64 }{
		{1000, 2000, 2000, 1},
		{1000, 4000, 2500, 0.8},
		{1000, 2500, 4000, 0.8},
		{500, 10_000, 4000, 0.25},
	} {
		if got := ratio(c.handoffs, c.appends, c.requests); got != c.want {
			t.Errorf("%g handoffs, %g appends, %g requests: ratio %g, want %g", c.handoffs, c.appends, c.requests, got, c.want)
		}
	}
}

// HTTP alone answers a handoff with the statuses and the sizes of a box, but for the digits of a number.
func TestHTTPAloneAnswersAsABox(t *testing.T) {
	dir := box.Dir(t.TempDir())
	b, _, err := box.Open(t.Context(), box.Options{Dir: dir, ExitEnabled: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := b.Add(t.Context(), work.OperatorActor, api.AddWork{ID: madeUpWork, Title: madeUpTitle, Phase: phases[0]}, ""); err != nil {
		t.Fatal(err)
	}
	token, err := dir.APIToken()
	if err != nil {
		t.Fatal(err)
	}
	real, alone := httpapi.New(b, conductor.New(b.Ledger(), conductor.Options{}), nil).Handler(), nothingKept(token)
	const digits = 5 // at most so many more in a sequence, or fewer in a time's fraction
	same := func(what string, a, b *httptest.ResponseRecorder) {
		t.Helper()
		more := a.Body.Len() - b.Body.Len()
		if a.Code != http.StatusOK || b.Code != a.Code || more < -digits || more > digits || a.Header().Get("Content-Type") != b.Header().Get("Content-Type") {
			t.Errorf("%s: the box answers %d, %s\nHTTP alone answers %d, %s", what, a.Code, a.Body, b.Code, b.Body)
		}
	}
	claim, err := json.Marshal(api.Claim{Actor: "bench", Wait: true, Phase: phases[0]})
	if err != nil {
		t.Fatal(err)
	}
	granted := request(real, token, "/v1/claims", claim)
	same("a claim", granted, request(alone, token, "/v1/claims", claim))
	var g api.Grant
	if err := json.Unmarshal(granted.Body.Bytes(), &g); err != nil {
		t.Fatal(err)
	}
	path := "/v1/sessions/" + g.Session + "/emit"
	same("an emit", request(real, token, path, outputs()[g.Phase]), request(alone, token, path, outputs()[g.Phase]))
}

// It refuses what a box refuses before it looks at what it keeps.
func TestHTTPAloneRefuses(t *testing.T) {
	alone := nothingKept("secret")
	for _, c := range []struct {
		name, token, body string
		want              int
	}{
		{"without the token", "other", `{"actor":"a"}`, http.StatusUnauthorized},
		{"an unknown member", "secret", `{"actor":"a","more":1}`, http.StatusBadRequest},
		{"no JSON", "secret", `actor`, http.StatusBadRequest},
	} {
		if got := request(alone, c.token, "/v1/claims", []byte(c.body)).Code; got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func request(h http.Handler, token, path string, body []byte) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, path, bytes.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// It answers the client that measures the box, until its input ends.
func TestHTTPAloneEnds(t *testing.T) {
	in, end := io.Pipe()
	out, said := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- ServeHTTPAlone(t.Context(), in, said) }()
	a, err := readAnswering(out)
	if err != nil {
		t.Fatal(err)
	}
	client := api.NewClient(a.Address, a.Token)
	defer client.Close()
	g, err := client.Claim(t.Context(), api.Claim{Actor: "bench", Wait: true})
	if err == nil {
		err = accepted(client.Emit(t.Context(), g.Session, outputs()[g.Phase]))
	}
	if err != nil {
		t.Errorf("granted %+v; %v", g, err)
	}
	if err := errors.Join(end.Close(), <-ended); err != nil {
		t.Error(err)
	}
}
