package model

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"
)

const defaultMaxTokens = 4096

// messages is Anthropic's Messages.
type messages struct {
	service anthropic.MessageService
	key     string
}

// newMessages uses the service alone: the library's client would read the environment, and
// files of the user's.
func newMessages(base, key string, client *http.Client) *messages {
	options := []option.RequestOption{
		option.WithBaseURL(base + "/"), option.WithHTTPClient(client), option.WithMaxRetries(0), option.WithoutOpenTelemetry(),
	}
	if key != "" {
		options = append(options, option.WithAPIKey(key))
	}
	return &messages{anthropic.NewMessageService(options...), key}
}

func (c *messages) Reply(ctx context.Context, r Request, sink Sink) (Reply, error) {
	params, err := c.params(r)
	x := &exchange{provider: Anthropic, key: c.key, alive: sink.Alive, complaint: messagesComplaint}
	in := messageReader{gatherer: gatherer{sink: sink, used: r.usedIDs()}, open: map[int64]*partial{}}
	if err == nil {
		inner := x.begin(ctx)
		defer x.cancel()
		err = read(c.service.NewStreaming(inner, params, option.WithMiddleware(x.send)), x, &in.gatherer, in.take)
	}
	if err != nil {
		return Reply{}, x.failure(ctx, err)
	}
	return in.reply(r), nil
}

func (c *messages) params(r Request) (anthropic.MessageNewParams, error) {
	p := anthropic.MessageNewParams{Model: anthropic.Model(r.Model), MaxTokens: defaultMaxTokens}
	if r.MaxTokens > 0 {
		p.MaxTokens = int64(r.MaxTokens)
	}
	if strings.TrimSpace(r.System) != "" {
		p.System = []anthropic.TextBlockParam{{Text: r.System}}
	}
	tools := r.Tools
	if len(tools) == 0 {
		// A conversation with calls is refused if there are no tools.
		if tools = calledTools(r.Messages); len(tools) > 0 {
			p.ToolChoice.OfNone = &anthropic.ToolChoiceNoneParam{}
		}
	}
	for _, t := range tools {
		schema, err := t.parameters()
		if err != nil {
			return p, err
		}
		tool := anthropic.ToolParam{Name: t.Name, InputSchema: param.Override[anthropic.ToolInputSchemaParam](schema)}
		if t.Description != "" {
			tool.Description = anthropic.String(t.Description)
		}
		p.Tools = append(p.Tools, anthropic.ToolUnionParam{OfTool: &tool})
	}
	all, err := rounds(r.Messages)
	if err != nil {
		return p, err
	}
	for _, one := range all {
		p.Messages = append(p.Messages, blocks(one, r.Tools))
	}
	return p, nil
}

// blocks is a round as one message. Results come first: text before them is refused.
func blocks(r round, tools []Tool) anthropic.MessageParam {
	var all []anthropic.ContentBlockParamUnion
	for _, result := range r.results {
		all = append(all, anthropic.NewToolResultBlock(result.ID, result.Text, result.Failed))
	}
	for _, text := range r.texts {
		all = append(all, anthropic.NewTextBlock(text))
	}
	for _, c := range r.calls {
		all = append(all, anthropic.NewToolUseBlock(c.ID, arguments(c.Arguments), sentName(c.Name, tools)))
	}
	if r.assistant {
		return anthropic.NewAssistantMessage(all...)
	}
	return anthropic.NewUserMessage(all...)
}

// messageReader reads a stream of events.
type messageReader struct {
	gatherer
	open map[int64]*partial
}

func (in *messageReader) take(e anthropic.MessageStreamEventUnion) (bool, error) {
	switch e.Type {
	case "message_start":
		u := e.Message.Usage
		in.usage = Usage{In: count(u.InputTokens) + count(u.CacheReadInputTokens) + count(u.CacheCreationInputTokens), Out: count(u.OutputTokens)}
	case "content_block_start":
		return false, in.block(e.Index, e.ContentBlock)
	case "content_block_delta":
		return false, in.delta(e.Index, e.Delta)
	case "message_delta":
		// What it counts is all so far.
		u := e.Usage
		if n := count(u.InputTokens) + count(u.CacheReadInputTokens) + count(u.CacheCreationInputTokens); n > 0 {
			in.usage.In = n
		}
		if u.OutputTokens > 0 {
			in.usage.Out = count(u.OutputTokens)
		}
		switch e.Delta.StopReason {
		case anthropic.StopReasonRefusal:
			return false, withheld(string(e.Delta.StopReason))
		case anthropic.StopReasonMaxTokens, anthropic.StopReasonModelContextWindowExceeded:
			in.cut = true
		}
	case "message_stop":
		in.finished = true
	}
	return in.finished, nil
}

// block begins a block. Texts that follow each other have a line break between them.
func (in *messageReader) block(index int64, b anthropic.ContentBlockStartEventContentBlockUnion) error {
	switch b.Type {
	case "text":
		return in.say(separator(&in.text) + b.Text)
	case "thinking":
		return in.think(separator(&in.reasoning) + b.Thinking)
	case "tool_use":
		p, err := in.begin(b.ID, b.Name)
		if err != nil {
			return err
		}
		in.open[index] = p
		// It comes in pieces, but some servers have it here.
		if raw := b.JSON.Input.Raw(); raw != "" && raw != "{}" && raw != "null" {
			return in.add(p, raw)
		}
	}
	return nil
}

func separator(before *strings.Builder) string {
	if before.Len() == 0 || strings.HasSuffix(before.String(), "\n") {
		return ""
	}
	return "\n"
}

func (in *messageReader) delta(index int64, d anthropic.MessageStreamEventUnionDelta) error {
	switch d.Type {
	case "text_delta":
		return in.say(d.Text)
	case "thinking_delta":
		return in.think(d.Thinking)
	case "input_json_delta":
		if p := in.open[index]; p != nil {
			return in.add(p, d.PartialJSON)
		}
	}
	return nil
}

func messagesComplaint(err error) []byte {
	var event *anthropic.Error
	if errors.As(err, &event) {
		return []byte(event.RawJSON())
	}
	return nil
}
