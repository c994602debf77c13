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
			Old: "if err := f.Sync(); err != nil {\n\t\treturn err\n\t}\n\treturn f.Stands()", New: "return f.Stands()"}, "TestPowerCuts$"},
		{mutant.Mutant{Name: "a start does not make the log's end durable", File: "../archive/start.go",
			Old: "if err := a.files.write(s.name, s.data); err != nil {", New: "if err := error(nil); err != nil || s.name == \"\" {"}, "TestRetryAfterKill"},
		{mutant.Mutant{Name: "the log's end is not held against the tree", File: "../archive/start.go",
			Old: "a.holdRecent() != nil ||", New: ""}, "TestForgedEnd"},
		{mutant.Mutant{Name: "a damaged bundle is healed from nothing", File: "../archive/repair.go",
			Old: "if lost := x.cannot(proven); len(lost) > 0 {", New: "if lost := x.cannot(proven); len(lost) > 0 && false {"}, "TestDamagedTwice"},
		{mutant.Mutant{Name: "an archive that is gone is begun anew", File: "../box/latest.go",
			Old: "if errors.Is(err, fs.ErrNotExist) {", New: "if errors.Is(err, fs.ErrNotExist) || true {"}, "TestArchiveGone"},
		{mutant.Mutant{Name: "an old copy of the archive is gone on with", File: "../box/latest.go",
			Old: "\treturn c\n", New: "\treturn ledger.Checkpoint{Origin: c.Origin}\n"}, "TestOldCheckpoint"},
		{mutant.Mutant{Name: "an old checkpoint lets other events follow it", File: "../box/latest.go",
			Old: "err != nil || root == c.Root {", New: "err != nil || root == c.Root || true {"}, "TestOldCheckpoint"},
		{mutant.Mutant{Name: "the log of a version before need not be whole", File: "../box/old.go",
			Old: `case !old || a.Unfinished() == "":`, New: "case true:"}, "TestOldTornEnd"},
		{mutant.Mutant{Name: "the engine of a version before stays", File: "../box/old.go",
			Old: "if err != nil || !old {\n\t\treturn nil, err\n\t}\n\taside", New: "if err != nil || !old || true {\n\t\treturn nil, err\n\t}\n\taside"}, "TestOldArchives"},
	} {
		t.Run(m.Name, func(t *testing.T) {
			m.Check(t, ".", m.by)
		})
	}
}
