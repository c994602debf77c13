package runner

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/internal/mailbox"
	"github.com/signalbox-dev/signalbox/internal/order"
)

// newRunner makes a runner in a repository, for a conductor that may be nil. Its program is this one.
func newRunner(t *testing.T, repo string, settings config.Config, c order.Conductor) *Runner {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	site, err := OpenSite(t.Context(), repo, settings)
	if err != nil {
		t.Fatal(err)
	}
	x, err := New(t.Context(), Options{
		Dir: t.TempDir(), Program: program, Site: site, Conductor: c, Mail: mailbox.New(), Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		Redact: func(text string) string { return text }, Hidden: func() ([]string, error) { return nil, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Stop)
	return x
}

// Nothing is kept of a run that has ended.
func TestFinishedLeavesNothing(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	x := newRunner(t, repo, config.Config{}, nil)
	_, base, err := x.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := delivery.Run{}
	r.ID, r.Subject, r.Branch = "R1", "subject", "signalbox/R1"
	if made, err := x.MakeBranch(t.Context(), r.Branch, base); err != nil || !made {
		t.Fatal(made, err)
	}
	if err := x.Begin(t.Context(), r.Subject, r.Branch, true); err != nil {
		t.Fatal(err)
	}
	if marked, err := x.Marked(nil); err != nil || len(marked) != 1 || len(x.branches) != 1 {
		t.Fatalf("marks of %v, branches %v, %v", marked, x.branches, err)
	}
	x.Finished(t.Context(), r)
	if marked, err := x.Marked(nil); err != nil || len(marked) > 0 || len(x.branches) > 0 {
		t.Errorf("marks of %v, branches %v, %v", marked, x.branches, err)
	}
	if said := x.astray(t.Context(), r.Branch); said != nil || len(x.branches) > 0 {
		t.Errorf("a look after the end finds %v, and keeps %v", said, x.branches)
	}
}

// What could not be taken away is not forgotten, nor what was not even tried.
func TestFinishedTooEarly(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	x := newRunner(t, repo, config.Config{}, nil)
	r := delivery.Run{}
	r.ID, r.Subject, r.Branch = "R1", "subject", "signalbox/R1"
	if err := x.Begin(t.Context(), r.Subject, r.Branch, true); err != nil {
		t.Fatal(err)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	x.Finished(stopped, r)
	if marked, err := x.Marked(nil); err != nil || len(marked) != 1 {
		t.Errorf("marks of %v, %v", marked, err)
	}
}
