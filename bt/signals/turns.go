package signals

import (
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/bt"
)

// A Turn is what a turn's signal phase has come to.
type Turn struct {
	State
	// Signal is what the reply says of itself; nil if it has no valid signal.
	Signal *agentsig.Reflection
}

// Turns are the turns of one conversation with a model, one after the other. The zero value is
// ready; it is not safe for concurrent use.
//
// Each action does its part once a turn, and after the one before it: what a tree repeats or
// puts out of order is left as it is.
type Turns struct {
	// Told, if there is one, is told of each turn by [Turns.Log].
	Told func(Turn)

	stage  stage
	signal *agentsig.Reflection
	counts counters
}

// stage is how far the signal phase of a turn has come.
type stage int

const (
	replied stage = iota
	parsed
	updated
	logged
	stripped
)

// reach reports whether a part of the phase is due, and counts it as done.
func (t *Turns) reach(next stage) bool {
	if t.stage != next-1 {
		return false
	}
	t.stage = next
	return true
}

// Heard begins a turn: the reply is there. The response is kept under llm_response; its content is
// the reply's text with its signals, and the rest is the caller's.
func (t *Turns) Heard(c *bt.Context, response map[string]any) {
	t.stage, t.signal = replied, nil
	c.SetGlobal(KeyResponse, response)
	c.SetGlobal(KeyPrevious, c.Get(KeyLast))
	c.SetGlobal(KeyLast, nil) // a signal phase that fails must not leave that of the turn before
	c.SetGlobal(KeyParsed, false)
}

// Append adds a reply to what was said so far, which is kept under a key.
func Append(c *bt.Context, key, reply string) {
	before, _ := c.Get(key).(string)
	if before != "" && reply != "" {
		before += "\n\n"
	}
	c.SetGlobal(key, before+reply)
}

// Take is a whole turn, for a loop without a tree: the reply is heard, its signal phase is gone
// through, and what is known then is returned. The state is on the board. The time is the signal's.
func (t *Turns) Take(b *bt.Blackboard, reply string, at time.Time) State {
	c := bt.NewContext(b, at, nil)
	t.Heard(c, map[string]any{"content": reply})
	Append(c, KeyContent, reply)
	for _, action := range []func(*bt.Context) bt.Status{t.Parse, t.Update, t.Log, t.Strip} {
		action(c)
	}
	return Of(c)
}

// Parse reads the signal in this turn's reply: parse_response_signal.
func (t *Turns) Parse(c *bt.Context) bt.Status {
	if !t.reach(parsed) {
		return bt.Success
	}
	c.SetGlobal(KeyParsed, true)
	if r, ok := agentsig.ParseReflection(reply(c), c.Now()); ok {
		t.signal = &r
		c.SetGlobal(KeyLast, Value(r))
	}
	return bt.Success
}

// reply returns what the model said in this turn, with its signals.
func reply(c *bt.Context) string {
	response, _ := c.Get(KeyResponse).(map[string]any)
	text, _ := response["content"].(string)
	return text
}

// Value returns a signal as the blackboard holds it.
func Value(r agentsig.Reflection) map[string]any {
	fields := map[string]any{}
	for _, f := range r.Fields {
		fields[f.Name] = f.Value
		if list, ok := f.Value.([]string); ok {
			fields[f.Name] = texts(list)
		}
	}
	value := map[string]any{
		"type": string(r.Type), "confidence": r.Confidence, "fields": fields,
		"raw_xml": r.RawXML, "timestamp": r.Timestamp.UTC().Format(time.RFC3339Nano),
	}
	if len(r.Unknown) > 0 {
		value["unknown"] = texts(r.Unknown)
	}
	return value
}

// texts is a list as the blackboard holds it.
func texts(list []string) []any {
	all := make([]any, len(list))
	for i, s := range list {
		all[i] = s
	}
	return all
}

// Update counts the turn and keeps its signal: update_signal_state.
func (t *Turns) Update(c *bt.Context) bt.Status {
	if !t.reach(updated) {
		return bt.Success
	}
	before := Of(c)
	previous, _ := c.Get(KeyPrevious).(map[string]any)
	t.counts = counters{before.SameReason, before.Silent}.count(previous, before.Last)
	c.SetGlobal(KeySameReason, t.counts.sameReason)
	c.SetGlobal(KeySilent, t.counts.silent)
	if before.Last != nil {
		emitted, _ := c.Get(KeyEmitted).([]any)
		c.SetGlobal(KeyEmitted, append(emitted[:len(emitted):len(emitted)], before.Last))
	}
	return bt.Success
}

// Log tells of the turn: log_signal.
func (t *Turns) Log(c *bt.Context) bt.Status {
	if t.reach(logged) && t.Told != nil {
		t.Told(Turn{State{Last(c), t.counts.sameReason, t.counts.silent}, t.signal})
	}
	return bt.Success
}

// Strip takes the signals out of what was said in this turn, and blanks at its end:
// strip_signal_from_response.
func (t *Turns) Strip(c *bt.Context) bt.Status {
	if !t.reach(stripped) {
		return bt.Success
	}
	all, _ := c.Get(KeyContent).(string)
	raw := reply(c)
	before := strings.TrimSuffix(all, raw)
	c.SetGlobal(KeyContent, strings.TrimRight(before+Stripped(raw), " \t\r\n"))
	return bt.Success
}

// Stripped returns a reply without its signals.
func Stripped(reply string) string {
	result, err := agentsig.Scan(strings.NewReader(reply), agentsig.Options{})
	if err != nil {
		return "" // a reader of a string has no errors; nothing is safer than a signal
	}
	return result.Text
}
