package backup_test

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/ledger"
)

// nobody carries messages to nobody.
type nobody struct{}

func (nobody) Send(context.Context, uint64, ...[]byte) error { return nil }
func (nobody) Fetch(context.Context, string) ([]byte, error) { return nil, fs.ErrNotExist }

// A backup of a box in a cluster has all that a checkpoint covers, while the box runs and when it does not, and becomes a box that stands alone. So does that of a
// box which has left its cluster.
func TestMember(t *testing.T) {
	dir := t.TempDir()
	b, _ := open(t, dir, "")
	if err := deliver(t.Context(), b, "W-1"); err != nil {
		t.Fatal(err)
	}
	closeBox(t, b)
	var id uint64
	found := access.FoundCluster{Name: "a", Key: strings.Repeat("a", 64), Addresses: []string{"127.0.0.1:7443"}}
	o := box.Options{Dir: box.Dir(dir)}
	if _, err := box.InitCluster(t.Context(), o, found, func(m access.Member) error { id = m.ID; return nil }); err != nil {
		t.Fatal(err)
	}
	changed := make(chan struct{}, 1)
	tell := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	o.Cluster = &box.Cluster{ID: id, Transport: nobody{}, Changed: tell, Tick: 5 * time.Millisecond, Elect: 3}
	b, _, err := box.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for !b.InCluster().Leads {
		<-changed
	}
	b.Lead()
	for i := range 100 { // a bundle is full, and one is not
		if err := deliver(t.Context(), b, fmt.Sprint("M-", i)); err != nil {
			t.Fatal(err)
		}
	}
	goesOn := func(what, file string, member bool, items int) int64 {
		t.Helper()
		restored := filepath.Join(t.TempDir(), "box")
		r, err := restore(t.Context(), file, restored)
		if err != nil || r.Member != member || r.Items > 101 || items > 0 && r.Items != items {
			t.Fatalf("%s: %+v, %v", what, r, err)
		}
		for name := range tree(t, restored) {
			if strings.Contains(name, "member") || strings.Contains(name, "cluster") {
				t.Errorf("%s: there is %s", what, name)
			}
		}
		alone, again := open(t, restored, "")
		if again.Items != r.Items || len(again.Notes) > 0 || alone.Shares() {
			t.Errorf("%s: the box found %+v", what, again)
		}
		if err := deliver(t.Context(), alone, "NEW"); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		verifier := alone.Status().Verifier
		closeBox(t, alone)
		v, err := archive.Verify(t.Context(), archive.Dir(filepath.Join(restored, "archive")), verifier)
		if err != nil || !v.Log || v.Single != 0 || v.Checkpoint.Size <= r.Events {
			t.Errorf("%s: verified %+v, %v", what, v, err)
		}
		return r.Events
	}
	goesOn("while it runs", backUp(t, dir), true, 0)
	all := int64(b.Status().Events)
	closeBox(t, b)
	verifier, err := box.Dir(dir).Verifier()
	if err != nil {
		t.Fatal(err)
	}
	if n := goesOn("stopped", backUp(t, dir), true, 101); n != all || n <= ledger.TileWidth || n%ledger.TileWidth == 0 {
		t.Errorf("%d of %d events were restored", n, all)
	}
	o.Cluster.Changed = func() {}
	if err := box.LeaveAlone(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.Verify(t.Context(), archive.Dir(filepath.Join(dir, "archive")), verifier); err != nil {
		t.Error(err)
	}
	goesOn("after it has left", backUp(t, dir), false, 101)
}
