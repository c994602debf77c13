//go:build unix

package cli_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/cli"
	"github.com/signalbox-dev/signalbox/internal/command"
)

// newPipe makes a named pipe. Whoever still waits for its other end when the test is over is let go.
func newPipe(t *testing.T, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0); err == nil {
			_ = f.Close() // nothing was written
		}
	})
}

// untilRead returns a context that ends when somebody reads from a pipe, to which a text is written that does not end.
// The text is empty, or longer than a pipe holds: then some of it was read.
func untilRead(t *testing.T, pipe, text string) context.Context {
	t.Helper()
	ctx, interrupt := context.WithCancel(t.Context())
	go func() {
		f, err := os.OpenFile(pipe, os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString(text)
		}
		interrupt()
		<-t.Context().Done()
		if err == nil {
			_ = f.Close() // nobody reads it
		}
	}()
	return ctx
}

// ended runs the command line and returns its exit code; the test fails if it does not end.
func ended(ctx context.Context, t *testing.T, args ...string) (code int, out string) {
	t.Helper()
	var all bytes.Buffer
	done := make(chan int, 1)
	go func() { done <- cli.Run(ctx, args, command.Env{In: strings.NewReader(""), Out: &all, Err: &all}) }()
	select {
	case code := <-done:
		return code, all.String()
	case <-time.After(time.Minute):
		t.Fatalf("%v does not end", args)
		return 0, ""
	}
}

// A command that waits for a pipe's other end, or for what comes through it, ends with the first signal.
func TestInterruptedAtAPipe(t *testing.T) {
	const model = "ask --base-url http://127.0.0.1:1 --model m "
	dir := recordSome(t)
	for _, line := range []string{
		"scan PIPE", "plan check PIPE", "plan show PIPE", "run PIPE", "run --dry-run PIPE",
		"ledger check PIPE", "ledger verify --key PIPE", "ledger prove 1 --key PIPE", "ledger export new --key PIPE",
		"tree check PIPE", "tree run --results PIPE", "restore PIPE --dir NEW", model + "--tools PIPE question", model + "--prompts PROMPTS question",
	} {
		t.Run(line, func(t *testing.T) {
			interrupted, interrupt := context.WithCancel(t.Context())
			interrupt()
			text := strings.Repeat("\n", 1<<16+1)
			if strings.Contains(line, "--key ") || strings.Contains(line, "--prompts ") || strings.HasPrefix(line, "restore ") {
				text = "" // no key or prompt is as long, and no backup begins so: they would not wait for the end
			}
			for what, until := range map[string]func(pipe string) context.Context{
				"nobody writes":      func(string) context.Context { return interrupted },
				"nothing is written": func(pipe string) context.Context { return untilRead(t, pipe, "") },
				"it does not end":    func(pipe string) context.Context { return untilRead(t, pipe, text) },
			} {
				prompts := t.TempDir()
				pipe := filepath.Join(prompts, "base.md")
				newPipe(t, pipe)
				args := strings.Fields(strings.NewReplacer("PIPE", pipe, "PROMPTS", prompts, "NEW", filepath.Join(prompts, "new")).Replace(line))
				if code, out := ended(until(pipe), t, append([]string{"--dir", dir}, args...)...); code != command.ExitInterrupted || out != "" {
					t.Errorf("%s: exit %d: %s", what, code, out)
				}
				if names, err := os.ReadDir(prompts); err != nil || len(names) != 1 {
					t.Errorf("%s: left behind: %v, %v", what, names, err)
				}
			}
		})
	}
}

// What comes through a pipe is read as a file is, whoever comes first.
func TestReadsFromAPipe(t *testing.T) {
	t.Parallel()
	dir, to := recordSome(t, "READY_FOR_REVIEW: T-0\n"), t.TempDir()
	file, pipe := filepath.Join(to, "box.tar.gz"), filepath.Join(to, "pipe")
	if code, out := ended(t.Context(), t, "backup", file, "--dir", dir); code != 0 {
		t.Fatalf("exit %d: %s", code, out)
	}
	packed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	newPipe(t, pipe)
	for _, c := range []struct {
		args    []string
		written []byte
		says    string
	}{
		{[]string{"scan", pipe}, []byte("READY_FOR_REVIEW: T-1\n"), "READY_FOR_REVIEW: T-1; next: "},
		{[]string{"restore", pipe, "--dir", filepath.Join(to, "new")}, packed, "on 1 work item restored to "},
		{[]string{"restore", pipe, "--dir", filepath.Join(to, "other")}, packed[:len(packed)-1], "it was cut off"},
	} {
		written := make(chan error, 1)
		go func() {
			f, err := os.OpenFile(pipe, os.O_WRONLY, 0)
			if err == nil {
				_, err = f.Write(c.written)
				err = errors.Join(err, f.Close())
			}
			written <- err
		}()
		_, out := ended(t.Context(), t, c.args...)
		if err := <-written; err != nil || !strings.Contains(out, c.says) {
			t.Errorf("%v: %v: %s", c.args, err, out)
		}
	}
}
