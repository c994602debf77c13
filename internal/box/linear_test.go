package box_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/conductor"
	"github.com/signalbox-dev/signalbox/internal/engine/enginetest"
	"github.com/signalbox-dev/signalbox/internal/httpapi"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

var operations = flag.Int("operations", 8_000, "how many operations TestLinearizable makes, besides 1,000 first; 200000 for the full measure")

// TestLinearizable lets clients work on items while the log fails, answers are
// lost and requests doubled. Whatever they were answered has to be what a model of
// an item would have answered, at some moment of each call.
func TestLinearizable(t *testing.T) {
	t.Parallel()
	t.Run("briefly", func(t *testing.T) { checkLinearizable(t, 1000, 0) })
	t.Run("at length", func(t *testing.T) {
		if testing.Short() {
			t.Skip("a thousand operations are enough for -short")
		}
		l := checkLinearizable(t, *operations, 4)
		ofRuns := []string{work.WorkBlocked, work.WorkUnblocked, work.MergeProposed, work.MergeApproved, work.MergeAllowed, work.WorkMerged, work.MergeFailed, work.WorkUnchanged, work.WorkShown, work.WorkTaken, work.AuditWaived, work.QuestionAnswered} // which nobody asks for here
		for _, what := range work.Types() {
			if l.types[what] == 0 && !slices.Contains(ofRuns, what) {
				t.Errorf("there was no %s", what)
			}
		}
	})
}

const (
	atOnce = 4   // clients on one item: it remembers that many requests by their keys
	groups = 8   // of clients
	rounds = 100 // that a group plays on an item: a look at it, and a call by each client at once
)

// checkLinearizable makes the operations, and some more on items whose leases run
// out.
func checkLinearizable(t *testing.T, operations, runOut int) *linear {
	begun := time.Now()
	l := newLinear(t)
	var next atomic.Int64
	var all sync.WaitGroup
	for range groups {
		all.Go(func() {
			for n := int(next.Add(1)); n <= operations/rounds/(atOnce+1); n = int(next.Add(1)) {
				l.play(n)
			}
		})
	}
	for n := range runOut {
		all.Go(func() { l.runOut(-n) })
	}
	all.Wait()
	if l.ctx.Err() != nil {
		t.Fatalf("the box stopped: %v", l.box.Close())
	}
	ran := time.Since(begun)
	l.readEvents()
	l.close()
	checked := time.Now()
	answer := porcupine.CheckOperationsTimeout(linearizable, l.history, 10*time.Minute)
	if answer != porcupine.Ok {
		t.Errorf("%d operations are linearizable: %s\n%s", len(l.history), answer, l.story())
	}
	t.Logf("%d operations in %.1f s, checked in %.2f s; %d unanswered; events: %v", len(l.history), ran.Seconds(), time.Since(checked).Seconds(), l.unanswered, l.types)
	f := l.faults
	t.Logf("appends: %d without a fault, %d conflicts, %d not ready; unknown: %d stored, %d lost, %d late; answers lost: %d; requests repeated: %d, at once: %d",
		f[enginetest.None], f[enginetest.Conflict], f[enginetest.NotReady], f[enginetest.UnknownStored], f[enginetest.UnknownLost], f[enginetest.UnknownLate],
		l.way.lost.Load(), l.way.again.Load(), l.way.together.Load())
	return l
}

// linear is a box on a bad engine at the end of a bad way, and what its clients
// have seen.
type linear struct {
	t      *testing.T
	ctx    context.Context // ends when the box stops
	cancel func()
	box    *box.Box
	dir    box.Dir
	way    *lossy
	server *httptest.Server
	client *api.Client
	gate   *api.Client
	clock  atomic.Int64

	mu         sync.Mutex
	faults     map[enginetest.Fault]int
	history    []porcupine.Operation
	subjects   map[string]int // subject -> item
	unanswered int
	types      map[string]int
}

func newLinear(t *testing.T) *linear {
	dir := box.Dir(t.TempDir())
	l := &linear{t: t, dir: dir, faults: map[enginetest.Fault]int{}, subjects: map[string]int{}, types: map[string]int{}}
	faults := enginetest.RandomFaults(1, 8)
	l.box = box.OnFiles(t, dir, archive.Dir(dir.Archive("")), func(n int, subject string) enginetest.Fault {
		f := faults(n, subject)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.faults[f]++
		return f
	})
	l.ctx, l.cancel = context.WithCancel(l.box.Context()) // one that hangs runs into the time of all tests
	l.way = &lossy{box: httpapi.New(l.box, conductor.New(l.box.Ledger(), conductor.Options{}), nil).Handler()}
	l.server = httptest.NewServer(l.way)
	address := strings.TrimPrefix(l.server.URL, "http://")
	own, gate := l.box.Tokens()
	l.client, l.gate = api.NewClient(address, own), api.NewClient(address, gate)
	return l
}

// close stops everything and checks the ledger that is left.
func (l *linear) close() {
	l.cancel()
	l.client.Close()
	l.gate.Close()
	l.server.Close()
	if err := l.box.Close(); err != nil {
		l.t.Error(err)
	}
	if _, err := ledger.Verify(os.DirFS(l.dir.Archive("")), l.box.Status().Verifier); err != nil {
		l.t.Error(err)
	}
}

// target is an item, and what its clients know of it.
type target struct {
	number  int
	id      string
	subject string
	phase   agentsig.Phase
	holder  uint64
	granted uint64
}

func (l *linear) add(number int) *target {
	id := fmt.Sprint("T", number)
	w, err := l.client.Add(l.ctx, api.AddWork{ID: id, Title: "a title"})
	for l.ctx.Err() == nil && err != nil { // the way is bad for it too
		w, err = l.client.Work(l.ctx, id)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.subjects[w.Subject] = number
	return &target{number: number, id: id, subject: w.Subject, phase: w.Phase}
}

// play lets the clients of a group work on an item.
func (l *linear) play(number int) {
	i := l.add(number)
	r := rand.New(rand.NewPCG(1, uint64(number)))
	for range rounds {
		if l.ctx.Err() != nil {
			return
		}
		if seen := l.do(i, call{what: "show"}, l.client); !seen.unknown {
			i.phase, i.holder, i.granted = seen.phase, seen.token, max(i.granted, seen.token)
		}
		results := make([]result, atOnce)
		var all sync.WaitGroup
		for n := range results {
			c, client := i.choose(r), l.client
			if c.what == "report" {
				client = l.gate
			}
			if r.IntN(8) == 0 {
				client = client.WithPatience(-1) // it never asks again
			}
			all.Go(func() { results[n] = l.do(i, c, client) })
		}
		all.Wait()
		for _, got := range results {
			i.granted = max(i.granted, got.token)
		}
	}
}

// runOut claims an item again and again, and gives no lease back.
func (l *linear) runOut(number int) {
	i := l.add(number)
	for range 3 {
		if got := l.do(i, call{what: "claim"}, l.client); got.token > 1 {
			l.do(i, call{what: "end", token: got.token - 1, phase: i.phase, reason: agentsig.ExitCompleted}, l.client)
		}
	}
}

// choose makes up a call that often makes sense.
func (i *target) choose(r *rand.Rand) call {
	pick := func(of ...agentsig.Phase) agentsig.Phase { return of[r.IntN(len(of))] }
	c := call{phase: i.phase, token: i.holder, reason: agentsig.ExitCompleted, passed: r.IntN(3) > 0}
	if i.granted > 0 && (i.holder == 0 || r.IntN(4) == 0) {
		c.token = 1 + r.Uint64N(i.granted)
	}
	n := r.IntN(16)
	switch {
	case n < 3 || i.holder == 0 && n < 9 || c.token == 0 && n < 12:
		return call{what: []string{"claim", "claim", "claim", "review"}[r.IntN(4)]}
	case n < 9:
		c.what = "end"
		if r.IntN(6) == 0 {
			c.phase = pick(agentsig.Phases()[:6]...)
		}
		if r.IntN(8) == 0 {
			c.reason = agentsig.ExitBlocked
		}
		if after[c.phase] == "" && c.phase != agentsig.PhaseCIPending { // no record says so
			c.phase = agentsig.PhaseDraft
		}
	case n < 10:
		c.what = "note"
	case n < 12:
		c.what = "release"
	case n < 14:
		c.what = "report"
	case n < 15:
		c.what, c.phase = "override", pick(agentsig.Phases()...)
	default:
		c.what = "show"
	}
	return c
}

// do makes a call and keeps what came of it.
func (l *linear) do(i *target, c call, client *api.Client) result {
	c.item = i.number
	called := l.clock.Add(1)
	got, err := l.send(i, c, client, called)
	returned := l.clock.Add(1)
	var p *api.Problem
	switch {
	case errors.As(err, &p) && (p.Code == api.CodeHeld || p.Code == api.CodeConflict || p.Code == api.CodeInvalid || p.Code == api.CodeNothing):
		got = result{refused: p.Code}
	case errors.Is(err, api.ErrNoBox), errors.As(err, &p) && (p.Code == api.CodeUnknown || p.Code == api.CodeStopping), l.ctx.Err() != nil:
		got, returned = result{unknown: true}, math.MaxInt64
	case err != nil:
		l.t.Errorf("%+v: %v", c, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if got.unknown {
		l.unanswered++
		if c.what == "show" {
			return got // it did nothing
		}
	}
	l.history = append(l.history, porcupine.Operation{Input: c, Call: called, Output: got, Return: returned})
	return got
}

func (l *linear) send(i *target, c call, client *api.Client, called int64) (result, error) {
	session := work.Token{Epoch: 1, Counter: c.token}.Session(i.subject)
	recorded := func(r api.Recorded, err error) (result, error) { return result{event: r.Event, phase: r.Phase}, err }
	emitted := func(output string) (result, error) {
		e, err := client.Emit(l.ctx, session, []byte(output))
		if err == nil && e.Event == "" {
			return result{refused: api.CodeConflict}, nil
		}
		return result{event: e.Event, phase: e.NextPhase}, err
	}
	switch c.what {
	case "show":
		w, err := client.Work(l.ctx, i.id)
		got := result{phase: w.Phase}
		if err == nil && w.Holder != nil {
			_, token, parseErr := work.ParseSession(w.Holder.Session)
			got.token, err = token.Counter, parseErr
		}
		return got, err
	case "claim", "review":
		q := api.Claim{Work: i.id, Actor: actorOf(called)}
		if c.what == "review" {
			q.Role = agentsig.RoleCritic
		}
		if i.number <= 0 {
			q.TTLMS, q.Wait = 1000, true
		}
		g, err := client.Claim(l.ctx, q)
		return result{phase: g.Phase, token: g.Token.Counter}, err
	case "end":
		record, err := agentsig.NewExitSignal(c.phase, c.reason).WithNotes(fmt.Sprint("call ", called)).JSON()
		if err != nil {
			return result{}, err
		}
		return emitted(string(record) + "\n")
	case "note":
		return emitted(fmt.Sprintf("CHECKPOINT: %s\nStatus: call %d\n", i.id, called))
	case "release":
		return recorded(client.Release(l.ctx, session))
	case "report":
		return recorded(client.Report(l.ctx, i.id, api.Report{Commit: "0123abc", Result: map[bool]string{true: "pass", false: "fail"}[c.passed]}))
	default:
		return recorded(client.Override(l.ctx, i.id, api.Override{Phase: c.phase, Reason: "to see what comes"}))
	}
}

// readEvents reads what was recorded, and completes the history by what no call
// was answered: that a lease ran out, and leases that were granted unheard. They
// are operations of their own.
func (l *linear) readEvents() {
	claims := map[string]*porcupine.Operation{} // by actor
	for n, o := range l.history {
		if c := o.Input.(call); c.what == "claim" || c.what == "review" {
			claims[actorOf(o.Call)] = &l.history[n]
		}
	}
	completed := map[string]int{}
	var more []porcupine.Operation
	err := l.box.Entries(func(_ int64, stored []byte) error {
		e, err := ledger.Decode(stored)
		if err != nil {
			return err
		}
		l.types[e.Type]++
		var p struct{ Phase agentsig.Phase } // that was granted, or stays
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			return err
		}
		_, token, _ := work.ParseSession(e.Session)
		switch e.Type {
		case work.AgentSessionCompleted:
			completed[e.Session]++
		case work.LeaseExpired:
			more = append(more, porcupine.Operation{
				Input:  call{item: l.subjects[e.Subject], what: "expire", token: token.Counter},
				Output: result{event: e.Type, phase: p.Phase}, Return: math.MaxInt64,
			})
		case work.LeaseGranted, work.ReviewStarted:
			if o := claims[e.Actor]; o.Output.(result).token != token.Counter {
				more = append(more, porcupine.Operation{Input: o.Input, Call: o.Call, Output: result{phase: p.Phase, token: token.Counter}, Return: o.Return})
				c := o.Input.(call)
				c.before = token.Counter
				o.Input = c
			}
		}
		return nil
	})
	if err != nil {
		l.t.Fatal(err)
	}
	// What an unanswered claim did is known by now.
	l.history = slices.DeleteFunc(l.history, func(o porcupine.Operation) bool {
		return claims[actorOf(o.Call)] != nil && o.Output.(result).unknown
	})
	l.history = append(l.history, more...)
	for session, n := range completed {
		if n != 1 {
			l.t.Errorf("session %s was completed %d times", session, n)
		}
	}
}

// actorOf names who claims, by the moment of the call.
func actorOf(called int64) string { return fmt.Sprint("agent-", called) }

// story is the history of an item that is not linearizable, up to where it is not:
// it is cut where nobody waits for an answer, and no lease can run out.
func (l *linear) story() string {
	for _, part := range linearizable.Partition(l.history) {
		slices.SortFunc(part, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
		var out strings.Builder
		quiet := int64(0)
		for n, o := range part {
			if o.Call > quiet && o.Input.(call).item > 0 && !porcupine.CheckOperations(linearizable, slices.Clone(part[:n])) {
				return out.String()
			}
			if o.Return != math.MaxInt64 {
				quiet = max(quiet, o.Return)
			}
			fmt.Fprintf(&out, "%6d to %6d: %+v -> %+v\n", o.Call, o.Return, o.Input, o.Output)
		}
		if !porcupine.CheckOperations(linearizable, part) {
			return out.String()
		}
	}
	return ""
}
