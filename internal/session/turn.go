package session

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// Limits of what is told of a turn.
const (
	maxNotes      = 200
	maxSignals    = 100
	maxNearMisses = 20
	maxDenied     = 20
	maxSteps      = 1000      // of a session's model
	maxWire       = 128 << 10 // of all signals of a report, in bytes, so that it fits api.MaxReport
)

// turn is what an agent says between a prompt and the end of the turn.
type turn struct {
	number   int
	prompt   string    // the id of the command that began it
	answerBy time.Time // zero if there is no deadline
	quietAt  time.Time // when the agent has been silent for long enough; zero if it was
	noAnswer bool
	closed   bool // what is said from now on does not count
	over     bool // the agent has ended it, and is to stop

	scanner     *agentsig.Scanner
	offset      int64 // of the turn's first byte in all that was said
	line        int   // lines before it
	verdict     agentsig.Verdict
	signals     []agentsig.Finding
	terminal    bool
	notes       []agentsig.Finding // that were not reported yet
	noted       int
	nearMisses  []api.NearMiss
	usage       delivery.Usage
	warned      bool // the agent was asked to wrap up
	voice, errs tail
	last        tail // of everything, for whoever watches
}

func newTurn(number int, prompt string, o agentsig.Options, offset int64, line int) *turn {
	t := &turn{number: number, prompt: prompt, offset: offset, line: line}
	t.scanner = agentsig.NewScanner(o, agentsig.Sink{Finding: t.found})
	return t
}

// found takes what the scanner found.
func (t *turn) found(f agentsig.Finding) {
	if f.Outcome != agentsig.Accepted {
		if len(t.nearMisses) < maxNearMisses {
			miss := api.NearMiss{Line: t.line + f.Span.Line, Kind: f.Signal.Kind, Reason: f.Reason, Hint: f.Reason.Hint()}
			if f.Outcome == agentsig.Rejected && f.Err != nil {
				miss.Hint = f.Err.Error()
			}
			t.nearMisses = append(t.nearMisses, miss)
		}
		return
	}
	t.answerBy = time.Time{}
	terminal := f.Signal.Terminal()
	if len(t.signals) < maxSignals || terminal && !t.terminal {
		t.signals = append(t.signals, f)
	}
	t.terminal = t.terminal || terminal
	if !terminal && t.noted < maxNotes {
		t.noted++
		t.notes = append(t.notes, f)
	}
}

// write takes a piece of what the agent or a tool of it says.
func (t *turn) write(from agentsig.Source, p []byte) {
	if t.closed {
		return
	}
	_, _ = t.scanner.WriteFrom(from, p) // it fails only when closed
	if from == agentsig.Voice {
		t.voice.write(p)
	}
	t.last.write(p)
}

// close ends what counts.
func (t *turn) close() {
	if !t.closed {
		t.verdict = t.scanner.Close()
		t.closed = true
	}
}

// report says what the turn has come to.
func (t *turn) report(kind string) api.SessionReport {
	return api.SessionReport{
		Kind: kind, Turn: t.number, Prompt: t.prompt, Verdict: t.verdict.Kind, Signals: t.said(t.signals),
		NearMisses: t.nearMisses, Preview: t.voice.preview(), NoAnswer: t.noAnswer, Usage: t.usage,
	}
}

// takeNotes returns a report for each signal that ends nothing and was not reported yet.
func (t *turn) takeNotes() []api.SessionReport {
	var reports []api.SessionReport
	for _, f := range t.notes {
		reports = append(reports, api.SessionReport{
			Kind: api.ReportNote, Turn: t.number, Verdict: f.Signal.Kind, Signals: t.said([]agentsig.Finding{f}),
		})
	}
	t.notes = nil
	return reports
}

// said writes signals for a report: those that end the turn in full before the others,
// for as long as there is room.
func (t *turn) said(findings []agentsig.Finding) []api.SaidSignal {
	findings = slices.Clone(findings)
	slices.SortStableFunc(findings, func(a, b agentsig.Finding) int { return cmp.Compare(rank(a), rank(b)) })
	var out []api.SaidSignal
	room := maxWire
	for _, f := range findings {
		wire := written(f.Signal, room)
		room -= len(wire)
		out = append(out, api.SaidSignal{
			Wire: wire, Offset: t.offset + f.Span.Offset, Length: f.Span.Length,
			SHA256: hex.EncodeToString(f.Span.SHA256[:]), Line: t.line + f.Span.Line, LeftOut: leftOut(f), Name: f.Signal.Name,
		})
	}
	slices.SortStableFunc(out, func(a, b api.SaidSignal) int { return cmp.Compare(a.Offset, b.Offset) })
	return out
}

func leftOut(f agentsig.Finding) string {
	if f.LeftOut == nil {
		return ""
	}
	return f.LeftOut.Error()
}

func rank(f agentsig.Finding) int {
	if f.Signal.Terminal() {
		return 0
	}
	return 1
}

// written writes a signal, or as much of it as there is room for: its first line, or its
// name alone. The nonce has done its part, and is left out.
func written(s agentsig.Signal, room int) string {
	s.Run = ""
	for _, s := range []agentsig.Signal{s, {Kind: s.Kind, Subject: s.Subject}} {
		if wire, err := s.Wire(); err == nil && len(wire) <= room {
			return wire
		}
	}
	entry, _ := agentsig.Lookup(s.Kind)
	return entry.Wire
}

// lines counts the lines that a text ends.
func lines(p []byte) int { return bytes.Count(p, []byte{'\n'}) }
