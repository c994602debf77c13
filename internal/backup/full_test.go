//go:build unix

package backup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What this machine can't do is said as what it is: a backup that can't be unpacked here is not a damaged one.
func TestMachineIsNotDamage(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	u := unpacker{ctx: t.Context(), root: root}
	if err := root.Close(); err != nil {
		t.Fatal(err)
	}
	if err := u.write("sessions/S-1/x", strings.NewReader("x")); !errors.Is(err, os.ErrClosed) || errors.Is(err, ErrDamaged) {
		t.Errorf("a directory can't be made: %v", err)
	}
	if err := u.write("x", strings.NewReader("x")); !errors.Is(err, os.ErrClosed) || errors.Is(err, ErrDamaged) {
		t.Errorf("a file can't be made: %v", err)
	}
	for _, code := range []syscall.Errno{syscall.ENOSPC, syscall.EACCES, syscall.EROFS, syscall.EIO, syscall.EDQUOT} {
		err := unverified(&os.PathError{Op: "open", Path: filepath.Join("x", "y"), Err: code})
		if !errors.Is(err, code) || errors.Is(err, ErrDamaged) || inTheWay(code) {
			t.Errorf("%v: %v", code, err)
		}
	}
	if err := unverified(context.Canceled); !errors.Is(err, context.Canceled) || errors.Is(err, ErrDamaged) {
		t.Errorf("stopped: %v", err)
	}
	for _, err := range []error{errors.New("it is wrong"), &os.PathError{Op: "open", Path: "x", Err: syscall.ENOENT}} {
		if !errors.Is(unverified(err), ErrDamaged) {
			t.Errorf("not damage: %v", err)
		}
	}
}
