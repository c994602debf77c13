package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/session"
	"github.com/signalbox-dev/signalbox/safetext"
)

// Inquiry is what [Ask] asks.
type Inquiry struct {
	Repo    string // a directory of the user's checkout
	Program string // this program
	Config  config.Config
	Time    time.Duration // which each agent has to answer
	Hidden  []string      // what agents must not see, if they are confined
}

// Answer is what came of asking an agent.
type Answer struct {
	Agent  string
	Role   agentsig.Role // that it was run as
	How    string        // how its session ended, in the words of package api; HowDone if it has answered
	Detail string        // why it has not; escaped
	Said   string        // the last line that it said; escaped
	Took   time.Duration
	Usage  delivery.Usage
}

// question is what agents are asked. They need to use nothing for it.
const question = "This is a test of whether you can be reached. Use no tools and change nothing. Answer with the one word: ready\n"

// Asked are the agents that play a role, each with the first role that it plays.
func Asked(c config.Config) (agents []string, roles []agentsig.Role) {
	for _, role := range agentsig.Roles() {
		name := c.Role(role).Agent
		if _, ok := c.Agents[name]; ok && !slices.Contains(agents, name) {
			agents, roles = append(agents, name), append(roles, role)
		}
	}
	return agents, roles
}

// Ask asks each agent that plays a role for one word, as many at once as may run, each in a session such as a run would
// start for the first of its roles: with its settings, permissions and sandbox, in a worktree of the last commit, which is
// not set up. It needs no box, and leaves nothing behind, also if ctx ends. The answers come in the order of [Asked].
func Ask(ctx context.Context, i Inquiry) (all []Answer, err error) {
	x, done, err := makeshift(ctx, i.Repo, i.Program, i.Config, i.Hidden)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	if err := x.canConfine(); err != nil {
		return nil, err
	}
	_, commit, err := x.repo.Head(ctx)
	if err != nil {
		return nil, err
	}
	if err := x.exchange.TakeBase(ctx, commit); err != nil {
		return nil, err
	}
	agents, roles := Asked(i.Config)
	all = make([]Answer, len(agents))
	places := make(chan struct{}, max(1, i.Config.Limits.Agents))
	var asking sync.WaitGroup
	for n, name := range agents {
		asking.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			all[n] = x.ask(ctx, delivery.Session{ID: fmt.Sprintf("ask-%d", n+1), Role: roles[n], Agent: name}, commit, i.Time)
		})
	}
	asking.Wait()
	return all, ctx.Err()
}

// ask asks one agent.
func (x *Runner) ask(ctx context.Context, s delivery.Session, commit string, limit time.Duration) Answer {
	a := Answer{Agent: s.Agent, Role: s.Role, How: api.HowCrashed}
	began := x.now()
	last, said, err := x.answer(ctx, s, commit, limit)
	a.Took = x.now().Sub(began)
	if err != nil {
		a.Detail = x.redact(safetext.EscapeLines(err.Error()))
		return a
	}
	a.How, a.Detail, a.Said, a.Usage = last.How, x.redact(last.Detail), x.redact(said), last.Usage
	return a
}

// answer runs a session of one turn.
func (x *Runner) answer(ctx context.Context, s delivery.Session, commit string, limit time.Duration) (last api.SessionReport, said string, err error) {
	tree, looksOn := x.reviewPath(s.ID), delivery.Reviewer(s.Role)
	if err := x.exchange.AddDetached(ctx, tree, commit); err != nil {
		return last, "", err
	}
	if files := x.config.Worktree.Copy; len(files) > 0 {
		if err := x.exchange.Copy(ctx, tree, files); err != nil {
			return last, "", err
		}
	}
	if looksOn {
		if _, err := x.conceal(ctx, s, tree); err != nil {
			return last, "", err
		}
	}
	spec, err := x.spec(s, x.config.Role(s.Role), tree, looksOn, gitPaths{read: []string{x.exchange.Common()}})
	if err != nil {
		return last, "", err
	}
	spec.Task, spec.Prompt = "doctor", question
	spec.WallClock = session.Duration(limit)
	spec.Answer = min(spec.Answer, session.Duration(limit/8)) // a program that says nothing at all is given up before
	dir := x.sessionDir(s.ID)
	if err := session.Write(dir, spec); err != nil {
		return last, "", err
	}
	if _, err := session.Start(ctx, x.program, dir, s.ID); err != nil && !session.Ran(dir) {
		return last, "", err
	}
	if err := awaitEnd(ctx, dir, limit+time.Duration(spec.Grace)+outlast); err != nil {
		err = errors.Join(err, session.Kill(dir, s.ID), session.Clean(dir, s.ID))
		return last, "", err
	}
	return session.Outcome(dir)
}

// outlast is for how much longer than it should a session that was asked may go on.
const outlast = 30 * time.Second

// awaitEnd waits for the end of a session.
func awaitEnd(ctx context.Context, dir string, limit time.Duration) error {
	late := time.NewTimer(limit)
	defer late.Stop()
	for session.Alive(dir) {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-late.C:
			return errors.New("its session did not end in time, and was killed")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
