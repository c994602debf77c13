package delivery

import (
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// The types of events on a run. The two in lower case have the names that the
// signals' reference gives them.
const (
	RunStarted           = "RunStarted"
	RunPaused            = "RunPaused"
	RunResumed           = "RunResumed"
	RunCancelled         = "RunCancelled"
	RunFinished          = "RunFinished"
	BaselineChecked      = "BaselineChecked"
	SessionGranted       = "SessionGranted" // to an agent that holds no item: remediation, health audit, a repair's critic, expert
	SessionEnded         = "SessionEnded"   // an agent's process, whoever it worked for
	PromptDelivered      = "PromptDelivered"
	UnknownRecovery      = work.UnknownRecovery
	SignalFailure        = work.SignalFailure
	SignalRequested      = "SignalRequested" // after a report of progress: the signal is asked for again
	AnswerMissed         = "AnswerMissed"    // a request for progress was not answered in time
	SignalRefused        = "SignalRefused"   // one in another's name, or with another session's nonce
	SignalNoted          = "SignalNoted"     // one that ends nothing, from a session that holds no item
	QuestionAsked        = "QuestionAsked"
	QuestionAnswered     = work.QuestionAnswered
	RemediationStarted   = "RemediationStarted"
	RemediationCompleted = "RemediationCompleted" // an agent says that it has repaired the environment
	HealthAudited        = "HealthAudited"
	RepairChecked        = "RepairChecked"  // the gate, on what remediation committed
	RepairReviewed       = "RepairReviewed" // by a critic
	RepairMerged         = "RepairMerged"
	RepairUnmerged       = "RepairUnmerged" // it passed its review, and could not be merged
	RemediationEnded     = "RemediationEnded"
	ExpertRequested      = "ExpertRequested"
	ExpertRefused        = "ExpertRefused"
	ExpertAdvised        = "ExpertAdvised"
	ExpertFailed         = "ExpertFailed"
	RequesterResumed     = "RequesterResumed"
	ConflictReported     = "ConflictReported"
	ProviderPaused       = "ProviderPaused"
	TaskCancelled        = "TaskCancelled"
	TaskRetried          = "TaskRetried"
	MessageTold          = "MessageTold"
	PullRequestOpened    = "PullRequestOpened" // or why it could not be
	CheckoutTouched      = "CheckoutTouched"   // something outside of its worktree changed while an agent ran
	PermissionDenied     = "PermissionDenied"  // something that an agent wanted to do was refused
	UsageReported        = "UsageReported"     // by a session in the middle of its work, if there is a budget
	BudgetReached        = "BudgetReached"     // agents that are at work are ended for it
	ProtectionLost       = "ProtectionLost"    // a box goes on with settings by which verdicts could be forged
	PlanAmended          = "PlanAmended"       // another version of the plan is delivered from now on
	LeftoversRemoved     = "LeftoversRemoved"  // what a run that has ended had left, or what was said in it
	ConversationLost     = "ConversationLost"  // a session that was to go on with one begins afresh
	ModelSignalled       = "ModelSignalled"    // of its own turn, by the model that an expert asks
	ToolCalled           = "ToolCalled"        // by that model; recorded before it is called
	ToolReturned         = "ToolReturned"
	WorkPushed           = "WorkPushed" // the box's repository has what a session on another machine has done so far
)

// Types lists every type of event on a run.
func Types() []string {
	return []string{
		RunStarted, RunPaused, RunResumed, RunCancelled, RunFinished, BaselineChecked, SessionGranted, SessionEnded,
		PromptDelivered, UnknownRecovery, SignalFailure, SignalRequested, AnswerMissed, SignalRefused, SignalNoted,
		QuestionAsked, QuestionAnswered, RemediationStarted, RemediationCompleted, HealthAudited,
		RepairChecked, RepairReviewed, RepairMerged, RepairUnmerged, RemediationEnded,
		ExpertRequested, ExpertRefused, ExpertAdvised, ExpertFailed, RequesterResumed, ConflictReported, ProviderPaused,
		TaskCancelled, TaskRetried, MessageTold, PullRequestOpened, CheckoutTouched, PermissionDenied, UsageReported, BudgetReached, ProtectionLost,
		LeftoversRemoved, PlanAmended, ConversationLost, ModelSignalled, ToolCalled, ToolReturned, WorkPushed,
	}
}

// Event is what is to be recorded on a run. The ledger adds its order, its time
// and the chain.
type Event struct {
	Type    string
	Actor   string
	Session string
	Payload any // of the types below
}

// Started is the payload of RunStarted.
type Started struct {
	ID       string      `json:"id"`
	Title    string      `json:"title"`
	Plan     ledger.Blob `json:"plan"` // as it was handed in
	Digest   string      `json:"digest"`
	Tasks    int         `json:"tasks"`
	Settings Settings    `json:"settings"`
	Base     string      `json:"base"`           // the commit that it starts from
	Branch   string      `json:"branch"`         // that work is merged to
	Onto     string      `json:"onto,omitempty"` // the branch that a pull request is for
	Repo     string      `json:"repo"`
	Checks   int         `json:"checks"`         // how many verification commands the gate has
	Key      string      `json:"key,omitempty"`  // of the request that it was started by
	Path     string      `json:"path,omitempty"` // of the plan's file, in the repository if it lies there
	Home     string      `json:"home,omitempty"` // the box in whose directory it was started, of those that share the ledger; its runner is home to the run
}

// Reason is the payload of events that say nothing but why.
type Reason struct {
	Reason string `json:"reason,omitempty"`
}

// Finished is the payload of RunFinished.
type Finished struct {
	Outcome   Outcome `json:"outcome"`
	Completed int     `json:"completed"`
	Unchanged int     `json:"unchanged,omitempty"` // of those completed: without a change
	Left      int     `json:"left"`
	GivenUp   int     `json:"given_up,omitempty"` // of those left
}

// Outcome is how a run ended.
type Outcome string

// The outcomes.
const (
	Completed Outcome = "completed" // every task
	Partial   Outcome = "partial"   // some were cancelled, or depend on one that was
	Cancelled Outcome = "cancelled"
	Halted    Outcome = "halted" // in remediation, or for its budget
)

// Baseline is the payload of BaselineChecked.
type Baseline struct {
	Commit  string       `json:"commit"`
	Checks  []work.Check `json:"checks,omitempty"`
	Output  string       `json:"output,omitempty"`
	Trouble string       `json:"trouble,omitempty"` // why the checks could not be run
}

// Granted is the payload of SessionGranted.
type Granted struct {
	Role    agentsig.Role `json:"role"`
	Agent   string        `json:"agent"`
	Task    string        `json:"task,omitempty"` // in whose worktree
	Request string        `json:"request,omitempty"`
	Round   int           `json:"round,omitempty"`
	Commit  string        `json:"commit,omitempty"` // of a repair, that a critic is to review
	Runner  string        `json:"runner,omitempty"` // that its process is on; empty for home

	TokenSHA256 ledger.Hash `json:"token_sha256,omitzero"` // of the token of the session's process
}

// Ended is the payload of SessionEnded.
type Ended struct {
	How     How       `json:"how"`
	Detail  string    `json:"detail,omitempty"`
	Role    string    `json:"role,omitempty"`
	Task    string    `json:"task,omitempty"`
	ResetAt time.Time `json:"reset_at,omitzero"`
	Usage   Usage     `json:"usage"`
	Bytes   int64     `json:"bytes"` // of the transcript
	SHA256  string    `json:"sha256,omitempty"`
	Budget  Scope     `json:"budget,omitempty"` // that it has used up

	Conversation *Conversation `json:"conversation,omitempty"` // that its agent's program can go on with
	Commit       string        `json:"commit,omitempty"`       // that the work of a session at home was committed as, for others to go on with; empty if it lies there alone. One elsewhere has WorkPushed
	Runner       string        `json:"runner,omitempty"`       // that the session was lost with, because nothing was heard of it for too long
}

// How is how an agent's process ended.
type How string

// How it can end.
const (
	Done       How = "done" // it was told to, after its last word
	Crashed    How = "crashed"
	TimedOut   How = "timed_out"
	Stalled    How = "stalled"
	Limited    How = "limited"     // its provider's usage limit
	Stopped    How = "stopped"     // by the operator, or with the box
	Orphaned   How = "orphaned"    // the box stayed away too long
	LoggedOut  How = "logged_out"  // its provider refuses its login
	OverBudget How = "over_budget" // of its run, its task or its turn
	Broken     How = "broken"      // it was not started: its worktree could not be made ready
	Lost       How = "lost"        // its runner was away for too long
)

// Hows lists how an agent's process can end.
func Hows() []How {
	return []How{Done, Crashed, TimedOut, Stalled, Limited, Stopped, Orphaned, LoggedOut, OverBudget, Broken, Lost}
}

// Delivered is the payload of PromptDelivered.
type Delivered struct {
	Prompt string `json:"prompt"`
}

// Unknown is the payload of unknown_signal_recovery and agent_signal_failure.
type Unknown = work.Unknown

// NearMiss is something that was nearly a signal.
type NearMiss = work.NearMiss

// Turned is the payload of events that a turn leads to and that say no more.
type Turned struct {
	Turn       int        `json:"turn"`
	Detail     string     `json:"detail,omitempty"`
	NearMisses []NearMiss `json:"near_misses,omitempty"`
}

// Refused is the payload of SignalRefused.
type Refused struct {
	Task string `json:"task,omitempty"`
	NearMiss
}

// Noted is the payload of SignalNoted.
type Noted struct {
	Report int `json:"report"`
	work.Said
}

// Denial is the payload of PermissionDenied.
type Denial struct {
	Report int    `json:"report"`
	Task   string `json:"task,omitempty"`
	Text   string `json:"text"`
}

// Question is the payload of QuestionAsked.
type Question struct {
	ID      string   `json:"id"`
	Task    string   `json:"task,omitempty"`    // it holds up; empty if it is about the run
	Request string   `json:"request,omitempty"` // of an expert, whose requester waits for the answer
	Cause   Cause    `json:"cause"`
	Text    string   `json:"text"`
	Context string   `json:"context,omitempty"`
	Choices []string `json:"choices,omitempty"` // some answers have a meaning; any other is advice
	Session string   `json:"session,omitempty"` // that asked
	Turn    int      `json:"turn,omitempty"`

	Provider string `json:"provider,omitempty"` // that refuses the login of its agents
}

// Cause is why something is blocked or asked.
type Cause = work.Cause

// The causes. Those from reviews to budget are limits.
const (
	CauseClarification  Cause = "clarification"
	CauseIncomplete     Cause = "incomplete"
	CauseLowConfidence  Cause = "low_confidence"
	CauseExit           Cause = "exit"
	CauseInfrastructure Cause = "infrastructure"
	CauseReviews        Cause = "reviews"
	CauseFinding        Cause = "repeated_finding"
	CauseAudits         Cause = "audits"
	CauseGates          Cause = "gates"
	CauseUnchanged      Cause = "unchanged"
	CauseMerge          Cause = "merge"
	CauseMerges         Cause = "merges"
	CauseCrashes        Cause = "crashes"
	CauseTimeouts       Cause = "timeouts"
	CauseObstacles      Cause = "obstacles"
	CauseExpert         Cause = "expert"
	CauseExpertAttempts Cause = "expert_attempts"
	CauseExpertRequests Cause = "expert_requests"
	CauseConflict       Cause = "file_conflict"
	CauseRemediation    Cause = "remediation_rounds"
	CauseBudget         Cause = "budget"
	CauseOperator       Cause = "operator"
	CauseRole           Cause = "role"  // that nobody plays
	CauseLogin          Cause = "login" // that a provider refuses
)

// Answered is the payload of QuestionAnswered.
type Answered struct {
	ID     string `json:"id"`
	Choice string `json:"choice,omitempty"`
	Text   string `json:"text,omitempty"`
	Task   string `json:"task,omitempty"` // that the question is about; empty if it is about the run, and in events from before
}

// Choices of answers.
const (
	ChooseRetry    = "retry"
	ChooseCancel   = "cancel"
	ChooseHealthy  = "healthy"
	ChooseHalt     = "halt"
	ChooseContinue = "continue"
	ChooseAccept   = "accept"
	ChooseRaise    = "raise"
)

// Round is the payload of RemediationStarted, HealthAudited and RemediationEnded.
type Round struct {
	Round   int    `json:"round"`
	Task    string `json:"task,omitempty"` // that met the trouble
	Healthy bool   `json:"healthy,omitempty"`
	Detail  string `json:"detail,omitempty"`
	Turn    int    `json:"turn,omitempty"`

	Unchecked string `json:"unchecked,omitempty"` // of an end that the operator declared: what the gate lets pass from here on, in words
}

// ExpertCall is the payload of ExpertRequested, ExpertRefused, ExpertAdvised,
// ExpertFailed and RequesterResumed.
type ExpertCall struct {
	Request string   `json:"request,omitempty"`
	Task    string   `json:"task"`
	Target  string   `json:"target,omitempty"`
	Type    string   `json:"type,omitempty"`
	Text    string   `json:"text,omitempty"` // what is asked, or the advice
	Known   []string `json:"known,omitempty"`
	Turn    int      `json:"turn,omitempty"`
}

// FileConflict is the payload of ConflictReported.
type FileConflict struct {
	Task    string    `json:"task"`
	Path    string    `json:"path"`
	Holder  string    `json:"holder,omitempty"` // the task that changes the file, if it is known
	Reason  string    `json:"reason,omitempty"`
	CanWait bool      `json:"can_wait"`
	Until   time.Time `json:"until,omitzero"`
	Attempt int       `json:"attempt"`
	Turn    int       `json:"turn"`
}

// Pause is the payload of ProviderPaused.
type Pause struct {
	Provider string    `json:"provider"`
	Until    time.Time `json:"until"`           // zero if a person has to say so
	Login    bool      `json:"login,omitempty"` // it refuses the login of its agents
	Detail   string    `json:"detail,omitempty"`
}

// Spending is the payload of UsageReported.
type Spending struct {
	Report int    `json:"report"`
	Task   string `json:"task,omitempty"`
	Usage  Usage  `json:"usage"` // of the session so far
}

// Reached is the payload of BudgetReached.
type Reached struct {
	Scope Scope  `json:"scope"`
	Task  string `json:"task,omitempty"`
	Usage Usage  `json:"usage"` // of the run or the task so far
}

// Message is the payload of MessageTold.
type Message struct {
	Task string `json:"task"`
	Text string `json:"text"`
	Key  string `json:"key,omitempty"` // of the request
}

// PullRequest is the payload of PullRequestOpened.
type PullRequest struct {
	URL     string `json:"url,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// OnTask is the payload of TaskCancelled, TaskRetried, CheckoutTouched and ConversationLost.
type OnTask struct {
	Task string `json:"task"`
	Text string `json:"text,omitempty"`
}

// Removed is the payload of LeftoversRemoved: what is about to be removed of a task, or of what the run has besides. The
// hashes of what was said stay in the ledger.
type Removed struct {
	Task     string   `json:"task,omitempty"`
	Worktree bool     `json:"worktree,omitempty"`
	Branch   string   `json:"branch,omitempty"`
	Commit   string   `json:"commit,omitempty"`   // that the branch was at
	Sessions []string `json:"sessions,omitempty"` // whose transcripts are
	Logs     []string `json:"logs,omitempty"`     // of checks
	Reason   string   `json:"reason"`
}
