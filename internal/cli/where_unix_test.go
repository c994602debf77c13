//go:build unix

package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Writing to a pipe that nobody reads ends when the command is interrupted.
func TestWriteNamedInterrupted(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	done := make(chan error, 1)
	go func() {
		done <- writeNamed(interrupted, pipe, os.O_TRUNC, func(w io.Writer) error {
			_, err := io.WriteString(w, "text")
			return err
		})
	}()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("it does not end")
	}
	// What still waits is let go, and has ended before its directory is removed.
	if text, err := os.ReadFile(pipe); string(text) != "text" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}
