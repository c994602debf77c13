package runview_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/history"
	"github.com/signalbox-dev/signalbox/internal/runview"
	"github.com/signalbox-dev/signalbox/ledger"
)

// A task looks as it is: what needs a person before what works, and so much of a long plan is in the table.
func TestPlanOf(t *testing.T) {
	r := api.Run{Questions: []api.Question{{Task: "T-3"}}, Tasks: []api.Task{
		{ID: "T-1", Phase: agentsig.PhaseCompleted}, {ID: "T-2", Phase: agentsig.PhaseDraft, Why: delivery.WaitCancelled},
		{ID: "T-3", Phase: agentsig.PhaseImplementation, Agent: &api.Agent{Role: "developer"}}, {ID: "T-4", Phase: agentsig.PhaseImplementation, Agent: &api.Agent{Role: "developer"}},
		{ID: "T-5", Phase: agentsig.PhaseBlocked}, {ID: "T-6", Phase: agentsig.PhaseReadyForReview},
	}}
	href := func(t api.Task) string { return "#" + t.ID }
	want := []string{"completed good true", "given up bad true", "needs you warn false", "at work: developer busy false", "blocked warn false", "ready for review  false"}
	for i, row := range runview.PlanOf(r, href).Tasks {
		if got := fmt.Sprint(row.State, " ", row.Look, " ", row.Over); got != want[i] || row.Href != "#"+row.ID {
			t.Errorf("%s is %q at %s, want %q", row.ID, got, row.Href, want[i])
		}
	}
	for i := range 1500 {
		r.Tasks = append(r.Tasks, api.Task{ID: fmt.Sprint(i)})
	}
	if p := runview.PlanOf(r, href); len(p.Tasks) != 1000 || p.Left != 506 || !p.Undrawn {
		t.Errorf("%d rows, %d left", len(p.Tasks), p.Left)
	}
}

// A sum of which some is not known says so; without any cost the bars show tokens.
func TestCostOf(t *testing.T) {
	var f history.Fold
	for i, e := range []ledger.Event{
		{Subject: "RUN", Type: "SessionGranted", Session: "A", Payload: json.RawMessage(`{"role":"expert","agent":"codex"}`)},
		{Subject: "RUN", Type: "SignalRequested", Session: "A", Payload: json.RawMessage(`{"turn":1}`)},
		{Subject: "RUN", Type: "SessionEnded", Session: "A", Payload: json.RawMessage(`{"how":"done","usage":{"input_tokens":7}}`)},
	} {
		if err := f.Next(uint64(i+1), e); err != nil {
			t.Fatal(err)
		}
	}
	if c := runview.CostOf(&f); c.InUSD || c.Uncosted != 1 || c.Bars.Rows[0].Amount != "7 tokens" {
		t.Errorf("%+v", c)
	}
	for i, e := range []ledger.Event{
		{Subject: "RUN", Type: "SessionGranted", Session: "B", Payload: json.RawMessage(`{"role":"expert","agent":"codex"}`)},
		{Subject: "RUN", Type: "SessionEnded", Session: "B", Payload: json.RawMessage(`{"how":"done","usage":{"cost_usd":1.5}}`)},
	} {
		if err := f.Next(uint64(i+4), e); err != nil {
			t.Fatal(err)
		}
	}
	if c := runview.CostOf(&f); !c.InUSD || c.Bars.Rows[0].Amount != "1.50+ USD" {
		t.Errorf("%+v", c)
	}
}
