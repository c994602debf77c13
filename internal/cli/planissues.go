package cli

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/plan"
	"github.com/signalbox-dev/signalbox/internal/worktree"
	"github.com/signalbox-dev/signalbox/safetext"
)

func (a *app) planIssuesCommand() *cobra.Command {
	q := worktree.Issues{Most: delivery.MaxTasks}
	var file string
	cmd := &cobra.Command{
		Use:   "from-issues [NUMBER...]",
		Short: "Make a plan of issues on GitHub",
		Example: `  signalbox plan from-issues 12 15 -o plan.md
  signalbox plan from-issues --label ready --repo acme/counter`,
		Long: `From-issues makes a plan with a task for each issue: those with the numbers, or those that are
open and have all the labels. The gh program reads them (https://cli.github.com), from the
repository of the checkout or the one that --repo names.

A task GH-12 asks for what issue #12 says. Anybody can write an issue: its text is quoted in the
plan, where nothing in it can be another task, a check or an instruction, and an agent is told that
it is a description. Look at the plan before you run it all the same. A text over 16 KiB is cut.
A task is blocked by another one of the plan if a line of its issue begins with "Blocked by #12" or
"Depends on #12"; what waits in a circle does not.

The plan goes to standard output, or with -o to a file that is not there yet. Nothing is started.
With --json it prints file, plan, tasks (id, title, issue, blocked_by) and notes.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if q.Numbers, err = a.issueNumbers(args); err != nil {
				return err
			}
			switch {
			case len(args) == 0 && len(q.Labels) == 0:
				return a.UsageError("which issues? Name their numbers, or choose by --label")
			case len(args) > 0 && len(q.Labels) > 0:
				return a.UsageError("choose issues by number or by --label, not by both")
			}
			return a.planIssues(cmd.Context(), q, file)
		},
	}
	cmd.Flags().StringArrayVar(&q.Labels, "label", nil, "open issues with this `LABEL`; more than once: with all of them")
	cmd.Flags().StringVar(&q.Repo, "repo", "", "the repository, as `OWNER/NAME` (default: that of the checkout)")
	cmd.Flags().StringVarP(&file, "output", "o", "", "the `FILE` to write, which must not be there yet")
	return cmd
}

// issueNumbers reads 12 and #12, each once.
func (a *app) issueNumbers(args []string) ([]int, error) {
	var all []int
	for _, arg := range args {
		n, err := strconv.Atoi(strings.TrimPrefix(arg, "#"))
		if err != nil || n < 1 {
			return nil, a.UsageError("%s is no number of an issue: write 12", safetext.Escape(arg))
		}
		if !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all, nil
}

func (a *app) planIssues(ctx context.Context, q worktree.Issues, file string) error {
	if err := freePlan(file); err != nil {
		return err
	}
	found, err := q.Read(ctx, ".")
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("no open issue has the label %s: `gh issue list` shows what there is", safetext.Escape(strings.Join(q.Labels, " and ")))
	}
	var issues []plan.Issue
	var notes []string
	for _, i := range found {
		issues = append(issues, plan.Issue{Number: i.Number, Title: i.Title, Body: i.Body, Author: i.Author.Login, URL: i.URL})
		if i.State == "CLOSED" {
			notes = append(notes, fmt.Sprintf("GH-%d: the issue is closed", i.Number))
		}
	}
	p, more, err := plan.FromIssues(issuesTitle(found[0].URL), issues)
	if err != nil {
		return fmt.Errorf("these issues do not fit in one plan: choose fewer: %w", err)
	}
	notes = append(notes, more...)
	if file != "" {
		if err := writePlan(ctx, file, p.Markdown()); err != nil {
			return err
		}
	}
	if a.JSON {
		return a.sayIssues(file, p, notes)
	}
	for _, note := range notes {
		fmt.Fprintf(a.Err, "%s: %s\n", a.PaintErr(command.Yellow, "note"), note)
	}
	if file == "" {
		_, err := io.WriteString(a.Out, p.Markdown())
		fmt.Fprintln(a.Err, "Next: keep the plan with -o FILE, read it, then `signalbox run FILE`.")
		return err
	}
	a.sayPlan(file, p)
	return nil
}

// issuesTitle is the title of a plan of issues, by the address of one of them.
func issuesTitle(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "Issues"
	}
	repo := strings.Trim(path.Dir(path.Dir(u.Path)), "/.")
	if repo == "" {
		return "Issues"
	}
	return "Issues of " + repo
}

func (a *app) sayIssues(file string, p plan.Plan, notes []string) error {
	type task struct {
		ID        string   `json:"id"`
		Title     string   `json:"title"`
		Issue     int      `json:"issue"`
		BlockedBy []string `json:"blocked_by"`
	}
	tasks := []task{}
	for _, t := range p.Tasks {
		issue, _ := strconv.Atoi(strings.TrimPrefix(t.ID, "GH-")) // which it was made of
		tasks = append(tasks, task{t.ID, t.Title, issue, append([]string{}, t.BlockedBy...)})
	}
	return command.WriteJSON(a.Out, map[string]any{"file": file, "plan": p.Markdown(), "tasks": tasks, "notes": append([]string{}, notes...)})
}

// freePlan refuses a file that is there, before anything is done for it.
func freePlan(file string) error {
	if _, err := os.Lstat(file); file != "" && err == nil {
		return errPlanThere(file)
	}
	return nil
}

func errPlanThere(file string) error {
	return fmt.Errorf("%s is there already, and is left as it is: name another file with -o", safetext.Escape(file))
}

// writePlan writes a plan to a file that is not there.
func writePlan(ctx context.Context, file, text string) error {
	return writeText(ctx, file, os.O_EXCL, []byte(text), errPlanThere(file))
}

// sayPlan shows a plan that was written, and says what a person does next.
func (a *app) sayPlan(file string, p plan.Plan) {
	name := safetext.Escape(file)
	fmt.Fprintf(a.Out, "%s written: %s in %s\n\n", a.Paint(command.Bold, name), english.Count(len(p.Tasks), "task"), english.Count(len(p.Waves()), "step"))
	fmt.Fprint(a.Out, p.Draw(a.frame().Width))
	fmt.Fprintf(a.Out, "\nNext: read %s and change what is not right (%s), then %s\n", name,
		a.Paint(command.Bold, "signalbox plan check "+name), a.Paint(command.Bold, "signalbox run "+name))
}
