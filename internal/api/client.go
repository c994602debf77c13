package api

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Client talks to a box. Requests that change something carry a key, and are
// repeated for a while if the answer is lost: the box carries them out once.
type Client struct {
	locate   func() (address string, err error)
	token    string
	name     string // of the client that it speaks for, with these scopes; itself if empty
	scopes   []access.Scope
	stale    *Age // what it reads may be old; nil if not
	http     *http.Client
	patience time.Duration // for how long to go on asking a box that went away
}

// ErrNoBox is returned if nobody answers where the box should be, and together with
// ErrNotRunning if it is known that none runs.
var (
	ErrNoBox      = errors.New("no box answers")
	ErrNotRunning = errors.New("no box is running")
)

// NewClient returns a client for the box at an address such as 127.0.0.1:7071.
func NewClient(address, token string) *Client {
	return FollowingClient(func() (string, error) { return address, nil }, token)
}

// FollowingClient returns a client that looks for the box at each request: it may
// have been started anew, at another address.
func FollowingClient(locate func() (address string, err error), token string) *Client {
	transport := &http.Transport{MaxIdleConns: 4096, MaxIdleConnsPerHost: 4096, IdleConnTimeout: time.Minute, DialContext: dial}
	return &Client{locate: locate, token: token, http: &http.Client{Transport: transport}, patience: Patience}
}

// SocketPrefix begins the address of what listens on a Unix socket: its path follows.
const SocketPrefix = "unix:"

// socketHost ends the name that stands for a Unix socket in a request. Its path is before it, in hexadecimal digits, so that no two have the same name.
const socketHost = ".socket"

// hostOf returns what stands for an address in a request.
func hostOf(address string) string {
	if path, ok := strings.CutPrefix(address, SocketPrefix); ok {
		return hex.EncodeToString([]byte(path)) + socketHost
	}
	return address
}

// dial connects to a host, or to the Unix socket that a name stands for.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	if host, _, err := net.SplitHostPort(address); err == nil {
		if name, ok := strings.CutSuffix(host, socketHost); ok {
			if path, err := hex.DecodeString(name); err == nil {
				return d.DialContext(ctx, "unix", string(path))
			}
		}
	}
	return d.DialContext(ctx, network, address)
}

// ClientOver returns a client whose requests are carried by others, such as a handler of the same process. It does not ask twice.
func ClientOver(carrier http.RoundTripper, token string) *Client {
	return &Client{locate: func() (string, error) { return "box", nil }, token: token, http: &http.Client{Transport: carrier}}
}

// Patience is for how long a client goes on to ask a box that went away in the
// middle of a request.
const Patience = 15 * time.Second

// leaderPatience is for how long a client goes on to ask while no box of a cluster leads. Another one leads 1 to 3 seconds after one dies, and each of these
// answers comes after a box has waited 3 seconds for it: so two of them are too many for a change of leader.
const leaderPatience = 5 * time.Second

// WithPatience returns a client that goes on for this long to ask a box which
// went away in the middle of a request.
func (c *Client) WithPatience(d time.Duration) *Client {
	other := *c
	other.patience = d
	return &other
}

// Age is how old may be what a box of a cluster has answered by what it has itself.
type Age struct {
	Known bool          // else the box has heard of none that leads since it was started
	Age   time.Duration // since it last heard of one
}

// Stale returns a client for which a box answers what is only read by what it has, also if no box leads. How old that may be is in age after each request.
func (c *Client) Stale(age *Age) *Client {
	other := *c
	other.stale = age
	return &other
}

// For returns a client whose requests are those of a client of the box with this name, and these scopes alone. Its token
// has to be the owner's.
func (c *Client) For(name string, scopes ...access.Scope) *Client {
	other := *c
	other.name, other.scopes = name, scopes
	return &other
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Missing reports whether an error says that the request was not even sent: there
// is no box.
func Missing(err error) bool {
	return errors.Is(err, ErrNotRunning) || errors.Is(err, ErrNoBox) && errors.Is(err, syscall.ECONNREFUSED)
}

// NewKey makes an idempotency key.
func NewKey() string { return rand.Text() }

// Add adds a work item.
func (c *Client) Add(ctx context.Context, a AddWork) (Work, error) {
	return post[Work](ctx, c, "/v1/work", NewKey(), a)
}

// Work returns a work item.
func (c *Client) Work(ctx context.Context, id string) (Work, error) {
	return get[Work](ctx, c, workPath(id))
}

// Override sets the phase of an item, as the operator.
func (c *Client) Override(ctx context.Context, id string, o Override) (Recorded, error) {
	return post[Recorded](ctx, c, workPath(id)+"/override", NewKey(), o)
}

// Report tells the gate's result; the client's token has to be the gate's.
func (c *Client) Report(ctx context.Context, id string, r Report) (Recorded, error) {
	return post[Recorded](ctx, c, workPath(id)+"/gate", NewKey(), r)
}

// Claim takes something to work on. With Wait it returns when there is
// something, or with ctx.
func (c *Client) Claim(ctx context.Context, q Claim) (Grant, error) {
	return post[Grant](ctx, c, "/v1/claims", NewKey(), q)
}

// Renew starts the lease's term anew.
func (c *Client) Renew(ctx context.Context, session string) (Grant, error) {
	return post[Grant](ctx, c, sessionPath(session)+"/renew", "", nil)
}

// Release gives the item back.
func (c *Client) Release(ctx context.Context, session string) (Recorded, error) {
	return post[Recorded](ctx, c, sessionPath(session)+"/release", NewKey(), nil)
}

// Emit hands in an agent's output. The box makes a signal's key from the session and
// the output, so saying the same twice is saying it once; the request's own key is for output without one.
func (c *Client) Emit(ctx context.Context, session string, output []byte) (Emitted, error) {
	return post[Emitted](ctx, c, sessionPath(session)+"/emit", NewKey(), output)
}

func sessionPath(session string) string { return "/v1/sessions/" + escapePath(session) }
func workPath(id string) string         { return "/v1/work/" + escapePath(id) }

// escapePath escapes a name that is one element of a path, also one that means
// something in a path.
func escapePath(name string) string {
	switch name {
	case "", ".", "..", "/":
		return "-" // no item and no session has this name
	}
	return url.PathEscape(name)
}

// Status asks the box for its state.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return get[Status](ctx, c, "/v1/status")
}

// Events calls f for the events after a sequence, of one item or of all; with
// follow it goes on with those that come, until ctx ends or the box has gone for good.
func (c *Client) Events(ctx context.Context, id string, after uint64, follow bool, f func(Event) error) error {
	if follow {
		return c.follow(ctx, id, after, f)
	}
	_, err := c.events(ctx, url.Values{}, id, after, func() {}, f)
	return err
}

// follow goes on after the last event that it got whenever the stream breaks off: the box disconnects who
// reads too slowly, and may be started anew.
func (c *Client) follow(ctx context.Context, id string, after uint64, f func(Event) error) error {
	q := url.Values{"follow": {"true"}}
	var met bool       // the box has answered
	var lost time.Time // since when it does not; zero while it does
	for {
		var refused error
		_, err := c.events(ctx, q, id, after, func() { met, lost = true, time.Time{} }, func(e Event) error {
			after, refused = e.Sequence, f(e)
			return refused
		})
		if refused != nil {
			return refused
		}
		err = cmp.Or(err, ErrNoBox)
		again := askAgain(err)
		if !again || !met || ctx.Err() != nil {
			return err
		}
		if lost.IsZero() {
			lost = time.Now()
		}
		if time.Since(lost) > c.patienceFor(err) {
			return c.gaveUp(err)
		}
		select {
		case <-time.After(followAgain):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// followAgain is how long to wait before a stream that broke off is asked for again.
const followAgain = 20 * time.Millisecond

// EventsUpTo does the same with so many events at most. It returns the sequence to go on after if
// there are more, and 0 at the end.
func (c *Client) EventsUpTo(ctx context.Context, id string, after uint64, limit int, f func(Event) error) (next uint64, err error) {
	return c.events(ctx, url.Values{"limit": {strconv.Itoa(limit)}}, id, after, func() {}, f)
}

// RunEvents calls f for the events of a run and its tasks after a sequence, so many at most, in the ledger's order. It returns the
// sequence to go on after if there are more, and 0 at the end.
func (c *Client) RunEvents(ctx context.Context, run string, after uint64, limit int, f func(Event) error) (next uint64, err error) {
	return c.events(ctx, url.Values{"limit": {strconv.Itoa(limit)}, "tasks": {"true"}}, run, after, func() {}, f)
}

// EventsBefore calls f for the last events before a sequence, of one item or of all, with tasks of a run and its tasks: so many at most,
// the latest first. It returns the sequence to go on before if there are more, and 0 at the beginning.
func (c *Client) EventsBefore(ctx context.Context, id string, tasks bool, before uint64, limit int, f func(Event) error) (next uint64, err error) {
	q := url.Values{"limit": {strconv.Itoa(limit)}, "tasks": {strconv.FormatBool(tasks)}, "before": {strconv.FormatUint(before, 10)}}
	return c.events(ctx, q, id, 0, func() {}, f)
}

// Prove proves that an event is in the ledger as its latest checkpoint has it.
func (c *Client) Prove(ctx context.Context, sequence uint64) (ledger.Proof, error) {
	return get[ledger.Proof](ctx, c, "/v1/events/"+strconv.FormatUint(sequence, 10)+"/proof")
}

// events calls answered once the box has answered, and f for each event.
func (c *Client) events(ctx context.Context, q url.Values, id string, after uint64, answered func(), f func(Event) error) (next uint64, err error) {
	if !q.Has("before") {
		q.Set("after", strconv.FormatUint(after, 10))
	}
	if id != "" {
		q.Set("work", id)
	}
	resp, err := c.send(ctx, http.MethodGet, "/v1/events?"+q.Encode(), "", nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	answered()
	err = serverSent(resp.Body, func(data string) error {
		var e struct {
			Event
			NextEvents
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return fmt.Errorf("the box sent an event that can't be read: %w", err)
		}
		if e.Next > 0 {
			next = e.Next
			return nil
		}
		return f(e.Event)
	})
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return next, err
}

func get[T any](ctx context.Context, c *Client, path string) (T, error) {
	return insist[T](ctx, c, http.MethodGet, path, "", nil)
}

func post[T any](ctx context.Context, c *Client, path, key string, body any) (T, error) {
	data, isText := body.([]byte)
	if !isText && body != nil {
		var err error
		if data, err = encode(body); err != nil {
			var none T
			return none, err
		}
	}
	return insist[T](ctx, c, http.MethodPost, path, key, data)
}

// encode makes JSON of a request. What is no HTML is not escaped as HTML: that would make a plan up to six times as
// long.
func encode(body any) ([]byte, error) {
	var data bytes.Buffer
	e := json.NewEncoder(&data)
	e.SetEscapeHTML(false)
	err := e.Encode(body)
	return data.Bytes(), err
}

// insist sends a request until it is answered: one whose answer was lost may have
// been carried out, and its key makes the box say so. Of one that only asks, it ends when
// there is no box any more.
func insist[T any](ctx context.Context, c *Client, method, path, key string, data []byte) (T, error) {
	var lost time.Time       // when the first answer was
	var leaderless time.Time // since when no box leads; zero while one does
	var open bool            // what was asked may be recorded
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		began := time.Now()
		v, err := do[T](ctx, c, method, path, key, data)
		if !askAgain(err) || c.patience == 0 || (lost.IsZero() || method == http.MethodGet) && Missing(err) || ctx.Err() != nil {
			return v, err
		}
		if lost.IsZero() {
			lost = time.Now()
		}
		since := lost
		if !NoLeader(err) {
			leaderless, open = time.Time{}, open || method != http.MethodGet
		} else if leaderless.IsZero() {
			leaderless = began
		}
		if NoLeader(err) {
			since = leaderless
		}
		if time.Since(since) > c.patienceFor(err) {
			if err = c.gaveUp(err); open && NoLeader(err) {
				err = fmt.Errorf("%w. What was asked before may be recorded all the same: look before you ask for it again", err)
			}
			return v, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return v, ctx.Err()
		}
	}
}

// NoLeader reports whether an error says that no box of a cluster leads.
func NoLeader(err error) bool {
	p, answered := errors.AsType[*Problem](err)
	return answered && p.Code == CodeNoLeader
}

// askAgain reports whether a request that failed with an error may be carried out if it is sent again.
func askAgain(err error) bool {
	p, answered := errors.AsType[*Problem](err)
	return errors.Is(err, ErrNoBox) || answered && (p.Code == CodeUnknown || p.Code == CodeStopping || p.Code == CodeNoLeader)
}

// patienceFor is for how long the client goes on to ask after an error.
func (c *Client) patienceFor(err error) time.Duration {
	if NoLeader(err) {
		return min(c.patience, leaderPatience)
	}
	return c.patience
}

// gaveUp is the error of a client that asks no more.
func (c *Client) gaveUp(err error) error {
	p, answered := errors.AsType[*Problem](err)
	switch {
	case answered && p.Code == CodeNoLeader:
		return err
	case answered && p.Code == CodeUnknown:
		return fmt.Errorf("asked again and again for %v, with the same answer: %w", c.patience, err)
	}
	return fmt.Errorf("the box went away, and none came back within %v: %w", c.patience, err)
}

// take keeps how old an answer may be.
func (a *Age) take(h http.Header) {
	if ms, err := strconv.ParseInt(h.Get(AgeHeader), 10, 64); err == nil {
		*a = Age{Known: true, Age: time.Duration(ms) * time.Millisecond}
	}
}

func (c *Client) send(ctx context.Context, method, path, key string, body []byte) (*http.Response, error) {
	address, err := c.locate()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoBox, err)
	}
	if c.stale != nil && method == http.MethodGet {
		mark := "?"
		if strings.Contains(path, mark) {
			mark = "&"
		}
		path += mark + "stale=ok"
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+hostOf(address)+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	if c.name != "" {
		req.Header.Set(ClientHeader, c.name)
		req.Header.Set(ScopesHeader, access.Words(c.scopes, " "))
	}
	if key != "" {
		req.Header.Set(KeyHeader, key)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if p, answered := errors.AsType[*Problem](err); answered { // the carrier knows the box's answer by how the connection ended
			return nil, p
		}
		return nil, fmt.Errorf("%w at %s: %w", ErrNoBox, address, err)
	}
	if resp.StatusCode < 400 {
		if c.stale != nil {
			c.stale.take(resp.Header)
		}
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("%w at %s: %w", ErrNoBox, address, err)
	}
	p := &Problem{}
	if json.Unmarshal(data, p) != nil || p.Code == "" {
		return nil, fmt.Errorf("what answers at %s is not a box: status %d", address, resp.StatusCode)
	}
	return nil, p
}

func do[T any](ctx context.Context, c *Client, method, path, key string, body []byte) (T, error) {
	var v T
	data, _, err := c.read(ctx, method, path, key, body)
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return v, fmt.Errorf("the box answered what can't be read: %w", err)
	}
	return v, nil
}

// read sends a request and returns the whole answer.
func (c *Client) read(ctx context.Context, method, path, key string, body []byte) ([]byte, http.Header, error) {
	resp, err := c.send(ctx, method, path, key, body)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: the answer broke off: %w", ErrNoBox, err)
	}
	return data, resp.Header, nil
}
