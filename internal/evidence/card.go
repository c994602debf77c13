package evidence

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// Card is the evidence on a task: why somebody should believe that it is done, or see that it is not.
type Card struct {
	Task      string           `json:"task"` // its item's id
	Title     string           `json:"title"`
	State     string           `json:"state"`                // its phase, or [StateCancelled]
	Branch    string           `json:"branch,omitempty"`     // that work by hand is done on
	BoxChecks bool             `json:"box_checks,omitempty"` // the box runs the checks on it now, or will
	Waits     *api.Waiting     `json:"waits,omitempty"`      // what it waits for, if somebody has to be told
	Home      string           `json:"home,omitempty"`       // of its run, in a cluster: the box whose repository has its commits
	Asked     string           `json:"asked"`
	Attempts  []Attempt        `json:"attempts"`
	Claims    []work.Statement `json:"claims"` // of those who worked on it: nobody has checked them
	Gates     []Gate           `json:"gates"`
	Findings  []Finding        `json:"findings"`
	Questions []Question       `json:"questions"`
	Decisions []Decision       `json:"decisions"` // of people and their clients, on where the task goes
	Merge     *Merge           `json:"merge"`     // null if there is none
	Usage     delivery.Usage   `json:"usage"`     // of all attempts
	Proof     Proof            `json:"proof"`

	Rests []Happened `json:"-"` // the events that all this is from

	with string // the task with which it was given up
}

// Attempt is a session on the task, or a phase that the operator has set.
type Attempt struct {
	Sequence uint64          `json:"sequence"` // of the event that it began with
	Session  string          `json:"session,omitempty"`
	Who      string          `json:"who"`
	Role     string          `json:"role,omitempty"`
	Program  string          `json:"program,omitempty"` // that the box started, or person
	Runner   string          `json:"runner,omitempty"`  // that it was on; empty for the box's own machine
	Resumes  string          `json:"resumes,omitempty"` // the session whose conversation it goes on with
	Fresh    string          `json:"fresh,omitempty"`   // why it does not
	Began    time.Time       `json:"began"`
	Ended    time.Time       `json:"ended,omitzero"`
	Seconds  float64         `json:"seconds"` // until it ended; 0 if it has not
	Usage    *delivery.Usage `json:"usage,omitempty"`
	How      string          `json:"how,omitempty"`    // it ended
	Said     agentsig.Kind   `json:"said,omitempty"`   // its last word
	Commit   string          `json:"commit,omitempty"` // of a review: that it is a verdict on
	Detail   string          `json:"detail,omitempty"` // of an end that is no good one, and of what the operator did
}

// How attempts end for which the box started no program, and what the operator does to a task.
const (
	endReleased   = "released"
	endExpired    = "expired"
	endTaken      = "taken"
	endOverridden = "overridden"
	endUnread     = "no signal that counts"
	doneByHand    = "override"
)

// Gate is what the gate said of a commit.
type Gate struct {
	Sequence uint64     `json:"sequence"`
	At       time.Time  `json:"at"`
	By       string     `json:"by"`
	Commit   string     `json:"commit"`
	Passed   bool       `json:"passed"`
	Checks   []Check    `json:"checks"`              // that the box ran; none if the report came from outside, or nothing was checked
	Since    work.Since `json:"since,omitempty"`     // nothing was changed since then, so no check ran
	NoChange string     `json:"no_change,omitempty"` // why nothing was changed, as the developer claims

	Unchanged bool `json:"unchanged,omitempty"` // the checks ran, and nothing was changed

	Runner string `json:"runner,omitempty"` // that they ran on; empty for the box's own machine
	Signed bool   `json:"signed,omitempty"` // with that runner's key
}

// Check is one of the gate's checks.
type Check struct {
	Name      string `json:"name"`
	Passed    bool   `json:"passed"`
	Flaky     bool   `json:"flaky,omitempty"`
	Tolerated bool   `json:"tolerated,omitempty"` // it failed, and the gate let it pass: it fails on the base too
	Exit      *int   `json:"exit,omitempty"`      // none if it failed with 0, or before exit codes were recorded
}

// Finding is why the task was sent back: by a reviewer, the gate or its merge.
type Finding struct {
	work.Statement
	Role       string `json:"role,omitempty"`
	AnsweredBy string `json:"answered_by,omitempty"` // the next commit that the gate looked at
}

// Question is what somebody was asked about the task.
type Question struct {
	Sequence   uint64         `json:"sequence"`
	ID         string         `json:"id"`
	Cause      delivery.Cause `json:"cause"`
	At         time.Time      `json:"at"`
	Text       string         `json:"text"`
	Answer     string         `json:"answer,omitempty"`
	Choice     string         `json:"choice,omitempty"` // of an answer that means something
	By         string         `json:"by,omitempty"`     // who answered
	AnsweredAt time.Time      `json:"answered_at,omitzero"`
}

// Decision is the word of a person, or of a client of theirs, by which the task is worked on or not.
type Decision struct {
	Sequence uint64    `json:"sequence"`
	At       time.Time `json:"at"`
	By       string    `json:"by"`
	What     Decided   `json:"what"`
	Question string    `json:"question,omitempty"` // that was answered with it
	Text     string    `json:"text,omitempty"`     // the reason
}

// Decided is what was decided.
type Decided string

// What can be decided on a task.
const (
	GaveUp       Decided = "gave_up"
	Retried      Decided = "retried"
	Took         Decided = "took"
	GaveBack     Decided = "gave_back"
	CancelledRun Decided = "cancelled_run"
)

// Approval is a person's word for a merge before it was made.
type Approval struct {
	Sequence uint64    `json:"sequence"`
	At       time.Time `json:"at"`
	By       string    `json:"by"`
}

// Merge is that the task was merged.
type Merge struct {
	Sequence uint64          `json:"sequence"`
	At       time.Time       `json:"at"`
	By       string          `json:"by"`
	Commit   string          `json:"commit"`           // the merge
	Merges   string          `json:"merges"`           // what was judged
	Unseen   []agentsig.Role `json:"unseen,omitempty"` // the reviewers that the operator took it past
	Approved *Approval       `json:"approved,omitempty"`

	Unaudited bool `json:"unaudited,omitempty"` // no auditor has looked at it: its run was started without one
}

// Fold is a card in the making.
type Fold struct {
	card  Card
	about About     // which of its run's events are about the task
	work  Work      // as it is after the events so far
	last  *Approval // of a merge
}

// NewFold returns the card of an item, by its subject, before anything has happened. The task is its id in its run, and empty if it is
// in none.
func NewFold(subject, task string) *Fold {
	f := &Fold{about: NewAbout(subject, task)}
	f.card.Attempts, f.card.Claims, f.card.Gates, f.card.Findings, f.card.Questions = []Attempt{}, []work.Statement{}, []Gate{}, []Finding{}, []Question{}
	f.card.Decisions = []Decision{}
	return f
}

// Take takes the next event of the item and of its run, in the ledger's order.
func (f *Fold) Take(e Happened) error {
	take := f.takeRun
	if e.Subject == f.about.Subject {
		take = f.takeItem
	}
	if err := take(e); err != nil {
		return fmt.Errorf("event %d: %w", e.Sequence, err)
	}
	return nil
}

// Card returns the card as it is now, of an item that says what is asked now. What is taken later does not change it.
func (f *Fold) Card(w api.Work) Card {
	c := f.card
	c.Attempts, c.Claims, c.Gates = slices.Clone(c.Attempts), slices.Clone(c.Claims), slices.Clone(c.Gates)
	c.Findings, c.Questions, c.Rests = slices.Clone(c.Findings), slices.Clone(c.Questions), slices.Clone(c.Rests)
	c.Decisions = slices.Clone(c.Decisions)
	c.Task, c.Title, c.Asked, c.State, c.Branch, c.BoxChecks = f.work.Item.ID, w.Title, w.Asked, string(f.work.Item.Phase), f.work.Item.Branch, w.BoxChecks
	return c
}

// takeItem takes an event of the task's own.
func (f *Fold) takeItem(e Happened) (err error) {
	before := f.work.Item
	if err = f.work.Take(e); err != nil {
		return err
	}
	rests := true
	switch e.Type {
	case work.LeaseGranted, work.ReviewStarted, work.WorkTaken:
		if e.Type == work.WorkTaken {
			f.end(before, e, endTaken)
			f.decide(e, Took, "", "")
		}
		err = read(e, func(p work.Granted) {
			a := f.begin(e, p.Role, p.Agent)
			a.Runner, a.Resumes, a.Fresh = p.Runner, p.Resumes, p.Fresh
		})
	case work.LeaseReleased:
		f.end(before, e, endReleased)
		if before.Lease.ByPerson() && work.ByOperator(e.Actor) {
			f.decide(e, GaveBack, "", "")
		}
	case work.LeaseExpired:
		f.end(before, e, endExpired)
	case work.SignalFailure:
		f.end(before, e, endUnread)
	case work.AgentSessionCompleted:
		err = read(e, func(p work.Result) { f.said(e, p, before.Commit) })
	case work.GatePassed, work.GateFailed:
		err = read(e, func(p work.Gate) { f.gate(e, p) })
	case work.WorkOverridden:
		f.end(before, e, endOverridden)
		err = read(e, func(p work.Overridden) {
			f.card.Attempts = append(f.card.Attempts, Attempt{
				Sequence: e.Sequence, Who: e.Actor, Began: e.Time, Ended: e.Time, How: doneByHand, Detail: fmt.Sprintf("%s to %s: %s", p.From, p.NextPhase, p.Reason),
			})
		})
	case work.WorkMerged:
		err = read(e, func(p work.Merge) {
			f.card.Merge = &Merge{e.Sequence, e.Time, e.Actor, cmp.Or(p.Result, p.Commit), p.Commit, p.Unseen, nil, p.Unaudited}
			if a := before.Allowed; a != nil && f.last != nil && a.Approval == f.last.Sequence {
				f.card.Merge.Approved = f.last
			}
		})
	case work.MergeApproved:
		f.last = &Approval{e.Sequence, e.Time, e.Actor}
	case work.WorkAdded, work.MergeProposed, work.MergeFailed, work.MergeAllowed, work.WorkUnchanged, work.AuditWaived, work.QuestionAnswered:
	default:
		rests = false
	}
	if err == nil {
		f.waits(before, e)
		err = f.state(before, e)
	}
	if rests {
		f.card.Rests = append(f.card.Rests, e)
	}
	return err
}

// state notes what an event says of the work: a claim, or what was found. Who asks claims nothing, and who answers has
// found nothing.
func (f *Fold) state(before work.Item, e Happened) error {
	claim, found := f.work.Item.Said.Claim == e.Sequence, f.work.Item.Said.Findings == e.Sequence && before.Wait == nil
	if !claim && !found {
		return nil
	}
	s, err := work.StatementOf(e.Sequence, e.Event)
	if claim && (f.work.Item.Phase != agentsig.PhaseBlocked || s.Signal == agentsig.KindExit) {
		f.card.Claims = append(f.card.Claims, s)
	}
	if found {
		s.Commit = cmp.Or(s.Commit, before.Commit)
		role := ""
		if before.Lease != nil {
			role = string(before.Lease.Role)
		}
		if e.Type == work.MergeFailed && work.ByOperator(e.Actor) {
			role = string(delivery.RoleMerge)
		}
		f.card.Findings = append(f.card.Findings, Finding{Statement: s, Role: role})
	}
	return err
}

// waits notes what an item that is in no run waits for, and what came of that: the answer of a person, or of who helped.
func (f *Fold) waits(before work.Item, e Happened) {
	was, is := before.Wait, f.work.Item.Wait
	if is != nil && is.Seq == e.Sequence && (was == nil || was.ID != is.ID) {
		f.card.Questions = append(f.card.Questions, Question{Sequence: e.Sequence, ID: is.ID, Cause: is.Cause, At: e.Time, Text: is.Text})
	}
	if n := len(f.work.Item.Replies); was != nil && is == nil && n > 0 && f.work.Item.Replies[n-1].ID == was.ID {
		f.answer(e, was.ID, f.work.Item.Replies[n-1].Text)
	}
}

// begin notes that somebody begins to work.
func (f *Fold) begin(e Happened, role agentsig.Role, program string) *Attempt {
	f.card.Attempts = append(f.card.Attempts, Attempt{Sequence: e.Sequence, Session: e.Session, Who: e.Actor, Role: string(role), Program: program, Began: e.Time})
	return &f.card.Attempts[len(f.card.Attempts)-1]
}

// session returns a session's attempt; nil if it has none.
func (f *Fold) session(id string) *Attempt {
	i := slices.IndexFunc(f.card.Attempts, func(a Attempt) bool { return a.Session == id && id != "" })
	if i < 0 {
		return nil
	}
	return &f.card.Attempts[i]
}

// end notes how the work of who held the item ended.
func (f *Fold) end(before work.Item, e Happened, how string) {
	if before.Lease == nil {
		return
	}
	if a := f.session(before.Lease.Token.Session(before.Subject)); a != nil {
		a.ended(e.Time, how)
	}
}

func (a *Attempt) ended(at time.Time, how string) {
	a.Ended, a.How, a.Seconds = at, how, max(0, at.Sub(a.Began).Seconds())
}

// said notes a session's last word.
func (f *Fold) said(e Happened, p work.Result, commit string) {
	if a := f.session(e.Session); a != nil {
		a.Said = p.Signal
		if delivery.Reviewer(agentsig.Role(a.Role)) {
			a.Commit = commit
		}
		a.ended(e.Time, string(p.ExitReason))
	}
}

// gate notes what the gate says. What was found before is answered by the commit, if that is another one.
func (f *Fold) gate(e Happened, p work.Gate) {
	g := Gate{
		Sequence: e.Sequence, At: e.Time, By: e.Actor, Commit: p.Commit, Passed: e.Type == work.GatePassed, Checks: []Check{}, Since: p.Since, NoChange: p.NoChange,
		Unchanged: p.Since == "" && p.Files != nil && *p.Files == 0, Runner: p.Runner, Signed: p.Signed != nil,
	}
	for _, c := range p.Checks {
		shown := Check{Name: c.Name, Passed: c.Passed, Flaky: c.Flaky, Tolerated: g.Passed && !c.Passed}
		if c.Passed || c.Exit != 0 {
			shown.Exit = &c.Exit
		}
		g.Checks = append(g.Checks, shown)
	}
	f.card.Gates = append(f.card.Gates, g)
	for i := range f.card.Findings {
		if was := &f.card.Findings[i]; was.AnsweredBy == "" && was.Commit != p.Commit && p.Since == "" {
			was.AnsweredBy = p.Commit
		}
	}
}

// takeRun takes an event of the task's run.
func (f *Fold) takeRun(e Happened) (err error) {
	if !f.about.Has(e.Event, ConcernsOf(e.Event)) && f.session(e.Session) == nil && e.Type != delivery.PlanAmended {
		return nil
	}
	switch e.Type {
	case delivery.PlanAmended:
		asks := false
		err = read(e, func(p delivery.Amended) {
			asks = slices.Contains(append(p.Changed, p.Added...), f.about.Task)
			if slices.Contains(p.Gone, f.about.Task) {
				asks = true
				f.decide(e, GaveUp, "", "the plan was amended, and does not have it any more")
			}
		})
		if !asks {
			return err
		}
	case delivery.SessionGranted:
		err = read(e, func(p delivery.Granted) { f.begin(e, p.Role, p.Agent).Runner = p.Runner })
	case delivery.ConversationLost:
		err = read(e, func(p delivery.OnTask) {
			if a := f.session(e.Session); a != nil {
				a.Resumes, a.Fresh = "", p.Text
			}
		})
	case delivery.SessionEnded:
		err = read(e, func(p delivery.Ended) { f.process(e, p) })
	case delivery.QuestionAsked:
		err = read(e, func(p delivery.Question) {
			f.card.Questions = append(f.card.Questions, Question{Sequence: e.Sequence, ID: p.ID, Cause: p.Cause, At: e.Time, Text: p.Text})
		})
	case delivery.QuestionAnswered:
		err = read(e, func(p delivery.Answered) { f.answered(e, p) })
	case delivery.TaskCancelled:
		err = read(e, func(p delivery.OnTask) { f.decide(e, GaveUp, "", p.Text) })
	case delivery.TaskRetried:
		err = read(e, func(p delivery.OnTask) { f.decide(e, Retried, "", p.Text) })
	case delivery.RunCancelled:
		if f.work.Item.Phase == agentsig.PhaseCompleted {
			return nil
		}
		err = read(e, func(p delivery.Reason) { f.decide(e, CancelledRun, "", p.Reason) })
	default:
		return nil
	}
	f.card.Rests = append(f.card.Rests, e)
	return err
}

// process notes that an agent's process has ended, and what it used.
func (f *Fold) process(e Happened, p delivery.Ended) {
	f.card.Usage.Add(p.Usage)
	a := f.session(e.Session)
	if a == nil {
		return
	}
	a.Usage = &p.Usage
	a.ended(e.Time, cmp.Or(a.How, string(p.How)))
	if p.How != delivery.Done {
		a.How, a.Detail = string(p.How), p.Detail
	}
}

// decide notes what somebody has decided on the task.
func (f *Fold) decide(e Happened, what Decided, question, text string) {
	f.card.Decisions = append(f.card.Decisions, Decision{e.Sequence, e.Time, e.Actor, what, question, text})
}

// answered notes an answer, and what it decides if it means something for the task.
func (f *Fold) answered(e Happened, p delivery.Answered) {
	f.answer(e, p.ID, cmp.Or(p.Text, p.Choice))
	if i := slices.IndexFunc(f.card.Questions, func(q Question) bool { return q.ID == p.ID }); i >= 0 {
		f.card.Questions[i].Choice = p.Choice
	}
	switch p.Choice {
	case delivery.ChooseCancel:
		f.decide(e, GaveUp, p.ID, p.Text)
	case delivery.ChooseRetry:
		f.decide(e, Retried, p.ID, p.Text)
	}
}

func (f *Fold) answer(e Happened, id, text string) {
	for i := range f.card.Questions {
		if q := &f.card.Questions[i]; q.ID == id {
			q.Answer, q.By, q.AnsweredAt = text, e.Actor, e.Time
		}
	}
}

// read reads an event's payload.
func read[P any](e Happened, take func(P)) error {
	var p P
	err := json.Unmarshal(e.Payload, &p)
	if err == nil {
		take(p)
	}
	return err
}
