package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/evidence"
	"github.com/signalbox-dev/signalbox/internal/regular"
	"github.com/signalbox-dev/signalbox/internal/runner"
	"github.com/signalbox-dev/signalbox/internal/worktree"
	"github.com/signalbox-dev/signalbox/safetext"
)

func (a *app) reviewCommand() *cobra.Command {
	var accept, reject bool
	var comments []string
	cmd := &cobra.Command{
		Use:   "review [TASK]",
		Short: "Review a task that waits for you",
		Long: `Review is your word on a task whose critic or auditor you are (roles with agent: person), or whose merge you approve
(merge: {approve: person}). It shows the task, what its developer claims, what the gate says and the diff, and asks:
accept it, send it back, or later. What you send back has comments, one a line, as path:line: text, which you write in
your editor (VISUAL, EDITOR) with the diff as context. Without a name it goes through all that wait for you.

What you accept is the commit that you were shown: if another one is there by then, nothing is recorded. What is
recorded is the role's own signal, with you as its actor. It does not need a box to be running.

Of a merge you are shown what it makes of the branch, after the checks have passed on it. It is made as you saw it, onto
the commit that the branch was at. If the branch has moved when it is about to be made, you are asked again.

With --accept, or --reject and a --comment for each thing to change, it asks nothing; --accept needs no name if one task
waits. A comment on a file that was not
changed is pointed out, and sent all the same. With --json it prints task, work,
role (critic, auditor or merge), commit, onto (of a merge), accepted and the task's phase then.`,
		Example: `  signalbox review
  signalbox review T-2 --accept
  signalbox review T-2 --reject --comment "api.go:12: this name is taken" --comment "api.go:40: no test"`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			v := api.Verdict{Accept: accept, Comments: comments}
			switch {
			case accept && (reject || len(comments) > 0):
				return a.UsageError("--accept goes without --reject and --comment")
			case reject && len(args) == 0:
				return a.UsageError("name the task")
			case len(comments) > 0 && !reject:
				return a.UsageError("--comment goes with --reject")
			case reject && len(comments) == 0:
				return a.UsageError("--reject needs a --comment: say what has to be changed, as path:line: text")
			case accept && len(args) == 0:
				name, err := a.onlyReview(cmd.Context())
				if err != nil {
					return err
				}
				return a.judge(cmd.Context(), name, v)
			case accept || reject:
				return a.judge(cmd.Context(), args[0], v)
			case !a.InTTY || a.JSON:
				return a.UsageError("there is nobody to ask here: give --accept, or --reject and --comment")
			}
			return a.reviews(cmd.Context(), args)
		},
	}
	cmd.Flags().BoolVar(&accept, "accept", false, "it may go on")
	cmd.Flags().BoolVar(&reject, "reject", false, "it goes back to be worked on")
	cmd.Flags().StringArrayVar(&comments, "comment", nil, "what has to be changed, as `PATH:LINE: TEXT`; may be repeated")
	return cmd
}

// judged is a verdict for programs.
type judged struct {
	Task     string         `json:"task"`
	Work     string         `json:"work"`
	Role     agentsig.Role  `json:"role,omitempty"`
	Commit   string         `json:"commit"`
	Onto     string         `json:"onto,omitempty"` // what it is merged with
	Accepted bool           `json:"accepted"`
	Phase    agentsig.Phase `json:"phase"`
}

// judge hands in a verdict on what is there to be reviewed.
func (a *app) judge(ctx context.Context, name string, v api.Verdict) error {
	s, err := a.toReview(ctx, name)
	if err != nil {
		return err
	}
	a.noteOtherFiles(ctx, s.task, v.Comments)
	return a.hand(ctx, s.sight, v)
}

// reviewed is what a person is shown, and the task that it is of.
type reviewed struct {
	sight api.Sight
	task  taskState
}

// toReview asks for what is there to be reviewed of a task.
func (a *app) toReview(ctx context.Context, name string) (reviewed, error) {
	v, err := operate(ctx, a, func(c *api.Client) (v reviewed, err error) {
		if v.sight, err = c.Sight(ctx, name); err == nil {
			v.task, err = taskOf(ctx, c, v.sight.Work)
		}
		return v, err
	})
	v.task.work.Commit, v.task.work.Base, v.task.work.Settled = cmp.Or(v.sight.Merge, v.sight.Commit), v.sight.Base, true
	v.task.merge = v.sight.Role == delivery.RoleMerge
	return v, err
}

// commented is the path of a comment, as path:line: text.
var commented = regexp.MustCompile(`^([^\s:][^:]*):[0-9]+:`)

// maxCommented is how many files are looked for.
const maxCommented = 50

// noteOtherFiles says which files comments name that the work does not change. They are sent all the same: that a file should
// have been changed too is something a reviewer says.
func (a *app) noteOtherFiles(ctx context.Context, t taskState, comments []string) {
	var named []string
	for _, c := range comments {
		if m := commented.FindStringSubmatch(strings.TrimSpace(c)); m != nil && !slices.Contains(named, m[1]) && len(named) < maxCommented {
			named = append(named, m[1])
		}
	}
	if len(named) == 0 {
		return
	}
	_ = a.withWork(ctx, t, func(_ runner.Site, changes *runner.Changes) error { // a verdict does not need it
		for _, path := range named {
			written := &counted{to: io.Discard}
			err := changes.Diff(ctx, worktree.Diff{Stat: true, Paths: []string{":(top,literal)" + path}}, written)
			if err == nil && written.n == 0 {
				fmt.Fprintf(a.Err, "%s: %s is not among the files that were changed; the comment is sent all the same\n", a.PaintErr(command.Yellow, "note"), safetext.Escape(path))
			}
		}
		return nil
	})
}

// hand hands in a verdict on what was shown, and says so.
func (a *app) hand(ctx context.Context, s api.Sight, v api.Verdict) error {
	running := a.running()
	v.Role, v.Commit, v.Tree, v.Base = s.Role, s.Commit, s.Tree, s.Base
	r, err := operate(ctx, a, func(c *api.Client) (api.Run, error) { return c.Review(ctx, s.Work, v) })
	if err != nil {
		return err
	}
	out := judged{Task: s.Task, Work: s.Work, Role: s.Role, Commit: s.Commit, Accepted: v.Accept}
	if s.Role == delivery.RoleMerge {
		out.Onto = s.Base
	}
	for _, t := range r.Tasks {
		if t.Work == s.Work {
			out.Phase = t.Phase
		}
	}
	if a.JSON {
		return command.WriteJSON(a.Out, out)
	}
	what := "sent back"
	if v.Accept {
		what = "accepted"
	}
	fmt.Fprintf(a.Out, "%s is %s%s\n", sightWords(s), what, goesOn(running))
	return nil
}

// sightWords name what a person is shown.
func sightWords(s api.Sight) string {
	if s.Role == delivery.RoleMerge {
		return fmt.Sprintf("the merge of %s at %.7s onto %.7s", safetext.Escape(s.Work), s.Commit, s.Base)
	}
	return fmt.Sprintf("%s at %.7s", safetext.Escape(s.Work), s.Commit)
}

// reviews goes through what waits for a review: the task that is named, or all of them.
func (a *app) reviews(ctx context.Context, args []string) error {
	names := args
	if len(names) == 0 {
		var err error
		if names, err = a.toBeReviewed(ctx); err != nil {
			return err
		}
	}
	if len(names) == 0 {
		fmt.Fprintln(a.Out, "nothing waits for your review")
	}
	for _, name := range names {
		err := a.reviewOne(ctx, name)
		if ctx.Err() != nil {
			a.Served = false
			return ctx.Err()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// toBeReviewed returns the tasks that wait for a review, oldest first.
func (a *app) toBeReviewed(ctx context.Context) (names []string, err error) {
	waiting, err := operate(ctx, a, func(c *api.Client) ([]api.Question, error) { return c.Questions(ctx) })
	for _, q := range waiting {
		if q.Kind == string(delivery.PartReview) {
			names = append(names, q.Work)
		}
	}
	return names, err
}

// onlyReview returns the one task that waits for a review.
func (a *app) onlyReview(ctx context.Context) (string, error) {
	names, err := a.toBeReviewed(ctx)
	switch {
	case err != nil:
		return "", err
	case len(names) == 0:
		return "", errors.New("nothing waits for your review")
	case len(names) > 1:
		return "", a.UsageError("%d tasks wait for your review: name the one that you accept (`signalbox inbox` lists them)", len(names))
	}
	return names[0], nil
}

// reviewOne shows a task, and asks what to do about it.
func (a *app) reviewOne(ctx context.Context, name string) error {
	v, err := a.toReview(ctx, name)
	if err != nil {
		return err
	}
	a.sayTask(v.task)
	if err := a.showWork(ctx, v.task, diffOptions{}); err != nil {
		return err
	}
	for {
		answer, err := a.typed(ctx, sightWords(v.sight)+": [a]ccept, [s]end back, [l]ater?")
		if err != nil {
			return nil // they have left, and it goes on waiting
		}
		switch answer {
		case "a", "accept":
			return a.hand(ctx, v.sight, api.Verdict{Accept: true})
		case "s", "send back":
			comments, err := a.comments(ctx, v.sight, v.task)
			if err != nil {
				return err
			}
			if len(comments) > 0 {
				a.noteOtherFiles(ctx, v.task, comments)
				return a.hand(context.WithoutCancel(ctx), v.sight, api.Verdict{Comments: comments})
			}
			fmt.Fprintln(a.Out, "there is no comment, so nothing is sent back")
		case "l", "later":
			return nil
		}
	}
}

// sayTask shows what is known of work that is to be reviewed.
func (a *app) sayTask(t taskState) {
	fmt.Fprintf(a.Out, "%s  %s\n", a.Paint(command.Bold, safetext.Escape(t.Item.ID)), safetext.Escape(t.Item.Title))
	if asked := t.handoff.Asked; asked != "" {
		fmt.Fprintf(a.Out, "asked for:\n%s", indented(asked))
	}
	claim := t.handoff.Claim
	if f := t.handoff.Findings; f != nil {
		fmt.Fprintf(a.Out, "sent back before by %s:\n%s", safetext.Escape(f.By), a.Paint(command.Faint, indented(evidence.StatementWords(*f))))
	}
	if claim != nil {
		fmt.Fprintf(a.Out, "claimed by %s:\n%s", safetext.Escape(claim.By), a.Paint(command.Faint, indented(evidence.StatementWords(*claim))))
	}
	gate := "the gate has not run"
	if said := t.gate.Sequence; said > 0 && (claim == nil || said > claim.Sequence) {
		gate = strings.TrimPrefix(delivery.Words(t.gate.Event, func(string) string { return "" }), ": ")
	}
	fmt.Fprintln(a.Out, gate)
}

// comments has the user write comments in their editor, with the diff as context.
func (a *app) comments(ctx context.Context, s api.Sight, t taskState) (_ []string, err error) {
	var diff beginning
	err = a.withWork(ctx, t, func(_ runner.Site, changes *runner.Changes) error {
		return changes.Diff(ctx, worktree.Diff{}, &diff)
	})
	if err != nil && !diff.over {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "signalbox-review-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "comments.txt")
	if err := os.WriteFile(file, commentPage(s, diff.text.Bytes()), 0o600); err != nil {
		return nil, err
	}
	if err := worktree.Edit(ctx, cmp.Or(editor(), "vi"), dir, file); err != nil {
		return nil, err
	}
	text, err := regular.Read(file, maxDiff+1<<20)
	return commentsIn(text), err
}

// editor is the command line of the user's editor; empty if they have named none.
func editor() string { return cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR")) }

// commentPage is what an editor is opened with: room for comments, and the diff in lines that are left out, with the lines'
// numbers. The diff is an agent's, and an editor may take settings from the first and the last lines of a file, or from
// its whole last page: those are ours.
func commentPage(s api.Sight, diff []byte) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "\n# %s: say what has to be changed, one comment a line, as\n# path:line: text\n#\n", sightWords(s))
	b.WriteString("# Lines that begin with # are left out. Without a comment, nothing is sent back.\n#\n")
	var at numbering
	for line := range strings.Lines(safetext.EscapeLines(string(diff))) {
		line = strings.TrimSuffix(line, "\n")
		fmt.Fprintf(&b, "# %5s %s\n", at.number(line), line)
	}
	b.WriteString("\f" + `# This was the diff. The page break keeps an editor from taking settings out of it.
# The numbers on the left are those of the lines as they are now: a comment is
# path:line: text, with such a number.
# Comments may stand anywhere in this file, each on a line of its own.
# When you save the file and leave, the work is sent back with them.
`)
	return b.Bytes()
}

// numbering is where a diff is that is being read: the number of the next line of the new file, and how many lines are left of
// the old and the new one. The counts say where a hunk ends, so that nothing in a file is taken for the diff's own.
type numbering struct{ next, old, new int }

// number is the number of a diff's line in the new file; empty if it has none.
func (n *numbering) number(line string) string {
	if n.old <= 0 && n.new <= 0 {
		n.old, n.new, n.next, _ = hunk(line) // none begins here if it can't be read
		return ""
	}
	switch {
	case strings.HasPrefix(line, "-"):
		n.old--
		return ""
	case strings.HasPrefix(line, `\`): // no newline at the end of the file
		return ""
	case !strings.HasPrefix(line, "+"):
		n.old--
	}
	n.new--
	n.next++
	return strconv.Itoa(n.next - 1)
}

// commentsIn returns the comments that were written on such a page.
func commentsIn(page []byte) []string {
	var comments []string
	for line := range strings.Lines(string(page)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			comments = append(comments, line)
		}
	}
	return comments
}
