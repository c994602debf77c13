package service

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/signalbox-dev/signalbox/internal/conductor"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/fleet"
	"github.com/signalbox-dev/signalbox/internal/homelink"
	"github.com/signalbox-dev/signalbox/internal/httpapi"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// homes is where the runs of a cluster are carried out: each by the box in whose directory it was started, whichever leads.
type homes struct {
	cluster *cluster
	way     *homelink.Conductor            // from this box's runner to the conductor of the box that leads
	own     *homelink.Own                  // this box's runner; nil if it has none
	others  atomic.Pointer[homelink.Homes] // nil while this box does not lead
}

// makeHomes makes the way back, which the runner is made with.
func (s *Service) makeHomes(c *cluster) {
	h := &homes{cluster: c}
	h.way = homelink.NewConductor(homelink.BackOptions{Lead: s.leads, Leader: func() (http.RoundTripper, bool) { return c.Leader() }, Problem: conductor.Problem, Logger: s.logger})
	s.homes = h
}

// leads is what homes speak with if this box leads.
func (s *Service) leads() (homelink.Lead, bool) {
	_, _, leads := s.cluster.Leading()
	return homelink.Lead{Conductor: s.Conductor, Mail: s.Conductor.Mail(), Live: s.liveRun, Open: s.openSession}, leads
}

func (s *Service) liveRun(run string) (live bool) {
	s.Box.Ledger().WithRun(run, func(r *delivery.Run) { live = r.Live() })
	return live
}

// runOf returns the run that a session or a subject belongs to.
func (s *Service) runOf(name string) string {
	subject := name
	if of, _, err := work.ParseSession(name); err == nil {
		subject = of
	}
	return s.Box.Ledger().RunOf(subject)
}

func (s *Service) openSession(session string) (open bool) {
	s.Box.Ledger().WithRun(s.runOf(session), func(r *delivery.Run) { open = r.Sessions[session] != nil })
	return open
}

// boxOf returns the box in whose directory the run was started that a session or a subject belongs to.
func (s *Service) boxOf(name string) (box string) {
	s.Box.Ledger().WithRun(s.runOf(name), func(r *delivery.Run) { box = r.Home })
	return box
}

// openAt returns the sessions of runs whose home a box is, that have not ended and are on no other machine.
func (s *Service) openAt(box string) (sessions []string) {
	founder := s.Box.Members().Founder
	for _, run := range s.Box.Ledger().LiveRuns() {
		s.Box.Ledger().WithRun(run, func(r *delivery.Run) {
			if r.Home != box && (r.Home != "" || founder != box) {
				return
			}
			for id, one := range r.Sessions {
				if one.Runner == "" {
					sessions = append(sessions, id)
				}
			}
		})
	}
	return sessions
}

// beginHomes makes the homes of other boxes known, as this one leads, until ctx ends.
func (s *Service) beginHomes(ctx context.Context) {
	h := s.homes
	var own fleet.Home
	if h.own != nil {
		own = h.own
	}
	h.others.Store(homelink.NewHomes(ctx, homelink.Options{
		Self: h.cluster.Self().Name, Own: own, Founder: s.Box.Members().Founder,
		Others: func() (all []string) {
			for _, p := range h.cluster.peers() {
				all = append(all, p.Name)
			}
			return all
		},
		Carrier: h.cluster.carrier, Open: s.openAt, Changed: s.Conductor.MachinesChanged, Logger: s.logger,
	}))
}

// of returns the home of the runs that were started in a box's directory.
func (h *homes) of(box string) fleet.Home {
	if all := h.others.Load(); all != nil {
		return all.Of(box)
	}
	return h.own
}

func (h *homes) all() []fleet.Home {
	if all := h.others.Load(); all != nil {
		return all.Others()
	}
	return nil
}

// boxes are where runners find the boxes of the cluster.
func (c *cluster) boxes() (all []order.BoxAt) {
	for _, o := range c.members().All {
		all = append(all, order.BoxAt{Addresses: o.Addresses, Key: o.Key})
	}
	return all
}

// carrier carries requests to a box by its name.
func (c *cluster) carrier(name string) (http.RoundTripper, bool) {
	if o, ok := c.members().Named(name); ok && o.ID != c.known.Load().ID {
		return c.links.Carrier(o.ID)
	}
	return nil, false
}

// takePart has the service lead and yield as the cluster's log says.
func (s *Service) takePart(patience time.Duration) {
	if f := s.fleet.Load(); f != nil {
		s.Conductor.Use(f)
	}
	s.cluster.begin(s.Box, s.beginHomes, func(ctx context.Context) {
		_ = s.conduct(ctx, patience) // it fails only if this box leads no more
	}, func() {
		s.Conductor.Stop()
		if all := s.homes.others.Swap(nil); all != nil {
			all.Stop()
		}
	})
}

// serve are the parts of the server by which boxes speak to each other of runs.
func (s *Service) serveHomes() httpapi.Homes {
	h := httpapi.Homes{Conductor: homelink.ServeConductor(s.leads, conductor.Problem, s.logger), Through: s.homes.way.Through}
	if s.homes.own != nil {
		h.Home = homelink.ServeHome(s.homes.own, s.logger)
	}
	return h
}
