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

// untilRead returns a context that ends when somebody reads from a pipe, to which nothing is written.
func untilRead(t *testing.T, pipe string) context.Context {
	t.Helper()
	ctx, interrupt := context.WithCancel(t.Context())
	go func() {
		f, err := os.OpenFile(pipe, os.O_WRONLY, 0)
		interrupt()
		<-t.Context().Done()
		if err == nil {
			_ = f.Close() // nothing was written
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
	case <-time.After(10 * time.Second):
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
		"tree check PIPE", "tree run --results PIPE", model + "--tools PIPE question", model + "--prompts PROMPTS question",
	} {
		t.Run(line, func(t *testing.T) {
			prompts := t.TempDir()
			pipe := filepath.Join(prompts, "base.md")
			newPipe(t, pipe)
			args := strings.Fields(strings.NewReplacer("PIPE", pipe, "PROMPTS", prompts).Replace(line))
			args = append(args, "--dir", dir)
			interrupted, interrupt := context.WithCancel(t.Context())
			interrupt()
			if code, out := ended(interrupted, t, args...); code != command.ExitInterrupted || out != "" {
				t.Errorf("nobody writes: exit %d: %s", code, out)
			}
			if code, out := ended(untilRead(t, pipe), t, args...); code != command.ExitInterrupted || out != "" {
				t.Errorf("nothing is written: exit %d: %s", code, out)
			}
		})
	}
}

// What comes through a pipe is read as a file is, whoever comes first.
func TestReadsFromAPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "output")
	newPipe(t, pipe)
	written := make(chan error, 1)
	go func() {
		f, err := os.OpenFile(pipe, os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString("READY_FOR_REVIEW: T-1\n")
			err = errors.Join(err, f.Close())
		}
		written <- err
	}()
	code, out := ended(t.Context(), t, "scan", pipe)
	if err := <-written; err != nil || code != 0 || !strings.Contains(out, "READY_FOR_REVIEW: T-1; next: ") {
		t.Errorf("%v, exit %d: %s", err, code, out)
	}
}
