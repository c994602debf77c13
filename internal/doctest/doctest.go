// Package doctest does what a document says, for tests: it has the document's blocks of code, and a
// shell to paste them into.
package doctest

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A Block is a fenced block of a document, with what stands behind the fence.
type Block struct{ Kind, Text string }

var fenced = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

// Blocks reads the blocks of a document.
func Blocks(t *testing.T, path string) (blocks []Block) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range fenced.FindAllStringSubmatch(string(data), -1) {
		blocks = append(blocks, Block{m[1], m[2]})
	}
	return blocks
}

// A Shell is one that a person pastes into.
type Shell struct {
	t     *testing.T
	in    io.Writer
	lines *bufio.Scanner
}

// NewShell starts a shell, which ends with the test. Programs that it installs are in bin.
func NewShell(t *testing.T, bin string) *Shell {
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
	return &Shell{t, in, bufio.NewScanner(out)}
}

// Paste runs commands and returns what they print.
func (s *Shell) Paste(commands string) string {
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
