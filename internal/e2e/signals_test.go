//go:build unix

package e2e_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// say is a script of an agent that prints these lines. Signals among them carry the
// session's nonce, unless they have one.
func say(lines ...string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(line)
		if agentsig.ParseSignal(line).Signal != agentsig.KindUnknown && !strings.Contains(line, "run=") {
			b.WriteString(" @run")
		}
		b.WriteString("\n")
	}
	return "sed \"s/@run/$run/\" <<'END'\n" + b.String() + "END\n"
}

// tale tells in short lines what was recorded on a task or a run: each event with
// who and what it is about and the phase after it, as far as it has them.
func (w *world) tale(work string) []string {
	w.t.Helper()
	var tale []string
	for _, e := range w.events() {
		if e.Work != work || e.Type == "WorkShown" || // which each start of a reviewer has
			e.Type == delivery.PromptDelivered { // which may come after its answer
			continue
		}
		var p map[string]any
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			w.t.Fatal(err)
		}
		if e.Type == delivery.SessionEnded && p["how"] == string(delivery.Done) {
			continue
		}
		line := e.Type
		for _, key := range []string{"signal", "role", "how", "round", "healthy", "attempt", "target", "cause", "choice", "outcome", "exit_reason", "next_phase", "phase"} {
			if v, ok := p[key]; ok && (key != "exit_reason" || p["signal"] == string(agentsig.KindExit)) {
				line += fmt.Sprintf(" %v", v)
			}
		}
		tale = append(tale, line)
	}
	return tale
}

// goOn lets the run that was not finished go on, and returns it as it is at the end.
func (w *world) goOn() api.Run {
	w.t.Helper()
	r := w.signalbox("run", "--json")
	var run api.Run
	if err := json.Unmarshal([]byte(r.out), &run); err != nil || run.ID == "" {
		w.t.Fatalf("run: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	return run
}

// must runs a command that has to succeed, and returns what it prints.
func (w *world) must(args ...string) string {
	w.t.Helper()
	r := w.signalbox(args...)
	if r.code != 0 {
		w.t.Fatalf("signalbox %s: exit code %d\n%s%s", strings.Join(args, " "), r.code, r.out, r.err)
	}
	return r.out
}

// Pieces of tales.
var (
	added    = "WorkAdded IMPLEMENTATION"
	develops = "LeaseGranted developer IMPLEMENTATION"
	built    = []string{"AgentSessionCompleted ready_for_review CI_PENDING", "GatePassed READY_FOR_REVIEW"}
	reviewed = []string{"ReviewStarted critic REVIEW", "AgentSessionCompleted review_passed READY_FOR_MERGE"}
	audits   = "LeaseGranted auditor READY_FOR_MERGE"
	audited  = []string{audits, "AgentSessionCompleted audit_passed READY_FOR_MERGE", "MergeAllowed", "WorkMerged COMPLETED"}
	repaired = []string{
		"SessionGranted remediation 1", "RemediationCompleted 1", "SessionGranted health_auditor 1", "HealthAudited 1 true",
		"BaselineChecked", "RemediationEnded 1 true",
	}
	started  = []string{"RunStarted", "BaselineChecked"}
	finished = "RunFinished completed"
)

// tell joins pieces of a tale.
func tell(pieces ...any) []string {
	var all []string
	for _, p := range pieces {
		switch p := p.(type) {
		case string:
			all = append(all, p)
		case []string:
			all = append(all, p...)
		}
	}
	return all
}

// scene is what agents say, and what has to come of it.
type scene struct {
	name     string
	settings string
	tasks    []string // T-1 if there are none
	scripts  map[string]string
	asked    string // the question that the run stops with
	answer   string
	task     []string
	run      []string
	told     map[string][]string // by TASK.ROLE.N
}

// What each signal leads to: what is recorded on T-1 and on the run, and what the
// agents after it are told.
func TestSignals(t *testing.T) {
	for _, c := range slices.Concat(workflow(), environment(), givenBack(), specification(), sideways(), experts()) {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.settings)
			if c.tasks == nil {
				c.tasks = []string{"T-1"}
			}
			w.tasks(c.tasks...)
			for name, text := range c.scripts {
				w.script(name, text)
			}
			run := w.deliver()
			if c.asked != "" {
				w.answered(run, c.asked, c.answer)
				run = w.goOn()
			}
			w.completed(run)
			if diff := cmp.Diff(c.task, w.tale("T-1")); diff != "" {
				t.Errorf("on the task (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.run, w.tale("R1")); diff != "" {
				t.Errorf("on the run (-want +got):\n%s%s", diff, w.story())
			}
			for who, texts := range c.told {
				w.told(who, texts...)
			}
		})
	}
}

// Signals from one role to the next.
func workflow() []scene {
	return []scene{
		{
			name:    "ready for review",
			scripts: map[string]string{"developer": "echo x >x\n" + say("READY_FOR_REVIEW: T-1", "Files Modified: x", "Summary: there is an x")},
			task:    tell(added, develops, built, reviewed, audited),
			run:     tell(started, finished),
		},
		{
			name:    "review failed",
			scripts: map[string]string{"T-1.critic.1": say("REVIEW_FAILED: T-1", "Issues Found: x is no y", "Required Fixes: make it a y")},
			task:    tell(added, develops, built, "ReviewStarted critic REVIEW", "AgentSessionCompleted review_failed IMPLEMENTATION", develops, built, reviewed, audited),
			run:     tell(started, finished),
			told:    map[string][]string{"T-1.developer.2": {"### review", "Required Fixes: make it a y"}},
		},
		{
			name:    "audit failed",
			scripts: map[string]string{"T-1.auditor.1": say("AUDIT_FAILED: T-1", "Failed Criteria: it is fast", "Required Fixes: make it fast")},
			task:    tell(added, develops, built, reviewed, audits, "AgentSessionCompleted audit_failed IMPLEMENTATION", develops, built, reviewed, audited),
			run:     tell(started, finished),
			told:    map[string][]string{"T-1.developer.2": {"### audit", "Required Fixes: make it fast"}},
		},
	}
}

// Signals of a broken environment, and of its repair.
func environment() []scene {
	return []scene{
		{
			name:    "infrastructure blocks a developer",
			scripts: map[string]string{"T-1.developer.1": say("INFRA_BLOCKED: T-1", "Issue: the database is down", "Command: make test")},
			task:    tell(added, develops, "AgentSessionCompleted infra_blocked BLOCKED", "WorkUnblocked IMPLEMENTATION", develops, built, reviewed, audited),
			run:     tell(started, "RemediationStarted 1", repaired, finished),
			told: map[string][]string{
				"remediation.remediation.1":    {"the environment blocks T-1", "the database is down"},
				"remediation.health_auditor.1": {"the database is down"},
				"T-1.developer.2":              {"has been repaired", "the database is down"},
			},
		},
		{
			name:    "infrastructure blocks an auditor",
			scripts: map[string]string{"T-1.auditor.1": say("AUDIT_BLOCKED: T-1", "Pre-existing Failures: no network")},
			task:    tell(added, develops, built, reviewed, audits, "AgentSessionCompleted audit_blocked BLOCKED", "WorkUnblocked READY_FOR_MERGE", audited),
			run:     tell(started, "RemediationStarted 1", repaired, finished),
			told:    map[string][]string{"remediation.remediation.1": {"no network"}, "T-1.auditor.2": {"no network"}},
		},
		{
			name: "unhealthy",
			scripts: map[string]string{
				"T-1.developer.1":              say("INFRA_BLOCKED: T-1", "Issue: the disk is full"),
				"remediation.health_auditor.1": say("HEALTH_AUDIT: UNHEALTHY", "the disk is still full"),
			},
			task: tell(added, develops, "AgentSessionCompleted infra_blocked BLOCKED", "WorkUnblocked IMPLEMENTATION", develops, built, reviewed, audited),
			run: tell(started, "RemediationStarted 1", "SessionGranted remediation 1", "RemediationCompleted 1", "SessionGranted health_auditor 1",
				"HealthAudited 1", "SessionGranted remediation 2", "RemediationCompleted 2", "SessionGranted health_auditor 2", "HealthAudited 2 true",
				"BaselineChecked", "RemediationEnded 2 true", finished),
			told: map[string][]string{"remediation.remediation.2": {"round 2", "the disk is still full"}},
		},
	}
}

// A task that is given back, by what stands in its way.
func givenBack() []scene {
	return []scene{
		{
			name:    "given back for want of information",
			scripts: map[string]string{"T-1.developer.1": say("TASK_INCOMPLETE: T-1", "Blocker: missing information on the format", "Needed: an example")},
			asked:   "incomplete", answer: "it is CSV",
			task: tell(added, develops, "AgentSessionCompleted task_incomplete IMPLEMENTATION", "WorkBlocked incomplete BLOCKED", "WorkUnblocked IMPLEMENTATION",
				develops, built, reviewed, audited),
			run:  tell(started, "QuestionAsked incomplete", "QuestionAnswered", finished),
			told: map[string][]string{"T-1.developer.2": {"Answer: it is CSV", "Needed: an example"}},
		},
		{
			name:    "given back as out of scope",
			scripts: map[string]string{"T-1.developer.1": say("TASK_INCOMPLETE: T-1", "Blocker: out of scope")},
			asked:   "incomplete", answer: "retry",
			task: tell(added, develops, "AgentSessionCompleted task_incomplete IMPLEMENTATION", "WorkBlocked incomplete BLOCKED", "WorkUnblocked IMPLEMENTATION",
				develops, built, reviewed, audited),
			run: tell(started, "QuestionAsked incomplete", "QuestionAnswered retry", finished),
		},
		{
			name:    "given back for a dependency",
			tasks:   []string{"T-1", "T-2"},
			scripts: map[string]string{"T-1.developer.1": say("TASK_INCOMPLETE: T-1", "Blocker: depends on T-2", "Attempted: without it")},
			task:    tell(added, develops, "AgentSessionCompleted task_incomplete IMPLEMENTATION", develops, built, reviewed, audited),
			run:     tell(started, finished),
			told:    map[string][]string{"T-1.developer.2": {"gave the task back", "Attempted: without it"}},
		},
		{
			name:    "given back for infrastructure",
			scripts: map[string]string{"T-1.developer.1": say("TASK_INCOMPLETE: T-1", "Blocker: the environment has no compiler")},
			task: tell(added, develops, "AgentSessionCompleted task_incomplete IMPLEMENTATION", "WorkBlocked trouble BLOCKED", "WorkUnblocked IMPLEMENTATION",
				develops, built, reviewed, audited),
			run:  tell(started, "RemediationStarted 1", repaired, finished),
			told: map[string][]string{"remediation.remediation.1": {"no compiler"}},
		},
	}
}

// An analyst's signals.
func specification() []scene {
	return []scene{
		{
			name:     "specified",
			settings: "analyst: true\n",
			scripts:  map[string]string{"analyst": say("EXPANDED_TASK_SPECIFICATION: T-1", "Confidence: MEDIUM", "Build it of wood.")},
			task:     tell("WorkAdded DRAFT", "LeaseGranted analyst DRAFT", "AgentSessionCompleted expanded_spec IMPLEMENTATION", develops, built, reviewed, audited),
			run:      tell(started, finished),
			told:     map[string][]string{"T-1.developer.1": {"### analyst", "Build it of wood."}},
		},
		{
			name:     "specified with low confidence",
			settings: "analyst: true\n",
			scripts:  map[string]string{"T-1.analyst.1": say("EXPANDED_TASK_SPECIFICATION: T-1", "Of wood or of stone?", "Confidence: LOW")},
			asked:    "low_confidence", answer: "of stone",
			task: tell("WorkAdded DRAFT", "LeaseGranted analyst DRAFT", "AgentSessionCompleted expanded_spec BLOCKED", "WorkUnblocked DRAFT",
				"LeaseGranted analyst DRAFT", "AgentSessionCompleted expanded_spec IMPLEMENTATION", develops, built, reviewed, audited),
			run:  tell(started, "QuestionAsked low_confidence", "QuestionAnswered", finished),
			told: map[string][]string{"T-1.analyst.2": {"Answer: of stone"}},
		},
	}
}

// Questions, conflicts and reports of progress.
func sideways() []scene {
	const waits = "limits: {conflict_wait: 300ms}\n"
	return []scene{
		{
			name:    "a question of a developer",
			scripts: map[string]string{"T-1.developer.1": say("SEEKING_DIVINE_CLARIFICATION", "Question: which port?", "Attempts Made: 3")},
			asked:   "clarification", answer: "8080",
			task: tell(added, develops, "AgentSessionCompleted divine_clarification BLOCKED", "WorkUnblocked IMPLEMENTATION", develops, built, reviewed, audited),
			run:  tell(started, "QuestionAsked clarification", "QuestionAnswered", finished),
			told: map[string][]string{"T-1.developer.2": {"Question: which port?", "Answer: 8080"}},
		},
		{
			name: "a question of remediation",
			scripts: map[string]string{
				"T-1.developer.1":           say("INFRA_BLOCKED: T-1", "Issue: no licence"),
				"remediation.remediation.1": say("SEEKING_DIVINE_CLARIFICATION", "Question: where is the licence?"),
			},
			asked: "clarification", answer: "in the drawer",
			task: tell(added, develops, "AgentSessionCompleted infra_blocked BLOCKED", "WorkUnblocked IMPLEMENTATION", develops, built, reviewed, audited),
			run: tell(started, "RemediationStarted 1", "SessionGranted remediation 1", "QuestionAsked clarification", "QuestionAnswered",
				repaired, finished),
			told: map[string][]string{"remediation.remediation.2": {"in the drawer"}},
		},
		{
			name:     "a file conflict that can wait",
			settings: waits,
			scripts:  map[string]string{"T-1.developer.1": say("FILE CONFLICT: src/my file.go", "Assigned To: T-9", "Reason: both change it", "Can Wait: YES")},
			task:     tell(added, develops, "SignalRecorded file_conflict", "LeaseReleased IMPLEMENTATION", develops, built, reviewed, audited),
			run:      tell(started, "ConflictReported 1", finished),
			told:     map[string][]string{"T-1.developer.2": {"src/my file.go", "Look whether it is free now."}},
		},
		{
			name:     "a file conflict that can't wait",
			settings: waits,
			scripts:  map[string]string{"T-1.developer.1": say("FILE CONFLICT: go.mod", "Assigned To: T-9", "Can Wait: NO", "It is the only file.")},
			asked:    "file_conflict", answer: "take it",
			task: tell(added, develops, "SignalRecorded file_conflict", "LeaseReleased IMPLEMENTATION", "WorkBlocked file_conflict BLOCKED",
				"WorkUnblocked IMPLEMENTATION", develops, built, reviewed, audited),
			run:  tell(started, "ConflictReported 1", "QuestionAsked file_conflict", "QuestionAnswered", finished),
			told: map[string][]string{"T-1.developer.2": {"Answer: take it"}},
		},
		{
			name:    "a report of progress",
			scripts: map[string]string{"developer": say("CHECKPOINT: T-1", "Status: half", "Progress: the first half", "Remaining: the other") + honest["developer"]},
			task:    tell(added, develops, "SignalRecorded checkpoint", built, reviewed, audited),
			run:     tell(started, finished),
		},
	}
}

// Signals to and from experts.
func experts() []scene {
	return []scene{
		{
			name:     "an expert's advice",
			settings: "experts: [security]\n",
			scripts: map[string]string{
				"T-1.developer.1": say("EXPERT_REQUEST", "Target Agent: security", "Request Type: review", "DELEGATION PROMPT START", "Is it safe?", "DELEGATION PROMPT END"),
				"R1-E1.expert":    say("EXPERT_ADVICE: R1-E1", "Use the other door."),
			},
			task: tell(added, develops, built, reviewed, audited),
			run:  tell(started, "ExpertRequested security", "SessionGranted expert", "ExpertAdvised", "RequesterResumed", finished),
			told: map[string][]string{
				"R1-E1.expert.1":  {`the expert "security"`, "(review)", "Is it safe?", "EXPERT_ADVICE: R1-E1"},
				"T-1.developer.2": {"the answer to your request", "Use the other door."},
			},
		},
		{
			name:     "an expert that nobody knows",
			settings: "experts: [security]\n",
			scripts:  map[string]string{"T-1.developer.1": say("EXPERT_REQUEST", "Target Agent: oracle", "Request Type: help")},
			task:     tell(added, develops, built, reviewed, audited),
			run:      tell(started, "ExpertRefused oracle", finished),
			told:     map[string][]string{"T-1.developer.2": {"refused", `no expert called "oracle"`, "Known experts: security."}},
		},
		{
			name: "an expert that was made",
			scripts: map[string]string{
				"T-1.developer.1": say("EXPERT_CREATED: glass blower", "EXPERT_REQUEST", "Target Agent: glass blower", "Request Type: help"),
			},
			task: tell(added, develops, "SignalRecorded expert_created", built, reviewed, audited),
			run:  tell(started, "ExpertRequested glass blower", "SessionGranted expert", "ExpertAdvised", "RequesterResumed", finished),
			told: map[string][]string{"R1-E1.expert.1": {`the expert "glass blower"`}},
		},
		{
			name:     "an expert that can't help",
			settings: "experts: [security]\n",
			scripts: map[string]string{
				"T-1.developer.1": say("EXPERT_REQUEST", "Target Agent: security", "Request Type: help"),
				"expert":          say("EXPERT_UNSUCCESSFUL: R1-E1", "I do not know."),
			},
			asked: "expert", answer: "ask Bob",
			task: tell(added, develops, "LeaseReleased IMPLEMENTATION", develops, built, reviewed, audited),
			run: tell(started, "ExpertRequested security", "SessionGranted expert", "ExpertFailed", "QuestionAsked expert",
				"SessionEnded developer stopped", "QuestionAnswered", finished),
			told: map[string][]string{"T-1.developer.2": {"Answer: ask Bob"}},
		},
	}
}

// answered answers the one question that a run stops with, while no box runs.
func (w *world) answered(run api.Run, cause, answer string) {
	w.t.Helper()
	if run.State != api.RunWaiting || len(run.Questions) != 1 || string(run.Questions[0].Cause) != cause {
		w.t.Fatalf("the run is %s with %v\n%s", run.State, run.Questions, w.story())
	}
	q := run.Questions[0]
	if inbox := w.must("inbox"); !strings.Contains(inbox, q.ID) || !strings.Contains(inbox, strings.SplitN(q.Text, "\n", 2)[0]) {
		w.t.Errorf("the inbox:\n%s", inbox)
	}
	w.must("answer", q.ID, answer)
	if inbox := w.must("inbox"); !strings.Contains(inbox, "nothing waits for you") {
		w.t.Errorf("the inbox after the answer:\n%s", inbox)
	}
}

// told fails the test unless an agent, by TASK.ROLE.N, was told these texts.
func (w *world) told(who string, texts ...string) {
	w.t.Helper()
	parts := strings.Split(who, ".")
	n := 0
	if _, err := fmt.Sscan(parts[2], &n); err != nil {
		w.t.Fatal(err)
	}
	prompt := w.prompt(parts[0], parts[1], n)
	for _, text := range texts {
		if !strings.Contains(prompt, text) {
			w.t.Errorf("%s was not told %q, but:\n%s", who, text, prompt)
		}
	}
}

// What an agent says beside its signal is recorded with it.
func TestSignalPayload(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.tasks("T-1")
	w.script("developer", "echo x >x\n"+say("I am at it.", "READY_FOR_REVIEW: T-1", "Files Modified: x", "Tests Written:", "- one", "- two", "Summary: there is an x"))
	w.completed(w.deliver())
	got := payload[work.Result](w, work.AgentSessionCompleted)
	fields := map[string]string{}
	for _, f := range got.Fields {
		fields[f.Name] = got.Field(f.Name)
	}
	want := map[string]string{"Files Modified": "x", "Tests Written": "one\ntwo", "Summary": "there is an x"}
	if diff := cmp.Diff(want, fields); diff != "" {
		t.Error(diff)
	}
	if got.Signal != agentsig.KindReadyForReview || got.Subject != "T-1" || got.Offset != int64(len("I am at it.\n")) {
		t.Errorf("recorded: %+v", got)
	}
}

// exit is a script of an agent that prints an exit record.
func exit(phase agentsig.Phase, reason agentsig.ExitReason) string {
	data, err := agentsig.NewExitSignal(phase, reason).WithNotes("as it is").JSON()
	if err != nil {
		panic(err)
	}
	return say("EXIT: @run", string(data))
}

// Exit records mean the same transitions as lines, if they are acted upon.
func TestExitRecords(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "exit_protocol: true\n")
	w.tasks("T-1")
	w.script("T-1.developer.1", exit(agentsig.PhaseImplementation, agentsig.ExitBlocked))
	w.script("developer", "echo x >x\n"+exit(agentsig.PhaseImplementation, agentsig.ExitCompleted))
	w.script("critic", exit(agentsig.PhaseReview, agentsig.ExitCompleted))
	w.script("auditor", exit(agentsig.PhaseReadyForMerge, agentsig.ExitCompleted))
	w.answered(w.deliver(), "exit", "go on")
	w.completed(w.goOn())
	want := []string{
		added, develops, "AgentSessionCompleted exit blocked BLOCKED", "WorkUnblocked IMPLEMENTATION",
		develops, "AgentSessionCompleted exit completed CI_PENDING", "GatePassed READY_FOR_REVIEW",
		"ReviewStarted critic REVIEW", "AgentSessionCompleted exit completed READY_FOR_MERGE",
		audits, "AgentSessionCompleted exit completed READY_FOR_MERGE", "MergeAllowed", "WorkMerged COMPLETED",
	}
	if diff := cmp.Diff(want, w.tale("T-1")); diff != "" {
		t.Errorf("on the task (-want +got):\n%s", diff)
	}
	w.told("T-1.developer.1", `"protocol"`)
	w.told("T-1.developer.2", "Answer: go on")
}

// An exit record that the change's own test prints while its reviewer runs it is not the
// reviewer's: it has no line with the session's nonce before it, or a guessed one.
func TestExitRecordOfTheChange(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before string
		events []any
	}{
		"without a nonce": {"", []any{started, "unknown_signal_recovery 1", finished}},
		"with a guess":    {"EXIT: run=guessed\n", []any{started, "SignalRefused", "unknown_signal_recovery 1", finished}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			record, err := agentsig.NewExitSignal(agentsig.PhaseReview, agentsig.ExitCompleted).JSON()
			if err != nil {
				t.Fatal(err)
			}
			w := newWorld(t, "exit_protocol: true\n")
			w.tasks("T-1")
			w.script("developer", "cat >test.sh <<'TEST'\ncat <<'END'\n"+c.before+string(record)+"\nEND\nTEST\n"+say("READY_FOR_REVIEW: T-1"))
			w.script("T-1.critic.1", "sh ./test.sh\n")
			w.completed(w.deliver())
			if diff := cmp.Diff(tell(added, develops, built, reviewed, audited), w.tale("T-1")); diff != "" {
				t.Errorf("on the task (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tell(c.events...), w.tale("R1")); diff != "" {
				t.Errorf("on the run (-want +got):\n%s", diff)
			}
		})
	}
}

// An exit record that is not acted upon has no effect: its agent has said nothing.
func TestExitRecordsDisabled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.tasks("T-1")
	w.script("T-1.developer.1", exit(agentsig.PhaseImplementation, agentsig.ExitCompleted))
	w.completed(w.deliver())
	if diff := cmp.Diff(tell(added, develops, built, reviewed, audited), w.tale("T-1")); diff != "" {
		t.Errorf("on the task (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(tell(started, "unknown_signal_recovery 1", finished), w.tale("R1")); diff != "" {
		t.Errorf("on the run (-want +got):\n%s", diff)
	}
	if strings.Contains(w.prompt("T-1", "developer", 1), `"protocol"`) {
		t.Error("the agent was told of exit records")
	}
}

// A question is shown whole where a person answers it, also if it is long; if it is too long for the ledger, they are told where all
// of it is. What else was said beside it is not lost.
func TestLongQuestion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		words int
		more  bool
	}{{"long", 900, false}, {"too long", 2500, true}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "")
			w.tasks("T-1")
			question := strings.Repeat("why ", c.words) + "is THE-END?"
			w.script("T-1.developer", say("SEEKING_DIVINE_CLARIFICATION", "Question: "+question, "Options: THIS or THAT"))
			if r := w.deliver(); len(r.Questions) != 1 {
				t.Fatalf("%+v", r.Questions)
			}
			for _, command := range [][]string{{"inbox"}, {"inbox", "--json"}, {"show", "T-1", "--all"}} {
				text := w.must(command...)
				if n := strings.Count(text, "why "); !c.more && (n < c.words || !strings.Contains(text, "THE-END")) || n < 900 {
					t.Errorf("%s has %d words of %d", command, n, c.words)
				}
				if command[0] == "inbox" && !strings.Contains(text, "THIS or THAT") {
					t.Errorf("%s does not have what was said beside it", command)
				}
			}
			if text := w.must("inbox"); strings.Contains(text, "all of it: signalbox logs R1.T-1\n") != c.more {
				t.Errorf("where all of it is:\n%s", text[max(0, len(text)-300):])
			}
			if text := w.must("logs", "T-1"); !strings.Contains(text, "THE-END") {
				t.Error("logs does not have all of it")
			}
			if text := w.must("status"); !strings.Contains(text, "signalbox inbox") {
				t.Errorf("what cuts the question does not say how to see it:\n%s", text)
			}
		})
	}
}
