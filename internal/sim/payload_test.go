package sim_test

import (
	"encoding/json"

	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// payloads read what events have in them, by their types.
var payloads = map[string]func([]byte) (any, error){
	delivery.RunStarted: as[delivery.Started], delivery.RunPaused: as[delivery.Reason], delivery.RunResumed: as[delivery.Reason],
	delivery.RunCancelled: as[delivery.Reason], delivery.RunFinished: as[delivery.Finished], delivery.BaselineChecked: as[delivery.Baseline],
	delivery.SessionGranted: as[delivery.Granted], delivery.SessionEnded: as[delivery.Ended], delivery.PromptDelivered: as[delivery.Delivered],
	delivery.UnknownRecovery: as[delivery.Unknown], delivery.SignalFailure: as[delivery.Unknown], delivery.SignalRequested: as[delivery.Turned],
	delivery.AnswerMissed: as[delivery.Turned], delivery.SignalRefused: as[delivery.Refused], delivery.SignalNoted: as[delivery.Noted],
	delivery.QuestionAsked: as[delivery.Question], delivery.QuestionAnswered: as[delivery.Answered],
	delivery.RemediationStarted: as[delivery.Round], delivery.RemediationCompleted: as[delivery.Round], delivery.HealthAudited: as[delivery.Round],
	delivery.RemediationEnded: as[delivery.Round], delivery.RepairChecked: as[delivery.Repair], delivery.RepairReviewed: as[delivery.RepairReview],
	delivery.RepairMerged: as[delivery.RepairMerge], delivery.RepairUnmerged: as[delivery.RepairMerge],
	delivery.ExpertRequested: as[delivery.ExpertCall], delivery.ExpertRefused: as[delivery.ExpertCall], delivery.ExpertAdvised: as[delivery.ExpertCall],
	delivery.ExpertFailed: as[delivery.ExpertCall], delivery.RequesterResumed: as[delivery.ExpertCall],
	delivery.ConflictReported: as[delivery.FileConflict], delivery.ProviderPaused: as[delivery.Pause],
	delivery.TaskCancelled: as[delivery.OnTask], delivery.TaskRetried: as[delivery.OnTask], delivery.CheckoutTouched: as[delivery.OnTask],
	delivery.ConversationLost: as[delivery.OnTask],
	delivery.ModelSignalled:   as[delivery.Signalled], delivery.ToolCalled: as[delivery.Called], delivery.ToolReturned: as[delivery.Returned],
	delivery.WorkPushed: as[delivery.WorkAt], delivery.MessageTold: as[delivery.Message], delivery.PullRequestOpened: as[delivery.PullRequest], delivery.PermissionDenied: as[delivery.Denial],
	delivery.UsageReported: as[delivery.Spending], delivery.BudgetReached: as[delivery.Reached],
	delivery.ProtectionLost: as[delivery.Exposure], delivery.LeftoversRemoved: as[delivery.Removed], delivery.PlanAmended: as[delivery.Amended],

	work.WorkAdded: as[work.Added], work.LeaseGranted: as[work.Granted], work.ReviewStarted: as[work.Granted],
	work.AgentSessionCompleted: as[work.Result], work.LateResultRecorded: as[work.Result], work.LeaseReleased: as[work.Ended],
	work.LeaseExpired: as[work.Ended], work.GatePassed: as[work.Gate], work.GateFailed: as[work.Gate], work.WorkOverridden: as[work.Overridden],
	work.WorkBlocked: as[work.Blocked], work.WorkUnblocked: as[work.Unblocked], work.MergeAllowed: as[work.Allowed],
	work.MergeProposed: as[work.Proposed], work.MergeApproved: as[work.Approved], work.WorkMerged: as[work.Merge],
	work.MergeFailed: as[work.Merge], work.WorkUnchanged: as[work.Unchanged], work.AuditWaived: as[work.Waived], work.WorkShown: as[work.Shown], work.WorkTaken: as[work.Taken], work.SignalRecorded: as[work.Signalled],
}

func as[P any](data []byte) (any, error) {
	var p P
	err := json.Unmarshal(data, &p)
	return p, err
}

// decode returns what an event has in it.
func decode(e ledger.Event) (any, error) {
	read := payloads[e.Type]
	if read == nil {
		return nil, breaks("the event %s is not known", e.Type)
	}
	return read(e.Payload)
}
