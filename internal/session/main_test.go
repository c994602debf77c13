//go:build unix

package session_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/process"
	"github.com/signalbox-dev/signalbox/internal/session"
	"github.com/signalbox-dev/signalbox/internal/session/agent"
)

// boxAddress tells the test binary where the box is, if it is run as a session process.
const boxAddress = "TEST_BOX_ADDRESS"

// stallsAfter4s lets a session stall after four seconds of silence: on a busy machine, too, a program has said
// its first word by then.
func stallsAfter4s(s *session.Spec) {
	s.Silence, s.Answer, s.Misses = session.Duration(time.Second), session.Duration(time.Second), 2
}

// allPermissions are what an agent may be allowed.
var allPermissions = []agent.Permission{agent.Edit, agent.Execute, agent.Fetch}

// patience bounds every wait of a test; nothing waits for it to pass.
const patience = 2 * time.Minute

// manyMiB is how long a message is that is read, and not kept as a whole: messages of up to 32 MiB are.
func manyMiB() int {
	if testing.Short() {
		return 4
	}
	return 20
}

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "session" {
		client := api.NewClient(os.Getenv(boxAddress), "token")
		if err := session.Run(context.Background(), os.Args[2], client, slog.New(slog.DiscardHandler)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) > 1 && os.Args[1] == acpVerb {
		runACPAgent(os.Args[2:])
		return
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil { // they wait for processes, and for silence
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// box is one that keeps what it is told, and can be away.
type box struct {
	mu         sync.Mutex
	away       bool
	gone       bool
	refuses    func(api.SessionReport) bool // for good
	changed    chan struct{}                // closed when any of this changes
	commands   []api.SessionCommand
	reports    []api.SessionReport
	lines      []string
	busy       bool // its agent waits for a tool, as it was told last
	signs      int  // of life
	turnedAway int  // connections that were refused
	connected  int
}

func newBox() *box { return &box{changed: make(chan struct{})} }

func (b *box) change(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
	close(b.changed)
	b.changed = make(chan struct{})
}

// refusal is how the box answers now.
func (b *box) refusal() error {
	switch {
	case b.away:
		return api.ErrNoBox
	case b.gone:
		return &api.Problem{Code: api.CodeGone, Message: "the session is over"}
	}
	return nil
}

func (b *box) SendReport(_ context.Context, _ string, r api.SessionReport) (err error) {
	b.change(func() {
		err = b.refusal()
		if err == nil && b.refuses != nil && b.refuses(r) {
			err = &api.Problem{Code: api.CodeInvalid, Message: "the request is not what it should be\x1b[2J"}
		}
		if err == nil {
			b.reports = append(b.reports, r)
		}
	})
	return err
}

func (b *box) Activity(_ context.Context, _ string, a api.Activity) (err error) {
	b.change(func() {
		if err = b.refusal(); err == nil {
			b.busy = a.Busy
			b.signs++
			if a.Line != "" {
				b.lines = append(b.lines, a.Line)
			}
		}
	})
	return err
}

// Commands sends all commands that there ever were to each who connects.
func (b *box) Commands(ctx context.Context, _ string, connected func(), f func(api.SessionCommand) error) error {
	b.mu.Lock()
	err := b.refusal()
	b.mu.Unlock()
	if err != nil {
		b.change(func() { b.turnedAway++ })
		return err
	}
	connected()
	b.change(func() { b.connected++ })
	for sent := 0; ; {
		b.mu.Lock()
		err, commands, changed := b.refusal(), b.commands[sent:], b.changed
		b.mu.Unlock()
		if err != nil {
			return err
		}
		for _, c := range commands {
			if err := f(c); err != nil {
				return err
			}
			sent++
		}
		if len(commands) > 0 {
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// run is a session that a test runs.
type run struct {
	t      *testing.T
	dir    string
	box    *box
	cancel context.CancelFunc
	ended  chan error
	read   int
	log    slog.Handler // nothing is kept if it is nil
}

// spec is one for a script that sh runs. What a script says or does after its last word comes within two seconds, also
// on a busy machine.
func spec(t *testing.T, script string) session.Spec {
	return session.Spec{
		Session: "s-1", Dir: t.TempDir(), Role: agentsig.RoleDeveloper, Task: "T-1", Phase: agentsig.PhaseImplementation,
		Agent:  agent.Config{Name: "script", Command: []string{"sh", "-c", script}},
		Prompt: "do it", Grace: session.Duration(2 * time.Second), Linger: session.Duration(2 * time.Second),
		WallClock: session.Duration(patience), Silence: session.Duration(patience),
	}
}

func start(t *testing.T, s session.Spec) *run {
	t.Helper()
	r := &run{t: t, dir: filepath.Join(t.TempDir(), "session"), box: newBox(), ended: make(chan error, 1)}
	if err := session.Write(r.dir, s); err != nil {
		t.Fatal(err)
	}
	r.start()
	return r
}

func (r *run) start() {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		log := r.log
		if log == nil {
			log = slog.DiscardHandler
		}
		r.ended <- session.Run(ctx, r.dir, r.box, slog.New(log))
	}()
	r.t.Cleanup(func() {
		cancel()
		<-finished
		nothingLeft(r.t, r.dir)
	})
}

// until waits for something of the box.
func (r *run) until(what string, is func(b *box) bool) {
	r.t.Helper()
	late := time.After(patience)
	for {
		r.box.mu.Lock()
		ok, changed, reports := is(r.box), r.box.changed, r.box.reports
		r.box.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-late:
			r.t.Fatalf("no %s; reports: %+v", what, reports)
		}
	}
}

// next returns the next report, which has to be of a kind.
func (r *run) next(kind string) api.SessionReport {
	r.t.Helper()
	var got api.SessionReport
	r.until(kind, func(b *box) bool {
		if len(b.reports) == r.read {
			return false
		}
		got = b.reports[r.read]
		return true
	})
	r.read++
	if got.Kind != kind || got.Seq != r.read {
		r.t.Fatalf("report %d is %+v, want %s", r.read, got, kind)
	}
	return got
}

func (r *run) send(c api.SessionCommand) {
	r.box.change(func() { r.box.commands = append(r.box.commands, c) })
}

// finish returns the last report, after Run has returned.
func (r *run) finish() api.SessionReport {
	r.t.Helper()
	last := r.next(api.ReportEnded)
	r.wait()
	if len(r.box.reports) > r.read {
		r.t.Errorf("after the last report: %+v", r.box.reports[r.read:])
	}
	return last
}

func (r *run) wait() {
	r.t.Helper()
	select {
	case err := <-r.ended:
		if err != nil {
			r.t.Errorf("Run: %v", err)
		}
	case <-time.After(patience):
		r.t.Fatal("Run does not return")
	}
}

// end tells the session to end, and checks that it does.
func (r *run) end() {
	r.t.Helper()
	r.send(api.SessionCommand{ID: "end", Kind: api.CommandEnd, Reason: "enough"})
	if last := r.finish(); last.How != api.HowDone || last.Detail != "enough" {
		r.t.Errorf("ended: %+v", last)
	}
}

func (r *run) file(name string) string {
	r.t.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(data)
}

// marked returns the processes of a session's agent, by their environment.
func marked(t *testing.T, dir string) []string {
	if runtime.GOOS != "linux" {
		return nil
	}
	mark, err := session.Marker(dir, "s-1")
	if err != nil {
		t.Fatal(err)
	}
	environments, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, name := range environments {
		data, err := os.ReadFile(name)
		if err == nil && strings.Contains("\x00"+string(data), "\x00SIGNALBOX_SESSION="+mark+"\x00") {
			left = append(left, filepath.Base(filepath.Dir(name)))
		}
	}
	return left
}

// nothingLeft checks that nothing is left of a session's agent; what is, it ends.
func nothingLeft(t *testing.T, dir string) {
	t.Helper()
	if left := marked(t, dir); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	mark, err := session.Marker(dir, "s-1")
	if err == nil {
		_, err = process.Sweep(mark)
	}
	if err != nil {
		t.Error(err)
	}
}

// lockIsFree says whether nobody holds a session's directory. A process that another test starts at the same time
// holds it too, from its fork to its exec: that is waited for.
func lockIsFree(dir string) bool {
	for end := time.Now().Add(patience); session.Alive(dir); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// await reads a file that a script writes, once it is there.
func await(t *testing.T, path string) string {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		data, err := os.ReadFile(path)
		if err == nil && len(data) > 0 {
			return strings.TrimSpace(string(data))
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	t.Fatalf("%s is not there", path)
	return ""
}
