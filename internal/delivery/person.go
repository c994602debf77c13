package delivery

import (
	"errors"
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/safetext"
)

// Person plays a role as an agent does, and is never started: a task whose next role is a person's waits for what that
// person says ([Review], [Take], [Give]), for as long as it takes. What is recorded is what an agent in the role
// would have brought about, with the operator as its actor.
const Person = work.PersonAgent

// Part is what a person is awaited for on a task.
type Part string

// The parts.
const (
	PartReview Part = "review" // as critic or auditor, or of a merge before it is made
	PartTake   Part = "take"   // as developer
	PartGive   Part = "give"   // they have taken it
)

// Awaited says what a person is awaited for on a task, and in which role, or [RoleMerge]; nothing, if nobody waits for one.
func (r *Run) Awaited(t *Task) (Part, agentsig.Role) {
	role, ok := roleFor(t.Item.Phase)
	switch held := t.Item.Lease; {
	case r.proposed(t):
		return PartReview, RoleMerge
	case r.dead(t) || !r.Live() || r.Stopping != "" || !ok || t.Item.Judged() || r.reviewSuffices(t) || t.Item.Agreed() || t.Anew != "" || r.SessionOf(t.ID) != nil:
	case held.ByPerson() && Reviewer(held.Role):
		return PartReview, held.Role
	case held.ByPerson():
		return PartGive, held.Role
	case held != nil || t.Question != "" || t.Need != nil || t.Trouble || r.Settings.Roles[role].Agent != Person || r.blocker(t) != "":
	case Reviewer(role):
		return PartReview, role
	default:
		return PartTake, role
	}
	return "", ""
}

// awaitsPerson reports whether a task waits for a person who plays a role.
func (r *Run) awaitsPerson(t *Task) bool {
	part, _ := r.Awaited(t)
	return part != ""
}

// ForReview says what a task waits for that a person reviews or audits.
const ForReview = "for your review"

// partWords say what a task waits for.
var partWords = map[Part]string{PartReview: ForReview, PartTake: "for you to take it", PartGive: "for you to give it"}

// Words say to a person what they are awaited for.
func (p Part) Words(role agentsig.Role) string {
	switch p {
	case PartReview:
		if role == RoleMerge {
			return "to review, before it is merged"
		}
		return "to review, as " + string(role)
	case PartTake:
		return "to do, as " + string(role)
	}
	return "you have taken it"
}

// Why a person's word on a task is refused.
var (
	ErrNoReview = errors.New("the task does not wait for a review of yours")
	ErrOtherNow = errors.New("this is not what you were shown: look at it again")
	ErrNotTaken = errors.New("you have not taken the task")
)

// Review is a person's verdict on a task, as critic or auditor: a signal of that role, on what they were shown.
type Review struct {
	Actor  string
	Task   string
	Role   agentsig.Role
	Shown  work.Seen // without a session
	Signal agentsig.Signal
	Said   work.Said
	Key    string // the same again is the same verdict
}

func (in Review) decide(r *Run, _ time.Time) ([]Write, error) {
	if t := r.Task(in.Task); t != nil && len(t.Item.Recorded(in.Key)) > 0 {
		return nil, nil
	}
	if err := r.checkTask(in.Task); err != nil {
		return nil, err
	}
	t := r.Task(in.Task)
	part, role := r.Awaited(t)
	if part != PartReview || role == RoleMerge {
		return nil, fmt.Errorf("%s: %w", safetext.Escape(in.Task), ErrNoReview)
	}
	if in.Role != role || t.Item.Commit != "" && in.Shown.Commit != t.Item.Commit {
		return nil, fmt.Errorf("%s at %s: %w", t.ID, short(t.Item.Commit), ErrOtherNow)
	}
	var writes []Write
	token := work.Token{Epoch: r.Epoch, Counter: t.Item.Granted + 1}
	if l := t.Item.Lease; l != nil { // a box was killed in the middle of this
		token = l.Token
	} else {
		writes = append(writes, t.do(work.Grant{Epoch: token.Epoch, Actor: in.Actor, Role: role, Agent: Person}))
	}
	if seen := in.Shown; t.shown(role) != (work.Seen{Session: token.Session(t.Item.Subject), Commit: seen.Commit, Tree: seen.Tree, Base: seen.Base}) {
		writes = append(writes, t.do(work.Show{Token: token, Commit: seen.Commit, Tree: seen.Tree, Base: seen.Base}))
	}
	return append(writes, t.do(work.End{Token: token, Actor: in.Actor, Signal: in.Signal, Said: in.Said, Key: in.Key})), nil
}

// shown returns what a reviewer was given to look at.
func (t *Task) shown(role agentsig.Role) work.Seen {
	if role == agentsig.RoleCritic {
		return t.Item.Review
	}
	return t.Item.Audit
}

// Take gives a task to a person, who works on it until they [Give] it. An agent that works on it is told to end.
type Take struct{ Actor, Task string }

func (in Take) decide(r *Run, _ time.Time) ([]Write, error) {
	if err := r.checkTask(in.Task); err != nil {
		return nil, err
	}
	t := r.Task(in.Task)
	switch b := r.blocker(t); {
	case r.Stopping != "":
		return nil, ErrEnding
	case r.dead(t):
		return nil, fmt.Errorf("%s: %w", t.ID, ErrDropped)
	case t.Item.Judged():
		return nil, fmt.Errorf("%s: %w", t.ID, work.ErrAudited)
	case b != "":
		return nil, fmt.Errorf("%s: %w: %s", t.ID, ErrBlocker, b)
	case t.Taken():
		return nil, nil
	}
	return []Write{t.do(work.Take{Epoch: r.Epoch, Actor: in.Actor})}, nil
}

// Why a task can't be taken.
var (
	ErrEnding  = errors.New("the run is being ended: nobody goes on with its tasks")
	ErrDropped = errors.New("the task was given up: retry it first")
	ErrBlocker = errors.New("the task can't be begun before another one is merged")
)

// Taken reports whether a person works on the task.
func (t *Task) Taken() bool { return t.Item.Lease.ByPerson() && !Reviewer(t.Item.Lease.Role) }

// Give hands a task in that a person has taken, with the signal of a developer; or, back, to agents.
type Give struct {
	Actor  string
	Task   string
	Back   bool
	Text   string // for the next agent, if it goes back
	Signal agentsig.Signal
	Said   work.Said
	Commit string // that is handed in
	Key    string
}

func (in Give) decide(r *Run, _ time.Time) ([]Write, error) {
	t := r.Task(in.Task)
	if t != nil && len(t.Item.Recorded(in.Key)) > 0 {
		return nil, nil
	}
	if err := r.checkTask(in.Task); err != nil {
		return nil, err
	}
	switch {
	case r.dead(t):
		return nil, fmt.Errorf("%s: %w", t.ID, ErrDropped)
	case !t.Taken():
		return nil, fmt.Errorf("%s: %w", t.ID, ErrNotTaken)
	case in.Back:
		writes := []Write{t.do(work.Release{Actor: in.Actor, Token: t.Item.Lease.Token, Key: in.Key})}
		if _, told := r.ToldBy(in.Key); in.Text != "" && !told {
			writes = append([]Write{r.operator(in.Actor, MessageTold, "", Message{in.Task, cut(in.Text), in.Key})}, writes...)
		}
		return writes, nil
	}
	return []Write{t.do(work.End{Token: t.Item.Lease.Token, Actor: in.Actor, Signal: in.Signal, Said: in.Said, Given: in.Commit, Key: in.Key})}, nil
}

// workTaken forgets what stood in a task's way: a person has taken it over.
func (r *Run) workTaken(t *Task) {
	r.closeQuestions(t.ID)
	t.reset()
	t.Trouble, t.Skipped = false, false
	t.NoChange, t.Given, t.Anew = "", "", ""
	t.Developer.lose(byHand)
}

// personReviewsRepair asks a person who plays the critic about a repair, and has it passed once they accept it.
func (r *Run) personReviewsRepair() Write {
	m := r.Remediation
	if m.Accepted {
		return r.operator(orSome(m.AcceptedBy, work.OperatorActor), RepairReviewed, "", RepairReview{Round: m.Round, Commit: m.Repair.Commit, Passed: true})
	}
	return r.askAboutRepair("you review it")
}
