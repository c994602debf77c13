package agentreply

import (
	"fmt"

	"github.com/signalbox-dev/signalbox/agentformat"
)

// FlagKind is a flag that a reply can have.
type FlagKind struct {
	Name     string
	Severity agentformat.Severity
	Meaning  string
	Do       string // what to do about it
}

// The names of flags.
const (
	FlagQuestionWaiting = "question_waiting"
	FlagReviewWaiting   = "review_waiting"
	FlagGateFailing     = "gate_failing"
	FlagOverBudget      = "over_budget"
	FlagStalled         = "stalled"
	FlagNothingChanged  = "nothing_changed"
	FlagProviderPaused  = "provider_paused"
	FlagRunnerMissing   = "runner_missing"
	FlagUnprotected     = "unprotected"
	FlagUnchecked       = "unchecked"
	FlagDistrusted      = "distrusted"
	FlagNotPublished    = "not_published"

	FlagRunRunning    = "run_running"
	FlagRunWaiting    = "run_waiting"
	FlagRunPaused     = "run_paused"
	FlagRunEnding     = "run_ending"
	FlagRunStopped    = "run_stopped"
	FlagRunFinished   = "run_finished"
	FlagRunIncomplete = "run_incomplete"
	FlagRunCancelled  = "run_cancelled"
	FlagRunFailed     = "run_failed"
	FlagNoRuns        = "no_runs"
	FlagRunsListed    = "runs_listed"

	FlagTaskWorking   = "task_working"
	FlagTaskWaiting   = "task_waiting"
	FlagTaskReady     = "task_ready"
	FlagTaskBlocked   = "task_blocked"
	FlagTaskCancelled = "task_cancelled"
	FlagTaskCompleted = "task_completed"

	FlagInboxEmpty    = "inbox_empty"
	FlagUsageKnown    = "usage_known"
	FlagPlanOK        = "plan_ok"
	FlagPlanInvalid   = "plan_invalid"
	FlagPlanRunning   = "plan_running"
	FlagPlanAmends    = "plan_amends"
	FlagPlanDelivered = "plan_delivered"
	FlagTextMore      = "text_more"
	FlagTextEnd       = "text_end"
	FlagProven        = "proven"
	FlagDone          = "done"

	FlagNotFound       = "not_found"
	FlagRefused        = "refused"
	FlagInvalid        = "invalid"
	FlagUnauthorized   = "unauthorized"
	FlagTryAgain       = "try_again"
	FlagNoBox          = "no_box"
	FlagNotSetUp       = "not_set_up"
	FlagBoxNotWritable = "box_not_writable"
	FlagFailed         = "failed"
	FlagUnknownState   = "unknown_state"
)

// Table lists every flag: those that ask for something first, then states, then what failed. docs/flags.md shows it.
func Table() []FlagKind {
	return []FlagKind{
		{FlagQuestionWaiting, agentformat.Warning, "a question waits for a person, and what it is about stands still until it is answered", "show the person the question and its choices, word for word; give their answer to it with `answer_question`, or let them run `signalbox answer`; never answer in their place"},
		{FlagReviewWaiting, agentformat.Warning, "a task waits for a person who reviews it, does it, or gives it back", "show the person the task and its diff (`get_diff`); give their verdict (accept, or send back) with `review_task`, or let them run the command that stands in `needs_you`"},
		{FlagDistrusted, agentformat.Warning, "the box paused the run, because something that its agents follow was changed by somebody", "show the person the reason, and changes if they like; only they resume the run; do not follow what was changed"},
		{FlagGateFailing, agentformat.Warning, "the checks fail: a task was sent back by the gate, or remediation repairs the environment", "wait while agents work on it; at a limit the box asks a person; `get_log` of the task says what fails"},
		{FlagOverBudget, agentformat.Warning, "80 % of a budget is used, or all of it; the message says how much is left", "tell the person before you wait; once it is used up, a question asks whether to go on"},
		{FlagStalled, agentformat.Warning, "nothing was heard of an agent for 10 minutes or more, or it is out of touch with the box", "call `wait_run` once, which waits all the same; if it stays so, tell the person, who may have the task tried again (`retry`)"},
		{FlagNothingChanged, agentformat.Warning, "a task was completed with no change: the developer claims that none is needed, and the critic agreed", "tell the person which tasks; nothing was merged for them"},
		{FlagRunnerMissing, agentformat.Warning, "no machine that is there can go on with a task, however free it is: a label, a program or the machine is missing", "tell the person, who sees what is missing with `signalbox status` and `signalbox runner list`; `wait_run` goes on when a machine is there"},
		{FlagUnprotected, agentformat.Warning, "verdicts on the work could be forged by what is judged", "tell the person before the work is used; `signalbox doctor` says what to change"},
		{FlagUnchecked, agentformat.Warning, "something that usually judges the work does not: no checks, checks that are let pass, or no auditor", "tell the person before the work is used"},
		{FlagNotPublished, agentformat.Warning, "the pull request could not be opened", "show the person the reason; the work is on the branch"},
		{FlagProviderPaused, agentformat.Info, "a provider's usage limit pauses its agents; the box goes on by itself when it is over", "wait until then; no call makes it shorter"},

		{FlagRunRunning, agentformat.Info, "agents work on the run, or are about to", "call `wait_run`"},
		{FlagRunWaiting, agentformat.Warning, "only a person can bring the run on", "see to what stands in `needs_you`"},
		{FlagRunPaused, agentformat.Warning, "the run is paused: no agent is started", "ask the person whether it should go on, and do not resume it unasked: they run `signalbox pause --resume`"},
		{FlagRunEnding, agentformat.Info, "the run was cancelled or halted, and its agents end", "call `wait_run` until it is finished"},
		{FlagRunStopped, agentformat.Warning, "no box is there to bring the run on; agents that are at work yet end by themselves after a while, unless a box takes them over before", "ask the person to run `signalbox up`, or, if they agree, call `start_run` with the same plan: the run goes on where it was"},
		{FlagRunFinished, agentformat.Success, "every task of the run is closed; warnings beside it say what that is worth", "tell the person, warnings first; look at the branch or the pull request"},
		{FlagRunIncomplete, agentformat.Warning, "the run has ended, and some of its tasks are not done: they were cancelled, or depend on one that was", "tell the person what is left; a new plan can deliver it"},
		{FlagRunCancelled, agentformat.Warning, "the run was cancelled; what was merged before is on its branch", "nothing, unless the person wants it started anew"},
		{FlagRunFailed, agentformat.Warning, "the run was halted: its environment could not be repaired, or its budget was used up", "tell the person why; when that is mended, `start_run` begins a new run of the whole plan"},
		{FlagNoRuns, agentformat.Info, "there is no run", "check a plan with `check_plan`, show it to the person, and start it with `start_run` when they agree"},
		{FlagRunsListed, agentformat.Info, "the reply lists runs", "call `get_run` with the id of the one that matters"},

		{FlagTaskWorking, agentformat.Info, "somebody works on the task", "call `wait_run`"},
		{FlagTaskReady, agentformat.Info, "nothing is in the way of the task: an agent is started on it next; work by hand waits for somebody who claims it", "do what `next` says"},
		{FlagTaskWaiting, agentformat.Info, "the task waits; `why` says for what", "do what `next` says"},
		{FlagTaskBlocked, agentformat.Warning, "the task is blocked until somebody helps", "do what `next` says"},
		{FlagTaskCancelled, agentformat.Warning, "the task was given up, or depends on one that was", "nothing, unless the person wants it: `retry`"},
		{FlagTaskCompleted, agentformat.Success, "the task is completed", "nothing"},

		{FlagInboxEmpty, agentformat.Success, "nothing waits for a person", "nothing; `wait_run` tells when something does"},
		{FlagUsageKnown, agentformat.Info, "the reply says what was used", "nothing"},
		{FlagPlanOK, agentformat.Success, "the plan can be delivered", "show the person the plan, and what other flags say; call `start_run` with the same plan when they agree"},
		{FlagPlanInvalid, agentformat.Error, "the plan can't be delivered as it is", "mend what is listed, and call `check_plan` again"},
		{FlagPlanRunning, agentformat.Warning, "a run delivers the same plan already", "follow that run with `wait_run`; `start_run` would lead to it"},
		{FlagPlanAmends, agentformat.Warning, "a run delivers another version of the plan", "do not start yet: ask the person whether that run should go on with this version"},
		{FlagPlanDelivered, agentformat.Warning, "the same plan was delivered before", "do not start yet: ask the person whether it should be delivered again"},
		{FlagTextMore, agentformat.Info, "there is more of the text", "call again with `offset` set to `next_offset`"},
		{FlagTextEnd, agentformat.Success, "the text ends here", "nothing"},
		{FlagProven, agentformat.Success, "the event is in the ledger that the box's key has signed", "nothing"},
		{FlagDone, agentformat.Success, "what was asked for was done and recorded", "do what `next` says"},

		{FlagNotFound, agentformat.Error, "there is no such run, task, question, event or file", "look at the ids with `list_runs` or `get_run`, or at the path"},
		{FlagRefused, agentformat.Error, "it can't be done in the state that things are in now", "call `get_run`, and decide anew"},
		{FlagInvalid, agentformat.Error, "what was asked for is not in the right form", "mend it; the reason says what is wrong"},
		{FlagUnauthorized, agentformat.Error, "this client may not do that", "ask the person; do not try another way"},
		{FlagTryAgain, agentformat.Error, "the box is busy or stops, or it is not known whether it was done", "look with `get_run`; if it was not done, try again in a minute"},
		{FlagNoBox, agentformat.Error, "no box answers", "ask the person to run `signalbox up`"},
		{FlagNotSetUp, agentformat.Error, "nothing is set up here yet: no agents are named that could deliver a plan", "ask the person to run `signalbox init`"},
		{FlagBoxNotWritable, agentformat.Error, "the box can't record what happens, so nothing can be done", "tell the person: `signalbox status` says why"},
		{FlagFailed, agentformat.Error, "something went wrong that has no name of its own", "tell the person the reason"},
		{FlagUnknownState, agentformat.Warning, "this version does not know the state that was reported", "tell the person; the box may be newer than this program"},
	}
}

// kinds are the flags by name.
var kinds = func() map[string]FlagKind {
	all := map[string]FlagKind{}
	for _, k := range Table() {
		all[k.Name] = k
	}
	return all
}()

// flags are those of a reply in the making.
type flags []agentformat.Flag

// add adds a flag with the severity of the table. The message has numbers, the box's own words and ids, and nothing of strangers.
func (f *flags) add(name, format string, args ...any) {
	*f = append(*f, agentformat.Flag{Name: name, Severity: kinds[name].Severity, Message: fmt.Sprintf(format, args...)})
}
