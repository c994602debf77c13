package oracle

import (
	"time"

	"github.com/signalbox-dev/signalbox/bt/signals"
)

// ChunkType says what a chunk is.
type ChunkType string

// The types of chunks.
const (
	Content    ChunkType = "content"     // text of the answer, without signals
	Reasoning  ChunkType = "reasoning"   // what the model thinks, where it tells
	ToolCall   ChunkType = "tool_call"   // a tool is called
	ToolResult ChunkType = "tool_result" // it gave a result, or failed
	Signal     ChunkType = "signal"      // a turn's signal phase is over
	Sources    ChunkType = "sources"     // what the answer rests on
	System     ChunkType = "system"      // what the oracle itself has to say
	Error      ChunkType = "error"       // something failed; the question goes on, or done says otherwise
	Done       ChunkType = "done"        // the end, always the last
)

// A Chunk is a piece of what happens while a question is answered.
type Chunk struct {
	Type      ChunkType `json:"type"`
	Turn      int       `json:"turn,omitempty"`
	Text      string    `json:"text,omitempty"`
	Tool      string    `json:"tool,omitempty"`
	Arguments string    `json:"arguments,omitempty"` // JSON
	Failed    bool      `json:"failed,omitempty"`
	Refused   bool      `json:"refused,omitempty"` // it failed, since a person or a rule does not allow it
	Bytes     int       `json:"bytes,omitempty"`   // of a tool's result, of which Text is the beginning
	Sources   []string  `json:"sources,omitempty"`
	Answer    *Answer   `json:"answer,omitempty"` // of the last one

	*signals.State // of a signal chunk
}

// Outcome says how a question ended.
type Outcome string

// The outcomes.
const (
	Answered  Outcome = "answered"
	Partial   Outcome = "partial"   // there is an answer, and something is missing
	Stuck     Outcome = "stuck"     // the model could not go on
	Failed    Outcome = "failed"    // there is no answer
	Cancelled Outcome = "cancelled" // it was interrupted
)

// An Answer is how a question ended.
type Answer struct {
	Outcome Outcome `json:"outcome"`
	// Unsignalled says of what was answered that the model did not signal that it is the answer.
	Unsignalled bool     `json:"unsignalled,omitempty"`
	Text        string   `json:"text"`              // the last reply that said something
	Missing     string   `json:"missing,omitempty"` // what is missing, of every outcome but answered
	Class       string   `json:"class"`             // of the question
	Turns       int      `json:"turns"`             // how often the model was asked
	Signals     int      `json:"signals"`           // how many of its replies carried a valid signal
	ToolCalls   int      `json:"tool_calls"`        // how many were made
	Refused     int      `json:"refused,omitempty"` // how many calls were not made, since a person or a rule does not allow them
	TokensIn    int      `json:"tokens_in"`         // of all requests
	TokensOut   int      `json:"tokens_out"`        // of all replies
	Sources     []string `json:"sources,omitempty"` // what tools found
}

// An Event is told to subscribers. Its name is one of agent.signal.<type>,
// budget.warning, budget.exceeded, agent.loop.detected, fallback.triggered,
// tool.approval.asked, tool.approval.allowed, tool.approval.refused, tool.call.started,
// tool.call.succeeded and tool.call.failed.
type Event struct {
	Name   string         `json:"event"`
	Time   time.Time      `json:"time"`
	Turn   int            `json:"turn"`
	Fields map[string]any `json:"fields,omitempty"`
}
