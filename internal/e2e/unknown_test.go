//go:build unix

package e2e_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// payloads returns the payloads of all events of a type, as they are on the wire.
func (w *world) payloads(what string) []map[string]any {
	w.t.Helper()
	var all []map[string]any
	for _, e := range w.events() {
		if e.Type == what {
			var p map[string]any
			if err := json.Unmarshal(e.Payload, &p); err != nil {
				w.t.Fatal(err)
			}
			all = append(all, p)
		}
	}
	return all
}

// pick keeps these members of payloads.
func pick(payloads []map[string]any, names ...string) []map[string]any {
	var all []map[string]any
	for _, p := range payloads {
		few := map[string]any{}
		for _, name := range names {
			few[name] = p[name]
		}
		all = append(all, few)
	}
	return all
}

// session returns the session of the first event of a type on a task.
func (w *world) session(task, what string) string {
	w.t.Helper()
	for _, e := range w.events() {
		if e.Work == task && e.Type == what {
			return e.Session
		}
	}
	w.t.Fatalf("no %s of %s was recorded:\n%s", what, task, w.story())
	return ""
}

// An agent whose output has no signal is asked how far it is, and then for its
// signal, in the same conversation and with what it got wrong named.
func TestUnknownAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.tasks("T-1")
	w.script("T-1.developer.1", "echo x >x\n"+say("I am done.", "**READY_FOR_REVIEW: T-1**", "ready_for_review: T-1"))
	w.script("T-1.developer.2", "echo turn $turn >turns\n"+say("CHECKPOINT: T-1", "Status: done"))
	w.script("T-1.developer.3", "echo turn $turn >>turns\n"+say("READY_FOR_REVIEW: T-1"))
	w.completed(w.deliver())
	if diff := cmp.Diff(tell(started, "unknown_signal_recovery 1", "SignalRequested", finished), w.tale("R1")); diff != "" {
		t.Errorf("on the run (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(tell(added, develops, "SignalRecorded checkpoint", built, reviewed, audited), w.tale("T-1")); diff != "" {
		t.Errorf("on the task (-want +got):\n%s", diff)
	}
	if got := w.git("show", "signalbox/R1:turns"); got != "turn 2\nturn 3" {
		t.Errorf("it was asked in other sessions: %q", got)
	}
	w.told("T-1.developer.2", "no signal that could be read", "line 2, ready_for_review", "line 3, ready_for_review", "CHECKPOINT: T-1")
	w.told("T-1.developer.3", "exactly one signal", "line 2, ready_for_review", "READY_FOR_REVIEW: T-1", "TASK_INCOMPLETE: T-1")
	p := w.payloads(delivery.UnknownRecovery)
	want := []map[string]any{{
		"task_id": "T-1", "attempt": 1.0, "level": "warning",
		"output_preview": "I am done.\n**READY_FOR_REVIEW: T-1**\nready_for_review: T-1",
	}}
	if diff := cmp.Diff(want, pick(p, "task_id", "attempt", "level", "output_preview")); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
}

// The third time in a row the agent is given up, and the next one is told what was
// wrong with it.
func TestUnknownThreeTimes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.tasks("T-1")
	w.script("T-1.developer.1", "true\n")
	w.script("T-1.developer.2", say("Hm, hm."))
	w.script("T-1.developer.3", say("REVIEW_PASSED: T-1", "READY_FOR_REVIEW: T-2"))
	w.completed(w.deliver())
	run := tell(started, "unknown_signal_recovery 1", "unknown_signal_recovery 2", "SignalRefused", "SignalRefused", "agent_signal_failure", finished)
	if diff := cmp.Diff(run, w.tale("R1")); diff != "" {
		t.Errorf("on the run (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(tell(added, develops, "LeaseReleased IMPLEMENTATION", develops, built, reviewed, audited), w.tale("T-1")); diff != "" {
		t.Errorf("on the task (-want +got):\n%s", diff)
	}
	levels := []map[string]any{
		{"task_id": "T-1", "attempt": 1.0, "level": "warning", "output_preview": ""},
		{"task_id": "T-1", "attempt": 2.0, "level": "error", "output_preview": "Hm, hm."},
	}
	if diff := cmp.Diff(levels, pick(w.payloads(delivery.UnknownRecovery), "task_id", "attempt", "level", "output_preview")); diff != "" {
		t.Errorf("recovery (-want +got):\n%s", diff)
	}
	failure := []map[string]any{{"task_id": "T-1", "agent_id": w.session("T-1", "LeaseGranted"), "reason": "3_consecutive_unknown_signals"}}
	if diff := cmp.Diff(failure, pick(w.payloads(delivery.SignalFailure), "task_id", "agent_id", "reason")); diff != "" {
		t.Errorf("failure (-want +got):\n%s", diff)
	}
	w.told("T-1.developer.4", "Agent produced 3 unrecognized signals. Re-dispatching with explicit format requirements.", "READY_FOR_REVIEW: T-1")
}

// A person who is asked after output without a signal reads what the agent said last, and why it did not count.
func TestUnknownQuestion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "limits: {timeouts: 1}\n")
	w.tasks("T-1")
	w.script("T-1.developer.1", say("Hm."))
	w.script("T-1.developer.2", say("Hm, hm."))
	w.script("T-1.developer.3", say("All is mended.", "**READY_FOR_REVIEW: T-1**"))
	w.deliver()
	inbox := w.signalbox("inbox")
	for _, want := range []string{
		"agents on this task ended without a signal that counts (once): what now?",
		"Its last words:", "> All is mended.", "> **READY_FOR_REVIEW: T-1**", "READY_FOR_REVIEW on line 4 did not count: it is set in bold or italics; write it without * and _.",
	} {
		if !strings.Contains(inbox.out, want) {
			t.Errorf("the inbox does not say %q:\n%s", want, inbox.out)
		}
	}
}

// Whoever does not answer in time is given up at once.
func TestUnknownUnanswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "limits: {answer: 6s}\n") // in which the second is started, and has noted that
	w.tasks("T-1")
	w.script("T-1.developer.1", say("Hm."))
	w.script("T-1.developer.2", "sleep 60\n"+say("READY_FOR_REVIEW: T-1"))
	w.completed(w.deliver())
	if diff := cmp.Diff(tell(started, "unknown_signal_recovery 1", "AnswerMissed", finished), w.tale("R1")); diff != "" {
		t.Errorf("on the run (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(tell(added, develops, "LeaseReleased IMPLEMENTATION", develops, built, reviewed, audited), w.tale("T-1")); diff != "" {
		t.Errorf("on the task (-want +got):\n%s", diff)
	}
	w.told("T-1.developer.3", "did not answer when it was asked for its progress")
}

// Two different last words cancel each other: neither counts, least of all the one
// that passes.
func TestAmbiguous(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.tasks("T-1")
	w.script("T-1.critic.1", say("REVIEW_FAILED: T-1", "REVIEW_PASSED: T-1"))
	w.script("T-1.critic.2", say("REVIEW_FAILED: T-1", "Required Fixes: more of it"))
	w.completed(w.deliver())
	want := tell(added, develops, built, "ReviewStarted critic REVIEW", "AgentSessionCompleted review_failed IMPLEMENTATION", develops, built, reviewed, audited)
	if diff := cmp.Diff(want, w.tale("T-1")); diff != "" {
		t.Errorf("on the task (-want +got):\n%s", diff)
	}
	if p := w.payloads(delivery.UnknownRecovery); len(p) != 1 || p[0]["ambiguous"] != true {
		t.Errorf("recorded: %v", p)
	}
}

// The count of unknown output is in the ledger: a box that is killed in between does
// not begin anew, and the conversation goes on.
func TestUnknownAcrossRestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.tasks("T-1")
	w.script("T-1.developer.1", say("Hm."))
	w.script("T-1.developer.2", waitFor("go")+say("Hm, hm."))
	w.script("T-1.developer.3", say("Hm, hm, hm."))
	first := w.start("run", "plan.md")
	w.until("it is asked again", func() bool { return w.has("T-1.developer.2") })
	first.kill()
	w.script("go", "")
	w.completed(w.goOn())
	run := tell(started, "unknown_signal_recovery 1", "unknown_signal_recovery 2", "agent_signal_failure", finished)
	if diff := cmp.Diff(run, w.tale("R1")); diff != "" {
		t.Errorf("on the run (-want +got):\n%s", diff)
	}
	if agents := pick(w.payloads(delivery.UnknownRecovery), "agent_id"); cmp.Diff(agents[0], agents[1]) != "" {
		t.Errorf("it was not the same agent: %v", agents)
	}
	if strings.Contains(strings.Join(w.tale("T-1"), " "), "LeaseExpired") {
		t.Errorf("the lease was lost:\n%s", w.story())
	}
}
