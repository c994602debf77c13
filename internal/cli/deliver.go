package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/conductor"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/evidence"
	"github.com/signalbox-dev/signalbox/internal/plan"
	"github.com/signalbox-dev/signalbox/internal/redact"
	"github.com/signalbox-dev/signalbox/internal/regular"
	"github.com/signalbox-dev/signalbox/internal/runner"
	"github.com/signalbox-dev/signalbox/internal/service"
	"github.com/signalbox-dev/signalbox/internal/tui"
	"github.com/signalbox-dev/signalbox/safetext"
)

func (a *app) runCommand() *cobra.Command {
	var configFile string
	var dry, wait bool
	var q api.StartRun
	cmd := &cobra.Command{
		Use:   "run [PLAN | SENTENCE]",
		Short: "Deliver a plan with agents, and watch it",
		Long: `Run delivers a plan: it starts agents in git worktrees of their own, hands each task
from developer to critic to auditor, runs your checks itself, and merges what has passed to
a branch of its own. Your checkout and your branch are not touched.

A sentence has a critic and no auditor, unless --audit always or the settings (audit: always) ask for one; what is decided when
the run starts stays. A plan in a file has both, unless --audit never or the settings say otherwise.

PLAN is a file in Markdown (see signalbox plan --help); one sentence in quotes is a plan
too. Without an argument it goes on with the run that was not finished, and so it does if
the plan is the same. If it was changed since (a plan is known by its title and path), run says
what is new, changed and gone, and asks: amend the run, deliver it beside, or stop; without a
terminal --amend or --beside is needed. Tasks that are completed stay so unless their text was
changed: then they are done again, under another id. Agents, roles, checks and limits come from signalbox.yaml
(signalbox init writes one), here or in a directory above.

It says at its start what it does not protect. Without a sandbox (sandbox.kind in the
settings) agents can do whatever you can, and what is judged can forge verdicts.

If a box runs in the directory, it does the work, and run only watches. It goes by the settings that it was
started with: if they were changed since, run starts and amends nothing until the box is restarted. If no box runs, run is the
box: Ctrl-C ends its agents, whose work stays where it is, and the next run goes on.

On a terminal it takes keys: arrows choose a task, Enter shows its log, d its diff, a answers,
q leaves, and ? explains all of them.

It ends when the plan is done, or when only questions to you remain; with --wait, and on a terminal, it stays,
and goes on when they are answered (signalbox inbox, signalbox answer). Exit code 0 if every
task is completed, 2 if questions remain, 1 otherwise. With --json it prints the run as it is
at the end.`,
		Example: `  signalbox run plan.md --dry-run
  signalbox run plan.md
  signalbox run "fix the flaky login test"`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("%s takes one argument, a file or a sentence in quotes", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.settings(configFile)
			if err != nil {
				return err
			}
			if q.Amend && q.Beside {
				return a.UsageError("--amend and --beside are two different things: choose one")
			}
			if audit := config.Audit(q.Audit); cmd.Flags().Changed("audit") && !slices.Contains(config.Audits(), audit) {
				return a.UsageError("--audit %s: it is auto, always or never", safetext.Escape(q.Audit))
			}
			if len(args) == 1 {
				if q.Plan, q.Path, err = a.planText(cmd.Context(), args[0]); err != nil {
					return err
				}
			}
			if dry {
				return a.dryRun(cmd.Context(), c, q)
			}
			return a.deliver(cmd.Context(), c, func() (config.Config, error) { return a.settings(configFile) }, q, wait)
		},
	}
	cmd.Flags().StringVar(&configFile, "config", "", "the `FILE` with the settings (default: signalbox.yaml beside the box, if it is there)")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "show what would be started, or become of a run that has not ended, and what it may cost; start nothing")
	cmd.Flags().BoolVar(&q.Amend, "amend", false, "have the run that delivers another version of the plan go on with this one")
	cmd.Flags().BoolVar(&q.Beside, "beside", false, "deliver it beside a run of another version")
	cmd.Flags().StringVar(&q.Audit, "audit", "", "`WHEN` an auditor looks at work after the critic: always, never, or auto, which is always but for a sentence (default: audit in the settings)")
	cmd.Flags().BoolVar(&wait, "wait", false, "stay while only questions remain, also without a terminal")
	return cmd
}

// planText returns a plan's text and where it lies, or that of a sentence.
func (a *app) planText(ctx context.Context, arg string) (text, path string, err error) {
	if strings.TrimSpace(arg) == "" {
		return "", "", a.UsageError("the plan is empty: name a file, or put a sentence in quotes; without an argument, run goes on with what has not ended")
	}
	data, err := readNamed(ctx, arg, maxNamed)
	switch {
	case ctx.Err() != nil:
		return "", "", ctx.Err()
	case err == nil:
		p, err := plan.Parse(data)
		if err != nil {
			return "", "", fmt.Errorf("%s is refused:\n%w", safetext.Escape(arg), err)
		}
		if path, err = filepath.Abs(arg); err == nil {
			err = delivery.CheckSize(len(p.Tasks))
		}
		return string(data), followed(path), err
	case errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(arg, " \t\n"), len(arg) > 200:
		p, err := plan.Sentence(arg)
		return p.Markdown(), "", err
	case errors.Is(err, fs.ErrNotExist):
		return "", "", a.UsageError("there is no file %s: name a plan, or say in a sentence what is to be done, as in \"fix the flaky login test\"", safetext.Escape(arg))
	}
	return "", "", err
}

// followed is a path without links, as git names what lies in a checkout.
func followed(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// start starts a box in the directory, which delivers plans if the settings have agents.
func (a *app) start(ctx context.Context, c config.Config, o service.Options) (*service.Service, box.Found, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, box.Found{}, err
	}
	o.Config, o.Program, o.Secret, o.Tools = c, program, a.secret, a.toolsHandler(o.Box.Logger)
	b := &o.Box
	b.Dir, b.Archive, b.Segments, b.Mirror = box.Dir(a.dir), c.Archive.Dir, c.Archive.Segments, c.Archive.Mirror
	b.Keep, b.ExitEnabled = c.Archive.Keep, agentsig.ExitProtocolEnabled(os.LookupEnv, c.ExitProtocol)
	b.Hosts, b.Redact, b.Version = c.Hosts, c.Redact, command.BuildVersion().Version
	if b.Own, err = agentsig.Extend(c.Own()...); err != nil {
		return nil, box.Found{}, err
	}
	b.Patience, b.Busy = openPatience, collect
	b.Evidence = func(ref string) ([]byte, error) {
		hidden, err := b.Dir.Hidden(c.Archive)
		if err != nil {
			return nil, err
		}
		return regular.ReadBelow(c.Dir, ref, box.MaxEvidence, append(hidden, filepath.Join(c.Dir, ".git"))...)
	}
	return service.Open(ctx, o)
}

// openPatience is how long a command waits for a directory that another has only for a moment.
const openPatience = 30 * time.Second

// errQuestions ends a run in which only questions remain.
const errQuestions = command.Exit(command.ExitUsage)

// deliver brings a plan on its way and shows it. If another process was the box and
// ends, it takes over, by the settings as they are then: who ends a box often does so to change them.
func (a *app) deliver(ctx context.Context, c config.Config, settings func() (config.Config, error), q api.StartRun, wait bool) error {
	if err := a.rehearse(ctx, c, q); err != nil {
		return err
	}
	last, err := a.amendFirst(ctx, c, &q)
	if err != nil {
		return err
	}
	if last.ID != "" {
		a.sayGoesOn(last)
	}
	for tries := 0; ; tries++ {
		own, err := a.ownBox(ctx, c)
		if err != nil {
			return err
		}
		if own != nil && tries > 0 && !a.JSON {
			fmt.Fprintf(a.Err, "the box has stopped: this run is the box now, by the settings as they are in %s\n", config.File)
		}
		seen, err := a.deliverBy(ctx, own, c, q, last.ID, wait)
		if seen.ID != "" {
			last, tries = seen, 0
		}
		own.drain(context.WithoutCancel(ctx))
		own.close()
		if a.linger != nil {
			<-a.linger
		}
		left := errors.Is(err, errLeft)
		if (ctx.Err() != nil || left) && last.ID != "" && !a.JSON {
			fmt.Fprintf(a.Err, "\n%s\n", own.parting(last.ID))
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case left:
			return errQuiet
		case own == nil && tries < takeOver && (api.Missing(err) || errors.Is(err, api.ErrNoBox) && last.ID != ""):
			pause(ctx, takeOverPause)
			if c, err = settings(); err != nil {
				return err
			}
			continue
		case own == nil && last.ID != "" && api.NoLeader(err):
			return fmt.Errorf("%w. %s goes on when one leads again; `signalbox run` watches it then", err, last.ID)
		case err != nil && !errors.Is(err, errQuestions):
			return err
		}
		return a.sayRun(last)
	}
}

// rehearse finds out, where there is no box yet, whether the plan would be refused:
// then none is left behind.
func (a *app) rehearse(ctx context.Context, c config.Config, q api.StartRun) error {
	if _, err := os.Stat(a.dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if q.Plan == "" {
		return a.nothingToGoOn()
	}
	_, err := a.preview(ctx, c, q)
	return err
}

// preview returns what a run of a plan would be like, or why there would be none. If there is a box, it is asked: it knows the runs
// that have not ended, and one that runs has settings of its own.
func (a *app) preview(ctx context.Context, c config.Config, q api.StartRun) (api.Run, error) {
	q.DryRun = true
	if !a.running() {
		if err := a.haveAgents(c); err != nil {
			return api.Run{}, err
		}
	}
	if _, err := box.Dir(a.dir).Verifier(); !errors.Is(err, box.ErrNoDir) {
		if err != nil {
			return api.Run{}, err
		}
		return withBox(ctx, a, c, func(client *api.Client) (r api.Run, err error) {
			if q.Settings, err = a.settingsMeant(ctx, client, c); err != nil {
				return r, err
			}
			return client.Deliver(ctx, q)
		})
	}
	secrets, err := redact.New(c.Redact)
	if err != nil {
		return api.Run{}, err
	}
	site, err := runner.OpenSite(ctx, c.Dir, c)
	if err != nil {
		return api.Run{}, err
	}
	q.Plan = secrets.Text(q.Plan)
	return conductor.Preview(ctx, site, c, q)
}

// haveAgents refuses settings without agents.
func (a *app) haveAgents(c config.Config) error {
	if len(c.Agents) == 0 {
		return fmt.Errorf("there are no agents: name some in %s (`signalbox init` proposes it)", safetext.Escape(filepath.Join(a.home, config.File)))
	}
	return nil
}

func (a *app) nothingToGoOn() error {
	return a.UsageError("there is no run to go on with: name a plan, or put a sentence in quotes")
}

// How often, and with which pause, a process tries to take over from a box that went
// away: it may still be closing.
const (
	takeOver      = 100
	takeOverPause = 50 * time.Millisecond
)

// deliverBy hands the plan to a box, this process's own or another's, or goes on with
// the run that has the id, and returns the run as it was last seen.
func (a *app) deliverBy(ctx context.Context, own *ownBox, c config.Config, q api.StartRun, id string, wait bool) (api.Run, error) {
	client, err := own.client(ctx, a)
	if err != nil {
		return api.Run{}, err
	}
	defer client.Close()
	r, known, err := a.begin(ctx, client, c, q, id)
	if err != nil {
		return api.Run{}, err
	}
	after := uint64(0)
	if known {
		after = r.Sequence
		if id == "" {
			a.sayGoesOn(r)
		}
	}
	if after == 0 && a.Live {
		a.noteUnprotected(r)
	}
	last, err := a.watch(ctx, client, r.ID, watched{after: after, wait: wait, own: own != nil})
	if last.ID == "" {
		last = r
	}
	return last, err
}

// sayGoesOn says which run is watched, where else nothing is said until something happens.
func (a *app) sayGoesOn(r api.Run) {
	if !a.Live && !a.JSON {
		fmt.Fprintf(a.Out, "%s goes on (%s); `signalbox status` shows what was before\n", r.ID, safetext.Escape(r.Title))
	}
}

// begin hands the plan in, or finds the run to go on with.
func (a *app) begin(ctx context.Context, client *api.Client, c config.Config, q api.StartRun, id string) (r api.Run, known bool, err error) {
	if id != "" {
		r, err := client.Run(ctx, id)
		return r, true, err
	}
	page, err := client.Runs(ctx, true, api.From{})
	if err != nil {
		return api.Run{}, false, err
	}
	live := page.Items
	if q.Plan != "" {
		a.noteDirty(ctx)
		if q.Settings, err = a.settingsMeant(ctx, client, c); err != nil {
			return api.Run{}, false, err
		}
		before, err := a.chooseVersion(ctx, client, &q)
		if err != nil {
			return api.Run{}, false, err
		}
		if before != "" {
			fmt.Fprintf(a.Err, "%s: %s delivered this plan; this is another run of all of it\n", a.PaintErr(command.Yellow, "note"), before)
		}
		r, err := client.Deliver(ctx, q)
		for _, other := range live {
			known = known || other.ID == r.ID
			if over := other.State == api.RunEnding && other.Agents == 0; err == nil && other.ID != r.ID && !over {
				fmt.Fprintf(a.Err, "%s: %s (%s) has not ended, and goes on beside it; `signalbox cancel --run %s` ends it\n",
					a.PaintErr(command.Yellow, "note"), other.ID, safetext.Escape(other.Title), other.ID)
			}
		}
		return r, known, err
	}
	if len(live) > 0 {
		return live[len(live)-1], true, nil
	}
	return api.Run{}, false, a.nothingToGoOn()
}

// noteDirty says that agents do not see what is not committed.
func (a *app) noteDirty(ctx context.Context) {
	if n, err := a.uncommitted(ctx); err == nil && n > 0 && !a.JSON {
		fmt.Fprintf(a.Err, "%s: %s not committed; agents start from the last commit\n", a.PaintErr(command.Yellow, "note"), english.Count(n, "change"))
	}
}

// noteUnprotected says what a run does not protect, where the live view has no room for all
// of it. Elsewhere it is among what is shown line by line.
func (a *app) noteUnprotected(r api.Run) {
	if len(r.Unprotected) > 0 {
		fmt.Fprintf(a.Err, "%s: not protected: %s; `signalbox doctor` says what to do\n",
			a.PaintErr(command.Yellow, "note"), safetext.Escape(strings.Join(r.Unprotected, "; ")))
	}
}

// sayRun says how a run ended, or what it waits for.
func (a *app) sayRun(r api.Run) error {
	if a.JSON {
		if err := command.WriteJSON(a.Out, r); err != nil {
			return err
		}
	} else {
		for _, line := range tui.Summary(r, a.frame()) {
			fmt.Fprintln(a.Out, line)
		}
		if r.Unpublished != "" {
			fmt.Fprintf(a.Out, "the pull request could not be opened: %s\n", safetext.EscapeLines(r.Unpublished))
		}
	}
	switch {
	case r.Outcome == delivery.Completed && r.Unpublished == "":
		return nil
	case r.State == api.RunWaiting:
		return errQuestions
	}
	return errQuiet
}

// frame says how runs are drawn here.
func (a *app) frame() tui.Options {
	columns, rows := a.Size()
	return tui.Options{Width: columns, Height: rows, Color: a.Color, Now: time.Now()}
}

func (a *app) dryRun(ctx context.Context, c config.Config, q api.StartRun) error {
	if q.Plan == "" {
		return a.UsageError("--dry-run needs a plan")
	}
	p, err := plan.Parse([]byte(q.Plan))
	if err != nil {
		return err
	}
	r, err := a.preview(ctx, c, q)
	if err != nil {
		return err
	}
	if a.JSON {
		return command.WriteJSON(a.Out, r)
	}
	fmt.Fprint(a.Out, p.Draw(a.frame().Width))
	fmt.Fprintln(a.Out)
	switch {
	case r.ID != "":
		fmt.Fprintf(a.Out, "%s delivers this plan already, and goes on: `signalbox status %s` says how far it is\n", r.ID, r.ID)
	case r.Amends != nil:
		a.sayAmendment(a.Out, *r.Amends)
		fmt.Fprintf(a.Out, "with --amend, %s goes on with this one; with --beside, another run delivers all of it\n", r.Amends.Run)
	default:
		if r.Delivered != "" {
			fmt.Fprintf(a.Out, "%s delivered this plan; this would be another run of all of it\n", r.Delivered)
		}
		fmt.Fprintf(a.Out, "at first: %s\n", firstStarts(r))
	}
	fmt.Fprintf(a.Out, "at once: %s at most; the gate runs %s\n", english.Count(r.AtOnce, "agent"), english.Count(r.Checks, "check"))
	fmt.Fprintf(a.Out, "ceiling: %s\n", ceiling(c))
	if yours := yourParts(c, r.Unaudited == ""); yours != "" {
		fmt.Fprintf(a.Out, "%s (signalbox inbox says when)\n", yours)
	}
	if r.Unaudited != "" {
		fmt.Fprintln(a.Out, r.Unaudited)
	}
	if len(r.Unprotected) > 0 {
		fmt.Fprintln(a.Out, delivery.NotProtected(r.Unprotected))
	}
	fmt.Fprintln(a.Out, "nothing was recorded or started")
	return nil
}

// firstStarts says which agents are started first, or which tasks a person takes.
func firstStarts(r api.Run) string {
	var all, yours []string
	for _, t := range r.Tasks {
		switch {
		case t.Agent != nil:
			all = append(all, fmt.Sprintf("%s (%s, %s)", safetext.Escape(t.ID), t.Agent.Role, safetext.Escape(t.Agent.Name)))
		case t.Why == delivery.WaitPerson:
			yours = append(yours, safetext.Escape(t.ID))
		}
	}
	if len(yours) > 0 {
		all = append(all, fmt.Sprintf("no agent; you take %s (signalbox take)", strings.Join(yours, ", ")))
	}
	return strings.Join(all, ", ")
}

// ceiling says what a run may cost before a person is asked.
func ceiling(c config.Config) string {
	var parts []string
	if c.Budget.CostUSD > 0 {
		parts = append(parts, fmt.Sprintf("%.2f USD", c.Budget.CostUSD))
	}
	if c.Budget.Tokens > 0 {
		parts = append(parts, fmt.Sprintf("%d tokens", c.Budget.Tokens))
	}
	if len(parts) == 0 {
		return fmt.Sprintf("no budget is set; a developer has %s at most, and after %d failed reviews, audits or gates you are asked", evidence.Length(c.Role(agentsig.RoleDeveloper).WallClock), c.Limits.Reviews)
	}
	return strings.Join(parts, " or ") + "; then agents are ended, and you are asked"
}
