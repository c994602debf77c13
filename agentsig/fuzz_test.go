package agentsig_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
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
	whole := scanIn(t, data, len(data)+1)
	for _, n := range []int{1, 1 + size} {
		parts := scanIn(t, data, n)
		if diff := cmp.Diff(whole.shown, parts.shown); diff != "" {
			t.Fatalf("in pieces of %d (-whole +pieces):\n%s", n, diff)
		}
		if !bytes.Equal(whole.text, parts.text) {
			t.Fatalf("in pieces of %d: clean text\nwhole  %q\npieces %q", n, whole.text, parts.text)
		}
	}
	// No tag is left, whole or in part, but where it is only mentioned.
	again := scanIn(t, whole.text, len(whole.text)+1)
	for _, f := range again.findings {
		switch f.Reason {
		case agentsig.ReasonFenced, agentsig.ReasonQuoted, agentsig.ReasonInlineCode, agentsig.ReasonDelegation, agentsig.ReasonCase:
			continue
		}
		if f.Dialect == agentsig.DialectXML {
			t.Fatalf("the clean text %q still has %s", whole.text, renderFinding(f))
		}
		if f.Dialect == agentsig.DialectLine && f.Outcome == agentsig.Accepted {
			t.Fatalf("the clean text %q still has the signal %s", whole.text, renderFinding(f))
		}
	}
	for _, f := range whole.findings {
		if f.Outcome == agentsig.Accepted {
			rewrite(t, f.Signal)
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

func scanIn(t *testing.T, data []byte, size int) (r scanned) {
	t.Helper()
	var last int64
	s := agentsig.NewScanner(agentsig.Options{}, agentsig.Sink{
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
			if wire, err := e.Signal().Wire(); err != nil {
				t.Fatalf("%+v is valid, and can't be written: %v\n%s", e, err, wire)
			}
		}
		checkScan(t, data, 9)
	})
}
