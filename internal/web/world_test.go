package web_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/httpapi"
	"github.com/signalbox-dev/signalbox/internal/service"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a real box that answers on a real socket.
type world struct {
	t       *testing.T
	service *service.Service
	address string // on this machine
	far     string // and beyond it; "" if there is none
	owner   *api.Client
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return worldOf(t, service.Options{Box: box.Options{Dir: box.Dir(t.TempDir())}})
}

// worldOf returns one whose box is opened like this.
func worldOf(t *testing.T, o service.Options) *world {
	t.Helper()
	s, _, err := service.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := httpapi.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	token, _ := s.Box.Tokens()
	w := &world{t: t, service: s, address: l.Addr().String(), owner: api.NewClient(l.Addr().String(), token)}
	if o.Secure != nil {
		w.far = o.Secure.Addr().String()
	}
	t.Cleanup(func() {
		w.owner.Close()
		stop()
		if err := errors.Join(<-served, s.Close()); err != nil {
			t.Error(err)
		}
	})
	return w
}

// link returns a link to the page.
func (w *world) link(scope access.Scope) string {
	w.t.Helper()
	l, err := w.owner.Page(w.t.Context(), api.NewPage{Scope: scope})
	if err != nil {
		w.t.Fatal(err)
	}
	return l.URL
}

// browser is a browser without a script, and with cookies as browsers have them: by name, whatever the port.
type browser struct {
	*world
	client *http.Client
	root   string // of the page
}

// browse returns one that knows nothing yet.
func (w *world) browse() *browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	// Browsers know where names below localhost are, and ask nobody.
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		return new(net.Dialer).DialContext(ctx, network, "127.0.0.1:"+port)
	}}
	w.t.Cleanup(transport.CloseIdleConnections)
	_, port, _ := strings.Cut(w.address, ":")
	return &browser{w, &http.Client{Jar: jar, Transport: transport}, "http://" + w.service.Box.PageHost() + ":" + port + "/"}
}

// in returns one that is logged in.
func (w *world) in(scope access.Scope) *browser {
	w.t.Helper()
	b := w.browse()
	if got := b.get(w.link(scope)); got.status != http.StatusOK || !strings.Contains(got.text, "Open the page") {
		w.t.Fatalf("a link is answered with %d\n%s", got.status, got.text)
	}
	link, err := url.Parse(w.link(scope))
	if err != nil {
		w.t.Fatal(err)
	}
	if got := b.post("login", "link", link.Query().Get("link")); got.status != http.StatusOK || !strings.Contains(got.text, "<h1>Inbox</h1>") {
		w.t.Fatalf("a login is answered with %d\n%s", got.status, got.text)
	}
	return b
}

// page is what a browser was answered, after redirects.
type page struct {
	status int
	at     string // where it ended
	header http.Header
	text   string
}

// send sends a request to the page's address, however its name is found.
func (b *browser) send(r *http.Request) page {
	b.t.Helper()
	resp, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return page{resp.StatusCode, resp.Request.URL.String(), resp.Header, string(text)}
}

func (b *browser) request(method, path string, form url.Values) *http.Request {
	b.t.Helper()
	if !strings.HasPrefix(path, "http") {
		path = b.root + path
	}
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r, err := http.NewRequestWithContext(b.t.Context(), method, path, body)
	if err != nil {
		b.t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", r.URL.Scheme+"://"+r.URL.Host)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	return r
}

func (b *browser) get(path string) page { b.t.Helper(); return b.send(b.request("GET", path, nil)) }

// post sends a form of names and values.
func (b *browser) post(path string, fields ...string) page {
	b.t.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	return b.send(b.request("POST", path, form))
}

// asks has an agent by hand ask a question, and returns the question's id.
func (w *world) asks(question string) string {
	w.t.Helper()
	item, err := w.owner.Add(w.t.Context(), api.AddWork{Title: "A task", Phase: agentsig.PhaseImplementation})
	if err != nil {
		w.t.Fatal(err)
	}
	grant, err := w.owner.Claim(w.t.Context(), api.Claim{Work: item.ID, Actor: "ann", Role: agentsig.RoleDeveloper})
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.owner.Emit(w.t.Context(), grant.Session, fmt.Appendf(nil, "SEEKING_DIVINE_CLARIFICATION\nQuestion: %s\n", question)); err != nil {
		w.t.Fatal(err)
	}
	all, err := w.owner.Questions(w.t.Context())
	if err != nil || len(all) == 0 {
		w.t.Fatalf("%+v, %v", all, err)
	}
	return all[len(all)-1].ID
}

var tag = regexp.MustCompile(`<[^>]*>`)
