//go:build linux

package chaos

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
)

// settingsText is what lies beside each box's directory.
const settingsText = "exit_protocol: true\n"

// world is three boxes of a cluster, or fewer, on machines of their own.
type world struct {
	t       *testing.T
	net     *network
	boxes   []*machine
	fourth  *machine // one that is no member
	token   string   // the owner's
	gate    string
	starter chan func()

	mounted string // a disk that is small; "" for none
}

// machine is a box, which runs or does not.
type machine struct {
	w    *world
	host *host
	name string
	base string // has the directory, and the settings beside it
	dir  string

	program string // the one that it is started with; the shipped one if ""
	wrong   *wrong // its clock is wrong, if it is not nil

	mu      sync.Mutex
	address string // for clients on its machine; "" if it does not run
	process *running
	way     *http.Transport
}

// running is one life of a box.
type running struct {
	cmd   *exec.Cmd
	said  *said
	ended chan struct{}
	err   error // once it has ended
}

// said keeps the last of what a process says.
type said struct {
	mu   sync.Mutex
	text []byte
	file *os.File // has all of it; nil if nobody wants it
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		if n, err := s.file.Write(p); err != nil {
			return n, err
		}
	}
	if s.text = append(s.text, p...); len(s.text) > 64<<10 {
		s.text = slices.Clone(s.text[len(s.text)-32<<10:])
	}
	return len(p), nil
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.text)
}

// patience is how long anything may take that the tests wait for.
const patience = 60 * time.Second

// newWorld makes four machines, without boxes.
func newWorld(t *testing.T) *world {
	t.Helper()
	base := t.TempDir() // which goes when all has ended
	w := &world{t: t, net: newNetwork(t, 4), starter: make(chan func())}
	build(t, program, "")
	go func() { // what is begun by this thread ends with it
		runtime.LockOSThread()
		for do := range w.starter {
			do()
		}
	}()
	t.Cleanup(w.end)
	for i, h := range w.net.hosts {
		m := &machine{w: w, host: h, name: string(rune('a' + i)), base: filepath.Join(base, string(rune('a'+i)))}
		m.dir = filepath.Join(m.base, ".signalbox")
		if err := os.MkdirAll(m.base, 0o700); err != nil {
			t.Fatal(err)
		}
		w.boxes = append(w.boxes, m)
	}
	w.boxes, w.fourth = w.boxes[:3], w.boxes[3]
	return w
}

// settle writes a machine's settings.
func (m *machine) settle() {
	if err := os.WriteFile(filepath.Join(m.base, "signalbox.yaml"), []byte(settingsText), 0o600); err != nil {
		m.w.t.Fatal(err)
	}
}

// end stops what runs, and says so if anything is left.
func (w *world) end() {
	for _, m := range append(slices.Clone(w.boxes), w.fourth) {
		if m == nil {
			continue
		}
		m.kill()
		if left := m.host.Processes(); len(left) > 0 {
			w.t.Errorf("on the machine of %s the processes %v are left", m.name, left)
			for _, pid := range left {
				_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
			}
		}
		if w.t.Failed() && m.process != nil {
			w.t.Logf("%s said last:\n%s", m.name, tail(m.process.said.String(), 15))
		}
	}
	if w.mounted != "" {
		if err := syscall.Unmount(w.mounted, 0); err != nil {
			w.t.Error(err)
		}
	}
	close(w.starter)
}

// tail returns the last lines of a text.
func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// diskSize is how large the one disk is that can be full.
const diskSize = 512 << 20

// newCluster makes a cluster of three boxes that run. If disk is not 0, one of them has a disk of so many bytes.
func newCluster(t *testing.T, disk int) *world {
	t.Helper()
	w := newWorld(t)
	if disk > 0 {
		base := w.boxes[smallDisk].base
		if err := syscall.Mount("none", base, "tmpfs", 0, fmt.Sprintf("size=%d,mode=700", disk)); err != nil {
			t.Fatalf("nothing can be mounted: %v", err)
		}
		w.mounted = base
	}
	w.found()
	for _, m := range w.boxes[1:] {
		m.join(w.boxes[0])
	}
	w.healthy()
	return w
}

// found makes the first box.
func (w *world) found() {
	w.t.Helper()
	a := w.boxes[0]
	a.settle()
	a.must("cluster", "init", "--name", a.name, "--address", a.secure())
	a.start()
	var err error
	if w.token, err = box.Dir(a.dir).APIToken(); err != nil {
		w.t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(a.dir, "gate.token"))
	if err != nil {
		w.t.Fatal(err)
	}
	w.gate = strings.TrimSpace(string(data))
}

// join has a machine join by an invitation of a box that runs, and starts it.
func (m *machine) join(at *machine) {
	m.w.t.Helper()
	line := strings.TrimSpace(at.must("cluster", "invite", m.name))
	m.redeem(line)
}

func (m *machine) redeem(line string) {
	m.w.t.Helper()
	m.settle()
	m.must("cluster", "join", line, "--address", m.secure())
	m.start()
}

// secure is where the other boxes reach this one.
func (m *machine) secure() string { return m.host.addr + ":7443" }

// command is the program on the machine, on the box's directory.
func (m *machine) command(ctx context.Context, args ...string) *exec.Cmd {
	name := m.program
	if name == "" {
		name = program
	}
	cmd := exec.CommandContext(ctx, name, append([]string{"--dir", m.dir}, args...)...)
	cmd.Dir = m.base
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// begin begins a process on the machine.
func (m *machine) begin(cmd *exec.Cmd) error {
	done := make(chan error, 1)
	m.w.starter <- func() { done <- m.host.Inside(cmd.Start) }
	return <-done
}

// run runs the program to its end, and returns what it said on both outputs.
func (m *machine) run(args ...string) (out string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := m.command(ctx, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := m.begin(cmd); err != nil {
		return "", err
	}
	if err := cmd.Wait(); err != nil {
		return stdout.String(), fmt.Errorf("signalbox %s: %w: %s%s", strings.Join(args, " "), err, stdout.String(), stderr.String())
	}
	return stdout.String(), nil
}

func (m *machine) must(args ...string) string {
	m.w.t.Helper()
	out, err := m.run(args...)
	if err != nil {
		m.w.t.Fatalf("%s: %v", m.name, err)
	}
	return out
}

var errEnded = errors.New("the box ended before it was ready")

// try starts the box, and returns when it is ready to be asked; if it refuses, with what it said.
func (m *machine) try() error {
	var cmd *exec.Cmd
	if m.wrong != nil {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		text, err := json.Marshal(m.wrong)
		if err != nil {
			return err
		}
		cmd = exec.CommandContext(context.Background(), self)
		cmd.Env = append(os.Environ(), clocked+"="+string(text))
		cmd.Dir = m.base
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	} else {
		cmd = m.command(context.Background(), "up", "--listen", m.secure(), "--json")
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	r := &running{cmd: cmd, said: &said{}, ended: make(chan struct{})}
	if *logs != "" {
		r.said.file, err = os.OpenFile(filepath.Join(*logs, m.name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer func() { // or the box would keep it from being closed
			go func() {
				<-r.ended
				_ = r.said.file.Close()
			}()
		}()
	}
	cmd.Stderr = r.said
	if err := m.begin(cmd); err != nil {
		return err
	}
	first := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for n := 0; lines.Scan(); n++ {
			if n == 0 {
				first <- lines.Text()
				continue
			}
			fmt.Fprintln(r.said, lines.Text()) // why it has ended
		}
		r.err = cmd.Wait()
		m.mu.Lock()
		if m.process == r {
			m.address = ""
		}
		m.mu.Unlock()
		close(r.ended)
	}()
	m.mu.Lock()
	m.process = r
	m.mu.Unlock()
	select {
	case line := <-first:
		var found struct{ Address string }
		if err := json.Unmarshal([]byte(line), &found); err != nil || found.Address == "" {
			<-r.ended
			return fmt.Errorf("%w: %s%s", errEnded, line, tail(r.said.String(), 6))
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.address = found.Address
		return nil
	case <-r.ended:
		return fmt.Errorf("%w: %s", errEnded, tail(r.said.String(), 6))
	case <-time.After(patience):
		m.kill()
		return fmt.Errorf("the box was not ready within %v: %s", patience, tail(r.said.String(), 6))
	}
}

func (m *machine) start() {
	m.w.t.Helper()
	if err := m.try(); err != nil {
		m.w.t.Fatalf("%s: %v", m.name, err)
	}
}

// lives says whether the box runs.
func (m *machine) lives() bool {
	m.mu.Lock()
	r := m.process
	m.mu.Unlock()
	if r == nil {
		return false
	}
	select {
	case <-r.ended:
		return false
	default:
		return true
	}
}

func (m *machine) at() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.address
}

// signal sends a signal to the box, if it runs.
func (m *machine) signal(s syscall.Signal) {
	if m.lives() {
		_ = m.process.cmd.Process.Signal(s) // it may have ended just now
	}
}

// kill ends the box at once, and stop as a person does. Both return when it has ended.
func (m *machine) kill() {
	m.signal(syscall.SIGKILL)
	m.gone()
}

func (m *machine) stop() error {
	if !m.lives() {
		return nil
	}
	m.signal(syscall.SIGTERM)
	select {
	case <-m.process.ended:
		return m.process.err
	case <-time.After(patience):
		m.signal(syscall.SIGQUIT)
		m.gone()
		return fmt.Errorf("%s did not stop within %v: %s", m.name, patience, m.process.said)
	}
}

// gone returns when the box has ended, which was told to.
func (m *machine) gone() {
	if m.process != nil {
		<-m.process.ended
	}
}

// client asks this box alone.
func (m *machine) client() *api.Client {
	return api.ClientOver(&carrier{w: m.w, only: m}, m.w.token)
}

// status asks a box how the cluster is.
func (m *machine) status() (api.ClusterStatus, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	return m.client().Cluster(ctx)
}

// leader returns the box that leads, as the first box says that knows one; nil if none does.
func (w *world) leader() *machine {
	for _, m := range w.boxes {
		if !m.lives() {
			continue
		}
		if s, err := m.status(); err == nil && s.Leader != "" {
			if at := slices.IndexFunc(w.boxes, func(o *machine) bool { return o.name == s.Leader }); at >= 0 {
				return w.boxes[at]
			}
		}
	}
	return nil
}

// follower returns a box that does not lead, by a number.
func (w *world) follower(n int) *machine {
	leader := w.leader()
	var all []*machine
	for _, m := range w.boxes {
		if m != leader && m.lives() {
			all = append(all, m)
		}
	}
	return all[n%len(all)]
}

// healthy waits until all boxes that run vote, and say so of each other.
func (w *world) healthy() {
	w.t.Helper()
	if err := w.becomesHealthy(patience); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) becomesHealthy(patience time.Duration) error {
	var why string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if why = w.unwell(); why == "" {
			return nil
		}
	}
	return fmt.Errorf("the cluster is not well after %v: %s", patience, why)
}

// unwell says why the cluster is not well; "" if it is.
func (w *world) unwell() string {
	live := 0
	for _, m := range w.boxes {
		if m.lives() {
			live++
		}
	}
	for _, m := range w.boxes {
		if !m.lives() {
			continue
		}
		s, err := m.status()
		if err != nil {
			return m.name + ": " + err.Error()
		}
		if s.Leader == "" {
			return m.name + " knows no box that leads"
		}
		voters := 0
		for _, o := range s.Members {
			if o.Problem != "" {
				return m.name + " says of " + o.Name + ": " + o.Problem
			}
			if o.Role == api.RoleVoter && (o.State == api.MemberLeads || o.State == api.MemberFollows) {
				voters++
			}
		}
		if voters != live && (live != 2 || voters != 1) { // with two, the second one only learns
			return fmt.Sprintf("%s says %+v", m.name, s.Members)
		}
	}
	return ""
}
