package delivery

import (
	"fmt"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/safetext"
)

// If the settings have a person approve merges, one that the checks hold on is proposed to them (MergeProposed), and made
// once they have approved it (MergeApproved): that commit, onto where the branch was, with that tree. If the branch is
// elsewhere by then, or the plan was amended, the merge is proposed anew, and what was said before does not count. One merge
// is proposed at a time: each is made on top of the one before.

// RoleMerge stands for a role where a person is asked to approve a merge. Nobody plays it.
const RoleMerge agentsig.Role = "merge"

// ForApproval says what a task waits for whose merge is proposed to a person.
const ForApproval = "for your review of its merge"

// proposed reports whether the merge of a task waits for a person's word.
func (r *Run) proposed(t *Task) bool {
	p := t.Item.Proposal
	return p != nil && p.Approved == 0 && r.stands(t, p) && t.Anew == "" && !r.dead(t) && r.Live() && r.Stopping == ""
}

// Approved returns the merge of a task that a person has approved; nil if there is none, or it is outdated.
func (r *Run) Approved(t *Task) *work.Proposal {
	if p := t.Item.Proposal; p != nil && p.Approved != 0 && r.stands(t, p) {
		return p
	}
	return nil
}

// stands reports whether what was proposed is still what would be merged, by the same checks.
func (r *Run) stands(t *Task, p *work.Proposal) bool { return p.Seq > r.Outdated && p.Seq > t.Outdated }

// allow records which merge of a task is about to be made, or proposes it to a person.
func (r *Run) allow(t *Task, allowed work.Allowed, checked string) []Write {
	if r.Settings.Approve == Person {
		switch p := t.Item.Proposal; {
		case p == nil || !r.stands(t, p) || p.Allowed != allowed:
			return []Write{t.do(work.Propose{Proposed: work.Proposed{Allowed: allowed, Checked: checked}})}
		case p.Approved == 0:
			return nil
		default:
			allowed.Approval = p.Approved
		}
	}
	if t.Item.Allowed != nil && t.Item.Allowed.Allowed == allowed {
		return nil
	}
	return []Write{t.do(work.Allow{Allowed: allowed})}
}

// Approval is a person's word on the merge of a task that was proposed to them, which may be no: an input, of which
// [work.Approved] comes only if they accept.
type Approval struct {
	Actor              string
	Task               string
	Commit, Onto, Tree string // that they were shown
	Accept             bool
	Reason             string // what has to be changed, if it is sent back
	Key                string // the same again is the same word
}

func (in Approval) decide(r *Run, _ time.Time) ([]Write, error) {
	t := r.Task(in.Task)
	if t != nil && len(t.Item.Recorded(in.Key)) > 0 {
		return nil, nil
	}
	if err := r.checkTask(in.Task); err != nil {
		return nil, err
	}
	p := t.Item.Proposal
	switch {
	case !r.proposed(t):
		return nil, fmt.Errorf("%s: %w", safetext.Escape(in.Task), ErrNoReview)
	case in.Commit != p.Commit || in.Onto != p.Onto || in.Tree != p.Tree:
		return nil, fmt.Errorf("the merge of %s onto %s: %w", t.ID, short(p.Onto), ErrOtherNow)
	case in.Accept:
		return []Write{t.do(work.Approve{Actor: in.Actor, Commit: in.Commit, Onto: in.Onto, Tree: in.Tree, Key: in.Key})}, nil
	case len(in.Reason) > maxText:
		return nil, fmt.Errorf("the comments have %d bytes of %d: %w", len(in.Reason), maxText, work.ErrTooLong)
	}
	return []Write{t.do(work.Unmerged{Actor: in.Actor, Commit: in.Commit, Reason: in.Reason, Key: in.Key})}, nil
}

// somebody is how an agent is told of who has decided something.
func somebody(actor string) string {
	if client, ok := strings.CutPrefix(actor, work.ClientPrefix); ok {
		return "The client " + client
	}
	return "A person"
}

// notApproved sends a task back by the word of a person who was asked to approve its merge. It is not counted.
func (r *Run) notApproved(t *Task, actor string, p work.Merge) {
	t.reset()
	t.Failed = &Failure{work.SincePerson, p.Commit, p.Reason}
	t.Briefs = append(t.Briefs, Brief{"merge", "Your work passed its " + t.lastWord() + ". " + somebody(actor) + " has looked at what it makes of " + r.Branch + ", and sends it back:\n" + p.Reason})
}

// repairApproved reports whether a repair that passed its review may be merged: a person has accepted it, if they approve
// merges. Who reviewed it has.
func (r *Run) repairApproved() bool {
	return r.Settings.Approve != Person || r.Remediation.Approved || r.Settings.Roles[agentsig.RoleCritic].Agent == Person
}

// askAboutRepair asks a person about a repair, and says why.
func (r *Run) askAboutRepair(why string) Write {
	m := r.Remediation
	commit := short(m.Repair.Commit)
	return r.event(QuestionAsked, "", Question{
		ID: r.questionID(), Cause: CauseRemediation, Context: m.context(), Choices: repairChoices,
		Text: fmt.Sprintf("remediation committed %s (%s), and %s: look at it with git show %s; accept it, retry, or halt?",
			commit, fileWords(m.Repair.Names, m.Repair.Files), why, commit),
	})
}
