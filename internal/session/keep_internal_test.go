package session

import (
	"strings"
	"testing"
)

// A report shows the last 200 characters of what an agent said, whole and escaped, however it came.
func TestPreview(t *testing.T) {
	long := strings.Repeat("銀", maxPreview)
	for _, c := range []struct {
		pieces []string
		want   string
	}{
		{nil, ""},
		{[]string{" I am", " done.\n"}, "I am done."},
		{[]string{strings.Repeat("x", maxTail), long[:5], long[5:], "\n"}, long},
		{[]string{strings.Repeat("銀", maxTail) + "\n"}, long},
		{[]string{"x\x1b[2J"}, `x\x1b[2J`},
	} {
		var all tail
		for _, p := range c.pieces {
			all.write([]byte(p))
		}
		if got := all.preview(); got != c.want {
			t.Errorf("%.20q: %q", c.pieces, got)
		}
	}
}
