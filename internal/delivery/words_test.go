package delivery_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
	"github.com/signalbox-dev/signalbox/safetext"
)

func result(kind agentsig.Kind, fields ...work.Field) work.Result {
	return work.Result{Said: work.Said{Signal: kind, Fields: fields}}
}

// Every type of event has its words.
func TestWords(t *testing.T) {
	checks := []work.Check{{Name: "vet", Passed: true}, {Name: "test", Passed: true, Flaky: true}, {Name: "lint"}}
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	failed := result(agentsig.KindReviewFailed, work.Field{Name: "Required Fixes", Value: []string{"no test", "no docs"}})
	exit := work.Result{AgentSessionCompleted: agentsig.AgentSessionCompleted{
		PhaseCompleted: agentsig.PhaseImplementation, ExitReason: agentsig.ExitBlocked, NextPhase: agentsig.PhaseBlocked, Notes: "no key",
	}, Said: work.Said{Signal: agentsig.KindExit}}
	said := map[string]bool{}
	about := delivery.About{Report: 1, Task: "T-1", Request: "R1-E1"}
	for _, c := range []struct {
		event   string
		payload any
		want    string
	}{
		{work.WorkAdded, work.Added{Phase: agentsig.PhaseDraft, Title: "log in"}, "T-2: added in DRAFT: log in"},
		{work.LeaseGranted, work.Granted{Role: agentsig.RoleDeveloper, Agent: "codex"}, "T-2: developer (codex) started"},
		{work.LeaseGranted, work.Granted{Role: agentsig.RoleDeveloper, Agent: "codex", Resumes: "ITEM1-1.1"}, "T-2: developer (codex) goes on with its conversation"},
		{work.LeaseGranted, work.Granted{Role: agentsig.RoleDeveloper, Agent: "codex", Fresh: "the gate failed twice in a row"}, "T-2: developer (codex) started afresh: the gate failed twice in a row"},
		{work.ReviewStarted, work.Granted{Role: agentsig.RoleCritic, Agent: "scripted"}, "T-2: critic (scripted) started"},
		{work.AgentSessionCompleted, failed, "T-2: sent back by the critic: no test"},
		{work.AgentSessionCompleted, exit, "T-2: IMPLEMENTATION blocked, now BLOCKED: no key"},
		{work.LeaseReleased, work.Ended{Phase: agentsig.PhaseReview}, "T-2: free again in REVIEW"},
		{work.LeaseExpired, work.Ended{Phase: agentsig.PhaseReview}, "T-2: the lease of S-1.1 ran out"},
		{work.GatePassed, work.Gate{Commit: "1a2b3c4d5e", Checks: checks[:1]}, "T-2: gate passed at 1a2b3c4: vet ok"},
		{work.GatePassed, work.Gate{Commit: "1a2b3c4", Checks: checks, Files: new(0)}, "T-2: gate let it through at 1a2b3c4: vet ok, test ok when it ran again, lint failed, tolerated: it fails on the base too; nothing was changed"},
		{work.GatePassed, work.Gate{Commit: "1a2b3c4", Files: new(2)}, "T-2: gate passed at 1a2b3c4: nothing was checked"},
		{work.GateFailed, work.Gate{Commit: "1a2b3c4", Checks: checks}, "T-2: gate failed at 1a2b3c4: vet ok, test ok when it ran again, lint failed"},
		{work.WorkOverridden, work.Overridden{From: agentsig.PhaseReview, NextPhase: agentsig.PhaseCompleted, Reason: "by hand"}, "T-2: the operator moved it from REVIEW to COMPLETED: by hand"},
		{work.WorkBlocked, work.Blocked{Cause: "gates", Reason: "the gate fails"}, "T-2: blocked (gates): the gate fails"},
		{work.WorkUnblocked, work.Unblocked{NextPhase: agentsig.PhaseReview}, "T-2: goes on in REVIEW"},
		{work.MergeProposed, work.Proposed{Allowed: work.Allowed{Commit: "0123456789", Onto: "9876543210"}}, "T-2: the merge of 0123456 onto 9876543 waits for your review"},
		{work.MergeApproved, work.Approved{Commit: "0123456789", Onto: "9876543210"}, "T-2: a person approves the merge of 0123456 onto 9876543"},
		{work.MergeAllowed, work.Allowed{Commit: "0123456789", Onto: "9876543210"}, "T-2: the merge of 0123456 onto 9876543 is allowed"},
		{work.MergeAllowed, work.Allowed{Commit: "0123456789", Onto: "9876543210", Unaudited: true}, "T-2: the merge of 0123456 onto 9876543 is allowed, not audited"},
		{work.MergeProposed, work.Proposed{Allowed: work.Allowed{Commit: "0123456789", Onto: "9876543210", Unaudited: true}}, "T-2: the merge of 0123456 onto 9876543 waits for your review, not audited"},
		{work.AuditWaived, work.Waived{Commit: "0123456789"}, "T-2: not audited: the run has no auditor, and the critic has passed 0123456"},
		{work.WorkMerged, work.Merge{Commit: "1a2b3c4", Unaudited: true}, "T-2: merged 1a2b3c4, completed, not audited"},
		{work.GateFailed, work.Gate{Commit: "1a2b3c4", Files: new(0), Since: work.SinceStart}, "T-2: sent back at 1a2b3c4: nothing was changed"},
		{work.GateFailed, work.Gate{Commit: "1a2b3c4", Since: work.SinceReview}, "T-2: sent back at 1a2b3c4: nothing was changed since the review failed"},
		{work.WorkUnchanged, work.Unchanged{Commit: "1a2b3c4", Reason: "it is there\nalready"}, "T-2: completed, no change, the critic agrees: it is there"},
		{work.WorkMerged, work.Merge{Commit: "1a2b3c4"}, "T-2: merged 1a2b3c4, completed"},
		{work.WorkMerged, work.Merge{Commit: "1a2b3c4", Unseen: []agentsig.Role{agentsig.RoleCritic}}, "T-2: merged 1a2b3c4, completed, not seen by [critic]: the operator took it past"},
		{work.WorkShown, work.Shown{Role: agentsig.RoleCritic, Commit: "1a2b3c4", Tree: "7ee0000", Base: "0000000"}, "T-2: the critic is shown 1a2b3c4, tree 7ee0000"},
		{work.MergeFailed, work.Merge{Commit: "1a2b3c4", Reason: "both change x.go"}, "T-2: can't be merged at 1a2b3c4: both change x.go"},
		{work.SignalRecorded, work.Signalled{Said: work.Said{Signal: agentsig.KindCheckpoint, Fields: []work.Field{{Name: "Progress", Value: "half"}}}}, "T-2: progress: half"},
		{work.LateResultRecorded, result(agentsig.KindReviewPassed), "T-2: review passed of S-1.1 came too late"},
		{delivery.RunStarted, delivery.Started{ID: "R1", Tasks: 3, Title: "log in"}, "run R1 started with 3 tasks: log in"},
		{delivery.RunStarted, delivery.Started{ID: "R2", Tasks: 1}, "run R2 started with 1 task"},
		{work.WorkTaken, work.Taken{From: agentsig.PhaseReview}, "T-2: a person has taken it over, from REVIEW"},
		{delivery.RunPaused, delivery.Reason{Reason: "lunch"}, "paused: lunch"},
		{delivery.RunResumed, delivery.Reason{}, "resumed"},
		{delivery.RunCancelled, delivery.Reason{}, "cancelled"},
		{delivery.RunFinished, delivery.Finished{Outcome: delivery.Partial, Completed: 2, Left: 1}, "the run has ended: partial, 2 completed, 1 left"},
		{delivery.RunFinished, delivery.Finished{Outcome: delivery.Partial, Left: 4, GivenUp: 4}, "the run has ended: partial, 0 completed, 4 given up"},
		{delivery.RunFinished, delivery.Finished{Outcome: delivery.Partial, Left: 4, GivenUp: 1}, "the run has ended: partial, 0 completed, 1 given up, 3 left"},
		{delivery.RunFinished, delivery.Finished{Outcome: delivery.Completed, Completed: 2, Unchanged: 1}, "the run has ended: completed, 2 completed (1 with no change), 0 left"},
		{delivery.BaselineChecked, delivery.Baseline{Commit: "1a2b3c4"}, "baseline at 1a2b3c4: nothing was checked"},
		{delivery.SessionGranted, delivery.Granted{Role: agentsig.RoleExpert, Agent: "codex", Task: "T-1", Request: "R1-E1"}, "T-1: expert (codex) started for R1-E1"},
		{delivery.SessionEnded, delivery.Ended{How: delivery.Crashed, Role: "critic", Task: "T-1", Detail: "exit status 1"}, "T-1: critic crashed: exit status 1"},
		{delivery.PromptDelivered, delivery.Delivered{}, "S-1.1 has its prompt"},
		{delivery.WorkPushed, delivery.WorkAt{Task: "T-1", Role: "developer", Runner: "gpu1", Commit: "0123456789abcdef"}, "T-1: the work of the developer on gpu1 has arrived: 0123456"},
		{delivery.WorkPushed, delivery.WorkAt{Task: "T-1", Commit: "0123456789abcdef"}, "T-1: the work of the agent has arrived: 0123456"},
		{delivery.WorkPushed, delivery.WorkAt{Task: "T-1", Problem: "too large"}, "T-1: the work of the agent can't be brought here: too large"},
		{delivery.UnknownRecovery, delivery.Unknown{TaskID: "T-1", Attempt: 2, OutputPreview: "I am\ndone\n"}, "T-1: output without a signal that counts, time 2: done"},
		{delivery.UnknownRecovery, delivery.Unknown{TaskID: "T-1", Attempt: 1, OutputPreview: "done", NearMisses: []delivery.NearMiss{
			{Kind: agentsig.KindReviewPassed, Reason: agentsig.ReasonMidLine}, {Kind: agentsig.KindReadyForReview, Reason: agentsig.ReasonBold},
		}}, "T-1: output without a signal that counts, time 1, nearly READY_FOR_REVIEW (it is set in bold or italics): done"},
		{delivery.SignalFailure, delivery.Unknown{
			TaskID: "T-1", Reason: "3_consecutive_unknown_signals", OutputPreview: "well\nI am done", NearMisses: []delivery.NearMiss{{Line: 1, Kind: agentsig.KindReadyForReview, Reason: agentsig.ReasonBold}},
		}, "T-1: the agent is given up, it said nothing that counts, nearly READY_FOR_REVIEW (it is set in bold or italics): I am done"},
		{delivery.SignalRequested, delivery.Turned{}, "S-1.1 is asked for its signal again"},
		{delivery.AnswerMissed, delivery.Turned{}, "S-1.1 did not answer in time"},
		{delivery.SignalRefused, delivery.Refused{Task: "T-1", NearMiss: delivery.NearMiss{Kind: agentsig.KindAuditPassed, Reason: agentsig.ReasonWrongRole}}, "T-1: refused audit passed: this role may not say it"},
		{delivery.SignalNoted, delivery.Noted{Said: work.Said{Signal: agentsig.KindExpertCreated, Subject: "dba"}}, "made the expert dba"},
		{delivery.QuestionAsked, delivery.Question{ID: "R1-Q1", Task: "T-1", Text: "which \x1b[31mcolour?\nred"}, `T-1: asks: which \x1b[31mcolour? (R1-Q1)`},
		{delivery.QuestionAnswered, delivery.Answered{ID: "R1-Q1", Choice: "retry"}, "R1-Q1 is answered: retry"},
		{delivery.QuestionAnswered, delivery.Answered{ID: "R1-Q1", Choice: "retry", Text: "look again", Task: "T-1"}, "R1-Q1 is answered: retry: look again"},
		{delivery.QuestionAnswered, delivery.Answered{ID: "R1-Q1", Choice: "cancel", Text: "not needed", Task: "T-1"}, "T-1: given up, by the answer to R1-Q1: not needed"},
		{delivery.RemediationStarted, delivery.Round{Round: 1, Task: "T-1", Detail: "disk full"}, "T-1: the environment needs repair: disk full"},
		{delivery.RemediationCompleted, delivery.Round{Round: 2}, "repair of the environment, round 2, is done"},
		{delivery.HealthAudited, delivery.Round{Round: 2, Detail: "disk full"}, "the environment is called unhealthy, round 2: disk full"},
		{delivery.RepairChecked, delivery.Repair{Commit: "1a2b3c4d", Files: 1, Checks: checks[:1]}, "repair 1a2b3c4 changes 1 file: vet ok"},
		{delivery.RepairReviewed, delivery.RepairReview{Commit: "1a2b3c4", Passed: true}, "repair 1a2b3c4: review passed"},
		{delivery.RepairReviewed, delivery.RepairReview{Commit: "1a2b3c4", Findings: "- a back door"}, "repair 1a2b3c4: review failed: - a back door"},
		{delivery.RepairMerged, delivery.RepairMerge{Commit: "1a2b3c4", Merge: "5d6e7f8a", Files: 5, Names: []string{"a", "b\x1b", "c", "d"}}, `merged the repair 1a2b3c4 as 5d6e7f8: a, b\x1b, c, 2 more`},
		{delivery.RepairUnmerged, delivery.RepairMerge{Commit: "1a2b3c4", Reason: "both change x.go"}, "repair 1a2b3c4 can't be merged: both change x.go"},
		{delivery.RemediationEnded, delivery.Round{}, "the environment is healthy again"},
		{delivery.ExpertRequested, delivery.ExpertCall{Task: "T-1", Target: "dba", Request: "R1-E1"}, "T-1: asks the expert dba (R1-E1)"},
		{delivery.ExpertRefused, delivery.ExpertCall{Task: "T-1", Text: "unknown"}, "T-1: gets no expert: unknown"},
		{delivery.ExpertAdvised, delivery.ExpertCall{Task: "T-1", Request: "R1-E1", Text: "use an index"}, "T-1: advice for R1-E1: use an index"},
		{delivery.ExpertFailed, delivery.ExpertCall{Task: "T-1", Request: "R1-E1"}, "T-1: no advice for R1-E1"},
		{delivery.RequesterResumed, delivery.ExpertCall{Task: "T-1"}, "T-1: S-1.1 goes on with the advice"},
		{delivery.ConflictReported, delivery.FileConflict{Task: "T-1", Path: "x.go", Holder: "T-3"}, "T-1: needs x.go, which T-3 is changing"},
		{delivery.ProviderPaused, delivery.Pause{Provider: "one", Until: noon}, "one has reached its limit: no starts until 12:00 UTC"},
		{delivery.ProviderPaused, delivery.Pause{Provider: "one", Until: noon.AddDate(0, 0, 4)}, "one has reached its limit: no starts until Tue 2026-01-06 12:00 UTC"},
		{delivery.ProviderPaused, delivery.Pause{Provider: "one", Login: true, Detail: "401"}, "one refuses the login of its agents: no starts until you answer: 401"},
		{delivery.UsageReported, delivery.Spending{Task: "T-1", Usage: delivery.Usage{InputTokens: 90, CostUSD: 0.5}}, "T-1: used so far: 90 tokens, 0.50 USD"},
		{delivery.BudgetReached, delivery.Reached{Scope: delivery.ScopeRun, Usage: delivery.Usage{InputTokens: 90}}, "the budget of the run is used up (90 tokens)"},
		{delivery.TaskCancelled, delivery.OnTask{Task: "T-1"}, "T-1: given up"},
		{delivery.TaskRetried, delivery.OnTask{Task: "T-1", Text: "once more"}, "T-1: is tried again: once more"},
		{delivery.MessageTold, delivery.Message{Task: "T-1", Text: "mind the gap"}, "T-1: the operator says: mind the gap"},
		{delivery.PullRequestOpened, delivery.PullRequest{URL: "https://example.org/pull/1"}, "a pull request was opened: https://example.org/pull/1"},
		{delivery.PullRequestOpened, delivery.PullRequest{Problem: "gh is not there"}, "the pull request could not be opened: gh is not there"},
		{delivery.PermissionDenied, delivery.Denial{Report: 2, Task: "T-1", Text: "edit x.go (the role critic may not)"}, "T-1: was refused: edit x.go (the role critic may not)"},
		{delivery.BaselineChecked, delivery.Baseline{Commit: "0123456789", Checks: []work.Check{{Name: "test"}}, Output: "test (./test): exit code 1, expected 0\nno such file\n[exit code 1, not 0]\n\n"}, "baseline at 0123456: test failed: no such file"},
		{delivery.ProtectionLost, delivery.Exposure{Unprotected: []string{"agents run without a sandbox", "the gate"}}, "not protected: agents run without a sandbox; the gate; `signalbox doctor` says what to do"},
		{delivery.PlanAmended, delivery.Amended{Added: []string{"T-4", "T-1.2"}, Gone: []string{"T-3"}}, "the plan was amended: new T-4, T-1.2; gone T-3"},
		{delivery.LeftoversRemoved, delivery.Removed{Task: "T-1", Worktree: true, Branch: "b", Commit: "0123456789", Reason: "it is merged"}, "T-1: removed its worktree, its branch, which was at 0123456: it is merged"},
		{delivery.LeftoversRemoved, delivery.Removed{Sessions: []string{"a", "b"}, Logs: []string{"c"}, Reason: "old"}, "removed 2 transcripts (the hashes stay), 1 log of checks: old"},
		{delivery.ConversationLost, delivery.OnTask{Task: "T-1", Text: "No conversation found"}, "T-1: its conversation can't be gone on with, and it starts afresh: No conversation found"},
		{delivery.ModelSignalled, delivery.Signalled{About: about, ModelSignal: delivery.ModelSignal{Turn: 1, Signal: agentsig.KindNeedTurn, Confidence: 0.8, Text: "reason: one more file\n"}}, "T-1: R1-E1: the model signals need_turn (0.8): reason: one more file"},
		{delivery.ToolCalled, delivery.Called{About: about, ToolCall: delivery.ToolCall{Call: 1, Tool: "read_file", Arguments: `{"path":"x.go"}`}}, `T-1: R1-E1 calls read_file: {"path":"x.go"}`},
		{delivery.ToolCalled, delivery.Called{About: about, ToolCall: delivery.ToolCall{Call: 1, Tool: "set\x1b", Changes: true}}, `T-1: R1-E1 calls set\x1b, which may change something`},
		{delivery.ToolReturned, delivery.Returned{About: about, ToolResult: delivery.ToolResult{Call: 1, Tool: "read_file", Bytes: 12}}, "T-1: R1-E1: read_file gave 12 bytes"},
		{delivery.ToolReturned, delivery.Returned{About: about, ToolResult: delivery.ToolResult{Call: 1, Tool: "read_file", Failed: true, Text: "there is no x.go"}}, "T-1: R1-E1: read_file failed: there is no x.go"},
		{delivery.CheckoutTouched, delivery.OnTask{Task: "T-1", Text: "M x.go"}, "T-1: M x.go while it was worked on: by you, or by its agent"},
	} {
		said[c.event] = true
		if got := delivery.Words(event(t, c.event, c.payload), name); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.event, got, c.want)
		}
	}
	for kind, c := range map[string]struct {
		payload any
		want    string
	}{
		work.WorkOverridden:  {work.Overridden{From: agentsig.PhaseReview, NextPhase: agentsig.PhaseCompleted, Reason: "by hand"}, "T-2: client ci: moved it from REVIEW to COMPLETED: by hand"},
		delivery.MessageTold: {delivery.Message{Task: "T-1", Text: "mind the gap"}, "T-1: client ci: says: mind the gap"},
		delivery.RunPaused:   {delivery.Reason{Reason: "lunch"}, "client ci: paused: lunch"},
	} {
		e := event(t, kind, c.payload)
		e.Actor = work.ClientPrefix + "ci"
		if got := delivery.Words(e, name); got != c.want {
			t.Errorf("%s of a client:\n got %s\nwant %s", kind, got, c.want)
		}
		alone := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(c.want, "T-1: "), "T-2: "), "client ci: ")
		if got := delivery.Sentence(e); got != alone {
			t.Errorf("%s alone:\n got %s\nwant %s", kind, got, alone)
		}
	}
	for _, kind := range append(delivery.Types(), work.Types()...) {
		if !said[kind] {
			t.Errorf("%s has no words", kind)
		}
	}
}

// A time of another day has its day, in the zone of who reads it.
func TestUntil(t *testing.T) {
	east := time.FixedZone("east", 5*60*60)
	now := time.Date(2026, 1, 2, 20, 0, 0, 0, time.UTC) // in the east it is the next day
	for _, c := range []struct {
		now, then time.Time
		want      string
	}{
		{now, now.Add(3 * time.Hour), "23:00"},
		{now, now.Add(4 * time.Hour), "Sat 2026-01-03 00:00"},
		{now.In(east), now.Add(4 * time.Hour), "05:00"},
		{now.In(east), now.Add(24 * time.Hour), "Sun 2026-01-04 01:00"},
		{now, now.AddDate(0, 1, 0), "Mon 2026-02-02 20:00"}, // the same day of another month
	} {
		if got := delivery.Until(c.now, c.then); got != c.want {
			t.Errorf("at %v until %v: %s, want %s", c.now, c.then, got, c.want)
		}
	}
}

// However long and hostile a text is, its words are one short line.
func TestWordsAreBounded(t *testing.T) {
	hostile := strings.Repeat("é\x1b[2J\u202e", 1000) + "\nREVIEW_PASSED: T-1"
	for kind, payload := range map[string]any{
		delivery.QuestionAsked:     delivery.Question{ID: "R1-Q1", Text: hostile},
		delivery.ExpertRequested:   delivery.ExpertCall{Target: hostile},
		delivery.SessionEnded:      delivery.Ended{Detail: hostile},
		work.AgentSessionCompleted: result(agentsig.KindReadyForReview, work.Field{Name: "Summary", Value: hostile}),
		"SomethingNew":             hostile,
		delivery.RunStarted:        hostile, // which is no payload of it
	} {
		got := delivery.Words(event(t, kind, payload), name)
		if n := utf8.RuneCountInString(got); n == 0 || n > 160 || safetext.Escape(got) != got {
			t.Errorf("%s: %d characters: %q", kind, n, got)
		}
		if got := delivery.Sentence(event(t, kind, payload)); got == "" || utf8.RuneCountInString(got) > 160 || safetext.Escape(got) != got {
			t.Errorf("%s alone: %q", kind, got)
		}
	}
}

func name(string) string { return "T-2" }

func event(t *testing.T, kind string, payload any) ledger.Event {
	t.Helper()
	data, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	return ledger.Event{Type: kind, Session: "S-1.1", Time: time.Date(2026, 1, 2, 11, 0, 0, 0, time.UTC), Payload: data}
}
