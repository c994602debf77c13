//go:build linux

package e2e_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// isAlone is set where the tests run in a network of their own.
const isAlone = "SIGNALBOX_TEST_ALONE"

// notAlone is the exit code of tests that could not bring their network up.
const notAlone = 86

// alone runs the tests in a network that is nothing but loopback, so that whatever an
// agent's program tries reaches nobody. It reports false where that was done already, or
// can't be: then real agents are not tested.
func alone() (code int, done bool) {
	if os.Getenv(isAlone) != "" {
		if err := raiseLoopback(); err != nil {
			fmt.Fprintf(os.Stderr, "loopback: %v\n", err)
			return notAlone, true
		}
		return 0, false
	}
	cmd := exec.CommandContext(context.Background(), "/proc/self/exe", os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), isAlone+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN}
	}
	runtime.LockOSThread() // the child dies with the thread that started it
	defer runtime.UnlockOSThread()
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt) // they are the tests' own
	defer signal.Stop(interrupts)
	err := cmd.Run()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() == notAlone {
		fmt.Fprintf(os.Stderr, "a network of its own can't be had, so real agents are not tested: %v\n", err)
		return 0, false
	}
	return cmd.ProcessState.ExitCode(), true
}

// raiseLoopback brings the loopback interface up, as ip link set lo up does.
func raiseLoopback() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(socket) }()
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, lo)
}
