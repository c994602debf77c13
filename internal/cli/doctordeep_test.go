package cli

import (
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/runner"
)

// What is said of an agent that was asked for one word.
func TestJudgeAnswer(t *testing.T) {
	c := config.Config{Agents: map[string]config.Agent{"a": {Command: []string{"/opt/claude", "--model=x"}}}}
	for _, w := range []struct {
		answer               runner.Answer
		state, outcome, text string
	}{
		{runner.Answer{How: api.HowDone, Said: "ready", Usage: delivery.Usage{InputTokens: 100, OutputTokens: 20}}, command.Fine, "answered", "answered after 1.5 s: ready (120 tokens)"},
		{runner.Answer{How: api.HowDone}, command.Warning, "no_answer", "no answer: it ended its turn after 1.5 s and said nothing"},
		{runner.Answer{How: api.HowLoggedOut, Detail: "its words"}, command.Missing, "not_logged_in", "not logged in: log in with the program (claude), or give it a key in the agent's env\nits words"},
		{runner.Answer{How: api.HowLimited, Detail: "its words"}, command.Warning, "limited", "its provider's limit is reached: its words"},
		{runner.Answer{How: api.HowTimedOut}, command.Missing, "no_answer", "no answer within 1.5 s"},
		{runner.Answer{How: api.HowStalled, Said: "I look."}, command.Missing, "no_answer", "no answer within 1.5 s; its last words: I look."},
		{runner.Answer{How: api.HowCrashed, Said: "ready", Detail: "exit status 3"}, command.Missing, "failed", "failed: exit status 3"},
		{runner.Answer{How: "of a later version"}, command.Missing, "failed", "failed: it does not say why"},
	} {
		w.answer.Agent, w.answer.Role, w.answer.Took = "a", agentsig.RoleCritic, 1500*time.Millisecond
		got := judgeAnswer(w.answer, c)
		if got.State != w.state || got.Outcome != w.outcome || got.Text != "a (as critic): "+w.text || got.Seconds != 1.5 || got.Agent != "a" {
			t.Errorf("%+v", got)
		}
	}
}
