package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/api"
)

// What is written beside the diff is the comments, and nothing of the diff is, nor can it reach the lines that an editor takes
// settings from, or the terminal.
func TestComments(t *testing.T) {
	diff := "+# vim: set modeline:\n+red \x1b[31m\n+x.go:1: not a comment"
	page := string(commentPage(api.Sight{Work: "R1.T-1", Commit: "0123456789"}, []byte(diff)))
	if got := commentsIn([]byte(page)); len(got) > 0 {
		t.Errorf("nobody wrote anything, and there is %q", got)
	}
	if got, want := commentsIn([]byte("  x.go:1: a\r\n\n"+page+"y.go:2: b")), []string{"x.go:1: a", "y.go:2: b"}; !slices.Equal(got, want) {
		t.Errorf("the comments are %q, want %q", got, want)
	}
	lines := strings.Split(strings.TrimSuffix(page, "\n"), "\n")
	for _, line := range slices.Concat(lines[:5], lines[len(lines)-5:]) {
		if strings.Contains(line, "vim") || strings.Contains(line, "not a comment") {
			t.Errorf("an editor may heed %q", line)
		}
	}
	if strings.Contains(page, "\n#\n#\n") || strings.LastIndex(page, "\n\f") < strings.Index(page, "not a comment") {
		t.Errorf("there are bare lines, or the diff is on the last page:\n%s", page)
	}
	if strings.Contains(page, "\x1b") {
		t.Errorf("the terminal may heed %q", page)
	}
}

// Comments name lines of the new file, so the diff has their numbers, also where a file's lines look like a diff's.
func TestCommentPageNumbers(t *testing.T) {
	diff := "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@ func x\n one\n--- two\n+@@ -1 +90 @@\n three\n\\ No newline at end of file\n@@ -9 +9,2 @@\n nine\n+ten\ndiff --git a/y b/y\n"
	page := string(commentPage(api.Sight{Work: "R1.T-1", Commit: "0123456789"}, []byte(diff)))
	for _, want := range []string{
		"#       --- a/x\n#       +++ b/x\n#       @@ -1,3 +1,3 @@ func x\n#     1  one\n#       --- two\n#     2 +@@ -1 +90 @@\n#     3  three\n#       \\ No newline",
		"#       @@ -9 +9,2 @@\n#     9  nine\n#    10 +ten\n#       diff --git a/y b/y\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("there is no\n%s\nin\n%s", want, page)
		}
	}
}
