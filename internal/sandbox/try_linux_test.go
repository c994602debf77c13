//go:build amd64 || arm64

package sandbox_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tries are what takes more than a shell. Each returns nil if it got what it was after.
var tries = map[string]func() error{
	"tcp":       func() error { return dial("tcp", os.Getenv("TCP")) },
	"socket":    func() error { return dial("unix", os.Getenv("SOCKET")) },
	"abstract":  func() error { return dial("unix", os.Getenv("ABSTRACT")) },
	"udp":       tryUDP,
	"datagrams": tryDatagrams,
	"packet":    func() error { return justSocket(unix.AF_PACKET, unix.SOCK_DGRAM) },
	"vsock":     func() error { return justSocket(unix.AF_VSOCK, unix.SOCK_STREAM) },
	"uring":     tryUring,
	"limit":     tryLimit,
	"type":      tryType,
	"ptrace":    tryPtrace,
	"memory":    tryMemory,
	"vm":        tryVM,
	"pidfd":     tryPidfd,
	"shared":    tryShared,
	"device":    func() error { return unix.Mknod("device", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))) },
	"listen":    tryListen,
	"pair":      tryPair,
	"pty":       tryPty,
	"debug":     tryDebug,
}

func try(name string) error {
	time.AfterFunc(20*time.Second, func() { os.Exit(3) }) // nothing waits for it
	return tries[name]()
}

func number(name string) int {
	n, _ := strconv.Atoi(os.Getenv(name))
	return n
}

func is(got []byte, want string) error {
	if !bytes.HasPrefix(got, []byte(want)) {
		return fmt.Errorf("%w: got %q", errRefused, got)
	}
	return nil
}

func dial(network, address string) error {
	var d net.Dialer
	c, err := d.DialContext(context.Background(), network, address)
	if err != nil {
		return err
	}
	defer c.Close()
	got, err := io.ReadAll(c)
	if err != nil {
		return err
	}
	return is(got, greeting)
}

func tryUDP() error {
	var d net.Dialer
	c, err := d.DialContext(context.Background(), "udp", os.Getenv("UDP"))
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := io.WriteString(c, greeting); err != nil {
		return err
	}
	got := make([]byte, 100)
	n, err := c.Read(got)
	if err != nil {
		return err
	}
	return is(got[:n], greeting)
}

// tryDatagrams sends from one end of a pair to somebody else.
func tryDatagrams() error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	return unix.Sendto(pair[0], []byte(greeting), 0, &unix.SockaddrUnix{Name: os.Getenv("DATAGRAMS")})
}

func justSocket(family, kind int) error {
	fd, err := unix.Socket(family, kind, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// tryUring gets a ring, by which sockets are made that no filter of calls sees.
func tryUring() error {
	var params [120]byte
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0)
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

// tryLimit sets the box the limits that it has.
func tryLimit() error {
	var limit unix.Rlimit
	if err := unix.Prlimit(number("PID"), unix.RLIMIT_CORE, nil, &limit); err != nil {
		return err
	}
	return unix.Prlimit(number("PID"), unix.RLIMIT_CORE, &limit, nil)
}

// tryType types into what is no terminal: who is let try is told so.
func tryType() error {
	null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	letter := byte('x')
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, null.Fd(), unix.TIOCSTI, uintptr(unsafe.Pointer(&letter)))
	if errno == unix.ENOTTY {
		return nil
	}
	return errno
}

func tryPtrace() error {
	runtime.LockOSThread()
	if err := unix.PtraceSeize(number("PID")); err != nil {
		return err
	}
	return unix.PtraceInterrupt(number("PID"))
}

func tryMemory() error {
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", number("PID")))
	if err != nil {
		return err
	}
	defer f.Close()
	got := make([]byte, len(secret))
	if _, err := f.ReadAt(got, int64(number("MEMORY"))); err != nil {
		return err
	}
	return is(got, secret)
}

func tryVM() error {
	got := make([]byte, len(secret))
	local := []unix.Iovec{{Base: &got[0], Len: uint64(len(got))}}
	remote := []unix.RemoteIovec{{Base: uintptr(number("MEMORY")), Len: len(got)}}
	if _, err := unix.ProcessVMReadv(number("PID"), local, remote, 0); err != nil {
		return err
	}
	return is(got, secret)
}

func tryPidfd() error {
	fd, err := unix.PidfdOpen(number("PID"), 0)
	if err != nil {
		return err
	}
	theirs, err := unix.PidfdGetfd(fd, number("TOKEN_FD"), 0)
	if err != nil {
		return err
	}
	got := make([]byte, 100)
	n, err := unix.Pread(theirs, got, 0)
	if err != nil {
		return err
	}
	return is(got[:n], secret)
}

func tryShared() error {
	got, err := unix.SysvShmAttach(number("SHARED"), 0, unix.SHM_RDONLY)
	if err != nil {
		return err
	}
	return is(got, secret)
}

// tryListen reaches a server of its own.
func tryListen() error {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go greetAll(l)
	return dial("tcp", l.Addr().String())
}

func tryPair() error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if _, err := unix.Write(pair[0], []byte(greeting)); err != nil {
		return err
	}
	got := make([]byte, 100)
	n, err := unix.Read(pair[1], got)
	if err != nil {
		return err
	}
	return is(got[:n], greeting)
}

// tryPty makes a terminal, as programs do that run others in one.
func tryPty() error {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer master.Close()
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		return err
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		return err
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer slave.Close()
	return unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80})
}

// tryDebug looks into a child of its own, and ends it.
func tryDebug() error {
	child := exec.CommandContext(context.Background(), "sleep", "1000")
	if err := child.Start(); err != nil {
		return err
	}
	runtime.LockOSThread()
	err := unix.PtraceSeize(child.Process.Pid)
	if kill := child.Process.Kill(); err == nil {
		err = kill
	}
	_ = child.Wait() // it was killed
	return err
}
