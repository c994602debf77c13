package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/safetext"
)

func (a *app) claimCommand() *cobra.Command {
	var q api.Claim
	var phase, role string
	var ttl time.Duration
	cmd := &cobra.Command{
		Use:   "claim",
		Short: "Take something to work on",
		Long: `Claim takes a work item and holds it for a session. The session ends when its
agent's signal is handed in (emit), when it is released, or when its time runs out
without a renewal.

Without --work it takes what has been ready for longest: in the given phase, in a
phase that the role holds, or in any. The roles hold: analyst DRAFT; developer DRAFT
(whose signals are the analyst's) and IMPLEMENTATION; critic READY_FOR_REVIEW and REVIEW; auditor READY_FOR_MERGE. A
critic who takes work in READY_FOR_REVIEW enters REVIEW. CI_PENDING waits for the
gate, and is taken only if it is asked for. BLOCKED work is taken by who can help:
expert, after an EXPERT_REQUEST; remediation, if the environment is broken, and
health_auditor after that.

What came of questions about the work (answers, advice) is printed with it; so is what
to help with, a claim that a critic has to judge, and how to signal if the last agent
did not.

With --wait it returns as soon as there is something; it does not poll, and goes on
waiting if the box is started anew within 15 seconds. Exit code 1 if there is nothing.

It comes with what is asked for, what who worked on it last claims, and what was found when it was sent back. With
--json it prints session, work, title, phase, token and expires_at; asked, claim, findings, pr_url and evidence, as
work show has them; and branch, commit, waits, answers, no_change and format if there are any.`,
		Example: `  signalbox claim --role developer --wait
  signalbox claim --work T-1 --actor ann --ttl 30m --json`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q.Phase, q.Role, q.TTLMS = agentsig.Phase(phase), agentsig.Role(role), ttl.Milliseconds()
			if err := a.checkOptions(cmd, agentsig.Options{Phase: q.Phase, Role: q.Role}); err != nil {
				return err
			}
			if cmd.Flags().Changed("ttl") && ttl <= 0 {
				return a.UsageError("--ttl is how long the lease lasts, such as 30m")
			}
			g, err := ask(cmd.Context(), a, a.token, func(c *api.Client) (api.Grant, error) { return c.Claim(cmd.Context(), q) })
			return a.granted(g, err)
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.Work, "work", "", "this work item (`ID`)")
	f.StringVar(&phase, "phase", "", "in this `PHASE`")
	f.StringVar(&role, "role", "", "as an agent in this `ROLE`: "+list(agentsig.Roles()))
	f.StringVar(&q.Actor, "actor", "agent", "who works on it, for the record")
	f.BoolVar(&q.Wait, "wait", false, "wait until there is something")
	f.DurationVar(&ttl, "ttl", 0, "how long the lease lasts without a renewal (default 10m)")
	complete(cmd, "phase", agentsig.Phases())
	complete(cmd, "role", agentsig.Roles())
	return cmd
}

func (a *app) granted(g api.Grant, err error) error {
	if err != nil {
		return err
	}
	if a.JSON {
		return command.WriteJSON(a.Out, g)
	}
	rows := [][2]string{
		{"session", g.Session}, {"work", g.Work}, {"title", safetext.Escape(g.Title)}, {"phase", string(g.Phase)}, {"token", g.Token.String()},
		{"expires", fmt.Sprintf("%s (in %v)", stamp(g.ExpiresAt), time.Until(g.ExpiresAt).Round(time.Second))},
	}
	if g.Branch != "" {
		rows = append(rows, [2]string{"branch", safetext.Escape(g.Branch)})
	}
	if g.Commit != "" {
		rows = append(rows, [2]string{"commit", g.Commit + " (that the gate spoke of last)"})
	}
	a.rows(rows)
	a.sayHandoff(g.Handoff)
	a.sayWaits(g.Waits)
	a.sayReplies(g.Answers)
	if g.NoChange != "" {
		fmt.Fprintf(a.Out, "\nNothing was changed. The developer claims that nothing has to be; judge that claim, which nobody has checked:\n%s", indented(g.NoChange))
	}
	if g.Format != "" {
		fmt.Fprintf(a.Out, "\n%s\n", safetext.EscapeLines(g.Format))
	}
	return nil
}

// sayWaits says what work waits for.
func (a *app) sayWaits(q *api.Question) {
	if q == nil {
		return
	}
	fmt.Fprintf(a.Out, "\n%s asks (%s):\n%s", safetext.Escape(q.ID), strings.ReplaceAll(string(q.Cause), "_", " "), indented(q.Text))
	if context := strings.TrimSpace(q.Context); context != "" && context != strings.TrimSpace(q.Text) {
		fmt.Fprintf(a.Out, "%s", indented(context))
	}
}

// sayReplies says what came of questions about work.
func (a *app) sayReplies(all []api.Reply) {
	for _, r := range all {
		fmt.Fprintf(a.Out, "\n%s asked:\n%s%s says:\n%s", safetext.Escape(r.ID), indented(r.Question), safetext.Escape(r.From), indented(r.Text))
	}
}

// sessionFlag makes --session a flag that a command can't do without.
func sessionFlag(cmd *cobra.Command, session *string) {
	cmd.Flags().StringVar(session, "session", "", "the `SESSION`, as claim printed it")
	require(cmd, "session")
}

func (a *app) renewCommand() *cobra.Command {
	var session string
	cmd := &cobra.Command{
		Use:     "renew --session SESSION",
		Short:   "Hold a work item for another term",
		Example: `  signalbox renew --session 01K9Z3J0T6X8E4V5R7B2N1M0QD-1.1`,
		Args:    none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.checkOptions(cmd, agentsig.Options{}); err != nil {
				return err
			}
			g, err := ask(cmd.Context(), a, a.token, func(c *api.Client) (api.Grant, error) { return c.Renew(cmd.Context(), session) })
			return a.granted(g, err)
		},
	}
	sessionFlag(cmd, &session)
	return cmd
}

func (a *app) releaseCommand() *cobra.Command {
	var session string
	cmd := &cobra.Command{
		Use:     "release --session SESSION",
		Short:   "Give a work item back",
		Example: `  signalbox release --session 01K9Z3J0T6X8E4V5R7B2N1M0QD-1.1`,
		Args:    none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.checkOptions(cmd, agentsig.Options{}); err != nil {
				return err
			}
			r, err := ask(cmd.Context(), a, a.token, func(c *api.Client) (api.Recorded, error) { return c.Release(cmd.Context(), session) })
			return a.recorded(r, err)
		},
	}
	sessionFlag(cmd, &session)
	return cmd
}

func (a *app) emitCommand() *cobra.Command {
	var session string
	cmd := &cobra.Command{
		Use:   "emit --session SESSION [FILE]",
		Short: "Hand in what a session's agent said",
		Long: `Emit reads an agent's output, from FILE or from standard input, and hands it in for
the session: the signal in it, in any dialect, is checked and recorded, the work item
moves to its next phase, the lease ends, and whoever waits for the work has it.

Output without a signal that counts is recorded, and what to ask the agent is printed:
first for its progress, then for its signal. The session goes on, and can try again;
after the third time in a row it is ended, and the next claim of the work tells its
agent exactly how to signal. The same signal twice is the same signal. A result that
comes after the lease was taken away is recorded as late, and moves nothing.

What an agent needs of others (SEEKING_DIVINE_CLARIFICATION, EXPERT_REQUEST,
INFRA_BLOCKED, AUDIT_BLOCKED) is a question: ` + "`signalbox inbox`" + ` shows it.

With --json the last line is an object with accepted; if true: event, work,
phase_completed, exit_reason, next_phase and sequence; if false: error, hint (what to do about it) and attempt, and
near_misses if there were any; ask is what to ask the agent. Exit code 0 if the signal was accepted, 1 if not, 130 if interrupted:
nothing is handed in then. A pipe hides the agent's own exit code, and can't be read
twice: keep the output with tee if you may need it.`,
		Example: `  my-agent | tee output.txt | signalbox emit --session 01K9Z3J0T6X8E4V5R7B2N1M0QD-1.1`,
		Args:    atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.checkOptions(cmd, agentsig.Options{}); err != nil {
				return err
			}
			e, err := a.emit(cmd.Context(), session, args)
			return a.emitted(e, err)
		},
	}
	sessionFlag(cmd, &session)
	return cmd
}

// emit looks for the box before it reads: what an agent says once can't be read
// again.
func (a *app) emit(ctx context.Context, session string, args []string) (api.Emitted, error) {
	return ask(ctx, a, a.token, func(c *api.Client) (api.Emitted, error) {
		in, closeIn, err := a.open(ctx, args)
		if err != nil {
			return api.Emitted{}, err
		}
		defer closeIn()
		output, err := readAll(ctx, in, api.MaxOutput+1)
		if err != nil {
			return api.Emitted{}, fmt.Errorf("read the agent's output: %w", err)
		}
		return c.Emit(ctx, session, output)
	})
}

func (a *app) emitted(e api.Emitted, err error) error {
	if a.JSON {
		if err != nil {
			e = api.Emitted{Error: err.Error()}
		}
		if err := command.WriteJSON(a.Out, e); err != nil {
			return err
		}
		if !e.Accepted {
			return errQuiet
		}
		return nil
	}
	if err != nil {
		return err
	}
	if !e.Accepted {
		for _, m := range e.NearMisses {
			fmt.Fprintf(a.Err, "line %d  near miss  %s\n        %s: %s\n", m.Line, meant(m.Kind), m.Reason, m.Hint)
		}
		fmt.Fprintf(a.Err, "signalbox: %s\n", safetext.Escape(e.Error))
		if e.Hint != "" {
			fmt.Fprintln(a.Err, safetext.Escape(e.Hint))
		}
		a.sayAsk(e)
		return errQuiet
	}
	if e.NextPhase == "" {
		fmt.Fprintf(a.Out, "%s %s: recorded for %s (event %d); the session goes on\n", a.Paint(command.Green, "accepted"), e.Event, e.Work, e.Sequence)
		a.sayAsk(e)
		return nil
	}
	fmt.Fprintf(a.Out, "%s %s: %s %s in %s, and is now in %s (event %d)\n",
		a.Paint(command.Green, "accepted"), e.Event, e.Work, e.ExitReason, e.PhaseCompleted, e.NextPhase, e.Sequence)
	return nil
}

// meant names the signal that an agent nearly gave, as it is written.
func meant(k agentsig.Kind) string {
	switch e, known := agentsig.Lookup(k); {
	case k == agentsig.KindExit:
		return "exit record"
	case known && e.Wire != "":
		return e.Wire
	case k == "":
		return "a signal that can't be told"
	}
	return safetext.Escape(string(k))
}

// sayAsk says what to ask an agent whose output has no signal that counts.
func (a *app) sayAsk(e api.Emitted) {
	if e.Ask != "" {
		fmt.Fprintf(a.Err, "ask the agent, and hand in what it says:\n\n%s\n", safetext.EscapeLines(e.Ask))
	}
}
