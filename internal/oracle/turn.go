package oracle

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/bt"
	"github.com/signalbox-dev/signalbox/bt/signals"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/oracle/model"
	"github.com/signalbox-dev/signalbox/safetext"
)

// What a question may take if its tree does not say.
const (
	defaultTurns  = 30
	defaultTokens = 400_000
)

// budget is what a question may take. It holds for every tree.
type budget struct{ turns, tokens int }

func (b budget) turnsSpent() string {
	return fmt.Sprintf("the budget of %s is spent", english.Count(b.turns, "turn"))
}

func (b budget) tokensSpent() string {
	return fmt.Sprintf("the budget of %d tokens is spent", b.tokens)
}

// spent says that the model is not asked any more, or nothing. The reply to the last turn may
// go beyond the tokens.
func (q *query) spent(c *bt.Context) error {
	switch {
	case q.replies >= q.budget.turns:
		return errors.New(q.budget.turnsSpent())
	case q.tokens() >= q.budget.tokens && c.Get(keyLastTurn) != true:
		return errors.New(q.budget.tokensSpent())
	}
	return nil
}

// tokens is how many were used.
func (q *query) tokens() int { return q.used.In + q.used.Out }

// buildRequest begins a turn. It warns when the budget runs low; when it is spent, the
// turn is the last and its reply has to be the answer.
func (q *query) buildRequest(c *bt.Context) bt.Status {
	b := budget{c.Args().Int("max_turns", defaultTurns), c.Args().Int("max_tokens", defaultTokens)}
	q.budget = b
	q.turn++
	used := q.tokens()
	if 10*q.turn >= 7*b.turns && q.once("warned of turns") {
		q.event("budget.warning", map[string]any{"kind": "turns", "used": q.turn, "of": b.turns})
	}
	if 10*used >= 8*b.tokens && q.once("warned of tokens") {
		q.event("budget.warning", map[string]any{"kind": "tokens", "used": used, "of": b.tokens})
	}
	last := q.turn >= b.turns || used >= b.tokens
	if last {
		kind, missing := "turns", b.turnsSpent()
		if used >= b.tokens {
			kind, missing = "tokens", b.tokensSpent()
		}
		q.event("budget.exceeded", map[string]any{"kind": kind, "turns": q.turn, "tokens": used})
		c.SetGlobal(keyMissing, missing)
		q.say(q.lastWords())
	}
	c.SetGlobal(keyTurn, q.turn)
	c.SetGlobal(keyLastTurn, last)
	return bt.Success
}

// lastWords are what a model is told in its last turn. One that was not taught signals is asked for none.
func (q *query) lastWords() string {
	if q.taught {
		return tellLast + tellLastSignal
	}
	return tellLast
}

func isLastTurn(c *bt.Context) bt.Status { return status(c.Get(keyLastTurn) == true) }

func isFinished(c *bt.Context) bt.Status {
	outcome, _ := c.Get(keyOutcome).(string)
	return status(outcome != "")
}

// once reports whether something happens for the first time in this question.
func (q *query) once(what string) bool {
	before := q.done[what]
	q.done[what] = true
	return !before
}

// firstTime holds the first time it is asked about something.
func (q *query) firstTime(c *bt.Context) bt.Status {
	return status(q.once("tree: " + c.Args().Text("what", "")))
}

// say adds to what the model is told next.
func (q *query) say(text string) {
	q.messages = append(q.messages, model.Message{Role: model.User, Text: text})
}

// askModel makes the leaf of an llm_call.
func (q *query) askModel(call bt.LLMCall) (bt.Leaf, error) {
	leaf := bt.Async(func(c *bt.Context) bt.Work {
		if err := q.spent(c); err != nil {
			q.trouble = err
			c.Note("%s", err)
			return nil
		}
		q.turn = max(q.turn, q.replies+1)
		request := q.request(c, call)
		turn, alive := q.turn, c.Alive()
		told := q.begin()
		return func(ctx context.Context) func(*bt.Context) bt.Status {
			said := listen(func(text string) {
				if ctx.Err() == nil { // of an attempt that was given up nothing more is shown
					q.show(turn, func() string { return told.next(text) })
				}
			})
			reply, err := q.Client.Reply(ctx, request, model.Sink{
				Text: said.write,
				Reasoning: func(text string) {
					if ctx.Err() == nil {
						q.emit(Chunk{Type: Reasoning, Turn: turn, Text: text})
					}
				},
				Alive: alive,
			})
			said.close()
			if err == nil {
				q.show(turn, told.rest)
			}
			return func(c *bt.Context) bt.Status {
				saveReply(c, reply, err)
				if err != nil {
					return q.noReply(c, err)
				}
				q.heard(c, call, reply, said)
				return bt.Success
			}
		}
	})
	leaf = leaf.Using([]string{keyLastTurn}, []string{keyResponse, keyLastSignal, signals.KeyPrevious, signals.KeyParsed})
	leaf.Halt = func(c *bt.Context) {
		if c.Context().Err() == nil {
			q.noReply(c, errLate)
		}
	}
	leaf.Restore = func(c *bt.Context, returned bt.Status, saved any) { q.restoreReply(c, call, returned, saved) }
	return leaf, nil
}

// heardText is what a reply says, as it comes: without signals, and whether it has them.
type heardText struct {
	scanner    *agentsig.Scanner
	clean      strings.Builder
	tried, can bool
}

// listen returns a listener that shows what is no signal.
func listen(show func(text string)) *heardText {
	h := &heardText{}
	h.scanner = agentsig.NewScanner(agentsig.Options{}, agentsig.Sink{Text: func(text []byte) {
		h.clean.Write(text)
		show(string(text))
	}, Finding: func(f agentsig.Finding) {
		h.tried = h.tried || f.Dialect == agentsig.DialectXML
		h.can = h.can || f.Dialect == agentsig.DialectXML && f.Outcome == agentsig.Accepted
	}})
	return h
}

func (h *heardText) write(text string) { _, _ = h.scanner.Write([]byte(text)) } // it fails only when closed

func (h *heardText) close() { h.scanner.Close() }

// errLate is why an attempt at a reply is given up.
var errLate = errors.New("the model's reply has not come to its end in time")

// request is what the model is asked now.
func (q *query) request(c *bt.Context, call bt.LLMCall) model.Request {
	r := model.Request{Model: call.Model, Messages: q.messages[:len(q.messages):len(q.messages)], MaxTokens: call.Budget}
	if r.Model == "" {
		r.Model = q.Model
	}
	var prompt []string
	for _, key := range call.Prompt {
		text, _ := c.Get(key).(string)
		prompt = append(prompt, text)
	}
	r.System = strings.Join(prompt, "\n\n")
	if q.Tools != nil && c.Get(keyLastTurn) != true {
		for _, t := range q.Tools.Tools() {
			r.Tools = append(r.Tools, model.Tool{Name: t.Name, Description: t.Description, Schema: t.Schema})
		}
	}
	return r
}

// noReply tells what went wrong, and whether trying again may help.
func (q *query) noReply(c *bt.Context, err error) bt.Status {
	q.trouble = err
	c.Note("%s", err)
	if trouble := (*model.Error)(nil); errors.As(err, &trouble) && trouble.Temporary {
		c.Temporary(trouble.RetryAfter)
	}
	q.emit(Chunk{Type: Error, Turn: q.turn, Text: err.Error()})
	return bt.Failure
}

// again tells that the model is asked once more.
func (q *query) again(a bt.Attempt) {
	q.emit(Chunk{Type: System, Turn: q.turn, Text: fmt.Sprintf("Trying again in %v (%d of %d).", a.After.Round(10*time.Millisecond), a.Number, a.Of)})
}

// heard takes in a reply. The signal phase of the turn begins anew.
func (q *query) heard(c *bt.Context, call bt.LLMCall, reply model.Reply, said *heardText) {
	q.trouble, q.told = nil, nil
	q.clean = strings.TrimSpace(said.clean.String())
	q.tried, q.can, q.garbled = q.tried || said.tried, q.can || said.can, said.tried && !said.can
	q.reply, q.rulings = reply, nil
	q.replies++
	q.used.In += reply.Usage.In
	q.used.Out += reply.Usage.Out
	c.Spend(bt.Spent{Tokens: reply.Usage.In + reply.Usage.Out})
	q.messages = append(q.messages, model.Message{Role: model.Assistant, Text: reply.Text, Calls: reply.Calls})
	if q.clean != "" {
		q.said = q.clean
		q.all = strings.TrimPrefix(q.all+"\n\n"+q.clean, "\n\n")
	}
	calls := make([]any, len(reply.Calls))
	for i, call := range reply.Calls {
		calls[i] = map[string]any{"id": call.ID, "name": call.Name, "arguments": string(call.Arguments)}
	}
	q.turns.Heard(c, map[string]any{"content": reply.Text, "tool_calls": calls})
	if call.Stream != "" {
		signals.Append(c, call.Stream, reply.Text)
	}
}

// tellings are what a tree can have the model told, by name.
var tellings = map[string]string{
	"go-on": tellGoOn, "doubt": tellDoubt, "lacking": tellLacking, "stuck": tellStuck, "continue": tellContinue, "hint": tellHint,
}

// tell has the model told something before its next turn: one of the tellings, or a text
// of the tree's own.
func (q *query) tell(c *bt.Context) bt.Status {
	text := c.Args().Text("text", "continue")
	if text == "hint" {
		q.once(hinted)
		q.emit(Chunk{Type: System, Turn: q.turn, Text: "The model's replies carry no signal that can be acted upon; it is asked for one."})
	}
	if known, ok := tellings[text]; ok {
		text = known
	}
	q.say(text)
	return bt.Success
}

const hinted = "hinted"

// loopDetected tells of a model that asks for another turn for the same reason over and over.
func (q *query) loopDetected(c *bt.Context) bt.Status {
	q.event("agent.loop.detected", map[string]any{"kind": "reason", "reason": signals.Text(signals.Last(c), "reason"), "times": c.Get(signals.KeySameReason)})
	return bt.Success
}

// chooseFallback asks the fallback table.
func (q *query) chooseFallback(c *bt.Context) bt.Status {
	s := situation{
		question: q.question, content: q.all, reply: q.clean,
		can: q.can, tried: q.tried, garbled: q.garbled, asked: q.asked != "" || q.done[hinted], hinted: q.done[hinted],
	}
	s.silent, _ = c.Get(signals.KeySilent).(int)
	results, _ := c.Get(keyToolResults).([]any)
	for _, r := range results {
		result, _ := r.(map[string]any)
		if result["refused"] == true { // which says nothing about the tools
			continue
		}
		s.toolResults++
		if result["success"] == false {
			s.toolsFailed++
		}
	}
	if present := signals.Last(c); present != nil {
		s.signal = says(present)
		s.stuck = signals.Is(present, agentsig.KindStuck)
		s.confidence, _ = signals.Confidence(present)
	}
	d := fallback(s)
	switch {
	case d.all:
		q.said = q.all
	case d.ask:
		q.asked = q.clean
	case d.verdict == takeAnswer && len(q.asked) > len(q.said): // "that was all" is not the answer
		q.said = q.asked
	}
	c.SetGlobal(keyFallback, string(d.verdict))
	c.SetGlobal(keyMissing, d.missing)
	q.event("fallback.triggered", map[string]any{"verdict": string(d.verdict)})
	return bt.Success
}

func fallbackIs(c *bt.Context) bt.Status {
	return status(c.Get(keyFallback) == c.Args().Text("verdict", ""))
}

// finish ends the question with an outcome.
func (q *query) finish(c *bt.Context) bt.Status {
	outcome := Outcome(c.Args().Text("outcome", string(Answered)))
	missing := c.Args().Text("missing", "")
	known, _ := c.Get(keyMissing).(string)
	switch present := signals.Last(c); {
	case outcome == Answered && q.reply.Cut:
		outcome, missing = Partial, "the reply was cut off at its limit of tokens"
	case outcome == Answered:
		missing = ""
	case missing != "":
	case q.trouble != nil:
		missing = q.trouble.Error()
	case present != nil && !signals.Is(present, agentsig.KindContextSufficient):
		missing = join(says(present), known)
		if strings.Contains(known, says(present)) {
			missing = known
		}
	default:
		missing = known
	}
	c.SetGlobal(keyOutcome, string(outcome))
	c.SetGlobal(keyMissing, missing)
	return bt.Success
}

// says puts a signal into words, for the person.
func says(s map[string]any) string {
	var text string
	switch kind := s["type"]; agentsig.Kind(fmt.Sprint(kind)) {
	case agentsig.KindNeedTurn:
		text = "the model needs another turn: " + signals.Text(s, "reason")
	case agentsig.KindStuck:
		text = "the model is stuck: " + signals.Text(s, "blocker")
	case agentsig.KindPartialAnswer:
		text = join(signals.Text(s, "missing"), signals.Text(s, "caveat"))
	case agentsig.KindNeedCapability:
		text = "the model can't " + signals.Text(s, "capability") + ": " + signals.Text(s, "reason")
	case agentsig.KindDelegationRecommended:
		text = "the model would hand over " + signals.Text(s, "scope") + ": " + signals.Text(s, "reason")
	default:
		text = "the model said " + fmt.Sprint(kind)
	}
	return safetext.Escape(text)
}
