//go:build linux

package e2e_test

import (
	"math/rand/v2"
	"os"
	"time"
)

// slowTo has what goes between the machine and another one, both ways, go over a wire that takes its time and loses a part of all packets.
// It is made of two TUN devices, whose packets are passed on here, as not every kernel has netem.
func (m *machine) slowTo(o *machine, delay time.Duration, loss float64) {
	t := m.net.t
	t.Helper()
	ends, name := []*machine{m, o}, "slow-"+m.port
	var wires [2]*os.File
	for i, end := range ends {
		wires[i] = end.TUN(t, name)
		t.Cleanup(func() { _ = wires[i].Close() })
		m.net.ip(end.Namespace, "link", "set", name, "up")
		m.net.ip(end.Namespace, "route", "add", ends[1-i].addr+"/32", "dev", name, "src", end.addr)
	}
	for i := range wires {
		pass(wires[i], wires[1-i], delay, loss, rand.New(rand.NewPCG(1, uint64(i))))
	}
}

// pass passes packets on until one of the wires is closed.
func pass(from, to *os.File, delay time.Duration, loss float64, random *rand.Rand) {
	type packet struct {
		due  time.Time
		data []byte
	}
	waiting := make(chan packet, 4096) // a wire that is full loses the rest
	go func() {
		defer close(waiting)
		buf := make([]byte, 1<<16)
		for {
			n, err := from.Read(buf)
			if err != nil {
				return
			}
			if random.Float64() < loss {
				continue
			}
			select {
			case waiting <- packet{time.Now().Add(delay), append([]byte(nil), buf[:n]...)}:
			default:
			}
		}
	}()
	go func() {
		for p := range waiting {
			time.Sleep(time.Until(p.due)) // it is on the wire
			_, _ = to.Write(p.data)       // who is not there hears nothing
		}
	}()
}
