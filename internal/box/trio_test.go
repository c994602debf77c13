package box

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/background"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// group is the boxes of a cluster in one process, and what carries their messages. The tests run it in a bubble of synctest, so time is the test's own.
type group struct {
	t     *testing.T
	mu    sync.Mutex
	seats map[uint64]*seatOf
	cut   map[uint64]bool // who hears nobody, and is heard by nobody
}

// seatOf is a box in use, which leads and yields as its log says, as the service has it.
type seatOf struct {
	*Box
	id    uint64
	o     Options
	stirs chan struct{}
	loop  *background.Group
}

func newGroup(t *testing.T) *group {
	g := &group{t: t, seats: map[uint64]*seatOf{}, cut: map[uint64]bool{}}
	t.TempDir() // so that the tests' directories go after the boxes have stopped
	t.Cleanup(func() {
		for _, s := range g.all() {
			g.stop(s)
		}
	})
	return g
}

func (g *group) all() (all []*seatOf) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for id := range uint64(20) {
		if s := g.seats[id]; s != nil {
			all = append(all, s)
		}
	}
	return all
}

func (g *group) cutOff(id uint64, off bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cut[id] = off
}

// way is one box's way to the others.
type way struct {
	*group
	from uint64
}

func (w way) Send(_ context.Context, to uint64, messages ...[]byte) error {
	w.mu.Lock()
	s, lost := w.seats[to], w.cut[to] || w.cut[w.from]
	w.mu.Unlock()
	if s == nil || lost {
		return errors.New("lost")
	}
	for _, m := range messages {
		s.ReceiveFrom(m)
	}
	return nil
}

func (w way) Fetch(_ context.Context, name string) ([]byte, error) {
	err := fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	for _, s := range w.all() {
		w.mu.Lock()
		lost := s.id == w.from || w.cut[s.id] || w.cut[w.from]
		w.mu.Unlock()
		if lost || name == ledger.CheckpointPath && !s.InCluster().Leads {
			continue
		}
		if data, readErr := s.ReadFile(name); readErr == nil {
			return data, nil
		}
	}
	return nil, err
}

// asMember returns options with which a box is the member that it is.
func (g *group) asMember(o Options, id uint64, stirs chan struct{}) Options {
	var peers []uint64
	for _, s := range g.all() {
		if s.id != id {
			peers = append(peers, s.id)
		}
	}
	o.Cluster = &Cluster{ID: id, Peers: peers, Transport: way{g, id}, Tick: ClusterTick, Elect: ClusterElect, Changed: func() {
		select {
		case stirs <- struct{}{}:
		default:
		}
	}}
	return o
}

// start starts a box as a member.
func (g *group) start(o Options, id uint64) *seatOf {
	g.t.Helper()
	stirs := make(chan struct{}, 1)
	b, _, err := Open(g.t.Context(), g.asMember(o, id, stirs))
	if err != nil {
		g.t.Fatalf("member %d: %v", id, err)
	}
	s := &seatOf{Box: b, id: id, o: o, stirs: stirs, loop: background.New(context.Background())}
	g.mu.Lock()
	g.seats[id] = s
	g.mu.Unlock()
	s.loop.Go(s.follow)
	return s
}

// follow leads and yields as the log says.
func (s *seatOf) follow(ctx context.Context) {
	term := uint64(0)
	for {
		select {
		case <-s.stirs:
		case <-ctx.Done():
			return
		}
		now := s.InCluster()
		if term != 0 && (!now.Leads || now.Term != term) {
			s.Yield()
			term = 0
		}
		if now.Leads && term == 0 {
			s.Lead()
			term = now.Term
		}
	}
}

// stop stops a box as the service does.
func (g *group) stop(s *seatOf) {
	g.t.Helper()
	g.mu.Lock()
	delete(g.seats, s.id)
	g.mu.Unlock()
	s.loop.Stop()
	if err := s.Close(); err != nil {
		g.t.Errorf("member %d: %v", s.id, err)
	}
}

var somewhere = []string{"192.0.2.1:7443"}

func keyOfBox(n int) string { return strings.Repeat(fmt.Sprint(n), 64) }

// found makes the directory of a box that stands alone that of the first of a cluster.
func (g *group) found(o Options, recorded func(access.Member) error) (access.Member, error) {
	if recorded == nil {
		recorded = func(access.Member) error { return nil }
	}
	return InitCluster(g.t.Context(), o, access.FoundCluster{Name: "a", Key: keyOfBox(1), Addresses: somewhere}, recorded)
}

// join takes a box in by an invitation of who leads.
func (g *group) join(name string, o Options) *seatOf {
	g.t.Helper()
	at := g.leader()
	_, secret, err := at.InviteMember(work.OperatorActor, api.NewMember{Name: name}, "")
	if err != nil {
		g.t.Fatal(err)
	}
	one, err := at.JoinMember(secret, keyOfBox(len(g.all())+1), somewhere)
	if err != nil {
		g.t.Fatal(err)
	}
	if err := JoinCluster(g.t.Context(), o, one.ID, at.Secrets()); err != nil {
		g.t.Fatal(err)
	}
	return g.start(o, one.ID)
}

// pause is how often the test looks, by its own clock.
const pause = 10 * time.Millisecond

// until waits until something is so, and not for ever.
func (g *group) until(what string, is func() bool) {
	g.t.Helper()
	for range 6000 {
		if is() {
			return
		}
		time.Sleep(pause)
	}
	g.t.Fatalf("after a minute it is not so: %s", what)
}

// leader returns the box that acts as the one that leads, of those that are not cut off.
func (g *group) leader() (found *seatOf) {
	g.t.Helper()
	g.until("a box leads", func() bool {
		for _, s := range g.all() {
			g.mu.Lock()
			lost := g.cut[s.id]
			g.mu.Unlock()
			if !lost && s.Leads() && s.InCluster().Leads {
				found = s
			}
		}
		return found != nil
	})
	return found
}

// others returns all but one.
func (g *group) others(but *seatOf) (all []*seatOf) {
	for _, s := range g.all() {
		if s.id != but.id {
			all = append(all, s)
		}
	}
	return all
}

// same waits until all boxes have folded as much, and have signed it with equal roots.
func (g *group) same() {
	g.t.Helper()
	all := g.all()
	g.until("all have folded and signed the same", func() bool {
		for _, s := range all {
			c, err := s.Signed()
			if err != nil {
				g.t.Fatal(err)
			}
			if s.Folded() != all[0].Folded() || uint64(c.Size) != s.Folded() {
				return false
			}
		}
		return true
	})
	want, err := all[0].Signed()
	if err != nil {
		g.t.Fatal(err)
	}
	for _, s := range all[1:] {
		if got, err := s.Signed(); err != nil || got.Root != want.Root {
			g.t.Errorf("member %d has another root: %v", s.id, err)
		}
	}
}

// three are boxes that all vote.
func three(t *testing.T) *group {
	t.Helper()
	g := newGroup(t)
	o := Options{Dir: Dir(t.TempDir()), ExitEnabled: true}
	one, err := g.found(o, nil)
	if err != nil {
		t.Fatal(err)
	}
	g.start(o, one.ID)
	for _, name := range []string{"b", "c"} {
		g.join(name, Options{Dir: Dir(t.TempDir()), ExitEnabled: true})
	}
	g.until("all three vote", func() bool {
		for _, s := range g.all() {
			if len(s.InCluster().Members.Voters) != 3 {
				return false
			}
		}
		return true
	})
	return g
}
