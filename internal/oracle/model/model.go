// Package model asks language models for replies, in the one form that the oracle needs: a
// conversation and tools go in; text, reasoning and calls of tools come out, as they come.
//
// There are two providers, each spoken to by its vendor's own library: OpenAI's Chat
// Completions, which Ollama, vLLM, llama.cpp and OpenRouter serve too, and Anthropic's
// Messages. Replies are always streamed. Nothing is tried again here and nothing is taken
// from the environment: the caller does both, with [Error] to tell it when.
//
// What a model replies is not trusted. A reply is at most 8 MiB and has at most 128 calls,
// and whatever it was, it can be sent back as part of the conversation without the vendor
// refusing it.
package model

import (
	"context"
	"encoding/json"
	"time"
)

// A Client asks one provider's models. It can be used by several goroutines at once.
type Client interface {
	// Reply asks for the next reply of a conversation, and hands on what comes as it comes.
	// It returns the whole reply. An error is an *Error, or the context's; what the sink
	// was given until then is then no reply.
	Reply(ctx context.Context, r Request, sink Sink) (Reply, error)
}

// Request is a conversation that waits for a reply.
type Request struct {
	Model    string
	System   string // instructions, or empty
	Messages []Message
	Tools    []Tool
	// MaxTokens bounds the reply. With 0 the provider decides, or where it wants to be told
	// (Anthropic) it is 4096.
	MaxTokens int
}

// Role is whose message it is.
type Role string

// The roles.
const (
	User        Role = "user"
	Assistant   Role = "assistant"
	ToolResults Role = "tool_results"
)

// Message is one part of a conversation: a user's Text, an assistant's Text and Calls, or
// the Results of the calls before it.
//
// Vendors are strict about the order. What they refuse is put right on the way: messages of
// one side that follow each other become one, results come before the user's texts, a call
// without a result gets one that says so, empty texts are left out and an assistant's
// message with nothing in it says "(no answer)". A result that belongs to no call of the
// reply before it is an error.
type Message struct {
	Role    Role
	Text    string
	Calls   []Call
	Results []Result
}

// Tool is something that the model may call. Its Schema is a JSON schema of an object; none
// means no arguments.
type Tool struct {
	Name, Description string
	Schema            json.RawMessage
}

// Result is what a call has given. Failed tells the model that Text is an error.
type Result struct {
	ID     string // of the call
	Text   string
	Failed bool
}

// Sink gets a reply while it comes, in the goroutine that asked. Any of its functions may be
// nil.
type Sink struct {
	Text      func(string)
	Reasoning func(string)
	// Alive is called whenever something has come over the wire, even if that is only a
	// sign of life.
	Alive func()
}

// Usage counts tokens. Where a server does not tell, it is estimated as a quarter of the
// characters.
type Usage struct{ In, Out int }

// Reply is what the model has answered.
type Reply struct {
	Text, Reasoning string
	Calls           []Call
	Usage           Usage
	// Cut is set if the reply ends because the limit of tokens was reached.
	Cut bool
}

// The bounds of a reply.
const (
	maxReply = 8 << 20 // text, reasoning and calls together
	maxCalls = 128
)

// patience is how long a provider is waited for that wants to be left alone.
const patience = 5 * time.Minute
