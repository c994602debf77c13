//go:build unix

package regular_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule, dropped, is noticed.
func TestMutants(t *testing.T) {
	const all = "^TestOpen$|^TestReadAll$"
	mutant.All(t, []mutant.Noticed{
		{By: all, Mutant: mutant.Mutant{Name: "a pipe is opened before it is known to be one", File: "regular.go", Old: "err = wanted(before.Mode())", New: "_ = before"}},
		{By: all, Mutant: mutant.Mutant{Name: "a link below a directory is followed", File: "regular.go", Old: "info, err := root.Lstat(name)\n\treturn open(name, info, err, isFile", New: "info, err := root.Stat(name)\n\treturn open(name, info, err, isFile"}},
		{By: all, Mutant: mutant.Mutant{Name: "a file that is too long is read", File: "regular.go", Old: "if info.Size() > most {", New: "if info.Size() > most && false {"}},
		{By: "^TestReadBelow$", Mutant: mutant.Mutant{Name: "a link on the way is followed", File: "regular.go", Old: "err = cmp.Or(isDir(before.Mode()), allowed(before, not))", New: "err = allowed(before, not)\n\t\tbefore, _ = root.Stat(name)"}},
		{By: "^TestReadBelow$", Mutant: mutant.Mutant{Name: "a hidden directory is entered", File: "regular.go", Old: "err = cmp.Or(isDir(before.Mode()), allowed(before, not))", New: "err = isDir(before.Mode())"}},
		{By: "^TestReadBelow$", Mutant: mutant.Mutant{Name: "a hidden file is read", File: "regular.go", Old: "cmp.Or(err, allowed(before, not))", New: "cmp.Or(err, nil)"}},
		{By: "^TestCreate$", Mutant: mutant.Mutant{Name: "what was there stays", File: "regular.go", Old: "create(os.Remove(path),", New: "create(nil,"}},
		{By: "^TestCreate$", Mutant: mutant.Mutant{Name: "what was there below a directory stays", File: "regular.go", Old: "create(root.Remove(name),", New: "create(nil,"}},
	})
}
