package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
)

// A link logs one browser in, once. A look at it spends nothing.
func TestLogin(t *testing.T) {
	w := newWorld(t)
	link := w.link(access.Answer)
	at, err := url.Parse(link)
	if err != nil || at.Hostname() != w.service.Box.PageHost() || !strings.HasSuffix(at.Hostname(), ".localhost") {
		t.Fatalf("%s, %v", link, err)
	}
	secret := at.Query().Get("link")
	prefetch := w.browse()
	for range 3 {
		if got := prefetch.get(link); got.status != http.StatusOK || got.header.Get("Set-Cookie") != "" {
			t.Errorf("a look is answered with %d, %q", got.status, got.header)
		}
	}
	b := w.browse()
	b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	got := b.post("login", "link", secret)
	if got.status != http.StatusSeeOther || got.header.Get("Location") != "./" {
		t.Fatalf("a login is answered with %d, %q", got.status, got.header)
	}
	set := got.header.Get("Set-Cookie")
	for _, want := range []string{"; Path=/", "; HttpOnly", "; SameSite=Strict"} {
		if !strings.Contains(set, want) {
			t.Errorf("the cookie %q is not %s", set, want)
		}
	}
	if strings.Contains(set, "Domain") {
		t.Errorf("the cookie %q is not of this host alone", set)
	}
	if got := b.get(""); got.status != http.StatusOK {
		t.Errorf("who is logged in is answered with %d", got.status)
	}
	tokens, err := w.owner.Tokens(t.Context())
	if err != nil || len(tokens) != 1 || !strings.HasPrefix(tokens[0].Name, "page-") || access.Words(tokens[0].Scopes, " ") != "answer" || tokens[0].ExpiresAt == nil {
		t.Errorf("the session is %+v, %v", tokens, err)
	}
	if got := w.browse().post("login", "link", secret); got.status != http.StatusForbidden || got.header.Get("Set-Cookie") != "" {
		t.Errorf("a link that is spent is answered with %d", got.status)
	}
	if _, err := w.owner.RevokeToken(t.Context(), tokens[0].Name); err != nil {
		t.Fatal(err)
	}
	if got := b.get(""); got.status != http.StatusUnauthorized {
		t.Errorf("whose session is revoked is answered with %d", got.status)
	}
}

// What a browser does carries the name of who uses it; of several browsers of theirs each has a name.
func TestName(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"Lea", "-lea", "le a", "läa", "page:x", strings.Repeat("x", 49)} {
		if l, err := w.owner.Page(t.Context(), api.NewPage{Scope: access.Answer, Name: name}); err == nil || !strings.Contains(err.Error(), "1 to 48") {
			t.Errorf("%q: %+v, %v", name, l, err)
		}
	}
	long := strings.Repeat("x", 48)
	for _, want := range []struct{ name, recorded string }{{"lea", "page-lea"}, {"lea", "page-lea-2"}, {long, "page-" + long}, {long, "page-" + long + "-2"}} {
		id := w.asks("Which door?")
		link, err := w.owner.Page(t.Context(), api.NewPage{Scope: access.Answer, Name: want.name})
		if err != nil {
			t.Fatal(err)
		}
		at, err := url.Parse(link.URL)
		if err != nil {
			t.Fatal(err)
		}
		b := w.browse()
		if got := b.post("login", "link", at.Query().Get("link")); got.status != http.StatusOK || !strings.Contains(got.text, ">"+want.recorded+"</span>") {
			t.Fatalf("a login as %s: %d\n%s", want.name, got.status, got.text)
		}
		if got := b.post("answer", "question", id, "text", "the left one"); got.status != http.StatusOK {
			t.Fatalf("%d\n%s", got.status, got.text)
		}
		if got := b.get("ledger?type=QuestionAnswered&actor=client:" + want.recorded); len(listed(got.text)) != 1 || strings.Contains(got.text, "client "+want.recorded) {
			t.Errorf("what %s has answered is recorded, and named once: %v\n%s", want.recorded, listed(got.text), got.text)
		}
	}
}

// Who logs out has no session any more, in the ledger too.
func TestLogout(t *testing.T) {
	w := newWorld(t)
	b := w.in(access.Operate)
	if got := b.post("logout"); got.status != http.StatusOK {
		t.Errorf("a logout is answered with %d", got.status)
	}
	if got := b.get(""); got.status != http.StatusUnauthorized {
		t.Errorf("who is logged out is answered with %d", got.status)
	}
	if tokens, err := w.owner.Tokens(t.Context()); err != nil || len(tokens) != 0 {
		t.Errorf("%+v, %v", tokens, err)
	}
}

// A link is made by the owner alone, for a scope that there is.
func TestLinkRefused(t *testing.T) {
	w := newWorld(t)
	for _, scope := range []access.Scope{"", "metrics", "own", "read,answer"} {
		if l, err := w.owner.Page(t.Context(), api.NewPage{Scope: scope}); err == nil {
			t.Errorf("%q: %+v", scope, l)
		}
	}
	made, err := w.owner.CreateToken(t.Context(), api.NewToken{Name: "x", Scopes: []access.Scope{access.Operate, access.Answer}})
	if err != nil {
		t.Fatal(err)
	}
	client := api.NewClient(w.address, made.Secret)
	defer client.Close()
	if l, err := client.Page(t.Context(), api.NewPage{Scope: access.Read}); err == nil {
		t.Errorf("a client made a link: %+v", l)
	}
}

// Each of these is refused, and changes nothing.
func TestAttacks(t *testing.T) {
	w := newWorld(t)
	id := w.asks("Which door?")
	in, reader := w.in(access.Answer), w.in(access.Read)
	own, gate := w.service.Box.Tokens()
	made, err := w.owner.CreateToken(t.Context(), api.NewToken{Name: "program", Scopes: []access.Scope{access.Answer, access.Operate}})
	if err != nil {
		t.Fatal(err)
	}
	nobody := w.browse()
	form := url.Values{"question": {id}, "text": {"the left one"}}
	raw := func(b *browser, method, path string, form url.Values, change func(*http.Request)) *http.Request {
		r := b.request(method, path, form)
		if change != nil {
			change(r)
		}
		return r
	}
	header := func(pairs ...string) func(*http.Request) {
		return func(r *http.Request) {
			for i := 0; i < len(pairs); i += 2 {
				r.Header.Del(pairs[i])
				if pairs[i+1] != "" {
					r.Header.Set(pairs[i], pairs[i+1])
				}
			}
		}
	}
	onAPI := "http://" + w.address + "/"
	for _, c := range []struct {
		name string
		by   *browser
		req  *http.Request
		want int
	}{
		{"nobody looks", nobody, raw(nobody, "GET", "", nil, nil), 401},
		{"nobody answers", nobody, raw(nobody, "POST", "answer", form, nil), 401},
		{"nobody follows", nobody, raw(nobody, "GET", "stream?on=inbox&since=0", nil, nil), 401},
		{"nobody logs out", nobody, raw(nobody, "POST", "logout", url.Values{}, nil), 401},
		{"the owner's token as a cookie", nobody, raw(nobody, "GET", "", nil, header("Cookie", "signalbox="+own)), 401},
		{"the gate's token as a cookie", nobody, raw(nobody, "GET", "", nil, header("Cookie", "signalbox="+gate)), 401},
		{"a program's token as a cookie", nobody, raw(nobody, "GET", "", nil, header("Cookie", "signalbox="+made.Secret)), 401},
		{"an unknown token as a cookie", nobody, raw(nobody, "GET", "", nil, header("Cookie", "signalbox="+access.Secret([32]byte{1}))), 401},
		{"two cookies", in, raw(in, "GET", "", nil, header("Cookie", "signalbox=x")), 401},
		{"the owner's token as a header", nobody, raw(nobody, "GET", "", nil, header("Authorization", "Bearer "+own)), 401},
		{"a form of another site", in, raw(in, "POST", "answer", form, header("Sec-Fetch-Site", "cross-site", "Origin", "http://evil.example")), 403},
		{"a form of another port", in, raw(in, "POST", "answer", form, header("Sec-Fetch-Site", "same-site", "Origin", "http://"+w.service.Box.PageHost()+":1")), 403},
		{"a form of another origin, of an old browser", in, raw(in, "POST", "answer", form, header("Sec-Fetch-Site", "", "Origin", "http://evil.example")), 403},
		{"a form of no origin", in, raw(in, "POST", "answer", form, header("Sec-Fetch-Site", "", "Origin", "null")), 403},
		{"another site logs out", in, raw(in, "POST", "logout", url.Values{}, header("Sec-Fetch-Site", "cross-site", "Origin", "http://evil.example")), 403},
		{"another site logs in", nobody, raw(nobody, "POST", "login", url.Values{"link": {"x"}}, header("Sec-Fetch-Site", "cross-site", "Origin", "http://evil.example")), 403},
		{"another site looks", in, raw(in, "GET", "", nil, header("Sec-Fetch-Site", "cross-site")), 401},
		{"another port looks", in, raw(in, "GET", "", nil, header("Sec-Fetch-Site", "same-site")), 401},
		{"a reader answers", reader, raw(reader, "POST", "answer", form, nil), 403},
		{"a reader reviews", reader, raw(reader, "POST", "review", url.Values{"work": {"R1.T-1"}, "verdict": {"accept"}}, nil), 403},
		{"a reader pauses a run", reader, raw(reader, "POST", "steer", url.Values{"run": {"R1"}, "do": {"pause"}}, nil), 409},
		{"another site pauses a run", in, raw(in, "POST", "steer", url.Values{"run": {"R1"}, "do": {"pause"}}, header("Sec-Fetch-Site", "cross-site", "Origin", "http://evil.example")), 403},
		{"nobody looks at runs", nobody, raw(nobody, "GET", "runs", nil, nil), 401},
		{"nobody looks at a run", nobody, raw(nobody, "GET", "run?id=R1", nil, nil), 401},
		{"nobody looks at a task", nobody, raw(nobody, "GET", "task?id=R1.T-1", nil, nil), 401},
		{"nobody tells", nobody, raw(nobody, "POST", "task", url.Values{"work": {"R1.T-1"}, "do": {"tell"}}, nil), 401},
		{"an answer by a link", in, raw(in, "GET", "answer?question="+id+"&text=x", nil, nil), 404},
		{"a logout by a link", in, raw(in, "GET", "logout", nil, nil), 404},
		{"the page under the API's name", in, raw(in, "GET", onAPI, nil, nil), 404},
		{"the login under the API's name", in, raw(in, "GET", onAPI+"login?link=x", nil, nil), 404},
		{"the page under another name", in, raw(in, "GET", "", nil, func(r *http.Request) { r.Host = "evil.example" }), 404},
		{"the page under another box's name", in, raw(in, "GET", "", nil, func(r *http.Request) { r.Host = "sb-00000000000000000000.localhost" }), 404},
		{"the API under the page's name", in, raw(in, "GET", "v1/status", nil, header("Authorization", "Bearer "+own)), 404},
		{"the tools under the page's name", in, raw(in, "POST", "mcp", url.Values{}, header("Authorization", "Bearer "+own)), 404},
		{"the health under the page's name", in, raw(in, "GET", "healthz", nil, nil), 404},
		{"a form that is too long", in, raw(in, "POST", "answer", url.Values{"question": {id}, "text": {strings.Repeat("x", 300<<10)}}, nil), 400},
	} {
		got := c.by.send(c.req)
		if got.status != c.want {
			t.Errorf("%s: %d, want %d\n%.300s", c.name, got.status, c.want, got.text)
		}
		if set := got.header.Get("Set-Cookie"); set != "" {
			t.Errorf("%s: sets %q", c.name, set)
		}
	}
	for _, view := range views(t) {
		if strings.HasPrefix(view, "login") || view == "nowhere" {
			continue // they are for everybody
		}
		for name, r := range map[string]*http.Request{
			"nobody":       raw(nobody, "GET", view, nil, nil),
			"another site": raw(in, "GET", view, nil, header("Sec-Fetch-Site", "cross-site")),
			"another port": raw(in, "GET", view, nil, header("Sec-Fetch-Site", "same-site")),
		} {
			by := map[bool]*browser{true: nobody, false: in}[name == "nobody"]
			if got := by.send(r); got.status != http.StatusUnauthorized || got.header.Get("Set-Cookie") != "" {
				t.Errorf("%s looks at %q: %d", name, view, got.status)
			}
		}
	}
	if all, err := w.owner.Questions(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("the question was answered: %+v, %v", all, err)
	}
	if got := in.get(""); got.status != http.StatusOK {
		t.Errorf("who is logged in is answered with %d after all that", got.status)
	}
}

// A browser sends the cookie to no server on another port or another name of this machine, if that does not know the page's name.
func TestCookieStays(t *testing.T) {
	w := newWorld(t)
	b := w.in(access.Operate)
	var sent []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { sent = append(sent, r.Header.Get("Cookie")) }))
	defer other.Close()
	port := other.URL[strings.LastIndex(other.URL, ":"):]
	for _, name := range []string{"127.0.0.1", "localhost", "app.localhost"} {
		b.get("http://" + name + port + "/")
	}
	if strings.Join(sent, "") != "" || len(sent) != 3 {
		t.Errorf("other servers were sent %q", sent)
	}
}

// ours are the files of the page.
var ours = map[string]bool{"page.css": true, "picture.css": true, "page.js": true, "idiomorph.js": true, "icon.svg": true}

// A file of the page is sent once: a browser that has it is told that it is the same. Who is logged in keeps the connection for it.
func TestFiles(t *testing.T) {
	w := newWorld(t)
	b, nobody := w.in(access.Read), w.browse()
	for file := range ours {
		first := b.get(file)
		again := b.request("GET", file, nil)
		again.Header.Set("If-None-Match", first.header.Get("ETag"))
		if got := b.send(again); first.status != http.StatusOK || first.text == "" || got.status != http.StatusNotModified {
			t.Errorf("%s: %d, and then %d, %q", file, first.status, got.status, got.header)
		}
		if got := nobody.get(file); got.status != http.StatusOK || got.text != first.text {
			t.Errorf("%s for somebody who is not logged in: %d", file, got.status)
		}
		for who, closed := range map[*browser]bool{b: false, nobody: true} {
			who.client.CloseIdleConnections()
			resp, err := who.client.Do(who.request("GET", file, nil))
			if err != nil {
				t.Fatal(err)
			}
			if _ = resp.Body.Close(); resp.Close != closed {
				t.Errorf("%s, asked for by somebody whose connection is to be closed %t: %t", file, closed, resp.Close)
			}
		}
	}
}

// What the page sends is for nobody else's eyes, loads nothing from elsewhere, and has neither scripts nor styles in it.
func TestHeaders(t *testing.T) {
	w := newWorld(t)
	w.asks("Which door?")
	b := w.in(access.Operate)
	for _, path := range append(views(t), "?part=inbox", "page.css", "page.js", "idiomorph.js", "icon.svg") {
		got := b.get(path)
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
			"X-Content-Type-Options":  "nosniff",
			"Cache-Control":           "no-store",
			"Referrer-Policy":         "no-referrer",
		} {
			if name == "Cache-Control" && ours[path] {
				want = "no-cache" // it is no secret, and is asked for again
			}
			if have := got.header.Get(name); have != want {
				t.Errorf("%s: %s is %q", path, name, have)
			}
		}
		if strings.HasSuffix(path, ".js") || strings.HasSuffix(path, ".css") || strings.HasSuffix(path, ".svg") {
			continue
		}
		for _, bad := range []string{"http://", "https://", "<style", " style=", " onclick=", "<script>", `href="/`, `src="/`, `action="/`} {
			if strings.Contains(got.text, bad) {
				t.Errorf("%s has %q:\n%s", path, bad, got.text)
			}
		}
	}
}

// A question is answered by a form, without a script. What was typed for one that is not there any more is kept.
func TestAnswer(t *testing.T) {
	w := newWorld(t)
	id := w.asks("Which door?")
	b := w.in(access.Answer)
	if got := b.get(""); !strings.Contains(got.text, "Which door?") || !strings.Contains(got.text, `name="question" value="`+id+`"`) {
		t.Fatalf("the inbox has no form for %s:\n%s", id, got.text)
	}
	if got := b.post("answer", "question", id, "text", " "); got.status != http.StatusBadRequest || !strings.Contains(got.text, "say something") {
		t.Errorf("nothing is said: %d\n%s", got.status, got.text)
	}
	if got := b.post("answer", "question", id, "choice", "halt"); got.status != http.StatusBadRequest {
		t.Errorf("an answer that is none: %d", got.status)
	}
	got := b.post("answer", "question", id, "text", "the left one")
	if got.status != http.StatusOK || !strings.Contains(got.text, id+" is answered") || !strings.Contains(got.text, "Nothing waits for you") || !strings.Contains(got.at, "/?did=answered") {
		t.Errorf("an answer: %d at %s\n%s", got.status, got.at, got.text)
	}
	got = b.post("answer", "question", id, "text", "<i>no</i>, the right one")
	if got.status != http.StatusConflict || !strings.Contains(got.text, "does not wait for an answer any more") || !strings.Contains(got.text, "&lt;i&gt;no&lt;/i&gt;, the right one") {
		t.Errorf("a second answer: %d\n%s", got.status, got.text)
	}
	var actors []string
	err := w.owner.Events(t.Context(), "", 0, false, func(e api.Event) error {
		if text := string(e.Event); strings.Contains(text, `"QuestionAnswered"`) {
			actors = append(actors, text)
		}
		return nil
	})
	if err != nil || len(actors) != 1 || !strings.Contains(actors[0], `"actor":"client:page-`) || !strings.Contains(actors[0], "the left one") {
		t.Errorf("recorded is %q, %v", actors, err)
	}
}

// What others say is text, and what nobody sees is made visible.
func TestHostileQuestion(t *testing.T) {
	w := newWorld(t)
	w.asks(hostile)
	b := w.in(access.Operate)
	inert(t, b.get("").text)
	inert(t, b.get("?part=inbox").text)
	inert(t, b.get("?did=answered&what="+url.QueryEscape(hostile)).text)
	inert(t, b.post("answer", "question", hostile, "text", hostile).text)
	inert(t, b.post("review", "work", hostile, "verdict", "back", "comments", hostile).text)
	inert(t, b.get("login?link="+url.QueryEscape(hostile)).text)
}
