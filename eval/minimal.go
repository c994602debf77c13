package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/modeltest"
)

// The smallest agent there is: it asks a model, runs the commands that the model wants run, and prints what it says. With it the
// evaluation can be tried where no agent's program is installed. It is this program, started with a word, and speaks with a scripted
// model server alone.
const (
	minimalName = "minimal"
	minimalWord = "minimal-agent"
	minimalURL  = "EVAL_MODEL_URL"
)

func minimalPointed(_, url string) modeltest.Pointed {
	return modeltest.Pointed{Env: map[string]string{minimalURL: url}}
}

// message is one of a conversation, as OpenAI's Chat Completions have it.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	CallID  string `json:"tool_call_id,omitempty"`
	Calls   []call `json:"tool_calls,omitempty"`
}

type call struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// maxReply bounds what is read of a reply.
const maxReply = 16 << 20

// minimal does what the prompt says: one turn.
func minimal(ctx context.Context, url string, in io.Reader, out io.Writer) error {
	prompt, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	var used delivery.Usage
	messages := []message{{Role: "user", Content: string(prompt)}}
	for {
		said, err := ask(ctx, url, messages, &used)
		if err != nil {
			return err
		}
		if said.Content != "" {
			fmt.Fprintln(out, said.Content)
		}
		if len(said.Calls) == 0 {
			return tellUsage(used)
		}
		messages = append(messages, said)
		for _, c := range said.Calls {
			got, err := carryOut(ctx, c)
			if err != nil {
				return err
			}
			messages = append(messages, message{Role: "tool", Content: got, CallID: c.ID})
		}
	}
}

// ask asks the model once.
func ask(ctx context.Context, url string, messages []message, used *delivery.Usage) (said message, err error) {
	body, err := json.Marshal(map[string]any{
		"model": "scripted", "messages": messages,
		"tools": []any{map[string]any{"type": "function", "function": map[string]any{"name": "Bash", "parameters": map[string]any{"type": "object"}}}},
	})
	if err != nil {
		return said, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return said, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return said, err
	}
	defer func() { _ = response.Body.Close() }() // it was read
	text, err := io.ReadAll(io.LimitReader(response.Body, maxReply))
	if err != nil {
		return said, err
	}
	var reply struct {
		Choices []struct{ Message message }
		Usage   struct {
			Prompt     int64 `json:"prompt_tokens"`
			Completion int64 `json:"completion_tokens"`
		}
	}
	if response.StatusCode != http.StatusOK {
		return said, fmt.Errorf("the model server answers %s: %.500s", response.Status, text)
	}
	if err := json.Unmarshal(text, &reply); err != nil {
		return said, err
	}
	if len(reply.Choices) == 0 {
		return said, errors.New("the model has said nothing")
	}
	used.Add(delivery.Usage{InputTokens: reply.Usage.Prompt, OutputTokens: reply.Usage.Completion})
	return reply.Choices[0].Message, nil
}

// carryOut runs a command in the working directory, and returns what it printed.
func carryOut(ctx context.Context, c call) (string, error) {
	var wanted struct{ Command string }
	if err := json.Unmarshal([]byte(c.Function.Arguments), &wanted); err != nil || c.Function.Name != "Bash" {
		return "", fmt.Errorf("the model calls %q, and there is only Bash: %w", c.Function.Name, err)
	}
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	got, err := execute(ctx, here, os.Environ(), "sh", "-c", wanted.Command)
	return fmt.Sprintf("%s\nexit code %d", got.text(), got.exit), err
}

// tellUsage says what the turn has used, as a plain command of Signalbox does.
func tellUsage(used delivery.Usage) error {
	path := os.Getenv("SIGNALBOX_USAGE")
	if path == "" {
		return nil
	}
	text, err := json.Marshal(used)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}
