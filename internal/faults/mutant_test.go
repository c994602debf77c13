package faults_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule that keeps acknowledged events, dropped, is noticed.
func TestMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "TestPowerCuts$", Mutant: mutant.Mutant{Name: "an event is acknowledged before its sync", File: "../archive/archive.go",
			Old: "if err := f.Sync(); err != nil {\n\t\treturn err\n\t}\n\treturn f.Stands()", New: "return f.Stands()"}},
		{By: "TestRetryAfterKill", Mutant: mutant.Mutant{Name: "a start does not make the log's end durable", File: "../archive/start.go",
			Old: "if err := a.files.write(s.name, s.data); err != nil {", New: "if err := error(nil); err != nil || s.name == \"\" {"}},
		{By: "TestForgedEnd", Mutant: mutant.Mutant{Name: "the log's end is not held against the tree", File: "../archive/start.go",
			Old: "a.holdRecent() != nil ||", New: ""}},
		{By: "TestDamagedTwice", Mutant: mutant.Mutant{Name: "a damaged bundle is healed from nothing", File: "../archive/repair.go",
			Old: "if lost := x.cannot(proven); len(lost) > 0 {", New: "if lost := x.cannot(proven); len(lost) > 0 && false {"}},
		{By: "TestArchiveGone", Mutant: mutant.Mutant{Name: "an archive that is gone is begun anew", File: "../box/latest.go",
			Old: "if errors.Is(err, fs.ErrNotExist) {", New: "if errors.Is(err, fs.ErrNotExist) || true {"}},
		{By: "TestOldCheckpoint", Mutant: mutant.Mutant{Name: "an old copy of the archive is gone on with", File: "../box/latest.go",
			Old: "\treturn c\n", New: "\treturn ledger.Checkpoint{Origin: c.Origin}\n"}},
		{By: "TestOldCheckpoint", Mutant: mutant.Mutant{Name: "an old checkpoint lets other events follow it", File: "../box/latest.go",
			Old: "err != nil || root == c.Root {", New: "err != nil || root == c.Root || true {"}},
		{By: "TestOldTornEnd", Mutant: mutant.Mutant{Name: "the log of a version before need not be whole", File: "../box/old.go",
			Old: `case !old || a.Unfinished() == "":`, New: "case true:"}},
		{By: "TestOldArchives", Mutant: mutant.Mutant{Name: "the engine of a version before stays", File: "../box/old.go",
			Old: "if err != nil || !old {\n\t\treturn nil, err\n\t}\n\taside", New: "if err != nil || !old || true {\n\t\treturn nil, err\n\t}\n\taside"}},
	})
}
