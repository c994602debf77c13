//go:build linux

package chaos

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/nettest"
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
	nettest.Namespace
	number int
	addr   string
	device *os.File
}

// mtu is large, so that few packets pass through this process.
const mtu = 16000

// newNetwork makes so many machines, or skips the test and says why.
func newNetwork(t *testing.T, count int) *network {
	t.Helper()
	prefix := nettest.Prefix(t)
	n := &network{t: t, wires: map[[2]int]*wire{}, done: make(chan struct{})}
	t.Cleanup(n.end)
	for i := range count {
		h := &host{Namespace: nettest.Add(t, prefix+strconv.Itoa(i)), number: i, addr: fmt.Sprintf("10.79.0.%d", i+1)}
		n.hosts = append(n.hosts, h)
		h.device = h.TUN(t, "wire")
		for _, args := range [][]string{
			{"address", "add", h.addr + "/24", "dev", "wire"},
			{"link", "set", "wire", "mtu", strconv.Itoa(mtu), "up"},
		} {
			if err := h.IP(args...); err != nil {
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
		if err := h.Delete(); err != nil {
			n.t.Error(err)
		}
	}
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
