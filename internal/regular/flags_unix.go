//go:build unix

package regular

import "syscall"

const (
	nonblock = syscall.O_NONBLOCK // a pipe is opened without waiting for who writes to it
	nofollow = syscall.O_NOFOLLOW
)
