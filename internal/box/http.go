package box

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/conversation"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/internal/httpserver"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/internal/worktree"
	"github.com/signalbox-dev/signalbox/safetext"
)

const maxRequest = 64 << 10 // of a request in JSON

// Serve answers HTTP on the listener until ctx ends or the box stops. A box that failed goes on to say
// so for a moment: who asks then is told why, instead of finding nobody.
func (b *Box) Serve(ctx context.Context, l net.Listener) error {
	if !b.unlisted {
		if err := b.held.setAddress(l.Addr().String()); err != nil {
			return errors.Join(err, l.Close())
		}
	}
	s := httpserver.New(b.Handler(), b.logger)
	s.BaseContext = func(net.Listener) context.Context { return b.ctx }
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	case <-b.ctx.Done():
		b.tellFailure(ctx)
	}
	unlisted := b.unlist() // before it can't be asked any more
	b.cancel()             // ends what waits, so that the server can shut down
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if s.Shutdown(grace) != nil {
		_ = s.Close() // who has not finished by now is cut off
	}
	<-ended
	return unlisted
}

// Listen opens the address that the box answers on. It has to be on this machine:
// requests are not encrypted.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("the address to listen on: %w", err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("a box listens on loopback only (127.0.0.1, ::1, localhost), not on %q: requests are not encrypted", host)
	}
	var config net.ListenConfig
	return config.Listen(ctx, "tcp", address)
}

// Handler answers the API's requests.
func (b *Box) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", b.ready)
	for _, r := range b.routes() {
		mux.HandleFunc(r.pattern, func(w http.ResponseWriter, req *http.Request) {
			if err := b.authorize(req, r.gate); err != nil {
				httpserver.Refuse(w)
				problem(w, err)
				return
			}
			if err := httpserver.Admit(w, req); err != nil {
				problem(w, err)
				return
			}
			err := r.handle(w, req)
			if errors.Is(err, archive.ErrFailed) {
				<-b.Done() // whoever is told this finds /readyz say the same
			}
			if err != nil {
				problem(w, err)
			}
		})
	}
	return mux
}

// route is a request that the API knows.
type route struct {
	pattern string
	gate    bool // it takes the gate's token, and no other
	handle  func(http.ResponseWriter, *http.Request) error
}

func (b *Box) routes() []route {
	return []route{
		{"GET /v1/status", false, func(w http.ResponseWriter, _ *http.Request) error { return reply(w, b.Status(), nil) }},
		{"GET /v1/work", false, func(w http.ResponseWriter, r *http.Request) error {
			phase := agentsig.Phase(r.FormValue("phase"))
			if phase != "" && !slices.Contains(agentsig.Phases(), phase) {
				return work.ErrBadPhase
			}
			return answerList(b.logger, w, r, func(from api.From) (api.Page[api.Work], error) { return b.List(r.Context(), phase, from) })
		}},
		{"POST /v1/work", false, post(func(r *http.Request, q api.AddWork, key string) (api.Work, error) {
			return b.Add(r.Context(), q, key)
		})},
		{"GET /v1/work/{id}", false, func(w http.ResponseWriter, r *http.Request) error {
			v, err := b.Work(r.PathValue("id"))
			return reply(w, v, err)
		}},
		{"POST /v1/work/{id}/override", false, post(func(r *http.Request, q api.Override, key string) (api.Recorded, error) {
			return b.Override(r.PathValue("id"), q, key)
		})},
		{"POST /v1/work/{id}/gate", true, post(func(r *http.Request, q api.Report, key string) (api.Recorded, error) {
			return b.Report(r.PathValue("id"), q, key)
		})},
		{"POST /v1/claims", false, post(func(r *http.Request, q api.Claim, key string) (api.Grant, error) {
			if err := httpserver.Waits(r); err != nil { // for an item, or for a claim with the same key
				return api.Grant{}, err
			}
			return b.Claim(r.Context(), q, key)
		})},
		{"POST /v1/sessions/{session}/renew", false, func(w http.ResponseWriter, r *http.Request) error {
			v, err := b.Renew(r.PathValue("session"))
			return reply(w, v, err)
		}},
		{"POST /v1/sessions/{session}/release", false, func(w http.ResponseWriter, r *http.Request) error {
			key, err := keyOf(r)
			if err != nil {
				return err
			}
			v, err := b.Release(r.PathValue("session"), key)
			return reply(w, v, err)
		}},
		{"POST /v1/sessions/{session}/emit", false, func(w http.ResponseWriter, r *http.Request) error {
			session := r.PathValue("session")
			if _, _, err := b.session(session); err != nil {
				return err // before its output is read
			}
			output, end, err := b.large.read(w, r)
			if err != nil {
				return err
			}
			defer end()
			v, err := b.Emit(r.Context(), session, output)
			return reply(w, v, err)
		}},
		{"POST /v1/sessions/{session}/report", false, func(w http.ResponseWriter, r *http.Request) error {
			q, err := decodeSessions[api.SessionReport](r, api.MaxReport)
			if err == nil {
				err = b.SessionReport(r.Context(), r.PathValue("session"), q)
			}
			return reply(w, struct{}{}, err)
		}},
		{"POST /v1/sessions/{session}/activity", false, func(w http.ResponseWriter, r *http.Request) error {
			q, err := decodeSessions[struct {
				Line string `json:"line"`
			}](r, maxRequest)
			if err == nil {
				err = b.Activity(r.PathValue("session"), q.Line)
			}
			return reply(w, struct{}{}, err)
		}},
		{"GET /v1/sessions/{session}/commands", false, b.commands},
		{"POST /v1/conversations", false, postUpTo(api.MaxConversation, func(r *http.Request, q api.Ask, key string) (api.Conversation, error) {
			return b.Ask(r.Context(), q, key)
		})},
		{"POST /v1/conversations/{id}/signals", false, postUpTo(api.MaxConversation, func(r *http.Request, q api.Signalled, key string) (api.Recorded, error) {
			return b.Signalled(r.Context(), r.PathValue("id"), q, key)
		})},
		{"POST /v1/conversations/{id}/end", false, post(func(r *http.Request, q api.Answered, key string) (api.Recorded, error) {
			return b.Answered(r.PathValue("id"), q, key)
		})},
		{"GET /v1/events", false, b.events},
		{"GET /v1/runs", false, func(w http.ResponseWriter, r *http.Request) error {
			live, err := strconv.ParseBool(cmp.Or(r.FormValue("live"), "false"))
			if err != nil {
				return errBadLive
			}
			return answerList(b.logger, w, r, func(from api.From) (api.Page[api.Run], error) { return b.Runs(r.Context(), live, from) })
		}},
		{"POST /v1/runs", false, func(w http.ResponseWriter, r *http.Request) error {
			key, err := keyOf(r)
			if err != nil {
				return err
			}
			q, err := decode[api.StartRun](r, 2*api.MaxPlan)
			if err != nil {
				return err
			}
			v, err := b.Deliver(r.Context(), q, key)
			return reply(w, v, err)
		}},
		{"GET /v1/runs/{run}", false, func(w http.ResponseWriter, r *http.Request) error {
			v, err := b.Run(r.PathValue("run"))
			return reply(w, v, err)
		}},
		{"GET /v1/runs/{run}/watch", false, b.watchRun},
		{"POST /v1/runs/{run}/pause", false, b.onRun("pause")},
		{"POST /v1/runs/{run}/resume", false, b.onRun("resume")},
		{"POST /v1/runs/{run}/cancel", false, b.onRun("cancel")},
		{"GET /v1/questions", false, func(w http.ResponseWriter, _ *http.Request) error { return reply(w, b.Questions(), nil) }},
		{"POST /v1/questions/{question}/answer", false, post(func(r *http.Request, q api.Answer, _ string) (api.Question, error) {
			return b.Answer(r.Context(), r.PathValue("question"), q)
		})},
		{"POST /v1/work/{id}/tell", false, post(func(r *http.Request, q api.Message, key string) (api.Told, error) {
			return b.Tell(r.Context(), r.PathValue("id"), q, key)
		})},
		{"POST /v1/work/{id}/cancel", false, b.onTask("cancel")},
		{"POST /v1/work/{id}/retry", false, b.onTask("retry")},
	}
}

func (b *Box) onRun(verb string) func(http.ResponseWriter, *http.Request) error {
	return post(func(r *http.Request, q api.Message, _ string) (api.Run, error) {
		return b.OnRun(r.Context(), r.PathValue("run"), verb, q)
	})
}

func (b *Box) onTask(verb string) func(http.ResponseWriter, *http.Request) error {
	return post(func(r *http.Request, q api.Message, _ string) (api.Run, error) {
		return b.OnTask(r.Context(), r.PathValue("id"), verb, q)
	})
}

// post reads a request with its key, carries it out and answers.
func post[Q, V any](do func(r *http.Request, q Q, key string) (V, error)) func(http.ResponseWriter, *http.Request) error {
	return postUpTo(maxRequest, do)
}

// postUpTo is post for requests of this size at most.
func postUpTo[Q, V any](most int64, do func(r *http.Request, q Q, key string) (V, error)) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		q, key, err := request[Q](r, most)
		if err != nil {
			return err
		}
		v, err := do(r, q, key)
		return reply(w, v, err)
	}
}

// authorize checks the request's token. The gate's own token is for its reports
// alone, and they take no other: an agent that could pass its own CI would.
func (b *Box) authorize(r *http.Request, gate bool) error {
	want, refusal := b.apiToken, errToken
	if gate {
		want, refusal = b.gateToken, errGateToken
	}
	got, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || subtle.ConstantTimeCompare([]byte(got), []byte(want)) != 1 {
		return refusal
	}
	return nil
}

var (
	errToken     = errors.New("the request has no valid token: it is in api.token in the box's directory, and goes into the header Authorization: Bearer TOKEN")
	errGateToken = errors.New("the gate's own token is needed: it is in gate.token in the box's directory, and `signalbox gate report` takes it from SIGNALBOX_GATE_TOKEN")
	errBadKey    = fmt.Errorf("an %s has at most %d characters, none of them a control character", api.KeyHeader, api.MaxKey)
)

func keyOf(r *http.Request) (string, error) {
	key := r.Header.Get(api.KeyHeader)
	if len(key) > api.MaxKey || safetext.Escape(key) != key {
		return "", errBadKey
	}
	return key, nil
}

// badRequest is what the caller got wrong in the form of a request.
type badRequest struct{ error }

func request[T any](r *http.Request, most int64) (v T, key string, err error) {
	if key, err = keyOf(r); err != nil {
		return v, "", err
	}
	v, err = decode[T](r, most)
	return v, key, err
}

// decode reads the body of a client's request. A member that the box does not know is refused: it is
// a mistake, and would have no effect.
func decode[T any](r *http.Request, most int64) (T, error) {
	d := json.NewDecoder(http.MaxBytesReader(nil, r.Body, most))
	d.DisallowUnknownFields()
	return document[T](d)
}

// decodeSessions reads the body of a session's request. A session may be of another version than the
// box: a member that the box does not know is ignored.
func decodeSessions[T any](r *http.Request, most int64) (T, error) {
	return document[T](json.NewDecoder(http.MaxBytesReader(nil, r.Body, most)))
}

// document reads one JSON document, after which nothing may come.
func document[T any](d *json.Decoder) (v T, err error) {
	err = d.Decode(&v)
	if err == nil {
		if _, err = d.Token(); err == nil {
			err = errTrailing
		} else if errors.Is(err, io.EOF) {
			return v, nil
		}
	}
	return v, unread(err)
}

// unread says why a request's body could not be read.
func unread(err error) error {
	var large *http.MaxBytesError
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errSlow
	case errors.As(err, &large), errors.Is(err, httpserver.ErrAhead):
		return err
	}
	return badRequest{fmt.Errorf("the request is not what it should be: %w", err)}
}

// errSlow is not the request's fault: its client may have been stopped, and sends it again.
var errSlow = fmt.Errorf("the request did not come to its end within %v: send it again", httpserver.BodyPatience)

var errTrailing = errors.New("something follows its JSON document")

func reply(w http.ResponseWriter, v any, err error) error {
	if err != nil {
		return err
	}
	httpserver.Answering(w)
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(v)
}

// problems says how an error is answered. What is not here is the box's fault.
var problems = []struct {
	err    error
	status int
	code   string
}{
	{errCannotWrite, http.StatusServiceUnavailable, api.CodeCannotWrite}, // whatever made it fail
	{ErrNothing, http.StatusNotFound, api.CodeNothing},
	{ErrStopping, http.StatusServiceUnavailable, api.CodeStopping},
	{ErrOutcomeUnknown, http.StatusServiceUnavailable, api.CodeUnknown},
	{engine.ErrUnknown, http.StatusServiceUnavailable, api.CodeUnknown},
	{engine.ErrNotReady, http.StatusServiceUnavailable, api.CodeUnknown},
	{engine.ErrClosed, http.StatusServiceUnavailable, api.CodeStopping},
	{archive.ErrFailed, http.StatusServiceUnavailable, api.CodeStopping},
	{context.Canceled, http.StatusServiceUnavailable, api.CodeStopping},
	{errToken, http.StatusUnauthorized, api.CodeUnauthorized},
	{errGateToken, http.StatusForbidden, api.CodeUnauthorized},
	{work.ErrNoItem, http.StatusNotFound, api.CodeNotFound},
	{work.ErrNoSession, http.StatusNotFound, api.CodeNotFound},
	{work.ErrExists, http.StatusConflict, api.CodeConflict},
	{work.ErrCompleted, http.StatusConflict, api.CodeConflict},
	{work.ErrBlocked, http.StatusConflict, api.CodeConflict},
	{work.ErrNotHolder, http.StatusConflict, api.CodeConflict},
	{work.ErrSessionOver, http.StatusConflict, api.CodeConflict},
	{work.ErrNotPending, http.StatusConflict, api.CodeConflict},
	{work.ErrSamePhase, http.StatusConflict, api.CodeConflict},
	{work.ErrBadID, http.StatusBadRequest, api.CodeInvalid},
	{work.ErrNoTitle, http.StatusBadRequest, api.CodeInvalid},
	{work.ErrTooLong, http.StatusBadRequest, api.CodeInvalid},
	{work.ErrBadPhase, http.StatusBadRequest, api.CodeInvalid},
	{work.ErrBadRole, http.StatusBadRequest, api.CodeInvalid},
	{work.ErrIdleRole, http.StatusBadRequest, api.CodeInvalid},
	{work.ErrBadActor, http.StatusBadRequest, api.CodeInvalid},
	{work.ErrBadTTL, http.StatusBadRequest, api.CodeInvalid},
	{work.ErrBadCommit, http.StatusBadRequest, api.CodeInvalid},
	{work.ErrNoReason, http.StatusBadRequest, api.CodeInvalid},
	{work.ErrAudited, http.StatusConflict, api.CodeConflict},
	{delivery.ErrFinished, http.StatusConflict, api.CodeConflict},
	{delivery.ErrNoTask, http.StatusNotFound, api.CodeNotFound},
	{delivery.ErrNoQuestion, http.StatusNotFound, api.CodeNotFound},
	{delivery.ErrAnswered, http.StatusConflict, api.CodeConflict},
	{delivery.ErrNoAnswer, http.StatusBadRequest, api.CodeInvalid},
	{delivery.ErrTaskOver, http.StatusConflict, api.CodeConflict},
	{conversation.ErrNoConversation, http.StatusNotFound, api.CodeNotFound},
	{conversation.ErrEnded, http.StatusConflict, api.CodeConflict},
	{conversation.ErrEmptyQuestion, http.StatusBadRequest, api.CodeInvalid},
	{conversation.ErrBadTurn, http.StatusBadRequest, api.CodeInvalid},
	{conversation.ErrBadType, http.StatusBadRequest, api.CodeInvalid},
	{conversation.ErrBadConfidence, http.StatusBadRequest, api.CodeInvalid},
	{conversation.ErrBadField, http.StatusBadRequest, api.CodeInvalid},
	{conversation.ErrBadTime, http.StatusBadRequest, api.CodeInvalid},
	{conversation.ErrBadOutcome, http.StatusBadRequest, api.CodeInvalid},
	{conversation.ErrBadCount, http.StatusBadRequest, api.CodeInvalid},
	{errNoRun, http.StatusNotFound, api.CodeNotFound},
	{errNoDelivery, http.StatusConflict, api.CodeConflict},
	{errNoAgent, http.StatusConflict, api.CodeConflict},
	{errNoProgram, http.StatusConflict, api.CodeConflict},
	{errNoSandbox, http.StatusConflict, api.CodeConflict},
	{errBranchTaken, http.StatusConflict, api.CodeConflict},
	{worktree.ErrNoCommit, http.StatusConflict, api.CodeConflict},
	{errSessionGone, http.StatusNotFound, api.CodeGone},
	{errNoMessage, http.StatusBadRequest, api.CodeInvalid},
	{errBadResult, http.StatusBadRequest, api.CodeInvalid},
	{errTooMuch, http.StatusBadRequest, api.CodeInvalid},
	{errKeyReused, http.StatusConflict, api.CodeConflict},
	{errSecretID, http.StatusBadRequest, api.CodeInvalid},
	{errTooMany, http.StatusServiceUnavailable, api.CodeBusy},
	{errSlow, http.StatusServiceUnavailable, api.CodeBusy},
	{errManyOutputs, http.StatusServiceUnavailable, api.CodeBusy},
	{errManyRead, http.StatusServiceUnavailable, api.CodeBusy},
	{errManyFollow, http.StatusServiceUnavailable, api.CodeBusy},
	{httpserver.ErrFull, http.StatusServiceUnavailable, api.CodeBusy},
	{httpserver.ErrAhead, http.StatusBadRequest, api.CodeInvalid},
	{errBadKey, http.StatusBadRequest, api.CodeInvalid},
	{errBadAfter, http.StatusBadRequest, api.CodeInvalid},
	{errBadFollow, http.StatusBadRequest, api.CodeInvalid},
	{errBadLimit, http.StatusBadRequest, api.CodeInvalid},
	{errBadLive, http.StatusBadRequest, api.CodeInvalid},
	{errLimitFollow, http.StatusBadRequest, api.CodeInvalid},
}

// problemOf says how an error is answered.
func problemOf(err error) (status int, p api.Problem) {
	status, p = http.StatusInternalServerError, api.Problem{Code: api.CodeInternal, Message: err.Error()}
	var held *work.HeldError
	var role *work.RoleError
	var phase *work.PhaseError
	var form badRequest
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &held):
		status, p.Code = http.StatusConflict, api.CodeHeld
	case errors.As(err, &phase):
		status, p.Code = http.StatusConflict, api.CodeConflict
	case errors.As(err, &role), errors.As(err, &form):
		status, p.Code = http.StatusBadRequest, api.CodeInvalid
	case errors.As(err, &large):
		status, p.Code = http.StatusRequestEntityTooLarge, api.CodeInvalid
		p.Message = fmt.Sprintf("the request has more than %d bytes: divide a plan; of an agent's output send the last part, with the signal", large.Limit)
	default:
		for _, known := range problems {
			if errors.Is(err, known.err) {
				status, p.Code = known.status, known.code
				break
			}
		}
	}
	return status, p
}

// asAnswered is an error as a client gets it, for what takes the place of a client.
func asAnswered(err error) error {
	if err == nil {
		return nil
	}
	_, p := problemOf(err)
	return &p
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
