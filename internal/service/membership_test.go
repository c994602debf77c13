package service

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/membership"
)

// A member whose log is lost does not become a box that stands alone by a repair: there would be two ledgers with one key. It comes back as a member.
func TestRepairMakesNoSecondLedger(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts three boxes")
	}
	all := trio(t)
	for i := range 3 {
		if err := put(t.Context(), all["a"].client, fmt.Sprint("T-", i)); err != nil {
			t.Fatal(err)
		}
	}
	all["c"].leave()
	o := box.Options{Dir: box.Dir(all["c"].dir)}
	if err := os.RemoveAll(filepath.Join(all["c"].dir, "archive", "log")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := box.Repair(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if err := LeaveCluster(t.Context(), o); !errors.Is(err, errNotLeft) {
		t.Errorf("it leaves the others: %v", err)
	}
	if _, _, err := RejoinCluster(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	sit(t, all["c"].dir, place(t, all["c"].far)).voting(3)
}

// The last box, cut off while it left, leaves when it is told so again: also if it still knew another one.
func TestLeaveCutOff(t *testing.T) {
	dir, o := t.TempDir(), box.Options{}
	o.Dir = box.Dir(dir)
	m, err := InitCluster(t.Context(), o, "a", []string{"127.0.0.1:7443"})
	if err != nil {
		t.Fatal(err)
	}
	if err := LeaveCluster(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	other := m.Members[0]
	other.ID, other.Name, other.Key = 2, "b", fmt.Sprintf("%064d", 2)
	m.Members = append(m.Members, other)
	if err := membership.Write(dir, m); err != nil {
		t.Fatal(err)
	}
	if err := LeaveCluster(t.Context(), o); err != nil {
		t.Error(err)
	}
	if _, err := membership.Read(dir); !errors.Is(err, membership.ErrNone) {
		t.Errorf("it is in a cluster: %v", err)
	}
}
