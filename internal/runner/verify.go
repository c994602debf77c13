package runner

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
	"github.com/signalbox-dev/signalbox/internal/order"
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
func (x *Runner) check(ctx context.Context, commit string, t trial) (checked, error) {
	if len(t.checks) == 0 {
		return checked{}, nil
	}
	select {
	case x.gates <- struct{}{}:
	case <-ctx.Done():
		return checked{}, ctx.Err()
	}
	defer func() { <-x.gates }()
	path, leave := x.place()
	defer leave()
	if err := transient(ctx, func() error { return x.exchange.AddDetached(ctx, path, commit) }); err != nil {
		return checked{}, err
	}
	return x.checkIn(ctx, path, commit, t)
}

// checkIn runs checks in a worktree that is at a commit. One that fails is run once more, in a
// worktree that is made anew: what runs is the change's, and could have left something for that.
func (x *Runner) checkIn(ctx context.Context, path, commit string, t trial) (checked, error) {
	if len(t.checks) == 0 {
		return checked{}, nil
	}
	report, err := x.attempt(ctx, path, commit, t)
	if err != nil {
		return checked{}, err
	}
	for n, r := range report.Checks {
		if r.Passed {
			continue
		}
		if err := transient(ctx, func() error { return x.exchange.AddDetached(ctx, path, commit) }); err != nil {
			return checked{}, err
		}
		again, err := x.attempt(ctx, path, commit, trial{run: t.run, checks: t.checks[n : n+1], log: t.log})
		if err != nil {
			return checked{}, err
		}
		report.Checks[n] = r.Again(again.Checks[0])
	}
	return x.judge(report, t.checks), nil
}

// attempt runs checks once in a worktree, made ready as the user wants it, with a home directory
// of their own.
func (x *Runner) attempt(ctx context.Context, path, commit string, t trial) (report gate.Report, err error) {
	h, err := x.takeHome(ctx, t)
	if err != nil {
		return report, err
	}
	defer func() { x.leaveHome(h, t, err == nil) }()
	if err := x.makeReady(ctx, path, commit, h); err != nil {
		return report, err
	}
	shell, done, err := x.shell(path, h)
	if err != nil {
		return report, err
	}
	defer done()
	return gate.Run(ctx, t.checks, gate.Options{Dir: path, Session: marker(path), Inherit: environment(h), Log: t.log, Shell: shell, Tend: x.program})
}

// judge says what a report on checks comes to.
func (x *Runner) judge(report gate.Report, checks []gate.Check) checked {
	var c checked
	var output strings.Builder
	for n, r := range report.Checks {
		if x.onCheck != nil {
			x.onCheck(r)
		}
		c.checks = append(c.checks, work.Check{Name: r.Name, Passed: r.Passed, Flaky: r.Flaky, Exit: r.Exit})
		if r.Passed {
			continue
		}
		c.failed = append(c.failed, checks[n])
		how := fmt.Sprintf("exit code %d, expected %d", r.Exit, checks[n].Exit)
		if r.TimedOut {
			how = fmt.Sprintf("it did not end within %v", checks[n].Timeout)
		}
		fmt.Fprintf(&output, "%s (%s): %s\n%s\n", r.Name, checks[n].Command, how, last(x.redact(r.Output), 2<<10)) // the rest of a secret whose beginning was cut off looks like none
	}
	c.output = x.redact(safetext.EscapeLines(output.String()))
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
func (x *Runner) gate(ctx context.Context, o order.Order) error {
	in := delivery.GateRan{Command: o.ID}
	if err := x.gateRun(ctx, o, &in); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		in.Trouble = x.redact("the gate could not run: " + err.Error())
	}
	return x.tell(ctx, o, in)
}

func (x *Runner) gateRun(ctx context.Context, o order.Order, in *delivery.GateRan) error {
	r, t := o.Run, *o.Task
	if t.Unpushed != "" {
		in.Commit, in.Output = cmp.Or(t.Pushed, r.Base), t.Unpushed
		return nil // it did not pass
	}
	commit, err := cmp.Or(t.Given, t.Pushed), error(nil)
	if commit == "" {
		commit, err = x.settled(ctx, r, t.ID, commitMessage(t))
	}
	if in.Commit = commit; err != nil {
		var stray *worktree.StrayError
		if errors.As(err, &stray) && stray.Commit != "" {
			in.Commit, in.Output = stray.Commit, x.redact(err.Error())
			return nil // it did not pass
		}
		if BadWork(err) && commit != "" {
			in.Output = x.redact(err.Error())
			return nil // nor did this
		}
		return err
	}
	if err := x.takeIn(ctx, r, t.ID, in); err != nil {
		if BadWork(err) {
			in.Output = x.redact(err.Error())
			return nil // it did not pass
		}
		return err
	}
	if in.Since = t.Unchanged(in.Commit, in.Files); in.Since != "" {
		return nil // there is nothing to check
	}
	log, err := openLog(x.gateLogs(), order.ChecksName(t.Item))
	if err != nil {
		return err
	}
	result, err := x.check(ctx, in.Commit, trial{run: r.ID, checks: x.checks(o.Plan), log: log})
	if err := errors.Join(err, log.Close()); err != nil {
		return err
	}
	in.Checks, in.Output = result.checks, result.output
	failed := result.tolerate(r.Tolerated)
	if in.Passed = failed.passed(); in.Passed {
		return nil
	}
	// What fails without the change too is not the change's fault.
	head, err := x.exchange.TakeBranch(ctx, r.Branch)
	if err != nil {
		return err
	}
	before, err := x.check(ctx, head, trial{run: r.ID, checks: failed.failed})
	if err != nil {
		return err
	}
	if len(before.failed) == len(failed.failed) {
		in.Trouble = "what fails here fails on " + r.Branch + " too:\n" + before.output
		return nil
	}
	if base, err := x.exchange.Base(ctx, head, in.Commit); err == nil && base != head {
		in.Output += "\n" + r.Branch + " has moved on since this branch began, and passes what fails here: merge it into this branch first.\n"
	}
	return nil
}

// takeIn brings a commit to where it is checked, and finds out how much it changes.
func (x *Runner) takeIn(ctx context.Context, r delivery.Run, task string, in *delivery.GateRan) error {
	if err := x.takeCommit(ctx, r, in.Commit); err != nil {
		return err
	}
	base, err := x.begins(ctx, r, task, in.Commit)
	if err != nil {
		return err
	}
	changes, err := x.exchange.Changes(ctx, base, in.Commit)
	if err != nil {
		return err
	}
	in.Files = &changes.Files
	return nil
}

// openLog opens the file in a directory that what checks print is kept in. The last run of them counts.
func openLog(dir, name string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return regular.Create(filepath.Join(dir, name+logSuffix))
}

// baseline runs the checks on what the work starts from; in remediation, on what was
// committed for the repair.
func (x *Runner) baseline(ctx context.Context, o order.Order) error {
	in := delivery.BaselineRan{Command: o.ID}
	repair, err := x.repaired(ctx, o.Run)
	switch {
	case err != nil:
	case repair != nil:
		if err = x.checkRepair(ctx, o, repair); err == nil {
			return x.tell(ctx, o, delivery.RepairRan{Command: o.ID, Repair: *repair})
		}
	default:
		err = x.baselineRun(ctx, o, &in.Baseline)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		in.Trouble = x.redact("the checks could not be run: " + err.Error())
	}
	return x.tell(ctx, o, in)
}

func (x *Runner) baselineRun(ctx context.Context, o order.Order, b *delivery.Baseline) (err error) {
	r := o.Run
	if b.Commit, err = x.exchange.Begin(ctx, r.Branch); err != nil {
		return err
	}
	if err := x.exchange.Guard(ctx); err != nil && ctx.Err() == nil {
		x.logger.Warn("agents could overwrite objects that the run starts from", "run", r.ID, "error", err)
	}
	log, err := openLog(x.gateLogs(), r.Subject)
	if err != nil {
		return err
	}
	result, err := x.check(ctx, b.Commit, trial{run: r.ID, first: r.Verified == 0, checks: x.checks(o.Plan), log: log})
	b.Checks, b.Output = result.checks, result.output
	return errors.Join(err, log.Close())
}

// integration is a branch that work is merged to. It is locked while the box moves it.
type integration struct {
	sync.Mutex
	tip string // where the box has left it; empty until it was looked at
}

func (x *Runner) integration(branch string) *integration {
	x.mu.Lock()
	defer x.mu.Unlock()
	i := x.branches[branch]
	if i == nil {
		i = &integration{}
		x.branches[branch] = i
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
func (x *Runner) astray(ctx context.Context, branch string) []string {
	x.mu.Lock()
	i := x.branches[branch]
	x.mu.Unlock()
	if i == nil || !i.TryLock() {
		return nil // the run has ended; or a merge has begun, and looked
	}
	defer i.Unlock()
	return i.look(ctx, x.repo, branch)
}

// advance merges into a run's branch, from where it is. That somebody else moved it is
// recorded before.
func (x *Runner) advance(ctx context.Context, o order.Order, task string, m worktree.Merge) (string, error) {
	i := x.integration(m.Branch)
	i.Lock()
	defer i.Unlock()
	x.changed(ctx, o.Run.Subject, "", task, i.look(ctx, x.repo, m.Branch))
	m.Old = i.tip
	path, leave := x.place()
	defer leave()
	m.Path = path
	merged, err := x.exchange.Merge(ctx, m)
	if err == nil && !merged.Already {
		i.tip = merged.Commit
	}
	return merged.Commit, err
}

// publish opens a pull request for what was merged.
func (x *Runner) publish(ctx context.Context, o order.Order) (err error) {
	r := o.Run
	var in delivery.Published
	in.URL, err = x.repo.Publish(ctx, worktree.PullRequest{
		Branch: r.Branch, Onto: r.Onto, Title: cmp.Or(o.Plan.Title, r.Title), Body: pullRequestText(r),
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		in.Problem = x.redact(err.Error())
	}
	return x.tell(ctx, o, in)
}

// pullRequestText lists what a pull request brings.
func pullRequestText(r delivery.Run) string {
	var b strings.Builder
	for _, t := range r.Tasks {
		if t.Item.Phase != agentsig.PhaseCompleted {
			continue
		}
		fmt.Fprintf(&b, "- %s: %s", t.ID, t.Item.Title)
		switch {
		case t.Item.Unchanged():
			b.WriteString(" (no change)")
		case r.Unaudited(t):
			b.WriteString(" (not audited)")
		}
		b.WriteString("\n")
	}
	for _, m := range r.Repairs {
		fmt.Fprintf(&b, "- repair of the environment: %.12s, files changed: %d\n", m.Merged.Commit, m.Merged.Files)
	}
	return b.String()
}

// errChecks says that the checks fail on a merge.
var errChecks = errors.New("the checks fail on the merge")

// merge merges the audited commit of a task, after the checks have passed on the
// result.
func (x *Runner) merge(ctx context.Context, o order.Order) error {
	r, t := o.Run, *o.Task
	x.touched.settle(ctx) // what was seen of the task's agents is recorded before it is completed
	in, allowed := delivery.MergeRan{Command: o.ID, Commit: t.Item.Commit}, t.Item.Allowed
	err := transient(ctx, func() (err error) {
		if t.Item.Commit == "" { // taken past the gate, and audited when it was not recorded yet what auditors saw
			commit, err := x.settled(ctx, r, t.ID, commitMessage(t))
			if err != nil {
				return err
			}
			t.Item.Commit, in.Commit = commit, commit
		}
		if in.Tree, err = x.judged(ctx, r, t.Item); errors.Is(err, work.ErrNotSeen) {
			in.Trouble = err.Error()
			return nil // to try again would not help
		} else if err != nil {
			return err
		}
		result, err := x.mergeRun(ctx, o, t, &allowed)
		var conflict *worktree.ConflictError
		if errors.As(err, &conflict) || errors.Is(err, errChecks) || errors.Is(err, work.ErrOtherBase) || BadWork(err) {
			in.Failed = x.redact(err.Error())
			return nil
		}
		in.Result = result
		return err
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		in.Trouble = x.redact("the merge could not be made: " + err.Error())
	}
	return x.tell(ctx, o, in)
}

// settled returns the commit with all that an agent left in a task's worktree.
func (x *Runner) settled(ctx context.Context, r delivery.Run, name, message string) (string, error) {
	if err := x.remains(ctx, r, name); err != nil {
		return "", err
	}
	tree, err := x.tree(ctx, r, name)
	if err != nil {
		return "", err
	}
	if head, err := x.checkHead(ctx, r, tree); err != nil {
		return head, err
	}
	commit, _, err := tree.Settle(ctx, message)
	return commit, err
}

// remains refuses a task whose worktree is gone. A new one would have nothing of the work in it, and be
// judged as if the agent had changed nothing. Remediation may have no worktree: nobody repaired anything.
func (x *Runner) remains(ctx context.Context, r delivery.Run, name string) error {
	if name == remediationTree {
		return nil
	}
	path := x.treePath(r.ID, name)
	err := x.repo.Find(ctx, path)
	if errors.Is(err, worktree.ErrNotWorktree) {
		return fmt.Errorf("the work on %s is not where it was left (%w): put that worktree back on the branch %s and retry; "+
			"or have the work done again (signalbox up, and beside it signalbox work override '%s' --phase %s --reason ...): what is there is then kept beside it, as %s.kept-1",
			name, err, taskBranch(r.ID, name), order.ItemID(r.ID, name), agentsig.PhaseImplementation, fileName(name))
	}
	return err
}

// commitMessage is for what an agent left uncommitted.
func commitMessage(t delivery.Task) string { return t.ID + ": " + t.Item.Title }

func (x *Runner) mergeRun(ctx context.Context, o order.Order, t delivery.Task, allowed **work.Permit) (string, error) {
	r, base := o.Run, t.Item.Base()
	if err := t.Item.CheckBase(base); err != nil {
		return "", err
	}
	title := fmt.Sprintf("Merge %s: %s", t.ID, t.Item.Title)
	return x.advance(ctx, o, t.ID, worktree.Merge{
		Branch: r.Branch, Commit: t.Item.Commit, Base: base, Allowed: before(*allowed),
		Message: title, Seal: x.allow(o, title, base, allowed),
		Check: func(ctx context.Context, dir, commit string) error {
			if held, err := x.heldOn(ctx, r, t, commit); held || err != nil {
				return err
			}
			result, err := x.checkIn(ctx, dir, commit, trial{run: r.ID, checks: x.checks(o.Plan)})
			if err == nil && !result.tolerate(r.Tolerated).passed() {
				err = fmt.Errorf("%w:\n%s", errChecks, result.output)
			}
			return err
		},
	})
}
