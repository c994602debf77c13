package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/oracle"
	"github.com/signalbox-dev/signalbox/internal/oracle/model"
	"github.com/signalbox-dev/signalbox/internal/oracle/toolbox"
	"github.com/signalbox-dev/signalbox/safetext"
)

// asking is what a question is asked with.
type asking struct {
	provider, model, baseURL string
	tools, tree, prompts     string
	allow                    []string // tools that may change something
	trace                    bool
	record, resume           string // files: one to be written, and one to go on with
	user, project            string
	continues                string // the question to go on from, or latest; empty for none
	talk                     oracle.Talk
}

func (a *app) askCommand() *cobra.Command {
	var q asking
	var list int
	cmd := &cobra.Command{
		Use:   "ask [flags] [--continue [ID]] [QUESTION]",
		Short: "Ask a model, with tools; a behaviour tree owns the loop",
		Long: `Ask answers a question with a model and tools. A behaviour tree decides after each of the
model's turns what is next: run the tools that it called, another turn, the end; the model
says by signals whether it needs another turn, knows enough, or is stuck. The answer streams
to standard output; tool calls, remarks and figures go to standard error.

Models: any that speaks OpenAI's Chat Completions (OpenAI, Ollama, vLLM, llama.cpp,
OpenRouter), or Anthropic's Messages. Keys are read from OPENAI_API_KEY and ANTHROPIC_API_KEY,
and sent nowhere but to the provider's own address or the --base-url. SIGNALBOX_PROVIDER,
SIGNALBOX_MODEL, SIGNALBOX_BASE_URL and SIGNALBOX_TOOLS stand for the flags that are left out.

Tools: --tools names a JSON file with MCP servers as other MCP clients have it
({"mcpServers": {…}}). Without it the model can search and read the files of the repository
that you are in, and nothing else. Before a tool is called that changes something, you are asked:
every tool but those whose server says that they only read. Without a terminal such a call is
refused unless --allow names the tool. Each decision is recorded before the call is made.

The question, every signal and the answer are recorded in the ledger: of the box that runs here,
or of one that is opened for the question (see --dir). With --continue the model is given what was
asked and answered before: in the conversation that the latest question belongs to, or in that of
the question ID (Q-00001; the last line of ask names it). It gets the latest part if that is long,
and both of you are told so. What tools have given is not part of it. --user and --project are
recorded with a question, and what it continues has to have the same. With --list nothing is asked:
it lists the latest 20 questions, or with --list=100 so many; ` + "`signalbox show ID`" + ` shows one with its answer.

If the question is -, it is read from standard input. Without a question, at a terminal, you chat: each
line is a question that goes on from the one before. Ctrl-C ends the answer that is being made, Ctrl-D the chat.

With --record FILE the run is recorded: the question, what the model said, what tools were called with
and returned. The file is yours alone (mode 0600) and has all of it, secrets too. If the process ends
before there is an answer, ` + "`signalbox tree resume FILE`" + ` goes on; ` + "`signalbox tree replay FILE`" + ` shows it.

With --json each chunk is an object on a line of its own, with type (content, reasoning,
tool_call, tool_result, signal, sources, system, error, event, done) and what belongs to it; the
last one, done, has the answer with its outcome. A signal has what is known of signals after a
turn, an event what happened inside: signals, budgets, loops, fallbacks, tool calls. Exit codes: 0 if the question was answered, 1 if not or
only in part, 2 for wrong usage, 130 if interrupted.`,
		Example: `  signalbox ask --provider anthropic --model MODEL "where are leases renewed?"
  signalbox ask --base-url http://localhost:11434/v1 --model llama3.1 "what does the README promise?"
  signalbox ask --tools tools.json --trace "should I sell any of my silver?"
  signalbox ask --continue "and what would it mean in tax?"
  git diff | signalbox ask --continue Q-00007 -
  signalbox ask --list
  signalbox ask`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("list") {
				return a.listQuestions(cmd.Context(), list, args)
			}
			question, err := q.questionIn(args)
			chat := errors.Is(err, errNoQuestion) && a.InTTY && a.OutTTY && !a.JSON
			switch {
			case chat && q.record != "":
				return a.UsageError("a recording is of one question: name it, or leave out --record")
			case err != nil && !chat:
				return a.UsageError("%w", err)
			}
			if err := a.complete(&q); err != nil {
				return err
			}
			if chat {
				return a.chat(cmd.Context(), q)
			}
			if question == "-" {
				if question, err = awaited(cmd.Context(), func() (string, error) { return readQuestion(a.In) }); err != nil {
					return err
				}
			}
			if err := oracle.CheckQuestion(question); err != nil {
				return a.UsageError("%w", err)
			}
			return a.ask(cmd.Context(), q, question)
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.model, "model", "", "the `MODEL` to ask, as its server calls it")
	f.StringVar(&q.baseURL, "base-url", "", "the `URL` of the model's server (default: the provider's own)")
	f.StringVar(&q.provider, "provider", "", "whose form of request the server takes, a `NAME`: openai or anthropic (default: the one there is a key for, or openai)")
	f.StringVar(&q.tools, "tools", "", "a JSON `FILE` that names MCP servers")
	f.StringVar(&q.tree, "tree", "", "a behaviour tree in a Lua `FILE`, in place of the built-in one (signalbox tree show); or react: tools until no tool is called")
	f.StringVar(&q.prompts, "prompts", "", "a `DIRECTORY` with texts in place of the built-in prompts (base.md, code.md …)")
	f.StringVar(&q.record, "record", "", "write the question's run to this new `FILE`, so that it can be gone on with (signalbox tree resume)")
	f.StringVar(&q.continues, "continue", "", "go on from the question `ID`, or from the latest")
	f.Lookup("continue").NoOptDefVal = api.LatestConversation
	f.IntVar(&list, "list", 0, "ask nothing, and list the latest `NUMBER` of questions")
	f.Lookup("list").NoOptDefVal = "20"
	f.StringVar(&q.user, "user", "", "who asks: an `ID` that is recorded with the question")
	f.StringVar(&q.project, "project", "", "what it is about: an `ID` that is recorded with the question")
	q.liveFlags(f)
	return cmd
}

// liveFlags are those of a question that goes on as well as of one that begins.
func (q *asking) liveFlags(f *pflag.FlagSet) {
	f.StringArrayVar(&q.allow, "allow", nil, "let the model call the `TOOL`, which changes something, without asking (again for each tool)")
	f.BoolVar(&q.trace, "trace", false, "show the tree's run on standard error, tick by tick, with signals and events")
}

// complete fills in what the flags leave out.
func (a *app) complete(q *asking) error {
	q.model = cmp.Or(q.model, os.Getenv("SIGNALBOX_MODEL"))
	q.baseURL = cmp.Or(q.baseURL, os.Getenv("SIGNALBOX_BASE_URL"))
	q.tools = cmp.Or(q.tools, os.Getenv("SIGNALBOX_TOOLS"))
	q.provider = cmp.Or(q.provider, os.Getenv("SIGNALBOX_PROVIDER"))
	if q.provider == "" {
		q.provider = string(model.OpenAI)
		if os.Getenv(keyVariables[model.OpenAI]) == "" && os.Getenv(keyVariables[model.Anthropic]) != "" {
			q.provider = string(model.Anthropic)
		}
	}
	if _, ok := keyVariables[model.Provider(q.provider)]; !ok {
		return a.UsageError("--provider is openai or anthropic, and not %s", safetext.Escape(q.provider))
	}
	if q.model == "" {
		return a.UsageError("which model? Name it with --model, or set SIGNALBOX_MODEL")
	}
	return nil
}

// keyVariables are where the providers' keys are.
var keyVariables = map[model.Provider]string{model.OpenAI: "OPENAI_API_KEY", model.Anthropic: "ANTHROPIC_API_KEY"}

// asker is what questions are asked with, one after the other.
type asker struct {
	*app
	with     asking
	settings oracle.Settings
	book     *ledgerBook
	view     *askView
}

// openAsker opens what questions need. It is open until it is closed.
func (a *app) openAsker(ctx context.Context, q asking) (_ *asker, closeIt func(), err error) {
	// Who reads the answer may go away; what happened is recorded all the same.
	signal.Ignore(syscall.SIGPIPE)
	if _, err := box.Dir(a.dir).Verifier(); q.continues != "" && errors.Is(err, box.ErrNoDir) {
		return nil, nil, fmt.Errorf("there is nothing to go on from: no box is in %s. `signalbox ask` without --continue makes one", safetext.Escape(a.dir))
	}
	v := &askView{app: a, text: &inertText{to: a.Out}, tracing: q.trace, stop: func() {}}
	settings, err := a.oracleSettings(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	settings.Subscribe = v.event
	if q.trace {
		settings.Trace = v.trace
	}
	tools, err := a.openTools(ctx, q.tools)
	if err != nil {
		return nil, nil, err
	}
	closeTools := func() { _ = tools.Close() } // its processes are ended in any case
	for _, warning := range tools.Warnings() {
		a.remark(command.Yellow, warning)
	}
	for _, name := range q.allow {
		if err := tools.Has(name); err != nil {
			closeTools()
			return nil, nil, a.UsageError("--allow: %w", err)
		}
	}
	settings.Tools = tools
	settings.Approve = oracle.AllowListed(q.allow, v.approve(tools.Tools()))
	book, closeBook, err := a.openBook(ctx, q)
	if err != nil {
		closeTools()
		return nil, nil, err
	}
	settings.Ledger, v.book = book, book
	return &asker{app: a, with: q, settings: settings, book: book, view: v}, func() { closeBook(); closeTools() }, nil
}

// ask answers a question.
func (a *app) ask(ctx context.Context, q asking, question string) error {
	x, closeIt, err := a.openAsker(ctx, q)
	if err != nil {
		return err
	}
	defer closeIt()
	if x.settings.Talk, err = x.book.talk(ctx, q); err != nil {
		return err
	}
	if q.record != "" || q.resume != "" {
		record, closeRecord, err := q.openRecord()
		if err != nil {
			return err
		}
		defer closeRecord()
		x.settings.Record = record
		if x.settings.AskedWith, err = q.with(); err != nil {
			return err
		}
	}
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	answer, err := x.answer(within, cancel, question)
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case answer.Outcome != oracle.Answered:
		return errQuiet
	}
	return nil
}

// answer has a question answered and shown. If nobody reads what is shown, it is cancelled.
func (x *asker) answer(ctx context.Context, cancel func(), question string) (oracle.Answer, error) {
	o, err := oracle.New(x.settings)
	if err != nil {
		return oracle.Answer{}, err
	}
	x.book.begin()
	x.view.begin(cancel)
	answer, err := o.Ask(ctx, question, x.view.chunk)
	if err == nil {
		err = x.view.err
	}
	if err != nil {
		return oracle.Answer{}, err
	}
	x.view.end(answer)
	return answer, nil
}

func (a *app) oracleSettings(ctx context.Context, q asking) (oracle.Settings, error) {
	s := oracle.Settings{Model: q.model}
	provider := model.Provider(q.provider)
	var err error
	s.Client, err = model.New(model.Settings{Provider: provider, BaseURL: q.baseURL, Key: os.Getenv(keyVariables[provider])})
	if err != nil && q.baseURL == "" {
		err = fmt.Errorf("%w (the key is read from %s)", err, keyVariables[provider])
	}
	if err != nil {
		return s, err
	}
	if s.Tree, err = loadTree(ctx, q.tree); err != nil {
		return s, err
	}
	if q.prompts == "" {
		s.Prompts, err = oracle.BuiltinPrompts()
	} else {
		s.Prompts, err = awaited(ctx, func() (oracle.Prompts, error) { return oracle.LoadPrompts(q.prompts) })
	}
	return s, err
}

// openTools opens the tools of a configuration, or those that are built in.
func (a *app) openTools(ctx context.Context, file string) (*toolbox.Toolbox, error) {
	waiting := time.AfterFunc(3*time.Second, func() { a.remark(command.Faint, "waiting for the MCP servers of "+safetext.Escape(file)) })
	defer waiting.Stop()
	c := toolbox.Default(".")
	if file != "" {
		var err error
		if c, err = awaited(ctx, func() (toolbox.Config, error) { return toolbox.Load(file) }); err != nil {
			return nil, err
		}
	}
	set, err := a.settings("")
	if err != nil {
		return nil, err
	}
	if c.Hidden, err = box.Dir(a.dir).Hidden(set.Archive); err != nil {
		return nil, err
	}
	return toolbox.Open(ctx, c)
}
