package box

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/runner"
	"github.com/signalbox-dev/signalbox/safetext"
)

// What a box answers to those who want plans delivered.
var (
	errNoRun       = errors.New("there is no such run")
	errNoDelivery  = errors.New("this box delivers no plans: start it in a git checkout, with agents in " + config.File + " (`signalbox init` writes one)")
	errNoAgent     = errors.New("nobody plays this role: name an agent for it in " + config.File)
	errNoProgram   = errors.New("an agent's program is missing: install it, or change its command in " + config.File)
	errSessionGone = errors.New("the session is not one of the box's any more")
	errBranchTaken = errors.New("the branch that work is merged to is there already: delete or rename it, or put {run} into `branch` in " + config.File)
	errNoMessage   = errors.New("a message needs a text")
)

// startPatience is for how long a start waits for git to find the repository, and then to look at the
// checkout: meanwhile nobody else has the box's directory.
const startPatience = 15 * time.Second

// deliver makes the box ready to deliver plans. What is worth a note about the
// repository's commits is returned. It ends with ctx.
func (b *Box) deliver(ctx context.Context, o *Delivery) (notes []string, err error) {
	if o == nil {
		return nil, nil
	}
	patience := cmp.Or(o.patience, startPatience)
	opening, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("after %v: %w", patience, runner.ErrTooSlow))
	defer cancel()
	dir, err := filepath.Abs(string(b.dir))
	if err != nil {
		return nil, err
	}
	b.config = o.Config
	b.runner, err = runner.New(opening, runner.Options{
		Dir: dir, Repo: o.Repo, Program: o.Program, Config: o.Config, Conductor: results{b}, Mail: b.mail,
		Hidden: func() ([]string, error) { return b.dir.Hidden(o.Config.Archive) }, Redact: b.redact.Text, Hosts: b.hosts, Exit: b.exitEnabled,
		Now: b.now, Logger: b.logger,
	})
	if err != nil {
		return nil, err
	}
	if notes, err = b.witness(ctx, b.runner.Witnesses); err != nil {
		return nil, err
	}
	b.lookAgain(ctx, patience)
	return notes, ctx.Err()
}

// lookAgain looks how everything is that the agents of runs that go on should leave alone. Git may hang
// in a checkout; the runs go on without the look then.
func (b *Box) lookAgain(ctx context.Context, patience time.Duration) {
	live := b.state.liveRuns()
	if len(live) == 0 || b.draining() {
		return
	}
	var branches []string
	for _, subject := range live {
		b.state.withRun(subject, func(r *delivery.Run) { branches = append(branches, r.Branch) })
	}
	looking, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := b.runner.Resume(looking, false, branches...)
	if looking.Err() != nil && ctx.Err() == nil {
		b.logger.Warn("the checkout was not looked at in time (try `git status` there): what the next agent changes in it may not be noticed", "checkout", b.runner.Root(), "patience", patience)
	}
	if err != nil {
		b.logger.Warn("it is not known how the settings of reviewers' programs were", "error", err)
	}
}

// conduct brings on all runs that have not ended.
func (b *Box) conduct() {
	if b.runner == nil {
		return
	}
	b.state.mu.Lock()
	b.state.moved = func(run string) {
		if c := b.conductor(run); c != nil {
			c.stir()
		}
	}
	b.state.mu.Unlock()
	marked, err := b.runner.Marked(b.state.runSubjects)
	if err != nil {
		b.logger.Warn("what ended runs left behind may stay", "error", err)
	}
	for _, subject := range b.state.liveRuns() {
		b.conductRun(subject)
	}
	if !b.draining() && len(marked) > 0 {
		b.running.Go(func() { b.tidy(b.ctx, marked) })
	}
}

func (b *Box) conductRun(subject string) *conductor {
	b.conducting.Lock()
	defer b.conducting.Unlock()
	c := b.conductors[subject]
	if c == nil {
		c = b.begin(subject)
		b.conductors[subject] = c
	}
	return c
}

// draining reports whether no agent is started any more.
func (b *Box) draining() bool { return b.drain.Load() }

// Drain ends all agents, as one does before leaving: their work stays where it is,
// nothing is counted against it, and the next box goes on with it. It returns when
// they are gone and what was under way has ended, or with ctx; and how many are left.
func (b *Box) Drain(ctx context.Context) (left int) {
	if b.drain.CompareAndSwap(false, true) {
		close(b.drainBegun)
	}
	b.conducting.Lock()
	conductors := slices.Collect(maps.Values(b.conductors))
	b.conducting.Unlock()
	for _, c := range conductors {
		c.halt(ctx)
		if !b.live(c.subject) { // it is tidying up
			within(ctx, func() { <-c.over })
		}
	}
	for {
		alive := runner.Alive(string(b.dir))
		for _, id := range alive {
			b.mail.Send(id, api.SessionCommand{ID: "stop/" + id, Kind: api.CommandStop, Reason: "the operator stopped the box"}, nil)
		}
		if len(alive) == 0 {
			return 0
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return len(alive)
		}
	}
}

// open reports whether a question waits for an answer.
func (b *Box) open(question string) bool {
	return slices.ContainsFunc(b.Questions(), func(q api.Question) bool { return q.ID == question })
}

// Agents returns how many sessions of agents run.
func (b *Box) Agents() int { return len(runner.Alive(string(b.dir))) }

// live reports whether a run goes on.
func (b *Box) live(subject string) (live bool) {
	b.state.withRun(subject, func(r *delivery.Run) { live = r.Live() })
	return live
}

// say hands an operator's word to a run, and returns the run after it.
func (b *Box) say(ctx context.Context, subject string, in delivery.Input) (api.Run, error) {
	c := b.conductor(subject)
	switch {
	case !b.live(subject):
		return api.Run{}, delivery.ErrFinished
	case c == nil:
		return api.Run{}, errNoDelivery
	}
	if err := c.tell(ctx, in); err != nil {
		if errors.Is(err, ErrStopping) && !b.live(subject) {
			err = delivery.ErrFinished // the run has ended, not the box
		}
		return api.Run{}, err
	}
	return b.showRun(subject)
}

// OnRun is an operator's word on a run: pause, resume or cancel.
func (b *Box) OnRun(ctx context.Context, id, verb string, m api.Message) (api.Run, error) {
	subject, err := b.state.runNamed(id)
	if err != nil {
		return api.Run{}, err
	}
	reason := b.redact.Text(m.Text)
	switch verb {
	case "pause":
		return b.say(ctx, subject, delivery.Hold{Reason: reason})
	case "resume":
		if err := b.acceptFollowed(subject); err != nil {
			return api.Run{}, err
		}
		return b.say(ctx, subject, delivery.Resume{Reason: reason})
	}
	return b.say(ctx, subject, delivery.Cancel{Reason: reason})
}

// OnTask is an operator's word on a task: cancel or retry.
func (b *Box) OnTask(ctx context.Context, id, verb string, m api.Message) (api.Run, error) {
	subject, task, err := b.state.taskNamed(id)
	if err != nil {
		return api.Run{}, err
	}
	text := b.redact.Text(m.Text)
	if verb == "retry" {
		return b.say(ctx, subject, delivery.Retry{Task: task, Text: text})
	}
	return b.say(ctx, subject, delivery.Cancel{Task: task, Reason: text})
}

// Tell gives a message to the agent on a task, if it can be told, or to the next.
func (b *Box) Tell(ctx context.Context, id string, m api.Message, key string) (api.Told, error) {
	subject, task, err := b.state.taskNamed(id)
	if err != nil {
		return api.Told{}, err
	}
	text := b.redact.Text(m.Text)
	if text == "" {
		return api.Told{}, errNoMessage
	}
	key = orNewKey(key)
	var agent string
	before := false
	b.state.withRun(subject, func(r *delivery.Run) {
		if agent, before = r.ToldBy(key); before {
			return
		}
		if s := r.SessionOf(task); s != nil && s.Over == "" {
			agent = s.ID
		}
	})
	if before {
		return api.Told{Work: id, Now: agent != ""}, nil
	}
	told := false
	if agent != "" && b.mail.InTouch(agent) {
		told = b.ask(ctx, agent, api.SessionCommand{ID: "tell/" + key, Kind: api.CommandTell, Text: text})
	}
	if !told {
		agent = ""
	}
	if _, err := b.say(ctx, subject, delivery.Tell{Task: task, Session: agent, Text: text, Key: key}); err != nil {
		return api.Told{}, err
	}
	return api.Told{Work: id, Now: told}, nil
}

// ask sends a tell to a session, and reports whether its agent was told. If nobody knows, because the
// session has the message and does not answer, it says no: then the next agent is told as well.
func (b *Box) ask(ctx context.Context, session string, c api.SessionCommand) (told bool) {
	answer := b.mail.Ask(session, c)
	patience, cancel := context.WithTimeout(ctx, tellPatience)
	defer cancel()
	select {
	case told = <-answer:
		return told
	case <-patience.Done():
	}
	b.mail.TakeBack(session, c.ID)
	select {
	case told = <-answer: // just before
		return told
	default:
		return false
	}
}

// tellPatience is for how long an agent is waited for to take a message.
const tellPatience = 5 * time.Second

// Answer answers a question.
func (b *Box) Answer(ctx context.Context, id string, a api.Answer) (api.Question, error) {
	var q api.Question
	subject := ""
	b.state.mu.Lock()
	for s, r := range b.state.runs {
		for _, asked := range r.Questions {
			if asked.ID == id {
				subject, q = s, showQuestion(r, asked)
			}
		}
	}
	b.state.mu.Unlock()
	if subject == "" {
		return q, fmt.Errorf("%w: %s", delivery.ErrNoQuestion, safetext.Escape(id))
	}
	_, err := b.say(ctx, subject, delivery.Answer{Question: id, Choice: a.Choice, Text: b.redact.Text(a.Text)})
	return q, err
}

// acceptFollowed takes what a run was paused for as the operator's will, who resumes it.
func (b *Box) acceptFollowed(subject string) error {
	distrust := false
	b.state.withRun(subject, func(r *delivery.Run) { distrust = r.Distrust != "" })
	if !distrust || b.runner == nil {
		return nil
	}
	return b.runner.AcceptFollowed()
}

// tidy takes away what ended runs left behind because their box was killed.
func (b *Box) tidy(ctx context.Context, marked []string) {
	for _, subject := range marked {
		var r delivery.Run
		found := b.state.withRun(subject, func(run *delivery.Run) { r = run.Copy() })
		switch {
		case ctx.Err() != nil:
			return
		case !found: // its box was killed before it was recorded
			b.runner.Unmark(subject)
		case !r.Live():
			b.runner.Finished(ctx, r)
		}
	}
}

// Delivery is what a box needs to deliver plans.
type Delivery struct {
	Repo    string // a directory of the user's checkout
	Program string // this program, which sessions are started with
	Config  config.Config

	patience time.Duration // startPatience if 0
}
