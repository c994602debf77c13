//go:build unix

package session_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults, put in on purpose, is noticed by the test beside it. Faults that
// make a test wait until its patience is over are left out.
func TestMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the package anew for each mutant; not with -short")
	}
	for _, m := range []struct {
		name, file, before, after, test string
	}{
		{"a command is carried out twice", "run.go",
			`c.ID != "" && r.carriedOut[c.ID] || r.ending != nil`, "r.ending != nil", "TestCommandTwice"},
		{"what is said after the last word counts", "turn.go",
			"\tif t.closed {\n\t\treturn\n\t}\n\t_, _ = t.scanner", "\tif t.closed {\n\t\tt.voice.write(p)\n\t\tt.verdict.Kind = \"other\"\n\t\treturn\n\t}\n\t_, _ = t.scanner", "TestHangsAfterLastWord"},
		{"a turn's signals are placed from its own start", "turn.go",
			"Offset: t.offset + f.Span.Offset", "Offset: f.Span.Offset", "TestOnce"},
		{"a usage limit is a crash", "end.go",
			"exit == exitLimited", "false", "TestLimitedUntil"},
		{"the exit counts more than the signal", "end.go",
			"done || t.terminal", "done", "TestSignalCounts"},
		{"a turn that is cut does not count", "end.go",
			"\tcase r.turn.terminal:\n\t\tr.finish(nil)\n", "", "TestSignalBeforeTheCut"},
		{"a stop is an end", "run.go",
			"r.end(api.HowStopped, safetext.Escape(c.Reason))", "r.end(api.HowDone, safetext.Escape(c.Reason))", "TestEnds/told_to_stop"},
		{"another process is killed", "dir.go",
			"process.StartedAt(l.Pid) == l.Started {", "l.Pid > 1 {\n\t\tl.Started = process.StartedAt(l.Pid)", "TestKillOther"},
		{"reports that can't be read are tried for ever", "outbox.go",
			"\treturn fmt.Errorf(\"%w: %w\", ErrDirectory, err)\n", "\treturn err\n", "TestHandInDamaged"},
		{"an agent is known by the directory's files alone", "dir.go",
			"\tif damage != nil {\n", "\tif damage != nil {\n\t\treturn damaged(damage)\n", "TestCleanDamaged"},
		{"a session is known by its own file alone", "dir.go",
			"[]string{ownMarker(mark), mark}", "[]string{mark}", "TestKillOther"},
		{"a session is started for nobody", "start.go",
			"ctx.Err() != nil", "false", "TestStartTooLate"},
		{"a signal does not answer a prompt", "turn.go",
			"\tt.answerBy = time.Time{}\n", "", "TestDeadline/a_note"},
		{"children are left when a turn ends", "../process/group_unix.go",
			"\tendGroup(g.pid, g.started, grace)\n\t_, _ = Sweep(g.marker)", "\t_ = Sweep", "TestNothingLeft/children_outlive_it"},
		{"what left the group is left", "../process/group_unix.go",
			"\t_, _ = Sweep(g.marker) // what can't be read in /proc is not ours\n", "", "TestNothingLeft/children_outlive_it"},
		{"the agent of a killed session is left", "dir.go",
			"\tprocess.EndGroup(l.Pid, l.Started, mark, time.Duration(spec.Grace))\n", "\t_, _, _ = process.EndGroup, mark, spec\n", "TestKilled"},
		{"the transcript has no end", "keep.go",
			"int64(n) > k.left", "false", "TestMuchOutput"},
		{"output does not count against silence", "watch.go",
			"w.since, w.asked, w.missed = now, false, 0", "w.asked, w.missed = false, 0", "TestWatch"},
		{"an open tool is silence", "watch.go",
			"w.busy || end.Before(next)", "end.Before(next)", "TestACPSilence/a_tool_is_open"},
		{"a role that may not edit may", "agent/acp_hear.go",
			"return s.may(Edit)", "return true", "TestACPPermissions"},
		{"what is told again counts", "agent/acp.go",
			"a.past = true", "a.past = false", "TestACPResume"},
		{"a program that leaves in the middle of a turn is done", "end.go",
			"e.Exit == 0 && !r.agent.Traits().MarksEnd", "e.Exit == 0", "TestACPFails/it_leaves_quietly"},
		{"a failure counts more than the signal", "run.go",
			"settled := t.closed || t.terminal", "settled := t.closed", "TestStreamSignalCounts"},
		{"what runs on is not waited for", "run.go",
			"e.Open > 0 && !settled", "false", "TestClaudeWaits"},
		{"a program that goes on is ended", "run.go",
			"t.over && !t.closed", "false", "TestClaudeGoesOn"},
		{"a tool that is denied is not told of", "agent/claude.go",
			"if !c.mayUse(b.Name) {", "if false {", "TestStreamDenied"},
		{"an agent's agent is its voice", "agent/claude.go",
			`b.Type == "text" && e.Parent != ""`, "false", "TestClaudeSubagent"},
		{"a conversation is counted anew in each turn", "agent/codex.go",
			"\tc.spent = total\n", "", "TestCodexCounts"},
		{"a rejected patch is not told of", "agent/codex.go",
			`const rejected = "error=patch rejected"`, `const rejected = "error=patch refused"`, "TestStreamDenied/codex"},
		{"nothing is heard after a line that is too long", "agent/program.go",
			"\t\tl.skip = false\n", "", "TestStreamOddities/codex/more_than_32_MiB"},
		{"a limit of the real programs is a crash", "agent/limit.go",
			"e.Limited, e.Reset = true, at", "e.Reset = at", "TestStreamLimited"},
		{"a report that is refused for good is sent for ever", "outbox.go",
			"return api.Refused(err) ||", "return", "TestHandIn"},
		{"a report that is damaged holds up the others", "outbox.go",
			" || errors.Is(err, errUnreadable)", "", "TestHandIn"},
		{"a report that is refused is not kept", "outbox.go",
			"os.Rename(report, kept)", "os.Remove(report)", "TestHandIn"},
		{"the box is not told that a report was set aside", "outbox.go",
			"return writeJSON(report, substitute(known, why))", "_ = substitute\n\treturn nil", "TestHandIn"},
		{"a turn whose report is refused has no verdict", "outbox.go",
			"s.Verdict = agentsig.KindUnknown", "_ = agentsig.KindUnknown", "TestRefusedReport/turn"},
		{"what is refused for good may be taken later", "../api/session.go",
			"case CodeInvalid:\n\t\treturn refused", "case CodeInvalid:\n\t\treturn later", "TestHandIn"},
		{"a report of any length is read", "dir.go",
			"regular.ReadAll(f, most)", "regular.ReadAll(f, 1<<40)", "TestOutsizedReport"},
		{"what a report is refused for is in what stands for it", "outbox.go",
			"if known.Check() != nil {", "if false {", "TestOutsizedReport"},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			(mutant.Mutant{Name: m.name, File: m.file, Old: m.before, New: m.after}).Check(t, ".", m.test)
		})
	}
}
