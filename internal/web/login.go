package web

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/httpserver"
)

// How long a link and a browser's session last, and how many links may wait to be spent.
const (
	LinkTTL    = 10 * time.Minute
	SessionTTL = 7 * 24 * time.Hour
	maxLinks   = 64
)

// How long the name of who uses the page may be, and how many browsers one name may be logged in with at once.
const (
	maxPerson   = 48
	maxBrowsers = 99
)

// sessionPrefix begins the names of the clients that browsers are.
const sessionPrefix = "page-"

const cookie = "signalbox"

// maxLogin is how long the form of somebody may be who is nobody yet, in bytes.
const maxLogin = 4 << 10

// links are those that were printed and not spent. They are in memory alone: a box that was started anew knows none.
type links struct {
	mu  sync.Mutex
	all map[[sha256.Size]byte]link
}

type link struct {
	far     bool   // it leads beyond this machine
	name    string // whose browser it logs in; empty if nobody has said it
	scopes  []access.Scope
	expires time.Time
}

// put keeps a link. If there are too many, the one that expires first goes.
func (l *links) put(secret string, made link) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[[sha256.Size]byte]link{}
	}
	for len(l.all) >= maxLinks {
		var first [sha256.Size]byte
		for sum, other := range l.all {
			if was, ok := l.all[first]; !ok || other.expires.Before(was.expires) {
				first = sum
			}
		}
		delete(l.all, first)
	}
	l.all[sha256.Sum256([]byte(secret))] = made
}

// take spends a link. One that is handed in elsewhere than where it leads to has been seen by somebody else.
func (l *links) take(secret string, far bool, now time.Time) (link, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	sum := sha256.Sum256([]byte(secret))
	found, ok := l.all[sum]
	delete(l.all, sum)
	return found, ok && found.far == far && now.Before(found.expires)
}

// Link makes a link that logs one browser in, once. It leads to the address that is named, which has a port, or else to this machine at the port
// that the box is asked on.
func (p *Page) Link(port string, q api.NewPage) (api.PageLink, error) {
	scopes, err := scopesOf(q.Scope)
	if err != nil {
		return api.PageLink{}, err
	}
	if q.Name != "" && (len(q.Name) > maxPerson || access.CheckName(q.Name) != nil) {
		return api.PageLink{}, errBadPerson
	}
	root, err := p.root(port, q.Address)
	if err != nil {
		return api.PageLink{}, err
	}
	secret, expires := rand.Text(), p.o.Now().UTC().Add(LinkTTL).Truncate(time.Second)
	p.links.put(secret, link{q.Address != "", q.Name, scopes, expires})
	return api.PageLink{URL: root + "login?link=" + secret, Scope: q.Scope, ExpiresAt: expires}, nil
}

// ErrBadScope refuses a link.
var ErrBadScope = errors.New("the page's scope is read, answer or operate")

var errBadPerson = fmt.Errorf("the name of who uses the page has 1 to %d of a-z, 0-9, '.', '_' and '-', and begins with a letter or digit", maxPerson)

// scopesOf are the scopes of a session's token. Who steers work at the page judges it there too: it is one person.
func scopesOf(s access.Scope) ([]access.Scope, error) {
	switch s {
	case access.Read, access.Answer:
		return []access.Scope{s}, nil
	case access.Operate:
		return []access.Scope{access.Answer, access.Operate}, nil
	}
	return nil, ErrBadScope
}

// loginView asks whether to log in. A mere look spends nothing: programs fetch links before people do.
type loginView struct{ Link string }

func (p *Page) askLogin(w http.ResponseWriter, r *http.Request) {
	p.show(w, r, http.StatusOK, "login.html", loginView{r.URL.Query().Get("link")})
}

func (p *Page) login(w http.ResponseWriter, r *http.Request) {
	httpserver.Refuse(w) // it is nobody's yet
	r.Body = http.MaxBytesReader(w, r.Body, maxLogin)
	if r.ParseForm() != nil {
		p.fail(w, r, http.StatusBadRequest, errors.New("the form can't be read"))
		return
	}
	secret := r.PostForm.Get("link")
	found, ok := p.links.take(secret, isFar(r), p.o.Now())
	if !ok {
		p.o.Refused(r, errSpent)
		p.show(w, r, http.StatusForbidden, "plain.html", plain{Title: "This link is spent", Text: []string{
			fmt.Sprintf("A link logs one browser in, once, within %d minutes; and a box that was started anew knows none of before.", int(LinkTTL.Minutes())),
			"Run `" + command(r) + "` again, and open the link that it prints.",
		}})
		return
	}
	made, err := p.begin(found)
	if err != nil {
		p.links.put(secret, found)
		p.fail(w, r, http.StatusServiceUnavailable, err)
		return
	}
	setCookie(w, r, made.Secret, int(SessionTTL.Seconds()))
	w.Header().Set("Location", "./")
	w.WriteHeader(http.StatusSeeOther)
}

// begin begins a browser's session. A name that another browser is logged in with gets a number.
func (p *Page) begin(l link) (made api.CreatedToken, err error) {
	name := sessionPrefix + l.name
	if l.name == "" {
		var bits [4]byte
		_, _ = rand.Read(bits[:]) // it never fails
		name += hex.EncodeToString(bits[:])
	}
	for n := 1; n <= maxBrowsers; n++ {
		unique := name
		if n > 1 {
			unique += fmt.Sprint("-", n)
		}
		made, err = p.o.Box.CreateToken(api.NewToken{Name: unique, Scopes: l.scopes, TTLMS: SessionTTL.Milliseconds()}, "")
		if !errors.Is(err, access.ErrTaken) {
			break
		}
	}
	return made, err
}

var errSpent = errors.New("the link is none, or is spent")

var errNotIn = errors.New("the browser is not logged in")

// session returns whose session a request is of. What another site, or a server on another port, has a browser ask for is
// nobody's, whatever the browser sends with it.
func (p *Page) session(r *http.Request) (access.Principal, string, error) {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
	default:
		return access.Principal{}, "", errNotIn
	}
	sent := r.CookiesNamed(cookieOf(r))
	if len(sent) != 1 {
		return access.Principal{}, "", errNotIn
	}
	who, err := p.o.Box.Principal(sent[0].Value)
	switch {
	case err != nil:
		return access.Principal{}, "", err
	case who.Kind != access.Client || !strings.HasPrefix(who.Name, sessionPrefix):
		return access.Principal{}, "", errNotIn // the owner's token, or a program's, is none of a browser's
	}
	return who, sent[0].Value, nil
}

// logout ends a browser's session.
func (p *Page) logout(w http.ResponseWriter, a asked) {
	if _, err := p.o.Box.RevokeToken(a.who.Name, ""); err != nil {
		p.fail(w, a.Request, http.StatusServiceUnavailable, err)
		return
	}
	setCookie(w, a.Request, "", -1)
	p.show(w, a.Request, http.StatusOK, "plain.html", plain{Title: "You are logged out", Text: []string{"Run `" + command(a.Request) + "` to log in again."}})
}
