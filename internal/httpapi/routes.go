package httpapi

import (
	"cmp"
	"crypto/subtle"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/httpserver"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// route is a request that the API knows.
type route struct {
	pattern string
	gate    bool  // it takes the gate's token, and no other
	most    int64 // bytes of its body; as many as a small one has if it is 0
	handle  func(http.ResponseWriter, *http.Request) error
}

func (s *Server) routes() []route {
	b, c := s.box, s.conductor
	return []route{
		{"GET /v1/status", false, 0, func(w http.ResponseWriter, _ *http.Request) error { return reply(w, b.Status(), nil) }},
		{"GET /v1/work", false, 0, func(w http.ResponseWriter, r *http.Request) error {
			q, err := queryOf(r)
			if err != nil {
				return err
			}
			phase := agentsig.Phase(q.Get("phase"))
			if phase != "" && !slices.Contains(agentsig.Phases(), phase) {
				return work.ErrBadPhase
			}
			return answerList(s.logger, w, r, func(from api.From) (api.Page[api.Work], error) { return b.List(r.Context(), phase, from) })
		}},
		{"POST /v1/work", false, 0, post(func(r *http.Request, q api.AddWork, key string) (api.Work, error) {
			return b.Add(r.Context(), q, key)
		})},
		{"GET /v1/work/{id}", false, 0, func(w http.ResponseWriter, r *http.Request) error {
			v, err := b.Work(r.PathValue("id"))
			if err == nil {
				v, err = s.conductor.AskedNow(v)
			}
			return reply(w, v, err)
		}},
		{"POST /v1/work/{id}/override", false, 0, post(func(r *http.Request, q api.Override, key string) (api.Recorded, error) {
			return b.Override(r.PathValue("id"), q, key)
		})},
		{"POST /v1/work/{id}/gate", true, 0, post(func(r *http.Request, q api.Report, key string) (api.Recorded, error) {
			return b.Report(r.PathValue("id"), q, key)
		})},
		{"POST /v1/claims", false, 0, post(func(r *http.Request, q api.Claim, key string) (api.Grant, error) {
			if err := httpserver.Waits(r); err != nil { // for an item, or for a claim with the same key
				return api.Grant{}, err
			}
			return b.Claim(r.Context(), q, key)
		})},
		{"POST /v1/sessions/{session}/renew", false, 0, func(w http.ResponseWriter, r *http.Request) error {
			v, err := b.Renew(r.PathValue("session"))
			return reply(w, v, err)
		}},
		{"POST /v1/sessions/{session}/release", false, 0, func(w http.ResponseWriter, r *http.Request) error {
			key, err := keyOf(r)
			if err != nil {
				return err
			}
			v, err := b.Release(r.PathValue("session"), key)
			return reply(w, v, err)
		}},
		{"POST /v1/sessions/{session}/emit", false, api.MaxOutput, func(w http.ResponseWriter, r *http.Request) error {
			session := r.PathValue("session")
			if err := b.CheckSession(session); err != nil {
				return err // before its output is read
			}
			output, err := io.ReadAll(r.Body)
			if err != nil {
				return unread(err)
			}
			key, err := keyOf(r)
			if err != nil {
				return err
			}
			v, err := b.Emit(session, output, key)
			return reply(w, v, err)
		}},
		{"POST /v1/sessions/{session}/report", false, api.MaxReport, func(w http.ResponseWriter, r *http.Request) error {
			q, err := decodeSessions[api.SessionReport](r)
			if err == nil {
				err = c.SessionReport(r.Context(), r.PathValue("session"), q)
			}
			return reply(w, struct{}{}, err)
		}},
		{"POST /v1/sessions/{session}/activity", false, 0, func(w http.ResponseWriter, r *http.Request) error {
			q, err := decodeSessions[api.Activity](r)
			if err == nil {
				err = c.Activity(r.PathValue("session"), q)
			}
			return reply(w, struct{}{}, err)
		}},
		{"GET /v1/sessions/{session}/commands", false, 0, s.commands},
		{"POST /v1/conversations", false, api.MaxConversation, post(func(r *http.Request, q api.Ask, key string) (api.Conversation, error) {
			return b.Ask(r.Context(), q, key)
		})},
		{"POST /v1/conversations/{id}/signals", false, api.MaxConversation, post(func(r *http.Request, q api.Signalled, key string) (api.Recorded, error) {
			return b.Signalled(r.PathValue("id"), q, key)
		})},
		{"POST /v1/conversations/{id}/end", false, 0, post(func(r *http.Request, q api.Answered, key string) (api.Recorded, error) {
			return b.Answered(r.PathValue("id"), q, key)
		})},
		{"GET /v1/events", false, 0, s.events},
		{"GET /v1/runs", false, 0, func(w http.ResponseWriter, r *http.Request) error {
			q, err := queryOf(r)
			if err != nil {
				return err
			}
			live, err := strconv.ParseBool(cmp.Or(q.Get("live"), "false"))
			if err != nil {
				return errBadLive
			}
			return answerList(s.logger, w, r, func(from api.From) (api.Page[api.Run], error) { return b.Runs(r.Context(), live, from) })
		}},
		{"POST /v1/runs", false, 2 * api.MaxPlan, post(func(r *http.Request, q api.StartRun, key string) (api.Run, error) {
			return c.Deliver(r.Context(), q, key)
		})},
		{"GET /v1/runs/{run}", false, 0, func(w http.ResponseWriter, r *http.Request) error {
			v, err := b.Run(r.PathValue("run"))
			return reply(w, v, err)
		}},
		{"GET /v1/runs/{run}/watch", false, 0, s.watchRun},
		{"POST /v1/runs/{run}/pause", false, 0, s.onRun("pause")},
		{"POST /v1/runs/{run}/resume", false, 0, s.onRun("resume")},
		{"POST /v1/runs/{run}/cancel", false, 0, s.onRun("cancel")},
		{"POST /v1/clean", false, 0, post(func(r *http.Request, q api.Clean, _ string) (api.Cleaned, error) {
			return c.Clean(r.Context(), q)
		})},
		{"GET /v1/questions", false, 0, func(w http.ResponseWriter, _ *http.Request) error { return reply(w, b.Questions(), nil) }},
		{"POST /v1/questions/{question}/answer", false, 0, post(func(r *http.Request, q api.Answer, key string) (api.Question, error) {
			id := r.PathValue("question")
			if v, ok, err := b.Answer(id, q, key); ok {
				return v, err
			}
			return c.Answer(r.Context(), id, q)
		})},
		{"POST /v1/work/{id}/tell", false, 0, post(func(r *http.Request, q api.Message, key string) (api.Told, error) {
			return c.Tell(r.Context(), r.PathValue("id"), q, key)
		})},
		{"GET /v1/work/{id}/review", false, 0, func(w http.ResponseWriter, r *http.Request) error {
			v, err := c.Sight(r.Context(), r.PathValue("id"))
			return reply(w, v, err)
		}},
		{"POST /v1/work/{id}/review", false, 0, post(func(r *http.Request, q api.Verdict, key string) (api.Run, error) {
			return c.Review(r.Context(), r.PathValue("id"), q, key)
		})},
		{"POST /v1/work/{id}/take", false, 0, post(func(r *http.Request, _ struct{}, _ string) (api.Taken, error) {
			return c.Take(r.Context(), r.PathValue("id"))
		})},
		{"POST /v1/work/{id}/give", false, 0, post(func(r *http.Request, q api.Give, key string) (api.Run, error) {
			return c.Give(r.Context(), r.PathValue("id"), q, key)
		})},
		{"POST /v1/work/{id}/cancel", false, 0, s.onTask("cancel")},
		{"POST /v1/work/{id}/retry", false, 0, s.onTask("retry")},
	}
}

func (s *Server) onRun(verb string) func(http.ResponseWriter, *http.Request) error {
	return post(func(r *http.Request, q api.Message, _ string) (api.Run, error) {
		return s.conductor.OnRun(r.Context(), r.PathValue("run"), verb, q)
	})
}

func (s *Server) onTask(verb string) func(http.ResponseWriter, *http.Request) error {
	return post(func(r *http.Request, q api.Message, _ string) (api.Run, error) {
		return s.conductor.OnTask(r.Context(), r.PathValue("id"), verb, q)
	})
}

// authorize checks the request's token. The gate's own token is for its reports
// alone, and they take no other: an agent that could pass its own CI would.
func (s *Server) authorize(r *http.Request, gate bool) error {
	own, gates := s.box.Tokens()
	want, refusal := own, errToken
	if gate {
		want, refusal = gates, errGateToken
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
)
