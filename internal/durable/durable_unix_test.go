//go:build unix

package durable_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/durable"
)

// A pipe with the name that a file has at first is removed, and not written to.
func TestWriteInBesideAPipe(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	pipe := filepath.Join(root.Name(), ".new-file")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a fault fails, and does not wait
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }()
	if err := durable.WriteIn(root, "file", []byte("content")); err != nil {
		t.Fatal(err)
	}
	if data, err := root.ReadFile("file"); err != nil || string(data) != "content" {
		t.Errorf("%q, %v", data, err)
	}
}
