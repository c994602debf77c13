//go:build linux

package chaos

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestPlanned has 64 clients work while people do to a cluster what they may.
func TestPlanned(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	t.Parallel() // it mostly waits
	build(t, later, "-X github.com/signalbox-dev/signalbox/internal/box.level=2")
	w := newCluster(t, 0)
	l := newLoad(w, 1, 100*time.Millisecond)
	defer l.end()
	p := &planned{world: w, l: l}
	a, b, c := w.boxes[0], w.boxes[1], w.boxes[2]

	p.step("restart, the leader last", func() {
		for _, m := range p.leaderLast() {
			p.restarted(m, "")
		}
	})
	p.step("hand-over of the leader", func() { p.restarted(w.leader(), "") })
	p.step("upgrade, the leader last", func() {
		for _, m := range p.leaderLast() {
			p.restarted(m, later)
		}
		p.wait("the level is 2", func() bool { s, err := a.status(); return err == nil && s.Level == 2 })
	})
	p.step("a program from before", func() {
		if err := c.stop(); err != nil {
			t.Error(err)
		}
		c.program = ""
		if err := c.try(); err == nil || !strings.Contains(err.Error(), "level 2") {
			t.Errorf("a program that knows level 1 starts with %v", err)
			c.kill()
		}
		c.program = later
		c.start()
	})
	p.step("three to one", func() {
		for _, m := range []*machine{c, b} {
			a.must("cluster", "leave", m.name)
			p.wait(m.name+" stops", func() bool { return !m.lives() })
			w.healthy()
		}
	})
	p.step("one to three", func() {
		for _, m := range []*machine{b, c} {
			m.empty()
			m.join(a)
		}
	})
	p.step("a member with an empty disk", func() {
		c.kill()
		c.empty()
		c.redeem(strings.TrimSpace(a.must("cluster", "replace", c.name)))
	})
	p.step("a member that rejoins", func() {
		m := w.follower(0)
		m.signal(syscall.SIGTERM)
		m.gone()
		if err := m.rejoin(); err != nil {
			t.Fatal(err)
		}
		m.start()
	})
	p.step("the leader is taken out, and comes back", func() {
		m := w.leader()
		o := w.follower(0)
		o.must("cluster", "leave", m.name)
		p.wait(m.name+" stops", func() bool { return !m.lives() })
		m.empty()
		m.join(o)
	})
	l.end()
	t.Log(l.judge(w.close()))
}

// planned is what people do, step by step.
type planned struct {
	*world
	l *load
}

// step does something, and waits until the cluster is well and records.
func (p *planned) step(what string, do func()) {
	p.t.Helper()
	from, begun := p.l.now(), time.Now()
	do()
	p.healthy()
	if err := p.l.progress(p.t.Context(), 50); err != nil {
		p.t.Fatalf("after %s: %v", what, err)
	}
	p.t.Logf("%s: %.1f s, silent for %.2f s", what, time.Since(begun).Seconds(), p.l.silence(from, p.l.now()).Seconds())
}

// leaderLast are all boxes.
func (p *planned) leaderLast() (all []*machine) {
	leader := p.leader()
	for _, m := range p.boxes {
		if m != leader {
			all = append(all, m)
		}
	}
	return append(all, leader)
}

// restarted stops a box as a person does, and starts it with a program.
func (p *planned) restarted(m *machine, program string) {
	p.t.Helper()
	if err := m.stop(); err != nil {
		p.t.Errorf("%s stopped with %v", m.name, err)
	}
	m.program = program
	m.start()
	p.healthy()
}

// wait waits until something is so.
func (w *world) wait(what string, so func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(patience); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("not after %v: %s", patience, what)
		}
	}
}

// empty has the machine have a new disk.
func (m *machine) empty() {
	if err := os.RemoveAll(m.dir); err != nil {
		m.w.t.Fatal(err)
	}
}
