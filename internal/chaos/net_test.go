//go:build linux

package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// network is machines as network namespaces. What one sends to another goes through this process, packet by packet, over a wire for each pair and
// direction: it is the switch.
type network struct {
	t     *testing.T
	hosts []*host
	wires map[[2]int]*wire // by who sends, and to whom
	done  chan struct{}
	all   sync.WaitGroup
}

// host is one namespace, with a TUN device.
type host struct {
	number    int
	namespace string
	addr      string
	device    *os.File
}

// networks counts those of this process, whose names have its number too.
var networks atomic.Int64

// mtu is large, so that few packets pass through this process.
const mtu = 16000

// newNetwork makes so many machines, or skips the test and says why.
func newNetwork(t *testing.T, count int) *network {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("NOT TESTED: network namespaces are root's to make")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skipf("NOT TESTED: there is no ip to make network namespaces with (iproute2): %v", err)
	}
	n := &network{t: t, wires: map[[2]int]*wire{}, done: make(chan struct{})}
	t.Cleanup(n.end)
	prefix := fmt.Sprintf("sbc%d-%d-", os.Getpid(), networks.Add(1))
	for i := range count {
		h := &host{number: i, namespace: prefix + strconv.Itoa(i), addr: fmt.Sprintf("10.79.0.%d", i+1)}
		if err := ip("netns", "add", h.namespace); err != nil {
			t.Skipf("NOT TESTED: no network namespace can be made: %v", err)
		}
		n.hosts = append(n.hosts, h)
		if err := h.inside(func() (err error) { h.device, err = openTUN("wire"); return err }); err != nil {
			t.Skipf("NOT TESTED: no TUN device can be made: %v", err)
		}
		for _, args := range [][]string{
			{"link", "set", "lo", "up"},
			{"address", "add", h.addr + "/24", "dev", "wire"},
			{"link", "set", "wire", "mtu", strconv.Itoa(mtu), "up"},
		} {
			if err := ip(append([]string{"-n", h.namespace}, args...)...); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, from := range n.hosts {
		for _, to := range n.hosts {
			if from != to {
				n.wires[[2]int{from.number, to.number}] = n.newWire(to)
			}
		}
	}
	for _, h := range n.hosts {
		n.all.Go(func() { n.carry(h) })
	}
	return n
}

// end takes the machines away, and returns when nothing passes packets on.
func (n *network) end() {
	close(n.done)
	for _, h := range n.hosts {
		if h.device != nil {
			_ = h.device.Close() // which ends who reads it
		}
	}
	n.all.Wait()
	for _, h := range n.hosts {
		if err := ip("netns", "delete", h.namespace); err != nil {
			n.t.Error(err)
		}
	}
}

// ip runs ip.
func ip(args ...string) error {
	out, err := exec.CommandContext(context.Background(), "ip", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return nil
}

// openTUN makes a device whose packets are read from and written to a file.
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

// inside does something in the machine's network: a socket or a process that begins there stays in it.
func (h *host) inside(do func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	own, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return err
	}
	defer func() { _ = own.Close() }()
	there, err := os.Open(filepath.Join("/run/netns", h.namespace))
	if err != nil {
		return err
	}
	defer func() { _ = there.Close() }()
	if err := unix.Setns(int(there.Fd()), unix.CLONE_NEWNET); err != nil {
		return err
	}
	defer func() {
		if err := unix.Setns(int(own.Fd()), unix.CLONE_NEWNET); err != nil {
			panic(err) // whoever gets this thread next would be on another machine
		}
	}()
	return do()
}

// dial connects to an address on the machine, from there.
func (h *host) dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	err = h.inside(func() (err error) {
		conn, err = (&net.Dialer{}).DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// processes are the numbers of those on the machine.
func (h *host) processes() (all []int) {
	at, err := os.Stat(filepath.Join("/run/netns", h.namespace))
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

// condition is how a wire is.
type condition struct {
	cut   bool
	stall bool          // nothing goes on until it is over; what comes meanwhile waits
	delay time.Duration // of each packet
	rate  int           // bytes a second; 0 for as fast as can be
}

// wire carries packets from one machine to another.
type wire struct {
	waiting chan packet

	mu      sync.Mutex
	now     condition
	changed chan struct{} // closed when now is another
}

type packet struct {
	came time.Time
	data []byte
}

// onWire is how many packets are on a wire at once. What is more is lost.
const onWire = 2048

func (n *network) newWire(to *host) *wire {
	w := &wire{waiting: make(chan packet, onWire), changed: make(chan struct{})}
	n.all.Go(func() {
		for {
			select {
			case p := <-w.waiting:
				if !n.travel(w, p) {
					return
				}
				if _, err := to.device.Write(p.data); errors.Is(err, os.ErrClosed) {
					return
				}
			case <-n.done:
				return
			}
		}
	})
	return w
}

func (w *wire) is() (condition, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now, w.changed
}

func (w *wire) set(c condition) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = c
	close(w.changed)
	w.changed = make(chan struct{})
}

// travel returns when a packet arrives; false if the network has ended.
func (n *network) travel(w *wire, p packet) bool {
	for {
		c, changed := w.is()
		if c.stall {
			select {
			case <-changed:
				continue
			case <-n.done:
				return false
			}
		}
		wait := time.Until(p.came.Add(c.delay))
		if c.rate > 0 {
			wait = max(wait, time.Duration(len(p.data))*time.Second/time.Duration(c.rate))
		}
		if wait <= 0 {
			return true
		}
		select {
		case <-time.After(wait):
			return true
		case <-n.done:
			return false
		}
	}
}

// carry takes what a machine sends, and puts it on the wire to whom it is for.
func (n *network) carry(from *host) {
	buf := make([]byte, 1<<16)
	for {
		size, err := from.device.Read(buf)
		if err != nil {
			return
		}
		if size < 20 || buf[0]>>4 != 4 {
			continue // IPv6 asks who is there
		}
		w := n.wires[[2]int{from.number, int(buf[19]) - 1}]
		if w == nil {
			continue
		}
		if c, _ := w.is(); c.cut {
			continue
		}
		select {
		case w.waiting <- packet{time.Now(), append([]byte(nil), buf[:size]...)}:
		default:
		}
	}
}

// between sets the wires from one machine to another, or from or to all if that is all.
func (n *network) between(from, to int, c condition) {
	for pair, w := range n.wires {
		if (from == anybody || pair[0] == from) && (to == anybody || pair[1] == to) {
			w.set(c)
		}
	}
}

// pair sets both directions between two machines.
func (n *network) pair(a, b int, c condition) {
	n.between(a, b, c)
	n.between(b, a, c)
}

const anybody = -1

// apart sets both directions between a machine and all others.
func (n *network) apart(h int, c condition) {
	n.between(h, anybody, c)
	n.between(anybody, h, c)
}

// calm has all wires whole again.
func (n *network) calm() { n.between(anybody, anybody, condition{}) }
