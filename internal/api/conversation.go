package api

import (
	"context"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/conversation"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// MaxConversation is how long a request about a conversation can be in JSON, in bytes.
const MaxConversation = 1 << 20

// Ask says that a question is put to a model.
type Ask struct {
	Question string `json:"question"`        // at most 128 KiB
	Class    string `json:"class,omitempty"` // of the question
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`

	Continues string `json:"continues,omitempty"` // the conversation that it goes on from, which has ended
	UserID    string `json:"user_id,omitempty"`   // who asks; what it continues is of the same user and project
	ProjectID string `json:"project_id,omitempty"`
}

// Conversation is a question to a model, and what the model signals until it is
// answered.
type Conversation struct {
	ID      string `json:"id"`
	Subject string `json:"subject"` // its name in the ledger
}

// Signalled is a signal of the model in one of its turns.
type Signalled struct {
	Turn       int           `json:"turn"` // from 1
	Type       agentsig.Kind `json:"type"`
	Confidence float64       `json:"confidence"`          // from 0 to 1
	Defaulted  bool          `json:"defaulted,omitempty"` // no confidence could be read
	Fields     []work.Field  `json:"fields,omitempty"`    // texts, whole numbers and lists of texts
	RawXML     string        `json:"raw_xml,omitempty"`
	At         time.Time     `json:"at"`
}

// NewSignalled returns a reflection as the signal of a turn.
func NewSignalled(turn int, r agentsig.Reflection) Signalled {
	s := Signalled{Turn: turn, Type: r.Type, Confidence: r.Confidence, Defaulted: r.Defaulted, RawXML: r.RawXML, At: r.Timestamp}
	for _, f := range r.Fields {
		s.Fields = append(s.Fields, work.Field{Name: f.Name, Value: f.Value})
	}
	return s
}

// CallDecided says whether a call that changes something is made, before it is.
type CallDecided struct {
	Call      int                    `json:"call"` // its number in the conversation, from 1
	Turn      int                    `json:"turn"`
	Tool      string                 `json:"tool"`
	Server    string                 `json:"server,omitempty"`
	Arguments string                 `json:"arguments"` // JSON
	Allowed   bool                   `json:"allowed"`
	By        conversation.DecidedBy `json:"by"`
	Reason    string                 `json:"reason,omitempty"` // of a refusal
}

// CallEnded says what came of a call that was allowed.
type CallEnded struct {
	Call    int                      `json:"call"`
	Outcome conversation.CallOutcome `json:"outcome"`
	Bytes   int                      `json:"bytes"` // of its result
}

// Answered says how a conversation ended.
type Answered struct {
	Outcome   conversation.Outcome `json:"outcome"`
	Turns     int                  `json:"turns"`
	Signals   int                  `json:"signals"`
	TokensIn  int64                `json:"tokens_in"`
	TokensOut int64                `json:"tokens_out"`
	Missing   string               `json:"missing,omitempty"` // from the answer

	Text *string `json:"text,omitempty"` // the answer, at most 128 KiB; what has none can't be continued
	Cut  bool    `json:"cut,omitempty"`  // it was longer
}

// LatestConversation stands for the name of the newest conversation.
const LatestConversation = "latest"

// Ask records that a question is put to a model. The same key again is the same question: for
// one whose answer was lost with its box.
func (c *Client) Ask(ctx context.Context, key string, a Ask) (Conversation, error) {
	return post[Conversation](ctx, c, "/v1/conversations", key, a)
}

// Signalled records what the model signalled.
func (c *Client) Signalled(ctx context.Context, key, id string, s Signalled) (Recorded, error) {
	return post[Recorded](ctx, c, conversationPath(id)+"/signals", key, s)
}

// CallDecided records whether a call is made.
func (c *Client) CallDecided(ctx context.Context, key, id string, d CallDecided) (Recorded, error) {
	return post[Recorded](ctx, c, conversationPath(id)+"/calls", key, d)
}

// CallEnded records what came of a call.
func (c *Client) CallEnded(ctx context.Context, key, id string, r CallEnded) (Recorded, error) {
	return post[Recorded](ctx, c, conversationPath(id)+"/results", key, r)
}

// Answered records how a conversation ended.
func (c *Client) Answered(ctx context.Context, key, id string, a Answered) (Recorded, error) {
	return post[Recorded](ctx, c, conversationPath(id)+"/end", key, a)
}

// Exchange returns what was asked in a conversation, and what was answered.
func (c *Client) Exchange(ctx context.Context, id string) (conversation.Exchange, error) {
	return get[conversation.Exchange](ctx, c, conversationPath(id))
}

func conversationPath(id string) string { return "/v1/conversations/" + escapePath(id) }
