package archive

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A directory is listed in order, and one with more names than it can have is refused.
func TestNamesIn(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for n := range 2*namesAtOnce + 1 {
		want = append(want, strconv.Itoa(n))
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(n)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(want)
	list := func(most int) ([]string, error) {
		f, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		return namesIn(f, most)
	}
	if got, err := list(len(want)); err != nil || !slices.Equal(got, want) {
		t.Errorf("%d names, %v", len(got), err)
	}
	if got, err := list(len(want) - 1); err == nil || got != nil || !strings.Contains(err.Error(), dir+" has more than 2048 names") {
		t.Errorf("%d names, %v", len(got), err)
	}
}
