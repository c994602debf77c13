package toolbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/signalbox-dev/signalbox/internal/process"
	"github.com/signalbox-dev/signalbox/internal/redact"
	"github.com/signalbox-dev/signalbox/safetext"
)

const (
	maxMessage = 16 << 20 // bytes of one message from a server
	maxListed  = 1000     // tools of one server that are looked at
	maxPages   = 100      // of a server's list of tools
	maxSchema  = 32 << 10 // bytes

	maxWarnings = 20              // about one server
	settleTime  = time.Second / 2 // for a connection that breaks to be seen broken
	exitTime    = time.Second     // that a server has to end by itself, and once more after it was told to

	// rejected is the code by which the SDK says that a message was not sent or not taken.
	rejected = -32005
)

// ServerError says why an MCP server can't be used.
type ServerError struct {
	Server string // its name in the configuration
	Text   string // what happened, what it printed last, and what to do; safe to print
	Err    error  // what it came from
}

func (e *ServerError) Error() string { return "the MCP server " + quote(e.Server) + " " + e.Text }

func (e *ServerError) Unwrap() error { return e.Err }

// link is what carries the messages to and from a server.
type link interface {
	transport() mcp.Transport
	// ended says how the server came to its end, if it did; it waits a moment for it.
	ended(context.Context) string
	// printed is the end of what a program has printed beside its messages, and what is
	// known of an address's last answer.
	printed() string
	// close ends the session, if there is one, and everything that the link is made of. It
	// may be called again.
	close(*mcp.ClientSession)
}

// connection is a session with a server.
type connection struct {
	link
	session *mcp.ClientSession
	gone    chan struct{} // closed when the session has ended
}

// server is one server of the configuration, with its connection.
type server struct {
	name    string
	config  Server
	secrets *strings.Replacer
	redact  *redact.Redactor
	calls   sync.WaitGroup // that were sent, or are being sent
	turn    chan struct{}  // holds one; who takes it may use what is below
	current *connection    // nil if there is none
}

func newServer(name string, c Server) (*server, error) {
	r, err := redact.New(nil)
	if err != nil {
		return nil, err
	}
	c.Timeout = cmp.Or(c.Timeout, defaultTime)
	var pairs []string
	for _, secret := range c.hidden() {
		pairs = append(pairs, secret, "[hidden]")
	}
	s := &server{name: name, config: c, secrets: strings.NewReplacer(pairs...), redact: r, turn: make(chan struct{}, 1)}
	s.turn <- struct{}{}
	return s, nil
}

// connected returns the server's connection, made anew if there is none or if it has ended.
func (s *server) connected(ctx context.Context) (*connection, error) {
	select {
	case <-s.turn:
		defer func() { s.turn <- struct{}{} }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if s.current != nil {
		select {
		case <-s.current.gone:
			s.current.end()
		default:
			return s.current, nil
		}
	}
	c, err := s.connect(ctx)
	s.current = c
	return c, err
}

func (s *server) connect(ctx context.Context) (*connection, error) {
	l, err := s.open()
	if err != nil {
		text := "can't be started: " + s.safe(err.Error())
		if !errors.Is(err, process.ErrNoGroups) {
			text += ": install it, or correct its command in the configuration"
		}
		return nil, &ServerError{s.name, text, err}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "signalbox", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	hurry := context.AfterFunc(ctx, func() { l.close(nil) }) // the SDK would take its time to give up
	session, err := client.Connect(ctx, l.transport(), nil)
	if !hurry() && err == nil {
		l.close(session)
		err = context.Cause(ctx)
	}
	if err != nil {
		err = s.explain(ctx, l, err, "before it answered")
		l.close(nil)
		return nil, err
	}
	c := &connection{link: l, session: session, gone: make(chan struct{})}
	go func() {
		_ = session.Wait() // the calls that it fails say why
		close(c.gone)
	}()
	return c, nil
}

func (s *server) open() (link, error) {
	if s.config.URL != "" {
		return openHTTP(s.config), nil
	}
	return openStdio(s.config)
}

// end ends a connection.
func (c *connection) end() {
	c.close(c.session)
	<-c.gone
}

// over reports whether a connection that failed a call has ended. That it has may take a
// moment to show.
func (c *connection) over() bool {
	select {
	case <-c.gone:
		return true
	case <-time.After(settleTime):
		return false
	}
}

// close ends the connection. No call is running, and none comes.
func (s *server) close() {
	if s.current != nil {
		s.current.end()
	}
	s.calls.Wait()
}

// send makes one call. It does not outlast ctx, also if the server does not take what it
// is sent.
func (s *server) send(ctx context.Context, c *connection, tool string, arguments json.RawMessage) (*mcp.CallToolResult, error) {
	done := make(chan struct{})
	var answer *mcp.CallToolResult
	var err error
	s.calls.Go(func() {
		defer close(done)
		answer, err = c.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	})
	select {
	case <-done:
		return answer, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// errTime is why a server's time is over, as against the caller's.
var errTime = errors.New("the server's time is over")

// refusal returns the error that a server has answered with, if it has answered.
func refusal(err error) (*jsonrpc.Error, bool) {
	var e *jsonrpc.Error
	return e, errors.As(err, &e) && e.Code != rejected
}

// explain puts into words why a server did not answer as it should.
func (s *server) explain(ctx context.Context, l link, err error, when string) error {
	if cause := context.Cause(ctx); errors.Is(cause, errTime) {
		return &ServerError{s.name, fmt.Sprintf("did not answer within %s: give it a longer timeout in the configuration, or find out what it waits for%s", s.config.Timeout, s.last(l)), cause}
	} else if cause != nil {
		return &ServerError{s.name, "was not waited for: " + cause.Error(), cause}
	}
	answer, answered := refusal(err)
	if answered {
		return &ServerError{s.name, "answered with an error: " + s.safe(answer.Message) + s.last(l), err}
	}
	if end := l.ended(ctx); end != "" {
		return &ServerError{s.name, end + " " + when + ": run its command by hand to see why, or take it out of the configuration" + s.last(l), err}
	}
	if s.config.URL == "" {
		return &ServerError{s.name, "can't be understood " + when + ": " + s.safe(err.Error()) + ": see that its command is that of an MCP server" + s.last(l), err}
	}
	var request *url.Error // has the whole address, which may hold secrets
	if errors.As(err, &request) {
		err = request.Err
	}
	text := "did not answer: " + s.safe(err.Error()) + ": see that it runs, and that its url and headers are right in the configuration; its last answer was " + s.safe(l.printed())
	return &ServerError{s.name, text, err}
}

// safe makes a text from a server fit for an error.
func (s *server) safe(text string) string {
	return cutRunes(safetext.Escape(s.redact.Text(s.secrets.Replace(text))), 300)
}

// last tells what a program has printed last, in lines of its own.
func (s *server) last(l link) string {
	if s.config.URL != "" {
		return ""
	}
	const lines, characters = 10, 1000 // of it
	text := s.redact.Text(s.secrets.Replace(strings.TrimSpace(l.printed())))
	all := strings.Split(safetext.EscapeLines(clean(text)), "\n")
	all = all[max(0, len(all)-lines):]
	runes := []rune(strings.Join(all, "\n  "))
	if len(runes) == 0 {
		return ""
	}
	said := string(runes[max(0, len(runes)-characters):])
	return "; it printed last:\n  " + said
}

// listing is a server's tools with their own names, by these, and what was left out.
type listing struct {
	server   string
	tools    []entry
	warnings []string
}

// list asks the server for its tools.
func (s *server) list(ctx context.Context) (listing, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.config.Timeout, errTime)
	defer cancel()
	l := listing{server: s.name}
	warn := func(format string, args ...any) {
		l.warnings = append(l.warnings, fmt.Sprintf("the MCP server %s: ", quote(s.name))+fmt.Sprintf(format, args...))
	}
	c, err := s.connected(ctx)
	if err != nil {
		return l, err
	}
	names, params := map[string]bool{}, &mcp.ListToolsParams{}
	for page := 0; ; page++ {
		answer, err := c.session.ListTools(ctx, params)
		if e, ok := refusal(err); ok && e.Code == jsonrpc.CodeMethodNotFound {
			warn("it has no tools")
			break
		}
		if err != nil {
			return l, s.explain(ctx, c, err, "when it was asked for its tools")
		}
		for _, t := range answer.Tools {
			schema, wrong := schemaOf(t.InputSchema)
			switch {
			case wrong != "":
				warn("its tool %s is left out, for the schema of its arguments %s", quote(t.Name), wrong)
			case names[t.Name]:
				warn("it has two tools %s, of which the first is used", quote(t.Name))
			default:
				names[t.Name] = true
				l.tools = append(l.tools, s.entry(t, schema))
			}
		}
		if params.Cursor = answer.NextCursor; params.Cursor == "" {
			break
		}
		if len(l.tools)+len(l.warnings) > maxListed || page == maxPages {
			warn("it has more than %d tools, or more than %d pages of them: the rest is not looked at", maxListed, maxPages)
			break
		}
	}
	slices.SortFunc(l.tools, func(a, b entry) int { return strings.Compare(a.Name, b.Name) })
	if over := len(l.warnings) - maxWarnings; over > 0 {
		l.warnings = l.warnings[:maxWarnings]
		warn("there are %d more warnings", over)
	}
	return l, nil
}

// schemaOf returns the schema of a tool's arguments, or says what is wrong with it. One
// that models' vendors refuse would make them refuse every question.
func schemaOf(v any) (schema json.RawMessage, wrong string) {
	if v == nil {
		return json.RawMessage(`{"type":"object"}`), ""
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, "is no JSON object"
	}
	object = maps.Clone(object)
	if _, ok := object["type"]; !ok {
		object["type"] = "object"
	}
	if object["type"] != "object" {
		return nil, "is not that of an object"
	}
	if p, ok := object["properties"]; ok {
		if _, ok := p.(map[string]any); !ok {
			return nil, "has properties that are no JSON object"
		}
	}
	data, err := json.Marshal(object)
	if err != nil || len(data) > maxSchema {
		return nil, fmt.Sprintf("has more than %d bytes", maxSchema)
	}
	return data, ""
}

func (s *server) entry(t *mcp.Tool, schema json.RawMessage) entry {
	tool := Tool{Name: t.Name, Description: cutRunes(clean(cmp.Or(t.Description, t.Title)), maxDescription-1), Schema: schema, Server: s.name, ReadOnly: readOnly(t.Annotations)}
	return entry{tool, func(ctx context.Context, arguments json.RawMessage) Result {
		ctx, cancel := context.WithTimeoutCause(ctx, s.config.Timeout, errTime)
		defer cancel()
		return s.call(ctx, t.Name, arguments)
	}}
}

// readOnly reports whether a server says of a tool that it changes nothing. A server that says
// nothing, or that contradicts itself, has not said so.
func readOnly(hints *mcp.ToolAnnotations) bool {
	return hints != nil && hints.ReadOnlyHint && (hints.DestructiveHint == nil || !*hints.DestructiveHint)
}

// call calls a tool by the name that the server has for it.
func (s *server) call(ctx context.Context, tool string, arguments json.RawMessage) Result {
	for again := false; ; again = true {
		c, err := s.connected(ctx)
		if err != nil {
			return s.failure(ctx, tool, err)
		}
		answer, err := s.send(ctx, c, tool, arguments)
		refused, isAnswer := refusal(err)
		switch {
		case err == nil && answer.IsError:
			return Result{Text: textOf(answer), Failed: true}
		case err == nil:
			return Result{Text: textOf(answer), Sources: []string{s.name}}
		case ctx.Err() != nil:
			return unknown(s.failure(ctx, tool, err))
		case isAnswer:
			return failed("%s", refused.Message)
		}
		over := c.over()
		switch {
		case errors.Is(err, mcp.ErrSessionMissing) && !again:
			// The server has forgotten the session, so it has not looked at the call.
		case !over && s.config.URL == "":
			return unknown(failed("the MCP server %s answered what can't be understood: %s", quote(s.name), s.safe(err.Error())))
		default:
			return unknown(s.failure(ctx, tool, s.explain(ctx, c, err, "during the call, so it is not known whether the tool has done its work")))
		}
	}
}

// unknown marks the result of a call that was sent and not answered.
func unknown(r Result) Result {
	r.Unknown = true
	return r
}

// failure says why a tool did not answer.
func (s *server) failure(ctx context.Context, tool string, err error) Result {
	var known *ServerError
	switch cause := context.Cause(ctx); {
	case cause == nil && errors.As(err, &known):
		return failed("%s", known)
	case cause == nil:
		return failed("%s", s.safe(err.Error()))
	case errors.Is(cause, errTime):
		return failed("the tool %s of the MCP server %s did not answer within its time of %s", quote(tool), quote(s.name), s.config.Timeout)
	default:
		return failed("the call of %s was cancelled: %s", quote(tool), cause)
	}
}
