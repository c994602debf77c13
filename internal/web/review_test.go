package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/web"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// hostile has what a browser, a terminal or a template would act upon.
const hostile = "<script>alert(1)</script><img src=x onerror=alert(1)>\"' onmouseover=alert(1) x=\"{{.}}\x1b[31m\u202etxt\u2066\u200b javascript:alert(1)"

// inert fails the test if a page has markup or invisible characters that it was told.
func inert(t *testing.T, text string) {
	t.Helper()
	if shown := theirs.ReplaceAllString(text, ""); strings.ContainsAny(shown, "\x1b\u202e\u2066\u200b") {
		t.Errorf("the page has invisible characters:\n%.3000q", shown)
	}
	for _, one := range tag.FindAllString(text, -1) {
		name, _, _ := strings.Cut(strings.Trim(one, "</>"), " ")
		if name == "script" && one != "</script>" && !regexp.MustCompile(`^<script src="(idiomorph|page)\.js" defer>$`).MatchString(one) ||
			regexp.MustCompile(`(?i)\son[a-z]+\s*=`).MatchString(quoted.ReplaceAllString(one, `""`)) || strings.Contains(quoted.ReplaceAllString(one, `""`), "src=x") {
			t.Errorf("the page has %s", one)
		}
	}
	for _, link := range regexp.MustCompile(`(?:href|src|action)="([^"]*)"`).FindAllStringSubmatch(text, -1) {
		if u, err := url.Parse(html.UnescapeString(link[1])); err != nil || u.IsAbs() || u.Host != "" || strings.HasPrefix(link[1], "/") {
			t.Errorf("the page links to %s, %v", link[1], err)
		}
	}
}

// theirs is what a form brings back as it was: what was typed, and what it is about.
var theirs = regexp.MustCompile(`(?s)(<textarea[^>]*>).*?</textarea>| value="[^"]*"`)

var quoted = regexp.MustCompile(`"[^"]*"`)

// played is a box whose only task waits for a review. What it is asked to record is kept.
type played struct {
	sight   api.Sight
	text    string // that everybody says
	diff    string
	verdict []api.Verdict
	run     api.Run
	runners []api.Runner
	cluster *api.ClusterStatus // that the box is in; nil if it stands alone
	would   api.Run            // that any plan would be
	refuses string             // why none is delivered; empty if it is
	open    []api.Question     // that wait for an answer; if there are none, a review waits
	words   []string           // on runs and tasks
	events  []api.Event
	asked   []string // for which events
	endless bool     // there are always more events

	proof    *ledger.Proof // of any event; nil if it is not signed yet
	verifier string
	changes  chan uint64
	looks    chan struct{} // gets something when the run looks different
}

func (p *played) Principal(secret string) (access.Principal, error) {
	return access.Principal{Kind: access.Client, Name: "page-1", Scopes: []access.Scope{access.Scope(secret)}}, nil
}

func (p *played) CreateToken(api.NewToken, string) (api.CreatedToken, error) {
	return api.CreatedToken{Secret: "answer"}, nil
}
func (p *played) RevokeToken(string, string) (api.ClientToken, error) { return api.ClientToken{}, nil }
func (p *played) Questions() []api.Question                           { return nil }
func (p *played) UpTo() uint64                                        { return 7 }
func (p *played) Follow(ctx context.Context, _ uint64, f func(uint64, []string) error) error {
	for {
		select {
		case n := <-p.changes:
			if err := f(n, []string{"R1"}); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (p *played) Looks(run string) (<-chan struct{}, func(), error) {
	if run != "R1" {
		return nil, nil, errors.New("there is no such run")
	}
	return p.looks, func() {}, nil
}

func (p *played) Diff(_ context.Context, s api.Sight, to io.Writer) error {
	_, err := io.WriteString(to, p.diff)
	return err
}

// ServeHTTP plays the API.
func (p *played) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	reply := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	switch r.Method + " " + r.URL.Path {
	case "GET /v1/questions":
		if p.open != nil {
			reply(p.open)
			return
		}
		reply([]api.Question{{ID: "R1.T-1/5", Kind: string(delivery.PartReview), Run: "R1", Task: "T-1", Work: p.sight.Work, Text: p.text}})
	case "GET /v1/work/R1.T-1":
		s := &work.Statement{Sequence: 3, By: p.text, Text: p.text, PRURL: p.text, LeftOut: p.text, Evidence: &work.Evidence{Ref: p.text, Problem: p.text}}
		reply(api.Work{ID: "R1.T-1", Title: p.text, Handoff: api.Handoff{Asked: p.text, Claim: s, Findings: s}})
	case "GET /v1/work/R1.T-1/review":
		reply(p.sight)
	case "GET /v1/events":
		p.asked = append(p.asked, r.URL.RawQuery)
		after, _ := strconv.ParseUint(r.URL.Query().Get("after"), 10, 64)
		for _, e := range p.events {
			if data, _ := json.Marshal(e); e.Sequence > after {
				_, _ = fmt.Fprintf(w, "id: %d\ndata: %s\n\n", e.Sequence, data)
			}
		}
		if p.endless {
			_, _ = fmt.Fprint(w, "event: next\ndata: {\"next\":42}\n\n")
		}
	case "GET /v1/status":
		s := api.Status{Verifier: p.verifier, Ledger: api.LedgerStatus{Events: 7}}
		if p.cluster != nil {
			short := p.cluster.Short()
			s.Cluster = &short
		}
		reply(s)
	case "GET /v1/cluster":
		reply(p.cluster)
	case "GET /v1/events/1/proof":
		if p.proof == nil {
			w.WriteHeader(http.StatusConflict)
			reply(api.Problem{Code: api.CodeConflict, Message: "no checkpoint covers the event yet"})
			return
		}
		reply(p.proof)
	case "POST /v1/work/R1.T-1/review":
		var v api.Verdict
		if err := json.NewDecoder(r.Body).Decode(&v); err != nil || v.Commit != p.sight.Commit {
			w.WriteHeader(http.StatusConflict)
			reply(api.Problem{Code: api.CodeConflict, Message: delivery.ErrOtherNow.Error()})
			return
		}
		p.verdict = append(p.verdict, v)
		reply(api.Run{})
	case "POST /v1/runs":
		var q api.StartRun
		err := json.NewDecoder(r.Body).Decode(&q)
		switch {
		case err != nil || p.refuses != "":
			w.WriteHeader(http.StatusConflict)
			reply(api.Problem{Code: api.CodeConflict, Message: p.refuses})
		case q.DryRun:
			reply(p.would)
		default:
			p.words = append(p.words, q.Plan)
			reply(api.Run{ID: "R1"})
		}
	case "GET /v1/runners":
		reply(p.runners)
	case "GET /v1/runs":
		reply([]api.Run{p.run})
	case "GET /v1/runs/R1":
		reply(p.run)
	default:
		if r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body)
			p.words = append(p.words, "POST "+r.URL.Path+" "+strings.TrimSpace(string(body)))
			reply(struct{}{})
			return
		}
		w.WriteHeader(http.StatusNotFound)
		reply(api.Problem{Code: api.CodeNotFound, Message: "there is no " + r.URL.Path})
	}
}

// look has the page answer a request of a browser with a scope.
func (p *played) look(page *web.Page, method, path string, scope access.Scope, fields ...string) (int, string) {
	w := p.send(page, method, path, scope, fields...)
	return w.Code, w.Body.String()
}

// send is the same with the header.
func (p *played) send(page *web.Page, method, path string, scope access.Scope, fields ...string) *httptest.ResponseRecorder {
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	r := httptest.NewRequestWithContext(context.Background(), method, "http://x.localhost/"+path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.AddCookie(&http.Cookie{Name: "signalbox", Value: string(scope)})
	w := httptest.NewRecorder()
	page.ServeHTTP(w, r)
	return w
}

func play(text, diff string) (*played, *web.Page) {
	p := &played{text: text, diff: diff, sight: api.Sight{Work: "R1.T-1", Task: "T-1", Role: "critic", Commit: strings.Repeat("c", 40), Tree: "t", Base: "b"}}
	settings := func() ([]config.Setting, error) { return []config.Setting{{Name: "agents." + text, Value: text}}, nil }
	return p, web.New(web.Options{Host: "x.localhost", API: p, Box: p, Settings: settings, Refused: func(*http.Request, error) {}, Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
}

const textDiff = `diff --git a/f.go b/f.go
index 1111111..2222222 100644
--- a/f.go
+++ b/f.go
@@ -10,2 +10,3 @@ func f() {
 	same
-	old
+	new
+	more
`

const binaryDiff = textDiff + `diff --git a/logo.png b/logo.png
new file mode 100644
index 0000000..3333333
Binary files /dev/null and b/logo.png differ
`

// A review is of the commit that the form was made for. Comments go with what is sent back, and with nothing else.
func TestReview(t *testing.T) {
	p, page := play("words", textDiff)
	status, text := p.look(page, "GET", "", access.Answer)
	for _, want := range []string{`name="commit" value="` + p.sight.Commit + `"`, `data-at="f.go:11"`, `data-at="f.go:12"`, "Accept ccccccc"} {
		if !strings.Contains(text, want) {
			t.Errorf("the inbox (%d) has no %s:\n%s", status, want, text)
		}
	}
	shown := []string{"work", "R1.T-1", "role", "critic", "commit", p.sight.Commit, "tree", "t", "base", "b"}
	for _, c := range []struct {
		name  string
		form  []string
		scope access.Scope
		want  int
		says  string
		makes string
	}{
		{"accepted", append(shown, "verdict", "accept"), access.Answer, 303, "", `{"accept":true,"role":"critic","commit":"` + p.sight.Commit + `","tree":"t","base":"b"}`},
		{"sent back", append(shown, "verdict", "back", "comments", "f.go:11: why?\nf.go:12: no"), access.Answer, 303, "", `{"comments":["f.go:11: why?","f.go:12: no"],"role":"critic","commit":"` + p.sight.Commit + `","tree":"t","base":"b"}`},
		{"accepted with comments", append(shown, "verdict", "accept", "comments", "f.go:11: why?"), access.Answer, 400, "f.go:11: why?", ""},
		{"sent back without", append(shown, "verdict", "back", "comments", " \n"), access.Answer, 400, "say what has to be changed", ""},
		{"neither", append(shown, "verdict", "maybe"), access.Answer, 400, "accept it, or send it back", ""},
		{"by who may look", append(shown, "verdict", "accept"), access.Read, 403, "--scope answer", ""},
		{"by who may steer alone", append(shown, "verdict", "accept"), access.Operate, 403, "--scope answer", ""},
		{"another commit", []string{"work", "R1.T-1", "role", "critic", "commit", "dead", "verdict", "back", "comments", "my words"}, access.Answer, 409, "my words", ""},
	} {
		p.verdict = nil
		status, text := p.look(page, "POST", "review", c.scope, c.form...)
		var made string
		for _, v := range p.verdict {
			data, _ := json.Marshal(v)
			made += string(data)
		}
		if status != c.want || !strings.Contains(text, c.says) || made != c.makes {
			t.Errorf("%s: %d, recorded %s\n%s", c.name, status, made, text)
		}
	}
}

// What is not shown is said, and nobody accepts it without saying that they have looked elsewhere. The form that leaves that out
// is refused, too.
func TestUnseen(t *testing.T) {
	for name, diff := range map[string]string{"binary": binaryDiff, "long": textDiff + "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+" + strings.Repeat("x", 2<<20) + "\n"} {
		p, page := play("words", diff)
		shown := []string{"work", "R1.T-1", "role", "critic", "commit", p.sight.Commit, "tree", "t", "base", "b", "verdict", "accept"}
		if _, text := p.look(page, "GET", "", access.Answer); !strings.Contains(text, "not shown") && !strings.Contains(text, "longer than is shown") || !strings.Contains(text, `name="unseen"`) {
			t.Errorf("%s: nothing is said:\n%.2000s", name, text)
		}
		if status, _ := p.look(page, "POST", "review", access.Answer, shown...); status != http.StatusConflict || len(p.verdict) > 0 {
			t.Errorf("%s: accepted unseen: %d", name, status)
		}
		if status, _ := p.look(page, "POST", "review", access.Answer, append(shown, "unseen", "on")...); status != http.StatusSeeOther || len(p.verdict) != 1 {
			t.Errorf("%s: not accepted: %d", name, status)
		}
	}
}

// A diff that can't be taken apart, or of which a file would be lost, is shown as git wrote it.
func TestStrangeDiff(t *testing.T) {
	for _, diff := range []string{
		"nothing that git writes\n+evil\n",
		textDiff + "diff --git \n+evil\n",
		"diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,9 +1,9 @@\n+evil\n",
	} {
		p, page := play("words", diff)
		if _, text := p.look(page, "GET", "", access.Answer); !strings.Contains(text, "evil") {
			t.Errorf("%q is not shown:\n%s", diff, text)
		}
	}
}

// Whatever is said in any field of a review is text.
func TestHostileReview(t *testing.T) {
	diff := fmt.Sprintf("diff --git a/%[1]s b/%[1]s\nnew file mode 100755\n--- /dev/null\n+++ b/%[1]s\n@@ -0,0 +1 @@ %[2]s\n+%[2]s\n", "a<b>\u202e.txt", hostile)
	for _, d := range []string{diff, hostile} {
		p, page := play(hostile, d)
		p.sight.Role = hostile
		status, text := p.look(page, "GET", "", access.Answer)
		if status != http.StatusOK || !strings.Contains(text, "alert(1)") {
			t.Errorf("%d\n%s", status, text)
		}
		inert(t, text)
		_, text = p.look(page, "POST", "review", access.Answer, "work", "R1.T-1", "verdict", "accept", "comments", hostile)
		inert(t, text)
	}
}
