package agentformat_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule of what is removed, dropped, is noticed.
func TestMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "^TestLimits", Mutant: mutant.Mutant{Name: "a file that is not a result is removed", File: "limits.go", Old: " && isSaved(e.Name())", New: ""}},
		{By: "^TestLimits", Mutant: mutant.Mutant{Name: "a link to a file counts as one", File: "limits.go", Old: "info, err := root.Lstat(e.Name())\n\t\t\tif err == nil && info.Mode().IsRegular()", New: "info, err := root.Lstat(e.Name())\n\t\t\tif err == nil && !info.IsDir()"}},
		{By: "^TestLimits", Mutant: mutant.Mutant{Name: "the newest is removed first", File: "limits.go", Old: "a.ModTime().Compare(b.ModTime())", New: "b.ModTime().Compare(a.ModTime())"}},
		{By: "^TestLimits", Mutant: mutant.Mutant{Name: "the new one's size does not count", File: "limits.go", Old: "sum > l.Bytes-size", New: "sum > l.Bytes"}},
		{By: "^TestLimits", Mutant: mutant.Mutant{Name: "what a killed process left stays for ever", File: "limits.go", Old: "strings.HasPrefix(name, temporaryPrefix) ||", New: ""}},
		{By: "^TestLimits", Mutant: mutant.Mutant{Name: "only the first of many files are looked at", File: "limits.go", Old: "if errors.Is(end, io.EOF) {", New: "if end == nil || errors.Is(end, io.EOF) {"}},
	})
}
