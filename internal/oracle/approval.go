package oracle

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/signalbox-dev/signalbox/bt"
	"github.com/signalbox-dev/signalbox/internal/oracle/model"
	"github.com/signalbox-dev/signalbox/internal/oracle/toolbox"
)

// A call of a tool that changes something is made only if somebody has allowed it. Which tools
// these are their servers say: all but those that are said to read only. Each such call is
// decided on its own, before anything of it is done: the decision is in the ledger first, then the
// call is made, then the ledger gets what came of it. A call that can't be recorded is not made.
//
// The tree's await_approval decides the calls of a reply. It is a part of the tree so that one can
// see where a person is waited for; a tree without it asks no less, for whatever runs a tool
// decides what was not decided yet.

// Proposal is a call that changes something, and waits to be allowed.
type Proposal struct {
	Turn      int
	Tool      toolbox.Tool
	Arguments json.RawMessage // a JSON object in which no name is there twice
}

// DecidedBy is whose word a decision is.
type DecidedBy string

// Whose word it can be.
const (
	ByPerson  DecidedBy = "person"  // who was asked
	ByEarlier DecidedBy = "earlier" // a person, who has allowed the tool for the whole question
	ByList    DecidedBy = "list"    // the tools that were allowed before the question
	ByNobody  DecidedBy = "nobody"  // there was none to ask, so it is refused
)

// Decision says whether a call is made. The zero Decision refuses, by nobody's word.
type Decision struct {
	Allowed bool
	Always  bool // so are further calls of the tool in this question
	By      DecidedBy
	Reason  string // of a refusal; the model reads it
}

// Approve decides about a call. It is asked about one at a time, and returns when it is decided or
// when ctx has ended.
type Approve func(context.Context, Proposal) Decision

// AllowListed returns an [Approve] that allows the tools with these names, and leaves the others to
// rest, which refuses if it is nil.
func AllowListed(names []string, rest Approve) Approve {
	return func(ctx context.Context, p Proposal) Decision {
		switch {
		case slices.Contains(names, p.Tool.Name):
			return Decision{Allowed: true, By: ByList}
		case rest != nil:
			return rest(ctx, p)
		}
		return Decision{}
	}
}

// ruling is what was decided about a call.
type ruling struct {
	call    int    // its number in the ledger; 0 if it changes nothing
	refused string // what the model is told in place of a result
}

// awaitApproval makes the leaf that has the calls of this turn's reply decided. While somebody is
// asked it is RUNNING, for as long as that takes.
func (q *query) awaitApproval() bt.Leaf {
	return bt.Async(func(c *bt.Context) bt.Work {
		calls, decided, turn, alive := q.reply.Calls, q.rulings, q.turn, c.Alive()
		return func(ctx context.Context) func(*bt.Context) bt.Status {
			if decided == nil {
				decided = q.decide(ctx, turn, calls, alive)
			}
			return func(*bt.Context) bt.Status {
				q.rulings = decided
				return bt.Success
			}
		}
	})
}

// decide has calls decided, one after the other.
func (q *query) decide(ctx context.Context, turn int, calls []model.Call, alive func()) []ruling {
	defer keepAlive(alive)() // a person takes their time
	q.asking.Lock()
	defer q.asking.Unlock()
	rulings := make([]ruling, len(calls))
	for i, call := range calls {
		rulings[i] = q.decideOne(ctx, turn, call)
	}
	return rulings
}

// decideOne decides about a call. What can't be called is left to whoever would call it.
func (q *query) decideOne(ctx context.Context, turn int, call model.Call) ruling {
	if q.Tools == nil {
		return ruling{}
	}
	tools := q.Tools.Tools()
	i := slices.IndexFunc(tools, func(t toolbox.Tool) bool { return t.Name == call.Name })
	if _, unreadable := call.Unreadable(); unreadable || i < 0 || tools[i].ReadOnly {
		return ruling{}
	}
	arguments, err := toolbox.Arguments(call.Name, call.Arguments)
	if err != nil {
		return ruling{refused: err.Error()}
	}
	d := q.approve(ctx, Proposal{Turn: turn, Tool: tools[i], Arguments: arguments})
	q.decisions++
	v := ruling{call: q.decisions}
	entry := CallDecided{Call: v.call, Turn: turn, Tool: call.Name, Server: tools[i].Server, Arguments: string(arguments), Decision: d}
	err = q.recordNow(entry)
	switch {
	case !d.Allowed:
		v.refused = "refused: " + d.Reason
	case err != nil:
		v.refused = fmt.Sprintf("refused: %s changes something, and that it was allowed could not be recorded: %v", call.Name, err)
	}
	name := "tool.approval.allowed"
	if v.refused != "" {
		name = "tool.approval.refused"
	}
	q.eventIn(turn, name, map[string]any{"tool": call.Name, "server": tools[i].Server, "by": string(d.By)})
	return v
}

// approve asks, unless a person has said before that it need not be asked.
func (q *query) approve(ctx context.Context, p Proposal) Decision {
	var d Decision
	switch {
	case q.always[p.Tool.Name]:
		d = Decision{Allowed: true, By: ByEarlier}
	case ctx.Err() != nil:
		d = Decision{Reason: "the question was interrupted"}
	case q.Approve != nil:
		q.eventIn(p.Turn, "tool.approval.asked", map[string]any{"tool": p.Tool.Name, "server": p.Tool.Server})
		d = q.Approve(ctx, p)
	}
	if d.By == "" || d.By == ByNobody {
		d = Decision{By: ByNobody, Reason: d.Reason} // nobody can only refuse
	}
	if d.Allowed {
		d.Reason = ""
		q.always[p.Tool.Name] = q.always[p.Tool.Name] || d.Always
	} else if d.Reason == "" {
		d.Reason = fmt.Sprintf("%s changes something, and nobody is there to allow it; go on without it, and say what you would have done", p.Tool.Name)
	}
	return d
}

// ended says what came of a call that was allowed.
func (q *query) ended(v ruling, call model.Call, r toolbox.Result) toolbox.Result {
	if v.call == 0 || v.refused != "" {
		return r
	}
	if r.Unknown {
		r.Text += fmt.Sprintf("\nThe call may have been carried out: find out whether it was before you call %s again, and tell the person that it is not known.", call.Name)
	}
	q.record(CallEnded{Call: v.call, Failed: r.Failed, Unknown: r.Unknown, Bytes: len(r.Text)})
	return r
}
