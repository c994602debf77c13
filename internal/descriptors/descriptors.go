// Package descriptors shares out what this process may have open: connections get a part, so that they
// can't take what the box needs for its files; and a shortage that passes is waited out.
package descriptors

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"
)

// What is kept for files, programs and all else that is not a connection: half of what there is, and no
// more than this. A seal has 64 files open at once, a git command half a dozen.
const mostKept = 1024

// ForConnections returns how many connections may be open at once.
func ForConnections() int { return forConnections(limit()) }

func forConnections(limit int) int { return limit - min(limit/2, mostKept) }

// Patience is for how long a shortage is waited out.
const Patience = 30 * time.Second

// The pause before open is called again grows from the first to the longest.
const (
	pauseFirst   = time.Millisecond
	pauseLongest = 250 * time.Millisecond
)

// WaitOut calls open, and again while it fails because no descriptor is to be had, for [Patience] at
// most. What open does may be done twice. It must not write to a file or sync one and report that as
// anything but the error of package os: such an error is never taken for a shortage.
//
// It takes no context: what a box that stops has left to write has to be written.
func WaitOut(open func() error) error {
	var begun time.Time
	for pause := pauseFirst; ; pause = min(2*pause, pauseLongest) {
		err := open()
		if !Short(err) {
			return err
		}
		if begun.IsZero() {
			begun = time.Now()
		}
		if time.Since(begun) >= Patience {
			return fmt.Errorf("no file descriptor was to be had for %v: raise the limit (`ulimit -n`), or end what has so much open: %w", Patience, err)
		}
		time.Sleep(pause)
	}
}

// Short reports whether an error says that this process, or the machine, has no descriptor left for
// what was to be opened. A write or a sync that failed is no shortage, whatever the file system says:
// nobody knows what is on the disk then.
func Short(err error) bool {
	if !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) {
		return false
	}
	var of *fs.PathError
	return !errors.As(err, &of) || of.Op != "sync" && of.Op != "write"
}
