package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/evidence"
)

func (a *app) showCommand() *cobra.Command {
	var markdown, all bool
	var format string
	cmd := &cobra.Command{
		Use:   "show TASK|QUESTION",
		Short: "Show why to believe that a task is done, or what was asked and answered",
		Long: `Show prints the evidence on a task, on one screen: what it waits for, what was asked, who tried it, for how long and at what cost; what
the last one who worked on it claims, which nobody has checked; what the gate said of which commit, with the exit codes of its
checks; what was found, and the commit that answered it; questions and who answered them; the merge. All of it is from the
ledger: the last line says whether each event that it rests on is proven to be in the tree that the ledger's key has signed,
and whether the merge commit, if it is in the repository that you are in, proves itself.

Where a screen has no room for all of it, older entries are left out; what the checks printed is shown as it is, its last
lines. Elsewhere than on a terminal a line is as long as it has to be. With --all nothing is left out or cut. With --markdown it is the text of a pull request, with agents' words in
blocks in which they name and close nothing. It does not need a box to be running.

With --json it prints task, title, state, branch and box_checks (of work by hand, if it has a branch and the box checks that), waits (reason, since, text; if it waits), home (in a cluster: the box whose repository has its commits), asked, attempts, claims, gates, findings, questions, merge (null if there is
none), usage and proof. If something of the proof is wrong, the exit code is 1.

Of a question to a model (Q-00001) it prints what was asked, what happened until it was answered (signals, calls that change
something and who decided them), and the answer. With --json that is the conversation, and its events as the ledger has them.

` + agentHelp + ` It has how the task is and what to do next, and not the proof.`,
		Example: `  signalbox show T-2
  signalbox show R1.T-2 --all
  signalbox show Q-00001
  signalbox show T-2 --markdown | gh pr create --title T-2 --body-file -`,
		Args: one("a task, a work item or a question"),
		RunE: func(cmd *cobra.Command, args []string) error {
			agent, err := a.forAgent(format)
			switch {
			case err != nil:
				return err
			case markdown && a.JSON:
				return a.UsageError("--markdown goes without --json")
			case agent && (markdown || all):
				return a.UsageError("--format agent goes without --markdown and --all")
			case questionID.MatchString(args[0]) && !agent && !markdown:
				none := a.showQuestion(cmd.Context(), args[0])
				if !notFound(none) {
					return none
				}
				if err := a.show(cmd.Context(), args[0], markdown, all); !notFound(err) { // work can have such a name too
					return err
				}
				return none
			case agent:
				reply, err := a.showForAgent(cmd.Context(), args[0], time.Now())
				return a.tellAgent(reply, err)
			}
			return a.show(cmd.Context(), args[0], markdown, all)
		},
	}
	cmd.Flags().BoolVar(&markdown, "markdown", false, "as the text of a pull request")
	cmd.Flags().BoolVar(&all, "all", false, "leave nothing out, and cut nothing")
	formatFlag(cmd, &format)
	return cmd
}

// show prints the evidence on a task.
func (a *app) show(ctx context.Context, name string, markdown, all bool) error {
	c, err := look(ctx, a, func(c *api.Client) (evidence.Card, error) { return askCard(ctx, c, name) })
	if err != nil {
		return err
	}
	if c.Proof, err = a.prove(ctx, c); err != nil {
		return err
	}
	_, rows := a.Size()
	switch {
	case a.JSON:
		err = command.WriteJSON(a.Out, c)
	case markdown:
		_, err = fmt.Fprint(a.Out, markdownOf(c, all))
	default:
		_, err = fmt.Fprint(a.Out, cardText(c, a.Columns(), rows, all))
	}
	if err == nil && c.Proof.Wrong() {
		return errQuiet
	}
	return err
}

// askCard asks a box for the evidence on a task.
func askCard(ctx context.Context, c *api.Client, name string) (evidence.Card, error) {
	w, err := workNamed(ctx, c, name)
	if err != nil {
		return evidence.Card{}, err
	}
	r, err := runWith(ctx, c, w.ID)
	if err != nil {
		return evidence.Card{}, err
	}
	return evidence.Ask(ctx, c, w, r)
}

// prove holds a card against the ledger's files, and its merge against the repository that the user is in.
func (a *app) prove(ctx context.Context, c evidence.Card) (evidence.Proof, error) {
	dir, key, err := a.resolve(ctx, place{})
	if err != nil {
		return evidence.Proof{}, err
	}
	p, err := evidence.Prove(c.Rests, dir, key)
	if err != nil || c.Merge == nil {
		return p, err
	}
	v, err := a.verifyCommit(ctx, c.Merge.Commit, against{key: key, archive: dir})
	if err != nil {
		p.MergeFails(a.atHome(c.Home, "", err))
		return p, ctx.Err()
	}
	p.Merge = v.json()
	return p, nil
}
