package runner

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/plan"
	"github.com/signalbox-dev/signalbox/internal/prompt"
	"github.com/signalbox-dev/signalbox/internal/session"
	"github.com/signalbox-dev/signalbox/safetext"
)

// Drafting is a plan that an agent is to write.
type Drafting struct {
	Repo    string // a directory of the user's checkout
	Program string // this program
	Config  config.Config
	Agent   string // which one writes it; the analyst if empty
	Goal    string
	Hidden  []string // what the agent must not see, if it is confined
}

// Drafted is a plan that an agent has written, and that can be read.
type Drafted struct {
	Plan    plan.Plan
	Agent   string         // who wrote it
	Usage   delivery.Usage // what that took
	Changed []string       // in the user's checkout meanwhile, in words
}

// Why there is no plan, besides that the agent could not be started or did not end its turn.
var (
	ErrNoPlan   = errors.New("the agent wrote no plan that can be read")
	ErrQuestion = errors.New("the agent asks before it writes a plan: answer in the goal")
)

const (
	// draftSession is the name of the session that a plan is drafted in.
	draftSession = "draft"
	// draftTries is how often an agent may write a plan that is refused.
	draftTries = 2
)

// Draft has an agent write a plan. The agent looks at the last commit in a worktree of its own, which belongs to no
// branch and to no repository of the user's, with what an analyst may do less the changing of files; its sandbox keeps
// it to that, if it has one. It needs no box, and leaves nothing behind, also if ctx ends.
func Draft(ctx context.Context, o Drafting) (made Drafted, err error) {
	role := o.Config.Role(agentsig.RoleAnalyst)
	name := cmp.Or(o.Agent, role.Agent)
	agent, ok := o.Config.Agents[name]
	if !ok {
		return Drafted{}, fmt.Errorf("there is no agent called %q in the settings that could write a plan: name one of %s", safetext.Escape(name),
			safetext.Escape(strings.Join(slices.Sorted(maps.Keys(o.Config.Agents)), ", ")))
	}
	if _, err := agent.Find(o.Config.Dir); err != nil {
		return Drafted{}, err
	}
	x, done, err := makeshift(ctx, o.Repo, o.Program, o.Config, o.Hidden)
	if err != nil {
		return Drafted{}, err
	}
	defer func() { err = errors.Join(err, done()) }()
	if err := x.canConfine(); err != nil {
		return Drafted{}, err
	}
	_, commit, err := x.repo.Head(ctx)
	if err != nil {
		return Drafted{}, err
	}
	role.Agent = name
	role.Allow = slices.DeleteFunc(slices.Clone(role.Allow), func(p config.Permission) bool { return p == config.AllowEdit })
	return x.draft(ctx, role, commit, o.Goal)
}

// draft has the agent write the plan, and once more if what it wrote can't be read.
func (x *Runner) draft(ctx context.Context, role config.Role, commit, goal string) (made Drafted, err error) {
	made.Agent = role.Agent
	tree := x.reviewPath(draftSession)
	if err := x.exchange.TakeBase(ctx, commit); err != nil {
		return made, err
	}
	if err := x.exchange.AddDetached(ctx, tree, commit); err != nil {
		return made, err
	}
	s := delivery.Session{ID: draftSession, Agent: role.Agent, Role: agentsig.RoleAnalyst}
	spec, err := x.spec(s, role, tree, false, gitPaths{read: []string{x.exchange.Common()}})
	if err != nil {
		return made, err
	}
	spec.Box, spec.Hosts = x.dir, x.hosts
	d := drafting{dir: x.sessionDir(draftSession), ask: prompt.Draft{Goal: goal, Nonce: rand.Text()}}
	for _, c := range x.checks(plan.Plan{}) {
		d.ask.Checks = append(d.ask.Checks, plan.Check{Name: c.Name, Environment: c.Environment, Command: c.Command, Exit: c.Exit})
	}
	b := x.config.Budget
	spec.Task, spec.Phase, spec.Nonce = prompt.DraftSubject, agentsig.PhaseDraft, d.ask.Nonce
	spec.Budget = delivery.Allowance{
		Run:  delivery.Spend{Tokens: b.Tokens, CostUSD: b.CostUSD},
		Task: delivery.Spend{Tokens: b.Task.Tokens, CostUSD: b.Task.CostUSD}, Turn: delivery.Spend{Tokens: b.Turn.Tokens, CostUSD: b.Turn.CostUSD},
	}
	if spec.Prompt, err = d.ask.Text(); err != nil {
		return made, err
	}
	if err := session.Write(d.dir, spec); err != nil {
		return made, err
	}
	x.touched.look(ctx)
	err = d.converse(ctx)
	made.Plan, made.Usage = d.plan, d.usage
	made.Changed = x.touched.look(context.WithoutCancel(ctx))
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return made, err
}

// drafting is a conversation with an agent that writes a plan.
type drafting struct {
	dir   string // the session's
	ask   prompt.Draft
	tries int

	plan  plan.Plan
	usage delivery.Usage
	done  bool // it was told to end
	err   error
}

// converse runs the session in this process until it has ended.
func (d *drafting) converse(ctx context.Context) error {
	l := line{make(chan api.SessionReport), make(chan api.SessionCommand, draftTries)}
	ended := make(chan error, 1)
	go func() { ended <- session.Run(ctx, d.dir, l, slog.New(slog.DiscardHandler)) }()
	for {
		select {
		case r := <-l.reports:
			if c, ok := d.hear(r); ok {
				l.commands <- c // there is room: each answers a turn
			}
		case err := <-ended:
			return errors.Join(d.err, err)
		}
	}
}

// hear takes what the session reports, and says what the agent is told then.
func (d *drafting) hear(r api.SessionReport) (c api.SessionCommand, ok bool) {
	end := func(err error) (api.SessionCommand, bool) {
		d.err, d.done = err, true
		return api.SessionCommand{ID: "end", Kind: api.CommandEnd}, true
	}
	switch r.Kind {
	case api.ReportEnded:
		d.usage = r.Usage
		if !d.done {
			d.err = fmt.Errorf("the agent did not finish (%s): %s", strings.ReplaceAll(r.How, "_", " "), cmp.Or(r.Detail, r.Preview))
		}
		return c, false
	case api.ReportTurn:
	default:
		return c, false
	}
	d.tries++
	said, err := session.Said(d.dir)
	if err != nil {
		return end(err)
	}
	text, found := d.ask.Drafted(said)
	if question, asks := asked(r); asks && !found {
		return end(fmt.Errorf("%w:\n%s", ErrQuestion, question))
	}
	refused := "There was no plan between the two lines that name the run."
	if found {
		if d.plan, err = readDraft(text); err == nil {
			return end(nil)
		}
		refused = err.Error()
	}
	if d.tries == draftTries {
		return end(fmt.Errorf("%w, also when it was told why: %s\nit said last: %s", ErrNoPlan, refused, r.Preview))
	}
	again := d.ask
	again.Refused, again.Before = refused, text
	if c.Text, err = again.Text(); err != nil {
		return end(err)
	}
	c.ID, c.Kind = "again", api.CommandPrompt
	return c, true
}

// readDraft reads a plan that an agent wrote. What it has besides tasks and checks is not kept: nothing is in it that
// would not be shown.
func readDraft(text string) (plan.Plan, error) {
	p, err := plan.Parse([]byte(text))
	if err != nil {
		return plan.Plan{}, err
	}
	if err := delivery.CheckSize(len(p.Tasks)); err != nil {
		return plan.Plan{}, err
	}
	return plan.Parse([]byte(p.Markdown())) // which can be longer
}

// asked returns what a turn ended with that asks a person.
func asked(r api.SessionReport) (string, bool) {
	if r.Verdict != agentsig.KindDivineClarification {
		return "", false
	}
	var all []string
	for _, s := range r.Signals {
		if _, text, below := strings.Cut(s.Wire, "\n"); below {
			all = append(all, strings.TrimSpace(safetext.EscapeLines(text)))
		}
	}
	return cmp.Or(strings.Join(all, "\n"), r.Preview), true
}

// line is how a session in this process is heard and told things.
type line struct {
	reports  chan api.SessionReport
	commands chan api.SessionCommand
}

func (l line) SendReport(ctx context.Context, _ string, r api.SessionReport) error {
	select {
	case l.reports <- r:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l line) Activity(context.Context, string, api.Activity) error { return nil }

func (l line) Commands(ctx context.Context, _ string, connected func(), f func(api.SessionCommand) error) error {
	connected()
	for {
		select {
		case c := <-l.commands:
			if err := f(c); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
