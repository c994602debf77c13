package box

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/gate"
	"github.com/signalbox-dev/signalbox/internal/regular"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/internal/worktree"
	"github.com/signalbox-dev/signalbox/safetext"
)

// checked is what the checks say of a commit.
type checked struct {
	checks []work.Check
	failed []gate.Check
	output string // of what failed
}

func (c checked) passed() bool { return len(c.failed) == 0 }

// trial is what checks are run for.
type trial struct {
	run    string // whose checks they are
	first  bool   // they run on what the run starts from, before any agent is started
	checks []gate.Check
	log    io.Writer // may be nil
}

// check runs checks at a commit, on a clean tree of its own.
func (d *deliverer) check(ctx context.Context, commit string, t trial) (checked, error) {
	if len(t.checks) == 0 {
		return checked{}, nil
	}
	select {
	case d.gates <- struct{}{}:
	case <-ctx.Done():
		return checked{}, ctx.Err()
	}
	defer func() { <-d.gates }()
	path, leave := d.place()
	defer leave()
	if err := transient(ctx, func() error { return d.exchange.AddDetached(ctx, path, commit) }); err != nil {
		return checked{}, err
	}
	return d.checkIn(ctx, path, commit, t)
}

// checkIn runs checks in a worktree that is at a commit. One that fails is run once more, in a
// worktree that is made anew: what runs is the change's, and could have left something for that.
func (d *deliverer) checkIn(ctx context.Context, path, commit string, t trial) (checked, error) {
	if len(t.checks) == 0 {
		return checked{}, nil
	}
	report, err := d.attempt(ctx, path, commit, t)
	if err != nil {
		return checked{}, err
	}
	for n, r := range report.Checks {
		if r.Passed {
			continue
		}
		if err := transient(ctx, func() error { return d.exchange.AddDetached(ctx, path, commit) }); err != nil {
			return checked{}, err
		}
		again, err := d.attempt(ctx, path, commit, trial{run: t.run, checks: t.checks[n : n+1], log: t.log})
		if err != nil {
			return checked{}, err
		}
		report.Checks[n] = r.Again(again.Checks[0])
	}
	return d.judge(report, t.checks), nil
}

// attempt runs checks once in a worktree, made ready as the user wants it, with a home directory
// of their own.
func (d *deliverer) attempt(ctx context.Context, path, commit string, t trial) (report gate.Report, err error) {
	h, err := d.takeHome(ctx, t)
	if err != nil {
		return report, err
	}
	defer func() { d.leaveHome(h, t, err == nil) }()
	if err := d.makeReady(ctx, path, commit, h); err != nil {
		return report, err
	}
	shell, done, err := d.shell(path, h)
	if err != nil {
		return report, err
	}
	defer done()
	return gate.Run(ctx, t.checks, gate.Options{Dir: path, Session: marker(path), Inherit: environment(h), Log: t.log, Shell: shell, Tend: d.program})
}

// judge says what a report on checks comes to.
func (d *deliverer) judge(report gate.Report, checks []gate.Check) checked {
	var c checked
	var output strings.Builder
	for n, r := range report.Checks {
		c.checks = append(c.checks, work.Check{Name: r.Name, Passed: r.Passed, Flaky: r.Flaky})
		if r.Passed {
			continue
		}
		c.failed = append(c.failed, checks[n])
		how := fmt.Sprintf("exit code %d, expected %d", r.Exit, checks[n].Exit)
		if r.TimedOut {
			how = fmt.Sprintf("it did not end within %v", checks[n].Timeout)
		}
		fmt.Fprintf(&output, "%s (%s): %s\n%s\n", r.Name, checks[n].Command, how, last(r.Output, 2<<10))
	}
	c.output = d.box.redact.Text(safetext.EscapeLines(output.String()))
	return c
}

// last returns the end of a text, from the start of a line.
func last(s string, most int) string {
	if len(s) <= most {
		return s
	}
	s = s[len(s)-most:]
	if _, rest, ok := strings.Cut(s, "\n"); ok {
		s = rest
	}
	return "…\n" + s
}

// tolerate takes out the checks that may fail.
func (c checked) tolerate(names []string) checked {
	c.failed = slices.DeleteFunc(c.failed, func(f gate.Check) bool { return slices.Contains(names, f.Name) })
	return c
}

// gate runs the checks on a task's work as it is committed.
func (d *deliverer) gate(ctx context.Context, c *conductor, id string, t delivery.Task) error {
	r := d.run(c)
	in := delivery.GateRan{Command: id}
	if err := d.gateRun(ctx, r, t, &in); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		in.Trouble = d.box.redact.Text("the gate could not run: " + err.Error())
	}
	return c.tell(ctx, in)
}

func (d *deliverer) gateRun(ctx context.Context, r delivery.Run, t delivery.Task, in *delivery.GateRan) error {
	p, err := d.planOf(r)
	if err != nil {
		return err
	}
	commit, err := d.settled(ctx, r, t.ID, commitMessage(t))
	if in.Commit = commit; err != nil {
		var stray *worktree.StrayError
		if errors.As(err, &stray) && stray.Commit != "" {
			in.Commit, in.Output = stray.Commit, err.Error()
			return nil // it did not pass
		}
		if badWork(err) && commit != "" {
			in.Output = err.Error()
			return nil // nor did this
		}
		return err
	}
	if err := d.takeIn(ctx, r, t.ID, in); err != nil {
		if badWork(err) {
			in.Output = err.Error()
			return nil // it did not pass
		}
		return err
	}
	log, err := d.gateLog(t.Item)
	if err != nil {
		return err
	}
	result, err := d.check(ctx, in.Commit, trial{run: r.ID, checks: d.checks(p), log: log})
	if err := errors.Join(err, log.Close()); err != nil {
		return err
	}
	in.Checks, in.Output = result.checks, result.output
	failed := result.tolerate(r.Tolerated)
	if in.Passed = failed.passed(); in.Passed {
		return nil
	}
	// What fails without the change too is not the change's fault.
	head, err := d.exchange.TakeBranch(ctx, r.Branch)
	if err != nil {
		return err
	}
	before, err := d.check(ctx, head, trial{run: r.ID, checks: failed.failed})
	if err != nil {
		return err
	}
	if len(before.failed) == len(failed.failed) {
		in.Trouble = "what fails here fails on " + r.Branch + " too:\n" + before.output
		return nil
	}
	if base, err := d.exchange.Base(ctx, head, in.Commit); err == nil && base != head {
		in.Output += "\n" + r.Branch + " has moved on since this branch began, and passes what fails here: merge it into this branch first.\n"
	}
	return nil
}

// takeIn brings a commit to where it is checked, and finds out how much it changes.
func (d *deliverer) takeIn(ctx context.Context, r delivery.Run, task string, in *delivery.GateRan) error {
	if err := d.exchange.Take(ctx, in.Commit, r.ID); err != nil {
		return err
	}
	base, err := d.begins(ctx, r, task, in.Commit)
	if err != nil {
		return err
	}
	changes, err := d.exchange.Changes(ctx, base, in.Commit)
	if err != nil {
		return err
	}
	in.Files = &changes.Files
	return nil
}

// gateLog opens the file that what the checks print on an item's work is kept in: beside
// the session whose work it is.
func (d *deliverer) gateLog(i work.Item) (*os.File, error) {
	name := i.Subject
	if i.Past != nil {
		name = i.Past.Token.Session(i.Subject)
	}
	return d.openLog(name)
}

// openLog opens the file that what checks print is kept in. The last run of them counts.
func (d *deliverer) openLog(name string) (*os.File, error) {
	dir := filepath.Join(d.dir, "gates", "log")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return regular.Create(filepath.Join(dir, name+".log"))
}

// baseline runs the checks on what the work starts from; in remediation, on what was
// committed for the repair.
func (d *deliverer) baseline(ctx context.Context, c *conductor, id string) error {
	r := d.run(c)
	in := delivery.BaselineRan{Command: id}
	repair, err := d.repaired(ctx, r)
	switch {
	case err != nil:
	case repair != nil:
		if err = d.checkRepair(ctx, r, repair); err == nil {
			return c.tell(ctx, delivery.RepairRan{Command: id, Repair: *repair})
		}
	default:
		err = d.baselineRun(ctx, r, &in.Baseline)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		in.Trouble = d.box.redact.Text("the checks could not be run: " + err.Error())
	}
	return c.tell(ctx, in)
}

func (d *deliverer) baselineRun(ctx context.Context, r delivery.Run, b *delivery.Baseline) error {
	p, err := d.planOf(r)
	if err != nil {
		return err
	}
	if b.Commit, err = d.exchange.Begin(ctx, r.Branch); err != nil {
		return err
	}
	if err := d.exchange.Guard(ctx); err != nil && ctx.Err() == nil {
		d.box.logger.Warn("agents could overwrite objects that the run starts from", "run", r.ID, "error", err)
	}
	log, err := d.openLog(r.Subject)
	if err != nil {
		return err
	}
	result, err := d.check(ctx, b.Commit, trial{run: r.ID, first: r.Verified == 0, checks: d.checks(p), log: log})
	b.Checks, b.Output = result.checks, result.output
	return errors.Join(err, log.Close())
}

// integration is a branch that work is merged to. It is locked while the box moves it.
type integration struct {
	sync.Mutex
	tip string // where the box has left it; empty until it was looked at
}

func (d *deliverer) integration(branch string) *integration {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := d.branches[branch]
	if i == nil {
		i = &integration{}
		d.branches[branch] = i
	}
	return i
}

// look says in words what somebody else did to the branch. One that was deleted is
// made again where it was.
func (i *integration) look(ctx context.Context, repo *worktree.Repo, branch string) []string {
	now, err := repo.Resolve(ctx, "refs/heads/"+branch)
	before := i.tip
	switch {
	case errors.Is(err, worktree.ErrUnknown) && before != "":
		if _, err := repo.Branch(ctx, branch, before); err != nil {
			return nil // it fails again where the branch is needed
		}
		return []string{fmt.Sprintf("the branch %s was deleted, and is made again at %.12s", branch, before)}
	case err != nil:
		return nil
	}
	i.tip = now
	if before == "" || before == now {
		return nil
	}
	return []string{fmt.Sprintf("the branch %s was at %.12s and is at %.12s: nobody reviewed what is between", branch, before, now)}
}

// astray says in words what somebody else did to a branch that work is merged to.
func (d *deliverer) astray(ctx context.Context, branch string) []string {
	d.mu.Lock()
	i := d.branches[branch]
	d.mu.Unlock()
	if i == nil || !i.TryLock() {
		return nil // the run has ended; or a merge has begun, and looked
	}
	defer i.Unlock()
	return i.look(ctx, d.repo, branch)
}

// advance merges into a run's branch, from where it is. That somebody else moved it is
// recorded before.
func (d *deliverer) advance(ctx context.Context, c *conductor, task string, m worktree.Merge) (string, error) {
	i := d.integration(m.Branch)
	i.Lock()
	defer i.Unlock()
	d.changed(ctx, c, "", task, i.look(ctx, d.repo, m.Branch))
	m.Old = i.tip
	path, leave := d.place()
	defer leave()
	m.Path = path
	merged, err := d.exchange.Merge(ctx, m)
	if err == nil && !merged.Already {
		i.tip = merged.Commit
	}
	return merged.Commit, err
}

// publish opens a pull request for what was merged.
func (d *deliverer) publish(ctx context.Context, c *conductor) error {
	r := d.run(c)
	p, err := d.planOf(r)
	if err != nil {
		return err
	}
	var body strings.Builder
	for _, t := range r.Tasks {
		if t.Item.Phase == agentsig.PhaseCompleted {
			fmt.Fprintf(&body, "- %s: %s\n", t.ID, t.Item.Title)
		}
	}
	for _, m := range r.Repairs {
		fmt.Fprintf(&body, "- repair of the environment: %.12s, files changed: %d\n", m.Merged.Commit, m.Merged.Files)
	}
	var in delivery.Published
	in.URL, err = d.repo.Publish(ctx, worktree.PullRequest{
		Branch: r.Branch, Onto: r.Onto, Title: cmp.Or(p.Title, r.Title), Body: body.String(),
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		in.Problem = d.box.redact.Text(err.Error())
	}
	return c.tell(ctx, in)
}

// errChecks says that the checks fail on a merge.
var errChecks = errors.New("the checks fail on the merge")

// merge merges the audited commit of a task, after the checks have passed on the
// result.
func (d *deliverer) merge(ctx context.Context, c *conductor, id string, t delivery.Task) error {
	r := d.run(c)
	d.touched.settle(ctx) // what was seen of the task's agents is recorded before it is completed
	in := delivery.MergeRan{Command: id, Commit: t.Item.Commit}
	err := transient(ctx, func() (err error) {
		if t.Item.Commit == "" { // taken past the gate, and audited when it was not recorded yet what auditors saw
			commit, err := d.settled(ctx, r, t.ID, commitMessage(t))
			if err != nil {
				return err
			}
			t.Item.Commit, in.Commit = commit, commit
		}
		if in.Tree, err = d.judged(ctx, r, t.Item); errors.Is(err, work.ErrNotSeen) {
			in.Trouble = err.Error()
			return nil // to try again would not help
		} else if err != nil {
			return err
		}
		result, err := d.mergeRun(ctx, c, id, r, t)
		var conflict *worktree.ConflictError
		if errors.As(err, &conflict) || errors.Is(err, errChecks) || errors.Is(err, work.ErrOtherBase) || badWork(err) {
			in.Failed = d.box.redact.Text(err.Error())
			return nil
		}
		in.Result = result
		return err
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		in.Trouble = d.box.redact.Text("the merge could not be made: " + err.Error())
	}
	return c.tell(ctx, in)
}

// settled returns the commit with all that an agent left in a task's worktree.
func (d *deliverer) settled(ctx context.Context, r delivery.Run, name, message string) (string, error) {
	if err := d.remains(ctx, r, name); err != nil {
		return "", err
	}
	tree, err := d.tree(ctx, r, name)
	if err != nil {
		return "", err
	}
	if head, err := d.checkHead(ctx, r, tree); err != nil {
		return head, err
	}
	commit, _, err := tree.Settle(ctx, message)
	return commit, err
}

// remains refuses a task whose worktree is gone. A new one would have nothing of the work in it, and be
// judged as if the agent had changed nothing. Remediation may have no worktree: nobody repaired anything.
func (d *deliverer) remains(ctx context.Context, r delivery.Run, name string) error {
	if name == remediationTree {
		return nil
	}
	path := d.treePath(r.ID, name)
	err := d.repo.Find(ctx, path)
	if errors.Is(err, worktree.ErrNotWorktree) {
		return fmt.Errorf("the work on %s is not where it was left (%w): put that worktree back on the branch %s and retry; "+
			"or have the work done again (signalbox up, and beside it signalbox work override %s --phase %s --reason ...): what is there is then kept beside it, as %s.kept-1",
			name, err, taskBranch(r.ID, name), itemID(r.ID, name), agentsig.PhaseImplementation, name)
	}
	return err
}

// commitMessage is for what an agent left uncommitted.
func commitMessage(t delivery.Task) string { return t.ID + ": " + t.Item.Title }

func (d *deliverer) mergeRun(ctx context.Context, c *conductor, id string, r delivery.Run, t delivery.Task) (string, error) {
	p, err := d.planOf(r)
	if err != nil {
		return "", err
	}
	base := t.Item.Base()
	if err := t.Item.CheckBase(base); err != nil {
		return "", err
	}
	title, permit := fmt.Sprintf("Merge %s: %s", t.ID, t.Item.Title), d.ofTask(t.Item.Subject)
	return d.advance(ctx, c, t.ID, worktree.Merge{
		Branch: r.Branch, Commit: t.Item.Commit, Base: base, Allowed: before(permit),
		Message: title, Seal: d.allow(c, id, title, base, permit),
		Check: func(ctx context.Context, dir, commit string) error {
			result, err := d.checkIn(ctx, dir, commit, trial{run: r.ID, checks: d.checks(p)})
			if err == nil && !result.tolerate(r.Tolerated).passed() {
				err = fmt.Errorf("%w:\n%s", errChecks, result.output)
			}
			return err
		},
	})
}
