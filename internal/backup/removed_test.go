package backup_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/archive/archivetest"
	"github.com/signalbox-dev/signalbox/internal/backup"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/ledger"
)

// A box is backed up while outputs are removed from its archive, and after that. A box starts from each
// backup, and nothing that is missing there passes for lost.
func TestRemovedOutputs(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	b, _ := open(t, dir, "")
	const items = 40
	for n := range items {
		if err := deliver(t.Context(), b, fmt.Sprint("T-", n)); err != nil {
			t.Fatal(err)
		}
	}
	closeBox(t, b)
	signer, err := os.ReadFile(filepath.Join(dir, "signer.key"))
	if err != nil {
		t.Fatal(err)
	}
	key := strings.TrimSpace(string(signer))
	files := archive.Dir(box.Dir(dir).Archive(""))
	removed := make(chan error, 1)
	go func() {
		_, err := archivetest.RemoveBlobs(t.Context(), files, key)
		removed <- err
	}()
	for n, done := 0, false; !done; n++ {
		select {
		case err := <-removed:
			if done = true; err != nil {
				t.Fatal(err)
			}
		default:
		}
		file, restored := filepath.Join(to, fmt.Sprint("backup-", n)), filepath.Join(to, fmt.Sprint("box-", n))
		if _, err := backup.Write(t.Context(), dir, files, file); err != nil {
			t.Fatal(err)
		}
		if _, err := restore(t.Context(), file, restored); err != nil {
			t.Fatal(err)
		}
		verifier, err := ledger.VerifierKey(key)
		if err != nil {
			t.Fatal(err)
		}
		v, err := archive.Verify(t.Context(), archive.Dir(box.Dir(restored).Archive("")), verifier)
		if err != nil || done && v.Removed != items || v.Removed+v.Blobs < items {
			t.Errorf("backup %d: %d removed and %d there: %v", n, v.Removed, v.Blobs, err)
		}
		b, _, err := box.Open(t.Context(), box.Options{Dir: box.Dir(restored), Verify: true})
		if err != nil {
			t.Fatalf("backup %d: %v", n, err)
		}
		closeBox(t, b)
	}
}
