package evidence

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/ledger"
)

// tale makes events of lines: subject, type, actor, session (which may be -) and payload.
func tale(t *testing.T, lines ...string) []Happened {
	t.Helper()
	events, items := []Happened{}, map[string]uint64{}
	for i, line := range lines {
		f := strings.SplitN(line, " ", 5)
		items[f[0]]++
		e := ledger.Event{
			Format: 1, Epoch: 1, Subject: f[0], ItemSeq: items[f[0]], Type: f[1], Actor: f[2], Session: strings.Trim(f[3], "-"), Time: at(i), Payload: json.RawMessage(f[4]),
		}
		if e.ItemSeq > 1 {
			e.Prev[0] = 1
		}
		if _, token, ok := strings.Cut(e.Session, "-"); ok {
			e.Lease = token
		}
		events = append(events, Happened{uint64(i + 1), e})
	}
	return events
}

// cardOf makes a card of events.
func cardOf(w api.Work, task string, events []Happened) (Card, error) {
	f := NewFold(w.Subject, task)
	for _, e := range events {
		if err := f.Take(e); err != nil {
			return Card{}, err
		}
	}
	return f.Card(w), nil
}

func at(second int) time.Time { return time.Date(2026, 1, 2, 3, 4, second, 0, time.UTC) }

func each[T any](all []T, say func(T) string) []string {
	said := make([]string, len(all))
	for i, one := range all {
		said[i] = say(one)
	}
	return said
}

// theWork is the task of theTale as the plan has it now.
var theWork = api.Work{Subject: "ITEM", Title: "Parser", Handoff: api.Handoff{Asked: "Mend it all."}}

// theTale is a task of a run that was sent back by the gate, the critic and its merge, and is merged in the end.
var theTale = []string{
	`RUN RunStarted operator - {"id":"R1"}`,
	`ITEM WorkAdded operator - {"id":"R1.T-1","title":"Parser","phase":"IMPLEMENTATION","run":"RUN","task":"T-1","asked":"Mend it."}`,
	`ITEM LeaseGranted box ITEM-1.1 {"phase":"IMPLEMENTATION","role":"developer","ttl_ms":1000,"agent":"claude"}`,
	`RUN QuestionAsked box - {"id":"R1-Q1","task":"T-1","cause":"clarification","text":"Which one?"}`,
	`RUN QuestionAsked box - {"id":"R1-Q2","task":"T-2","cause":"clarification","text":"Other?"}`,
	`RUN QuestionAnswered operator - {"id":"R1-Q1","text":"The first."}`,
	`RUN QuestionAnswered operator - {"id":"R1-Q2","text":"Nothing."}`,
	`ITEM AgentSessionCompleted claude ITEM-1.1 {"phase_completed":"IMPLEMENTATION","exit_reason":"completed","next_phase":"CI_PENDING","pr_url":"https://github.com/a/b/pull/7","notes":"All done.","evidence_bundle_ref":"e.yaml","signal":"exit","evidence":{"problem":"it is not there"}}`,
	`RUN SessionEnded box ITEM-1.1 {"how":"done","task":"T-1","usage":{"input_tokens":10,"output_tokens":5,"cost_usd":0.25}}`,
	`RUN SessionEnded box OTHER-1.1 {"how":"done","task":"T-2","usage":{"input_tokens":1000}}`,
	`ITEM GateFailed gate - {"commit":"aaaaaaa1","checks":[{"name":"test","exit":3},{"name":"lint","passed":true}],"output":"boom","next_phase":"IMPLEMENTATION"}`,
	`ITEM LeaseGranted box ITEM-1.2 {"phase":"IMPLEMENTATION","role":"developer","ttl_ms":1000,"agent":"claude"}`,
	`ITEM LeaseExpired box ITEM-1.2 {"phase":"IMPLEMENTATION"}`,
	`RUN SessionEnded box ITEM-1.2 {"how":"crashed","detail":"signal 9","task":"T-1","usage":{"input_tokens":1}}`,
	`ITEM LeaseGranted box ITEM-1.3 {"phase":"IMPLEMENTATION","role":"developer","ttl_ms":1000,"agent":"claude"}`,
	`ITEM AgentSessionCompleted claude ITEM-1.3 {"phase_completed":"IMPLEMENTATION","exit_reason":"completed","next_phase":"CI_PENDING","signal":"ready_for_review","fields":[{"name":"Summary","value":"Better."}]}`,
	`ITEM GateFailed gate - {"commit":"aaaaaaa1","next_phase":"IMPLEMENTATION","since":"gate"}`,
	`ITEM GatePassed gate - {"commit":"bbbbbbb2","checks":[{"name":"test","passed":true}],"next_phase":"READY_FOR_REVIEW"}`,
	`ITEM ReviewStarted box ITEM-1.4 {"phase":"REVIEW","role":"critic","ttl_ms":1000,"agent":"codex"}`,
	`ITEM AgentSessionCompleted codex ITEM-1.4 {"phase_completed":"REVIEW","exit_reason":"completed","next_phase":"IMPLEMENTATION","signal":"review_failed","fields":[{"name":"Required Fixes","value":"a test"}]}`,
	`ITEM GatePassed gate - {"commit":"ccccccc3","next_phase":"READY_FOR_REVIEW"}`,
	`ITEM MergeFailed box - {"commit":"ccccccc3","next_phase":"IMPLEMENTATION","reason":"conflict"}`,
	`ITEM WorkOverridden operator - {"from":"READY_FOR_REVIEW","next_phase":"READY_FOR_MERGE","reason":"I looked"}`,
	`ITEM WorkMerged box - {"commit":"ccccccc3","result":"ddddddd4","next_phase":"COMPLETED","unseen":["critic"]}`,
	`RUN PlanAmended operator - {"changed":["T-2"]}`,
	`RUN PlanAmended operator - {"changed":["T-1"]}`,
}

// A card has what happened on the task, from both chains, and nothing of other tasks.
func TestCard(t *testing.T) {
	c, err := cardOf(theWork, "T-1", tale(t, theTale...))
	if err != nil {
		t.Fatal(err)
	}
	var tried []string
	for _, a := range c.Attempts {
		tried = append(tried, fmt.Sprintf("%d %s", int(a.Seconds), a.Words()))
	}
	one := func(texts ...string) []string { return texts }
	same := func(what string, got, want []string) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	same("head", one(c.Task, c.Title, c.Asked, c.StateWords(), c.UsedWords(), c.Merge.Words()),
		one("R1.T-1", "Parser", "Mend it all.", "COMPLETED, merged as ddddddd", "4 sessions, 10s, 16 tokens, 0.25 USD", "ddddddd by box, the merge of ccccccc, which no critic has seen"))
	same("tried", tried, one(
		"6 developer (claude), 6s, 15 tokens, 0.25 USD, completed", "2 developer (claude), 2s, 1 token, crashed: signal 9",
		"1 developer (claude), 1s, ready for review", "1 critic (codex), 1s, sent bbbbbbb back", "0 operator set it from READY_FOR_REVIEW to READY_FOR_MERGE: I looked"))
	same("claims", each(c.Claims, StatementWords), one(
		"All done.\npull request: https://github.com/a/b/pull/7\nnames evidence that nobody can see, e.yaml: it is not there", "Summary: Better."))
	same("gates", each(c.Gates, Gate.Words), one(
		"aaaaaaa failed: test failed (exit 3), lint (exit 0)", "aaaaaaa sent back: claimed to be done, changed nothing since the gate failed; no check ran", "bbbbbbb passed: test (exit 0)", "ccccccc passed: no check ran here"))
	let := Gate{Commit: "aaaaaaa1", Passed: true, Checks: []Check{{Name: "lint", Passed: true}, {Name: "test", Tolerated: true}}}
	same("a gate that tolerates", one(let.Words()), one("aaaaaaa let through: test failed, tolerated: it fails on the base too; lint"))
	same("findings", each(c.Findings, func(f Finding) string { return f.Words() + ": " + f.Text }), one(
		"gate on aaaaaaa, answered by bbbbbbb: these checks failed: test\nboom", "gate on aaaaaaa, answered by bbbbbbb: nothing was changed since it was sent back",
		"critic (codex) on bbbbbbb, answered by ccccccc: Required Fixes: a test", "box on ccccccc, not answered: it can't be merged: conflict"))
	same("questions", each(c.Questions, func(q Question) string { return q.ID + q.Text + q.By + q.Answer }), one("R1-Q1Which one?operatorThe first."))
	same("rests on", each(c.Rests, func(e Happened) string { return fmt.Sprint(e.Sequence) }), strings.Fields("2 3 4 6 8 9 11 12 13 14 15 16 17 18 19 20 21 22 23 24 26"))
	if _, err := cardOf(theWork, "T-1", tale(t, theTale[1], `ITEM GatePassed gate - "no object"`)); err == nil {
		t.Error("an event that can't be read is left out quietly")
	}
}

// Who helps is in it too, also if its process ends without saying whose it was; and so is a person who takes the work over.
func TestCardOfHelpers(t *testing.T) {
	c, err := cardOf(theWork, "T-1", tale(t, theTale[1], theTale[2],
		`RUN SessionGranted box RUN-1.1 {"role":"expert","agent":"gemini","task":"T-1"}`,
		`RUN SessionGranted box RUN-1.2 {"role":"expert","agent":"gemini","task":"T-2"}`,
		`RUN SessionEnded box RUN-1.1 {"how":"broken","detail":"no room","usage":{"output_tokens":2}}`,
		`RUN SessionEnded box RUN-1.2 {"how":"broken","detail":"no room","usage":{"output_tokens":4}}`,
		`ITEM WorkTaken operator ITEM-1.2 {"from":"IMPLEMENTATION","phase":"IMPLEMENTATION","role":"developer","ttl_ms":0,"agent":"person"}`,
	))
	got := strings.Join(append(each(c.Attempts, Attempt.Words), c.UsedWords()), "\n")
	const want = "developer (claude), 5s, taken\nexpert (gemini), 2s, 2 tokens, broken: no room\ndeveloper (operator), at work\n3 sessions, 7s, 2 tokens"
	if err != nil || got != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
}

// Who gave the task up, took it, gave it back or had it tried again is in the card, also if it was by an answer; and what others did to other
// tasks is not.
func TestCardDecisions(t *testing.T) {
	tale := tale(t, theTale[0], theTale[1], theTale[3], theTale[4],
		`RUN QuestionAnswered client:page-9 - {"id":"R1-Q1","choice":"cancel","text":"nobody needs it","task":"T-1"}`,
		`RUN QuestionAnswered operator - {"id":"R1-Q2","choice":"cancel","task":"T-2"}`,
		`RUN TaskRetried operator - {"task":"T-1","text":"once more"}`,
		`RUN TaskCancelled operator - {"task":"T-2"}`,
		`ITEM WorkTaken operator ITEM-1.1 {"from":"IMPLEMENTATION","phase":"IMPLEMENTATION","role":"developer","ttl_ms":0,"agent":"person"}`,
		`ITEM LeaseReleased client:page-9 ITEM-1.1 {"phase":"IMPLEMENTATION"}`,
		`ITEM LeaseGranted box ITEM-1.2 {"phase":"IMPLEMENTATION","role":"developer","ttl_ms":1000,"agent":"claude"}`,
		`ITEM LeaseReleased box ITEM-1.2 {"phase":"IMPLEMENTATION"}`,
		`RUN RunCancelled operator - {"reason":"no money"}`,
		`RUN PlanAmended operator - {"gone":["T-1"]}`,
	)
	c, err := cardOf(theWork, "T-1", tale)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(each(c.Decisions, func(d Decision) string { return d.By + " " + d.Words() }), "\n")
	const want = "client:page-9 gave it up, by the answer to R1-Q1: nobody needs it\noperator had it tried again: once more\noperator took it over\n" +
		"client:page-9 gave it back to agents\noperator cancelled the run: no money\noperator gave it up: the plan was amended, and does not have it any more"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if q := c.Questions[0]; q.AnswerWords() != "give the task up: nobody needs it" || q.Choice != "cancel" {
		t.Errorf("the answer is %q", q.AnswerWords())
	}
	for _, d := range c.Decisions {
		if !slices.ContainsFunc(c.Rests, func(e Happened) bool { return e.Sequence == d.Sequence }) {
			t.Errorf("nothing proves that %s", d.Words())
		}
	}
	run := api.Run{ID: "R1", Tasks: []api.Task{{ID: "T-0", Why: "cancelled"}, {ID: "T-1", Work: "R1.T-1", Why: "cancelled", BlockedBy: []string{"T-0"}}}}
	for n, want := range map[int]string{
		5: "given up by client:page-9: nobody needs it", 13: "given up, operator cancelled the run: no money", 2: "given up with T-0, which it depends on",
	} {
		c, err := cardOf(theWork, "T-1", tale[:n])
		if c.In(run); err != nil || c.StateWords() != want {
			t.Errorf("after %d events: %q, %v; want %q", n, c.StateWords(), err, want)
		}
	}
}

// A verdict names who gave it and the commit that it is on.
func TestVerdictWords(t *testing.T) {
	a := Attempt{Who: "client:page-9", Role: "critic", Program: "person", How: "completed", Said: agentsig.KindReviewPassed, Commit: "8bd2a23f"}
	if got := a.Words(); got != "critic (client:page-9), 0s, accepted 8bd2a23" {
		t.Errorf("%q", got)
	}
	for kind, want := range map[agentsig.Kind]string{
		agentsig.KindAuditPassed: "accepted 8bd2a23", agentsig.KindReviewFailed: "sent 8bd2a23 back", agentsig.KindAuditFailed: "sent 8bd2a23 back", agentsig.KindDivineClarification: "",
	} {
		a.Said = kind
		if got := a.VerdictWords(); got != want {
			t.Errorf("%s: %q", kind, got)
		}
	}
}

// The card says which attempts went on in the same conversation, and why others did not.
func TestCardConversations(t *testing.T) {
	c, err := cardOf(theWork, "T-1", tale(t,
		`RUN RunStarted operator - {"id":"R1"}`,
		`ITEM WorkAdded operator - {"id":"R1.T-1","title":"Parser","phase":"IMPLEMENTATION","run":"RUN","task":"T-1"}`,
		`ITEM LeaseGranted box ITEM-1.1 {"phase":"IMPLEMENTATION","role":"developer","ttl_ms":1000,"agent":"claude"}`,
		`ITEM LeaseReleased box ITEM-1.1 {"phase":"IMPLEMENTATION"}`,
		`ITEM LeaseGranted box ITEM-1.2 {"phase":"IMPLEMENTATION","role":"developer","ttl_ms":1000,"agent":"claude","resumes":"ITEM-1.1"}`,
		`ITEM LeaseReleased box ITEM-1.2 {"phase":"IMPLEMENTATION"}`,
		`ITEM LeaseGranted box ITEM-1.3 {"phase":"IMPLEMENTATION","role":"developer","ttl_ms":1000,"agent":"claude","fresh":"rework is set to fresh"}`,
		`ITEM LeaseReleased box ITEM-1.3 {"phase":"IMPLEMENTATION"}`,
		`ITEM LeaseGranted box ITEM-1.4 {"phase":"IMPLEMENTATION","role":"developer","ttl_ms":1000,"agent":"claude","resumes":"ITEM-1.3"}`,
		`RUN ConversationLost box ITEM-1.4 {"task":"T-1","text":"no rollout found"}`,
	))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"developer (claude), 1s", "developer (claude), in the same conversation,", "developer (claude), afresh: rework is set to fresh,", "developer (claude), afresh: no rollout found,"} {
		if !strings.Contains(c.Attempts[i].Words()+",", want) {
			t.Errorf("attempt %d is %q; want %q", i, c.Attempts[i].Words(), want)
		}
	}
}

// An item in no run has its questions among its own events: they are no claims, and what an expert answers is no finding.
func TestCardByHand(t *testing.T) {
	c, err := cardOf(theWork, "", tale(t,
		`ITEM WorkAdded operator - {"id":"T-1","title":"Parser","phase":"IMPLEMENTATION"}`,
		`ITEM LeaseGranted ann ITEM-1.1 {"phase":"IMPLEMENTATION","role":"developer","ttl_ms":1000}`,
		`ITEM AgentSessionCompleted ann ITEM-1.1 {"phase_completed":"IMPLEMENTATION","exit_reason":"blocked","next_phase":"BLOCKED","signal":"expert_request","body":"Which lock?","waits":{"id":"T-1-Q1","role":"expert","cause":"expert"}}`,
		`ITEM LeaseGranted eve ITEM-1.2 {"phase":"BLOCKED","role":"expert","ttl_ms":1000}`,
		`ITEM AgentSessionCompleted eve ITEM-1.2 {"phase_completed":"BLOCKED","exit_reason":"completed","next_phase":"IMPLEMENTATION","signal":"expert_advice","body":"This one."}`,
		`ITEM LeaseGranted ann ITEM-1.3 {"phase":"IMPLEMENTATION","role":"developer","ttl_ms":1000}`,
		`ITEM agent_signal_failure box ITEM-1.3 {"task_id":"T-1","agent_id":"ann","output_preview":"?"}`,
	))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Questions) != 1 || c.Questions[0].ID != "T-1-Q1" || c.Questions[0].By != "eve" || c.Questions[0].Answer != "This one." || len(c.Claims)+len(c.Findings) > 0 {
		t.Errorf("questions %+v, claims %+v, findings %+v", c.Questions, c.Claims, c.Findings)
	}
	if last := c.Attempts[2].Words(); last != "developer (ann), 1s, no signal that counts" {
		t.Errorf("the last attempt: %s", last)
	}
}

// A gate that passed where nothing was changed says so, with what was checked.
func TestCardUnchanged(t *testing.T) {
	c, err := cardOf(theWork, "", tale(t,
		`ITEM WorkAdded operator - {"id":"T-1","title":"Parser","phase":"CI_PENDING","branch":"fix"}`,
		`ITEM GatePassed gate - {"commit":"bbbbbbb2","checks":[{"name":"test","passed":true}],"files":0,"next_phase":"READY_FOR_REVIEW"}`,
	))
	if err != nil || len(c.Gates) != 1 || c.Gates[0].Words() != "bbbbbbb passed: test (exit 0); nothing was changed" {
		t.Errorf("%+v, %v", c.Gates, err)
	}
}

// Programs find every field, also of a task on which nothing has happened, and no list is null.
func TestCardJSON(t *testing.T) {
	c, err := cardOf(theWork, "", tale(t, theTale[1]))
	if err != nil {
		t.Fatal(err)
	}
	c.Proof = Proof{Events: []Proven{}}
	data, err := json.Marshal(c)
	const want = `{"task":"R1.T-1","title":"Parser","state":"IMPLEMENTATION","asked":"Mend it all.","attempts":[],"claims":[],"gates":[],"findings":[],` +
		`"questions":[],"decisions":[],"merge":null,"usage":{},"proof":{"checkpoint":"","origin":"","size":0,"events":[]}}`
	if err != nil || string(data) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, data, want)
	}
}
