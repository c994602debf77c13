package bt

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// TestMutants drops rules, one at a time, and sees whether the tests that compare, not
// those that have a row for the rule, notice.
func TestMutants(t *testing.T) {
	mutant.All(t, mutant.By("^TestReference$", []mutant.Mutant{
		{Name: "a sequence begins at its first child", File: "tick.go", Old: "\t\t// The present child is kept by its place, which is never 0.\n\t\tfor child := max(s.index, at+1)", New: "\t\tfor child := at + 1"},
		{Name: "finished children are asked again", File: "kinds.go", Old: "if !status.Finished() {\n\t\t\tstatus = r.tick(child)", New: "if true {\n\t\t\tstatus = r.tick(child)"},
		{Name: "a parallel fails too late", File: "kinds.go", Old: "case failed > len(n.children)-need:", New: "case failed == len(n.children):"},
		{Name: "conflicts of an outer node are not seen", File: "kinds.go", Old: "p >= 0; p = r.program.nodes[p].parallel {", New: "p >= 0; p = -1 {"},
		{Name: "writes of an earlier round conflict", File: "kinds.go", Old: "bool { return w.parallel == at })", New: "bool { return false })"},
		{Name: "children are not given up", File: "kinds.go", Old: "\tif status != Running {\n\t\tr.haltChildren(n)\n\t}\n", New: "\tif status == Running {\n\t\tr.haltChildren(n)\n\t}\n"},
		{Name: "the list is read again", File: "kinds.go", Old: "\tif fresh {\n\t\tlist, ok", New: "\tif true {\n\t\tlist, ok"},
		{Name: "one attempt too many", File: "kinds.go", Old: "int(s.index) >= n.Retries ||", New: "int(s.index) > n.Retries ||"},
		{Name: "pauses do not double", File: "compile.go", Old: "min(2*first, most)", New: "min(first, most)"},
		{Name: "a pause is a stall", File: "kinds.go", Old: "\tr.due(until)\n\tr.moved(r.elapsed)\n", New: "\tr.due(until)\n"},
		{Name: "what is tried again goes on where it was", File: "kinds.go", Old: "\tr.reset(n.children[0])\n\treturn Running, r.attempt", New: "\treturn Running, r.attempt"},
		{Name: "a guard's condition is asked once", File: "kinds.go", Old: "\tr.reset(condition)\n\tif r.tick(condition) != Success {", New: "\tif s := r.states[condition].status; s != Success && r.tick(condition) != Success {"},
		{Name: "a cooldown is forgotten", File: "kinds.go", Old: "func (r *Run) cooldown(at int32, n *node) (Status, string) {\n", New: "func (r *Run) cooldown(at int32, n *node) (Status, string) {\n\tif r.states[n.children[0]].status == Fresh {\n\t\tr.extras[at].cooling = false\n\t}\n"},
		{Name: "a subtree keeps its scope", File: "kinds.go", Old: "\tif fresh { // opSubtree", New: "\tif false {"},
		{Name: "a model is asked in a pause", File: "kinds.go", Old: "\tif s.until > r.elapsed {\n\t\tr.pause(s.until)\n\t\treturn Running, \"\"\n\t}\n\tif note", New: "\tif note"},
		{Name: "a model's time counts from the first attempt", File: "kinds.go", Old: "\tif !s.asked {\n", New: "\tif s.index == 0 && !s.asked {\n"},
		{Name: "a model's own time is ignored", File: "kinds.go", Old: "max(backoff(call.Backoff, s.index), after)", New: "max(backoff(call.Backoff, s.index), 0*after)"},
		{Name: "what is given up in a pause is told so", File: "run.go", Old: "if !asked || halt == nil", New: "if !asked && r.states[at].status != Running || halt == nil"},
		{Name: "the context is not looked at", File: "tick.go", Old: "if err := r.context.ctx.Err(); err != nil {", New: "if err := r.context.ctx.Err(); err != nil && at < 0 {"},
		{Name: "a leaf's end of the context is noticed late", File: "tick.go", Old: "\treturned = true\n\tr.look()\n", New: "\treturned = true\n"},
		{Name: "a leaf keeps what the one before said", File: "run.go", Old: "if c.halted || c.temporary ||", New: "if c.halted ||"},
		{Name: "reads do not climb", File: "run.go", Old: "for ; s > globalScope; s = r.program.scopes[s].parent {\n\t\tif", New: "for ; s > globalScope; s = globalScope {\n\t\tif"},
		{Name: "a reactive node goes on where it was", File: "reactive.go", Old: "\t\tstatus := r.tick(child)\n\t\tif r.broken", New: "\t\tif r.states[child].status == Fresh && i+1 < len(n.children) && r.states[n.children[i+1]].status == Running {\n\t\t\tcontinue\n\t\t}\n\t\tstatus := r.tick(child)\n\t\tif r.broken"},
		{Name: "a reactive node's children stay finished", File: "reactive.go", Old: "\t\t\tr.reset(child)\n", New: ""},
		{Name: "what is passed over goes on", File: "reactive.go", Old: "\tr.halt(child)\n", New: ""},
		{Name: "nothing says what was passed over", File: "reactive.go", Old: "if entry := r.enter(); entry >= 0 {", New: "if entry := -1; entry >= 0 {"},
		{Name: "a switch stays with its case", File: "reactive.go", Old: "before >= 0 && before != chosen {", New: "before >= 0 && chosen < 0 {"},
		{Name: "numbers with a point are others", File: "reactive.go", Old: "return ok && isNumber && x == y", New: "return ok && isNumber && x == y && is == value"},
		{Name: "a switch without a case for it takes the last", File: "reactive.go", Old: "if len(n.Children) > len(n.Cases) {", New: "if len(n.Children) >= len(n.Cases) {"},
		{Name: "a budget counts only what is right below it", File: "budget.go", Old: "b >= 0; b = c.run.program.nodes[b].budget {", New: "b >= 0; b = -1 {"},
		{Name: "as much as the budget is too much", File: "budget.go", Old: "s.Tokens > b.Tokens:", New: "s.Tokens >= b.Tokens:"},
		{Name: "leaves are asked though the budget is spent", File: "budget.go", Old: "exceeded(r.extras[b].spent) != \"\" {", New: "exceeded(Spent{}) != \"\" {"},
		{Name: "a budget is spent once for all", File: "budget.go", Old: "\t\tx.spent = Spent{}\n", New: ""},
		{Name: "who is over the budget goes on", File: "budget.go", Old: "\tif status == Running {\n\t\tr.halt(child)\n", New: "\tif status == Fresh {\n\t\tr.halt(child)\n"},
		{Name: "nobody wakes a budget of time", File: "budget.go", Old: "\t\t\tr.due(end)\n", New: ""},
		{Name: "an input can be set", File: "run.go", Old: "if !p.port.writes() {", New: "if false {"},
		{Name: "a port is set in the subtree", File: "run.go", Old: "in, key = r.program.scopes[in].parent, p.key", New: "break"},
		{Name: "a leaf that failed is not told", File: "tick.go", Old: "\t\t\tr.abandon(c)\n", New: ""},
	}))
	mutant.All(t, mutant.By("^(TestLimits|TestDriveTellsOfValues)$", []mutant.Mutant{
		{Name: "a run has the ticks of all", File: "run.go", Old: "if ticks >= r.limits.Ticks {", New: "if ticks >= MaxTicks {"},
		{Name: "a run fails when it should warn", File: "run.go", Old: "still >= l.StallWarn && !r.stalled", New: "still >= l.StallFail && !r.stalled"},
		{Name: "nobody wakes a run that fails before it warns", File: "run.go", Old: "next = min(next, l.StallWarn)", New: "next = l.StallWarn"},
		{Name: "a replay has the limits of all", File: "record.go", Old: "Trace: trace, Limits: head.Limits,", New: "Trace: trace,"},
		{Name: "a blackboard has the size of all", File: "run.go", Old: "key, value, r.limits.Blackboard)", New: "key, value, MaxBlackboard)"},
		{Name: "a refused value is told of a tree that went on", File: "run.go", Old: "if status == Failure && err == nil {", New: "if err == nil {"},
		{Name: "a refused value is told twice", File: "run.go", Old: "\tr.refused = nil\n", New: ""},
	}))
	mutant.All(t, mutant.By("^(TestPorts|TestSpend|TestConflictThroughPorts|TestFaultWhileRunning)$", []mutant.Mutant{
		{Name: "the type of the key behind a port is not looked at", File: "run.go", Old: "\tfor {\n\t\tif !r.typed(c, in, key, value) {", New: "\tfor first := true; ; first = false {\n\t\tif first && !r.typed(c, in, key, value) {"},
		{Name: "an output can be read", File: "run.go", Old: "if !p.port.reads() {", New: "if false {"},
		{Name: "outputs are visible", File: "run.go", Old: "\t\t\tif p.port.reads() {\n\t\t\t\tinside", New: "\t\t\tif true {\n\t\t\t\tinside"},
		{Name: "what is given up can spend", File: "budget.go", Old: "\tif c.halted || c.restoring {\n\t\treturn\n\t}\n\tc.spent", New: "\tc.spent"},
		{Name: "what is less than 0 counts", File: "budget.go", Old: "max(more.Tokens, 0), max(more.Money, 0)", New: "more.Tokens, more.Money"},
		{Name: "a fault is forgotten with the halt", File: "tick.go", Old: "\t*c = before\n", New: "\t_ = before\n"},
	}))
	mutant.All(t, mutant.By("^(TestReplay|TestReplayOfSigns|TestCloseGivesUp)$", []mutant.Mutant{
		{Name: "writes are not replayed", File: "record.go", Old: "\t\tr.set(c, w.Scope, key, w.Value.v)\n", New: "\t\t_ = key\n"},
		{Name: "progress is not replayed", File: "record.go", Old: "\tr.moveTo(tick.Progress)\n", New: ""},
		{Name: "a model's own time is not replayed", File: "record.go", Old: "Temporary: c.temporary, After: c.after, Spent", New: "Temporary: c.temporary, Spent"},
		{Name: "what was spent is not replayed", File: "record.go", Old: "\tc.Spend(l.Spent)\n", New: ""},
		{Name: "elements are recorded as a leaf's", File: "kinds.go", Old: "\t\t\tr.options.Record.forget()\n", New: ""},
		{Name: "work goes on when its leaf is given up", File: "run.go", Old: "\t\tr.extras[at].job.cancel()\n", New: ""},
		{Name: "close does not wait", File: "run.go", Old: "\tr.jobs.Wait()\n", New: ""},
	}))
	mutant.All(t, mutant.By("^(TestNotesAreOfTheirTick|TestCancelledFromBeside|TestCancelledAtEachNode)$", []mutant.Mutant{
		{Name: "a selector goes on after the end", File: "tick.go", Old: "status != Failure || r.broken != nil {", New: "status != Failure {"},
		{Name: "a note stays for the next tick", File: "tick.go", Old: "if e.Note != \"\" || note != \"\" {", New: "if note != \"\" {"},
		{Name: "nobody says that the context has ended", File: "run.go", Old: "func() { ended.Store(true) }", New: "func() { _ = ended }"},
	}))
	mutant.All(t, mutant.By("^TestResume", []mutant.Mutant{
		{Name: "a torn line is kept", File: "resume.go", Old: "\terr := file.Truncate(good.size)\n", New: "\tvar err error\n"},
		{Name: "a sum is not looked at", File: "resume.go", Old: "\tif !ok {\n\t\treturn damaged(\"its sum", New: "\tif !ok && sum == 1 {\n\t\treturn damaged(\"its sum"},
		{Name: "a sum is of its line alone", File: "resume.go", Old: "\tr.sum = sum\n", New: "\t_ = sum\n"},
		{Name: "another version of the tree is taken for it", File: "record.go", Old: " && head.Print == p.print()", New: ""},
		{Name: "time goes on while nothing runs", File: "resume.go", Old: "\t\tr.began = now.Add(-p.pending.At)\n", New: ""},
		{Name: "the ticks of a life before do not count", File: "resume.go", Old: "\t\trun.carried++\n", New: ""},
		{Name: "the last leaf is not told", File: "record.go", Old: "\t\t\tr.interrupted[c.node] = true\n\t\t\tr.goLive()\n", New: "\t\t\tdelete(r.interrupted, c.node)\n\t\t\tr.goLive()\n"},
		{Name: "leaves that were RUNNING are not told", File: "resume.go", Old: "\t\tif r.states[i].asked {\n", New: "\t\tif false {\n"},
		{Name: "what is saved is not put back", File: "resume.go", Old: "\tn.leaf.Restore(c, l.Status, l.Saved.v)\n", New: ""},
		{Name: "nobody wakes what was under way", File: "run.go", Old: " || ticks == carried+1 && len(r.interrupted) > 0 {", New: " {"},
		{Name: "the end of the context stays", File: "resume.go", Old: "\t\t\tcontinue // it is cut off\n", New: ""},
	}))
	mutant.All(t, mutant.By("^(TestDrawFits|FuzzDraw)$", []mutant.Mutant{
		{Name: "too little of a text is collected", File: "drawtext.go", Old: "return 16 * (c.most + 1)", New: "return c.most + 1"},
	}))
}
