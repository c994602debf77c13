package archive_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/archive/archivetest"
)

// A start from the checkpoint reads the tree's edge, and not the events before it.
func TestStartFromEdge(t *testing.T) {
	files, keys := archivetest.NewLossy(), newKeys(t)
	var events [][]byte
	for i := range 300 {
		events = append(events, fmt.Appendf(nil, `{"subject":"s","n":%d}`, i))
	}
	start := func(from int64) archive.Findings {
		t.Helper()
		a, err := archive.Open(files, keys)
		if err != nil {
			t.Fatal(err)
		}
		found, err := a.Start(t.Context(), from)
		if err == nil && a.Size() == 0 {
			_, err = a.Append(events)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		return found
	}
	start(0)
	if found := start(300); found.Verified != 0 {
		t.Errorf("%d events were read", found.Verified)
	}
	if found := start(0); found.Verified != 300 {
		t.Errorf("%d events were read, of 300", found.Verified)
	}
}

// A log of another ledger that was put in the place of the archive's own: nothing says that its end,
// which no checkpoint covers, is of this ledger.
func TestForeignLog(t *testing.T) {
	keys := newKeys(t)
	write := func(word string, sealed, all int) *archivetest.Lossy {
		t.Helper()
		files := archivetest.NewLossy()
		a, err := archive.Open(files, keys)
		if err == nil {
			_, err = a.Start(t.Context(), 0)
		}
		for i := 0; i < all && err == nil; i++ {
			if _, err = a.Append([][]byte{fmt.Appendf(nil, `{"subject":"s","%s":%d}`, word, i)}); err == nil && i == sealed-1 {
				_, err = a.Seal()
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	files, other := write("one", 300, 310), write("other", 300, 310)
	const log = "log/00000000000000000000.log"
	data, err := other.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	files.Put(log, data)
	var lost *archive.LostError
	if done, err := archive.Repair(t.Context(), files, keys); !errors.As(err, &lost) || len(done) > 0 {
		t.Errorf("%q, %v", done, err)
	}
}
