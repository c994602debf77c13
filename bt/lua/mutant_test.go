package lua

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// TestMutants drops rules of the sandbox, of files and of scripts. TestHostile, which runs each hostile source in a process of
// its own, is not among the tests that have to notice: it takes too long to be run for each.
func TestMutants(t *testing.T) {
	mutant.All(t, mutant.By("^(TestLanguage|TestLoad|TestProblems|TestPlaces|TestScript|TestScriptAtLoad|TestScopesOfScripts|TestLimitsOfScripts|TestPrinted|TestNodes|TestLimitsAreFinal|TestAllocationsCount|TestScenarios)$", []mutant.Mutant{
		{Name: "what is made takes no memory", File: "sandbox.go", Old: "s.r.RequireMem(64)", New: "s.r.RequireMem(0)"},
		{Name: "calls lie as deep as they like", File: "sandbox.go", Old: "s.watched%64 == 0 &&", New: "s.watched%64 == 64 &&"},
		{Name: "what a script says acts on a terminal", File: "sandbox.go", Old: "return safetext.Escape(text)", New: "return text + safetext.Escape(\"\")"},
		{Name: "a variable that is not there is nothing", File: "sandbox.go", Old: "\tenv.SetMetatable(strict)\n", New: ""},
		{Name: "what is printed is kept without end", File: "base.go", Old: "maxPrinted-len(s.printed))", New: "1<<40-len(s.printed))"},
		{Name: "what a script set before it failed stays", File: "script.go", Old: "\tif err != nil {\n\t\tc.Note(\"%v\", err)", New: "\tif err != nil && len(b.writes) == 0 {\n\t\tc.Note(\"%v\", err)"},
		{Name: "a script that says no succeeds", File: "script.go", Old: "case true, wordSuccess:", New: "case true, false, wordSuccess:"},
		{Name: "all scripts write to the global scope", File: "script.go", Old: "if w.global {", New: "if w.global || w.key != \"\" {"},
		{Name: "keys that a script reads are not looked for", File: "script.go", Old: "reads = append(reads, key)", New: "_ = key"},
		{Name: "keys that a script writes are not looked for", File: "script.go", Old: "writes = append(writes, key)", New: "_ = key"},
		{Name: "a script may take as long as it says", File: "script.go", Old: "timeout = min(timeout, bt.MaxScriptTimeout)", New: "timeout = max(timeout, bt.DefaultScriptTimeout)"},
		{Name: "a tree has as many nodes as it likes", File: "load.go", Old: "l.nodes++; l.nodes > maxNodes {", New: "l.nodes++; l.nodes > 1<<40 {"},
		{Name: "settings that there are not are left out", File: "options.go", Old: "if !slices.Contains(o.taken, name) {", New: "if !slices.Contains(o.taken, name) && name == \"\" {"},
		{Name: "no time at all is a time", File: "options.go", Old: "x <= 0 || x > maxTime.Seconds():", New: "x < 0 || x > maxTime.Seconds():"},
		{Name: "a text that is needed may be missing", File: "options.go", Old: "if v == \"\" && (!o.has(name)", New: "if v == \"\" && (o.has(name) && false"},
	}))
}
