package runner

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/background"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/gate"
	"github.com/signalbox-dev/signalbox/internal/home"
	"github.com/signalbox-dev/signalbox/internal/keylock"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/plan"
	"github.com/signalbox-dev/signalbox/internal/process"
	"github.com/signalbox-dev/signalbox/internal/prompt"
	"github.com/signalbox-dev/signalbox/internal/session"
	"github.com/signalbox-dev/signalbox/internal/worktree"
	"github.com/signalbox-dev/signalbox/safetext"
)

// Options are what a runner works with.
type Options struct {
	Dir     string // the box's directory, absolute
	Site    Site   // where plans are delivered
	Program string // this program, which sessions are started with

	Conductor order.Conductor
	Mail      order.Mailer
	Hidden    func() ([]string, error) // what no agent and no check may see
	Redact    func(string) string      // takes secrets out of a text
	Hosts     []string                 // whose signals count
	Own       *agentsig.Extension      // line signals of the project's own
	Exit      bool                     // exit records are acted upon
	Shared    bool                     // several boxes share the ledger ([session.Spec.Asks])
	Checked   func(gate.Result)        // told of each check that ran; may be nil
	Now       func() time.Time
	Logger    *slog.Logger
}

// Runner carries out orders on this machine: git, agents' sessions, the gate.
type Runner struct {
	Site      // the user's
	conductor order.Conductor
	program   string
	dir       string        // the box's directory, absolute
	gates     chan struct{} // has one for each commit that is checked
	homes     *home.Store   // of checks
	touched   fingerprinter // the user's checkout
	mail      order.Mailer

	hidden func() ([]string, error)
	redact func(string) string
	hosts  []string
	own    *agentsig.Extension
	exit   bool
	shared bool // several boxes share the ledger
	now    func() time.Time
	logger *slog.Logger

	onCheck func(gate.Result) // told of each check that ran; nil if nobody is

	followed *followed // by the programs of reviewers

	exchange *worktree.Exchange // where work is checked, reviewed and merged

	starting keylock.Lock[string] // by session: who starts or ends it

	mu       sync.Mutex
	branches map[string]*integration // that work is merged to
	places   map[int]bool            // that are taken by checks and merges, by number
	turns    map[string]turn         // that sessions are at

	group *background.Group // what nobody waits for but who stops the runner
}

// gatePlaces is how many commits are checked at once.
const gatePlaces = 2

// New makes a runner, and ends what one that was killed has left running. Whoever makes one stops it.
func New(ctx context.Context, o Options) (*Runner, error) {
	repo := o.Site.repo
	x := &Runner{
		Site: o.Site, conductor: o.Conductor, program: o.Program, dir: o.Dir, mail: o.Mail,
		hidden: o.Hidden, redact: o.Redact, hosts: o.Hosts, own: o.Own, exit: o.Exit, shared: o.Shared, now: o.Now, logger: o.Logger, onCheck: o.Checked,
		gates: make(chan struct{}, gatePlaces), homes: home.Open(filepath.Join(o.Dir, cachesDir), o.Now), branches: map[string]*integration{},
		places: map[int]bool{}, turns: map[string]turn{},
	}
	var err error
	if x.exchange, err = worktree.OpenExchange(ctx, repo, exchangePath(o.Dir)); err != nil {
		return nil, err
	}
	if err := repo.Disown(ctx, x.gatesDir()); err != nil { // of a version that checked in the user's repository
		x.logger.Warn("where an earlier version ran checks is left among the worktrees of your repository (git worktree list)", "error", err)
	}
	sweepGates(o.Dir, x.logger)
	if err := x.homes.Tidy(); err != nil {
		x.logger.Warn("what checks left was not removed", "error", err)
	}
	if err := x.sweepTrash(); err != nil {
		x.logger.Warn("what was to be removed is still there", "error", err)
	}
	x.group = background.New(context.Background())
	x.followed = newFollowed(o.Dir, x.config)
	if err := x.sweepReviews(ctx); err != nil {
		x.Stop()
		return nil, err
	}
	x.touched.repo, x.touched.except = repo, repo.Top(o.Dir)
	return x, nil
}

// Stop ends what the runner does by itself, and returns when it has. Orders end with their own contexts, before:
// sessions are not ended, they go on without a box.
func (x *Runner) Stop() { x.group.Stop() }

// Exchange is the box's own git repository, which is served to runners on other machines.
func (x *Runner) Exchange() *worktree.Repo { return x.exchange.Repo }

// Where things lie in the box's directory.
func (x *Runner) treePath(run, task string) string { return treePath(x.dir, run, task) }
func (x *Runner) gatesDir() string                 { return filepath.Join(x.dir, gatesDir) }
func (x *Runner) gatePath(n int) string            { return gatePath(x.dir, n) }

func gatePath(box string, n int) string { return filepath.Join(box, gatesDir, fmt.Sprint(n)) }

// Worktrees is where the worktrees of tasks lie in the box's directory.
const Worktrees = "worktrees"

// Where the directories of sessions, and of commits that are checked, lie in the box's.
const (
	sessionsDir = "sessions"
	gatesDir    = "gates"
)

func (x *Runner) sessionDir(session string) string { return filepath.Join(x.dir, sessionsDir, session) }

// taskBranch is the branch that a task's work is on. It is in a directory of its own, so
// that a sandbox can let an agent write there and nowhere else.
func taskBranch(run, task string) string { return taskBranches(run) + "/" + fileName(task) + "/work" }

// fileName is a task's id as one element of a path or a branch's name.
func fileName(task string) string { return order.FileName(task) }

// taskBranches is what the branches of a run's tasks are in.
func taskBranches(run string) string { return allTaskBranches + "/" + run }

// allTaskBranches is what the branches of all tasks are in.
const allTaskBranches = "signalbox-tasks"

// remediationTree is the name of the worktree that remediation works in. No task can
// have it.
const remediationTree = delivery.RepairTask

// CarryOut carries out an order, and returns when what came of it is handed in.
func (x *Runner) CarryOut(ctx context.Context, o order.Order) error {
	switch o.Do {
	case delivery.DoBaseline:
		return x.baseline(ctx, o)
	case delivery.DoStart:
		return x.supervise(ctx, o)
	case delivery.DoPrompt:
		return x.prompt(ctx, o)
	case delivery.DoEnd:
		return x.end(ctx, o)
	case delivery.DoGate:
		return x.gate(ctx, o)
	case delivery.DoMerge:
		return x.merge(ctx, o)
	case delivery.DoMergeRepair:
		return x.mergeRepair(ctx, o)
	case delivery.DoPublish:
		return x.publish(ctx, o)
	}
	return fmt.Errorf("there is no way to carry out %s", o.ID)
}

// tell hands in what came of an order.
func (x *Runner) tell(ctx context.Context, o order.Order, in delivery.Input) error {
	return x.conductor.HandIn(ctx, o.Run.Subject, in)
}

func (x *Runner) checks(p plan.Plan) []gate.Check { return checksOf(x.config, p) }

// checksOf returns what the gate runs for a plan.
func checksOf(c config.Config, p plan.Plan) []gate.Check {
	var all []gate.Check
	for _, own := range c.Checks {
		all = append(all, gate.Check{Name: own.Name, Environment: own.Environment, Command: own.Command, Exit: own.Exit, Timeout: own.Timeout})
	}
	for _, its := range p.Checks {
		all = append(all, gate.Check{Name: its.Name, Environment: its.Environment, Command: its.Command, Exit: its.Exit, Timeout: config.DefaultCheckTimeout})
	}
	return all
}

// transient tries something again that fails for reasons that may pass: three
// times, after 1, 2 and 4 seconds. A merge that is not allowed stays so.
func transient(ctx context.Context, do func() error) error {
	err := do()
	for pause := time.Second; err != nil && !errors.Is(err, errNotAllowed) && pause <= 4*time.Second; pause *= 2 {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
		err = do()
	}
	return err
}

// marker marks the processes that the box starts in a place, so that none is left.
func marker(path string) string {
	sum := sha256.Sum256([]byte(path))
	return "place@" + hex.EncodeToString(sum[:8])
}

// sweep ends what is left of the processes that were started in a place.
func (x *Runner) sweep(path string) { sweep(path, x.logger) }

func sweep(path string, logger *slog.Logger) {
	if killed, err := process.Sweep(marker(path)); killed > 0 || err != nil {
		logger.Warn("processes were left over", "place", path, "killed", killed, "error", err)
	}
}

// sweepGates ends what a box that was killed left running where it checked commits and merges. There is a directory for
// each place that it had: as many merges are checked at once as there are runs.
func sweepGates(box string, logger *slog.Logger) {
	entries, err := os.ReadDir(filepath.Join(box, gatesDir))
	if err != nil {
		return // nothing was checked
	}
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			sweep(gatePath(box, n), logger)
		}
	}
}

// tree sees to the worktree of a task, ready to work in.
func (x *Runner) tree(ctx context.Context, r delivery.Run, task string) (*worktree.Tree, error) {
	path := x.treePath(r.ID, task)
	ready := path + readyFile // there once the worktree is set up
	if err := x.repo.Find(ctx, path); errors.Is(err, worktree.ErrNotWorktree) {
		_ = os.Remove(ready) // the next setup makes it anew
	}
	err := transient(ctx, func() error {
		head, err := x.tip(ctx, r)
		if err != nil {
			return err
		}
		return x.repo.Add(ctx, path, taskBranch(r.ID, task), head)
	})
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(ready); err == nil {
		return x.repo.Tree(path), nil
	}
	err = x.setUp(ctx, x.repo, path, nil)
	switch {
	case err == nil:
		err = os.WriteFile(ready, nil, 0o600)
	case task == remediationTree && ctx.Err() == nil:
		err = nil // it may be what is to be repaired
	}
	return x.repo.Tree(path), err
}

// tip returns where a run's branch is.
func (x *Runner) tip(ctx context.Context, r delivery.Run) (string, error) {
	return x.repo.Resolve(ctx, "refs/heads/"+r.Branch)
}

// copier copies files of the user's checkout into a worktree of its own.
type copier interface {
	Copy(ctx context.Context, dir string, files []string) error
}

// setUp copies files into a new worktree and runs the user's setup command: as checks run,
// if it is for checks and these have a home directory.
func (x *Runner) setUp(ctx context.Context, repo copier, path string, h *home.Home) error {
	w := x.config.Worktree
	if len(w.Copy) > 0 {
		if err := repo.Copy(ctx, path, w.Copy); err != nil {
			return err
		}
	}
	if w.Setup == "" {
		return nil
	}
	x.sweep(path)
	shell, done, err := x.shell(path, h)
	if err != nil {
		return err
	}
	defer done()
	report, err := gate.Run(ctx, []gate.Check{{Name: "setup", Command: w.Setup, Timeout: w.SetupTimeout}},
		gate.Options{Dir: path, Session: marker(path), Inherit: environment(h), Shell: shell, Tend: x.program})
	if err == nil && !report.Passed() {
		err = fmt.Errorf("the setup command failed in a new worktree: %s", safetext.EscapeLines(report.Checks[0].Output))
	}
	return err
}

// prepare makes a session's directory: its worktree, its prompt, what it may do.
func (x *Runner) prepare(ctx context.Context, o order.Order) error {
	r, p, s := o.Run, o.Plan, *o.Session
	in, err := x.room(ctx, o)
	if err != nil {
		return err
	}
	data := prompt.Data{Run: r.ID, Plan: p.Title, Experts: r.Known, Branch: r.Branch, Round: s.Round, Trouble: r.Remediation.Trouble(), Hint: r.Remediation.Hint, Repair: repairOf(r, s), Claim: prompt.Claim(o.Claim)}
	for _, check := range x.checks(p) {
		data.Checks = append(data.Checks, plan.Check{Name: check.Name, Environment: check.Environment, Command: check.Command, Exit: check.Exit})
	}
	subject, phase := cmp.Or(s.Task, string(agentsig.RoleRemediation)), agentsig.Phase("")
	if task := r.Task(s.Task); task != nil {
		phase = task.Item.Phase
		data.Briefs, data.Commit = task.Briefs, cmp.Or(in.commit, task.Item.Commit)
		if s.Role == agentsig.RoleCritic {
			data.NoChange = task.Item.NoChange
		}
		data.Task = p.Tasks[slices.IndexFunc(p.Tasks, func(t plan.Task) bool { return t.ID == s.Task })]
	}
	if data.Repair != nil { // it is no task's, so nobody else is to be asked about it
		data.Commit, data.Base, data.Experts = data.Repair.Commit, data.Repair.Base, nil
	} else if data.Base = in.base; data.Base == "" {
		if data.Base, err = x.repo.Base(ctx, taskBranch(r.ID, roomName(s)), r.Branch); err != nil {
			return err
		}
	}
	for _, q := range r.Requests {
		if q.Request == s.Request {
			data.Request, subject, phase = q.ExpertCall, q.Request, ""
		}
	}
	if in.commit != "" {
		if data.Concealed, err = x.conceal(ctx, s, in.path); err != nil {
			return err
		}
	}
	return x.write(ctx, o, subject, phase, in.path, in.commit != "", data)
}

// roomName is the name of the worktree that a session works in.
func roomName(s delivery.Session) string { return cmp.Or(s.Task, remediationTree) }

// room is the worktree that a session works in. Who is there to look at a commit has that commit in it, and is
// told where the work begins, if it is a reviewer.
type room struct{ path, commit, base string }

// room sees to the worktree that a session works in. What a developer left stays, and the next one goes on with it.
func (x *Runner) room(ctx context.Context, o order.Order) (room, error) {
	if o.Reviews {
		return x.reviewRoom(ctx, o)
	}
	t, err := x.tree(ctx, o.Run, roomName(*o.Session))
	if err == nil && o.Session.Round != 0 {
		err = x.catchUp(ctx, o.Run, t)
	}
	if err == nil {
		err = x.continues(ctx, o.Run, t, o.Session.Task)
	}
	if err != nil {
		return room{}, err
	}
	return room{path: t.Path()}, nil
}

// catchUp brings the worktree of remediation to where the run's branch is, unless there
// is work in it that was not merged.
func (x *Runner) catchUp(ctx context.Context, r delivery.Run, t *worktree.Tree) error {
	head, err := t.Head(ctx)
	if err != nil {
		return err
	}
	merged, err := x.repo.Merged(ctx, head, r.Branch)
	if err != nil || !merged {
		return err
	}
	if dirty, err := t.Dirty(ctx); err != nil || len(dirty) > 0 {
		return err
	}
	tip, err := x.tip(ctx, r)
	if err != nil {
		return err
	}
	return t.Reset(ctx, tip)
}

// exits reports whether an exit record of a session is acted upon: only where it holds an
// item, whose phase it names.
func (x *Runner) exits(s delivery.Session) bool { return x.exit && s.Holds() }

// write writes what a session's process needs to know. Whoever looks on has a worktree of the
// exchange.
func (x *Runner) write(ctx context.Context, o order.Order, subject string, phase agentsig.Phase, tree string, looksOn bool, data prompt.Data) error {
	r, s := o.Run, *o.Session
	role := x.config.Role(s.Role)
	own := ""
	if role.Prompt != "" {
		text, err := os.ReadFile(role.Prompt)
		if err != nil {
			return err
		}
		own = string(text)
	}
	nonce := rand.Text() // in the prompt alone: what the agent runs must not be able to speak for it
	voice := prompt.Voice{Subject: subject, Nonce: nonce, Exit: x.exits(s), Own: x.own, Helps: !s.Holds()}
	var text string
	var err error
	if x.config.Agents[s.Agent].Adapter == config.AdapterAsk {
		text, err = prompt.Question(own, data)
	} else {
		text, err = prompt.First(s.Role, own, voice, data)
	}
	if err != nil {
		return err
	}
	commits := gitPaths{read: []string{x.exchange.Common()}}
	if agent := x.config.Agents[s.Agent]; !looksOn {
		if commits, err = x.commits(role, agent, tree, taskBranch(r.ID, roomName(s))); err != nil {
			return err
		}
	}
	spec, err := x.spec(s, role, tree, looksOn, commits)
	if err != nil {
		return err
	}
	spec.Box, spec.Task, spec.Phase, spec.Nonce, spec.Hosts, spec.Prompt, spec.Budget = x.dir, subject, phase, nonce, x.hosts, text, r.Allowance(&s)
	spec.Own, spec.Token, spec.Asks = x.config.Own(), o.Token, x.shared
	if spec.Resume, err = x.resume(ctx, o, spec, voice); err != nil {
		return err
	}
	return session.Write(x.sessionDir(s.ID), spec)
}

// spec is how a session's agent is run in a worktree, by the settings: its program and variables, what it may do, what
// keeps it in, how long it may take.
func (x *Runner) spec(s delivery.Session, role config.Role, tree string, looksOn bool, commits gitPaths) (session.Spec, error) {
	limits := x.config.Limits
	agent, ok := x.config.Agents[s.Agent]
	if !ok {
		return session.Spec{}, fmt.Errorf("there is no agent called %q in the settings any more", s.Agent)
	}
	var env []string
	for name, value := range agent.Env {
		env = append(env, name+"="+value)
	}
	for _, name := range agent.EnvFrom { // the session's process inherits it, so its value is not written down
		if os.Getenv(name) == "" {
			return session.Spec{}, &UnsetError{Agent: s.Agent, Variable: name, Runner: s.Runner}
		}
	}
	if !slices.Contains(role.Allow, config.AllowEdit) {
		env = append(env, "GIT_OPTIONAL_LOCKS=0") // to look is not to write the index
	}
	if looksOn {
		env = append(env, "GIT_NO_REPLACE_OBJECTS=1") // a commit is what its name says
	}
	slices.Sort(env)
	command := agent.Resolve(x.config.Dir)
	cage, err := x.confine(s, role, agent, command, tree, commits)
	return session.Spec{
		Session: s.ID, Dir: tree, Role: s.Role,
		Agent: agentOf(s.Agent, agent, command), Env: env, Allow: allowed(role.Allow), GitWrites: commits.write,
		Confine: cage.program, Nested: cage.nested, Judges: looksOn,
		WallClock: session.Duration(role.WallClock), Silence: session.Duration(limits.Silence), Answer: session.Duration(limits.Answer),
		Misses: limits.Misses, Grace: session.Duration(limits.Grace), Linger: session.Duration(limits.Linger), Orphan: session.Duration(limits.Orphan),
	}, err
}

// UnsetError refuses to start an agent without a variable that it is to have from its machine (env_from).
type UnsetError struct{ Agent, Variable, Runner string }

func (e *UnsetError) Error() string {
	where := "where the box is started"
	if e.Runner != "" {
		where = "where the runner " + e.Runner + " is started"
	}
	return fmt.Sprintf("the agent %s needs the variable %s, which is not set %s: set it there and start that again, or take it out of env_from in %s", e.Agent, e.Variable, where, config.File)
}

// fingerprinter tells when the user's checkout was changed by somebody.
type fingerprinter struct {
	repo   *worktree.Repo
	except string

	mu    sync.Mutex
	began time.Time // the last look
	last  *worktree.Fingerprint
	blind bool // the last look failed

	pending sync.Mutex
	looks   map[chan struct{}]bool // each closed when what it saw is recorded
}

// look compares the checkout with how it was at the last look, and says in words
// what is different; or that it could not, if it could before: an agent may have seen to that. If another look began
// meanwhile, that has said it. Of the files that are left out nothing is said.
func (f *fingerprinter) look(ctx context.Context, without ...string) []string {
	called := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.began.After(called) {
		return nil
	}
	f.began = time.Now()
	now, err := f.repo.Fingerprint(ctx, f.except)
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil // the next box looks
	}
	before := f.blind
	f.blind = err != nil
	switch {
	case err != nil && (before || f.last == nil):
		return nil
	case err != nil:
		return []string{"the checkout can't be looked at (`git status` there says more), so what is changed in it is not seen: " + safetext.Escape(err.Error())}
	}
	var changed []string
	if f.last != nil {
		changed = f.last.Without(without).Diff(now.Without(without))
	}
	f.last = &now
	if len(changed) > 0 {
		changed[0] = "in your checkout, " + changed[0]
	}
	return changed
}

// lookFirst looks how everything is that agents should leave alone, so that what they
// change from now on is seen.
func (x *Runner) lookFirst(ctx context.Context, branches ...string) {
	for _, branch := range branches {
		x.integration(branch)
		x.astray(ctx, branch)
	}
	x.touched.look(ctx) // it takes the longest
}

// begin notes that a look is under way, until done is called.
func (f *fingerprinter) begin() (ended <-chan struct{}, done func()) {
	look := make(chan struct{})
	f.pending.Lock()
	defer f.pending.Unlock()
	if f.looks == nil {
		f.looks = map[chan struct{}]bool{}
	}
	f.looks[look] = true
	return look, func() {
		f.pending.Lock()
		defer f.pending.Unlock()
		delete(f.looks, look)
		close(look)
	}
}

// settle returns when the looks that are under way have ended.
func (f *fingerprinter) settle(ctx context.Context) {
	f.pending.Lock()
	looks := slices.Collect(maps.Keys(f.looks))
	f.pending.Unlock()
	for _, look := range looks {
		select {
		case <-look:
		case <-ctx.Done():
			return
		}
	}
}
