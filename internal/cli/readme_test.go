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

// TestReadme does what the README says. Its first lines are of a run that the first command shows: they have to be what is
// said of that task, in that order, whatever the time and the names of commits.
func TestReadme(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the programs and does all that the page says; not with -short")
	}
	module, _ := clone(t)
	sh := doctest.NewShell(t, installed)
	sh.Paste("cd '" + module + "'\n")
	blocks := doctest.Blocks(t, "../../README.md")
	if len(blocks) != 3 || blocks[0].Kind != "text" || blocks[1].Kind != "sh" || blocks[2].Kind != "sh" {
		t.Fatalf("the README has other blocks: %q", blocks)
	}
	told := named.ReplaceAllString(blocks[0].Text, "at COMMIT")
	var of strings.Builder // what is said of the task that the README tells of
	for line := range strings.Lines(sh.Paste(blocks[1].Text)) {
		if _, said, found := strings.Cut(line, "Z "); found && strings.HasPrefix(said, "G-2: ") {
			of.WriteString(said)
		}
	}
	if said := named.ReplaceAllString(of.String(), "at COMMIT"); !strings.Contains(said, told) {
		t.Errorf("the README tells\n%s\nbut there comes\n%s", told, said)
	}
	if version := sh.Paste(blocks[2].Text); !strings.HasPrefix(version, "signalbox ") {
		t.Errorf("what is installed says %q", version)
	}
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(text), "\n"); lines >= 120 {
		t.Errorf("the README has %d lines: it is to be read in a minute", lines)
	}
}

var named = regexp.MustCompile(`\bat [0-9a-f]{7}\b`)

// clone returns where this module is, and a directory to work in.
func clone(t *testing.T) (module, dir string) {
	t.Helper()
	module, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return module, t.TempDir()
}

// TestPages does what pages say, and holds what comes out against them. Go code on them is checked to be Go; the examples
// of the packages run.
func TestPages(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program and does all that the pages say; not with -short")
	}
	for _, page := range []struct {
		name          string
		ran, compared int    // blocks, at least
		said          string // among what comes out, if anything
	}{
		{"first-day", 6, 3, "proven"},
		{"signals", 4, 4, "verdict READY_FOR_REVIEW"},
		{"handoff", 12, 8, "is now in COMPLETED"},
		{"operating", 6, 6, ""},
		{"tools", 4, 0, "gemini   project  installed"},
	} {
		t.Run(page.name, func(t *testing.T) {
			module, dir := clone(t)
			sh := doctest.NewShell(t, installed)
			sh.Paste("cd '" + module + "'\ngo install ./cmd/signalbox\nmkdir '" + dir + "/work'\ncd '" + dir + "/work'\n")
			output, ran, compared, said := "", 0, 0, false
			for _, block := range doctest.Blocks(t, "../../docs/"+page.name+".md") {
				text := block.Text
				switch block.Kind {
				case "go":
					if _, err := format.Source([]byte(text)); err != nil {
						t.Errorf("%v in\n%s", err, text)
					}
				case "text":
					if compared++; strings.TrimSpace(output) != strings.TrimSpace(text) {
						t.Errorf("the page shows\n%s\nbut there comes\n%s", text, output)
					}
				case "sh":
					if strings.HasPrefix(text, "go install") { // in the clone, which stays as it is
						text = "cd '" + module + "'\n" + text + "cd '" + dir + "/work'\n"
					}
					output = sh.Paste(text)
					said = said || strings.Contains(output, page.said)
					ran++
				}
			}
			if ran < page.ran || compared < page.compared || !said {
				t.Errorf("ran %d blocks and compared %d; %q was said: %t; at the end there comes\n%s", ran, compared, page.said, said, output)
			}
		})
	}
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
