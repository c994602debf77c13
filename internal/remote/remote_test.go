package remote

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/runner"
	"github.com/signalbox-dev/signalbox/internal/work"
)

const first = "01T-1.1"

// read is what is written down of a session in a directory.
func read(dir, session string) (kept, error) {
	r := &Remote{o: Options{Dir: dir}}
	return r.read(session)
}

// An order is written down before anything is done for it. What came of it is pushed, handed in, and only then is it done; a session that could
// not even be started included.
func TestOrderOfThings(t *testing.T) {
	w := newWorld(t)
	dir := shortDir(t)
	o := w.session(first)
	w.instead(func(path string) int {
		if strings.Contains(path, "/git/fetch/") {
			if k, err := read(dir, first); err != nil || k.Token != o.Token || k.Order.ID != o.ID || !k.Pushes || k.Run != "R1" || k.Subject != "01R" {
				t.Errorf("at the first fetch, %+v (%v) is written down", k, err)
			}
		}
		return 0
	})
	w.want(o)
	leave := w.run(opened(t, dir, w.box, w.log))
	w.untilSaid("done")
	if err := leave(); err != nil {
		t.Error(err)
	}
	want := []string{"ref 1", "pushed " + first + " " + w.base, "end " + first + " crashed", "done " + o.Name + " "}
	if got := w.heard("ref", "pushed", "end", "done"); !slices.Equal(got, want) {
		t.Errorf("said was %q, want %q", got, want)
	}
	if got := w.pushed(); got != "refs/tasks/R1/T-1/1.1.1 "+w.base {
		t.Errorf("pushed was %q", got)
	}
}

// A runner is killed when the box has taken any of its requests, before it is answered: the next one in the same directory goes on from the files that
// there were, and everything is handed in. Whatever is done twice does no harm: each ref is made once, and all are at the same commit.
func TestKilledAnywhere(t *testing.T) {
	w := newWorld(t)
	dir := shortDir(t)
	o := w.session(first)
	var asked []string // the requests that changed something here or there
	w.instead(func(path string) int {
		if path != "POST /v1/runner/here" && path != "POST /v1/runner/said" {
			w.mu.Lock()
			asked = append(asked, path)
			w.mu.Unlock()
		}
		return 0
	})
	w.want(o)
	leave := w.run(opened(t, dir, w.box, w.log))
	w.untilSaid("done")
	if err := leave(); err != nil {
		t.Fatal(err)
	}
	if len(asked) < 8 {
		t.Fatalf("it asked %q alone", asked)
	}
	for n := range asked {
		if testing.Short() && n%3 != 0 {
			continue
		}
		t.Run(fmt.Sprint(n, " ", asked[n][strings.LastIndex(asked[n], "/")+1:]), func(t *testing.T) {
			w := newWorld(t)
			dir := shortDir(t)
			o := w.session(first)
			killed := make(chan struct{})
			left, once := dir+".left", sync.Once{}
			t.Cleanup(func() { _ = os.RemoveAll(left) })
			count := 0
			w.instead(func(path string) int {
				if path == "POST /v1/runner/here" || path == "POST /v1/runner/said" {
					return 0
				}
				w.mu.Lock()
				count++
				now := count == n+1
				w.mu.Unlock()
				if now {
					once.Do(func() {
						if out, err := exec.CommandContext(t.Context(), "cp", "-a", dir, left).CombinedOutput(); err != nil && !strings.Contains(string(out), "No such file") { // what goes meanwhile
							t.Errorf("%v\n%s", err, out)
						}
						close(killed)
					})
				}
				select {
				case <-killed:
					return http.StatusServiceUnavailable // nobody hears it
				default:
					return 0
				}
			})
			w.want(o)
			r, err := Open(t.Context(), Options{Dir: dir, Name: "gpu1", Carrier: w.box, Program: "false", Version: "test", Now: time.Now, Logger: slog.New(slog.NewTextHandler(w.log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			leave := w.run(r)
			<-killed
			if err := errors.Join(leave(), r.Close()); err != nil {
				t.Fatal(err)
			}
			w.instead(nil)
			if err := errors.Join(os.RemoveAll(dir), os.Rename(left, dir)); err != nil {
				t.Fatal(err)
			}
			leave = w.run(opened(t, dir, w.box, w.log))
			w.untilSaid("done " + o.Name)
			if err := leave(); err != nil {
				t.Error(err)
			}
			for _, s := range w.heard("pushed", "end", "done") {
				if !slices.Contains([]string{"pushed " + first + " " + w.base, "end " + first + " crashed", "done " + o.Name + " "}, s) {
					t.Errorf("it said %q", s)
				}
			}
			for _, what := range []string{"pushed", "end", "done"} {
				if len(w.heard(what)) == 0 {
					t.Errorf("nobody heard of %q: %q", what, w.heard(""))
				}
			}
			for line := range strings.Lines(w.pushed() + "\n") {
				if _, at, _ := strings.Cut(strings.TrimSpace(line), " "); at != w.base {
					t.Errorf("the box has %q", line)
				}
			}
		})
	}
}

// An order that is given again while it is under way is carried out once; one that was carried out, as by a box that has forgotten that, is carried out
// again, and pushes nothing anew.
func TestGivenAgain(t *testing.T) {
	w := newWorld(t)
	o := w.session(first)
	begun, goOn := make(chan struct{}), make(chan struct{})
	once := sync.Once{}
	w.instead(func(path string) int {
		if path == "POST /v1/runner/done" {
			once.Do(func() { close(begun) })
			<-goOn
		}
		return 0
	})
	w.want(o)
	r := opened(t, shortDir(t), w.box, w.log)
	w.run(r)
	<-begun
	w.want(o)
	w.want(o)
	w.tell(order.Notice{Call: &order.Call{ID: 1, Do: "x"}}) // when it is answered, what came before it was taken
	w.untilSaid("answer 1")
	close(goOn)
	w.untilSaid("done")
	if got := len(w.heard("end")); got != 1 {
		t.Errorf("it is carried out %d times", got)
	}
	w.until("the order is over", func() bool {
		orders := of(r)
		orders.mu.Lock()
		defer orders.mu.Unlock()
		return orders.all[o.Name].reached
	})
	w.want(o)
	w.until("it is done again", func() bool { return w.count("done") == 2 })
	if got := w.heard("ref", "pushed"); len(got) != 2 {
		t.Errorf("it pushes anew what the box has: %q", got)
	}
}

// A box that is started again while an order ends may not know it when it is told that it is done, and give it while that is on its way: then the order
// is carried out once more.
func TestGivenMeanwhile(t *testing.T) {
	for _, given := range []bool{true, false} {
		w := newWorld(t)
		o := w.session(first)
		asked, goOn := make(chan struct{}), make(chan struct{})
		once := sync.Once{}
		w.instead(func(path string) int {
			if path == "POST /v1/runner/done" {
				once.Do(func() { close(asked) })
				<-goOn
			}
			return 0
		})
		w.heardDone(order.DoneHeard{Unknown: true})
		w.want(o)
		r := opened(t, shortDir(t), w.box, w.log)
		w.run(r)
		<-asked
		if given {
			w.want(o)
		}
		w.tell(order.Notice{Call: &order.Call{ID: 1, Do: "x"}}) // when it is answered, what came before it was taken
		w.untilSaid("answer 1")
		close(goOn)
		w.untilSaid("done")
		w.heardDone(order.DoneHeard{})
		w.until("the order is over", func() bool {
			orders := of(r)
			orders.mu.Lock()
			defer orders.mu.Unlock()
			return orders.all[o.Name].reached
		})
		w.mu.Lock()
		if n, lines := w.count("done"), len(w.lines); given != (n == 2) || lines != 1 { // a second line would have it given again
			t.Errorf("given meanwhile %t: it is done %d times, over %d lines", given, n, lines)
		}
		w.mu.Unlock()
	}
}

// of are the orders that a runner has.
func of(r *Remote) *orders {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &r.works.orders
}

// What is not due any more ends, and nobody is told that it is done.
func TestNotDue(t *testing.T) {
	w := newWorld(t)
	o, other := w.session(first), w.session("02T-1.1")
	hangs, let := make(chan struct{}), make(chan struct{})
	once := sync.Once{}
	w.instead(func(path string) int {
		if strings.Contains(path, "/git/fetch/"+o.Name+"/") {
			once.Do(func() { close(hangs) })
			<-let
		}
		return 0
	})
	w.want(o)
	r := opened(t, shortDir(t), w.box, w.log)
	w.run(r)
	<-hangs
	w.want(other)
	w.untilSaid("done " + other.Name) // which does not wait for the first
	close(let)
	orders := of(r)
	orders.mu.Lock()
	if len(orders.all) != 1 {
		t.Errorf("%d orders are kept", len(orders.all))
	}
	orders.mu.Unlock()
	orders.stop()
	if got := w.heard("done " + o.Name); len(got) != 0 {
		t.Errorf("said was %q", got)
	}
}

// Many orders of a run begin at once, while its branch moves: each gets what it is about at the first try.
func TestFetchesTogether(t *testing.T) {
	w := newWorld(t)
	var orders []order.Assigned
	for n := range 12 {
		orders = append(orders, w.sessionOn(fmt.Sprintf("T-%d", n+1), fmt.Sprintf("%02dT-1.%d", n+1, n+1)))
	}
	var moving sync.Mutex
	w.instead(func(path string) int {
		if strings.HasSuffix(path, "/info/refs") && strings.Contains(path, "/git/fetch/") {
			moving.Lock()
			defer moving.Unlock()
			next := gittest.Git(t, w.repo, "commit-tree", "-m", path, "-p", branch, branch+"^{tree}")
			gittest.Git(t, w.repo, "update-ref", "refs/heads/"+branch, next)
		}
		return 0
	})
	w.want(orders...)
	w.run(opened(t, shortDir(t), w.box, w.log))
	for _, o := range orders {
		w.untilSaid("done " + o.Name)
	}
	for _, done := range w.heard("done") {
		if !strings.HasSuffix(done, " ") {
			t.Error(done)
		}
	}
}

// What the box refuses for good is told, and the next goes on; what it can't take now is said again.
func TestRefused(t *testing.T) {
	w := newWorld(t)
	o := w.session(first)
	n := 0
	w.instead(func(path string) int {
		w.mu.Lock()
		defer w.mu.Unlock()
		if path == "POST /v1/runner/hand-in" {
			if n++; n == 1 {
				return http.StatusForbidden
			}
			if n < 4 {
				return http.StatusServiceUnavailable
			}
		}
		return 0
	})
	w.want(o)
	w.run(opened(t, shortDir(t), w.box, w.log))
	w.untilSaid("done")
	if got := w.heard("pushed", "end", "done"); !slices.Equal(got, []string{"end " + first + " crashed", "done " + o.Name + " "}) {
		t.Errorf("said was %q", got)
	}
	about := " run=R1 task=T-1 role=developer agent=a "
	for _, want := range []string{
		"level=INFO msg=\"a session begins\"" + strings.TrimSuffix(about, " "), "level=INFO msg=\"a session was over at the box; what it left is kept there\"" + about + "ref=refs/tasks/R1/T-1/",
		"level=INFO msg=\"a session has ended\"" + about + "how=crashed",
	} {
		if !strings.Contains(w.log.String(), want) {
			t.Errorf("%s is not among what is logged: %s", want, w.log)
		}
	}
	if strings.Contains(w.log.String(), "level=ERROR") {
		t.Errorf("logged was %s", w.log)
	}

	for status, want := range map[int]string{
		http.StatusBadRequest: "level=ERROR msg=\"the box refuses for good what came of an order\" what=end", http.StatusForbidden: "level=INFO msg=\"a session has ended\"" + about,
	} {
		w := newWorld(t)
		w.instead(func(path string) int {
			if path == "POST /v1/runner/hand-in" {
				return status
			}
			return 0
		})
		w.want(w.session(first))
		w.run(opened(t, shortDir(t), w.box, w.log))
		w.untilSaid("done")
		if done := w.heard("done"); status == http.StatusForbidden && !strings.HasSuffix(done[0], " ") {
			t.Errorf("it is no end: %q", done)
		}
		if !strings.Contains(w.log.String(), want) {
			t.Errorf("%s is not among what is logged: %s", want, w.log)
		}
	}
}

// A worktree that is gone is nothing that was done: where the work is, the box knows from before.
func TestNoWorktree(t *testing.T) {
	w := newWorld(t)
	dir := shortDir(t)
	w.want(w.session(first))
	r := opened(t, dir, w.box, w.log)
	w.run(r)
	w.untilSaid("done")
	if err := os.RemoveAll(filepath.Join(dir, runner.Worktrees)); err != nil {
		t.Fatal(err)
	}
	if err := r.pushFor(t.Context(), first, api.SessionReport{Kind: api.ReportEnded}); err != nil {
		t.Error(err)
	}
	if got := w.heard("pushed"); len(got) != 1 {
		t.Errorf("handed in was %q", got)
	}
}

// A number whose ref is there, at another commit, is passed over.
func TestNumberIsTaken(t *testing.T) {
	w := newWorld(t)
	gittest.Git(t, w.repo, "commit", "-q", "--allow-empty", "-m", "another's")
	gittest.Git(t, w.repo, "update-ref", "refs/tasks/R1/T-1/1.1.1", "HEAD")
	w.want(w.session(first))
	dir := shortDir(t)
	w.run(opened(t, dir, w.box, w.log))
	w.untilSaid("done")
	if got := w.heard("ref"); !slices.Equal(got, []string{"ref 1", "ref 2"}) || !strings.HasSuffix(w.pushed(), "refs/tasks/R1/T-1/1.1.2 "+w.base) {
		t.Errorf("it asked for %q, and the box has %q", got, w.pushed())
	}
	if k, err := read(dir, first); err != nil || k.Count != 2 || k.Commit != w.base {
		t.Errorf("written down is %+v, %v", k, err)
	}
}

// A runner says when it is given nothing new, and when it is again.
func TestDrained(t *testing.T) {
	log := &logged{}
	r := bare(&timed{})
	r.o.Logger = slog.New(slog.NewTextHandler(log, nil))
	for i, draining := range []bool{false, true, true, false, false} {
		r.heard(order.There{Draining: draining})
		if lines := []int{0, 1, 1, 2, 2}[i]; strings.Count(log.String(), "\n") != lines || lines == 2 && !strings.HasSuffix(log.String(), "it is drained no more\"\n") {
			t.Errorf("after %d answers it says %s", i+1, log)
		}
	}
}

// What the box asks besides is answered, also if it can't be done.
func TestCalls(t *testing.T) {
	w := newWorld(t)
	w.run(opened(t, shortDir(t), w.box, w.log))
	s := &delivery.Session{ID: first}
	for i, c := range []struct {
		call order.Call
		want string
	}{
		{order.Call{Do: order.CallEvidence, Session: s, Ref: "x", Most: 10}, "no such file"},
		{order.Call{Do: order.CallDistrust, Session: s, Run: "R1"}, ""},
		{order.Call{Do: order.CallAgain, Session: s}, "no such file"},
		{order.Call{Do: order.CallAgain}, ""},
		{order.Call{Do: order.CallTurnEnded, Session: s, Prompt: "p"}, ""},
		{order.Call{Do: order.CallGone, Session: s}, ""},
		{order.Call{Do: order.CallAcceptFollowed}, ""},
		{order.Call{Do: order.CallLeaveFollowed, Run: "R1"}, ""},
		{order.Call{Do: "dance"}, `does not know how to "dance"`},
	} {
		c.call.ID = uint64(i + 1)
		begins := fmt.Sprintf("answer %d ", c.call.ID)
		w.until("it follows", func() bool { return len(w.lines) > 0 && len(w.here) > 0 && w.here[len(w.here)-1].Agents != nil })
		w.tell(order.Notice{Call: &c.call})
		w.untilSaid(begins)
		if got := w.heard(begins)[0]; c.want == "" && got != begins || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q", c.call, got)
		}
	}
}

// A runner that leaves goes on until it has nothing left to do and the box knows it; one that is there for one task takes one; who is not known ends.
func TestLeaves(t *testing.T) {
	w := newWorld(t)
	o := w.session(first)
	hold := make(chan struct{})
	begun := make(chan struct{})
	once := sync.Once{}
	w.instead(func(path string) int {
		if path == "POST /v1/runner/done" {
			once.Do(func() { close(begun) })
			<-hold
		}
		return 0
	})
	w.want(o)
	r := opened(t, shortDir(t), w.box, w.log)
	leave := w.run(r)
	<-begun
	r.Leave()
	w.until("it says that it leaves", func() bool { return w.here[len(w.here)-1].Leaving })
	select {
	case <-r.finished:
		t.Fatal("it has left before its order was done")
	default:
	}
	close(hold)
	w.untilSaid("done")
	w.want()
	<-r.finished
	if err := leave(); err != nil {
		t.Error(err)
	}

	w = newWorld(t)
	w.want(w.session(first))
	r = opened(t, shortDir(t), w.box, w.log)
	r.o.Once = true
	leave = w.run(r)
	w.untilSaid("done")
	w.want()
	<-r.finished
	if err := leave(); err != nil {
		t.Error(err)
	}

	w = newWorld(t)
	w.instead(func(string) int { return http.StatusBadRequest })
	r = opened(t, shortDir(t), w.box, w.log)
	if err := r.Run(t.Context()); err == nil || !final(err) {
		t.Errorf("a runner that the box does not understand ends with %v", err)
	}
}

// A directory is one runner's at a time, and its socket's name has to fit.
func TestOpen(t *testing.T) {
	w := newWorld(t)
	dir := shortDir(t)
	opened(t, dir, w.box, w.log)
	for what, o := range map[string]Options{
		fmt.Sprintf("another runner works in %s: process %d", dir, os.Getpid()): {Dir: dir, Carrier: w.box, Logger: slog.New(slog.DiscardHandler)},
		"has too long a name": {Dir: filepath.Join(shortDir(t), strings.Repeat("x", 120)), Carrier: w.box, Logger: slog.New(slog.DiscardHandler)},
	} {
		if r, err := Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v, %v", what, r, err)
		}
	}
	info, err := os.Stat(filepath.Join(dir, socketFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket is %v, %v", info, err)
	}
	var at struct{ Address string }
	data, err := os.ReadFile(filepath.Join(dir, addressOf))
	if err != nil || json.Unmarshal(data, &at) != nil || at.Address != api.SocketPrefix+filepath.Join(dir, socketFile) {
		t.Errorf("sessions find %s, %v", data, err)
	}
}

// What is remembered of a session goes when its run is over and it has nothing left to say.
func TestLeftovers(t *testing.T) {
	w := newWorld(t)
	dir := shortDir(t)
	r := opened(t, dir, w.box, w.log)
	for session, k := range map[string]kept{
		"01A-1.1": {Run: "R1", Branch: branch, Copied: true}, // which goes on
		"01B-1.1": {Run: "R0", Branch: "signalbox/R0", Copied: true},
		"01C-1.1": {Run: "R2", Branch: "signalbox/R2", Copied: true}, // which has a report to hand in
		"01D-1.1": {Run: "R3", Branch: "signalbox/R3"},               // of which the box has not all that was said
		"01E-1.1": {Run: "R4", Branch: "signalbox/R4", Copied: true},
	} {
		if err := r.write(k, session); err != nil {
			t.Fatal(err)
		}
	}
	outbox := filepath.Join(runner.SessionFiles(dir, "01C-1.1"), "outbox")
	if err := errors.Join(os.MkdirAll(outbox, 0o700), os.WriteFile(filepath.Join(outbox, "1.json"), []byte("{}"), 0o600), os.WriteFile(r.keptPath("01F-1.1"), []byte("{"), 0o600)); err != nil {
		t.Fatal(err)
	}
	leave := w.run(r)
	w.until("it has settings", func() bool { return len(w.here) > 0 && w.here[len(w.here)-1].Agents != nil })
	r.hurry()
	heard := len(w.here)
	w.until("it was told which runs go on", func() bool { return len(w.here) > heard+1 || len(w.here) > 3 })
	if err := leave(); err != nil {
		t.Error(err)
	}
	r.leave(t.Context(), []string{"R1"})
	entries, err := os.ReadDir(filepath.Join(dir, ordersDir))
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, strings.TrimSuffix(e.Name(), ".json"))
	}
	if want := []string{"01A-1.1", "01C-1.1", "01D-1.1"}; !slices.Equal(left, want) {
		t.Errorf("remembered is %q, want %q", left, want)
	}
}

// What checks came to is signed as the box reads it, of the order that they were, in this runner's name; what could not be checked is not.
func TestGateIsSigned(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	r := opened(t, shortDir(t), w.box, w.log)
	r.o.Sign = func(text []byte) (key, signature []byte) { return public, ed25519.Sign(private, text) }
	begun := w.session("01ITEM-1.1")
	o := order.Order{Command: delivery.Command{ID: "gate/T-1/3", Do: delivery.DoGate, Runner: "gpu1", Task: begun.Run.Tasks[0]}, Run: begun.Run}
	c := &conductor{r, &works{}}
	c.w.orders.begin()
	defer c.w.orders.stop()
	c.w.orders.all[o.Name()] = &flight{Assigned: order.Assigned{Order: o, Name: o.Name()}}
	for i, ran := range []delivery.GateRan{
		{Command: o.ID, Commit: w.base, Passed: true, Checks: []work.Check{{Name: "test", Passed: true}}, Files: new(2)},
		{Command: o.ID, Commit: w.base, Output: "caf\xe9 \x1b[31m" + strings.Repeat("no ", 10_000)},
		{Command: o.ID, Commit: w.base, Trouble: "no room"},
	} {
		if err := c.HandIn(t.Context(), "01R", ran); err != nil {
			t.Fatal(err)
		}
		got := w.ran[i]
		err := got.Signed.Check(got.Statement("gpu1", "R1", o.Task), work.KeySHA256(public))
		if (err == nil) != ran.Verdict() || (got.Signed != nil) != ran.Verdict() {
			t.Errorf("%+v: %v", got, err)
		}
	}
}
