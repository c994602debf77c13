package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"embed"
	"encoding/hex"
	"errors"
	"html/template"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/httpserver"
	"github.com/signalbox-dev/signalbox/internal/picture"
	"github.com/signalbox-dev/signalbox/internal/runview"
)

// Box is what the page needs of a box besides its API.
type Box interface {
	// Principal returns whose a token is.
	Principal(secret string) (access.Principal, error)
	// CreateToken and RevokeToken begin and end a browser's session.
	CreateToken(api.NewToken, string) (api.CreatedToken, error)
	RevokeToken(which, key string) (api.ClientToken, error)
	// Questions lists what waits for a person.
	Questions() []api.Question
	// UpTo is the sequence of the last event.
	UpTo() uint64
	// Follow calls f with the names of the items and runs that events after this sequence are about, and with those that
	// come, until ctx ends, the box stops, or f returns an error.
	Follow(ctx context.Context, after uint64, f func(upTo uint64, names []string) error) error
	// Looks returns a channel that gets something when a run looks different, also if nothing was recorded, until end is called.
	Looks(run string) (different <-chan struct{}, end func(), err error)
	// Diff writes what a person is shown of a task that waits for their review, in git's format.
	Diff(ctx context.Context, s api.Sight, to io.Writer) error
	TaskBox
}

// Options say what a page is of.
type Options struct {
	Host   string       // the name that it answers to on this machine
	API    http.Handler // the box's
	Box    Box
	Now    func() time.Time
	Logger *slog.Logger

	Certificate *x509.Certificate // that browsers beyond this machine are shown; nil if there is none that they take

	Refused func(*http.Request, error) // is told who may not ask, and why

	Settings func() ([]config.Setting, error) // that the box goes by, without secrets
}

// Page answers a browser's requests.
type Page struct {
	o         Options
	links     links
	hub       hub
	cross     *http.CrossOriginProtection
	diffs     diffs
	parts     parts
	histories kept[runHistory]
	counted   counted
	tasks     tasks
	views     func() (*template.Template, error)
	routes    func() http.Handler
	far       func() http.Handler // below a path
}

//go:embed templates
var templateFiles embed.FS

//go:embed assets/page.css assets/page.js assets/idiomorph/idiomorph.js assets/icon.svg
var assets embed.FS

// New makes a page. It costs nothing until it is asked for.
func New(o Options) *Page {
	p := &Page{o: o, cross: http.NewCrossOriginProtection()}
	p.hub.follow, p.hub.upTo, p.hub.waiting = o.Box.Follow, o.Box.UpTo, o.Box.Questions
	p.views = sync.OnceValues(func() (*template.Template, error) {
		pages, err := runview.Parse(template.New(""))
		if err != nil {
			return nil, err
		}
		return pages.Funcs(p.words()).ParseFS(templateFiles, "templates/*.html")
	})
	p.routes = sync.OnceValue(p.mux)
	p.far = sync.OnceValue(func() http.Handler {
		m := http.NewServeMux()
		m.Handle(below, http.StripPrefix(strings.TrimSuffix(below, "/"), p.routes()))
		return m
	})
	return p
}

// Host is the name that the page answers to.
func (p *Page) Host() string { return p.o.Host }

// For reports whether a request is for the page. A port does not matter: it may be forwarded from elsewhere. By TLS, which is beyond this
// machine, the page has other names, and is below a path.
func (p *Page) For(r *http.Request) bool {
	name := r.Host
	if host, _, err := net.SplitHostPort(name); err == nil {
		name = host
	}
	if isFar(r) {
		return p.forFar(r, name)
	}
	return strings.EqualFold(name, p.o.Host)
}

// policy is what a browser may do with what the page sends.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// maxForm is how long a form may be, in bytes.
const maxForm = 256 << 10

// ServeHTTP implements [http.Handler].
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if err := p.fromHere(r); err != nil {
		httpserver.Refuse(w)
		p.o.Refused(r, err)
		http.Error(w, "this was sent by another page, and is refused", http.StatusForbidden)
		return
	}
	routes := p.routes
	if isFar(r) {
		routes = p.far
	}
	routes().ServeHTTP(w, r)
}

// mux is what the page knows. All its paths are of one level, so that its links are relative and it can stand below a path.
func (p *Page) mux() http.Handler {
	m := http.NewServeMux()
	for _, file := range []string{"page.css", "page.js", "idiomorph/idiomorph.js", "icon.svg"} {
		content, err := assets.ReadFile("assets/" + file)
		if err != nil {
			panic(err) // it is a part of the program
		}
		m.HandleFunc("GET /"+path.Base(file), p.file(path.Base(file), content))
	}
	m.HandleFunc("GET /picture.css", p.file("picture.css", picture.Style))
	m.HandleFunc("GET /login", p.askLogin)
	m.HandleFunc("POST /login", p.login)
	m.HandleFunc("POST /logout", p.in(p.logout))
	m.HandleFunc("GET /{$}", p.in(p.inbox))
	m.HandleFunc("POST /answer", p.in(p.answer))
	m.HandleFunc("POST /review", p.in(p.review))
	m.HandleFunc("GET /runs", p.in(p.runs))
	m.HandleFunc("GET /start", p.in(p.startForm))
	m.HandleFunc("POST /start", p.within(maxPlanForm, p.start))
	m.HandleFunc("GET /run", p.in(p.run))
	m.HandleFunc("GET /task", p.in(p.task))
	m.HandleFunc("GET /stats", p.in(p.stats))
	m.HandleFunc("GET /ledger", p.in(p.ledger))
	m.HandleFunc("GET /event", p.in(p.event))
	m.HandleFunc("GET /proof", p.in(p.proof))
	m.HandleFunc("GET /runners", p.in(p.runners))
	m.HandleFunc("POST /runners", p.in(p.drain))
	m.HandleFunc("GET /settings", p.in(p.settings))
	m.HandleFunc("POST /steer", p.in(p.steer))
	m.HandleFunc("POST /task", p.in(p.onTask))
	m.HandleFunc("GET /stream", p.in(p.stream))
	m.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		text := "The address is none of this page's."
		if slices.Contains([]string{"/answer", "/review", "/steer"}, r.URL.Path) {
			text = "A form was sent to this address, and there is nothing to look at. If it was refused, nothing was recorded; what waits for you is in the inbox."
		}
		p.show(w, r, http.StatusNotFound, "plain.html", plain{Title: "There is nothing here", Text: []string{text}, Back: true})
	})
	return m
}

// file answers with a file of the page, which is the same for everybody: a browser keeps it, and asks whether it is so still. Who is logged in
// keeps the connection: on a network another one takes time.
func (p *Page) file(name string, content []byte) http.HandlerFunc {
	sum := sha256.Sum256(content)
	tag := `"` + hex.EncodeToString(sum[:16]) + `"`
	return func(w http.ResponseWriter, r *http.Request) {
		if _, _, err := p.session(r); err == nil {
			if err := httpserver.Admit(w, r); err != nil {
				p.fail(w, r, http.StatusServiceUnavailable, err)
				return
			}
		}
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("ETag", tag)
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
	}
}

// asked is a request of somebody who is logged in.
type asked struct {
	*http.Request
	who    access.Principal
	secret string
	client *api.Client // for what they may
}

// may reports whether they may do what needs a right.
func (a asked) may(right access.Right) bool { return a.who.May(right, "") == nil }

// in has a request answered if it is of somebody who is logged in. A form is read before.
func (p *Page) in(answer func(http.ResponseWriter, asked)) http.HandlerFunc {
	return p.within(maxForm, answer)
}

// within is the same for a form of other length.
func (p *Page) within(most int64, answer func(http.ResponseWriter, asked)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who, secret, err := p.session(r)
		if err != nil {
			httpserver.Refuse(w)
			p.o.Refused(r, err)
			p.show(w, r, http.StatusUnauthorized, "plain.html", plain{Title: "Who are you?", Again: r.Method == http.MethodGet, Text: []string{
				"This browser is not logged in, or came here from another site.",
				"Run `" + command(r) + "` where the box is, and open the link that it prints.",
			}})
			return
		}
		if err := httpserver.Admit(w, r); err != nil {
			p.fail(w, r, http.StatusServiceUnavailable, err)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, most)
		if r.Method == http.MethodPost {
			if err := r.ParseForm(); err != nil {
				p.fail(w, r, http.StatusBadRequest, errors.New("the form can't be read, or is too long"))
				return
			}
		}
		answer(w, asked{r, who, secret, api.ClientOver(direct{p.o.API}, secret)})
	}
}

// plain is a page of a few sentences.
type plain struct {
	Title string
	Text  []string
	Again bool   // the same address may be asked for again
	Work  string // a task that it is about
	Back  bool   // the inbox is there
}

// fail says what went wrong.
func (p *Page) fail(w http.ResponseWriter, r *http.Request, status int, err error) {
	p.show(w, r, status, "plain.html", plain{Title: "That did not work", Text: []string{err.Error()}, Back: true})
}

// show sends a page, or a part of one, once all of it is made. Who asks for a part may have a version of it: then it is sent what
// differs.
func (p *Page) show(w http.ResponseWriter, r *http.Request, status int, name string, data any) {
	var page []byte
	var err error
	if strings.HasSuffix(name, ".html") {
		page, err = p.whole(name, data)
	} else if page, err = p.changes(name, data, r.URL.Query().Get("have")); err == nil && page == nil {
		status = http.StatusNoContent
	}
	if err != nil {
		p.o.Logger.Error("a page could not be made", "page", name, "error", err)
		http.Error(w, "the page could not be made: the box's log says more", http.StatusInternalServerError)
		return
	}
	httpserver.Answering(w)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(page) // a browser that has gone misses it
}

// whole makes a page.
func (p *Page) whole(name string, data any) ([]byte, error) {
	views, err := p.views()
	if err != nil {
		return nil, err
	}
	var page bytes.Buffer
	err = views.ExecuteTemplate(&page, name, data)
	return page.Bytes(), err
}

// frame is what is around every view.
type frame struct {
	Title   string
	At      string // the view
	Name    string // the client that the browser is
	Answers bool   // it may answer and review
	Steers  bool   // it may operate
	Topics  string // that the view shows
	Here    string // its address, if the browser has another one: a form was refused
	Since   uint64 // the last event that it can know of
	Waits   int    // how much waits for a person

	Elsewhere bool   // agents can work on other machines than the box's
	Said      string // what was done by the form before
	Problem   string // why it was not
	Typed     string // what was typed then
}

// framed makes the frame of a view; what waits for a person is a topic of every one. It is made before what is shown is asked for, so that nothing is missed.
func (p *Page) framed(a asked, title, at, topic string) frame {
	f := frame{
		Title: title, At: at, Name: a.who.Name, Answers: a.may(access.ToAnswer), Steers: a.may(access.ToOperate),
		Topics: topicInbox, Since: p.o.Box.UpTo(), Said: said(a.URL.Query().Get("did"), a.URL.Query().Get("what")),
	}
	if topic != "" && topic != topicInbox {
		f.Topics += " " + topic
	}
	if part := a.URL.Query().Get("part"); part == "" || part == "waits" {
		f.Waits = len(p.o.Box.Questions())
	}
	if a.URL.Query().Get("part") == "" {
		all, err := a.client.Runners(a.Context())
		f.Elsewhere = err == nil && len(all) > 0 // what can't be asked for has no link
	}
	return f
}

// done sends the browser back to where a form was, which says then what was done.
func done(w http.ResponseWriter, r *http.Request, to, did, what string) {
	between := "?"
	if strings.Contains(to, "?") {
		between = "&"
	}
	w.Header().Set("Location", to+between+"did="+did+"&what="+template.URLQueryEscaper(what))
	w.WriteHeader(http.StatusSeeOther)
}
