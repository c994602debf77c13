package agentreply_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults is noticed by the test beside it.
func TestMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "^TestFlagsBeforeTheCut$", Mutant: mutant.Mutant{Name: "flags are made of the first few tasks", File: "facts.go", Old: "for _, t := range r.Tasks {\n\t\tf.task(t)", New: "for _, t := range r.Tasks[:min(len(r.Tasks), maxEntries)] {\n\t\tf.task(t)"}},
		{By: "^TestFlagsBeforeTheCut$", Mutant: mutant.Mutant{Name: "flags are made of the first few questions", File: "facts.go", Old: "for _, q := range f.waiting {\n\t\tif q.Asks()", New: "for _, q := range f.waiting[:min(len(f.waiting), maxEntries)] {\n\t\tif q.Asks()"}},
		{By: "^TestRunFlags$", Mutant: mutant.Mutant{Name: "a flag is dropped", File: "facts.go", Old: "\tf.flagStalled(to)\n", New: ""}},
		{By: "^TestRunFlags$", Mutant: mutant.Mutant{Name: "a budget is told when it is used up, and not before", File: "facts.go", Old: "const nearly = 0.8", New: "const nearly = 1.0"}},
		{By: "^TestRunStates$", Mutant: mutant.Mutant{Name: "a state that is not known has no flag", File: "run.go", Old: "\tdefault:\n\t\tto.add(FlagUnknownState, \"the run is in a state", New: "\tcase \"\":\n\t\tto.add(FlagUnknownState, \"the run is in a state"}},
		{By: "^TestHostile$", Mutant: mutant.Mutant{Name: "a reply is as long as it likes", File: "respond.go", Old: "for length() > h.room {", New: "for length() > 2*h.room {"}},
		{By: "^TestHostile$", Mutant: mutant.Mutant{Name: "what is around a snapshot is not counted", File: "respond.go", Old: "s.inRoom(MaxReply-jsontext.Length(around)+len(\"{}\"))", New: "s.inRoom(MaxReply+0*jsontext.Length(around))"}},
		{By: "^TestHostile$", Mutant: mutant.Mutant{Name: "a path of any length is named", File: "respond.go", Old: "case jsontext.Shorten(file.Path, maxPath) != file.Path:", New: "case len(file.Path) < 0:"}},
		{By: "^TestHostile$", Mutant: mutant.Mutant{Name: "a flag has what strangers say", File: "facts.go", Old: "\"what agents follow was changed by somebody, so the box paused the run\")", New: "\"%s\", r.Distrust)"}},
		{By: "^TestHostile$", Mutant: mutant.Mutant{Name: "any text is an id", File: "respond.go", Old: "strings.IndexByte(besides, c) < 0 {", New: "strings.IndexByte(besides, c) < -1 {"}},
		{By: "^TestHostile$", Mutant: mutant.Mutant{Name: "a next step has what strangers say", File: "next.go", Old: "return nextDistrusted(r,", New: "return r.Distrust + nextDistrusted(r,"}},
		{By: "^TestHostile$", Mutant: mutant.Mutant{Name: "a page is shown as it is", File: "text.go", Old: "s.Text = safetext.EscapeLines(s.rest[:n])", New: "s.Text = s.rest[:n]; _ = safetext.Escape"}},
		{By: "^TestBadNewsFirst$", Mutant: mutant.Mutant{Name: "a success stands beside a warning", File: "respond.go", Old: "if warned && all[i]", New: "if !warned && all[i]"}},
		{By: "^TestBadNewsFirst$", Mutant: mutant.Mutant{Name: "bad news are not in the verdict", File: "next.go", Old: "r.Outcome == delivery.Completed && len(buts) > 0 {", New: "r.Outcome == delivery.Completed && len(buts) > 9 {"}},
		{By: "^TestToldBeforeWaiting$", Mutant: mutant.Mutant{Name: "a person is told after the wait", File: "next.go", Old: "return \"tell the person: \" + told + \"; then \" + then", New: "return then + \"; tell the person: \" + told"}},
		{By: "^TestToldBeforeWaiting$", Mutant: mutant.Mutant{Name: "a question hides the other news", File: "next.go", Old: "len(news) > 0 && f.waiting[0]", New: "len(news) > 9 && f.waiting[0]"}},
		{By: "^TestPausedNeedsYou$", Mutant: mutant.Mutant{Name: "a run that is paused needs nobody", File: "run.go", Old: "return r.State == api.RunPaused || r.Distrust", New: "return r.Distrust"}},
		{By: "^TestRefused$", Mutant: mutant.Mutant{Name: "any word is a tool's name", File: "failed.go", Old: "strings.Trim(tool, lower) != \"\"", New: "strings.Trim(tool, lower) == tool+lower"}},
		{By: "^TestHostile$", Mutant: mutant.Mutant{Name: "a file is named that is not there", File: "respond.go", Old: "file: fitFile(file).Path != \"\"}", New: "file: fitFile(file).Path != \"?\"}"}},
		{By: "^TestHostile$", Mutant: mutant.Mutant{Name: "a call that is ready lacks an argument", File: "reader.go", Old: "[]string{\"accept\", \"comments\"}", New: "[]string{\"accept\"}"}},
		{By: "^TestStopped$", Mutant: mutant.Mutant{Name: "agents go on though none is there", File: "run.go", Old: "if n := len(f.working); n > 0 {\n\t\t\tstand", New: "if n := len(f.working); n >= 0 {\n\t\t\tstand"}},
		{By: "^TestReaders$", Mutant: mutant.Mutant{Name: "a call is ready that its reader can't make", File: "reader.go", Old: "\tif !who.Answer {\n", New: "\tif !who.Answer && false {\n"}},
		{By: "^TestSituations$", Mutant: mutant.Mutant{Name: "who can't wait is told to", File: "reader.go", Old: "\tif who.Operate {\n\t\treturn \"call wait_run\"", New: "\tif who.Operate || true {\n\t\treturn \"call wait_run\""}},
		{By: "^TestEveryWait$", Mutant: mutant.Mutant{Name: "a tool is named past its reader", File: "wait.go", Old: "then \" + who.retry(is)", New: "then call retry for \" + is"}},
		{By: "^TestWholeIn$", Mutant: mutant.Mutant{Name: "nobody is told where the whole of a question is", File: "run.go", Old: "\t\tn.WholeIn = n.whole\n", New: ""}},
		{By: "^TestWhole$", Mutant: mutant.Mutant{Name: "what was cut has no file", File: "respond.go", Old: "\tif Cut(r) {\n", New: "\tif !Cut(r) {\n"}},
		{By: "^TestWhole$", Mutant: mutant.Mutant{Name: "the file is cut, too", File: "respond.go", Old: "\tif w.whole {\n", New: "\tif !w.whole {\n"}},
		{By: "^TestChain$", Mutant: mutant.Mutant{Name: "the cause is cut off a long chain", File: "wait.go", Old: "s.Chain.First = append(slices.Clone(s.Chain.First[:maxChain-1]), s.Chain.First[n-1])", New: "s.Chain.First = slices.Clone(s.Chain.First[:maxChain])"}},
		{By: "^TestPages$", Mutant: mutant.Mutant{Name: "a page goes on one byte too far", File: "text.go", Old: "s.Onward, s.Cut = end, true", New: "s.Onward, s.Cut = end+1, true"}},
	})
}
