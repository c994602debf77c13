package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/fleet"
	"github.com/signalbox-dev/signalbox/internal/gitserver"
	"github.com/signalbox-dev/signalbox/internal/httpserver"
	"github.com/signalbox-dev/signalbox/internal/order"
)

// WithFleet has the server answer runners on other machines, and say how they are.
func (s *Server) WithFleet(f *fleet.Fleet, git Git) *Server {
	s.fleet, s.git = f, git
	return s.WithRunners(func() []api.Runner {
		heard := map[string]api.Runner{}
		for _, r := range f.Runners() {
			heard[r.Name] = r
		}
		all := []api.Runner{}
		for _, o := range s.box.RunnerIdentities() {
			one := showIdentity(o)
			if r, ok := heard[o.Name]; ok {
				r.ExpiresAt, r.DrainBy = one.ExpiresAt, one.DrainBy
				one = r
			}
			all = append(all, one)
		}
		return all
	})
}

// Git answers the git of runners: a path of git's protocol over HTTP, with no more of the repository than is named.
type Git interface {
	Serve(w http.ResponseWriter, r *http.Request, path string, a gitserver.Access)
}

// How long what a runner hands in may be, in bytes.
const (
	maxHere   = 1 << 20
	maxHandIn = 4 << 20
)

// runnerRoutes are those for runners on other machines alone.
func (s *Server) runnerRoutes() []route {
	f := s.fleet
	if f == nil {
		return nil
	}
	return []route{
		{"POST /v1/runner/here", access.ToRun, maxHere, fromRunner(func(_ context.Context, runner string, here order.Here) (order.There, error) {
			return f.Here(runner, here)
		})},
		{"GET /v1/runner/box", access.ToRun, 0, func(w http.ResponseWriter, _ *http.Request, p access.Principal) error {
			b, err := f.Box(p.Name)
			return reply(w, b, err)
		}},
		{"GET /v1/runner/orders", access.ToRun, 0, s.followOrders},
		{"POST /v1/runner/hand-in", access.ToRun, maxHandIn, fromRunner(func(ctx context.Context, runner string, h order.HandedIn) (struct{}, error) {
			return struct{}{}, f.HandIn(ctx, runner, h)
		})},
		{"POST /v1/runner/said", access.ToRun, maxHandIn, fromRunner(func(_ context.Context, runner string, said order.Said) (struct{}, error) {
			return struct{}{}, f.Record(runner, said)
		})},
		{"POST /v1/runner/done", access.ToRun, 0, fromRunner(func(_ context.Context, runner string, d order.Done) (order.DoneHeard, error) {
			return f.Done(runner, d)
		})},
		{"POST /v1/runner/answer", access.ToRun, maxHandIn, fromRunner(func(_ context.Context, runner string, a order.Answer) (struct{}, error) {
			return struct{}{}, f.Answered(runner, a)
		})},
		{"POST /v1/runner/mail", access.ToRun, maxHandIn, fromRunner(func(ctx context.Context, runner string, m order.Mail) (struct{}, error) {
			return struct{}{}, f.Mail(ctx, runner, m)
		})},
		{"POST /v1/runner/ref", access.ToRun, 0, fromRunner(func(_ context.Context, runner string, p order.Push) (order.Ref, error) {
			ref, _, err := s.refFor(runner, p)
			return order.Ref{Name: ref}, err
		})},
		{"GET /v1/runner/git/fetch/{order}/{path...}", access.ToRun, 0, s.fetch},
		{"POST /v1/runner/git/fetch/{order}/{path...}", access.ToRun, maxWants, s.fetch},
		{"GET /v1/runner/git/push/{session}/{number}/{path...}", access.ToRun, 0, s.push},
		{"POST /v1/runner/git/push/{session}/{number}/{path...}", access.ToRun, maxPush, s.push},
	}
}

// maxPush is how long one push may be, in bytes: the server bounds what it unpacks to.
const maxPush = 2 << 30

var (
	errNumber   = errors.New("the number of a push is 1 or more")
	errProtocol = errors.New("the protocol that a runner speaks is a number")
)

// maxWants is how long a runner's list of what it wants, and has, may be.
const maxWants = 16 << 20

// fromRunner reads what a runner says, and answers it.
func fromRunner[Q, A any](do func(ctx context.Context, runner string, q Q) (A, error)) handler {
	return func(w http.ResponseWriter, r *http.Request, p access.Principal) error {
		q, err := decodeSessions[Q](r)
		if err != nil {
			return err
		}
		v, err := do(r.Context(), p.Name, q)
		return reply(w, v, err)
	}
}

// followOrders sends a runner what the box wants of it, and now and then that the box is there.
func (s *Server) followOrders(w http.ResponseWriter, r *http.Request, p access.Principal) error {
	protocol, err := strconv.Atoi(r.URL.Query().Get("protocol"))
	if err != nil {
		return badRequest{errProtocol}
	}
	line, err := s.fleet.Follow(p.Name, protocol)
	if err != nil {
		return err
	}
	defer line.End()
	out, end, err := s.stream(w, r, crowd{})
	if err != nil {
		return err
	}
	defer end()
	if err := out.Send(nothing); err != nil {
		return nil // the runner has gone
	}
	for {
		ctx, cancel := context.WithTimeout(r.Context(), order.StillHere)
		notices, err := line.Next(ctx)
		cancel()
		switch {
		case r.Context().Err() != nil:
			return nil
		case errors.Is(err, context.DeadlineExceeded):
			notices = []order.Notice{{}}
		case err != nil:
			return nil // it follows anew
		}
		for _, n := range notices {
			data, err := json.Marshal(n)
			if err != nil {
				return err
			}
			if err := out.Send(message(data)); err != nil {
				return nil
			}
		}
	}
}

// fetch gives a runner what an order is about that it has.
func (s *Server) fetch(w http.ResponseWriter, r *http.Request, p access.Principal) error {
	refs, home, err := s.fleet.Fetches(p.Name, r.PathValue("order"))
	if err != nil {
		return err
	}
	s.serveGit(w, r, home, gitserver.Access{Who: p.Name, Fetch: refs})
	return nil
}

// push takes what a session of a runner's has done.
func (s *Server) push(w http.ResponseWriter, r *http.Request, p access.Principal) error {
	number, err := strconv.Atoi(r.PathValue("number"))
	if err != nil {
		return badRequest{errNumber}
	}
	ref, before, err := s.refFor(p.Name, order.Push{Session: r.PathValue("session"), Number: number})
	if err != nil {
		return err
	}
	s.serveGit(w, r, s.fleet.HomeOf(r.PathValue("session")), gitserver.Access{Who: p.Name, Fetch: before, Push: ref})
	return nil
}

// serveGit has the git of a run's home answer: this box's, or that of the box whose the home is.
func (s *Server) serveGit(w http.ResponseWriter, r *http.Request, home fleet.Home, may gitserver.Access) {
	other, ok := home.(Git)
	if !ok {
		s.git.Serve(w, r, r.PathValue("path"), may)
		return
	}
	_, _, done := httpserver.Pieces(w, r, httpserver.StreamPatience) // what is sent and taken may be of any length
	defer done()
	other.Serve(w, r, r.PathValue("path"), may)
}

// refFor returns the ref that a push of a session's makes, if the runner may make it, and those whose commits it need not send.
func (s *Server) refFor(runner string, p order.Push) (ref string, before []string, err error) {
	if err := s.fleet.Owns(p.Session, runner); err != nil {
		return "", nil, err
	}
	if p.Number < 1 {
		return "", nil, badRequest{errNumber}
	}
	run, task, branch, err := s.conductor.WorkOf(p.Session)
	if err != nil {
		return "", nil, err
	}
	return order.TaskRef(run, task, p.Session, p.Number), []string{"refs/heads/" + branch, order.TaskRefs(run) + order.FileName(task) + "/"}, nil
}
