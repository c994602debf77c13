package safetext_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule, dropped, is noticed.
func TestMutants(t *testing.T) {
	const all = "^Test(Escape|EscapeLines|Width|Cut|ClipLong|Prefix)$|^FuzzEscape$"
	mutant.All(t, []mutant.Noticed{
		{By: all, Mutant: mutant.Mutant{Name: "accents pile up", File: "safetext.go", Old: "room--", New: "room = MaxMarks"}},
		{By: all, Mutant: mutant.Mutant{Name: "an accent stands on an escape", File: "safetext.go", Old: "case !visible(r, size):\n\t\t\troom = 0", New: "case !visible(r, size):"}},
		{By: all, Mutant: mutant.Mutant{Name: "an accent stands on a line's end", File: "safetext.go", Old: "case strings.ContainsRune(keep, r):\n\t\t\troom = 0", New: "case strings.ContainsRune(keep, r):"}},
		{By: all, Mutant: mutant.Mutant{Name: "bytes that are no text are printed", File: "safetext.go", Old: "(r != utf8.RuneError || size > 1) && ", New: ""}},
		{By: all, Mutant: mutant.Mutant{Name: "what is invisible is printed", File: "safetext.go", Old: " && !Invisible(r)", New: ""}},
		{By: all, Mutant: mutant.Mutant{Name: "wide characters take one column", File: "width.go", Old: "\t\treturn 2\n", New: "\t\treturn 1\n"}},
		{By: all, Mutant: mutant.Mutant{Name: "the ellipsis has no room", File: "width.go", Old: "Clip(s, columns-1)", New: "Clip(s, columns)"}},
		{By: all, Mutant: mutant.Mutant{Name: "a column is taken for shorter than it is", File: "width.go", Old: "(1 + MaxMarks) * utf8.UTFMax", New: "MaxMarks * utf8.UTFMax"}},
		{By: all, Mutant: mutant.Mutant{Name: "all of a long text is looked at", File: "width.go", Old: "if columns < len(s)/longest {", New: "if columns < 0 {"}},
		{By: all, Mutant: mutant.Mutant{Name: "a character is cut in two", File: "prefix.go", Old: "size > back {", New: "size > back && start < 0 {"}},
		{By: all, Mutant: mutant.Mutant{Name: "what is no text is taken for half a character", File: "prefix.go", Old: "size > back {", New: "size > 0 {"}},
	})
}
