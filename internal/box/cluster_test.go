package box

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

func putItem(t *testing.T, b *Box, id, key string) (api.Work, error) {
	t.Helper()
	return b.Add(t.Context(), work.OperatorActor, api.AddWork{ID: id, Title: "a title", Phase: agentsig.PhaseImplementation}, key)
}

// terms returns how many leases' terms run in a box.
func terms(b *Box) int {
	b.state.mu.Lock()
	defer b.state.mu.Unlock()
	return len(b.state.leases)
}

// A lease's term runs at the box that leads, and nowhere else; when another one leads it has a full term from then on. What was recorded by one
// is found by its key at the next.
func TestClusterLeases(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := three(t)
		first := g.leader()
		if _, err := putItem(t, first.Box, "T-1", "add"); err != nil {
			t.Fatal(err)
		}
		const ttl = 20 * time.Second
		grant, err := first.Claim(t.Context(), api.Claim{Actor: "ann", TTLMS: ttl.Milliseconds()}, "claim")
		if err != nil {
			t.Fatal(err)
		}
		g.same()
		for _, s := range g.others(first) {
			if terms(s.Box) != 0 || s.Leads() {
				t.Errorf("member %d runs terms, and does not lead", s.id)
			}
			w, err := s.Work("T-1")
			said, jsonErr := json.Marshal(w.Holder)
			if err := errors.Join(err, jsonErr); err != nil || w.Holder == nil || strings.Contains(string(said), "expires_at") || s.Status().Leases != 1 {
				t.Errorf("member %d, which does not know when the lease runs out: %s, %d leases, %v", s.id, said, s.Status().Leases, err)
			}
			if _, err := s.Renew(grant.Session); !errors.Is(err, engine.ErrNotReady) || Problem(err).Code != api.CodeUnknown {
				t.Errorf("member %d renews: %v", s.id, err)
			}
			if _, err := putItem(t, s.Box, "T-2", ""); !errors.Is(err, engine.ErrNotReady) {
				t.Errorf("member %d records: %v", s.id, err)
			}
		}
		if terms(first.Box) != 1 {
			t.Errorf("%d terms run where it leads", terms(first.Box))
		}
		time.Sleep(ttl - 5*time.Second)
		g.cutOff(first.id, true)
		began := time.Now()
		second := g.leader()
		took := time.Since(began)
		g.until("the one that is cut off yields", func() bool { return !first.Leads() })
		if _, err := first.Renew(grant.Session); !errors.Is(err, engine.ErrNotReady) || terms(first.Box) != 0 {
			t.Errorf("it renews: %v", err)
		}
		if again, err := putItem(t, second.Box, "T-1", "add"); err != nil || again.ID != "T-1" {
			t.Errorf("a request of before, again: %+v, %v", again, err)
		}
		if again, err := second.Claim(t.Context(), api.Claim{Actor: "ann", TTLMS: ttl.Milliseconds()}, "claim"); err != nil || again.Session != grant.Session {
			t.Errorf("the claim of before, again: %+v, %v", again, err)
		}
		if n := second.Folded(); n != first.Folded() {
			t.Errorf("%d events, and %d before: something was recorded twice", n, first.Folded())
		}
		time.Sleep(time.Until(began.Add(ttl))) // at least a term since the change, less what that took
		if holder(t, second.Box) != grant.Session {
			t.Error("the lease has no full term after the change")
		}
		time.Sleep(took + time.Second)
		if holder(t, second.Box) != "" {
			t.Error("the lease has more than a full term after the change")
		}
		if holder(t, first.Box) != grant.Session {
			t.Error("a box that is cut off takes a lease away")
		}
		g.cutOff(first.id, false)
		g.until("it hears of it", func() bool { return holder(t, first.Box) == "" })
		g.same()
	})
}

// Who waits for enough boxes is told within a time that nobody knows, and the box goes on; when the others are back, the same request is answered once.
func TestClusterNoMajority(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := three(t)
		first := g.leader()
		for _, s := range g.all() {
			g.cutOff(s.id, true)
		}
		for range 2 { // while it believes that it leads, and when it does not
			began := time.Now()
			_, err := putItem(t, first.Box, "T-1", "add")
			if code := Problem(err).Code; err == nil || code != api.CodeUnknown {
				t.Errorf("without the others: %v (%s)", err, code)
			}
			if took := time.Since(began); took > appendPatience+100*time.Millisecond {
				t.Errorf("it took %v by the test's clock", took)
			}
		}
		if err := first.CatchUp(expiring(t, time.Second)); err == nil {
			t.Error("it knows what was recorded last, and hears nobody")
		}
		if err := first.Writable(); err != nil {
			t.Errorf("it takes no requests: %v", err)
		}
		for _, s := range g.all() {
			g.cutOff(s.id, false)
		}
		now := g.leader()
		if _, err := putItem(t, now.Box, "T-1", "add"); err != nil {
			t.Error(err)
		}
		g.same()
		if w, err := first.Work("T-1"); err != nil || w.ID != "T-1" {
			t.Errorf("%+v, %v", w, err)
		}
		if items, _, _ := now.state.counts(); items != 1 {
			t.Errorf("%d items", items)
		}
	})
}

func expiring(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// What fails because a box does not lead any more does not stop it, and is told once; anything else does.
func TestClusterShaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t)
		o := Options{Dir: Dir(t.TempDir())}
		one, err := g.found(o, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := g.start(o, one.ID)
		g.leader()
		for _, err := range []error{engine.ErrNotReady, fmt.Errorf("a run: %w", engine.ErrUnknown), ErrOutcomeUnknown, errYielded} {
			s.Ledger().Fail(err)
			if !s.Shaken() || s.Shaken() {
				t.Errorf("%v does not shake it once", err)
			}
		}
		select {
		case <-s.Done():
			t.Fatal("it has stopped")
		default:
		}
		broken := errors.New("broken")
		s.Ledger().Fail(broken)
		stopped(t, s.Box)
		if s.Shaken() {
			t.Error("what breaks it shakes it")
		}
		g.mu.Lock()
		delete(g.seats, s.id)
		g.mu.Unlock()
		s.loop.Stop()
		if err := s.Close(); !errors.Is(err, broken) {
			t.Errorf("closed: %v", err)
		}
	})
}

// stopped waits until a box stops by itself, and not for ever: the ticks of its log keep the test's clock going.
func stopped(t *testing.T, b *Box) {
	t.Helper()
	select {
	case <-b.Done():
	case <-time.After(time.Minute):
		t.Fatal("it does not stop")
	}
}

// A member's snapshot has the boxes of the cluster, and a start goes on from it.
func TestClusterSnapshot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := three(t)
		g.same()
		lead := g.leader()
		last := g.others(lead)[1]
		want := last.Members()
		g.stop(last)
		b, found, err := Open(t.Context(), g.asMember(last.o, last.id, make(chan struct{}, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if !found.Snapshot {
			t.Error("its snapshot is not used")
		}
		if got := b.Members(); !cmp.Equal(got, want, cmpopts.EquateEmpty()) {
			t.Errorf("the boxes: %+v, want %+v", got, want)
		}
		closeBox(t, b)
		g.start(last.o, last.id) // and it goes on
		if _, err := putItem(t, g.leader().Box, "T-1", ""); err != nil {
			t.Fatal(err)
		}
		g.same()
	})
}

// A program that does not know the ledger's level stops, and does not start.
func TestClusterLevel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t)
		o := Options{Dir: Dir(t.TempDir())}
		one, err := g.found(o, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := g.start(o, one.ID)
		g.leader()
		if err := s.RaiseLevel(Level()); err != nil || s.Members().Level != Level() {
			t.Fatalf("raised: %v", err)
		}
		if err := s.RaiseLevel(Level()); err != nil {
			t.Errorf("raised again: %v", err)
		}
		_ = s.RaiseLevel(Level() + 1) // nobody has an answer to it
		stopped(t, s.Box)
		g.mu.Lock()
		delete(g.seats, s.id)
		g.mu.Unlock()
		s.loop.Stop()
		var newer *LevelError
		if err := s.Close(); !errors.As(err, &newer) {
			t.Errorf("it stopped because of %v", err)
		}
		_, _, err = Open(t.Context(), g.asMember(o, one.ID, make(chan struct{}, 1)))
		if !errors.As(err, &newer) || newer.Ledger != Level()+1 || newer.Program != Level() {
			t.Fatalf("it starts: %v", err)
		}
		for _, want := range []string{fmt.Sprint("level ", Level()+1), "Nothing is damaged", "install that version"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q is not in: %v", want, err)
			}
		}
	})
}

// While a box has a reason to sign nothing it goes on recording; what is signed already can be proven, and what is not can't. Then it signs all.
func TestSignNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t)
		o := Options{Dir: Dir(t.TempDir())}
		one, err := g.found(o, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := g.start(o, one.ID)
		g.leader()
		g.same()
		before, err := s.Signed()
		if err != nil {
			t.Fatal(err)
		}
		s.SignNothing("another box has another root")
		if _, err := putItem(t, s.Box, "T-1", ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if now, err := s.Signed(); err != nil || now.Size != before.Size {
			t.Errorf("it has signed %d events, and %d before: %v", now.Size, before.Size, err)
		}
		if _, err := s.Prove(s.Folded()); !errors.Is(err, archive.ErrNotSealed) {
			t.Errorf("what is not signed is proven: %v", err)
		}
		if _, err := s.prove(s.Folded()); !errors.Is(err, errUnsigned) || Problem(err).Code != api.CodeConflict || !strings.Contains(err.Error(), "another root") {
			t.Errorf("it proves what it does not sign: %v", err)
		}
		if _, err := s.prove(uint64(before.Size)); err != nil {
			t.Errorf("what is signed: %v", err)
		}
		if root, known, err := s.RootAt(before.Size); err != nil || !known || root != before.Root {
			t.Errorf("its root: %s, %t, %v", root, known, err)
		}
		if _, known, err := s.RootAt(before.Size + 1); known || err != nil {
			t.Errorf("a root that it has not signed: %t, %v", known, err)
		}
		g.stop(s) // it may stop all the same, without an error
		s = g.start(o, one.ID)
		g.leader()
		g.same()
		s.SignNothing("x")
		s.SignNothing("")
		if _, err := putItem(t, s.Box, "T-2", ""); err != nil {
			t.Fatal(err)
		}
		g.same()
	})
}

// Of a name that a box has, and an invitation for its place, a leave withdraws the invitation first, and says so; the box is taken out by the next one.
func TestLeaveWithdraws(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := three(t)
		leader := g.leader()
		other, _ := leader.Members().ByID(g.others(leader)[0].id)
		name := other.Name
		if _, _, err := leader.InviteMember(work.OperatorActor, api.NewMember{Name: name, Replaces: name}, ""); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			key                string
			withdrawn, remains bool
		}{{"first", true, true}, {"first", true, true}, {"second", false, false}, {"first", true, false}} {
			withdrawn, err := leader.LeaveCluster(work.OperatorActor, name, c.key)
			if _, in := leader.Members().Named(name); err != nil || withdrawn != c.withdrawn || in != c.remains {
				t.Errorf("%s: withdrawn %v, still in %v, %v", c.key, withdrawn, in, err)
			}
		}
	})
}

// The files of outputs that the box which leads removes go from the other boxes' disks too, once they have signed the event.
func TestClusterRemovesOutputs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := three(t)
		lead := g.leader()
		var kept []ledger.Blob
		for i := range 3 {
			blob, err := lead.archive.PutBlob(fmt.Appendf(nil, "output %d", i))
			if err != nil {
				t.Fatal(err)
			}
			kept = append(kept, blob)
			for _, s := range g.others(lead) {
				if _, err := s.archive.PutBlob(fmt.Appendf(nil, "output %d", i)); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, s := range g.others(lead) {
			s.SignNothing("for the test")
		}
		lead.keepBlobs = time.Hour // the files have the system's time, which is not the test's
		if err := lead.removeSome(kept[:2], time.Now().AddDate(90, 0, 0)); err != nil {
			t.Fatal(err)
		}
		g.until("all have folded it", func() bool {
			for _, s := range g.all() {
				if s.Folded() != lead.Folded() {
					return false
				}
			}
			return true
		})
		synctest.Wait()
		for _, s := range g.others(lead) {
			if !s.archive.HasBlob(kept[0].SHA256) {
				t.Errorf("member %d has removed what it has not signed", s.id)
			}
			s.SignNothing("")
		}
		if _, err := putItem(t, lead.Box, "T-1", ""); err != nil { // something to sign
			t.Fatal(err)
		}
		g.until("the files are gone", func() bool {
			for _, s := range g.all() {
				if s.archive.HasBlob(kept[0].SHA256) || s.archive.HasBlob(kept[1].SHA256) {
					return false
				}
			}
			return true
		})
		for _, s := range g.all() {
			if !s.archive.HasBlob(kept[2].SHA256) {
				t.Errorf("member %d has removed another one", s.id)
			}
		}
	})
}

// A bit is flipped in each file of a member's directory: the start is refused, or the box has the very state that it had.
func TestMemberDamagedBits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := three(t)
		for i := range 5 {
			if _, err := putItem(t, g.leader().Box, fmt.Sprint("T-", i), ""); err != nil {
				t.Fatal(err)
			}
		}
		g.same()
		one := g.others(g.leader())[0]
		want, events := one.Members(), one.Folded()
		g.stop(one)
		for _, s := range g.all() {
			g.stop(s)
		}
		var files []string
		err := filepath.WalkDir(string(one.o.Dir), func(path string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		as := g.asMember(one.o, one.id, make(chan struct{}, 1))
		as.Logger = nil
		seen := map[string]bool{}
		for _, file := range files {
			clean, err := os.ReadFile(file)
			if err != nil || len(clean) == 0 {
				continue
			}
			name := strings.TrimPrefix(file, string(one.o.Dir)+"/")
			for _, at := range []int{0, len(clean) / 3, len(clean) / 2, len(clean) - 2, len(clean) - 1} {
				if at < 0 {
					continue
				}
				dir := Dir(t.TempDir())
				if err := os.CopyFS(string(dir), os.DirFS(string(one.o.Dir))); err != nil {
					t.Fatal(err)
				}
				bad := append([]byte(nil), clean...)
				bad[at] ^= 1 << (at % 7)
				if err := os.WriteFile(filepath.Join(string(dir), name), bad, 0o600); err != nil {
					t.Fatal(err)
				}
				seen[strings.Split(name, "/")[0]] = true
				as.Dir = dir
				b, _, err := Open(t.Context(), as)
				if err != nil {
					var damage *archive.Damage
					if errors.As(err, &damage) && damage.Advice == "" {
						t.Errorf("%s, byte %d: no advice: %v", name, at, err)
					}
					continue
				}
				if got := b.Members(); b.Folded() != events || !cmp.Equal(got, want, cmpopts.EquateEmpty()) {
					t.Errorf("%s, byte %d: another state: %d events, not %d", name, at, b.Folded(), events)
				}
				for i := range 5 {
					if w, err := b.Work(fmt.Sprint("T-", i)); err != nil || w.Title != "a title" {
						t.Errorf("%s, byte %d: T-%d is %+v, %v", name, at, i, w, err)
					}
				}
				_ = b.Close() // which may find the damage
			}
		}
		for _, kind := range []string{archiveDir, snapshotFile, latestFile, signerFile} {
			if !seen[kind] {
				t.Errorf("no file of %s was tried: %q", kind, files)
			}
		}
	})
}
