package agentsig_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentsig"
)

// FuzzScanner gives the scanner anything at all.
func FuzzScanner(f *testing.F) {
	for _, path := range corpusFiles(f) {
		for _, x := range readCorpus(f, path).cases {
			if v := x.voice(); len(v) < 2000 {
				f.Add(v, uint8(3))
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, size uint8) { checkScan(t, data, int(size)) })
}

// checkScan holds a scan against everything that is true of every scan.
func checkScan(t *testing.T, data []byte, size int) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("the input is %q", data)
		}
	}()
	whole := checkSplits(t, data, size, agentsig.Options{})
	for _, f := range checkSplits(t, data, size, agentsig.Options{Nonce: "n1"}).findings {
		if f.Outcome == agentsig.Accepted && f.Dialect == agentsig.DialectExit && !announcement.Match(data[:f.Span.Offset]) {
			t.Fatalf("without its line before it counts %s", renderFinding(f))
		}
	}
	if !maskable(data) {
		checkClean(t, whole.text)
	}
	cut := false // something was cut out of the text that is no signal
	for _, f := range whole.findings {
		cut = cut || f.Outcome != agentsig.Accepted && f.Dialect != agentsig.DialectLine
	}
	for _, f := range whole.findings {
		if f.Outcome == agentsig.Accepted && (!cut || f.Signal.Payload == "") {
			rewrite(t, f.Signal)
		}
	}
}

// announcement is what stands before an exit record that counts where the nonce n1 is demanded.
var announcement = regexp.MustCompile(`(^|^\x{feff}|\n)EXIT: run=n1[ \t]*\r?\n$`)

// checkSplits holds a scan of the whole against scans of pieces.
func checkSplits(t *testing.T, data []byte, size int, o agentsig.Options) scanned {
	t.Helper()
	whole := scanIn(t, data, len(data)+1, o)
	for _, n := range []int{1, 1 + size} {
		parts := scanIn(t, data, n, o)
		if diff := cmp.Diff(whole.shown, parts.shown); diff != "" {
			t.Fatalf("in pieces of %d (-whole +pieces):\n%s", n, diff)
		}
		if !bytes.Equal(whole.text, parts.text) {
			t.Fatalf("in pieces of %d: clean text\nwhole  %q\npieces %q", n, whole.text, parts.text)
		}
	}
	return whole
}

// maskable reports whether anything in an output may be only mentioned.
func maskable(data []byte) bool {
	return bytes.ContainsAny(data, "`~") || bytes.Contains(data, []byte("DELEGATION")) ||
		regexp.MustCompile(`(?m)^(\x{feff})?([ \t]*>| {0,3}\t| {4})`).Match(data)
}

var tag = regexp.MustCompile(`</?signal[ \t\r\n></]`)

// checkClean looks at the clean text of an output in which nothing is only
// mentioned: no tag is left in it, whole or in part, and no line signal.
func checkClean(t *testing.T, text []byte) {
	t.Helper()
	if at := tag.FindIndex(text); at != nil {
		t.Fatalf("the clean text has a tag: %q", text[at[0]:])
	}
	for _, name := range []string{"<signal", "</signal"} {
		for n := len(name); n > 0; n-- {
			if bytes.HasSuffix(text, []byte(name[:n])) {
				t.Fatalf("the clean text ends in a part of a tag: %q", text)
			}
		}
	}
	text = append([]byte("\n"), text...) // a byte order mark is dropped only at the very start
	for _, f := range scanIn(t, text, len(text)+1, agentsig.Options{}).findings {
		if f.Dialect == agentsig.DialectLine && f.Outcome == agentsig.Accepted {
			t.Fatalf("the clean text %q has the signal %s", text, renderFinding(f))
		}
	}
}

// rewrite writes a signal that was read: it has to read the same.
func rewrite(t *testing.T, s agentsig.Signal) {
	t.Helper()
	if len(s.Payload) > 20_000 {
		return // replaced bytes may make it too long
	}
	if wire, err := s.Wire(); err != nil {
		t.Fatalf("%s was read and can't be written: %v\n%q", s.Kind, err, wire)
	}
}

type scanned struct {
	findings []agentsig.Finding
	shown    string
	text     []byte
}

func scanIn(t *testing.T, data []byte, size int, o agentsig.Options) (r scanned) {
	t.Helper()
	var last int64
	s := agentsig.NewScanner(o, agentsig.Sink{
		Finding: func(f agentsig.Finding) {
			from, to := f.Span.Offset, f.Span.Offset+f.Span.Length
			if from < last || to > int64(len(data)) || sha256.Sum256(data[from:to]) != f.Span.SHA256 {
				t.Fatalf("wrong span %d+%d: %s", from, f.Span.Length, renderFinding(f))
			}
			if want := 1 + bytes.Count(data[:from], []byte{'\n'}); f.Span.Line != want {
				t.Fatalf("line %d, want %d: %s", f.Span.Line, want, renderFinding(f))
			}
			last = from
			r.findings = append(r.findings, f)
			r.shown += renderFinding(f)
		},
		Text: func(p []byte) { r.text = append(r.text, p...) },
	})
	for _, chunk := range chunksOf(size)(data) {
		if _, err := s.Write(chunk); err != nil {
			t.Fatal(err)
		}
	}
	v := s.Close()
	r.shown += string(v.Kind)
	return r
}

// FuzzLine writes line signals from their parts.
func FuzzLine(f *testing.F) {
	f.Add(uint8(0), "T-1", "n1", "a note", "Summary: done\n- a\n", uint8(1))
	f.Add(uint8(13), "", "", "", "Target Agent: x\nDELEGATION PROMPT START\nREADY_FOR_REVIEW: T-1\nDELEGATION PROMPT END\n", uint8(7))
	f.Add(uint8(17), "src/my file.go", "n", "", "Can Wait: YES", uint8(2))
	f.Fuzz(func(t *testing.T, kind uint8, subject, run, note, payload string, size uint8) {
		entries := agentsig.Vocabulary()
		e := entries[int(kind)%len(entries)]
		if e.Dialect != agentsig.DialectLine {
			return
		}
		s := agentsig.Signal{Kind: e.Kind, Subject: subject, Run: run, Note: note, Payload: payload}
		if wire, err := s.Wire(); err == nil {
			checkScan(t, []byte(wire), int(size))
		}
		checkScan(t, []byte(e.Wire+": "+subject+" run="+run+" "+note+"\n"+payload), int(size))
	})
}

// FuzzXML writes self-reflection signals from their parts, and reads blocks of
// any content.
func FuzzXML(f *testing.F) {
	f.Add(uint8(0), "one more look", "the wall", "a,b", 0.5, 3, ` id="1"`, "<reason>x</reason>")
	f.Add(uint8(2), "a < b", "]]>", "<x>", 2.0, -1, ` type='stuck'`, "<![CDATA[</signal>]]>`")
	f.Fuzz(func(t *testing.T, kind uint8, a, b, list string, confidence float64, n int, attrs, body string) {
		var xml []agentsig.Entry
		for _, e := range agentsig.Vocabulary() {
			if e.Dialect == agentsig.DialectXML {
				xml = append(xml, e)
			}
		}
		e := xml[int(kind)%len(xml)]
		r := agentsig.Reflection{Type: e.Kind, Confidence: confidence}
		for i, k := range e.Keys {
			switch k.Type {
			case agentsig.IntKey:
				r.Fields = append(r.Fields, agentsig.Field{Name: k.Name, Value: n})
			case agentsig.ListKey:
				r.Fields = append(r.Fields, agentsig.Field{Name: k.Name, Value: strings.Split(list, ",")})
			default:
				r.Fields = append(r.Fields, agentsig.Field{Name: k.Name, Value: []string{a, b}[i%2]})
			}
		}
		if wire, err := r.Signal().Wire(); err == nil {
			checkScan(t, []byte("text\n"+wire), 5)
		}
		checkScan(t, []byte(`a <signal type="`+e.Wire+`"`+attrs+">"+body+"</signal> b"), 5)
	})
}

// FuzzExit reads anything as an exit record, and writes records from their parts.
func FuzzExit(f *testing.F) {
	for _, path := range corpusFiles(f) {
		for _, x := range readCorpus(f, path).cases {
			if v := x.voice(); len(v) < 2000 && bytes.HasPrefix(v, []byte("{")) {
				f.Add(v, "https://github.com/a/b/pull/1", "evidence/x.yaml", "notes")
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, pr, ref, notes string) {
		if e, err := agentsig.ParseExit(data); err == nil {
			if !json.Valid(data) || !utf8.Valid(data) {
				t.Fatalf("%q was taken, and is not JSON", data)
			}
			again, err := e.JSON()
			if err != nil {
				t.Fatalf("%q was taken, and can't be written: %v", data, err)
			}
			if back, err := agentsig.ParseExit(again); err != nil || back != e {
				t.Fatalf("%q reads as %+v, %v, want %+v", again, back, err, e)
			}
		}
		e := agentsig.NewExitSignal(agentsig.PhaseReview, agentsig.ExitCompleted).WithPRURL(pr).WithEvidence(ref).WithNotes(notes)
		if e.Validate() == nil {
			for _, run := range []string{"", "n1"} {
				s := e.Signal()
				s.Run = run
				if wire, err := s.Wire(); err != nil {
					t.Fatalf("%+v is valid, and can't be written: %v\n%s", s, err, wire)
				}
			}
		}
		checkScan(t, data, 9)
		checkScan(t, append([]byte("EXIT: run=n1\n"), data...), 9)
	})
}

// fragments are what interesting outputs are made of.
var fragments = []string{
	"\n", "\r\n", "\n\n", " ", "\t", "a", "some prose ", "é", "\x1b[1m", "\u200b", "\x00", "\xff", "\\", "\r",
	"`", "``", "```", "````", "~~~", "```go\n", "```\n", "> ", "- ", "1. ", "**", "_", "+", "# ", "    ",
	"READY_FOR_REVIEW: T-1", "READY_FOR_REVIEW:", "READY_FOR_", "REVIEW_PASSED: T-1\n", "REVIEW_FAILED: T-1\n", "\nCHECKPOINT: T-1\n",
	"EXPERT_REQUEST\n", "HEALTH_AUDIT: HEALTHY", "FILE CONFLICT: a b", "ready_for_review: T-1", "\nSummary: x\n", "Files Modified:\n- a\n",
	"DELEGATION PROMPT START\n", "DELEGATION PROMPT END\n", " run=n1", "T-1",
	"<", "</", "<sig", "nal", "<signal", "<signal ", "<signal>", "</signal>", "</signal", ">", "/>", "<SIGNAL type=\"need_turn\">",
	`<signal type="need_turn">`, `<signal type="stuck"><attempted>a</attempted><blocker>the wall</blocker></signal>`,
	"<reason>", "one more look", "</reason>", "<![CDATA[", "]]>", "&lt;", `type="need_turn"`, "'", `"`, "=",
	`<signal type="context_sufficient"/>`,
	"{", "}", "{\n", "}\n", `"protocol"`, ":", `"apm2_agent_exit"`, ",", "[", "]", `\u0070`, "1", "null",
	`{"protocol":"apm2_agent_exit","version":"1.0.0","phase_completed":"REVIEW","exit_reason":"completed"}`,
	`{"protocol":"apm2_agent_exit",`, `"version":"1.0.0","phase_completed":"DRAFT","exit_reason":"error"}`, `{"a":1}`, `{"a":{"b":[1,2]}}`,
	"\ufeff", "EXIT: run=n1", "\nEXIT: run=n1\n", "EXIT: run=n2\n", "EXIT: run=",
	"\nEXIT: run=n1\n" + `{"protocol":"apm2_agent_exit","version":"1.0.0","phase_completed":"DRAFT","exit_reason":"error"}` + "\n",
}

// FuzzFragments puts outputs together from fragments, each byte naming one.
func FuzzFragments(f *testing.F) {
	f.Add([]byte{30, 0, 40, 17, 31, 0, 3}, uint8(4))
	f.Add([]byte{14, 57, 61, 62, 63, 52, 14, 0}, uint8(2))
	f.Fuzz(func(t *testing.T, choice []byte, size uint8) {
		if len(choice) > 200 {
			return
		}
		checkScan(t, compose(choice), int(size))
	})
}

func compose(choice []byte) []byte {
	var b []byte
	for _, c := range choice {
		b = append(b, fragments[int(c)%len(fragments)]...)
	}
	return b
}

// rounds is how many rounds a random test has: with -short a tenth.
func rounds(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}

// TestFragments is FuzzFragments without a fuzzer: the same compositions every
// time.
func TestFragments(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	for range rounds(20_000) {
		choice := make([]byte, 1+r.IntN(25))
		for i := range choice {
			choice[i] = byte(r.IntN(256))
		}
		checkScan(t, compose(choice), r.IntN(10))
	}
}
