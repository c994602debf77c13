package web

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults of the task view, put in on purpose, is noticed by the test beside it.
func TestTaskMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "TestTake", Mutant: mutant.Mutant{Name: "who may not operate takes a task", File: "runs.go",
			Old: `verb == "take" && a.may(access.ToOperate)`, New: `verb == "take"`}},
		{By: "TestChoices", Mutant: mutant.Mutant{Name: "one click gives a task up", File: "choices.go",
			Old: `c.Label, c.Asks = "Give up "+what+" (and what depends on it)", true`, New: `c.Label, c.Asks = "Give up "+what+" (and what depends on it)", false`}},
		{By: "TestBackWhereItWas", Mutant: mutant.Mutant{Name: "a form leads anywhere", File: "inbox.go",
			Old: `return "task?id=" + url.QueryEscape(work)`, New: `return "task?id=" + work + url.QueryEscape("")`}},
		{By: "TestTakenTask", Mutant: mutant.Mutant{Name: "what a person works on is taken again", File: "runs.go",
			Old: "t.Why == delivery.WaitPerson && slices.ContainsFunc(r.Questions, given)", New: "given == nil"}},
		{By: "TestOpenFindings", Mutant: mutant.Mutant{Name: "what was found is gone when the gate has spoken", File: "inbox.go",
			Old: `if f.AnsweredBy != "" || f.By == work.GateActor {`, New: `if f.AnsweredBy != "" || f.By != work.GateActor {`}},
		{By: "TestOpenFindings", Mutant: mutant.Mutant{Name: "a commit that was sent back looks like another", File: "inbox.go",
			Old: `f.Commit != "" && f.Commit == e.Commit`, New: `f.Commit == "" && f.Commit == e.Commit`}},
		{By: "TestGivenUp", Mutant: mutant.Mutant{Name: "what happens in the run did not happen to the task", File: "kept.go",
			Old: "if name == item.ID || kept.concerns(e) {", New: "if name == item.ID {"}},
		{By: "TestChanges", Mutant: mutant.Mutant{Name: "a worktree is looked into for everybody", File: "task.go",
			Old: `a.URL.Query().Get("show") == "changes" && `, New: ``}},
		{By: "TestRefusedIsLive", Mutant: mutant.Mutant{Name: "after a refused form nothing is live", File: "inbox.go",
			Old: `v.Here = "./"`, New: `v.Here = ""`}},
		{By: "TestProof", Mutant: mutant.Mutant{Name: "what is not signed yet counts as proven", File: "evidence.go",
			Old: "return !e.Holds })", New: "return !e.Holds && !e.Pending })"}},
		{By: "TestProof", Mutant: mutant.Mutant{Name: "a merge that was not checked counts as proven", File: "evidence.go",
			Old: `c.Proof.Merge["ok"] == true)`, New: `len(c.Proof.Merge) > 0)`}},
		{By: "TestEventsAreReadOnce", Mutant: mutant.Mutant{Name: "all events are read each time", File: "kept.go",
			Old: "		kept.upTo = max(kept.upTo, upTo)\n", New: ""}},
		{By: "TestEventsAreReadOnce", Mutant: mutant.Mutant{Name: "what was proven once is never looked at again", File: "evidence.go",
			Old: "(!pending || p.o.Now().Sub(kept.at) < provePause)", New: "(!pending || !kept.at.IsZero())"}},
		{By: "TestStreamLooks", Mutant: mutant.Mutant{Name: "what was printed before the stream was open is missed", File: "live.go",
			Old: "p.hub.hint(r, run)", New: "_ = run"}},
		{By: "TestTranscript", Mutant: mutant.Mutant{Name: "another session is shown than is asked for", File: "transcript.go",
			Old: "a.Session == name || ", New: ""}},
		{By: "TestTranscriptOfPrograms", Mutant: mutant.Mutant{Name: "what a person said, which is nothing, is shown", File: "transcript.go",
			Old: `return a.Program != "" && a.Program != work.PersonAgent`, New: `return a.Program != "" && work.PersonAgent != ""`}},
		{By: "TestEarlier", Mutant: mutant.Mutant{Name: "an earlier part is live", File: "transcript.go",
			Old: "if before == 0 && (name", New: "if (name"}},
		{By: "TestEarlier", Mutant: mutant.Mutant{Name: "any place is the end", File: "task.go",
			Old: "before = max(0, at)", New: "before = min(0, at)"}},
		{By: "TestLongTranscript", Mutant: mutant.Mutant{Name: "any number of lines is shown", File: "transcript.go",
			Old: "for from > 0 && lines < maxLines && bytes < maxPrinted {", New: "for from > 0 && bytes < maxPrinted {"}},
		{By: "TestTranscriptGrows", Mutant: mutant.Mutant{Name: "an update sends all that was said", File: "transcript.go",
			Old: "sum%usual == 0 || lines == most", New: "sum%usual == usual || lines == usual"}},
		{By: "TestColoured", Mutant: mutant.Mutant{Name: "a title that has no end hides what follows", File: "sgr.go",
			Old: "case text[i] == '\\n' || text[i] == '\\x1b':", New: "case false:"}},
	})
}
