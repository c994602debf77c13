package conductor

import (
	"errors"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/order"
)

// What is answered to those who want plans delivered.
var (
	errNoDelivery  = errors.New("this box delivers no plans: start it in a git checkout, with agents in " + config.File + " (`signalbox init` writes one)")
	errNoAgent     = errors.New("nobody plays this role: name an agent for it in " + config.File)
	errSessionGone = errors.New("the session is not one of the box's any more")
	errBranchTaken = errors.New("the branch that work is merged to is there already: delete or rename it, or put {run} into `branch` in " + config.File)
	errNoMessage   = errors.New("a message needs a text")
)

// problems says what kind of problem an error is that the box does not know.
var problems = []struct {
	err  error
	code string
}{
	{errNoDelivery, api.CodeConflict},
	{errNoAgent, api.CodeConflict},
	{order.ErrUnreached, api.CodeBusy},
	{order.ErrNoProgram, api.CodeConflict},
	{order.ErrNoModel, api.CodeConflict},
	{order.ErrNoSandbox, api.CodeConflict},
	{order.ErrUnprotected, api.CodeConflict},
	{errOtherSettings, api.CodeConflict},
	{errOtherAudit, api.CodeConflict},
	{errBranchTaken, api.CodeConflict},
	{errAnotherVersion, api.CodeConflict},
	{errNothingToAmend, api.CodeConflict},
	{delivery.ErrNotPlanned, api.CodeConflict},
	{delivery.ErrMerging, api.CodeConflict},
	{delivery.ErrAmendedMuch, api.CodeConflict},
	{delivery.ErrOtherWork, api.CodeInvalid},
	{order.ErrNoCommit, api.CodeConflict},
	{errSessionGone, api.CodeGone},
	{errNoMessage, api.CodeInvalid},
	{errNotGiven, api.CodeConflict},
	{errNothingGiven, api.CodeConflict},
	{errNoComment, api.CodeInvalid},
	{errAcceptComments, api.CodeInvalid},
	{errBackNoChange, api.CodeInvalid},
}

// Problem is an error of the conductor's or the box's as a client is told of it.
func Problem(err error) *api.Problem {
	for _, known := range problems {
		if errors.Is(err, known.err) {
			return &api.Problem{Code: known.code, Message: err.Error()}
		}
	}
	return box.Problem(err)
}
