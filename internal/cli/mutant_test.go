package cli_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

func TestMutants(t *testing.T) {
	const export = "^TestExportReplacesNothing$"
	mutant.All(t, []mutant.Noticed{
		{By: "^TestCheckpointProvesNoFiles$", Mutant: mutant.Mutant{Name: "a checkpoint's check says nothing of the events", File: "ledger.go", Old: "left := []string{notRead, ", New: "left := []string{"}},
		{By: "^TestScripts$/^refused$", Mutant: mutant.Mutant{Name: "what to do about a refused record is not told", File: "../box/emit.go", Old: "case errors.As(err, new(*agentsig.VersionError)):", New: "case false:"}},
		{By: "^TestScripts$/^disabled$", Mutant: mutant.Mutant{Name: "the agent is asked to enable exit records", File: "../box/hand.go", Old: "todo != \"\" && !errors.Is(why, agentsig.ErrExitDisabled)", New: "todo != \"\""}},
		{By: "^TestDiffView$", Mutant: mutant.Mutant{Name: "a diff acts upon the terminal", File: "diffview.go", Old: "text := safetext.EscapeLines(string(v.line[:n]))", New: "text := safetext.EscapeLines(\"\") + string(v.line[:n])"}},
		{By: "^TestDiffView$", Mutant: mutant.Mutant{Name: "a removed line counts as a header", File: "diffview.go", Old: "if v.old > 0 || v.new > 0 {", New: "if v.old > 1 || v.new > 1 {"}},
		{By: "^TestTaskState$", Mutant: mutant.Mutant{Name: "a developer's word is a review", File: "diff.go", Old: "judged := before.Lease != nil && delivery.Reviewer(before.Lease.Role)", New: "judged := before.Lease != nil && delivery.Reviewer(\"critic\")"}},
		{By: "^TestStoryIsOver$", Mutant: mutant.Mutant{Name: "a task that was cancelled is followed", File: "logstory.go", Old: "case e.Type == delivery.RunFinished, e.Type == delivery.TaskCancelled:", New: "case e.Type == delivery.RunFinished:"}},
		{By: "^TestStoryOrder$", Mutant: mutant.Mutant{Name: "a clock that was set back changes the order", File: "logstory.go", Old: "all[i].Time = all[i-1].Time", New: "_ = all"}},
		{By: "^TestByVoice$", Mutant: mutant.Mutant{Name: "a tool is taken for the agent", File: "logview.go", Old: "piece.Who = whoTool", New: "piece.Who = whoAgent"}},
		{By: "^TestToolsOverStdio$", Mutant: mutant.Mutant{Name: "a tool reads what is git's own as a plan", File: "mcp.go", Old: `append(hidden, filepath.Join(c.Dir, ".git"))...)`, New: "hidden...)"}},
		{By: "^TestToolsOverStdio$", Mutant: mutant.Mutant{Name: "a tool's client is told what an agent should not have printed", File: "mcp.go", Old: "w.to.Write(w.secrets.Bytes(w.held[:end]))", New: "w.to.Write(w.held[:end])"}},
		{By: "^TestToolsStartNoBoxWithoutTheRight$", Mutant: mutant.Mutant{Name: "who may not start a run starts a box", File: "mcp.go", Old: "if err == nil && !h.resident {", New: "if false {"}},
		{By: "^TestToolsOfAKilledClient$", Mutant: mutant.Mutant{Name: "a killed client leaves its agents behind", File: "mcp.go", Old: "signal.Ignore(syscall.SIGPIPE)", New: "signal.Reset(syscall.SIGPIPE)"}},
		{By: "^TestToolsOverHTTP$", Mutant: mutant.Mutant{Name: "what others ask is asked with a token of the box's environment", File: "mcp.go", Old: "a.inBox = h.resident", New: "a.inBox = false"}},
		{By: "^TestToolsOverStdio$", Mutant: mutant.Mutant{Name: "what a tool does is the person's", File: "mcp.go", Old: "return c.For(h.name, h.scopes...)", New: "return c"}},
		{By: "^TestLogs$", Mutant: mutant.Mutant{Name: "a gate that runs again is not heard", File: "logview.go", Old: "if info.Size() < from {", New: "if info.Size() < 0 {"}},
		{By: "^TestCardKeepsPrintedLines$", Mutant: mutant.Mutant{Name: "what the checks printed is reflowed", File: "../evidence/words.go", Old: "if s.By == work.GateActor {", New: "if s.By == \"\" {"}},
		{By: "^TestShowHoldsAgainstTheLedger$", Mutant: mutant.Mutant{Name: "a card needs no proof", File: "../evidence/proof.go", Old: "err := holds(e, f, key)", New: "err := error(nil)"}},
		{By: "^TestCardWrapsFindings$", Mutant: mutant.Mutant{Name: "findings are cut after a line", File: "showview.go", Old: "tall: 16, sure: 3", New: "tall: 1, sure: 1"}},
		{By: "^TestCardText$", Mutant: mutant.Mutant{Name: "findings take more than the screen", File: "showview.go", Old: "min(room, parts[i].height(n, columns, parts[i].tall)-has)", New: "parts[i].height(n, columns, parts[i].tall)-has"}},
		{By: "^TestCardText$", Mutant: mutant.Mutant{Name: "an agent's line looks like an entry", File: "showview.go", Old: "\"\\n\", \"\\n  \")", New: "\"\\n\", \"\\n\")"}},
		{By: "^TestCardShowsOutcomes$", Mutant: mutant.Mutant{Name: "how an attempt ended is cut", File: "showview.go", Old: "tall: 3, sure: 2}", New: "tall: 1, sure: 1}"}},
		{By: "^TestCardMarkdown$", Mutant: mutant.Mutant{Name: "an agent's backticks end its quotation", File: "showview.go", Old: "max(3, longestTicks(text)+1)", New: "max(3, longestTicks(text[:0])+1)"}},
		{By: "^TestAskContinue$", Mutant: mutant.Mutant{Name: "what is resumed has no history", File: "askcontinue.go", Old: "return q.talk, nil", New: "return oracle.Talk{}, nil"}},
		{By: "^TestAskContinue$", Mutant: mutant.Mutant{Name: "standard input is read without an end", File: "askcontinue.go", Old: "io.LimitReader(from, oracle.MaxQuestion+1)", New: "io.LimitReader(from, oracle.MaxQuestion)"}},
		{By: "^TestChat$", Mutant: mutant.Mutant{Name: "each line of a chat begins anew", File: "askchat.go", Old: "x.with.continues = x.book.id", New: "_ = x"}},
		{By: "^TestScripts$/^runnerreach$", Mutant: mutant.Mutant{Name: "a box that runners can't reach says nothing", File: "../httpapi/runner.go", Old: "if secure != nil || b.Unlisted() ||", New: "if true || b.Unlisted() ||"}},
		{By: "^TestScripts$/^runnerreach$", Mutant: mutant.Mutant{Name: "who takes a box over goes by older settings", File: "deliver.go", Old: "if c, err = settings(); err != nil {", New: "if _, err = settings(); err != nil {"}},
		{By: export, Mutant: mutant.Mutant{Name: "an export that failed stays", File: "ledger.go", Old: "err = errors.Join(err, s.Close())", New: "_ = s"}},
	})
}
