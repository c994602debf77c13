//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// What can't be had says what to do.
func TestUnavailable(t *testing.T) {
	none, broken := t.TempDir(), t.TempDir()
	check(t, os.WriteFile(filepath.Join(broken, "bwrap"), []byte("#!/bin/sh\nprintf 'no\\033[1mnamespaces'\nexit 1\n"), 0o700))
	bubblewrap := func(path string) error {
		t.Setenv("PATH", path)
		return Available(Bubblewrap)
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{enough(0, unix.ENOSYS), "has no Landlock"},
		{enough(0, unix.EOPNOTSUPP), "or use bubblewrap"},
		{enough(minABI-1, 0), "has ABI 5"},
		{bubblewrap(none), "install bubblewrap"},
		{bubblewrap(broken), `no\x1b[1mnamespaces): permit unprivileged user namespaces`},
	} {
		if !errors.Is(c.err, ErrUnavailable) || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("got %v, want %s", c.err, c.want)
		}
	}
	if err := enough(minABI, 0); err != nil {
		t.Error(err)
	}
}
