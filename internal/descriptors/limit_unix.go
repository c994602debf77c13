//go:build unix

package descriptors

import (
	"math"
	"syscall"
)

// few is taken for the limit if the system does not tell it.
const few = 256

// limit returns how many descriptors this process may have. Package os has raised it as far as it may.
func limit() int {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return few
	}
	return int(min(uint64(l.Cur), math.MaxInt32))
}
