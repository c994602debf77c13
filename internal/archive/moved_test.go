package archive_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/filelock"
)

// A log that was replaced when its file was full is noticed too: the file that follows is not the reason.
func TestFullSegmentReplaced(t *testing.T) {
	dir := t.TempDir()
	b := mustOpen(t, archive.Dir(dir), newKeys(t))
	if err := b.record(b.pen.many(1000)...); err != nil {
		t.Fatal(err)
	}
	segments, err := filepath.Glob(filepath.Join(dir, "log", "*.log"))
	if err != nil || len(segments) != 1 {
		t.Fatal(segments, err)
	}
	data, err := os.ReadFile(segments[0])
	if err == nil {
		err = errors.Join(os.Remove(segments[0]), os.WriteFile(segments[0], data, 0o600))
	}
	if err != nil || len(data) < archive.SegmentLimit {
		t.Fatal(len(data), err)
	}
	if err := b.record(b.pen.many(1)...); !errors.Is(err, filelock.ErrMoved) {
		t.Errorf("it went on: %v", err)
	}
	segments, err = filepath.Glob(filepath.Join(dir, "log", "*.log"))
	if err != nil || len(segments) != 2 {
		t.Errorf("no file was begun: %v, %v", segments, err)
	}
}
