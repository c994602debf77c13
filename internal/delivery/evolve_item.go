package delivery

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// EvolveItem changes the run by an event on the item of one of its tasks, which
// is as given after it.
func (r *Run) EvolveItem(after work.Item, e ledger.Event) error {
	t := r.ofSubject(after.Subject)
	if e.Type == work.WorkAdded {
		var p work.Added
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			return err
		}
		r.Tasks = append(r.Tasks, &Task{
			ID: p.Task, BlockedBy: p.BlockedBy, Item: after, Since: e.Time, Moved: after.Seq, Lost: len(r.Lost) > 0,
		})
		r.index()
		if r.Planned() {
			r.replan()
		}
		return nil
	}
	if t == nil {
		return fmt.Errorf("%s is no task of %s", after.Subject, r.ID)
	}
	before := t.Item
	t.Item = after
	if after.Phase == t.Anew {
		t.Anew = ""
	}
	if before.Phase != after.Phase || before.Session() != after.Session() {
		t.Since, t.Moved = e.Time, after.Seq
	}
	if done := agentsig.PhaseCompleted; (before.Phase == done) != (after.Phase == done) {
		r.bury()
	}
	if l := before.Lease; l.ByPerson() && !Reviewer(l.Role) && before.Session() != after.Session() {
		t.leftAtHome()
	}
	if before.Lease != nil && before.Session() != after.Session() {
		if s := r.Sessions[before.Session()]; s != nil && s.Over == "" {
			s.Over = leaseEnds(e.Type)
			if e.Type == work.LeaseExpired {
				s.GivenUp = true
				r.timedOut(t, "The agent before you was not heard from for too long. What it left is in the worktree.", "was not heard from", "its lease ran out")
			}
		}
	}
	return r.itemEvent(t, before, e)
}

// leaseEnds says why a session has to end whose lease an event took.
func leaseEnds(event string) string {
	switch event {
	case work.AgentSessionCompleted:
		return itFinished
	case work.LeaseExpired:
		return "its lease ran out"
	case work.WorkOverridden:
		return "the operator has taken over"
	case work.WorkTaken:
		return byPerson
	}
	return "its lease was ended"
}

func (r *Run) itemEvent(t *Task, before work.Item, e ledger.Event) error {
	switch e.Type {
	case work.LeaseGranted, work.ReviewStarted:
		return decoded(e, func(p work.Granted) { r.leaseGranted(t, e, p) })
	case work.AgentSessionCompleted:
		t.workedOn(before)
		return decoded(e, func(p work.Result) { r.sessionCompleted(t, before, p) })
	case work.LateResultRecorded:
		t.Late++
	case work.SignalRecorded:
		return decoded(e, func(p work.Signalled) { r.noted(p.Said) })
	case work.GatePassed:
		t.Count.Gates = 0
		t.Count.Unchanged, t.Failed = 0, nil
		t.ByHand = t.ByHand || e.Key != "" // somebody's report, and not what the box's own gate found
	case work.GateFailed:
		return decoded(e, func(p work.Gate) { r.gateFailed(t, p) })
	case work.MergeFailed:
		return decoded(e, func(p work.Merge) {
			if work.ByOperator(e.Actor) {
				r.notApproved(t, e.Actor, p)
				return
			}
			text := "Your work passed its " + t.lastWord() + ", but it can't be merged to " + r.Branch + " as it is. Merge that branch into yours, and mend what does not fit.\n" + p.Reason
			r.fail(t, work.SinceMerge, p.Commit, text)
		})
	case work.MergeProposed:
		t.Since = e.Time
	case work.WorkMerged:
		r.Outdated = t.Item.Seq
	case work.WorkBlocked:
		return decoded(e, func(p work.Blocked) {
			switch Cause(p.Cause) {
			case CauseInfrastructure:
				r.obstacle(t, p.Reason)
			case CauseRole:
				t.Need = &Need{Cause: CauseRole, Text: p.Reason}
			case CauseBudget:
				if t.Need == nil {
					r.needBudget(t, ScopeTask)
				}
			case CauseMerge:
				t.Need = &Need{Cause: CauseMerge, Text: "it passed its " + t.lastWord() + ", and can't be merged: what now?", Context: p.Reason}
			}
		})
	case work.WorkTaken:
		r.workTaken(t)
	case work.WorkOverridden:
		r.closeQuestions(t.ID)
		t.reset()
		t.Trouble, t.NoChange, t.Given = false, "", ""
		t.overridden()
		if t.Item.Phase == agentsig.PhaseBlocked {
			return decoded(e, func(p work.Overridden) {
				t.Need = &Need{Cause: CauseOperator, Text: "the operator blocked it: answer when it may go on", Context: p.Reason}
			})
		}
	}
	return nil
}

// keepTries forgets what a conflict waited for.
func keepTries(c *FileConflict) *FileConflict {
	if c == nil {
		return nil
	}
	kept := *c
	kept.Until, kept.Holder = time.Time{}, ""
	return &kept
}

func decoded[P any](e ledger.Event, f func(P)) error {
	var p P
	if err := json.Unmarshal(e.Payload, &p); err != nil {
		return err
	}
	f(p)
	return nil
}

func failed(checks []work.Check) []string {
	var names []string
	for _, c := range checks {
		if !c.Passed {
			names = append(names, c.Name)
		}
	}
	return names
}

// gateFailed sends a task back by what the gate says. Who hands in nothing is told so once, and counted for nothing
// else; who hands in again what did not pass, as if it had not passed again.
func (r *Run) gateFailed(t *Task, p work.Gate) {
	if p.Since != work.SinceStart {
		t.Count.Unchanged = 0
	}
	switch {
	case t.Missing != "": // nobody has looked at anything
		t.Missing = ""
		r.again(t, work.SinceGate, p.Output, "")
	case p.Since == work.SinceStart:
		r.again(t, p.Since, nothingChanged, "")
	case p.Since != "":
		text := "Nothing was changed since " + failures[p.Since] + ", so nobody looked at it again."
		if t.Failed != nil {
			text += " This was said of it:\n" + t.Failed.Text
		}
		r.again(t, p.Since, text, ", and nothing was changed since")
	case len(p.Checks) == 0:
		r.fail(t, work.SinceGate, p.Commit, "The gate could not take your work as it is:\n"+p.Output)
	default:
		r.fail(t, work.SinceGate, p.Commit, "The gate ran the checks, and these failed: "+strings.Join(failed(p.Checks), ", ")+"\n"+p.Output)
	}
}

// nothingChanged is what a developer is told who says that the task is done, and has changed nothing.
const nothingChanged = "Nothing was changed: change what the task asks for and commit it, or say why nothing has to be changed, " +
	"with the field `" + agentsig.KeyNoChange + ": REASON` below READY_FOR_REVIEW."

// maxUnchanged is how often in a row a task may be handed in with nothing changed before a person is asked.
const maxUnchanged = 2

// fail sends a task back whose commit did not pass.
func (r *Run) fail(t *Task, by work.Since, commit, text string) {
	t.Failed = &Failure{by, commit, text}
	r.again(t, by, text, "")
}

// again has a task worked on again, and counts that by whose word it is. What is more to say of that ends the question, if a person is asked.
func (r *Run) again(t *Task, by work.Since, text, more string) {
	c, l := &t.Count, r.Settings.Limits
	switch by {
	case work.SinceStart:
		r.rework(t, "gate", &c.Unchanged, maxUnchanged, CauseUnchanged, "the task is called done, and nothing was changed", text)
	case work.SinceReview:
		r.rework(t, "review", &c.Reviews, l.Reviews, CauseReviews, "the review fails"+more, text)
	case work.SinceAudit:
		r.rework(t, "audit", &c.Audits, l.Audits, CauseAudits, "the audit fails"+more, text)
	case work.SinceMerge:
		r.rework(t, "merge", &c.Merges, l.Gates, CauseMerges, "the merge fails"+more, text)
	case work.SincePerson:
		r.rework(t, "merge", &c.Merges, l.Gates, CauseMerges, "the merge is not approved"+more, text)
	default:
		r.rework(t, "gate", &c.Gates, l.Gates, CauseGates, "the gate fails"+more, text)
	}
}

// rework sends a task back, or asks a person if that was too often.
func (r *Run) rework(t *Task, from string, count *int, most int, cause Cause, what, text string) {
	*count++
	t.Developer.fails(from)
	t.Briefs = append(t.Briefs, Brief{from, text})
	r.limit(t, *count, most, cause, what, text)
}

// sessionCompleted is what a signal that ends a session leads to, besides the
// phase that it hands over.
func (r *Run) sessionCompleted(t *Task, before work.Item, p work.Result) {
	if p.Given != "" {
		t.at(p.Given)
	}
	delete(r.Unknown, t.ID+"/"+string(before.Lease.Role))
	text := p.Text()
	switch p.Signal {
	case agentsig.KindReadyForReview:
		t.built()
		t.NoChange, t.Given = p.Said.NoChange(), p.Given
	case agentsig.KindTaskIncomplete:
		r.incomplete(t, p.Said)
	case agentsig.KindInfraBlocked, agentsig.KindAuditBlocked:
		r.obstacle(t, text)
	case agentsig.KindReviewFailed:
		r.sentBack(t, before.Lease, work.SinceReview, p.Said)
	case agentsig.KindAuditFailed:
		r.sentBack(t, before.Lease, work.SinceAudit, p.Said)
	case agentsig.KindReviewPassed:
		t.Count.Reviews = 0
	case agentsig.KindDivineClarification:
		t.Need = p.Need()
	case agentsig.KindExpandedSpec:
		if t.Item.Phase == agentsig.PhaseBlocked {
			t.Need = p.Need()
			return
		}
		t.Briefs = append(t.Briefs, Brief{"analyst", text})
	default: // an exit record
		switch {
		case t.Item.Phase == agentsig.PhaseBlocked:
			t.Need = p.Need()
		case before.Phase == agentsig.PhaseImplementation:
			t.built()
			t.NoChange, t.Given = "", ""
		case before.Phase == agentsig.PhaseReview:
			t.Count.Reviews = 0
		}
	}
}

// sentBack sends a task back by a reviewer's word. A person's is not counted: a person has looked at it.
func (r *Run) sentBack(t *Task, by *work.Lease, since work.Since, said work.Said) {
	if by.ByPerson() {
		t.reset()
		t.Failed = &Failure{since, t.Item.Commit, said.Text()}
		t.Briefs = append(t.Briefs, Brief{string(since), said.Text()})
		return
	}
	r.found(t, said)
	r.fail(t, since, t.Item.Commit, said.Text())
}

// built notes that a developer has done its part: what it was told is dealt with.
func (t *Task) built() {
	told := 0
	for _, b := range t.Briefs[:min(t.Developer.Told, len(t.Briefs))] {
		if b.lasts() {
			told++
		}
	}
	t.Developer.Told = told
	t.Briefs = slices.DeleteFunc(t.Briefs, func(b Brief) bool { return !b.lasts() })
	t.Count.Crashes, t.Count.Timeouts = 0, 0
}

// incomplete routes a task that was given back by what stands in its way.
func (r *Run) incomplete(t *Task, said work.Said) {
	t.Count.Obstacles++
	t.Briefs = append(t.Briefs, Brief{fromIncomplete, "The agent before you gave the task back:\n" + said.Text()})
	if t.Count.Obstacles >= r.Settings.Limits.Obstacles {
		r.limit(t, t.Count.Obstacles, r.Settings.Limits.Obstacles, CauseObstacles, "agents say that they can't finish the task", said.Text())
		return
	}
	blocker := said.Field("Blocker")
	switch other := r.named(t, blocker+" "+said.Field("Needed")); {
	case mentions(blocker, "infra", "environment", "network", "disk"):
		t.Trouble = true
	case other != "" && mentions(blocker, "depend", "blocked by", "waits for", "waiting for"):
		t.Awaits = other
	default:
		t.Need = &Need{Cause: CauseIncomplete, Text: "the task can't be finished: " + orSome(blocker, "the agent does not say why"), Context: said.Text()}
	}
}

func mentions(text string, words ...string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

// named finds the first other task in a text that is not completed yet and does
// not itself wait for this one.
func (r *Run) named(t *Task, text string) string {
	for _, word := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(" ,;:()\"'`\n\t", c) }) {
		if o := r.Task(strings.TrimRight(word, ".")); o != nil && o != t && o.Item.Phase != agentsig.PhaseCompleted && !r.waitsFor(o, t, map[string]bool{}) {
			return o.ID
		}
	}
	return ""
}

// waitsFor reports whether a task can't go on before another is completed.
func (r *Run) waitsFor(t, other *Task, seen map[string]bool) bool {
	if t == other {
		return true
	}
	if seen[t.ID] {
		return false
	}
	seen[t.ID] = true
	for _, id := range append(slices.Clone(t.BlockedBy), t.Awaits) {
		if b := r.Task(id); b != nil && r.waitsFor(b, other, seen) {
			return true
		}
	}
	return false
}

// Whom a brief about the environment's trouble is from. What was said follows the
// first line of its text.
const (
	fromTrouble    = "infrastructure"
	fromIncomplete = "incomplete"
)

// obstacle is trouble with the environment: it is repaired for everyone, but a
// task that meets it too often goes to a person.
func (r *Run) obstacle(t *Task, text string) {
	t.Count.Obstacles++
	if t.Count.Obstacles >= r.Settings.Limits.Obstacles {
		r.limit(t, t.Count.Obstacles, r.Settings.Limits.Obstacles, CauseObstacles, "the environment is repaired, and blocks it again", text)
		return
	}
	t.Trouble = true
	t.Briefs = append(t.Briefs, Brief{fromTrouble, "The environment blocked the agent before you, and has been repaired:\n" + text})
}

// found keeps the fingerprints of what a review or an audit found. A finding that
// comes back ends at a question: the agents do not converge.
func (r *Run) found(t *Task, said work.Said) {
	var again []string
	var now []uint64
	for _, name := range []string{"Issues Found", "Required Fixes", "Failed Criteria"} {
		for _, line := range strings.Split(said.Field(name), "\n") {
			f, ok := fingerprint(line)
			if !ok || slices.Contains(now, f) {
				continue
			}
			if slices.Contains(t.Findings, f) {
				again = append(again, strings.TrimSpace(line))
			}
			now = append(now, f)
		}
	}
	t.Findings = append(t.Findings, now...)
	if len(t.Findings) > maxFindings {
		t.Findings = t.Findings[len(t.Findings)-maxFindings:]
	}
	if len(again) > 0 && t.Need == nil {
		t.Need = &Need{Cause: CauseFinding, Text: "the same finding comes back after rework: " + again[0], Context: strings.Join(again, "\n")}
	}
}

const maxFindings = 1000
