package agentsig_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/mutant"
)

const exitRecord = `{"protocol":"apm2_agent_exit","version":"1.0.0","phase_completed":"REVIEW","exit_reason":"completed"}`

// exitPieces are lines to stand before an exit record, most of them in its way.
var exitPieces = []string{
	"EXIT: run=n1", "EXIT: run=n1", "EXIT: run=n1", "EXIT: run=n1 \t", "EXIT: run=n2", "EXIT: run=", "EXIT: run=n1 x", "EXIT: run=n1!",
	" EXIT: run=n1", "> EXIT: run=n1", "**EXIT: run=n1**", "exit: run=n1", "`EXIT: run=n1`", "",
	"text", "```", `{"a":1}`, exitRecord, exitRecord, exitRecord, " " + exitRecord, "> " + exitRecord,
}

// TestExitLine puts exit records below lines of every kind, said by the agent and by a tool,
// and compares with the rule as it is told: a record counts if the agent itself says
// EXIT: run= with the session's nonce on the line directly before it, neither of them masked.
func TestExitLine(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 8))
	counted := 0
	for range rounds(20_000) {
		var parts []said
		for range 1 + r.IntN(12) {
			from := agentsig.Voice
			if r.IntN(8) == 0 {
				from = agentsig.Tool
			}
			parts = append(parts, said{from, exitPieces[r.IntN(len(exitPieces))] + []string{"\n", "\n", "\r\n"}[r.IntN(3)]})
		}
		want := exitRule(parts)
		counted += len(want)
		var got []string
		s := agentsig.NewScanner(agentsig.Options{Nonce: "n1"}, agentsig.Sink{Finding: func(f agentsig.Finding) {
			if f.Outcome == agentsig.Accepted || f.Reason == agentsig.ReasonWrongNonce {
				got = append(got, fmt.Sprintf("%d %s %s", f.Span.Line, f.Outcome, f.Signal.Run))
			}
		}})
		for _, p := range parts {
			for _, chunk := range chunksOf(1 + r.IntN(60))([]byte(p.text)) {
				if _, err := s.WriteFrom(p.from, chunk); err != nil {
					t.Fatal(err)
				}
			}
		}
		s.Close()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q (-want +got):\n%s", parts, diff)
		}
	}
	if counted < rounds(5_000) {
		t.Errorf("only %d lines and records mattered", counted)
	}
}

// exitRule says which lines of an output count, or have another session's nonce.
func exitRule(parts []said) (found []string) {
	fenced := false
	before := "" // the nonce on the line directly before
	lone := func(n int) {
		if before == "n2" {
			found = append(found, fmt.Sprintf("%d rejected n2", n))
		}
		before = ""
	}
	for i, p := range parts {
		line := strings.TrimRight(p.text, " \t\r\n")
		switch {
		case p.from == agentsig.Tool:
			lone(i)
		case line == "```":
			lone(i)
			fenced = !fenced
		case fenced:
		case line == exitRecord && before == "n1":
			found = append(found, fmt.Sprintf("%d signal n1", i+1))
			before = ""
		case line == exitRecord && before == "n2":
			found = append(found, fmt.Sprintf("%d rejected n2", i+1))
			before = ""
		case line == "EXIT: run=n1", line == "EXIT: run=n2":
			lone(i)
			before = strings.TrimPrefix(line, "EXIT: run=")
		default:
			lone(i)
		}
	}
	lone(len(parts))
	return found
}

// TestExitLineMutants drops each rule about the line before an exit record once.
func TestExitLineMutants(t *testing.T) {
	mutant.All(t, mutant.By("^TestExitLine$", []mutant.Mutant{
		{Name: "an exit record has to carry the nonce", File: "exitline.go", Old: "\tcase nonce != \"\":\n", New: "\tcase false:\n"},
		{Name: "the nonce has to be this session's", File: "exitline.go", Old: "nonce, nonceErr := s.opts.checkNonce(f.Signal.Run)", New: "nonce, nonceErr := s.opts.checkNonce(map[bool]string{true: s.opts.Nonce}[f.Signal.Run != \"\"])"},
		{Name: "the line stands directly before the record", File: "text.go", Old: "\tif s.announced != nil && !s.objectBegins(c, c.w[c.i:]) {", New: "\tif s.announced != nil && s.fence.length > 99 {"},
		{Name: "another source stands in between", File: "scanner.go", Old: "\ts.loneExitLine()\n", New: ""},
		{Name: "a line announces one record", File: "exitline.go", Old: "\t\tf.Signal.Run = s.announced.run\n\t\ts.announced = nil\n", New: "\t\tf.Signal.Run = s.announced.run\n"},
		{Name: "nothing follows the nonce on its line", File: "exitline.go", Old: "return string(run), ok && validWord(run)", New: "return string(bytes.Fields(append(run, \" -\"...))[0]), ok && len(run) > 0"},
	}))
}

// TestIDMutants drops rules about ids.
func TestIDMutants(t *testing.T) {
	mutant.All(t, mutant.By("^TestCorpus$/^line-id", []mutant.Mutant{
		{Name: "a path is an id", File: "line.go", Old: "(!isWhole || validWord(repo))", New: "(!isWhole || len(repo) > 0)"},
		{Name: "an issue's id is as long as it is", File: "line.go", Old: "return len(b) <= maxID && validWord(number)", New: "return validWord(number)"},
		{Name: "a number sign is an id", File: "line.go", Old: "len(b) <= maxID && validWord(number) &&", New: "len(b) <= maxID && len(number) >= 0 &&"},
	}))
}
