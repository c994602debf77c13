package cli_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/doctest"
	"github.com/signalbox-dev/signalbox/internal/portfolio/settings"
)

// TestDocument does what docs/portfolio.md says, and holds what comes out against it. A client that
// has to be downloaded, and a server that runs until it is stopped, are left out: TestMCP has them.
func TestDocument(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program and runs what the document shows; not with -short")
	}
	dir := t.TempDir()
	module, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	sh := doctest.NewShell(t, filepath.Join(dir, "bin"))
	sh.Paste("cd '" + module + "'")
	var output string
	ran, compared := 0, 0
	for _, block := range doctest.Blocks(t, "../../../docs/portfolio.md") {
		text := strings.ReplaceAll(block.Text, "/tmp/", dir+"/")
		switch block.Kind {
		case "sh":
			if !strings.Contains(text, "npx ") && !strings.Contains(text, "mcp --http") {
				output = sh.Paste(text)
				ran++
			}
		case "text":
			if compared++; !strings.HasSuffix(output, text) {
				t.Errorf("the document shows\n%s\nbut there comes\n%s", text, output)
			}
		case "yaml":
			if _, err := settings.Parse([]byte(text)); err != nil {
				t.Errorf("%v in\n%s", err, text)
			}
		case "csv":
			file := filepath.Join(dir, "own.csv")
			sh.Paste("cat > '" + file + "' <<'END'\n" + text + "END")
			if out := sh.Paste("portfolio import --db '" + file + ".db' '" + file + "'"); strings.Contains(out, "not read") || !strings.Contains(out, " added") {
				t.Error(out)
			}
		}
	}
	if ran < 5 || compared < 2 {
		t.Errorf("ran %d blocks and compared %d", ran, compared)
	}
}
