package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/safetext"
)

// hearing is what is known from what an agent has told of itself.
type hearing struct {
	teller
	loads   bool                  // the program can go on with a conversation later
	past    bool                  // what comes was said before
	retold  int                   // updates that did
	message string                // the id of the message that the voice speaks
	talk    delivery.Conversation // that the program can go on with later; less its id if it can't
	context int64                 // tokens of each model call of this turn, added up
	resets  time.Time             // when the provider's limit ends, as it was told before it was reached
	denied  refusals
	claude  bool   // the program is Claude Code's bridge
	said    []byte // the agent's last words in this turn
	author  author // of the last message in this turn
}

// author is who has written a message.
type author int

const (
	nobody author = iota // or the program does not tell
	theAgent
	theProgram // in the agent's place
)

// update is what an agent tells while it works. Only some fields are there, by its kind.
type update struct {
	Kind      string          `json:"sessionUpdate"`
	Content   json.RawMessage `json:"content"`
	MessageID string          `json:"messageId"`
	toolUpdate
	Used int64 `json:"used"`
	Size int64 `json:"size"`
	Cost *struct {
		Amount   float64 `json:"amount"`
		Currency string  `json:"currency"`
	} `json:"cost"`
	Meta struct {
		Claude struct {
			Parent string `json:"parentToolUseId"`
		} `json:"claudeCode"`
		RateLimit struct {
			ResetsAt int64 `json:"resetsAt"`
		} `json:"_claude/rateLimit"`
	} `json:"_meta"`
}

type toolUpdate struct {
	ID       string          `json:"toolCallId"`
	Title    string          `json:"title"`
	ToolKind string          `json:"kind"`
	Status   string          `json:"status"`
	Output   json.RawMessage `json:"rawOutput"`
}

// notified takes what the agent tells. What is not known is a sign of life.
func (a *acp) notified(method string, params json.RawMessage) {
	var n struct {
		Update update `json:"update"`
	}
	if a.past {
		a.retold++
	}
	if method == claudeRaw && !a.past {
		a.raw(params)
		return
	}
	if a.past || method != "session/update" || !decode(params, &n) {
		a.heard()
		return
	}
	switch u := n.Update; u.Kind {
	case "agent_message_chunk":
		var c content
		_ = json.Unmarshal(u.Content, &c) // what can't be read says nothing
		if u.Meta.Claude.Parent != "" {   // an agent of the agent's, which must not cut its words
			a.heard()
			return
		}
		if u.MessageID != a.message {
			a.endMessage()
			a.message, a.said = u.MessageID, nil
		}
		a.said = append(a.said, c.String()...)
		if most := utf8.UTFMax * maxCause; len(a.said) > 2*most {
			a.said = append(a.said[:0], a.said[len(a.said)-most:]...)
		}
		a.speak(agentsig.Voice, c.String())
	case "user_message_chunk":
		var c content
		_ = json.Unmarshal(u.Content, &c)
		a.speak(agentsig.Prompt, c.String())
	case "tool_call", "tool_call_update":
		a.toolUpdate(u)
	case "agent_thought_chunk", "plan": // what is said next is another message, though it may not be told so
		a.endMessage()
		a.heard()
	case "usage_update":
		a.usageUpdate(u)
	default:
		a.heard()
	}
}

// claudeRaw is how Claude Code's bridge passes on what it is asked to of what Claude Code prints.
const claudeRaw = "_claude/sdkMessage"

// raw takes such a line: that a request to the model is tried again, or who has written a message. The bridge tells
// nothing else of a login that is refused until Claude Code has given up.
func (a *acp) raw(params json.RawMessage) {
	var n struct {
		Message struct {
			Type    string `json:"type"`
			Subtype string `json:"subtype"`
			Parent  string `json:"parent_tool_use_id"`
			Message struct {
				Model string `json:"model"`
			} `json:"message"`
			retry
		} `json:"message"`
	}
	if !decode(params, &n) {
		a.heard()
		return
	}
	switch m := n.Message; {
	case m.Subtype == "api_retry":
		a.retries(m.retry)
	case m.Type == "assistant" && m.Parent == "":
		a.author = theAgent
		if m.Message.Model == claudeSynthetic {
			a.author = theProgram
		} else {
			a.talk.Model = cmp.Or(delivery.ModelName(strings.Clone(m.Message.Model)), a.talk.Model)
		}
		a.heard()
	default:
		a.heard()
	}
}

// retries takes that a request to the model is tried again.
func (a *acp) retries(again retry) {
	a.remark(again.words())
	if a.denied.meets(again.Attempt, again.ErrorStatus) {
		a.rest()
		text := fmt.Sprintf("the agent %s: its turn failed: %s", safetext.Escape(a.spec.Agent.Name), refusedStill(again.ErrorStatus))
		a.out <- Event{Kind: Failed, Refused: true, Text: []byte(text)}
	}
}

// usageUpdate takes the conversation's cost so far, and the tokens of a model call: those
// count if the program tells no others when the turn ends.
func (a *acp) usageUpdate(u update) {
	if at := u.Meta.RateLimit.ResetsAt; at > 0 {
		a.resets = time.Unix(at, 0)
	}
	a.context += max(u.Used, 0)
	a.talk.Context, a.talk.Window = max(u.Used, 0), max(u.Size, 0)
	if u.Cost != nil && u.Cost.Currency == "USD" {
		cost := &a.talk.Counted.CostUSD
		if u.Cost.Amount < *cost {
			*cost = 0 // it counts anew
		}
		a.out <- Event{Kind: Used, Usage: delivery.Usage{CostUSD: u.Cost.Amount - *cost}}
		*cost = u.Cost.Amount
	}
	a.out <- Event{Kind: Using, Usage: delivery.Usage{InputTokens: a.context}}
}

// toolUpdate takes what is told of a tool: that it was begun, and its end with its result.
func (a *acp) toolUpdate(u update) {
	t := a.tool(u.ID, u.ToolKind, u.Title)
	var all []content
	if json.Unmarshal(u.Content, &all) == nil && len(all) > 0 {
		t.gives(texts(all))
	}
	switch u.Status {
	case "completed", "failed":
	case "", "pending":
		a.plans(t)
		return
	default:
		a.uses(t)
		return
	}
	var output struct { // Codex has it nowhere else
		Text string `json:"formatted_output"`
	}
	if json.Unmarshal(u.Output, &output) == nil && output.Text != "" {
		t.gives(output.Text)
	}
	failed := u.Status == "failed"
	a.used(u.ID, t, failed)
	if failed && !t.refused && !a.spec.allows(t.kind) { // by a sandbox, which does not ask
		a.deny(t.words(), a.spec.mayNot())
	}
}

// request answers what the agent wants. It is offered nothing but questions for
// permission.
func (a *acp) request(method string, params json.RawMessage) (any, *rpcError) {
	if method != "session/request_permission" {
		return nil, &rpcError{Code: codeNoMethod, Message: "Signalbox does not offer " + method}
	}
	var ask struct {
		Tool    toolUpdate `json:"toolCall"`
		Options []struct {
			ID   string `json:"optionId"`
			Kind string `json:"kind"`
		} `json:"options"`
	}
	if !decode(params, &ask) {
		return nil, &rpcError{Code: codeBadParams, Message: "the question can't be read"}
	}
	a.mu.Lock()
	broken := a.broken
	a.mu.Unlock()
	t := a.tool(ask.Tool.ID, ask.Tool.ToolKind, ask.Tool.Title)
	choices := []string{"allow_once", "allow_always"}
	if !a.spec.allows(t.kind) {
		choices = []string{"reject_once", "reject_always"}
		t.refused = true
		a.deny(t.words(), a.spec.mayNot())
	}
	if !broken {
		for _, kind := range choices {
			for _, o := range ask.Options {
				if o.Kind == kind {
					return map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": o.ID}}, nil
				}
			}
		}
	}
	return map[string]any{"outcome": map[string]any{"outcome": "cancelled"}}, nil
}

// allows reports whether the role may use a tool of a kind that the protocol names.
func (s Spec) allows(kind string) bool {
	switch kind {
	case "read", "search", "think":
		return true
	case "edit", "delete", "move":
		return s.may(Edit)
	case "fetch":
		return s.may(Fetch)
	case "switch_mode": // the mode is the role's
		return false
	}
	return s.may(Execute)
}
