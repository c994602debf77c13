package work_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// A branch is one that git could have, named as a branch and as nothing else.
func TestAddBranch(t *testing.T) {
	for _, name := range []string{
		"--upload-pack=touch x", "--upload-pack=x", "-x", "../x", "a/../b", "refs/remotes/origin/x", "refs/heads/x", "HEAD", "@", "a b", "a\nb", "a\x00b", "a\x1b[31m", "a~1", "a^{commit}",
		"a:b", "a@{1}", "a..b", "/a", "a/", "a//b", ".a", "a/.b", "a.lock", "a.lock/b", "a.", "a*", "a?", "a[", `a\b`, " ", strings.Repeat("a", 256),
	} {
		add := work.Add{ID: "T-1", Title: "t", Phase: agentsig.PhaseImplementation, Actor: "operator", Branch: name}
		if e, err := work.Decide(work.Item{}, add); !errors.Is(err, work.ErrBadBranch) {
			t.Errorf("%q is taken: %+v, %v", name, e, err)
		}
	}
	for _, name := range []string{"", "main", "fix/parser", "fix-#12", "ü", "a@b", strings.Repeat("a", 255)} {
		if i := do(t, work.Item{}, work.Add{ID: "T-1", Title: "t", Phase: agentsig.PhaseImplementation, Actor: "operator", Branch: name}); i.Branch != name {
			t.Errorf("%q became %q", name, i.Branch)
		}
	}
}

// handedIn is an item with a branch, in CI_PENDING.
func handedIn(t *testing.T, claim string) work.Item {
	t.Helper()
	i := do(t, work.Item{}, work.Add{ID: "T-1", Title: "t", Phase: agentsig.PhaseImplementation, Actor: "operator", Branch: "fix"})
	i = say(t, i, dev, "READY_FOR_REVIEW: T-1"+claim)
	if !i.ToCheck() {
		t.Fatalf("it is not to be checked: %+v", i)
	}
	return i
}

const tip, moved = "1111111111111111111111111111111111111111", "2222222222222222222222222222222222222222"

// What the box is to check: work in no run, that has a branch, in CI_PENDING, that nobody holds.
func TestToCheck(t *testing.T) {
	waits := handedIn(t, "")
	for what, other := range map[string]func(*work.Item){
		"a task of a run":    func(i *work.Item) { i.Run = "run" },
		"without a branch":   func(i *work.Item) { i.Branch = "" },
		"in another phase":   func(i *work.Item) { i.Phase = agentsig.PhaseImplementation },
		"that somebody has":  func(i *work.Item) { i.Lease = &work.Lease{} },
		"that was completed": func(i *work.Item) { i.Phase = agentsig.PhaseCompleted },
	} {
		i := waits
		if other(&i); i.ToCheck() {
			t.Errorf("%s is to be checked", what)
		}
	}
}

// What came of the checks moves the item as a report does; what they can't tell is a question, and never a result.
func TestChecked(t *testing.T) {
	for name, c := range map[string]struct {
		checked work.Checked
		event   string
		phase   agentsig.Phase
		asks    string
	}{
		"passed":             {work.Checked{Commit: tip, Tip: tip, Passed: true}, work.GatePassed, agentsig.PhaseReadyForReview, ""},
		"unchanged":          {work.Checked{Commit: tip, Tip: tip, Passed: true, Unchanged: true}, work.GatePassed, agentsig.PhaseReadyForReview, ""},
		"failed":             {work.Checked{Commit: tip, Tip: tip}, work.GateFailed, agentsig.PhaseImplementation, ""},
		"no branch":          {work.Checked{Passed: true}, work.WorkBlocked, agentsig.PhaseBlocked, "there is no branch fix"},
		"gone meanwhile":     {work.Checked{Commit: tip, Passed: true}, work.WorkBlocked, agentsig.PhaseBlocked, "there is no branch fix"},
		"trouble":            {work.Checked{Commit: tip, Tip: tip, Passed: true, Trouble: "the disk is full"}, work.WorkBlocked, agentsig.PhaseBlocked, "could not be run on the branch fix, so nothing is known of it: the disk is full"},
		"moved again":        {work.Checked{Commit: tip, Tip: moved, Passed: true, Moves: 2}, work.WorkBlocked, agentsig.PhaseBlocked, "moved while its checks ran, 3 times in a row"},
		"trouble without it": {work.Checked{Trouble: "git fails"}, work.WorkBlocked, agentsig.PhaseBlocked, "git fails"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			i := handedIn(t, "")
			c.checked.Entered = i.Entered
			e, err := work.Decide(i, c.checked)
			if err != nil || e.Type != c.event || e.Key != c.checked.Key() {
				t.Fatalf("%s with the key %q, %v", e.Type, e.Key, err)
			}
			if g, ok := e.Payload.(work.Gate); ok && (g.Files != nil && *g.Files == 0) != c.checked.Unchanged {
				t.Errorf("the record says %+v", g)
			}
			if i = do(t, i, c.checked); i.Phase != c.phase {
				t.Fatalf("it is in %s", i.Phase)
			}
			if c.asks == "" {
				return
			}
			if i.Wait == nil || i.Wait.ID != "T-1-Q1" || !strings.Contains(i.Wait.Text, c.asks) || i.Helper() != "" {
				t.Fatalf("it waits for %+v", i.Wait)
			}
			i = do(t, i, work.Answer{Actor: work.OperatorActor, Question: "T-1-Q1", Text: "retry"})
			if !i.ToCheck() || i.Entered == c.checked.Entered {
				t.Errorf("after the answer it is not to be checked anew: %+v", i)
			}
		})
	}
}

// What does not count any more is not recorded: the branch has moved, the item has left the phase, also if it is back, or
// somebody has it.
func TestCheckedTooLate(t *testing.T) {
	i := handedIn(t, "")
	passed := work.Checked{Entered: i.Entered, Commit: tip, Tip: tip, Passed: true}
	for moves := range 2 {
		late := passed
		late.Tip, late.Moves = moved, moves
		if e, err := work.Decide(i, late); !errors.Is(err, work.ErrBranchMoved) {
			t.Errorf("moved %d times before: %+v, %v", moves, e, err)
		}
	}
	held := i
	held.Lease = &work.Lease{Actor: "ann"}
	if e, err := work.Decide(held, passed); !errors.Is(err, work.ErrNotPending) {
		t.Errorf("somebody has it: %+v, %v", e, err)
	}
	i = do(t, i, work.Override{Actor: work.OperatorActor, Phase: agentsig.PhaseImplementation, Reason: "r"})
	if e, err := work.Decide(i, passed); !errors.Is(err, work.ErrNotPending) {
		t.Errorf("it has left the phase: %+v, %v", e, err)
	}
	i = do(t, i, work.Override{Actor: work.OperatorActor, Phase: agentsig.PhaseCIPending, Reason: "r"})
	if e, err := work.Decide(i, passed); !errors.Is(err, work.ErrNotPending) {
		t.Errorf("it is back: %+v, %v", e, err)
	}
	passed.Entered = i.Entered
	if i = do(t, i, passed); i.Phase != agentsig.PhaseReadyForReview {
		t.Errorf("it is in %s", i.Phase)
	}
}

// However much checks print, and whatever is wrong, an event has room for it.
func TestCheckedIsBounded(t *testing.T) {
	for _, c := range []work.Checked{
		{Commit: tip, Tip: tip, Output: strings.Repeat("\x01", 1<<20)},
		{Commit: tip, Tip: tip, Trouble: strings.Repeat("\x01", 1<<20)},
	} {
		i := handedIn(t, "")
		c.Entered = i.Entered
		e, err := work.Decide(i, c)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := json.Marshal(e.Payload); err != nil || len(text) > ledger.MaxPayload {
			t.Errorf("%s has %d bytes: %v", e.Type, len(text), err)
		}
	}
}

// The claim that nothing has to be changed comes to the critic, as by a report.
func TestCheckedNoChange(t *testing.T) {
	i := handedIn(t, "\nNo Change Needed: it is there")
	i = do(t, i, work.Checked{Entered: i.Entered, Commit: tip, Tip: tip, Passed: true})
	if i.NoChange != "it is there" {
		t.Errorf("the critic is told %q", i.NoChange)
	}
}
