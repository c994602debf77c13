//go:build linux

package chaos

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// carrier carries a client's requests: to one box, or to whichever answers. One that is not answered is sent to another box, with the same key.
type carrier struct {
	w     *world
	only  *machine // nil for any
	first atomic.Int64
	again time.Duration // for how long a request goes on that no box answers; 0 for not at all

}

// boxPatience is how long a box may take to answer before another one is asked, besides what a request waits for by itself.
const boxPatience = 2 * time.Second

var errSilent = errors.New("no box has answered")

// RoundTrip implements [http.RoundTripper].
func (c *carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	o, _ := r.Context().Value(opKey{}).(*op)
	if o != nil {
		o.key = r.Header.Get(api.KeyHeader)
	}
	wait := boxPatience
	if o != nil {
		wait += o.waits
	}
	if c.only != nil {
		answer, err := c.ask(r, c.only, wait)
		return answer, err
	}
	var last *http.Response
	var why error
	begun := time.Now()
	for n := c.first.Load(); ; n++ {
		m := c.w.boxes[int(n)%len(c.w.boxes)]
		answer, err := c.ask(r, m, wait)
		if err == nil && !unsettled(answer) {
			c.first.Store(n % int64(len(c.w.boxes)))
			return answer, nil
		}
		if last, why = answer, err; r.Context().Err() != nil {
			return nil, r.Context().Err()
		}
		if o != nil {
			o.tries++
		}
		if time.Since(begun) > c.again {
			if last != nil {
				return last, nil
			}
			return nil, fmt.Errorf("%w: %w", errSilent, why)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
}

// unsettled says of an answer that another box, or the same a little later, may have a better one.
func unsettled(r *http.Response) bool { return r.StatusCode == http.StatusServiceUnavailable }

var errDown = errors.New("the box does not run")

// ask sends a request to one box, and returns its whole answer.
func (c *carrier) ask(r *http.Request, m *machine, wait time.Duration) (*http.Response, error) {
	address := m.at()
	if address == "" {
		return nil, errDown
	}
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	out := r.Clone(ctx)
	out.URL.Scheme, out.URL.Host, out.Host = "http", address, address
	if r.GetBody != nil {
		body, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		out.Body = body
	}
	answer, err := m.transport().RoundTrip(out)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	answer.Body = io.NopCloser(bytes.NewReader(data))
	return answer, nil
}

// transport is what all clients reach a box by, on its own machine.
func (m *machine) transport() *http.Transport {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.way == nil {
		m.way = &http.Transport{MaxIdleConnsPerHost: 128, IdleConnTimeout: 5 * time.Second, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return m.host.Dial(ctx, network, address)
		}}
	}
	return m.way
}

type opKey struct{}

// call is what a client asks of an item.
type call struct {
	what   string // claim, review, end, note, release, report, override, renew, show; expire is nobody's
	token  uint64
	phase  agentsig.Phase
	passed bool // of report
}

// result is what it is answered.
type result struct {
	refused string // held, invalid or conflict: how a refusal is answered
	event   string
	phase   agentsig.Phase // after it
	token   uint64         // that was granted, or that holds the item
	events  uint64         // of show: how many the item has
}

// outcome is whether a call was answered.
type outcome int

const (
	answered outcome = iota
	unknown          // no box has answered, or none knows
	gaveUp           // a claim that waited for nothing
)

// op is one call of a client, and what came of it.
type op struct {
	call
	item     *item
	began    int64 // nanoseconds of the run
	ended    int64
	outcome  outcome
	result   result
	sequence uint64 // of the event, if it was answered with one
	key      string // that the request was sent with
	text     string // of what was emitted
	ttl      time.Duration
	waits    time.Duration // a claim, for so long
	tries    int           // besides the first
	why      string        // it was refused, or not answered
}

// item is a work item that some clients work on, one after the other and at once.
type item struct {
	id, subject string
	mu          sync.Mutex
	phase       agentsig.Phase // as somebody knew last
	granted     uint64
	holder      uint64
	ops         []*op
}

// load is clients that work, and what they have seen.
type load struct {
	w     *world
	ctx   context.Context
	begun time.Time
	seed  uint64
	think time.Duration // of a client between two calls, at most
	all   sync.WaitGroup
	stop  context.CancelFunc

	mu     sync.Mutex
	items  []*item
	acks   []int64 // when a write was acknowledged
	odd    []string
	added  []*op // calls that add an item
	number int
}

const (
	groups  = 16 // of clients
	atOnce  = 4  // clients of one, on one item
	perItem = 60 // calls of each on it
	opTime  = 30 * time.Second
)

// newLoad starts 64 clients.
func newLoad(w *world, seed uint64, think time.Duration) *load {
	l := &load{w: w, begun: time.Now(), seed: seed, think: think}
	l.ctx, l.stop = context.WithCancel(context.Background())
	for g := range groups {
		l.all.Go(func() { l.group(g) })
	}
	return l
}

// end lets the clients finish what they are at, and returns when all have.
func (l *load) end() {
	l.stop()
	l.all.Wait()
}

func (l *load) now() int64 { return int64(time.Since(l.begun)) }

// group has its clients work on one item after the other.
func (l *load) group(number int) {
	clients := make([]*client, atOnce)
	for n := range clients {
		c := &carrier{w: l.w, again: opTime}
		c.first.Store(int64(number + n))
		clients[n] = &client{
			l: l, random: rand.New(rand.NewPCG(l.seed, uint64(number*atOnce+n))),
			owner: api.ClientOver(c, l.w.token), gate: api.ClientOver(c, l.w.gate),
		}
	}
	for l.ctx.Err() == nil {
		i := clients[0].add()
		if i == nil {
			continue
		}
		var all sync.WaitGroup
		for _, c := range clients {
			all.Go(func() {
				for range perItem {
					if l.ctx.Err() != nil {
						return
					}
					c.work(i)
					if l.think > 0 {
						time.Sleep(time.Duration(c.random.Int64N(int64(l.think)))) // it thinks
					}
				}
			})
		}
		all.Wait()
	}
}

// client is one of them.
type client struct {
	l           *load
	random      *rand.Rand
	owner, gate *api.Client
}

// add adds an item; nil if nobody knows whether it is there.
func (c *client) add() *item {
	c.l.mu.Lock()
	c.l.number++
	id := fmt.Sprint("T-", c.l.number)
	c.l.mu.Unlock()
	o := &op{call: call{what: "add"}, began: c.l.now()}
	ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), opKey{}, o), opTime+10*time.Second)
	defer cancel()
	v, err := c.owner.Add(ctx, api.AddWork{ID: id, Title: "a title"})
	o.ended = c.l.now()
	if err != nil {
		o.outcome, o.why = unknown, err.Error()
		if p, ok := errors.AsType[*api.Problem](err); ok && !open(p) {
			c.l.strange(o, err)
		}
	} else {
		o.sequence = v.Sequence // of its last event, which is this
	}
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	c.l.added = append(c.l.added, o)
	if err != nil {
		return nil
	}
	c.l.acks = append(c.l.acks, o.ended)
	i := &item{id: id, subject: v.Subject, phase: v.Phase}
	c.l.items = append(c.l.items, i)
	return i
}

// open says of a refusal that nobody knows what became of the request.
func open(p *api.Problem) bool {
	return slices.Contains([]string{api.CodeUnknown, api.CodeNoLeader, api.CodeStopping, api.CodeBusy, api.CodeCannotWrite, api.CodeInternal}, p.Code)
}

// strange keeps what no call should be answered.
func (l *load) strange(o *op, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.odd) < 20 {
		l.odd = append(l.odd, fmt.Sprintf("%s %d: %v", o.what, o.token, err))
	}
}

// after is which phase follows which by an exit record.
var after = map[agentsig.Phase]agentsig.Phase{
	"DRAFT": "IMPLEMENTATION", "IMPLEMENTATION": "CI_PENDING", "READY_FOR_REVIEW": "REVIEW", "REVIEW": "READY_FOR_MERGE", "READY_FOR_MERGE": "COMPLETED",
}

// choose makes up a call that often makes sense.
func (c *client) choose(i *item) *op {
	i.mu.Lock()
	defer i.mu.Unlock()
	r := c.random
	o := &op{item: i, call: call{phase: i.phase, token: i.holder, passed: r.IntN(3) > 0}}
	if i.granted > 0 && (i.holder == 0 || r.IntN(6) == 0) {
		o.token = 1 + r.Uint64N(i.granted)
	}
	idle := i.holder == 0 || o.token == 0
	switch n := r.IntN(40); {
	case n < 10:
		o.call = call{what: "show"}
	case n < 12:
		o.call = call{what: "list"}
	case n < 16 || idle && n < 32:
		o.call = call{what: []string{"claim", "claim", "claim", "review"}[r.IntN(4)]}
		o.ttl = time.Duration(1500+r.IntN(3000)) * time.Millisecond
		if r.IntN(4) == 0 {
			o.waits = time.Duration(200+r.IntN(1800)) * time.Millisecond
		}
	case n < 22:
		o.what = "end"
		if after[o.phase] == "" {
			o.phase = agentsig.PhaseDraft
		}
	case n < 24:
		o.call = call{what: "note", token: o.token}
	case n < 31:
		o.call = call{what: "renew", token: o.token}
	case n < 33:
		o.call = call{what: "release", token: o.token}
	case n < 37:
		o.call = call{what: "report", passed: o.passed}
	default:
		o.call = call{what: "override", phase: []agentsig.Phase{"DRAFT", "IMPLEMENTATION", "READY_FOR_REVIEW"}[r.IntN(3)]}
	}
	if i.phase == agentsig.PhaseCIPending && r.IntN(3) == 0 {
		o.call = call{what: "report", passed: o.passed}
	}
	return o
}

// work makes a call and keeps what came of it.
func (c *client) work(i *item) {
	o := c.choose(i)
	if o.token == 0 && slices.Contains([]string{"end", "note", "renew", "release"}, o.what) {
		o.call = call{what: "show"}
	}
	ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), opKey{}, o), opTime+10*time.Second)
	if o.waits > 0 {
		cancel()
		ctx, cancel = context.WithTimeout(context.WithValue(context.Background(), opKey{}, o), o.waits)
	}
	defer cancel()
	o.began = c.l.now()
	err := c.send(ctx, o)
	o.ended = c.l.now()
	p, refused := errors.AsType[*api.Problem](err)
	switch {
	case err == nil:
	case refused && !open(p):
		o.result, o.why = result{refused: p.Code}, p.Message
	case o.waits > 0 && ctx.Err() != nil:
		o.outcome = gaveUp
	default:
		o.outcome, o.why = unknown, err.Error()
	}
	i.mu.Lock()
	if o.what != "list" {
		i.ops = append(i.ops, o)
	}
	if got := o.result; o.outcome == answered && got.refused == "" {
		switch o.what {
		case "show":
			i.phase, i.holder = got.phase, got.token
		case "claim", "review":
			i.phase, i.holder = got.phase, got.token
		case "end", "release", "report", "override":
			if got.phase != "" {
				i.phase, i.holder = got.phase, 0
			}
		}
		i.granted = max(i.granted, i.holder)
	}
	i.mu.Unlock()
	if o.outcome == answered && o.result.refused == "" && !slices.Contains([]string{"show", "list", "renew"}, o.what) {
		c.l.mu.Lock()
		c.l.acks = append(c.l.acks, o.ended)
		c.l.mu.Unlock()
	}
	if o.outcome == answered && refused && !slices.Contains([]string{api.CodeHeld, api.CodeConflict, api.CodeInvalid, api.CodeNothing}, p.Code) {
		c.l.strange(o, err)
	}
}

// send makes the request.
func (c *client) send(ctx context.Context, o *op) error {
	i := o.item
	session := work.Token{Epoch: 1, Counter: o.token}.Session(i.subject)
	recorded := func(r api.Recorded, err error) error {
		o.result, o.sequence = result{event: r.Event, phase: r.Phase}, r.Sequence
		return err
	}
	emitted := func(output string) error {
		o.text = output
		e, err := c.owner.Emit(ctx, session, []byte(output))
		o.result, o.sequence = result{event: e.Event, phase: e.NextPhase}, e.Sequence
		if err == nil && e.Event == "" {
			o.result, o.why = result{refused: api.CodeConflict}, e.Error
		}
		return err
	}
	unique := fmt.Sprintf("call %d of %d", o.began, c.random.Uint64())
	switch o.what {
	case "show":
		v, err := c.owner.Work(ctx, i.id)
		o.result = result{phase: v.Phase, events: v.Events}
		if err == nil && v.Holder != nil {
			_, token, bad := work.ParseSession(v.Holder.Session)
			o.result.token, err = token.Counter, bad
		}
		return err
	case "list":
		_, err := c.owner.List(ctx, "", api.From{Limit: 5})
		return err
	case "claim", "review":
		q := api.Claim{Work: i.id, Actor: "agent-" + hex.EncodeToString([]byte(unique))[:24], TTLMS: o.ttl.Milliseconds(), Wait: o.waits > 0}
		if o.what == "review" {
			q.Role = agentsig.RoleCritic
		}
		g, err := c.owner.Claim(ctx, q)
		o.result = result{phase: g.Phase, token: g.Token.Counter}
		return err
	case "renew":
		g, err := c.owner.Renew(ctx, session)
		o.result = result{phase: g.Phase, token: g.Token.Counter}
		return err
	case "end":
		if o.phase == agentsig.PhaseImplementation && c.random.IntN(2) == 0 {
			return emitted("READY_FOR_REVIEW: " + i.id + "\n" + unique + "\n")
		}
		record, err := agentsig.NewExitSignal(o.phase, agentsig.ExitCompleted).WithNotes(unique).JSON()
		if err != nil {
			return err
		}
		return emitted(string(record) + "\n")
	case "note":
		return emitted(fmt.Sprintf("CHECKPOINT: %s\nStatus: %s\n", i.id, unique))
	case "release":
		return recorded(c.owner.Release(ctx, session))
	case "report":
		return recorded(c.gate.Report(ctx, i.id, api.Report{Commit: "0123abc", Result: map[bool]string{true: "pass", false: "fail"}[o.passed]}))
	default:
		return recorded(c.owner.Override(ctx, i.id, api.Override{Phase: o.phase, Reason: "to see what comes"}))
	}
}

// keys are those by which the event of a call can be found.
func (o *op) keys() []string {
	if o.text == "" {
		return []string{o.key}
	}
	session := work.Token{Epoch: 1, Counter: o.token}.Session(o.item.subject)
	h := sha256.New()
	fmt.Fprintf(h, "emit %s\n%s", session, o.text)
	return []string{hex.EncodeToString(h.Sum(nil)[:16]), o.key}
}
