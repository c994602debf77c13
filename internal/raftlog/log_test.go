package raftlog_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/archive/archivetest"
	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/internal/engine/enginetest"
	"github.com/signalbox-dev/signalbox/internal/member"
	"github.com/signalbox-dev/signalbox/internal/raftlog"
	"github.com/signalbox-dev/signalbox/ledger"
)

// One member and three do what every log does.
func TestConformance(t *testing.T) {
	for _, count := range []int{1, 3} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			enginetest.Conformance(t, func(t *testing.T, dir string) engine.Log {
				files := func(id uint64) archive.FS { return archive.Dir(filepath.Join(dir, fmt.Sprint(id))) }
				if testing.Short() {
					files = disks{}.of
				}
				n, _ := cluster(t, count, files, nil)
				return n.client(t)
			})
		})
	}
}

// disks are files that lose what was not synced.
type disks map[uint64]*archivetest.Lossy

func (d disks) of(id uint64) archive.FS {
	d[id] = archivetest.NewLossy()
	return d[id]
}

// other returns a member that does not lead.
func other(t testing.TB, seats []*seat, leader *seat) *seat {
	t.Helper()
	for _, s := range seats {
		if s != leader {
			return s
		}
	}
	t.Fatal("there is no other")
	return nil
}

// What is appended comes to every member, and everything that runs is stopped, once: nothing of it is left when the test ends.
func TestThree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, seats := cluster(t, 3, disks{}.of, nil)
		c := n.client(t)
		last := c.write(t, "A", 0, 200)
		same(t, 200, seats...)
		follower := other(t, seats, c.at.Load())
		if _, err := follower.Append(t.Context(), "A", last, event("A", "x")); !errors.Is(err, engine.ErrNotReady) {
			t.Errorf("a member that does not lead says %v", err)
		}
		last = c.write(t, "A", last, 1)
		if err := follower.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		if tip, err := follower.Tip(t.Context()); tip != last || err != nil {
			t.Errorf("after it has caught up its tip is %d of %d, %v", tip, last, err)
		}
		for _, s := range seats {
			if err := n.stop(s); err != nil {
				t.Error(err)
			}
			if err := <-s.fold.ended; !errors.Is(err, engine.ErrClosed) {
				t.Errorf("it ended with %v", err)
			}
			if err := s.CatchUp(t.Context()); !errors.Is(err, engine.ErrClosed) {
				t.Errorf("after its end: %v", err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// A member that is stalled, or cut off, holds up nobody. What waits for it is bounded, and it comes back to the same.
func TestSlowMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, seats := cluster(t, 3, disks{}.of, nil)
		c := n.client(t)
		slow := other(t, seats, c.at.Load())
		release := n.stall(slow.id)
		const count = 600
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var all sync.WaitGroup
		for w := range 20 {
			all.Go(func() {
				subject := fmt.Sprint("W", w)
				var last uint64
				for i := range count / 20 {
					var err error
					if last, err = c.Append(ctx, subject, last, event(subject, fmt.Sprintf("%08000d", i))); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		if slow.fold.count() > 0 {
			t.Error("the stalled member was not stalled")
		}
		if took := time.Since(begun); took > elect*tick {
			t.Errorf("the others took %v, by a clock that stands while they work", took)
		}
		release()
		if t.Failed() {
			return
		}
		same(t, count, seats...)
	})
}

// A leader that is cut off does not know what became of what it was given; its followers go on, and it comes back to what they have.
func TestLeaderCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, seats := cluster(t, 3, disks{}.of, nil)
		c := n.client(t)
		last := c.write(t, "A", 0, 5)
		old := c.at.Load()
		n.cutOff(old.id, true)
		ctx, cancel := context.WithTimeout(t.Context(), tick)
		defer cancel()
		lost := make(chan error)
		go func() {
			_, err := old.Append(t.Context(), "A", last, event("A", "lost"))
			lost <- err
		}()
		caughtUp := make(chan error)
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			caughtUp <- old.CatchUp(ctx)
		}()
		if _, err := old.Append(ctx, "B", 0, event("B", "unknown")); !errors.Is(err, engine.ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("cut off, it says %v", err)
		}
		if err := old.CatchUp(ctx); err == nil {
			t.Error("cut off, it says that it has caught up")
		}
		next, err := n.leader(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c.at.Store(next)
		last = c.write(t, "A", last, 5)
		n.cutOff(old.id, false)
		if err := <-lost; !errors.Is(err, engine.ErrNotReady) {
			t.Errorf("what another leader's record took the place of: %v", err)
		}
		if err := <-caughtUp; err != nil {
			t.Fatal(err)
		}
		same(t, 10, seats...)
		if tip, err := old.Tip(t.Context()); tip != last || err != nil {
			t.Errorf("its tip is %d of %d, %v", tip, last, err)
		}
	})
}

// gate is files whose syncs wait, once it is shut.
type gate struct {
	archive.FS
	shut atomic.Pointer[chan struct{}]
}

func (g *gate) Extend(name string) (archive.File, error) {
	f, err := g.FS.Extend(name)
	return gated{f, g}, err
}

type gated struct {
	archive.File
	gate *gate
}

func (g gated) Sync() error {
	if shut := g.gate.shut.Load(); shut != nil {
		<-*shut
	}
	return g.File.Sync()
}

// A conflict is answered when what it lost against is folded, also if that is just being written. So it is if many want the same.
func TestConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{FS: archivetest.NewLossy()}
		var folding atomic.Pointer[chan struct{}]
		n, _ := cluster(t, 1, func(uint64) archive.FS { return g }, func(c *raftlog.Config) {
			fold := c.Follower.Fold
			c.Follower.Fold = func(records []engine.Record) error {
				if shut := folding.Load(); shut != nil {
					<-*shut
				}
				return fold(records)
			}
		})
		c := n.client(t)
		c.write(t, "B", 0, 1)
		open, fold := make(chan struct{}), make(chan struct{})
		g.shut.Store(&open)
		folding.Store(&fold)
		const writers = 20
		errs := make(chan error, writers)
		for i := range writers {
			go func() {
				_, err := c.at.Load().Append(t.Context(), "A", 0, event("A", i))
				errs <- err
			}()
			synctest.Wait()
		}
		close(open)
		synctest.Wait()
		if len(errs) > 0 {
			t.Error("a conflict is answered before what it lost against is folded")
		}
		close(fold)
		won := 0
		for range writers {
			switch err := <-errs; {
			case err == nil:
				won++
			case !errors.Is(err, engine.ErrConflict):
				t.Error(err)
			}
		}
		if won != 1 {
			t.Errorf("%d have won", won)
		}
	})
}

// An append is not answered before it is synced in a majority: what is on its way to the others' disks does not count.
func TestSyncedInAMajority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gates := map[uint64]*gate{}
		n, _ := cluster(t, 3, func(id uint64) archive.FS {
			gates[id] = &gate{FS: archivetest.NewLossy()}
			return gates[id]
		}, nil)
		c := n.client(t)
		last := c.write(t, "A", 0, 3)
		synctest.Wait()
		open := make(chan struct{})
		for id, g := range gates {
			if id != c.at.Load().id {
				g.shut.Store(&open)
			}
		}
		done := make(chan error, 1)
		go func() {
			_, err := c.at.Load().Append(t.Context(), "A", last, event("A", "x"))
			done <- err
		}()
		time.Sleep(elect / 2 * tick)
		if len(done) > 0 {
			t.Error("an append is answered that one member has synced")
		}
		close(open)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// An event is in no log before the blobs that it names are there, and an append that names one that nobody has is refused.
func TestBlobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, seats := cluster(t, 3, disks{}.of, nil)
		c := n.client(t)
		naming := func(blob ledger.Blob) []byte {
			return fmt.Appendf(nil, `{"subject":"A","payload":{"log":{"blob":"%s","size":%d}}}`, blob.SHA256, blob.Size)
		}
		if _, err := c.Append(t.Context(), "A", 0, naming(ledger.NewBlob([]byte("nowhere")))); !errors.Is(err, member.ErrBlob) {
			t.Errorf("without its blob: %v", err)
		}
		blob, err := c.at.Load().archive.PutBlob([]byte("what the agent said"))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := c.Append(ctx, "A", 0, naming(blob)); err != nil {
			t.Fatal(err)
		}
		have := 0
		for _, s := range seats {
			if s.archive.HasBlob(blob.SHA256) {
				have++
			}
		}
		if have < 2 {
			t.Errorf("an append was acknowledged with its blob on %d disk", have)
		}
		same(t, 1, seats...)
		for _, s := range seats {
			if !s.archive.HasBlob(blob.SHA256) {
				t.Errorf("member %d has the event and not its blob", s.id)
			}
		}
	})
}

// A member that was away for long gets the archive from the leader, and goes on from there; nothing is folded twice or left out.
func TestFarBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		few := func(c *raftlog.Config) { c.Keep = 10 }
		n, seats := cluster(t, 3, disks{}.of, few)
		c := n.client(t)
		last := c.write(t, "A", 0, 3)
		away := other(t, seats, c.at.Load())
		same(t, 3, seats...)
		if err := n.stop(away); err != nil {
			t.Fatal(err)
		}
		last = c.write(t, "A", last, 700)
		done := make(chan struct{})
		var sealing sync.WaitGroup
		defer sealing.Wait()
		defer close(done)
		sealing.Go(func() { // as a box does
			for {
				select {
				case <-time.After(time.Second):
				case <-done:
					return
				}
				if _, err := c.at.Load().archive.Seal(); err != nil {
					t.Error(err)
				}
			}
		})
		c.write(t, "A", last, 5)
		back, err := n.start(away.files, away.keys, away.id, []uint64{1, 2, 3}, few)
		if err != nil {
			t.Fatal(err)
		}
		if err := back.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		same(t, 708, back, c.at.Load())
		if err := n.stop(back); err != nil {
			t.Fatal(err)
		}
		if back, err = n.start(away.files, away.keys, away.id, []uint64{1, 2, 3}, few); err != nil {
			t.Fatal(err)
		}
		if err := back.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		same(t, 708, back, c.at.Load())
	})
}

// What was acknowledged is there after power cuts, one member after the other or all at once.
func TestPowerCuts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := disks{}
		n, seats := cluster(t, 3, d.of, nil)
		chance := rand.New(rand.NewPCG(1, 1))
		var last uint64
		for round := range 12 {
			c := n.client(t)
			last = c.write(t, "A", last, 20)
			cut := seats
			if round%4 > 0 {
				i := chance.IntN(len(seats))
				cut = seats[i : i+1]
			}
			for _, s := range cut {
				d[s.id].StopAfter(chance.IntN(8))
			}
			ctx, cancel := context.WithTimeout(t.Context(), tick)
			_, err := c.at.Load().Append(ctx, "B", uint64(round)+1, event("B", round)) // whatever becomes of it: it is a conflict
			cancel()
			_ = err
			for i := range cut {
				s := cut[i]
				n.mu.Lock()
				delete(n.seats, s.id)
				n.mu.Unlock()
				_ = errors.Join(s.Close(), s.archive.Close()) // the power is off
				d[s.id].PowerCut(chance)
			}
			for i := range cut {
				s, err := n.start(cut[i].files, cut[i].keys, cut[i].id, []uint64{1, 2, 3}, nil)
				if err != nil {
					t.Fatalf("round %d, member %d: %v", round, cut[i].id, err)
				}
				cut[i] = s
			}
			c = n.client(t)
			if tip, err := c.Tip(t.Context()); tip != last || err != nil {
				t.Fatalf("round %d: the tip is %d and not %d, %v", round, tip, last, err)
			}
		}
		same(t, int(last), seats...)
	})
}

// A member whose disk fails stops and says why, and the others go on. So does one that does not know the last event on a subject.
func TestMemberFails(t *testing.T) {
	t.Run("disk", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			failing := map[uint64]*archivetest.Failing{}
			n, seats := cluster(t, 3, func(id uint64) archive.FS {
				failing[id] = &archivetest.Failing{FS: archivetest.NewLossy()}
				return failing[id]
			}, nil)
			c := n.client(t)
			last := c.write(t, "A", 0, 3)
			broken := c.at.Load()
			failing[broken.id].Broken.Store(true)
			if _, err := broken.Append(t.Context(), "A", last, event("A", "x")); !errors.Is(err, engine.ErrUnknown) || !errors.Is(err, archivetest.ErrDisk) {
				t.Errorf("with a broken disk: %v", err)
			}
			if err := <-broken.fold.ended; !errors.Is(err, archivetest.ErrDisk) {
				t.Errorf("it ended with %v", err)
			}
			if _, err := broken.Append(t.Context(), "B", 0, event("B", "x")); !errors.Is(err, archivetest.ErrDisk) || errors.Is(err, engine.ErrUnknown) {
				t.Errorf("after its end: %v", err)
			}
			n.mu.Lock()
			delete(n.seats, broken.id)
			n.mu.Unlock()
			_ = broken.archive.Close() // its disk is broken
			c = n.client(t)
			c.write(t, "B", 0, 10)
			var others []*seat
			for _, s := range seats {
				if s != broken {
					others = append(others, s)
				}
			}
			same(t, 13, others...)
		})
	})
	t.Run("fold", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			n, _ := cluster(t, 1, disks{}.of, nil)
			c := n.client(t)
			c.write(t, "A", 0, 3)
			s := c.at.Load()
			if err := s.CatchUp(t.Context()); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			s.fold.unknown = errors.New("the index is gone")
			if _, err := s.Append(t.Context(), "B", 0, event("B", "x")); !errors.Is(err, s.fold.unknown) {
				t.Errorf("with a last that is not known: %v", err)
			}
			if s.fold.count() != 3 {
				t.Error("it was folded")
			}
		})
	})
}

// Messages that nobody sent do nothing, and too many are dropped.
func TestHostileMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, seats := cluster(t, 3, disks{}.of, nil)
		c := n.client(t)
		chance := rand.New(rand.NewPCG(1, 1))
		for range 2000 {
			junk := make([]byte, chance.IntN(200))
			for i := range junk {
				junk[i] = byte(chance.Uint32())
			}
			seats[0].Receive(junk)
		}
		for range 100 {
			seats[0].Receive(make([]byte, 10<<20))
		}
		c.write(t, "A", 0, 10)
		same(t, 10, seats...)
	})
}
