// Package delivery decides how a plan is delivered by many agents: who is started
// next, what a signal leads to, when a person is asked. It is pure: time, order and
// everything that happened come in as values, and nothing is done here.
//
// # State
//
// A [Run] is the fold of the events on the run's own subject and on the work items
// that are its tasks ([Run.Evolve], [Run.EvolveItem]), in the ledger's order. What
// concerns one task is recorded on its item, what spans tasks on the run: sessions
// that hold no item, questions, experts, remediation, pauses.
//
// # Decisions
//
// [Run.Decide] says what an input (an agent's turn, the end of a process, the
// gate's result, an operator's word) leads to. [Run.Next] says what is due without
// any input: who is started, what is blocked or asked. Both give writes; the caller
// appends one, folds it, and asks again, so every decision is made on all that
// happened before. [Run.Commands] lists what should be under way outside. All
// three are derived from the state alone, so a box that was killed anywhere takes
// up where it was: what was not recorded is decided again, and what was decided and
// not done is listed again.
//
// # Commands
//
// A command has an id that stays the same for as long as it is due. Carrying it
// out twice must do no harm; each has a probe that tells whether it happened:
//
//	Start     the session's file is there        ends with SessionEnded
//	Prompt    none: it may be repeated            ends with PromptDelivered
//	End       the session's process is gone       ends with SessionEnded
//	Gate      none: it may be repeated            ends with GatePassed, GateFailed or WorkBlocked
//	Merge     the commit is an ancestor           ends with WorkMerged or MergeFailed
//	Baseline  none: it may be repeated            ends with BaselineChecked or RepairChecked
//	MergeRepair  the commit is an ancestor        ends with RepairMerged or RepairUnmerged
//	Publish   the pull request is there           ends with PullRequestOpened
//	AddTask   the item is there                   ends with WorkAdded
//
// A result names its command. One of a command that is not due any more leads to
// nothing: it is about work as it was before.
//
// # Work without a change
//
// A task that changes no file is not done: it is sent back once, and then a person is asked, unless its developer says
// why nothing has to be changed and the critic agrees; it is completed then, and nothing is audited or merged. A
// commit that did not pass is not judged again until a person has looked at it.
//
// # Limits
//
// Every loop has a limit ([Limits]): what goes wrong is counted for each task, and
// the last time it leads to a question instead of another try. A question waits for
// as long as it takes, and holds up its own task and those that depend on it. How long a
// turn may take is package session's to say; here it is only counted that it took too long.
package delivery
