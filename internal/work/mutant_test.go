package work_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule of fencing, dropped, is noticed by TestSchedules; of what was seen, by TestCheckMerge, TestCheckBase and TestUnchanged.
func TestMutants(t *testing.T) {
	mutant.All(t, mutant.By("TestSchedules|TestCheckMerge|TestCheckBase|TestUnchanged", []mutant.Mutant{
		{Name: "the token is ignored", File: "item.go", Old: "i.Lease != nil && i.Lease.Token == t", New: "i.Lease != nil"},
		{Name: "a held item is granted", File: "decide.go", Old: "ErrAgreed\n\tcase i.Lease != nil:", New: "ErrAgreed\n\tcase false:"},
		{Name: "audited work is granted", File: "decide.go", Old: "case i.Audited:", New: "case false:"},
		{Name: "work is merged without an audit", File: "decide.go", Old: "case !i.Audited || i.Commit", New: "case i.Commit"},
		{Name: "another commit is merged", File: "decide.go", Old: "i.Commit != \"\" && commit != i.Commit", New: "false"},
		{Name: "a merge is allowed without an audit", File: "decide.go", Old: "if err := i.mayMerge(c.Commit); err != nil {", New: "if false {\n\t\tvar err error"},
		{Name: "a tree that was not reviewed is merged", File: "item.go", Old: "{{agentsig.RoleCritic, i.Review}, {agentsig.RoleAuditor, i.Audit}}", New: "{{agentsig.RoleAuditor, i.Audit}}"},
		{Name: "a tree that was not audited is merged", File: "item.go", Old: "{{agentsig.RoleCritic, i.Review}, {agentsig.RoleAuditor, i.Audit}}", New: "{{agentsig.RoleCritic, i.Review}}"},
		{Name: "what was seen before a gate counts after it", File: "evolve.go", Old: "i.Commit, i.Review, i.Audit, i.ByHand = p.Commit, Seen{}, Seen{}, false", New: "i.Commit, i.ByHand = p.Commit, false"},
		{Name: "what nobody saw is merged", File: "item.go", Old: "case by.seen == Seen{} && i.ByHand:", New: "case by.seen == Seen{}:"},
		{Name: "what the critic saw begin elsewhere is merged", File: "item.go", Old: "[]Seen{i.Review, i.Audit}", New: "[]Seen{i.Audit}"},
		{Name: "what the auditor saw begin elsewhere is merged", File: "item.go", Old: "[]Seen{i.Review, i.Audit}", New: "[]Seen{i.Review}"},
		{Name: "a merge from another base is allowed", File: "decide.go", Old: "if err := i.CheckBase(c.Base); err != nil {", New: "if false {\n\t\tvar err error"},
		{Name: "what was not allowed counts as merged", File: "decide.go", Old: "if !i.MayMerge(c.Commit) {", New: "if false {"},
		{Name: "what nothing was changed in passes", File: "decide.go", Old: "if g.NoChange = c.NoChange; g.NoChange == \"\" {", New: "if g.NoChange = c.NoChange; false {"},
		{Name: "what was changed is called unchanged", File: "decide.go", Old: "if c.Files != nil && *c.Files == 0 {", New: "if c.NoChange != \"\" {"},
		{Name: "nobody has to agree that nothing was changed", File: "decide.go", Old: "case !i.Agreed():", New: "case i.NoChange == \"\":"},
		{Name: "a critic agrees who was not shown it", File: "item.go", Old: "i.NoChange != \"\" && i.Review.Commit == i.Commit", New: "i.NoChange != \"\""},
		{Name: "what the critic agreed with is audited", File: "decide.go", Old: "case i.Agreed():", New: "case false:"},
		{Name: "a claim outlives the operator's word", File: "evolve.go", Old: "i.NoChange = \"\"", New: "_ = 0"},
		{Name: "an auditor's word completes", File: "decide.go", Old: "audited = i.Run != \"\"", New: "audited = i.Run == \"none\""},
		{Name: "a held item is blocked", File: "decide.go", Old: "ErrSamePhase)\n\tcase i.Lease != nil:", New: "ErrSamePhase)\n\tcase false:"},
		{Name: "an item forgets where it was blocked", File: "decide.go", Old: "back := i.BlockedFrom", New: "back := agentsig.PhaseDraft"},
		{Name: "tokens do not rise", File: "decide.go", Old: "i.Granted + 1", New: "max(i.Granted, 1)"},
		{Name: "the gate moves any phase", File: "decide.go", Old: "i.Phase != agentsig.PhaseCIPending:", New: "false:"},
		{Name: "a completion keeps the lease", File: "evolve.go", Old: "i.Completed = i.Granted\n\t\ti = i.to(p.NextPhase)", New: "i.Completed = i.Granted\n\t\tl := i.Lease\n\t\ti = i.to(p.NextPhase)\n\t\ti.Lease = l"},
		{Name: "a late result moves the phase", File: "evolve.go", Old: "case SignalRecorded, LateResultRecorded:", New: "case LateResultRecorded:\n\t\tp, err := payload[Result](e)\n\t\ti.Phase = p.PhaseCompleted\n\t\treturn i, err\n\tcase SignalRecorded:"},
		{Name: "a late result is thrown away", File: "decide.go", Old: "if i.Holds(c.Token) {\n\t\th, err", New: "if !i.Holds(c.Token) {\n\t\treturn Event{}, ErrNotHolder\n\t}\n\tif true {\n\t\th, err"},
	}))
}
