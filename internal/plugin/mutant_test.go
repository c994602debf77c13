//go:build unix

package plugin_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule, dropped, is noticed.
func TestMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "^TestForeignFiles$", Mutant: mutant.Mutant{Name: "a file of the user's is written over", File: "change.go", Old: "\tcase old.has(p, is):\n\t\treturn []Step{{Path: p, Action: Replace", New: "\tcase true:\n\t\treturn []Step{{Path: p, Action: Replace"}},
		{By: "^TestForeignFiles$", Mutant: mutant.Mutant{Name: "a file that was changed is deleted", File: "change.go", Old: "\tcase old.has(p, is):\n\t\treturn []Step{{Path: p, Action: Delete", New: "\tcase true:\n\t\treturn []Step{{Path: p, Action: Delete"}},
		{By: "^TestForeignFiles$", Mutant: mutant.Mutant{Name: "a server that was changed is kept", File: "change.go", Old: "errors.Is(err, errChanged) && p != l.serves:", New: "errors.Is(err, errChanged):"}},
		{By: "^TestForeignFiles$", Mutant: mutant.Mutant{Name: "a changed skill stands in the way of scopes", File: "change.go", Old: "errors.Is(err, errChanged) && p != l.serves:", New: "errors.Is(err, errChanged) && p == l.serves && false:"}},
		{By: "^TestLeftOver$", Mutant: mutant.Mutant{Name: "what a removal leaves is forgotten", File: "change.go", Old: "if len(m.Files) == 0 && m.Entry == nil {", New: "if m.Removed {"}},
		{By: "^TestLeftOver$", Mutant: mutant.Mutant{Name: "an entry that a removal leaves is forgotten", File: "change.go", Old: "\t\t\tleft.Entry = old.Entry\n", New: ""}},
		{By: "^TestForeignEntries$", Mutant: mutant.Mutant{Name: "an entry of the user's is replaced", File: "change.go", Old: "case there && (old == nil || old.Entry == nil):", New: "case there && old == nil && false:"}},
		{By: "^TestTOMLChanged$", Mutant: mutant.Mutant{Name: "an entry goes, and what was added to it stays", File: "change.go", Old: "\tcase more:", New: "\tcase more && false:"}},
		{By: "^TestCutOff$", Mutant: mutant.Mutant{Name: "what was installed before is forgotten while it is replaced", File: "change.go", Old: "slices.Concat(write(is, first), steps, write(first, last))", New: "slices.Concat(write(is, last), steps, write(first, first))"}},
		{By: "^TestHostileManifest$", Mutant: mutant.Mutant{Name: "a manifest leads anywhere", File: "manifest.go", Old: "if !l.owns(p) {", New: "if !l.owns(p) && false {"}},
		{By: "^TestHostileManifest$", Mutant: mutant.Mutant{Name: "a manifest's directory lies anywhere", File: "manifest.go", Old: `if dir != "." && !l.leads(dir) {`, New: `if dir != "." && !l.leads(dir) && false {`}},
		{By: "^TestHostileFiles$", Mutant: mutant.Mutant{Name: "a link to a directory is followed", File: "files.go", Old: "if !info.IsDir() {", New: "if !info.IsDir() && false {"}},
		{By: "^TestHostileFiles$", Mutant: mutant.Mutant{Name: "a read-only file is replaced", File: "files.go", Old: "info.Mode().Perm()&0o200 == 0", New: "false"}},
		{By: "^TestChangedMeanwhile$", Mutant: mutant.Mutant{Name: "a file that changed meanwhile is written over", File: "files.go", Old: "if there != (s.before != nil) || !bytes.Equal(is, s.before) {", New: "if there != (s.before != nil) || !bytes.Equal(is, is) {"}},
		{By: "^TestModes$", Mutant: mutant.Mutant{Name: "a file's mode is lost", File: "files.go", Old: "mode = info.Mode().Perm()", New: "_ = info"}},
	})
}
