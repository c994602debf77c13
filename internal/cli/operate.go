package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/evidence"
	"github.com/signalbox-dev/signalbox/internal/process"
	"github.com/signalbox-dev/signalbox/internal/sandbox"
	"github.com/signalbox-dev/signalbox/internal/session"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/safetext"
)

// operate calls the box about its runs; if none runs, it is opened for the one
// request, by the settings. It makes none.
func operate[T any](ctx context.Context, a *app, call func(*api.Client) (T, error)) (T, error) {
	var none T
	if _, err := patiently(ctx, box.ErrNoDir, box.Dir(a.dir).Verifier); err != nil {
		return none, a.absent(err)
	}
	c, err := a.settings("")
	switch {
	case err != nil && a.running(): // it has settings of its own
		a.noteSettings(err)
		return ask(ctx, a, a.token, call)
	case err != nil:
		return none, err
	}
	return withBox(ctx, a, c, call)
}

// look calls the box as operate does, for a command that changes nothing: so it needs no settings.
func look[T any](ctx context.Context, a *app, call func(*api.Client) (T, error)) (T, error) {
	var none T
	if _, err := patiently(ctx, box.ErrNoDir, box.Dir(a.dir).Verifier); err != nil {
		return none, a.absent(err)
	}
	c, err := a.settingsToLook()
	if err != nil {
		return none, err
	}
	return withBox(ctx, a, c, call)
}

// absent says what to do if there is no box.
func (a *app) absent(err error) error {
	if errors.Is(err, box.ErrNoDir) {
		return fmt.Errorf("there is no box in %s: `signalbox run PLAN`, `signalbox ask` or `signalbox up` makes one", safetext.Escape(a.dir))
	}
	return err
}

var errNoRuns = errors.New("no plan was delivered here yet: `signalbox run PLAN` does")

// latest returns the run that is named; or the latest that has not ended, or the
// latest.
func latest(ctx context.Context, c *api.Client, args []string) (api.Run, error) {
	if len(args) == 1 {
		return c.Run(ctx, args[0])
	}
	r, err := c.Run(ctx, api.LatestRun)
	var p *api.Problem
	if errors.As(err, &p) && p.Code == api.CodeNotFound {
		err = errNoRuns
	}
	return r, err
}

func (a *app) inboxCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "inbox",
		Short: "List what waits for you: questions, and work to review or to do",
		Example: `  signalbox inbox
  signalbox inbox --format agent`,
		Long: `Inbox lists what only a person can bring on, oldest first, and how: questions to answer, and the tasks that
you review, do or have taken (roles with agent: person, signalbox take), with why they were sent back. They wait for as long as it takes. It does not
need a box to be running. With --json it prints a list; the kind of an entry is question, review, take or give.

` + agentHelp,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			agent, err := a.forAgent(format)
			if err != nil {
				return err
			}
			why := map[string]string{} // work that waits for a person was sent back
			questions, err := look(cmd.Context(), a, func(c *api.Client) ([]api.Question, error) {
				all, err := c.Questions(cmd.Context())
				for _, q := range all {
					if err == nil && !q.Asks() && !a.JSON && !agent {
						why[q.Work], err = sentBack(cmd.Context(), c, q.Work)
					}
				}
				return all, err
			})
			if agent {
				return a.tellAgent(a.inboxForAgent(questions, time.Now()), err)
			}
			if err != nil {
				return err
			}
			if a.JSON {
				return command.WriteJSON(a.Out, questions)
			}
			if len(questions) == 0 {
				fmt.Fprintln(a.Out, "nothing waits for you")
			}
			for i, q := range questions {
				if i > 0 {
					fmt.Fprintln(a.Out)
				}
				a.sayQuestion(q, why[q.Work])
			}
			return nil
		},
	}
	formatFlag(cmd, &format)
	return cmd
}

// sayQuestion prints what waits for a person, and why it was sent back, if it was.
func (a *app) sayQuestion(q api.Question, why string) {
	if !q.Asks() {
		fmt.Fprintf(a.Out, "%s  %s, since %s\n", a.Paint(command.Bold, safetext.Escape(q.Work)), safetext.Escape(q.Text), q.AskedAt.Local().Format("2006-01-02 15:04"))
		if why != "" {
			fmt.Fprintf(a.Out, "  %s\n", a.Hang(why, 2))
		}
		fmt.Fprintf(a.Out, "  %s\n", q.Command())
		return
	}
	about := q.Run
	if q.Task != "" {
		about = q.Task
	}
	fmt.Fprintf(a.Out, "%s  %s, asked %s\n", a.Paint(command.Bold, q.ID), safetext.Escape(about), q.AskedAt.Local().Format("2006-01-02 15:04"))
	fmt.Fprintf(a.Out, "  %s\n", a.Hang(safetext.EscapeLines(strings.TrimSpace(q.Text)), 2))
	if context := strings.TrimSpace(q.Context); context != "" && context != strings.TrimSpace(q.Text) {
		fmt.Fprintf(a.Out, "  %s\n", a.Paint(command.Faint, a.Hang(safetext.EscapeLines(context), 2)))
	}
	if more := q.More(); more != "" {
		fmt.Fprintf(a.Out, "  all of it: %s\n", more)
	}
	fmt.Fprintf(a.Out, "  answer: signalbox answer %s \"…\"", safetext.ShellWord(q.ID))
	for _, c := range q.Choices {
		fmt.Fprintf(a.Out, " | %s", c)
	}
	if q.Role != "" {
		fmt.Fprintf(a.Out, "\n  or:     signalbox claim --role %s --work %s", q.Role, safetext.Escape(q.Task))
	}
	fmt.Fprintln(a.Out)
}

// sentBack says in short why work was sent back, and how to see all of it; nothing if it was not, or somebody says that this is
// answered.
func sentBack(ctx context.Context, c *api.Client, id string) (string, error) {
	w, err := c.Work(ctx, id)
	f := w.Findings
	if err != nil || f == nil || w.Claim != nil && w.Claim.Sequence > f.Sequence {
		return "", err
	}
	return sentBackWords(*f, id), nil
}

// sentBackWords is why work was sent back, in short; what the checks printed is below it, its last lines as they are.
func sentBackWords(f work.Statement, id string) string {
	const enough = 300 // columns
	says, printed := evidence.FindingWords(f)
	text := fmt.Sprintf("sent back by %s: %s (`signalbox show %s --all` has all of it)",
		safetext.Escape(f.By), safetext.Cut(oneLine(strings.ReplaceAll(says, "\n", "; ")), enough), safetext.ShellWord(id))
	for _, line := range lastPrinted(printed) {
		text += "\n  " + safetext.Cut(line, enough)
	}
	return text
}

func (a *app) answerCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "answer QUESTION ANSWER…",
		Short: "Answer a question",
		Long: `Answer answers a question of the inbox. Some answers have a meaning: retry and cancel for a
task; retry, healthy (declare the environment healthy) and halt for remediation; continue and
halt for a run's budget; raise, continue and cancel for that of a task or a turn. Any other
text is handed to the agent that goes on with the task; by hand, with the next claim of the work.

It does not need a box to be running: the answer is recorded, and the next run goes on with it.`,
		Example: `  signalbox answer R1-Q1 "use the v2 API; v1 goes away in May"
  signalbox answer R1-Q2 cancel`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return fmt.Errorf("%s needs the question's id and an answer", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.answer(cmd.Context(), args[0], strings.Join(args[1:], " "))
		},
	}
}

// answer answers a question.
func (a *app) answer(ctx context.Context, id, text string) error {
	running := a.running()
	q, err := operate(ctx, a, func(c *api.Client) (api.Question, error) {
		if err := fits(ctx, c, id, text); err != nil {
			return api.Question{}, err
		}
		return c.Answer(ctx, id, api.Answer{Text: text})
	})
	if err != nil {
		return err
	}
	if a.JSON {
		return command.WriteJSON(a.Out, q)
	}
	if q.Run == "" {
		running = true // nothing has to go on by itself
	}
	fmt.Fprintf(a.Out, "%s is answered%s\n", q.ID, goesOn(running))
	return nil
}

// fits refuses an answer that does not fit its question.
func fits(ctx context.Context, c *api.Client, id, text string) error {
	questions, err := c.Questions(ctx)
	if err != nil {
		return err
	}
	for _, q := range questions {
		if q.ID == id {
			return q.Fits(text)
		}
	}
	return nil
}

// running reports whether a box runs in the directory.
func (a *app) running() bool {
	_, err := box.Dir(a.dir).Address()
	return err == nil
}

// goesOn says who brings a run on after a word of the operator's.
func goesOn(running bool) string {
	if running {
		return ""
	}
	return "; no box is running: `signalbox run` goes on"
}

func (a *app) tellCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "tell WORK MESSAGE…",
		Short: "Give a message to the agent on a task",
		Long: `Tell gives a message to the agent that works on a task. One that can be told in the middle
of its work has it at once (an agent with input: json); otherwise the next agent on the task
gets it with its prompt. With --json it prints work, now, and why it was not told now.`,
		Example: `  signalbox tell T-2 "leave the public API as it is"`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return fmt.Errorf("%s needs a task and a message", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.tell(cmd.Context(), args[0], strings.Join(args[1:], " "))
		},
	}
}

// tell gives a message to the agent on a task.
func (a *app) tell(ctx context.Context, work, text string) error {
	told, err := operate(ctx, a, func(c *api.Client) (api.Told, error) {
		return c.Tell(ctx, work, api.Message{Text: text})
	})
	if err != nil {
		return err
	}
	switch {
	case a.JSON:
		return command.WriteJSON(a.Out, told)
	case told.Now:
		fmt.Fprintf(a.Out, "the agent on %s has it\n", safetext.Escape(told.Work))
	default:
		why := ""
		if told.Why != "" {
			why = ": " + safetext.Escape(told.Why)
		}
		fmt.Fprintf(a.Out, "the next agent on %s will be told%s\n", safetext.Escape(told.Work), why)
	}
	return nil
}

func (a *app) pauseCommand() *cobra.Command {
	var resume bool
	cmd := &cobra.Command{
		Use:   "pause [--run] [RUN]",
		Short: "Start no further agents; with --resume, go on",
		Long: `Pause keeps a run from starting further agents; those that work go on to their end, and the
gate and merges too. With --resume it starts them again. Without a name it is the latest run.`,
		Example: `  signalbox pause
  signalbox pause --resume R2`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.pauseRun(cmd.Context(), args, resume)
		},
	}
	cmd.Flags().BoolVar(&resume, "resume", false, "go on")
	cmd.Flags().Bool("run", true, "as in cancel; a run is all that can be paused")
	return cmd
}

// pauseRun pauses a run, or has it go on.
func (a *app) pauseRun(ctx context.Context, args []string, resume bool) error {
	state := "paused; `signalbox pause --resume` goes on"
	if resume {
		state = "going on"
	}
	return a.onRun(ctx, args, state, func(c *api.Client, id string) (api.Run, error) {
		if resume {
			return c.ResumeRun(ctx, id, api.Message{})
		}
		return c.PauseRun(ctx, id, api.Message{})
	})
}

func (a *app) onRun(ctx context.Context, args []string, state string, do func(c *api.Client, id string) (api.Run, error)) error {
	r, err := operate(ctx, a, func(c *api.Client) (api.Run, error) {
		r, err := latest(ctx, c, args)
		if err != nil {
			return r, err
		}
		return do(c, r.ID)
	})
	return a.saidRun(r, r.ID, state, err)
}

// saidRun says in a line what became of a word of the operator's.
func (a *app) saidRun(r api.Run, what, state string, err error) error {
	switch {
	case err != nil:
		return err
	case a.JSON:
		return command.WriteJSON(a.Out, r)
	}
	fmt.Fprintf(a.Out, "%s is %s\n", safetext.Escape(what), state)
	return nil
}

func (a *app) cancelCommand() *cobra.Command {
	var reason string
	var whole bool
	cmd := &cobra.Command{
		Use:   "cancel WORK | --run [RUN]",
		Short: "Give up a task, or a whole run",
		Long: `Cancel gives up a task: its agent is ended, and so are the chances of whatever depends on it;
the rest of the plan goes on. With --run it gives up the run. What was merged stays merged, and
no branch is deleted.`,
		Example: `  signalbox cancel T-3 --reason "not needed any more"
  signalbox cancel --run`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			m := api.Message{Text: reason}
			if whole {
				state := "cancelled"
				if !a.running() {
					state += "; no box is running: `signalbox run` or `signalbox up` ends what is left of it"
				}
				return a.onRun(ctx, args, state, func(c *api.Client, id string) (api.Run, error) { return c.CancelRun(ctx, id, m) })
			}
			if len(args) == 0 {
				return a.UsageError("name a task, or give --run")
			}
			return a.cancelTask(ctx, args[0], m)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the record")
	cmd.Flags().BoolVar(&whole, "run", false, "the whole run: the latest, or the one that is named")
	return cmd
}

// cancelTask gives up a task.
func (a *app) cancelTask(ctx context.Context, name string, m api.Message) error {
	r, err := operate(ctx, a, func(c *api.Client) (api.Run, error) {
		r, err := c.CancelTask(ctx, name, m)
		if _, no := c.Run(ctx, name); err != nil && no == nil {
			err = fmt.Errorf("%s is a run: `signalbox cancel --run %s` cancels all of it", safetext.Escape(name), safetext.Escape(name))
		}
		return r, err
	})
	state := "cancelled"
	t := taskIn(r, name)
	if slices.ContainsFunc(r.Tasks, func(o api.Task) bool { return o.Phase != agentsig.PhaseCompleted && slices.Contains(o.BlockedBy, t.ID) }) {
		state += ", and so is what depends on it"
	}
	return a.saidRun(r, t.Work, state, err)
}

// taskIn returns the task of a run that somebody named, by its item's id or by its own. The box has found it there.
func taskIn(r api.Run, name string) api.Task {
	for _, t := range r.Tasks {
		if t.Work == name || t.ID == name || strings.HasPrefix(name, t.Work+"/") { // the last is what the inbox calls it
			return t
		}
	}
	return api.Task{ID: name, Work: name}
}

func (a *app) retryCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "retry WORK [MESSAGE…]",
		Short: "Try a task again",
		Long: `Retry forgets what went wrong with a task and starts it again, also one that was cancelled or
waits for an answer, as long as its run has not ended; the agent on it now is ended. The message goes to
the next agent. What a run that has ended left undone is a task of another run (signalbox run).`,
		Example: `  signalbox retry T-2 "the test database is up again"`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			running := a.running()
			r, err := operate(cmd.Context(), a, func(c *api.Client) (api.Run, error) {
				return c.RetryTask(cmd.Context(), args[0], api.Message{Text: strings.Join(args[1:], " ")})
			})
			return a.saidRun(r, taskIn(r, args[0]).Work, "tried again"+goesOn(running), err)
		},
	}
}

func (a *app) sessionCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "session DIRECTORY",
		Short:  "Run one agent's session (the box starts it)",
		Hidden: true,
		Args:   one("the session's directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			spec, err := session.Read(args[0])
			if err != nil {
				return err
			}
			a.Served = true
			if err := process.AdoptOrphans(); err != nil { // they are still found by their marker
				a.logger().Warn("what an agent leaves can't be adopted", "error", err)
			}
			if spec.Box == "" {
				return session.RunAlone(cmd.Context(), args[0], a.logger())
			}
			dir := box.Dir(spec.Box)
			token := spec.Token
			if token == "" { // a version before this one has started it
				if token, err = dir.APIToken(); err != nil {
					return err
				}
			}
			client := api.FollowingClient(dir.Address, token)
			defer client.Close()
			return session.Run(cmd.Context(), args[0], client, a.logger())
		},
	}
}

// confineCommand is what a session starts an agent with that has a sandbox.
func confineCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "confine POLICY -- COMMAND...",
		Short:              "Run a command in a sandbox (a session starts it)",
		Hidden:             true,
		DisableFlagParsing: true, // what follows is the command's
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) < 3 || args[1] != "--" {
				return errors.New("a policy, -- and a command are needed: a session starts this, not you")
			}
			return sandbox.Enter(args[0], args[2:])
		},
	}
}

// tendCommand is what the gate starts commands with.
func tendCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "tend GRACE -- COMMAND...",
		Short:              "Run a command, and end all that it leaves (the gate starts it)",
		Hidden:             true,
		DisableFlagParsing: true, // what follows is the command's
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < 3 || args[1] != "--" {
				return errors.New("a grace, -- and a command are needed: the gate starts this, not you")
			}
			grace, err := time.ParseDuration(args[0])
			if err != nil {
				return err
			}
			exit, err := process.Tend(cmd.Context(), args[2:], grace)
			if err == nil && exit != 0 {
				err = command.Exit(exit)
			}
			return err
		},
	}
}
