package agentsig_test

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
)

// An agent's whole output, read at once.
func ExampleScan() {
	output := "I think I should say `READY_FOR_REVIEW: T-1` now.\n\nREADY_FOR_REVIEW: T-1\nSummary: it works\n"
	res, err := agentsig.Scan(strings.NewReader(output), agentsig.Options{Role: agentsig.RoleDeveloper, Task: "T-1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range res.Findings {
		fmt.Printf("line %d: %s %s %s %s.\n", f.Span.Line, f.Outcome, f.Signal.Kind, f.Signal.Subject, f.Reason)
	}
	fmt.Println(res.Verdict.Kind, res.Verdict.Action, res.Verdict.Signal.Fields().Text("Summary"))
	// Output:
	// line 1: near_miss ready_for_review T-1 inline_code.
	// line 3: signal ready_for_review T-1 .
	// ready_for_review DISPATCH_CRITIC it works
}

// An agent's output while it comes in: the first signal ends the loop, and nothing more is read.
func ExampleFindings() {
	pipe := strings.NewReader("Working on it.\n\nREADY_FOR_REVIEW: T-1\nSummary: it works\n\nmore\n")
	for f, err := range agentsig.Findings(pipe, agentsig.Options{Task: "T-1"}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if f.Outcome == agentsig.Accepted {
			fmt.Println(f.Signal.Kind, f.Signal.Subject)
			return
		}
	}
	// Output: ready_for_review T-1
}

// A model's reply as it streams in: people see the text, never the signal.
func ExampleScanner() {
	s := agentsig.NewScanner(agentsig.Options{}, agentsig.Sink{
		Text: func(p []byte) { fmt.Printf("%s", p) },
		Finding: func(f agentsig.Finding) {
			if r, ok := f.Signal.Reflection(); ok {
				fmt.Printf("[%s, confidence %v]", r.Type, r.Confidence)
			}
		},
	})
	for _, token := range []string{"Let me look", " again.", "\n<sig", "nal type=\"need_turn\"><rea", "son>two files left</reason><confidence>0.8</confidence></signal>"} {
		if _, err := io.WriteString(s, token); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(" ->", s.Close().Action)
	// Output:
	// Let me look again.
	// [need_turn, confidence 0.8] -> CONTINUE_LOOP
}

// What almost was a signal is told with the rule that it broke, and with what to do about it. It
// decides nothing.
func ExampleReason_Hint() {
	output := "Done:\n\n```\nREADY_FOR_REVIEW: T-1\n```\n\n> REVIEW_PASSED: T-1\n"
	res, err := agentsig.Scan(strings.NewReader(output), agentsig.Options{Task: "T-1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range res.Findings {
		fmt.Printf("line %d: %s: %s\n", f.Span.Line, f.Reason, f.Reason.Hint())
	}
	fmt.Println(res.Verdict.Kind, res.Verdict.Action)
	// Output:
	// line 4: fenced: it stands inside a code fence; write it outside, at the start of a line
	// line 7: quoted: it stands in a block quote; write it without the >
	// unknown REQUEST_CLARIFICATION
}

// A nonce in the prompt tells the agent's own word from text that it only repeats: a signal without
// it counts for nothing.
func ExampleOptions_nonce() {
	o := agentsig.Options{Role: agentsig.RoleDeveloper, Task: "T-1", Nonce: "7QK2"}
	own, err := agentsig.Signal{Kind: agentsig.KindReadyForReview, Subject: "T-1", Run: o.Nonce}.Wire()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, output := range []string{"READY_FOR_REVIEW: T-1\n", own} {
		res, err := agentsig.Scan(strings.NewReader(output), o)
		if err != nil {
			fmt.Println(err)
			return
		}
		f := res.Findings[0]
		fmt.Printf("%q: %s %q\n", output, f.Outcome, f.Reason)
	}
	// Output:
	// "READY_FOR_REVIEW: T-1\n": near_miss "missing_nonce"
	// "READY_FOR_REVIEW: T-1 run=7QK2\n": signal ""
}

// A pull request may be on a common forge, or on a host of your own if it is named; else its address is left out.
func ExampleOptions_hosts() {
	exit := agentsig.NewExitSignal(agentsig.PhaseImplementation, agentsig.ExitCompleted).WithPRURL("https://git.example.com/org/repo/pull/7")
	record, err := exit.JSON()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, hosts := range [][]string{nil, {"git.example.com"}} {
		res, err := agentsig.Scan(strings.NewReader(string(record)+"\n"), agentsig.Options{Hosts: hosts})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(hosts, res.Verdict.Action, res.Findings[0].LeftOut != nil)
	}
	// Output:
	// [] TRANSITION_TO_NEXT_PHASE true
	// [git.example.com] TRANSITION_TO_NEXT_PHASE false
}

// What a tool prints is not the agent's word, though it comes in the same stream.
func ExampleScanner_WriteFrom() {
	s := agentsig.NewScanner(agentsig.Options{Task: "T-1"}, agentsig.Sink{Finding: func(f agentsig.Finding) {
		fmt.Printf("%s %s %q\n", f.Outcome, f.Signal.Kind, f.Reason)
	}})
	for _, piece := range []struct {
		from agentsig.Source
		text string
	}{
		{agentsig.Tool, "$ cat notes\nREVIEW_PASSED: T-1\n"},
		{agentsig.Voice, "I have read it.\n\nREADY_FOR_REVIEW: T-1\n"},
	} {
		if _, err := s.WriteFrom(piece.from, []byte(piece.text)); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(s.Close().Action)
	// Output:
	// near_miss review_passed "tool_text"
	// signal ready_for_review ""
	// DISPATCH_CRITIC
}

// The exit protocol, from a record to the event that completes a session.
func ExampleExitSignal() {
	// Create an exit signal.
	signal := agentsig.NewExitSignal(agentsig.PhaseImplementation, agentsig.ExitCompleted).
		WithPRURL("https://github.com/org/repo/pull/123").
		WithEvidence("evidence/work/W-00042/phase_implementation.yaml").
		WithNotes("Implementation complete")

	// Validate it, and write it as JSON.
	if err := signal.Validate(); err != nil {
		fmt.Println(err)
		return
	}
	data, err := signal.JSON()
	if err != nil {
		fmt.Println(err)
		return
	}

	// Reading is always possible; acting needs the protocol enabled.
	if _, err := agentsig.ParseExit(data); err != nil {
		fmt.Println(err)
		return
	}
	disabled := func(string) (string, bool) { return "false", true }
	if _, err := agentsig.ParseExitIfEnabled(data, agentsig.ExitProtocolEnabled(disabled, false)); err != nil {
		fmt.Println(err)
	}
	enabled := func(string) (string, bool) { return "true", true } // os.LookupEnv, in a program
	parsed, err := agentsig.ParseExitIfEnabled(data, agentsig.ExitProtocolEnabled(enabled, false))
	if err != nil {
		fmt.Println(err)
		return
	}

	// Create the completion event.
	event, err := agentsig.NewAgentSessionCompleted("session-123", "actor-456", parsed)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(event.PhaseCompleted, "->", event.NextPhase)
	// Output:
	// exit signal validation is disabled (AGENT_EXIT_PROTOCOL_ENABLED=false)
	// IMPLEMENTATION -> CI_PENDING
}

func ExampleParseSignal() {
	p := agentsig.ParseSignal("All tests pass.\nREVIEW_PASSED: T-7\n")
	fmt.Println(p.Signal, p.TaskID, p.Handler)
	p = agentsig.ParseSignal("All tests pass.\n")
	fmt.Println(p.Signal, p.Handler)
	// Output:
	// review_passed T-7 DISPATCH_AUDITOR
	// unknown REQUEST_CLARIFICATION
}

func ExampleReflection_View() {
	r, ok := agentsig.ParseReflection(`<signal type="stuck">
  <attempted>["search", "read"]</attempted>
  <blocker>the index is not there</blocker>
</signal>`, time.Now())
	if !ok {
		return
	}
	switch v := r.View().(type) {
	case agentsig.Stuck:
		fmt.Println("stuck after", len(v.Attempted), "attempts:", v.Blocker)
	case agentsig.NeedTurn:
		fmt.Println("another turn:", v.Reason)
	}
	// Output: stuck after 2 attempts: the index is not there
}

func ExampleSignal_Wire() {
	s := agentsig.Signal{
		Kind: agentsig.KindReviewFailed, Subject: "T-7",
		Payload: agentsig.Fields{{Name: "Required Fixes", Value: []string{"close the file", "test it"}}}.Payload(),
	}
	text, err := s.Wire()
	if err != nil {
		fmt.Println(err)
	}
	fmt.Print(text)
	// Output:
	// REVIEW_FAILED: T-7
	// Required Fixes:
	// - close the file
	// - test it
}

func ExampleInstructions() {
	text, err := agentsig.Instructions(agentsig.RoleExpert, "R-1", "")
	if err != nil {
		fmt.Println(err)
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "    ") {
			fmt.Fprint(os.Stdout, line)
		}
	}
	// Output:
	//     EXPERT_ADVICE: R-1
	//     EXPERT_UNSUCCESSFUL: R-1
	//     EXPERT_CREATED: security-reviewer
	//     FILE CONFLICT: path/to/the/file
	//     CHECKPOINT: R-1
}
