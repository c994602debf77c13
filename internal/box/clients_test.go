package box_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

var clientItems = flag.Int("items", 500, "how many work items TestManyClients takes from DRAFT to COMPLETED; 1000 for the full measure")

// TestManyClients takes work through all its phases by 64 agents that wait for
// whatever comes, and a gate that follows the events. Then the ledger is read as
// an outsider would.
func TestManyClients(t *testing.T) {
	t.Parallel()
	const agents, reporters = 64, 4
	items := *clientItems
	if testing.Short() {
		items = min(items, 100)
	}
	begun := time.Now()
	u := up(t, t.TempDir())
	c := &crowd{bench: u, items: items, pending: make(chan string, items)}
	c.left.Store(int64(items))
	ctx, done := context.WithTimeout(t.Context(), 10*time.Minute)
	defer done()
	c.done = done
	var all sync.WaitGroup
	start := func(n int, f func(context.Context, *api.Client) error, token string) {
		for range n {
			client := api.NewClient(u.address(), token)
			all.Go(func() {
				defer client.Close()
				if err := f(ctx, client); err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
					done()
				}
			})
		}
	}
	token, gate := u.token(t, "api.token"), u.token(t, "gate.token")
	start(agents, c.work, token)
	start(1, c.follow, token)
	start(reporters, c.report, gate)
	start(4, c.add, token)
	all.Wait()
	if left := c.left.Load(); left != 0 {
		t.Fatalf("%d of %d items are not done", left, items)
	}
	t.Logf("%d items, %d agents: %d events in %.1f s", items, agents, u.Status().Events, time.Since(begun).Seconds())
	c.check(t)
}

// crowd is many clients of one box.
type crowd struct {
	items int
	*bench
	added   atomic.Int64
	left    atomic.Int64 // items that are not COMPLETED
	pending chan string  // items in CI_PENDING
	done    func()       // called when none is left
}

func (c *crowd) add(ctx context.Context, client *api.Client) error {
	for n := c.added.Add(1); n <= int64(c.items); n = c.added.Add(1) {
		if _, err := client.Add(ctx, api.AddWork{ID: fmt.Sprint("T-", n), Title: "a title"}); err != nil {
			return err
		}
	}
	return nil
}

// work takes whatever is there and hands it on.
func (c *crowd) work(ctx context.Context, client *api.Client) error {
	for {
		g, err := client.Claim(ctx, api.Claim{Actor: "agent", Wait: true})
		if err != nil {
			return err
		}
		e, err := client.Emit(ctx, g.Session, []byte(exit(g.Phase)))
		switch {
		case err != nil:
			return err
		case !e.Accepted || e.Event != work.AgentSessionCompleted:
			return fmt.Errorf("%s in %s: %+v", g.Session, g.Phase, e)
		case e.NextPhase == agentsig.PhaseCompleted && c.left.Add(-1) == 0:
			c.done()
		}
	}
}

// follow finds what waits for the gate.
func (c *crowd) follow(ctx context.Context, client *api.Client) error {
	return client.Events(ctx, "", 0, true, func(e api.Event) error {
		event, err := ledger.Decode(e.Event)
		var p work.Result
		if err == nil {
			err = json.Unmarshal(event.Payload, &p)
		}
		if event.Type == work.AgentSessionCompleted && p.NextPhase == agentsig.PhaseCIPending {
			c.pending <- e.Work
		}
		return err
	})
}

func (c *crowd) report(ctx context.Context, client *api.Client) error {
	for {
		select {
		case id := <-c.pending:
			r, err := client.Report(ctx, id, api.Report{Commit: "0123abc", Result: "pass"})
			if err != nil {
				return err
			}
			if r.Event != work.GatePassed {
				return fmt.Errorf("the gate on %s: %+v", id, r)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// check reads the whole ledger: every session was completed once, tokens rise, and
// every item passed every phase.
func (c *crowd) check(t *testing.T) {
	t.Helper()
	last, completed, types := map[string]uint64{}, map[string]int{}, map[string]int{}
	granted := map[string]bool{}
	err := c.client.Events(t.Context(), "", 0, false, func(e api.Event) error {
		event, err := ledger.Decode(e.Event)
		if err != nil {
			return err
		}
		types[event.Type]++
		switch event.Type {
		case work.LeaseGranted:
			var token work.Token
			if err := token.UnmarshalText([]byte(event.Lease)); err != nil {
				return err
			}
			if token.Counter <= last[event.Subject] {
				t.Errorf("event %d grants token %d after %d", e.Sequence, token.Counter, last[event.Subject])
			}
			last[event.Subject] = token.Counter
			granted[event.Session] = true
		case work.AgentSessionCompleted:
			completed[event.Session]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for session := range granted {
		if completed[session] != 1 {
			t.Errorf("session %s was completed %d times", session, completed[session])
		}
	}
	if len(granted) != 5*c.items || len(completed) != 5*c.items || types[work.GatePassed] != c.items || len(types) != 4 {
		t.Errorf("%d sessions, %d completed; %v", len(granted), len(completed), types)
	}
	list, err := c.client.List(t.Context(), agentsig.PhaseCompleted, api.From{})
	if err != nil || len(list.Items) != c.items {
		t.Errorf("%d items are COMPLETED of %d: %v", len(list.Items), c.items, err)
	}
	c.verify(t)
}

// verify stops the box and checks the ledger that it leaves.
func (u *bench) verify(t *testing.T) {
	t.Helper()
	events := int64(u.Status().Events)
	u.down(t)
	key, err := u.dir.Verifier()
	if err != nil {
		t.Fatal(err)
	}
	if r, err := ledger.Verify(osDir(u.dir.Archive("")), key); err != nil || r.Events != events {
		t.Errorf("%d events: %+v, %v", events, r, err)
	}
}

func (u *bench) address() string { return strings.TrimPrefix(u.server.URL, "http://") }

func (u *bench) token(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(string(u.dir), file))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(data), "\n")
}
