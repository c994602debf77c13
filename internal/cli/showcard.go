package cli

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

// card is the evidence on a task: why somebody should believe that it is done, or see that it is not.
type card struct {
	Task      string           `json:"task"` // its item's id
	Title     string           `json:"title"`
	State     string           `json:"state"`                // its phase, or cancelled
	Branch    string           `json:"branch,omitempty"`     // that work by hand is done on
	BoxChecks bool             `json:"box_checks,omitempty"` // the box runs the checks on it now, or will
	Asked     string           `json:"asked"`
	Attempts  []attempt        `json:"attempts"`
	Claims    []work.Statement `json:"claims"` // of those who worked on it: nobody has checked them
	Gates     []gateRun        `json:"gates"`
	Findings  []finding        `json:"findings"`
	Questions []asked          `json:"questions"`
	Merge     *mergeMade       `json:"merge"` // null if there is none
	Usage     delivery.Usage   `json:"usage"` // of all attempts
	Proof     cardProof        `json:"proof"`

	rests []happened // the events that all this is from
}

// attempt is a session on the task, or a phase that the operator has set.
type attempt struct {
	Sequence uint64          `json:"sequence"` // of the event that it began with
	Session  string          `json:"session,omitempty"`
	Who      string          `json:"who"`
	Role     string          `json:"role,omitempty"`
	Program  string          `json:"program,omitempty"` // that the box started, or person
	Resumes  string          `json:"resumes,omitempty"` // the session whose conversation it goes on with
	Fresh    string          `json:"fresh,omitempty"`   // why it does not
	Began    time.Time       `json:"began"`
	Ended    time.Time       `json:"ended,omitzero"`
	Seconds  float64         `json:"seconds"` // until it ended; 0 if it has not
	Usage    *delivery.Usage `json:"usage,omitempty"`
	How      string          `json:"how,omitempty"`    // it ended
	Said     agentsig.Kind   `json:"said,omitempty"`   // its last word
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

// gateRun is what the gate said of a commit.
type gateRun struct {
	Sequence uint64       `json:"sequence"`
	At       time.Time    `json:"at"`
	By       string       `json:"by"`
	Commit   string       `json:"commit"`
	Passed   bool         `json:"passed"`
	Checks   []shownCheck `json:"checks"`              // that the box ran; none if the report came from outside, or nothing was checked
	Since    work.Since   `json:"since,omitempty"`     // nothing was changed since then, so no check ran
	NoChange string       `json:"no_change,omitempty"` // why nothing was changed, as the developer claims

	Unchanged bool `json:"unchanged,omitempty"` // the checks ran, and nothing was changed
}

type shownCheck struct {
	Name      string `json:"name"`
	Passed    bool   `json:"passed"`
	Flaky     bool   `json:"flaky,omitempty"`
	Tolerated bool   `json:"tolerated,omitempty"` // it failed, and the gate let it pass: it fails on the base too
	Exit      *int   `json:"exit,omitempty"`      // none if it failed with 0, or before exit codes were recorded
}

// finding is why the task was sent back: by a reviewer, the gate or its merge.
type finding struct {
	work.Statement
	Role       string `json:"role,omitempty"`
	AnsweredBy string `json:"answered_by,omitempty"` // the next commit that the gate looked at
}

type asked struct {
	Sequence   uint64         `json:"sequence"`
	ID         string         `json:"id"`
	Cause      delivery.Cause `json:"cause"`
	At         time.Time      `json:"at"`
	Text       string         `json:"text"`
	Answer     string         `json:"answer,omitempty"`
	By         string         `json:"by,omitempty"` // who answered
	AnsweredAt time.Time      `json:"answered_at,omitzero"`
}

// approval is a person's word for a merge before it was made.
type approval struct {
	Sequence uint64    `json:"sequence"`
	At       time.Time `json:"at"`
	By       string    `json:"by"`
}

type mergeMade struct {
	Sequence uint64          `json:"sequence"`
	At       time.Time       `json:"at"`
	By       string          `json:"by"`
	Commit   string          `json:"commit"`           // the merge
	Merges   string          `json:"merges"`           // what was judged
	Unseen   []agentsig.Role `json:"unseen,omitempty"` // the reviewers that the operator took it past
	Approved *approval       `json:"approved,omitempty"`

	Unaudited bool `json:"unaudited,omitempty"` // no auditor has looked at it: its run was started without one
}

// cardFold is a card in the making.
type cardFold struct {
	card
	about story     // which of its run's events are about the task
	item  work.Item // as it is after the events so far
	last  *approval // of a merge
}

// cardOf makes a card of an item, which says what is asked now, and of the events of it and of its run, in the ledger's order.
// The task is its id in the run, and empty if it is in none.
func cardOf(w api.Work, task string, events []happened) (card, error) {
	f := cardFold{about: story{subject: w.Subject, task: task, questions: map[string]bool{}}}
	f.Attempts, f.Claims, f.Gates, f.Findings, f.Questions = []attempt{}, []work.Statement{}, []gateRun{}, []finding{}, []asked{}
	for _, e := range events {
		take := f.takeRun
		if e.Subject == w.Subject {
			take = f.takeItem
		}
		if err := take(e); err != nil {
			return card{}, fmt.Errorf("event %d: %w", e.sequence, err)
		}
	}
	f.Task, f.Title, f.Asked, f.State, f.Branch = f.item.ID, w.Title, w.Asked, string(f.item.Phase), f.item.Branch
	return f.card, nil
}

// takeItem takes an event of the task's own.
func (f *cardFold) takeItem(e happened) (err error) {
	before := f.item
	if f.item, err = work.Evolve(before, e.sequence, e.Event); err != nil {
		return err
	}
	rests := true
	switch e.Type {
	case work.LeaseGranted, work.ReviewStarted, work.WorkTaken:
		if e.Type == work.WorkTaken {
			f.end(before, e, endTaken)
		}
		err = read(e, func(p work.Granted) {
			a := f.begin(e, p.Role, p.Agent)
			a.Resumes, a.Fresh = p.Resumes, p.Fresh
		})
	case work.LeaseReleased:
		f.end(before, e, endReleased)
	case work.LeaseExpired:
		f.end(before, e, endExpired)
	case work.SignalFailure:
		f.end(before, e, endUnread)
	case work.AgentSessionCompleted:
		err = read(e, func(p work.Result) { f.said(e, p) })
	case work.GatePassed, work.GateFailed:
		err = read(e, func(p work.Gate) { f.gate(e, p) })
	case work.WorkOverridden:
		f.end(before, e, endOverridden)
		err = read(e, func(p work.Overridden) {
			f.Attempts = append(f.Attempts, attempt{
				Sequence: e.sequence, Who: e.Actor, Began: e.Time, Ended: e.Time, How: doneByHand, Detail: fmt.Sprintf("%s to %s: %s", p.From, p.NextPhase, p.Reason),
			})
		})
	case work.WorkMerged:
		err = read(e, func(p work.Merge) {
			f.Merge = &mergeMade{e.sequence, e.Time, e.Actor, cmp.Or(p.Result, p.Commit), p.Commit, p.Unseen, nil, p.Unaudited}
			if a := before.Allowed; a != nil && f.last != nil && a.Approval == f.last.Sequence {
				f.Merge.Approved = f.last
			}
		})
	case work.MergeApproved:
		f.last = &approval{e.sequence, e.Time, e.Actor}
	case work.WorkAdded, work.MergeProposed, work.MergeFailed, work.MergeAllowed, work.WorkUnchanged, work.AuditWaived, work.QuestionAnswered:
	default:
		rests = false
	}
	if err == nil {
		f.waits(before, e)
		err = f.state(before, e)
	}
	if rests {
		f.rests = append(f.rests, e)
	}
	return err
}

// state notes what an event says of the work: a claim, or what was found. Who asks claims nothing, and who answers has
// found nothing.
func (f *cardFold) state(before work.Item, e happened) error {
	claim, found := f.item.Said.Claim == e.sequence, f.item.Said.Findings == e.sequence && before.Wait == nil
	if !claim && !found {
		return nil
	}
	s, err := work.StatementOf(e.sequence, e.Event)
	if claim && (f.item.Phase != agentsig.PhaseBlocked || s.Signal == agentsig.KindExit) {
		f.Claims = append(f.Claims, s)
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
		f.Findings = append(f.Findings, finding{Statement: s, Role: role})
	}
	return err
}

// waits notes what an item that is in no run waits for, and what came of that: the answer of a person, or of who helped.
func (f *cardFold) waits(before work.Item, e happened) {
	was, is := before.Wait, f.item.Wait
	if is != nil && is.Seq == e.sequence && (was == nil || was.ID != is.ID) {
		f.Questions = append(f.Questions, asked{Sequence: e.sequence, ID: is.ID, Cause: is.Cause, At: e.Time, Text: is.Text})
	}
	if n := len(f.item.Replies); was != nil && is == nil && n > 0 && f.item.Replies[n-1].ID == was.ID {
		f.answer(e, was.ID, f.item.Replies[n-1].Text)
	}
}

// begin notes that somebody begins to work.
func (f *cardFold) begin(e happened, role agentsig.Role, program string) *attempt {
	f.Attempts = append(f.Attempts, attempt{Sequence: e.sequence, Session: e.Session, Who: e.Actor, Role: string(role), Program: program, Began: e.Time})
	return &f.Attempts[len(f.Attempts)-1]
}

// session returns a session's attempt; nil if it has none.
func (f *cardFold) session(id string) *attempt {
	i := slices.IndexFunc(f.Attempts, func(a attempt) bool { return a.Session == id && id != "" })
	if i < 0 {
		return nil
	}
	return &f.Attempts[i]
}

// end notes how the work of who held the item ended.
func (f *cardFold) end(before work.Item, e happened, how string) {
	if before.Lease == nil {
		return
	}
	if a := f.session(before.Lease.Token.Session(before.Subject)); a != nil {
		a.ended(e.Time, how)
	}
}

func (a *attempt) ended(at time.Time, how string) {
	a.Ended, a.How, a.Seconds = at, how, max(0, at.Sub(a.Began).Seconds())
}

// said notes a session's last word.
func (f *cardFold) said(e happened, p work.Result) {
	if a := f.session(e.Session); a != nil {
		a.Said = p.Signal
		a.ended(e.Time, string(p.ExitReason))
	}
}

// gate notes what the gate says. What was found before is answered by the commit, if that is another one.
func (f *cardFold) gate(e happened, p work.Gate) {
	g := gateRun{
		Sequence: e.sequence, At: e.Time, By: e.Actor, Commit: p.Commit, Passed: e.Type == work.GatePassed, Checks: []shownCheck{}, Since: p.Since, NoChange: p.NoChange,
		Unchanged: p.Since == "" && p.Files != nil && *p.Files == 0,
	}
	for _, c := range p.Checks {
		shown := shownCheck{Name: c.Name, Passed: c.Passed, Flaky: c.Flaky, Tolerated: g.Passed && !c.Passed}
		if c.Passed || c.Exit != 0 {
			shown.Exit = &c.Exit
		}
		g.Checks = append(g.Checks, shown)
	}
	f.Gates = append(f.Gates, g)
	for i := range f.Findings {
		if was := &f.Findings[i]; was.AnsweredBy == "" && was.Commit != p.Commit && p.Since == "" {
			was.AnsweredBy = p.Commit
		}
	}
}

// takeRun takes an event of the task's run.
func (f *cardFold) takeRun(e happened) (err error) {
	var c concerns
	_ = json.Unmarshal(e.Payload, &c) // of one that can't be read nothing is known
	if !f.about.concerned(e.Event, c) && f.session(e.Session) == nil && e.Type != delivery.PlanAmended {
		return nil
	}
	switch e.Type {
	case delivery.PlanAmended:
		asks := false
		err = read(e, func(p delivery.Amended) { asks = slices.Contains(append(p.Changed, p.Added...), f.about.task) })
		if !asks {
			return err
		}
	case delivery.SessionGranted:
		err = read(e, func(p delivery.Granted) { f.begin(e, p.Role, p.Agent) })
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
			f.Questions = append(f.Questions, asked{Sequence: e.sequence, ID: p.ID, Cause: p.Cause, At: e.Time, Text: p.Text})
		})
	case delivery.QuestionAnswered:
		err = read(e, func(p delivery.Answered) { f.answer(e, p.ID, cmp.Or(p.Text, p.Choice)) })
	default:
		return nil
	}
	f.rests = append(f.rests, e)
	return err
}

// process notes that an agent's process has ended, and what it used.
func (f *cardFold) process(e happened, p delivery.Ended) {
	f.Usage.Add(p.Usage)
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

func (f *cardFold) answer(e happened, id, text string) {
	for i := range f.Questions {
		if q := &f.Questions[i]; q.ID == id {
			q.Answer, q.By, q.AnsweredAt = text, e.Actor, e.Time
		}
	}
}

// read reads an event's payload.
func read[P any](e happened, take func(P)) error {
	var p P
	err := json.Unmarshal(e.Payload, &p)
	if err == nil {
		take(p)
	}
	return err
}
