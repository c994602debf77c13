package cli_test

import (
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var block = regexp.MustCompile("(?ms)^```(sh|text|go)\n(.*?)^```$")

// TestReadme does what the README says, and holds what comes out against it.
// The Go code there is checked to be Go; the examples of package agentsig run.
func TestReadme(t *testing.T) {
	data, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	module, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	var output string
	ran, compared := 0, 0
	for _, m := range block.FindAllStringSubmatch(string(data), -1) {
		kind, text := m[1], m[2]
		switch kind {
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
			cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", text)
			cmd.Dir = dir
			if strings.HasPrefix(text, "go install") {
				cmd.Dir = module
			}
			cmd.Env = append(os.Environ(), "GOBIN="+bin, "PATH="+bin+":"+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s\n%s", err, text, out)
			}
			output = string(out)
			ran++
		}
	}
	if ran < 5 || compared < 3 {
		t.Errorf("ran %d blocks and compared %d", ran, compared)
	}
}

var link = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)

// TestLinks follows the links between the documents.
func TestLinks(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../docs/adr/*.md", "../../agentsig/testdata/*.md"} {
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
