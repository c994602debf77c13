package agentformat_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentformat"
)

// aged writes a file that was last changed so many seconds after the epoch.
func aged(t *testing.T, dir, name string, size int, seconds int64) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Time{}, time.Unix(seconds, 0)); err != nil {
		t.Fatal(err)
	}
}

// The oldest results make room for a new one. What is not a result stays, and does not count.
func TestLimits(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	aged(t, dir, "b_20250307_090503.json", 10, 1)
	aged(t, dir, "a_20250307_090503_12.json", 10, 2)
	aged(t, dir, ".new-123", 10, 3) // of a process that was killed
	aged(t, dir, "c_20250307_090504.json", 10, 4)
	others := []string{"notes.json", "x_20250307_090503.json.bak", "x_20250307.json", "b_20250307_090503.txt"}
	for _, name := range others {
		aged(t, dir, name, 1000, 0)
	}
	aged(t, elsewhere, "mine_20250307_090503.json", 1000, 0)
	if err := os.Symlink(filepath.Join(elsewhere, "mine_20250307_090503.json"), filepath.Join(dir, "l_20250307_090503.json")); err == nil {
		others = append(others, "l_20250307_090503.json")
	}
	if err := os.Mkdir(filepath.Join(dir, "d_20250307_090503.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	others = append(others, "d_20250307_090503.json")

	save := func(l agentformat.Limits, want ...string) {
		t.Helper()
		if file := l.Save(dir, "new", at, "result"); file.Err != nil {
			t.Error(file.Err)
		}
		want = append(slices.Clone(want), others...)
		slices.Sort(want)
		if diff := cmp.Diff(want, names(t, dir)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	const first, second = "new_20250307_090503.json", "new_20250307_090503_2.json"
	save(agentformat.Limits{Files: 4}, ".new-123", "a_20250307_090503_12.json", "c_20250307_090504.json", first)
	save(agentformat.Limits{Bytes: 27}, first, second) // 9 bytes each
	save(agentformat.Limits{Files: 1, Bytes: 9, File: 9}, "new_20250307_090503.json")
	if got := names(t, elsewhere); len(got) != 1 {
		t.Errorf("a link was followed: %q", got)
	}
}

// A result that is too large is refused before anything makes room for it.
func TestLimitsTooLarge(t *testing.T) {
	dir := t.TempDir()
	aged(t, dir, "a_20250307_090503.json", 1, 1)
	for _, l := range []agentformat.Limits{{File: 20}, {Bytes: 20}, {File: 20, Bytes: 100}, {File: 100, Bytes: 20}} {
		file := l.Save(dir, "x", at, strings.Repeat("x", 18))
		if file.Err == nil || file.Err.Error() != "the result can't be saved: it has 21 bytes, and a file may have 20: ask for less" {
			t.Error(file)
		}
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

// A directory with any number of files, as earlier versions left it, comes within the limits.
func TestLimitsOfMany(t *testing.T) {
	dir := t.TempDir()
	for i := range 2500 {
		aged(t, dir, time.Unix(int64(i), 0).UTC().Format("x_20060102_150405.json"), 1, int64(i))
	}
	if file := (agentformat.Limits{Files: 3}).Save(dir, "new", at, 1); file.Err != nil {
		t.Fatal(file.Err)
	}
	if diff := cmp.Diff([]string{"new_20250307_090503.json", "x_19700101_004138.json", "x_19700101_004139.json"}, names(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
