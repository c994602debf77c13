// Package gitproxy lets this process's own git speak to a box. Git asks a listener on loopback, which passes requests on over
// the connection that the process has: so there is one way to the box, with one implementation of TLS and one check of its key.
//
// Whoever sends the secret may use it. It is made anew for each proxy, and git gets it through its environment, where other users
// and agents in a sandbox can't read it.
package gitproxy

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"time"

	"github.com/signalbox-dev/signalbox/internal/background"
	"github.com/signalbox-dev/signalbox/internal/httpserver"
	"github.com/signalbox-dev/signalbox/safetext"
)

const (
	secretName  = "Signalbox-Git"
	secretBytes = 32
	// patience is until the next piece of a request or an answer. A box says nothing while it looks through a push.
	patience = 10 * time.Minute
	// stopPatience is for requests to end when the proxy stops: their contexts have ended.
	stopPatience = 5 * time.Second
)

// passed are the headers of git's that the box gets.
var passed = []string{"Accept", "Accept-Encoding", "Content-Encoding", "Content-Type", "User-Agent"}

// asked is what git asks for: of one of the repositories below the box's address.
var asked = regexp.MustCompile(`^(/[A-Za-z0-9][A-Za-z0-9._-]*){1,3}/(info/refs|git-upload-pack|git-receive-pack)$`)

// Proxy is a listener that passes git's requests on.
type Proxy struct {
	address string
	secret  string
	group   *background.Group
}

// Open listens, and passes requests for /NAME/… on to the same below a base address, by a transport. Whoever opens one
// stops it.
func Open(ctx context.Context, base *url.URL, by http.RoundTripper, logger *slog.Logger) (*Proxy, error) {
	random := make([]byte, secretBytes)
	_, _ = rand.Read(random) // which never fails
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{address: l.Addr().String(), secret: hex.EncodeToString(random), group: background.New(ctx)}
	server := httpserver.New(p.handler(base, by, logger), logger)
	server.BaseContext = func(net.Listener) context.Context { return p.group.Context() }
	p.group.Go(func(context.Context) {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			logger.Error("git's way to the box has ended", "error", err)
		}
	})
	p.group.Go(func(ctx context.Context) {
		<-ctx.Done()
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
		defer cancel()
		if err := server.Shutdown(ending); err != nil {
			_ = server.Close() // nothing is lost
		}
	})
	return p, nil
}

// URL is the address of one of the repositories, by its name.
func (p *Proxy) URL(name string) string { return "http://" + p.address + "/" + name }

// Header is what each request has to have, as NAME: VALUE.
func (p *Proxy) Header() string { return secretName + ": " + p.secret }

// Stop ends all requests, and returns when nothing listens any more.
func (p *Proxy) Stop() { p.group.Stop() }

func (p *Proxy) handler(base *url.URL, by http.RoundTripper, logger *slog.Logger) http.Handler {
	base = base.JoinPath("/") // an address without a path is one of its root
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			to := base.JoinPath(r.In.URL.Path) // which is plain
			to.RawQuery = r.In.URL.RawQuery
			r.Out.URL, r.Out.Host = to, ""
			kept := http.Header{}
			for _, name := range passed {
				kept[name] = r.In.Header[name]
			}
			r.Out.Header = kept
		},
		Transport:     by,
		FlushInterval: -1, // git waits for each piece
		ErrorLog:      slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil {
				logger.Warn("git did not reach the box", "path", safetext.Escape(r.URL.Path), "error", err)
			}
			fail(w, http.StatusBadGateway, "the box was not reached: "+safetext.Escape(err.Error()))
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get(secretName)), []byte(p.secret)) != 1 {
			fail(w, http.StatusForbidden, "this is for the runner's own git")
			return
		}
		if err := httpserver.Admit(w, r); err != nil {
			fail(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		if !asked.MatchString(r.URL.Path) || r.URL.RawPath != "" {
			fail(w, http.StatusNotFound, "git asks for no such thing")
			return
		}
		in, out, done := httpserver.Pieces(w, r, patience)
		defer done()
		r.Body = body{in, r.Body}
		forward.ServeHTTP(piecewise{w, out}, r)
	})
}

// fail answers in words that git shows.
func fail(w http.ResponseWriter, status int, words string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(words + "\n")) // a client that has gone needs no answer
}

// body is what a request sends, piece by piece.
type body struct {
	io.Reader
	io.Closer
}

// piecewise is an answer whose pieces are sent as they come.
type piecewise struct {
	http.ResponseWriter
	out io.Writer
}

func (p piecewise) Write(b []byte) (int, error) { return p.out.Write(b) }

// Flush does nothing: what was written was sent.
func (p piecewise) Flush() {}
