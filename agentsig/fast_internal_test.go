package agentsig

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// fastNames are names and what looks like them, to be put anywhere in a line.
var fastNames = func() (names []string) {
	for i := range vocabulary {
		if e := &vocabulary[i]; e.Dialect == DialectLine {
			names = append(names, e.Wire, e.Wire+": T-1", strings.ToLower(e.Wire)+": T-1")
		}
	}
	return append(names, "R\u0415ADY_FOR_REVIEW: T-1", "READY\\_FOR\\_REVIEW: T-1", "RE\x1b[1mADY_FOR_REVIEW: T-1",
		"R\u200bEADY_FOR_REVIEW: T-1", "R\x1b[1mEADY_FOR_REVIEW: T-1", "t\x01ask_incomplete: T-1", "C\x01HECKPOINT: T-1", "FILE  CONFLICT: a.go", "READY FOR REVIEW: T-1", "Audit passed: T-1", "REVIEW_PASSED T-1", "AUDIT_PASSED:", "Ready", "checking", "EXIT: run=n1", "EXIT: run=n2 ", "exit: run=n1", "EXIT", "EXIT: run=",
		"**READY_FOR_REVIEW: T-1**", "`TASK_INCOMPLETE: T-1`", "\x1b[31mINFRA_BLOCKED: T-1\x1b[0m", delegationStart, delegationEnd)
}()

// fastLines are whole lines.
var fastLines = []string{
	"", "", "", " ", "\t", "The tests pass.", "I looked at `Config` and at ``its` default", "a ` tick", "MAX_RETRIES = 3 in a_b",
	"```", "```go", "~~~", "  ```", "- ```sh", "1. ~~~", "````", "> quoted", "   > > quoted", "    > not quoted",
	"# heading", "- [ ] item", "+func f() {", "-\t}", "{", "}", "[", "]", "},", `"a": [`, `"b": "c"`,
	"if a < b { return }", "x := <-ch", "<div><span>{{ .Name }}</span></div>", "a design, a <sign>, the signal", "\u00dcbersetzung \u8a8a \u040a",
	"\xff\xfe", "a\x00\x00\x00\x00\x00b", "\x0b", "\\", "diff --git a/f.go b/f.go", "@@ -1,7 +1,9 @@", "        deep", "\t\t\t\t\t\t\t\t\t\tdeeper",
	`"protocol": "apm2_agent_exit",`, `"protocol": "apm2_agent_exit"}`, `"protocol": 1}`,
	`the record {"protocol": "apm2_agent_exit"} comes last`, "\"PROTOCOL\":\t\"apm2_agent_exit\"", `"apm2_agent_exit"`, "apm2_agent_exit",
	`<signal type="stuck"><attempted>x</attempted><blocker>nothing works</blocker></signal>`, `<signal type="need_turn"><reason>more to do</reason>`,
	"</signal>", "<signal", "</signal", "<SIGNAL type=\"stuck\">", "<Signal>", "<signals>", "</Signal>", "<sig", "`<signal type=\"stuck\">` is a tag",
	"--- " + delegationStart + " ---", "[" + delegationEnd + "]", "__" + delegationStart + "__:", strings.Repeat("word ", 40),
}

// fastParagraphs are what ends a paragraph, or does not, between a backtick and
// the tag that it may or may not make inline code.
var fastParagraphs = []string{"", "text\n", "> quoted\n", "\n", " \n", "\t\n", "\r\n", " \r\n", "```\n```\n", "- item\n", "{\"a\":1}\n"}

// fastObjects are lines that begin with an object, complete or not.
var fastObjects = []string{
	`{"level":"info","msg":"done","n":1}`, `{"level":"info","at":[1,2],"o":{"p":1}}`, `{"a":"\"}"}`, `{"a":"}`, `{"a":[1,}`, "{\"a\":\"x\ty\"}",
	`{"a":1`, `{"a":{"b":1}`, `{"a":[{"b":1}`, `{"a":1}}`, `{"a":"{"}`, `{"pass":"protocol"}`, `{} `, `{}x`, `{x}`, `{"a" "b"}`, `{"a":"b}c"}`,
	`{"protocol":"apm2_agent_exit","version":"1.0.0","phase_completed":"IMPLEMENTATION","exit_reason":"completed"}`,
	`{"pr\u006ftocol":"apm2_agent_exit"}`, `{"protocol":"other"}`,
	"{", "{}", `{"msg":"the protocol","p":""}`, `{"msg":"` + strings.Repeat("done ", 30) + `"}`, `{"a":"\\u0041"}`, `{"a":"b"}<signal>`,
	`{"a":"READY_FOR_REVIEW: T-1"}`, `{"a":"b", "c": "d_e", "f": "see AUDIT_PASSED: T-1"}`, "{\"a\":\"\x8a\xff\"}", `{"a":["}","]"]}`, `{"a":[}]`,
}

// fastBefore stands before a name.
var fastBefore = []string{
	"", "", "", " ", "  ", "\t", "        ", "> ", "- ", "* ", "**", "_", "`", "1. ", "#", "\x1b[1m", "\u200b", "see ", "the signal ", "(", "a_", "+",
	"\u00fc ", "... ", "\r", `"`, "A_B_", "\x8a", "\x8a\x8a",
}

// fastInput makes a random input of lines.
func fastInput(r *rand.Rand) string {
	pick := func(from []string) string { return from[r.IntN(len(from))] }
	var b strings.Builder
	ending := "\n"
	if r.IntN(8) == 0 {
		ending = "\r\n"
	}
	for range 1 + r.IntN(16) {
		if r.IntN(16) == 0 {
			b.WriteString("EXIT: run=n1" + ending + pick(fastObjects) + ending)
		}
		if r.IntN(4) == 0 { // so that every place in a word and a block comes up
			b.WriteString(strings.Repeat("x", r.IntN(70)) + pick([]string{"", " ", "\n"}))
		}
		switch r.IntN(9) {
		case 0, 1:
			b.WriteString(pick(fastBefore) + pick(fastNames))
			if r.IntN(4) == 0 {
				b.WriteString(" " + pick(fastLines))
			}
		case 2:
			for range r.IntN(3) { // as in a log
				b.WriteString(pick(fastObjects) + ending)
			}
			b.WriteString(pick(fastObjects))
		case 3:
			b.WriteString("a ` tick\n" + pick(fastParagraphs) + "<signal> ` tick")
		default:
			b.WriteString(pick(fastLines))
		}
		b.WriteString(ending)
	}
	if r.IntN(2) == 0 {
		b.WriteString(strings.Repeat("The end. ", 10) + "\n") // so that all before is in whole blocks
	}
	if r.IntN(64) == 0 {
		b.WriteString(strings.Repeat("long_line <", maxLine/11-1) + strings.Repeat("x", r.IntN(20)) + ending + pick(fastLines) + ending)
	}
	return b.String()
}

// scanned is what a scanner makes of an input, in a form to compare.
func scanned(input string, size int, slow bool) string {
	var found, text strings.Builder
	s := NewScanner(Options{}, Sink{
		Finding: func(f Finding) {
			fmt.Fprintf(&found, "%s %s %s %s %q %q %q %v %+v\n", f.Outcome, f.Dialect, f.Reason, f.Signal.Kind, f.Signal.Subject, f.Signal.Run, f.Signal.Payload, f.Err, f.Span)
		},
		Text: func(p []byte) { text.Write(p) },
	})
	s.slow = slow
	for len(input) > 0 {
		n := min(len(input), size)
		if _, err := s.Write([]byte(input[:n])); err != nil {
			return err.Error()
		}
		input = input[n:]
	}
	v := s.Close()
	return fmt.Sprintf("%stext %q\nverdict %s %s, other %s\n", found.String(), text.String(), v.Kind, v.Action, v.Other.Kind)
}

// TestFastPath compares what is found in random inputs with what is found when
// no line is passed over as plain.
func TestFastPath(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	inputs := 6000
	if testing.Short() {
		inputs = 2000
	}
	for range inputs {
		input := fastInput(r)
		want := scanned(input, len(input), true)
		for _, size := range []int{len(input), 1 + r.IntN(len(input))} {
			if got := scanned(input, size, false); got != want {
				t.Fatalf("in chunks of %d bytes, %q\ngives\n%s\nwithout the fast path\n%s", size, input, got, want)
			}
		}
	}
}

// TestFastPathStops puts what matters at every place of two blocks, behind and
// before plain text.
func TestFastPathStops(t *testing.T) {
	matters := append(midLineNames(), openTag, closeTag, "<SIGNAL", "</Signal", "<sIgNaL")
	for _, m := range matters {
		for at := range 2 * blockSize {
			w := []byte(strings.Repeat("\n", at%5) + strings.Repeat(".", at) + m + " >\n" + strings.Repeat("plain\n", 40))
			s := NewScanner(Options{}, Sink{})
			c := cursor{w: w}
			s.plainLines(&c)
			if c.i > at+at%5 {
				t.Fatalf("%q at %d is passed over", m, at)
			}
		}
	}
}
