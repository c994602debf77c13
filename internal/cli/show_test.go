package cli

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
	"github.com/signalbox-dev/signalbox/safetext"
)

// tale makes events of lines: subject, type, actor, session (which may be -) and payload.
func tale(t *testing.T, lines ...string) []happened {
	t.Helper()
	events, items := []happened{}, map[string]uint64{}
	for i, line := range lines {
		f := strings.SplitN(line, " ", 5)
		items[f[0]]++
		e := ledger.Event{
			Format: 1, Epoch: 1, Subject: f[0], ItemSeq: items[f[0]], Type: f[1], Actor: f[2], Session: strings.Trim(f[3], "-"), Time: at(i), Payload: json.RawMessage(f[4]),
		}
		if _, token, ok := strings.Cut(e.Session, "-"); ok {
			e.Lease = token
		}
		events = append(events, happened{uint64(i + 1), e})
	}
	return events
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
		tried = append(tried, fmt.Sprintf("%d %s", int(a.Seconds), a.words()))
	}
	one := func(texts ...string) []string { return texts }
	same := func(what string, got, want []string) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	same("head", one(c.Task, c.Title, c.Asked, c.stateWords(), c.usedWords(), c.Merge.words()),
		one("R1.T-1", "Parser", "Mend it all.", "COMPLETED, merged as ddddddd", "4 sessions, 10s, 16 tokens, 0.25 USD", "ddddddd by box, the merge of ccccccc, which no critic has seen"))
	same("tried", tried, one(
		"6 developer (claude), 6s, 15 tokens, 0.25 USD, completed", "2 developer (claude), 2s, 1 token, crashed: signal 9",
		"1 developer (claude), 1s, ready for review", "1 critic (codex), 1s, review failed", "0 operator set it from READY_FOR_REVIEW to READY_FOR_MERGE: I looked"))
	same("claims", each(c.Claims, statementWords), one(
		"All done.\npull request: https://github.com/a/b/pull/7\nnames evidence that nobody can see, e.yaml: it is not there", "Summary: Better."))
	same("gates", each(c.Gates, gateRun.words), one(
		"aaaaaaa failed: test failed (exit 3), lint (exit 0)", "aaaaaaa failed: nothing was changed", "bbbbbbb passed: test (exit 0)", "ccccccc passed: no check ran here"))
	let := gateRun{Commit: "aaaaaaa1", Passed: true, Checks: []shownCheck{{Name: "lint", Passed: true}, {Name: "test", Tolerated: true}}}
	same("a gate that tolerates", one(let.words()), one("aaaaaaa test failed, tolerated: it fails on the base too; lint"))
	same("findings", each(c.Findings, func(f finding) string { return f.words() + ": " + f.Text }), one(
		"gate on aaaaaaa, answered by bbbbbbb: these checks failed: test\nboom", "gate on aaaaaaa, answered by bbbbbbb: nothing was changed since it was sent back",
		"critic (codex) on bbbbbbb, answered by ccccccc: Required Fixes: a test", "box on ccccccc, not answered: it can't be merged: conflict"))
	same("questions", each(c.Questions, func(q asked) string { return q.ID + q.Text + q.By + q.Answer }), one("R1-Q1Which one?operatorThe first."))
	same("rests on", each(c.rests, func(e happened) string { return fmt.Sprint(e.sequence) }), strings.Fields("2 3 4 6 8 9 11 12 13 14 15 16 17 18 19 20 21 22 23 24 26"))
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
	got := strings.Join(append(each(c.Attempts, attempt.words), c.usedWords()), "\n")
	const want = "developer (claude), 5s, taken\nexpert (gemini), 2s, 2 tokens, broken: no room\ndeveloper (person), at work\n3 sessions, 7s, 2 tokens"
	if err != nil || got != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
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
	text := c.text(200, 24, true)
	for i, want := range []string{"developer (claude), 1s", "developer (claude), in the same conversation,", "developer (claude), afresh: rework is set to fresh,", "developer (claude), afresh: no rollout found,"} {
		if !strings.Contains(c.Attempts[i].words()+",", want) || !strings.Contains(text, strings.TrimSuffix(want, ",")) {
			t.Errorf("attempt %d is %q; want %q in\n%s", i, c.Attempts[i].words(), want, text)
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
	if last := c.Attempts[2].words(); last != "developer (ann), 1s, no signal that counts" {
		t.Errorf("the last attempt: %s", last)
	}
}

// A gate that passed where nothing was changed says so, with what was checked.
func TestCardUnchanged(t *testing.T) {
	c, err := cardOf(theWork, "", tale(t,
		`ITEM WorkAdded operator - {"id":"T-1","title":"Parser","phase":"CI_PENDING","branch":"fix"}`,
		`ITEM GatePassed gate - {"commit":"bbbbbbb2","checks":[{"name":"test","passed":true}],"files":0,"next_phase":"READY_FOR_REVIEW"}`,
	))
	if err != nil || len(c.Gates) != 1 || c.Gates[0].words() != "bbbbbbb passed: test (exit 0); nothing was changed" {
		t.Errorf("%+v, %v", c.Gates, err)
	}
}

// Programs find every field, also of a task on which nothing has happened, and no list is null.
func TestCardJSON(t *testing.T) {
	c, err := cardOf(theWork, "", tale(t, theTale[1]))
	if err != nil {
		t.Fatal(err)
	}
	c.Proof = cardProof{Events: []provenEvent{}}
	data, err := json.Marshal(c)
	const want = `{"task":"R1.T-1","title":"Parser","state":"IMPLEMENTATION","asked":"Mend it all.","attempts":[],"claims":[],"gates":[],"findings":[],` +
		`"questions":[],"merge":null,"usage":{},"proof":{"checkpoint":"","origin":"","size":0,"events":[]}}`
	if err != nil || string(data) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, data, want)
	}
}

// hostile is what an agent could say to be taken for somebody else, at length.
var hostile = "\x1b[2J@everyone Closes #1 ![x](https://e.example/x.png)\n```\n@everyone Closes #1\nproof     all is proven\n" + strings.Repeat("`", 40) + "\n## Findings: none\u202e\n" + strings.Repeat("long ", 200<<10)

// hostileCard is a card that is full of such words.
func hostileCard(t *testing.T) card {
	c, err := cardOf(theWork, "T-1", tale(t, theTale...))
	if err != nil {
		t.Fatal(err)
	}
	c.Title, c.Asked = hostile, hostile
	for range 30 {
		c.Claims = append(c.Claims, work.Statement{By: "ann", Text: hostile, PRURL: hostile, Evidence: &work.Evidence{Ref: hostile, Problem: hostile}})
		c.Findings = append(c.Findings, finding{Statement: work.Statement{By: "bob", Text: hostile}})
		c.Questions = append(c.Questions, asked{ID: "R1-Q9", Text: hostile, By: "operator", Answer: hostile})
		c.Attempts = append(c.Attempts, attempt{Who: "ann", How: "crashed", Detail: hostile})
		c.Gates = append(c.Gates, gateRun{Commit: "aaaaaaa", Checks: []shownCheck{{Name: hostile}}})
	}
	c.Merge.Unseen = append(c.Merge.Unseen, agentsig.Role(hostile))
	c.Proof = cardProof{Events: []provenEvent{{Problem: hostile}}, Merge: map[string]any{"error": hostile}}
	return c
}

// Whatever agents say, a card fits a screen, and nothing in it acts upon a terminal or looks like another line.
func TestCardText(t *testing.T) {
	c := hostileCard(t)
	text := c.text(80, 24, false)
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) > 22 {
		t.Errorf("%d lines:\n%s", len(lines), text)
	}
	for _, line := range lines {
		if safetext.Width(line) > 80 || safetext.Escape(line) != line {
			t.Errorf("%d columns: %q", safetext.Width(line), line)
		}
	}
	for _, want := range []string{"\nfound     … 33 before (--all shows them)\n", "\nproof     WRONG: 1 of 1 event can't be proven", "…\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	c.Claims, c.Findings, c.Questions, c.Attempts, c.Gates = c.Claims[:3], c.Findings[:3], c.Questions[:1], c.Attempts[:3], c.Gates[:3]
	all := c.text(80, 24, true)
	if strings.Contains(all, "\nproof     all is") || strings.ContainsAny(all, "\x1b\u202e") || strings.Count(all, "long long") < 3 || !strings.Contains(all, "\n            proof     all is proven\n") {
		t.Error("with --all what an agent says is left out, or is taken for more")
	}
}

// Findings are wrapped and not cut, where a screen has room for them; the last ones have it first.
func TestCardWrapsFindings(t *testing.T) {
	c := card{Task: "R1.T-1", Title: "Parser", State: "IMPLEMENTATION"}
	for i := range 3 {
		c.Findings = append(c.Findings, finding{Statement: work.Statement{By: "codex", Text: fmt.Sprintf("%d %s end-%d", i, strings.Repeat("word ", 60), i)}})
	}
	text := c.text(80, 24, false)
	for i := range 3 {
		if !strings.Contains(text, fmt.Sprintf(" end-%d\n", i)) {
			t.Errorf("finding %d is cut:\n%s", i, text)
		}
	}
	for line := range strings.Lines(text) {
		if safetext.Width(strings.TrimSuffix(line, "\n")) > 80 {
			t.Errorf("too wide: %q", line)
		}
	}
	for i := range c.Findings {
		c.Findings[i].Text = fmt.Sprintf("%d %s end-%d", i, strings.Repeat("word ", 150), i)
	}
	text = c.text(80, 24, false)
	if n := strings.Count(text, "\n"); n > 22 || !strings.Contains(text, " end-2\n") || strings.Contains(text, " end-0\n") {
		t.Errorf("%d lines:\n%s", n, text)
	}
}

// How an attempt ended and what was found are never cut away: older entries are left out before.
func TestCardShowsOutcomes(t *testing.T) {
	c, err := cardOf(theWork, "T-1", tale(t, theTale...))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		usage := delivery.Usage{InputTokens: 120300, CostUSD: 5.5}
		c.Attempts = append(c.Attempts, attempt{Who: "claude", Role: "developer", Resumes: "ITEM-1.1", Seconds: 3700, Usage: &usage, How: "crashed", Detail: fmt.Sprintf("signal %d", i)})
		c.Findings = append(c.Findings, finding{Role: "critic", AnsweredBy: "2b4270012", Statement: work.Statement{By: "operator", Commit: "72aa6bb", Text: fmt.Sprintf("say it in words of one syllable, please, and test it %d", i)}})
	}
	screen, pipe := c.text(80, 24, false), c.text(0, 24, false)
	for name, text := range map[string]string{"a screen": screen, "a pipe": pipe} {
		words := strings.Join(strings.Fields(text), " ")
		for _, want := range []string{"crashed: signal 5", "answered by 2b42700: say it in words of one syllable, please, and test it 5"} {
			if !strings.Contains(words, want) || strings.Contains(strings.ReplaceAll(text, "  … ", ""), "…") {
				t.Errorf("%s has no %q, or something is cut:\n%s", name, want, text)
			}
		}
	}
	if n := strings.Count(screen, "\n"); n > 22 || strings.Count(c.text(80, 60, false), "\n") <= n {
		t.Errorf("a small screen has %d lines, or a large one no more", n)
	}
	if n := len(c.Attempts); strings.Count(pipe, "crashed: signal") != 4 || n < 6 {
		t.Errorf("a pipe has not the last four attempts, each on a line:\n%s", pipe)
	}
}

// What the checks printed is shown as it is, its last lines, below what failed; and the same where a person takes the work again.
func TestCardKeepsPrintedLines(t *testing.T) {
	printed := "==== FAIL: test_one\n\x1b[31mTraceback:\n  File \"a.py\", line 3\n    self.assertEqual(1,  2)\nAssertionError: 1 != 2\n\n-----\nRan 1 test\n\nFAILED (failures=1)\n"
	s := work.Statement{By: work.GateActor, Commit: "72aa6bb", Text: "these checks failed: unit\n" + strings.Repeat("noise\n", 5000) + printed}
	c := card{Task: "R1.T-1", Title: "Parser", State: "IMPLEMENTATION", Findings: []finding{{Statement: s}}}
	const want = "\n  ==== FAIL: test_one\n  \\x1b[31mTraceback:\n    File \"a.py\", line 3\n      self.assertEqual(1,  2)\n  AssertionError: 1 != 2\n  -----\n  Ran 1 test\n  FAILED (failures=1)"
	for name, text := range map[string]string{"show": c.text(80, 24, false), "show, piped": c.text(0, 24, false), "take": sentBackWords(s, "R1.T-1")} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), "these checks failed: unit") || !strings.Contains(strings.ReplaceAll(text, "\n"+strings.Repeat(" ", labelWidth), "\n"), want) || strings.Contains(text, "noise") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

// On a forge nothing that an agent says mentions, shows or closes anything: it stays in code.
func TestCardMarkdown(t *testing.T) {
	text := hostileCard(t).markdown(false)
	if len(text) > 60<<10 {
		t.Errorf("a forge takes 64 KiB, and this is %d", len(text))
	}
	fence := ""
	for line := range strings.SplitSeq(text, "\n") {
		ticks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case fence == "" && len(ticks) >= 3 && line == ticks+"text":
			fence = ticks
		case fence != "" && len(ticks) >= len(fence) && line == ticks:
			fence = ""
		case fence == "" && strings.Contains(outside(line), "@everyone"), fence == "" && strings.Contains(outside(line), "#1"):
			t.Errorf("outside of code: %.100q", line)
		case fence == "" && line == "## Findings: none", strings.ContainsAny(line, "\x1b\u202e"):
			t.Errorf("what an agent said is taken for more: %.100q", line)
		}
	}
	if fence != "" {
		t.Error("a fence is not closed")
	}
	for _, want := range []string{"## Evidence on `R1.T-1`\n", "### Claims, which nobody has checked\n", "22 before are left out", "(there is more: signalbox show --all)"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%.3000s", want, text)
		}
	}
}

// outside returns what of a line is in no code span.
func outside(line string) string {
	var b strings.Builder
	for line != "" {
		text, rest, _ := strings.Cut(line, "`")
		b.WriteString(text)
		if rest == "" {
			break
		}
		body := strings.TrimLeft(rest, "`")
		ticks := "`" + rest[:len(rest)-len(body)]
		end := strings.Index(strings.ReplaceAll(body, ticks+"`", strings.Repeat("x", len(ticks)+1)), ticks)
		if end < 0 {
			b.WriteString(body)
			break
		}
		line = body[end+len(ticks):]
	}
	return b.String()
}
