package work_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// say has an agent in a role claim the item and end with a signal, as it is read from a text.
func say(t *testing.T, i work.Item, role agentsig.Role, text string) work.Item {
	t.Helper()
	if i.Lease == nil {
		i = do(t, i, grant(role))
	}
	result, err := agentsig.Scan(strings.NewReader(text+"\n"), agentsig.Options{Role: role, Task: i.Names()})
	if err != nil || !result.Verdict.OK() {
		t.Fatalf("%q: %+v, %v", text, result.Verdict, err)
	}
	said := work.Said{Signal: result.Verdict.Kind}
	for _, f := range result.Verdict.Signal.Fields() {
		said.Fields = append(said.Fields, work.Field{Name: f.Name, Value: f.Value})
	}
	return do(t, i, work.End{Token: i.Lease.Token, Actor: "ann", Signal: result.Verdict.Signal, Said: said, Limits: few})
}

var few = work.Limits{Unknown: 3, Obstacles: 3, ExpertRequests: 2, RemediationRounds: 2}

// state says in a line where an item is and what it waits for.
func state(i work.Item) string {
	s := string(i.Phase)
	if w := i.Wait; w != nil {
		s += fmt.Sprintf(" %s %s %q %d", w.ID, w.Cause, w.Role, w.Round)
	}
	for _, r := range i.Replies {
		s += fmt.Sprintf(" [%s %s: %s]", r.ID, r.From, r.Text)
	}
	return s
}

const (
	dev    = agentsig.RoleDeveloper
	helper = agentsig.RoleRemediation
	health = agentsig.RoleHealthAuditor
	expert = agentsig.RoleExpert
	answer = agentsig.Role("answer") // stands for the operator
)

// What an agent needs of others is a question; those who may help can claim it, a person can answer, and the next agent
// on the work is told what came of it.
func TestWaits(t *testing.T) {
	type step struct {
		role agentsig.Role
		says string
		want string
	}
	for name, steps := range map[string][]step{
		"a question": {
			{dev, "SEEKING_DIVINE_CLARIFICATION\nQuestion: which API?", `BLOCKED T-1-Q1 clarification "" 0`},
			{answer, "v2", "IMPLEMENTATION [T-1-Q1 operator: v2]"},
			{dev, "SEEKING_DIVINE_CLARIFICATION\nQuestion: sure?", `BLOCKED T-1-Q2 clarification "" 0 [T-1-Q1 operator: v2]`},
			{answer, "Retry", "IMPLEMENTATION [T-1-Q1 operator: v2] [T-1-Q2 operator: retry]"},
			{dev, "READY_FOR_REVIEW: T-1", "CI_PENDING [T-1-Q1 operator: v2] [T-1-Q2 operator: retry]"},
		},
		"an expert": {
			{dev, "EXPERT_REQUEST\nTarget Agent: db\nDELEGATION PROMPT START\nwhich index?\nDELEGATION PROMPT END", `BLOCKED T-1-Q1 expert "expert" 0`},
			{expert, "EXPERT_ADVICE: T-1-Q1\na partial one", "IMPLEMENTATION [T-1-Q1 expert: a partial one]"},
		},
		"an expert who can't": {
			{dev, "EXPERT_REQUEST\nTarget Agent: db", `BLOCKED T-1-Q1 expert "expert" 0`},
			{expert, "EXPERT_UNSUCCESSFUL: T-1-Q1\nI tried", `BLOCKED T-1-Q1 expert "" 0`},
			{answer, "use none", "IMPLEMENTATION [T-1-Q1 operator: use none]"},
		},
		"too many experts": {
			{dev, "EXPERT_REQUEST", `BLOCKED T-1-Q1 expert "expert" 0`},
			{expert, "EXPERT_ADVICE: T-1-Q1\na", "IMPLEMENTATION [T-1-Q1 expert: a]"},
			{dev, "EXPERT_REQUEST", `BLOCKED T-1-Q2 expert "expert" 0 [T-1-Q1 expert: a]`},
			{expert, "EXPERT_ADVICE: T-1-Q2\nb", "IMPLEMENTATION [T-1-Q1 expert: a] [T-1-Q2 expert: b]"},
			{dev, "EXPERT_REQUEST", `BLOCKED T-1-Q3 expert_requests "" 0 [T-1-Q1 expert: a] [T-1-Q2 expert: b]`},
		},
		"remediation": {
			{dev, "INFRA_BLOCKED: T-1\nIssue: no disk", `BLOCKED T-1-Q1 infrastructure "remediation" 1`},
			{helper, "REMEDIATION_COMPLETE", `BLOCKED T-1-Q1 infrastructure "health_auditor" 1`},
			{health, "HEALTH_AUDIT: UNHEALTHY\nstill full", `BLOCKED T-1-Q1 infrastructure "remediation" 2`},
			{helper, "REMEDIATION_COMPLETE", `BLOCKED T-1-Q1 infrastructure "health_auditor" 2`},
			{health, "HEALTH_AUDIT: HEALTHY\nall pass", "IMPLEMENTATION [T-1-Q1 health_auditor: all pass]"},
		},
		"too much remediation": {
			{dev, "INFRA_BLOCKED: T-1", `BLOCKED T-1-Q1 infrastructure "remediation" 1`},
			{helper, "REMEDIATION_COMPLETE", `BLOCKED T-1-Q1 infrastructure "health_auditor" 1`},
			{health, "HEALTH_AUDIT: UNHEALTHY", `BLOCKED T-1-Q1 infrastructure "remediation" 2`},
			{helper, "REMEDIATION_COMPLETE", `BLOCKED T-1-Q1 infrastructure "health_auditor" 2`},
			{health, "HEALTH_AUDIT: UNHEALTHY", `BLOCKED T-1-Q1 remediation_rounds "" 2`},
		},
		"remediation asks": {
			{dev, "INFRA_BLOCKED: T-1", `BLOCKED T-1-Q1 infrastructure "remediation" 1`},
			{helper, "SEEKING_DIVINE_CLARIFICATION\nQuestion: may I reboot?", `BLOCKED T-1-Q1 clarification "" 1`},
			{answer, "yes", "IMPLEMENTATION [T-1-Q1 operator: yes]"},
		},
		"trouble again and again": {
			{dev, "INFRA_BLOCKED: T-1", `BLOCKED T-1-Q1 infrastructure "remediation" 1`},
			{helper, "REMEDIATION_COMPLETE", `BLOCKED T-1-Q1 infrastructure "health_auditor" 1`},
			{health, "HEALTH_AUDIT: HEALTHY", "IMPLEMENTATION [T-1-Q1 health_auditor: ]"},
			{dev, "TASK_INCOMPLETE: T-1\nBlocker: flaky", "IMPLEMENTATION [T-1-Q1 health_auditor: ]"},
			{dev, "INFRA_BLOCKED: T-1", `BLOCKED T-1-Q2 obstacles "" 0 [T-1-Q1 health_auditor: ]`},
		},
		"given back again and again": {
			{dev, "TASK_INCOMPLETE: T-1", "IMPLEMENTATION"},
			{dev, "TASK_INCOMPLETE: T-1", "IMPLEMENTATION"},
			{dev, "TASK_INCOMPLETE: T-1", `BLOCKED T-1-Q1 obstacles "" 0`},
			{answer, "smaller steps", "IMPLEMENTATION [T-1-Q1 operator: smaller steps]"},
			{dev, "TASK_INCOMPLETE: T-1", "IMPLEMENTATION [T-1-Q1 operator: smaller steps]"},
		},
		"an exit record": {
			{dev, `{"protocol":"apm2_agent_exit","version":"1.0.0","phase_completed":"IMPLEMENTATION","exit_reason":"blocked"}`, `BLOCKED T-1-Q1 exit "" 0`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			i := added(t, agentsig.PhaseImplementation)
			for n, s := range steps {
				if s.role == answer {
					i = do(t, i, work.Answer{Actor: work.OperatorActor, Question: i.Wait.ID, Text: s.says})
				} else {
					i = say(t, i, s.role, s.says)
				}
				if got := state(i); got != s.want {
					t.Fatalf("step %d, %s:\n%s, want\n%s", n+1, s.says, got, s.want)
				}
			}
		})
	}
}

// Nobody takes what waits for somebody else, and a question is answered once.
func TestWaitsForOne(t *testing.T) {
	i := say(t, added(t, agentsig.PhaseImplementation), dev, "EXPERT_REQUEST\nDELEGATION PROMPT START\nwhich index?\nDELEGATION PROMPT END")
	if i.Wait.Text != "which index?" && !strings.Contains(i.Wait.Text, "which index?") {
		t.Errorf("an expert is asked %q", i.Wait.Text)
	}
	for _, role := range []agentsig.Role{"", dev, helper, health} {
		if _, err := work.Decide(i, grant(role)); !errors.Is(err, work.ErrBlocked) {
			t.Errorf("%q takes what waits for an expert: %v", role, err)
		}
	}
	held := do(t, i, grant(expert))
	if !i.Claimable() || held.Claimable() || held.Names() != "T-1-Q1" || i.Names() != "T-1" {
		t.Errorf("claimable %v, then %v; its signals name %s", i.Claimable(), held.Claimable(), held.Names())
	}
	answered := do(t, held, work.Answer{Actor: work.OperatorActor, Question: "T-1-Q1", Text: "none"})
	if answered.Lease != nil || answered.Phase != agentsig.PhaseImplementation {
		t.Errorf("answered, and still held in %s", answered.Phase)
	}
	late, err := work.Decide(answered, work.End{Token: held.Lease.Token, Actor: "ann", Signal: agentsig.Signal{Kind: agentsig.KindExpertAdvice, Subject: "T-1-Q1"}})
	if err != nil || late.Type != work.LateResultRecorded {
		t.Errorf("advice after the answer is %s, %v", late.Type, err)
	}
	for question, want := range map[string]error{"T-1-Q1": work.ErrAnswered, "T-1-Q2": work.ErrNoQuestion, "T-1-Q01": work.ErrNoQuestion, "T-2-Q1": work.ErrNoQuestion, "": work.ErrNoQuestion} {
		if _, err := work.Decide(answered, work.Answer{Actor: work.OperatorActor, Question: question, Text: "x"}); !errors.Is(err, want) {
			t.Errorf("an answer to %q: %v, want %v", question, err, want)
		}
	}
	for _, c := range []work.Answer{{Actor: work.OperatorActor, Question: "T-1-Q1"}, {Actor: work.OperatorActor, Question: "T-1-Q1", Text: " "}, {Actor: work.OperatorActor, Question: "T-1-Q1", Choice: "halt"}} {
		if _, err := work.Decide(held, c); !errors.Is(err, work.ErrNoAnswer) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	over := do(t, i, work.Override{Actor: work.OperatorActor, Phase: agentsig.PhaseImplementation, Reason: "r"})
	if over.Wait != nil || over.Asked != 1 {
		t.Errorf("after an override it waits for %+v", over.Wait)
	}
}

// A run asks and starts for its own tasks.
func TestWaitsNotInARun(t *testing.T) {
	i := do(t, work.Item{}, work.Add{ID: "R1.T-1", Title: "t", Phase: agentsig.PhaseImplementation, Actor: "operator", Run: "R", Task: "T-1"})
	i = do(t, i, grant(dev))
	if _, err := work.Decide(i, work.End{Token: i.Lease.Token, Signal: line(agentsig.KindExpertRequest), Limits: few}); !errors.Is(err, agentsig.ErrNoHandover) {
		t.Errorf("a run's agent asks for an expert by ending its session: %v", err)
	}
	i = do(t, i, work.End{Token: i.Lease.Token, Signal: line(agentsig.KindInfraBlocked), Limits: few})
	if i.Wait != nil || i.Claimable() {
		t.Errorf("a run's task waits for %+v by itself", i.Wait)
	}
}

// Output without a signal: a warning, an error, and the third ends the session; the next agent is told the format.
func TestUnread(t *testing.T) {
	i := do(t, added(t, agentsig.PhaseImplementation), grant(dev))
	var told []string
	read := func() {
		e, err := work.Decide(i, work.Unread{Token: i.Lease.Token, Limit: 3, Unknown: work.Unknown{OutputPreview: "done!"}})
		if err != nil {
			t.Fatal(err)
		}
		u := e.Payload.(work.Unknown)
		told = append(told, fmt.Sprintf("%s %s %s %d %s%s %s", e.Type, u.TaskID, u.AgentID[len(subject):], u.Attempt, u.Level, u.Reason, u.OutputPreview))
		i = apply(t, i, e)
	}
	read()
	i = do(t, do(t, i, work.Release{Token: i.Lease.Token}), grant(dev)) // another agent, the same work
	read()
	read()
	want := []string{
		"unknown_signal_recovery T-1 -1.1 1 warning done!", "unknown_signal_recovery T-1 -1.2 2 error done!",
		"agent_signal_failure T-1 -1.2 0 3_consecutive_unknown_signals done!",
	}
	if got := strings.Join(told, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("recorded:\n%s", got)
	}
	if i.Lease != nil || !i.Claimable() || !i.Format || i.Count.Unknown != 0 {
		t.Errorf("after the third: %+v", i)
	}
	i = do(t, i, grant(dev))
	read()
	if i = say(t, i, dev, "READY_FOR_REVIEW: T-1"); i.Format || i.Count.Unknown != 0 {
		t.Errorf("a signal, and still %+v", i)
	}
}

// By hand, too, a critic judges the claim that nothing has to be changed.
func TestNoChangeAlone(t *testing.T) {
	reviewed := func(claim, verdict string) work.Item {
		i := say(t, added(t, agentsig.PhaseImplementation), dev, "READY_FOR_REVIEW: T-1\n"+claim)
		i = do(t, i, work.Report{Commit: "0123abc", Passed: true})
		return say(t, i, agentsig.RoleCritic, verdict+": T-1")
	}
	if i := reviewed("No Change Needed: it is there", "REVIEW_PASSED"); i.Phase != agentsig.PhaseCompleted || i.NoChange != "it is there" || !i.Unchanged() {
		t.Errorf("agreed, and %s, %q", i.Phase, i.NoChange)
	}
	i := reviewed("No Change Needed: it is there", "REVIEW_FAILED")
	if i.Phase != agentsig.PhaseImplementation {
		t.Errorf("not agreed, and %s", i.Phase)
	}
	i = do(t, say(t, i, dev, "READY_FOR_REVIEW: T-1"), work.Report{Commit: "0123abd", Passed: true})
	if i = say(t, i, agentsig.RoleCritic, "REVIEW_PASSED: T-1"); i.Phase != agentsig.PhaseReadyForMerge {
		t.Errorf("the second time it is a change, and %s", i.Phase)
	}
	if i := reviewed("No Change Needed: none", "REVIEW_PASSED"); i.Phase != agentsig.PhaseReadyForMerge {
		t.Errorf("a form that was filled in counts: %s", i.Phase)
	}
}
