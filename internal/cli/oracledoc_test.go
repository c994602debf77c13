package cli_test

import (
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/doctest"
)

// TestOracleDoc does what docs/oracle.md says. What it shows has to come out, line by line,
// among the rest.
func TestOracleDoc(t *testing.T) {
	if testing.Short() {
		t.Skip("installs the programs and does all that the page says; not with -short")
	}
	module, dir := clone(t)
	sh := doctest.NewShell(t, installed)
	plain := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	var output string
	ran, compared := 0, 0
	for _, block := range doctest.Blocks(t, "../../docs/oracle.md") {
		text := block.Text
		switch {
		case block.Kind == "sh":
			if strings.HasPrefix(text, "go install") {
				text = "cd '" + module + "'\n" + text + "cd '" + dir + "'\n"
			}
			output = plain(sh.Paste(strings.ReplaceAll(text, `"$demo"`, `"$demo" 2>&1`)))
			ran++
		case block.Kind == "text" && output != "" && !strings.HasPrefix(text, "signalbox "):
			for line := range strings.Lines(text) {
				if !strings.Contains(output, plain(line)) {
					t.Errorf("the page shows\n%s\nbut there comes\n%s", line, output)
				}
			}
			compared++
		}
	}
	if ran < 5 || compared < 2 {
		t.Errorf("ran %d blocks and compared %d", ran, compared)
	}
}
