//go:build unix

package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/conductor"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/enrolment"
	"github.com/signalbox-dev/signalbox/internal/fleet"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/internal/homelink"
	"github.com/signalbox-dev/signalbox/internal/httpapi"
	"github.com/signalbox-dev/signalbox/internal/mailbox"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/plan"
	"github.com/signalbox-dev/signalbox/internal/remote"
	"github.com/signalbox-dev/signalbox/internal/runner"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// Orders are carried out in the box's own process, by a runner over HTTP and TLS, or by another box's home. Who gives them can't tell: each of these cases holds of
// all three ways. Sessions that speak are a matter of the box as a whole (TestRunnerElsewhere, internal/e2e).
func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it builds the program, which sessions are started with")
	}
	program := filepath.Join(t.TempDir(), "signalbox")
	if out, err := exec.CommandContext(t.Context(), "go", "run", "-exec", "cp", "github.com/signalbox-dev/signalbox/cmd/signalbox", program).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for way, open := range map[string]func(w *ways){"in the process": (*ways).inProcess, "over HTTP": (*ways).overHTTP, "at another box": (*ways).atAnotherBox} {
		for name, test := range map[string]func(w *ways){
			"what came of it is there when it is done": (*ways).testOrder,
			"what does not pass":                       (*ways).testFails,
			"carried out twice":                        (*ways).testTwice,
			"side by side":                             (*ways).testBeside,
			"a result that is not taken yet":           (*ways).testLater,
			"a result that is never taken":             (*ways).testRefused,
			"not wanted any more":                      (*ways).testCancelled,
			"a session is started once":                (*ways).testStarted,
			"a session that was never started":         (*ways).testNeverStarted,
		} {
			t.Run(way+"/"+name, func(t *testing.T) {
				w := newWays(t, program)
				open(w)
				test(w)
			})
		}
	}
}

// ways is a run, a way by which its orders are carried out, and the conductor that hears what comes of them.
type ways struct {
	order.Conductor // for what no order here needs
	t               *testing.T
	program         string
	repo, notes     string // where checks and agents leave notes
	config          config.Config
	run             delivery.Run
	runner          string // that orders are for
	carry           func(ctx context.Context, o order.Order) error

	mu     sync.Mutex
	in     []delivery.Input              // that were taken
	answer func(in delivery.Input) error // to what is handed in; nil for yes
}

func newWays(t *testing.T, program string) *ways {
	t.Helper()
	w := &ways{t: t, program: program, repo: gittest.New(t), notes: t.TempDir()}
	gittest.Git(t, w.repo, "branch", "signalbox/R1")
	agent := filepath.Join(w.notes, "agent")
	if err := os.WriteFile(agent, fmt.Appendf(nil, "#!/bin/sh\necho $PPID >>%s/starts\nexec sleep 1000\n", w.notes), 0o700); err != nil {
		t.Fatal(err)
	}
	check := fmt.Sprintf("if test -f slow; then echo $$ >%s/slow && exec sleep 1000; fi; ! test -f bad", w.notes)
	var err error
	w.config, err = config.Parse(filepath.Join(w.repo, config.File), fmt.Appendf(nil,
		"agents: {a: {command: [%q]}}\nsandbox: {kind: none}\nlimits: {orphan: 10m, grace: 1s}\nchecks: [{name: good, command: %q}]\n", agent, check))
	if err != nil {
		t.Fatal(err)
	}
	w.run = delivery.Run{Subject: "01RUN", Sessions: map[string]*delivery.Session{}}
	w.run.ID, w.run.Branch, w.run.Base = "R1", "signalbox/R1", gittest.Git(t, w.repo, "rev-parse", "HEAD")
	return w
}

// inProcess has orders be carried out by a runner in this process.
func (w *ways) inProcess() { w.carry = w.home(w, mailbox.New()).CarryOut }

// atAnotherBox has them be carried out by the home runner of another box, which says to this one, which leads, what comes of them.
func (w *ways) atAnotherBox() {
	t, logger := w.t, slog.New(slog.DiscardHandler)
	lead := homelink.Lead{Conductor: w, Mail: mailbox.New(), Live: func(string) bool { return true }, Open: func(string) bool { return true }}
	leader := httptest.NewServer(homelink.ServeConductor(func() (homelink.Lead, bool) { return lead, true }, conductor.Problem, logger))
	t.Cleanup(leader.Close)
	back := homelink.NewConductor(homelink.BackOptions{
		Lead: func() (homelink.Lead, bool) { return homelink.Lead{}, false }, Leader: func() (http.RoundTripper, bool) { return to(leader), true },
		Problem: conductor.Problem, Logger: logger,
	})
	t.Cleanup(back.Stop)
	far := httptest.NewServer(homelink.ServeHome(homelink.NewOwn(w.home(back, back)), logger))
	t.Cleanup(far.Close)
	homes := homelink.NewHomes(context.Background(), homelink.Options{
		Self: "a", Others: func() []string { return []string{"c"} }, Carrier: func(string) (http.RoundTripper, bool) { return to(far), true },
		Open: func(string) []string { return nil }, Changed: func() {}, Logger: logger,
	})
	t.Cleanup(func() {
		homes.Stop()
		far.CloseClientConnections()
		leader.CloseClientConnections()
	})
	w.run.Home = "c"
	f := fleet.New(fleet.Options{Home: noHome{}, HomeOf: homes.Of, Others: homes.Others, Conductor: w, Mail: lead.Mail, Known: func() []fleet.Known { return nil }, Lost: time.Minute, Now: time.Now, Logger: logger})
	t.Cleanup(f.Stop)
	w.carry = f.Of(w.run.Home).CarryOut
}

// noHome is the home of no run.
type noHome struct{ fleet.Home }

// to carries requests to a server.
func to(s *httptest.Server) http.RoundTripper {
	return carrier(func(r *http.Request) (*http.Response, error) {
		r = r.Clone(r.Context())
		r.URL.Host = s.Listener.Addr().String()
		return s.Client().Transport.RoundTrip(r)
	})
}

type carrier func(r *http.Request) (*http.Response, error)

func (c carrier) RoundTrip(r *http.Request) (*http.Response, error) { return c(r) }

// home is the runner of a box, in this process.
func (w *ways) home(c order.Conductor, mail order.Mailer) *runner.Runner {
	site, err := runner.OpenSite(w.t.Context(), w.repo, w.config)
	if err != nil {
		w.t.Fatal(err)
	}
	x, err := runner.New(w.t.Context(), runner.Options{
		Dir: w.t.TempDir(), Program: w.program, Site: site, Conductor: c, Mail: mail, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		Redact: func(text string) string { return text }, Hidden: func() ([]string, error) { return nil, nil },
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(x.Stop)
	return x
}

// overHTTP has them be carried out by a runner that has joined a box.
func (w *ways) overHTTP() {
	t := w.t
	logger := slog.New(slog.DiscardHandler)
	secure, err := httpapi.ListenSecure(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, _, err := Open(t.Context(), Options{Box: box.Options{Dir: box.Dir(filepath.Join(w.repo, ".signalbox")), Logger: logger}, Config: w.config, Program: w.program, Secure: secure})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, s) })
	text, prompts, err := w.config.Elsewhere()
	if err != nil {
		t.Fatal(err)
	}
	f := fleet.New(fleet.Options{
		Home: s.runner, Conductor: w, Mail: s.Conductor.Mail(), Known: s.known, Runs: func() []string { return []string{"R1"} }, Where: func(string, string) string { return "" },
		Settings: order.Settings{Text: text, Prompts: prompts, Object: w.run.Base}, Lost: time.Minute, Now: time.Now, Logger: logger,
	})
	s.fleet.Swap(f).Stop()
	l, err := httpapi.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serving, leave := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(serving, l) }()
	t.Cleanup(func() {
		leave()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	token, _ := s.Box.Tokens()
	client := api.NewClient(l.Addr().String(), token)
	defer client.Close()
	invited, err := client.InviteRunner(t.Context(), api.NewRunner{Name: "gpu1"})
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "r") // as short as a socket's path has to be
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	e, err := enrolment.Join(t.Context(), dir, invited.Line)
	if err != nil {
		t.Fatal(err)
	}
	_, key, err := enrolment.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	carrier := e.Carrier(key)
	t.Cleanup(carrier.CloseIdleConnections)
	r, err := remote.Open(t.Context(), remote.Options{Dir: dir, Name: "gpu1", Carrier: carrier, Program: w.program, Version: "test", Sign: key.Sign, Now: time.Now, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(r.Run(running), r.Close()) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	w.runner, w.carry = "gpu1", f.CarryOut
}

// HandIn takes what came of an order, or says why not.
func (w *ways) HandIn(_ context.Context, run string, in delivery.Input) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if run != w.run.Subject {
		w.t.Errorf("%T is handed in to the run %s", in, run)
	}
	if w.answer != nil {
		if err := w.answer(in); err != nil {
			return err
		}
	}
	w.in = append(w.in, in)
	return nil
}

// Report takes what a session had left to say.
func (w *ways) Report(context.Context, string, api.SessionReport) error { return nil }

func (w *ways) Renew(string)     {}
func (w *ways) MachinesChanged() {}

// taken are the results of an order's checks that were taken.
func (w *ways) taken(id string) (all []delivery.GateRan) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, in := range w.in {
		if ran, ok := in.(delivery.GateRan); ok && ran.Command == id {
			all = append(all, ran)
		}
	}
	return all
}

// ends are the ends of sessions that were taken.
func (w *ways) ends() (all []delivery.End) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, in := range w.in {
		if end, ok := in.(delivery.End); ok {
			all = append(all, end)
		}
	}
	return all
}

// checks is an order to run checks on a new task's work, which is a file of a name.
func (w *ways) checks(file string) order.Order {
	w.t.Helper()
	n := len(w.run.Tasks) + 1
	task := &delivery.Task{ID: "T-" + strconv.Itoa(n), Item: work.Item{Chain: work.Chain{Subject: fmt.Sprintf("01ITEM%d", n)}, ID: fmt.Sprintf("R1.T-%d", n), Phase: agentsig.PhaseCIPending}}
	gittest.Git(w.t, w.repo, "checkout", "-q", "-b", task.ID, w.run.Branch)
	if err := os.WriteFile(filepath.Join(w.repo, file), []byte("so\n"), 0o600); err != nil {
		w.t.Fatal(err)
	}
	gittest.Git(w.t, w.repo, "add", file)
	gittest.Git(w.t, w.repo, "commit", "-q", "-m", task.ID)
	task.Pushed = gittest.Git(w.t, w.repo, "rev-parse", "HEAD")
	gittest.Git(w.t, w.repo, "checkout", "-q", "-")
	w.run.Tasks = append(w.run.Tasks, task)
	return order.Order{
		Command: delivery.Command{ID: "gate/" + task.ID + "/1", Do: delivery.DoGate, Runner: w.runner, Task: task}, Run: w.run.Copy(), Plan: plan.Plan{Tasks: []plan.Task{{ID: task.ID}}},
	}
}

// session is an order about a developer's session on a new task.
func (w *ways) session(do delivery.Verb) order.Order {
	w.t.Helper()
	o := w.checks("new")
	s := &delivery.Session{ID: o.Task.Item.Subject + "-1.1", Role: agentsig.RoleDeveloper, Agent: "a", Task: o.Task.ID, Runner: w.runner}
	if _, _, err := work.ParseSession(s.ID); err != nil {
		w.t.Fatal(err)
	}
	w.run.Tasks[len(w.run.Tasks)-1].Pushed = ""
	w.run.Sessions[s.ID] = s
	o.Command = delivery.Command{ID: string(do) + "/" + s.ID, Do: do, Runner: w.runner, Session: s}
	o.Run, o.Token = w.run.Copy(), "a token"
	return o
}

// patiently carries an order out as a conductor does: one that fails is given again.
func (w *ways) patiently(o order.Order) (tries int) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 2*time.Minute)
	defer cancel()
	for tries = 1; ; tries++ {
		err := w.carry(ctx, o)
		if err == nil {
			return tries
		}
		if ctx.Err() != nil {
			w.t.Fatalf("%s is not carried out: %v", o.ID, err)
		}
	}
}

func (w *ways) testOrder() {
	o := w.checks("good")
	w.patiently(o)
	all := w.taken(o.ID)
	if len(all) != 1 || !all[0].Passed || all[0].Trouble != "" || all[0].Commit != o.Task.Pushed || len(all[0].Checks) != 1 || all[0].Files == nil || *all[0].Files != 1 {
		w.t.Errorf("taken is %+v", all)
	}
	if all[0].Runner != w.runner || (all[0].Signed != nil) != (w.runner != "") {
		w.t.Errorf("%s has run them: %+v", w.runner, all[0])
	}
}

func (w *ways) testFails() {
	o := w.checks("bad")
	w.patiently(o)
	if all := w.taken(o.ID); len(all) != 1 || all[0].Passed || all[0].Trouble != "" || len(all[0].Checks) != 1 || all[0].Checks[0].Passed {
		w.t.Errorf("taken is %+v", all)
	}
}

// The same order does no harm when it is given again.
func (w *ways) testTwice() {
	o := w.checks("good")
	w.patiently(o)
	w.patiently(o)
	all := w.taken(o.ID)
	if len(all) != 2 || !all[0].Passed || !all[1].Passed || all[0].Commit != all[1].Commit {
		w.t.Errorf("taken is %+v", all)
	}
}

func (w *ways) testBeside() {
	orders := []order.Order{w.checks("good"), w.checks("bad"), w.checks("better")}
	var all sync.WaitGroup
	for _, o := range orders {
		all.Go(func() { w.patiently(o) })
	}
	all.Wait()
	for i, o := range orders {
		if ran := w.taken(o.ID); len(ran) != 1 || ran[0].Passed == (i == 1) || ran[0].Commit != o.Task.Pushed {
			w.t.Errorf("of %s is taken %+v", o.ID, ran)
		}
	}
}

// A result is kept, or the order given again, until the result is taken.
func (w *ways) testLater() {
	o, busy := w.checks("good"), 3
	w.answer = func(delivery.Input) error {
		if busy--; busy >= 0 {
			return errors.New("no room for it")
		}
		return nil
	}
	w.patiently(o)
	if all := w.taken(o.ID); len(all) != 1 || !all[0].Passed {
		w.t.Errorf("taken is %+v", all)
	}
}

// A result that is refused for good is an error of its order, and the next order goes on.
func (w *ways) testRefused() {
	o, next, refused := w.checks("good"), w.checks("better"), 0
	w.answer = func(in delivery.Input) error {
		if ran, ok := in.(delivery.GateRan); ok && ran.Command == o.ID {
			refused++
			return delivery.ErrOtherWork
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	if err := w.carry(ctx, o); err == nil || ctx.Err() != nil {
		w.t.Errorf("what was refused is done: %v", err)
	}
	w.patiently(next)
	if len(w.taken(next.ID)) != 1 || len(w.taken(o.ID)) != 0 || refused != 1 {
		w.t.Errorf("it was handed in %d times; taken is %+v", refused, w.in)
	}
}

// What is not wanted any more ends, with its processes, and nothing comes of it.
func (w *ways) testCancelled() {
	o := w.checks("slow")
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- w.carry(ctx, o) }()
	pid := 0
	w.until("the check runs", func() bool { pid = w.noted("slow"); return pid > 0 })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		w.t.Errorf("it ended with %v", err)
	}
	w.until("the check has ended", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
	next := w.checks("good")
	w.patiently(next)
	if len(w.taken(o.ID)) != 0 || len(w.taken(next.ID)) != 1 {
		w.t.Errorf("taken is %+v", w.in)
	}
}

// Whether a session was started is told by what is there: given again, its order starts no other, and its end is told again.
func (w *ways) testStarted() {
	o := w.session(delivery.DoStart)
	ended := make(chan error, 1)
	go func() { ended <- w.carry(w.t.Context(), o) }()
	pid := 0
	w.until("its agent is at work", func() bool { pid = w.noted("starts"); return pid > 0 })
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil { // the session's process, which leaves no word
		w.t.Fatal(err)
	}
	if err := <-ended; err != nil {
		w.t.Fatal(err)
	}
	if all := w.ends(); len(all) != 1 || all[0].Session != o.Session.ID || all[0].How != delivery.Crashed || all[0].Runner != "" {
		w.t.Fatalf("taken is %+v", all)
	}
	w.patiently(o)
	if again := w.noted("starts"); again != pid {
		w.t.Error("its agent was started again")
	}
	if all := w.ends(); len(all) != 2 || all[1].How != all[0].How {
		w.t.Errorf("taken is %+v", all)
	}
}

// A session that is to end and was never started has been stopped.
func (w *ways) testNeverStarted() {
	o := w.session(delivery.DoEnd)
	w.patiently(o)
	if all := w.ends(); len(all) != 1 || all[0].Session != o.Session.ID || all[0].How != delivery.Stopped {
		w.t.Errorf("taken is %+v", all)
	}
	if _, err := os.Stat(filepath.Join(w.notes, "starts")); err == nil {
		w.t.Error("its agent was started")
	}
}

// noted is the number that a process has noted, if it was one; 0 for none.
func (w *ways) noted(name string) int {
	data, _ := os.ReadFile(filepath.Join(w.notes, name)) // it may not be there yet
	n, _ := strconv.Atoi(strings.TrimSpace(string(data)))
	return n
}

// until waits for what processes bring about.
func (w *ways) until(what string, so func() bool) {
	w.t.Helper()
	limit := time.After(time.Minute)
	for !so() {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-limit:
			w.t.Fatalf("not within a minute: %s", what)
		}
	}
}
