package cli_test

import (
	"bufio"
	"go/format"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
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
	sh := newShell(t, filepath.Join(dir, "bin"))
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
			if strings.HasPrefix(text, "go install") { // in the clone, which stays as it is
				text = "cd '" + module + "'\n" + text + "cd '" + dir + "'\n"
			}
			output = sh.paste(text)
			ran++
		}
	}
	if ran < 5 || compared < 3 {
		t.Errorf("ran %d blocks and compared %d", ran, compared)
	}
}

// shell is a shell that a person pastes into.
type shell struct {
	t     *testing.T
	in    io.Writer
	lines *bufio.Scanner
}

func newShell(t *testing.T, bin string) *shell {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail")
	cmd.Env = append(os.Environ(), "GOBIN="+bin, "PATH="+bin+":"+os.Getenv("PATH"))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = io.WriteString(in, "\nkill $(jobs -p) 2>/dev/null\n") // what a failure left running
		_ = in.Close()
		_ = cmd.Wait()
	})
	return &shell{t, in, bufio.NewScanner(out)}
}

// paste runs commands and returns what they print.
func (s *shell) paste(commands string) string {
	const end = "that was all"
	if _, err := io.WriteString(s.in, commands+"\necho '"+end+"'\n"); err != nil {
		s.t.Fatal(err)
	}
	var out strings.Builder
	for s.lines.Scan() {
		if s.lines.Text() == end {
			return out.String()
		}
		out.WriteString(s.lines.Text() + "\n")
	}
	s.t.Fatalf("the shell ended at\n%s\n%s", commands, out.String())
	return ""
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
