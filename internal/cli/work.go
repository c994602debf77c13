package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/evidence"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/safetext"
)

func (a *app) workCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "work",
		Short:   "Add, list, show and override work items",
		Example: `  signalbox work list`,
		Args:    none,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.workAddCommand(), a.workListCommand(), a.workShowCommand(), a.workOverrideCommand())
	return cmd
}

func (a *app) workAddCommand() *cobra.Command {
	var w api.AddWork
	var phase string
	cmd := &cobra.Command{
		Use:   "add --title TITLE",
		Short: "Add a work item",
		Long: `Add adds a work item in DRAFT, where an analyst specifies it first (EXPANDED_TASK_SPECIFICATION), or in another
phase: with --phase IMPLEMENTATION developers begin at once. What is asked for in more words than a
title (--asked) comes to whoever claims it.

With --branch the work has a branch, of the repository that the box's settings are in. Whoever claims it is told. If the
settings say gate: {checks: on}, the box runs the checks on that branch by itself when the work comes to CI_PENDING, and
nobody has to report them. The branch can be made later; it stays the item's.`,
		Example: `  signalbox work add --title "fix the parser" --id T-1 --phase IMPLEMENTATION
  signalbox work add --title "fix the parser" --asked - < task.md
  signalbox work add --title "fix the parser" --phase IMPLEMENTATION --branch fix-parser`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w.Phase = agentsig.Phase(phase)
			if err := a.checkOptions(cmd, agentsig.Options{Phase: w.Phase}); err != nil {
				return err
			}
			if w.Asked == "-" {
				text, err := readAll(cmd.Context(), a.In, work.MaxAsked+1)
				if err != nil {
					return err
				}
				w.Asked = string(text)
			}
			added, err := ask(cmd.Context(), a, a.token, func(c *api.Client) (api.Work, error) { return c.Add(cmd.Context(), w) })
			if err != nil {
				return err
			}
			if a.JSON {
				return command.WriteJSON(a.Out, added)
			}
			fmt.Fprintf(a.Out, "%s added in %s (event %d)\n", added.ID, added.Phase, added.Sequence)
			return nil
		},
	}
	cmd.Flags().StringVar(&w.Title, "title", "", "what is to be done")
	cmd.Flags().StringVar(&w.Asked, "asked", "", "what is asked for, in whole sentences (`TEXT`, or - for standard input)")
	cmd.Flags().StringVar(&w.ID, "id", "", "its `ID` (default: the next of W-00001, W-00002, …)")
	cmd.Flags().StringVar(&phase, "phase", "", "the `PHASE` it starts in (default DRAFT)")
	cmd.Flags().StringVar(&w.Branch, "branch", "", "the `BRANCH` that the work is done on, which the box can run the checks on")
	require(cmd, "title")
	complete(cmd, "phase", agentsig.Phases())
	return cmd
}

// one takes exactly one argument.
func one(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			hint := ""
			if len(args) == 0 && strings.HasPrefix(what, "the id of a") {
				hint = "; quote one like '#12', which a shell takes for a comment"
			}
			return fmt.Errorf("%s needs one argument, %s%s", cmd.CommandPath(), what, hint)
		}
		return nil
	}
}

// atMostOne takes one argument, or none.
func atMostOne(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("%s takes one argument at most, and there is %q too", cmd.CommandPath(), args[1])
	}
	return nil
}

// none takes no argument.
func none(cmd *cobra.Command, args []string) error {
	if len(args) > 0 && cmd.HasAvailableSubCommands() {
		return fmt.Errorf("there is no command %q%s: `%s --help` lists them", cmd.CommandPath()+" "+args[0], didYouMean(cmd, args[0]), cmd.CommandPath())
	}
	if len(args) > 0 {
		return fmt.Errorf("%s takes no argument, and there is %q: its settings are flags, which --help lists", cmd.CommandPath(), args[0])
	}
	return nil
}

// didYouMean names a command that may have been meant.
func didYouMean(cmd *cobra.Command, typed string) string {
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(typed); len(near) > 0 {
		return " (did you mean " + near[0] + "?)"
	}
	return ""
}

func require(cmd *cobra.Command, flag string) {
	if err := cmd.MarkFlagRequired(flag); err != nil {
		panic(err) // the flag is not there: a mistake in this program
	}
}

func (a *app) workListCommand() *cobra.Command {
	var phase string
	var p part
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the work items",
		Long: `List lists the work items: id, phase, who holds each, and its title. It does not need a box to be
running.

` + listHelp,
		Example: `  signalbox work list --phase READY_FOR_REVIEW
  signalbox work list --after W-00100 --limit 20`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(a.checkOptions(cmd, agentsig.Options{Phase: agentsig.Phase(phase)}), a.checkLimit(cmd, p.Limit)); err != nil {
				return err
			}
			left := abandoned{}
			return showList(a, cmd, p, func(c *api.Client, from api.From) (api.Page[api.Work], error) {
				page, err := c.List(cmd.Context(), agentsig.Phase(phase), from)
				if err == nil && !a.JSON {
					err = left.note(cmd.Context(), c, page.Items)
				}
				return page, err
			}, a.workRows(p, left))
		},
	}
	cmd.Flags().StringVar(&phase, "phase", "", "only those in this `PHASE`")
	p.flags(cmd, "work item")
	complete(cmd, "phase", agentsig.Phases())
	return cmd
}

// workRows shows work items to a person, page by page.
func (a *app) workRows(p part, left abandoned) func([]api.Work) error {
	begun := false
	return func(all []api.Work) error {
		if len(all) == 0 && !begun {
			a.sayNone("work items", p)
			return nil
		}
		t := command.NewTable("ID", "PHASE", "HELD BY", "TITLE")
		for _, w := range all {
			holder := "-"
			if w.Holder != nil {
				holder = w.Holder.Actor
			}
			phase := string(w.Phase)
			if left[w.ID] != "" {
				phase += ", " + left[w.ID]
			}
			t.Add(w.ID, phase, safetext.Escape(holder), shorten(w.Title))
		}
		a.page(t, &begun)
		return nil
	}
}

// abandoned are the items that nobody will go on with, and why: their phase alone does not tell.
type abandoned map[string]string

// note looks at the runs that items are the tasks of, each once.
func (left abandoned) note(ctx context.Context, c *api.Client, items []api.Work) error {
	seen := map[string]bool{}
	for _, w := range items {
		if w.Phase == agentsig.PhaseCompleted || seen[runOf(w.ID)] {
			continue
		}
		seen[runOf(w.ID)] = true
		r, err := runWith(ctx, c, w.ID)
		if err != nil {
			return err
		}
		if r == nil {
			continue
		}
		for _, t := range r.Tasks {
			switch {
			case evidence.Cancelled(*r, t):
				left[t.Work] = "cancelled"
			case t.Phase != agentsig.PhaseCompleted && r.State == api.RunFinished:
				left[t.Work] = "its run has ended"
			}
		}
	}
	return nil
}

func (a *app) workShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show WORK",
		Short: "Show a work item",
		Long: `Show shows a work item as it is: phase and holder, what is asked for, what who worked on it last claims, and what
was found when it was sent back. A claim is what somebody says, and nobody has checked it.

With --json there are branch, commit (that the gate spoke of last), box_checks (true if the box runs the checks on it now, or will), asked, claim, findings, pr_url and evidence, as far as there is something. A claim or findings have sequence, at, by, text,
and more; if the claim's sequence is greater, it says that the findings are answered.`,
		Example: `  signalbox work show T-1`,
		Args:    one("the id of a work item"),
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := look(cmd.Context(), a, func(c *api.Client) (api.Work, error) { return c.Work(cmd.Context(), args[0]) })
			if err != nil {
				return err
			}
			if a.JSON {
				return command.WriteJSON(a.Out, w)
			}
			rows := [][2]string{{"work", w.ID}, {"title", safetext.Escape(w.Title)}, {"phase", string(w.Phase)}}
			if w.BlockedFrom != "" {
				rows = append(rows, [2]string{"blocked in", string(w.BlockedFrom)})
			}
			if h := w.Holder; h != nil {
				rows = append(rows, [2]string{"held by", safetext.Escape(h.Actor)}, [2]string{"session", h.Session})
				if !h.ExpiresAt.IsZero() {
					rows = append(rows, [2]string{"expires", stamp(h.ExpiresAt)})
				}
			}
			if w.Branch != "" {
				rows = append(rows, [2]string{"branch", safetext.Escape(w.Branch)})
			}
			if w.Commit != "" {
				rows = append(rows, [2]string{"commit", w.Commit + " (that the gate spoke of last)"})
			}
			if gate := gateWords(w); gate != "" {
				rows = append(rows, [2]string{"gate", gate})
			}
			if w.NoChange != "" {
				rows = append(rows, [2]string{"no change", safetext.Escape(w.NoChange)})
			}
			rows = append(rows, [2]string{"events", fmt.Sprintf("%d, the last is number %d of the ledger", w.Events, w.Sequence)})
			a.rows(rows)
			a.sayHandoff(w.Handoff)
			a.sayWaits(w.Waits)
			a.sayReplies(w.Answers)
			return nil
		},
	}
}

// gateWords says who speaks for the gate on work by hand that waits for it; empty if it does not wait, or a run has it.
func gateWords(w api.Work) string {
	switch {
	case w.BoxChecks:
		return "the box runs the checks on its branch"
	case w.Phase == agentsig.PhaseCIPending && w.Branch != "" && w.Holder == nil:
		return "it waits for your CI's report (signalbox gate report): gate.checks is off"
	}
	return ""
}

// sayHandoff prints what the next one on a work item has to know.
func (a *app) sayHandoff(h api.Handoff) {
	if h.Asked != "" {
		fmt.Fprintf(a.Out, "\nasked for\n%s", indented(h.Asked))
	}
	if c := h.Claim; c != nil {
		fmt.Fprintf(a.Out, "\nclaimed by %s, %s (nobody has checked it)\n%s", safetext.Escape(c.By), stamp(c.At), indented(evidence.StatementWords(*c)))
	}
	if f := h.Findings; f != nil {
		fmt.Fprintf(a.Out, "\nsent back by %s, %s\n%s", safetext.Escape(f.By), stamp(f.At), indented(evidence.StatementWords(*f)))
	}
	if h.PRURL != "" {
		fmt.Fprintf(a.Out, "\npull request, as an agent says: %s\n", safetext.Escape(h.PRURL))
	}
}

// indented is a text of a stranger's, safe to print, below a heading.
func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(safetext.EscapeLines(text)), "\n", "\n  ") + "\n"
}

// rows prints names and values in two columns.
func (a *app) rows(rows [][2]string) {
	t := command.NewTable("", "")
	for _, r := range rows {
		t.Add(r[0], r[1])
	}
	t.WriteRows(a.Out, a.Columns())
}

func (a *app) workOverrideCommand() *cobra.Command {
	var o api.Override
	var phase string
	cmd := &cobra.Command{
		Use:   "override WORK --phase PHASE --reason REASON",
		Short: "Set the phase of a work item by hand",
		Long: `Override sets the phase of a work item, whatever it is in, and takes it away from
whoever holds it. It is recorded as the operator's doing, with the reason.`,
		Example: `  signalbox work override T-1 --phase IMPLEMENTATION --reason "the disk is back"`,
		Args:    one("the id of a work item"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Phase = agentsig.Phase(phase)
			if err := a.checkOptions(cmd, agentsig.Options{Phase: o.Phase}); err != nil {
				return err
			}
			r, err := ask(cmd.Context(), a, a.token, func(c *api.Client) (api.Recorded, error) { return c.Override(cmd.Context(), args[0], o) })
			return a.recorded(r, err)
		},
	}
	cmd.Flags().StringVar(&phase, "phase", "", "the `PHASE` it is to be in")
	cmd.Flags().StringVar(&o.Reason, "reason", "", "why")
	require(cmd, "phase")
	require(cmd, "reason")
	complete(cmd, "phase", agentsig.Phases())
	return cmd
}

// recorded says what was recorded.
func (a *app) recorded(r api.Recorded, err error) error {
	if err != nil {
		return err
	}
	if a.JSON {
		return command.WriteJSON(a.Out, r)
	}
	fmt.Fprintf(a.Out, "%s: %s is now in %s (event %d)\n", r.Event, r.Work, r.Phase, r.Sequence)
	return nil
}

// gateTokenVariable is where the gate's token comes from.
const gateTokenVariable = "SIGNALBOX_GATE_TOKEN"

func (a *app) gateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "gate",
		Short:   "Report what a CI found",
		Example: `  signalbox gate report T-1 --commit 0a1b2c3 --result pass`,
		Args:    none,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var r api.Report
	report := &cobra.Command{
		Use:   "report WORK --commit SHA --result pass|fail",
		Short: "Let work in CI_PENDING go on, or back",
		Long: `Report is the way out of CI_PENDING for a CI outside of the box: pass leads to
READY_FOR_REVIEW, fail back to IMPLEMENTATION. Where the box itself runs the checks (gate: {checks: on}, for
work with a branch), no report is needed. It needs the gate's own token in
` + gateTokenVariable + `; the box made it at its first start, in gate.token in its
directory. Keep it from the agents: one that has it can pass its own CI.`,
		Example: `  ` + gateTokenVariable + `=$(cat .signalbox/gate.token) signalbox gate report T-1 --commit 0a1b2c3 --result pass`,
		Args:    one("the id of a work item"),
		RunE: func(cmd *cobra.Command, args []string) error {
			token := os.Getenv(gateTokenVariable)
			if token == "" {
				return errors.New("the gate's own token is needed: put what is in gate.token in the box's directory into " + gateTokenVariable)
			}
			if r.Result != "pass" && r.Result != "fail" {
				return a.UsageError("--result is pass or fail")
			}
			gate := func(box.Dir) (string, error) { return token, nil }
			done, err := ask(cmd.Context(), a, gate, func(c *api.Client) (api.Recorded, error) { return c.Report(cmd.Context(), args[0], r) })
			return a.recorded(done, err)
		},
	}
	report.Flags().StringVar(&r.Commit, "commit", "", "the commit (`SHA`) that was checked")
	report.Flags().StringVar(&r.Result, "result", "", "pass or fail")
	require(report, "commit")
	require(report, "result")
	complete(report, "result", []string{"pass", "fail"})
	cmd.AddCommand(report)
	return cmd
}
