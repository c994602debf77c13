// Package mcpserver offers the two tools to agents over the Model Context Protocol: on standard
// input and output, and over HTTP on the own machine.
//
// A call is answered with one JSON object, as structured content and as text. Errors come the
// same way, in the format that was asked for, so that an agent can read them and try again. A
// file that a call wrote is linked in its answer, and can be read through the server for as long
// as the server runs; no other file can.
package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitsignal"
	"github.com/signalbox-dev/signalbox/internal/portfolio/harvest"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"
)

// Tools are what the server offers. They are called concurrently.
type Tools interface {
	CheckExitSignals(ctx context.Context, p exitsignal.Params) reply.Reply
	SuggestTaxLossHarvest(ctx context.Context, p harvest.Params) reply.Reply
}

// Options of a server. The zero value serves the own machine and logs nothing.
type Options struct {
	// Hosts are the names and addresses, without ports, by which other machines may reach the
	// server. There is no password: who reaches it reads the portfolio.
	Hosts []string
	// Logger must not write to standard output when that carries the protocol. At its level
	// Info there are lines for every connection.
	Logger *slog.Logger
}

// Server answers MCP clients. One server serves any number of them, on any transport.
type Server struct {
	tools  Tools
	hosts  []string
	logger *slog.Logger
	mcp    *mcp.Server
	files  files
	slots  chan struct{} // one for each call that is worked on
}

// maxCalls is how many calls are worked on at once; others wait. Each holds the whole history.
const maxCalls = 4

const instructions = "Exit signals and tax-loss harvesting from the user's own files, offline; nothing is traded. " +
	"Prefer format=agent for a verdict with flags, and output=file when every detail is needed."

// New makes a server of the tools. The version is what clients are told.
func New(t Tools, version string, o Options) *Server {
	s := &Server{tools: t, logger: o.Logger, slots: make(chan struct{}, maxCalls)}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	for _, host := range o.Hosts {
		s.hosts = append(s.hosts, strings.ToLower(host))
	}
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: "portfolio", Title: "Portfolio", Version: version}, &mcp.ServerOptions{
		Instructions: instructions,
		Logger:       s.logger,
		// A file comes up only in the answer to a call, which links it, so nobody is notified.
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}, Resources: &mcp.ResourceCapabilities{}},
		// Unsaid, it would be public: anyone on the way could keep what somebody owns.
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope = "private" },
	})
	s.files.server = s.mcp
	s.mcp.AddReceivingMiddleware(s.files.refuseUnknown)
	s.mcp.AddTool(definition(exitSignals), s.handler(exitSignals, s.exitSignals))
	s.mcp.AddTool(definition(taxLossHarvest), s.handler(taxLossHarvest, s.taxLossHarvest))
	return s
}

// call is a tool with its arguments.
type call struct {
	format, output string
	run            func(ctx context.Context, format, output string) reply.Reply
	fail           func(error) reply.Reply
}

func (s *Server) exitSignals(a *arguments) call {
	p := exitsignal.Params{
		Ticker: a.text("ticker"), Shares: a.number("shares"), AccountID: a.text("account_id"),
		AsOf: a.date("as_of"), Format: a.choice("format"), Output: a.choice("output"),
	}
	return call{
		format: p.Format, output: p.Output,
		run: func(ctx context.Context, format, output string) reply.Reply {
			p := p
			p.Format, p.Output = format, output
			return s.tools.CheckExitSignals(ctx, p)
		},
		fail: func(err error) reply.Reply {
			return exitsignal.Reply(exitsignal.Failed(p.Ticker, err), p, agentformat.File{})
		},
	}
}

func (s *Server) taxLossHarvest(a *arguments) call {
	p := harvest.Params{
		MinLoss: a.number("min_loss"), SortBy: a.choice("sort_by"), AccountID: a.text("account_id"),
		AsOf: a.date("as_of"), Format: a.choice("format"), Output: a.choice("output"),
	}
	return call{
		format: p.Format, output: p.Output,
		run: func(ctx context.Context, format, output string) reply.Reply {
			p := p
			p.Format, p.Output = format, output
			return s.tools.SuggestTaxLossHarvest(ctx, p)
		},
		fail: func(err error) reply.Reply { return harvest.Reply(harvest.Failed(err), p, agentformat.File{}) },
	}
}

// errFault is all that a client is told of a panic; the log has the rest.
var errFault = errors.New("the program has a fault and could not finish this call; its log says more")

// handler answers the calls of one tool. What goes wrong is an answer too, never a protocol
// error, which an agent would not see.
func (s *Server) handler(t tool, read func(*arguments) call) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ctx, done := endWithCarrier(ctx)
		defer done()
		a := readArguments(req.Params.Arguments, t.input)
		c := read(a)
		err := a.problem()
		if err == nil {
			var result *mcp.CallToolResult
			if result, err = s.guarded(ctx, t.name, c); err == nil {
				return result, nil
			}
		}
		return s.result(c.fail(err))
	}
}

// guarded answers the call, and makes a panic an error, so that one call does not end the server.
func (s *Server) guarded(ctx context.Context, tool string, c call) (result *mcp.CallToolResult, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.logger.Error("a tool panicked", "tool", tool, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			result, err = nil, errFault
		}
	}()
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return s.answer(ctx, c)
}

// maxInline is how long a full result may be as an answer: about 10,000 tokens.
const maxInline = 40 << 10

// answer runs the call. Instead of a full result that would fill an agent's context it gives the
// summary, and says where the rest is to be had.
func (s *Server) answer(ctx context.Context, c call) (*mcp.CallToolResult, error) {
	answered := c.run(ctx, c.format, c.output)
	body, err := object(answered.Body)
	if err != nil {
		return nil, err
	}
	if c.format != reply.FormatFull || len(body) <= maxInline {
		return s.result(answered)
	}
	summary := c.run(ctx, reply.FormatSummary, reply.OutputInline)
	note := fmt.Sprintf("The full result is %d KB, over the %d KB that are answered inline; this is the summary. ", len(body)>>10, maxInline>>10)
	switch {
	case answered.FilePath != "":
		note += "The rest is in the file."
	case c.output == reply.OutputFile:
		note += "The file with the rest could not be written."
	default:
		note += "Call again with output=file for the rest."
	}
	if summary.Body, err = noted(summary.Body, note, body); err != nil {
		return nil, err
	}
	summary.FilePath = answered.FilePath
	return s.result(summary)
}

// result is a reply as MCP has it.
func (s *Server) result(r reply.Reply) (*mcp.CallToolResult, error) {
	body, err := object(r.Body)
	if err != nil {
		return nil, err
	}
	result := &mcp.CallToolResult{
		IsError:           r.Failed,
		StructuredContent: json.RawMessage(body),
		Content:           []mcp.Content{&mcp.TextContent{Text: string(body)}},
	}
	if r.FilePath != "" {
		link, err := s.files.link(r.FilePath)
		if err != nil {
			return nil, err
		}
		result.Content = append(result.Content, link)
	}
	return result, nil
}

// object is the body as compact JSON. It has to be an object with a status, as the output schema
// says.
func object(body any) ([]byte, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("the result can't be written as JSON: %w", err)
	}
	var head struct {
		Status *string `json:"status"`
	}
	if err := json.Unmarshal(data, &head); err != nil || head.Status == nil {
		return nil, errors.New("the result is no JSON object with a status: the program has a fault")
	}
	return data, nil
}

// noted is the summary with a note, and with what the full result says of its file.
func noted(summary any, note string, full []byte) (any, error) {
	data, err := object(summary)
	if err != nil {
		return nil, err
	}
	var keys, fullKeys map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(data, &keys), json.Unmarshal(full, &fullKeys)); err != nil {
		return nil, err
	}
	for _, name := range []string{"file_path", "file_error"} {
		if value, ok := fullKeys[name]; ok {
			keys[name] = value
		}
	}
	keys["note"], err = json.Marshal(note)
	return keys, err
}
