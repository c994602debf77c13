package box_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/conductor"
	"github.com/signalbox-dev/signalbox/internal/httpapi"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// bench is a box with its HTTP server, and clients.
type bench struct {
	*box.Box
	found  box.Found
	dir    box.Dir
	server *httptest.Server
	client *api.Client
}

// up starts a box in a directory, on the real engine.
func up(t *testing.T, dir string) *bench {
	t.Helper()
	b, found, err := box.Open(t.Context(), box.Options{Dir: box.Dir(dir), ExitEnabled: true})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(httpapi.New(b, conductor.New(b.Ledger(), conductor.Options{}), nil).Handler())
	token, err := box.Dir(dir).APIToken()
	if err != nil {
		t.Fatal(err)
	}
	u := &bench{b, found, box.Dir(dir), s, api.NewClient(strings.TrimPrefix(s.URL, "http://"), token)}
	t.Cleanup(func() { u.down(t) })
	return u
}

func (u *bench) down(t *testing.T) {
	t.Helper()
	if u.Box == nil {
		return
	}
	u.client.Close()
	u.server.CloseClientConnections()
	if err := u.Close(); err != nil {
		t.Error(err)
	}
	u.server.Close()
	u.Box = nil
}

func (u *bench) add(t *testing.T, id string, phase agentsig.Phase) {
	t.Helper()
	if _, err := u.client.Add(t.Context(), api.AddWork{ID: id, Title: "a title", Phase: phase}); err != nil {
		t.Fatal(err)
	}
}

func (u *bench) claim(t *testing.T, q api.Claim) api.Grant {
	t.Helper()
	if q.Actor == "" {
		q.Actor = "ann"
	}
	g, err := u.client.Claim(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (u *bench) emit(t *testing.T, session, output string) api.Emitted {
	t.Helper()
	e, err := u.client.Emit(t.Context(), session, []byte(output))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// until returns when something is true of the box, which nothing but its status
// tells.
func (u *bench) until(t *testing.T, what string, is func(api.Status) bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !is(u.Status()); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s: %+v", what, u.Status())
		}
	}
}

func exit(phase agentsig.Phase) string {
	data, err := agentsig.NewExitSignal(phase, agentsig.ExitCompleted).JSON()
	if err != nil {
		panic(err)
	}
	return string(data) + "\n"
}

// A waiting claimer gets the work that an exit record hands over; and all of it
// is there after a restart, with and without the snapshot.
func TestHandoff(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	u := up(t, dir)
	u.add(t, "T-1", agentsig.PhaseReadyForReview)
	g := u.claim(t, api.Claim{})
	waiting := make(chan api.Grant)
	go func() {
		g, err := u.client.Claim(t.Context(), api.Claim{Actor: "bob", Role: agentsig.RoleCritic, Wait: true})
		if err != nil {
			t.Error(err)
		}
		waiting <- g
	}()
	u.until(t, "a claim waits", func(s api.Status) bool { return s.Waiting == 1 })
	e := u.emit(t, g.Session, "Done.\n"+exit(agentsig.PhaseReadyForReview))
	want := api.Emitted{
		Accepted: true, Event: work.AgentSessionCompleted, Work: "T-1", PhaseCompleted: agentsig.PhaseReadyForReview,
		ExitReason: agentsig.ExitCompleted, NextPhase: agentsig.PhaseReview, Sequence: 3,
	}
	if got, _ := json.Marshal(e); string(got) != must(json.Marshal(want)) {
		t.Fatalf("got %s", got)
	}
	next := <-waiting
	if next.Work != "T-1" || next.Phase != agentsig.PhaseReview || next.Token.Counter != 2 {
		t.Fatalf("got %+v", next)
	}
	u.down(t)

	u = up(t, dir)
	if u.found.Events != 4 || !u.found.Snapshot || u.found.Leases != 1 || len(u.found.Notes) != 0 {
		t.Fatalf("found %+v", u.found)
	}
	if e := u.emit(t, next.Session, "REVIEW_PASSED: T-1\nSummary: fine\n"); !e.Accepted || e.NextPhase != agentsig.PhaseReadyForMerge {
		t.Fatalf("got %+v", e)
	}
	u.down(t)
	key, err := u.dir.Verifier()
	if err != nil {
		t.Fatal(err)
	}
	report, err := ledger.Verify(osDir(u.dir.Archive("")), key)
	if err != nil || report.Events != 5 {
		t.Fatalf("%+v, %v", report, err)
	}
}

func must(data []byte, err error) string {
	if err != nil {
		panic(err)
	}
	return string(data)
}

// A lease that is not renewed is taken away, and the late result is recorded.
func TestExpiry(t *testing.T) {
	t.Parallel()
	u := up(t, t.TempDir())
	u.add(t, "T-1", agentsig.PhaseImplementation)
	g := u.claim(t, api.Claim{TTLMS: 1000})
	other, err := u.client.Claim(t.Context(), api.Claim{Actor: "bob", Wait: true})
	if err != nil {
		t.Fatal(err)
	}
	if other.Token.Counter != 2 {
		t.Fatalf("got %+v", other)
	}
	if e := u.emit(t, g.Session, exit(agentsig.PhaseImplementation)); e.Accepted || e.Event != work.LateResultRecorded {
		t.Fatalf("got %+v", e)
	}
	if _, err := u.client.Renew(t.Context(), g.Session); err == nil {
		t.Error("a lease that was taken is renewed")
	}
	if _, err := u.client.Renew(t.Context(), other.Session); err != nil {
		t.Error(err)
	}
	if w, err := u.client.Work(t.Context(), "T-1"); err != nil || w.Phase != agentsig.PhaseImplementation || w.Holder.Actor != "bob" {
		t.Errorf("%+v, %v", w, err)
	}
}

// A claim whose caller goes away leaves nothing behind.
func TestClaimIsCancelled(t *testing.T) {
	t.Parallel()
	u := up(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() {
		_, err := u.client.Claim(ctx, api.Claim{Actor: "ann", Wait: true})
		gone <- err
	}()
	u.until(t, "a claim waits", func(s api.Status) bool { return s.Waiting == 1 })
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	u.until(t, "no claim waits", func(s api.Status) bool { return s.Waiting == 0 })
	u.add(t, "T-1", agentsig.PhaseDraft)
	if g := u.claim(t, api.Claim{Actor: "bob"}); g.Token.Counter != 1 {
		t.Errorf("got %+v", g)
	}
}
