//go:build linux

package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// machines are network namespaces, each with an interface of its own to one bridge, which is in another namespace: a switch, whose
// ports a test takes the cable out of. They end with the test, and whatever still runs on them then fails it.
type machines struct {
	t   *testing.T
	hub string // the switch's namespace
	all []*machine
}

// machine is one namespace.
type machine struct {
	net  *machines
	name string // of the namespace
	addr string
	port string // its cable, at the switch
}

// networks counts those of this process, whose names have its number too.
var networks atomic.Int64

// newMachines makes so many machines, or skips the test and says why.
func newMachines(t *testing.T, count int) *machines {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("NOT TESTED: network namespaces are root's to make")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skipf("NOT TESTED: there is no ip to make network namespaces with (iproute2): %v", err)
	}
	prefix := fmt.Sprintf("sbx%d-%d-", os.Getpid(), networks.Add(1))
	n := &machines{t: t, hub: prefix + "hub"}
	t.Cleanup(n.end)
	if err := runIP("netns", "add", n.hub); err != nil {
		t.Skipf("NOT TESTED: no network namespace can be made: %v", err)
	}
	steps := [][]string{{"-n", n.hub, "link", "add", "name", "switch", "type", "bridge"}, {"-n", n.hub, "link", "set", "switch", "up"}}
	for i := range count {
		m := &machine{net: n, name: prefix + strconv.Itoa(i), addr: fmt.Sprintf("10.77.0.%d", i+1), port: fmt.Sprintf("p%d", i)}
		n.all = append(n.all, m)
		steps = append(steps,
			[]string{"netns", "add", m.name},
			[]string{"-n", n.hub, "link", "add", "name", m.port, "type", "veth", "peer", "name", "eth0", "netns", m.name},
			[]string{"-n", n.hub, "link", "set", m.port, "master", "switch", "up"},
			[]string{"-n", m.name, "link", "set", "lo", "up"},
			[]string{"-n", m.name, "address", "add", m.addr + "/24", "dev", "eth0"},
			[]string{"-n", m.name, "link", "set", "eth0", "up"})
	}
	for _, s := range steps {
		if err := runIP(s...); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// runIP runs ip.
func runIP(args ...string) error {
	out, err := exec.CommandContext(context.Background(), "ip", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return nil
}

func (n *machines) ip(args ...string) {
	n.t.Helper()
	if err := runIP(args...); err != nil {
		n.t.Fatal(err)
	}
}

// end takes the machines away.
func (n *machines) end() {
	for _, m := range n.all {
		if left := m.processes(); len(left) > 0 {
			if !n.t.Failed() {
				n.t.Errorf("on %s are left %v", m.name, left)
			}
			m.die()
		}
	}
	for _, m := range n.all {
		_ = runIP("netns", "delete", m.name) // it may not have been made
	}
	_ = runIP("netns", "delete", n.hub)
}

// within returns a command as it is run on the machine. It sees the files of all, but for the hidden directory.
func (m *machine) within(hidden string, command ...string) []string {
	inside := []string{"ip", "netns", "exec", m.name}
	if hidden != "" { // ip gives what it runs a mount namespace of its own
		inside = append(inside, "sh", "-c", `mount -t tmpfs -o size=16k none "$0" && exec "$@"`, hidden)
	}
	return append(inside, command...)
}

// processes are those on the machine.
func (m *machine) processes() (all []proc) {
	at, err := os.Stat(filepath.Join("/run/netns", m.name))
	if err != nil {
		return nil
	}
	return living(func(p proc) bool {
		its, err := os.Stat(fmt.Sprintf("/proc/%d/ns/net", p.pid))
		return err == nil && os.SameFile(at, its)
	})
}

// signal sends a signal to all that runs on the machine, and reports whether there was anything.
func (m *machine) signal(s syscall.Signal) bool {
	all := m.processes()
	for _, p := range all {
		_ = syscall.Kill(p.pid, s) // it may have ended by itself
	}
	return len(all) > 0
}

// die ends all that runs on the machine, as if somebody had pulled its plug.
func (m *machine) die() {
	m.signal(syscall.SIGSTOP) // so that none begins another while they are ended
	for m.signal(syscall.SIGKILL) {
	}
}

// stop has everything on the machine stand still, also what is begun meanwhile.
func (m *machine) stop() {
	for range 3 {
		m.signal(syscall.SIGSTOP)
	}
}

func (m *machine) goOn() { m.signal(syscall.SIGCONT) }

// unplug takes the machine's cable out, both ways and without a word to anybody, and plug puts it in again.
func (m *machine) unplug() { m.net.ip("-n", m.net.hub, "link", "set", m.port, "down") }
func (m *machine) plug()   { m.net.ip("-n", m.net.hub, "link", "set", m.port, "up") }

// nobody is the hardware address of no machine.
const nobody = "02:00:00:00:00:99"

// losesTo has all that the machine sends to another go to nobody, until it is undone. What the other sends arrives.
func (m *machine) losesTo(o *machine) {
	m.net.ip("-n", m.name, "neighbor", "replace", o.addr, "lladdr", nobody, "nud", "permanent", "dev", "eth0")
}

func (m *machine) findsAgain(o *machine) {
	m.net.ip("-n", m.name, "neighbor", "delete", o.addr, "dev", "eth0")
}

// inside does something in the machine's network: a socket that is opened there stays in it.
func (m *machine) inside(do func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	own, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return err
	}
	defer func() { _ = own.Close() }()
	there, err := os.Open(filepath.Join("/run/netns", m.name))
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

// dialer returns what carries requests to whoever listens at an address on the machine, which is asked for at each connection.
func (m *machine) dialer(address func() (string, error)) *http.Transport {
	return &http.Transport{DialContext: func(ctx context.Context, network, _ string) (conn net.Conn, err error) {
		at, err := address()
		if err != nil {
			return nil, err
		}
		err = m.inside(func() (err error) {
			conn, err = (&net.Dialer{}).DialContext(ctx, network, at)
			return err
		})
		return conn, err
	}}
}
