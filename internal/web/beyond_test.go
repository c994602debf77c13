package web_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/httpapi"
	"github.com/signalbox-dev/signalbox/internal/pin"
	"github.com/signalbox-dev/signalbox/internal/pin/pintest"
	"github.com/signalbox-dev/signalbox/internal/service"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// farName is the name of the box beyond its machine.
const farName = "box.example.org"

// farWorld is one whose box answers beyond its machine too, with a certificate if there is one.
func farWorld(t *testing.T, with config.TLS) *world {
	t.Helper()
	return loggedFarWorld(t, with, io.Discard)
}

// loggedFarWorld is one whose log is kept.
func loggedFarWorld(t *testing.T, with config.TLS, log io.Writer) *world {
	t.Helper()
	secure, err := httpapi.ListenSecure(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return worldOf(t, service.Options{Box: box.Options{Dir: box.Dir(t.TempDir()), Logger: slog.New(slog.NewTextHandler(log, nil))}, Config: config.Config{TLS: with}, Secure: secure})
}

// browseFar returns a browser elsewhere, whose connections are made so; it is told where every name leads.
func (w *world) browseFar(config *tls.Config) *browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: config, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, w.far)
	}}
	w.t.Cleanup(transport.CloseIdleConnections)
	_, port, _ := strings.Cut(w.far, ":")
	return &browser{w, &http.Client{Jar: jar, Transport: transport}, "https://" + farName + ":" + port + "/page/"}
}

// farLink returns the secret of a link that leads beyond the machine.
func (w *world) farLink(scope access.Scope) string {
	w.t.Helper()
	made, err := w.owner.Page(w.t.Context(), api.NewPage{Scope: scope, Address: farName})
	if err != nil {
		w.t.Fatal(err)
	}
	return secretIn(w.t, made.URL)
}

func secretIn(t *testing.T, link string) string {
	t.Helper()
	at, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	return at.Query().Get("link")
}

// secret is what a browser is known by.
func (b *browser) secret() string {
	b.t.Helper()
	at, err := url.Parse(b.root)
	if err != nil {
		b.t.Fatal(err)
	}
	all := b.client.Jar.Cookies(at)
	if len(all) != 1 {
		b.t.Fatalf("the cookies of %s are %v", b.root, all)
	}
	return all[0].Value
}

// Elsewhere the page is below a path, under the names of the user's certificate, and does all that it does here. Its cookie goes by TLS alone.
func TestFar(t *testing.T) {
	cert := pintest.New(t, farName, "192.0.2.7", "*.boxes.example.org")
	w := farWorld(t, config.TLS{Cert: cert.Cert, Key: cert.Key})
	id := w.asks("Which door?")
	b := w.browseFar(&tls.Config{RootCAs: cert.Roots})
	_, port, _ := strings.Cut(w.far, ":")
	for address, want := range map[string]string{
		farName: b.root, farName + ":443": "https://" + farName + ":443/page/", "192.0.2.7": "https://192.0.2.7:" + port + "/page/",
		"a.boxes.example.org": "https://a.boxes.example.org:" + port + "/page/",
	} {
		made, err := w.owner.Page(t.Context(), api.NewPage{Scope: access.Read, Address: address})
		if secret, found := strings.CutPrefix(made.URL, want+"login?link="); err != nil || !found || len(secret) != 26 {
			t.Errorf("at %s: %+v, %v", address, made, err)
		}
	}
	secret := w.farLink(access.Answer)
	if got := b.get("login?link=" + secret); got.status != http.StatusOK || got.header.Get("Set-Cookie") != "" || !strings.Contains(got.text, secret) {
		t.Errorf("a look is answered with %d\n%s", got.status, got.text)
	}
	follow := b.client.CheckRedirect
	b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	got := b.post("login", "link", secret)
	for _, want := range []string{"__Host-signalbox=", "; Path=/;", "; HttpOnly", "; Secure", "; SameSite=Strict"} {
		if set := got.header.Get("Set-Cookie"); !strings.Contains(set, want) || strings.Contains(set, "Domain") {
			t.Errorf("the cookie %q is not %s", set, want)
		}
	}
	b.client.CheckRedirect = follow
	if got := b.get("https://" + farName + ":" + port + "/page"); got.status != http.StatusOK || !strings.HasSuffix(got.at, "/page/") {
		t.Errorf("without its last slash: %d at %s", got.status, got.at)
	}
	for _, view := range append(views(t), "page.css", "page.js", "idiomorph.js", "icon.svg", "picture.css") {
		got, near := b.get(view), w.browse().get("login?link=x")
		if got.status == http.StatusUnauthorized || got.header.Get("Content-Security-Policy") != near.header.Get("Content-Security-Policy") {
			t.Errorf("%s: %d, %q", view, got.status, got.header)
		}
		for _, bad := range []string{"http://", "https://", `href="/`, `src="/`, `action="/`} {
			if strings.HasSuffix(view, ".js") || strings.HasSuffix(view, ".svg") {
				continue
			}
			if strings.Contains(got.text, bad) {
				t.Errorf("%s has %q:\n%s", view, bad, got.text)
			}
		}
	}
	if got := b.post("answer", "question", id, "text", "the left one"); got.status != http.StatusOK || !strings.Contains(got.text, id+" is answered") || !strings.HasPrefix(got.at, b.root+"?did=answered") {
		t.Errorf("an answer: %d at %s\n%s", got.status, got.at, got.text)
	}
	if got := b.post("logout"); got.status != http.StatusOK || !strings.Contains(got.header.Get("Set-Cookie"), "__Host-signalbox=;") || !strings.Contains(got.text, "signalbox page --address "+farName+":"+port) {
		t.Errorf("a logout: %d, %q\n%s", got.status, got.header, got.text)
	}
	if got := b.get(""); got.status != http.StatusUnauthorized {
		t.Errorf("who is logged out is answered with %d", got.status)
	}
}

// A link leads beyond the machine only where a browser that follows it is let in.
func TestFarLinkRefused(t *testing.T) {
	cert := pintest.New(t, farName, "192.0.2.7")
	for name, w := range map[string]*world{
		"--listen ADDRESS:PORT --tls-cert FILE": newWorld(t),
		"which they do not take":                farWorld(t, config.TLS{}),
	} {
		if made, err := w.owner.Page(t.Context(), api.NewPage{Scope: access.Read, Address: farName}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %+v, %v", name, made, err)
		}
	}
	w := farWorld(t, config.TLS{Cert: cert.Cert, Key: cert.Key})
	for _, address := range []string{
		"example.org", "evil.example", "www." + farName, "127.0.0.1", "192.0.2.8", farName + ":0", farName + ":x", farName + ":99999", "lea@" + farName, farName + "/x", farName + "?x:1", ":7443", " ", "\x1b", strings.Repeat("a", 999),
	} {
		if made, err := w.owner.Page(t.Context(), api.NewPage{Scope: access.Read, Address: address}); err == nil || strings.Contains(address, "evil") && !strings.Contains(err.Error(), farName+", 192.0.2.7") {
			t.Errorf("%q: %+v, %v", address, made, err)
		}
	}
}

// Each of these is refused beyond the machine, and changes nothing.
func TestFarAttacks(t *testing.T) {
	cert := pintest.New(t, farName, "192.0.2.7")
	w := farWorld(t, config.TLS{Cert: cert.Cert, Key: cert.Key})
	id := w.asks("Which door?")
	trusting := &tls.Config{RootCAs: cert.Roots}
	login := func(b *browser, secret string) *browser {
		if got := b.post("login", "link", secret); got.status != http.StatusOK {
			t.Fatalf("a login is answered with %d", got.status)
		}
		return b
	}
	in, near, revoked := login(w.browseFar(trusting), w.farLink(access.Answer)), w.in(access.Answer), login(w.browseFar(trusting), w.farLink(access.Answer))
	who, err := w.service.Box.Principal(revoked.secret())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.owner.RevokeToken(t.Context(), who.Name); err != nil {
		t.Fatal(err)
	}
	key := func() *pin.Key {
		k, err := pin.OpenKey(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	joined := key()
	if _, secret, err := w.service.Box.InviteRunner(work.OperatorActor, api.NewRunner{Name: "gpu1"}, ""); err != nil {
		t.Fatal(err)
	} else if _, err := w.service.Box.JoinRunner(secret, joined.Hash()); err != nil {
		t.Fatal(err)
	}
	runner, guest := w.browseFar(pin.Client(joined, w.service.SecureKey())), w.browseFar(pin.Joining(key(), w.service.SecureKey()))
	nobody, nearNobody := w.browseFar(trusting), w.browse()
	own, _ := w.service.Box.Tokens()
	form := url.Values{"question": {id}, "text": {"the left one"}}
	request := func(b *browser, method, path string, form url.Values, host string, pairs ...string) *http.Request {
		r := b.request(method, path, form)
		if host != "" {
			r.Host = host
		}
		for i := 0; i < len(pairs); i += 2 {
			r.Header.Set(pairs[i], pairs[i+1])
		}
		return r
	}
	port, root := w.far[strings.LastIndex(w.far, ":"):], strings.TrimSuffix(in.root, "page/")
	for _, c := range []struct {
		name string
		by   *browser
		req  *http.Request
		want int
	}{
		{"without TLS", in, request(in, "GET", "http://"+farName+port+"/page/", nil, ""), 400},
		{"nobody looks", nobody, request(nobody, "GET", "", nil, ""), 401},
		{"nobody answers", nobody, request(nobody, "POST", "answer", form, ""), 401},
		{"nobody follows", nobody, request(nobody, "GET", "stream?on=inbox&since=0", nil, ""), 401},
		{"the cookie of this machine's page", nobody, request(nobody, "GET", "", nil, "", "Cookie", "signalbox="+near.secret()), 401},
		{"the cookie of here, on this machine", nearNobody, request(nearNobody, "GET", "", nil, "", "Cookie", "__Host-signalbox="+in.secret()), 401},
		{"both cookies, of which the right one is nobody's", nobody, request(nobody, "GET", "", nil, "", "Cookie", "__Host-signalbox=x; signalbox="+in.secret()), 401},
		{"two cookies", in, request(in, "GET", "", nil, "", "Cookie", "__Host-signalbox=x"), 401},
		{"a cookie that was revoked", revoked, request(revoked, "GET", "", nil, ""), 401},
		{"a revoked browser answers", revoked, request(revoked, "POST", "answer", form, ""), 401},
		{"the owner's token as a cookie", nobody, request(nobody, "GET", "", nil, "", "Cookie", "__Host-signalbox="+own), 401},
		{"the owner's token as a header", nobody, request(nobody, "GET", "", nil, "", "Authorization", "Bearer "+own), 401},
		{"another name", in, request(in, "GET", "", nil, "evil.example"), 404},
		{"another name logs in", nobody, request(nobody, "POST", "login", url.Values{"link": {w.farLink(access.Read)}}, "evil.example", "Origin", "https://evil.example"), 404},
		{"a name below", in, request(in, "GET", "", nil, "www."+farName), 404},
		{"an address that is not in the certificate", in, request(in, "GET", "", nil, "127.0.0.1"+port), 404},
		{"the name of this machine's page", in, request(in, "GET", "", nil, w.service.Box.PageHost()), 404},
		{"the name of this machine's page, not below", in, request(in, "GET", root, nil, w.service.Box.PageHost()), 404},
		{"on this machine, the name of here", near, request(near, "GET", "", nil, farName), 404},
		{"on this machine, below", near, request(near, "GET", "page/", nil, ""), 404},
		{"not below", in, request(in, "GET", root, nil, ""), 404},
		{"a login that is not below", in, request(in, "GET", root+"login?link=x", nil, ""), 404},
		{"something beside it", in, request(in, "GET", root+"pages", nil, ""), 404},
		{"the API below it", in, request(in, "GET", "v1/status", nil, "", "Authorization", "Bearer "+own), 404},
		{"the API by the cookie", in, request(in, "GET", root+"v1/status", nil, ""), 401},
		{"a runner", runner, request(runner, "GET", "", nil, ""), 404},
		{"a runner with a cookie", runner, request(runner, "GET", "", nil, "", "Cookie", "__Host-signalbox="+in.secret()), 404},
		{"a runner logs in", runner, request(runner, "POST", "login", url.Values{"link": {w.farLink(access.Read)}}, ""), 404},
		{"who is about to join", guest, request(guest, "GET", "", nil, "", "Cookie", "__Host-signalbox="+in.secret()), 404},
		{"a form of another site", in, request(in, "POST", "answer", form, "", "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"), 403},
		{"a form of another port", in, request(in, "POST", "answer", form, "", "Sec-Fetch-Site", "same-site", "Origin", "https://"+farName+":1"), 403},
		{"a form that came without TLS, of an old browser", in, request(in, "POST", "answer", form, "", "Sec-Fetch-Site", "", "Origin", "http://"+farName+port), 403},
		{"a form of no origin", in, request(in, "POST", "answer", form, "", "Sec-Fetch-Site", "", "Origin", "null"), 403},
		{"another port looks", in, request(in, "GET", "", nil, "", "Sec-Fetch-Site", "same-site"), 401},
		{"this machine's link", nobody, request(nobody, "POST", "login", url.Values{"link": {secretIn(t, w.link(access.Read))}}, ""), 403},
		{"a link of here, on this machine", nearNobody, request(nearNobody, "POST", "login", url.Values{"link": {w.farLink(access.Read)}}, ""), 403},
		{"a long login", nobody, request(nobody, "POST", "login", url.Values{"link": {strings.Repeat("x", 5<<10)}}, ""), 400},
	} {
		got := c.by.send(c.req)
		if got.status != c.want || got.header.Get("Set-Cookie") != "" {
			t.Errorf("%s: %d, want %d, sets %q\n%.300s", c.name, got.status, c.want, got.header.Get("Set-Cookie"), got.text)
		}
	}
	if all, err := w.owner.Questions(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("the question was answered: %+v, %v", all, err)
	}
	if got := in.get(""); got.status != http.StatusOK {
		t.Errorf("who is logged in is answered with %d after all that", got.status)
	}
}

// A box that shows browsers its own key alone has no page there.
func TestFarOwnKey(t *testing.T) {
	w := farWorld(t, config.TLS{})
	b := w.browseFar(&tls.Config{InsecureSkipVerify: true})
	for _, path := range []string{"", "login?link=x", strings.TrimSuffix(b.root, "page/")} {
		if got := b.get(path); got.status != http.StatusNotFound {
			t.Errorf("%q: %d", path, got.status)
		}
	}
}

// logged is a log that is written beside the test.
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

// Who is refused beyond the machine is logged, without what they have sent; who is refused on it is not.
func TestFarLogged(t *testing.T) {
	cert, log := pintest.New(t, farName), new(logged)
	w := loggedFarWorld(t, config.TLS{Cert: cert.Cert, Key: cert.Key}, log)
	w.browse().get("runs")
	if text := log.String(); strings.Contains(text, "refused") {
		t.Errorf("who is refused on this machine: %s", text)
	}
	b := w.browseFar(&tls.Config{RootCAs: cert.Roots})
	b.get("runs?id=secret")
	b.post("login", "link", "secret")
	text := log.String()
	for _, want := range []string{`asks="GET /runs" why="the browser is not logged in"`, `asks="POST /login" why="the link is none, or is spent"`} {
		if !strings.Contains(text, "a request was refused") || !strings.Contains(text, want) {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
	if strings.Contains(text, "secret") {
		t.Errorf("the log has what was sent: %s", text)
	}
}
