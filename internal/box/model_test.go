package box_test

import (
	"cmp"
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/signalbox-dev/signalbox/agentsig"
)

// call is what a client asks of an item, and result what it is answered.
type call struct {
	item   int
	what   string // claim, review, end, note, release, expire, report, override or show
	token  uint64
	phase  agentsig.Phase
	reason agentsig.ExitReason // of end
	passed bool                // of report
	before uint64              // the token of a claim that was granted already, and nobody heard of it
}

type result struct {
	refused string // held, invalid or conflict: how a refusal is answered
	event   string
	phase   agentsig.Phase // after it
	token   uint64         // that was granted, or that holds the item
	unknown bool           // nobody answered
}

// model is an item as a page of notes would have it: nothing of package work is
// in it.
type model struct {
	phase            agentsig.Phase
	holder           uint64 // the token of who holds it, or 0
	granted, settled uint64 // the latest token, and the latest whose session ended by itself
	unread           int    // outputs in a row without a signal that counts
}

var after = map[agentsig.Phase]agentsig.Phase{
	"DRAFT": "IMPLEMENTATION", "IMPLEMENTATION": "CI_PENDING", "READY_FOR_REVIEW": "REVIEW", "REVIEW": "READY_FOR_MERGE", "READY_FOR_MERGE": "COMPLETED",
}

// step says how a call is answered, and what the item is then.
func (m model) step(c call) (model, result) {
	no := func(how string) (model, result) { return m, result{refused: how} }
	move := func(event string, to agentsig.Phase) (model, result) {
		m.phase, m.holder = to, 0
		return m, result{event: event, phase: to}
	}
	reviewable := m.phase == "READY_FOR_REVIEW" || m.phase == "REVIEW"
	switch c.what {
	case "show":
		return m, result{phase: m.phase, token: m.holder}
	case "claim", "review":
		switch {
		case m.phase == "COMPLETED" || m.phase == "BLOCKED":
			return no("conflict")
		case m.holder != 0 && m.holder == c.before:
			return m, result{phase: m.phase, token: m.holder}
		case m.holder != 0:
			return no("held")
		case c.what == "review" && !reviewable:
			return no("invalid")
		case c.what == "review":
			m.phase = "REVIEW"
		}
		m.granted++
		m.holder = m.granted
		return m, result{phase: m.phase, token: m.holder}
	case "report":
		switch {
		case m.phase != "CI_PENDING":
			return no("conflict")
		case c.passed:
			return move("GatePassed", "READY_FOR_REVIEW")
		}
		return move("GateFailed", "IMPLEMENTATION")
	case "override":
		if m.phase == c.phase {
			return no("conflict")
		}
		m.unread = 0
		return move("WorkOverridden", c.phase)
	}
	mine, over := m.holder == c.token, m.settled == c.token
	switch c.what {
	case "end":
		switch to := after[c.phase]; {
		case over:
			return no("conflict")
		case mine && m.phase != c.phase, mine && c.reason == "completed" && to == "":
			if m.unread++; m.unread < 3 {
				return m, result{event: "unknown_signal_recovery"}
			}
			m.unread, m.holder = 0, 0
			return m, result{event: "agent_signal_failure"}
		case !mine:
			return m, result{event: "LateResultRecorded"}
		case c.reason != "completed":
			m.settled, m.unread = c.token, 0
			return move("AgentSessionCompleted", "BLOCKED")
		default:
			m.settled, m.unread = c.token, 0
			return move("AgentSessionCompleted", to)
		}
	case "note":
		if over || !mine {
			return no("conflict")
		}
		return m, result{event: "SignalRecorded"}
	case "release", "expire":
		if over || !mine {
			return no("conflict")
		}
		return move(map[string]string{"release": "LeaseReleased", "expire": "LeaseExpired"}[c.what], m.phase)
	}
	panic("there is no call " + c.what)
}

// linearizable is the model for the checker: item by item, from DRAFT. A call that
// nobody answered may have had its effect at any time after it, or never: it lasts
// until the end.
var linearizable = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		slices.SortStableFunc(history, func(a, b porcupine.Operation) int { return cmp.Compare(a.Input.(call).item, b.Input.(call).item) })
		var parts [][]porcupine.Operation
		for n, o := range history {
			if n == 0 || history[n-1].Input.(call).item != o.Input.(call).item {
				parts = append(parts, nil)
			}
			parts[len(parts)-1] = append(parts[len(parts)-1], o)
		}
		return parts
	},
	Init: func() any { return model{phase: "DRAFT"} },
	Step: func(state, input, output any) (bool, any) {
		next, want := state.(model).step(input.(call))
		got := output.(result)
		return got.unknown || got == want, next
	},
}
