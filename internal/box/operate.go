package box

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/plan"
	"github.com/signalbox-dev/signalbox/internal/session"
	"github.com/signalbox-dev/signalbox/internal/work"
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

// deliver makes the box ready to deliver plans.
func (b *Box) deliver(ctx context.Context, o *Delivery) error {
	if o == nil {
		return nil
	}
	d, err := newDeliverer(ctx, b, *o)
	if err != nil {
		return err
	}
	b.rim = d
	return nil
}

// conduct brings on all runs that have not ended.
func (b *Box) conduct() {
	if b.rim == nil {
		return
	}
	b.state.mu.Lock()
	b.state.moved = func(run string) {
		b.conducting.Lock()
		defer b.conducting.Unlock()
		if c := b.conductors[run]; c != nil {
			c.stir()
		}
	}
	b.state.mu.Unlock()
	live := b.state.liveRuns()
	var branches []string
	for _, subject := range live {
		b.state.withRun(subject, func(r *delivery.Run) { branches = append(branches, r.Branch) })
	}
	if d, ok := b.rim.(*deliverer); ok && len(live) > 0 && !b.resting() {
		d.lookFirst(b.ctx, branches...)
	}
	for _, subject := range live {
		b.conductRun(subject)
	}
	if !b.resting() {
		b.running.Go(func() { b.tidy(b.ctx) })
	}
}

// tidy takes away what ended runs left behind because their box was killed.
func (b *Box) tidy(ctx context.Context) {
	var ended []delivery.Run
	b.state.mu.Lock()
	for _, r := range b.state.runs {
		if !r.Live() {
			ended = append(ended, r.Copy())
		}
	}
	b.state.mu.Unlock()
	for _, r := range ended {
		b.rim.finished(ctx, r)
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

// resting reports whether no agent is started any more.
func (b *Box) resting() bool { return b.rest.Load() }

// Rest ends all agents, as one does before leaving: their work stays where it is,
// nothing is counted against it, and the next box goes on with it. It returns when
// they are gone and what was under way has ended, or with ctx; and how many are left.
func (b *Box) Rest(ctx context.Context) (left int) {
	if b.rest.CompareAndSwap(false, true) {
		close(b.rested)
	}
	b.conducting.Lock()
	conductors := slices.Collect(maps.Values(b.conductors))
	b.conducting.Unlock()
	for _, c := range conductors {
		c.halt(ctx)
		live := true
		b.state.withRun(c.subject, func(r *delivery.Run) { live = r.Live() })
		if !live { // it is tidying up
			within(ctx, func() { <-c.over })
		}
	}
	for {
		alive := b.aliveSessions()
		for _, id := range alive {
			b.hub.send(id, api.SessionCommand{ID: "stop/" + id, Kind: api.CommandStop, Reason: "the operator stopped the box"}, nil)
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
func (b *Box) Agents() int { return len(b.aliveSessions()) }

// aliveSessions returns the sessions whose processes run.
func (b *Box) aliveSessions() []string {
	entries, err := os.ReadDir(b.sessionDir(""))
	if err != nil {
		return nil
	}
	var alive []string
	for _, e := range entries {
		if session.Alive(b.sessionDir(e.Name())) {
			alive = append(alive, e.Name())
		}
	}
	return alive
}

// Deliver starts the delivery of a plan. The same plan again is the same run, for as
// long as that has not ended.
func (b *Box) Deliver(ctx context.Context, q api.StartRun, key string) (api.Run, error) {
	d, ok := b.rim.(*deliverer)
	if !ok {
		return api.Run{}, errNoDelivery
	}
	text := b.redact.Bytes([]byte(q.Plan))
	p, err := plan.Parse(text)
	if err == nil {
		err = delivery.CheckSize(len(p.Tasks))
	}
	if err != nil {
		return api.Run{}, badRequest{err}
	}
	settings, err := d.settings()
	if err != nil {
		return api.Run{}, err
	}
	if _, _, err := d.repo.Head(ctx); err != nil || q.DryRun {
		return d.dryRun(p, settings), err
	}
	end, err := b.turns.take(ctx, "run")
	if err != nil {
		return api.Run{}, err
	}
	defer end()
	if subject := b.state.delivering(digest(text), key); subject != "" {
		return b.showRun(subject)
	}
	subject, err := d.startRun(ctx, text, p, settings, key)
	if err != nil {
		return api.Run{}, err
	}
	b.conductRun(subject)
	return b.showRun(subject)
}

// delivering returns the run that delivers a plan and has not ended, or that was
// started by the request with this key.
func (s *state) delivering(digest, key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for subject, r := range s.runs {
		if r.Digest == digest && (r.Live() || r.Key == key && key != "") {
			return subject
		}
	}
	return ""
}

// startRun records a run, with a branch that work is merged to.
func (d *deliverer) startRun(ctx context.Context, text []byte, p plan.Plan, settings delivery.Settings, key string) (string, error) {
	onto, base, err := d.repo.Head(ctx)
	if err != nil {
		return "", err
	}
	blob, err := d.box.archive.PutBlob(text)
	if err != nil {
		return "", err
	}
	started := delivery.Started{
		Title: cmp.Or(p.Title, p.Tasks[0].Title), Plan: blob, Digest: digest(text), Tasks: len(p.Tasks), Settings: settings,
		Base: base, Repo: d.repo.Root(), Checks: len(d.checks(p)), Key: key, Onto: onto,
	}
	if err := d.takeBranch(ctx, &started); err != nil {
		return "", err
	}
	for _, t := range p.Tasks {
		if _, err := d.box.state.exact(itemID(started.ID, t.ID)); err == nil {
			return "", fmt.Errorf("%w: %s", work.ErrExists, itemID(started.ID, t.ID))
		}
	}
	d.lookFirst(ctx, started.Branch)
	subject := ulid.MustNew(ulid.Timestamp(d.box.now()), rand.Reader).String()
	return subject, d.box.recordRun(ctx, subject, delivery.Event{Type: delivery.RunStarted, Actor: work.OperatorActor, Payload: started})
}

// takeBranch gives a run its number and the branch that work is merged to. Branches of
// an earlier box are not taken for ours.
func (d *deliverer) takeBranch(ctx context.Context, s *delivery.Started) error {
	for n := d.box.state.lastRun() + 1; ; n++ {
		s.ID = fmt.Sprintf("R%d", n)
		s.Branch = d.config.BranchOf(s.ID)
		taken, err := d.repo.Taken(ctx, strings.TrimSuffix(taskBranch(s.ID, ""), "/"))
		if err != nil {
			return err
		}
		if taken {
			continue
		}
		made, err := d.repo.Branch(ctx, s.Branch, s.Base)
		switch {
		case err != nil || made:
			return err
		case d.config.BranchOf("") == s.Branch:
			return fmt.Errorf("%w: %s", errBranchTaken, s.Branch)
		}
	}
}

// settings are what a run is recorded with.
func (d *deliverer) settings() (delivery.Settings, error) {
	c := d.config
	s := delivery.Settings{
		Roles: map[agentsig.Role]delivery.Role{}, Experts: c.Experts,
		Budget: delivery.Budget{Tokens: c.Budget.Tokens, CostUSD: c.Budget.CostUSD}, Limits: delivery.DefaultLimits(),
		Publish: c.Merge == config.MergePR,
	}
	l := &s.Limits
	l.Agents, l.Answer = c.Limits.Agents, c.Limits.Answer
	l.Reviews, l.Audits, l.Gates, l.Crashes, l.Timeouts = c.Limits.Reviews, c.Limits.Audits, c.Limits.Gates, c.Limits.Crashes, c.Limits.Timeouts
	l.ExpertRequests, l.ExpertAttempts, l.ExpertAtOnce = c.Limits.ExpertRequests, c.Limits.ExpertAttempts, c.Limits.ExpertAtOnce
	l.RemediationRounds, l.ConflictWait, l.ConflictRetries = c.Limits.RemediationRounds, c.Limits.ConflictWait, c.Limits.ConflictRetries
	for _, role := range agentsig.Roles() {
		set := c.Role(role)
		agent, ok := c.Agents[set.Agent]
		needed := role == agentsig.RoleDeveloper || role == agentsig.RoleCritic || role == agentsig.RoleAuditor || role == agentsig.RoleAnalyst && c.Analyst
		if ok {
			if _, err := agent.Find(c.Dir); err != nil {
				return s, fmt.Errorf("%w (%s, which plays %s: %w)", errNoProgram, agentsig.Escape(set.Agent), role, err)
			}
		}
		switch {
		case ok:
			s.Roles[role] = delivery.Role{Agent: set.Agent, Provider: cmp.Or(agent.Provider, set.Agent), AtOnce: set.AtOnce}
		case needed:
			return s, fmt.Errorf("%w: %s", errNoAgent, role)
		}
	}
	return s, nil
}

// dryRun says what a run would be like.
func (d *deliverer) dryRun(p plan.Plan, s delivery.Settings) api.Run {
	v := api.Run{
		Title: cmp.Or(p.Title, p.Tasks[0].Title), State: api.RunDry, AtOnce: s.Limits.Agents, Checks: len(d.checks(p)), Branch: d.config.Branch,
		Tasks: []api.Task{}, Others: []api.Agent{}, Questions: []api.Question{}, Notices: []api.Notice{},
	}
	for _, t := range p.Tasks {
		task := api.Task{ID: t.ID, Title: t.Title, Phase: agentsig.PhaseImplementation, BlockedBy: t.BlockedBy}
		if d.config.Analyst {
			task.Phase = agentsig.PhaseDraft
		}
		switch {
		case len(t.BlockedBy) > 0:
			task.Why = "blocker"
		case v.Agents >= s.Limits.Agents:
			task.Why = "agents"
		default:
			v.Agents++
			role := agentsig.RoleDeveloper
			if d.config.Analyst {
				role = agentsig.RoleAnalyst
			}
			task.Agent = &api.Agent{Role: role, Name: s.Roles[role].Agent, Task: t.ID}
		}
		v.Tasks = append(v.Tasks, task)
	}
	return v
}

// say hands an operator's word to a run, and returns the run after it.
func (b *Box) say(ctx context.Context, subject string, in delivery.Input) (api.Run, error) {
	b.conducting.Lock()
	c := b.conductors[subject]
	b.conducting.Unlock()
	live := false
	b.state.withRun(subject, func(r *delivery.Run) { live = r.Live() })
	switch {
	case !live:
		return api.Run{}, delivery.ErrFinished
	case c == nil:
		return api.Run{}, errNoDelivery
	}
	if err := c.tell(ctx, in); err != nil {
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
	if agent != "" && b.hub.inTouch(agent) {
		answer := b.hub.ask(agent, api.SessionCommand{ID: "tell/" + key, Kind: api.CommandTell, Text: text})
		select {
		case told = <-answer:
		case <-time.After(tellPatience):
		case <-ctx.Done():
		}
	}
	if !told {
		agent = ""
	}
	if _, err := b.say(ctx, subject, delivery.Tell{Task: task, Session: agent, Text: text, Key: key}); err != nil {
		return api.Told{}, err
	}
	return api.Told{Work: id, Now: told}, nil
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
		return q, fmt.Errorf("%w: %s", delivery.ErrNoQuestion, agentsig.Escape(id))
	}
	_, err := b.say(ctx, subject, delivery.Answer{Question: id, Choice: a.Choice, Text: b.redact.Text(a.Text)})
	return q, err
}

// watchRun sends a run as it is, and again when it has changed, until it has ended.
func (b *Box) watchRun(w http.ResponseWriter, r *http.Request) error {
	subject, err := b.state.runNamed(r.PathValue("run"))
	if err != nil {
		return err
	}
	changed := b.state.watch(subject)
	defer b.state.unwatch(subject, changed)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	flush := http.NewResponseController(w).Flush
	for {
		v, err := b.showRun(subject)
		if err != nil {
			return err
		}
		data, err := json.Marshal(v)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "data: %s\n\n", data); err != nil || flush() != nil || v.State == api.RunFinished {
			return nil // the client has gone, or there is nothing more to see
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return nil
		}
		select {
		case <-time.After(watchPause): // many changes are one
		case <-r.Context().Done():
			return nil
		}
	}
}

const watchPause = 50 * time.Millisecond

// watch returns a channel that gets something when a run has changed.
func (s *state) watch(subject string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := make(chan struct{}, 1)
	n := s.newsOf(subject)
	n.watch = append(n.watch, w)
	return w
}

func (s *state) unwatch(subject string, w chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.newsOf(subject)
	for i, other := range n.watch {
		if other == w {
			n.watch = append(n.watch[:i:i], n.watch[i+1:]...)
			return
		}
	}
}

// Activity takes a sign of life of a session.
func (b *Box) Activity(name, line string) error {
	c, err := b.conductorOf(name)
	if err != nil {
		return err
	}
	b.hub.heard(name, b.redact.Text(line))
	b.state.show(c.subject)
	return nil
}

// show tells those who watch a run that it looks different, though nothing was
// recorded.
func (s *state) show(subject string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.newsOf(subject).changed()
}

// commands sends a session what the box wants of it, for as long as both are there.
func (b *Box) commands(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("session")
	c, err := b.conductorOf(name)
	if err != nil {
		return err
	}
	if !c.knows(name) {
		return errSessionGone
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	flush := http.NewResponseController(w).Flush
	if err := flush(); err != nil {
		return nil // the session has gone
	}
	if err := b.rim.back(c, name); err != nil {
		return err
	}
	b.hub.connect(name)
	_, _, lost := b.hub.next(name)
	defer b.state.show(c.subject)
	defer b.hub.disconnect(name, lost)
	b.state.show(c.subject)
	c.stir()
	for {
		commands, more, nowLost := b.hub.next(name)
		if nowLost != lost {
			return nil // it has connected anew
		}
		for _, cmd := range commands {
			data, err := json.Marshal(cmd)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(w, "data: %s\n\n", data); err != nil || flush() != nil {
				return nil
			}
			b.hub.wrote(name, cmd.ID)
		}
		select {
		case <-more:
		case <-lost:
			return nil
		case <-r.Context().Done():
			return nil
		}
	}
}

// addItem adds the item of a plan's task.
func (b *Box) addItem(a work.Add) (work.Item, error) {
	if i, err := b.state.exact(a.ID); err == nil {
		if i.Run != a.Run || i.Task != a.Task {
			return i, fmt.Errorf("%w: %s", work.ErrExists, a.ID)
		}
		return i, nil
	}
	subject := ulid.MustNew(ulid.Timestamp(b.now()), rand.Reader).String()
	id, err := b.state.reserve(a.ID, subject)
	if err != nil {
		return work.Item{}, err
	}
	defer b.state.unreserve(id, subject)
	r, err := b.record(subject, a.Key, a)
	return r.item, err
}
