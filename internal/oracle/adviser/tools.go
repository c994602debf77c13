package adviser

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/advice"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/oracle"
	"github.com/signalbox-dev/signalbox/internal/oracle/toolbox"
)

const (
	maxCalls = 200     // of one question
	maxText  = 4 << 10 // bytes of a text that is to be recorded, or shown
)

// tools are an oracle's, each call of which is recorded before it is made.
type tools struct {
	to      oracle.Tools
	adviser *adviser
	allow   []string
}

// Tools returns the tools as ones that need nobody's leave: it is Call that gives or refuses it.
func (t *tools) Tools() []toolbox.Tool {
	all := slices.Clone(t.to.Tools())
	for i := range all {
		all[i].ReadOnly = true
	}
	return all
}

// byTools leaves it to the tools to decide about calls that change something: they know what is allowed, and have
// each call recorded.
func byTools(context.Context, oracle.Proposal) oracle.Decision {
	return oracle.Decision{Allowed: true, By: oracle.ByList}
}

// Call makes a call once it is recorded. What is refused is a result that the model reads.
func (t *tools) Call(ctx context.Context, name string, arguments json.RawMessage) toolbox.Result {
	all := t.to.Tools()
	i := slices.IndexFunc(all, func(tool toolbox.Tool) bool { return tool.Name == name })
	if i < 0 {
		return t.to.Call(ctx, name, arguments) // which says so, and calls nothing
	}
	changes := !all[i].ReadOnly
	if changes && !slices.Contains(t.allow, name) {
		t.adviser.tell(advice.Line{Denied: name})
		return refused("%s was not called: it may change something, and you are not allowed to. Answer without it, or say what a person should do.", name)
	}
	call, recorded := t.adviser.intend(name, arguments, changes)
	if recorded == nil {
		return refused("%s was not called: a question may call tools %d times", name, maxCalls)
	}
	select {
	case ok := <-recorded:
		if !ok {
			return refused("%s was not called: the call could not be recorded", name)
		}
	case <-ctx.Done():
		return refused("%s was not called: %v", name, context.Cause(ctx))
	}
	result := t.to.Call(ctx, name, arguments)
	t.adviser.returned(call, name, result)
	return result
}

// refused is the result of a call that was not made.
func refused(format string, args ...any) toolbox.Result {
	return toolbox.Result{Text: fmt.Sprintf(format, args...), Failed: true, Refused: true}
}

// intend tells of a call that is about to be made, and returns its number and a channel that says whether it may be;
// nil if there were too many.
func (a *adviser) intend(tool string, arguments json.RawMessage, changes bool) (call int, recorded <-chan bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.calls == maxCalls {
		return 0, nil
	}
	a.calls++
	word := make(chan bool, 1)
	if a.deaf {
		word <- false
		return a.calls, word
	}
	a.waiting[a.calls] = word
	a.write(advice.Line{Step: &delivery.Step{Call: &delivery.ToolCall{
		Call: a.calls, Turn: a.turn, Tool: tool, Arguments: cut(string(arguments)), Changes: changes,
	}}})
	return a.calls, word
}

// returned tells what came of a call.
func (a *adviser) returned(call int, tool string, r toolbox.Result) {
	sum := sha256.Sum256([]byte(r.Text))
	result := &delivery.ToolResult{Call: call, Tool: tool, Failed: r.Failed, Bytes: len(r.Text), SHA256: hex.EncodeToString(sum[:])}
	if r.Failed {
		result.Text = cut(r.Text)
	}
	a.tell(advice.Line{Step: &delivery.Step{Result: result}, Given: cut(r.Text)})
}

// listen hears which calls are recorded, until the input ends: then the question does.
func (a *adviser) listen(lines *bufio.Reader) {
	defer a.cancel()
	for {
		line, err := readLine(lines, advice.MaxWord)
		if err != nil {
			break
		}
		var w advice.Word
		if json.Unmarshal(line, &w) != nil {
			break
		}
		a.mu.Lock()
		if word := a.waiting[w.Call]; word != nil {
			delete(a.waiting, w.Call)
			word <- w.Recorded
		}
		a.mu.Unlock()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.deaf = true
	for _, word := range a.waiting {
		word <- false
	}
	clear(a.waiting)
}

// cut shortens a text to what is recorded of one, on a rune.
func cut(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "…"
}
