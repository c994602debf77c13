package raftlog_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/internal/member"
	"github.com/signalbox-dev/signalbox/internal/raftlog"
	"github.com/signalbox-dev/signalbox/ledger"
)

const (
	tick  = 10 * time.Millisecond
	elect = 10
)

func newKeys(t testing.TB) archive.Keys {
	t.Helper()
	signer, verifier, err := ledger.NewKey(ledger.Origin("example.com/ledger", 1))
	if err != nil {
		t.Fatal(err)
	}
	return archive.Keys{Signer: signer, Verifier: verifier}
}

// network carries messages between members in memory.
type network struct {
	mu    sync.Mutex
	seats map[uint64]*seat
	cut   map[uint64]bool // who is cut off
	slow  map[uint64]chan struct{}
	once  map[string]bool // what was fetched in vain: the first time everything is lost
}

func newNetwork() *network {
	return &network{seats: map[uint64]*seat{}, cut: map[uint64]bool{}, slow: map[uint64]chan struct{}{}, once: map[string]bool{}}
}

// line is one member's way to the others.
type line struct {
	*network
	from uint64
}

func (l line) Send(ctx context.Context, to uint64, messages ...[]byte) error {
	l.mu.Lock()
	s, lost, stalls := l.seats[to], l.cut[to] || l.cut[l.from], l.slow[to]
	l.mu.Unlock()
	if stalls != nil {
		select {
		case <-stalls:
		case <-ctx.Done():
		}
	}
	if s == nil || lost {
		return errors.New("lost")
	}
	for _, message := range messages {
		s.Receive(message)
	}
	return nil
}

func (l line) Fetch(ctx context.Context, name string) ([]byte, error) {
	l.mu.Lock()
	if first := fmt.Sprint(l.from, name); !l.once[first] {
		l.once[first] = true
		l.mu.Unlock()
		return nil, errors.New("lost")
	}
	var others []*seat
	for id, s := range l.seats {
		if id != l.from && !l.cut[id] && !l.cut[l.from] {
			others = append(others, s)
		}
	}
	l.mu.Unlock()
	err := fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	for _, s := range others {
		if leads := s.Status().Leads; name == ledger.CheckpointPath && !leads {
			continue
		}
		data, readErr := s.archive.ReadFile(name)
		if readErr == nil {
			return data, nil
		}
	}
	return nil, err
}

func (n *network) cutOff(id uint64, off bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut[id] = off
}

func (n *network) stall(id uint64) (release func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	stalls := make(chan struct{})
	n.slow[id] = stalls
	return func() {
		n.mu.Lock()
		delete(n.slow, id)
		n.mu.Unlock()
		close(stalls)
	}
}

// fold is the least that can follow a log: the records, and the last sequence of each subject.
type fold struct {
	mu      sync.Mutex
	last    map[string]uint64
	records []engine.Record
	unknown error
	ended   chan error
}

func (f *fold) take(records []engine.Record) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range records {
		if r.Seq != uint64(len(f.records))+1 {
			return fmt.Errorf("record %d is folded after %d", r.Seq, len(f.records))
		}
		f.last[r.Subject] = r.Seq
		f.records = append(f.records, r)
	}
	return nil
}

func (f *fold) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.records)
}

func (f *fold) first(count int) []engine.Record {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.records[:count:count]
}

// seat is a member in use.
type seat struct {
	*raftlog.Log
	id      uint64
	files   archive.FS
	keys    archive.Keys
	archive *archive.Archive
	fold    *fold
}

// state is that of a member of a cluster that begins with all of its members.
func state(id uint64, voters []uint64) member.State {
	at := member.Mark{Index: uint64(len(voters)), Term: 1}
	return member.State{ID: id, Term: 1, Commit: at.Index, At: at, Members: member.Members{Voters: voters}}
}

// start opens a member's archive and log.
func (n *network) start(files archive.FS, keys archive.Keys, id uint64, peers []uint64, change func(*raftlog.Config)) (*seat, error) {
	a, j, err := archive.OpenMember(files, keys)
	if err != nil {
		return nil, err
	}
	if _, err := a.Start(context.Background(), 0); err != nil {
		return nil, err
	}
	f := &fold{last: map[string]uint64{}, ended: make(chan error, 1)}
	err = a.Records(context.Background(), 1, uint64(a.Size()), func(r engine.Record) error { return f.take([]engine.Record{r}) })
	if err != nil {
		return nil, err
	}
	s := &seat{id: id, files: files, keys: keys, archive: a, fold: f}
	c := raftlog.Config{
		Follower: archive.Follower{
			Last:  func(subject string) (uint64, error) { return f.last[subject], f.unknown },
			Fold:  f.take,
			Ended: func(err error) { f.ended <- err },
		},
		Transport: line{n, id}, Peers: peers, Tick: tick, Elect: elect, Keep: 4096,
	}
	if change != nil {
		change(&c)
	}
	if s.Log, err = raftlog.New(a, j, c); err != nil {
		return nil, err
	}
	s.Start()
	n.mu.Lock()
	n.seats[id] = s
	n.mu.Unlock()
	return s, nil
}

// stop stops a member as a box does.
func (n *network) stop(s *seat) error {
	n.mu.Lock()
	delete(n.seats, s.id)
	n.mu.Unlock()
	return errors.Join(s.Close(), s.archive.Close())
}

// cluster starts members that begin together.
func cluster(t testing.TB, count int, files func(id uint64) archive.FS, change func(*raftlog.Config)) (*network, []*seat) {
	t.Helper()
	keys, n := newKeys(t), newNetwork()
	var voters []uint64
	for id := range uint64(count) {
		voters = append(voters, id+1)
	}
	var seats []*seat
	for _, id := range voters {
		f := files(id)
		if err := archive.Found(f, keys, state(id, voters)); err != nil {
			t.Fatal(err)
		}
		s, err := n.start(f, keys, id, voters, change)
		if err != nil {
			t.Fatal(err)
		}
		seats = append(seats, s)
	}
	t.Cleanup(func() {
		for _, s := range n.all() {
			if err := n.stop(s); err != nil {
				t.Error(err)
			}
		}
	})
	return n, seats
}

// leader waits until one of them leads.
func (n *network) leader(ctx context.Context) (*seat, error) {
	for {
		n.mu.Lock()
		for id, s := range n.seats {
			if s.Status().Leads && !n.cut[id] {
				n.mu.Unlock()
				return s, nil
			}
		}
		n.mu.Unlock()
		select {
		case <-time.After(tick / 4):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// client asks the leader, as boxes pass requests on, and reads what was committed before it asked.
type client struct {
	n  *network
	at atomic.Pointer[seat]
}

func (c *client) Append(ctx context.Context, subject string, last uint64, data []byte) (uint64, error) {
	for {
		seq, err := c.at.Load().Append(ctx, subject, last, data)
		if !errors.Is(err, engine.ErrNotReady) {
			return seq, err
		}
		s, err := c.n.leader(ctx)
		if err != nil {
			return 0, err
		}
		c.at.Store(s)
	}
}

func (c *client) Tip(ctx context.Context) (uint64, error) {
	s := c.at.Load()
	if err := s.CatchUp(ctx); err != nil {
		return 0, err
	}
	return s.Tip(ctx)
}

func (c *client) Read(ctx context.Context, from uint64, do func(engine.Record) error) error {
	s := c.at.Load()
	if err := s.CatchUp(ctx); err != nil {
		return err
	}
	return s.Read(ctx, from, do)
}

func (c *client) Watch(ctx context.Context, from uint64, do func([]engine.Record) error) error {
	return c.at.Load().Watch(ctx, from, do)
}

func (c *client) Close() error {
	var err error
	for _, s := range c.n.all() {
		err = errors.Join(err, s.Close())
	}
	return err
}

// all returns the members in use.
func (n *network) all() []*seat {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Collect(maps.Values(n.seats))
}

// client returns one that asks the leader.
func (n *network) client(t testing.TB) *client {
	t.Helper()
	s, err := n.leader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := &client{n: n}
	c.at.Store(s)
	return c
}

func event(subject string, text any) []byte {
	return fmt.Appendf(nil, `{"subject":%q,"text":%q}`, subject, fmt.Sprint(text))
}

// write appends records on a subject of its own, one after the other, and returns the last sequence.
func (c *client) write(t testing.TB, subject string, last uint64, count int) uint64 {
	t.Helper()
	for i := range count {
		var err error
		if last, err = c.Append(t.Context(), subject, last, event(subject, i)); err != nil {
			t.Fatalf("record %d on %s: %v", i, subject, err)
		}
	}
	return last
}

// same waits until members have folded the same records, as many as are given.
func same(t testing.TB, count int, seats ...*seat) {
	t.Helper()
	for _, s := range seats {
		for s.fold.count() < count {
			time.Sleep(tick) // of the test's own clock
		}
		got, want := s.fold.first(count), seats[0].fold.first(count)
		for i := range want {
			if got[i].Seq != want[i].Seq || string(got[i].Data) != string(want[i].Data) {
				t.Errorf("member %d has another record %d than member %d", s.id, want[i].Seq, seats[0].id)
			}
		}
	}
}
