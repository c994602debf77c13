package faults_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule that keeps acknowledged events, dropped, is noticed.
func TestMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the package anew for each mutant; not with -short")
	}
	for _, m := range []struct {
		mutant.Mutant
		by string // the test that notices
	}{
		{mutant.Mutant{Name: "an event is acknowledged before its sync", File: "../archive/archive.go",
			Old: "return f.Sync()", New: "return nil"}, "TestPowerCuts$"},
		{mutant.Mutant{Name: "a leaf of the tree is skipped", File: "../archive/archive.go",
			Old: "for _, stored := range kept {", New: "for _, stored := range kept[1:] {"}, "TestDisagreement"},
		{mutant.Mutant{Name: "the bytes are not compared at the start", File: "../archive/reconcile.go",
			Old: "bytes.Equal(r.Data, stored) && err == nil", New: "err == nil"}, "TestDisagreement"},
		{mutant.Mutant{Name: "the engine is not given back its end", File: "../archive/reconcile.go",
			Old: "tip < size {", New: "tip < size && false {"}, "TestDisagreement"},
		{mutant.Mutant{Name: "a torn batch is taken for whole", File: "../archive/log.go",
			Old: "len(body) != h.length || checksum(body) != h.body", New: "len(body) != h.length"}, "TestDisagreement"},
	} {
		t.Run(m.Name, func(t *testing.T) {
			if err := m.Run(t.Context(), ".", m.by); err != nil {
				t.Error(err)
			}
		})
	}
}
