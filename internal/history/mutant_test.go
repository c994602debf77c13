package history_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule of what is told, dropped, is noticed.
func TestMutants(t *testing.T) {
	mutant.All(t, mutant.By("TestEntries|TestWaits|TestCosts|TestAnyOrder|TestBounded", []mutant.Mutant{
		{Name: "a session ends with its last word", File: "history.go", Old: "s.end(e, cmp.Or(how, string(p.How)), s.Bad || p.How != delivery.Done)", New: "_ = how"},
		{Name: "how a session crashed is not said", File: "history.go", Old: "if p.How == delivery.Done {", New: "if s.How != \"\" || true {"},
		{Name: "a pause within a pause is another", File: "history.go", Old: "if f.paused == nil {", New: "if true {"},
		{Name: "what was open at the end goes on", File: "history.go", Old: "open.end(e, \"the run ended\", false)", New: "_ = open"},
		{Name: "a cost that nobody said looks whole", File: "history.go", Old: "c.Uncosted++", New: "_ = c"},
		{Name: "who is audited waits for an auditor", File: "history.go", Old: " && !p.Audited {", New: " {"},
		{Name: "a moment is a wait", File: "history.go", Old: "w.Ended.Sub(w.Began) >= shortest {", New: "true {"},
		{Name: "what a task used is the run's", File: "history.go", Old: "task.Task = s.Task", New: "_ = s"},
		{Name: "any number is held", File: "history.go", Old: "if len(f.entries) >= maxEntries {", New: "if false {"},
		{Name: "something ends before it began", File: "history.go", Old: "if e.Ended.Before(e.Began) {", New: "if false {"},
	}))
}
