package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/conversation"
	"github.com/signalbox-dev/signalbox/internal/oracle"
	"github.com/signalbox-dev/signalbox/internal/oracle/model"
	"github.com/signalbox-dev/signalbox/internal/oracle/toolbox"
)

// asking is what a question is asked with.
type asking struct {
	provider, model, baseURL string
	tools, tree, prompts     string
	trace                    bool
}

func (a *app) askCommand() *cobra.Command {
	var q asking
	cmd := &cobra.Command{
		Use:   "ask [flags] QUESTION",
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
that you are in, and nothing else.

Every signal is recorded in the ledger: of the box that runs here, or of one that is opened
for the question (see --dir).

With --json each chunk is an object on a line of its own, with type (content, reasoning,
tool_call, tool_result, sources, system, error, done) and what belongs to it; the last one,
done, has the answer with its outcome. Exit codes: 0 if the question was answered, 1 if not or
only in part, 2 for wrong usage, 130 if interrupted.`,
		Example: `  signalbox ask --provider anthropic --model MODEL "where are leases renewed?"
  signalbox ask --base-url http://localhost:11434/v1 --model llama3.1 "what does the README promise?"
  signalbox ask --tools tools.json --trace "should I sell any of my silver?"`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("ask takes one question: put it in quotes")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.complete(&q); err != nil {
				return err
			}
			if err := oracle.CheckQuestion(args[0]); err != nil {
				return a.UsageError("%w", err)
			}
			return a.ask(cmd.Context(), q, args[0])
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.model, "model", "", "the `MODEL` to ask, as its server calls it")
	f.StringVar(&q.baseURL, "base-url", "", "the `URL` of the model's server (default: the provider's own)")
	f.StringVar(&q.provider, "provider", "", "whose form of request the server takes, a `NAME`: openai or anthropic (default: the one there is a key for, or openai)")
	f.StringVar(&q.tools, "tools", "", "a JSON `FILE` that names MCP servers")
	f.StringVar(&q.tree, "tree", "", "a behaviour tree in a Lua `FILE`, in place of the built-in one (signalbox tree show)")
	f.StringVar(&q.prompts, "prompts", "", "a `DIRECTORY` with texts in place of the built-in prompts (base.md, code.md …)")
	f.BoolVar(&q.trace, "trace", false, "show the tree's run on standard error, tick by tick")
	return cmd
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
		return a.UsageError("--provider is openai or anthropic, and not %s", agentsig.Escape(q.provider))
	}
	if q.model == "" {
		return a.UsageError("which model? Name it with --model, or set SIGNALBOX_MODEL")
	}
	return nil
}

// keyVariables are where the providers' keys are.
var keyVariables = map[model.Provider]string{model.OpenAI: "OPENAI_API_KEY", model.Anthropic: "ANTHROPIC_API_KEY"}

// ask answers a question.
func (a *app) ask(outer context.Context, q asking, question string) error {
	// Who reads the answer may go away; what happened is recorded all the same.
	signal.Ignore(syscall.SIGPIPE)
	ctx, cancel := context.WithCancel(outer)
	defer cancel()
	v := &askView{app: a, text: a.Out, stop: cancel}
	if a.OutTTY {
		v.inert = &inertText{to: a.Out}
		v.text = v.inert
	}
	settings, err := a.oracleSettings(ctx, q)
	if err != nil {
		return err
	}
	if q.trace {
		settings.Trace = v.trace
	}
	tools, err := a.openTools(ctx, q.tools)
	if err != nil {
		return err
	}
	defer func() { _ = tools.Close() }() // its processes are ended in any case
	for _, warning := range tools.Warnings() {
		a.remark(command.Yellow, warning)
	}
	settings.Tools = tools
	book, closeBook, err := a.openBook(ctx, q)
	if err != nil {
		return err
	}
	defer closeBook()
	settings.Ledger = book
	o, err := oracle.New(settings)
	if err != nil {
		return err
	}
	v.book = book
	answer, err := o.Ask(ctx, question, v.chunk)
	if err != nil {
		return err
	}
	if v.err != nil {
		return v.err
	}
	v.end(answer)
	switch {
	case outer.Err() != nil:
		return outer.Err()
	case answer.Outcome != oracle.Answered:
		return errQuiet
	}
	return nil
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
		s.Prompts, err = oracle.LoadPrompts(q.prompts)
	}
	return s, err
}

// openTools opens the tools of a configuration, or those that are built in.
func (a *app) openTools(ctx context.Context, file string) (*toolbox.Toolbox, error) {
	waiting := time.AfterFunc(3*time.Second, func() { a.remark(command.Faint, "waiting for the MCP servers of "+agentsig.Escape(file)) })
	defer waiting.Stop()
	c := toolbox.Default(".")
	if file != "" {
		var err error
		if c, err = toolbox.Load(file); err != nil {
			return nil, err
		}
	}
	return toolbox.Open(ctx, c)
}

// openBook opens the ledger of the box that runs here, or of one that is opened for the
// question.
func (a *app) openBook(ctx context.Context, q asking) (*ledgerBook, func(), error) {
	closeBox := func() {}
	if !a.running() {
		c, err := a.settings("")
		if err != nil {
			return nil, nil, err
		}
		own, err := a.serve(ctx, c, true, slog.New(slog.DiscardHandler))
		if err != nil {
			return nil, nil, err
		}
		closeBox = own.close
	}
	client, err := a.client(ctx, box.Dir.APIToken)
	if err != nil {
		closeBox()
		return nil, nil, err
	}
	book := &ledgerBook{app: a, client: client, provider: q.provider}
	return book, func() { client.Close(); closeBox(); book.closeBoxes() }, nil
}

// ledgerBook keeps a conversation in a box's ledger.
type ledgerBook struct {
	app      *app
	client   *api.Client
	provider string
	id       string
	lost     bool // not everything could be kept
	boxes    []*ownBox
}

// keep makes a request. The box can be another command's and end with it: then one is
// opened here.
func (b *ledgerBook) keep(ctx context.Context, request func() error) error {
	err := request()
	if api.Missing(err) {
		if err = b.openBox(ctx); err == nil {
			_, err = patiently(ctx, api.ErrNotRunning, func() (struct{}, error) { return struct{}{}, request() })
		}
	}
	b.lost = b.lost || err != nil
	return err
}

func (b *ledgerBook) openBox(ctx context.Context) error {
	c, err := b.app.settings("")
	if err != nil {
		return err
	}
	own, err := patiently(ctx, errClosing, func() (*ownBox, error) {
		own, err := b.app.serve(ctx, c, true, slog.New(slog.DiscardHandler))
		if own == nil && err == nil && !b.app.running() {
			err = errClosing
		}
		return own, err
	})
	if own != nil {
		b.boxes = append(b.boxes, own)
	}
	return err
}

var errClosing = errors.New("the box here is closing")

func (b *ledgerBook) closeBoxes() {
	for _, own := range b.boxes {
		own.close()
	}
}

func (b *ledgerBook) Asked(ctx context.Context, q oracle.Asked) error {
	return b.keep(ctx, func() error {
		c, err := b.client.Ask(ctx, api.Ask{Question: q.Question, Class: q.Class, Provider: b.provider, Model: q.Model})
		b.id = c.ID
		return err
	})
}

func (b *ledgerBook) Signalled(ctx context.Context, s oracle.Signalled) error {
	return b.keep(ctx, func() error {
		_, err := b.client.Signalled(ctx, b.id, api.NewSignalled(s.Turn, s.Signal))
		return err
	})
}

func (b *ledgerBook) Answered(ctx context.Context, a oracle.Answer) error {
	if b.id == "" {
		return nil // it ended before it was asked
	}
	return b.keep(ctx, func() error {
		_, err := b.client.Answered(ctx, b.id, api.Answered{
			Outcome: conversation.Outcome(a.Outcome), Turns: a.Turns, Signals: a.Signals,
			TokensIn: int64(a.TokensIn), TokensOut: int64(a.TokensOut), Missing: a.Missing,
		})
		return err
	})
}

// inLedger says what the ledger has.
func (b *ledgerBook) inLedger() string {
	switch {
	case b.id == "":
		return "nothing in the ledger"
	case b.lost:
		return b.id + " in the ledger, but not all of it"
	}
	return b.id + " in the ledger"
}

// askView shows what happens while a question is answered.
type askView struct {
	*app
	text    io.Writer  // where the answer goes
	inert   *inertText // it, on a terminal
	written bool       // something of the answer is on the present line
	blank   int        // line ends of the answer that are held back
	trouble string     // the last error that was shown
	book    *ledgerBook
	stop    func() // nobody reads what is written
	err     error
}

func (v *askView) note(err error) {
	v.err = cmp.Or(v.err, err)
	if err != nil {
		v.stop()
	}
}

// chunkJSON is a chunk for programs. The last one says where the ledger has it.
type chunkJSON struct {
	oracle.Chunk
	Conversation string `json:"conversation,omitempty"`
}

func (v *askView) chunk(c oracle.Chunk) {
	if v.JSON {
		j := chunkJSON{Chunk: c}
		if c.Type == oracle.Done {
			j.Conversation = v.book.id
		}
		v.note(command.WriteJSON(v.Out, j))
		return
	}
	switch c.Type {
	case oracle.Content:
		v.content(c.Text)
	case oracle.ToolCall:
		v.line(command.Faint, "  > "+agentsig.Escape(c.Tool)+" "+shorten(compact(c.Arguments)))
	case oracle.ToolResult:
		colour, word := command.Faint, size(c.Bytes)
		if c.Failed {
			colour, word = command.Yellow, "failed"
		}
		v.line(colour, "  < "+agentsig.Escape(c.Tool)+" "+word+": "+shorten(strings.TrimSpace(c.Text)))
	case oracle.System:
		text := c.Text
		if before, repeated := strings.CutSuffix(text, ": "+v.trouble); repeated && v.trouble != "" {
			text = before + "."
		}
		v.line(command.Yellow, agentsig.Escape(text))
	case oracle.Error:
		if c.Text != v.trouble { // an attempt that failed like the one before it
			v.line(command.Red, agentsig.Escape(c.Text))
		}
		v.trouble = c.Text
	case oracle.Sources:
		v.line(command.Faint, "sources: "+shorten(c.Sources))
	}
}

// compact puts arguments on one line; there may be none.
func compact(arguments string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(arguments)) != nil {
		return arguments
	}
	return strings.TrimPrefix(b.String(), "{}")
}

func size(bytes int) string {
	if bytes < 1000 {
		return fmt.Sprintf("%d bytes", bytes)
	}
	return fmt.Sprintf("%.1f KB", float64(bytes)/1000)
}

// line writes a remark on a line of its own.
func (v *askView) line(colour, text string) {
	v.freshLine()
	v.remark(colour, text)
}

// content writes a piece of the answer. Where a signal was taken out, or a turn has ended, there
// is no more than one empty line.
func (v *askView) content(text string) {
	rest := strings.TrimLeft(text, "\n")
	v.blank += len(text) - len(rest)
	if rest == "" {
		return
	}
	if lines := min(v.blank, 2); v.written {
		v.write(strings.Repeat("\n", lines))
	}
	body := strings.TrimRight(rest, "\n")
	v.blank = len(rest) - len(body)
	v.write(body)
	v.written = true
}

func (v *askView) write(text string) {
	_, err := io.WriteString(v.text, text)
	v.note(err)
}

// trace shows what a tick did.
func (v *askView) trace(text []byte) {
	v.freshLine()
	fmt.Fprint(v.Err, v.Paint(command.Faint, agentsig.EscapeLines(string(text))))
}

// freshLine ends a line of the answer that is not at its end.
func (v *askView) freshLine() {
	if v.written {
		v.write("\n")
	}
	v.written, v.blank = false, 0
}

// remark writes a line to standard error.
func (a *app) remark(colour, text string) { fmt.Fprintln(a.Err, a.Paint(colour, text)) }

// end says what it took.
func (v *askView) end(a oracle.Answer) {
	if v.JSON {
		return
	}
	if v.inert != nil {
		v.note(v.inert.Close())
	}
	v.freshLine()
	v.remark(command.Faint, fmt.Sprintf("%s in %s, %s, %d tokens in and %d out; %s",
		a.Outcome, count(a.Turns, "turn"), count(a.ToolCalls, "tool call"), a.TokensIn, a.TokensOut, v.book.inLedger()))
}
