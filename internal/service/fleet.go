package service

import (
	"context"
	"time"

	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/fleet"
	"github.com/signalbox-dev/signalbox/internal/gitserver"
	"github.com/signalbox-dev/signalbox/internal/order"
)

// makeFleet makes who hands orders to the box's own runner, and to those on other machines.
func (s *Service) makeFleet(ctx context.Context, o Options) error {
	text, prompts, err := o.Config.Elsewhere()
	if err != nil {
		return err
	}
	_, head, err := s.site.Head(ctx)
	if err != nil {
		head = "" // there is no commit yet, and no run before there is one
	}
	name, address, err := s.site.Author(ctx)
	if err != nil {
		return err
	}
	s.Box.WhenRunnersChange(s.knowRunners)
	s.knowRunners()
	options := fleet.Options{
		Home: s.runner, Conductor: s.Conductor, Mail: s.Conductor.Mail(), Known: s.known, Runs: s.liveRuns, Where: s.Conductor.Where,
		Settings: order.Settings{Text: text, Prompts: prompts, Hosts: o.Box.Hosts, Exit: o.Box.ExitEnabled, Shared: s.homes != nil, Object: head, Author: name, Address: address},
		Version:  o.Box.Version, Lost: o.Config.Limits.RunnerLost, Now: time.Now, Logger: o.Box.Logger,
	}
	if h := s.homes; h != nil {
		options.Home, options.HomeOf, options.Others, options.BoxOf, options.Boxes = h.own, h.of, h.all, s.boxOf, h.cluster.boxes
	}
	s.fleet.Store(fleet.New(options))
	s.git = gitserver.New(s.runner.Exchange(), gitserver.Limits{}, o.Box.Logger)
	return nil
}

// machines are those that work can be given to, with the home of runs; nil if there is home alone.
func (s *Service) machines(home string) []delivery.Machine {
	f := s.fleet.Load()
	if f == nil {
		return nil
	}
	return f.At(home).Machines()
}

// knowRunners keeps which runners may dial in: the box is asked when that has changed, and not by who decides, whom it waits for.
func (s *Service) knowRunners() {
	all := []fleet.Known{}
	for _, r := range s.Box.RunnerIdentities() {
		if !r.Joined.IsZero() {
			all = append(all, fleet.Known{Name: r.Name, Labels: r.Labels, Key: r.Key, Joined: r.Event, At: r.Joined, Draining: !r.Drained.IsZero(), DrainBy: r.DrainBy})
		}
	}
	s.runners.Store(&all)
}

// known are the runners that may dial in.
func (s *Service) known() []fleet.Known { return *s.runners.Load() }

// liveRuns are the ids of the runs that go on.
func (s *Service) liveRuns() []string {
	ids := []string{}
	for _, subject := range s.Box.Ledger().LiveRuns() {
		s.Box.Ledger().WithRun(subject, func(r *delivery.Run) { ids = append(ids, r.ID) })
	}
	return ids
}
