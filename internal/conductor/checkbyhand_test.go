package conductor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/conductor/conductortest"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// checker runs no checks: tests say how they end.
type checker struct {
	ends func(i work.Item) work.Checked // at once; if it is nil, they end with their context, or by the test's word

	mu    sync.Mutex
	notes []string
	runs  int // now
	most  int // at once
	end   chan work.Checked
}

const checkedCommit = "1111111111111111111111111111111111111111"

// how is a result on the commit.
func how(passed bool) work.Checked {
	return work.Checked{Commit: checkedCommit, Tip: checkedCommit, Passed: passed}
}

func (x *checker) note(format string, args ...any) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.notes = append(x.notes, fmt.Sprintf(format, args...))
}

func (x *checker) count(n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.runs += n
	x.most = max(x.most, x.runs)
}

// noted waits until nothing goes on, and compares what was asked since.
func (x *checker) noted(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	if !slices.Equal(x.notes, want) {
		t.Errorf("noted %q; want %q", x.notes, want)
	}
	x.notes = nil
}

func (x *checker) CheckBranch(ctx context.Context, i work.Item) (work.Checked, error) {
	x.note("%s on %s", i.ID, i.Branch)
	x.count(1)
	defer x.count(-1)
	var c work.Checked
	if x.ends != nil {
		c = x.ends(i)
	} else {
		select {
		case c = <-x.end:
		case <-ctx.Done():
			x.note("%s is cancelled", i.ID)
			return c, ctx.Err()
		}
	}
	c.Entered = i.Entered
	return c, nil
}

// office is a conductor of work by hand that is checked.
type office struct {
	*Conductor
	*checker
	t      *testing.T
	ledger *conductortest.Ledger
}

func newOffice(t *testing.T) *office {
	t.Helper()
	return &office{t: t, checker: &checker{end: make(chan work.Checked)}, ledger: conductortest.New(t.Context(), time.Now)}
}

const checksOn = "gate: {checks: on}\nchecks: [{name: test, command: make test}]\n"

// open begins to conduct.
func (o *office) open(settled string, draining bool) {
	o.t.Helper()
	o.Conductor = New(o.ledger, Options{Config: settings(o.t, settled), Draining: draining})
	o.CheckByHand(o.checker)
}

// shut kills the ledger, and returns when nothing goes on.
func (o *office) shut() {
	o.ledger.Kill()
	o.Stop()
}

func (o *office) item(id string) work.Item {
	o.t.Helper()
	i, err := o.ledger.ItemNamed(id)
	if err != nil {
		o.t.Fatal(err)
	}
	return i
}

func (o *office) record(id string, do work.Command) {
	o.t.Helper()
	if err := o.ledger.Record(o.item(id).Subject, do); err != nil {
		o.t.Fatal(err)
	}
}

// pending adds an item that waits for checks.
func (o *office) pending(id, branch string) {
	o.t.Helper()
	if err := o.ledger.AddItem(work.Add{ID: id, Title: "a task", Phase: agentsig.PhaseCIPending, Actor: "ann", Branch: branch}); err != nil {
		o.t.Fatal(err)
	}
}

func (o *office) in(id string, want agentsig.Phase) {
	o.t.Helper()
	if got := o.item(id).Phase; got != want {
		o.t.Errorf("%s is in %s; want %s", id, got, want)
	}
}

// Work by hand with a branch is checked, one item after the other, and what came of it recorded; also what waited before.
func TestCheckByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.pending("T-1", "one")
		o.pending("T-2", "two")
		o.pending("T-3", "")
		o.open(checksOn, false)
		o.noted(t, "T-1 on one")
		o.end <- how(true)
		o.noted(t, "T-2 on two")
		o.in("T-1", agentsig.PhaseReadyForReview)
		o.end <- how(false)
		o.noted(t)
		o.in("T-2", agentsig.PhaseImplementation)
		o.in("T-3", agentsig.PhaseCIPending) // who has no branch waits for a report
		o.pending("T-4", "four")
		o.noted(t, "T-4 on four")
		o.end <- work.Checked{Commit: checkedCommit, Trouble: "the disk is full"}
		o.noted(t)
		o.in("T-4", agentsig.PhaseBlocked)
		o.record("T-4", work.Answer{Actor: work.OperatorActor, Question: "T-4-Q1", Text: "retry"})
		o.noted(t, "T-4 on four")
		o.end <- how(true)
		o.noted(t)
		o.in("T-4", agentsig.PhaseReadyForReview)
		o.shut()
	})
}

// A branch that moves is checked again where it is, and after the third time a person is asked.
func TestCheckByHandMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.open(checksOn, false)
		o.pending("T-1", "one")
		moved := how(true)
		moved.Tip = "2222222222222222222222222222222222222222"
		for range 3 {
			o.noted(t, "T-1 on one")
			o.in("T-1", agentsig.PhaseCIPending)
			o.end <- moved
		}
		o.noted(t)
		o.in("T-1", agentsig.PhaseBlocked)
		o.shut()
	})
}

// Checks end when the item leaves the phase, whoever moves it, and what they would have said is not recorded. Another item's
// fate does not end them.
func TestCheckByHandLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.open(checksOn, false)
		o.pending("T-1", "one")
		o.pending("T-2", "two")
		o.noted(t, "T-1 on one")
		o.record("T-2", work.Report{Commit: "0a1b2c3", Passed: true})
		o.noted(t)
		o.record("T-1", work.Report{Commit: "0a1b2c3"})
		o.noted(t, "T-1 is cancelled")
		o.in("T-1", agentsig.PhaseImplementation)
		o.record("T-1", work.Override{Actor: work.OperatorActor, Phase: agentsig.PhaseCIPending, Reason: "again"})
		o.noted(t, "T-1 on one")
		o.record("T-1", work.Grant{Epoch: 1, Actor: "ann", TTL: time.Hour}) // somebody asks for just this
		o.noted(t, "T-1 is cancelled")
		o.record("T-1", work.Release{Token: o.item("T-1").Lease.Token})
		o.noted(t, "T-1 on one")
		o.shut()
		o.noted(t, "T-1 is cancelled")
	})
}

// Nothing is checked unless the settings want it, nor by a box that starts nothing; what is under way ends when it drains.
func TestCheckByHandNot(t *testing.T) {
	for name, c := range map[string]struct {
		settings string
		draining bool
	}{"off": {"checks: [{name: test, command: make test}]\n", false}, "draining": {checksOn, true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOffice(t)
				o.pending("T-1", "one")
				o.open(c.settings, c.draining)
				o.noted(t)
				o.shut()
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.pending("T-1", "one")
		o.open(checksOn, false)
		o.noted(t, "T-1 on one")
		o.Drain(t.Context())
		o.noted(t, "T-1 is cancelled")
		o.in("T-1", agentsig.PhaseCIPending)
		o.pending("T-2", "two")
		o.noted(t)
		o.shut()
	})
}

// A box that stops in the middle leaves the item where it is; the next one checks again, and it is recorded once, also if nobody
// knows whether it was recorded.
func TestCheckByHandAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.pending("T-1", "one")
		o.open(checksOn, false)
		o.noted(t, "T-1 on one")
		o.shut()
		o.noted(t, "T-1 is cancelled")
		next, err := o.ledger.Again(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		o.ledger = next
		lost := true
		o.ledger.Append = func(e ledger.Event, record func() error) error {
			if e.Type == work.GatePassed && lost {
				lost = false
				return errors.Join(record(), conductortest.ErrUnknown)
			}
			return record()
		}
		o.open(checksOn, false)
		o.noted(t, "T-1 on one")
		o.end <- how(true)
		time.Sleep(time.Minute)
		o.noted(t)
		o.in("T-1", agentsig.PhaseReadyForReview)
		var said []string
		for _, e := range o.ledger.Events(0) {
			if strings.HasPrefix(e.Type, "Gate") {
				said = append(said, e.Type)
			}
		}
		if !slices.Equal(said, []string{work.GatePassed}) {
			t.Errorf("recorded %q", said)
		}
		o.shut()
	})
}

// What could not be recorded is checked again, after a while.
func TestCheckByHandUnrecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		fails := true
		o.ledger.Append = func(e ledger.Event, record func() error) error {
			if e.Type == work.GatePassed && fails {
				return errors.New("the disk is full")
			}
			return record()
		}
		o.pending("T-1", "one")
		o.open(checksOn, false)
		o.noted(t, "T-1 on one")
		o.end <- how(true)
		o.noted(t) // not at once
		fails = false
		time.Sleep(unsurePause)
		o.noted(t, "T-1 on one")
		o.end <- how(true)
		o.noted(t)
		o.in("T-1", agentsig.PhaseReadyForReview)
		o.shut()
	})
}

// However many items wait when a box starts, they are checked one at a time, in the order in which they came.
func TestCheckByHandMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 2000
		o := newOffice(t)
		o.ends = func(work.Item) work.Checked { return how(true) }
		var want []string
		for n := range many {
			id := fmt.Sprint("T-", n)
			o.pending(id, "one")
			want = append(want, id+" on one")
		}
		o.open(checksOn, false)
		o.noted(t, want...)
		if o.most != 1 {
			t.Errorf("%d were checked at once", o.most)
		}
		o.in("T-1999", agentsig.PhaseReadyForReview)
		o.shut()
	})
}
