package oracle

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/bt"
	"github.com/signalbox-dev/signalbox/internal/oracle/model"
	"github.com/signalbox-dev/signalbox/internal/oracle/toolbox"
	"github.com/signalbox-dev/signalbox/safetext"
)

// Tools are what a model may call.
type Tools interface {
	Tools() []toolbox.Tool
	Call(ctx context.Context, name string, arguments json.RawMessage) toolbox.Result
}

const (
	toolsAtOnce  = 4                // calls of one reply that run at the same time
	signOfLife   = 10 * time.Second // from tools that are at work
	maxPreview   = 2000             // characters of a result that the blackboard and a chunk show
	loopWindow   = 6                // tool calls
	loopRepeated = 3                // of them alike
)

func (q *query) hasToolCalls(*bt.Context) bt.Status { return status(len(q.reply.Calls) > 0) }

// runTools makes the leaf that runs what this turn's reply calls. A tool that fails is a
// result like any other.
func (q *query) runTools() bt.Leaf {
	leaf := bt.Async(func(c *bt.Context) bt.Work {
		q.takeCalls()
		calls, lost, alive := q.under, c.Interrupted(), c.Alive()
		rulings, turn := q.rulings, q.turn
		q.rulings = nil
		return func(ctx context.Context) func(*bt.Context) bt.Status {
			results := q.callAll(ctx, turn, calls, rulings, lost, alive)
			return func(c *bt.Context) bt.Status {
				save(c, results)
				q.keep(c, calls, results)
				return bt.Success
			}
		}
	})
	leaf.Halt = q.giveUpTools
	leaf.Restore = q.restoreTools
	return leaf
}

// takeCalls takes this turn's calls, which are run once.
func (q *query) takeCalls() {
	if len(q.reply.Calls) == 0 {
		return
	}
	q.under, q.reply.Calls = q.reply.Calls, nil
	for _, call := range q.under {
		q.begun(call)
	}
}

// call runs calls, some at the same time, and returns their results in order. Those that were not
// decided yet are decided first.
func (q *query) call(ctx context.Context, turn int, calls []model.Call, rulings []ruling, alive func()) []toolbox.Result {
	if rulings == nil {
		rulings = q.decide(ctx, turn, calls, alive)
	}
	defer keepAlive(alive)()
	results := make([]toolbox.Result, len(calls))
	places := make(chan struct{}, toolsAtOnce)
	var running sync.WaitGroup
	for i, call := range calls {
		places <- struct{}{}
		running.Go(func() {
			defer func() { <-places }()
			results[i] = q.ended(rulings[i], call, q.callOne(ctx, call, rulings[i]))
		})
	}
	running.Wait()
	return results
}

// keepAlive gives signs of life until it is stopped, for work that has a time-out of its own.
func keepAlive(alive func()) (stop func()) {
	life := time.NewTicker(signOfLife)
	over := make(chan struct{})
	go func() {
		defer life.Stop()
		for {
			select {
			case <-life.C:
				alive()
			case <-over:
				return
			}
		}
	}()
	return func() { close(over) }
}

// callOne runs a call. One that can't be run has a result that says so.
func (q *query) callOne(ctx context.Context, call model.Call, v ruling) (result toolbox.Result) {
	defer func() {
		if p := recover(); p != nil {
			result = toolbox.Result{Text: fmt.Sprintf("the tool broke down: %.200v", p), Failed: true, Unknown: true}
		}
	}()
	failed := func(text string) toolbox.Result { return toolbox.Result{Text: text, Failed: true} }
	raw, unreadable := call.Unreadable()
	switch {
	case q.Tools == nil:
		return failed("there are no tools")
	case v.refused != "":
		return toolbox.Result{Text: v.refused, Failed: true, Refused: v.call > 0} // by somebody, or for what it is
	case unreadable:
		return failed(fmt.Sprintf("the arguments are no JSON object, but %.200q: call it again with one", raw))
	case ctx.Err() != nil:
		return failed("it was not called any more")
	}
	return q.Tools.Call(ctx, call.Name, call.Arguments)
}

// keep gives results to the model. A model that calls the same again and again is told so.
func (q *query) keep(c *bt.Context, calls []model.Call, results []toolbox.Result) {
	q.under = nil
	message := model.Message{Role: model.ToolResults}
	var looping []string
	for i, r := range results {
		call := calls[i]
		q.note(c, call, r)
		message.Results = append(message.Results, model.Result{ID: call.ID, Text: r.Text, Failed: r.Failed})
		if q.repeats(call) && !slices.Contains(looping, call.Name) {
			looping = append(looping, call.Name)
		}
	}
	q.messages = append(q.messages, message)
	for _, tool := range looping {
		q.event("agent.loop.detected", map[string]any{"kind": "tool", "tool": tool})
		q.emit(Chunk{Type: System, Turn: q.turn, Text: fmt.Sprintf("The model calls %s with the same arguments over and over; it is told so.", safetext.Escape(tool))})
		q.say(fmt.Sprintf(tellLoop, tool, loopRepeated))
	}
}

// begun tells of a call.
func (q *query) begun(call model.Call) {
	q.emit(Chunk{Type: ToolCall, Turn: q.turn, Tool: call.Name, Arguments: string(call.Arguments)})
	q.event("tool.call.started", map[string]any{"tool": call.Name})
}

// note puts a result into the history, and tells of it.
func (q *query) note(c *bt.Context, call model.Call, r toolbox.Result) {
	preview := cut(r.Text, maxPreview)
	history, _ := c.Get(keyToolResults).([]any)
	result := map[string]any{
		"tool": call.Name, "arguments": cut(string(call.Arguments), maxPreview), "success": !r.Failed, "result": preview, "turn": q.turn}
	fields := map[string]any{"tool": call.Name, "bytes": len(r.Text)}
	if r.Refused {
		result["refused"], fields["refused"] = true, true
		q.refused++
	} else {
		q.called++
	}
	c.SetGlobal(keyToolResults, append(history[:len(history):len(history)], result))
	name := "tool.call.succeeded"
	if r.Failed {
		name = "tool.call.failed"
	}
	q.event(name, fields)
	q.emit(Chunk{Type: ToolResult, Turn: q.turn, Tool: call.Name, Text: preview, Bytes: len(r.Text), Failed: r.Failed, Refused: r.Refused, Sources: r.Sources})
	for _, source := range r.Sources {
		if !r.Failed && !slices.Contains(q.sources, source) {
			q.sources = append(q.sources, source)
		}
	}
}

// repeats notes a call, and reports whether there are three alike among the last six. Then
// it begins to count anew.
func (q *query) repeats(call model.Call) bool {
	signature := call.Name + " " + canonical(call.Arguments)
	q.calls = append(q.calls, signature)
	q.calls = q.calls[max(0, len(q.calls)-loopWindow):]
	alike := 0
	for _, s := range q.calls {
		if s == signature {
			alike++
		}
	}
	if alike < loopRepeated {
		return false
	}
	q.calls = slices.DeleteFunc(q.calls, func(s string) bool { return s == signature })
	return true
}

// canonical makes arguments comparable: the same values in any order and spacing.
func canonical(arguments json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(arguments))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return string(arguments)
	}
	out, err := json.Marshal(v)
	if err != nil {
		return string(arguments)
	}
	return string(out)
}

// cut shortens a text to so many bytes, on a rune.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && text[most]&0xc0 == 0x80 {
		most--
	}
	return text[:most] + "…"
}

// callTool makes the leaf of a tool node.
func (q *query) callTool(call bt.ToolCall) (bt.Leaf, error) {
	leaf := bt.Async(func(c *bt.Context) bt.Work {
		arguments := map[string]any{}
		for name, value := range call.Args {
			arguments[name] = value
		}
		for name, key := range call.From {
			arguments[name] = c.Get(key)
		}
		encoded, err := json.Marshal(arguments)
		if err != nil {
			c.Note("the arguments: %v", err)
			return nil
		}
		calls, turn, lost, alive := []model.Call{{Name: call.Tool, Arguments: encoded}}, q.turn, c.Interrupted(), c.Alive()
		q.begun(calls[0])
		return func(ctx context.Context) func(*bt.Context) bt.Status {
			r := q.callAll(ctx, turn, calls, nil, lost, alive)[0]
			return func(c *bt.Context) bt.Status {
				save(c, nodeCall{calls[0], r})
				if r.Failed {
					c.Note("%s", r.Text)
				}
				q.note(c, calls[0], r)
				if call.Result != "" {
					c.Set(call.Result, r.Text)
				}
				return status(!r.Failed)
			}
		}
	}).Using(nil, []string{keyToolResults})
	leaf.Restore = func(c *bt.Context, _ bt.Status, saved any) {
		var n nodeCall
		if load(saved, &n) {
			q.begun(n.Call)
			q.note(c, n.Call, n.Result)
		}
	}
	return leaf, nil
}
