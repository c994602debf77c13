package delivery

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
	"github.com/signalbox-dev/signalbox/safetext"
)

// maxWords bounds a sentence, in characters.
const maxWords = 160

// Words says in a short sentence what an event on a run or on one of its items is.
// The function task names a subject for people. What agents and people wrote is cut
// to one line, and escaped.
func Words(e ledger.Event, task func(subject string) string) string {
	say, ok := words[e.Type]
	if !ok {
		return oneLine(task(e.Subject) + ": " + e.Type)
	}
	about, sentence, err := say(e)
	if err != nil {
		return oneLine(task(e.Subject) + ": " + e.Type + " that can't be read")
	}
	if about == "" && slices.Contains(work.Types(), e.Type) && !slices.Contains(Types(), e.Type) {
		about = task(e.Subject)
	}
	if client, ok := strings.CutPrefix(e.Actor, work.ClientPrefix); ok {
		sentence = "client " + client + ": " + sentence
	}
	if about != "" {
		sentence = about + ": " + sentence
	}
	return oneLine(sentence)
}

// Sentence is the same for who shows besides whom it is about and who did it.
func Sentence(e ledger.Event) string {
	say, ok := words[e.Type]
	if !ok {
		return oneLine(e.Type)
	}
	_, sentence, err := say(e)
	if err != nil {
		return oneLine(e.Type + " that can't be read")
	}
	return oneLine(sentence)
}

// byHandOf chooses how to say what was done by hand: a client's name stands before it already.
func byHandOf(e ledger.Event, operator, client string) string {
	if strings.HasPrefix(e.Actor, work.ClientPrefix) {
		return client
	}
	return operator
}

// oneLine is the first line of a text that is not blank, safe to print and cut.
func oneLine(s string) string {
	s = safetext.Escape(firstLine(s))
	runes := []rune(s)
	if len(runes) > maxWords {
		return string(runes[:maxWords-1]) + "…"
	}
	return s
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(s)
}

// complaint is the gate's own last line on a check, which says less than what is before it.
var complaint = regexp.MustCompile(`(?m)^\[exit code .*\]$`)

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return strings.TrimSpace(s[strings.LastIndex(s, "\n")+1:])
}

// because adds a text to a sentence, if there is one.
func because(sentence, text string) string {
	if text = firstLine(text); text == "" {
		return sentence
	}
	return sentence + ": " + text
}

// spoken makes words out of a function that takes the payload. It returns whom the
// sentence is about, if that is not the event's own subject, and the sentence.
func spoken[P any](f func(ledger.Event, P) (about, sentence string)) func(ledger.Event) (string, string, error) {
	return func(e ledger.Event) (string, string, error) {
		var p P
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			return "", "", err
		}
		about, sentence := f(e, p)
		return about, sentence, nil
	}
}

var words = map[string]func(ledger.Event) (string, string, error){
	work.WorkAdded: spoken(func(_ ledger.Event, p work.Added) (string, string) {
		return "", because("added in "+string(p.Phase), p.Title)
	}),
	work.LeaseGranted:  spoken(grantWords),
	work.ReviewStarted: spoken(grantWords),
	work.AgentSessionCompleted: spoken(func(_ ledger.Event, p work.Result) (string, string) {
		return "", resultWords(p)
	}),
	work.LeaseReleased: spoken(func(_ ledger.Event, p work.Ended) (string, string) {
		return "", "free again in " + string(p.Phase)
	}),
	work.LeaseExpired: spoken(func(e ledger.Event, _ work.Ended) (string, string) {
		return "", "the lease of " + e.Session + " ran out"
	}),
	work.WorkTaken: spoken(func(e ledger.Event, p work.Taken) (string, string) {
		return "", byHandOf(e, "a person has taken", "taken") + " it over, from " + string(p.From)
	}),
	work.GatePassed: spoken(gateWords),
	work.GateFailed: spoken(gateWords),
	work.WorkOverridden: spoken(func(e ledger.Event, p work.Overridden) (string, string) {
		return "", because(fmt.Sprintf("%s it from %s to %s", byHandOf(e, "the operator moved", "moved"), p.From, p.NextPhase), p.Reason)
	}),
	work.WorkBlocked: spoken(func(_ ledger.Event, p work.Blocked) (string, string) {
		return "", because("blocked ("+p.Cause+")", p.Reason)
	}),
	work.WorkUnblocked: spoken(func(_ ledger.Event, p work.Unblocked) (string, string) {
		return "", "goes on in " + string(p.NextPhase)
	}),
	work.MergeProposed: spoken(func(_ ledger.Event, p work.Proposed) (string, string) {
		return "", fmt.Sprintf("the merge of %s onto %s waits for your review", short(p.Commit), short(p.Onto)) + notAudited(p.Unaudited)
	}),
	work.MergeApproved: spoken(func(_ ledger.Event, p work.Approved) (string, string) {
		return "", fmt.Sprintf("a person approves the merge of %s onto %s", short(p.Commit), short(p.Onto))
	}),
	work.MergeAllowed: spoken(func(_ ledger.Event, p work.Allowed) (string, string) {
		return "", fmt.Sprintf("the merge of %s onto %s is allowed", short(p.Commit), short(p.Onto)) + notAudited(p.Unaudited)
	}),
	work.WorkMerged: spoken(func(_ ledger.Event, p work.Merge) (string, string) {
		if len(p.Unseen) > 0 {
			return "", fmt.Sprintf("merged %s, completed, not seen by %v: the operator took it past", short(p.Commit), p.Unseen)
		}
		return "", "merged " + short(p.Commit) + ", completed" + notAudited(p.Unaudited)
	}),
	work.WorkUnchanged: spoken(func(_ ledger.Event, p work.Unchanged) (string, string) {
		return "", because("completed, no change, the critic agrees", p.Reason)
	}),
	work.AuditWaived: spoken(func(_ ledger.Event, p work.Waived) (string, string) {
		return "", "not audited: the run has no auditor, and the critic has passed " + short(p.Commit)
	}),
	work.WorkShown: spoken(func(_ ledger.Event, p work.Shown) (string, string) {
		return "", fmt.Sprintf("the %s is shown %s, tree %s", p.Role, short(p.Commit), short(p.Tree))
	}),
	work.MergeFailed: spoken(func(e ledger.Event, p work.Merge) (string, string) {
		if work.ByOperator(e.Actor) {
			return "", because(byHandOf(e, "a person sent", "sent")+" its merge back at "+short(p.Commit), p.Reason)
		}
		return "", because("can't be merged at "+short(p.Commit), p.Reason)
	}),
	work.SignalRecorded: spoken(func(_ ledger.Event, p work.Signalled) (string, string) { return "", noteWords(p.Said) }),
	work.LateResultRecorded: spoken(func(e ledger.Event, p work.Result) (string, string) {
		return "", fmt.Sprintf("%s of %s came too late", plain(p.Signal), e.Session)
	}),

	RunStarted: spoken(func(_ ledger.Event, p Started) (string, string) {
		return "", because(fmt.Sprintf("run %s started with %s", p.ID, english.Count(p.Tasks, "task")), p.Title)
	}),
	RunPaused:    spoken(func(_ ledger.Event, p Reason) (string, string) { return "", because("paused", p.Reason) }),
	RunResumed:   spoken(func(_ ledger.Event, p Reason) (string, string) { return "", because("resumed", p.Reason) }),
	RunCancelled: spoken(func(_ ledger.Event, p Reason) (string, string) { return "", because("cancelled", p.Reason) }),
	RunFinished: spoken(func(_ ledger.Event, p Finished) (string, string) {
		without := ""
		if p.Unchanged > 0 {
			without = fmt.Sprintf(" (%d with no change)", p.Unchanged)
		}
		left := fmt.Sprintf("%d left", p.Left-p.GivenUp)
		if p.GivenUp > 0 && p.GivenUp == p.Left {
			left = fmt.Sprintf("%d given up", p.GivenUp)
		} else if p.GivenUp > 0 {
			left = fmt.Sprintf("%d given up, %s", p.GivenUp, left)
		}
		return "", fmt.Sprintf("the run has ended: %s, %d completed%s, %s", p.Outcome, p.Completed, without, left)
	}),
	BaselineChecked: spoken(func(_ ledger.Event, p Baseline) (string, string) {
		if p.Trouble != "" {
			return "", because("baseline could not be checked", p.Trouble)
		}
		words := because("baseline at "+short(p.Commit), checkWords(p.Checks, false))
		return "", because(words, lastLine(complaint.ReplaceAllString(p.Output, "")))
	}),
	SessionGranted: spoken(func(_ ledger.Event, p Granted) (string, string) {
		what := fmt.Sprintf("%s (%s) started%s", p.Role, p.Agent, onMachine(p.Runner))
		switch {
		case p.Round > 0:
			what += fmt.Sprintf(", round %d", p.Round)
		case p.Request != "":
			what += " for " + p.Request
		}
		return p.Task, what
	}),
	SessionEnded: spoken(func(e ledger.Event, p Ended) (string, string) {
		return p.Task, because(fmt.Sprintf("%s %s", orSome(p.Role, e.Session), endings[p.How]), p.Detail)
	}),
	WorkPushed: spoken(func(_ ledger.Event, p WorkAt) (string, string) {
		of := "the work of the " + orSome(string(p.Role), "agent") + onMachine(p.Runner)
		if p.Problem != "" {
			return p.Task, because(of+" can't be brought here", p.Problem)
		}
		return p.Task, of + " has arrived: " + short(p.Commit)
	}),
	PromptDelivered: spoken(func(e ledger.Event, _ Delivered) (string, string) { return "", e.Session + " has its prompt" }),
	UnknownRecovery: spoken(func(_ ledger.Event, p Unknown) (string, string) {
		sentence := fmt.Sprintf("output without a signal that counts, time %d", p.Attempt)
		return p.TaskID, because(sentence+nearly(p.NearMisses), lastLine(p.OutputPreview))
	}),
	SignalFailure: spoken(func(_ ledger.Event, p Unknown) (string, string) {
		return p.TaskID, because("the agent is given up, it said nothing that counts"+nearly(p.NearMisses), lastLine(p.OutputPreview))
	}),
	SignalRequested: spoken(func(e ledger.Event, _ Turned) (string, string) {
		return "", e.Session + " is asked for its signal again"
	}),
	AnswerMissed: spoken(func(e ledger.Event, _ Turned) (string, string) { return "", e.Session + " did not answer in time" }),
	SignalRefused: spoken(func(_ ledger.Event, p Refused) (string, string) {
		return p.Task, fmt.Sprintf("refused %s: %s", plain(p.Kind), p.Reason.Hint())
	}),
	SignalNoted: spoken(func(_ ledger.Event, p Noted) (string, string) { return "", noteWords(p.Said) }),
	QuestionAsked: spoken(func(_ ledger.Event, p Question) (string, string) {
		return p.Task, fmt.Sprintf("asks: %s (%s)", clip(firstLine(p.Text), maxWords-40), p.ID)
	}),
	QuestionAnswered: spoken(func(_ ledger.Event, p Answered) (string, string) {
		if p.Choice == ChooseCancel {
			return p.Task, because("given up, by the answer to "+p.ID, p.Text)
		}
		return "", because(because(p.ID+" is answered", p.Choice), p.Text)
	}),
	RemediationStarted: spoken(func(_ ledger.Event, p Round) (string, string) {
		return p.Task, because("the environment needs repair", p.Detail)
	}),
	RemediationCompleted: spoken(func(_ ledger.Event, p Round) (string, string) {
		return "", fmt.Sprintf("repair of the environment, round %d, is done", p.Round)
	}),
	HealthAudited: spoken(func(_ ledger.Event, p Round) (string, string) {
		state := "unhealthy"
		if p.Healthy {
			state = "healthy"
		}
		return "", because(fmt.Sprintf("the environment is called %s, round %d", state, p.Round), p.Detail)
	}),
	RepairChecked: spoken(func(_ ledger.Event, p Repair) (string, string) {
		return "", because(fmt.Sprintf("repair %s changes %s", short(p.Commit), english.Count(p.Files, "file")), checkWords(p.Checks, false))
	}),
	RepairReviewed: spoken(func(_ ledger.Event, p RepairReview) (string, string) {
		if p.Passed {
			return "", "repair " + short(p.Commit) + ": review passed"
		}
		return "", because("repair "+short(p.Commit)+": review failed", p.Findings)
	}),
	RepairMerged: spoken(func(_ ledger.Event, p RepairMerge) (string, string) {
		return "", because(fmt.Sprintf("merged the repair %s as %s", short(p.Commit), short(p.Merge)), fileWords(p.Names, p.Files))
	}),
	RepairUnmerged: spoken(func(_ ledger.Event, p RepairMerge) (string, string) {
		return "", because("repair "+short(p.Commit)+" can't be merged", p.Reason)
	}),
	RemediationEnded: spoken(func(_ ledger.Event, p Round) (string, string) {
		if p.Unchecked != "" {
			return "", because("you declared the environment healthy; "+p.Unchecked, p.Detail)
		}
		return "", because("the environment is healthy again", p.Detail)
	}),
	ExpertRequested: spoken(func(_ ledger.Event, p ExpertCall) (string, string) {
		return p.Task, fmt.Sprintf("asks the expert %s (%s)", p.Target, p.Request)
	}),
	ExpertRefused: spoken(func(_ ledger.Event, p ExpertCall) (string, string) { return p.Task, because("gets no expert", p.Text) }),
	ExpertAdvised: spoken(func(_ ledger.Event, p ExpertCall) (string, string) {
		return p.Task, because("advice for "+p.Request, p.Text)
	}),
	ExpertFailed: spoken(func(_ ledger.Event, p ExpertCall) (string, string) {
		return p.Task, because("no advice for "+p.Request, p.Text)
	}),
	RequesterResumed: spoken(func(e ledger.Event, p ExpertCall) (string, string) {
		return p.Task, e.Session + " goes on with the advice"
	}),
	ConflictReported: spoken(func(_ ledger.Event, p FileConflict) (string, string) {
		return p.Task, because(fmt.Sprintf("needs %s, which %s is changing", p.Path, orSome(p.Holder, "another task")), p.Reason)
	}),
	UsageReported: spoken(func(_ ledger.Event, p Spending) (string, string) { return p.Task, "used so far: " + p.Usage.Words() }),
	BudgetReached: spoken(func(_ ledger.Event, p Reached) (string, string) {
		return p.Task, fmt.Sprintf("the budget of the %s is used up (%s)", p.Scope, p.Usage.Words())
	}),
	ProviderPaused: spoken(func(e ledger.Event, p Pause) (string, string) {
		if p.Login {
			return "", because(p.Provider+" refuses the login of its agents: no starts until you answer", p.Detail)
		}
		return "", because(fmt.Sprintf("%s has reached its limit: no starts until %s UTC", p.Provider, Until(e.Time.UTC(), p.Until)), p.Detail)
	}),
	TaskCancelled: spoken(func(_ ledger.Event, p OnTask) (string, string) { return p.Task, because("given up", p.Text) }),
	TaskRetried:   spoken(func(_ ledger.Event, p OnTask) (string, string) { return p.Task, because("is tried again", p.Text) }),
	MessageTold: spoken(func(e ledger.Event, p Message) (string, string) {
		return p.Task, because(byHandOf(e, "the operator says", "says"), p.Text)
	}),
	PullRequestOpened: spoken(func(_ ledger.Event, p PullRequest) (string, string) {
		if p.URL == "" {
			return "", because("the pull request could not be opened", p.Problem)
		}
		return "", because("a pull request was opened", p.URL)
	}),
	CheckoutTouched: spoken(func(_ ledger.Event, p OnTask) (string, string) {
		return p.Task, firstLine(p.Text) + Outside
	}),
	ConversationLost: spoken(func(_ ledger.Event, p OnTask) (string, string) {
		return p.Task, because("its conversation can't be gone on with, and it starts afresh", p.Text)
	}),
	PlanAmended:      spoken(func(_ ledger.Event, p Amended) (string, string) { return "", amendedWords(p) }),
	LeftoversRemoved: spoken(func(_ ledger.Event, p Removed) (string, string) { return p.Task, because(removedWords(p), p.Reason) }),
	ProtectionLost:   spoken(func(_ ledger.Event, p Exposure) (string, string) { return "", NotProtected(p.Unprotected) }),
	PermissionDenied: spoken(func(_ ledger.Event, p Denial) (string, string) { return p.Task, because("was refused", p.Text) }),
	ModelSignalled: spoken(func(_ ledger.Event, p Signalled) (string, string) {
		return p.Task, because(fmt.Sprintf("%s: the model signals %s (%.2g)", p.asker(), p.Signal, p.Confidence), p.Text)
	}),
	ToolCalled:   spoken(func(_ ledger.Event, p Called) (string, string) { return p.Task, p.words() }),
	ToolReturned: spoken(func(_ ledger.Event, p Returned) (string, string) { return p.Task, p.words() }),
}

var endings = map[How]string{
	Done: "ended", Crashed: "crashed", TimedOut: "ran out of time", Stalled: "stalled", Limited: "met its provider's limit",
	Stopped: "was stopped", Orphaned: "was left alone for too long", Broken: "could not be started", Lost: "was lost with its runner", OverBudget: "was ended at its budget", LoggedOut: "has a login that its provider refuses",
}

// failures say by whose word a commit did not pass.
var failures = map[work.Since]string{
	work.SinceGate: "the gate failed", work.SinceReview: "the review failed", work.SinceAudit: "the audit failed", work.SinceMerge: "the merge failed",
	work.SincePerson: "a person sent its merge back",
}

func grantWords(_ ledger.Event, p work.Granted) (string, string) {
	who := fmt.Sprintf("%s (%s) ", orSome(string(p.Role), "somebody"), orSome(p.Agent, "by hand"))
	switch {
	case p.Resumes != "":
		return "", who + "goes on with its conversation" + onMachine(p.Runner)
	case p.Fresh != "":
		return "", because(who+"started afresh"+onMachine(p.Runner), p.Fresh)
	}
	return "", who + "started" + onMachine(p.Runner)
}

// onMachine ends a sentence about what is not at home.
func onMachine(runner string) string {
	if runner == "" {
		return ""
	}
	return " on " + runner
}

// notAudited ends a sentence about a merge that no auditor has looked at.
func notAudited(unaudited bool) string {
	if !unaudited {
		return ""
	}
	return ", not audited"
}

// outcomes are the signals that end a session, said of the work.
var outcomes = map[agentsig.Kind]string{
	agentsig.KindReadyForReview: "ready for review", agentsig.KindTaskIncomplete: "not finished", agentsig.KindInfraBlocked: "blocked by the environment",
	agentsig.KindReviewPassed: "review passed", agentsig.KindReviewFailed: "sent back by the critic", agentsig.KindAuditPassed: "audit passed",
	agentsig.KindAuditFailed: "sent back by the auditor", agentsig.KindAuditBlocked: "audit blocked", agentsig.KindExpandedSpec: "specified",
	agentsig.KindDivineClarification: "needs a person",
}

// telling are the fields that say most about a result.
var telling = []string{"Summary", "Required Fixes", "Issues Found", "Failed Criteria", "Blocker", "Issue", "Question", "Confidence"}

func resultWords(p work.Result) string {
	sentence, ok := outcomes[p.Signal]
	if !ok && p.Audited {
		return because("audit passed", p.Notes)
	}
	if !ok {
		return because(fmt.Sprintf("%s %s, now %s", p.PhaseCompleted, p.ExitReason, p.NextPhase), p.Notes)
	}
	if p.Signal == agentsig.KindReviewFailed || p.Signal == agentsig.KindAuditFailed {
		return because(sentence, orSome(p.Field("Required Fixes"), orSome(p.Field("Issues Found"), p.Field("Failed Criteria"))))
	}
	if claim := p.Said.NoChange(); claim != "" {
		return because(sentence+", no change needed", claim)
	}
	for _, name := range telling {
		if text := p.Field(name); text != "" {
			return because(sentence, text)
		}
	}
	return sentence
}

func noteWords(s work.Said) string {
	switch s.Signal {
	case agentsig.KindCheckpoint:
		return because("progress", orSome(s.Field("Progress"), s.Field("Status")))
	case agentsig.KindExpertCreated:
		return "made the expert " + s.Subject
	}
	return because("said "+plain(s.Signal), s.Subject)
}

func gateWords(e ledger.Event, p work.Gate) (string, string) {
	switch p.Since {
	case "":
	case work.SinceStart:
		return "", "sent back at " + short(p.Commit) + ": nothing was changed"
	default:
		return "", fmt.Sprintf("sent back at %s: nothing was changed since %s", short(p.Commit), failures[p.Since])
	}
	verdict := "passed"
	switch {
	case e.Type == work.GateFailed:
		verdict = "failed"
	case slices.ContainsFunc(p.Checks, func(c work.Check) bool { return !c.Passed }):
		verdict = "let it through"
	}
	checked := checkWords(p.Checks, e.Type == work.GatePassed)
	if e.Type == work.GateFailed && len(p.Checks) == 0 {
		checked = orSome(firstLine(p.Output), checked)
	}
	if p.Files != nil && *p.Files == 0 {
		checked += "; nothing was changed"
	}
	return "", because("gate "+verdict+onMachine(p.Runner)+" at "+short(p.Commit), checked)
}

// Outside follows a change that no agent should have made. Who made it is not known.
const Outside = " while it was worked on: by you, or by its agent"

// FailsAnyway is why a check that fails keeps nothing back: the operator declared the environment healthy.
const FailsAnyway = "tolerated: it fails on the base too"

// checkWords says how checks ended. One that fails though all of them passed is one
// that may.
func checkWords(checks []work.Check, passed bool) string {
	if len(checks) == 0 {
		return "nothing was checked"
	}
	parts := make([]string, len(checks))
	for i, c := range checks {
		state := "failed"
		switch {
		case c.Flaky:
			state = "ok when it ran again"
		case c.Passed:
			state = "ok"
		case passed:
			state = "failed, " + FailsAnyway
		}
		parts[i] = c.Name + " " + state
	}
	return strings.Join(parts, ", ")
}

// nearly names the last thing that was nearly a signal: what ends the output is
// likeliest to be meant as one.
func nearly(all []NearMiss) string {
	if len(all) == 0 {
		return ""
	}
	last := all[len(all)-1]
	what, _, _ := strings.Cut(last.Reason.Hint(), ";")
	return fmt.Sprintf(", nearly %s (%s)", wire(last.Kind), what)
}

// wire is how a signal is written.
func wire(k agentsig.Kind) string {
	e, _ := agentsig.Lookup(k)
	return orSome(e.Wire, string(k))
}

// How much of an output without a signal a person is shown.
const (
	unheardLines  = 8
	unheardMisses = 3
)

// unheard says what an agent without a signal said last, and why that did not count.
func unheard(p Unknown) string {
	var b strings.Builder
	if said := strings.TrimSpace(p.OutputPreview); said == "" {
		b.WriteString("It printed nothing.")
	} else {
		lines := strings.Split(said, "\n")
		b.WriteString("Its last words:\n> " + strings.Join(lines[max(len(lines)-unheardLines, 0):], "\n> "))
	}
	switch {
	case p.Ambiguous:
		b.WriteString("\nThey do not count: they have more than one signal, and these disagree.")
	case len(p.NearMisses) == 0:
		b.WriteString("\nThere is no signal in them.")
	}
	for _, m := range p.NearMisses[max(len(p.NearMisses)-unheardMisses, 0):] {
		fmt.Fprintf(&b, "\n%s on line %d did not count: %s.", wire(m.Kind), m.Line, m.Reason.Hint())
	}
	return b.String()
}

func plain(k agentsig.Kind) string { return strings.ReplaceAll(string(k), "_", " ") }

// short is as much of a commit's name as people read.
func short(commit string) string { return commit[:min(7, len(commit))] }

// Until says how long something takes that ends then, to somebody for whom it is now: a time of this day, or
// else the day too. It is in the zone of now.
func Until(now, then time.Time) string {
	then = then.In(now.Location())
	if then.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return then.Format("15:04")
	}
	return then.Format("Mon 2006-01-02 15:04")
}

// times says how often something happened.
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return english.Count(n, "time")
}

func clip(s string, most int) string {
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	return string(runes[:most-1]) + "…"
}

// removedWords says what was removed of a task, or of a run.
func removedWords(p Removed) string {
	var all []string
	if p.Worktree {
		all = append(all, "its worktree")
	}
	if p.Branch != "" {
		all = append(all, fmt.Sprintf("its branch, which was at %s", short(p.Commit)))
	}
	if n := len(p.Sessions); n > 0 {
		all = append(all, english.Count(n, "transcript")+" (the hashes stay)")
	}
	if n := len(p.Logs); n > 0 {
		all = append(all, english.Count(n, "log")+" of checks")
	}
	return "removed " + strings.Join(all, ", ")
}
