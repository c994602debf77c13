package tui_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults, in the view that takes keys, is noticed by the test beside it.
func TestMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "^TestPress$", Mutant: mutant.Mutant{Name: "any key confirms", File: "model.go", Old: `if k.Name == "y" || k.Name == "Y" {`, New: "if k.Name != \"n\" {"}},
		{By: "^TestPress$", Mutant: mutant.Mutant{Name: "one's own box is left without a question", File: "model.go", Old: "if !m.own {", New: "if m.own || !m.own {"}},
		{By: "^TestPress$", Mutant: mutant.Mutant{Name: "an interrupt while typing ends the run", File: "model.go", Old: "case k.Name == KeyInterrupt && m.mode != choosing:", New: "case k.Name == KeyInterrupt && m.mode == helping:"}},
		{By: "^TestPress$", Mutant: mutant.Mutant{Name: "another's question is answered first", File: "model.go", Old: "return cmp.Compare(rank(a), rank(b))", New: "return cmp.Compare(rank(b), rank(a))"}},
		{By: "^TestPress$", Mutant: mutant.Mutant{Name: "a paused run is paused", File: "model.go", Old: "if m.run.State == api.RunPaused {", New: "if m.run.State == api.RunDry {"}},
		{By: "^TestKeysOnCompleted$", Mutant: mutant.Mutant{Name: "a completed task is taken over", File: "model.go", Old: "ok && t.Phase == agentsig.PhaseCompleted {", New: "ok && t.Phase == agentsig.PhaseBlocked {"}},
		{By: "^TestTakenNamesGive$", Mutant: mutant.Mutant{Name: "nobody says how a task is given", File: "task.go", Old: "w.note = line{{cyan, q.Command()}}", New: "w.note = nil"}},
		{By: "^TestPlainSaysThatTheFirstChecksRun$", Mutant: mutant.Mutant{Name: "the first checks are told again and again", File: "plain.go", Old: "if checking && !p.checking {", New: "if checking {"}},
		{By: "^TestPlainSaysWhatWaitsForARunner$", Mutant: mutant.Mutant{Name: "what waits for a runner is told again and again", File: "plain.go", Old: "t.Waits.Nowhere && !p.nowhere[t.ID]", New: "t.Waits.Nowhere"}},
		{By: "^TestPlainSaysWhatWaitsForARunner$", Mutant: mutant.Mutant{Name: "what waits for a free place is told", File: "plain.go", Old: "= t.Waits.Nowhere; t.Waits.Nowhere &&", New: "= true; true &&"}},
		{By: "^TestWaitsForARunnerIsWhole$", Mutant: mutant.Mutant{Name: "lines for programs are cut", File: "frame.go", Old: "return math.MaxInt32\n\t}\n\treturn v.Width", New: "return v.Width\n\t}\n\treturn v.Width"}},
		{By: "^TestSummaryOfLongQuestions$", Mutant: mutant.Mutant{Name: "a question is cut silently", File: "summary.go", Old: "if cutOff(text) || cutOff(context) {", New: "if false {"}},
		{By: "^TestKeys$", Mutant: mutant.Mutant{Name: "a paste that is cut after its first byte is typed", File: "key.go",
			Old: "\tcase len(text) == 1:\n\t\treturn 0, Key{}, false\n", New: "\tcase len(text) == 1:\n\t\treturn 1, Key{Name: KeyEscape}, true\n"}},
		{By: "^TestKeys$", Mutant: mutant.Mutant{Name: "a paste that comes late is typed", File: "key.go", Old: "if k.released && ", New: "if false && "}},
		{By: "^TestKeys$", Mutant: mutant.Mutant{Name: "a paste is typed", File: "key.go", Old: "case text[:n] == pasteBegin:", New: "case text[:n] == pasteEnd:"}},
		{By: "^TestChosenStays$", Mutant: mutant.Mutant{Name: "the choice moves by itself", File: "model.go", Old: `if m.chosen == "" || m.index() < 0 {`, New: "if m.index() >= -1 {"}},
		{By: "^TestScroll$", Mutant: mutant.Mutant{Name: "a text is moved beyond its end", File: "model.go", Old: "max(min(m.scroll+by, m.mostScroll(m.size)), 0)", New: "max(m.scroll+by, 0)"}},
		{By: "^TestScreens$", Mutant: mutant.Mutant{Name: "the chosen task is out of sight", File: "frame.go", Old: "chosen >= 0 && p.line == 0 && away <= around", New: "chosen > 99 && p.line == 0 && away <= around"}},
		{By: "^TestFull$", Mutant: mutant.Mutant{Name: "the other screen stays", File: "live.go", Old: "plainPastes+backToMain+showCursor", New: "plainPastes+showCursor"}},
	})
}
