package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/evidence"
	"github.com/signalbox-dev/signalbox/internal/httpapi"
	"github.com/signalbox-dev/signalbox/internal/service"
	"github.com/signalbox-dev/signalbox/safetext"
)

// ownBox is the box of a command that is one itself; nil if another runs.
type ownBox struct {
	app     *app
	service *service.Service
	address string
	served  chan error
	cancel  context.CancelFunc
	limits  config.Limits
	left    int // agents that did not end in time

	misplaced string // the other boxes of its cluster look for it elsewhere, in words
	log       *os.File
}

// ownBox starts a box in this process, unless one runs in the directory.
func (a *app) ownBox(ctx context.Context, c config.Config) (*ownBox, error) {
	if a.running() {
		return nil, nil
	}
	if err := a.haveAgents(c); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(a.dir, 0o700); err != nil {
		return nil, err
	}
	log, err := awaited(ctx, func() (*os.File, error) {
		return os.OpenFile(filepath.Join(a.dir, "box.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	})
	if err != nil {
		return nil, err
	}
	own, err := a.serve(ctx, c, service.Options{Box: box.Options{Logger: slog.New(slog.NewTextHandler(log, nil))}})
	if err != nil || own == nil {
		return nil, errors.Join(err, log.Close())
	}
	own.log = log
	if why := cmp.Or(own.service.Unreached(), own.misplaced); why != "" {
		fmt.Fprintf(a.Err, "%s: %s\n", a.PaintErr(command.Yellow, "note"), why)
	}
	return own, nil
}

// serve opens a box and lets it answer requests; nil if another is there to be asked.
func (a *app) serve(ctx context.Context, c config.Config, o service.Options) (*ownBox, error) {
	var before uint16
	if o.Box.Unlisted { // that one is for a moment, and nobody looks for it
		c.Listen, _ = httpapi.Addresses(c.Listen, config.DefaultListen, c.TLS.Always)
		c.TLS = config.TLS{}
	} else {
		before = box.Dir(a.dir).LastPort()
	}
	listener, secure, err := listen(ctx, c, before)
	if err != nil {
		return nil, err
	}
	o.Secure = secure
	s, _, err := a.start(ctx, c, o)
	if errors.Is(err, box.ErrLocked) && a.running() { // another came first
		return nil, errors.Join(listener.Close(), closeIf(secure))
	}
	if err != nil {
		return nil, errors.Join(err, listener.Close(), closeIf(secure))
	}
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	own := &ownBox{app: a, service: s, address: listener.Addr().String(), served: make(chan error, 1), cancel: cancel, limits: c.Limits}
	if secure != nil {
		own.misplaced = misplaced(a.dir, secure.Addr())
	}
	go func() { own.served <- s.Serve(serving, listener) }()
	return own, nil
}

// drain ends the box's agents.
func (o *ownBox) drain(ctx context.Context) {
	if o == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, o.limits.Grace+5*time.Second)
	defer cancel()
	o.left = o.service.Conductor.Drain(ctx)
}

func (o *ownBox) close() {
	if o == nil {
		return
	}
	o.cancel()
	err := errors.Join(<-o.served, o.service.Close())
	if o.log != nil {
		err = errors.Join(err, o.log.Close())
	}
	if err != nil {
		fmt.Fprintf(o.app.Err, "signalbox: %s\n", safetext.EscapeLines(err.Error()))
	}
}

// parting says what becomes of a run that nobody watches any more.
func (o *ownBox) parting(run string) string {
	if o == nil {
		return fmt.Sprintf("%s goes on in the box; `signalbox run` watches it again", run)
	}
	if o.left > 0 {
		return fmt.Sprintf("stopped; %s on, and without a box they end after %s; `signalbox run` goes on with %s", goOn(o.left), evidence.Length(o.limits.Orphan), run)
	}
	return fmt.Sprintf("stopped; agents are ended, their work is kept, and `signalbox run` goes on with %s", run)
}

// client returns a client for the box, or for the other that runs.
func (o *ownBox) client(ctx context.Context, a *app) (*api.Client, error) {
	if o == nil {
		return a.client(ctx, a.token)
	}
	token, err := a.token(box.Dir(a.dir))
	return api.NewClient(o.address, token), err
}

// withBox calls the box in the directory. If none runs, it opens it for the one
// request, and starts nothing. One that went away before it was asked counts as none.
func withBox[T any](ctx context.Context, a *app, c config.Config, call func(*api.Client) (T, error)) (T, error) {
	for tries := 0; ; tries++ {
		v, other, err := withBoxOnce(ctx, a, c, call)
		if !other || !api.Missing(err) || tries == takeOver || !pause(ctx, takeOverPause) {
			return v, a.explain(err)
		}
	}
}

// withBoxOnce tries it once. It reports whether it asked another's box.
func withBoxOnce[T any](ctx context.Context, a *app, c config.Config, call func(*api.Client) (T, error)) (v T, other bool, err error) {
	var own *ownBox
	if !a.running() {
		if why := rests(a.dir); why != "" {
			return v, false, errors.New(why)
		}
		if own, err = a.serve(ctx, c, service.Options{Draining: true, Box: box.Options{Unlisted: true}}); err != nil {
			return v, false, err
		}
		defer own.close()
	}
	client, err := own.client(ctx, a)
	if err != nil {
		return v, own == nil, err
	}
	defer client.Close()
	v, err = call(client)
	return v, own == nil, err
}

// pause waits, and reports whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}
