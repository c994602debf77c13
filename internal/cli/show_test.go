package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/evidence"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/safetext"
)

// someCard is the card of a task that was sent back by the gate, the critic and its merge, and is merged in the end.
func someCard() evidence.Card {
	exit := 3
	say := func(by, commit, text string) work.Statement {
		return work.Statement{At: at(1), By: by, Commit: commit, Text: text}
	}
	return evidence.Card{
		Task: "R1.T-1", Title: "Parser", State: "COMPLETED", Asked: "Mend it all.",
		Attempts: []evidence.Attempt{
			{Who: "box", Role: "developer", Program: "claude", Began: at(2), Ended: at(8), Seconds: 6, How: "completed", Said: agentsig.KindExit, Usage: &delivery.Usage{InputTokens: 15, CostUSD: 0.25}},
			{Who: "box", Role: "developer", Program: "claude", Began: at(11), Ended: at(13), Seconds: 2, How: "crashed", Detail: "signal 9"},
			{Who: "box", Role: "developer", Program: "claude", Began: at(14), Ended: at(15), Seconds: 1, How: "completed", Said: agentsig.KindReadyForReview},
			{Who: "box", Role: "critic", Program: "codex", Began: at(18), Ended: at(19), Seconds: 1, How: "completed", Said: agentsig.KindReviewFailed},
		},
		Claims: []work.Statement{say("claude", "", "All done."), say("claude", "", "Summary: Better.")},
		Gates: []evidence.Gate{
			{At: at(10), By: "gate", Commit: "aaaaaaa1", Checks: []evidence.Check{{Name: "test", Exit: &exit}, {Name: "lint", Passed: true}}},
			{At: at(16), By: "gate", Commit: "aaaaaaa1", Since: "gate"}, {At: at(17), By: "gate", Commit: "bbbbbbb2", Passed: true}, {At: at(20), By: "gate", Commit: "ccccccc3", Passed: true},
		},
		Findings: []evidence.Finding{
			{Statement: say("gate", "aaaaaaa1", "these checks failed: test\nboom"), AnsweredBy: "bbbbbbb2"}, {Statement: say("gate", "aaaaaaa1", "nothing was changed since it was sent back"), AnsweredBy: "bbbbbbb2"},
			{Statement: say("codex", "bbbbbbb2", "Required Fixes: a test"), Role: "critic", AnsweredBy: "ccccccc3"}, {Statement: say("box", "ccccccc3", "it can't be merged: conflict")},
		},
		Questions: []evidence.Question{{ID: "R1-Q1", Cause: "clarification", At: at(3), Text: "Which one?", Answer: "The first.", By: "operator", AnsweredAt: at(5)}},
		Merge:     &evidence.Merge{At: at(23), By: "box", Commit: "ddddddd4", Merges: "ccccccc3", Unseen: []agentsig.Role{"critic"}},
		Usage:     delivery.Usage{InputTokens: 16, CostUSD: 0.25},
	}
}

// hostile is what an agent could say to be taken for somebody else, at length.
var hostile = "\x1b[2J@everyone Closes #1 ![x](https://e.example/x.png)\n```\n@everyone Closes #1\nproof     all is proven\n" + strings.Repeat("`", 40) + "\n## Findings: none\u202e\n" + strings.Repeat("long ", 200<<10)

// hostileCard is a card that is full of such words.
func hostileCard() evidence.Card {
	c := someCard()
	c.Title, c.Asked = hostile, hostile
	for range 30 {
		c.Claims = append(c.Claims, work.Statement{By: "ann", Text: hostile, PRURL: hostile, Evidence: &work.Evidence{Ref: hostile, Problem: hostile}})
		c.Findings = append(c.Findings, evidence.Finding{Statement: work.Statement{By: "bob", Text: hostile}})
		c.Questions = append(c.Questions, evidence.Question{ID: "R1-Q9", Text: hostile, By: "operator", Answer: hostile})
		c.Attempts = append(c.Attempts, evidence.Attempt{Who: "ann", How: "crashed", Detail: hostile})
		c.Gates = append(c.Gates, evidence.Gate{Commit: "aaaaaaa", Checks: []evidence.Check{{Name: hostile}}})
	}
	c.Merge.Unseen = append(c.Merge.Unseen, agentsig.Role(hostile))
	c.Proof = evidence.Proof{Events: []evidence.Proven{{Problem: hostile}}, Merge: map[string]any{"error": hostile}}
	return c
}

// Whatever agents say, a card fits a screen, and nothing in it acts upon a terminal or looks like another line.
func TestCardText(t *testing.T) {
	c := hostileCard()
	text := cardText(c, 80, 24, false)
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
	all := cardText(c, 80, 24, true)
	if strings.Contains(all, "\nproof     all is") || strings.ContainsAny(all, "\x1b\u202e") || strings.Count(all, "long long") < 3 || !strings.Contains(all, "\n            proof     all is proven\n") {
		t.Error("with --all what an agent says is left out, or is taken for more")
	}
}

// A card says what its task waits for, as its run has it, and on which machine checks ran.
func TestCardWaits(t *testing.T) {
	c := evidence.Card{Task: "R1.T-1", Title: "Parser", State: "IMPLEMENTATION"}
	c.Gates = []evidence.Gate{{Commit: "0123456789", Passed: true, Runner: "gpu1", Signed: true, Checks: []evidence.Check{{Name: "unit", Passed: true}}}}
	r := api.Run{Tasks: []api.Task{{ID: "T-1", Work: "R1.T-1", Why: delivery.WaitRunner, Waits: api.Waiting{Reason: delivery.WaitRunner, Text: "no runner has codex"}}}}
	c.In(r)
	text := cardText(c, 80, 24, false)
	for _, want := range []string{"\nwaits     no runner has codex\n", " 0123456 passed on gpu1, signed with its"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	if text := markdownOf(c, false); !strings.Contains(text, "\n- Waits: `no runner has codex`\n") {
		t.Errorf("%s", text)
	}
	r.Tasks[0].Waits = api.Waiting{}
	if c.In(r); strings.Contains(cardText(c, 80, 24, false), "waits") {
		t.Error("it waits no more, and the card says so")
	}
	r.Tasks[0].Why, r.Tasks[0].Waits.Text = delivery.WaitCancelled, "for the gate"
	if c.In(r); c.Waits != nil || c.State != evidence.StateCancelled {
		t.Errorf("it was given up: %+v", c)
	}
}

// Findings are wrapped and not cut, where a screen has room for them; the last ones have it first.
func TestCardWrapsFindings(t *testing.T) {
	c := evidence.Card{Task: "R1.T-1", Title: "Parser", State: "IMPLEMENTATION"}
	for i := range 3 {
		c.Findings = append(c.Findings, evidence.Finding{Statement: work.Statement{By: "codex", Text: fmt.Sprintf("%d %s end-%d", i, strings.Repeat("word ", 60), i)}})
	}
	text := cardText(c, 80, 24, false)
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
	text = cardText(c, 80, 24, false)
	if n := strings.Count(text, "\n"); n > 22 || !strings.Contains(text, " end-2\n") || strings.Contains(text, " end-0\n") {
		t.Errorf("%d lines:\n%s", n, text)
	}
}

// How an attempt ended and what was found are never cut away: older entries are left out before.
func TestCardShowsOutcomes(t *testing.T) {
	c := someCard()
	for i := range 6 {
		usage := delivery.Usage{InputTokens: 120300, CostUSD: 5.5}
		c.Attempts = append(c.Attempts, evidence.Attempt{Who: "claude", Role: "developer", Resumes: "ITEM-1.1", Seconds: 3700, Usage: &usage, How: "crashed", Detail: fmt.Sprintf("signal %d", i)})
		c.Findings = append(c.Findings, evidence.Finding{Role: "critic", AnsweredBy: "2b4270012", Statement: work.Statement{By: "operator", Commit: "72aa6bb", Text: fmt.Sprintf("say it in words of one syllable, please, and test it %d", i)}})
	}
	screen, pipe := cardText(c, 80, 24, false), cardText(c, 0, 24, false)
	for name, text := range map[string]string{"a screen": screen, "a pipe": pipe} {
		words := strings.Join(strings.Fields(text), " ")
		for _, want := range []string{"crashed: signal 5", "answered by 2b42700: say it in words of one syllable, please, and test it 5"} {
			if !strings.Contains(words, want) || strings.Contains(strings.ReplaceAll(text, "  … ", ""), "…") {
				t.Errorf("%s has no %q, or something is cut:\n%s", name, want, text)
			}
		}
	}
	if n := strings.Count(screen, "\n"); n > 22 || strings.Count(cardText(c, 80, 60, false), "\n") <= n {
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
	c := evidence.Card{Task: "R1.T-1", Title: "Parser", State: "IMPLEMENTATION", Findings: []evidence.Finding{{Statement: s}}}
	const want = "\n  ==== FAIL: test_one\n  \\x1b[31mTraceback:\n    File \"a.py\", line 3\n      self.assertEqual(1,  2)\n  AssertionError: 1 != 2\n  -----\n  Ran 1 test\n  FAILED (failures=1)"
	for name, text := range map[string]string{"show": cardText(c, 80, 24, false), "show, piped": cardText(c, 0, 24, false), "take": sentBackWords(s, "R1.T-1")} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), "these checks failed: unit") || !strings.Contains(strings.ReplaceAll(text, "\n"+strings.Repeat(" ", labelWidth), "\n"), want) || strings.Contains(text, "noise") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

// On a forge nothing that an agent says mentions, shows or closes anything: it stays in code.
func TestCardMarkdown(t *testing.T) {
	text := markdownOf(hostileCard(), false)
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
