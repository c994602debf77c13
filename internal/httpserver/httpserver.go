// Package httpserver has what all HTTP servers of this program have in common: nobody can hold one up
// by what he does not send or does not read, or take all descriptors by connections.
//
// A connection begins as a stranger's. It becomes known when the server admits one of its requests
// ([Admit]): one with a token, say. Strangers have little: a request without an admission is the last
// one on its connection, and of many strangers the one that has been there for longest is disconnected
// for one that comes. A client sends its request when it connects, so one that may ask gets in,
// however many others there are. Known connections are counted too: one more than there may be is
// told so.
//
// One server may answer on two listeners: on this machine, and beyond it with TLS. Each has strangers of its own, so that those of a
// network disconnect nobody here.
package httpserver

import (
	"context"
	"crypto/tls"
	"errors"
	"log"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/signalbox-dev/signalbox/internal/descriptors"
)

// How long a client may take.
const (
	HeaderPatience = 10 * time.Second // for the head of a request
	BodyPatience   = 30 * time.Second // for all of a request
	AnswerPatience = 30 * time.Second // to take an answer
	StreamPatience = 10 * time.Second // to take the next piece of an answer that goes on
	idlePatience   = 2 * time.Minute  // until the next request
	strangersBody  = time.Second      // for the rest of a request that was not admitted: what is read does not reset the connection
)

// How many connections there may be. Those of strangers are a quarter, and no more than mostStrangers.
const (
	mostConnections = 12 << 10 // 10,000 claims may wait
	mostStrangers   = 1 << 10
)

// ErrFull is returned if there are as many connections already as there may be.
var ErrFull = errors.New("too many connections are open: close those that are idle, and try again")

// ErrAhead is returned if something was sent behind a request that waits.
var ErrAhead = errors.New("something was sent behind a request that waits: wait for its answer first, or use another connection")

// Server is an HTTP server with deadlines and limits.
type Server struct{ *http.Server }

// New returns a server for requests that the handler answers. It may be changed before it serves.
func New(handler http.Handler, logger *slog.Logger) *Server {
	return &Server{&http.Server{
		Handler:           strange(handler),
		ReadHeaderTimeout: HeaderPatience, ReadTimeout: BodyPatience, IdleTimeout: idlePatience,
		WriteTimeout:   BodyPatience + AnswerPatience, // it begins with the request's body
		MaxHeaderBytes: 16 << 10,
		ErrorLog:       slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if t, ok := c.(*tls.Conn); ok {
				c = t.NetConn()
			}
			if c, ok := c.(*connection); ok {
				return context.WithValue(ctx, connectionKey{}, c)
			}
			return ctx
		},
	}}
}

// Serve answers until the server is closed or shut down, with as many connections as descriptors allow. Once [Server.Secure] was called, a
// quarter of them is for what is served by TLS.
func (s *Server) Serve(l net.Listener) error {
	all, _ := s.room()
	return s.Server.Serve(s.limit(l, all))
}

// Secure has the server speak HTTP/1.1 over TLS on the listeners that [Server.ServeSecure] is given. It is called before the server serves.
func (s *Server) Secure(config *tls.Config) {
	s.ErrorLog = log.New(handshakes{s.ErrorLog.Writer(), StrangersPace()}, "", 0)
	s.TLSConfig, s.Protocols = config, new(http.Protocols)
	s.Protocols.SetHTTP1(true)
}

// ServeSecure does what Serve does, by TLS.
func (s *Server) ServeSecure(l net.Listener) error {
	_, all := s.room()
	limited := s.limit(l, all)
	limited.sealed = true
	return s.ServeTLS(limited, "", "")
}

// room is how many connections there may be without TLS, and with it.
func (s *Server) room() (plain, secure int) {
	all := mostOpen()
	if s.TLSConfig != nil {
		secure = all / 4
	}
	return all - secure, secure
}

func mostOpen() int { return min(descriptors.ForConnections(), mostConnections) }

func (s *Server) limit(l net.Listener, all int) *limited {
	strangers := min(all/4, mostStrangers)
	limited := limit(l, strangers, all-strangers)
	s.RegisterOnShutdown(limited.dismiss)
	return limited
}

type connectionKey struct{}

// connectionOf returns the connection that a request came on; nil if its server was not made by New.
func connectionOf(r *http.Request) *connection {
	c, _ := r.Context().Value(connectionKey{}).(*connection)
	return c
}

// strange makes what is answered to a stranger the last on its connection. A request that waits has ended
// its wait when it is answered.
func strange(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c := connectionOf(r); c != nil {
			if !c.known.Load() {
				Refuse(w)
			}
			defer c.waits.Store(false)
		}
		next.ServeHTTP(w, r)
	})
}

// Refuse makes an answer the last on its connection, which is closed soon, whatever of the request is
// still to come. It is called before the answer is written.
func Refuse(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(strangersBody)) // a writer without deadlines has no connection to hold up
}

// Admit says that a request is of somebody who may ask. From then on its connection is known. It returns
// [ErrFull] if there are too many of them; the answer is the last on this one then.
func Admit(w http.ResponseWriter, r *http.Request) error { return admit(w, r, false) }

// AdmitNeeded is [Admit] for those who are few, and without whom a server can't do its work: they get in although there are too many others.
func AdmitNeeded(w http.ResponseWriter, r *http.Request) error { return admit(w, r, true) }

func admit(w http.ResponseWriter, r *http.Request, needed bool) error {
	c := connectionOf(r)
	if c == nil || c.known.Load() {
		return nil
	}
	if !c.from.admit(c, needed) {
		return ErrFull
	}
	w.Header().Del("Connection")
	BodyBegins(w, r)
	return nil
}

// BodyBegins says that the rest of a request is about to be read. The client has [BodyPatience] from now
// on; without this, since it began. A request that was read may take any time.
func BodyBegins(w http.ResponseWriter, r *http.Request) {
	var until time.Time // never: a deadline would end the request's context
	if r.Body != http.NoBody {
		until = time.Now().Add(BodyPatience)
	}
	_ = http.NewResponseController(w).SetReadDeadline(until) // as above
}

// Waits says that a request may wait for any time before its answer ends. From now on the client may send
// nothing: its connection is closed if it does, which ends the request's context. It returns [ErrAhead] if
// the client has done so already; with TLS, what came together with the request is not seen. Without this, a client that sent something and
// left is not noticed.
func Waits(r *http.Request) error {
	c := connectionOf(r)
	if c == nil {
		return nil
	}
	c.waits.Store(true) // before the look: one of this and Read sees the other
	if c.ahead.Load() {
		return ErrAhead
	}
	return nil
}

// Answering says that the answer is about to be written, however long that took. The client has
// [AnswerPatience] from now on.
func Answering(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(AnswerPatience)) // as above
}
