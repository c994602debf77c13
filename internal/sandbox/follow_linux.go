package sandbox

import (
	"io/fs"
	"syscall"
)

// nonBlocking keeps the opening of a named pipe from waiting.
const nonBlocking = syscall.O_NONBLOCK

// changed is when a file was last changed, in whatever way.
func changed(info fs.FileInfo) int64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ctim.Nano()
	}
	return 0
}
