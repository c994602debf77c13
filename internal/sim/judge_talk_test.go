package sim_test

import (
	"fmt"
	"strings"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// talkFacts is what is on record about the conversation of a task's last developer.
type talkFacts struct {
	session, agent, id string
	full               bool           // too long to be gone on with
	spoilt             bool           // it was given up, or the task is another one since
	unsure             bool           // the last session may not have taken it up
	failed             delivery.Cause // the last that went wrong, since a person looked
	again              bool           // and the time before, too
}

// conversation is the one that a session of a developer's goes on with, or begins.
func (w *world) conversation(s *delivery.Session) *delivery.Conversation {
	if !w.talks {
		return nil
	}
	c := &delivery.Conversation{ID: strings.ReplaceAll(s.ID, ".", "_"), Context: int64(w.rand.IntN(90)), Window: 100}
	if s.Resumes != nil {
		c.ID = s.Resumes.Conversation.ID
	}
	return c
}

// forgets has a process begin afresh that was to go on with a conversation.
func (w *world) forgets(p *process, s *delivery.Session) {
	if s.Resumes != nil && !w.calm && w.chance(15) {
		w.commits++
		p.talk.ID = fmt.Sprintf("other%d", w.commits)
		p.send(delivery.Forgotten{Session: p.id, Reason: "No conversation found"})
	}
}

// talkGranted sees that nobody goes on with a conversation but a developer, with its own last one, and that one is not left
// without a reason.
func (j *judge) talkGranted(t *taskFacts, s *sessionFacts, p work.Granted) error {
	talk := t.talk
	away := talk.session != "" && j.sessions[talk.session].runner != p.Runner
	switch may := !away && !talk.spoilt && !talk.full && !talk.again && talk.agent == p.Agent && j.set.Settings.Rework != delivery.ReworkFresh; {
	case p.Role != agentsig.RoleDeveloper:
		if p.Resumes != "" || p.Fresh != "" {
			return breaks("the %s of %s goes on with %q, afresh for %q", p.Role, t.id, p.Resumes, p.Fresh)
		}
		return nil
	case p.Resumes != "" && (p.Resumes != talk.session || talk.id == "" || !may):
		return breaks("%s goes on with %s: %+v", s.id, p.Resumes, talk)
	case p.Resumes == "" && talk.id != "" && !talk.unsure && p.Fresh == "":
		return breaks("%s does not go on with %s, and nobody says why", s.id, talk.session)
	case p.Resumes == "" && talk.id != "" && !talk.unsure && may:
		return breaks("%s does not go on with %s, for %q", s.id, talk.session, p.Fresh)
	}
	if p.Resumes == "" {
		t.talk = talkFacts{}
	}
	s.resumes, s.agent = p.Resumes, p.Agent
	return nil
}

// kinds are the causes that are counted as one: the same went wrong.
var kinds = map[delivery.Cause]delivery.Cause{
	delivery.CauseGates: delivery.CauseGates, delivery.CauseUnchanged: delivery.CauseGates, delivery.CauseReviews: delivery.CauseReviews,
	delivery.CauseAudits: delivery.CauseAudits, delivery.CauseMerges: delivery.CauseMerges,
}

func (t *talkFacts) wrong(cause delivery.Cause) {
	if cause != "" {
		t.again, t.failed = t.failed == cause, cause
	}
}

// talkEnded takes the conversation that a developer has left.
func (j *judge) talkEnded(s *sessionFacts, over bool, p delivery.Ended) {
	t := j.byID[s.task]
	if s.role != agentsig.RoleDeveloper || t == nil {
		return
	}
	switch {
	case p.Conversation != nil:
		t.talk.session, t.talk.agent, t.talk.id, t.talk.unsure = s.id, s.agent, p.Conversation.ID, false
		t.talk.full = p.Conversation.Context >= int64(j.set.Settings.Limits.ContextPercent)
	case s.resumes != "":
		t.talk.unsure = true
	default:
		t.talk.id = ""
	}
	t.talk.spoilt = t.talk.spoilt || s.givenUp || p.How == delivery.Lost
	switch {
	case over:
	case p.How == delivery.Crashed:
		t.talk.wrong(delivery.CauseCrashes)
	case p.How == delivery.TimedOut, p.How == delivery.Stalled:
		t.talk.wrong(delivery.CauseTimeouts)
	}
}

// freshCauses are why developers begin afresh.
func freshCauses() []string {
	return []string{
		"rework is set to fresh", "the last one did not come to an end", "the conversation is # % full", "the plan was amended",
		twice, elsewhere, lostRunner,
	}
}

// twice is how those end that say what went wrong in the same way.
const twice = "twice in a row"

// elsewhere and lostRunner begin those that name a machine.
const (
	elsewhere  = "its conversation is on"
	lostRunner = "its runner"
)

// freshCause is one of them: without the number in it.
func freshCause(words string) string {
	for _, begins := range []string{elsewhere, lostRunner} {
		if strings.HasPrefix(words, begins) {
			return begins
		}
	}
	if strings.HasSuffix(words, twice) {
		return twice
	}
	fields := strings.Fields(words)
	for i, f := range fields {
		if strings.Trim(f, "0123456789") == "" {
			fields[i] = "#"
		}
	}
	return strings.Join(fields, " ")
}
