package bench

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
)

var costs = flag.Bool("costs", false, "TestCosts builds the program and measures at the size of docs/scale.md")

// TestCosts prints what one of each thing takes of the box's process: bytes, syncs, processor, memory. It
// judges nothing but that everything was measured: docs/scale.md has the figures of -costs.
func TestCosts(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("a process is looked at in /proc")
	}
	m := &meter{T: t, items: 20, open: 50, asked: 20, waiting: 8, following: 4}
	if *costs {
		m.items, m.open, m.asked, m.waiting, m.following = 1000, 10_000, 2000, 1000, 128
		m.settle, m.idle = 3*time.Second, 10*time.Second
		m.program = filepath.Join(t.TempDir(), "signalbox")
		if out, err := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", m.program, "../../cmd/signalbox").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	} else {
		t.Setenv("SIGNALBOX_TEST_PROGRAM", "true") // the tests' program is the program: see TestMain
		var err error
		if m.program, err = os.Executable(); err != nil {
			t.Fatal(err)
		}
	}
	m.handoffs()
	m.openItems()
	m.waitingClaims()
	m.followers()
	m.syncs()
	t.Logf("%d cores\n| what | of which | figure |\n|---|---|---|\n%s", runtime.NumCPU(), strings.Join(m.rows, "\n"))
	if want := 22; len(m.rows) < want {
		t.Errorf("there are %d figures, and not %d", len(m.rows), want)
	}
}

// A meter measures boxes from outside, and takes note of the figures.
type meter struct {
	*testing.T
	program                                string
	items, open, asked, waiting, following int
	settle, idle                           time.Duration // before memory is looked at; for how long a box is watched that does nothing
	rows                                   []string
}

func (m *meter) row(what, which string, figure any, unit string) {
	if f, ok := figure.(float64); ok {
		figure = strconv.FormatFloat(f, 'g', 3, 64)
		if f >= 100 {
			figure = strconv.FormatFloat(f, 'f', 0, 64)
		}
	}
	m.rows = append(m.rows, fmt.Sprintf("| %s | %s | %v %s |", what, which, figure, unit))
}

// box starts a box of its own, which ends with stop.
func (m *meter) box(clients int) (o Options, b *running, stop func()) {
	m.Helper()
	o = Options{Program: m.program, Dir: m.TempDir(), Items: m.items, Clients: clients}
	b, err := o.startBox(m.Context())
	if err != nil {
		m.Fatal(err)
	}
	return o, b, sync.OnceFunc(func() {
		if err := b.stop(); err != nil {
			m.Error(err)
		}
	})
}

func (m *meter) must(err error) {
	m.Helper()
	if err != nil {
		m.Fatal(err)
	}
}

// handoffs measures the box with nothing in it, and what an item and a handoff take, by how many clients there are.
func (m *meter) handoffs() {
	o, b, stop := m.box(64)
	defer stop()
	time.Sleep(m.settle)
	m.row("a box with nothing in it", "memory, resident", m.megabytes(b, "VmRSS:"), "MB")
	m.row("", "memory, its own", m.megabytes(b, "RssAnon:"), "MB")
	before := m.spent(b)
	m.must(o.addItems(m.Context(), b, "warm"))
	_, err := o.handOver(m.Context(), b)
	m.must(err)
	for _, o.Clients = range []int{1, 8, 64} {
		which := fmt.Sprintf("%d at once", o.Clients)
		begun := m.spent(b)
		m.must(o.addItems(m.Context(), b, strconv.Itoa(o.Clients)))
		added := m.spent(b)
		rate, err := o.handOver(m.Context(), b)
		m.must(err)
		handed := m.spent(b)
		n := m.items * len(phases)
		m.row("an item is added", which+": processor", perEach(added.cpu-begun.cpu, m.items), "ms")
		m.row("a handoff", which+": processor", perEach(handed.cpu-added.cpu, n), "ms")
		m.row("", which+": written to the disk", float64(handed.written-added.written)/float64(n), "bytes")
		m.row("", which+": in a second, as this machine was", rate, "")
	}
	after := m.spent(b)
	events := 4 * m.items * (1 + handoffEvents*len(phases))
	m.row("an event", "written to the disk, of all", float64(after.written-before.written)/float64(events), "bytes")
	stop()
	kept := m.sizes(filepath.Join(o.Dir, "box", "archive"))
	total := int64(0)
	for _, k := range kept {
		total += k.bytes
	}
	m.row("", "kept in the archive's files", float64(total)/float64(events), "bytes")
	for _, k := range kept {
		m.row("", "of it in "+k.name, float64(k.bytes)/float64(events), "bytes")
	}
}

// openItems measures what an open item takes of the memory, and a request for the status beside many of them.
func (m *meter) openItems() {
	o, b, stop := m.box(64)
	defer stop()
	time.Sleep(m.settle)
	empty := m.megabytes(b, "VmRSS:")
	o.Items = m.open
	m.must(o.addItems(m.Context(), b, "open"))
	time.Sleep(m.settle)
	full := m.megabytes(b, "VmRSS:")
	m.row("an open item", fmt.Sprintf("memory, of %d", m.open), 1000*(full-empty)/float64(m.open), "KB")
	before := m.spent(b)
	for range m.asked {
		_, err := b.client.Status(m.Context())
		m.must(err)
	}
	m.row("a request for the status", fmt.Sprintf("processor, beside %d open items", m.open), perEach(m.spent(b).cpu-before.cpu, m.asked), "ms")
	time.Sleep(m.settle)
	before = m.spent(b)
	time.Sleep(m.idle)
	m.row("an idle box", fmt.Sprintf("processor in %v, %d open items", m.idle, m.open), ms(m.spent(b).cpu-before.cpu), "ms")
}

// waitingClaims measures what a claim takes that waits for work.
func (m *meter) waitingClaims() {
	_, b, stop := m.box(1)
	defer stop()
	time.Sleep(m.settle)
	empty := m.megabytes(b, "VmRSS:")
	ctx, cancel := context.WithCancel(m.Context())
	var waiting sync.WaitGroup
	for range m.waiting {
		waiting.Go(func() {
			if _, err := b.client.Claim(ctx, api.Claim{Actor: "bench", Wait: true}); !errors.Is(err, context.Canceled) {
				m.Errorf("a claim that waits: %v", err)
			}
		})
	}
	m.connected(b, m.waiting)
	time.Sleep(m.settle)
	m.row("a claim that waits", fmt.Sprintf("memory, of %d", m.waiting), 1000*(m.megabytes(b, "VmRSS:")-empty)/float64(m.waiting), "KB")
	cancel()
	waiting.Wait()
}

// followers measures what a client takes that follows the events: idle, and for each event.
func (m *meter) followers() {
	o, b, stop := m.box(64)
	defer stop()
	handed := m.items * handoffEvents * len(phases)
	handOver := func() time.Duration {
		before := m.spent(b)
		_, err := o.handOver(m.Context(), b)
		m.must(err)
		return m.spent(b).cpu - before.cpu
	}
	time.Sleep(m.settle)
	empty := m.megabytes(b, "VmRSS:")
	ended := m.follow(b, 0, m.items+handed)
	m.connected(b, m.following)
	time.Sleep(m.settle)
	m.row("a follower", fmt.Sprintf("memory, of %d, idle", m.following), 1000*(m.megabytes(b, "VmRSS:")-empty)/float64(m.following), "KB")
	m.must(o.addItems(m.Context(), b, "first"))
	handOver()
	ended()
	m.must(o.addItems(m.Context(), b, "alone"))
	alone := handOver()
	m.must(o.addItems(m.Context(), b, "followed"))
	status, err := b.client.Status(m.Context())
	m.must(err)
	before := m.spent(b)
	ended = m.follow(b, status.Events, handed)
	handOver()
	ended()
	m.row("", "processor for each event and follower", 1000*perEach(m.spent(b).cpu-before.cpu-alone, handed*m.following), "µs")
}

// follow starts clients that follow the events after one. The function that it returns waits until each has had so
// many, and has left.
func (m *meter) follow(b *running, after uint64, events int) (ended func()) {
	enough := errors.New("these are all")
	var following sync.WaitGroup
	for range m.following {
		following.Go(func() {
			left := events
			err := b.client.Events(m.Context(), "", after, true, func(api.Event) error {
				if left--; left == 0 {
					return enough
				}
				return nil
			})
			if !errors.Is(err, enough) {
				m.Errorf("a follower: %v", err)
			}
		})
	}
	return following.Wait
}

// syncs counts them by strace, which sees no other system call.
func (m *meter) syncs() {
	const traced = "-f --seccomp-bpf -qq -e trace=fsync,fdatasync,sync_file_range,msync"
	if err := exec.CommandContext(m.Context(), "strace", append(strings.Fields(traced), "true")...).Run(); err != nil {
		m.Logf("syncs are not counted: strace: %v", err)
		return
	}
	dir := m.TempDir()
	trace, wrapper := filepath.Join(dir, "trace"), filepath.Join(dir, "signalbox")
	m.must(os.WriteFile(wrapper, fmt.Appendf(nil, "#!/bin/sh\nexec strace -D %s -o %s %s \"$@\"\n", traced, trace, m.program), 0o700))
	program := m.program
	m.program = wrapper
	defer func() { m.program = program }()
	o, b, stop := m.box(1)
	defer stop()
	for _, o.Clients = range []int{1, 8, 64} {
		m.must(o.addItems(m.Context(), b, strconv.Itoa(o.Clients)))
		before := m.lines(trace)
		_, err := o.handOver(m.Context(), b)
		m.must(err)
		m.row("a handoff", fmt.Sprintf("%d at once: syncs", o.Clients), float64(m.lines(trace)-before)/float64(m.items*len(phases)), "")
	}
}

func (m *meter) lines(path string) int {
	m.Helper()
	data, err := os.ReadFile(path)
	m.must(err)
	return bytes.Count(data, []byte{'\n'}) - bytes.Count(data, []byte(" resumed>"))
}

// A spent is what a process has used up.
type spent struct {
	cpu     time.Duration
	written int64 // to the disk
}

func (m *meter) spent(b *running) (s spent) {
	m.Helper()
	_, fields, _ := strings.Cut(m.proc(b, "stat"), ") ")
	for _, ticks := range strings.Fields(fields)[11:13] { // in user and system
		n, err := strconv.Atoi(ticks)
		m.must(err)
		s.cpu += time.Duration(n) * 10 * time.Millisecond // Linux says 100 in a second to every program
	}
	s.written = m.field(b, "io", "write_bytes:")
	return s
}

func (m *meter) megabytes(b *running, field string) float64 {
	m.Helper()
	return float64(m.field(b, "status", field)) * 1024 / 1e6
}

func (m *meter) field(b *running, file, field string) int64 {
	m.Helper()
	for line := range strings.Lines(m.proc(b, file)) {
		if value, ok := strings.CutPrefix(line, field); ok {
			n, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			m.must(err)
			return n
		}
	}
	m.Fatalf("%s has no %s", file, field)
	return 0
}

func (m *meter) proc(b *running, file string) string {
	m.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(b.cmd.Process.Pid), file))
	m.must(err)
	return string(text)
}

// connected waits until so many connections are open.
func (m *meter) connected(b *running, n int) {
	m.Helper()
	for {
		open, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(b.cmd.Process.Pid), "fd"))
		m.must(err)
		sockets := 0
		for _, fd := range open {
			if to, _ := os.Readlink(filepath.Join("/proc", strconv.Itoa(b.cmd.Process.Pid), "fd", fd.Name())); strings.HasPrefix(to, "socket:") {
				sockets++
			}
		}
		if sockets > n { // one is for listening
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

type kept struct {
	name  string
	bytes int64
}

// sizes returns how long the files are, by what is at the top of the directory.
func (m *meter) sizes(dir string) (all []kept) {
	m.Helper()
	entries, err := os.ReadDir(dir)
	m.must(err)
	for _, e := range entries {
		k := kept{name: e.Name()}
		m.must(filepath.WalkDir(filepath.Join(dir, e.Name()), func(_ string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			info, err := d.Info()
			k.bytes += info.Size()
			return err
		}))
		all = append(all, k)
	}
	return all
}

func perEach(d time.Duration, n int) float64 { return d.Seconds() * 1000 / float64(n) }
