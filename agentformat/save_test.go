package agentformat_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentformat"
)

var at = time.Date(2025, time.March, 7, 9, 5, 3, 999, time.FixedZone("here", -5*3600))

func names(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// A file is where its path says, indented, readable by people and by its owner alone.
func TestSave(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs", "exit_signals")
	file := agentformat.Save(dir, "exit_signals_AAPL", at, map[string]any{"ticker": "A&B <C>", "lots": []int{1}})
	if file.Err != nil {
		t.Fatal(file.Err)
	}
	if want := filepath.Join(dir, "exit_signals_AAPL_20250307_090503.json"); file.Path != want {
		t.Errorf("%s, want %s", file.Path, want)
	}
	data, err := os.ReadFile(file.Path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("{\n  \"lots\": [\n    1\n  ],\n  \"ticker\": \"A&B <C>\"\n}\n", string(data)); diff != "" {
		t.Error(diff)
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("left behind: %q", got)
	}
}

// What Save makes is the owner's alone; what was there stays as it was.
func TestSaveModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	above := t.TempDir()
	if err := os.Chmod(above, 0o755); err != nil {
		t.Fatal(err)
	}
	file := agentformat.Save(filepath.Join(above, "logs", "tax"), "x", at, 1)
	for path, want := range map[string]fs.FileMode{
		above:                               0o755,
		filepath.Join(above, "logs"):        0o700,
		filepath.Join(above, "logs", "tax"): 0o700,
		file.Path:                           0o600,
	} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
}

// A directory may be given from where the program is; the path is absolute all the same.
func TestSaveRelative(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"logs", "", "."} {
		file := agentformat.Save(dir, "x", at, 1)
		if _, err := os.Stat(file.Path); err != nil || !filepath.IsAbs(file.Path) {
			t.Errorf("%q: %v, %v", dir, file, err)
		}
	}
}

// Nothing is written over: not a file, not a link, not a directory, not the other case of a name.
func TestSaveCollisions(t *testing.T) {
	dir := t.TempDir()
	taken := filepath.Join(dir, "x_20250307_090503.json")
	if err := os.WriteFile(taken, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(taken, filepath.Join(dir, "x_20250307_090503_2.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "x_20250307_090503_3.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"x_20250307_090503_4.json", "x_20250307_090503_5.json"} {
		if file := agentformat.Save(dir, "x", at, 1); file.Err != nil || filepath.Base(file.Path) != want {
			t.Errorf("%v, want %s", file, want)
		}
	}
	if old, err := os.ReadFile(taken); err != nil || string(old) != "old" {
		t.Errorf("%q, %v", old, err)
	}
	upper := agentformat.Save(dir, "X", at, "upper")
	if data, err := os.ReadFile(upper.Path); err != nil || string(data) != "\"upper\"\n" {
		t.Errorf("%v, %q, %v", upper, data, err)
	}
}

// Everyone who saves at once gets a file of their own, with their own result in it.
func TestSaveAtOnce(t *testing.T) {
	const many = 64
	dir := filepath.Join(t.TempDir(), "logs")
	files := make([]agentformat.File, many)
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() { files[i] = agentformat.Save(dir, "x", at, i) })
	}
	all.Wait()
	var paths []string
	for i, file := range files {
		if file.Err != nil {
			t.Fatal(file.Err)
		}
		paths = append(paths, filepath.Base(file.Path))
		data, err := os.ReadFile(file.Path)
		if err != nil {
			t.Fatal(err)
		}
		var got int
		if err := json.Unmarshal(data, &got); err != nil || got != i {
			t.Errorf("%s has %s, want %d", file.Path, data, i)
		}
	}
	slices.Sort(paths)
	if diff := cmp.Diff(names(t, dir), paths); diff != "" {
		t.Error(diff)
	}
}

// A name that has no more free suffixes is an error, and leaves nothing behind.
func TestSaveNoSuffixLeft(t *testing.T) {
	dir := t.TempDir()
	first := agentformat.Save(dir, "x", at, 1)
	if first.Err != nil {
		t.Fatal(first.Err)
	}
	stem := strings.TrimSuffix(first.Path, ".json")
	for n := 2; n <= 9999; n++ {
		if err := os.Link(first.Path, stem+"_"+strconv.Itoa(n)+".json"); err != nil {
			t.Skipf("there are no links to take the names with: %v", err)
		}
	}
	file := agentformat.Save(dir, "x", at, 2)
	if file.Path != "" || file.Err == nil || !strings.Contains(file.Err.Error(), "9999 files") {
		t.Errorf("%v", file)
	}
	if got := len(names(t, dir)); got != 9999 {
		t.Errorf("%d files", got)
	}
}

// A directory that can't be had is an error that names it, and no path.
func TestSaveWithoutADirectory(t *testing.T) {
	blocked := filepath.Join(t.TempDir(), "logs")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{blocked, filepath.Join(blocked, "deeper"), "nul\x00byte"} {
		file := agentformat.Save(dir, "x", at, 1)
		if file.Path != "" || file.Err == nil {
			t.Errorf("%q: %v", dir, file)
		}
	}
	var path *fs.PathError
	if file := agentformat.Save(blocked, "x", at, 1); !errors.As(file.Err, &path) || path.Path != blocked {
		t.Errorf("%v", file.Err)
	}
}

// What JSON can't hold is an error that says so, before anything is made on the disk.
func TestSaveNotJSON(t *testing.T) {
	type node struct{ Next *node }
	cycle := &node{}
	cycle.Next = cycle
	dir := filepath.Join(t.TempDir(), "logs")
	for _, c := range []struct {
		result any
		want   string
	}{
		{map[string]float64{"gap": math.NaN()}, "contains NaN"},
		{[]float64{1, math.Inf(-1)}, "contains -Inf"},
		{cycle, "no cycles"},
		{make(chan int), "can't be saved as JSON"},
		{func() {}, "can't be saved as JSON"},
	} {
		file := agentformat.Save(dir, "x", at, c.result)
		if file.Path != "" || file.Err == nil || !strings.Contains(file.Err.Error(), c.want) {
			t.Errorf("%T: %v, want %q", c.result, file, c.want)
		}
	}
	value := new(json.UnsupportedValueError)
	if file := agentformat.Save(dir, "x", at, math.NaN()); !errors.As(file.Err, &value) {
		t.Errorf("%v", file.Err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory was made: %v", err)
	}
}

// safe tells whether a name is what Save promises, told apart from how it is made so.
func safe(base string) bool {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
	stem, _, _ := strings.Cut(strings.ToLower(base), ".")
	devices := []string{"con", "prn", "aux", "nul"}
	for _, n := range "0123456789" {
		devices = append(devices, "com"+string(n), "lpt"+string(n))
	}
	return strings.Trim(base, allowed) == "" && base[0] != '.' && len(base) <= 128 && !slices.Contains(devices, stem) &&
		strings.HasSuffix(base, "_20250307_090503.json") && base != "_20250307_090503.json"
}

func TestSaveNames(t *testing.T) {
	for name, want := range map[string]string{
		"":                       "result",
		"...":                    "result",
		"BRK.B":                  "BRK.B",
		"BRK/B":                  "BRK_B",
		"../../etc/passwd":       "_.._etc_passwd",
		`..\..\x`:                "_.._x",
		"/":                      "_",
		".hidden":                "hidden",
		"a b\x00c\nd":            "a_b_c_d",
		"Ä€\xff":                 "___",
		"CON":                    "_CON",
		"con.x":                  "_con.x",
		"Lpt9.a.b":               "_Lpt9.a.b",
		"COM10.x":                "COM10.x",
		"com0.x":                 "_com0.x",
		"C:evil":                 "C_evil",
		"~root":                  "_root",
		strings.Repeat("a", 999): strings.Repeat("a", 100),
	} {
		file := agentformat.Save(t.TempDir(), name, at, 1)
		if got := filepath.Base(file.Path); got != want+"_20250307_090503.json" || !safe(got) {
			t.Errorf("%.40q: %s, want %s (%v)", name, got, want, file.Err)
		}
	}
}

// No name leaves the directory, hides, or is empty.
func FuzzSaveName(f *testing.F) {
	for _, name := range []string{"", ".", "..", "a/../b", `\\host\share`, "aux.h", "NUL", "x\x00", strings.Repeat("é", 300), "-", "COM¹.x"} {
		f.Add(name)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, name string) {
		file := agentformat.Save(dir, name, at, 1)
		if file.Err != nil {
			t.Fatal(file.Err)
		}
		if err := os.Remove(file.Path); err != nil {
			t.Fatal(err)
		}
		if base := filepath.Base(file.Path); filepath.Dir(file.Path) != dir || !safe(base) {
			t.Errorf("%q: %s", name, file.Path)
		}
	})
}
