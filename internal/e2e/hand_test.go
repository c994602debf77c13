//go:build unix

package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/api"
)

// hand is a person with agents of their own: `up`, and then commands.
type hand struct {
	*world
}

// claim claims as a role, and returns the grant.
func (h hand) claim(role string) api.Grant {
	h.t.Helper()
	r := h.signalbox("claim", "--json", "--role", role, "--actor", role)
	var g api.Grant
	if err := json.Unmarshal([]byte(r.out), &g); err != nil || g.Session == "" {
		h.t.Fatalf("claim --role %s: %s%s", role, r.out, r.err)
	}
	return g
}

// emit hands in what an agent said.
func (h hand) emit(g api.Grant, text string) api.Emitted {
	h.t.Helper()
	file := filepath.Join(h.t.TempDir(), "output.txt")
	if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
		h.t.Fatal(err)
	}
	r := h.signalbox("emit", "--json", "--session", g.Session, file)
	var e api.Emitted
	if err := json.Unmarshal([]byte(r.out), &e); err != nil {
		h.t.Fatalf("emit %q: %s%s", text, r.out, r.err)
	}
	return e
}

func byHand(t *testing.T) hand {
	h := hand{newWorld(t, "")}
	h.up()
	h.signalbox("work", "add", "--id", "T-1", "--title", "fix the parser", "--phase", "IMPLEMENTATION")
	return h
}

// By hand, output without a signal goes through the reference's three steps, and the next agent is told the format.
func TestHandUnknown(t *testing.T) {
	t.Parallel()
	h := byHand(t)
	g := h.claim("developer")
	for n, want := range []string{"unknown_signal_recovery", "unknown_signal_recovery", "agent_signal_failure"} {
		e := h.emit(g, "I am done, I think.") // the same words each time
		if e.Accepted || e.Event != want || n < 2 && (e.Attempt != n+1 || !strings.Contains(e.Ask, "CHECKPOINT: T-1")) {
			t.Fatalf("output %d: %+v", n+1, e)
		}
		if n == 0 {
			if e := h.emit(g, "CHECKPOINT: T-1\nStatus: half"); !e.Accepted || !strings.Contains(e.Ask, "READY_FOR_REVIEW: T-1") {
				t.Errorf("a report of progress: %+v", e)
			}
		}
	}
	again := h.claim("developer")
	if !strings.HasPrefix(again.Format, "Agent produced 3 unrecognized signals.") || !strings.Contains(again.Format, "READY_FOR_REVIEW: T-1") {
		t.Errorf("the next agent is told %q", again.Format)
	}
	if e := h.emit(again, "READY_FOR_REVIEW: T-1"); e.NextPhase != "CI_PENDING" {
		t.Errorf("%+v", e)
	}
	want := []string{
		"WorkAdded", "LeaseGranted", "unknown_signal_recovery", "SignalRecorded", "unknown_signal_recovery", "agent_signal_failure",
		"LeaseGranted", "AgentSessionCompleted",
	}
	if got := h.types("T-1"); !slices.Equal(got, want) {
		t.Errorf("recorded %v", got)
	}
}

// By hand, what an agent needs of others finds somebody, and the next claim has what they said.
func TestHandWaits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		says, inbox, role, from, text string
		then                          []string // role and words, of who helps; none if a person answers
	}{
		"a question":    {says: "SEEKING_DIVINE_CLARIFICATION\nQuestion: which API?", inbox: "which API?", from: "operator", text: "use v2"},
		"trouble":       {says: "INFRA_BLOCKED: T-1\nIssue: the disk is full", inbox: "the disk is full", from: "operator", text: "use v2"},
		"an expert":     {says: "EXPERT_REQUEST\nTarget Agent: db\nDELEGATION PROMPT START\nwhich index?\nDELEGATION PROMPT END", inbox: "which index?", from: "expert", text: "none at all", then: []string{"expert", "EXPERT_ADVICE: T-1-Q1\nnone at all"}},
		"a remediation": {says: "INFRA_BLOCKED: T-1\nIssue: the disk is full", inbox: "the disk is full", from: "health_auditor", text: "all pass", then: []string{"remediation", "REMEDIATION_COMPLETE", "health_auditor", "HEALTH_AUDIT: HEALTHY\nall pass"}},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			h := byHand(t)
			if e := h.emit(h.claim("developer"), c.says); e.NextPhase != "BLOCKED" {
				t.Fatalf("%+v", e)
			}
			if inbox := h.signalbox("inbox").out; !strings.Contains(inbox, c.inbox) || !strings.Contains(inbox, "T-1-Q1") {
				t.Errorf("the inbox:\n%s", inbox)
			}
			if c.then == nil {
				h.signalbox("answer", "T-1-Q1", c.text)
			}
			for n := 0; n < len(c.then); n += 2 {
				g := h.claim(c.then[n])
				if g.Waits == nil || g.Waits.ID != "T-1-Q1" || !strings.Contains(g.Waits.Text, c.inbox) {
					t.Errorf("%s is asked %+v", c.then[n], g.Waits)
				}
				if e := h.emit(g, c.then[n+1]); !e.Accepted {
					t.Fatalf("%s: %+v", c.then[n], e)
				}
			}
			g := h.claim("developer")
			if len(g.Answers) != 1 || g.Answers[0].From != c.from || g.Answers[0].Text != c.text {
				t.Errorf("the next developer has %+v", g.Answers)
			}
			if inbox := h.signalbox("inbox").out; !strings.Contains(inbox, "nothing waits for you") {
				t.Errorf("afterwards, the inbox:\n%s", inbox)
			}
		})
	}
}

// By hand, an auditor who can't audit is helped as a developer is, and audits then.
func TestHandAuditBlocked(t *testing.T) {
	t.Parallel()
	h := byHand(t)
	h.signalbox("work", "add", "--id", "T-2", "--title", "x", "--phase", "READY_FOR_MERGE")
	if e := h.emit(h.claim("auditor"), "AUDIT_BLOCKED: T-2\nFailed Criteria: no compiler"); e.NextPhase != "BLOCKED" {
		t.Fatalf("%+v", e)
	}
	if inbox := h.signalbox("inbox").out; !strings.Contains(inbox, "no compiler") || !strings.Contains(inbox, "T-2-Q1") {
		t.Errorf("the inbox:\n%s", inbox)
	}
	for _, turn := range [][2]string{{"remediation", "REMEDIATION_COMPLETE\nit is installed"}, {"health_auditor", "HEALTH_AUDIT: HEALTHY\nit compiles"}} {
		if e := h.emit(h.claim(turn[0]), turn[1]); !e.Accepted {
			t.Fatalf("%s: %+v", turn[0], e)
		}
	}
	g := h.claim("auditor")
	if g.Phase != "READY_FOR_MERGE" || len(g.Answers) != 1 || g.Answers[0].Text != "it compiles" {
		t.Errorf("the next auditor has %+v", g)
	}
	if e := h.emit(g, "AUDIT_PASSED: T-2"); e.NextPhase != "COMPLETED" {
		t.Errorf("%+v", e)
	}
}

// By hand, the claim that nothing has to be changed comes to the critic, whose word ends the work; or sends it back.
func TestHandNoChange(t *testing.T) {
	t.Parallel()
	h := byHand(t)
	token, err := os.ReadFile(filepath.Join(h.dir, ".signalbox", "gate.token"))
	if err != nil {
		t.Fatal(err)
	}
	h.env = []string{"SIGNALBOX_GATE_TOKEN=" + strings.TrimSpace(string(token))}
	for _, turn := range []struct{ says, phase string }{{"REVIEW_FAILED: T-1\nRequired Fixes: look again", "IMPLEMENTATION"}, {"REVIEW_PASSED: T-1", "COMPLETED"}} {
		if e := h.emit(h.claim("developer"), "READY_FOR_REVIEW: T-1\nNo Change Needed: it is there since May"); e.NextPhase != "CI_PENDING" {
			t.Fatalf("%+v", e)
		}
		if r := h.signalbox("gate", "report", "T-1", "--commit", "0a1b2c3", "--result", "pass"); r.code != 0 {
			t.Fatalf("%s%s", r.out, r.err)
		}
		g := h.claim("critic")
		if g.NoChange != "it is there since May" {
			t.Errorf("the critic is told %q", g.NoChange)
		}
		if e := h.emit(g, turn.says); string(e.NextPhase) != turn.phase {
			t.Errorf("after %s: %+v", turn.says, e)
		}
	}
	if text := h.must("work", "show", "T-1"); !strings.Contains(text, "no change  it is there since May") {
		t.Errorf("work show:\n%s", text)
	}
}

// By hand, somebody is told of a question, as in a run; also where no agents are set.
func TestHandNotify(t *testing.T) {
	t.Parallel()
	for name, agents := range map[string]bool{"with agents": true, "without": false} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			const notify = "notify: {command: 'printf \"%s %s\" \"$QUESTION_ID\" \"$QUESTION_TEXT\" >told.tmp; mv told.tmp told'}\n"
			h := hand{newWorld(t, notify)}
			if !agents {
				h.write("signalbox.yaml", notify)
			}
			h.up()
			h.signalbox("work", "add", "--id", "T-1", "--title", "x", "--phase", "IMPLEMENTATION")
			h.emit(h.claim("developer"), "SEEKING_DIVINE_CLARIFICATION\nQuestion: which API?")
			h.until("somebody is told", func() bool {
				told, err := os.ReadFile(filepath.Join(h.dir, "told"))
				return err == nil && string(told) == "T-1-Q1 which API?"
			})
		})
	}
}

// Ids may be those of issues, by hand: in signals, commands and requests. What is no id is refused.
func TestHandIssueIDs(t *testing.T) {
	t.Parallel()
	h := byHand(t)
	for _, id := range []string{"#12", "org/repo#12"} {
		h.must("work", "add", "--id", id, "--title", "fix it", "--phase", "IMPLEMENTATION")
		ask := func(role string) (g api.Grant) {
			h.decode(h.must("claim", "--json", "--work", id, "--role", role, "--actor", role), &g)
			return g
		}
		if e := h.emit(ask("developer"), "EXPERT_REQUEST\nTarget Agent: db"); e.NextPhase != "BLOCKED" {
			t.Fatalf("%+v", e)
		}
		if inbox := h.must("inbox"); !strings.Contains(inbox, "signalbox answer '"+id+"-Q1'") {
			t.Errorf("the inbox:\n%s", inbox)
		}
		if e := h.emit(ask("expert"), "EXPERT_ADVICE: "+id+"-Q1\nnone"); !e.Accepted {
			t.Fatalf("%+v", e)
		}
		h.emit(ask("developer"), "SEEKING_DIVINE_CLARIFICATION\nQuestion: which?")
		h.must("answer", id+"-Q2", "v2")
		if e := h.emit(ask("developer"), "READY_FOR_REVIEW: "+id); e.NextPhase != "CI_PENDING" {
			t.Fatalf("%+v", e)
		}
		h.must("work", "override", id, "--phase", "DRAFT", "--reason", "again")
		if text := h.must("work", "show", id); !strings.Contains(text, "work    "+id+"\n") {
			t.Errorf("work show:\n%s", text)
		}
		if got := h.types(id); len(got) != 11 || got[10] != "WorkOverridden" {
			t.Errorf("recorded %v", got)
		}
	}
	for _, id := range []string{"#", "../x", "../x#1", "a/b/c#1", "a/b", "#1/2", "a\x01#1", strings.Repeat("a", 127) + "#1", "org/..#1"} {
		if r := h.signalbox("work", "add", "--id", id, "--title", "x"); r.code != 1 || !strings.Contains(r.err, "as #12 or org/repo#12") {
			t.Errorf("%q is taken: exit code %d %s%s", id, r.code, r.out, r.err)
		}
	}
	if r := h.signalbox("work", "show"); r.code != 2 || !strings.Contains(r.err, "quote one like '#12'") {
		t.Errorf("exit code %d %s", r.code, r.err)
	}
}

// Ids may be those of issues, in a run: in plans, signals, commands, names of branches and worktrees, and in merges.
func TestIssueIDs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "roles: {auditor: {agent: person}}\n")
	w.tasks("#12", "org/repo#13: #12")
	w.deliver()
	w.git("rev-parse", "--verify", "signalbox-tasks/R1/=12/work")
	trees := filepath.Join(w.dir, ".signalbox", "worktrees")
	if _, err := os.Stat(filepath.Join(trees, "R1", "=12", "#12.txt")); err != nil {
		t.Error(err)
	}
	if text := w.must("diff", "#12"); !strings.Contains(text, "+done") {
		t.Errorf("diff:\n%s", text)
	}
	w.must("review", "#12", "--accept")
	w.goOn()
	w.must("review", "R1.org/repo#13", "--accept")
	w.completed(w.goOn())
	for id, file := range map[string]string{"R1.#12": "#12.txt", "org/repo#13": "repo#13.txt"} {
		if text := w.must("show", id); !strings.Contains(text, "state     COMPLETED, merged as ") || !strings.Contains(text, "the merge proves itself") {
			t.Errorf("show %s:\n%s", id, text)
		}
		if w.git("show", "signalbox/R1:"+file) != "done" {
			t.Errorf("%s is not merged", file)
		}
		w.must("logs", id)
	}
	if left, err := os.ReadDir(trees); err != nil || len(left) > 0 {
		t.Errorf("worktrees are left: %v %v", left, err)
	}
}

// ownSignals are settings with a signal of the project's own.
const ownSignals = "signals:\n  DONE_FOR_TODAY: {kind: ready_for_review, roles: [developer], argument: none, fields: [Summary]}\n"

// said returns the name and the kind by which the sessions of an item ended.
func (w *world) said(item string) (all []string) {
	w.t.Helper()
	for _, e := range w.events() {
		if e.Work != item || e.Type != "AgentSessionCompleted" {
			continue
		}
		var p struct{ Signal, Name string }
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			w.t.Fatal(err)
		}
		all = append(all, strings.TrimSpace(p.Signal+" "+p.Name))
	}
	return all
}

// A developer says DONE_FOR_TODAY, as its project has it, and its work goes on as after READY_FOR_REVIEW: in a run.
func TestOwnSignal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ownSignals)
	w.script("developer", "echo done >x; git add -A; git commit -qm x\necho DONE_FOR_TODAY $run\necho Summary: all of it\n")
	w.tasks("T-1")
	w.completed(w.deliver())
	if got := w.said("T-1"); !slices.Equal(got, []string{"ready_for_review DONE_FOR_TODAY", "review_passed", "audit_passed"}) {
		t.Errorf("recorded: %v", got)
	}
	if prompt := w.prompt("T-1", "developer", 1); !strings.Contains(prompt, "\n    DONE_FOR_TODAY run=") || !strings.Contains(prompt, "It counts as READY_FOR_REVIEW.") {
		t.Errorf("the developer is told\n%s", prompt)
	}
	if prompt := w.prompt("T-1", "critic", 1); strings.Contains(prompt, "DONE_FOR_TODAY") || !strings.Contains(prompt, "> Summary: all of it") {
		t.Errorf("the critic is told\n%s", prompt)
	}
}

// The same by hand, and in the commands that know signals.
func TestHandOwnSignal(t *testing.T) {
	t.Parallel()
	h := hand{newWorld(t, ownSignals)}
	h.up()
	h.must("work", "add", "--id", "T-1", "--title", "x", "--phase", "IMPLEMENTATION")
	g := h.claim("developer")
	if e := h.emit(g, "done for today"); e.Accepted || len(e.NearMisses) != 1 || e.NearMisses[0].Reason != "case" {
		t.Errorf("%+v", e)
	}
	if e := h.emit(g, "DONE_FOR_TOMORROW"); e.Accepted {
		t.Errorf("%+v", e)
	}
	if e := h.emit(g, "DONE_FOR_TODAY\nSummary: half of it"); e.NextPhase != "CI_PENDING" {
		t.Errorf("%+v", e)
	}
	if got := h.said("T-1"); !slices.Equal(got, []string{"ready_for_review DONE_FOR_TODAY"}) {
		t.Errorf("recorded: %v", got)
	}
	for want, args := range map[string][]string{
		"\nDONE_FOR_TODAY ":       {"signals"},
		"\n    DONE_FOR_TODAY\n":  {"signals", "--instructions", "--role", "developer", "--task", "T-2"},
		`"wire":"DONE_FOR_TODAY"`: {"signals", "--json"},
		"DONE_FOR_TODAY, which is READY_FOR_REVIEW; next: DISPATCH_CRITIC": {"scan", "--signals", "signalbox.yaml", "said.txt"},
	} {
		h.write("said.txt", "DONE_FOR_TODAY\n")
		if text := h.must(args...); !strings.Contains(text, want) {
			t.Errorf("%v has no %q:\n%s", args, want, text)
		}
	}
	if r := h.signalbox("scan", "said.txt"); r.code != 1 {
		t.Errorf("another's signal counts:\n%s", r.out)
	}
}
