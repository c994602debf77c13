package oracle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/bt"
	"github.com/signalbox-dev/signalbox/internal/oracle/model"
	"github.com/signalbox-dev/signalbox/internal/oracle/toolbox"
)

// A question that was recorded is gone on with by going through its run again: the model's
// replies and the tools' results come from the recording, and everything that follows from
// them is done anew, so that the question's own state is what it was.

// Recorded returns the question that a recording is of, what it is part of, and what it was asked with.
func Recorded(recording io.Reader) (question string, talk Talk, with map[string]any, err error) {
	_, values, err := bt.Recorded(recording)
	if err != nil {
		return "", Talk{}, nil, err
	}
	question, _ = values[keyQuestion].(string)
	with, ok := values[keyAskedWith].(map[string]any)
	if question == "" || !ok {
		return "", Talk{}, nil, errors.New("this is a recording of a tree's run, but of no question")
	}
	return question, talkOf(values), with, nil
}

// restored has every function called again where the recording has a call of it, but for
// those that wait for somebody: they have a way of their own.
func restored(l bt.Library) bt.Library {
	for name, leaf := range l.Functions {
		if leaf.Restore == nil && !leaf.Beside() {
			tick := leaf.Tick
			leaf.Restore = func(c *bt.Context, _ bt.Status, _ any) { tick(c) }
			l.Functions[name] = leaf
		}
	}
	return l
}

// save keeps something with a leaf's result, for load. As a text it stays what it was, to
// the last digit of a tool's arguments.
func save(c *bt.Context, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		data = []byte("null") // which nothing here is
	}
	c.Save(string(data))
}

// load reports whether a leaf has kept something, and reads it.
func load(saved, v any) bool {
	text, ok := saved.(string)
	return ok && json.Unmarshal([]byte(text), v) == nil
}

// attempt is a model's reply as a recording has it, or why there is none.
type attempt struct {
	Reply      model.Reply
	Failure    string        `json:",omitempty"`
	Temporary  bool          `json:",omitempty"`
	RetryAfter time.Duration `json:",omitempty"`
}

func saveReply(c *bt.Context, reply model.Reply, err error) {
	a := attempt{Reply: reply}
	if err != nil {
		a = attempt{Failure: err.Error()}
		if trouble := (*model.Error)(nil); errors.As(err, &trouble) {
			a.Temporary, a.RetryAfter = trouble.Temporary, trouble.RetryAfter
		}
	}
	save(c, a)
}

// restoreReply takes in a recorded reply.
func (q *query) restoreReply(c *bt.Context, call bt.LLMCall, returned bt.Status, saved any) {
	var a attempt
	switch {
	case returned == bt.Running:
		q.turn = max(q.turn, q.replies+1)
		q.begin()
	case !load(saved, &a): // it was not asked
		q.trouble = q.spent(c)
	case a.Failure != "":
		q.noReply(c, errors.New(a.Failure))
	default:
		said := listen(func(text string) { q.show(q.turn, func() string { return text }) })
		said.write(a.Reply.Text)
		said.close()
		q.heard(c, call, a.Reply, said)
	}
}

// What the model is told of a call whose result nobody has.
const (
	tellLost   = "the result is lost: the program was stopped while %s was under way. It may have been carried out. Find out whether it was before you call it again"
	tellGiveUp = "it took too long, and was given up. It may have been carried out: find out whether it was before you call it again"
)

// repeatable reports whether a tool changes nothing, so that it can be called again.
func (q *query) repeatable(name string) bool {
	return q.Tools == nil || slices.ContainsFunc(q.Tools.Tools(), func(t toolbox.Tool) bool { return t.Name == name && t.ReadOnly })
}

// callAll runs calls. If they were under way when the program was stopped, those that may
// have changed something are not made again.
func (q *query) callAll(ctx context.Context, turn int, calls []model.Call, rulings []ruling, lost bool, alive func()) []toolbox.Result {
	if !lost {
		return q.call(ctx, turn, calls, rulings, alive)
	}
	results := make([]toolbox.Result, len(calls))
	var again []model.Call
	for i, call := range calls {
		if q.repeatable(call.Name) {
			again = append(again, call)
		} else {
			results[i] = toolbox.Result{Text: fmt.Sprintf(tellLost, call.Name), Failed: true}
		}
	}
	had := q.call(ctx, turn, again, nil, alive)
	for i, call := range calls {
		if q.repeatable(call.Name) {
			results[i], had = had[0], had[1:]
		}
	}
	return results
}

// giveUpTools tells the model of calls that a tree's time-out gives up.
func (q *query) giveUpTools(c *bt.Context) {
	if c.Context().Err() != nil || len(q.under) == 0 {
		return
	}
	message := model.Message{Role: model.ToolResults}
	for _, call := range q.under {
		message.Results = append(message.Results, model.Result{ID: call.ID, Text: tellGiveUp, Failed: true})
		q.emit(Chunk{Type: ToolResult, Turn: q.turn, Tool: call.Name, Text: tellGiveUp, Bytes: len(tellGiveUp), Failed: true})
	}
	q.under = nil
	q.messages = append(q.messages, message)
}

// restoreTools takes in recorded results.
func (q *query) restoreTools(c *bt.Context, returned bt.Status, saved any) {
	q.takeCalls()
	var results []toolbox.Result
	if returned != bt.Running && load(saved, &results) && len(results) == len(q.under) {
		q.keep(c, q.under, results)
	}
}

// nodeCall is what a tool node did.
type nodeCall struct {
	Call   model.Call
	Result toolbox.Result
}
