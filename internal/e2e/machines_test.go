//go:build linux

package e2e_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/nettest"
)

// machines are network namespaces, each with an interface of its own to one bridge, which is in another namespace: a switch, whose
// ports a test takes the cable out of. They end with the test, and whatever still runs on them then fails it.
type machines struct {
	t   *testing.T
	hub nettest.Namespace // the switch's
	all []*machine
}

// machine is one namespace.
type machine struct {
	nettest.Namespace
	net  *machines
	addr string
	port string // its cable, at the switch
}

// newMachines makes so many machines, or skips the test and says why.
func newMachines(t *testing.T, count int) *machines {
	t.Helper()
	prefix := nettest.Prefix(t)
	n := &machines{t: t, hub: nettest.Add(t, prefix+"hub")}
	t.Cleanup(n.end)
	onHub := func(args ...string) { n.ip(n.hub, args...) }
	onHub("link", "add", "name", "switch", "type", "bridge")
	onHub("link", "set", "switch", "up")
	for i := range count {
		m := &machine{Namespace: nettest.Add(t, prefix+strconv.Itoa(i)), net: n, addr: fmt.Sprintf("10.77.0.%d", i+1), port: fmt.Sprintf("p%d", i)}
		n.all = append(n.all, m)
		onHub("link", "add", "name", m.port, "type", "veth", "peer", "name", "eth0", "netns", string(m.Namespace))
		onHub("link", "set", m.port, "master", "switch", "up")
		n.ip(m.Namespace, "address", "add", m.addr+"/24", "dev", "eth0")
		n.ip(m.Namespace, "link", "set", "eth0", "up")
	}
	return n
}

func (n *machines) ip(of nettest.Namespace, args ...string) {
	n.t.Helper()
	if err := of.IP(args...); err != nil {
		n.t.Fatal(err)
	}
}

// end takes the machines away.
func (n *machines) end() {
	for _, m := range n.all {
		if left := m.processes(); len(left) > 0 {
			if !n.t.Failed() {
				n.t.Errorf("on %s are left %v", m.Namespace, left)
			}
			m.die()
		}
	}
	for _, m := range n.all {
		if err := m.Delete(); err != nil {
			n.t.Error(err)
		}
	}
	if err := n.hub.Delete(); err != nil {
		n.t.Error(err)
	}
}

// within returns a command as it is run on the machine. It sees the files of all, but for the hidden directory.
func (m *machine) within(hidden string, command ...string) []string {
	inside := []string{"ip", "netns", "exec", string(m.Namespace)}
	if hidden != "" { // ip gives what it runs a mount namespace of its own
		inside = append(inside, "sh", "-c", `mount -t tmpfs -o size=16k none "$0" && exec "$@"`, hidden)
	}
	return append(inside, command...)
}

// processes are those on the machine.
func (m *machine) processes() (all []proc) {
	for _, pid := range m.Processes() {
		if p, ok := look(pid); ok {
			all = append(all, p)
		}
	}
	return all
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
func (m *machine) unplug() { m.net.ip(m.net.hub, "link", "set", m.port, "down") }
func (m *machine) plug()   { m.net.ip(m.net.hub, "link", "set", m.port, "up") }

// nobody is the hardware address of no machine.
const nobody = "02:00:00:00:00:99"

// losesTo has all that the machine sends to another go to nobody, until it is undone. What the other sends arrives.
func (m *machine) losesTo(o *machine) {
	m.net.ip(m.Namespace, "neighbor", "replace", o.addr, "lladdr", nobody, "nud", "permanent", "dev", "eth0")
}

func (m *machine) findsAgain(o *machine) {
	m.net.ip(m.Namespace, "neighbor", "delete", o.addr, "dev", "eth0")
}

// dialer returns what carries requests to whoever listens at an address on the machine, which is asked for at each connection.
func (m *machine) dialer(address func() (string, error)) *http.Transport {
	return &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		at, err := address()
		if err != nil {
			return nil, err
		}
		return m.Dial(ctx, network, at)
	}}
}
