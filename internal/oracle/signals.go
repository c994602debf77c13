package oracle

import (
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/bt"
)

// The four actions of a turn's signal phase. Each does its part once a turn, and after
// the one before it: what a tree repeats or puts out of order is left as it is.

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
func (q *query) reach(next stage) bool {
	if q.stage != next-1 {
		return false
	}
	q.stage = next
	return true
}

// parseResponseSignal reads the signal in this turn's reply.
func (q *query) parseResponseSignal(c *bt.Context) bt.Status {
	if !q.reach(parsed) {
		return bt.Success
	}
	c.SetGlobal(keyParsed, true)
	if r, ok := agentsig.ParseReflection(reply(c), c.Now()); ok {
		q.signal = r
		c.SetGlobal(keyLastSignal, signalValue(r))
	}
	return bt.Success
}

// reply returns what the model said in this turn, with its signals.
func reply(c *bt.Context) string {
	response, _ := c.Get(keyResponse).(map[string]any)
	text, _ := response["content"].(string)
	return text
}

// signalValue is a signal as the blackboard holds it.
func signalValue(r agentsig.Reflection) map[string]any {
	fields := map[string]any{}
	for _, f := range r.Fields {
		value := f.Value
		if list, ok := value.([]string); ok {
			value = texts(list)
		}
		fields[f.Name] = value
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

// updateSignalState counts the turn and keeps its signal.
func (q *query) updateSignalState(c *bt.Context) bt.Status {
	if !q.reach(updated) {
		return bt.Success
	}
	sameReason, _ := c.Get(keySameReason).(int)
	silent, _ := c.Get(keySilent).(int)
	previous, _ := c.Get(keyPrevSignal).(map[string]any)
	present := signal(c)
	q.counts = counters{sameReason, silent}.count(previous, present)
	c.SetGlobal(keySameReason, q.counts.sameReason)
	c.SetGlobal(keySilent, q.counts.silent)
	if present != nil {
		before, _ := c.Get(keySignals).([]any)
		c.SetGlobal(keySignals, append(before[:len(before):len(before)], present))
	}
	return bt.Success
}

// logSignal tells of the turn's signal, or that there is none; subscribers and the ledger are
// told of the signal alone.
func (q *query) logSignal(c *bt.Context) bt.Status {
	if !q.reach(logged) {
		return bt.Success
	}
	s := signal(c)
	q.emit(Chunk{Type: Signal, Turn: q.turn, SignalState: &SignalState{s, q.counts.sameReason, q.counts.silent}})
	if s == nil {
		return bt.Success
	}
	fields, _ := s["fields"].(map[string]any)
	q.event("agent.signal."+string(q.signal.Type), map[string]any{"confidence": q.signal.Confidence, "fields": fields})
	q.signals++
	q.record(Signalled{Turn: q.turn, Signal: q.signal})
	return bt.Success
}

// stripSignalFromResponse takes the signals out of what was said in this turn.
func (q *query) stripSignalFromResponse(c *bt.Context) bt.Status {
	if !q.reach(stripped) {
		return bt.Success
	}
	all, _ := c.Get(keyContent).(string)
	raw := reply(c)
	before := strings.TrimSuffix(all, raw)
	c.SetGlobal(keyContent, strings.TrimRight(before+strip(raw), " \t\r\n"))
	return bt.Success
}

// strip returns a reply without its signals.
func strip(text string) string {
	result, err := agentsig.Scan(strings.NewReader(text), agentsig.Options{})
	if err != nil {
		return "" // a reader of a string has no errors; nothing is safer than a signal
	}
	return result.Text
}
