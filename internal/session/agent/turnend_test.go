package agent_test

import (
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/session/agent"
)

// However the output is cut, exactly the lines that end a turn are taken out.
func TestTurnEnds(t *testing.T) {
	const end = `{"type":"turn_end"}`
	for _, c := range []struct {
		in, text string
		turns    int
	}{
		{"a\n" + end + "\nb", "a\nb", 1},
		{end, "", 1},
		{end + "\n" + end + "\n", "", 2},
		{" " + end + "\n", " " + end + "\n", 0},
		{end + " \n", end + " \n", 0},
		{"x" + end + "\n" + end[:7] + "\n", "x" + end + "\n" + end[:7] + "\n", 0},
		{end + end + "\n", end + end + "\n", 0},
		{end[:5], end[:5], 0},
		{"\n\n" + end + "\n\n{\n", "\n\n\n{\n", 1},
	} {
		for size := 1; size <= len(c.in); size++ {
			var chunks [][]byte
			for rest := c.in; rest != ""; {
				n := min(size, len(rest))
				chunks = append(chunks, []byte(rest[:n]))
				rest = rest[n:]
			}
			if text, turns := agent.SplitTurnEnds(chunks); text != c.text || turns != c.turns {
				t.Errorf("%q by %d: %q, %d turns", strings.ReplaceAll(c.in, end, "END"), size, text, turns)
			}
		}
	}
}
