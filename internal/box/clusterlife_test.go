package box

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// The first box can be made again wherever it was cut off, and has one id and one event then.
func TestInitCluster(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, begun := range []bool{false, true} { // a box that has recorded something, and none
			g := newGroup(t)
			o := Options{Dir: Dir(t.TempDir())}
			if begun {
				closeBox(t, oneItem(t, o.Dir, nil))
			}
			cut := errors.New("cut off")
			one, err := g.found(o, func(access.Member) error { return cut })
			if !errors.Is(err, cut) || one.ID != 1 || one.Name != "a" || !one.Votes {
				t.Fatalf("cut off: %+v, %v", one, err)
			}
			if member, err := HasMembersLog(t.Context(), o); member || err != nil {
				t.Errorf("its log is a member's: %v", err)
			}
			if b, _, err := Open(t.Context(), o); err != nil { // it is a box like others until then
				t.Error(err)
			} else {
				closeBox(t, b)
			}
			again, err := g.found(o, nil)
			if err != nil || again.ID != one.ID {
				t.Fatalf("again: %+v, %v", again, err)
			}
			if member, err := HasMembersLog(t.Context(), o); !member || err != nil {
				t.Errorf("its log is none of a member: %v", err)
			}
			if _, err := g.found(o, nil); err == nil {
				t.Error("it is made the first of a cluster, and is a member")
			}
			s := g.start(o, one.ID)
			g.leader()
			if m := s.Members(); m.Last != 1 || len(m.All) != 1 || m.Tip.ItemSeq != 1 {
				t.Errorf("the boxes: %+v", m)
			}
			if _, err := putItem(t, s.Box, "T-2", ""); err != nil {
				t.Error(err)
			}
			if begun {
				if _, err := s.Work("T-1"); err != nil {
					t.Errorf("what it had: %v", err)
				}
			}
			g.stop(s)
		}
	})
}

// A directory becomes a member's once, whatever was cut off; one that has another's ledger does not, and its key stays.
func TestJoinClusterAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t)
		o := Options{Dir: Dir(t.TempDir())}
		one, err := g.found(o, nil)
		if err != nil {
			t.Fatal(err)
		}
		secrets := g.start(o, one.ID).Secrets()
		g.leader()
		next := Options{Dir: Dir(t.TempDir())}
		if err := next.Dir.create(); err != nil { // cut off after the first file
			t.Fatal(err)
		}
		if err := next.Dir.write(apiTokenFile, []byte(secrets.Token+"\n")); err != nil {
			t.Fatal(err)
		}
		if err := CheckEmpty(next); err != nil {
			t.Errorf("a directory without a ledger: %v", err)
		}
		for range 2 {
			if err := JoinCluster(t.Context(), next, 2, secrets); err != nil {
				t.Fatal(err)
			}
			if err := CheckEmpty(next); !errors.Is(err, ErrHasLedger) {
				t.Errorf("a directory with a ledger: %v", err)
			}
		}
		for name, want := range map[string]string{apiTokenFile: secrets.Token, gateFile: secrets.Gate, signerFile: secrets.Signer} {
			if got, err := next.Dir.read(name); err != nil || got != want {
				t.Errorf("%s: %v", name, err)
			}
			if info, err := os.Stat(next.Dir.path(name)); err != nil || info.Mode() != 0o600 {
				t.Errorf("%s: %v, %v", name, info, err)
			}
		}
		other := Options{Dir: Dir(t.TempDir())}
		b := oneItem(t, other.Dir, nil)
		signer := b.keys.Signer
		closeBox(t, b)
		if err := JoinCluster(t.Context(), other, 2, secrets); !errors.Is(err, ErrHasLedger) {
			t.Errorf("over another ledger: %v", err)
		}
		if kept, err := other.Dir.read(signerFile); err != nil || kept != signer {
			t.Errorf("the key of a ledger is lost: %v", err)
		}
		b = inDir(t, other.Dir)
		if _, err := b.Work("T-1"); err != nil {
			t.Error(err)
		}
		closeBox(t, b)
	})
}

// What is a member's is refused by a box that stands alone, and the other way round, and what is another member's by each; nothing is changed.
func TestMembersDirectory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t)
		o := Options{Dir: Dir(t.TempDir())}
		one, err := g.found(o, nil)
		if err != nil {
			t.Fatal(err)
		}
		single := Options{Dir: Dir(t.TempDir())}
		closeBox(t, oneItem(t, single.Dir, nil))
		for name, c := range map[string]struct {
			o    Options
			says []string
		}{
			"a member's, alone":     {o, []string{"cluster.json", "put it back"}},
			"a single's, as member": {g.asMember(single, 1, make(chan struct{}, 1)), []string{"cluster.json", "single box"}},
			"another member's":      {g.asMember(o, 7, make(chan struct{}, 1)), []string{"member 1", "member 7", "cluster.json"}},
		} {
			b, _, err := Open(t.Context(), c.o)
			if err == nil {
				closeBox(t, b)
				t.Errorf("%s: it starts", name)
				continue
			}
			for _, want := range c.says {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %q is not in: %v", name, want, err)
				}
			}
		}
		b := inDir(t, single.Dir)
		closeBox(t, b)
		s := g.start(o, one.ID)
		g.leader()
		g.stop(s)
	})
}

// The last box of a cluster becomes one that stands alone, with all that was recorded; with others in it, or half gone, it does not.
func TestLeaveAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t)
		o := Options{Dir: Dir(t.TempDir())}
		one, err := g.found(o, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := LeaveAlone(t.Context(), o); !errors.Is(err, access.ErrNoCluster) {
			t.Errorf("without a cluster: %v", err)
		}
		s := g.start(o, one.ID)
		second := g.join("b", Options{Dir: Dir(t.TempDir())})
		g.until("the second box has all", func() bool { return len(second.Members().All) == 2 })
		if _, err := putItem(t, s.Box, "T-1", ""); err != nil {
			t.Fatal(err)
		}
		g.stop(second)
		g.stop(s)
		as := func() Options { return g.asMember(o, one.ID, make(chan struct{}, 1)) }
		if err := LeaveAlone(t.Context(), as()); !errors.Is(err, errOthersThere) || !strings.Contains(err.Error(), "cluster leave NAME") {
			t.Errorf("with another box: %v", err)
		}
		if member, err := HasMembersLog(t.Context(), o); !member || err != nil {
			t.Errorf("what was refused has changed something: %v", err)
		}
		s = g.start(o, one.ID)
		g.leader()
		if _, err := s.LeaveCluster(work.OperatorActor, "b", ""); err != nil {
			t.Fatal(err)
		}
		if _, err := s.LeaveCluster(work.OperatorActor, "a", ""); !errors.Is(err, access.ErrLastMember) {
			t.Errorf("the last one, while it runs: %v", err)
		}
		g.until("the log has it alone", func() bool {
			m := s.InCluster().Members
			return len(m.Voters) == 1 && len(m.Learners) == 0
		})
		g.stop(s)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := LeaveAlone(ended, as()); err == nil {
			t.Error("it was cut off, and has left")
		}
		if err := LeaveAlone(t.Context(), as()); err != nil {
			t.Fatal(err)
		}
		if member, err := HasMembersLog(t.Context(), o); member || err != nil {
			t.Errorf("its log is a member's still: %v", err)
		}
		if err := LeaveAlone(t.Context(), as()); err == nil {
			t.Error("it leaves twice")
		}
		b, _, err := Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Work("T-1"); err != nil || b.Shares() {
			t.Errorf("what it had: %v", err)
		}
		if _, err := putItem(t, b, "T-2", ""); err != nil {
			t.Error(err)
		}
		closeBox(t, b)
		// Another cluster begins with another id.
		again, err := g.found(o, nil)
		if err != nil || again.ID != 3 {
			t.Fatalf("another cluster: %+v, %v", again, err)
		}
		s = g.start(o, again.ID)
		g.leader()
		if _, err := s.Work("T-2"); err != nil {
			t.Error(err)
		}
	})
}

// An old ledger is set aside whole, with what was made of it, wherever that was cut off; and the box fetches it anew.
func TestSetAside(t *testing.T) {
	t.Parallel()
	for _, elsewhere := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			g := newGroup(t)
			o := Options{Dir: Dir(t.TempDir())}
			one, err := g.found(o, nil)
			if err != nil {
				t.Fatal(err)
			}
			s := g.start(o, one.ID)
			mine := Options{Dir: Dir(t.TempDir())}
			if elsewhere {
				mine.Archive, mine.Segments = filepath.Join(t.TempDir(), "archive"), filepath.Join(t.TempDir(), "segments")
			}
			second := g.join("b", mine)
			if _, err := putItem(t, s.Box, "T-1", ""); err != nil {
				t.Fatal(err)
			}
			g.same()
			g.stop(second)
			old := mine.Dir.Archive(mine.Archive)
			want := []string{old + ".member-2"}
			if elsewhere {
				want = append(want, mine.Segments+".member-2")
			}
			if err := CheckAside(t.Context(), mine, 2); err != nil {
				t.Errorf("it can be set aside: %v", err)
			}
			if _, err := os.Stat(want[0]); err == nil {
				t.Error("to look whether it can be set aside has done it")
			}
			aside, err := SetAside(t.Context(), mine, 2, s.Secrets().Signer)
			if err != nil || !cmp.Equal(aside, want) {
				t.Fatalf("set aside: %q, %v", aside, err)
			}
			if again, err := SetAside(t.Context(), mine, 2, s.Secrets().Signer); err != nil || !cmp.Equal(again, want) {
				t.Errorf("again: %q, %v", again, err)
			}
			if _, err := os.Stat(filepath.Join(want[0], ledger.CheckpointPath)); err != nil {
				t.Errorf("the old ledger: %v", err)
			}
			hidden, err := mine.Dir.Hidden(config.Archive{Dir: mine.Archive, Segments: mine.Segments})
			for _, place := range want {
				if err != nil || elsewhere && !slices.Contains(hidden, place) {
					t.Errorf("agents see %s: %q, %v", place, hidden, err)
				}
			}
			for _, name := range []string{snapshotFile, latestFile, scrubFile, indexDir} {
				if _, err := os.Stat(mine.Dir.path(name)); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s stays: %v", name, err)
				}
			}
			back, err := s.RejoinMember(keyOfBox(2), keyOfBox(3), somewhere)
			if err != nil || back.ID != 3 || back.Name != "b" {
				t.Fatalf("back: %+v, %v", back, err)
			}
			if again, err := s.RejoinMember(keyOfBox(2), keyOfBox(3), somewhere); err == nil && again.ID != 3 {
				t.Errorf("back again: %+v", again)
			}
			for range 2 {
				if err := JoinCluster(t.Context(), mine, back.ID, s.Secrets()); err != nil {
					t.Fatal(err)
				}
			}
			second = g.start(mine, back.ID)
			g.same()
			if _, err := second.Work("T-1"); err != nil {
				t.Error(err)
			}
		})
	}
}
