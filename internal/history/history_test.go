package history_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/history"
	"github.com/signalbox-dev/signalbox/internal/stats"
	"github.com/signalbox-dev/signalbox/ledger"
)

var start = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// tale makes events of lines: subject, type, actor, session and payload. Each happens a second after the one before it.
func tale(t *testing.T, lines ...string) (events []ledger.Event) {
	t.Helper()
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

func told(t *testing.T, events []ledger.Event) *history.Fold {
	t.Helper()
	f := &history.Fold{}
	for i, e := range events {
		if err := f.Next(uint64(i+1), e); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

var theTale = []string{
	`RUN RunStarted operator - {"id":"R1"}`,
	`ITEM WorkAdded operator - {"id":"R1.T-1","phase":"IMPLEMENTATION","run":"RUN","task":"T-1"}`,
	`ITEM LeaseGranted box A {"phase":"IMPLEMENTATION","role":"developer","agent":"claude"}`,
	`RUN QuestionAsked box A {"id":"R1-Q1","task":"T-1","cause":"clarification","turn":1}`,
	`RUN QuestionAnswered client:page-1 - {"id":"R1-Q1","text":"yes"}`,
	`ITEM AgentSessionCompleted claude A {"phase_completed":"IMPLEMENTATION","next_phase":"CI_PENDING","signal":"ready_for_review"}`,
	`ITEM GateFailed gate - {"commit":"1","next_phase":"IMPLEMENTATION"}`,
	`RUN SessionEnded box A {"how":"done","usage":{"input_tokens":10,"cost_usd":0.25}}`,
	`ITEM LeaseGranted box B {"phase":"IMPLEMENTATION","role":"developer","agent":"claude"}`,
	`RUN UsageReported box B {"report":1,"usage":{"input_tokens":5,"cost_usd":0.1}}`,
	`RUN SessionEnded box B {"how":"crashed","usage":{"input_tokens":9,"cost_usd":0.3}}`,
	`ITEM WorkTaken operator C {"from":"IMPLEMENTATION","phase":"IMPLEMENTATION","role":"developer","agent":"person"}`,
	`RUN RunPaused operator - {}`,
	`RUN RunPaused operator - {}`,
	`RUN RunResumed operator - {}`,
	`RUN ProviderPaused box - {"provider":"anthropic","until":"2026-11-01T12:05:00Z"}`,
	`ITEM AgentSessionCompleted operator C {"phase_completed":"IMPLEMENTATION","next_phase":"CI_PENDING","signal":"ready_for_review"}`,
	`ITEM GatePassed gate - {"commit":"2","next_phase":"READY_FOR_REVIEW"}`,
	`ITEM ReviewStarted box D {"phase":"REVIEW","role":"critic","agent":"codex"}`,
	`ITEM AgentSessionCompleted codex D {"phase_completed":"REVIEW","next_phase":"READY_FOR_MERGE","signal":"review_passed"}`,
	`RUN SessionEnded box D {"how":"done","usage":{"input_tokens":7}}`,
	`ITEM WorkMerged box - {"commit":"2","result":"3","next_phase":"COMPLETED"}`,
	`RUN SessionGranted box E {"role":"health_auditor","agent":"codex","round":1}`,
	`RUN RunFinished box - {"outcome":"completed"}`,
}

// What happened is there once, from when to when, with how it ended.
func TestEntries(t *testing.T) {
	at := func(n int) time.Time { return start.Add(time.Duration(n-1) * time.Second) }
	want := []history.Entry{
		{Sequence: 3, Kind: history.Session, Task: "T-1", Role: "developer", Agent: "claude", Began: at(3), Ended: at(8), How: "ready_for_review"},
		{Sequence: 4, Kind: history.Question, Task: "T-1", Agent: "R1-Q1", Began: at(4), Ended: at(5), How: "answered", By: "client:page-1"},
		{Sequence: 7, Kind: history.Gate, Task: "T-1", Began: at(7), Ended: at(7), How: "failed", By: "gate", Bad: true},
		{Sequence: 9, Kind: history.Session, Task: "T-1", Role: "developer", Agent: "claude", Began: at(9), Ended: at(11), How: "crashed", Bad: true},
		{Sequence: 12, Kind: history.Session, Task: "T-1", Role: "developer", Agent: "person", Began: at(12), Ended: at(17), How: "ready_for_review"},
		{Sequence: 13, Kind: history.Pause, Began: at(13), Ended: at(15), How: "resumed", By: "operator"},
		{Sequence: 16, Kind: history.Pause, Agent: "anthropic", Began: at(16), Ended: start.Add(5 * time.Minute), How: "usage limit"},
		{Sequence: 18, Kind: history.Gate, Task: "T-1", Began: at(18), Ended: at(18), How: "passed", By: "gate"},
		{Sequence: 19, Kind: history.Session, Task: "T-1", Role: "critic", Agent: "codex", Began: at(19), Ended: at(21), How: "review_passed"},
		{Sequence: 20, Kind: history.Review, Task: "T-1", Role: "auditor", Began: at(20), Ended: at(22), How: "merged", By: "box"},
		{Sequence: 22, Kind: history.Merge, Task: "T-1", Began: at(22), Ended: at(22), How: "merged", By: "box"},
		{Sequence: 23, Kind: history.Session, Role: "health_auditor", Agent: "codex", Began: at(23), Ended: at(24), How: "the run ended"},
	}
	if diff := cmp.Diff(want, told(t, tale(t, theTale...)).Entries()); diff != "" {
		t.Error(diff)
	}
	late := told(t, tale(t, append(theTale[:6:6], `RUN SessionEnded box A {"how":"crashed","usage":{}}`)...)).Entries()
	if late[0].How != "crashed" || !late[0].Bad {
		t.Errorf("a session that crashed after its last word is %+v", late[0])
	}
	for _, e := range told(t, tale(t, theTale[:4]...)).Entries() {
		if !e.Ended.IsZero() {
			t.Errorf("%+v goes on", e)
		}
	}
}

// Work waits from the gate on for its critic, from the critic on for its auditor, and for a person's word on its merge; a moment is no wait.
func TestWaits(t *testing.T) {
	lines := []string{
		`ITEM WorkAdded operator - {"id":"R1.T-1","run":"RUN","task":"T-1"}`,
		`ITEM GatePassed gate - {"commit":"2","next_phase":"READY_FOR_REVIEW"}`,
		`RUN RunPaused operator - {}`,
		`ITEM ReviewStarted client:page-1 A {"phase":"REVIEW","role":"critic","agent":"person"}`,
		`ITEM AgentSessionCompleted client:page-1 A {"phase_completed":"REVIEW","next_phase":"READY_FOR_MERGE","signal":"review_passed"}`,
		`ITEM LeaseGranted box B {"phase":"READY_FOR_MERGE","role":"auditor","agent":"codex"}`,
		`ITEM AgentSessionCompleted codex B {"phase_completed":"READY_FOR_MERGE","next_phase":"READY_FOR_MERGE","signal":"audit_passed","audited":true}`,
		`RUN RunPaused operator - {}`,
		`ITEM MergeProposed box - {}`,
		`RUN RunResumed operator - {}`,
		`ITEM MergeApproved operator - {}`,
		`OTHER GatePassed gate - {"commit":"3","next_phase":"READY_FOR_REVIEW"}`,
	}
	of := func(lines ...string) (all []string) {
		for _, e := range told(t, tale(t, lines...)).Entries() {
			if e.Kind == history.Review {
				all = append(all, fmt.Sprintf("%d %s %s %v %s %s", e.Sequence, e.Task, e.Role, e.Ended.IsZero() || e.Ended.Sub(e.Began) == 2*time.Second, e.How, e.By))
			}
		}
		return all
	}
	want := []string{"2 T-1 critic true begun client:page-1", "9 T-1 merge true approved operator", "12  critic true  "}
	if diff := cmp.Diff(want, of(lines...)); diff != "" {
		t.Error(diff)
	}
	want[2] = "12  critic true the run ended box"
	if diff := cmp.Diff(want, of(append(lines, `RUN RunPaused operator - {}`, `RUN RunFinished box - {"outcome":"partial"}`)...)); diff != "" {
		t.Error(diff)
	}
}

// What was used is what `signalbox stats` counts.
func TestCosts(t *testing.T) {
	events := tale(t, theTale...)
	got := told(t, events).Costs()
	want := []history.Cost{
		{Role: "developer", Agent: "claude", Sessions: 2, Usage: delivery.Usage{InputTokens: 19, CostUSD: 0.55}},
		{Role: "critic", Agent: "codex", Sessions: 1, Uncosted: 1, Usage: delivery.Usage{InputTokens: 7}},
		{Role: "health_auditor", Agent: "codex", Sessions: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	tasks := []history.Cost{{Task: "T-1", Sessions: 3, Uncosted: 1, Usage: delivery.Usage{InputTokens: 26, CostUSD: 0.55}}, {Sessions: 1}}
	if diff := cmp.Diff(tasks, told(t, events).TaskCosts()); diff != "" {
		t.Error(diff)
	}
	var fold stats.Fold
	var table stats.Table
	for _, e := range events {
		if err := fold.Next(e, func(f stats.Fact) { table.See(e.Time, f) }); err != nil {
			t.Fatal(err)
		}
	}
	costs, counted := 0.0, 0.0
	for _, c := range got {
		costs += c.Usage.CostUSD
	}
	for _, r := range table.Rows() {
		if r.CostUSD != nil {
			counted += *r.CostUSD
		}
	}
	if fmt.Sprintf("%.6f", costs) != fmt.Sprintf("%.6f", counted) {
		t.Errorf("it cost %v, and stats says %v", costs, counted)
	}
}

// Events in any order, from any part of a ledger, are no reason to fail, and nothing ends before it began.
func TestAnyOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	events := tale(t, theTale...)
	for range 200 {
		f := &history.Fold{}
		for i, at := range random.Perm(len(events)) {
			if err := f.Next(uint64(i+1), events[at]); err != nil {
				t.Fatal(err)
			}
		}
		for _, e := range f.Entries() {
			if !e.Ended.IsZero() && e.Ended.Before(e.Began) {
				t.Fatalf("%+v", e)
			}
		}
	}
	if err := (&history.Fold{}).Next(1, ledger.Event{Type: delivery.QuestionAsked, Payload: json.RawMessage(`{"id":1}`)}); err == nil {
		t.Error("a payload that can't be read is taken")
	}
}

// Of a run that never ends, so much is held and no more.
func TestBounded(t *testing.T) {
	f := &history.Fold{}
	event := tale(t, `ITEM GatePassed gate - {"commit":"2"}`)[0]
	for i := range 30_000 {
		if err := f.Next(uint64(i+1), event); err != nil {
			t.Fatal(err)
		}
	}
	if n, d := len(f.Entries()), f.Dropped(); n != 20_000 || d != 10_000 {
		t.Errorf("%d are held, %d dropped", n, d)
	}
}
