package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/stats"
)

// The table fits a screen, says what it does not know, and acts upon no terminal.
func TestStatsTable(t *testing.T) {
	cost := 1.234
	var out, said bytes.Buffer
	a := app{Program: command.Program{Env: command.Env{Out: &out, Err: &said}}}
	a.statsTable([]stats.Row{
		{Agent: "claude", Model: "claude-opus-4-8", Turns: 1200, NearMisses: 12, FalseClaims: 3, Rework: 40, CostUSD: &cost},
		{Agent: "claude", Model: "unknown", Turns: 2, CostUSD: &cost, Uncosted: 1},
		{Agent: "odd\x1b[2J", Model: "unknown", Turns: 1, Uncosted: 1},
	})
	want := `AGENT       MODEL            TURNS  NEAR MISS  FALSE CLAIM  REWORK  COST USD
claude      claude-opus-4-8   1200         12            3      40      1.23
claude      unknown              2          0            0       0     1.23+
odd\x1b[2J  unknown              1          0            0       0   unknown
`
	if out.String() != want || said.String() != "+ some sessions did not say what they cost\n" {
		t.Errorf("%s%s", &out, &said)
	}
	for _, line := range strings.Split(out.String(), "\n") {
		if len(line) > 80 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
}

// A time is how long ago, a day or a moment.
func TestSinceTime(t *testing.T) {
	now := time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"":                          {},
		"24h":                       now.Add(-24 * time.Hour),
		"2026-11-01":                time.Date(2026, 11, 1, 0, 0, 0, 0, time.Local),
		"2026-11-01T10:00:00+02:00": time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC),
	} {
		if got, err := sinceTime(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"yesterday", "-1h", "2026-13-01", "24"} {
		if got, err := sinceTime(text, now); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}
