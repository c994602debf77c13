package delivery

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
	"github.com/signalbox-dev/signalbox/safetext"
)

// Conversation is what an agent's program can go on with later, as the program tells it.
type Conversation struct {
	ID      string `json:"id"`
	Counted Usage  `json:"counted,omitzero"`  // all that the program has counted in it, and that is counted already
	Context int64  `json:"context,omitempty"` // tokens that its last call of the model had
	Window  int64  `json:"window,omitempty"`  // how many it can have; 0 if the program does not tell
	Model   string `json:"model,omitempty"`   // that the agent itself spoke with last, by the name that the program has for it; empty if it does not tell
}

// conversationID is what the id of a conversation looks like: it becomes an argument of a command.
var conversationID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`)

// Check says whether a program can have such a conversation.
func (c Conversation) Check() error {
	switch {
	case !conversationID.MatchString(c.ID):
		return errors.New("the id of a conversation has 1 to 128 letters, digits, - and _, and begins with a letter or a digit")
	case c.Context < 0 || c.Context > maxTokens || c.Window < 0 || c.Window > maxTokens:
		return fmt.Errorf("a conversation has from 0 to %.0f tokens", maxTokens)
	case ModelName(c.Model) != c.Model:
		return fmt.Errorf("the name of a model has at most %d bytes, and nothing that a terminal acts upon", maxModel)
	}
	return c.Counted.Check()
}

// ModelName returns the name of a model as a program tells it; nothing if it can't be one.
func ModelName(name string) string {
	if len(name) > maxModel || safetext.Escape(name) != name {
		return ""
	}
	return name
}

// maxModel is how long the name of a model can be, in bytes.
const maxModel = 128

// percent is how full it is; 0 if the program does not tell.
func (c Conversation) percent() int64 {
	if c.Window <= 0 {
		return 0
	}
	return 100 * c.Context / c.Window
}

// Rework says with what conversation a developer goes on whose work was sent back.
type Rework string

// The ways.
const (
	ReworkResumed Rework = "resumed" // its own, if that can be had
	ReworkFresh   Rework = "fresh"   // none
)

// Developer is the last agent that developed a task, and what can be gone on with of it.
type Developer struct {
	Session      string
	Agent        string
	Conversation Conversation // zero if it left none
	Lost         string       // why nobody goes on with it
	Told         int          // how many of the task's briefs it knows
	Runner       string       // that it was on, with its worktree and what its program remembers
	Failed       string       // what went wrong last, since a person looked at it: a kind of [Brief]
	Again        bool         // and the time before, too
}

// lose keeps the conversation from being gone on with.
func (d *Developer) lose(why string) { d.Lost = orSome(d.Lost, why) }

// fails notes what went wrong.
func (d *Developer) fails(kind string) { d.Again, d.Failed = d.Failed == kind, kind }

// failing are the kinds of what can go wrong, in words.
var failing = map[string]string{
	"gate": "the gate failed", "review": "the review failed", "audit": "the audit failed", "merge": "the merge failed",
	"crash": "the agent crashed", "time-out": "the agent ran out of time",
}

// Resumed is whose conversation a session goes on with.
type Resumed struct {
	Session      string
	Conversation Conversation
	Told         int // how many of the task's briefs that one knows
}

// develops notes that a session develops a task, in the conversation of the one before if that is what was granted.
func (t *Task) develops(s *Session, resumes string) {
	last := t.Developer
	t.Developer = Developer{Session: s.ID, Agent: s.Agent, Runner: s.Runner, Told: len(t.Briefs)}
	if resumes != "" && resumes == last.Session && last.Conversation.ID != "" {
		s.Resumes = &Resumed{last.Session, last.Conversation, last.Told}
		t.Developer.Failed = last.Failed
	}
}

// endOfTalk takes what conversation a developer has left. One that was given up is not gone on with; one that was not taken
// up is as it was before.
func (t *Task) endOfTalk(s *Session, p Ended) {
	d := &t.Developer
	if d.Session != s.ID {
		return
	}
	switch {
	case p.Conversation != nil && p.Conversation.Check() == nil:
		d.Conversation = *p.Conversation
	case s.Resumes != nil && s.Turn == 0 && s.Over != itFinished:
		d.Session, d.Conversation, d.Told = s.Resumes.Session, s.Resumes.Conversation, s.Resumes.Told
	}
	switch {
	case p.How == Lost:
		d.lose("its runner " + s.Runner + " was lost")
	case s.GivenUp:
		d.lose("the last one did not come to an end")
	case s.Over != "":
	case p.How == Crashed:
		d.fails("crash")
	case p.How == TimedOut || p.How == Stalled:
		d.fails("time-out")
	}
}

// goesOn returns whose conversation the next developer of a task goes on with, or why it begins afresh; neither if
// there is none to go on with.
func (r *Run) goesOn(t *Task, agent string) (session, fresh string) {
	d, full := t.Developer, t.Developer.Conversation.percent()
	switch most := int64(r.Settings.Limits.ContextPercent); {
	case d.Conversation.ID == "":
		return "", ""
	case r.Settings.Rework == ReworkFresh:
		return "", "rework is set to fresh"
	case d.Agent != agent:
		return "", "another agent has worked on it"
	case d.Lost != "":
		return "", d.Lost
	case d.Again:
		return "", failing[d.Failed] + " twice in a row"
	case most > 0 && full >= most:
		return "", fmt.Sprintf("the conversation is %d %% full", full)
	}
	return d.Session, ""
}

// News returns what a session that goes on with a conversation has to be told: the briefs that are new since then.
func (t *Task) News(s *Session) []Brief {
	if s.Resumes == nil {
		return t.Briefs
	}
	return t.Briefs[min(s.Resumes.Told, len(t.Briefs)):]
}

// leaseGranted takes note of who works on a task.
func (r *Run) leaseGranted(t *Task, e ledger.Event, p work.Granted) {
	l := t.Item.Lease
	if l.Agent == "" || l.ByPerson() {
		if p.Phase == agentsig.PhaseImplementation {
			t.Developer.lose(byHand)
		}
		return
	}
	s := &Session{ID: t.Item.Session(), Role: l.Role, Agent: l.Agent, Task: t.ID, Runner: l.Runner, Started: e.Time}
	r.Sessions[s.ID] = s
	t.Conflict, t.Awaits = keepTries(t.Conflict), ""
	if !Reviewer(l.Role) {
		t.Missing = ""
	}
	if l.Role == agentsig.RoleDeveloper {
		t.develops(s, p.Resumes)
	}
}

// byPerson is why a session ends whose task a person has taken.
const byPerson = "a person has taken the task"

// byHand is why a conversation is not gone on with: the work is not what its agent has written.
const byHand = "somebody worked on it by hand since"

// Forgotten says that a session can't go on with the conversation that it was granted, and begins afresh.
type Forgotten struct{ Session, Reason string }

func (in Forgotten) decide(r *Run, _ time.Time) ([]Write, error) {
	s := r.Sessions[in.Session]
	if s == nil || s.Resumes == nil {
		return nil, nil
	}
	return []Write{r.event(ConversationLost, s.ID, OnTask{s.Task, cut(in.Reason)})}, nil
}

func (r *Run) conversationLost(e ledger.Event, _ OnTask) {
	s := r.Sessions[e.Session]
	if s == nil {
		return
	}
	s.Resumes = nil
	if t := r.Task(s.Task); t != nil && t.Developer.Session == s.ID {
		t.Developer.Failed = ""
	}
}
