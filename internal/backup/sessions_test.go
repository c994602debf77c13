package backup_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
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
	if _, err := restore(t.Context(), backUp(t, dir), to); err != nil {
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

// What names processes of another machine or time is neither backed up nor restored.
func TestProcessesOfSessions(t *testing.T) {
	dir := small(t)
	named := []string{"lock", "session.json", "agent.json"}
	at := func(dir, name string) string { return filepath.Join(dir, "sessions", "S-1", name) }
	for _, name := range named {
		if err := os.WriteFile(at(dir, name), []byte(`{"pid":1,"started":"1"}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	entries := unpack(t, backUp(t, dir))
	for _, e := range entries {
		if slices.Contains(named, filepath.Base(e.Name)) {
			t.Errorf("%s was backed up", e.Name)
		}
	}
	for _, name := range named {
		entries = append(entries, file("sessions/S-1/"+name, `{"pid":1,"started":"1"}`))
	}
	path, to := filepath.Join(t.TempDir(), "b"), filepath.Join(t.TempDir(), "restored")
	if err := os.WriteFile(path, pack(t, append(entries, sums(entries))), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := restore(t.Context(), path, to); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(at(to, "transcript")); err != nil {
		t.Error(err)
	}
	for _, name := range named {
		if _, err := os.Lstat(at(to, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s was restored: %v", name, err)
		}
	}
	edited := append(slices.Clone(entries[:len(entries)-1]), file("sessions/S-1/agent.json", "{}"))
	refused(t, "another agent.json", pack(t, append(edited, sums(entries))), `"sessions/S-1/agent.json" is not what was backed up`)
}
