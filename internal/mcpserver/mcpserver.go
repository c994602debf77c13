// Package mcpserver is what all tool servers of this program share: the Model Context Protocol on standard input and
// output and over HTTP, arguments that are read by a tool's schema, results, and files that are linked in them.
//
// A call is answered with one JSON object, as structured content and as text. Errors come the same way, so that an
// agent can read them and try again; a protocol error is one that it would not see. A file that a call wrote is linked
// in its answer, and can be read through the server for as long as the server runs; no other file can.
package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options are what a server is made of.
type Options struct {
	Name, Title, Version string
	Instructions         string // what agents are told of the whole server
	Tools                []Tool
	Resources            []Resource
	Prompts              []Prompt

	// Own is how the URIs of all resources begin, if there are any.
	Own string
	// Again is what an agent is told to do for a file that can't be read any more.
	Again string
	// Calls is how many calls are worked on at once; others wait.
	Calls int
	// MaxRequest is how long a message from a client may be, in bytes.
	MaxRequest int
	// Logger may be nil. It must not write to standard output when that carries the protocol. At its level Info
	// there are lines for every connection.
	Logger *slog.Logger
}

// Server answers MCP clients. One server serves any number of them, on any transport.
type Server struct {
	logger     *slog.Logger
	maxRequest int
	mcp        *mcp.Server
	files      files
	slots      chan struct{} // one for each call that is worked on
	waits      chan struct{} // one for each call that waits
}

// maxWaits is how many calls wait for something to happen at once, and maxWaiting how long the request of one may be, in bytes: what room
// there is for long ones is not kept by who waits.
const (
	maxWaits   = 16
	maxWaiting = 64 << 10
)

// New makes a server.
func New(o Options) *Server {
	s := &Server{logger: o.Logger, maxRequest: o.MaxRequest, slots: make(chan struct{}, o.Calls), waits: make(chan struct{}, maxWaits)}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	can := &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}, Resources: &mcp.ResourceCapabilities{}}
	if len(o.Prompts) > 0 {
		can.Prompts = &mcp.PromptCapabilities{}
	}
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: o.Name, Title: o.Title, Version: o.Version}, &mcp.ServerOptions{
		Instructions: o.Instructions,
		Logger:       s.logger,
		// A file comes up only in the answer to a call, which links it, so nobody is notified.
		Capabilities: can,
		// Unsaid, it would be public: anyone on the way could keep what is somebody's own.
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope = "private" },
	})
	s.files = files{server: s.mcp, own: o.Own, again: o.Again}
	s.mcp.AddReceivingMiddleware(s.files.refuseUnknown)
	s.mcp.AddReceivingMiddleware(unlisted(o.Tools))
	for _, t := range o.Tools {
		s.mcp.AddTool(definition(t), s.handler(t))
	}
	for _, r := range o.Resources {
		s.addResource(r)
	}
	for _, p := range o.Prompts {
		s.addPrompt(p)
	}
	return s
}

// errFault is all that a client is told of a panic; the log has the rest.
var errFault = errors.New("the program has a fault and could not finish this call; its log says more")

// handler answers the calls of one tool. What goes wrong is an answer too, never a protocol error.
func (s *Server) handler(t Tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ctx, done := endWithCarrier(ctx)
		defer done()
		a := ReadArguments(req.Params.Arguments, t.Input)
		c := t.Read(a)
		if length, _ := ctx.Value(lengthKey{}).(int64); t.Waits && length > maxWaiting {
			a.Say("the request has %d bytes, and a call that waits has %d at most", length, maxWaiting)
		}
		err := a.Problem()
		if err == nil {
			var result *mcp.CallToolResult
			if result, err = s.guarded(ctx, t, c); err == nil {
				return result, nil
			}
		}
		return s.result(c.Fail(err))
	}
}

// guarded answers the call, and makes a panic an error, so that one call does not end the server.
func (s *Server) guarded(ctx context.Context, t Tool, c Call) (result *mcp.CallToolResult, err error) {
	defer s.catch("a tool panicked", t.Name, &err)
	places := s.slots
	if t.Waits {
		places = s.waits
	}
	select {
	case places <- struct{}{}:
		defer func() { <-places }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	answered, err := c.Run(ctx)
	if err != nil {
		return nil, err
	}
	return s.result(answered)
}

// unlisted leaves hidden tools out of lists.
func unlisted(tools []Tool) mcp.Middleware {
	hidden := func(listed *mcp.Tool) bool {
		return slices.ContainsFunc(tools, func(t Tool) bool { return t.Hidden && t.Name == listed.Name })
	}
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			result, err := next(ctx, method, req)
			if list, ok := result.(*mcp.ListToolsResult); ok && err == nil {
				list.Tools = slices.DeleteFunc(list.Tools, hidden)
			}
			return result, err
		}
	}
}

// catch makes a panic the error [errFault]. It is deferred.
func (s *Server) catch(what, name string, err *error) {
	if p := recover(); p != nil {
		s.logger.Error(what, "tool", name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		*err = errFault
	}
}

// result is a tool's result as MCP has it.
func (s *Server) result(r Result) (*mcp.CallToolResult, error) {
	body, err := Object(r.Body)
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

// Object is a result's body as compact JSON. It has to be an object with a status.
func Object(body any) ([]byte, error) {
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
