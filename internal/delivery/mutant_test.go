package delivery_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults, put in on purpose, is noticed.
func TestProtectionMutants(t *testing.T) {
	mutant.All(t, mutant.By("TestProtection$|TestSettingsProtect", []mutant.Mutant{
		{Name: "a run that does not say is held", File: "protect.go",
			Old: "if r.Settings.Protection != Held ||", New: "if r.Settings.Protection == Unheld ||"},
		{Name: "a run that goes on without a sandbox stays held", File: "protect.go",
			Old: "t.Lost = t.Lost || t.Item.Phase", New: "t.Lost = t.Lost || false && t.Item.Phase"},
		{Name: "what was completed before is held no longer", File: "protect.go",
			Old: "t.Lost = t.Lost || t.Item.Phase != agentsig.PhaseCompleted", New: "t.Lost = true"},
		{Name: "an override leaves a task held", File: "protect.go", Old: "t.Skipped = true", New: "t.Skipped = false"},
		{Name: "one who claims is trusted", File: "protect.go", Old: `before.Lease.Agent == ""`, New: "false"},
		{Name: "a report from outside is trusted", File: "evolve_item.go", Old: `t.ByHand || e.Key != ""`, New: "t.ByHand"},
		{Name: "a start with gaps is called held", File: "protect.go", Old: "if len(unprotected) > 0 {\n\t\ts.Protection", New: "if false {\n\t\ts.Protection"},
	}))
}

// Each of these faults in what is handed in with nothing changed is noticed; internal/sim has more.
func TestUnchangedMutants(t *testing.T) {
	mutant.All(t, mutant.By("TestScenarios", []mutant.Mutant{
		{Name: "a claim outlives its hand-in", File: "evolve_item.go", Old: "t.NoChange, t.Given = p.Said.NoChange(), p.Given", New: "t.NoChange, t.Given = orSome(p.Said.NoChange(), t.NoChange), p.Given"},
		{Name: "an exit record takes over a claim", File: "evolve_item.go", Old: "t.NoChange, t.Given = \"\", \"\"\n\t\tcase before.Phase == agentsig.PhaseReview:", New: "t.Given = \"\"\n\t\tcase before.Phase == agentsig.PhaseReview:"},
		{Name: "an override leaves the claim", File: "evolve_item.go", Old: "t.Trouble, t.NoChange, t.Given = false, \"\", \"\"", New: "t.Trouble, t.Given = false, \"\""},
		{Name: "nothing is never forgiven", File: "evolve_item.go", Old: "if p.Since != work.SinceStart {\n\t\tt.Count.Unchanged = 0", New: "if false {\n\t\tt.Count.Unchanged = 0"},
		{Name: "who hands in nothing fails at the gate", File: "evolve_item.go", Old: "\"gate\", &c.Unchanged, maxUnchanged", New: "\"gate\", &c.Gates, maxUnchanged"},
		{Name: "what a person looked at is not judged again", File: "evolve_person.go", Old: "t.Failed = nil\n", New: ""},
		{Name: "a repair lets nothing be judged again", File: "evolve.go", Old: "t.Failed = nil // the checks", New: "_ = f // the checks"},
		{Name: "what was not checked is a failure", File: "decide.go", Old: "cmp.Or(t.Unchanged(in.Commit, in.Files), in.Since)", New: "cmp.Or(t.Unchanged(in.Commit, in.Files))"},
	}))
}

// Each of these faults in which conversation a developer goes on with is noticed; internal/sim has more.
func TestConversationMutants(t *testing.T) {
	mutant.All(t, mutant.By("TestScenarios|TestConversationCheck", []mutant.Mutant{
		{Name: "the same may go wrong as often as it likes", File: "conversation.go", Old: "case d.Again:", New: "case false:"},
		{Name: "a fresh one is blamed for what was before", File: "conversation.go", Old: "Told: len(t.Briefs)}\n\tif", New: "Told: len(t.Briefs), Failed: last.Failed}\n\tif"},
		{Name: "one that lost its conversation is blamed for what was before", File: "conversation.go", Old: "t.Developer.Failed = \"\"", New: "_ = t"},
		{Name: "a person's word is the second in a row", File: "evolve_person.go", Old: "t.Developer.Failed, t.Developer.Again = \"\", false", New: "t.Developer.Again = false"},
		{Name: "a developer is told all again", File: "conversation.go", Old: "t.Briefs[min(s.Resumes.Told, len(t.Briefs)):]", New: "t.Briefs"},
		{Name: "a developer is not told what is new", File: "evolve_item.go", Old: "\tt.Developer.Told = told\n", New: "\t_ = told\n"},
		{Name: "a conversation that was not taken up is forgotten", File: "conversation.go", Old: "case s.Resumes != nil && s.Turn == 0 && s.Over != itFinished:", New: "case false:"},
		{Name: "a conversation goes on that nobody knows of", File: "conversation.go", Old: "s.Turn == 0 && s.Over != itFinished:", New: "s.Turn == 0:"},
		{Name: "what was taken over goes on", File: "person.go", Old: "t.Developer.lose(byHand)", New: ""},
		{Name: "an id is anything", File: "conversation.go", Old: "!conversationID.MatchString(c.ID)", New: "c.ID == \"\""},
	}))
}

// Each of these faults in what is merged on the critic's word alone is noticed; internal/sim has more.
func TestAuditMutants(t *testing.T) {
	mutant.All(t, mutant.By("TestScenarios|TestUnaudited|TestWords", []mutant.Mutant{
		{Name: "any word in the start does without an auditor", File: "audit.go", Old: "return unauditedWords[u] != \"\"", New: "return u != \"\""},
		{Name: "every run is without an auditor", File: "audit.go", Old: "return !r.Audits() && t.Item.ReviewSuffices()", New: "return t.Item.ReviewSuffices()"},
		{Name: "what an item says counts more than the run's start", File: "audit.go", Old: "if t.Item.Waived != nil && (r.Audits() || t.Item.Waived.Start != r.First) {", New: "if false {"},
		{Name: "a waiver names another start", File: "audit.go", Old: "(r.Audits() || t.Item.Waived.Start != r.First)", New: "r.Audits()"},
		{Name: "a run without an auditor starts one", File: "next.go", Old: "case r.reviewSuffices(t):", New: "case false:"},
		{Name: "a person is asked for an audit that nobody wants", File: "person.go", Old: " || r.reviewSuffices(t)", New: ""},
		{Name: "a merge hides that nobody audited it", File: "decide.go", Old: "allowed.Verdict, allowed.Unaudited = w.Seq, true", New: "allowed.Verdict = w.Seq"},
		{Name: "a merge names the review for its verdict", File: "decide.go", Old: "allowed.Verdict, allowed.Unaudited = w.Seq, true", New: "allowed.Unaudited = true"},
		{Name: "a developer is told of an audit that there was not", File: "audit.go", Old: "return \"review\"", New: "return \"audit\""},
		{Name: "what was audited counts as not audited", File: "audit.go", Old: " && t.Item.Audit == (work.Seen{}) {", New: " {"},
	}))
}

// Each of these faults in what a person's part comes to is noticed.
func TestPersonMutants(t *testing.T) {
	mutant.All(t, mutant.By("TestScenarios", []mutant.Mutant{
		{Name: "an agent is started for a person", File: "next.go", Old: "case r.awaitsPerson(t):", New: "case false:"},
		{Name: "a person's lease is given back", File: "next.go", Old: "l.Agent != \"\" && !l.ByPerson() &&", New: "l.Agent != \"\" &&"},
		{Name: "a run does not wait for a review", File: "command.go", Old: " || slices.ContainsFunc(r.Tasks, r.awaitsPerson)", New: ""},
		{Name: "a person accepts what they were not shown", File: "person.go", Old: "in.Shown.Commit != t.Item.Commit", New: "false"},
		{Name: "a verdict counts for another role", File: "person.go", Old: "in.Role != role || ", New: ""},
		{Name: "a verdict that was begun is begun again", File: "person.go", Old: "if l := t.Item.Lease; l != nil { // a box", New: "if l := t.Item.Lease; false { // a box"},
		{Name: "a person's finding is counted", File: "evolve_item.go", Old: "if by.ByPerson() {", New: "if false {"},
		{Name: "a task is taken before its time", File: "person.go", Old: "case b != \"\":", New: "case false:"},
		{Name: "what nobody has taken is given", File: "person.go", Old: "case !t.Taken():", New: "case t.Item.Lease == nil:"},
		{Name: "the agent is not told to end", File: "evolve_item.go", Old: "before.Lease != nil && before.Session() != after.Session()", New: "before.Lease != nil && after.Lease == nil"},
		{Name: "a question outlives the take", File: "person.go", Old: "r.closeQuestions(t.ID)\n\tt.reset()", New: "t.reset()"},
		{Name: "an expert is started for a person", File: "next.go", Old: "case r.Settings.Roles[agentsig.RoleExpert].Agent == Person:", New: "case false:"},
		{Name: "a repair is accepted for ever", File: "repair.go", Old: "r.Remediation.Accepted, r.Remediation.Approved = false, false", New: "_ = 0"},
	}))
}

// Each of these faults in how a person approves merges is noticed; internal/sim has more.
func TestApproveMutants(t *testing.T) {
	mutant.All(t, mutant.By("TestScenarios", []mutant.Mutant{
		{Name: "a merge is made without the person", File: "approve.go", Old: "if r.Settings.Approve == Person {", New: "if false {"},
		{Name: "a merge that was proposed is due", File: "command.go", Old: "if merge != nil && !r.proposed(merge) {", New: "if merge != nil {"},
		{Name: "nobody waits for an approval", File: "person.go", Old: "case r.proposed(t):\n\t\treturn PartReview, RoleMerge\n", New: ""},
		{Name: "a word on another merge counts", File: "approve.go", Old: "case in.Commit != p.Commit || in.Onto != p.Onto || in.Tree != p.Tree:", New: "case in.Commit != p.Commit:"},
		{Name: "an outdated proposal is approved", File: "approve.go", Old: "p.Approved == 0 && r.stands(t, p) && t.Anew", New: "p.Approved == 0 && t.Anew"},
		{Name: "an outdated approval counts", File: "approve.go", Old: "case p == nil || !r.stands(t, p) || p.Allowed != allowed:", New: "case p == nil || p.Allowed != allowed:"},
		{Name: "a merge outdates nothing", File: "evolve_item.go", Old: "r.Outdated = t.Item.Seq", New: "_ = 0"},
		{Name: "an amendment outdates nothing", File: "amend.go", Old: "t.Outdated = r.Seq // likewise", New: "_ = t // likewise"},
		{Name: "a repair outdates nothing", File: "repair.go", Old: "r.Outdated = r.Seq\n", New: ""},
		{Name: "what is cancelled is approved", File: "approve.go", Old: "!r.dead(t) && r.Live()", New: "r.Live()"},
		{Name: "what a person sends back is the box's", File: "evolve_item.go", Old: "if work.ByOperator(e.Actor) {\n\t\t\t\tr.notApproved", New: "if false {\n\t\t\t\tr.notApproved"},
		{Name: "what a person sent back is judged again", File: "approve.go", Old: "t.Failed = &Failure{work.SincePerson, p.Commit, p.Reason}\n", New: ""},
		{Name: "a repair that is approved is reviewed again", File: "evolve_person.go", Old: "case p.Choice == ChooseAccept && m.Merging:", New: "case false:"},
		{Name: "an approval counts for the next repair", File: "repair.go", Old: "r.Remediation.Accepted, r.Remediation.Approved = false, false", New: "r.Remediation.Accepted = false"},
	}))
}

// Each of these faults in budgets is noticed; internal/sim has more.
func TestBudgetMutants(t *testing.T) {
	mutant.All(t, mutant.By("TestScenarios|TestAllowance", []mutant.Mutant{
		{Name: "who works goes on without a budget", File: "budget.go", Old: "if r.overBudget() {\n\t\tfor", New: "if false {\n\t\tfor"},
		{Name: "what was told is counted twice", File: "budget.go", Old: "since := all.Since(s.Used)", New: "since := all"},
		{Name: "a task's budget ends nobody", File: "budget.go", Old: "working(r.SessionOf(t.ID)) && r.spent(t)", New: "false && r.spent(t)"},
		{Name: "others are ended for a task's budget", File: "budget.go", Old: "p.Scope == ScopeTask && (s.Task != p.Task", New: "false && (s.Task != p.Task"},
		{Name: "a budget that is lifted counts", File: "budget.go", Old: "if l.Lifted {", New: "if false {"},
		{Name: "nobody is asked about a task's budget", File: "budget.go", Old: "if scope != ScopeRun && t.Need == nil", New: "if false && t.Need == nil"},
		{Name: "a turn's budget is not raised", File: "budget.go", Old: "t.TurnLeave.of(a.Turn)", New: "a.Turn"},
		{Name: "what was used is left", File: "budget.go", Old: "max(s.Tokens-u.Tokens(), 1)", New: "s.Tokens"},
		{Name: "a task is started over its budget", File: "budget.go", Old: "|| !r.spent(t) {", New: "|| true {"},
	}))
}

// Each of these faults in what becomes of a run whose plan is amended is noticed.
func TestAmendMutants(t *testing.T) {
	mutant.All(t, mutant.By("TestScenarios|TestOvertaken", []mutant.Mutant{
		{Name: "a person reviews what the plan does not ask for any more", File: "amend.go", Old: "return t.Anew != \"\" && t.Item.Lease.ByPerson()", New: "return false"},
		{Name: "a task begins anew under an agent", File: "amend.go", Old: "return t.Anew != \"\" && t.Item.Lease.ByPerson()", New: "return t.Anew != \"\""},
		{Name: "what is being merged is changed", File: "amend.go", Old: "return t.Item.Judged() && t.Item.Allowed != nil }", New: "return false }"},
		{Name: "what is audited is never changed", File: "amend.go", Old: "return t.Item.Judged() && t.Item.Allowed != nil }", New: "return t.Item.Judged() }"},
		{Name: "what is being merged is given up", File: "amend.go", Old: "case t.merging() && !t.Cancelled:", New: "case false:"},
		{Name: "who was cancelled in its merge holds the plan up", File: "amend.go", Old: "case t.merging() && t.Cancelled:", New: "case false:"},
		{Name: "a merge goes on that the plan does not have", File: "decide.go", Old: "t == nil || r.dead(t) || !t.Item.Judged()", New: "t == nil || !t.Item.Judged()"},
		{Name: "what was under way for the text before counts", File: "amend.go", Old: "t.Moved = r.Seq", New: "_ = r.Seq"},
		{Name: "who works on the text before goes on", File: "amend.go", Old: "r.endAll(id, \"the plan was amended\")", New: ""},
		{Name: "a question outlives its task's text", File: "amend.go", Old: "r.closeQuestions(id)\n", New: ""},
		{Name: "what is changed stays cancelled", File: "amend.go", Old: "t.keep()\n\t\t\tt.NoChange = \"\"", New: "t.NoChange = \"\""},
		{Name: "what is gone is left", File: "amend.go", Old: "t.Dropped = true", New: "t.Dropped = false"},
		{Name: "what is completed is done again in its place", File: "amend.go", Old: "case t == nil || t.Item.Phase == agentsig.PhaseCompleted:\n\t\t\tadd(id)", New: "case t == nil:\n\t\t\tadd(id)"},
		{Name: "a task has the id of another", File: "amend.go", Old: "(name == id || !planned)", New: "(name == id || !planned || true)"},
		{Name: "who waited for the first does not wait for the second", File: "amend.go", Old: "now = append(now, name(b))", New: "now = append(now, b)"},
		{Name: "another name is forgotten", File: "amend.go", Old: "p.Renamed[plan] = id\n", New: "_ = id\n"},
		{Name: "what an analyst specified lasts", File: "amend.go", Old: "begin = agentsig.PhaseDraft\n", New: "begin = agentsig.PhaseImplementation\n"},
		{Name: "what was blocked in its draft is never specified", File: "amend.go", Old: "if phase == agentsig.PhaseBlocked {", New: "if false {"},
		{Name: "two tasks wait for each other", File: "amend.go", Old: "t.Awaits = \"\" // an amendment", New: "_ = o // an amendment"},
		{Name: "a pull request is opened too early", File: "amend.go", Old: "case r.publishes() && r.over():", New: "case false:"},
	}))
}

// Each of these faults in sums of what was used is noticed.
func TestUsageMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "TestUsageAdd", Mutant: mutant.Mutant{Name: "a sum has no end", File: "settings.go",
			Old: "a = min(a+min(b, maxUsed), maxUsed)", New: "a += b"}},
		{By: "TestUsageAdd", Mutant: mutant.Mutant{Name: "an amount has no end", File: "settings.go", Old: "a+min(b, maxUsed)", New: "a+b"}},
		{By: "TestUsageAdd", Mutant: mutant.Mutant{Name: "less than nothing counts", File: "settings.go", Old: "if b > 0 {", New: "if b != 0 {"}},
		{By: "TestUsageAdd", Mutant: mutant.Mutant{Name: "what is no number counts", File: "settings.go", Old: "if b > 0 {", New: "if !(b <= 0) {"}},
	})
}

// A fault in how times are told is noticed.
func TestUntilMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "TestUntil", Mutant: mutant.Mutant{Name: "a time of another day has no day", File: "words.go",
			Old: "if then.Format(time.DateOnly) == now.Format(time.DateOnly) {", New: "if then.After(now) {"}},
	})
}

// A reason to wait that has no words is noticed.
func TestWaitMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "TestNowhere", Mutant: mutant.Mutant{Name: "a machine that drains is waited for in silence", File: "wait.go", Old: "return !o.Draining })", New: "return true })"}},
		{By: "TestNowhere", Mutant: mutant.Mutant{Name: "what lies at home is waited for elsewhere", File: "wait.go", Old: "all, _ := r.suited(t, role, m)", New: "p := r.Settings.Roles[role]\n\tall, _ := able(p.Labels, p.Agent, m.Machines)"}},
		{By: "TestWaitWords", Mutant: mutant.Mutant{Name: "a role that nobody plays is not spoken of", File: "wait.go",
			Old: "return \"for somebody in the role \" + r.unplayed(t)", New: "return \"\""}},
	})
}

// Each of these faults in what agents are taught, or in what is made of it, is noticed.
func TestTaughtMutants(t *testing.T) {
	mutant.All(t, mutant.By("TestTaughtInRuns", []mutant.Mutant{
		{Name: "who helps is taught to report conflicts", File: "decide.go", Old: "return []agentsig.Kind{agentsig.KindExpertRequest, agentsig.KindFileConflict}", New: "return []agentsig.Kind{agentsig.KindExpertRequest}"},
		{Name: "who reviews a repair is taught as if it held a task", File: "../prompt/prompt.go", Old: "case v.Helps || !holds:", New: "case !holds:"},
		{Name: "an expert is taught as if it held a task", File: "../prompt/prompt.go", Old: "case v.Helps || !holds:", New: "case v.Helps || !holds && false:"},
		{Name: "a remediation's question is not heard", File: "decide.go", Old: "\tcase agentsig.KindDivineClarification:\n\t\tif !s.Holds() {", New: "\tcase agentsig.KindDivineClarification:\n\t\tif false {"},
	}))
}

// Each of these faults in what is said of checks that may fail is noticed.
func TestToleratedMutants(t *testing.T) {
	mutant.All(t, mutant.By("TestUnchecked", []mutant.Mutant{
		{Name: "nothing is said of what is not checked", File: "tolerate.go", Old: "names := r.Tolerated\n\tif len(names) == 0 {", New: "names := r.Tolerated\n\tif true {"},
		{Name: "one check that may fail is all of them", File: "tolerate.go", Old: "len(names) >= r.Checks", New: "true"},
		{Name: "what was tolerated before is forgotten", File: "tolerate.go", Old: "append(slices.Clone(r.Tolerated), names...)", New: "names"},
	}))
}

// Each of these faults in who gave a task up is noticed.
func TestGivenUpMutants(t *testing.T) {
	mutant.All(t, mutant.By("TestGivenUp$|TestWords", []mutant.Mutant{
		{Name: "nobody gave a task up", File: "evolve_person.go", Old: "r.cancel(t, e.Actor, p.Text)", New: "r.cancel(t, \"\", \"\")"},
		{Name: "what is tried again stays given up by somebody", File: "evolve_person.go", Old: "\tt.keep()\n", New: "\tt.Dropped = false\n"},
		{Name: "what is given up with another task says nothing", File: "evolve_person.go", Old: "b != nil && r.dead(b)", New: "b != nil && b.Dropped"},
		{Name: "what was given up is only left", File: "next.go", Old: "f.GivenUp++", New: "_ = f"},
		{Name: "an answer that gives up reads as any other", File: "words.go", Old: "if p.Choice == ChooseCancel {\n\t\t\treturn p.Task, because(\"given up", New: "if false {\n\t\t\treturn p.Task, because(\"given up"},
	}))
}

// Each of these faults in where agents and checks are placed, and in what becomes of a machine that is lost, is noticed; internal/sim
// has more.
func TestPlaceMutants(t *testing.T) {
	mutant.All(t, mutant.By("TestScenarios|TestGateIsSpread|TestLostIs|TestPushed|TestMissing", []mutant.Mutant{
		{Name: "a machine without the labels fits", File: "place.go", Old: "case !o.has(labels):", New: "case false:"},
		{Name: "without runners labels say nothing", File: "place.go", Old: "len(labels) > 0 { // which", New: "len(labels) > 99 { // which"},
		{Name: "a machine that is away fits", File: "place.go", Old: "case !o.Away:", New: "case true:"},
		{Name: "a machine that is away is missed for what it can't do", File: "place.go", Old: "case o.Agents == nil || slices.Contains(o.Agents, agent):", New: "default:"},
		{Name: "a machine that is away runs checks", File: "place.go", Old: " || o.Away })", New: " })"},
		{Name: "a machine that is away goes on", File: "machine.go", Old: " && !m.Machines[i].Away", New: ""},
		{Name: "a machine without the program fits", File: "place.go", Old: "!slices.Contains(o.Agents, agent) })", New: "false })"},
		{Name: "a machine that is draining fits", File: "place.go", Old: "case o.Draining:\n\t\t\tdraining++", New: "case false:\n\t\t\tdraining++"},
		{Name: "a machine that is full fits", File: "machine.go", Old: "m.Places > 0 && m.Sessions >= m.Places", New: "m.Places < 0"},
		{Name: "work that lies at home is gone on with elsewhere", File: "place.go", Old: "t.AtHome && !Reviewer(role)", New: "false"},
		{Name: "rework goes anywhere", File: "place.go", Old: "after(!t.roomOn(role, a))-after(!t.roomOn(role, b)),", New: ""},
		{Name: "the fullest machine is first", File: "place.go", Old: "a.Sessions*r.places(b), b.Sessions*r.places(a)", New: "b.Sessions*r.places(a), a.Sessions*r.places(b)"},
		{Name: "load is counted, and places are not", File: "place.go", Old: "a.Sessions*r.places(b), b.Sessions*r.places(a)", New: "a.Sessions, b.Sessions"},
		{Name: "what can't be started is tried there again", File: "place.go", Old: "after(slices.Contains(t.Unfit, a.Name))-after(slices.Contains(t.Unfit, b.Name)),", New: ""},
		{Name: "a conversation goes on where it is not", File: "place.go", Old: "session == \"\" || on == runner", New: "true || on == runner"},
		{Name: "an expert is started without its program", File: "place.go", Old: "case !slices.Contains(o.Agents, agent):", New: "case false:"},
		{Name: "an expert is started at home", File: "next.go", Old: "Request: q.Request, Runner: s.Runner}", New: "Request: q.Request}"},
		{Name: "nobody says what a task waits for", File: "next.go", Old: "return WaitRunner", New: "return WaitAgents"},
		{Name: "checks run where the work was done", File: "place.go", Old: "return o.Name == t.author() })", New: "return false })"},
		{Name: "any machine runs checks", File: "place.go", Old: "!o.Checks || o.Draining || o.Away", New: "o.Away"},
		{Name: "the gate leaves home that is set to it", File: "place.go", Old: "|| r.Settings.Gate == GateHome", New: ""},
		{Name: "the gate is never on the developer's machine", File: "place.go", Old: "&& r.Settings.Gate != GateAny", New: ""},
		{Name: "the gate moves when somebody comes", File: "place.go", Old: "ok := m.Gates[t.command(DoGate)]; ok &&", New: "ok := m.Gates[t.command(DoGate)]; false && ok &&"},
		{Name: "what nobody has a commit of is checked elsewhere", File: "place.go", Old: "m.Machines == nil || commit == \"\"", New: "m.Machines == nil || commit == \"none\""},
		{Name: "what can't be judged is checked elsewhere", File: "place.go", Old: "t.Unpushed != \"\" ||", New: ""},
		{Name: "a runner's word on other work counts", File: "decide.go", Old: "case in.Runner != \"\" && in.Commit != t.checked():", New: "case false:"},
		{Name: "a lost machine costs its task a crash", File: "evolve.go", Old: "p.How == Orphaned || p.How == Lost ||", New: "p.How == Orphaned ||"},
		{Name: "who goes on knows nothing of a lost machine", File: "machine.go", Old: "t.Briefs = append(t.Briefs, Brief{\"lost\", text})", New: "_ = text"},
		{Name: "the conversation of a lost machine goes on", File: "conversation.go", Old: "case p.How == Lost:", New: "case false:"},
		{Name: "what was never handed in is checked", File: "machine.go", Old: "t.Missing = s.Runner", New: "_ = s"},
		{Name: "what is missing was judged", File: "evolve_item.go", Old: "case t.Missing != \"\":", New: "case false:"},
		{Name: "what a session hands in is not gone on with", File: "machine.go", Old: "case p.Commit != \"\":\n\t\tt.at(p.Commit)", New: "case p.Commit != \"\":"},
		{Name: "home's own work is older than what was handed in", File: "machine.go", Old: "case s.Runner == \"\" && p.How != Broken", New: "case false && s.Runner == \"\" && p.How != Broken"},
		{Name: "a person's work is older than what was handed in", File: "evolve_item.go", Old: "\t\tt.leftAtHome()\n", New: ""},
		{Name: "who was taken the task from hands it in", File: "machine.go", Old: "|| s.Over == byPerson:", New: ":"},
		{Name: "who was taken the task from pushes it", File: "pushed.go", Old: "s.Over == byPerson ||", New: ""},
		{Name: "what has not changed was not handed in", File: "pushed.go", Old: "s.Pushed && t.Pushed == in.Commit", New: "t.Pushed == in.Commit"},
		{Name: "home is repaired for another machine", File: "machine.go", Old: "if s.Runner == \"\" {\n\t\tr.obstacle", New: "if true {\n\t\tr.obstacle"},
		{Name: "what was pushed has any name", File: "pushed.go", Old: "if !commitName.MatchString(in.Commit) && (", New: "if false && ("},
		{Name: "anything is a commit", File: "decide.go", Old: "if !commitName.MatchString(in.Commit) {", New: "if false {"},
		{Name: "late results without end", File: "decide.go", Old: "if t.Late >= maxLate {", New: "if false {"},
		{Name: "a lost session's word is no late one until its item is free", File: "decide.go", Old: "if t.Away != in.Session {", New: "if true {"},
	}))
}
