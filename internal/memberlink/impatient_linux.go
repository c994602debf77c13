package memberlink

import (
	"syscall"
	"time"
)

// tcpUserTimeout is TCP_USER_TIMEOUT, in milliseconds (tcp(7)).
const tcpUserTimeout = 18

// impatient has the system break a connection whose other side acknowledges nothing for so long: where a cable is cut, nothing else says so for minutes.
func impatient(long time.Duration) func(network, address string, c syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) error {
		var err error
		if called := c.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(long.Milliseconds()))
		}); called != nil {
			return called
		}
		return err
	}
}
