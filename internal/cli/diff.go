package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/evidence"
	"github.com/signalbox-dev/signalbox/internal/membership"
	"github.com/signalbox-dev/signalbox/internal/runner"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/internal/worktree"
	"github.com/signalbox-dev/signalbox/ledger"
	"github.com/signalbox-dev/signalbox/safetext"
)

// diffOptions are what of a task's work is shown.
type diffOptions struct {
	stat, sinceReview bool
	paths             []string
}

func (a *app) diffCommand() *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff TASK [PATH…]",
		Short: "Show what a task changes",
		Long: `Diff shows what a task changes against where its work began, in git's own format. While an agent works on
it, that is its worktree as it is now, with what is not committed yet; while a commit is being judged, and after
the merge, it is that commit. A line on standard error says which. With --since-review it is what changed since a critic or
auditor last sent the work back. Paths are those of git, seen from where you are.

On a terminal it goes through git's pager, in git's colours, with everything escaped that a terminal would act
upon. Elsewhere it is as git writes it, for git apply and others. No program runs that the change, its
attributes or its settings name. It does not need a box to be running.

T-2 is the latest run's, R1.T-2 that of another one.

With --json it prints task, work, base, commit (the last one of the work), uncommitted (there is more than that in its
worktree, which is shown too), diff, and cut if that was longer than 1 MiB and is not all.`,
		Example: `  signalbox diff T-2
  signalbox diff T-2 --stat
  signalbox diff R1.T-2 --since-review -- internal/ '*.md'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("%s needs a task", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.paths = args[1:]
			return a.diff(cmd.Context(), args[0], o)
		},
	}
	cmd.Flags().BoolVar(&o.stat, "stat", false, "how much of which files, and no lines")
	cmd.Flags().BoolVar(&o.sinceReview, "since-review", false, "what changed since a critic or auditor last sent it back")
	return cmd
}

func (a *app) diff(ctx context.Context, name string, o diffOptions) error {
	t, err := look(ctx, a, func(c *api.Client) (taskState, error) { return taskOf(ctx, c, name) })
	if err != nil {
		return err
	}
	if o.sinceReview && t.failed == "" {
		return fmt.Errorf("no critic or auditor has sent %s back: there is no review to compare with", safetext.Escape(t.Item.ID))
	}
	if o.sinceReview {
		t.work.Since = t.failed
	}
	return a.showWork(ctx, t, o)
}

// withWork finds a task's work, and has it looked at.
func (a *app) withWork(ctx context.Context, t taskState, look func(runner.Site, *runner.Changes) error) (err error) {
	c, err := a.settingsToLook()
	if err != nil {
		return err
	}
	site, err := runner.OpenSite(ctx, c.Dir, c)
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(a.dir)
	if err != nil {
		return err
	}
	changes, err := site.Changes(ctx, dir, t.work)
	if err != nil {
		return fmt.Errorf("%s: %w", safetext.Escape(t.Item.ID), a.atHome(t.home, t.work.Branch, err))
	}
	defer func() { err = errors.Join(err, changes.Close()) }()
	return look(site, changes)
}

// showWork shows what a task changes.
func (a *app) showWork(ctx context.Context, t taskState, o diffOptions) error {
	return a.withWork(ctx, t, func(site runner.Site, changes *runner.Changes) (err error) {
		d := worktree.Diff{Stat: o.stat, Paths: o.paths}
		if d.In, err = os.Getwd(); err != nil {
			return err
		}
		if a.JSON {
			return a.diffJSON(ctx, t, changes, d)
		}
		fmt.Fprintln(a.Err, shownWords(t, changes))
		if changes.Unread != nil {
			fmt.Fprintf(a.Err, "its worktree could not be looked at, and what is not committed there is not shown: %s\n", safetext.EscapeLines(changes.Unread.Error()))
		}
		written := &counted{}
		err = a.showDiff(ctx, site, func(to io.Writer, columns int) error {
			written.to, d.Columns = to, columns
			return changes.Diff(ctx, d, written)
		})
		if err == nil && written.n == 0 {
			fmt.Fprintln(a.Err, nothingWords(o, t.work.Settled))
		}
		return err
	})
}

// showDiff has a diff written where the user sees it, which has so many columns, or no matter how many if 0.
func (a *app) showDiff(ctx context.Context, site runner.Site, write func(to io.Writer, columns int) error) error {
	if !a.OutTTY {
		return write(a.Out, 0)
	}
	columns, _ := a.Size()
	var colours worktree.DiffColours
	var err error
	if a.Color {
		if colours, err = site.DiffColours(ctx); err != nil {
			return err
		}
	}
	return a.paged(ctx, site, func(to io.Writer) error {
		view := &diffView{to: to, colours: colours}
		return errors.Join(write(view, columns), view.Close())
	})
}

// paged has something written to the terminal, through the user's pager if they have one. It is not started for nothing.
func (a *app) paged(ctx context.Context, site runner.Site, write func(io.Writer) error) error {
	pager, err := site.Pager(ctx)
	if err != nil {
		return err
	}
	if pager == "" {
		err := write(a.Out)
		if a.less != "" {
			_, _ = a.typed(ctx, "Enter goes back.")
		}
		return err
	}
	from, to := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := write(to)
		_ = to.Close() // which never fails
		written <- err
	}()
	text := bufio.NewReader(from)
	if _, none := text.Peek(1); none != nil {
		return <-written
	}
	a.Served = true // an interrupt is the pager's
	left := false
	err = worktree.Page(ctx, pager, a.less, func(to io.Writer) error {
		_, err := text.WriteTo(to)
		left = err != nil
		return err
	})
	_ = from.Close() // whoever still writes fails
	if failed := <-written; !left {
		err = errors.Join(err, failed)
	}
	return err
}

// maxDiff is how much of a diff is in an object, in bytes.
const maxDiff = 1 << 20

// shownDiff is a diff for programs.
type shownDiff struct {
	Task        string `json:"task"` // its id in the plan
	Work        string `json:"work"`
	Base        string `json:"base"`
	Commit      string `json:"commit"`
	Uncommitted bool   `json:"uncommitted"`
	Diff        string `json:"diff"`
	Cut         bool   `json:"cut,omitempty"`
}

func (a *app) diffJSON(ctx context.Context, t taskState, changes *runner.Changes, d worktree.Diff) error {
	var text beginning
	err := changes.Diff(ctx, d, &text)
	if err != nil && !text.over {
		return err
	}
	return command.WriteJSON(a.Out, shownDiff{
		Task: t.Item.Task, Work: t.Item.ID, Base: changes.Base, Commit: changes.Commit, Uncommitted: changes.Uncommitted,
		Diff: text.text.String(), Cut: text.over,
	})
}

// beginning takes so much, and then no more.
type beginning struct {
	text bytes.Buffer // not embedded: its other methods, by which a program's output is copied, know no limit
	over bool
}

var errEnough = errors.New("there is more than can be taken")

func (b *beginning) Write(p []byte) (int, error) {
	if room := maxDiff - b.text.Len(); len(p) > room {
		b.over = true
		_, _ = b.text.Write(p[:room])
		return room, errEnough
	}
	return b.text.Write(p)
}

// counted counts what is written.
type counted struct {
	to io.Writer
	n  int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.n += int64(n)
	return n, err
}

// shownWords says what is shown.
func shownWords(t taskState, c *runner.Changes) string {
	from := fmt.Sprintf("compared with %.7s, where its work began", c.Base)
	if t.work.Since != "" {
		from = fmt.Sprintf("compared with %.7s, which was sent back", c.Base)
	}
	what := fmt.Sprintf("its branch at %.7s", c.Commit)
	switch {
	case c.Live && c.Uncommitted:
		what = fmt.Sprintf("its worktree as it is now: %.7s, and changes that are not committed", c.Commit)
	case c.Live:
		what = fmt.Sprintf("its worktree as it is now, all of it committed as %.7s", c.Commit)
	case t.Item.Unchanged():
		what = fmt.Sprintf("%.7s, which changes nothing, and the critic agrees", c.Commit)
	case t.Item.Phase == agentsig.PhaseCompleted:
		what = fmt.Sprintf("%.7s, which was merged", c.Commit)
	case t.merge:
		what = fmt.Sprintf("%.7s, its merge, which is not made yet", c.Commit)
		from = fmt.Sprintf("compared with %.7s on %s", c.Base, safetext.Escape(t.work.Branch))
	case t.work.Settled:
		what = fmt.Sprintf("%.7s, which passed the gate", c.Commit)
	}
	return fmt.Sprintf("%s: %s; %s", safetext.Escape(t.Item.ID), what, from)
}

func nothingWords(o diffOptions, settled bool) string {
	what := "nothing is changed"
	if len(o.paths) > 0 {
		what += " there"
	}
	switch {
	case o.sinceReview:
		return what + " since the review"
	case settled:
		return what
	}
	return what + " yet"
}

// taskState is a task of a run, by the ledger.
type taskState struct {
	evidence.Work
	work   runner.TaskWork
	home   string // the box in whose directory the run was started, of those in a cluster
	failed string // the commit that a critic or auditor sent back last; empty if none did

	handoff api.Handoff
	gate    evidence.Happened // what the gate said last, if it has
	merge   bool              // what is looked at is its merge, before that is made
}

// taskOf asks a box for a task.
func taskOf(ctx context.Context, c *api.Client, name string) (taskState, error) {
	w, err := workNamed(ctx, c, name)
	if err != nil {
		return taskState{}, err
	}
	t := taskState{handoff: w.Handoff}
	err = c.Events(ctx, w.ID, 0, false, func(e api.Event) error {
		stored, err := ledger.Decode(e.Event)
		if err == nil {
			err = t.take(e.Sequence, stored)
		}
		return err
	})
	if err != nil {
		return taskState{}, err
	}
	if t.Item.Run == "" {
		return taskState{}, fmt.Errorf("%s is no task of a run: its work is where whoever claims it does it", safetext.Escape(w.ID))
	}
	run, err := c.Run(ctx, runOf(w.ID))
	if err != nil {
		return taskState{}, err
	}
	t.home = run.Home
	t.work.Run, t.work.Task, t.work.Branch, t.work.Start = run.ID, t.Item.Task, run.Branch, run.Base
	t.work.Commit, t.work.Base, t.work.Settled, t.work.Onto = t.Item.Commit, t.Item.Base(), t.Settled(), t.Onto
	return t, nil
}

// atHome says of work that is not in the repository here in which one it is, if that is another box's. Branch is the run's, if that is known.
func (a *app) atHome(home, branch string, err error) error {
	m, none := membership.Read(a.dir)
	if none != nil || home == "" || home == m.Name || !errors.Is(err, runner.ErrGone) && !errors.Is(err, worktree.ErrUnknown) {
		return err
	}
	what := "its commits are"
	if branch != "" {
		what = "its branch " + safetext.Escape(branch) + " is"
	}
	return fmt.Errorf("the run's home is %s, and %s in that box's repository alone until somebody pushes: look at it there (%w)", safetext.Escape(home), what, err)
}

// runOf returns the run of a task's item.
func runOf(work string) string {
	run, _, _ := strings.Cut(work, ".")
	return run
}

func exampleTask(r api.Run) string {
	if len(r.Tasks) == 0 {
		return r.ID + ".T-1"
	}
	return r.Tasks[0].Work
}

// take takes the task's next event.
func (t *taskState) take(seq uint64, e ledger.Event) (err error) {
	before := t.Item
	if err = t.Take(evidence.Happened{Sequence: seq, Event: e}); err != nil {
		return err
	}
	if e.Type == work.GatePassed || e.Type == work.GateFailed {
		t.gate = evidence.Happened{Sequence: seq, Event: e}
	}
	judged := before.Lease != nil && delivery.Reviewer(before.Lease.Role)
	if e.Type == work.AgentSessionCompleted && judged && t.Item.Phase == agentsig.PhaseImplementation {
		t.failed = before.Commit
	}
	if e.Type == work.MergeFailed && work.ByOperator(e.Actor) {
		t.failed = before.Commit
	}
	return nil
}
