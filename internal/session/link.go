package session

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/background"
)

// Client is what a session needs of a box. *api.Client is one.
type Client interface {
	SendReport(ctx context.Context, session string, r api.SessionReport) error
	Activity(ctx context.Context, session string, a api.Activity) error
	Commands(ctx context.Context, session string, connected func(), f func(api.SessionCommand) error) error
}

// Pauses between attempts to reach the box, and between signs of life.
const (
	minPause       = 50 * time.Millisecond
	maxPause       = 2 * time.Second
	activityPause  = time.Second
	requestTimeout = 30 * time.Second
)

// link keeps up the conversation with the box: it delivers the outbox, takes commands,
// and finds out that the box is away or has given up the session.
type link struct {
	dir     string
	session string
	client  Client
	logger  *slog.Logger

	commands chan api.SessionCommand
	gone     chan error        // one, if the box has given up the session
	orphaned chan struct{}     // one, if the box has stayed away
	wake     chan struct{}     // there is a report, or a box
	signs    chan api.Activity // the last sign of life, if it was not sent yet

	life sync.Mutex
	last api.Activity // the last sign of life

	mu        sync.Mutex
	queue     []api.SessionReport // in the outbox, as outline has them
	settled   map[int]func(bool)  // who wants to know what became of a report
	delivered chan struct{}       // closed when the queue is empty
}

func newLink(dir, session string, client Client, logger *slog.Logger) *link {
	return &link{
		dir: dir, session: session, client: client, logger: logger,
		commands: make(chan api.SessionCommand), gone: make(chan error, 1), orphaned: make(chan struct{}, 1),
		wake: make(chan struct{}, 1), signs: make(chan api.Activity, 1), delivered: make(chan struct{}),
		settled: map[int]func(bool){},
	}
}

// start begins the conversation; the function it returns ends it.
func (l *link) start(ctx context.Context, orphan time.Duration) (stop func()) {
	group := background.New(ctx)
	group.Go(func(ctx context.Context) { l.listen(ctx, orphan) })
	group.Go(l.deliver)
	group.Go(l.showActivity)
	return group.Stop
}

// ask returns when the box says that the session is one that has not ended, or why it is not. While nobody answers it goes on to ask, for as long as the box may
// stay away.
func (l *link) ask(ctx context.Context, orphan time.Duration) error {
	if orphan > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, orphan)
		defer cancel()
	}
	_, err := api.Insist(ctx, func() (none struct{}, settled bool, err error) {
		asking, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		err = l.client.Activity(asking, l.session, api.Activity{})
		return none, err == nil || api.Gone(err) || api.Refused(err), err
	})
	return err
}

// put keeps a report and sees to its delivery. Settled, if it is not nil, is called when the box has recorded the report,
// or has refused it for good.
func (l *link) put(r api.SessionReport, settled func(recorded bool)) error {
	if err := writeJSON(reportFile(l.dir, r.Seq), r); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		l.delivered = make(chan struct{})
	}
	if settled != nil {
		l.settled[r.Seq] = settled
	}
	l.queue = append(l.queue, outline(r))
	l.nudge()
	return nil
}

// allDelivered is closed when every report that was put has been acknowledged.
func (l *link) allDelivered() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.delivered
}

func (l *link) nudge() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *link) next() (r api.SessionReport, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		return r, false
	}
	return l.queue[0], true
}

// done forgets the first report of the queue.
func (l *link) done(seq int) {
	recorded := !exists(refusedFile(l.dir, seq)) // else another was taken in its place
	if err := remove(reportFile(l.dir, seq)); err != nil {
		l.logger.Warn("a report that was delivered stays in the outbox", "seq", seq, "error", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if settled := l.settled[seq]; settled != nil {
		delete(l.settled, seq)
		settled(recorded)
	}
	if l.queue = l.queue[1:]; len(l.queue) == 0 {
		close(l.delivered)
	}
}

// deliver sends the reports, one after the other and each until it is answered.
func (l *link) deliver(ctx context.Context) {
	pause := time.Duration(0)
	for {
		var again <-chan time.Time
		if pause > 0 {
			again = time.After(pause)
		}
		select {
		case <-l.wake:
		case <-again:
		case <-ctx.Done():
			return
		}
		pause = l.deliverAll(ctx, pause)
	}
}

// deliverAll sends reports until there is none left, or one fails: then it returns for
// how long to wait.
func (l *link) deliverAll(ctx context.Context, pause time.Duration) time.Duration {
	for {
		first, ok := l.next()
		if !ok {
			return 0
		}
		err := handIn(l.dir, first, l.logger, func(r api.SessionReport) error {
			request, cancel := context.WithTimeout(ctx, requestTimeout)
			defer cancel()
			return l.client.SendReport(request, l.session, r)
		})
		switch {
		case err == nil:
			l.done(first.Seq)
			pause = 0
		case ctx.Err() != nil:
			return 0
		case api.Gone(err):
			l.givenUp(err)
			return 0
		default:
			level := slog.LevelDebug
			if pause == 0 && !errors.Is(err, api.ErrNoBox) {
				level = slog.LevelWarn // once: it is sent again, and may fail for long
			}
			l.logger.Log(ctx, level, "a report was not delivered", "seq", first.Seq, "error", err)
			return grow(pause)
		}
	}
}

func grow(pause time.Duration) time.Duration { return min(max(2*pause, minPause), maxPause) }

func (l *link) givenUp(err error) {
	select {
	case l.gone <- err:
	default:
	}
}

// listen takes commands. A box that went away is looked for until it is back.
func (l *link) listen(ctx context.Context, orphan time.Duration) {
	away := func() *time.Timer {
		return time.AfterFunc(orphan, func() {
			select {
			case l.orphaned <- struct{}{}:
			default:
			}
		})
	}
	patience := away()
	defer func() { patience.Stop() }()
	pause := time.Duration(0)
	for {
		connected, began := false, time.Now()
		err := l.client.Commands(ctx, l.session, func() {
			connected = true
			patience.Stop()
			l.nudge()
			l.showAgain()
		}, func(c api.SessionCommand) error {
			select {
			case l.commands <- c:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		if ctx.Err() != nil {
			return
		}
		if api.Gone(err) {
			l.givenUp(err)
			return
		}
		if connected {
			patience = away()
		}
		if connected && time.Since(began) > maxPause { // not one that hangs up at once
			pause = 0
		}
		if err != nil && !errors.Is(err, api.ErrNoBox) {
			l.logger.Warn("the box can't be followed", "error", err)
		}
		pause = grow(pause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// heard keeps a sign of life, in the place of one that was not sent yet.
func (l *link) heard(a api.Activity) {
	l.life.Lock()
	defer l.life.Unlock()
	l.last = a
	l.show()
}

// show has the last sign of life sent. The caller holds life.
func (l *link) show() {
	select {
	case <-l.signs:
	default:
	}
	l.signs <- l.last // there is room: who holds life is the only one that puts any
}

// showAgain tells a box that was away, or was not met yet, what was heard of the agent: it may be long before there is more.
func (l *link) showAgain() {
	l.life.Lock()
	defer l.life.Unlock()
	if l.last != (api.Activity{}) {
		l.show()
	}
}

// showActivity tells the box that something is heard of the agent, now and then.
func (l *link) showActivity(ctx context.Context) {
	for {
		select {
		case sign := <-l.signs:
			request, cancel := context.WithTimeout(ctx, requestTimeout)
			if err := l.client.Activity(request, l.session, sign); err != nil {
				l.logger.Debug("the box was not told of activity", "error", err)
			}
			cancel()
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(activityPause):
		case <-ctx.Done():
			return
		}
	}
}
