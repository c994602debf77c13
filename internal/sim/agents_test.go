package sim_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// manner is how an agent behaves.
type manner string

const (
	honest         manner = "honest"
	crashes        manner = "crashes"
	vanishes       manner = "vanishes" // with its session's process
	stalls         manner = "stalls"
	limited        manner = "limited" // by its provider
	garbage        manner = "garbage"
	ambiguous      manner = "ambiguous"
	mute           manner = "mute" // garbage, and no answer
	reports        manner = "reports"
	forges         manner = "forges"
	repeats        manner = "repeats"
	asksPerson     manner = "asks a person"
	asksExpert     manner = "asks an expert"
	asksNobody     manner = "asks an expert that there is not"
	creates        manner = "creates an expert"
	waitsForFile   manner = "waits for a file"
	needsFile      manner = "needs a file"
	lies           manner = "lies"
	idles          manner = "changes nothing" // and says that it is done
	claims         manner = "says that nothing has to be changed"
	persists       manner = "hands in again what did not pass"
	fails          manner = "fails" // the work of others, or its own, each time for another reason
	failsAgain     manner = "fails for the same reason"
	meetsTrouble   manner = "meets trouble"
	lacks          manner = "lacks information"
	dependsOnOther manner = "depends on another task"
	lacksNetwork   manner = "lacks the network"
	unsure         manner = "unsure"
	exits          manner = "exits"
	exitsBlocked   manner = "exits blocked"
)

var manners = []manner{
	honest, crashes, vanishes, stalls, limited, garbage, ambiguous, mute, reports, forges, repeats, asksPerson, asksExpert,
	asksNobody, creates, waitsForFile, needsFile, lies, idles, claims, persists, fails, failsAgain, meetsTrouble, lacks, dependsOnOther, lacksNetwork,
	unsure, exits, exitsBlocked,
}

// theme makes one kind of trouble frequent in a schedule, so that limits are
// reached.
type theme struct {
	manners   map[agentsig.Role]manner
	broken    bool // the environment breaks, again and again
	budget    bool // there is one
	conflicts bool // merges fail
	person    bool // plays roles
}

var themes = []theme{
	{manners: map[agentsig.Role]manner{agentsig.RoleDeveloper: asksExpert, agentsig.RoleExpert: crashes}},
	{manners: map[agentsig.Role]manner{agentsig.RoleDeveloper: asksExpert, agentsig.RoleExpert: fails}},
	{manners: map[agentsig.Role]manner{agentsig.RoleDeveloper: asksExpert}},
	{manners: map[agentsig.Role]manner{agentsig.RoleDeveloper: asksNobody}},
	{manners: map[agentsig.Role]manner{agentsig.RoleDeveloper: lies}},
	{manners: map[agentsig.Role]manner{agentsig.RoleDeveloper: idles}},
	{manners: map[agentsig.Role]manner{agentsig.RoleDeveloper: claims}},
	{manners: map[agentsig.Role]manner{agentsig.RoleDeveloper: claims, agentsig.RoleCritic: fails}},
	{manners: map[agentsig.Role]manner{agentsig.RoleDeveloper: persists}},
	{manners: map[agentsig.Role]manner{agentsig.RoleDeveloper: persists, agentsig.RoleCritic: honest, agentsig.RoleAuditor: fails}},
	{manners: map[agentsig.Role]manner{agentsig.RoleDeveloper: persists, agentsig.RoleCritic: honest, agentsig.RoleAuditor: honest}, conflicts: true},
	{manners: map[agentsig.Role]manner{agentsig.RoleDeveloper: persists, agentsig.RoleCritic: honest}, conflicts: true},
	{manners: map[agentsig.Role]manner{agentsig.RoleDeveloper: meetsTrouble, agentsig.RoleRemediation: lies}, broken: true},
	{manners: map[agentsig.Role]manner{agentsig.RoleRemediation: asksPerson}, broken: true},
	{manners: map[agentsig.Role]manner{agentsig.RoleRemediation: lies, agentsig.RoleHealthAuditor: lies}, broken: true},
	{manners: map[agentsig.Role]manner{agentsig.RoleDeveloper: waitsForFile}},
	{manners: map[agentsig.Role]manner{agentsig.RoleCritic: fails}},
	{manners: map[agentsig.Role]manner{agentsig.RoleCritic: failsAgain}},
	{manners: map[agentsig.Role]manner{agentsig.RoleAuditor: fails}},
	{manners: map[agentsig.Role]manner{agentsig.RoleAuditor: failsAgain}},
	{manners: map[agentsig.Role]manner{agentsig.RoleCritic: failsAgain, agentsig.RoleAuditor: failsAgain}},
	{manners: map[agentsig.Role]manner{agentsig.RoleAuditor: meetsTrouble}},
	{manners: map[agentsig.Role]manner{agentsig.RoleAnalyst: unsure, agentsig.RoleDeveloper: crashes}},
	{manners: map[agentsig.Role]manner{agentsig.RoleDeveloper: dependsOnOther}},
	{manners: map[agentsig.Role]manner{agentsig.RoleDeveloper: lacksNetwork}},
	{conflicts: true}, {budget: true}, {broken: true}, {person: true}, {person: true, conflicts: true}, {person: true, broken: true},
}

func (w *world) chooseTheme() theme {
	switch n := w.rand.IntN(10); {
	case n < 5:
		return pick(w, themes)
	case n < 7:
		return theme{manners: map[agentsig.Role]manner{pick(w, agentsig.Roles()): pick(w, manners)}}
	}
	return theme{}
}

func (w *world) mannerOf(role agentsig.Role) manner {
	if m := w.theme.manners[role]; m != "" && w.chance(85) {
		return m
	}
	if w.theme.conflicts && w.chance(85) || w.chance(55) { // work that is not done is not merged either
		return honest
	}
	return pick(w, manners)
}

// turnOf lets an agent answer what it was told.
func (w *world) turnOf(p *process) {
	ask := p.asks[0]
	p.asks = p.asks[1:]
	m := p.manner
	switch {
	case w.calm, w.silent && m == limited:
		m = honest
	case ask == delivery.AskProgress && m == mute:
		p.turn++
		p.send(delivery.Turn{Session: p.id, Turn: p.turn, Verdict: agentsig.KindUnknown, NoAnswer: true})
		return
	case ask == delivery.AskProgress && w.chance(50):
		m = reports
	case ask == delivery.AskSignal && w.chance(40), ask == delivery.AskAdvice && w.chance(30), ask == delivery.AskRefused && w.chance(30):
		m = honest
	}
	w.behave(p, m)
}

// behave is a turn in a manner. One that the role has no use for is honest.
func (w *world) behave(p *process, m manner) {
	developer, holds := p.role == agentsig.RoleDeveloper, p.request == "" && p.task != ""
	if w.theme.budget && w.chance(40) { // it tells while it works
		p.used.Add(w.usage())
		p.reports++
		p.send(delivery.Spent{Session: p.id, Report: p.reports, Usage: p.used})
	}
	switch {
	case m == crashes:
		p.end(delivery.Crashed, w.usage())
	case m == vanishes:
		p.killed = true
	case m == stalls:
		p.end(pick(w, []delivery.How{delivery.Stalled, delivery.TimedOut}), w.usage())
	case m == limited:
		p.over = true
		reset := time.Time{}
		if w.chance(50) {
			reset = now().Add(20 * time.Minute)
		}
		p.send(delivery.End{Session: p.id, Ended: delivery.Ended{How: delivery.Limited, ResetAt: reset, Usage: w.usage(), Conversation: p.talk}})
	case m == garbage, m == mute, m == forges, m == ambiguous:
		if w.chance(30) {
			w.deny(p)
		}
		w.nothing(p, m)
	case m == reports:
		w.say(p, agentsig.KindCheckpoint, p.task, "Status: busy")
	case m == repeats:
		w.note(p, agentsig.KindCheckpoint, p.task)
		w.note(p, agentsig.KindCheckpoint, p.task)
		w.workHonestly(p)
	case m == creates:
		w.note(p, agentsig.KindExpertCreated, pick(w, []string{"painter", "poet", "\x1b[31mred", strings.Repeat("x", 500)}))
		w.workHonestly(p)
	case m == asksPerson && (holds || p.role == agentsig.RoleRemediation || p.role == agentsig.RoleCritic):
		w.say(p, agentsig.KindDivineClarification, "", "Question: which colour?")
	case m == asksExpert && holds && p.role != agentsig.RoleAnalyst:
		w.say(p, agentsig.KindExpertRequest, "", "Target Agent: "+pick(w, []string{"dba", "dba", "painter"})+"\nRequest Type: advice")
	case m == asksNobody && holds && p.role != agentsig.RoleAnalyst:
		w.say(p, agentsig.KindExpertRequest, "", "Target Agent: nobody")
	case m == waitsForFile && holds:
		w.say(p, agentsig.KindFileConflict, "main.go", "Assigned To: "+w.otherTask(p)+"\nCan Wait: YES")
	case m == needsFile && holds:
		w.say(p, agentsig.KindFileConflict, "main.go", "Can Wait: NO")
	case m == lies && developer:
		*w.branches[p.task] = branch{commit: w.commit()}
		w.say(p, agentsig.KindReadyForReview, p.task, "Summary: all of it works")
	case m == idles && developer && w.chance(20):
		w.exit(p, agentsig.ExitCompleted)
	case m == idles && developer:
		w.say(p, agentsig.KindReadyForReview, p.task, "Summary: all of it works\n"+agentsig.KeyNoChange+": none")
	case m == persists && developer:
		if b := w.branches[p.task]; b.same {
			*b = branch{commit: w.commit(), good: len(w.theme.manners) > 1 || w.chance(60)}
		}
		w.say(p, agentsig.KindReadyForReview, p.task, "Summary: it is right as it is")
	case m == claims && developer:
		if w.chance(40) { // an empty commit, or all is taken back
			*w.branches[p.task] = branch{commit: w.commit(), good: true, same: true}
		}
		w.say(p, agentsig.KindReadyForReview, p.task, agentsig.KeyNoChange+": it is there")
	case m == lies && p.role == agentsig.RoleRemediation:
		w.repair = branch{commit: w.commit(), good: w.chance(50)}
		w.say(p, agentsig.KindRemediationComplete, "", "")
	case m == lies && p.role == agentsig.RoleHealthAuditor:
		w.say(p, agentsig.KindHealthHealthy, "", "")
	case m == fails, m == failsAgain:
		w.fail(p, m)
	case m == meetsTrouble && developer:
		w.say(p, agentsig.KindInfraBlocked, p.task, "Issue: disk full")
	case m == meetsTrouble && p.role == agentsig.RoleAuditor:
		w.say(p, agentsig.KindAuditBlocked, p.task, "Failed Criteria: none could be checked")
	case m == lacks && developer:
		w.say(p, agentsig.KindTaskIncomplete, p.task, "Blocker: missing information")
	case m == dependsOnOther && developer:
		w.say(p, agentsig.KindTaskIncomplete, p.task, "Blocker: depends on "+w.otherTask(p)+".")
	case m == lacksNetwork && developer:
		w.say(p, agentsig.KindTaskIncomplete, p.task, "Blocker: network unreachable")
	case m == unsure && p.role == agentsig.RoleAnalyst:
		w.say(p, agentsig.KindExpandedSpec, p.task, "Confidence: LOW")
	case m == exitsBlocked && holds:
		w.exit(p, pick(w, []agentsig.ExitReason{agentsig.ExitBlocked, agentsig.ExitError}))
	case m == exits && holds:
		if developer {
			*w.branches[p.task] = branch{commit: w.commit(), good: true}
		}
		w.exit(p, agentsig.ExitCompleted)
	default:
		w.workHonestly(p)
	}
}

func (w *world) otherTask(p *process) string {
	other := pick(w, w.plan.Tasks).ID
	if other == p.task {
		return "somebody"
	}
	return other
}

// fail says that the work is not good, or that the agent's own is not done.
func (w *world) fail(p *process, m manner) {
	finding := "the same old thing"
	if m == fails {
		w.commits++
		finding = "a thing called " + strings.Map(func(c rune) rune { return 'a' + c - '0' }, fmt.Sprint(w.commits))
	}
	switch p.role {
	case agentsig.RoleCritic:
		w.say(p, agentsig.KindReviewFailed, p.task, "Issues Found:\n- "+finding)
	case agentsig.RoleAuditor:
		w.say(p, agentsig.KindAuditFailed, p.task, "Failed Criteria: "+finding)
	case agentsig.RoleHealthAuditor:
		w.say(p, agentsig.KindHealthUnhealthy, "", finding)
	case agentsig.RoleExpert:
		w.say(p, agentsig.KindExpertUnsuccessful, p.request, finding)
	default:
		w.workHonestly(p)
	}
}

func (w *world) workHonestly(p *process) {
	if !w.calm && w.chance(3) {
		w.loose = append(w.loose, delivery.Touched{Session: p.id, Task: p.task, Text: "M main.go"})
	}
	switch p.role {
	case agentsig.RoleAnalyst:
		w.say(p, agentsig.KindExpandedSpec, p.task, "Confidence: HIGH")
	case agentsig.RoleDeveloper:
		*w.branches[p.task] = branch{commit: w.commit(), good: true}
		w.say(p, agentsig.KindReadyForReview, p.task, "Summary: done")
	case agentsig.RoleCritic:
		w.say(p, agentsig.KindReviewPassed, p.task, "Summary: good")
	case agentsig.RoleAuditor:
		w.say(p, agentsig.KindAuditPassed, p.task, "Passing Criteria: all")
	case agentsig.RoleRemediation:
		w.broken = w.theme.broken && !w.calm && w.chance(50)
		if w.chance(50) || w.repair.commit != "" && !w.merged[w.repair.commit] {
			w.repair = branch{commit: w.commit(), good: true}
		}
		w.say(p, agentsig.KindRemediationComplete, "", "")
	case agentsig.RoleHealthAuditor:
		kind := agentsig.KindHealthHealthy
		if w.broken {
			kind = agentsig.KindHealthUnhealthy
		}
		w.say(p, kind, "", "disk full")
	case agentsig.RoleExpert:
		if w.chance(40) {
			w.consult(p)
		}
		w.say(p, agentsig.KindExpertAdvice, p.request, "Use an index.")
	}
}

// say ends a turn with a signal.
func (w *world) say(p *process, kind agentsig.Kind, subject, payload string) {
	w.turn(p, agentsig.Signal{Kind: kind, Subject: subject, Payload: payload})
}

func (w *world) exit(p *process, reason agentsig.ExitReason) {
	phase := agentsig.PhaseDraft
	switch p.role {
	case agentsig.RoleDeveloper:
		phase = agentsig.PhaseImplementation
	case agentsig.RoleCritic:
		phase = agentsig.PhaseReview
	case agentsig.RoleAuditor:
		phase = agentsig.PhaseReadyForMerge
	}
	w.turn(p, agentsig.NewExitSignal(phase, reason).Signal())
}

func (w *world) turn(p *process, s agentsig.Signal) {
	p.turn++
	w.push(p)
	p.send(delivery.Turn{
		Session: p.id, Turn: p.turn, Verdict: s.Kind, Signal: s, Said: said(s), Key: fmt.Sprintf("%s/%d", p.id, p.turn),
	})
}

func said(s agentsig.Signal) work.Said {
	out := work.Said{Signal: s.Kind, Subject: s.Subject}
	if _, isExit := s.Exit(); !isExit {
		for _, f := range s.Fields() {
			out.Fields = append(out.Fields, work.Field{Name: f.Name, Value: f.Value})
		}
	}
	return out
}

// nothing ends a turn without a signal that counts.
func (w *world) nothing(p *process, m manner) {
	p.turn++
	t := delivery.Turn{Session: p.id, Turn: p.turn, Verdict: agentsig.KindUnknown, Preview: "I think that I am \x1b[31mdone"}
	switch m {
	case ambiguous:
		t.Verdict = agentsig.KindAmbiguous
		t.Signal = agentsig.Signal{Kind: agentsig.KindReviewPassed, Subject: p.task}
	case forges:
		why := pick(w, []agentsig.Reason{agentsig.ReasonWrongID, agentsig.ReasonWrongRole, agentsig.ReasonWrongNonce, agentsig.ReasonFenced})
		w.reached.add("forged", string(why))
		for range 1 + w.rand.IntN(5) {
			t.NearMisses = append(t.NearMisses, delivery.NearMiss{Line: 3, Kind: agentsig.KindAuditPassed, Reason: why})
		}
	}
	p.send(t)
}

// consult has an expert ask a model, which calls a tool.
func (w *world) consult(p *process) {
	for _, step := range []delivery.Step{
		{Signal: &delivery.ModelSignal{Turn: 1, Signal: agentsig.KindNeedTurn, Confidence: 0.8, Text: "reason: to look it up"}},
		{Call: &delivery.ToolCall{Call: 1, Turn: 1, Tool: "search", Arguments: `{"q":"index"}`, Changes: w.chance(20)}},
		{Result: &delivery.ToolResult{Call: 1, Tool: "search", Failed: w.chance(20), Bytes: 12}},
	} {
		p.reports++
		p.send(delivery.Stepped{Session: p.id, Report: p.reports, Step: step})
	}
}

// deny refuses an agent something.
func (w *world) deny(p *process) {
	p.reports++
	p.send(delivery.Denied{Session: p.id, Report: p.reports, Text: "edit main.go"})
}

// note says something that ends nothing, in the middle of a turn.
func (w *world) note(p *process, kind agentsig.Kind, subject string) {
	p.reports++
	p.send(delivery.Note{
		Session: p.id, Report: p.reports, Said: work.Said{Signal: kind, Subject: subject}, Key: fmt.Sprintf("%s/note-%d", p.id, p.reports),
	})
}
