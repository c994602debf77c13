package box

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/archive/archivetest"
	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/internal/engine/enginetest"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// In these tests time is the test's own: sleeping lets it pass.

// oneItem is a box with the item T-1 in IMPLEMENTATION.
func oneItem(t *testing.T, dir Dir, faults func(n int, subject string) enginetest.Fault) *Box {
	t.Helper()
	b := onFiles(t, dir, archive.Dir(dir.Archive("")), faults)
	addOne(t, b)
	return b
}

func addOne(t *testing.T, b *Box) {
	t.Helper()
	if _, err := b.Add(t.Context(), work.OperatorActor, api.AddWork{ID: "T-1", Title: "a title", Phase: agentsig.PhaseImplementation}, ""); err != nil {
		t.Fatal(err)
	}
}

func second(ctx context.Context, b *Box) (api.Grant, error) {
	return b.Claim(ctx, api.Claim{Actor: "ann", TTLMS: 1000}, "")
}

// holder returns the session that holds T-1 once all that is due has happened.
func holder(t *testing.T, b *Box) string {
	t.Helper()
	synctest.Wait()
	w, err := b.Work("T-1")
	if err != nil {
		t.Fatal(err)
	}
	if w.Holder == nil {
		return ""
	}
	return w.Holder.Session
}

func closeBox(t *testing.T, b *Box) {
	t.Helper()
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

func TestRenewedLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := oneItem(t, Dir(t.TempDir()), nil)
		defer closeBox(t, b)
		g, err := second(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(600 * time.Millisecond)
		again, err := b.Renew(g.Session)
		if err != nil || again.Token != g.Token || again.ExpiresAt.Sub(g.ExpiresAt) != 600*time.Millisecond {
			t.Fatalf("%+v, then %+v, %v", g, again, err)
		}
		time.Sleep(600 * time.Millisecond)
		if holder(t, b) != g.Session {
			t.Error("the lease was taken away in its second term")
		}
		time.Sleep(500 * time.Millisecond)
		if holder(t, b) != "" {
			t.Error("the lease stays for longer than its second term")
		}
		if _, err := b.Renew(g.Session); !errors.Is(err, work.ErrNotHolder) {
			t.Errorf("renewed after it was taken away: %v", err)
		}
	})
}

// A lease that is open when the box stops has one full term after its start.
func TestLeaseAfterRestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := Dir(t.TempDir())
		b := oneItem(t, dir, nil)
		g, err := second(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(900 * time.Millisecond)
		closeBox(t, b)
		b = inDir(t, dir)
		defer closeBox(t, b)
		time.Sleep(900 * time.Millisecond)
		if holder(t, b) != g.Session {
			t.Error("the lease did not get a full term")
		}
		time.Sleep(200 * time.Millisecond)
		if holder(t, b) != "" {
			t.Error("the lease stays for longer than a term")
		}
	})
}

// A lease is taken away as soon as the log can, and a log that is not ready
// does not stop the box.
func TestExpiryOnBusyEngine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		faults := func(n int, _ string) enginetest.Fault {
			if n == 3 || n == 4 { // after the item and the grant
				return enginetest.NotReady
			}
			return enginetest.None
		}
		b := oneItem(t, Dir(t.TempDir()), faults)
		defer closeBox(t, b)
		if _, err := second(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		if s := holder(t, b); s != "" {
			t.Errorf("%s holds it for three seconds", s)
		}
		if err := b.group.Context().Err(); err != nil {
			t.Errorf("the box stopped: %v", err)
		}
	})
}

// slowDisk is a disk that syncs nothing before it is let go.
type slowDisk struct {
	archive.FS
	until atomic.Pointer[chan struct{}]
}

func (d *slowDisk) Extend(name string) (archive.File, error) {
	f, err := d.FS.Extend(name)
	return slowFile{f, d}, err
}

type slowFile struct {
	archive.File
	disk *slowDisk
}

func (f slowFile) Sync() error {
	if until := f.disk.until.Load(); until != nil {
		<-*until
	}
	return f.File.Sync()
}

// granting is a box in the middle of a claim: T-1 is granted in the log, which is not synced
// before the channel is closed. Then the claim ends.
func granting(ctx context.Context, t *testing.T) (b *Box, deliver chan<- struct{}, claimed <-chan error) {
	t.Helper()
	dir := Dir(t.TempDir())
	disk := &slowDisk{FS: archive.Dir(dir.Archive(""))}
	b = onFiles(t, dir, disk, nil)
	addOne(t, b)
	until := make(chan struct{})
	disk.until.Store(&until)
	done := make(chan error, 1)
	go func() {
		_, err := second(ctx, b)
		done <- err
	}()
	synctest.Wait()
	return b, until, done
}

// A claim whose caller went away before it heard of its lease gives it back.
func TestClaimantGoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, leave := context.WithCancel(t.Context())
		b, deliver, claimed := granting(ctx, t)
		defer closeBox(t, b)
		leave()
		synctest.Wait()
		close(deliver)
		if err := <-claimed; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if s := holder(t, b); s != "" {
			t.Errorf("%s holds it, and its client never heard of it", s)
		}
		if w, err := b.Work("T-1"); err != nil || w.Events != 3 {
			t.Errorf("%+v, %v: want it added, granted and released", w, err)
		}
	})
}

// Who names an item that is being granted hears who has it, once that is known.
func TestClaimByName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, deliver, claimed := granting(t.Context(), t)
		defer closeBox(t, b)
		refused := make(chan error, 1)
		go func() {
			_, err := b.Claim(t.Context(), api.Claim{Work: "T-1", Actor: "bob"}, "")
			refused <- err
		}()
		synctest.Wait()
		close(deliver)
		var held *work.HeldError
		if err := <-refused; !errors.As(err, &held) || held.Actor != "ann" {
			t.Error(err)
		}
		if err := <-claimed; err != nil {
			t.Error(err)
		}
	})
}

// Claims that wait for an item end when it is completed, as those do that come later.
func TestWaitForWhatIsCompleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := inDir(t, Dir(t.TempDir()))
		defer closeBox(t, b)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := b.Add(ctx, work.OperatorActor, api.AddWork{ID: "T-1", Title: "a title"}, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Claim(ctx, api.Claim{Work: "T-1", Actor: "ann"}, ""); err != nil {
			t.Fatal(err)
		}
		wishes := []api.Claim{{}, {}, {Phase: agentsig.PhaseReview}, {Role: agentsig.RoleAuditor}}
		ended := make(chan error, len(wishes))
		for _, q := range wishes {
			q.Work, q.Actor, q.Wait = "T-1", "bob", true
			go func() {
				_, err := b.Claim(ctx, q, "")
				ended <- err
			}()
		}
		synctest.Wait()
		if _, err := b.Override(work.OperatorActor, "T-1", api.Override{Phase: agentsig.PhaseCompleted, Reason: "done"}, ""); err != nil {
			t.Fatal(err)
		}
		for range wishes {
			if err := <-ended; !errors.Is(err, work.ErrCompleted) {
				t.Error(err)
			}
		}
		if _, err := b.Claim(ctx, api.Claim{Work: "T-1", Actor: "eve", Wait: true}, ""); !errors.Is(err, work.ErrCompleted) {
			t.Error(err)
		}
	})
}

// A request is answered when its event is in the archive, and not before.
func TestAnswerWaitsForArchive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, deliver, claimed := granting(t.Context(), t)
		defer closeBox(t, b)
		if len(claimed) > 0 {
			t.Errorf("answered with %d events in the archive: %v", b.archive.Size(), <-claimed)
			return
		}
		close(deliver)
		if err := <-claimed; err != nil || b.archive.Size() != 2 {
			t.Errorf("%d events in the archive: %v", b.archive.Size(), err)
		}
	})
}

// What can't be archived is not acknowledged, and the box stops.
func TestArchiveFails(t *testing.T) {
	t.Parallel()
	dir := Dir(t.TempDir())
	disk := &archivetest.Failing{FS: archive.Dir(dir.Archive(""))}
	b := onFiles(t, dir, disk, nil)
	disk.Broken.Store(true)
	if w, err := b.Add(t.Context(), work.OperatorActor, api.AddWork{ID: "T-1", Title: "a title"}, ""); err == nil {
		t.Fatalf("acknowledged: %+v, %v", w, b.Close())
	}
	<-b.Done()
	if err := b.Close(); !errors.Is(err, archivetest.ErrDisk) {
		t.Error(err)
	}
}

// An item that could not be granted is there for the next claim.
func TestGrantFails(t *testing.T) {
	t.Parallel()
	faults := func(n int, _ string) enginetest.Fault {
		if n == 2 {
			return enginetest.NotReady
		}
		return enginetest.None
	}
	b := oneItem(t, Dir(t.TempDir()), faults)
	defer closeBox(t, b)
	if _, err := second(t.Context(), b); !errors.Is(err, engine.ErrNotReady) {
		t.Fatal(err)
	}
	if g, err := second(t.Context(), b); err != nil || g.Token.Counter != 1 {
		t.Errorf("%+v, %v", g, err)
	}
}

// A claim that is repeated with its key gets no second item, and another lease
// only if the first is over.
func TestClaimIsRepeated(t *testing.T) {
	t.Parallel()
	b := oneItem(t, Dir(t.TempDir()), nil)
	defer closeBox(t, b)
	if _, err := b.Add(t.Context(), work.OperatorActor, api.AddWork{ID: "T-2", Title: "a title"}, ""); err != nil {
		t.Fatal(err)
	}
	claim := func() api.Grant {
		g, err := b.Claim(t.Context(), api.Claim{Actor: "ann"}, "the key")
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	first := claim()
	if again := claim(); first.Work != "T-1" || again.Session != first.Session {
		t.Errorf("one claim has two sessions: %+v, then %+v", first, again)
	}
	if _, err := b.Override(work.OperatorActor, "T-2", api.Override{Phase: agentsig.PhaseBlocked, Reason: "so that T-1 is all there is"}, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Override(work.OperatorActor, "T-1", api.Override{Phase: agentsig.PhaseReview, Reason: "the lease ends"}, ""); err != nil {
		t.Fatal(err)
	}
	if g := claim(); g.Work != "T-1" || g.Token.Counter != first.Token.Counter+1 {
		t.Errorf("after the lease %+v was over: %+v", first, g)
	}
}

// A box that led before, and leads again, has given each lease a full term: what was to take one away before, and could not, does not any more.
func TestLeaseOfTermBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var cutOff atomic.Bool
		b := oneItem(t, Dir(t.TempDir()), func(int, string) enginetest.Fault {
			if cutOff.Load() {
				return enginetest.NotReady
			}
			return enginetest.None
		})
		defer closeBox(t, b)
		g, err := second(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		cutOff.Store(true)
		time.Sleep(1010 * time.Millisecond) // its term is over, and nobody can record that
		b.Yield()
		b.Lead()
		cutOff.Store(false)
		if _, err := b.Renew(g.Session); err != nil {
			t.Fatal(err)
		}
		time.Sleep(990 * time.Millisecond)
		if holder(t, b) != g.Session {
			t.Error("the lease was taken away in the term that it was given")
		}
		time.Sleep(20 * time.Millisecond)
		if holder(t, b) != "" {
			t.Error("the lease is not taken away when that is over")
		}
	})
}
