package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/evidence"
	"github.com/signalbox-dev/signalbox/internal/runner"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/internal/worktree"
	"github.com/signalbox-dev/signalbox/ledger"
)

// A diff is coloured by what its lines are, and nothing in them acts upon the terminal, wherever it is cut.
func TestDiffView(t *testing.T) {
	const diff = "diff --git a/a b/a\nindex 1..2 100644\n--- a/a\n+++ b/a\n" +
		"@@ -1,3 +1,3 @@ func \x1b[8mhidden\n" +
		" kept\r\n--- no header\n+++ nor this\n+\x1b[8mhidden\x1b[m \u202etxt. ü\t|\n\n" +
		"@@ -9 +9 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n" +
		"diff --git a/b b/b\nBinary files a/b and b/b differ\n"
	const want = "<M>diff --git a/a b/a<>\n<M>index 1..2 100644<>\n<M>--- a/a<>\n<M>+++ b/a<>\n" +
		`<F>@@ -1,3 +1,3 @@ func \x1b[8mhidden<>` + "\n" +
		` kept\r` + "\n<O>--- no header<>\n<N>+++ nor this<>\n" + `<N>+\x1b[8mhidden\x1b[m \u202etxt. ü` + "\t|<>\n\n" +
		"<F>@@ -9 +9 @@<>\n<O>-a<>\n\\ No newline at end of file\n<N>+b<>\n\\ No newline at end of file\n" +
		"<M>diff --git a/b b/b<>\n<M>Binary files a/b and b/b differ<>\n"
	for size := range len(diff) {
		var out strings.Builder
		v := &diffView{to: &out, colours: worktree.DiffColours{Meta: "<M>", Frag: "<F>", Old: "<O>", New: "<N>"}}
		for rest := diff; rest != ""; {
			n := min(size+1, len(rest))
			if _, err := io.WriteString(v, rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
		if got := strings.ReplaceAll(out.String(), resetColour, "<>"); got != want {
			t.Fatalf("by %d bytes it is\n%s\nand should be\n%s", size+1, got, want)
		}
	}
}

// Of a line without an end a part is held, and no character is cut; without colours there are none.
func TestDiffViewLongLine(t *testing.T) {
	var out strings.Builder
	v := &diffView{to: &out}
	line := "+" + strings.Repeat("ü", 3*maxHeldLine)
	if _, err := io.WriteString(v, "@@ -0,0 +1 @@\n"); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(line); i += 1001 {
		if _, err := io.WriteString(v, line[i:min(i+1001, len(line))]); err != nil {
			t.Fatal(err)
		}
		if len(v.line) > maxHeldLine+2000 {
			t.Fatalf("%d bytes are held", len(v.line))
		}
	}
	if err := v.Close(); err != nil || out.String() != "@@ -0,0 +1 @@\n"+line {
		t.Errorf("the line has %d bytes, and should have %d: %v", out.Len(), len(line), err)
	}
}

// What counts of a task's work, and what it was sent back for, is in its events.
func TestTaskState(t *testing.T) {
	shown := func(role, commit string) string {
		return fmt.Sprintf(`WorkShown {"role":%q,"commit":%q,"tree":"t","base":"b"}`, role, commit)
	}
	granted := func(role, phase string) string {
		return fmt.Sprintf(`LeaseGranted {"role":%q,"phase":%q,"agent":"x"}`, role, phase)
	}
	done := func(next string) string { return fmt.Sprintf(`AgentSessionCompleted {"next_phase":%q}`, next) }
	gate := func(commit string) string {
		return fmt.Sprintf(`GatePassed {"commit":%q,"next_phase":"READY_FOR_REVIEW"}`, commit)
	}
	first := []string{
		`WorkAdded {"id":"R1.T-1","phase":"IMPLEMENTATION","run":"r","task":"T-1"}`,
		granted("developer", "IMPLEMENTATION"), done("CI_PENDING"), gate("c1"),
	}
	reviewed := slices.Concat(first, []string{granted("critic", "REVIEW"), shown("critic", "c1"), done("IMPLEMENTATION")})
	again := slices.Concat(reviewed, []string{granted("developer", "IMPLEMENTATION"), done("CI_PENDING"), gate("c2")})
	for name, c := range map[string]struct {
		events               []string
		commit, failed, onto string
		settled              bool
	}{
		"at work":            {first[:2], "", "", "", false},
		"at the gate":        {first[:3], "", "", "", false},
		"passed the gate":    {first, "c1", "", "", true},
		"a developer's word": {slices.Concat(first[:2], []string{done("IMPLEMENTATION")}), "", "", "", false},
		"sent back":          {reviewed, "c1", "c1", "", false},
		"given back since": {slices.Concat(reviewed, []string{`GateFailed {"commit":"c2","next_phase":"IMPLEMENTATION"}`,
			granted("developer", "IMPLEMENTATION"), done("IMPLEMENTATION")}), "c2", "c1", "", false},
		"passed again":        {again, "c2", "c1", "", true},
		"blocked in a review": {slices.Concat(again, []string{`WorkBlocked {"next_phase":"BLOCKED"}`}), "c2", "c1", "", true},
		"blocked at work":     {slices.Concat(first[:2], []string{`WorkBlocked {"next_phase":"BLOCKED"}`}), "", "", "", false},
		"merged past the reviews": {slices.Concat(again, []string{`WorkOverridden {"next_phase":"READY_FOR_MERGE"}`, granted("auditor", "READY_FOR_MERGE"),
			`WorkShown {"role":"auditor","commit":"c2","tree":"t","base":""}`, `AgentSessionCompleted {"next_phase":"READY_FOR_MERGE","audited":true}`,
			`MergeAllowed {"onto":"o","commit":"c2"}`, `WorkMerged {"commit":"c2","next_phase":"COMPLETED"}`}), "c2", "c1", "o", true},
		"not merged": {slices.Concat(again, []string{`AgentSessionCompleted {"next_phase":"READY_FOR_REVIEW","audited":true}`,
			`MergeAllowed {"onto":"o","commit":"c2"}`, `MergeFailed {"commit":"c2","next_phase":"IMPLEMENTATION"}`}), "c2", "c1", "", false},
	} {
		var s taskState
		for i, line := range c.events {
			kind, payload, _ := strings.Cut(line, " ")
			if err := s.take(uint64(i+1), ledger.Event{Type: kind, Subject: "s", Lease: fmt.Sprintf("1.%d", i), Payload: []byte(payload)}); err != nil {
				t.Fatalf("%s, event %d: %v", name, i, err)
			}
		}
		if s.Item.Commit != c.commit || s.failed != c.failed || s.Onto != c.onto || s.Settled() != c.settled {
			t.Errorf("%s: commit %q, sent back %q, onto %q, settled %v in %s", name, s.Item.Commit, s.failed, s.Onto, s.Settled(), s.Item.Phase)
		}
	}
	var s taskState
	if err := s.take(1, ledger.Event{Type: "FromTheFuture"}); err == nil {
		t.Error("an event that nobody knows is passed over")
	}
	if s.Item = (work.Item{Phase: agentsig.PhaseBlocked, BlockedFrom: agentsig.PhaseReview}); !s.Settled() {
		t.Error("what was blocked in a review is not settled")
	}
}

// zeros is as many of them as somebody wants.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// An object takes no more than its room.
func TestBeginning(t *testing.T) {
	var b beginning
	if _, err := b.Write(make([]byte, maxDiff)); err != nil || b.over {
		t.Fatalf("what fits is refused: %v", err)
	}
	if _, err := b.Write([]byte("x")); err == nil || !b.over || b.text.Len() != maxDiff {
		t.Errorf("%d bytes were taken, %v", b.text.Len(), err)
	}
	var copied beginning // as a program's output is
	if _, err := io.Copy(&copied, io.LimitReader(zeros{}, 2*maxDiff)); err == nil || !copied.over || copied.text.Len() != maxDiff {
		t.Errorf("%d bytes were copied, %v", copied.text.Len(), err)
	}
}

// Who looks at a task that is completed is told whether it was merged, or changes nothing.
func TestShownWords(t *testing.T) {
	c := &runner.Changes{Commit: "0123abcdef", Base: "0123abcdef"}
	for noChange, want := range map[string]string{
		"":            "R1.T-1: 0123abc, which was merged; compared with 0123abc, where its work began",
		"it is there": "R1.T-1: 0123abc, which changes nothing, and the critic agrees; compared with 0123abc, where its work began",
	} {
		item := work.Item{ID: "R1.T-1", Phase: agentsig.PhaseCompleted, NoChange: noChange}
		if got := shownWords(taskState{Work: evidence.Work{Item: item}, work: runner.TaskWork{Settled: true}}, c); got != want {
			t.Errorf("%s", got)
		}
	}
	if got := nothingWords(diffOptions{}, true); got != "nothing is changed" {
		t.Errorf("%s", got)
	}
}
