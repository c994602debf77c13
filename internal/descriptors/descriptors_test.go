package descriptors

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func opening(err error) error { return &fs.PathError{Op: "open", Path: "f", Err: err} }

// A shortage that passes is waited out; what is none is told at once.
func TestWaitOut(t *testing.T) {
	for _, c := range []struct {
		name  string
		err   error
		again bool
	}{
		{"the process has none left", opening(syscall.EMFILE), true},
		{"the machine has none left", opening(syscall.ENFILE), true},
		{"a directory on the way", &os.LinkError{Op: "renameat", Err: syscall.EMFILE}, true},
		{"a full disk", opening(syscall.ENOSPC), false},
		{"no memory", opening(syscall.ENOMEM), false},
		{"a sync that failed", &fs.PathError{Op: "sync", Path: "f", Err: syscall.EMFILE}, false},
		{"a sync that failed, among others", errors.Join(&fs.PathError{Op: "sync", Path: "f", Err: syscall.ENFILE}, nil), false},
		{"a write that failed", &fs.PathError{Op: "write", Path: "f", Err: syscall.EMFILE}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				err := WaitOut(func() error {
					if calls++; calls < 5 {
						return c.err
					}
					return nil
				})
				if c.again && (err != nil || calls != 5) || !c.again && (!errors.Is(err, c.err) || calls != 1) {
					t.Errorf("%d calls, %v", calls, err)
				}
			})
		})
	}
}

// A shortage that lasts is told after a while, with what to do about it.
func TestWaitOutEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		err := WaitOut(func() error { return opening(syscall.EMFILE) })
		if took := time.Since(begun); !errors.Is(err, syscall.EMFILE) || took < Patience || took > Patience+pauseLongest {
			t.Errorf("after %v: %v", took, err)
		}
	})
}

// Connections never get what files need.
func TestForConnections(t *testing.T) {
	for limit, want := range map[int]int{256: 128, 1024: 512, 4096: 3072, 1 << 20: 1<<20 - 1024} {
		if got := forConnections(limit); got != want {
			t.Errorf("of %d: %d, want %d", limit, got, want)
		}
	}
	if n := ForConnections(); n < 1 {
		t.Errorf("%d connections", n)
	}
}
