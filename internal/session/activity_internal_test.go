package session

import (
	"strings"
	"testing"
)

// What people see of what an agent prints: one line, from its beginning, without what a terminal acts upon, with paths in the worktree.
func TestActivity(t *testing.T) {
	long := "reading " + strings.Repeat("日", 300)
	for _, c := range []struct{ said, want string }{
		{"first\nsecond\n\n", "second"},
		{"\x1b[1;32mok\x1b[0m \x1b]0;owned\amore\x1b]8;;http://x\x1b\\link", "ok morelink"},
		{"last words\n\x1b[0m\x1b[?25h\n", "last words"},
		{"reading /w/R1/T-1/a/b.go and /w/R1/T-1/c.go, not /w/R1/T-10/d.go", "reading a/b.go and c.go, not /w/R1/T-10/d.go"},
		{long, long[:8] + strings.Repeat("日", 191) + "…"},
		{"an end of \x1b[3", `an end of \x1b[3`},
		{"left \u202eright\x00", `left \u202eright\x00`},
		{"", ""},
	} {
		if got := tail(c.said).activity("/w/R1/T-1"); got != c.want {
			t.Errorf("%q is shown as %q, want %q", c.said, got, c.want)
		}
	}
}
