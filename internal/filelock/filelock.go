// Package filelock keeps a directory for one process: a file is locked for as long as
// the process lives, however it ends, and anybody can see whether it is.
package filelock

import "errors"

// ErrTaken is returned if another process has the lock.
var ErrTaken = errors.New("another process has the lock")

// ErrUnsupported is returned where files can't be locked.
var ErrUnsupported = errors.New("files are locked on Linux and macOS only")
