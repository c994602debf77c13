package httpapi

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/httpserver"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// route is a request that the API knows.
type route struct {
	pattern string
	needs   access.Right // of whoever asks
	most    int64        // bytes of its body; as many as a small one has if it is 0
	handle  handler
}

// handler answers a request of somebody who may make it.
type handler func(http.ResponseWriter, *http.Request, access.Principal) error

// commandsRoute is that of what sessions are told.
const commandsRoute = "GET /v1/sessions/{session}/commands"

func (s *Server) routes() []route {
	b, c := s.box, s.conductor
	return []route{
		{"GET /metrics", access.ToMetrics, 0, s.figures},
		{"GET /v1/status", access.ToRead, 0, s.status},
		{"GET /v1/work", access.ToRead, 0, func(w http.ResponseWriter, r *http.Request, _ access.Principal) error {
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
		{"POST /v1/work", access.ToOperate, 0, post(func(r *http.Request, p access.Principal, q api.AddWork, key string) (api.Work, error) {
			return b.Add(r.Context(), p.Actor(), q, key)
		})},
		{"GET /v1/work/{id}", access.ToRead, 0, func(w http.ResponseWriter, r *http.Request, _ access.Principal) error {
			v, err := b.Work(r.PathValue("id"))
			if err == nil {
				v, err = s.conductor.AskedNow(v)
			}
			return reply(w, v, err)
		}},
		{"POST /v1/work/{id}/override", access.ToPass, 0, post(func(r *http.Request, p access.Principal, q api.Override, key string) (api.Recorded, error) {
			return b.Override(p.Actor(), r.PathValue("id"), q, key)
		})},
		{"POST /v1/work/{id}/gate", access.ToReport, 0, post(func(r *http.Request, p access.Principal, q api.Report, key string) (api.Recorded, error) {
			return b.Report(r.PathValue("id"), q, key)
		})},
		{"POST /v1/claims", access.ToOperate, 0, post(func(r *http.Request, p access.Principal, q api.Claim, key string) (api.Grant, error) {
			if err := httpserver.Waits(r); err != nil { // for an item, or for a claim with the same key
				return api.Grant{}, err
			}
			return b.Claim(r.Context(), q, key)
		})},
		{"POST /v1/sessions/{session}/renew", access.ToOperate, 0, func(w http.ResponseWriter, r *http.Request, _ access.Principal) error {
			v, err := b.Renew(r.PathValue("session"))
			return reply(w, v, err)
		}},
		{"POST /v1/sessions/{session}/release", access.ToOperate, 0, func(w http.ResponseWriter, r *http.Request, p access.Principal) error {
			key, err := keyOf(r, p)
			if err != nil {
				return err
			}
			v, err := b.Release(r.PathValue("session"), key)
			return reply(w, v, err)
		}},
		{"POST /v1/sessions/{session}/emit", access.ToOperate, api.MaxOutput, func(w http.ResponseWriter, r *http.Request, p access.Principal) error {
			session := r.PathValue("session")
			if err := b.CheckSession(session); err != nil {
				return err // before its output is read
			}
			output, err := io.ReadAll(r.Body)
			if err != nil {
				return unread(err)
			}
			key, err := keyOf(r, p)
			if err != nil {
				return err
			}
			v, err := b.Emit(session, output, key)
			if err == nil && v.Sequence == 0 { // it is refused in the answer
				err = s.refusal(r, nil)
			}
			return reply(w, v, err)
		}},
		{"POST /v1/sessions/{session}/report", access.ToAttend, api.MaxReport, func(w http.ResponseWriter, r *http.Request, _ access.Principal) error {
			q, err := decodeSessions[api.SessionReport](r)
			if err == nil {
				err = c.SessionReport(r.Context(), r.PathValue("session"), q)
			}
			return reply(w, struct{}{}, err)
		}},
		{"POST /v1/sessions/{session}/activity", access.ToAttend, 0, func(w http.ResponseWriter, r *http.Request, _ access.Principal) error {
			q, err := decodeSessions[api.Activity](r)
			if err == nil {
				err = c.Activity(r.PathValue("session"), q)
			}
			return reply(w, struct{}{}, err)
		}},
		{commandsRoute, access.ToAttend, 0, s.commands},
		{"POST /v1/conversations", access.ToOperate, api.MaxConversation, post(func(r *http.Request, p access.Principal, q api.Ask, key string) (api.Conversation, error) {
			return b.Ask(r.Context(), p.Actor(), q, key)
		})},
		{"GET /v1/conversations/{id}", access.ToRead, 0, func(w http.ResponseWriter, r *http.Request, _ access.Principal) error {
			v, err := b.Exchange(r.PathValue("id"))
			return reply(w, v, err)
		}},
		{"POST /v1/conversations/{id}/signals", access.ToOperate, api.MaxConversation, post(func(r *http.Request, p access.Principal, q api.Signalled, key string) (api.Recorded, error) {
			return b.Signalled(r.PathValue("id"), q, key)
		})},
		{"POST /v1/conversations/{id}/calls", access.ToOperate, api.MaxConversation, post(func(r *http.Request, p access.Principal, q api.CallDecided, key string) (api.Recorded, error) {
			return b.CallDecided(p.Actor(), r.PathValue("id"), q, key)
		})},
		{"POST /v1/conversations/{id}/results", access.ToOperate, 0, post(func(r *http.Request, p access.Principal, q api.CallEnded, key string) (api.Recorded, error) {
			return b.CallEnded(r.PathValue("id"), q, key)
		})},
		{"POST /v1/conversations/{id}/end", access.ToOperate, api.MaxConversation, post(func(r *http.Request, p access.Principal, q api.Answered, key string) (api.Recorded, error) {
			return b.Answered(r.PathValue("id"), q, key)
		})},
		{"GET /v1/events", access.ToRead, 0, s.events},
		{"GET /v1/events/{sequence}/proof", access.ToRead, 0, s.prove},
		{"GET /v1/runs", access.ToRead, 0, func(w http.ResponseWriter, r *http.Request, _ access.Principal) error {
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
		{"POST /v1/runs", access.ToOperate, 2 * api.MaxPlan, post(func(r *http.Request, p access.Principal, q api.StartRun, key string) (api.Run, error) {
			q.Home = s.asked(r)
			return c.Deliver(r.Context(), p.Actor(), q, key)
		})},
		{"GET /v1/runs/{run}", access.ToRead, 0, func(w http.ResponseWriter, r *http.Request, _ access.Principal) error {
			v, err := b.Run(r.PathValue("run"))
			return reply(w, v, err)
		}},
		{"GET /v1/runs/{run}/watch", access.ToRead, 0, s.watchRun},
		{"POST /v1/runs/{run}/pause", access.ToOperate, 0, s.onRun("pause")},
		{"POST /v1/runs/{run}/resume", access.ToOperate, 0, s.onRun("resume")},
		{"POST /v1/runs/{run}/cancel", access.ToOperate, 0, s.onRun("cancel")},
		{"POST /v1/clean", access.ToOperate, 0, post(func(r *http.Request, p access.Principal, q api.Clean, _ string) (api.Cleaned, error) {
			return c.Clean(r.Context(), p.Actor(), q)
		})},
		{"GET /v1/questions", access.ToRead, 0, func(w http.ResponseWriter, _ *http.Request, _ access.Principal) error {
			return reply(w, b.Questions(), nil)
		}},
		{"POST /v1/questions/{question}/answer", access.ToAnswer, 0, post(func(r *http.Request, p access.Principal, q api.Answer, key string) (api.Question, error) {
			id := r.PathValue("question")
			if v, ok, err := b.Answer(p.Actor(), id, q, key); ok {
				return v, err
			}
			return c.Answer(r.Context(), p.Actor(), id, q)
		})},
		{"POST /v1/work/{id}/tell", access.ToOperate, 0, post(func(r *http.Request, p access.Principal, q api.Message, key string) (api.Told, error) {
			return c.Tell(r.Context(), p.Actor(), r.PathValue("id"), q, key)
		})},
		{"GET /v1/work/{id}/review", access.ToRead, 0, func(w http.ResponseWriter, r *http.Request, _ access.Principal) error {
			v, err := c.Sight(r.Context(), r.PathValue("id"))
			return reply(w, v, err)
		}},
		{"POST /v1/work/{id}/review", access.ToAnswer, 0, post(func(r *http.Request, p access.Principal, q api.Verdict, key string) (api.Run, error) {
			return c.Review(r.Context(), p.Actor(), r.PathValue("id"), q, key)
		})},
		{"POST /v1/work/{id}/take", access.ToOperate, 0, post(func(r *http.Request, p access.Principal, _ struct{}, _ string) (api.Taken, error) {
			return c.Take(r.Context(), p.Actor(), r.PathValue("id"))
		})},
		{"POST /v1/work/{id}/give", access.ToOperate, 0, post(func(r *http.Request, p access.Principal, q api.Give, key string) (api.Run, error) {
			return c.Give(r.Context(), p.Actor(), r.PathValue("id"), q, key)
		})},
		{"POST /v1/work/{id}/cancel", access.ToOperate, 0, s.onTask("cancel")},
		{"POST /v1/work/{id}/retry", access.ToOperate, 0, s.onTask("retry")},
		{"GET /v1/tokens", access.ToOwn, 0, func(w http.ResponseWriter, _ *http.Request, _ access.Principal) error {
			return reply(w, b.ListTokens(), nil)
		}},
		{"POST /v1/tokens", access.ToOwn, 0, post(func(_ *http.Request, _ access.Principal, q api.NewToken, key string) (api.CreatedToken, error) {
			return b.CreateToken(q, key)
		})},
		{"POST /v1/tokens/{id}/revoke", access.ToOwn, 0, func(w http.ResponseWriter, r *http.Request, p access.Principal) error {
			key, err := keyOf(r, p)
			if err != nil {
				return err
			}
			v, err := b.RevokeToken(r.PathValue("id"), key)
			return reply(w, v, err)
		}},
		{"POST /v1/page", access.ToOwn, 0, post(func(r *http.Request, _ access.Principal, q api.NewPage, _ string) (api.PageLink, error) {
			return s.link(r, q)
		})},
	}
}

func (s *Server) onRun(verb string) handler {
	return post(func(r *http.Request, p access.Principal, q api.Message, _ string) (api.Run, error) {
		return s.conductor.OnRun(r.Context(), p.Actor(), r.PathValue("run"), verb, q)
	})
}

func (s *Server) onTask(verb string) handler {
	return post(func(r *http.Request, p access.Principal, q api.Message, _ string) (api.Run, error) {
		return s.conductor.OnTask(r.Context(), p.Actor(), r.PathValue("id"), verb, q)
	})
}

// authorize returns who makes a request, if they may. The gate's own token is for its reports
// alone, and they take no other: an agent that could pass its own CI would.
func (s *Server) authorize(r *http.Request, needs access.Right) (access.Principal, error) {
	p, err := s.principal(r, needs)
	var refused forbidden
	switch {
	case err != nil && needs == access.ToReport && !errors.As(err, &refused):
		return access.Principal{}, access.ErrGate
	case err != nil:
		return access.Principal{}, err
	}
	if p, err = speaker(r, p); err != nil {
		return access.Principal{}, err
	}
	switch err := p.May(needs, r.PathValue("session")); {
	case errors.Is(err, access.ErrGuest):
		return access.Principal{}, err
	case err != nil:
		return access.Principal{}, forbidden{err}
	}
	if p.Kind == access.Session && s.fleet != nil && s.leads() { // who leads knows where sessions are
		holder, _ := s.keyHolder(r)
		if err := s.fleet.Speaks(p.Session, holder.Name); err != nil {
			return access.Principal{}, forbidden{err}
		}
	}
	return p, nil
}

// principal returns who makes a request: who has the key that its connection was made with, or whose token it has. Over a runner's connection
// come its own requests, and with their own tokens those of its sessions, which come from other machines in no other way.
func (s *Server) principal(r *http.Request, needs access.Right) (access.Principal, error) {
	holder, hasKey := s.keyHolder(r)
	if hasKey && holder.Kind == access.Peer {
		return holder, nil
	}
	if hasKey && (needs != access.ToAttend || holder.Kind == access.Guest || len(r.Header.Values("Authorization")) == 0) {
		return holder, nil
	}
	p, err := s.bearer(r)
	switch {
	case err != nil:
		return access.Principal{}, err
	case hasKey && p.Kind != access.Session:
		return access.Principal{}, forbidden{access.ErrRunner}
	case !hasKey && secureOrigin(r) && p.Kind == access.Session:
		return access.Principal{}, forbidden{errSessionsWay}
	}
	return p, nil
}

// bearer returns whose token a request has.
func (s *Server) bearer(r *http.Request) (access.Principal, error) {
	tokens := r.Header.Values("Authorization")
	if len(tokens) != 1 { // of two, a program on the way may have looked at the other
		return access.Principal{}, errToken
	}
	secret, ok := strings.CutPrefix(tokens[0], "Bearer ")
	if !ok {
		return access.Principal{}, errToken
	}
	return s.box.Principal(secret)
}

// speaker returns for whom a principal speaks: itself, or a client, if it is the owner. Nobody gains by that: the owner may do
// everything.
func speaker(r *http.Request, p access.Principal) (access.Principal, error) {
	names, scopes := r.Header.Values(api.ClientHeader), r.Header.Values(api.ScopesHeader)
	switch {
	case len(names) == 0 && len(scopes) == 0:
		return p, nil
	case p.Kind != access.Owner:
		return access.Principal{}, forbidden{errSpeaks}
	case len(names) != 1 || len(scopes) != 1:
		return access.Principal{}, badRequest{errHeaders}
	}
	client := access.Principal{Kind: access.Client, Name: names[0]}
	for _, s := range strings.Fields(scopes[0]) {
		client.Scopes = append(client.Scopes, access.Scope(s))
	}
	if err := errors.Join(access.CheckName(client.Name), access.CheckScopes(client.Scopes)); err != nil {
		return access.Principal{}, badRequest{err}
	}
	return client, nil
}

// forbidden is why somebody may not ask for something.
type forbidden struct{ error }

func (f forbidden) Unwrap() error { return f.error }

var (
	errToken       = errors.New("the request needs a valid token, in one header Authorization: Bearer TOKEN: the owner's is in api.token in the box's directory, and `signalbox token create` makes one for a client, which the command line takes from SIGNALBOX_TOKEN")
	errHeaders     = fmt.Errorf("%s and %s go together, each once", api.ClientHeader, api.ScopesHeader)
	errSessionsWay = errors.New("a session on another machine speaks to the box by its runner, and not on a connection of its own")
	errSpeaks      = fmt.Errorf("%s and %s are for who has the token of api.token: a client's own token says who it is, so leave them out", api.ClientHeader, api.ScopesHeader)
)
