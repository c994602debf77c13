package memberlink

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox-dev/signalbox/internal/background"
	"github.com/signalbox-dev/signalbox/internal/httpserver"
	"github.com/signalbox-dev/signalbox/internal/pin"
	"github.com/signalbox-dev/signalbox/internal/raftlog"
)

// Where a member takes what others send.
const (
	MessagesPath = "/v1/member/messages" // POST: see [Serve]
	FilesPath    = "/v1/member/files"    // GET, with a slash and a file's name: see [ServeFile]
)

// How long the other side may take.
const (
	dialPatience  = time.Second            // to take a connection for messages, show its key, and answer
	carryPatience = 3 * time.Second        // to take any other connection and show its key
	nextAddress   = 100 * time.Millisecond // until another of its addresses is tried as well
	stuck         = 2 * time.Second        // to take the next piece of a message
	wholeMessage  = 10 * time.Second       // to take all of a message
	unheard       = 5 * time.Second        // to acknowledge what was sent to it otherwise
	idlePatience  = time.Minute            // for the next request
)

// How long a member is left alone that was not reached, or that broke a connection before it had lasted; by chance, down to half of it.
const (
	leastBackoff = 100 * time.Millisecond
	mostBackoff  = 500 * time.Millisecond
	lasting      = time.Second
)

// How often it is logged that a member is not reached.
const (
	linesAtOnce = 2
	linesEvery  = 10 * time.Second
)

const maxIdle = 256 // connections that nobody uses are kept

// Peer is another member, as it is known now.
type Peer struct {
	ID        uint64
	Name      string
	Key       string // by its hash ([pin.Key.Hash])
	Addresses []string
}

// Options are what [New] needs.
type Options struct {
	Key    *pin.Key      // this member's
	Peers  func() []Peer // the others. It is asked with each message and each request, and does not wait
	Leader func() uint64 // who leads, 0 if nobody is known to. It does not wait
	Logger *slog.Logger

	Stranger func(Peer) // told that a member does not know this one's key. It does not wait. Nil if nobody wants to know
}

var (
	errStopped = errors.New("this member has stopped")
	errGone    = errors.New("no member is known by this id")
	errNowhere = errors.New("no address of it is known")
)

// Links are a member's ways to the others. Its methods may be called concurrently.
type Links struct {
	options Options

	mu      sync.Mutex
	links   map[uint64]*link
	stopped bool
}

var _ raftlog.Transport = (*Links)(nil)

// New returns the ways to the others. Nothing runs until something is sent. Stop has to be called.
func New(o Options) *Links { return &Links{options: o, links: map[uint64]*link{}} }

// Stop closes all connections, ends whatever waits, and returns when nothing of it runs any more. It may be called again.
func (l *Links) Stop() {
	l.mu.Lock()
	l.stopped = true
	all := l.links
	l.links = nil
	l.mu.Unlock()
	for _, k := range all {
		k.end()
	}
}

// to returns the way to a member as it is known now, and ends the ways to those that are others now.
func (l *Links) to(id uint64) (*link, error) {
	peers := l.options.Peers()
	l.mu.Lock()
	if l.stopped {
		l.mu.Unlock()
		return nil, errStopped
	}
	var old []*link
	for id, k := range l.links {
		if !slices.ContainsFunc(peers, k.peer.same) {
			delete(l.links, id)
			old = append(old, k)
		}
	}
	k := l.links[id]
	if at := slices.IndexFunc(peers, func(p Peer) bool { return p.ID == id }); k == nil && at >= 0 {
		k = l.newLink(peers[at])
		l.links[id] = k
	}
	l.mu.Unlock()
	for _, k := range old {
		k.end()
	}
	if k == nil {
		return nil, fmt.Errorf("member %d: %w", id, errGone)
	}
	return k, nil
}

func (p Peer) same(other Peer) bool {
	return p.ID == other.ID && p.Name == other.Name && p.Key == other.Key && slices.Equal(p.Addresses, other.Addresses)
}

// Carrier returns what carries requests to a member, whatever host they name; false if no such member is known. It goes by what is known of the
// member when a request is made.
func (l *Links) Carrier(id uint64) (http.RoundTripper, bool) {
	_, err := l.to(id)
	return carrier{l, id}, err == nil
}

type carrier struct {
	of *Links
	id uint64
}

// RoundTrip implements [http.RoundTripper].
func (c carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	k, err := c.of.to(c.id)
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // it was not read
		}
		return nil, err
	}
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = "https", "member"
	return k.requests.RoundTrip(r)
}

// link is the way to a member that has one key and one set of addresses.
type link struct {
	peer     Peer
	stranger func(Peer)
	config   *tls.Config
	requests *http.Transport
	running  *background.Group
	last     atomic.Int32 // which address answered
	logger   *slog.Logger
	pace     *httpserver.Pace

	mu    sync.Mutex
	wires map[*wire]bool // that are open; nil when the link has ended

	turn   chan struct{} // has something while somebody sends, who has what follows
	stream *stream       // nil if there is none
	fails  int           // one after the other
	until  time.Time     // it is left alone
}

func (l *Links) newLink(p Peer) *link {
	k := &link{
		peer: p, stranger: l.options.Stranger, config: pin.Member(l.options.Key, p.Key), running: background.New(context.Background()), logger: l.options.Logger,
		pace: httpserver.NewPace(linesAtOnce, linesEvery), wires: map[*wire]bool{}, turn: make(chan struct{}, 1),
	}
	k.config.DynamicRecordSizingDisabled = true // a message is one record, and not many
	k.requests = &http.Transport{
		DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return k.dial(ctx, carryPatience, unheard)
		},
		MaxIdleConnsPerHost: maxIdle, IdleConnTimeout: idlePatience,
		DisableCompression: true, // what is carried stays as it is
	}
	return k
}

// end closes all connections of a link, for ever. What runs on them ends.
func (k *link) end() {
	k.mu.Lock()
	wires := k.wires
	k.wires = nil
	k.mu.Unlock()
	for w := range wires {
		_ = w.Conn.Close() // whoever uses it is told
	}
	k.running.Stop()
	k.requests.CloseIdleConnections()
}

// wire is a connection below TLS.
type wire struct {
	net.Conn
	of *link
}

// Close closes it, and at once: a close of TLS waits for who does not read.
func (w *wire) Close() error {
	w.of.mu.Lock()
	delete(w.of.wires, w)
	w.of.mu.Unlock()
	return w.Conn.Close()
}

// dial connects to the address where the member was last, or else to the first that answers. Each of the others is tried when the ones before have failed, or
// after a moment.
func (k *link) dial(ctx context.Context, patience, unacknowledged time.Duration) (net.Conn, error) {
	c, err := k.race(ctx, patience, unacknowledged)
	if err != nil {
		return nil, err // and not a connection that is nil
	}
	return c, nil
}

func (k *link) race(ctx context.Context, patience, unacknowledged time.Duration) (*tls.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	defer context.AfterFunc(k.running.Context(), cancel)()
	type answer struct {
		conn *tls.Conn
		at   int
		err  error
	}
	all := len(k.peer.Addresses)
	answers, asked := make(chan answer, all), 0
	more := time.NewTimer(nextAddress)
	defer more.Stop()
	ask := func() {
		if asked == all {
			return
		}
		at := (int(k.last.Load()) + asked) % all
		asked++
		more.Reset(nextAddress)
		go func() {
			conn, err := k.connect(ctx, k.peer.Addresses[at], unacknowledged)
			answers <- answer{conn, at, err}
		}()
	}
	var first *tls.Conn
	var why []error
	ask()
	for got := 0; got < asked; {
		select {
		case <-more.C:
			if first == nil {
				ask()
			}
		case a := <-answers:
			got++
			switch {
			case first != nil && a.err == nil:
				_ = a.conn.NetConn().Close() // it was too late
			case a.err == nil:
				first = a.conn
				k.last.Store(int32(a.at))
				cancel()
			case first == nil:
				why = append(why, a.err)
				ask()
			}
		}
	}
	if first != nil {
		return first, nil
	}
	if all == 0 {
		return nil, errNowhere
	}
	return nil, errors.Join(why...)
}

// connect connects to one address, and has the other side prove its key.
func (k *link) connect(ctx context.Context, address string, unacknowledged time.Duration) (*tls.Conn, error) {
	dialer := net.Dialer{
		Control:         impatient(unacknowledged),
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: time.Second, Interval: time.Second, Count: 3},
	}
	raw, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	w := &wire{raw, k}
	k.mu.Lock()
	ended := k.wires == nil
	if !ended {
		k.wires[w] = true
	}
	k.mu.Unlock()
	c := tls.Client(w, k.config)
	if ended {
		err = errGone
	} else {
		err = c.HandshakeContext(ctx)
	}
	if err != nil {
		_ = w.Close() // the error says enough
		return nil, err
	}
	return c, nil
}

// failed notes that the member was not reached, or not for long: it is left alone for a while.
func (k *link) failed() {
	wait := mostBackoff
	if k.fails < 8 {
		wait = min(leastBackoff<<k.fails, mostBackoff)
	}
	k.fails++
	k.until = time.Now().Add(wait/2 + rand.N(wait/2))
}

// say logs now and then that the member is not reached, unless it is this side that has ended it.
func (k *link) say(why error) {
	if k.running.Context().Err() != nil || errors.Is(why, context.Canceled) {
		return
	}
	if missed, ok := k.pace.Take(time.Now()); ok {
		k.logger.Warn("a member of the cluster is not reached", "member", k.peer.Name, "id", k.peer.ID, "why", why, "not_logged_before", missed)
	}
}
