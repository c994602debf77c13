package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/conductor"
	"github.com/signalbox-dev/signalbox/internal/fleet"
	"github.com/signalbox-dev/signalbox/internal/httpserver"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/records"
)

// problems says how an error of a request's form, or of too many of them, is answered.
var problems = []struct {
	err    error
	status int
	code   string
}{
	{errToken, http.StatusUnauthorized, api.CodeUnauthorized},
	{access.ErrGate, http.StatusUnauthorized, api.CodeUnauthorized}, // if there is no token that is somebody's
	{access.ErrUnknown, http.StatusUnauthorized, api.CodeUnauthorized},
	{access.ErrExpired, http.StatusUnauthorized, api.CodeUnauthorized},
	{access.ErrGuest, http.StatusUnauthorized, api.CodeUnauthorized},
	{access.ErrNoInvitation, http.StatusForbidden, api.CodeForbidden},
	{access.ErrRedeemed, http.StatusForbidden, api.CodeForbidden},
	{access.ErrNoPlaceThere, http.StatusForbidden, api.CodeForbidden},
	{access.ErrPlaceTaken, http.StatusForbidden, api.CodeForbidden},
	{errNoLeader, http.StatusServiceUnavailable, api.CodeNoLeader},
	{errManyJoins, http.StatusServiceUnavailable, api.CodeBusy},
	{errNoSecure, http.StatusConflict, api.CodeConflict},
	{errNotFar, http.StatusConflict, api.CodeConflict},
	{errOwnKey, http.StatusConflict, api.CodeConflict},
	{access.ErrBadKey, http.StatusBadRequest, api.CodeInvalid},
	{records.ErrGap, http.StatusConflict, api.CodeConflict},
	{records.ErrLong, http.StatusBadRequest, api.CodeInvalid},
	{records.ErrName, http.StatusBadRequest, api.CodeInvalid},
	{errNoPage, http.StatusNotFound, api.CodeNotFound},
	{errSlow, http.StatusServiceUnavailable, api.CodeBusy},
	{errNoRoom, http.StatusServiceUnavailable, api.CodeBusy},
	{errManyRead, http.StatusServiceUnavailable, api.CodeBusy},
	{errManyFollow, http.StatusServiceUnavailable, api.CodeBusy},
	{httpserver.ErrFull, http.StatusServiceUnavailable, api.CodeBusy},
	{httpserver.ErrAhead, http.StatusBadRequest, api.CodeInvalid},
	{errNotReady, http.StatusServiceUnavailable, api.CodeCannotWrite},
	{fleet.ErrNotYet, http.StatusServiceUnavailable, api.CodeBusy},
	{errNoMetrics, http.StatusNotFound, api.CodeNotFound},
	{errBadKey, http.StatusBadRequest, api.CodeInvalid},
	{errBadAfter, http.StatusBadRequest, api.CodeInvalid},
	{errBadFollow, http.StatusBadRequest, api.CodeInvalid},
	{errBadBefore, http.StatusBadRequest, api.CodeInvalid},
	{errBadEvent, http.StatusBadRequest, api.CodeInvalid},
	{errBadTasks, http.StatusBadRequest, api.CodeInvalid},
	{errBadLimit, http.StatusBadRequest, api.CodeInvalid},
	{errBadLive, http.StatusBadRequest, api.CodeInvalid},
	{errLimitFollow, http.StatusBadRequest, api.CodeInvalid},
}

// statuses says how a problem of the box's is answered. One that is not here is the box's fault.
var statuses = map[string]int{
	api.CodeCannotWrite: http.StatusServiceUnavailable,
	api.CodeStopping:    http.StatusServiceUnavailable,
	api.CodeUnknown:     http.StatusServiceUnavailable,
	api.CodeBusy:        http.StatusServiceUnavailable,
	api.CodeNothing:     http.StatusNotFound,
	api.CodeNotFound:    http.StatusNotFound,
	api.CodeGone:        http.StatusNotFound,
	api.CodeConflict:    http.StatusConflict,
	api.CodeHeld:        http.StatusConflict,
	api.CodeInvalid:     http.StatusBadRequest,
	api.CodeInternal:    http.StatusInternalServerError,
}

// problemOf says how an error is answered.
func problemOf(err error) (status int, p *api.Problem) {
	var form badRequest
	var refused forbidden
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &form), errors.Is(err, fleet.ErrForm), errors.Is(err, order.ErrProtocol):
		return http.StatusBadRequest, &api.Problem{Code: api.CodeInvalid, Message: err.Error()}
	case errors.As(err, &refused), errors.Is(err, fleet.ErrNotYours), errors.Is(err, fleet.ErrUnknown), errors.Is(err, records.ErrNone):
		return http.StatusForbidden, &api.Problem{Code: api.CodeForbidden, Message: err.Error()}
	case errors.As(err, &large):
		return http.StatusRequestEntityTooLarge, &api.Problem{Code: api.CodeInvalid, Message: fmt.Sprintf(
			"the request has more than %d bytes: divide a plan; of an agent's output send the last part, with the signal", large.Limit)}
	}
	for _, known := range problems {
		if errors.Is(err, known.err) {
			return known.status, &api.Problem{Code: known.code, Message: err.Error()}
		}
	}
	p = conductor.Problem(err)
	return statuses[p.Code], p
}

func problem(w http.ResponseWriter, err error) {
	status, p := problemOf(err)
	httpserver.Answering(w)
	w.Header().Set("Content-Type", "application/problem+json")
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(p.Details(status)) // a client that stopped reading misses it
}
