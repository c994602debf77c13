//go:build unix

package session_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/session/agent"
)

// uses is a line of sh that says what the program has used so far.
func uses(tokens string) string {
	return `echo '{"input_tokens":` + tokens + `}' > "$SIGNALBOX_USAGE.new" && mv "$SIGNALBOX_USAGE.new" "$SIGNALBOX_USAGE"` + "\n"
}

// A session ends its agent by itself at the limit of a turn, of its task or of its run, and says which. What was used counts
// though the turn was cut.
func TestBudgetEndsTurn(t *testing.T) {
	for scope, budget := range map[delivery.Scope]delivery.Allowance{
		delivery.ScopeTurn: {Turn: delivery.Spend{Tokens: 100}, Task: delivery.Spend{Tokens: 1000}},
		delivery.ScopeTask: {Turn: delivery.Spend{Tokens: 1000}, Task: delivery.Spend{Tokens: 100}},
		delivery.ScopeRun:  {Run: delivery.Spend{Tokens: 100}},
	} {
		t.Run(string(scope), func(t *testing.T) {
			t.Parallel()
			s := spec(t, uses("120")+"sleep 600")
			s.Budget = budget
			r := start(t, s)
			last := lastReport(r)
			if last.How != api.HowOverBudget || last.Budget != scope || last.Usage.InputTokens != 120 || !strings.Contains(last.Detail, "120 tokens") {
				t.Errorf("%+v", last)
			}
		})
	}
}

// lastReport returns the last report, after those that tell what is used.
func lastReport(r *run) api.SessionReport {
	r.t.Helper()
	var last api.SessionReport
	r.until("end", func(b *box) bool {
		if n := len(b.reports); n > 0 && b.reports[n-1].Kind == api.ReportEnded {
			last = b.reports[n-1]
			return true
		}
		return false
	})
	r.wait()
	return last
}

// At 90 % an agent that can be told so is asked to wrap up, once; it comes to its end.
func TestBudgetWrapUp(t *testing.T) {
	t.Parallel()
	s := spec(t, "read prompt\n"+uses("90")+`read told; echo "$told" > told
	printf 'READY_FOR_REVIEW: T-1\n{"type":"turn_end"}\n'; cat > /dev/null`)
	s.Agent.Input = agent.InputJSON
	s.Budget.Task.Tokens = 100
	r := start(t, s)
	if note := r.next(api.ReportNote); note.Usage.InputTokens != 90 {
		t.Errorf("the box is told: %+v", note)
	}
	r.next(api.ReportTurn)
	r.end()
	var told struct{ Type, Text string }
	if err := json.Unmarshal([]byte(await(t, s.Dir+"/told")), &told); err != nil || told.Type != agent.MessageTell || !strings.Contains(told.Text, "90 % of what this task may use") {
		t.Errorf("told: %+v (%v)", told, err)
	}
}

// One that can't be told anything in a turn is told with its next prompt. What was used before counts in a task, and not in
// a further turn.
func TestBudgetWrapUpLater(t *testing.T) {
	t.Parallel()
	s := spec(t, `cat > "prompt-$SIGNALBOX_TURN"`+"\n"+uses("95")+`[ $SIGNALBOX_TURN = 1 ] || sleep 600
	until [ -e noted ]; do sleep 0.05; done; echo fine`)
	s.Budget = delivery.Allowance{Turn: delivery.Spend{Tokens: 100}, Task: delivery.Spend{Tokens: 200}}
	s.Budget.Task.Tokens = 105
	r := start(t, s)
	r.next(api.ReportNote)
	touch(t, s, "noted")
	if turn := r.next(api.ReportTurn); turn.Usage.InputTokens != 95 {
		t.Errorf("%+v", turn)
	}
	r.send(api.SessionCommand{ID: "p-1", Kind: api.CommandPrompt, Text: "and now?"})
	last := lastReport(r)
	if last.How != api.HowOverBudget || last.Budget != delivery.ScopeTask || last.Usage.InputTokens != 190 {
		t.Errorf("%+v", last)
	}
	if prompt := await(t, s.Dir+"/prompt-2"); !strings.HasPrefix(prompt, "and now?") || !strings.Contains(prompt, "Wrap up now") {
		t.Errorf("prompted: %q", prompt)
	}
}
