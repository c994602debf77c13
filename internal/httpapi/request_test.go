package httpapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/conductor"
)

// A request is one JSON document. What the box does not know in it is refused from a client, and
// ignored from a session, which may be of another version.
func TestBodies(t *testing.T) {
	b := openBox(t)
	h := New(b, conductor.New(b.Ledger(), conductor.Options{}), nil).Handler()
	token, _ := b.Tokens()
	const add, report, activity = "/v1/work", "/v1/sessions/01JD0000000000000000000001:1.1/report", "/v1/sessions/01JD0000000000000000000001:1.1/activity"
	for _, c := range []struct {
		path, body string
		code       string
	}{
		{add, `{"title":"a"}`, ""},
		{add, ` {"title":"a"}` + "\r\n\t ", ""},
		{add, `{"title":"a"}{"title":"b"}`, api.CodeInvalid},
		{add, `{"title":"a"} garbage`, api.CodeInvalid},
		{add, `{"title":"a"}]`, api.CodeInvalid},
		{add, `{"title":"a","colour":"red"}`, api.CodeInvalid},
		{add, `{"title":"a"}` + strings.Repeat(" ", smallBody), api.CodeInvalid},
		{report, `{"seq":1,"kind":"note","mood":"good"}`, api.CodeNotFound},
		{report, `{"seq":1,"kind":"note"}{}`, api.CodeInvalid},
		{report, `{"seq":"one"}`, api.CodeInvalid},
		{activity, `{"line":"a","mood":"good"}`, api.CodeNotFound},
		{activity, `{"line":"a"}1`, api.CodeInvalid},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, c.path, strings.NewReader(c.body))
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		var p api.Problem
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
			t.Errorf("%s: %v", w.Body, err)
		}
		if p.Code != c.code {
			t.Errorf("%s with %.60q is answered with %q: %s", c.path, c.body, p.Code, p.Message)
		}
	}
}

// The gate's reports take the gate's token, and nothing else does.
func TestGateToken(t *testing.T) {
	b, _ := listing(t, 1)
	h := New(b, conductor.New(b.Ledger(), conductor.Options{}), nil).Handler()
	own, gate := b.Tokens()
	for _, c := range []struct {
		path, token string
		want        int
	}{
		{"/v1/work/T-0/gate", own, http.StatusForbidden},
		{"/v1/work/T-0/gate", gate, http.StatusConflict}, // it is not in CI_PENDING
		{"/v1/work/T-0/override", gate, http.StatusForbidden},
		{"/v1/work/T-0/override", "", http.StatusUnauthorized},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, c.path, strings.NewReader(`{"commit":"0123abc","result":"pass"}`))
		r.Header.Set("Authorization", "Bearer "+c.token)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%s: %d %s, want %d", c.path, w.Code, w.Body, c.want)
		}
	}
}

// A review is a person's word: what an agent has of its session, or of the gate, does not open its routes.
func TestReviewToken(t *testing.T) {
	b, _ := listing(t, 1)
	grant, err := b.Claim(t.Context(), api.Claim{Work: "T-0", Actor: "agent"}, "")
	if err != nil {
		t.Fatal(err)
	}
	h := New(b, conductor.New(b.Ledger(), conductor.Options{}), nil).Handler()
	own, gate := b.Tokens()
	for token, want := range map[string]int{
		"": http.StatusUnauthorized, gate: http.StatusForbidden, grant.Session: http.StatusUnauthorized, grant.Token.String(): http.StatusUnauthorized,
		own + " ": http.StatusUnauthorized, own: http.StatusConflict, // it is no task of a run
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			r := httptest.NewRequestWithContext(t.Context(), method, "/v1/work/T-0/review", strings.NewReader(`{"accept":true,"role":"merge","commit":"0123abc","tree":"0123abc","base":"0123abc"}`))
			r.Header.Set("Authorization", "Bearer "+token)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != want {
				t.Errorf("%s with %q: %d %s, want %d", method, token, w.Code, w.Body, want)
			}
		}
	}
}

// What is wrong with a request is refused for good; a shortage, and what is wrong with the box, are not.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{badRequest{errors.New("no document")}, true}, {&http.MaxBytesError{Limit: 1}, true}, {errTrailing, false},
		{errSlow, false}, {errManyFollow, false}, {box.ErrStopping, false}, {errors.New("the box's own fault"), false},
	} {
		if _, p := problemOf(c.err); api.Refused(p) != c.want {
			t.Errorf("%v is refused for good: %v", c.err, !c.want)
		}
	}
}

// A form in the body of a request is not read, and parameters that can't be read are refused.
func TestQueries(t *testing.T) {
	b, _ := listing(t, 1)
	h := New(b, conductor.New(b.Ledger(), conductor.Options{}), nil).Handler()
	for _, c := range []struct {
		target, kind, body string
		want               int
	}{
		{"/v1/work", "multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"phase\"\r\n\r\nnone\r\n--x--\r\n", http.StatusOK},
		{"/v1/runs", "multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"live\"\r\n\r\nnone\r\n--x--\r\n", http.StatusOK},
		{"/v1/work?phase=none", "", "", http.StatusBadRequest},
		{"/v1/work?phase=%zz", "", "", http.StatusBadRequest},
		{"/v1/work?limit=1;phase=x", "", "", http.StatusBadRequest},
		{"/v1/runs?live=%zz", "", "", http.StatusBadRequest},
		{"/v1/events?after=%zz", "", "", http.StatusBadRequest},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, c.target, strings.NewReader(c.body))
		r.Header.Set("Authorization", "Bearer "+tokenOf(b))
		if c.kind != "" {
			r.Header.Set("Content-Type", c.kind)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.want || r.MultipartForm != nil {
			t.Errorf("%s, %q: %d %s, form %v", c.target, c.kind, w.Code, w.Body, r.MultipartForm)
		}
	}
}

// goneWriter is a client that has gone.
type goneWriter struct {
	*httptest.ResponseRecorder
	heads int
}

func (w *goneWriter) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }
func (w *goneWriter) WriteHeader(int)           { w.heads++ }

// An answer that its client does not take is not followed by another.
func TestAnswerIsNotTaken(t *testing.T) {
	b, _ := listing(t, 1)
	for _, target := range []string{"/v1/status", "/v1/work", "/v1/work/T-0"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
		r.Header.Set("Authorization", "Bearer "+tokenOf(b))
		w := &goneWriter{ResponseRecorder: httptest.NewRecorder()}
		New(b, conductor.New(b.Ledger(), conductor.Options{}), nil).Handler().ServeHTTP(w, r)
		if w.heads > 0 {
			t.Errorf("%s: a second answer is begun", target)
		}
	}
}
