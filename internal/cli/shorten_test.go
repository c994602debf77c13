package cli

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// What is escaped takes the place of its escape: a value of control characters is cut where
// one of letters is.
func TestShorten(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{strings.Repeat("a", 100), strings.Repeat("a", 100)},
		{strings.Repeat("a", 101), strings.Repeat("a", 99) + "…"},
		{strings.Repeat("\x1b", 60), strings.Repeat(`\x1b`, 24) + `\x1…`},
		{[]string{"a\nb", "c"}, "a b, c"},
	} {
		if got := shorten(c.value); got != c.want || utf8.RuneCountInString(got) > 100 {
			t.Errorf("%q becomes %q, want %q", c.value, got, c.want)
		}
	}
}
