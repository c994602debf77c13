package work_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule of fencing, dropped, is noticed by TestSchedules; of what was seen, by TestCheckMerge, TestCheckBase and TestUnchanged;
// of what was said, by TestLatest; of what work that stands alone waits for, by TestWaits and its like.
func TestMutants(t *testing.T) {
	mutant.All(t, mutant.By("TestSchedules|TestCheckMerge|TestCheckBase|TestUnchanged|TestLatest|TestWaits|TestUnread|TestNoChangeAlone", []mutant.Mutant{
		{Name: "a reviewer's word is the claim", File: "evolve.go", Old: "case i.Phase == agentsig.PhaseDraft || i.Phase == agentsig.PhaseImplementation:", New: "case p.NextPhase != agentsig.PhaseImplementation:"},
		{Name: "what the gate found is no finding", File: "evolve.go", Old: "if e.Type == GateFailed {", New: "if false {"},
		{Name: "the token is ignored", File: "item.go", Old: "i.Lease != nil && i.Lease.Token == t", New: "i.Lease != nil"},
		{Name: "a held item is granted", File: "decide.go", Old: "ErrAgreed\n\tcase i.Lease != nil:", New: "ErrAgreed\n\tcase false:"},
		{Name: "audited work is granted", File: "decide.go", Old: "case i.Audited:", New: "case false:"},
		{Name: "work is merged without an audit", File: "merge.go", Old: "case !i.Audited || i.Commit", New: "case i.Commit"},
		{Name: "another commit is merged", File: "merge.go", Old: "i.Commit != \"\" && commit != i.Commit", New: "false"},
		{Name: "a merge is allowed without an audit", File: "merge.go", Old: "if err := i.mayMerge(a.Commit); err != nil {", New: "if false {\n\t\tvar err error"},
		{Name: "a tree that was not reviewed is merged", File: "item.go", Old: "{{agentsig.RoleCritic, i.Review}, {agentsig.RoleAuditor, i.Audit}}", New: "{{agentsig.RoleAuditor, i.Audit}}"},
		{Name: "a tree that was not audited is merged", File: "item.go", Old: "{{agentsig.RoleCritic, i.Review}, {agentsig.RoleAuditor, i.Audit}}", New: "{{agentsig.RoleCritic, i.Review}}"},
		{Name: "what was seen before a gate counts after it", File: "evolve.go", Old: "i.Commit, i.Review, i.Audit, i.ByHand = p.Commit, Seen{}, Seen{}, false", New: "i.Commit, i.ByHand = p.Commit, false"},
		{Name: "what nobody saw is merged", File: "item.go", Old: "case by.seen == Seen{} && i.ByHand:", New: "case by.seen == Seen{}:"},
		{Name: "what the critic saw begin elsewhere is merged", File: "item.go", Old: "[]Seen{i.Review, i.Audit}", New: "[]Seen{i.Audit}"},
		{Name: "what the auditor saw begin elsewhere is merged", File: "item.go", Old: "[]Seen{i.Review, i.Audit}", New: "[]Seen{i.Review}"},
		{Name: "a merge from another base is allowed", File: "merge.go", Old: "return i.CheckBase(a.Base)", New: "return nil"},
		{Name: "what was not allowed counts as merged", File: "merge.go", Old: "if !i.MayMerge(c.Commit) {", New: "if false {"},
		{Name: "a merge that waits for a person is allowed", File: "approve.go", Old: "if p == nil || p.Approved == 0 || a.Approval != p.Approved {", New: "if p == nil {"},
		{Name: "another merge than the approved one is allowed", File: "approve.go", Old: "return a == p.Allowed", New: "return true"},
		{Name: "another merge than the proposed one is approved", File: "approve.go", Old: "case c.Commit != p.Commit || c.Onto != p.Onto || c.Tree != p.Tree:", New: "case c.Commit != p.Commit:"},
		{Name: "what nobody was asked about is approved", File: "approve.go", Old: "case p == nil || p.Approved != 0:", New: "case p == nil:"},
		{Name: "an approval outlives a proposal", File: "evolve.go", Old: "i.Proposal = &Proposal{Seq: seq, Proposed: p}", New: "approved := uint64(0)\n\t\tif i.Proposal != nil {\n\t\t\tapproved = i.Proposal.Approved\n\t\t}\n\t\ti.Proposal = &Proposal{seq, p, approved}"},
		{Name: "an approval outlives the audit", File: "evolve.go", Old: "i.Allowed, i.Proposal = nil, nil", New: "i.Allowed = nil"},
		{Name: "what was approved is sent back", File: "merge.go", Old: "if i.Proposal == nil || i.Proposal.Approved != 0 {", New: "if i.Proposal == nil {"},
		{Name: "what nothing was changed in passes", File: "decide.go", Old: "if g.NoChange = c.NoChange; g.NoChange == \"\" {", New: "if g.NoChange = c.NoChange; false {"},
		{Name: "what was changed is called unchanged", File: "decide.go", Old: "if c.Files != nil && *c.Files == 0 {", New: "if c.NoChange != \"\" {"},
		{Name: "nobody has to agree that nothing was changed", File: "decide.go", Old: "case !i.Agreed():", New: "case i.NoChange == \"\":"},
		{Name: "a critic agrees who was not shown it", File: "item.go", Old: "i.NoChange != \"\" && i.Review.Commit == i.Commit", New: "i.NoChange != \"\""},
		{Name: "what the critic agreed with is audited", File: "decide.go", Old: "case i.Agreed():", New: "case false:"},
		{Name: "what is taken stays judged", File: "evolve.go", Old: "i.Commit, i.NoChange, i.Review, i.Audit, i.ByHand = \"\", \"\", Seen{}, Seen{}, false", New: "_ = 0"},
		{Name: "audited work is taken", File: "person.go", Old: "case i.Audited:", New: "case false:"},
		{Name: "a person's lease runs out", File: "decide.go", Old: " && (c.TTL != 0 || c.Agent != PersonAgent)", New: ""},
		{Name: "a form that was filled in is a claim", File: "wait.go", Old: "case \"\", \"no\", \"none\", \"n/a\", \"false\":", New: "case \"\":"},
		{Name: "a claim that nothing was changed is nobody's", File: "evolve.go", Old: "i.NoChange, i.Claim = p.NoChange, \"\"", New: "i.NoChange, i.Claim = \"\", \"\""},
		{Name: "a claim by hand outlives its gate", File: "wait.go", Old: "i.Claim = p.NoChange", New: "i.Claim = orSome(p.NoChange, i.Claim+i.NoChange)"},
		{Name: "anybody takes what waits for an expert", File: "decide.go", Old: "i.Phase == agentsig.PhaseBlocked && !i.helper(c.Role):", New: "false:"},
		{Name: "an answer leaves the item with who was to help", File: "evolve.go", Old: "i.Count = Count{} // a person has looked at it\n\t\treturn i.to(p.NextPhase), err", New: "l := i.Lease\n\t\ti = i.to(p.NextPhase)\n\t\ti.Lease = l\n\t\treturn i, err"},
		{Name: "a question is answered twice", File: "wait.go", Old: "case i.Wait == nil || i.Wait.ID != c.Question:", New: "case false:"},
		{Name: "nobody is told the answer", File: "evolve.go", Old: "if i.Wait != nil {\n\t\t\ti = i.replied", New: "if false {\n\t\t\ti = i.replied"},
		{Name: "advice is for nobody", File: "wait.go", Old: "case helped && p.NextPhase != agentsig.PhaseBlocked:", New: "case false:"},
		{Name: "who can't be read is never given up", File: "unknown.go", Old: "if u.Attempt >= limit {", New: "if u.Attempt > limit {"},
		{Name: "another agent is another count", File: "evolve.go", Old: "case LeaseReleased, LeaseExpired:", New: "case LeaseReleased, LeaseExpired:\n\t\ti.Count.Unknown = 0"},
		{Name: "who is given up keeps the work", File: "evolve.go", Old: "i.Count.Unknown, i.Format = 0, true\n\t\treturn i.to(i.Phase), nil", New: "i.Count.Unknown, i.Format = 0, true\n\t\treturn i, nil"},
		{Name: "the next agent is not told the format", File: "evolve.go", Old: "i.Count.Unknown, i.Format = 0, true", New: "i.Count.Unknown = 0"},
		{Name: "experts are asked for ever", File: "wait.go", Old: "over(i.Count.Experts, l.ExpertRequests):", New: "false:"},
		{Name: "the environment is repaired for ever", File: "wait.go", Old: "over(w.Round, l.RemediationRounds):", New: "false:"},
		{Name: "work is given back for ever", File: "wait.go", Old: "s.Kind == agentsig.KindTaskIncomplete && over(i.Count.Obstacles+1, l.Obstacles):", New: "false:"},
		{Name: "a run's task asks by itself", File: "decide.go", Old: "if i.Holds(c.Token) && i.Run == \"\" {", New: "if i.Holds(c.Token) {"},
		{Name: "what was not repaired goes on", File: "wait.go", Old: "case helps && (s.Kind == agentsig.KindExpertAdvice || s.Kind == agentsig.KindHealthHealthy):", New: "case helps && (s.Kind == agentsig.KindExpertAdvice || s.Kind == agentsig.KindHealthHealthy || s.Kind == agentsig.KindHealthUnhealthy):"},
		{Name: "a claim outlives the operator's word", File: "evolve.go", Old: "i.NoChange, i.Claim, i.Count, i.Wait = \"\", \"\", Count{}, nil", New: "i.Wait = nil"},
		{Name: "an auditor's word completes", File: "decide.go", Old: "audited = i.Run != \"\"", New: "audited = i.Run == \"none\""},
		{Name: "a held item is blocked", File: "decide.go", Old: "ErrSamePhase)\n\tcase i.Lease != nil:", New: "ErrSamePhase)\n\tcase false:"},
		{Name: "an item forgets where it was blocked", File: "wait.go", Old: "return i.BlockedFrom", New: "return agentsig.PhaseDraft"},
		{Name: "tokens do not rise", File: "decide.go", Old: "i.Granted + 1", New: "max(i.Granted, 1)"},
		{Name: "the gate moves any phase", File: "decide.go", Old: "i.Phase != agentsig.PhaseCIPending:", New: "false:"},
		{Name: "a completion keeps the lease", File: "evolve.go", Old: "i.Completed = i.Granted\n\t\ti = i.to(p.NextPhase)", New: "i.Completed = i.Granted\n\t\tl := i.Lease\n\t\ti = i.to(p.NextPhase)\n\t\ti.Lease = l"},
		{Name: "a late result moves the phase", File: "evolve.go", Old: "case SignalRecorded, LateResultRecorded:", New: "case LateResultRecorded:\n\t\tp, err := payload[Result](e)\n\t\ti.Phase = p.PhaseCompleted\n\t\treturn i, err\n\tcase SignalRecorded:"},
		{Name: "a late result is thrown away", File: "decide.go", Old: "if i.Holds(c.Token) {\n\t\th, err", New: "if !i.Holds(c.Token) {\n\t\treturn Event{}, ErrNotHolder\n\t}\n\tif true {\n\t\th, err"},
	}))
}
