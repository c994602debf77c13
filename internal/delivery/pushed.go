package delivery

import (
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// Pushed says that the box's own repository has what a session on another machine has done so far, or why it can't have it.
type Pushed struct{ Session, Commit, Problem string }

func (in Pushed) decide(r *Run, _ time.Time) ([]Write, error) {
	if !commitName.MatchString(in.Commit) && (in.Commit != "" || in.Problem == "") { // a branch of the user's, say, which would be fetched by its name
		return nil, fmt.Errorf("what %.60s has done: %w", in.Session, work.ErrBadCommit)
	}
	s := r.Sessions[in.Session]
	t := r.Task(in.taskOf(s))
	if t == nil || !s.Holds() || Reviewer(s.Role) || s.Over == byPerson || s.Pushed && t.Pushed == in.Commit && t.Unpushed == in.Problem {
		return nil, nil // of a session that is over the commit is kept, and nothing begins with it
	}
	return []Write{r.event(WorkPushed, s.ID, WorkAt{Task: s.Task, Role: s.Role, Runner: s.Runner, Commit: in.Commit, Problem: cut(in.Problem)})}, nil
}

func (Pushed) taskOf(s *Session) string {
	if s == nil {
		return ""
	}
	return s.Task
}

// WorkAt is the payload of WorkPushed.
type WorkAt struct {
	Task    string        `json:"task"`
	Role    agentsig.Role `json:"role,omitempty"`   // of the session
	Runner  string        `json:"runner,omitempty"` // that it is on
	Commit  string        `json:"commit,omitempty"`
	Problem string        `json:"problem,omitempty"` // why what the session has done can't be judged
}

// pushed notes where work is that was done on another machine.
func (r *Run) pushed(session string, p WorkAt) {
	if s := r.Sessions[session]; s != nil {
		s.Pushed = true
	}
	t := r.Task(p.Task)
	if t == nil {
		return
	}
	if t.Unpushed = p.Problem; p.Problem == "" {
		t.at(p.Commit)
	}
}
