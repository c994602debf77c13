//go:build linux

package chaos

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// fault is something that happens to machines. It returns when it is over, and nothing of it is left that has to be undone.
type fault struct {
	kind string
	do   func(r *round)
}

var faults = []fault{
	{"kill -9", func(r *round) {
		m := r.victim()
		m.kill()
		r.hold(time.Second)
		m.start()
	}},
	{"kill -9 of all", func(r *round) {
		for _, m := range r.boxes {
			m.signal(syscall.SIGKILL)
		}
		var starting sync.WaitGroup
		for _, m := range r.boxes {
			m.gone()
			starting.Go(func() {
				if err := m.try(); err != nil {
					r.t.Errorf("%s: %v", m.name, err)
				}
			})
		}
		starting.Wait()
	}},
	{"stop 0.5 s", stopped(500 * time.Millisecond)},
	{"stop 3 s", stopped(3 * time.Second)},
	{"stop 12 s", stopped(12 * time.Second)},
	{"hand-over", func(r *round) {
		m := r.leader()
		if m == nil {
			return
		}
		if err := m.stop(); err != nil {
			r.t.Errorf("%s stopped with %v", m.name, err)
		}
		m.start()
	}},
	{"cut one", func(r *round) {
		r.wires(2500*time.Millisecond, func() { r.net.apart(r.victim().host.number, condition{cut: true}) })
	}},
	{"cut a pair", func(r *round) {
		r.wires(2500*time.Millisecond, func() {
			m := r.victim()
			r.net.pair(m.host.number, r.other(m).host.number, condition{cut: true})
		})
	}},
	{"cut one way", func(r *round) {
		r.wires(2500*time.Millisecond, func() {
			m := r.victim()
			at, other := m.host.number, r.other(m).host.number
			way := [][2]int{{at, anybody}, {anybody, at}, {at, other}, {other, at}}[r.random.IntN(4)]
			r.about += fmt.Sprintf(", %d: from %d to %d", at, way[0], way[1])
			r.net.between(way[0], way[1], condition{cut: true})
		})
	}},
	{"slow links", func(r *round) {
		r.wires(3*time.Second, func() {
			rate := []int{4 << 10, 64 << 10, 512 << 10}[r.random.IntN(3)]
			m := r.victim()
			r.about += fmt.Sprintf(", %d bytes a second", rate)
			r.net.apart(m.host.number, condition{rate: rate})
		})
	}},
	{"stalling links", func(r *round) {
		m := r.victim()
		for range 3 {
			r.wires(700*time.Millisecond, func() { r.net.apart(m.host.number, condition{stall: true}) })
			r.hold(300 * time.Millisecond)
		}
	}},
	{"delay", func(r *round) {
		r.wires(2*time.Second, func() {
			delay := []time.Duration{time.Millisecond, 10 * time.Millisecond}[r.random.IntN(2)]
			r.about = delay.String() + " everywhere"
			r.net.between(anybody, anybody, condition{delay: delay})
		})
	}},
	{"clock offset", func(r *round) {
		offset := []time.Duration{-time.Hour, -time.Minute, time.Minute, time.Hour}[r.random.IntN(4)]
		r.clock(wrong{Offset: offset, Rate: 1})
	}},
	{"clock rate", func(r *round) {
		r.clock(wrong{Rate: []float64{0.5, 0.9, 1.1, 2}[r.random.IntN(4)]})
	}},
	{"full disk", func(r *round) { r.fill(r.boxes[smallDisk]) }},
	{"flipped bit", func(r *round) {
		m := r.victim()
		m.kill()
		kinds := slices.DeleteFunc(slices.Clone(damages), func(d damage) bool { return d.identity || len(d.files(m)) == 0 })
		d := kinds[r.random.IntN(len(kinds))]
		r.flip(m, d)
		r.about += fmt.Sprintf(", %s: %s", d.kind, r.settleDamage(m, m.try()))
	}},
	{"an older directory", func(r *round) {
		m := r.follower(r.random.IntN(2))
		r.about = "one that follows"
		m.kill()
		older := m.copyAway(r.world)
		m.start()
		if err := errors.Join(r.becomesHealthy(patience), r.l.progress(context.Background(), 100)); err != nil {
			r.t.Error(err)
		}
		m.kill()
		m.putBack(older)
		r.about += ": " + r.settleDamage(m, m.try())
	}},
}

func stopped(d time.Duration) func(*round) {
	return func(r *round) {
		m := r.victim()
		m.signal(syscall.SIGSTOP)
		r.hold(d)
		m.signal(syscall.SIGCONT)
	}
}

// wires has something done to wires, for so long.
func (r *round) wires(d time.Duration, do func()) {
	do()
	r.hold(d)
	r.net.calm()
}

// clock has a box run with a clock that is wrong, for a while.
func (r *round) clock(c wrong) {
	m := r.victim()
	if err := m.stop(); err != nil {
		r.t.Errorf("%s stopped with %v", m.name, err)
	}
	c.Dir, c.Listen = m.dir, m.secure()
	r.about += fmt.Sprintf(", by %v, %g times as fast", c.Offset, c.Rate)
	m.wrong = &c
	m.start()
	m.wrong = nil
	if err := r.becomesHealthy(patience); err != nil {
		r.t.Error(err)
	}
	if r.random.IntN(2) == 0 { // it is to lead
		for _, o := range r.boxes {
			if o != m && r.leader() == o {
				o.signal(syscall.SIGSTOP)
				r.hold(1500 * time.Millisecond)
				o.signal(syscall.SIGCONT)
			}
		}
	}
	r.hold(3 * time.Second)
	if err := m.stop(); err != nil {
		r.t.Errorf("%s stopped with %v", m.name, err)
	}
	m.start()
}

// smallDisk is the box whose directory is a disk of its own.
const smallDisk = 2

// ballast is what a disk is filled with.
const ballast = "ballast"

// fill fills a box's disk until it stops, or has gone on for a while, and makes room again.
func (r *round) fill(m *machine) {
	r.about = m.name
	if m == r.leader() {
		r.about += ", the one that leads"
	}
	file, err := os.Create(filepath.Join(m.base, ballast))
	if err != nil {
		r.t.Error(err)
		return
	}
	block := make([]byte, 64<<10)
	for err == nil {
		_, err = file.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		r.t.Error(err)
	}
	select {
	case <-m.process.ended:
		said := m.process.said.String()
		r.about += ", stopped"
		if !strings.Contains(said, syscall.ENOSPC.Error()) {
			r.t.Errorf("%s stopped on a full disk without saying so: %s", m.name, tail(said, 5))
		}
	case <-time.After(4 * time.Second):
		r.about += ", went on"
	}
	if err := errors.Join(file.Close(), os.Remove(file.Name())); err != nil {
		r.t.Error(err)
	}
	if !m.lives() {
		m.start()
	}
}

// damage is a kind of file that a bit is flipped in.
type damage struct {
	kind     string
	in       string // a pattern below the box's directory
	identity bool   // without it nobody knows who the box is: it can't rejoin by itself
}

// damages are all, in the order in which TestDisks does them: those that heal come first.
var damages = []damage{
	{"segment from before the cluster", "archive/log/0*.log", false}, // which the first box has until it rejoins
	{"checkpoint beside the archive", "checkpoint", false},
	{"tile", "archive/tile/[0-9]*/*", false},
	{"bundle", "archive/tile/entries/*", false},
	{"snapshot", "snapshot", false},
	{"index", "index/*", false},
	{"checkpoint", "archive/checkpoint", false},
	{"log segment", "archive/log/member-*.log", false},
	{"cluster.json", "cluster.json", true},
	{"signer.key", "signer.key", true},
	{"tls.key", "tls.key", true},
}

// files are those of a kind that a box has, which have something in them.
func (d damage) files(m *machine) (all []string) {
	pattern := filepath.Join(m.dir, d.in)
	for range 4 {
		found, _ := filepath.Glob(pattern) // the pattern is right
		for _, file := range found {
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
				all = append(all, file)
			}
		}
		if !strings.HasSuffix(d.in, "*") {
			break
		}
		pattern = filepath.Join(pattern, "*")
	}
	return all
}

// flip flips a bit of one of a box's files.
func (r *round) flip(m *machine, d damage) {
	all := d.files(m)
	m.flip(all[r.random.IntN(len(all))], r.random.Float64(), r.random.IntN(8))
}

// flip flips a bit of a file, which is at a part of its length. Doing so again undoes it.
func (m *machine) flip(file string, part float64, bit int) {
	data, err := os.ReadFile(file)
	if err != nil {
		m.w.t.Fatal(err)
	}
	data[int(part*float64(len(data)))] ^= 1 << bit
	if err := os.WriteFile(file, data, 0o600); err != nil {
		m.w.t.Fatal(err)
	}
}

// settleDamage brings a box back that was started on a damaged disk, and says what became of it: it goes on and is whole, or it refuses, or is
// found out, and joins anew.
func (r *round) settleDamage(m *machine, err error) string {
	said := "it refuses"
	if err == nil {
		said = "it starts, and does not go on"
		if err = r.settled(m); err == nil {
			if _, err = m.run("ledger", "verify"); err == nil { // as its own check in the background does by and by
				return "it goes on"
			}
			said = "it goes on, and ledger verify says so"
		}
		m.kill()
	}
	if words := explained(err); words == "" {
		r.t.Errorf("%s refuses without words: %v", m.name, err)
	}
	if rejoining := m.rejoin(); rejoining != nil {
		r.t.Fatalf("%s can't rejoin: %v, after %v", m.name, rejoining, err)
	}
	m.start()
	return said + ", and rejoins: " + brief(err)
}

// settled waits until a box that was started takes part, or has ended; it returns what it said then.
func (r *round) settled(m *machine) error {
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if !m.lives() {
			return fmt.Errorf("%w: %s", errEnded, tail(m.process.said.String(), 3))
		}
		if r.unwell() == "" {
			return nil
		}
	}
	return fmt.Errorf("it does not take part after 15 s: %s", r.unwell())
}

// explained are the words of a refusal.
func explained(err error) string {
	_, words, _ := strings.Cut(err.Error(), ":")
	return strings.TrimSpace(words)
}

func brief(err error) string {
	lines := strings.Split(explained(err), "\n")
	text := lines[len(lines)-1]
	for _, line := range lines {
		if _, why, found := strings.Cut(line, "error"); found {
			text = why
		}
	}
	return text[:min(len(text), 200)]
}

// copyAway copies the directory of a box that does not run.
func (m *machine) copyAway(w *world) string {
	to, err := os.MkdirTemp(w.t.TempDir(), m.name)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(to, "dir"), os.DirFS(m.dir)); err != nil {
		w.t.Fatal(err)
	}
	return filepath.Join(to, "dir")
}

// putBack has the directory be what it was when it was copied.
func (m *machine) putBack(older string) {
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		m.w.t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(m.dir, e.Name())); err != nil {
			m.w.t.Fatal(err)
		}
	}
	if err := os.CopyFS(m.dir, os.DirFS(older)); err != nil {
		m.w.t.Fatal(err)
	}
	err = filepath.WalkDir(m.dir, func(path string, e fs.DirEntry, err error) error { // copies may be readable for others
		if err != nil {
			return err
		}
		return os.Chmod(path, map[bool]fs.FileMode{true: 0o700, false: 0o600}[e.IsDir()])
	})
	if err != nil {
		m.w.t.Fatal(err)
	}
}

// rejoin has a box that does not run come back under a new id, and tries again while no other one leads.
func (m *machine) rejoin() (err error) {
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		if _, err = m.run("cluster", "rejoin"); err == nil || !strings.Contains(err.Error(), "ask again") && !strings.Contains(err.Error(), "no box of the cluster leads") || time.Now().After(deadline) {
			return err
		}
	}
}
