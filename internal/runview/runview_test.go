package runview_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

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

// What waits for who judges it is drawn, as what it waits for.
func TestTimeOfWaits(t *testing.T) {
	var f history.Fold
	at := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for i, e := range []ledger.Event{
		{Subject: "ITEM", Type: "WorkAdded", Payload: json.RawMessage(`{"id":"R1.T-1","run":"RUN","task":"T-1"}`)},
		{Subject: "ITEM", Type: "GatePassed", Actor: "gate", Payload: json.RawMessage(`{}`)},
		{Subject: "ITEM", Type: "ReviewStarted", Session: "A", Actor: "client:page-lea", Payload: json.RawMessage(`{"role":"critic","agent":"person"}`)},
		{Subject: "ITEM", Type: "MergeProposed", Actor: "box", Payload: json.RawMessage(`{}`)},
	} {
		e.Time = at.Add(time.Duration(i) * 10 * time.Minute)
		if err := f.Next(uint64(i+1), e); err != nil {
			t.Fatal(err)
		}
	}
	run := api.Run{StartedAt: at, Tasks: []api.Task{{ID: "T-1", Title: "The task"}}}
	p := runview.TimeOf(run, &f, at.Add(time.Hour))
	var got []string
	for _, b := range p.Rows[0].Bars {
		if b.Look == "waits" {
			got = append(got, b.X+" "+b.Width+" "+b.Title)
		}
	}
	want := []string{"16.67% 16.67% waits for the critic, begun by client:page-lea, 10 min", "50.00% 50.00% waits for a word on the merge, goes on, 30 min"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// Many tokens are rounded, and few are not.
func TestTokenWords(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 tokens", 1: "1 token", 1034: "1034 tokens", 9999: "9999 tokens", 10_000: "10k tokens", 226_620: "227k tokens", 999_499: "999k tokens", 999_500: "1.0M tokens",
		1_240_000: "1.2M tokens", 9_949_999: "9.9M tokens", 9_950_000: "10M tokens", 1e12: "1000000M tokens",
	} {
		if got := runview.TokenWords(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

// A sum of which some is not known says so; without any cost the bars show tokens.
func TestCostOf(t *testing.T) {
	var f history.Fold
	run := api.Run{Tasks: []api.Task{{ID: "T-1", Title: "The task", Work: "R1.T-1"}}}
	href := func(t api.Task) string { return "#" + t.Work }
	if c := runview.CostOf(run, &f, href); len(c.Bars.Rows)+len(c.ByTask.Rows) > 0 {
		t.Errorf("nobody has said anything, and it is drawn: %+v", c)
	}
	for i, e := range []ledger.Event{
		{Subject: "RUN", Type: "SessionGranted", Session: "A", Payload: json.RawMessage(`{"role":"expert","agent":"codex"}`)},
		{Subject: "RUN", Type: "SignalRequested", Session: "A", Payload: json.RawMessage(`{"turn":1}`)},
		{Subject: "RUN", Type: "SessionEnded", Session: "A", Payload: json.RawMessage(`{"how":"done","usage":{"input_tokens":7}}`)},
	} {
		if err := f.Next(uint64(i+1), e); err != nil {
			t.Fatal(err)
		}
	}
	if c := runview.CostOf(run, &f, href); c.InUSD || c.Uncosted != 1 || c.Bars.Rows[0].Amount != "7 tokens" {
		t.Errorf("%+v", c)
	}
	for i, e := range []ledger.Event{
		{Subject: "RUN", Type: "SessionGranted", Session: "B", Payload: json.RawMessage(`{"role":"expert","agent":"codex","task":"T-1"}`)},
		{Subject: "RUN", Type: "SessionEnded", Session: "B", Payload: json.RawMessage(`{"how":"done","usage":{"cost_usd":1.5}}`)},
	} {
		if err := f.Next(uint64(i+4), e); err != nil {
			t.Fatal(err)
		}
	}
	if c := runview.CostOf(run, &f, href); !c.InUSD || c.Bars.Rows[0].Amount != "1.50+ USD" || len(c.Tasks) != 2 || c.Tasks[0].Href != "#R1.T-1" || c.ByTask.Rows[0].Label != "T-1 The task" ||
		c.ByTask.Rows[0].Amount != "1.50 USD" || c.ByTask.Rows[1].Label != "The run" || c.ByTask.Rows[1].Amount != "unknown USD" {
		t.Errorf("%+v", c)
	}
}
