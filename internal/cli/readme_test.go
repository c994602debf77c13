package cli_test

import (
	"go/format"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/doctest"
)

// TestReadme does what the README says, and holds what comes out against it.
// The Go code there is checked to be Go; the examples of package agentsig run.
func TestReadme(t *testing.T) {
	if testing.Short() {
		t.Skip("installs the program and does all that the page says; not with -short")
	}
	module, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	sh := doctest.NewShell(t, filepath.Join(dir, "bin"))
	var output string
	ran, compared := 0, 0
	for _, block := range doctest.Blocks(t, "../../README.md") {
		text := block.Text
		switch block.Kind {
		case "go":
			if _, err := format.Source([]byte(text)); err != nil {
				t.Errorf("%v in\n%s", err, text)
			}
		case "text":
			compared++
			if output != text {
				t.Errorf("the README shows\n%s\nbut there comes\n%s", text, output)
			}
		case "sh":
			if strings.HasPrefix(text, "go install") { // in the clone, which stays as it is
				text = "cd '" + module + "'\n" + text + "cd '" + dir + "'\n"
			}
			output = sh.Paste(text)
			ran++
		}
	}
	if ran < 5 || compared < 3 {
		t.Errorf("ran %d blocks and compared %d", ran, compared)
	}
}

// TestHandoffPage does what docs/handoff.md says, and holds what comes out against it.
func TestHandoffPage(t *testing.T) {
	outputs, compared := pastePage(t, "../../docs/handoff.md")
	if !strings.Contains(outputs, "is now in COMPLETED") || compared < 5 {
		t.Errorf("compared %d; there comes\n%s", compared, outputs)
	}
}

// TestOperatingPage does what docs/operating.md says, and holds what comes out against it.
func TestOperatingPage(t *testing.T) {
	if outputs, compared := pastePage(t, "../../docs/operating.md"); compared < 6 {
		t.Errorf("compared %d; there comes\n%s", compared, outputs)
	}
}

// pastePage does what a page says, in an empty directory, and holds what comes out against what it shows. It returns all that came,
// and how often it was compared.
func pastePage(t *testing.T, page string) (outputs string, compared int) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the program and does all that the page says; not with -short")
	}
	module, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	sh := doctest.NewShell(t, filepath.Join(dir, "bin"))
	sh.Paste("cd '" + module + "'\ngo install ./cmd/signalbox\nmkdir '" + dir + "/work'\ncd '" + dir + "/work'\n")
	output := ""
	for _, block := range doctest.Blocks(t, page) {
		switch block.Kind {
		case "text":
			if compared++; strings.TrimSpace(output) != strings.TrimSpace(block.Text) {
				t.Errorf("the page shows\n%s\nbut there comes\n%s", block.Text, output)
			}
		case "sh":
			output = sh.Paste(block.Text)
			outputs += output
		}
	}
	return outputs, compared
}

var link = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)

// TestLinks follows the links between the documents.
func TestLinks(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../docs/adr/*.md", "../../agentsig/testdata/*.md", "../../examples/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	links := 0
	for _, page := range pages {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(data), -1) {
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
			}
		}
	}
	if links < 15 {
		t.Errorf("found only %d links", links)
	}
}

// TestAttacks holds the attacks' README against what is there.
func TestAttacks(t *testing.T) {
	const dir = "../../examples/attacks"
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, m := range regexp.MustCompile(`(?m)^\| (\d\d-[a-z-]+) \|`).FindAllStringSubmatch(string(readme), -1) {
		told = append(told, m[1])
	}
	there, err := filepath.Glob(filepath.Join(dir, "[0-9][0-9]-*"))
	if err != nil {
		t.Fatal(err)
	}
	for i, path := range there {
		there[i] = filepath.Base(path)
		for _, name := range []string{"expect", "check"} {
			if _, err := os.Stat(filepath.Join(path, name)); err != nil {
				t.Error(err)
			}
		}
	}
	if diff := cmp.Diff(there, told); diff != "" {
		t.Errorf("the README does not list the attacks that there are (-there +told):\n%s", diff)
	}
}
