package process

import (
	"os"
	"syscall"
	"time"
	"unsafe"
)

const (
	prSetChildSubreaper = 36
	prGetChildSubreaper = 37
)

// AdoptOrphans makes descendants of this process that lose their parent its children, so
// that [EndOrphans] finds them, whatever they left or wiped.
func AdoptOrphans() error {
	if _, _, errno := syscall.Syscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); errno != 0 {
		return errno
	}
	return nil
}

// EndOrphans kills all children of this process, and those that they leave, until there are
// none; that there always are is an error. It does nothing in a process that has not adopted any.
// No program that this process has started may be running.
func EndOrphans() error {
	var adopts int32
	_, _, errno := syscall.Syscall(syscall.SYS_PRCTL, prGetChildSubreaper, uintptr(unsafe.Pointer(&adopts)), 0)
	if errno != 0 || adopts == 0 {
		return nil
	}
	for range sweeps {
		children := 0
		pids, err := all()
		if err != nil {
			return err
		}
		for _, pid := range pids {
			if s, ok := statOf(pid); !ok || s.parent != os.Getpid() {
				continue
			}
			children++
			_ = syscall.Kill(pid, syscall.SIGKILL) // it is a child, so nobody else has its number
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		}
		if children == 0 {
			return nil
		}
		time.Sleep(2 * time.Millisecond)
	}
	return errTooFast
}
