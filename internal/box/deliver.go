package box

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/gate"
	"github.com/signalbox-dev/signalbox/internal/home"
	"github.com/signalbox-dev/signalbox/internal/plan"
	"github.com/signalbox-dev/signalbox/internal/process"
	"github.com/signalbox-dev/signalbox/internal/prompt"
	"github.com/signalbox-dev/signalbox/internal/session"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/internal/worktree"
	"github.com/signalbox-dev/signalbox/safetext"
)

// Delivery is what a box needs to deliver plans.
type Delivery struct {
	Repo    string // a directory of the user's checkout
	Program string // this program, which sessions are started with
	Config  config.Config

	patience time.Duration // startPatience if 0
}

// deliverer carries out the commands of runs: git, agents' sessions, the gate.
type deliverer struct {
	box     *Box
	repo    *worktree.Repo // the user's
	program string
	config  config.Config
	dir     string        // the box's directory, absolute
	gates   chan struct{} // has one for each commit that is checked
	homes   *home.Store   // of checks
	touched fingerprinter // the user's checkout

	followed *followed // by the programs of reviewers

	exchange *worktree.Exchange // where work is checked, reviewed and merged

	starting keyLock[string] // by session: who starts or ends it

	mu       sync.Mutex
	plans    map[string]plan.Plan    // by the run's subject
	branches map[string]*integration // that work is merged to
	places   map[int]bool            // that are taken by checks and merges, by number
}

// gatePlaces is how many commits are checked at once.
const gatePlaces = 2

func newDeliverer(ctx context.Context, b *Box, o Delivery) (*deliverer, error) {
	repo, err := worktree.Open(ctx, o.Repo)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(string(b.dir))
	if err != nil {
		return nil, err
	}
	d := &deliverer{
		box: b, repo: repo, program: o.Program, config: o.Config, dir: dir,
		gates: make(chan struct{}, gatePlaces), homes: home.Open(filepath.Join(dir, "caches"), b.now), plans: map[string]plan.Plan{}, branches: map[string]*integration{},
		places: map[int]bool{},
	}
	if d.exchange, err = worktree.OpenExchange(ctx, repo, filepath.Join(dir, "exchange.git")); err != nil {
		return nil, err
	}
	if err := repo.Disown(ctx, filepath.Dir(d.gatePath(0))); err != nil { // of a version that checked in the user's repository
		b.logger.Warn("where an earlier version ran checks is left among the worktrees of your repository (git worktree list)", "error", err)
	}
	for n := range gatePlaces + 1 { // merges are checked too
		d.sweep(d.gatePath(n)) // what a box that was killed left running
	}
	if err := d.homes.Tidy(); err != nil {
		b.logger.Warn("what checks left was not removed", "error", err)
	}
	d.followed = newFollowed(d.dir, o.Config)
	d.sweepReviews()
	d.touched.repo, d.touched.except = repo, repo.Top(dir)
	return d, nil
}

// Where things lie in the box's directory.
func (d *deliverer) treePath(run, task string) string {
	return filepath.Join(d.dir, "worktrees", run, task)
}
func (d *deliverer) gatePath(n int) string { return filepath.Join(d.dir, "gates", fmt.Sprint(n)) }

func (b *Box) sessionDir(session string) string {
	return b.dir.path(filepath.Join("sessions", session))
}

// taskBranch is the branch that a task's work is on. It is in a directory of its own, so
// that a sandbox can let an agent write there and nowhere else.
func taskBranch(run, task string) string { return taskBranches(run) + "/" + task + "/work" }

// taskBranches is what the branches of a run's tasks are in.
func taskBranches(run string) string { return allTaskBranches + "/" + run }

// allTaskBranches is what the branches of all tasks are in.
const allTaskBranches = "signalbox-tasks"

// remediationTree is the name of the worktree that remediation works in. No task can
// have it.
const remediationTree = delivery.RepairTask

func (d *deliverer) carryOut(ctx context.Context, c *conductor, cmd delivery.Command) error {
	if cmd.Session != nil {
		defer d.forgetEnded(c, cmd.Session.ID)
	}
	switch cmd.Do {
	case delivery.DoAddTask:
		return d.addTask(c, cmd.N)
	case delivery.DoBaseline:
		return d.baseline(ctx, c, cmd.ID)
	case delivery.DoStart:
		return d.supervise(ctx, c, *cmd.Session)
	case delivery.DoPrompt:
		return d.prompt(ctx, c, *cmd.Session)
	case delivery.DoEnd:
		return d.end(ctx, c, *cmd.Session)
	case delivery.DoGate:
		return d.gate(ctx, c, cmd.ID, *cmd.Task)
	case delivery.DoMerge:
		return d.merge(ctx, c, cmd.ID, *cmd.Task)
	case delivery.DoMergeRepair:
		return d.mergeRepair(ctx, c, cmd.ID, *cmd.Repair)
	case delivery.DoPublish:
		return d.publish(ctx, c)
	}
	return fmt.Errorf("there is no way to carry out %s", cmd.ID)
}

// run returns what a command needs to know of its run.
func (d *deliverer) run(c *conductor) (r delivery.Run) {
	d.box.state.withRun(c.subject, func(live *delivery.Run) { r = live.Copy() })
	return r
}

// planOf returns the plan of a run, as it was handed in.
func (d *deliverer) planOf(r delivery.Run) (plan.Plan, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p, ok := d.plans[r.Subject]; ok {
		return p, nil
	}
	text, err := d.box.archive.Blob(r.Plan.SHA256)
	if err != nil {
		return plan.Plan{}, err
	}
	p, err := plan.Parse(text)
	if err == nil {
		d.plans[r.Subject] = p
	}
	return p, err
}

// checks returns what the gate runs for a plan.
func (d *deliverer) checks(p plan.Plan) []gate.Check {
	var all []gate.Check
	for _, c := range d.config.Checks {
		all = append(all, gate.Check{Name: c.Name, Environment: c.Environment, Command: c.Command, Exit: c.Exit, Timeout: c.Timeout})
	}
	for _, c := range p.Checks {
		all = append(all, gate.Check{Name: c.Name, Environment: c.Environment, Command: c.Command, Exit: c.Exit, Timeout: config.DefaultCheckTimeout})
	}
	return all
}

// addTask adds the item of a plan's task.
func (d *deliverer) addTask(c *conductor, n int) error {
	r := d.run(c)
	p, err := d.planOf(r)
	if err != nil {
		return err
	}
	if n >= len(p.Tasks) {
		return nil
	}
	t := p.Tasks[n]
	id := itemID(r.ID, t.ID)
	if i, err := d.box.state.exact(id); err == nil && i.Run == r.Subject && i.Task == t.ID {
		return nil // a box that was killed has added it
	}
	phase, _ := d.first()
	_, err = d.box.add(work.Add{
		ID: id, Title: t.Title, Phase: phase, Actor: work.OperatorActor, Run: r.Subject, Task: t.ID, BlockedBy: t.BlockedBy,
		Key: r.Subject + "/" + t.ID,
	})
	return err
}

// itemID is the name of the work item of a run's task.
func itemID(run, task string) string { return run + "." + task }

// transient tries something again that fails for reasons that may pass: three
// times, after 1, 2 and 4 seconds.
func transient(ctx context.Context, do func() error) error {
	err := do()
	for pause := time.Second; err != nil && pause <= 4*time.Second; pause *= 2 {
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
func (d *deliverer) sweep(path string) {
	if killed, err := process.Sweep(marker(path)); killed > 0 || err != nil {
		d.box.logger.Warn("processes were left over", "place", path, "killed", killed, "error", err)
	}
}

// tree sees to the worktree of a task, ready to work in.
func (d *deliverer) tree(ctx context.Context, r delivery.Run, task string) (*worktree.Tree, error) {
	path := d.treePath(r.ID, task)
	ready := path + ".ready" // there once the worktree is set up
	if err := d.repo.Find(ctx, path); errors.Is(err, worktree.ErrNotWorktree) {
		_ = os.Remove(ready) // the next setup makes it anew
	}
	err := transient(ctx, func() error {
		head, err := d.tip(ctx, r)
		if err != nil {
			return err
		}
		return d.repo.Add(ctx, path, taskBranch(r.ID, task), head)
	})
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(ready); err == nil {
		return d.repo.Tree(path), nil
	}
	err = d.setUp(ctx, d.repo, path, nil)
	switch {
	case err == nil:
		err = os.WriteFile(ready, nil, 0o600)
	case task == remediationTree && ctx.Err() == nil:
		err = nil // it may be what is to be repaired
	}
	return d.repo.Tree(path), err
}

// tip returns where a run's branch is.
func (d *deliverer) tip(ctx context.Context, r delivery.Run) (string, error) {
	return d.repo.Resolve(ctx, "refs/heads/"+r.Branch)
}

// copier copies files of the user's checkout into a worktree of its own.
type copier interface {
	Copy(ctx context.Context, dir string, files []string) error
}

// setUp copies files into a new worktree and runs the user's setup command: as checks run,
// if it is for checks and these have a home directory.
func (d *deliverer) setUp(ctx context.Context, repo copier, path string, h *home.Home) error {
	w := d.config.Worktree
	if len(w.Copy) > 0 {
		if err := repo.Copy(ctx, path, w.Copy); err != nil {
			return err
		}
	}
	if w.Setup == "" {
		return nil
	}
	d.sweep(path)
	shell, done, err := d.shell(path, h)
	if err != nil {
		return err
	}
	defer done()
	report, err := gate.Run(ctx, []gate.Check{{Name: "setup", Command: w.Setup, Timeout: w.SetupTimeout}},
		gate.Options{Dir: path, Session: marker(path), Inherit: environment(h), Shell: shell, Tend: d.program})
	if err == nil && !report.Passed() {
		err = fmt.Errorf("the setup command failed in a new worktree: %s", safetext.EscapeLines(report.Checks[0].Output))
	}
	return err
}

// prepare makes a session's directory: its worktree, its prompt, what it may do.
func (d *deliverer) prepare(ctx context.Context, c *conductor, s delivery.Session) error {
	r := d.run(c)
	p, err := d.planOf(r)
	if err != nil {
		return err
	}
	tree, commit, err := d.room(ctx, c, r, s)
	if err != nil {
		return err
	}
	data := prompt.Data{Run: r.ID, Plan: p.Title, Experts: r.Known, Branch: r.Branch, Round: s.Round, Trouble: r.Remediation.Trouble(), Hint: r.Remediation.Hint, Repair: repairOf(r, s)}
	for _, check := range d.checks(p) {
		data.Checks = append(data.Checks, plan.Check{Name: check.Name, Environment: check.Environment, Command: check.Command, Exit: check.Exit})
	}
	subject, phase := cmp.Or(s.Task, string(agentsig.RoleRemediation)), agentsig.Phase("")
	if task := r.Task(s.Task); task != nil {
		phase = task.Item.Phase
		data.Briefs, data.Commit = task.Briefs, cmp.Or(commit, task.Item.Commit)
		data.Task = p.Tasks[slices.IndexFunc(p.Tasks, func(t plan.Task) bool { return t.ID == s.Task })]
	}
	if data.Repair != nil { // it is no task's, so nobody else is to be asked about it
		data.Commit, data.Base, data.Experts = data.Repair.Commit, data.Repair.Base, nil
	} else if data.Base, err = d.base(ctx, r, s, data.Commit); err != nil {
		return err
	}
	for _, q := range r.Requests {
		if q.Request == s.Request {
			data.Request, subject, phase = q.ExpertCall, q.Request, ""
		}
	}
	if commit != "" {
		if data.Concealed, err = d.conceal(ctx, s, tree); err != nil {
			return err
		}
	}
	return d.write(r, s, subject, phase, tree, commit != "", data)
}

// base returns where the work that a session is about begins: for a reviewer, what is recorded.
func (d *deliverer) base(ctx context.Context, r delivery.Run, s delivery.Session, commit string) (string, error) {
	if reviewer(s.Role) && commit != "" {
		i := d.box.state.item(r.Task(s.Task).Item.Subject)
		for _, seen := range []work.Seen{i.Review, i.Audit} {
			if seen.Session == s.ID {
				return seen.Base, nil
			}
		}
		return d.partsAt(ctx, r, commit)
	}
	return d.repo.Base(ctx, taskBranch(r.ID, roomName(s)), r.Branch)
}

// roomName is the name of the worktree that a session works in.
func roomName(s delivery.Session) string { return cmp.Or(s.Task, remediationTree) }

// room sees to the worktree that a session works in, and names the commit that it is to look
// at, if it is there to look. What a developer left stays, and the next one goes on with it.
func (d *deliverer) room(ctx context.Context, c *conductor, r delivery.Run, s delivery.Session) (path, commit string, err error) {
	if d.reviews(c, s) {
		return d.reviewRoom(ctx, c, r, s)
	}
	t, err := d.tree(ctx, r, roomName(s))
	if err == nil && s.Round != 0 {
		err = d.catchUp(ctx, r, t)
	}
	if err != nil {
		return "", "", err
	}
	return t.Path(), "", nil
}

// catchUp brings the worktree of remediation to where the run's branch is, unless there
// is work in it that was not merged.
func (d *deliverer) catchUp(ctx context.Context, r delivery.Run, t *worktree.Tree) error {
	head, err := t.Head(ctx)
	if err != nil {
		return err
	}
	merged, err := d.repo.Merged(ctx, head, r.Branch)
	if err != nil || !merged {
		return err
	}
	if dirty, err := t.Dirty(ctx); err != nil || len(dirty) > 0 {
		return err
	}
	tip, err := d.tip(ctx, r)
	if err != nil {
		return err
	}
	return t.Reset(ctx, tip)
}

// exits reports whether an exit record of a session is acted upon: only where it holds an
// item, whose phase it names.
func (d *deliverer) exits(s delivery.Session) bool { return d.box.exitEnabled && s.Holds() }

// write writes what a session's process needs to know. Whoever looks on has a worktree of the
// exchange.
func (d *deliverer) write(r delivery.Run, s delivery.Session, subject string, phase agentsig.Phase, tree string, looksOn bool, data prompt.Data) error {
	role, limits := d.config.Role(s.Role), d.config.Limits
	agent, ok := d.config.Agents[s.Agent]
	if !ok {
		return fmt.Errorf("there is no agent called %q in the settings any more", s.Agent)
	}
	own := ""
	if role.Prompt != "" {
		text, err := os.ReadFile(role.Prompt)
		if err != nil {
			return err
		}
		own = string(text)
	}
	nonce := rand.Text() // in the prompt alone: what the agent runs must not be able to speak for it
	text, err := prompt.First(s.Role, own, prompt.Voice{Subject: subject, Nonce: nonce, Exit: d.exits(s)}, data)
	if err != nil {
		return err
	}
	var env []string
	for name, value := range agent.Env {
		env = append(env, name+"="+value)
	}
	if !slices.Contains(role.Allow, config.AllowEdit) {
		env = append(env, "GIT_OPTIONAL_LOCKS=0") // to look is not to write the index
	}
	if looksOn {
		env = append(env, "GIT_NO_REPLACE_OBJECTS=1") // a commit is what its name says
	}
	slices.Sort(env)
	command := agent.Resolve(d.config.Dir)
	commits := gitPaths{read: []string{d.exchange.Common()}}
	if !looksOn {
		if commits, err = d.commits(role, agent, tree, taskBranch(r.ID, roomName(s))); err != nil {
			return err
		}
	}
	cage, err := d.confine(s, role, agent, command, tree, commits)
	if err != nil {
		return err
	}
	return session.Write(d.box.sessionDir(s.ID), session.Spec{
		Session: s.ID, Box: d.dir, Dir: tree, Role: s.Role, Task: subject, Phase: phase, Nonce: nonce, Hosts: d.box.hosts,
		Agent: agentOf(s.Agent, agent, command), Prompt: text, Env: env, Allow: allowed(role.Allow), GitWrites: commits.write,
		Confine: cage.program, Nested: cage.nested, Judges: looksOn,
		WallClock: session.Duration(role.WallClock), Silence: session.Duration(limits.Silence), Answer: session.Duration(limits.Answer),
		Misses: limits.Misses, Grace: session.Duration(limits.Grace), Linger: session.Duration(limits.Linger), Orphan: session.Duration(limits.Orphan),
	})
}

// fingerprinter tells when the user's checkout was changed by somebody.
type fingerprinter struct {
	repo   *worktree.Repo
	except string

	mu    sync.Mutex
	began time.Time // the last look
	last  *worktree.Fingerprint

	pending sync.Mutex
	looks   map[chan struct{}]bool // each closed when what it saw is recorded
}

// look compares the checkout with how it was at the last look, and says in words
// what is different. If another look began meanwhile, that has said it.
func (f *fingerprinter) look(ctx context.Context) []string {
	called := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.began.After(called) {
		return nil
	}
	f.began = time.Now()
	now, err := f.repo.Fingerprint(ctx, f.except)
	if err != nil {
		return nil
	}
	var changed []string
	if f.last != nil {
		changed = f.last.Diff(now)
	}
	f.last = &now
	return changed
}

// lookFirst looks how everything is that agents should leave alone, so that what they
// change from now on is seen.
func (d *deliverer) lookFirst(ctx context.Context, branches ...string) {
	for _, branch := range branches {
		d.integration(branch)
		d.astray(ctx, branch)
	}
	d.touched.look(ctx) // it takes the longest
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

// digest identifies a plan by its text.
func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
