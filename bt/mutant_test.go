package bt

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// TestMutants drops rules, one at a time, and sees whether the tests that compare, not
// those that have a row for the rule, notice.
func TestMutants(t *testing.T) {
	mutant.All(t, mutant.By("^TestReference$", []mutant.Mutant{
		{Name: "a sequence begins at its first child", File: "tick.go", Old: "for ; int(s.index) < len(n.children); s.index++ {\n\t\tif", New: "for s.index = 0; int(s.index) < len(n.children); s.index++ {\n\t\tif"},
		{Name: "finished children are asked again", File: "tick.go", Old: "if !status.Finished() {\n\t\t\tstatus = r.tick(child)", New: "if true {\n\t\t\tstatus = r.tick(child)"},
		{Name: "a parallel fails too late", File: "tick.go", Old: "case failed > len(n.children)-need:", New: "case failed == len(n.children):"},
		{Name: "conflicts of an outer node are not seen", File: "tick.go", Old: "p >= 0; p = r.program.nodes[p].parallel {", New: "p >= 0; p = -1 {"},
		{Name: "writes of an earlier round conflict", File: "tick.go", Old: "bool { return w.parallel == at })", New: "bool { return false })"},
		{Name: "children are not given up", File: "tick.go", Old: "\tif status != Running {\n\t\tr.haltChildren(n)\n\t}\n", New: "\tif status == Running {\n\t\tr.haltChildren(n)\n\t}\n"},
		{Name: "the list is read again", File: "tick.go", Old: "\tif fresh {\n\t\tlist, ok", New: "\tif true {\n\t\tlist, ok"},
		{Name: "one attempt too many", File: "tick.go", Old: "int(s.index) >= n.Retries ||", New: "int(s.index) > n.Retries ||"},
		{Name: "pauses do not double", File: "compile.go", Old: "min(2*first, most)", New: "min(first, most)"},
		{Name: "a pause is a stall", File: "tick.go", Old: "\tr.due(until)\n\tr.moved(r.elapsed)\n", New: "\tr.due(until)\n"},
		{Name: "what is tried again goes on where it was", File: "tick.go", Old: "\tr.reset(n.children[0])\n\treturn Running, r.attempt", New: "\treturn Running, r.attempt"},
		{Name: "a guard's condition is asked once", File: "tick.go", Old: "\tr.reset(condition)\n\tif r.tick(condition) != Success {", New: "\tif s := r.states[condition].status; s != Success && r.tick(condition) != Success {"},
		{Name: "a cooldown is forgotten", File: "run.go", Old: "*s = state{finished: s.finished, cooling: s.cooling}", New: "*s = state{}"},
		{Name: "a subtree keeps its scope", File: "tick.go", Old: "\t\tif fresh {\n\t\t\tr.board.clear", New: "\t\tif false {\n\t\t\tr.board.clear"},
		{Name: "a model is asked in a pause", File: "tick.go", Old: "\tif s.until > r.elapsed {\n\t\tr.pause(s.until)\n\t\treturn Running, \"\"\n\t}\n\tif !s.asked", New: "\tif !s.asked"},
		{Name: "a model's time counts from the first attempt", File: "tick.go", Old: "\tif !s.asked {\n", New: "\tif s.start == 0 {\n"},
		{Name: "a model's own time is ignored", File: "tick.go", Old: "max(backoff(call.Backoff, s.index), after)", New: "max(backoff(call.Backoff, s.index), 0*after)"},
		{Name: "what is given up in a pause is told so", File: "run.go", Old: "if !asked || halt == nil", New: "if !asked && s.status != Running || halt == nil"},
		{Name: "the context is not looked at", File: "tick.go", Old: "if err := r.context.ctx.Err(); err != nil {", New: "if err := r.context.ctx.Err(); err != nil && at < 0 {"},
		{Name: "reads do not climb", File: "run.go", Old: "for ; s > globalScope; s = r.program.scopes[s].parent {\n\t\tif", New: "for ; s > globalScope; s = globalScope {\n\t\tif"},
	}))
	mutant.All(t, mutant.By("^(TestReplay|TestReplayOfSigns|TestCloseGivesUp)$", []mutant.Mutant{
		{Name: "writes are not replayed", File: "record.go", Old: "\t\tr.set(c, w.Scope, w.Key, w.Value.v)\n", New: ""},
		{Name: "progress is not replayed", File: "record.go", Old: "\t\trun.progress = progress\n", New: "\t\t_ = progress\n"},
		{Name: "a model's own time is not replayed", File: "record.go", Old: "Temporary: c.temporary, After: c.after})", New: "Temporary: c.temporary})"},
		{Name: "elements are recorded as a leaf's", File: "tick.go", Old: "\t\t\tr.options.Record.forget()\n", New: ""},
		{Name: "work goes on when its leaf is given up", File: "run.go", Old: "\t\ts.job.cancel()\n", New: ""},
		{Name: "close does not wait", File: "run.go", Old: "\tr.jobs.Wait()\n", New: ""},
	}))
	mutant.All(t, mutant.By("^(TestDrawFits|FuzzDraw)$", []mutant.Mutant{
		{Name: "too little of a text is collected", File: "drawtext.go", Old: "return 16 * (c.most + 1)", New: "return c.most + 1"},
	}))
}
