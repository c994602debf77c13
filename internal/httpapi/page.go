package httpapi

import (
	"errors"
	"net"
	"net/http"

	"github.com/signalbox-dev/signalbox/internal/api"
)

// Page is what a box shows in a browser. Its requests are those under a name of its own.
type Page interface {
	http.Handler
	// For reports whether a request is for the page.
	For(*http.Request) bool
	// Link makes a link that logs one browser in, for a box that is asked on this port. If an address is asked for, it has a port, and is beyond
	// this machine.
	Link(port string, q api.NewPage) (api.PageLink, error)
}

// WithPage has the server show a page to browsers, which is made for the handler of the API: the page asks the box by that.
func (s *Server) WithPage(page func(API http.Handler) Page) *Server {
	s.page = page(s.requests())
	return s
}

// Why there is no link that leads beyond this machine.
var (
	errNotFar = errors.New("this box answers on its machine alone: start it with an address of its network and a certificate of yours (signalbox up --listen ADDRESS:PORT --tls-cert FILE --tls-key FILE)")
	errOwnKey = errors.New("this box shows browsers a certificate of its own, which they do not take: start it with one of yours (signalbox up --tls-cert FILE --tls-key FILE)")
)

// farPlace completes an address at which a browser can find the box.
func (s *Server) farPlace(named string) (string, error) {
	switch {
	case s.secure == nil:
		return "", errNotFar
	case s.secure.Users == nil:
		return "", errOwnKey
	}
	places, err := s.places([]string{named})
	if err != nil {
		return "", err
	}
	return places[0], nil
}

var errNoPage = errors.New("this box has no page: it was opened for a single request; start one with `signalbox up`")

// link makes a link to the page. Who is let in by it has a token from then on, so it is the owner's to make.
func (s *Server) link(r *http.Request, q api.NewPage) (api.PageLink, error) {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if s.page == nil || !ok {
		return api.PageLink{}, errNoPage
	}
	_, port, err := net.SplitHostPort(local.String())
	if err != nil {
		return api.PageLink{}, err
	}
	if q.Address != "" {
		if q.Address, err = s.farPlace(q.Address); err != nil {
			return api.PageLink{}, err
		}
	}
	made, err := s.page.Link(port, q)
	if err != nil {
		return made, badRequest{err}
	}
	return made, nil
}
