package prompt

import (
	_ "embed" // the text
	"strings"
	"text/template"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/plan"
	"github.com/signalbox-dev/signalbox/safetext"
)

//go:embed draft.md
var draft string

// DraftSubject is what the signals of an agent name that drafts a plan.
const DraftSubject = "PLAN"

// Draft is what an agent is told that is to write a plan.
type Draft struct {
	Goal   string
	Checks []plan.Check // that the gate will run
	Nonce  string       // that its plan and its signals have to carry

	// Refused says what is wrong with the plan that it has written before, and Before is that plan, if there was one. Some
	// programs remember nothing, so they are told all of it again.
	Refused, Before string
}

// Text returns what the agent is told.
func (d Draft) Text() (string, error) {
	t, err := template.New("draft").Option("missingkey=error").Parse(draft)
	if err != nil {
		return "", err
	}
	signals, err := agentsig.LineInstructions(agentsig.RoleAnalyst, DraftSubject, d.Nonce, agentsig.KindFileConflict)
	if err != nil {
		return "", err
	}
	d.Goal, d.Refused, d.Before = quote(d.Goal), quote(d.Refused), quote(d.Before)
	var b strings.Builder
	err = t.Execute(&b, struct {
		Draft
		Begins, Ends, Signals string
	}{d, beginsPlan + d.Nonce, endsPlan + d.Nonce, signals})
	return b.String(), err
}

// The lines that a plan stands between, with the nonce behind them.
const (
	beginsPlan = "PLAN_BEGINS run="
	endsPlan   = "PLAN_ENDS run="
)

// Drafted returns the plan in what an agent said, if there is one: the last that is whole. It is safe to print.
func (d Draft) Drafted(said string) (string, bool) {
	var found string
	var lines []string
	ok, open := false, false
	for line := range strings.Lines(said) {
		switch strings.TrimSpace(line) {
		case beginsPlan + d.Nonce:
			lines, open = nil, true
		case endsPlan + d.Nonce:
			if open {
				found, ok, open = strings.Join(lines, ""), true, false
			}
		default:
			if open {
				lines = append(lines, line)
			}
		}
	}
	return safetext.EscapeLines(strings.ReplaceAll(found, "\r\n", "\n")), ok
}
