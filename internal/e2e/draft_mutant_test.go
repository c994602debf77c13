//go:build linux

package e2e_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults gives an agent that drafts a plan, or is asked for a word, more than it may have, or leaves something of it.
func TestDraftMutants(t *testing.T) {
	for _, m := range []struct{ name, file, before, after, test string }{
		{"a drafting agent may change files", "../runner/draft.go", "return p == config.AllowEdit", "return false && p == config.AllowEdit", "TestDraftConfined"},
		{"a drafting agent sees the box", "../cli/plandraft.go", "return box.Dir(a.dir).Hidden(c.Archive)", "_, err := box.Dir(a.dir).Hidden(c.Archive)\n\treturn nil, err", "TestDraftConfined"},
		{"an agent that is asked sees an archive that lies elsewhere", "../cli/doctordeep.go", "Hidden: hidden}", "Hidden: hidden[:1]}", "TestDoctorDeepConfined"},
		{"what a killed draft left stays", "../runner/makeshift.go", "\tsweepMakeshifts(repo)\n", "", "TestDraftEnds"},
	} {
		t.Run(m.name, func(t *testing.T) {
			(mutant.Mutant{Name: m.name, File: m.file, Old: m.before, New: m.after}).Check(t, ".", m.test)
		})
	}
}
