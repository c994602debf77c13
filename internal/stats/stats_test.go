package stats_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/stats"
	"github.com/signalbox-dev/signalbox/ledger"
)

// start is when the first event of a tale happens; each of the others happens a second after the one before it.
var start = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// tale makes events of lines: subject, type, actor, session and payload.
func tale(t *testing.T, lines ...string) []ledger.Event {
	t.Helper()
	var events []ledger.Event
	for i, line := range lines {
		f := strings.SplitN(line, " ", 5)
		if len(f) != 5 || !json.Valid([]byte(f[4])) {
			t.Fatalf("no event: %s", line)
		}
		events = append(events, ledger.Event{
			Subject: f[0], Type: f[1], Actor: f[2], Session: strings.Trim(f[3], "-"), Time: start.Add(time.Duration(i) * time.Second), Payload: json.RawMessage(f[4]),
		})
	}
	return events
}

// told folds events into a table.
func told(t *testing.T, into stats.Table, events []ledger.Event) []stats.Row {
	t.Helper()
	var f stats.Fold
	for _, e := range events {
		if err := f.Next(e, func(x stats.Fact) { into.See(e.Time, x) }); err != nil {
			t.Fatal(err)
		}
	}
	return into.Rows()
}

func usd(x float64) *float64 { return &x }

// theTale is a task whose first claim the gate refuses, whose second the critic sends back, and whose third is merged; beside it
// a health audit that says nothing that counts, and a run that a person works in.
var theTale = []string{
	`RUN RunStarted operator - {"id":"R1"}`,
	`ITEM WorkAdded operator - {"id":"R1.T-1","phase":"IMPLEMENTATION","run":"RUN","task":"T-1"}`,
	`ITEM LeaseGranted box A {"phase":"IMPLEMENTATION","role":"developer","agent":"claude"}`,
	`RUN SignalRefused box A {"line":1,"kind":"ready_for_review","reason":"wrong_id"}`,
	`RUN unknown_signal_recovery box A {"turn":1,"near_misses":[{"line":1,"kind":"ready_for_review","reason":"wrong_id"},{"line":2,"kind":"ready_for_review","reason":"fenced"}]}`,
	`RUN PromptDelivered box A {"prompt":"A/prompt-1"}`,
	`RUN SignalRequested box A {"turn":2,"near_misses":[{"line":2,"kind":"ready_for_review","reason":"fenced"}]}`,
	`RUN SignalRefused box A {"line":1,"kind":"ready_for_review","reason":"wrong_nonce"}`,
	`ITEM AgentSessionCompleted claude A {"phase_completed":"IMPLEMENTATION","next_phase":"CI_PENDING","signal":"ready_for_review"}`,
	`ITEM GateFailed gate - {"commit":"1","next_phase":"IMPLEMENTATION"}`,
	`RUN SessionEnded box A {"how":"done","usage":{"input_tokens":10,"cost_usd":0.25},"conversation":{"id":"c","model":"opus"}}`,
	`ITEM LeaseGranted box B {"phase":"IMPLEMENTATION","role":"developer","agent":"claude"}`,
	`RUN UsageReported box B {"report":1,"usage":{"input_tokens":5,"cost_usd":0.1}}`,
	`ITEM AgentSessionCompleted claude B {"phase_completed":"IMPLEMENTATION","next_phase":"CI_PENDING","signal":"ready_for_review"}`,
	`RUN SessionEnded box B {"how":"done","usage":{"input_tokens":9,"cost_usd":0.3},"conversation":{"id":"c","model":"sonnet"}}`,
	`ITEM GatePassed gate - {"commit":"2","next_phase":"READY_FOR_REVIEW"}`,
	`ITEM ReviewStarted box C {"phase":"REVIEW","role":"critic","agent":"codex"}`,
	`ITEM AgentSessionCompleted codex C {"phase_completed":"REVIEW","next_phase":"IMPLEMENTATION","signal":"review_failed"}`,
	`RUN SessionEnded box C {"how":"done","usage":{"input_tokens":7}}`,
	`ITEM LeaseGranted box D {"phase":"IMPLEMENTATION","role":"developer","agent":"claude"}`,
	`RUN SessionEnded box D {"how":"crashed","usage":{}}`,
	`ITEM WorkTaken operator E {"from":"IMPLEMENTATION","phase":"IMPLEMENTATION","role":"developer","agent":"person"}`,
	`ITEM AgentSessionCompleted operator E {"phase_completed":"IMPLEMENTATION","next_phase":"CI_PENDING","signal":"ready_for_review"}`,
	`ITEM GateFailed gate - {"commit":"3","next_phase":"IMPLEMENTATION"}`,
	`ITEM ReviewStarted operator P {"phase":"REVIEW","role":"critic","agent":"person"}`,
	`ITEM AgentSessionCompleted operator P {"phase_completed":"REVIEW","next_phase":"READY_FOR_MERGE","signal":"review_passed"}`,
	`RUN SessionGranted box F {"role":"health_auditor","agent":"codex","round":1}`,
	`RUN agent_signal_failure box F {"turn":1,"ambiguous":true}`,
	`RUN SessionEnded box F {"how":"done","usage":{"cost_usd":0.5}}`,
	`ALONE WorkAdded operator - {"id":"W-1","phase":"IMPLEMENTATION"}`,
	`ALONE LeaseGranted me G {"phase":"IMPLEMENTATION","role":"developer"}`,
	`ALONE AgentSessionCompleted me G {"phase_completed":"IMPLEMENTATION","next_phase":"CI_PENDING","signal":"ready_for_review"}`,
	`ALONE GateFailed gate - {"commit":"4","next_phase":"IMPLEMENTATION"}`,
}

// A table has what the ledger says, by agent and model; what is not known is not 0.
func TestTable(t *testing.T) {
	got := told(t, stats.Table{}, tale(t, theTale...))
	want := []stats.Row{
		{Agent: "claude", Model: "opus", Turns: 3, NearMisses: 3, FalseClaims: 1, Rework: 1, CostUSD: usd(0.25)},
		{Agent: "claude", Model: "sonnet", Turns: 1, Rework: 1, CostUSD: usd(0.3)},
		{Agent: "claude", Model: "unknown", Turns: 1, Uncosted: 1},
		{Agent: "codex", Model: "unknown", Turns: 2, CostUSD: usd(0.5), Uncosted: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	data, err := json.Marshal(got[2])
	if err != nil || string(data) != `{"agent":"claude","model":"unknown","turns":1,"near_misses":0,"false_claims":0,"rework":0,"cost_usd":null,"sessions_without_cost":1}` {
		t.Errorf("%s, %v", data, err)
	}
}

// What is not known is no number, and what is not whole is marked.
func TestCostWords(t *testing.T) {
	usd := 1.5
	for _, c := range []struct {
		row  stats.Row
		want string
	}{
		{stats.Row{}, "unknown"},
		{stats.Row{Uncosted: 2}, "unknown"},
		{stats.Row{CostUSD: &usd}, "1.50"},
		{stats.Row{CostUSD: &usd, Uncosted: 2}, "1.50+"},
	} {
		if got := c.row.CostWords(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.row, got, c.want)
		}
	}
}

// A session that goes on is in it, with what it has used so far and a model that nobody knows yet.
func TestTableWhileItRuns(t *testing.T) {
	got := told(t, stats.Table{}, tale(t, theTale[:13]...))
	want := []stats.Row{
		{Agent: "claude", Model: "opus", Turns: 3, NearMisses: 3, FalseClaims: 1, Rework: 1, CostUSD: usd(0.25)},
		{Agent: "claude", Model: "unknown", CostUSD: usd(0.1)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What was before a time is not counted, and neither is another run.
func TestTableOfAPart(t *testing.T) {
	events := tale(t, theTale...)
	got := told(t, stats.Table{Since: start.Add(13 * time.Second)}, events)
	if want := []stats.Row{
		{Agent: "claude", Model: "sonnet", Turns: 1, Rework: 1, CostUSD: usd(0.2)},
		{Agent: "claude", Model: "unknown", Turns: 1, Uncosted: 1},
		{Agent: "codex", Model: "unknown", Turns: 2, CostUSD: usd(0.5), Uncosted: 1},
	}; !cmp.Equal(want, got) {
		t.Error(cmp.Diff(want, got))
	}
	if got := told(t, stats.Table{Run: "OTHER"}, events); len(got) != 0 {
		t.Errorf("another run has %v", got)
	}
	if got := told(t, stats.Table{Run: "RUN"}, events); len(got) != 4 {
		t.Errorf("the run has %v", got)
	}
}

// Who sends work back counts once, whoever it is; what only could not be merged was not sent back.
func TestRework(t *testing.T) {
	claim := append(slices.Clone(theTale[:3]), theTale[8])
	for _, c := range []struct {
		event string
		want  int64
	}{
		{`ITEM AgentSessionCompleted operator X {"phase_completed":"REVIEW","next_phase":"IMPLEMENTATION","signal":"review_failed"}`, 1},
		{`ITEM AgentSessionCompleted gemini X {"phase_completed":"READY_FOR_MERGE","next_phase":"IMPLEMENTATION","signal":"audit_failed"}`, 1},
		{`ITEM AgentSessionCompleted gemini X {"phase_completed":"REVIEW","next_phase":"READY_FOR_MERGE","signal":"review_passed"}`, 0},
		{`ITEM MergeFailed operator - {"commit":"1","next_phase":"IMPLEMENTATION"}`, 1},
		{`ITEM MergeFailed box - {"commit":"1","next_phase":"IMPLEMENTATION"}`, 0},
		{`ITEM GateFailed gate - {"commit":"1","next_phase":"IMPLEMENTATION"}`, 1},
		{`ITEM GatePassed gate - {"commit":"1","next_phase":"READY_FOR_REVIEW"}`, 0},
	} {
		got := told(t, stats.Table{}, tale(t, append(slices.Clone(claim), c.event)...))
		if len(got) != 1 || got[0].Rework != c.want {
			t.Errorf("%s: %v", c.event, got)
		}
	}
	given := told(t, stats.Table{}, tale(t, append(slices.Clone(theTale[:3]),
		`ITEM AgentSessionCompleted claude A {"phase_completed":"IMPLEMENTATION","next_phase":"BLOCKED","signal":"task_incomplete"}`,
		`ITEM WorkOverridden operator - {"from":"BLOCKED","next_phase":"CI_PENDING"}`, theTale[9])...))
	if given[0].FalseClaims != 0 {
		t.Error("an agent that gave its work back is said to have called it done")
	}
}

// A turn takes from the grant or the prompt to what it led to.
func TestTurns(t *testing.T) {
	var f stats.Fold
	var got []string
	for _, e := range tale(t, append(slices.Clone(theTale[:9]),
		`RUN PromptDelivered box A {"prompt":"A/prompt-2"}`, `RUN UsageReported box A {"report":1,"usage":{}}`,
		`RUN SessionEnded box A {"how":"over_the_moon"}`, `RUN SessionEnded box A {"how":"crashed"}`,
	)...) {
		err := f.Next(e, func(x stats.Fact) {
			if x, ok := x.(stats.Turn); ok {
				got = append(got, fmt.Sprint(x.Role, " ", x.Outcome, " ", x.Took))
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"developer unknown 2s", "developer progress 1s", "developer signal -1ns", "developer other 2s"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// An event that can't be read is refused by name; one of a type that says nothing of agents is passed over.
func TestUnreadable(t *testing.T) {
	var f stats.Fold
	see := func(stats.Fact) {}
	if err := f.Next(tale(t, `RUN SessionEnded box A [1]`)[0], see); err == nil || !strings.Contains(err.Error(), "SessionEnded") {
		t.Errorf("%v", err)
	}
	if err := f.Next(tale(t, `RUN TokenCreated box - [1]`)[0], see); err != nil {
		t.Error(err)
	}
}

// However long a ledger is, and whatever agents are called in it, the table and what it is made of stay small.
func TestBounded(t *testing.T) {
	var f stats.Fold
	var table stats.Table
	most := 0
	for i := range 3000 {
		run := fmt.Sprintf("RUN%d", i)
		for _, e := range tale(t,
			run+` RunStarted operator - {}`,
			`ITEM`+run+` WorkAdded operator - {"run":"`+run+`"}`,
			`ITEM`+run+` LeaseGranted box S`+run+` {"role":"developer","agent":"agent`+run+`"}`,
			`ITEM`+run+` AgentSessionCompleted x S`+run+` {"phase_completed":"IMPLEMENTATION","next_phase":"CI_PENDING"}`,
			run+` RunFinished box - {}`,
		) {
			if err := f.Next(e, func(x stats.Fact) { table.See(e.Time, x) }); err != nil {
				t.Fatal(err)
			}
		}
		most = max(most, f.Held(), table.Held())
	}
	if rows := table.Rows(); len(rows) != 1001 || rows[len(rows)-1].Agent != stats.Rest || rows[len(rows)-1].Turns != 2000 {
		t.Errorf("%d rows, the last %v", len(rows), rows[len(rows)-1])
	}
	if most > 10 {
		t.Errorf("%d sessions and tasks of finished runs are held", most)
	}
}

// The numbers do not depend on which of several sessions says something first, and every turn is one of an agent.
func TestAnyOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var lines []string
		left := [][]string{}
		for _, s := range []string{"A", "B", "C"} {
			item := "ITEM" + s
			left = append(left, []string{
				item + ` WorkAdded operator - {"run":"RUN"}`,
				item + ` LeaseGranted box ` + s + ` {"role":"developer","agent":"` + s + `"}`,
				item + ` AgentSessionCompleted x ` + s + ` {"phase_completed":"IMPLEMENTATION","next_phase":"CI_PENDING"}`,
				item + ` GateFailed gate - {}`,
				`RUN SessionEnded box ` + s + ` {"how":"done","usage":{"cost_usd":1},"conversation":{"id":"c","model":"m"}}`,
			})
			if rng.IntN(2) == 0 { // the gate may be slower than the end
				last := left[len(left)-1]
				last[3], last[4] = last[4], last[3]
			}
		}
		for len(left) > 0 {
			i := rng.IntN(len(left))
			lines = append(lines, left[i][0])
			if left[i] = left[i][1:]; len(left[i]) == 0 {
				left = slices.Delete(left, i, i+1)
			}
		}
		var want []stats.Row
		for _, s := range []string{"A", "B", "C"} {
			want = append(want, stats.Row{Agent: s, Model: "m", Turns: 1, FalseClaims: 1, Rework: 1, CostUSD: usd(1)})
		}
		if got := told(t, stats.Table{}, tale(t, lines...)); !cmp.Equal(want, got) {
			t.Fatalf("%s\n%s", strings.Join(lines, "\n"), cmp.Diff(want, got))
		}
	}
}

// A cost that no session can have keeps the table a number.
func TestHostileCost(t *testing.T) {
	events := append(slices.Clone(theTale[:3]), theTale[8])
	for range 3 {
		events = append(events, theTale[2], `RUN SessionEnded box A {"how":"done","usage":{"cost_usd":1e308}}`)
	}
	rows := told(t, stats.Table{}, tale(t, events...))
	if _, err := json.Marshal(rows); err != nil || len(rows) != 1 || delivery.Usage.Check(delivery.Usage{CostUSD: *rows[0].CostUSD}) == nil {
		t.Errorf("%v, %v", rows, err)
	}
}
