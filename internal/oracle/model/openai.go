package model

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/shared"
)

// chat is OpenAI's Chat Completions.
type chat struct {
	service openai.ChatCompletionService
	key     string
	own     bool // the server is OpenAI's
}

// newChat uses the service alone: the library's client would read the environment.
func newChat(base, key string, client *http.Client) *chat {
	options := []option.RequestOption{
		option.WithBaseURL(base + "/"), option.WithHTTPClient(client), option.WithMaxRetries(0),
	}
	if key != "" {
		options = append(options, option.WithAPIKey(key))
	}
	return &chat{openai.NewChatCompletionService(options...), key, base == openAIURL}
}

func (c *chat) Reply(ctx context.Context, r Request, sink Sink) (Reply, error) {
	params, err := c.params(r)
	x := &exchange{provider: OpenAI, key: c.key, alive: sink.Alive, complaint: chatComplaint}
	in := chatReader{gatherer: gatherer{sink: sink, used: r.usedIDs()}, open: map[int64]*partial{}}
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

func (c *chat) params(r Request) (openai.ChatCompletionNewParams, error) {
	p := openai.ChatCompletionNewParams{
		Model:         r.Model,
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	}
	switch {
	case r.MaxTokens > 0 && c.own:
		p.MaxCompletionTokens = openai.Int(int64(r.MaxTokens))
	case r.MaxTokens > 0: // the old name, which not all other servers have replaced
		p.MaxTokens = openai.Int(int64(r.MaxTokens))
	}
	for _, t := range r.Tools {
		schema, err := t.parameters()
		if err != nil {
			return p, err
		}
		f := shared.FunctionDefinitionParam{Name: t.Name, Parameters: schema}
		if t.Description != "" {
			f.Description = openai.String(t.Description)
		}
		p.Tools = append(p.Tools, openai.ChatCompletionFunctionTool(f))
	}
	if strings.TrimSpace(r.System) != "" {
		p.Messages = append(p.Messages, openai.SystemMessage(r.System))
	}
	all, err := rounds(r.Messages)
	if err != nil {
		return p, err
	}
	for _, one := range all {
		p.Messages = append(p.Messages, chatMessages(one, r.Tools)...)
	}
	return p, nil
}

// chatMessages is a round: texts are one message, since some models' templates want users
// and assistants to alternate; results are one each.
func chatMessages(r round, tools []Tool) []openai.ChatCompletionMessageParamUnion {
	var all []openai.ChatCompletionMessageParamUnion
	for _, result := range r.results {
		text := result.Text
		if result.Failed && !strings.HasPrefix(text, errorMark) {
			text = errorMark + text
		}
		all = append(all, openai.ToolMessage(text, result.ID))
	}
	text := strings.Join(r.texts, "\n\n")
	if !r.assistant {
		if text != "" {
			all = append(all, openai.UserMessage(text))
		}
		return all
	}
	m := openai.ChatCompletionAssistantMessageParam{}
	if text != "" {
		m.Content.OfString = openai.String(text)
	}
	for _, c := range r.calls {
		m.ToolCalls = append(m.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
				ID: c.ID,
				Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{
					Name: sentName(c.Name, tools), Arguments: string(arguments(c.Arguments)),
				},
			},
		})
	}
	return append(all, openai.ChatCompletionMessageParamUnion{OfAssistant: &m})
}

// chatReader reads a stream of chunks.
type chatReader struct {
	gatherer
	open map[int64]*partial
}

// take never says that it was the end: the usage may follow it.
func (in *chatReader) take(chunk openai.ChatCompletionChunk) (bool, error) {
	if u := chunk.Usage; u.PromptTokens > 0 || u.CompletionTokens > 0 {
		in.usage = Usage{In: count(u.PromptTokens), Out: count(u.CompletionTokens)}
	}
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue
		}
		if err := in.delta(choice.Delta); err != nil {
			return false, err
		}
		switch choice.FinishReason {
		case "":
			continue
		case "content_filter":
			return false, withheld(choice.FinishReason)
		case "length":
			in.cut = true
		}
		in.finished = true
	}
	return false, nil
}

func (in *chatReader) delta(d openai.ChatCompletionChunkChoiceDelta) error {
	// Servers of open models have reasoning in a field of their own, some in both.
	for _, name := range []string{"reasoning_content", "reasoning"} {
		var piece string
		if json.Unmarshal([]byte(d.JSON.ExtraFields[name].Raw()), &piece) == nil && piece != "" {
			if err := in.think(piece); err != nil {
				return err
			}
			break
		}
	}
	if err := in.say(d.Content + d.Refusal); err != nil {
		return err
	}
	for _, c := range d.ToolCalls {
		if err := in.call(c); err != nil {
			return err
		}
	}
	return nil
}

// call adds to a call. Calls are told apart by their index, but some servers give all the
// same: then a name begins another if it comes with another id, or after whole arguments.
func (in *chatReader) call(c openai.ChatCompletionChunkChoiceDeltaToolCall) error {
	p := in.open[c.Index]
	another := p != nil && c.Function.Name != "" &&
		(c.ID != "" && c.ID != p.id || c.ID == "" && isObject(p.arguments.String()))
	if p == nil || another {
		var err error
		if p, err = in.begin(c.ID, c.Function.Name); err != nil {
			return err
		}
		in.open[c.Index] = p
	}
	return in.add(p, c.Function.Arguments)
}

func chatComplaint(err error) []byte {
	var event *ssestream.StreamError
	if errors.As(err, &event) {
		return event.Event.Data
	}
	return nil
}
