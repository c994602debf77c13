package httpapi

import (
	"net/http"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/homelink"
)

// Homes are how the boxes of a cluster bring on each other's runs.
type Homes struct {
	Home      http.Handler                               // carries out orders for this box's runner; nil if it has none
	Conductor http.Handler                               // takes what comes of them, if this box leads
	Through   func(session string) (end func())          // notes that a session's commands are passed on
	Carrier   func(box string) (http.RoundTripper, bool) // of requests to a box by its name; false for this one, and for one that is none
}

// WithHomes has the server answer what boxes ask each other about runs.
func (s *Server) WithHomes(h Homes) *Server {
	s.homes = h
	return s
}

// homeRoutes are those for other boxes alone, about runs.
func (s *Server) homeRoutes() []route {
	if s.cluster == nil {
		return nil
	}
	handle := func(h http.Handler) handler {
		return func(w http.ResponseWriter, r *http.Request, _ access.Principal) error {
			h.ServeHTTP(w, r)
			return nil
		}
	}
	var all []route
	if s.homes.Conductor != nil {
		all = append(all, route{"POST " + homelink.ConductorPath + "{method}", access.ToShare, homelink.MaxBody, handle(s.homes.Conductor)})
	}
	if s.homes.Home != nil {
		all = append(all, route{"POST " + homelink.HomePath + "{method}", access.ToShare, homelink.MaxBody, handle(s.homes.Home)})
	}
	if s.git != nil {
		git := handle(homelink.ServeGit(s.git))
		all = append(all, route{"GET " + homelink.GitPath + "{path...}", access.ToShare, 0, git}, route{"POST " + homelink.GitPath + "{path...}", access.ToShare, maxPush, git})
	}
	return all
}

// isHomes says whether a route is about this box's runner, or for the conductor here: who leads is looked at there.
func isHomes(pattern string) bool {
	_, path, _ := strings.Cut(pattern, " ")
	return strings.HasPrefix(path, homelink.ConductorPath) || strings.HasPrefix(path, homelink.HomePath)
}
