package delivery

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
	"github.com/signalbox-dev/signalbox/safetext"
)

// Fold takes the next event on the run's own subject, decoded from stored, which
// has the ledger's sequence seq. It refuses one that does not continue the chain,
// or that [Run.Evolve] does not know.
func (r *Run) Fold(seq uint64, e ledger.Event, stored []byte) error {
	tip, err := r.Tip.Next(e, stored)
	if err != nil {
		return err
	}
	if err := r.Evolve(seq, e); err != nil {
		return err
	}
	r.Tip = tip
	return nil
}

// Evolve changes the run by an event on its own subject. It checks nothing that
// was decided: an event is a fact.
func (r *Run) Evolve(seq uint64, e ledger.Event) error {
	if r.First == 0 {
		r.First = seq
	}
	r.Seq, r.Epoch = seq, e.Epoch
	f, ok := evolvers[e.Type]
	if !ok {
		return fmt.Errorf("event %d of %s is of the type %q, which this version does not know", e.ItemSeq, e.Subject, e.Type)
	}
	if err := f(r, e); err != nil {
		return fmt.Errorf("the payload of %s, event %d of %s: %w", e.Type, e.ItemSeq, e.Subject, err)
	}
	return nil
}

// with makes an evolver out of a function that takes the payload.
func with[P any](f func(*Run, ledger.Event, P)) func(*Run, ledger.Event) error {
	return func(r *Run, e ledger.Event) error {
		var p P
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			return err
		}
		f(r, e, p)
		return nil
	}
}

var evolvers = map[string]func(*Run, ledger.Event) error{
	PlanAmended:      with((*Run).planAmended),
	LeftoversRemoved: with(func(r *Run, _ ledger.Event, p Removed) { r.BranchGone = r.BranchGone || p.Task == "" && p.Branch != "" }),
	RunStarted: with(func(r *Run, e ledger.Event, p Started) {
		*r = Run{
			Started: p, Subject: e.Subject, By: e.Actor, First: r.First, Seq: r.Seq, Epoch: r.Epoch, At: e.Time, Known: slices.Clone(p.Settings.Experts),
			Sessions: map[string]*Session{}, Waits: map[string]time.Time{}, Logins: map[string]Login{}, Unknown: map[string]int{},
		}
		r.index()
	}),
	RunPaused:       with((*Run).paused),
	RunResumed:      with(func(r *Run, _ ledger.Event, _ Reason) { r.Paused, r.Distrust = false, "" }),
	RunCancelled:    with(func(r *Run, _ ledger.Event, _ Reason) { r.stop(Cancelled) }),
	RunFinished:     with(func(r *Run, e ledger.Event, p Finished) { r.Finished, r.FinishedAt = &p, e.Time }),
	BaselineChecked: with((*Run).baselineChecked),
	SessionGranted: with(func(r *Run, e ledger.Event, p Granted) {
		r.Granted++
		r.Sessions[e.Session] = &Session{
			ID: e.Session, Role: p.Role, Agent: p.Agent, Task: p.Task, Request: p.Request, Round: p.Round, Commit: p.Commit, Runner: p.Runner, Started: e.Time,
		}
		if q := r.request(p.Request); q != nil {
			q.Expert = e.Session
		}
	}),
	SessionEnded: with((*Run).sessionEnded),
	WorkPushed:   with(func(r *Run, e ledger.Event, p WorkAt) { r.pushed(e.Session, p) }),
	PromptDelivered: with(func(r *Run, e ledger.Event, p Delivered) {
		if s := r.Sessions[e.Session]; s != nil && s.Prompt != nil && s.Prompt.ID == p.Prompt {
			s.Prompt.Delivered = true
		}
	}),
	UnknownRecovery: with((*Run).unknownRecovery),
	SignalFailure: with(func(r *Run, e ledger.Event, p Unknown) {
		s := r.turned(e.Session, p.Turn)
		if s == nil {
			return
		}
		delete(r.Unknown, r.unknownKey(s))
		r.giveUp(s, "unknown output", Brief{"signals", work.UnknownContext}, "", unheard(p))
	}),
	SignalRequested: with(func(r *Run, e ledger.Event, p Turned) {
		if s := r.turned(e.Session, p.Turn); s != nil {
			s.ask(Prompt{Ask: AskSignal, NearMisses: p.NearMisses})
		}
	}),
	AnswerMissed: with(func(r *Run, e ledger.Event, p Turned) {
		if s := r.turned(e.Session, p.Turn); s != nil {
			r.giveUp(s, "no answer", Brief{"time-out", "The agent before you did not answer when it was asked for its progress."},
				", the last one did not answer", "It was asked for its progress, because its output had no signal that counts.")
		}
	}),
	SignalRefused: with(func(*Run, ledger.Event, Refused) {}),
	SignalNoted: with(func(r *Run, e ledger.Event, p Noted) {
		if s := r.Sessions[e.Session]; s != nil {
			s.Noted = p.Report
		}
		r.noted(p.Said)
	}),
	QuestionAsked:    with((*Run).questionAsked),
	QuestionAnswered: with((*Run).questionAnswered),
	RemediationStarted: with(func(r *Run, _ ledger.Event, p Round) {
		r.Remediation = Remediation{Stage: StageRepair, Round: p.Round, Task: p.Task, Cause: p.Detail, Hint: r.Remediation.Hint}
	}),
	RemediationCompleted: with(func(r *Run, e ledger.Event, p Round) {
		if s := r.turned(e.Session, p.Turn); s != nil {
			s.Over = itFinished
			delete(r.Unknown, r.unknownKey(s))
		}
		r.Remediation.Stage = StageAudit
	}),
	HealthAudited: with(func(r *Run, e ledger.Event, p Round) {
		if s := r.turned(e.Session, p.Turn); s != nil {
			s.Over = itFinished
			delete(r.Unknown, r.unknownKey(s))
		}
		if p.Healthy {
			r.Remediation.Stage, r.Baseline = StageVerify, nil
		} else {
			r.nextRound(p.Detail)
		}
	}),
	RepairChecked:  with((*Run).repairChecked),
	RepairReviewed: with((*Run).repairReviewed),
	work.MergeAllowed: with(func(r *Run, _ ledger.Event, p work.Allowed) {
		r.Remediation.Allowed = &work.Permit{Seq: r.Seq, Allowed: p}
	}),
	RepairMerged:   with((*Run).repairMerged),
	RepairUnmerged: with((*Run).repairMerged),
	RemediationEnded: with(func(r *Run, _ ledger.Event, _ Round) {
		r.Remediation = Remediation{}
		for _, t := range r.Tasks {
			t.Trouble = false
			if f := t.Failed; f != nil && (f.By == work.SinceGate || f.By == work.SinceMerge) {
				t.Failed = nil // the checks may say something else now
			}
		}
	}),
	ExpertRequested: with(func(r *Run, e ledger.Event, p ExpertCall) {
		r.Calls++
		s := r.turned(e.Session, p.Turn)
		if s == nil {
			return
		}
		delete(r.Unknown, r.unknownKey(s))
		s.Asks++
		s.Waiting = p.Request
		r.Requests = append(r.Requests, &Request{ExpertCall: p, Session: e.Session})
	}),
	ExpertRefused: with(func(r *Run, e ledger.Event, p ExpertCall) {
		if s := r.turned(e.Session, p.Turn); s != nil {
			delete(r.Unknown, r.unknownKey(s))
			s.Asks++
			s.ask(Prompt{Ask: AskRefused, Text: p.Text})
		}
	}),
	ExpertAdvised: with(func(r *Run, e ledger.Event, p ExpertCall) {
		r.expertSpoke(e.Session, p, func(q *Request) { q.Advised, q.Advice = true, p.Text })
	}),
	ExpertFailed: with(func(r *Run, e ledger.Event, p ExpertCall) {
		r.expertSpoke(e.Session, p, func(q *Request) { q.Failed = orSome(p.Text, "The expert gave no reason.") })
	}),
	RequesterResumed: with(func(r *Run, e ledger.Event, p ExpertCall) {
		q, s := r.request(p.Request), r.Sessions[e.Session]
		if q == nil || s == nil {
			return
		}
		s.Waiting = ""
		s.ask(Prompt{Ask: AskAdvice, Text: q.Advice})
		r.drop(q)
	}),
	ConflictReported: with((*Run).conflictReported),
	ProviderPaused:   with((*Run).providerPaused),
	TaskCancelled: with(func(r *Run, e ledger.Event, p OnTask) {
		if t := r.Task(p.Task); t != nil {
			r.cancel(t, e.Actor, p.Text)
		}
	}),
	TaskRetried: with((*Run).taskRetried),
	MessageTold: with(func(r *Run, e ledger.Event, p Message) {
		r.Told = append(r.Told, Told{p.Key, e.Session, e.Time})
		for len(r.Told) > minTold && e.Time.Sub(r.Told[0].At) > keepTold {
			r.Told = r.Told[1:]
		}
		if s := r.Sessions[e.Session]; s != nil {
			return // it has been told
		}
		if t := r.Task(p.Task); t != nil {
			t.Briefs = append(t.Briefs, Brief{"operator", Worded(e.Actor, p.Text)})
		}
	}),
	PullRequestOpened: with(func(r *Run, _ ledger.Event, p PullRequest) { r.Publication = &p }),
	CheckoutTouched:   with(func(*Run, ledger.Event, OnTask) {}),
	ProtectionLost:    with((*Run).protectionLost),
	UsageReported: with(func(r *Run, e ledger.Event, p Spending) {
		if s := r.Sessions[e.Session]; s != nil {
			s.Noted = p.Report
			r.spends(s, p.Usage)
		}
	}),
	BudgetReached:    with((*Run).budgetReached),
	ConversationLost: with((*Run).conversationLost),
	ModelSignalled:   with(func(r *Run, e ledger.Event, p Signalled) { r.stepped(e.Session, p.About) }),
	ToolCalled:       with(func(r *Run, e ledger.Event, p Called) { r.stepped(e.Session, p.About) }),
	ToolReturned:     with(func(r *Run, e ledger.Event, p Returned) { r.stepped(e.Session, p.About) }),
	PermissionDenied: with(func(r *Run, e ledger.Event, p Denial) {
		if s := r.Sessions[e.Session]; s != nil {
			s.Noted = p.Report
			if len(s.Denied) < maxDenied {
				s.Denied = append(s.Denied, p.Text)
			}
		}
	}),
}

func orSome(text, otherwise string) string {
	if strings.TrimSpace(text) == "" {
		return otherwise
	}
	return text
}

// turned notes that a session's turn was dealt with.
func (r *Run) turned(session string, turn int) *Session {
	s := r.Sessions[session]
	if s == nil {
		return nil
	}
	s.Turn = max(s.Turn, turn)
	s.Prompt = nil
	return s
}

// maxDenied is how much of what it was refused an agent is reminded of.
const maxDenied = 5

// ask gives a session its next prompt. It is told once what it was refused.
func (s *Session) ask(p Prompt) {
	s.Prompts++
	p.Denied, s.Denied = s.Denied, nil
	p.ID = fmt.Sprintf("%s/prompt-%d", s.ID, s.Prompts)
	s.Prompt = &p
}

func (r *Run) unknownKey(s *Session) string {
	switch {
	case s.Request != "":
		return s.Request
	case s.Round != 0:
		return string(s.Role)
	}
	return s.Task + "/" + string(s.Role)
}

// paused keeps agents from being started. A session that is not trusted is ended, and nothing
// is counted: it is nobody's fault.
func (r *Run) paused(e ledger.Event, p Reason) {
	r.Paused = true
	s := r.Sessions[e.Session]
	if s == nil {
		return
	}
	r.Distrust, s.Over = p.Reason, "what its program follows was changed"
	if q := r.request(s.Request); q != nil && q.Expert == s.ID {
		q.Expert = ""
	}
}

// itFinished is why a session ends whose agent gave the signal that ends its work.
const itFinished = "it has finished"

// noSignal is what is asked of a person after agents that said nothing that counts or ran out of time.
const noSignal = "agents on this task ended without a signal that counts"

// giveUp ends a session as one whose time is over. The next agent gets the brief; a person who is asked, what the
// last agent did, if there is more to say, and the context.
func (r *Run) giveUp(s *Session, why string, b Brief, last, context string) {
	s.Over, s.GivenUp = why, true
	if t := r.Task(s.Task); t != nil && s.Holds() {
		t.Count.Timeouts++
		t.Briefs = append(t.Briefs, b)
		r.limit(t, t.Count.Timeouts, r.Settings.Limits.Timeouts, CauseTimeouts, noSignal+last, context)
	}
	r.attemptOver(s, Done, b.Text)
}

// attemptOver counts an expert's attempt, or a round of remediation, that came to
// nothing.
func (r *Run) attemptOver(s *Session, how How, detail string) {
	if q := r.request(s.Request); q != nil && q.Expert == s.ID {
		q.Expert = ""
		q.Attempts++
	}
	m := &r.Remediation
	if !m.awaits(s) {
		return
	}
	m.Last = orSome(detail, "it ended without a word that counts")
	if m.Declared {
		r.goWithout() // what nobody reviewed is not merged
		return
	}
	r.nextRound("")
	if m.Crashes++; how != Crashed && how != Broken {
		m.Crashes = 0
	}
	if m.Crashes >= r.Settings.Limits.Crashes {
		m.Stage = StageAsked // the next one will not do better
	}
}

// nextRound begins the next round of remediation, or asks after the last.
func (r *Run) nextRound(why string) {
	m := &r.Remediation
	if why != "" {
		m.Cause, m.Last, m.Crashes = why, "", 0
	}
	if m.Round >= r.Settings.Limits.RemediationRounds {
		m.Stage = StageAsked
		return
	}
	m.Round++
	m.Stage = StageRepair
}

// limit asks a person once something went wrong too often.
func (r *Run) limit(t *Task, n, most int, cause Cause, text, context string) {
	if n >= most && t.Need == nil && t.Question == "" {
		t.Need = &Need{Cause: cause, Text: fmt.Sprintf("%s (%s): what now?", text, times(n)), Context: context}
	}
}

func (r *Run) baselineChecked(_ ledger.Event, p Baseline) {
	r.Baseline = &p
	r.Verified++
	if r.Remediation.Declared {
		r.tolerate()
		return
	}
	failing := r.failing()
	trouble := orSome(p.Trouble, "")
	if len(failing) > 0 {
		trouble = "these checks fail on what the work starts from: " + strings.Join(failing, ", ")
	}
	if r.Remediation.Stage == StageVerify {
		if trouble != "" {
			r.nextRound("the environment was called healthy, but " + trouble + "\n" + p.Output)
		}
		return
	}
	if trouble != "" {
		r.Remediation.Cause = trouble + "\n" + p.Output
	}
}

// tolerate lets the checks fail from here on that fail now: the operator declared
// the environment healthy.
func (r *Run) tolerate() {
	r.Tolerated = append(r.Tolerated, r.failing()...)
}

func (r *Run) sessionEnded(e ledger.Event, p Ended) {
	s := r.Sessions[e.Session]
	if s == nil {
		r.Used.Add(p.Usage)
		return
	}
	delete(r.Sessions, e.Session)
	t := r.Task(s.Task)
	r.spends(s, p.Usage)
	r.requesterGone(s, t)
	if t != nil {
		t.endOfTalk(s, p)
		t.endOfWork(s, p)
	}
	if p.How == Lost {
		r.lost(s, t)
	}
	if s.Over != "" {
		return // what it came to is counted already
	}
	if p.How == Limited || p.How == Stopped || p.How == LoggedOut || p.How == Orphaned || p.How == Lost || p.How == OverBudget && p.Budget == ScopeRun { // nobody's fault
		if q := r.request(s.Request); q != nil && q.Expert == s.ID {
			q.Expert = ""
		}
		return
	}
	r.attemptOver(s, p.How, p.Detail)
	if t == nil || !s.Holds() {
		return
	}
	switch p.How {
	case Broken:
		r.notStarted(t, s, p.Detail)
	case OverBudget:
		r.stopped(t, p.Budget)
	case TimedOut, Stalled:
		r.timedOut(t, "The agent before you ran out of time. What it left is in the worktree.", "ran out of time", p.Detail)
	default:
		t.Count.Crashes++
		t.Briefs = append(t.Briefs, Brief{"crash", "The agent before you ended without a signal. What it left is in the worktree."})
		r.limit(t, t.Count.Crashes, r.Settings.Limits.Crashes, CauseCrashes, "agents on this task crash", p.Detail)
	}
}

// timedOut counts an agent that did not come to an end.
func (r *Run) timedOut(t *Task, brief, last, context string) {
	t.Count.Timeouts++
	t.Briefs = append(t.Briefs, Brief{"time-out", brief})
	r.limit(t, t.Count.Timeouts, r.Settings.Limits.Timeouts, CauseTimeouts, noSignal+", the last one "+last, context)
}

// requesterGone settles what a session waited for that will not come back: advice
// that is there goes to the next agent on the task.
func (r *Run) requesterGone(s *Session, t *Task) {
	for _, q := range slices.Clone(r.Requests) {
		if q.Session != s.ID {
			continue
		}
		if x := r.Sessions[q.Expert]; x != nil {
			x.Over = "nobody waits for its advice any more"
		}
		if q.Advised && t != nil {
			t.Briefs = append(t.Briefs, Brief{"advice", q.Advice})
		}
		for _, open := range r.Open() {
			if open.Request == q.Request && t != nil {
				open.Request, t.Question, t.Need = "", open.ID, nil // one question at a time
			}
		}
		r.drop(q)
	}
}

func (r *Run) drop(q *Request) {
	r.Requests = slices.DeleteFunc(r.Requests, func(other *Request) bool { return other == q })
}

func (r *Run) unknownRecovery(e ledger.Event, p Unknown) {
	s := r.turned(e.Session, p.Turn)
	if s == nil {
		return
	}
	r.Unknown[r.unknownKey(s)]++
	if p.Progress {
		s.ask(Prompt{Ask: AskSignal, NearMisses: p.NearMisses})
		return
	}
	s.ask(Prompt{Ask: AskProgress, NearMisses: p.NearMisses, Answer: r.Settings.Limits.Answer})
}

// noted takes from a signal that ends nothing what concerns the run.
func (r *Run) noted(said work.Said) {
	name := strings.TrimSpace(said.Subject)
	usable := name != "" && len(name) <= maxExpertName && safetext.Escape(name) == name
	if said.Signal == agentsig.KindExpertCreated && usable && !slices.Contains(r.Known, name) && len(r.Known) < maxExperts {
		r.Known = append(r.Known, name)
	}
}

// Bounds on the names that agents make usable: all of them fit in an event, twice.
const (
	maxExperts    = 50
	maxExpertName = 64
)

func (r *Run) expertSpoke(session string, p ExpertCall, said func(*Request)) {
	if s := r.turned(session, p.Turn); s != nil {
		s.Over = itFinished
		delete(r.Unknown, r.unknownKey(s))
	}
	if q := r.request(p.Request); q != nil {
		said(q)
		q.Expert = ""
	}
}

func (r *Run) conflictReported(e ledger.Event, p FileConflict) {
	if s := r.turned(e.Session, p.Turn); s != nil {
		s.Over = "it waits for a file"
		delete(r.Unknown, r.unknownKey(s))
	}
	t := r.Task(p.Task)
	if t == nil {
		return
	}
	t.Count.Conflicts = p.Attempt
	t.Conflict = &p
	text := fmt.Sprintf("it needs %s, which %s is changing", p.Path, orSome(p.Holder, "another task"))
	if !p.CanWait {
		t.Need = &Need{Cause: CauseConflict, Text: text + ", and can't wait: what now?", Context: p.Reason}
		return
	}
	t.Briefs = append(t.Briefs, Brief{"conflict", "You reported a conflict: " + text + ". Look whether it is free now."})
	r.limit(t, p.Attempt, r.Settings.Limits.ConflictRetries+1, CauseConflict, text, p.Reason)
}

// fingerprint is the same for findings that say the same but for numbers, case
// and punctuation.
func fingerprint(finding string) (uint64, bool) {
	words := strings.FieldsFunc(strings.ToLower(finding), func(c rune) bool { return !unicode.IsLetter(c) })
	if len(words) < 2 {
		return 0, false
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(strings.Join(words, " "))) // which never fails
	return h.Sum64(), true
}
