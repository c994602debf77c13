package stats_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule of what is counted, dropped, is noticed.
func TestMutants(t *testing.T) {
	const fold, table = "fold.go", "table.go"
	mutant.All(t, mutant.By("TestTable|TestCostWords|TestRework|TestTurns|TestBounded|TestAnyOrder|TestHostileCost", []mutant.Mutant{
		{Name: "what was refused counts twice", File: fold, Old: "\t\t\ts.refused = nil\n\t\t\tfor _, m", New: "\t\t\tfor _, m"},
		{Name: "near misses are repeated with the next request", File: fold, Old: "\ts.refused = nil\n\ttook :=", New: "\ttook :="},
		{Name: "a person's work is an agent's", File: fold, Old: "if p.Agent != work.PersonAgent {", New: "{"},
		{Name: "what a person set is the last agent's claim", File: fold, Old: "work.WorkOverridden: taking((*Fold).unclaimed),", New: ""},
		{Name: "what the gate refuses is not sent back", File: fold, Old: "\t\t\tsee(Rework{t.claimed.By})\n\t\t}\n\t}),", New: "\t\t}\n\t}),"},
		{Name: "an auditor sends nothing back", File: fold, Old: "case agentsig.PhaseReview, agentsig.PhaseReadyForMerge:", New: "case agentsig.PhaseReview:"},
		{Name: "who passes work sends it back", File: fold, Old: "if p.NextPhase == agentsig.PhaseImplementation {", New: "if true {"},
		{Name: "what can't be merged is sent back", File: fold, Old: "if !work.ByOperator(e.Actor) {", New: "if e.Actor == \"\" {"},
		{Name: "a session that was told to end had a turn", File: fold, Old: "!s.began.IsZero() && p.How != delivery.Done", New: "p.How != \"\""},
		{Name: "words of other versions are outcomes", File: fold, Old: "slices.Contains(delivery.Hows(), p.How)", New: "true || slices.Contains(delivery.Hows(), p.How)"},
		{Name: "what was reported is counted again at the end", File: fold, Old: "since := all.Since(s.used)", New: "since := all"},
		{Name: "a run that has ended is held", File: fold, Old: "\t\tif t.run == run {\n\t\t\tdelete(f.tasks, subject)\n", New: "\t\tif t.run == run {\n\t\t\t_ = subject\n"},
		{Name: "sessions of a run that has ended are held", File: fold, Old: "delete(f.sessions, id)", New: "_ = id"},
		{Name: "the model of a gate's verdict is unknown", File: fold, Old: "\tif p.Conversation != nil {", New: "\tif false {"},
		{Name: "what was before is counted", File: table, Old: "if !counts {", New: "if false {"},
		{Name: "other runs are counted", File: table, Old: "t.Run != \"\" && t.Run != by.Run", New: "false"},
		{Name: "a cost that nobody said is 0", File: table, Old: "if n.used.CostUSD > 0 {", New: "if true {"},
		{Name: "a cost that is not whole looks whole", File: table, Old: "n.Uncosted++", New: "_ = n"},
		{Name: "a cost that is not whole is written as a whole one", File: table, Old: "case r.Uncosted > 0:", New: "case r.Uncosted > 9:"},
		{Name: "any number of rows", File: table, Old: "n == nil && len(t.rows) >= maxRows", New: "false"},
		{Name: "what is said of a session after its end is held", File: table, Old: "if by.Over {", New: "if false {"},
	}))
}
