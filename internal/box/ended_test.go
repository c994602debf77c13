package box

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/filelock"
)

// deliveringOptions are those of a box that delivers plans in a repository, by agents whose program ends
// at once.
func deliveringOptions(t *testing.T, c *commits) Options {
	t.Helper()
	settings, err := config.Parse(filepath.Join(c.dir, config.File), []byte("agents: {none: {command: [\"false\"]}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return Options{
		Dir: Dir(filepath.Join(c.dir, ".signalbox")), Delivery: &Delivery{Repo: c.dir, Program: "false", Config: settings},
	}
}

// delivering opens such a box.
func delivering(t *testing.T, c *commits) *Box {
	t.Helper()
	b, _, err := Open(t.Context(), deliveringOptions(t, c))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const onePlan = "# A plan\n\n#### Task T-1: The task\n\n**Work**: Do it.\n\n**Blocked By**: none\n"

// cancelled starts a run and cancels it, and returns its conductor when that has ended.
func cancelled(t *testing.T, b *Box) *conductor {
	t.Helper()
	r, err := b.Deliver(t.Context(), api.StartRun{Plan: onePlan}, "")
	if err != nil {
		t.Fatal(err)
	}
	b.conducting.Lock()
	c := b.conductors[r.Subject]
	b.conducting.Unlock()
	if _, err := b.OnRun(t.Context(), r.ID, "cancel", api.Message{}); err != nil && !errors.Is(err, delivery.ErrFinished) {
		t.Fatal(err)
	}
	<-c.over
	return c
}

// Nothing of a run that has ended is kept besides its fold, which leaves memory with all that is over.
func TestEndedRunLeavesNothing(t *testing.T) {
	b := delivering(t, newCommits(t))
	defer closeBox(t, b)
	c := cancelled(t, b)
	d := b.deliverer
	if n := len(b.conductors) + len(b.mail.all) + len(d.plans) + len(d.branches) + len(d.starting.keys); n > 0 {
		t.Errorf("conductors %v, lines %v, plans %v, branches %v, starting %v", b.conductors, b.mail.all, d.plans, d.branches, d.starting.keys)
	}
	if marked, err := d.marked(); err != nil || len(marked) > 0 {
		t.Errorf("marks of %v, %v", marked, err)
	}
	if said := d.astray(t.Context(), "signalbox/R1"); said != nil || len(d.branches) > 0 {
		t.Errorf("a look after the end finds %v, and keeps %v", said, d.branches)
	}
	b.state.drop(b.state.inIndex(c.subject))
	b.state.show(c.subject)
	b.state.unwatch(c.subject, nil)
	if len(b.state.news) > 0 {
		t.Errorf("news of a run that left memory: %v", b.state.news)
	}
}

// What a run leaves behind because its box was killed, or something failed, is taken away by the next
// start; nothing is done for other runs.
func TestEndedRunIsTidiedUp(t *testing.T) {
	repo := newCommits(t)
	b := delivering(t, repo)
	defer func() { closeBox(t, b) }()
	d := b.deliverer
	cancelled(t, b)
	exchange := filepath.Join(d.dir, "exchange.git")
	if err := os.Rename(exchange, exchange+".away"); err != nil {
		t.Fatal(err)
	}
	c := cancelled(t, b) // its refs in the exchange can't be removed
	if err := os.Rename(exchange+".away", exchange); err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(d.dir, "caches", "base-R2")
	if err := errors.Join(os.MkdirAll(base, 0o700), d.mark("01ARZ3NDEKTSV4RRFFQ69G5FAV")); err != nil {
		t.Fatal(err)
	}
	marked, err := d.marked()
	if err != nil || len(marked) != 2 || marked[1] != c.subject {
		t.Fatalf("marks of %v, %v; want one of %s, and one of a run that was not recorded", marked, err, c.subject)
	}
	b.tidy(t.Context(), marked)
	if marked, err := d.marked(); err != nil || len(marked) > 0 {
		t.Errorf("marks of %v, %v", marked, err)
	}
	if _, err := os.Stat(base); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the base of the run's checks is left: %v", err)
	}
	if err := os.Remove(d.markPath("")); err != nil { // as a version before has it
		t.Fatal(err)
	}
	if marked, err := d.marked(); err != nil || len(marked) != 2 {
		t.Errorf("marks of %v, %v; want one of each run", marked, err)
	}
	if marked, err := d.marked(); err != nil || len(marked) != 2 {
		t.Errorf("marks of %v, %v; want them kept", marked, err)
	}
}

// Where checks run is none of the worktrees of the user's repository, as it was in a version before.
func TestGatesAreNotTheUsers(t *testing.T) {
	repo := newCommits(t)
	repo.git("", "worktree", "add", "-q", "--detach", ".signalbox/gates/0")
	closeBox(t, delivering(t, repo))
	if list := repo.git("", "worktree", "list"); strings.Contains(list, "\n") {
		t.Errorf("the user's repository has\n%s", list)
	}
}

// A run that could not be tidied up after is not started.
func TestNoRunWithoutMark(t *testing.T) {
	b := delivering(t, newCommits(t))
	defer closeBox(t, b)
	marks := b.deliverer.markPath("")
	if err := errors.Join(os.Remove(marks), os.WriteFile(marks, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if r, err := b.Deliver(t.Context(), api.StartRun{Plan: onePlan}, ""); err == nil {
		t.Errorf("the run %s was started", r.ID)
	}
	if events := b.state.upTo(); events > 0 {
		t.Errorf("%d events were recorded", events)
	}
}

// What ends a run is answered as what it is, although the conductor ends with it.
func TestLastInputIsAnswered(t *testing.T) {
	for range 64 {
		c := &conductor{inputs: make(chan input), over: make(chan struct{})}
		go func() {
			in := <-c.inputs
			in.reply <- nil
			close(c.over)
		}()
		if err := c.tell(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
}

// Whoever asks after a session that has ended does not make the box remember it.
func TestForgottenSession(t *testing.T) {
	h := newMailboxes()
	lost := h.connect("s")
	h.forget("s")
	select {
	case <-lost:
	default:
		t.Error("the connection goes on")
	}
	if in, lost := h.connected("s"); in || lost != nil {
		t.Error("it is in touch")
	}
	if commands, more, lost := h.next("s"); commands != nil || more != nil || lost != nil {
		t.Error("there is something to say to it")
	}
	if _, ok := <-h.ask("s", api.SessionCommand{ID: "tell/1"}); ok {
		t.Error("it was told something")
	}
	h.wrote("s", "tell/1")
	h.heard("s", "a line")
	if len(h.all) > 0 {
		t.Errorf("it is remembered: %v", h.all)
	}
}

// A session that ends before it is told to end is not remembered for what it is told.
func TestEndOfEndedSession(t *testing.T) {
	b := delivering(t, newCommits(t))
	defer closeBox(t, b)
	c := cancelled(t, b)
	s := delivery.Session{ID: c.subject + "-1.1"}
	dir := b.sessionDir(s.ID)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	release, err := filelock.Take(filepath.Join(dir, "lock")) // its process is there for a moment
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = release() }()
	ctx, cancel := context.WithCancel(t.Context())
	told := make(chan error)
	go func() {
		told <- b.deliverer.carryOut(ctx, c, delivery.Command{Do: delivery.DoEnd, Session: &s})
	}()
	for said := false; !said; {
		commands, _, _ := b.mail.next(s.ID)
		said = len(commands) > 0
	}
	cancel() // it is not due any more
	if err := <-told; !errors.Is(err, context.Canceled) {
		t.Errorf("the end of a session: %v", err)
	}
	if len(b.mail.all) > 0 {
		t.Errorf("it is remembered: %v", b.mail.all)
	}
}

// A message that an agent did not take in time is taken back: if it had not gone out, only the next agent is told.
func TestTellIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &Box{mail: newMailboxes()}
		b.mail.connect("s")
		if b.ask(t.Context(), "s", api.SessionCommand{ID: "tell/1", Kind: api.CommandTell}) {
			t.Error("an agent was told that says nothing")
		}
		b.mail.connect("s")
		if commands, _, _ := b.mail.next("s"); len(commands) > 0 || len(b.mail.all["s"].answers) > 0 {
			t.Errorf("still to be sent: %+v", commands)
		}
		told := make(chan bool)
		go func() { told <- b.ask(t.Context(), "s", api.SessionCommand{ID: "tell/2", Kind: api.CommandTell}) }()
		synctest.Wait()
		b.mail.answered("s", "tell/2", true)
		if !<-told {
			t.Error("an agent that has answered was not told")
		}
	})
}

// Who has something to say to a run that has just ended is told so, and not that the box stops.
func TestSaidAfterTheEnd(t *testing.T) {
	b := delivering(t, newCommits(t))
	defer closeBox(t, b)
	r, err := b.Deliver(t.Context(), api.StartRun{Plan: onePlan}, "")
	if err != nil {
		t.Fatal(err)
	}
	b.conducting.Lock()
	c := b.conductors[r.Subject]
	b.conducting.Unlock()
	said := make(chan error, 100)
	for range cap(said) {
		go func() {
			_, err := b.OnRun(t.Context(), r.ID, "cancel", api.Message{})
			said <- err
		}()
	}
	<-c.over
	for range cap(said) {
		if err := <-said; err != nil && !errors.Is(err, delivery.ErrFinished) {
			t.Errorf("told: %v", err)
		}
	}
}
