package service

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"time"

	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/notify"
)

// messagesFile keeps what people were not told yet, in the box's directory.
const messagesFile = "messages.json"

// settlePatience is for how long a service that is closed waits until what has just happened was told, or tried.
const settlePatience = 5 * time.Second

// tells reports whether the service tells people what happens.
func (o *Options) tells() bool { return o.Config.Notify.On() && !o.Draining }

// secret returns what messages are signed with, if they are. The ledger never has it.
func (o *Options) secret() ([]byte, error) {
	name := o.Config.Notify.SecretEnv
	if name == "" || !o.tells() {
		return nil, nil
	}
	if o.Secret == "" {
		return nil, fmt.Errorf("notify.secret_env in %s names the environment variable %s, which is not set: start the box with it, or take the setting out", o.Config.Path, name)
	}
	secret, err := notify.Secret(o.Secret)
	if err != nil {
		return nil, fmt.Errorf("the secret in the environment variable %s can't sign messages: %w", name, err)
	}
	o.Box.Redact = append(o.Box.Redact[:len(o.Box.Redact):len(o.Box.Redact)], regexp.QuoteMeta(o.Secret))
	return secret, nil
}

// makeTeller makes who tells people what happens, if the settings have anybody told.
func (s *Service) makeTeller(o Options, secret []byte) error {
	file := filepath.Join(string(o.Box.Dir), messagesFile)
	if !o.Config.Notify.On() && !o.Draining {
		if err := notify.Forget(file); err != nil {
			return fmt.Errorf("what people were told can't be forgotten: %w", err)
		}
	}
	if o.tells() {
		s.teller = notify.New(s.Box, notify.Options{
			Notify: o.Config.Notify, Dir: o.Config.Dir, File: file, Origin: s.Box.Origin(), Secret: secret, Now: time.Now, Logger: o.Box.Logger, Leads: s.cluster.tells(),
		})
	}
	return nil
}

// tells is [notify.Options.Leads]; nil for a box that stands alone.
func (c *cluster) tells() func() (leads bool, term uint64, changed <-chan struct{}) {
	if c == nil {
		return nil
	}
	return func() (leads bool, term uint64, changed <-chan struct{}) {
		changed = c.Changed()
		_, _, leads = c.Leading()
		if now := c.box.Load().InCluster(); now.Leader != 0 {
			term = now.Term
		}
		return leads, term, changed
	}
}

// tell begins to tell people what happens. Messages link to the page, where the service listens.
func (s *Service) tell(at net.Addr) {
	s.telling = s.group.Go(func(ctx context.Context) {
		if err := s.teller.Run(ctx, s.pageLink(at)); ctx.Err() == nil && s.Box.Writable() == nil {
			s.logger.Warn("nobody is told any more what happens: start the box again, and report this", "error", err)
		}
	})
}

// pageLink returns how a message links to the page: what waits for a person is in the inbox.
func (s *Service) pageLink(at net.Addr) func(notify.Message) string {
	_, port, err := net.SplitHostPort(at.String())
	if !s.paged || err != nil {
		return nil
	}
	page := url.URL{Scheme: "http", Host: net.JoinHostPort(s.Box.PageHost(), port), Path: "/"}
	return func(m notify.Message) string {
		link := page
		switch m.Kind {
		case config.KindFinished, config.KindFailed, config.KindStalled:
			link.Path, link.RawQuery = "/run", url.Values{"id": {m.Run}}.Encode()
		case config.KindRunnerLost:
			link.Path = "/runners"
		}
		return link.String()
	}
}

// settle lets what has just happened be told.
func (s *Service) settle() {
	if !s.telling {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), settlePatience)
	defer cancel()
	s.teller.Settle(ctx)
}
