package archive_test

import (
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
