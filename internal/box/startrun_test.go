package box

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// A plan whose events have no room in the ledger is refused, and leaves nothing: the next run is the first.
func TestPlanTooLargeForTheLedger(t *testing.T) {
	c := newCommits(t)
	b := delivering(t, c)
	defer closeBox(t, b)
	var blockers, checks strings.Builder
	var ids []string
	for n := range 900 {
		ids = append(ids, fmt.Sprintf("T-%030d", n))
		fmt.Fprintf(&blockers, "#### Task %s: t\n\n**Work**: w\n\n", ids[n])
	}
	for n := range 250 {
		fmt.Fprintf(&checks, "| lint of package number %04d | local | `true` | 0 |\n", n)
	}
	for want, plan := range map[string]string{
		"title is too long":              strings.Replace(onePlan, "A plan", strings.Repeat("<", 20_000), 1),
		"task LAST is blocked by 900":    blockers.String() + "#### Task LAST: t\n\n**Work**: w\n\n**Blocked By**: " + strings.Join(ids, ", ") + "\n",
		"the settings have 250 checks, ": onePlan + "\n### Verification\n\n| Check | Environment | Command | Expected exit code |\n|---|---|---|---|\n" + checks.String(),
	} {
		_, err := b.Deliver(t.Context(), api.StartRun{Plan: plan}, "")
		if form := (badRequest{}); !errors.As(err, &form) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if r, err := b.Deliver(t.Context(), api.StartRun{Plan: onePlan}, ""); err != nil || r.ID != "R1" {
		t.Errorf("%s, %v", r.ID, err)
	}
}

// The names of runs' tasks are given to nobody else. Where a ledger of a version before has one, the run gets the
// next number.
func TestNamesOfTasks(t *testing.T) {
	b := delivering(t, newCommits(t))
	defer closeBox(t, b)
	_, err := b.Add(t.Context(), api.AddWork{ID: "R7.T-1", Title: "a title"}, "")
	if form := (badRequest{}); !errors.As(err, &form) {
		t.Error(err)
	}
	for _, id := range []string{"R7", "R.1", "R7-1.2"} {
		if _, err := b.Add(t.Context(), api.AddWork{ID: id, Title: "a title"}, ""); err != nil {
			t.Error(err)
		}
	}
	if _, err := b.add(work.Add{ID: "R1.T-1", Title: "a title", Phase: agentsig.PhaseDraft, Actor: work.OperatorActor}); err != nil {
		t.Fatal(err)
	}
	if r, err := b.Deliver(t.Context(), api.StartRun{Plan: onePlan}, ""); err != nil || r.ID != "R2" {
		t.Errorf("%s, %v", r.ID, err)
	}
}

// The largest number that somebody gives an item is not counted on from.
func TestLargestNumber(t *testing.T) {
	s := newState()
	s.name("W-00007", "a", itemName)
	s.name(fmt.Sprintf(itemName, math.MaxInt), "b", itemName)
	if id, err := s.reserve("", "c", itemName); id != "W-00008" || err != nil {
		t.Errorf("%q, %v", id, err)
	}
}
