package service

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/background"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/conductor"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/fleet"
	"github.com/signalbox-dev/signalbox/internal/gate"
	"github.com/signalbox-dev/signalbox/internal/homelink"
	"github.com/signalbox-dev/signalbox/internal/httpapi"
	"github.com/signalbox-dev/signalbox/internal/membership"
	"github.com/signalbox-dev/signalbox/internal/notify"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/pin"
	"github.com/signalbox-dev/signalbox/internal/runner"
	"github.com/signalbox-dev/signalbox/internal/telemetry"
	"github.com/signalbox-dev/signalbox/internal/web"
	"github.com/signalbox-dev/signalbox/internal/worktree"
)

// Options say how a service is to run.
type Options struct {
	Box      box.Options
	Config   config.Config // plans are delivered if it has agents, and work by hand is checked if it says so, in the checkout that it lies in
	Program  string        // this program, which sessions are started with
	Secret   string        // that signs messages to people, if the settings have them signed
	Draining bool          // requests are taken, and nothing is started
	Secure   net.Listener  // beyond this machine, which is answered by TLS; nil if there is none
	Tools    http.Handler  // for agents, as [httpapi.Server.WithTools] has it; nil if there are none

	Tick time.Duration // how often the box that leads a cluster says so; [box.ClusterTick] if 0, and a test has a clock that is wrong

	patience time.Duration // startPatience if 0
}

// errMemberRests is why a box of a cluster is not opened for one request: alone it knows neither what was recorded nor may it record.
var errMemberRests = errors.New("this box is in a cluster, and does not run: start it with `signalbox up`, and ask again")

// startPatience is for how long a start waits for git to find the repository, and then to look at the
// checkout.
const startPatience = 15 * time.Second

// Service is a box, who conducts its runs, and who carries out their orders here.
type Service struct {
	Box       *box.Box
	Conductor *conductor.Conductor

	runner  *runner.Runner                // nil if no plans are delivered and no work is checked
	git     httpapi.Git                   // that these fetch from and push to
	fleet   atomic.Pointer[fleet.Fleet]   // it, and runners on other machines; nil if no plans are delivered
	runners atomic.Pointer[[]fleet.Known] // those that may dial in
	site    runner.Site                   // where work is looked at, if there is a runner
	dir     string                        // the box's
	config  config.Config
	logger  *slog.Logger
	tools   http.Handler
	cluster *cluster           // that the box is in; nil if it stands alone
	homes   *homes             // of its runs; nil likewise
	secure  *httpapi.Secure    // nil if it answers on this machine alone
	paged   bool               // browsers are shown a page
	metrics *telemetry.Metrics // nil of a box that others do not find
	teller  *notify.Teller     // nil if nobody is told of anything
	telling bool               // it has begun
	group   *background.Group  // what follows the box
}

// Open starts a service, which answers no requests yet. Whoever opens one closes it. It ends with ctx.
func Open(ctx context.Context, o Options) (*Service, box.Found, error) {
	if o.Box.Logger == nil {
		o.Box.Logger = slog.New(slog.DiscardHandler)
	}
	var site runner.Site
	dir, err := filepath.Abs(string(o.Box.Dir))
	if err != nil {
		return nil, box.Found{}, err
	}
	o.Box.Checks = o.Config.Gate.Checks == config.On
	delivers, checks := len(o.Config.Agents) > 0, o.Box.Checks && !o.Draining
	patience := cmp.Or(o.patience, startPatience)
	if delivers || checks {
		opening, cancel := patient(ctx, patience)
		defer cancel()
		site, err = runner.OpenSite(opening, o.Config.Dir, o.Config)
		if err != nil && !delivers {
			err = fmt.Errorf("gate.checks is on, so there has to be a repository: %w", err)
		}
		if err != nil {
			return nil, box.Found{}, err
		}
		o.Box.Witnesses = site.Witnesses
	}
	if o.Box.Settings, err = settings(o.Config); err != nil {
		return nil, box.Found{}, err
	}
	secret, err := o.secret()
	if err != nil {
		return nil, box.Found{}, err
	}
	o.Box.Limits.ExpertRequests, o.Box.Limits.RemediationRounds = o.Config.Limits.ExpertRequests, o.Config.Limits.RemediationRounds
	var metrics *telemetry.Metrics
	if !o.Box.Unlisted {
		metrics = telemetry.New(o.Box.Version)
		o.Box.Timing = metrics.Timing()
	}
	var secure *httpapi.Secure
	if m, err := membership.Read(dir); !errors.Is(err, membership.ErrNone) {
		if o.Box.Unlisted {
			return nil, box.Found{}, errMemberRests
		}
		if err == nil {
			_, err = readKey(dir, m)
		}
		if err != nil {
			return nil, box.Found{}, err
		}
		if secure, err = secured(o, dir); err != nil {
			return nil, box.Found{}, err
		}
	}
	member, err := openCluster(dir, secure, o.Box.Version, o.Box.Logger)
	if err != nil {
		return nil, box.Found{}, err
	}
	if member != nil {
		if member.settings, err = o.Config.SharedDigest(); err != nil {
			return nil, box.Found{}, err
		}
	}
	o.Box.Cluster = member.options(cmp.Or(o.Tick, box.ClusterTick))
	b, found, err := box.Open(ctx, o.Box)
	if err != nil {
		member.stop()
		return nil, box.Found{}, err
	}
	s := &Service{Box: b, cluster: member, dir: dir, config: o.Config, site: site, logger: o.Box.Logger, tools: o.Tools, paged: !o.Box.Unlisted, metrics: metrics, group: background.New(context.WithoutCancel(ctx))}
	s.Conductor = conductor.New(b.Ledger(), conductor.Options{
		Config: o.Config, Settings: o.Box.Settings, Exit: o.Box.ExitEnabled, Draining: o.Draining, Logger: o.Box.Logger, Machines: s.machines,
	})
	if metrics != nil {
		metrics.Follow(b)
	}
	if member != nil {
		s.makeHomes(member)
	}
	if s.secure = secure; secure == nil {
		s.secure, err = secured(o, dir)
	}
	if err != nil {
		return nil, box.Found{}, errors.Join(err, s.Close())
	}
	if err := s.makeTeller(o, secret); err != nil {
		return nil, box.Found{}, errors.Join(err, s.Close())
	}
	if delivers || checks {
		if err := s.makeRunner(ctx, o, site, patience); err != nil {
			return nil, box.Found{}, errors.Join(err, s.Close())
		}
	}
	if delivers {
		if err := s.makeFleet(ctx, o); err != nil {
			return nil, box.Found{}, errors.Join(err, s.Close())
		}
	}
	if member != nil {
		s.takePart(patience)
		return s, found, nil
	}
	if err := s.conduct(ctx, patience); err != nil {
		return nil, box.Found{}, errors.Join(err, s.Close())
	}
	return s, found, nil
}

// conduct brings runs on, and has the checks run on work by hand, if there is who carries that out.
func (s *Service) conduct(ctx context.Context, patience time.Duration) error {
	if s.runner != nil {
		s.Conductor.CheckByHand(s.runner)
	}
	f := s.fleet.Load()
	if f == nil {
		return nil
	}
	f.Anew()
	return s.Conductor.Start(ctx, f, patience)
}

// secured says how the box in a directory answers beyond this machine: by a key of its own, which it keeps there, and the user's certificate.
func secured(o Options, dir string) (*httpapi.Secure, error) {
	if o.Secure == nil {
		return nil, nil
	}
	key, err := pin.OpenKey(dir)
	if err != nil {
		return nil, err
	}
	secure := &httpapi.Secure{Listener: o.Secure, Key: key}
	if o.Config.TLS.Cert != "" {
		users, err := tls.LoadX509KeyPair(o.Config.TLS.Cert, o.Config.TLS.Key)
		if err != nil {
			return nil, fmt.Errorf("the certificate that is shown to others (--tls-cert and --tls-key, or tls in signalbox.yaml): %w", err)
		}
		secure.Users = &users
	}
	return secure, nil
}

// SecureKey is the hash of the key that the box has beyond this machine; "" if it does not answer there.
func (s *Service) SecureKey() string {
	if s.secure == nil {
		return ""
	}
	return s.secure.Key.Hash()
}

// Unreached says why no runner reaches the box, if it knows some; "" if they do, or there are none.
func (s *Service) Unreached() string { return httpapi.Unreached(s.Box, s.secure) }

// shown is the certificate that browsers beyond this machine are shown; nil if it is the box's own, which they do not take, or none.
func (s *Service) shown() *x509.Certificate {
	if s.secure == nil || s.secure.Users == nil {
		return nil
	}
	return s.secure.Users.Leaf
}

// settings says which ones a service is started with, now.
func settings(c config.Config) (*api.Settings, error) {
	digest, err := c.Digest()
	return &api.Settings{File: c.Path, Digest: digest, Since: time.Now()}, err
}

// makeRunner makes who carries out orders here.
func (s *Service) makeRunner(ctx context.Context, o Options, site runner.Site, patience time.Duration) error {
	var err error
	opening, cancel := patient(ctx, patience)
	defer cancel()
	var back order.Conductor = s.Conductor
	var mail order.Mailer = s.Conductor.Mail()
	if s.homes != nil {
		back, mail = s.homes.way, s.homes.way
	}
	s.runner, err = runner.New(opening, runner.Options{
		Dir: s.dir, Site: site, Program: o.Program, Conductor: back, Mail: mail,
		Hidden: func() ([]string, error) { return o.Box.Dir.Hidden(o.Config.Archive) }, Redact: s.Box.Ledger().Redact, Hosts: o.Box.Hosts, Own: o.Box.Own, Exit: o.Box.ExitEnabled, Shared: s.homes != nil,
		Checked: s.checked(), Now: time.Now, Logger: o.Box.Logger,
	})
	if err == nil && s.homes != nil {
		s.homes.own = homelink.NewOwn(s.runner)
	}
	return err
}

// checked returns who counts checks; nil if nobody does.
func (s *Service) checked() func(gate.Result) {
	if s.metrics == nil {
		return nil
	}
	return s.metrics.Checked
}

// patient returns a context for a call of git.
func patient(ctx context.Context, patience time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, patience, fmt.Errorf("after %v: %w", patience, worktree.ErrTooSlow))
}

// Serve answers requests on the listener until ctx ends or the box stops, and then lets nothing more be recorded.
func (s *Service) Serve(ctx context.Context, l net.Listener) error {
	server := httpapi.New(s.Box, s.Conductor, s.logger).WithTools(s.tools).WithSecure(s.secure)
	if s.cluster != nil {
		server.WithCluster(s.cluster).WithHomes(s.serveHomes())
		var stop context.CancelFunc
		ctx, stop = s.cluster.untilHandedOver(ctx)
		defer stop()
		s.metrics.Cluster(func() api.ClusterStatus { return s.cluster.status(ctx) })
	}
	if s.paged {
		server.WithPage(func(api http.Handler) httpapi.Page {
			return web.New(web.Options{Host: s.Box.PageHost(), Certificate: s.shown(), API: api, Box: pageBox{s.Box, s}, Settings: s.config.Shown, Refused: server.Refused, Now: time.Now, Logger: s.logger})
		})
	}
	if s.metrics != nil {
		server.WithMetrics(s.metrics.Write)
	}
	if f := s.fleet.Load(); f != nil {
		server.WithFleet(f, s.git)
		if s.metrics != nil {
			s.metrics.Runners(f.Runners)
		}
	}
	if s.teller != nil {
		server.WithMessages(s.teller.Status)
		s.tell(l.Addr())
	}
	return server.Serve(ctx, l)
}

// Close stops the service, and returns when nothing of it runs any more. Agents' sessions go on.
func (s *Service) Close() error {
	s.Box.Stop() // ends what waits
	s.cluster.stop()
	s.Conductor.Stop()
	s.settle()
	s.group.Stop()
	if f := s.fleet.Load(); f != nil {
		f.Stop()
	}
	if s.runner != nil {
		s.runner.Stop()
	}
	if s.homes != nil {
		s.homes.way.Stop()
	}
	return s.Box.Close()
}
