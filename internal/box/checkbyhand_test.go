//go:build unix

package box

import (
	"errors"
	"fmt"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// An item keeps the branch that it was added with, whatever its agents say and however often a box starts; while it waits for
// checks that the box runs, the box says so, and has it in the order of waiting.
func TestBranchOfWork(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for _, bad := range []string{"--upload-pack=x", "../x", "refs/remotes/origin/x", "hunter2"} { // the last is a secret of the operator's
		var refused BadRequest
		if _, err := d.Add(t.Context(), work.OperatorActor, api.AddWork{ID: "T-0", Title: "t", Branch: bad}, ""); !errors.Is(err, work.ErrBadBranch) && !errors.As(err, &refused) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	for n := range 3 {
		if _, err := d.Add(t.Context(), work.OperatorActor, api.AddWork{ID: fmt.Sprint("T-", n+1), Title: "t", Phase: agentsig.PhaseImplementation, Branch: fmt.Sprint("fix-", n+1)}, ""); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Override(work.OperatorActor, "T-3", api.Override{Phase: agentsig.PhaseCIPending, Reason: "r"}, ""); err != nil {
		t.Fatal(err)
	}
	g := d.says(agentsig.RoleDeveloper, "ann", "READY_FOR_REVIEW: T-1\nBranch: main\n"+`Summary: {"branch": "main"}`+"\n")
	if g.Branch != "fix-1" {
		t.Errorf("the developer is told of the branch %q", g.Branch)
	}
	for _, checks := range []bool{false, true} {
		d.restart()
		d.checks = checks
		w := d.shown()
		if w.Branch != "fix-1" || w.BoxChecks != checks {
			t.Errorf("shown %+v; the box checks: %v", w, checks)
		}
		switch s := d.Status().ToCheck; {
		case !checks && s != nil, checks && (s == nil || *s != api.ToCheck{Work: "T-3", Branch: "fix-3", More: 1}):
			t.Errorf("status %+v; the box checks: %v", s, checks)
		}
	}
	first, ok := d.Ledger().FirstToCheck()
	if !ok || first.ID != "T-3" {
		t.Errorf("%s is checked first", first.ID)
	}
	d.gate("fail")
	if w := d.shown(); w.BoxChecks {
		t.Errorf("shown %+v", w)
	}
}
