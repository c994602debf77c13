package box

import (
	"context"
	"errors"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/conversation"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// BadRequest is what the caller got wrong in the form of a request.
type BadRequest struct{ Err error }

func (e BadRequest) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong.
func (e BadRequest) Unwrap() error { return e.Err }

// ErrByHand refuses what only a run's task can be asked.
var ErrByHand = errors.New("it is work by hand, and no task of a run")

// problems says what kind of problem an error is. What is not here is the box's fault.
var problems = []struct {
	err  error
	code string
}{
	{ErrCannotWrite, api.CodeCannotWrite}, // whatever made it fail
	{ErrNothing, api.CodeNothing},
	{ErrStopping, api.CodeStopping},
	{ErrOutcomeUnknown, api.CodeUnknown},
	{engine.ErrUnknown, api.CodeUnknown},
	{engine.ErrNotReady, api.CodeUnknown},
	{engine.ErrClosed, api.CodeStopping},
	{archive.ErrFailed, api.CodeStopping},
	{context.Canceled, api.CodeStopping},
	{work.ErrNoItem, api.CodeNotFound},
	{errNoEvent, api.CodeNotFound},
	{archive.ErrNotSealed, api.CodeConflict},
	{work.ErrNoSession, api.CodeNotFound},
	{work.ErrExists, api.CodeConflict},
	{work.ErrCompleted, api.CodeConflict},
	{work.ErrBlocked, api.CodeConflict},
	{work.ErrNotHolder, api.CodeConflict},
	{work.ErrSessionOver, api.CodeConflict},
	{work.ErrNotPending, api.CodeConflict},
	{work.ErrSamePhase, api.CodeConflict},
	{work.ErrBadID, api.CodeInvalid},
	{work.ErrNoTitle, api.CodeInvalid},
	{work.ErrTooLong, api.CodeInvalid},
	{work.ErrBadPhase, api.CodeInvalid},
	{work.ErrBadRole, api.CodeInvalid},
	{work.ErrBadActor, api.CodeInvalid},
	{work.ErrBadTTL, api.CodeInvalid},
	{work.ErrBadCommit, api.CodeInvalid},
	{work.ErrBadBranch, api.CodeInvalid},
	{work.ErrNoReason, api.CodeInvalid},
	{work.ErrAudited, api.CodeConflict},
	{delivery.ErrFinished, api.CodeConflict},
	{delivery.ErrNoTask, api.CodeNotFound},
	{delivery.ErrNoQuestion, api.CodeNotFound},
	{delivery.ErrAnswered, api.CodeConflict},
	{delivery.ErrNoAnswer, api.CodeInvalid},
	{delivery.ErrTaskOver, api.CodeConflict},
	{delivery.ErrNoReview, api.CodeConflict},
	{delivery.ErrOtherNow, api.CodeConflict},
	{delivery.ErrNotTaken, api.CodeConflict},
	{delivery.ErrDropped, api.CodeConflict},
	{delivery.ErrBlocker, api.CodeConflict},
	{access.ErrBadName, api.CodeInvalid},
	{access.ErrBadScope, api.CodeInvalid},
	{access.ErrBadTTL, api.CodeInvalid},
	{access.ErrTaken, api.CodeConflict},
	{access.ErrMany, api.CodeConflict},
	{access.ErrNoToken, api.CodeNotFound},
	{errShownOnce, api.CodeConflict},
	{access.ErrBadLabel, api.CodeInvalid},
	{access.ErrBadInviteTTL, api.CodeInvalid},
	{access.ErrBadRunnersKey, api.CodeInvalid},
	{access.ErrBadDeadline, api.CodeInvalid},
	{access.ErrRunnerTaken, api.CodeConflict},
	{access.ErrManyRunners, api.CodeConflict},
	{access.ErrNotJoined, api.CodeConflict},
	{access.ErrKeyTaken, api.CodeConflict},
	{access.ErrNoRunner, api.CodeNotFound},
	{errInvitedOnce, api.CodeConflict},
	{access.ErrBadMembersKey, api.CodeInvalid},
	{access.ErrBadAddresses, api.CodeInvalid},
	{access.ErrMemberTaken, api.CodeConflict},
	{access.ErrManyMembers, api.CodeConflict},
	{access.ErrMembersKey, api.CodeConflict},
	{access.ErrLastMember, api.CodeConflict},
	{access.ErrNoCluster, api.CodeConflict},
	{access.ErrNoMember, api.CodeNotFound},
	{access.ErrMemberGone, api.CodeGone},
	{errMemberInvitedOnce, api.CodeConflict},
	{errUnsigned, api.CodeConflict},
	{conversation.ErrNoConversation, api.CodeNotFound},
	{conversation.ErrEnded, api.CodeConflict},
	{conversation.ErrEmptyQuestion, api.CodeInvalid},
	{conversation.ErrBadTurn, api.CodeInvalid},
	{conversation.ErrBadType, api.CodeInvalid},
	{conversation.ErrBadConfidence, api.CodeInvalid},
	{conversation.ErrBadField, api.CodeInvalid},
	{conversation.ErrBadTime, api.CodeInvalid},
	{conversation.ErrBadOutcome, api.CodeInvalid},
	{conversation.ErrBadCount, api.CodeInvalid},
	{conversation.ErrBadCall, api.CodeConflict},
	{conversation.ErrBadDecision, api.CodeInvalid},
	{conversation.ErrBadCallOutcome, api.CodeInvalid},
	{conversation.ErrOpen, api.CodeConflict},
	{conversation.ErrNoAnswer, api.CodeConflict},
	{conversation.ErrOthers, api.CodeConflict},
	{errNoRun, api.CodeNotFound},
	{ErrByHand, api.CodeConflict},
	{errBadResult, api.CodeInvalid},
	{errTooMuch, api.CodeInvalid},
	{errKeyReused, api.CodeConflict},
	{errSecretID, api.CodeInvalid},
	{errTooMany, api.CodeBusy},
}

// Problem is an error of the box's as a client is told of it.
func Problem(err error) *api.Problem {
	p := &api.Problem{Code: api.CodeInternal, Message: err.Error()}
	var held *work.HeldError
	var role *work.RoleError
	var phase *work.PhaseError
	var form BadRequest
	var several *severalTasks
	switch {
	case errors.As(err, &held):
		p.Code = api.CodeHeld
	case errors.As(err, &phase), errors.As(err, &several):
		p.Code = api.CodeConflict
	case errors.As(err, &role), errors.As(err, &form):
		p.Code = api.CodeInvalid
	default:
		for _, known := range problems {
			if errors.Is(err, known.err) {
				p.Code = known.code
				break
			}
		}
	}
	return p
}
