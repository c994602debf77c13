//go:build linux

package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// A turn that uses more than it may is ended, in the middle if its program tells what it uses: a person is asked, raises the
// budget, and the task is delivered. What was cut counts.
func TestAgentBudget(t *testing.T) {
	for _, c := range []struct {
		program, budget, answer string
		late                    bool // the program tells what it has used when its turn is over
		part                    bool
	}{
		{"claude", "turn: {tokens: 15000}", "raise", false, false},
		{"claude", "turn: {cost_usd: 0.06}", "raise", false, true},
		{"claude-acp", "task: {tokens: 15000}", "continue", false, false},
		{"codex", "task: {tokens: 15000}", "raise", true, true},
		{"codex-acp", "turn: {tokens: 15000}", "raise", false, false},
	} {
		t.Run(c.program+" "+c.budget, func(t *testing.T) {
			among(t, c.part)
			t.Parallel()
			r := reals[slices.IndexFunc(reals, func(r real) bool { return r.name == c.program })]
			server := scripted(t, "budget.txt")
			w := newWorld(t, "")
			w.write("signalbox.yaml", fmt.Sprintf("agents: {real: %s}\nbudget: {%s}\nlimits: {answer: 2m}\n", r.entry(t, server.URL()), c.budget))
			w.git("commit", "-qam", "settings")
			w.tasks("T-1")
			if c.late {
				server.Release("the budget")
			}
			if got := w.signalbox("run", "plan.md"); got.code != 2 {
				t.Fatalf("exit code %d:\n%s%s", got.code, got.out, w.story())
			}
			end := payload[delivery.Ended](w, delivery.SessionEnded)
			if end.How != delivery.OverBudget || !strings.HasPrefix(c.budget, string(end.Budget)) || end.Usage.InputTokens < 20000 {
				t.Errorf("the developer ended: %+v", end)
			}
			if q := payload[delivery.Question](w, delivery.QuestionAsked); q.Cause != delivery.CauseBudget || q.Task != "T-1" {
				t.Errorf("asked: %+v", q)
			}
			server.Release("the budget")
			w.signalbox("answer", "R1-Q1", c.answer)
			w.completed(w.deliver())
			if t.Failed() {
				t.Log(w.story())
			}
		})
	}
}
