//go:build linux || darwin

package stage_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults, put in on purpose, is noticed by the test beside it.
func TestMutants(t *testing.T) {
	const refused, dir, meanwhile, left = "^TestRefused$", "^TestDir$", "^TestMeanwhile$", "^TestLeft$"
	mutant.All(t, []mutant.Noticed{
		{By: refused, Mutant: mutant.Mutant{Name: "a link is replaced", File: "stage.go", Old: "if info.Mode()&fs.ModeSymlink != 0 {", New: "if info.Mode()&fs.ModeSymlink != 0 && os.Remove(path) == nil {"}},
		{By: refused, Mutant: mutant.Mutant{Name: "the directory that one is in is replaced", File: "stage.go", Old: "err == nil && os.SameFile(here, info)", New: "err == nil && here == nil"}},
		{By: refused, Mutant: mutant.Mutant{Name: "a slash leads through a link", File: "stage.go", Old: "to = filepath.Clean(to)", New: "_ = filepath.Clean"}},
		{By: dir, Mutant: mutant.Mutant{Name: "directories above the place stay after a failure", File: "stage.go", Old: "\tunmake(s.made)\n", New: ""}},
		{By: meanwhile, Mutant: mutant.Mutant{Name: "a file that came meanwhile is replaced", File: "stage.go", Old: "err := os.Link(s.Path(name), s.to)", New: "err := os.Rename(s.Path(name), s.to)"}},
		{By: meanwhile, Mutant: mutant.Mutant{Name: "a file that came meanwhile is replaced where there are no links", File: "stage.go", Old: "os.O_CREATE|os.O_EXCL|os.O_WRONLY", New: "os.O_CREATE|os.O_WRONLY"}},
		{By: meanwhile, Mutant: mutant.Mutant{Name: "an empty directory is gone after a failure", File: "stage.go", Old: "return errors.Join(err, back())\n\t}\n\treturn durable", New: "_ = back\n\t\treturn err\n\t}\n\treturn durable"}},
		{By: left, Mutant: mutant.Mutant{Name: "what was left stays", File: "stage.go", Old: "\tremoveLeft(parent)\n", New: ""}},
		{By: left, Mutant: mutant.Mutant{Name: "what is held is removed", File: "left.go", Old: "if err != nil {\n\t\treturn\n\t}\n\tif held.Locked()", New: "if err != nil {\n\t\t_ = os.RemoveAll(path)\n\t\treturn\n\t}\n\tif held.Locked()"}},
		{By: left, Mutant: mutant.Mutant{Name: "what was not held from the beginning is removed", File: "left.go", Old: "return err == nil && string(text) == mark", New: "return err == nil && len(text) > 0"}},
		{By: left, Mutant: mutant.Mutant{Name: "a link to a stage is removed", File: "left.go", Old: "if err != nil || !info.IsDir() {", New: "if err != nil || info == nil {"}},
	})
}
