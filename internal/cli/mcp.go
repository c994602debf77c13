package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/agentreply"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/boxtools"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/httpapi"
	"github.com/signalbox-dev/signalbox/internal/redact"
	"github.com/signalbox-dev/signalbox/internal/regular"
	"github.com/signalbox-dev/signalbox/internal/runner"
	"github.com/signalbox-dev/signalbox/internal/worktree"
	"github.com/signalbox-dev/signalbox/ledger"
	"github.com/signalbox-dev/signalbox/safetext"
)

func (a *app) mcpCommand() *cobra.Command {
	var overHTTP bool
	var name string
	var scopes []string
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Offer the box as tools to the agent you talk to",
		Long: `Mcp offers the box to an agent over the Model Context Protocol: to look at runs, tasks, diffs and logs, to check and start
plans, and to wait for a run without polling. It speaks on standard input and output, which is how agents' programs start
it themselves (signalbox plugin install tells them). Every answer says in a few lines how things stand and what to do next.

With --scope it may do more or less: read looks; operate also starts, steers and ends runs; answer also answers
questions and reviews work, which is left to you unless you name it. What it does is recorded as done by client:NAME;
with a token in ` + tokenVariable + `, by that token's client.

If a box runs in the directory, it is asked. If none runs, the box is opened for each request, and start_run starts one here,
which stays until the agent's program has left, in any way, and what it asked is answered, which takes a minute at most:
then its agents are ended, their work is kept, and signalbox run goes on.

A box that runs offers the same over HTTP, to those who have a token; --http says where, and how to get one.`,
		Example: `  signalbox mcp
  signalbox mcp --scope read,operate,answer --name claude
  signalbox mcp --http`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if overHTTP {
				return a.sayTools(cmd.Context())
			}
			own, err := toolScopes(scopes)
			if err = errors.Join(err, access.CheckName(name)); err != nil {
				return a.UsageError("%v", err)
			}
			return a.serveTools(cmd.Context(), name, own)
		},
	}
	cmd.Flags().BoolVar(&overHTTP, "http", false, "say where the running box offers the tools over HTTP, and how to get a token")
	cmd.Flags().StringSliceVar(&scopes, "scope", strings.Split(access.Words(defaultScopes, ","), ","), "what it `MAY` do: read, operate, answer")
	cmd.Flags().StringVar(&name, "name", defaultClient, "the `NAME` that what it does is recorded under")
	return cmd
}

// toolScopes reads the scopes that tools are for.
func toolScopes(names []string) (all []access.Scope, err error) {
	for _, name := range names {
		all = append(all, access.Scope(strings.TrimSpace(name)))
	}
	if access.CheckScopes(all) != nil || slices.Contains(all, access.Metrics) { // the tools have no use for metrics
		return nil, fmt.Errorf("--scope %.40s: it takes read, operate and answer, at least one, each once", safetext.Escape(strings.Join(names, ",")))
	}
	return all, nil
}

// sayTools says where the tools are to be had over HTTP.
func (a *app) sayTools(ctx context.Context) error {
	c, err := a.client(ctx, box.Dir.APIToken)
	if err != nil {
		return err
	}
	c.Close()
	address, err := box.Dir(a.dir).Address()
	if err != nil {
		return a.explain(err)
	}
	url := "http://" + address + httpapi.ToolsPath
	const how = "signalbox token create --name NAME --scope read,operate"
	if a.JSON {
		return command.WriteJSON(a.Out, map[string]string{"url": url, "header": "Authorization: Bearer TOKEN", "token": how})
	}
	fmt.Fprintf(a.Out, "%s\nEach request needs the header Authorization: Bearer TOKEN; `%s` makes a token.\n", url, how)
	return nil
}

// serveTools offers the tools on standard input and output.
func (a *app) serveTools(ctx context.Context, name string, scopes []access.Scope) error {
	if a.InTTY {
		fmt.Fprintln(a.Err, "signalbox: an agent's program speaks here, on standard input; Ctrl-C ends it")
	}
	a.JSON = false // standard output is the protocol's alone
	a.Served = true
	// A client that was killed reads nothing any more, and what it has started is ended all the same.
	signal.Ignore(syscall.SIGPIPE)
	h := &toolHost{app: a, serving: ctx, name: name, scopes: scopes}
	logger := slog.New(slog.NewTextHandler(a.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	err := boxtools.New(h, boxtools.Options{Scopes: scopes, Version: command.BuildVersion().Version, Logger: logger}).
		ServeStdio(ctx, io.NopCloser(a.In), a.Out)
	h.close(context.WithoutCancel(ctx))
	return err
}

// toolsHandler offers the tools of the box in the directory over HTTP, to the clients that it knows.
func (a *app) toolsHandler(logger *slog.Logger) http.Handler {
	who := func(r *http.Request) (boxtools.Client, bool) {
		p := httpapi.Asks(r)
		switch p.Kind {
		case access.Client:
			return boxtools.Client{Name: p.Name, Scopes: p.Scopes}, true
		case access.Owner: // who names no client, and so no scopes
			return boxtools.Client{Name: defaultClient, Scopes: defaultScopes}, true
		}
		return boxtools.Client{}, false
	}
	host := func(c boxtools.Client) boxtools.Host {
		return &toolHost{app: a, resident: true, name: c.Name, scopes: c.Scopes}
	}
	if logger != nil {
		logger = slog.New(warnings{logger.Handler()})
	}
	return boxtools.Handler(who, host, boxtools.Options{Version: command.BuildVersion().Version, Logger: logger})
}

// warnings passes on warnings and errors alone: the protocol's library has a line for each request.
type warnings struct{ slog.Handler }

func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}

func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs)}
}

func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.Handler.WithGroup(name)} }

// Who calls the tools, and what they may do, if nothing else is said.
const defaultClient = "mcp"

var defaultScopes = []access.Scope{access.Read, access.Operate}

// toolHost is where tools find the box of a directory.
type toolHost struct {
	app      *app
	serving  context.Context // for as long as the tools are offered
	resident bool            // the tools are in the box's own process: it is there, and no other is opened or started
	name     string          // of the client
	scopes   []access.Scope

	mu      sync.Mutex
	own     *ownBox // that start_run started; nil if it has not
	started string  // the run that was started last
}

// caller is the app of one call. Nothing of it is printed but to a writer of its own.
func (h *toolHost) caller(out io.Writer) *app {
	a := *h.app
	a.Out, a.JSON, a.Color, a.OutTTY, a.InTTY, a.Live = out, false, false, false, false, false
	a.inBox = h.resident
	return &a
}

// With implements [boxtools.Host].
func (h *toolHost) With(ctx context.Context, change bool, do func(boxtools.Box) error) error {
	a := h.caller(io.Discard)
	call := func(c *api.Client) (struct{}, error) { return struct{}{}, do(h.as(c)) }
	var err error
	switch {
	case h.resident:
		_, err = ask(ctx, a, a.token, call)
	case change:
		_, err = operate(ctx, a, call)
	default:
		_, err = look(ctx, a, call)
	}
	if _, none := box.Dir(a.dir).Verifier(); err != nil && errors.Is(none, box.ErrNoDir) {
		return &api.Problem{Code: api.CodeNotFound, Message: "no plan was delivered here yet: check one, then start it"}
	}
	return err
}

// as is a client of the box that speaks for the client of the tools; one with a token of its own speaks for itself.
func (h *toolHost) as(c *api.Client) *api.Client {
	if !h.resident && os.Getenv(tokenVariable) != "" {
		return c
	}
	return c.For(h.name, h.scopes...)
}

// Running implements [boxtools.Host].
func (h *toolHost) Running() bool { return h.app.running() }

// setUp returns the settings if they can deliver a plan. A box that runs has its own.
func (a *app) setUp() (config.Config, error) {
	c, err := a.settings("")
	if err == nil && !a.running() {
		if err = a.haveAgents(c); err != nil {
			err = fmt.Errorf("%w: %w", agentreply.ErrNotSetUp, err)
		}
	}
	return c, err
}

// Check implements [boxtools.Host].
func (h *toolHost) Check(ctx context.Context, q api.StartRun) (api.Run, error) {
	a := h.caller(io.Discard)
	c, err := a.setUp()
	if err != nil {
		return api.Run{}, err
	}
	return a.preview(ctx, c, q)
}

// Start implements [boxtools.Host].
func (h *toolHost) Start(ctx context.Context, q api.StartRun) (api.Run, error) {
	a := h.caller(io.Discard)
	c, err := a.setUp()
	if err == nil && !h.resident { // a client that may not start a run does not start a box either, which would go on with others
		_, err = a.preview(ctx, c, q)
	}
	if err != nil {
		return api.Run{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !a.running() && !h.resident {
		h.own.close() // it stopped by itself
		if h.own, err = h.app.ownBox(h.serving, c); err != nil {
			return api.Run{}, err
		}
	}
	client, err := a.client(ctx, a.token)
	if err != nil {
		return api.Run{}, err
	}
	defer client.Close()
	if q.Settings, err = a.settingsMeant(ctx, client, c); err != nil {
		return api.Run{}, err
	}
	r, err := h.as(client).Deliver(ctx, q)
	if err == nil {
		h.started = r.ID
	}
	return r, a.explain(err)
}

// close ends the box that was started here, and says what becomes of its run.
func (h *toolHost) close(ctx context.Context) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.own == nil {
		return
	}
	h.own.drain(ctx)
	h.own.close()
	if h.started != "" {
		fmt.Fprintln(h.app.Err, h.own.parting(h.started))
	}
}

// ReadPlan implements [boxtools.Host].
func (h *toolHost) ReadPlan(_ context.Context, path string) (text []byte, at string, err error) {
	a := h.caller(io.Discard)
	c, err := a.settings("")
	if err != nil {
		return nil, "", err
	}
	if filepath.IsAbs(path) {
		if path, err = filepath.Rel(followed(c.Dir), followed(path)); err != nil {
			return nil, "", unreadable(err)
		}
	}
	hidden, err := box.Dir(a.dir).Hidden(c.Archive)
	if err != nil {
		return nil, "", err
	}
	text, err = regular.ReadBelow(c.Dir, path, api.MaxPlan, append(hidden, filepath.Join(c.Dir, ".git"))...)
	return text, followed(filepath.Join(c.Dir, path)), unreadable(err)
}

// unreadable says of a plan's file that it is not there, or is not one that may be read.
func unreadable(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return &api.Problem{Code: api.CodeNotFound, Message: err.Error()}
	}
	return &api.Problem{Code: api.CodeInvalid, Message: err.Error() + "; a plan is read from a regular file of the repository"}
}

// Diff implements [boxtools.Host].
func (h *toolHost) Diff(ctx context.Context, task string, to io.Writer) error {
	a := h.caller(to)
	t, err := look(ctx, a, func(c *api.Client) (taskState, error) { return taskOf(ctx, c, task) })
	if err != nil {
		return err
	}
	return a.withWork(ctx, t, func(_ runner.Site, changes *runner.Changes) error {
		fmt.Fprintln(to, shownWords(t, changes))
		written := &counted{to: to}
		err := changes.Diff(ctx, worktree.Diff{}, written)
		if err == nil && written.n == 0 {
			fmt.Fprintln(to, nothingWords(diffOptions{}, t.work.Settled))
		}
		return err
	})
}

// Log implements [boxtools.Host]. Transcripts are as they were said, for the box's owner alone: the tools' clients get them without secrets.
func (h *toolHost) Log(ctx context.Context, name string, to io.Writer) error {
	shown := &withoutSecrets{to: to}
	a := h.caller(shown)
	c, err := a.settings("") // which list secrets
	if err != nil {
		return err
	}
	l, err := look(ctx, a, func(c *api.Client) (*logs, error) { return newLogs(ctx, a, c, name, false) })
	if err != nil {
		return err
	}
	if shown.secrets, err = box.Dir(a.dir).Redactor(c.Redact); err != nil {
		return err
	}
	if err := l.print(); err != nil {
		return err
	}
	l.endLine()
	return shown.flush()
}

// withoutSecrets passes on what is written, less the secrets in it, in pieces that end with a line.
type withoutSecrets struct {
	to      io.Writer
	secrets *redact.Redactor
	held    []byte
}

// heldText is how long a piece is, in bytes: a secret of several lines is found unless a piece ends in it.
const heldText = 1 << 20

func (w *withoutSecrets) Write(p []byte) (int, error) {
	w.held = append(w.held, p...)
	end := bytes.LastIndexByte(w.held, '\n') + 1
	if len(w.held) < heldText || end == 0 {
		return len(p), nil
	}
	return len(p), w.pass(end)
}

func (w *withoutSecrets) flush() error { return w.pass(len(w.held)) }

func (w *withoutSecrets) pass(end int) error {
	_, err := w.to.Write(w.secrets.Bytes(w.held[:end]))
	w.held = append([]byte(nil), w.held[end:]...)
	return err
}

// Plan implements [boxtools.Host].
func (h *toolHost) Plan(ctx context.Context, run string, to io.Writer) error {
	a := h.caller(to)
	plan, err := look(ctx, a, func(c *api.Client) (ledger.Blob, error) { return planOf(ctx, c, run) })
	if err != nil {
		return err
	}
	dir, err := a.archiveDir(place{})
	if err != nil {
		return err
	}
	text, err := archive.Dir(dir).ReadFile(ledger.BlobPath(plan.SHA256))
	if err != nil {
		return err
	}
	if ledger.NewBlob(text) != plan {
		return fmt.Errorf("the plan of %s is not what was recorded: `signalbox ledger verify` says more", safetext.Escape(run))
	}
	_, err = to.Write(text)
	return err
}

// planOf finds the plan of a run, as it was handed in or amended last.
func planOf(ctx context.Context, c *api.Client, name string) (plan ledger.Blob, err error) {
	r, err := c.Run(ctx, name)
	if err != nil {
		return plan, err
	}
	err = c.Events(ctx, r.ID, 0, false, func(stored api.Event) error {
		e, err := ledger.Decode(stored.Event)
		if err != nil || !slices.Contains([]string{delivery.RunStarted, delivery.PlanAmended}, e.Type) {
			return err
		}
		var p struct {
			Plan ledger.Blob `json:"plan"`
		}
		err = json.Unmarshal(e.Payload, &p)
		plan = p.Plan
		return err
	})
	return plan, err
}

// Prove implements [boxtools.Host].
func (h *toolHost) Prove(ctx context.Context, sequence int64) (ledger.Proof, string, error) {
	return h.caller(io.Discard).proveEvent(ctx, sequence, place{})
}

// Replies implements [boxtools.Host].
func (h *toolHost) Replies() string { return filepath.Join(h.app.dir, agentreply.Directory) }
