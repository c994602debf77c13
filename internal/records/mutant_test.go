package records_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults is noticed.
func TestMutants(t *testing.T) {
	const source, keep = "source.go", "keep.go"
	mutant.All(t, mutant.By("TestCopy|TestAnew|TestKeep", []mutant.Mutant{
		{Name: "half a line is copied", File: source, Old: "if ended := over && whole; !ended {", New: "if false {"},
		{Name: "the last line is not copied", File: source, Old: "if ended := over && whole; !ended {", New: "if true {"},
		{Name: "what is copied can't become a secret", File: source, Old: "\tif whole && len(text) <= behind {\n\t\treturn\n\t}\n", New: ""},
		{Name: "all is looked at again", File: source, Old: "s.from += int64(at)", New: "s.from += int64(at) * 0"},
		{Name: "a long secret is cut in two", File: source, Old: "if bytes.Equal(slices.Concat(firstSaid, restSaid), said) && bytes.Equal(slices.Concat(firstWho, restWho), who) {", New: "if len(restSaid)+len(restWho) > 0 {"},
		{Name: "another file is taken for the same", File: source, Old: "s.file != nil && !os.SameFile(s.file, info)", New: "s.file != nil && !os.SameFile(info, info)"},
		{Name: "several are one", File: source, Old: "v.From != last.From && offset > int64(begins)", New: "v.From != v.From && last.From == 0"},
		{Name: "a copy with a hole", File: keep, Old: "if info.Size() < c.At {", New: "if false {"},
		{Name: "what follows the change stays", File: keep, Old: "err := f.Truncate(c.At)", New: "err := error(nil)"},
	}))
}
