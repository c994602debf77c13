//go:build linux

package nettest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// networks counts those of this process.
var networks atomic.Int64

// Prefix returns what the names of a network's namespaces begin with, which no other network's do. Where none can be made it skips the test, and says why.
func Prefix(t *testing.T) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("NOT TESTED: network namespaces are root's to make")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skipf("NOT TESTED: there is no ip to make network namespaces with (iproute2): %v", err)
	}
	return fmt.Sprintf("sb%d-%d-", os.Getpid(), networks.Add(1))
}

// IP runs ip.
func IP(args ...string) error {
	out, err := exec.CommandContext(context.Background(), "ip", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return nil
}

// Namespace is the name of one.
type Namespace string

// Add makes a namespace, whose loopback is up. Where that is refused it skips the test, and says why. The caller deletes it.
func Add(t *testing.T, name string) Namespace {
	t.Helper()
	if err := IP("netns", "add", name); err != nil {
		t.Skipf("NOT TESTED: no network namespace can be made: %v", err)
	}
	n := Namespace(name)
	if err := n.IP("link", "set", "lo", "up"); err != nil {
		_ = n.Delete() // it is of no use
		t.Fatal(err)
	}
	return n
}

// Delete ends the namespace. Processes that are still there keep its network.
func (n Namespace) Delete() error { return IP("netns", "delete", string(n)) }

// IP runs ip for what the namespace has.
func (n Namespace) IP(args ...string) error { return IP(append([]string{"-n", string(n)}, args...)...) }

// TUN makes a device in the namespace whose packets are read from and written to the file. Where that is refused it skips the test, and says why.
func (n Namespace) TUN(t *testing.T, name string) *os.File {
	t.Helper()
	var device *os.File
	if err := n.Inside(func() (err error) { device, err = openTUN(name); return err }); err != nil {
		t.Skipf("NOT TESTED: no TUN device can be made: %v", err)
	}
	return device
}

func openTUN(name string) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("/dev/net/tun: %w", err)
	}
	device, err := unix.NewIfreq(name)
	if err == nil {
		device.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, device)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// Inside does something in the namespace: a socket or a process that begins there stays in it.
func (n Namespace) Inside(do func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	own, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return err
	}
	defer func() { _ = own.Close() }()
	there, err := os.Open(n.file())
	if err != nil {
		return err
	}
	defer func() { _ = there.Close() }()
	if err := unix.Setns(int(there.Fd()), unix.CLONE_NEWNET); err != nil {
		return err
	}
	defer func() {
		if err := unix.Setns(int(own.Fd()), unix.CLONE_NEWNET); err != nil {
			panic(err) // whoever gets this thread next would be in another network
		}
	}()
	return do()
}

func (n Namespace) file() string { return filepath.Join("/run/netns", string(n)) }

// Dial connects to an address from the namespace.
func (n Namespace) Dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	err = n.Inside(func() (err error) {
		conn, err = (&net.Dialer{}).DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// Processes are the numbers of those in the namespace.
func (n Namespace) Processes() (all []int) {
	at, err := os.Stat(n.file())
	if err != nil {
		return nil
	}
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is right
	for _, dir := range dirs {
		its, err := os.Stat(filepath.Join(dir, "ns/net"))
		if pid, bad := strconv.Atoi(filepath.Base(dir)); err == nil && bad == nil && os.SameFile(at, its) {
			all = append(all, pid)
		}
	}
	return all
}
