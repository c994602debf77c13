package archive_test

import (
	"context"
	"io/fs"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/archive/archivetest"
)

// The bundle that is not full is gone when the other member signs again: it is fetched before those that take long, or a member far behind would never be done.
func TestFetchWhileTheOtherRecords(t *testing.T) {
	keys := newKeys(t)
	ahead := archivetest.NewLossy()
	b := mustOpen(t, ahead, keys)
	if err := b.record(b.pen.many(700)...); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	given := dump(ahead)
	s := mustFound(t, archivetest.NewLossy(), keys, 0)
	signed := false // since
	size, err := s.Fetch(t.Context(), given["checkpoint"], func(_ context.Context, name string) ([]byte, error) {
		data, ok := given[name]
		if partial := strings.Contains(name, ".p/"); !ok || partial && signed {
			return nil, fs.ErrNotExist
		} else if !partial {
			signed = true
		}
		return data, nil
	})
	if err != nil || size != 700 {
		t.Errorf("it has fetched %d events, %v", size, err)
	}
}
