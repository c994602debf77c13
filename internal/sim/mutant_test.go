package sim_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule of delivery, dropped, is noticed by TestSchedules.
func TestMutants(t *testing.T) {
	mutant.All(t, mutant.By("TestSchedules", []mutant.Mutant{
		{Name: "blockers are ignored", File: "../delivery/next.go", Old: "case r.blocker(t) != \"\":\n\t\treturn WaitBlocker", New: "case false:\n\t\treturn WaitBlocker"},
		{Name: "agents are started during remediation", File: "../delivery/next.go", Old: "r.Remediation.Stage == \"\" && r.Remediation.Cause == \"\"", New: "true"},
		{Name: "a pause is ignored", File: "../delivery/evolve.go", Old: "r.Paused = true", New: "r.Paused = false"},
		{Name: "a provider's pause is ignored", File: "../delivery/next.go", Old: "case r.Waits[p.Provider].After(now):", New: "case false:"},
		{Name: "the budget is ignored", File: "../delivery/next.go", Old: "case r.overBudget():", New: "case false:"},
		{Name: "one agent too many", File: "../delivery/next.go", Old: "all >= r.Settings.Limits.Agents", New: "all > r.Settings.Limits.Agents"},
		{Name: "the limit of a role is ignored", File: "../delivery/next.go", Old: "p.AtOnce > 0 && same >= p.AtOnce", New: "false"},
		{Name: "the limit of an expert is ignored", File: "../delivery/next.go", Old: "return n < r.Settings.Limits.ExpertAtOnce", New: "return n < 100"},
		{Name: "cancelled tasks are started", File: "../delivery/next.go", Old: "case r.dead(t) || !r.Live():\n\t\treturn WaitCancelled", New: "case false:\n\t\treturn WaitCancelled"},
		{Name: "a task goes on without an answer", File: "../delivery/next.go", Old: "case blocked && t.Question == \"\" && !t.Trouble:", New: "case blocked && !t.Trouble:"},
		{Name: "the run ends too early", File: "../delivery/next.go", Old: "case r.Stopping == \"\" && !r.dead(t):", New: "case r.Stopping == \"\" && !r.dead(t) && t.Question == \"\":"},
		{Name: "nobody asks about the budget in remediation", File: "../delivery/next.go", Old: "case place == WaitBudget:\n\t\treturn r.askBudget()", New: "case false:\n\t\treturn r.askBudget()"},
		{Name: "once more than the limit", File: "../delivery/evolve.go", Old: "if n >= most && t.Need == nil", New: "if n > most && t.Need == nil"},
		{Name: "one round more than the limit", File: "../delivery/evolve.go", Old: "m.Round >= r.Settings.Limits.RemediationRounds", New: "m.Round > r.Settings.Limits.RemediationRounds"},
		{Name: "a repair is not audited", File: "../delivery/evolve.go", Old: "r.Remediation.Stage = StageAudit", New: "r.Remediation.Stage = StageVerify"},
		{Name: "a repair is not reviewed", File: "../delivery/repair.go", Old: "m.Stage = StageReview", New: "m.Stage = StageMerge"},
		{Name: "a repair that a critic refused is merged", File: "../delivery/repair.go", Old: "if p.Passed {", New: "if true {"},
		{Name: "another commit than the one that was reviewed is merged", File: "../delivery/repair.go", Old: "in.Command != r.mergeRepairCommand() || in.Commit != m.Repair.Commit", New: "in.Command != r.mergeRepairCommand()"},
		{Name: "a repair goes past the gate", File: "../delivery/repair.go", Old: "case len(failing) > 0 && !m.Declared:", New: "case false:"},
		{Name: "a person's word on the environment is a review", File: "../delivery/evolve.go", Old: "r.goWithout() // what nobody reviewed is not merged", New: "m.Stage = StageMerge"},
		{Name: "a repair is merged from elsewhere", File: "../delivery/repair.go", Old: " || in.Base != m.Repair.Base", New: ""},
		{Name: "work is merged from elsewhere", File: "../work/item.go", Old: "seen != (Seen{}) && seen.Base != base", New: "false"},
		{Name: "a run without an auditor waits for one", File: "../delivery/next.go", Old: "case r.reviewSuffices(t):", New: "case false:"},
		{Name: "what the critic has not passed is merged without an auditor", File: "../work/waive.go", Old: "case i.Reviewed.Passed == 0 || i.Commit == \"\" || i.Review.Commit != i.Commit:", New: "case false:"},
		{Name: "a run with an auditor is started without", File: "../conductor/audit.go", Old: "switch cmp.Or(asked, set) {", New: "switch cmp.Or(set, asked) {"},
		{Name: "a task with an auditor does without", File: "../conductor/orders.go", Old: "Unaudited: !r.Audits(),", New: "Unaudited: false,"},
		{Name: "a merge is made without the person", File: "../delivery/approve.go", Old: "if r.Settings.Approve == Person {", New: "if false {"},
		{Name: "two merges are proposed at once", File: "../delivery/command.go", Old: "if t.Item.Judged() && (merge == nil", New: "if t.Item.Judged() && !r.proposed(t) && (merge == nil"},
		{Name: "what was approved before a merge counts after it", File: "../delivery/approve.go", Old: "case p == nil || !r.stands(t, p) || p.Allowed != allowed:", New: "case p == nil || p.Allowed != allowed:"},
		{Name: "a repair is merged that nobody approved", File: "../delivery/approve.go", Old: "return r.Settings.Approve != Person || r.Remediation.Approved ||", New: "return true || r.Settings.Approve != Person || r.Remediation.Approved ||"},
		{Name: "a provider's limit is a crash", File: "../delivery/evolve.go", Old: "p.How == Limited || p.How == Stopped", New: "p.How == Stopped"},
		{Name: "a question is asked twice", File: "../delivery/evolve_person.go", Old: "t.Question, t.Need = p.ID, nil\n", New: "t.Question = p.ID\n"},
		{Name: "unknown output is never forgotten", File: "../delivery/evolve_item.go", Old: "delete(r.Unknown, t.ID+\"/\"+string(before.Lease.Role))", New: ""},
		{Name: "the gate forgives failed merges", File: "../delivery/evolve_item.go", Old: "t.Count.Gates = 0", New: "t.Count.Gates, t.Count.Merges = 0, 0"},
		{Name: "nothing is handed in as often as one likes", File: "../delivery/evolve_item.go", Old: "const maxUnchanged = 2", New: "const maxUnchanged = 200"},
		{Name: "nothing is handed in once too often", File: "../delivery/evolve_item.go", Old: "const maxUnchanged = 2", New: "const maxUnchanged = 3"},
		{Name: "what did not pass is judged again", File: "../delivery/run.go", Old: "case t.Failed != nil && t.Failed.Commit == commit:", New: "case false:"},
		{Name: "what is handed in again costs nothing", File: "../delivery/evolve_item.go", Old: "r.again(t, p.Since, text, \", and nothing was changed since\")", New: "_ = text"},
		{Name: "work without a change is audited", File: "../delivery/next.go", Old: "case t.Item.Agreed():", New: "case false:"},
		{Name: "a pull request of nothing", File: "../delivery/next.go", Old: " && (!t.Item.Unchanged() || len(r.Repairs) > 0)", New: ""},
		{Name: "a lease that ran out costs nothing", File: "../delivery/evolve_item.go", Old: "if e.Type == work.LeaseExpired {", New: "if false {"},
		{Name: "work goes past the gate", File: "../work/decide.go", Old: "if audited = i.Run", New: "if h.To == agentsig.PhaseCIPending {\n\t\t\th.To = agentsig.PhaseReadyForReview\n\t\t}\n\t\tif audited = i.Run"},
		{Name: "an auditor's word completes", File: "../work/decide.go", Old: "audited = i.Run != \"\"", New: "audited = i.Run == \"none\""},
		{Name: "the gate's old result counts", File: "../delivery/command.go", Old: "t.command(do) == command", New: "(t.command(do) == command || do == DoGate)"},
		{Name: "a turn counts twice", File: "../delivery/decide.go", Old: "case s != nil && in.Turn <= s.Turn:", New: "case false:"},
		{Name: "a merge is made by the checks of another plan", File: "../delivery/command.go", Old: "latest := t.Outdated", New: "latest := uint64(0)"},
		{Name: "a repair is merged by the checks of another plan", File: "../delivery/repair.go", Old: "if r.Amended > 0 {", New: "if false {"},
		{Name: "a task of a run that is being ended is taken", File: "../delivery/person.go", Old: "case r.Stopping != \"\":\n\t\treturn nil, ErrEnding", New: "case false:\n\t\treturn nil, ErrEnding"},
		{Name: "a task that waits for another is taken", File: "../delivery/person.go", Old: "case b != \"\":", New: "case false && b != \"\":"},
		{Name: "a person who sends work back counts as a failure", File: "../delivery/evolve_item.go", Old: "if by.ByPerson() {", New: "if false {"},
		{Name: "a person accepts another commit than they were shown", File: "../conductor/person.go", Old: "v.Commit != now.Commit || v.Tree != now.Tree || v.Base != now.Base", New: "false"},
		{Name: "work that is not merged is removed", File: "../conductor/clean.go", Old: "case q.clean && l.Safe():", New: "case q.clean:"},
		{Name: "what is removed is not recorded", File: "../conductor/clean.go", Old: "if err := c.recordRemoved(ctx, p, said); err != nil {\n\t\t\treturn err\n\t\t}\n\t\treturn c.at(p.run.Home).Discard", New: "return c.at(p.run.Home).Discard"},
		{Name: "a critic goes on with a developer's conversation", File: "../delivery/next.go", Old: "if role == agentsig.RoleDeveloper {\n\t\tgrant", New: "if role != agentsig.RoleAnalyst {\n\t\tgrant"},
		{Name: "rework is never fresh", File: "../delivery/conversation.go", Old: "case r.Settings.Rework == ReworkFresh:", New: "case false:"},
		{Name: "a conversation that was given up goes on", File: "../delivery/conversation.go", Old: "case s.GivenUp:", New: "case false:"},
		{Name: "a conversation about another text goes on", File: "../delivery/amend.go", Old: "t.Developer.lose(\"the plan was amended\")", New: ""},
		{Name: "a conversation goes on for ever", File: "../delivery/conversation.go", Old: "most > 0 && full >= most", New: "most < 0 && full >= most"},
		{Name: "a conversation is lost twice", File: "../delivery/conversation.go", Old: "\ts.Resumes = nil\n", New: ""},
		{Name: "a machine that is full fits", File: "../delivery/machine.go", Old: "m.Places > 0 && m.Sessions >= m.Places", New: "m.Places < 0"},
		{Name: "a machine that is draining fits", File: "../delivery/place.go", Old: "case o.Draining:\n\t\t\tdraining++", New: "case false:\n\t\t\tdraining++"},
		{Name: "a machine without the program fits", File: "../delivery/place.go", Old: "!slices.Contains(o.Agents, agent) })", New: "false })"},
		{Name: "a conversation goes on where it is not", File: "../delivery/place.go", Old: "session == \"\" || on == runner", New: "true || on == runner"},
		{Name: "an expert is started at home", File: "../delivery/next.go", Old: "Request: q.Request, Runner: s.Runner}", New: "Request: q.Request}"},
		{Name: "a lost machine costs its task a crash", File: "../delivery/evolve.go", Old: "p.How == Orphaned || p.How == Lost ||", New: "p.How == Orphaned ||"},
		{Name: "a gate stays on a machine that is gone", File: "../delivery/place.go", Old: "(on == \"\" || m.machine(on) != nil)", New: "true"},
		{Name: "a result of a session that has ended counts", File: "../delivery/decide.go", Old: "if t.Item.Holds(token) {", New: "if false {"},
	}))
}

// Each rule of who brings runs on, dropped, is noticed by TestSchedules too.
func TestConductorMutants(t *testing.T) {
	mutant.All(t, mutant.By("TestSchedules", []mutant.Mutant{
		{Name: "what is recorded is recorded again", File: "../conductor/decider.go", Old: "errors.As(err, &unknown) && d.last() != before", New: "errors.As(err, &unknown) && d.last() < before"},
		{Name: "what is not recorded is taken for recorded", File: "../conductor/decider.go", Old: "errors.As(err, &unknown) && d.last() != before", New: "errors.As(err, &unknown) && d.last() >= before"},
		{Name: "a refused write is not decided again", File: "../conductor/decider.go", Old: "case err == nil || !refused(err):", New: "case true:"},
		{Name: "what is due is not tried again after a conflict", File: "../conductor/decider.go", Old: "if unsure(err) || errors.As(err, &again) {", New: "if _ = again; unsure(err) {"},
		{Name: "the box stops if nobody knows what became of a write", File: "../conductor/decider.go", Old: "if unsure(err) || errors.As(err, &again) {", New: "if errors.As(err, &again) {"},
		{Name: "nobody looks when the time has come", File: "../conductor/decider.go", Old: "timer.Reset(max(0, wake.Sub(d.now())))", New: "timer.Reset(1000 * time.Hour)"},
		{Name: "what happens beside the conductor is not noticed", File: "../conductor/conductor.go", Old: "d != nil {\n\t\td.stir()", New: "d != nil && false {\n\t\td.stir()"},
		{Name: "runs are not brought on after a restart", File: "../conductor/conductor.go", Old: "range live {\n\t\tc.conduct(subject)", New: "range live {\n\t\t_ = subject"},
		{Name: "a run whose start had no outcome is not brought on", File: "../conductor/startrun.go", Old: "if err != nil && !c.live(subject) {", New: "if err != nil {"},
		{Name: "what is not protected any more is not recorded", File: "../conductor/decider.go", Old: "switch err := d.take(ctx, delivery.Unprotected{What: d.runner.Unprotected()}); {", New: "switch err := error(nil); {"},
		{Name: "what is not protected any more is tried once", File: "../conductor/decider.go", Old: "\t\tswitch err := d.take(ctx, delivery.Unprotected", New: "\t\td.exposed = true\n\t\tswitch err := d.take(ctx, delivery.Unprotected"},
		{Name: "an order that is not due goes on", File: "../conductor/inflight.go", Old: "\tf.due[id].cancel()\n", New: ""},
		{Name: "an order is given twice", File: "../conductor/inflight.go", Old: "f.due[cmd.ID] != nil || ctx.Err() != nil", New: "ctx.Err() != nil"},
		{Name: "an order that failed is not given again", File: "../conductor/inflight.go", Old: "if f.due[cmd.ID] == own {\n\t\tdelete(f.due, cmd.ID)", New: "if f.due[cmd.ID] == own {"},
		{Name: "an order that failed waits for the next event", File: "../conductor/inflight.go", Old: "own.cancel()\n\td.stir()", New: "own.cancel()"},
		{Name: "agents are started while the box is drained", File: "../conductor/decider.go", Old: "for ctx.Err() == nil && !d.all.Draining() {", New: "for ctx.Err() == nil {"},
		{Name: "orders go on while the box is drained", File: "../conductor/decider.go", Old: "if !d.all.Draining() {\n\t\t\tcommands", New: "if true {\n\t\t\tcommands"},
		{Name: "agents are not told to stop", File: "../conductor/conductor.go", Old: "Kind: api.CommandStop, Reason", New: "Kind: api.CommandTell, Reason"},
		{Name: "a finished run is not left", File: "../conductor/decider.go", Old: "d.runner.LeaveFollowed(r.ID)\n\t\t\td.runner.Finished(ctx, r)", New: "d.runner.LeaveFollowed(r.ID)"},
		{Name: "what a finished run left is forgotten by a restart", File: "../conductor/conductor.go", Old: "default:\n\t\t\tc.at(r.Home).Finished(ctx, r)", New: "default:\n\t\t\t_ = r"},
		{Name: "a merge is permitted that is not allowed", File: "../conductor/conductor.go", Old: "if allowed == nil {\n\t\treturn work.Permit{}", New: "if allowed == nil {\n\t\treturn work.Permit{Seq: 1, Allowed: work.Allowed{Commit: merge.Commit, Onto: merge.Onto, Tree: merge.Tree, Base: merge.Base}}"},
	}))
}

// Each rule of who leads, dropped, is noticed by TestSchedules.
func TestLeadMutants(t *testing.T) {
	mutant.All(t, mutant.By("TestSchedules", []mutant.Mutant{
		{Name: "two conductors at once", File: "../conductor/conductor.go", Old: "func (c *Conductor) Stop() { c.group.Load().Stop() }", New: "func (c *Conductor) Stop() { c.group.Store(background.New(c.ledger.Context())) }"},
		{Name: "a conductor that was stopped brings nothing on when it is started again", File: "../conductor/conductor.go", Old: "\tc.again()\n\tc.lookAgain", New: "\tc.lookAgain"},
		{Name: "an order that another box has given is under way twice", File: "../homelink/own.go", Old: "if before != nil {", New: "if false {"},
	}))
}

// Each rule of a plan that is amended, dropped, is noticed by TestSchedules.
func TestAmendMutants(t *testing.T) {
	mutant.All(t, mutant.By("TestSchedules", []mutant.Mutant{
		{Name: "who is started on a task that is gone is told nothing", File: "../conductor/orders.go", Old: "p.Tasks = append(slices.Clone(p.Tasks), gone)", New: "_ = gone"},
		{Name: "what came with an amendment is not added", File: "../conductor/orders.go", Old: "came >= 0 && came < len(r.Added)", New: "false"},
		{Name: "what is completed is changed", File: "../delivery/amend.go", Old: "case t == nil || t.Item.Phase == agentsig.PhaseCompleted:\n\t\t\tadd(id)", New: "case t == nil:\n\t\t\tadd(id)"},
		{Name: "what is being merged is changed", File: "../delivery/amend.go", Old: "return t.Item.Judged() && t.Item.Allowed != nil }", New: "return false }"},
		{Name: "what is changed goes on where it was", File: "../delivery/amend.go", Old: "if phase != begin && phase != agentsig.PhaseDraft && !t.Taken() {", New: "if false {"},
		{Name: "who works on the text before goes on", File: "../delivery/amend.go", Old: "r.endAll(id, \"the plan was amended\")", New: ""},
	}))
}
