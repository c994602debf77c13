package oracle

import (
	"strings"
	"testing"
)

// What was shown of a reply that broke off is shown once, but for the line that it broke off in.
func TestRetelling(t *testing.T) {
	for _, c := range []struct {
		name     string
		attempts []string // all but the last break off
		shown    string   // what each shows, with | in between
	}{
		{"one", []string{"It checks."}, "It checks."},
		{"the line", []string{"It che", "It checks."}, "It che|It checks."},
		{"the last line alone", []string{"a\nb\nIt che", "a\nb\nIt checks."}, "a\nb\nIt che|It checks."},
		{"after a line", []string{"a\n", "a\nb"}, "a\n|b"},
		{"the same again and again", []string{"Half", "Half", "Ha", "Half of it"}, "Half|||Half of it"},
		{"further each time", []string{"a\nb", "a\nbc\nd", "a\nbc\nde"}, "a\nb|bc\nd|de"},
		{"another reply", []string{"a\nIt che", "a\nNo."}, "a\nIt che|a\nNo."},
		{"another after another", []string{"It che", "No", "No."}, "It che|No|No."},
		{"whole already", []string{"It checks.", "It checks."}, "It checks.|"},
		{"a beginning of it", []string{"It checks twice.", "It checks"}, "It checks twice.|It checks"},
		{"nothing", []string{"It che", ""}, "It che|"},
	} {
		for size := 1; size < 20; size += 6 {
			var told *retelling
			var shown []string
			for i, reply := range c.attempts {
				told = &retelling{before: told.soFar()}
				var b strings.Builder
				for at := 0; at < len(reply); at += size {
					b.WriteString(told.next(reply[at:min(at+size, len(reply))]))
				}
				if i == len(c.attempts)-1 {
					b.WriteString(told.rest())
				}
				shown = append(shown, b.String())
			}
			if got := strings.Join(shown, "|"); got != c.shown {
				t.Errorf("%s, in pieces of %d: %q, want %q", c.name, size, got, c.shown)
			}
		}
	}
}
