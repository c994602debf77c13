package backup_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/backup"
)

// What agents wrote for themselves is not backed up, nor anything deeper than a session's files.
func TestOnlySessionsFiles(t *testing.T) {
	dir := small(t)
	own := []string{"transcript", "outbox/00001.json", "refused/00002.json"}
	others := []string{"tmp/x", "tmp/a/b/c/x", "private/x", "nest/x", "outbox/a/x"}
	at := func(dir, name string) string { return filepath.Join(dir, "sessions", "S-1", filepath.FromSlash(name)) }
	for _, name := range append(others, own...) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(at(dir, name)), 0o700), os.WriteFile(at(dir, name), []byte("{}"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	to := filepath.Join(t.TempDir(), "restored")
	if _, err := backup.Restore(t.Context(), backUp(t, dir), to); err != nil {
		t.Fatal(err)
	}
	for _, name := range own {
		if _, err := os.Stat(at(to, name)); err != nil {
			t.Error(err)
		}
	}
	for _, name := range others {
		if _, err := os.Stat(at(to, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s was backed up: %v", name, err)
		}
	}
}
