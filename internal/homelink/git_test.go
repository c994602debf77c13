package homelink

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/gitserver"
)

// hub is git that says what it was asked.
type hub struct{}

func (hub) Serve(w http.ResponseWriter, r *http.Request, path string, a gitserver.Access) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "x/git")
	_, _ = fmt.Fprintf(w, "%s %s?%s %+v %d %q", r.Method, path, r.URL.RawQuery, a, len(body), r.Header.Get("Authorization")+r.Header.Get("Signalbox-Key"))
}

// The git of a run's home answers what runners ask of the box that leads, with no more than that box says; one that is not reached is asked again later.
func TestGit(t *testing.T) {
	b, homes := open(t, func(home http.Handler) http.Handler { return home })
	mux := http.NewServeMux()
	mux.Handle("POST "+HomePath+"{method}", b.server.Config.Handler)
	mux.Handle(GitPath+"{path...}", ServeGit(hub{}))
	b.server.Config.Handler = mux
	far := reached(t, homes)
	serve := func(method, target string, body []byte) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), method, target, bytes.NewReader(body))
		r.Header.Set("Authorization", "Bearer secret")
		r.Header.Set("Signalbox-Key", "of a runner, as the box says that has passed it on")
		far.Serve(w, r, strings.TrimPrefix(r.URL.Path, "/v1/runner/git/fetch/O/"), gitserver.Access{Who: "gpu1", Fetch: []string{"refs/heads/ü", "refs/tasks/R1/"}, Push: "refs/tasks/R1/T/1.1"})
		return w
	}
	const may = "{Who:gpu1 Fetch:[refs/heads/ü refs/tasks/R1/] Push:refs/tasks/R1/T/1.1}"
	if w := serve(http.MethodGet, "/v1/runner/git/fetch/O/info/refs?service=git-upload-pack", nil); w.Code != http.StatusOK || w.Body.String() != "GET info/refs?service=git-upload-pack "+may+` 0 ""` || w.Header().Get("Content-Type") != "x/git" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := serve(http.MethodPost, "/v1/runner/git/fetch/O/git-receive-pack", make([]byte, 3<<20)); w.Body.String() != "POST git-receive-pack? "+may+` 3145728 ""` {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	b.cut.Store(true)
	if w := serve(http.MethodGet, "/v1/runner/git/fetch/O/info/refs", nil); w.Code != http.StatusServiceUnavailable {
		t.Errorf("not reached: %d %s", w.Code, w.Body)
	}
	for _, access := range []string{"", "{}", "e30=", "!"} {
		w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, GitPath+"info/refs", nil)
		r.Header.Set(accessHeader, access)
		if ServeGit(hub{}).ServeHTTP(w, r); w.Code != http.StatusBadRequest {
			t.Errorf("access %q: %d %s", access, w.Code, w.Body)
		}
	}
}
