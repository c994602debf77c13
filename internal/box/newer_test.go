package box

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// A ledger with an event of a newer version is refused in words that say so. It is no damage, and
// nothing is changed.
func TestNewerEvent(t *testing.T) {
	t.Parallel()
	dir := Dir(t.TempDir())
	closeBox(t, oneItem(t, dir, nil)) // which leaves a snapshot
	before, err := os.ReadFile(dir.path(snapshotFile))
	if err != nil {
		t.Fatal(err)
	}
	b := inDir(t, dir)
	subject := b.newSubject()
	_, stored, err := b.stamp(ledger.Tip{}, subject, work.Event{Type: "WorkDreamt", Actor: work.BoxActor, Payload: struct{}{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.log.Append(t.Context(), subject, 0, stored); err == nil {
		t.Fatal("this version takes it")
	}
	_ = b.Close() // it says why it stopped
	_, _, err = Open(t.Context(), Options{Dir: dir})
	var newer *NewerError
	var damage *archive.Damage
	if !errors.As(err, &newer) || errors.As(err, &damage) {
		t.Fatalf("%v", err)
	}
	for _, want := range []string{"event 2", "WorkDreamt", "newer version", "Nothing is damaged", "go on with that version"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	after, err := os.ReadFile(dir.path(snapshotFile))
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the snapshot was changed: %v", err)
	}
}
