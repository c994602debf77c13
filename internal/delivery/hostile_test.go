package delivery_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Whatever agents and people write, what is decided fits in an event, and what is
// due after it too.
func TestEventsFit(t *testing.T) {
	for _, text := range []string{strings.Repeat("\x1b", 100_000), strings.Repeat("<&>", 100_000), strings.Repeat("é\xff", 100_000), strings.Repeat("\u2028", 50_000)} {
		long := func(kind agentsig.Kind, fields ...string) delivery.Turn {
			said := work.Said{Signal: kind, Subject: text}
			for _, name := range fields {
				said.Fields = append(said.Fields, work.Field{Name: name, Value: text})
			}
			return delivery.Turn{Turn: 1, Verdict: kind, Signal: agentsig.Signal{Kind: kind, Subject: text, Note: text, Payload: text}, Said: said}
		}
		for who, turns := range map[string][]delivery.Turn{
			"T-1": {
				long(agentsig.KindFileConflict, "Reason", "Assigned To"), long(agentsig.KindExpertRequest, "Target Agent", "Request Type"),
			},
			"remediation":    {long(agentsig.KindDivineClarification, "Question"), long(agentsig.KindRemediationComplete)},
			"health_auditor": {long(agentsig.KindHealthUnhealthy)},
			"critic":         {long(agentsig.KindReviewFailed), long(agentsig.KindDivineClarification, "Question")},
		} {
			for _, turn := range turns {
				s := prepared(t, who)
				turn.Session = s.session(who).ID
				s.takeFitting(turn)
			}
		}
		checks := []work.Check{{Name: strings.Repeat("x", 8<<10), Passed: true}}
		s := prepared(t, "planned")
		s.takeFitting(delivery.BaselineRan{Command: s.command(delivery.DoBaseline, ""), Baseline: delivery.Baseline{Commit: "0000000", Checks: checks, Output: text, Trouble: text}})
		s = prepared(t, "audited")
		names := slices.Repeat([]string{text}, 100)
		s.takeFitting(delivery.RepairRan{Command: s.command(delivery.DoBaseline, ""), Repair: delivery.Repair{Commit: "1a2b3c4", Files: 100, Names: names, Output: text, Checks: checks}})
		s.play("say critic REVIEW_PASSED: remediation")
		s.takeFitting(delivery.RepairMergeRan{Command: s.command(delivery.DoMergeRepair, ""), Commit: "1a2b3c4", Output: text, Failed: text, Checks: checks})
		s = prepared(t, "T-1")
		claim := long(agentsig.KindReadyForReview, agentsig.KeyNoChange)
		claim.Session, claim.Signal = s.session("T-1").ID, agentsig.Signal{Kind: agentsig.KindReadyForReview, Subject: "T-1"}
		s.take(claim)
		s.settle()
		s.takeFitting(delivery.GateRan{Command: s.command(delivery.DoGate, "T-1"), Commit: "0000000", Passed: true, Checks: checks, Files: new(0)})
		s = prepared(t, "T-1")
		session := s.session("T-1").ID
		s.takeFitting(delivery.Touched{Session: session, Task: "T-1", Text: text})
		s.takeFitting(delivery.Denied{Session: session, Report: 1, Text: text})
		s.takeFitting(delivery.Stepped{Session: session, Report: 2, Step: delivery.Step{Signal: &delivery.ModelSignal{Turn: 1, Signal: agentsig.KindStuck, Text: text}}})
		s.takeFitting(delivery.Stepped{Session: session, Report: 3, Step: delivery.Step{Call: &delivery.ToolCall{Call: 1, Tool: text[:255], Arguments: text}}})
		s.takeFitting(delivery.Stepped{Session: session, Report: 4, Step: delivery.Step{Result: &delivery.ToolResult{Call: 1, Tool: text[:255], Text: text, SHA256: text[:255]}}})
		s.takeFitting(delivery.Tell{Actor: work.OperatorActor, Task: "T-1", Text: text})
		s.takeFitting(delivery.End{Session: session, Ended: delivery.Ended{How: delivery.Limited, Detail: text}})
		s.takeFitting(delivery.Retry{Actor: work.OperatorActor, Task: "T-1", Text: text})
		s.takeFitting(delivery.Hold{Actor: work.OperatorActor, Reason: text})
		s.takeFitting(delivery.Resume{Actor: work.OperatorActor, Reason: text})
		s.takeFitting(delivery.Cancel{Actor: work.OperatorActor, Task: "T-1", Reason: text})
	}
}

// Experts that agents make up are bounded, and so is what is said about them.
func TestExpertsFit(t *testing.T) {
	s := prepared(t, "T-1")
	session := s.session("T-1").ID
	for i := range 1000 {
		name := fmt.Sprint(strings.Repeat("x", 60), i)
		s.takeFitting(delivery.Note{Session: session, Report: i + 1, Said: work.Said{Signal: agentsig.KindExpertCreated, Subject: name}, Key: name})
	}
	if len(s.run.Known) != 50 {
		t.Errorf("%d experts are known", len(s.run.Known))
	}
	request := work.Said{Signal: agentsig.KindExpertRequest, Fields: []work.Field{{Name: "Target Agent", Value: "nobody"}}}
	s.takeFitting(delivery.Turn{Session: session, Turn: 1, Verdict: agentsig.KindExpertRequest, Signal: agentsig.Signal{Kind: agentsig.KindExpertRequest}, Said: request})
}

// prepared is a run in which somebody works.
func prepared(t *testing.T, who string) *scenario {
	t.Helper()
	s := &scenario{t: t, out: &strings.Builder{}, now: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), items: map[string]work.Item{}, turns: map[string]int{}}
	s.play("plan T-1 conflicts=0")
	if who == "planned" {
		return s
	}
	if who == "T-1" {
		s.play("baseline pass")
		return s
	}
	s.play("baseline fail")
	steps := []string{"say remediation REMEDIATION_COMPLETE", "say health_auditor HEALTH_AUDIT: HEALTHY", "repair 1a2b3c4 pass"}
	for _, step := range steps[:map[string]int{"health_auditor": 1, "audited": 2, "critic": 3}[who]] {
		s.play(step)
	}
	return s
}

// takeFitting takes an input, and checks that all that comes of it fits.
func (s *scenario) takeFitting(in delivery.Input) {
	s.t.Helper()
	writes, err := s.run.Decide(in, s.now)
	if err != nil || len(writes) == 0 {
		s.t.Fatalf("%T leads to %d writes, %v", in, len(writes), err)
	}
	for _, w := range writes {
		s.fits(w)
		s.record(w)
	}
	for w, due := s.run.Next(s.moment()); due; w, due = s.run.Next(s.moment()) {
		s.fits(w)
		s.record(w)
	}
}

func (s *scenario) fits(w delivery.Write) {
	s.t.Helper()
	if _, ok := w.Do.(work.Report); ok {
		e, err := work.Decide(s.items[w.Item], w.Do)
		if err != nil {
			s.t.Fatal(err)
		}
		w.Event.Type, w.Event.Payload = e.Type, e.Payload
	}
	data, err := json.Marshal(w.Event.Payload)
	if err != nil || len(data) > ledger.MaxPayload {
		s.t.Errorf("%s has %d bytes of %d, %v", w.Event.Type, len(data), ledger.MaxPayload, err)
	}
}
