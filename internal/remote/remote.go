package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/background"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/durable"
	"github.com/signalbox-dev/signalbox/internal/filelock"
	"github.com/signalbox-dev/signalbox/internal/gitproxy"
	"github.com/signalbox-dev/signalbox/internal/keylock"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/redact"
	"github.com/signalbox-dev/signalbox/internal/regular"
	"github.com/signalbox-dev/signalbox/internal/runner"
	"github.com/signalbox-dev/signalbox/internal/worktree"
)

// Options are what a runner on another machine works with.
type Options struct {
	Dir     string            // its own, which nobody else uses
	Name    string            // by which the box knows it
	Box     string            // where that is, for people
	Carrier http.RoundTripper // of requests to the box, over connections that prove who is at either end
	Program string            // this program, which sessions are started with
	Version string
	Places  int  // for sessions at once; 0 for no limit
	Once    bool // it leaves after its first task

	Boxes func([]order.BoxAt) // told where the boxes are that share a ledger, whenever the one that is asked says so; nil if nobody wants to know

	Sign   func(text []byte) (key, signature []byte) // with the key by which the box knows it
	Now    func() time.Time
	Logger *slog.Logger
}

// Remote is a runner on another machine.
type Remote struct {
	o        Options
	box      *api.Client
	carrier  http.RoundTripper
	release  func() error // of its directory
	contact  *contact
	sessions *gateway
	git      *gitproxy.Proxy
	copies   copies

	leaving  atomic.Bool
	removed  atomic.Bool   // the box knows this runner no more
	finished chan struct{} // closed when it was leaving, and nothing is left to do
	finish   sync.Once

	mu       sync.Mutex
	settings string // as they were applied last, as JSON
	works    *works // what goes by them; nil until there are any
	problem  string // why nothing can be carried out
	had      bool   // a session was begun here
	draining bool   // the box gives it nothing new
	update   string // why it has to be updated, if it has

	nudge chan struct{} // has something if the box should hear of this runner at once
	runs  chan []string // that go on, as the box has just said
}

// works is a runner with the settings that it goes by.
type works struct {
	*runner.Runner
	config config.Config
	mirror *worktree.Repo
	redact *redact.Redactor
	orders orders

	pushing  keylock.Lock[string] // by session
	fetching keylock.Lock[string] // by run: of two fetches of a branch that moves meanwhile, git refuses one
}

// Where things lie in the runner's directory.
const (
	lockFile   = "lock"
	socketFile = "sessions.sock"
	addressOf  = "box.json" // where sessions find what passes their words on
	mirrorDir  = "repository"
	ordersDir  = "orders"
)

// Open takes a directory, in which one runner works at a time.
func Open(ctx context.Context, o Options) (*Remote, error) {
	var err error
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(o.Dir, ordersDir), 0o700); err != nil {
		return nil, err
	}
	release, err := filelock.Take(filepath.Join(o.Dir, lockFile))
	if err != nil {
		return nil, inUse(o.Dir, err)
	}
	r := &Remote{
		o: o, box: api.ClientOver(o.Carrier, ""), carrier: o.Carrier, release: release,
		contact: newContact(o), finished: make(chan struct{}), nudge: make(chan struct{}, 1), runs: make(chan []string),
	}
	if r.sessions, err = openGateway(ctx, r); err == nil {
		r.git, err = gitproxy.Open(ctx, &url.URL{Scheme: "http", Host: "box", Path: "/v1/runner/git/"}, o.Carrier, o.Logger)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	r.copies.find(r)
	return r, nil
}

// gate is where sessions find what passes their words on, and whose that is.
type gate struct {
	Address string `json:"address"`
	Pid     int    `json:"pid"`
}

// inUse says why a directory could not be taken.
func inUse(dir string, err error) error {
	if !errors.Is(err, filelock.ErrTaken) {
		return fmt.Errorf("the runner's directory %s can't be taken: %w", dir, err)
	}
	var its gate
	if data, err := regular.Read(filepath.Join(dir, addressOf), maxGate); err != nil || json.Unmarshal(data, &its) != nil || its.Pid <= 0 {
		return fmt.Errorf("another runner works in %s", dir)
	}
	return fmt.Errorf("another runner works in %s: process %d", dir, its.Pid)
}

const maxGate = 4 << 10 // bytes of its file

// Close ends what the runner has begun but its sessions, and leaves its directory.
func (r *Remote) Close() error {
	if r.sessions != nil {
		r.sessions.stop()
	}
	r.mu.Lock()
	w := r.works
	r.works = nil
	r.mu.Unlock()
	if w != nil {
		w.stop()
	}
	if r.git != nil {
		r.git.Stop()
	}
	return r.release()
}

// stop ends the orders that are under way, and then the runner.
func (w *works) stop() {
	w.orders.stop()
	w.Stop()
}

// Run says that the runner is there and does what the box wants of it, until ctx ends, or it was told to leave and has nothing left to do.
// It fails if they do not understand each other, or the box does not know it: then its sessions are ended before it returns.
func (r *Remote) Run(ctx context.Context) error {
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	group := background.New(running)
	defer group.Stop()
	group.Go(func(ctx context.Context) { cancel(r.beat(ctx)) })
	group.Go(func(ctx context.Context) { cancel(r.follow(ctx)) })
	group.Go(func(ctx context.Context) { cancel(r.copy(ctx)) })
	group.Go(r.tidy)
	select {
	case <-r.finished:
		return nil
	case <-running.Done():
	}
	cause := context.Cause(running)
	switch {
	case removed(cause):
		group.Stop() // nothing begins here any more
		return r.abandon(ctx)
	case errors.Is(cause, context.Canceled):
		return nil
	}
	return cause
}

// abandon ends all sessions of a runner that its box does not know any more: nobody takes what they say, and nobody else would end them. If ctx
// ends they are killed.
func (r *Remote) abandon(ctx context.Context) error {
	r.removed.Store(true)
	r.mu.Lock()
	w := r.works
	r.mu.Unlock()
	if w != nil {
		w.orders.stop()
	}
	r.o.Logger.Warn("the box has removed this runner: its sessions are ended", "runner", r.o.Name, "box", r.o.Box)
	ended, err := runner.EndAll(ctx, r.o.Dir)
	if err != nil {
		err = fmt.Errorf("something of its sessions may be left: %w", err)
	}
	if len(ended) > 0 {
		r.o.Logger.Info("the sessions of this runner have ended", "sessions", len(ended))
	}
	return errors.Join(fmt.Errorf("%s was removed at the box %s: have it invited again, and join here (signalbox runner join LINE)", r.o.Name, r.o.Box), err)
}

// Leave has the runner take nothing new, and Run return when it has finished what it has.
func (r *Remote) Leave() {
	r.leaving.Store(true)
	r.hurry()
}

// hurry has the box hear of this runner at once.
func (r *Remote) hurry() {
	select {
	case r.nudge <- struct{}{}:
	default:
	}
}

// here is what the runner says of itself.
func (r *Remote) here() order.Here {
	r.mu.Lock()
	defer r.mu.Unlock()
	here := order.Here{
		Protocol: order.Protocol(), Version: r.o.Version, Places: r.o.Places, Problem: r.problem,
		Leaving: r.leaving.Load() || r.o.Once && r.had, InTouch: r.sessions.inTouch(),
	}
	if r.works == nil {
		here.Problem = r.problem
		return here
	}
	here.Alive = r.works.Alive()
	here.Agents = r.works.agents()
	here.Checks = r.works.checks() == nil
	return here
}

// agents are those of the settings whose programs are here. One that asks a model is the box's own: its tools and its tree are there.
func (w *works) agents() (all []order.Agent) {
	for name, a := range w.config.Agents {
		if a.Adapter == config.AdapterAsk {
			continue
		}
		if _, err := a.Find(w.config.Dir); err == nil {
			all = append(all, order.Agent{Name: name})
		}
	}
	slices.SortFunc(all, func(a, b order.Agent) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return all
}

// checks says why checks can't run here as the settings want them.
func (w *works) checks() error { return Checks(w.config) }

// beat says that the runner is there, on a connection that nothing else goes over, and before all else.
func (r *Remote) beat(ctx context.Context) error {
	for {
		asked, cancel := context.WithTimeoutCause(ctx, 2*order.Heartbeat, errNoAnswer)
		late := time.AfterFunc(order.Heartbeat, func() { r.contact.missed(errNoAnswer) })
		there, err := api.Post[order.There](asked, r.box, "/v1/runner/here", r.here())
		late.Stop()
		if asked.Err() != nil {
			err = context.Cause(asked)
		}
		cancel()
		switch {
		case err == nil:
			r.contact.answered()
			r.heard(there)
		case final(err):
			return err
		case ctx.Err() == nil:
			r.contact.missed(err)
		}
		r.mayFinish(there, err)
		select {
		case <-time.After(order.Heartbeat):
		case <-r.nudge:
		case <-ctx.Done():
			return nil
		}
	}
}

// final reports whether nothing else will come of asking again: the box does not know this runner, or what it says.
func final(err error) bool {
	p, is := errors.AsType[*api.Problem](err)
	return is && p.Code == api.CodeInvalid || removed(err)
}

// removed reports whether the box says that what is said, or who says it, is none of its runners'.
func removed(err error) bool {
	p, is := errors.AsType[*api.Problem](err)
	return is && (p.Code == api.CodeForbidden || p.Code == api.CodeUnauthorized)
}

// heard takes what the box answers.
func (r *Remote) heard(there order.There) {
	r.mu.Lock()
	drained, update := r.draining, r.update
	r.draining, r.update = there.Draining, there.Update
	r.mu.Unlock()
	if r.o.Boxes != nil && len(there.Boxes) > 0 {
		r.o.Boxes(there.Boxes)
	}
	switch {
	case there.Update != "" && there.Update != update:
		r.o.Logger.Error("this runner has to be updated", "why", there.Update)
	case there.Draining && !drained:
		r.o.Logger.Warn("the box gives this runner nothing new: it is drained")
	case drained && !there.Draining:
		r.o.Logger.Info("the box gives this runner work again: it is drained no more")
	}
	select {
	case r.runs <- there.Runs:
	default: // what runs have left is being taken away, and the box says it again with the next sign of life
	}
}

// tidy takes away what runs have left that do not go on. That may take long: signs of life do not wait for it.
func (r *Remote) tidy(ctx context.Context) {
	for {
		select {
		case live := <-r.runs:
			r.leave(ctx, live)
		case <-ctx.Done():
			return
		}
	}
}

// mayFinish ends a runner that leaves, and has nothing left to do; the box has heard that it has not.
func (r *Remote) mayFinish(_ order.There, err error) {
	here := r.here()
	r.mu.Lock()
	w := r.works
	r.mu.Unlock()
	if err != nil || !here.Leaving || len(here.Alive) > 0 || w != nil && (w.orders.any() || r.copies.any()) {
		return
	}
	r.finish.Do(func() { close(r.finished) })
}

// follow does what the box wants, for as long as it is there, and again when it is back.
func (r *Remote) follow(ctx context.Context) error {
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		began, connected := time.Now(), false
		following, cancel := context.WithCancelCause(ctx)
		alive := time.AfterFunc(silence, func() { cancel(errNoAnswer) }) // a connection that is cut one way says nothing, and does not end
		err := r.box.Stream(following, fmt.Sprintf("/v1/runner/orders?protocol=%d", order.Protocol()), func() {
			connected = true
			r.contact.followed()
			r.sessions.meet(following)
			r.hurry()
		}, func(data string) error {
			alive.Reset(silence)
			var n order.Notice
			if err := json.Unmarshal([]byte(data), &n); err != nil {
				return fmt.Errorf("the box sent what can't be read: %w", err)
			}
			return r.notice(ctx, n)
		})
		alive.Stop()
		if following.Err() != nil {
			err = context.Cause(following)
		}
		cancel(nil)
		switch {
		case ctx.Err() != nil:
			return nil
		case final(err):
			return err
		}
		long := time.Since(began) > maxPause
		if r.contact.brokeOff(connected && long, err); long {
			pause = minPause
		}
		select {
		case <-time.After(api.Jitter(pause)):
		case <-ctx.Done():
			return nil
		}
	}
}

// How long to wait before the box is looked for again, and for how long it may say nothing: it says something three times in that time.
const (
	minPause = api.MinPause
	maxPause = api.MaxPause
	silence  = 3 * order.StillHere
)

// notice takes one message of the box's.
func (r *Remote) notice(ctx context.Context, n order.Notice) error {
	if n.Settings != nil {
		return r.apply(ctx, *n.Settings)
	}
	r.mu.Lock()
	w := r.works
	r.mu.Unlock()
	if w == nil {
		return nil // what they say of their settings is told in here
	}
	switch {
	case n.Order != nil:
		w.orders.take(r, w, *n.Order)
		if n.Order.Session != nil {
			r.mu.Lock()
			r.had = true
			r.mu.Unlock()
		}
	case n.Due != nil:
		w.orders.due(r, *n.Due)
	case n.Call != nil:
		r.answer(ctx, w, *n.Call)
	}
	return nil
}

// apply has the runner go by other settings. Orders that are under way begin anew then; sessions go on.
func (r *Remote) apply(ctx context.Context, s order.Settings) error {
	as, err := json.Marshal(s)
	if err != nil {
		return err
	}
	r.mu.Lock()
	same, old := r.settings == string(as) && r.works != nil, r.works
	if !same {
		r.works = nil
	}
	r.mu.Unlock()
	if same {
		return nil
	}
	if old != nil {
		old.stop()
	}
	w, err := r.work(ctx, s)
	r.mu.Lock()
	r.works, r.settings, r.problem = w, string(as), ""
	if err != nil {
		r.problem = "the box's settings can't be gone by here: " + err.Error()
		r.works = nil
	}
	r.mu.Unlock()
	if err != nil {
		r.o.Logger.Error("the box's settings can't be gone by here", "error", err)
	}
	r.hurry()
	return nil
}

// work makes a runner that goes by settings.
func (r *Remote) work(ctx context.Context, s order.Settings) (*works, error) {
	dir := r.o.Dir
	if err := os.MkdirAll(filepath.Join(dir, config.PromptsDir), 0o700); err != nil {
		return nil, err
	}
	for role, text := range s.Prompts {
		if err := durable.WriteFile(filepath.Join(dir, config.PromptsDir, filepath.Base(role)), []byte(text)); err != nil {
			return nil, err
		}
	}
	c, err := Settings(dir, s)
	if err != nil {
		return nil, err
	}
	red, err := redact.New(c.Redact)
	if err != nil {
		return nil, err
	}
	extension, err := agentsig.Extend(c.Own()...)
	if err != nil {
		return nil, err
	}
	mirror, err := worktree.InitMirror(ctx, filepath.Join(dir, mirrorDir), s.Object)
	if err != nil {
		return nil, err
	}
	if err := mirror.CommitAs(ctx, s.Author, s.Address); err != nil {
		return nil, err
	}
	site, err := runner.OpenSite(ctx, mirror.Root(), c)
	if err != nil {
		return nil, err
	}
	w := &works{config: c, mirror: mirror, redact: red}
	w.Runner, err = runner.New(ctx, runner.Options{
		Dir: dir, Site: site, Program: r.o.Program, Conductor: &conductor{r, w}, Mail: r.sessions,
		Hidden: func() ([]string, error) { return []string{dir}, nil }, Redact: red.Text,
		Hosts: s.Hosts, Own: extension, Exit: s.Exit, Shared: s.Shared, Now: r.o.Now, Logger: r.o.Logger,
	})
	if err != nil {
		return nil, err
	}
	w.orders.begin()
	return w, w.Resume(ctx, false)
}

// listenSocket listens where sessions find what passes their words on. Its name is as short as a socket's has to be.
func listenSocket(ctx context.Context, dir string) (net.Listener, error) {
	path := filepath.Join(dir, socketFile)
	if err := checkSocket(dir); err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	data, err := json.Marshal(gate{api.SocketPrefix + path, os.Getpid()})
	if err == nil {
		err = durable.WriteFile(filepath.Join(dir, addressOf), append(data, '\n'))
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}
