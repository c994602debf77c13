package httpapi

import (
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
)

// WithRunners has the server say how runners are by what is known of them at the moment, and not by the ledger alone.
func (s *Server) WithRunners(all func() []api.Runner) *Server {
	s.runners = all
	return s
}

// enrolment are the routes by which runners get in and are let go.
func (s *Server) enrolment() []route {
	b := s.box
	return []route{
		{"GET /v1/runners", access.ToRead, 0, func(w http.ResponseWriter, _ *http.Request, _ access.Principal) error {
			return reply(w, s.allRunners(), nil)
		}},
		{"POST /v1/runners", access.ToOwn, 0, post(func(_ *http.Request, p access.Principal, q api.NewRunner, key string) (api.Invitation, error) {
			return s.invite(p, q, key)
		})},
		{"POST /v1/runners/{name}/drain", access.ToOperate, 0, post(func(r *http.Request, p access.Principal, q api.DrainRunner, key string) (api.Runner, error) {
			o, err := b.DrainRunner(p.Actor(), r.PathValue("name"), q, key)
			return s.showRunner(o), err
		})},
		{"POST /v1/runners/{name}/remove", access.ToOwn, 0, func(w http.ResponseWriter, r *http.Request, p access.Principal) error {
			key, err := keyOf(r, p)
			if err != nil {
				return err
			}
			o, err := b.RemoveRunner(p.Actor(), r.PathValue("name"), key)
			return reply(w, showIdentity(o), err)
		}},
		{"POST /v1/runner/join", access.ToJoin, maxJoin, func(w http.ResponseWriter, r *http.Request, p access.Principal) error {
			v, err := s.join(r, p)
			return reply(w, v, err)
		}},
	}
}

// maxJoin is how long the request of who joins may be, in bytes: nobody knows who that is.
const maxJoin = 4 << 10

// How often somebody may try to join. A secret is not found by trying; this keeps who does so from taking the box's time.
const (
	joinsAtOnce = 20
	joinsEvery  = 200 * time.Millisecond
)

var (
	errManyJoins = errors.New("too many try to join at once: try again in a moment")
	errNoSecure  = errors.New(api.NotListening)
	errBadPlace  = errors.New("an address of the box is a name or an IP address, and a port after a colon unless it is the one that the box listens on")
)

// join makes a runner of who has an invitation's secret. It is known by the key of this connection from now on.
func (s *Server) join(r *http.Request, p access.Principal) (api.JoinedRunner, error) {
	if _, ok := s.joins.Take(time.Now()); !ok {
		return api.JoinedRunner{}, errManyJoins
	}
	q, err := decode[api.JoinRunner](r)
	if err != nil {
		return api.JoinedRunner{}, err
	}
	o, err := s.box.JoinRunner(q.Secret, p.Hash)
	if err != nil {
		return api.JoinedRunner{}, err
	}
	s.logger.Info("a runner has joined", "name", o.Name, "key", o.Key, "from", r.RemoteAddr)
	return api.JoinedRunner{Name: o.Name, Labels: o.Labels}, nil
}

// invite invites a runner, and says in one word how it gets in.
func (s *Server) invite(p access.Principal, q api.NewRunner, key string) (api.Invitation, error) {
	if s.secure == nil {
		return api.Invitation{}, errNoSecure
	}
	places, err := s.places(q.Address)
	if err != nil {
		return api.Invitation{}, err
	}
	o, secret, err := s.box.InviteRunner(p.Actor(), q, key)
	if err != nil {
		return api.Invitation{}, err
	}
	word := access.Invitation{Box: places, Key: s.secure.Key.Hash(), Secret: secret}.String()
	return api.Invitation{Name: o.Name, Line: word, ExpiresAt: o.Expires}, nil
}

// places are where a runner finds the box: the addresses that were named, or where it listens.
func (s *Server) places(named []string) ([]string, error) {
	at := s.secure.Listener.Addr()
	if len(named) == 0 {
		return reachable(at)
	}
	_, port, err := net.SplitHostPort(at.String())
	if err != nil {
		return nil, err
	}
	var all []string
	for _, place := range named {
		if _, _, err := net.SplitHostPort(place); err != nil {
			place = net.JoinHostPort(place, port)
		}
		if strings.HasPrefix(place, ":") {
			return nil, badRequest{errBadPlace}
		}
		all = append(all, place)
	}
	if _, err := access.ParseInvitation(access.Invitation{Box: all, Key: s.secure.Key.Hash(), Secret: access.InvitationSecret([32]byte{})}.String()); err != nil {
		return nil, badRequest{errBadPlace}
	}
	return all, nil
}

// allRunners says how the runners are.
func (s *Server) allRunners() []api.Runner {
	all := []api.Runner{}
	if s.runners != nil {
		all = s.runners()
	} else {
		for _, o := range s.box.RunnerIdentities() {
			all = append(all, showIdentity(o))
		}
	}
	if why := Unreached(s.box, s.secure); why != "" {
		for i := range all {
			if all[i].State != api.RunnerInvited {
				all[i].Problem = why
			}
		}
	}
	return all
}

// Unreached says why no runner reaches a box, if it knows some; "" if they do, there are none, or the box is there for a moment only.
func Unreached(b *box.Box, secure *Secure) string {
	joined := func(o access.RunnerIdentity) bool { return o.Key != "" }
	if secure != nil || b.Unlisted() || !slices.ContainsFunc(b.RunnerIdentities(), joined) {
		return ""
	}
	return api.NotListening
}

// showRunner says how one runner is.
func (s *Server) showRunner(o access.RunnerIdentity) api.Runner {
	for _, r := range s.allRunners() {
		if r.Name == o.Name {
			return r
		}
	}
	return showIdentity(o)
}

// showIdentity says how a runner is that nobody has heard of.
func showIdentity(o access.RunnerIdentity) api.Runner {
	r := api.Runner{Name: o.Name, Labels: o.Labels, State: api.RunnerLost}
	switch {
	case o.Key == "":
		r.State, r.ExpiresAt = api.RunnerInvited, &o.Expires
	case !o.Drained.IsZero():
		r.State, r.DrainBy = api.RunnerDraining, &o.DrainBy
	}
	return r
}

// keyHolder returns who has the key that a connection was made with: a runner, or who may become one; false if it was made without.
func (s *Server) keyHolder(r *http.Request) (access.Principal, bool) {
	hash, ok := provenKey(r)
	if !ok {
		return access.Principal{}, false
	}
	if o, known := s.memberByKey(hash); known {
		return access.Principal{Kind: access.Peer, Name: o.Name, Member: o.ID, Hash: hash}, true
	}
	if o, known := s.box.RunnerByKey(hash); known {
		return access.Principal{Kind: access.Runner, Name: o.Name, Hash: hash}, true
	}
	return access.Principal{Kind: access.Guest, Hash: hash}, true
}
