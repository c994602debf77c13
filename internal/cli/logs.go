package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/evidence"
	"github.com/signalbox-dev/signalbox/safetext"
)

func (a *app) logsCommand() *cobra.Command {
	var follow, errs bool
	cmd := &cobra.Command{
		Use:   "logs WORK|RUN",
		Short: "Show what was said and done on a task",
		Long: `Logs prints what happened on a task, in order: what its agents said, what the gate's checks printed on their
work, questions, answers and messages of yours, and what the box did. Each line begins with the time and with who
speaks: agent, tool (what the agent used, and what came of it), gate, person or box. Everything is escaped that a terminal
would act upon.

With --follow it goes on as they speak, until the task or the run has ended, or Ctrl-C. With --stderr it
prints what agents wrote to standard error, and nothing else.

T-2 is the latest run's, R1.T-2 that of another one. Of a run, such as R1, it prints what concerns no single task: what
the checks said on what the work starts from, and the agents that work for no task: remediation, health audits, experts.

With --json each is an object on a line of its own, with session, role (gate or baseline for checks, event for what
happened), agent, runner (that it is on), transcript (the file), text, time, who, and event (its type in the ledger). What one said, in pieces and
when it is long, is in several objects.

Transcripts lie in the box's directory, under sessions/, and what the gate printed under
gates/log/, or gates/by-hand/ for work by hand; the ledger has the hashes of transcripts.`,
		Example: `  signalbox logs T-2
  signalbox logs -f T-2
  signalbox logs R1`,
		Args: one("a task, work item or run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.logs(cmd.Context(), args[0], follow, errs)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on as they speak, to the end of the task or the run")
	cmd.Flags().BoolVar(&errs, "stderr", false, "what they wrote to standard error")
	return cmd
}

// logs prints what was said and done on an item or a run, and goes on with it if it is followed.
func (a *app) logs(ctx context.Context, name string, follow, errs bool) error {
	l, err := look(ctx, a, func(c *api.Client) (*logs, error) { return newLogs(ctx, a, c, name, errs) })
	if err != nil {
		return err
	}
	defer l.endLine()
	if follow {
		a.Served = true
		return l.follow(ctx)
	}
	if err := l.print(); err != nil {
		return err
	}
	if !l.said {
		return fmt.Errorf("no agent has worked on %s yet", safetext.Escape(name))
	}
	return nil
}

// logs prints what was said and done on an item or a run.
type logs struct {
	app     *app
	about   story
	errs    bool      // of standard error, and nothing else
	sources []*source // the run before its task: once its end is heard of, all that was done before is taken after it

	read    map[string]int64     // how much of each file was printed
	granted map[string]speech    // who the sessions are, and when they began
	ended   map[string]time.Time // when their work, or they themselves, did
	headed  map[string]bool      // what the headings of which were printed
	last    entry                // that was printed
	inLine  bool                 // its last line has no end yet
	said    bool                 // something was printed
	deaf    bool                 // there may be events that were not heard of
}

// source is a part of the ledger that is printed from.
type source struct {
	name  string
	after uint64 // the sequence of the last event that was taken
}

// newLogs finds what is to be printed, with the events so far.
func newLogs(ctx context.Context, a *app, c *api.Client, name string, errs bool) (*logs, error) {
	l := &logs{
		app: a, errs: errs, read: map[string]int64{}, granted: map[string]speech{}, ended: map[string]time.Time{},
		headed: map[string]bool{},
	}
	item, run, err := workOrRun(ctx, c, name)
	if err != nil {
		return nil, err
	}
	if run != nil {
		l.about = story{About: evidence.About{Subject: run.Subject, Run: true}}
		l.sources = []*source{{name: run.ID}}
		return l, l.take(ctx, c)
	}
	l.about = story{About: evidence.NewAbout(item.Subject, "")}
	if run, err = runWith(ctx, c, item.ID); err != nil {
		return nil, err
	}
	if run != nil {
		l.about.Task = strings.TrimPrefix(item.ID, run.ID+".")
		l.sources = append(l.sources, &source{name: run.ID})
	}
	l.sources = append(l.sources, &source{name: item.ID})
	return l, l.take(ctx, c)
}

// workOrRun asks for the item of this name, or else for the run.
func workOrRun(ctx context.Context, c *api.Client, name string) (api.Work, *api.Run, error) {
	item, err := c.Work(ctx, name)
	var p *api.Problem
	if errors.As(err, &p) && p.Code == api.CodeNotFound {
		if run, none := c.Run(ctx, name); none == nil {
			return api.Work{}, &run, nil
		}
	}
	return item, nil, err
}

// workNamed asks a box for a work item, and says what to name instead if it is a run.
func workNamed(ctx context.Context, c *api.Client, name string) (api.Work, error) {
	w, r, err := workOrRun(ctx, c, name)
	if r != nil {
		err = fmt.Errorf("%s is a run: name one of its tasks, as in %s", safetext.Escape(r.ID), safetext.Escape(exampleTask(*r)))
	}
	return w, err
}

// runWith asks for the run that an item is a task of. It returns nil if there is none: an item may be named like a task.
func runWith(ctx context.Context, c *api.Client, item string) (*api.Run, error) {
	if !strings.Contains(item, ".") {
		return nil, nil
	}
	r, err := c.Run(ctx, runOf(item))
	var p *api.Problem
	if errors.As(err, &p) && p.Code == api.CodeNotFound {
		return nil, nil
	}
	return &r, err
}

// take takes the events that were not taken yet.
func (l *logs) take(ctx context.Context, c *api.Client) error {
	for _, s := range l.sources {
		err := c.Events(ctx, s.name, s.after, false, func(e api.Event) error {
			s.after = e.Sequence
			return l.about.take(e)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// follow prints what comes, until it is over or ctx ends.
func (l *logs) follow(ctx context.Context) error {
	l.deaf = true // a box may have come and gone since the events were taken
	if !l.app.running() && !l.about.over {
		fmt.Fprintln(l.app.Err, "no box is running: `signalbox run` goes on")
	}
	for {
		alive := l.alive() // what it says until it is dead is in its files
		if err := l.hear(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		if err := l.print(); err != nil || l.about.over && !alive {
			return err
		}
		select {
		case <-time.After(followPause):
		case <-ctx.Done():
			return nil
		}
	}
}

// hear asks the box that runs for what has happened. When it has gone, what it recorded last is asked for once: nothing
// more happens until there is another one.
func (l *logs) hear(ctx context.Context) error {
	running := l.app.running()
	if !running && !l.deaf {
		return nil
	}
	_, err := look(ctx, l.app, func(c *api.Client) (struct{}, error) { return struct{}{}, l.take(ctx, c) })
	var p *api.Problem
	if errors.Is(err, api.ErrNoBox) || errors.Is(err, box.ErrLocked) || errors.As(err, &p) && p.Code == api.CodeStopping {
		running, err = true, nil // it is going, or another is coming
	}
	l.deaf = running
	return err
}

// followPause is how often files are looked at that somebody watches.
const followPause = 200 * time.Millisecond

// heading is what a session, or a run of checks, begins with: a session that is not at home on which machine it is.
func heading(role, agent, session, runner string, at time.Time) string {
	text := "== " + safetext.Escape(role)
	if session != "" {
		text = fmt.Sprintf("%s (%s), %s", text, safetext.Escape(agent), safetext.Escape(session))
	}
	if runner != "" {
		text += " on " + safetext.Escape(runner)
	}
	if !at.IsZero() {
		text += ", " + stamp(at)
	}
	return text
}
