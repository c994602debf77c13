package box_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults of claims that wait, put in on purpose, is noticed by the test beside it.
func TestQueueMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "TestQueueLooksAtWhatFits", Mutant: mutant.Mutant{Name: "claims that an item does not fit are looked at", File: "queue.go",
			Old: "if !wish.accepts(i.subject, i.post) {", New: "if line.Front().Value.(*waiter) == nil || !wish.accepts(i.subject, i.post) {"}},
		{By: "TestQueueLooksAtWhatFits", Mutant: mutant.Mutant{Name: "claims that name another item are looked at", File: "queue.go",
			Old: `for _, subject := range []string{"", i.subject} {`, New: "for subject := range q.lines {"}},
		{By: "TestQueueLikeAWalk", Mutant: mutant.Mutant{Name: "the claim that came last is served first", File: "queue.go",
			Old: "w.number < first.number", New: "w.number > first.number"}},
		{By: "TestQueueLikeAWalk", Mutant: mutant.Mutant{Name: "what became ready last is offered first", File: "queue.go",
			Old: "cmp.Compare(a.since, b.since)", New: "cmp.Compare(b.since, a.since)"}},
		{By: "TestQueueLikeAWalk", Mutant: mutant.Mutant{Name: "an item that comes back is offered to nobody", File: "state.go",
			Old: "s.queue.update(*i)\n\t\ts.queue.match()\n", New: "s.queue.update(*i)\n\t\ts.queue.updated = nil\n"}},
		{By: "TestQueueLikeAWalk", Mutant: mutant.Mutant{Name: "lines in which nobody waits are kept", File: "queue.go",
			Old: "if len(q.lines[w.subject]) == 0 {", New: "if false {"}},
		{By: "TestQueueLikeAWalk", Mutant: mutant.Mutant{Name: "claims go on to wait for what is completed", File: "queue.go",
			Old: "\t\tq.disappoint(i.Subject)\n", New: ""}},
		{By: "TestWaitForWhatIsCompleted", Mutant: mutant.Mutant{Name: "a claim that ends gets an item without a name", File: "requests.go",
			Old: "if !ok {\n\t\t\treturn", New: "if !ok && false {\n\t\t\treturn"}},
		{By: "TestClaimDoesNotWaitForNothing", Mutant: mutant.Mutant{Name: "a claim waits for what is completed", File: "requests.go",
			Old: `if w.subject != "" && b.state.item(w.subject).Phase == agentsig.PhaseCompleted {`, New: "if false {"}},
		{By: "TestClaimDoesNotOvertake", Mutant: mutant.Mutant{Name: "a claim overtakes those that wait", File: "state.go",
			Old: "\ts.queue.match()\n\tif subject, ok", New: "\tif subject, ok"}},
		{By: "TestManyClaimsWait", Mutant: mutant.Mutant{Name: "claims wait without a limit", File: "state.go",
			Old: "if s.queue.waiting >= maxWaiting {", New: "if false {"}},
	})
}
