package session

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/session/agent"
)

// Resume is the conversation that a session goes on with: one of the same developer's.
type Resume struct {
	Conversation delivery.Conversation `json:"conversation"`
	Prompt       string                `json:"prompt"` // what is new; [Spec.Prompt] says all, if the conversation is gone
}

// check refuses a conversation for anybody but a developer: who judges begins afresh.
func (r *Resume) check(s Spec) error {
	if r == nil {
		return nil
	}
	if s.Role != agentsig.RoleDeveloper || s.Judges {
		return fmt.Errorf("the role %s goes on with no conversation", s.Role)
	}
	return r.Conversation.Check()
}

// firstPrompt is what the agent is told first.
func (s Spec) firstPrompt() string {
	if s.Resume != nil {
		return s.Resume.Prompt
	}
	return s.Prompt
}

// forgotten takes that the agent's program can't go on with a conversation: the box is told, and once the program is
// gone the agent is told all, as if there had been none.
func (r *runner) forgotten(e agent.Event) {
	t := r.turn
	if t == nil || r.ending != nil || r.spec.Resume == nil {
		return
	}
	why := string(e.Text)
	if why == "" {
		why = t.errs.line()
	}
	if why == "" {
		why = "the program does not say why"
	}
	r.report(api.SessionReport{Kind: api.ReportNote, Turn: r.turns, Forgotten: why})
	r.spec.Resume, r.afresh = nil, true
	r.agent.End() // one that stays
}

// beginAfresh begins the first turn once more.
func (r *runner) beginAfresh() {
	r.afresh, r.turn = false, nil
	r.begin(api.SessionCommand{Text: r.spec.Prompt})
}

// Continues says why the agent of a session can't go on with the conversation of another one, which had its own directory: it
// has to be started as that one was, at the same place.
func (s Spec) Continues(dir string) error {
	last, err := readSpec(dir)
	s = s.withDefaults()
	switch {
	case err != nil:
		return errors.New("nothing is left here of the session that it was in")
	case !reflect.DeepEqual(last.Agent, s.Agent) || !slices.Equal(last.Env, s.Env) || last.Dir != s.Dir:
		return errors.New("the agent's settings have changed")
	}
	return nil
}
