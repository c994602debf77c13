package mcpserver

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/signalbox-dev/signalbox/safetext"
)

// addResource offers something to read.
func (s *Server) addResource(r Resource) {
	read := func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		ctx, done := endWithCarrier(ctx)
		defer done()
		text, err := s.read(ctx, r, req.Params.URI)
		if err != nil {
			return nil, unreadable(req.Params.URI, safetext.Escape(err.Error()))
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: r.MIMEType, Text: text}}}, nil
	}
	if strings.Contains(r.URI, "{") {
		s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: r.URI, Name: r.Name, Description: r.Description, MIMEType: r.MIMEType}, read)
		return
	}
	s.mcp.AddResource(&mcp.Resource{URI: r.URI, Name: r.Name, Description: r.Description, MIMEType: r.MIMEType}, read)
}

// read reads a resource in the place of a call that works.
func (s *Server) read(ctx context.Context, r Resource, uri string) (text string, err error) {
	defer s.catch("a resource panicked", r.Name, &err)
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	return r.Read(ctx, uri)
}

// addPrompt offers a prompt.
func (s *Server) addPrompt(p Prompt) {
	defined := &mcp.Prompt{Name: p.Name, Title: p.Title, Description: p.Description}
	for _, a := range p.Arguments {
		defined.Arguments = append(defined.Arguments, &mcp.PromptArgument{Name: a.Name, Description: a.Description, Required: a.Required})
	}
	s.mcp.AddPrompt(defined, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		text, err := p.Text(req.Params.Arguments)
		if err != nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
		}
		return &mcp.GetPromptResult{Description: p.Description, Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}}, nil
	})
}
