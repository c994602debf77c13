package trailer_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each step from the commit to the key, left out, is noticed.
func TestMutants(t *testing.T) {
	mutant.All(t, mutant.By("^Test(Check|Faults|OtherEvents|Against|Repair|With|ParseCommit|Unaudited|UnauditedForged|Checks|ChecksForged)$", []mutant.Mutant{
		{Name: "the second parent is not looked at", File: "check.go", Old: "case c.Parents[1] != a.Commit:", New: "case false:"},
		{Name: "the first parent is not looked at", File: "check.go", Old: "case c.Parents[0] != a.Onto:", New: "case false:"},
		{Name: "the tree is not looked at", File: "check.go", Old: "case c.Tree != a.Tree:", New: "case false:"},
		{Name: "a third parent is let pass", File: "check.go", Old: "len(c.Parents) != 2", New: "len(c.Parents) < 2"},
		{Name: "the commit is not held against the event", File: "check.go", Old: "return p, holds(p.Allowed, c)", New: "return p, nil"},
		{Name: "task and run are not held against the event", File: "check.go", Old: "if said.trailer != said.event {", New: "if false {"},
		{Name: "another ledger's key is told as an edit", File: "check.go", Old: "if origin != t.Origin() {", New: "if false {"},
		{Name: "any event allows", File: "trailer.go", Old: "if e.Type != work.MergeAllowed || e.Actor != work.BoxActor {", New: "if false {"},
		{Name: "an agent's event allows", File: "trailer.go", Old: " || e.Actor != work.BoxActor", New: ""},
		{Name: "a title makes lines", File: "trailer.go", Old: "b.WriteString(safetext.Escape(title) +", New: "b.WriteString(title +"},
		{Name: "a trailer may come twice", File: "trailer.go", Old: " || values[name] != \"\"", New: ""},
		{Name: "trailers may stand anywhere", File: "trailer.go", Old: "_, last, ok := cutLast(message, \"\\n\\n\")", New: "_, last, ok := strings.Cut(message, \"\\n\\n\")"},
		{Name: "an older ledger is let pass", File: "check.go", Old: "case latest.Size < earlier.Size:", New: "case false:"},
		{Name: "another history is let pass", File: "check.go", Old: "if was != earlier.Root {", New: "if was != earlier.Root && false {"},
		{Name: "another result is let pass", File: "check.go", Old: " || result != p.Commit.Name", New: ""},
		{Name: "an audit that failed is let pass", File: "check.go", Old: "passed = said.Audited &&", New: "passed ="},
		{Name: "an audit is let pass for none", File: "check.go", Old: "passed = said.Audited && !p.Allowed.Unaudited", New: "passed = said.Audited"},
		{Name: "a merge hides that nobody audited it", File: "check.go", Old: "passed = p.Allowed.Unaudited && e.Actor", New: "passed = e.Actor"},
		{Name: "anybody waives an audit", File: "check.go", Old: "e.Actor == work.BoxActor && r.Waived", New: "r.Waived"},
		{Name: "a waiver of another commit is let pass", File: "check.go", Old: " && r.Waived.Commit == p.Allowed.Commit", New: ""},
		{Name: "the trailer for no audit can be taken away", File: "check.go", Old: "if t.Unaudited != p.Allowed.Unaudited {", New: "if false {"},
		{Name: "the trailer says anything of the audit", File: "trailer.go", Old: "(name != nameAudit || value != noAudit)", New: "name != nameAudit"},
		{Name: "a run with an auditor does without", File: "waived.go", Old: " || !started.Settings.Unaudited.Known() {", New: " {"},
		{Name: "the start of another run is let pass", File: "waived.go", Old: " || started.ID != p.Allowed.Run", New: ""},
		{Name: "a second start is let pass", File: "waived.go", Old: "start.ItemSeq != 1 || ", New: "start.ItemSeq == 0 || "},
		{Name: "what another role was given is let pass", File: "waived.go", Old: " || shown.Role != agentsig.RoleCritic", New: ""},
		{Name: "the critic was given another commit", File: "waived.go", Old: "shown.Commit != p.Allowed.Commit || ", New: ""},
		{Name: "the critic was given another tree", File: "waived.go", Old: " || shown.Tree != w.Tree:", New: ":"},
		{Name: "a review that sent it back is let pass", File: "waived.go", Old: " || said.NextPhase != agentsig.PhaseReadyForMerge:", New: ":"},
		{Name: "another session passed it", File: "waived.go", Old: " || pass.Session != given.Session", New: ""},
		{Name: "another work was passed", File: "waived.go", Old: "pass.Subject != given.Subject || ", New: ""},
		{Name: "it was passed before it was shown", File: "waived.go", Old: " || w.Review <= w.Shown", New: ""},
		{Name: "any event says why nobody audits it", File: "waived.go", Old: "if err == nil && e.Type != what {", New: "if false {"},
		{Name: "a review that failed is let pass", File: "check.go", Old: "passed = said.Passed && ", New: "passed = "},
		{Name: "a review of another repair is let pass", File: "check.go", Old: "passed = said.Passed && said.Commit == p.Allowed.Commit", New: "passed = said.Passed"},
		{Name: "two histories of a size are let pass", File: "check.go", Old: "c.Root != p.Checkpoint.Root", New: "false"},
		{Name: "a runner's result need not be signed", File: "checks.go", Old: "err = g.Signed.Check(", New: "_ = g.Signed.Check("},
		{Name: "another runner's key signs", File: "checks.go", Old: " || p.Name != g.Runner", New: ""},
		{Name: "any event has a runner's key", File: "checks.go", Old: " || e.Type != access.RunnerJoined", New: ""},
		{Name: "a runner signs before it has joined", File: "checks.go", Old: "joined > at", New: "false"},
		{Name: "checks on another commit count", File: "checks.go", Old: " && g.Commit == p.Allowed.Commit", New: ""},
		{Name: "checks of long ago are not found", File: "checks.go", Old: "end -= lookBack {", New: "end = 0 {"},
		{Name: "checks that failed count", File: "checks.go", Old: "e.Type == work.GatePassed && json", New: "json"},
		{Name: "an object is not held against its name", File: "commit.go", Old: "if sum == \"\" || sum != name {", New: "if sum == name && false {"},
	}))
}
