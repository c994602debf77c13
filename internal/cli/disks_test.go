package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Doctor looks at every disk that the box writes to, and at each once.
func TestDisks(t *testing.T) {
	one, other := t.TempDir(), "/dev/shm"
	_, a, err := freeSpace(one)
	_, b, err2 := freeSpace(other)
	if _, err3 := os.Stat(other); err != nil || err2 != nil || err3 != nil || a == b {
		t.Skip("there is no second disk here")
	}
	here, there := filepath.Join(one, "x"), filepath.Join(other, "signalbox-none") // need not be there yet
	for _, s := range []struct {
		c    config.Archive
		want []string
	}{
		{config.Archive{}, []string{""}},
		{config.Archive{Dir: here, Segments: filepath.Join(one, "s"), Mirror: filepath.Join(one, "m")}, []string{""}},
		{config.Archive{Dir: there}, []string{"", there}},
		{config.Archive{Segments: there}, []string{"", there}},
		{config.Archive{Mirror: there}, []string{"", there}},
		{config.Archive{Dir: there, Mirror: filepath.Join(other, "m")}, []string{"", there}},
	} {
		var got []string
		(&app{dir: filepath.Join(one, "box")}).diagnoseDisks(s.c, func(_, _, format string, args ...any) {
			_, where, _ := strings.Cut(fmt.Sprintf(format, args...), " GB free")
			got = append(got, strings.TrimPrefix(where, " for "))
		})
		if !slices.Equal(got, s.want) {
			t.Errorf("%+v: %q, want %q", s.c, got, s.want)
		}
	}
}

// Each of these faults is noticed by the test beside it.
func TestDiskMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "TestDisks", Mutant: mutant.Mutant{Name: "one disk is looked at alone", File: "doctor.go",
			Old: "b.Segments(archive, c.Segments), c.Mirror} {", New: "\"\"} {"}},
		{By: "TestDisks", Mutant: mutant.Mutant{Name: "a disk is told of twice", File: "doctor.go",
			Old: "|| slices.Contains(seen, disk) {", New: "|| slices.Contains(seen, disk) && false {"}},
	})
}
