package box

import (
	"strings"
	"testing"
)

// An event shows the last 200 characters of an output without a signal, whole and escaped.
func TestPreview(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("銀", maxPreview)
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{" I am done.\n", "I am done."},
		{"before" + long + "\n \n", long},
		{strings.Repeat("🎫", maxPreview) + "\n", strings.Repeat("🎫", maxPreview)},
		{"x\x1b[2J", `x\x1b[2J`},
	} {
		if got := preview([]byte(c.text)); got != c.want {
			t.Errorf("%.20q: %q", c.text, got)
		}
	}
}
