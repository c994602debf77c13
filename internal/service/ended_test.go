package service

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// cancelled starts a run in a repository and cancels it, and returns it when all of the service has ended.
func cancelled(t *testing.T, repo string) api.Run {
	t.Helper()
	s := open(t, repo)
	defer closed(t, s)
	r := deliver(t, s)
	if _, err := s.Conductor.OnRun(t.Context(), work.OperatorActor, r.ID, "cancel", api.Message{}); err != nil && !errors.Is(err, delivery.ErrFinished) {
		t.Fatal(err)
	}
	s.Conductor.Drain(t.Context()) // returns when the run is tidied up after
	return r
}

// marks returns the subjects of the runs that have a mark.
func marks(t *testing.T, repo string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(repo, ".signalbox", "runs"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// What a run leaves behind because something failed is remembered, and can be taken away later.
func TestEndedRunIsTidiedUp(t *testing.T) {
	repo := gittest.New(t)
	cancelled(t, repo)
	if marked := marks(t, repo); len(marked) > 0 {
		t.Errorf("marks of %v, and nothing was left", marked)
	}
	s := open(t, repo)
	r := deliver(t, s)
	exchange := filepath.Join(repo, ".signalbox", "exchange.git")
	if err := os.Rename(exchange, exchange+".away"); err != nil { // its refs there can't be removed
		t.Fatal(err)
	}
	if _, err := s.Conductor.OnRun(t.Context(), work.OperatorActor, r.ID, "cancel", api.Message{}); err != nil && !errors.Is(err, delivery.ErrFinished) {
		t.Fatal(err)
	}
	s.Conductor.Drain(t.Context())
	closed(t, s)
	base := filepath.Join(repo, ".signalbox", "caches", "base-"+r.ID)
	if err := errors.Join(os.RemoveAll(exchange), os.Rename(exchange+".away", exchange), os.MkdirAll(base, 0o700)); err != nil {
		t.Fatal(err)
	}
	if marked := marks(t, repo); len(marked) != 1 || marked[0] != r.Subject {
		t.Fatalf("marks of %v; want one of %s", marked, r.Subject)
	}
	o := optionsIn(t, repo)
	o.Draining = true // the test tidies up itself, to know when that is done
	s, _, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, s)
	var ended delivery.Run
	s.Box.Ledger().WithRun(r.Subject, func(r *delivery.Run) { ended = r.Copy() })
	s.runner.Finished(t.Context(), ended)
	if marked := marks(t, repo); len(marked) > 0 {
		t.Errorf("marks of %v", marked)
	}
	if _, err := os.Stat(base); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the base of the run's checks is left: %v", err)
	}
}

// A directory of a version that had no marks gets one of each run.
func TestRunsWithoutMarks(t *testing.T) {
	repo := gittest.New(t)
	cancelled(t, repo)
	if err := os.Remove(filepath.Join(repo, ".signalbox", "runs")); err != nil {
		t.Fatal(err)
	}
	o := optionsIn(t, repo)
	o.Draining = true // it does not tidy up
	for range 2 {
		s, _, err := Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		closed(t, s)
		if marked := marks(t, repo); len(marked) != 1 {
			t.Errorf("marks of %v; want one of each run, and that they are kept", marked)
		}
	}
}

// Where checks run is none of the worktrees of the user's repository, as it was in a version before.
func TestGatesAreNotTheUsers(t *testing.T) {
	repo := gittest.New(t)
	gittest.Git(t, repo, "worktree", "add", "-q", "--detach", ".signalbox/gates/0")
	closed(t, open(t, repo))
	if list := gittest.Git(t, repo, "worktree", "list"); strings.Contains(list, "\n") {
		t.Errorf("the user's repository has\n%s", list)
	}
}

// A run that could not be tidied up after is not started.
func TestNoRunWithoutMark(t *testing.T) {
	repo := gittest.New(t)
	s := open(t, repo)
	defer closed(t, s)
	marks := filepath.Join(repo, ".signalbox", "runs")
	if err := errors.Join(os.Remove(marks), os.WriteFile(marks, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Conductor.Deliver(t.Context(), work.OperatorActor, api.StartRun{Plan: onePlan}, ""); err == nil {
		t.Errorf("the run %s was started", r.ID)
	}
	if events := s.Box.UpTo(); events > 0 {
		t.Errorf("%d events were recorded", events)
	}
}
