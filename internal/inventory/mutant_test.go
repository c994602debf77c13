package main

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults, put in on purpose, is noticed by the test beside it.
func TestMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "TestLicences", Mutant: mutant.Mutant{Name: "terms that are added to a licence are not seen", File: "licence.go",
			Old: "if strings.Contains(text, w) {", New: "if strings.Contains(text, w) && len(found) == 0 {"}},
		{By: "TestLicences", Mutant: mutant.Mutant{Name: "the Mozilla licence may have added terms", File: "licence.go",
			Old: "words = refused[named:]", New: "words = nil"}},
		{By: "TestLicences", Mutant: mutant.Mutant{Name: "an unknown licence passes", File: "licence.go",
			Old: "if len(found) == 0 {", New: "if found == nil && text != \"\" && false {"}},
		{By: "TestRead", Mutant: mutant.Mutant{Name: "a module without a licence passes", File: "notice.go",
			Old: "if len(m.licences) == 0 {", New: "if len(m.licences) < 0 {"}},
		{By: "TestRead", Mutant: mutant.Mutant{Name: "a file that does not count for one module counts for none", File: "notice.go",
			Old: "unread[m.path+\" \"+e.Name()] != \"\"", New: "strings.HasSuffix(e.Name(), \"LOGO\")"}},
		{By: "TestRead", Mutant: mutant.Mutant{Name: "a licence may move the terminal", File: "notice.go",
			Old: "safetext.EscapeLines(content) != content {", New: "safetext.EscapeLines(content) == \"\" {"}},
		{By: "TestBill", Mutant: mutant.Mutant{Name: "a module that is not in NOTICE is listed", File: "sbom.go",
			Old: "if licence == \"\" {", New: "if licence == \"none\" {"}},
	})
}
