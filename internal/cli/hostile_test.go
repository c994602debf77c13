//go:build unix

package cli_test

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

var hostileMiB = flag.Int("hostile", 4, "MiB of each hostile input to scan; 1024 for the full measure")

// hostileInput is something before, and something without end.
type hostileInput struct{ name, before, endless string }

var hostile = []hostileInput{
	{"endless line", "", "word "},
	{"endless bytes that are no text", "", "\xff\x00"},
	{"endless brackets", "{\"protocol\":", "["},
	{"endless braces", "", "{"},
	{"endless braces, a line each", "", "{\n"},
	{"endless objects", "", "{\"a\":{\"protocol\":1}}\n"},
	{"endless string", "{\"protocol\":\"", "x"},
	{"endless unclosed block", "<signal type=\"need_turn\"><reason>", "more "},
	{"endless opening tags", "", "<signal "},
	{"endless opening tags in inline code", "`", "<signal type=\"stuck\"> "},
	{"endless tags in another case", "", "<SIGNAL type=\"stuck\"> "},
	{"endless closing tags", "", "</signal>"},
	{"endless blocks", "", "<signal type=\"need_turn\"><reason>one more look</reason></signal>\n"},
	{"endless fields", "<signal type=\"stuck\">", "<reason>"},
	{"a million fences", "", "```\n"},
	{"endless backticks", "", "`"},
	{"endless backticks of all lengths", "", "` `` ``` ```` <signal> "},
	{"endless quotes", "", "> > READY_FOR_REVIEW: T-1\n"},
	{"endless signals", "", "READY_FOR_REVIEW: T-1\nSummary: x\n"},
	{"endless near misses", "READY_FOR_REVIEW: T-1\n", "ready_for_review: T-1\n"},
	{"endless name", "", "READY_FOR_REVIEW: "},
	{"endless blank lines", "", "\n"},
	{"endless carriage returns", "READY_FOR_REVIEW: T-1\n", "\r"},
}

// TestHostile scans what a hostile agent might print, within 64 MiB of memory.
func TestHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the program for each input; not with -short")
	}
	binary := filepath.Join(t.TempDir(), "signalbox")
	build := exec.CommandContext(t.Context(), "go", "run", "-exec", "cp", "../../cmd/signalbox", binary) // go run keeps what it has linked
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	megabytes := *hostileMiB
	for _, h := range hostile {
		t.Run(h.name, func(t *testing.T) {
			// A machine that is busy may collect garbage late: what is held is held each time.
			var rss int64
			for range 3 {
				took := time.Now()
				rss = scanHostile(t, binary, h, int64(megabytes)<<20)
				seconds := time.Since(took).Seconds()
				t.Logf("%4d MiB in %6.2f s (%4.0f MiB/s), %2d MiB resident", megabytes, seconds, float64(megabytes)/seconds, rss>>20)
				if rss <= 64<<20 {
					return
				}
			}
			t.Errorf("%d MiB resident, of which 64 are allowed", rss>>20)
		})
	}
}

// scanHostile scans an input, and returns how much memory that took.
func scanHostile(t *testing.T, binary string, h hostileInput, size int64) (rss int64) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, "scan", "--json")
	chunk := strings.Repeat(h.endless, 1+(256<<10)/len(h.endless))
	cmd.Stdin = &atEnd{
		Reader: io.LimitReader(io.MultiReader(strings.NewReader(h.before), &endless{text: chunk}), size),
		end:    func() { rss = residentPeak(cmd.Process.Pid) },
	}
	cmd.Stdout = io.Discard
	err := cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != 0 && code != 1 {
		t.Fatalf("exit code %d: %v", code, err)
	}
	if rss == 0 { // where it can't be read off the process; in bytes on macOS
		rss = cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
	}
	return rss
}

// residentPeak returns the most memory that a process had so far, and 0 where that
// can't be told. What the system counts at its end has the parent's in it.
func residentPeak(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	var kb int64
	if _, err := fmt.Sscan(peak, &kb); err != nil {
		return 0
	}
	return kb << 10
}

// atEnd calls a function when all has been read.
type atEnd struct {
	io.Reader
	end func()
}

func (r *atEnd) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err == io.EOF {
		r.end()
	}
	return n, err
}

// endless reads a text over and over.
type endless struct {
	text string
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.text[e.at:])
	e.at = (e.at + n) % len(e.text)
	return n, nil
}
