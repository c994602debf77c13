package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/runner"
)

// askTime is how long an agent has to say one word.
const askTime = 2 * time.Minute

// answered is what was found by asking an agent.
type answered struct {
	command.Finding
	Agent   string         `json:"agent,omitempty"`
	Role    agentsig.Role  `json:"role,omitempty"`
	Outcome string         `json:"outcome"`
	Seconds float64        `json:"seconds"`
	Usage   delivery.Usage `json:"usage,omitzero"`
}

// What can come of asking an agent.
const (
	outcomeAnswered = "answered"
	outcomeLogin    = "not_logged_in"
	outcomeLimited  = "limited"
	outcomeSilent   = "no_answer"
	outcomeFailed   = "failed"
)

// askAgents asks each agent that plays a role for one word, and says what came of it. It fails only if ctx ends.
func (a *app) askAgents(ctx context.Context) ([]answered, error) {
	c, err := a.settings("")
	if err != nil {
		return nil, nil // which is said already
	}
	agents, _ := runner.Asked(c)
	if len(agents) == 0 {
		return nil, nil
	}
	fmt.Fprintf(a.Err, "asking %s for one word each, which costs tokens: %s\n", english.Count(len(agents), "agent"), strings.Join(agents, ", "))
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	hidden, err := a.hiddenHere(c)
	if err != nil {
		return nil, err
	}
	answers, err := runner.Ask(ctx, runner.Inquiry{Repo: a.home, Program: program, Config: c, Time: askTime, Hidden: hidden})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var all []answered
	for _, answer := range answers {
		all = append(all, judgeAnswer(answer, c))
	}
	if err != nil {
		all = append(all, answered{Finding: command.Finding{Name: "answer", State: command.Missing, Text: fmt.Sprintf("the agents could not be asked: %v", err)}, Outcome: outcomeFailed})
	}
	if !a.JSON {
		for _, found := range all {
			a.SayFindings([]command.Finding{found.Finding})
		}
	}
	return all, nil
}

// judgeAnswer puts an answer into words.
func judgeAnswer(answer runner.Answer, c config.Config) answered {
	state, outcome, text := command.Missing, outcomeFailed, "failed: "+cmp.Or(answer.Detail, "it does not say why")
	took := fmt.Sprintf("%.1f s", answer.Took.Seconds())
	switch answer.How {
	case api.HowDone:
		state, outcome, text = command.Fine, outcomeAnswered, fmt.Sprintf("answered after %s: %s", took, answer.Said)
		if answer.Said == "" {
			state, outcome, text = command.Warning, outcomeSilent, fmt.Sprintf("no answer: it ended its turn after %s and said nothing", took)
		}
		if used := answer.Usage.InputTokens + answer.Usage.OutputTokens; used > 0 {
			text += fmt.Sprintf(" (%d tokens)", used)
		}
	case api.HowLoggedOut:
		outcome, text = outcomeLogin, "not logged in: give it a key, in the agent's env or where the box is started\n"+answer.Detail
		if agent := c.Agents[answer.Agent]; agent.Adapter != config.AdapterAsk {
			text = fmt.Sprintf("not logged in: log in with the program (%s), or give it a key in the agent's env\n%s", filepath.Base(agent.Command[0]), answer.Detail)
		}
	case api.HowLimited:
		state, outcome, text = command.Warning, outcomeLimited, "its provider's limit is reached: "+answer.Detail
	case api.HowTimedOut, api.HowStalled:
		outcome, text = outcomeSilent, "no answer within "+took
		if answer.Said != "" {
			text += "; its last words: " + answer.Said
		}
	}
	return answered{
		Finding: command.Finding{Name: "answer", State: state, Text: fmt.Sprintf("%s (as %s): %s", answer.Agent, answer.Role, text)},
		Agent:   answer.Agent, Role: answer.Role, Outcome: outcome, Seconds: float64(answer.Took.Milliseconds()) / 1000, Usage: answer.Usage,
	}
}
