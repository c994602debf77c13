package backup_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// gateLog is a file that a box has what checks printed in.
const gateLog = "gates/log/01KA2B3C4D5E6F7G8H9JKMNPQR-1.7.log"

// What the gate's checks printed is backed up and restored; what they left beside it is not, and no link is followed.
func TestGateLogs(t *testing.T) {
	dir := small(t)
	at := func(dir, name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	const baseline = "gates/log/01KA2B3C4D5E6F7G8H9JKMNPQS.log"
	others := []string{"gates/0/x.log", "gates/x.log", "gates/log/x", "gates/log/x.log", "gates/log/R1.log.tmp", "gates/log/a/R1.log", "gates/log/outbox/R1.log", "gates/log/R3.log/R1.log"}
	for _, name := range append(others, baseline) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(at(dir, name)), 0o700), os.WriteFile(at(dir, name), []byte("ok\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"gates/log/R1.log": "/etc/passwd", "gates/log/R2.log": filepath.Base(baseline)} {
		if err := os.Symlink(to, at(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	file, to := backUp(t, dir), filepath.Join(t.TempDir(), "restored")
	if _, err := restore(t.Context(), file, to); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{gateLog: "checked\n", baseline: "ok\n"} {
		if got, err := os.ReadFile(at(to, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if info, err := os.Stat(at(to, name)); err == nil && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v", name, info.Mode())
		}
	}
	for _, name := range append(others, "gates/log/R1.log", "gates/log/R2.log") {
		if _, err := os.Lstat(at(to, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s was backed up: %v", name, err)
		}
	}

	// Versions before backed none up.
	entries := slices.DeleteFunc(unpack(t, file), func(e entry) bool { return strings.HasPrefix(e.Name, "gates/") })
	older, to := filepath.Join(t.TempDir(), "b"), filepath.Join(t.TempDir(), "restored")
	if err := os.WriteFile(older, pack(t, append(entries, sums(entries))), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := restore(t.Context(), older, to); err != nil {
		t.Errorf("one without logs of the gate: %v", err)
	}
	if _, err := os.Lstat(at(to, "gates")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it has a gate: %v", err)
	}
}
