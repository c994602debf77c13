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
	// Link makes a link that logs one browser in, for a box that is asked on this port.
	Link(port string, q api.NewPage) (api.PageLink, error)
}

// WithPage has the server show a page to browsers, which is made for the handler of the API: the page asks the box by that.
func (s *Server) WithPage(page func(API http.Handler) Page) *Server {
	s.page = page(s.requests())
	return s
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
	made, err := s.page.Link(port, q)
	if err != nil {
		return made, badRequest{err}
	}
	return made, nil
}
