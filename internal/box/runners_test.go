package box

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// invited invites a runner, and returns the secret.
func invited(t *testing.T, b *Box, name string) string {
	t.Helper()
	o, secret, err := b.InviteRunner(work.OperatorActor, api.NewRunner{Name: name, Labels: []string{"linux"}}, "")
	if err != nil || o.Name != name || o.Expires.Sub(o.Invited) != access.InvitationTTL || len(secret) != 64 {
		t.Fatalf("invited: %+v, %v", o, err)
	}
	return secret
}

// Runners outlive the box: by a snapshot, and by the events alone; and the ledger has no secret.
func TestRunnersAfterRestart(t *testing.T) {
	t.Parallel()
	dir := Dir(t.TempDir())
	b := oneItem(t, dir, nil)
	stays, goes, later := strings.Repeat("a", 64), strings.Repeat("b", 64), strings.Repeat("c", 64)
	for name, key := range map[string]string{"stays": stays, "goes": goes} {
		if o, err := b.JoinRunner(invited(t, b, name), key); err != nil || o.Name != name || o.Key != key || o.Joined.IsZero() {
			t.Fatalf("joined: %+v, %v", o, err)
		}
	}
	if _, err := b.DrainRunner(work.OperatorActor, "stays", api.DrainRunner{DeadlineMS: 1000}, ""); err != nil {
		t.Fatal(err)
	}
	waits := invited(t, b, "waits")
	for _, snapshot := range []bool{true, false} {
		before := b.RunnerIdentities()
		closeBox(t, b)
		if !snapshot {
			if err := os.Remove(dir.path(snapshotFile)); err != nil {
				t.Fatal(err)
			}
		}
		b = inDir(t, dir)
		if after := b.RunnerIdentities(); !cmp.Equal(before, after) {
			t.Errorf("with a snapshot %t: %s", snapshot, cmp.Diff(before, after))
		}
		if o, ok := b.RunnerByKey(stays); !ok || o.Name != "stays" || o.DrainBy.Sub(o.Drained) != time.Second {
			t.Errorf("with a snapshot %t: %+v", snapshot, o)
		}
		if snapshot {
			if o, err := b.RemoveRunner(work.OperatorActor, "goes", ""); err != nil || o.Key != goes {
				t.Errorf("removed: %+v, %v", o, err)
			}
		}
		if o, ok := b.RunnerByKey(goes); ok {
			t.Errorf("a removed runner: %+v", o)
		}
	}
	if o, err := b.JoinRunner(waits, later); err != nil || o.Name != "waits" {
		t.Errorf("invited by the box before the last: %+v, %v", o, err)
	}
	if o, err := b.JoinRunner(invited(t, b, "goes"), goes); err != nil || o.Name != "goes" {
		t.Errorf("invited again after it was removed: %+v, %v", o, err)
	}
	if name := b.state.nameOf(runners); name != "" {
		t.Errorf("the runners have the name %q", name)
	}
	last, err := b.state.last(runners)
	if err != nil || last == 0 {
		t.Errorf("the last event on runners is %d: %v", last, err)
	}
	for seq := uint64(1); seq <= last; seq++ {
		stored, err := b.archive.Event(int64(seq) - 1)
		if err != nil || bytes.Contains(stored, []byte(waits)) {
			t.Errorf("event %d has an invitation's secret: %v", seq, err)
		}
	}
	closeBox(t, b)
}

// An invitation is told once, also to who asks again with the same key; and of many who redeem it, one joins, however often that one asks.
func TestInvitationOnce(t *testing.T) {
	t.Parallel()
	b := oneItem(t, Dir(t.TempDir()), nil)
	defer closeBox(t, b)
	q := api.NewRunner{Name: "gpu1"}
	_, secret, err := b.InviteRunner(work.OperatorActor, q, "key")
	if err != nil {
		t.Fatal(err)
	}
	if _, again, err := b.InviteRunner(work.OperatorActor, q, "key"); !errors.Is(err, errInvitedOnce) || again != "" {
		t.Errorf("asked again: %q, %v", again, err)
	}
	if _, err := b.JoinRunner(strings.Repeat("0", 64), strings.Repeat("a", 64)); !errors.Is(err, access.ErrNoInvitation) {
		t.Errorf("another secret: %v", err)
	}
	var wait sync.WaitGroup
	var got atomic.Int32
	for _, digit := range "01234567" {
		for range 2 {
			wait.Go(func() {
				key := strings.Repeat(string(digit), 64)
				switch o, err := b.JoinRunner(secret, key); {
				case err == nil && o.Key == key:
					got.Add(1)
				case !errors.Is(err, access.ErrRedeemed):
					t.Errorf("%+v, %v", o, err)
				}
			})
		}
	}
	if wait.Wait(); got.Load() != 2 {
		t.Errorf("%d joined", got.Load())
	}
	if o := b.RunnerIdentities(); len(o) != 1 {
		t.Errorf("there are %+v", o)
	} else if again, err := b.JoinRunner(secret, o[0].Key); err != nil || !cmp.Equal(again, o[0]) {
		t.Errorf("asked again, it is %+v, %v", again, err)
	}
	for _, ttl := range []int64{-1, 1, access.MaxInvitationTTL.Milliseconds() + 1, 1 << 62} {
		if _, _, err := b.InviteRunner(work.OperatorActor, api.NewRunner{Name: "x", TTLMS: ttl}, ""); !errors.Is(err, access.ErrBadInviteTTL) {
			t.Errorf("for %d ms: %v", ttl, err)
		}
	}
	for _, deadline := range []int64{-1, access.MaxDrain.Milliseconds() + 1, 1 << 62} {
		if _, err := b.DrainRunner(work.OperatorActor, "gpu1", api.DrainRunner{DeadlineMS: deadline}, ""); !errors.Is(err, access.ErrBadDeadline) {
			t.Errorf("within %d ms: %v", deadline, err)
		}
	}
	for err, code := range map[error]string{errInvitedOnce: api.CodeConflict, access.ErrNoRunner: api.CodeNotFound, access.ErrBadLabel: api.CodeInvalid, access.ErrRunnerTaken: api.CodeConflict} {
		if got := Problem(err).Code; got != code {
			t.Errorf("%v is the problem %s", err, got)
		}
	}
}

// What hangs on runners is told of each change, when it can be seen.
func TestWhenRunnersChange(t *testing.T) {
	t.Parallel()
	b := oneItem(t, Dir(t.TempDir()), nil)
	defer closeBox(t, b)
	seen := make(chan int, 10)
	b.WhenRunnersChange(func() { seen <- len(b.RunnerIdentities()) })
	secret := invited(t, b, "gpu1")
	if _, err := b.Add(t.Context(), work.OperatorActor, api.AddWork{Title: "x"}, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := b.JoinRunner(secret, strings.Repeat("a", 64)); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a repeated request is one
		if _, err := b.RemoveRunner(work.OperatorActor, "gpu1", "once"); err != nil {
			t.Fatal(err)
		}
	}
	close(seen)
	var all []int
	for n := range seen {
		all = append(all, n)
	}
	if !cmp.Equal(all, []int{1, 1, 0}) {
		t.Errorf("told of %v", all)
	}
}

// An invitation that stands in a text is not stored.
func TestInvitationsAreRedacted(t *testing.T) {
	t.Parallel()
	b := oneItem(t, Dir(t.TempDir()), nil)
	defer closeBox(t, b)
	line := access.Invitation{Box: []string{"192.0.2.7:1"}, Key: strings.Repeat("a", 64), Secret: strings.Repeat("b", 64)}.String()
	w, err := b.Add(t.Context(), work.OperatorActor, api.AddWork{Title: "use " + line + " there"}, "")
	if err != nil || strings.Contains(w.Title, line[len(line)/2:]) {
		t.Errorf("a title: %q, %v", w.Title, err)
	}
}
