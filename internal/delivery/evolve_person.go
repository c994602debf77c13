package delivery

import (
	"strings"

	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

func (r *Run) questionAsked(e ledger.Event, p Question) {
	r.Asks++
	r.Questions = append(r.Questions, &Asked{Question: p, Seq: r.Seq, At: e.Time})
	if s := r.turned(p.Session, p.Turn); s != nil && p.Turn > 0 {
		s.Over = "it waits for a person"
		delete(r.Unknown, r.unknownKey(s))
	}
	switch t := r.Task(p.Task); {
	case p.Cause == CauseLogin:
		l := r.Logins[p.Provider]
		l.Question = p.ID
		r.Logins[p.Provider] = l
	case p.Cause == CauseRemediation || p.Task == "" && p.Cause == CauseClarification:
		r.Remediation.Merging = r.Remediation.Stage == StageMerge
		r.Remediation.Stage, r.Remediation.Question = StageAsked, p.ID
	case t != nil && p.Request == "":
		t.Question, t.Need = p.ID, nil
	}
}

func (r *Run) questionAnswered(e ledger.Event, p Answered) {
	q := r.question(p.ID)
	if q == nil {
		return
	}
	q.Answer = &p
	text := orSome(p.Text, p.Choice)
	switch t := r.Task(q.Task); {
	case q.Cause == CauseLogin:
		r.loginAnswered(q.Provider, p.Choice, e.Time)
	case q.Cause == CauseBudget && t != nil && p.Choice != ChooseCancel:
		r.leave(t, p.Choice)
	case q.Cause == CauseBudget && t == nil:
		if p.Choice == ChooseHalt {
			r.stop(Halted)
			return
		}
		r.Raised = enough(r.Settings.Budget.run(), r.Raised+1, r.Used)
	case r.Remediation.Question == q.ID:
		r.remediationAnswered(e.Actor, p)
	case q.Request != "":
		if x := r.request(q.Request); x != nil {
			x.Advised, x.Advice, x.Failed = true, Worded(e.Actor, text), ""
		}
	case t != nil && p.Choice == ChooseCancel:
		r.cancel(t, e.Actor, p.Text)
	case t != nil:
		t.reset()
		t.Briefs = append(t.Briefs, Brief{"answer", "Question: " + q.Text + "\nAnswer: " + Worded(e.Actor, text)})
	}
}

func (r *Run) remediationAnswered(actor string, p Answered) {
	m := &r.Remediation
	m.Question = ""
	switch {
	case p.Choice == ChooseHalt:
		r.stop(Halted)
	case p.Choice == ChooseAccept && m.Merging:
		m.Stage, m.Approved = StageMerge, true
	case p.Choice == ChooseAccept:
		m.Stage, m.Accepted, m.AcceptedBy = StageReview, true, actor
	case p.Choice == ChooseHealthy:
		m.Stage, m.Declared, r.Baseline = StageVerify, true, nil
	default:
		m.Stage, m.Round, m.Hint, m.Crashes, m.Declared = StageRepair, 1, p.Text, 0, false
	}
}

// reset forgets what went wrong: a person has looked at it.
func (t *Task) reset() {
	t.Failed = nil
	t.Developer.Failed, t.Developer.Again = "", false
	t.Count, t.Findings, t.Conflict, t.Question, t.Need, t.Awaits = Count{}, nil, nil, "", nil, ""
	t.Unfit, t.Late = nil, 0
}

// cancel gives a task up, by somebody's word.
func (r *Run) cancel(t *Task, by, why string) {
	t.Cancelled, t.DroppedBy, t.DroppedFor = true, by, why
	t.Need, t.Question = nil, ""
	r.bury()
	r.closeQuestions(t.ID)
	r.endAll(t.ID, "the task was given up")
}

// keep takes back that a task was given up.
func (t *Task) keep() {
	t.Cancelled, t.Dropped, t.DroppedBy, t.DroppedFor = false, false, "", ""
}

// GivenUp says who gave a task up and why, or with which one it was; empty if it was not.
func (r *Run) GivenUp(t *Task) string {
	if !r.dead(t) {
		return ""
	}
	if t.Cancelled {
		by := "by " + orSome(t.DroppedBy, "somebody")
		if client, ok := strings.CutPrefix(t.DroppedBy, work.ClientPrefix); ok {
			by = "by the client " + client
		} else if t.DroppedBy == work.OperatorActor {
			by = "by the operator"
		}
		return because(by, t.DroppedFor)
	}
	for _, id := range t.BlockedBy {
		if b := r.Task(id); b != nil && r.dead(b) {
			return "with " + id + ", which it depends on"
		}
	}
	return ""
}

// closeQuestions takes back what was asked about a task.
func (r *Run) closeQuestions(task string) {
	for _, q := range r.Open() {
		if q.Task == task && task != "" {
			q.Answer = &Answered{ID: q.ID, Choice: ChooseCancel, Text: "taken back"}
		}
	}
}

func (r *Run) taskRetried(e ledger.Event, p OnTask) {
	t := r.Task(p.Task)
	if t == nil {
		return
	}
	r.closeQuestions(t.ID)
	t.reset()
	t.keep()
	r.bury()
	if strings.TrimSpace(p.Text) != "" {
		t.Briefs = append(t.Briefs, Brief{"operator", Worded(e.Actor, p.Text)})
	}
	r.endAll(t.ID, "the task is tried again")
}

func (r *Run) stop(o Outcome) {
	r.Stopping = o
	for _, s := range r.Sessions {
		if s.Over == "" {
			s.Over = "the run is " + string(o)
		}
	}
}
