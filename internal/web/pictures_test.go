package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/ledger"
)

func quote(s string) string {
	data, _ := json.Marshal(s)
	return string(data)
}

// happens gives the run events: a grant and a question with these payloads, the session's end, and a merge.
func (p *played) happens(t *testing.T, grant, question string) {
	t.Helper()
	began := p.run.StartedAt
	for i, e := range []ledger.Event{
		{Subject: "ITEM", Type: "WorkAdded", Actor: "operator", Payload: json.RawMessage(`{"id":"R1.T-1","run":"RUN","task":"T-1"}`)},
		{Subject: "ITEM", Type: "LeaseGranted", Actor: "box", Session: "A", Payload: json.RawMessage(grant)},
		{Subject: "RUN", Type: "QuestionAsked", Actor: "box", Session: "A", Payload: json.RawMessage(question)},
		{Subject: "ITEM", Type: "AgentSessionCompleted", Actor: "agent", Session: "A", Payload: json.RawMessage(`{"phase_completed":"IMPLEMENTATION","next_phase":"CI_PENDING","signal":"ready_for_review"}`)},
		{Subject: "RUN", Type: "SessionEnded", Actor: "box", Session: "A", Payload: json.RawMessage(`{"how":"done","usage":{"input_tokens":1200,"output_tokens":34,"cost_usd":1.5}}`)},
		{Subject: "ITEM", Type: "GateFailed", Actor: "gate", Payload: json.RawMessage(`{"commit":"1"}`)},
		{Subject: "ITEM", Type: "WorkMerged", Actor: "box", Payload: json.RawMessage(`{"commit":"1","result":"2"}`)},
	} {
		e.Format, e.Epoch, e.ItemSeq, e.Time = ledger.Format, 1, 1, began.Add(time.Duration(i)*10*time.Minute).UTC()
		stored, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		p.events = append(p.events, api.Event{Sequence: uint64(i + 1), Work: e.Subject, Event: stored})
	}
}

// A run's plan, timeline and cost are drawn, and a table has the same values.
func TestPictures(t *testing.T) {
	p, page := play("words", textDiff)
	p.run = aRun("a plan ")
	p.run.Tasks[1].BlockedBy = []string{"T-1"}
	p.happens(t, `{"role":"developer","agent":"claude"}`, `{"id":"R1-Q1","task":"T-2"}`)
	for _, c := range []struct {
		view string
		want []string
	}{
		{"plan", []string{`aria-current="page">Plan`, "longest chain that is left, of 2 tasks: T-1 → T-2<", `<path class="critical" d="M`, `class="node busy critical"`, `class="node warn critical"`, `<td>needs you</td><td>T-1</td>`, `<th scope="row"><a href="task?id=R1.T-4"><code>T-4</code></a></th><td>a plan T-4</td><td>completed</td>`}},
		{"time", []string{`aria-current="page">Timeline`, `<rect class="developer" x="11.11%"`, `<rect class="asks"`, `class="fail" r="5"`, `class="merge" r="5"`, `<th scope="row">T-1</th><td>developer: claude</td><td>ready for review</td>`, "<td>question R1-Q1</td><td>goes on</td>", `<td class="num">30 min</td></tr>`, `<td class="grave">failed by gate</td>`}},
		{"cost", []string{`aria-current="page">Cost`, `<h2>Cost by task</h2>`, `<th scope="row"><a href="task?id=R1.T-1"><code>T-1</code></a></th><td>a plan T-1</td><td class="num">1</td><td class="num">1200</td>`, `developer: claude<tspan class="amount" dx="8">1.50 USD</tspan>`, `<th scope="row">developer</th><td>claude</td><td class="num">1</td><td class="num">1200</td><td class="num">34</td><td class="num">1.50</td>`}},
	} {
		status, text := p.look(page, "GET", "run?id=R1&view="+c.view, access.Read)
		for _, want := range c.want {
			if status != http.StatusOK || !strings.Contains(text, want) {
				t.Errorf("%s: %d, no %q:\n%s", c.view, status, want, text)
			}
		}
		if regexp.MustCompile(`<style|\sstyle=|<script>`).MatchString(text) {
			t.Errorf("%s has a style or a script of its own", c.view)
		}
		if status, text := p.look(page, "GET", "run?id=R1&part=pictures&view="+c.view, access.Read); status != http.StatusOK || !strings.HasPrefix(text, `<div id="pictures" data-live="R1" data-version="`) {
			t.Errorf("a part of %s: %d\n%s", c.view, status, text)
		}
	}
	if status, text := p.look(page, "GET", "run?id=R1&view=none", access.Read); status != http.StatusOK || !strings.Contains(text, `class="board"`) {
		t.Errorf("a view that there is not: %d\n%s", status, text)
	}
}

// What is known of a run is not read again.
func TestHistoryIsHeld(t *testing.T) {
	p, page := play("words", textDiff)
	p.run = aRun("a plan ")
	p.happens(t, `{"role":"developer","agent":"claude"}`, `{"id":"R1-Q1"}`)
	for range 3 {
		if status, text := p.look(page, "GET", "run?id=R1&view=cost", access.Read); status != http.StatusOK || strings.Count(text, "1.50 USD") != 3 {
			t.Fatalf("%d\n%s", status, text)
		}
	}
	if want := []string{"after=0&limit=1000&tasks=true&work=R1", "after=7&limit=1000&tasks=true&work=R1", "after=7&limit=1000&tasks=true&work=R1"}; strings.Join(p.asked, " ") != strings.Join(want, " ") {
		t.Errorf("asked for %q", p.asked)
	}
}

// Of a thousand tasks the drawing is left out, and the page says so; it stays small.
func TestHugePictures(t *testing.T) {
	p, page := play("x", textDiff)
	p.run = aRun("x")
	for i := range 1000 {
		p.run.Tasks = append(p.run.Tasks, api.Task{ID: fmt.Sprintf("H-%d", i), Work: fmt.Sprintf("R1.H-%d", i), Title: "one of many", Phase: agentsig.PhaseDraft, BlockedBy: []string{fmt.Sprintf("H-%d", i-1)}})
	}
	status, text := p.look(page, "GET", "run?id=R1&view=plan", access.Read)
	if status != http.StatusOK || !strings.Contains(text, "too many tasks for a drawing") || strings.Count(text, `<th scope="row">`) != 1000 || !strings.Contains(text, "5 more tasks are not shown") || !strings.Contains(text, "of 1000 tasks: H-0 → H-1") || !strings.Contains(text, "H-19 → …") || len(text) > 300<<10 {
		t.Errorf("%d, %d bytes", status, len(text))
	}
	for i := range p.run.Tasks[:950] {
		p.run.Tasks[i].Phase = agentsig.PhaseCompleted
	}
	status, text = p.look(page, "GET", "run?id=R1&view=plan", access.Read)
	if status != http.StatusOK || !strings.Contains(text, "950 tasks with nothing left to do are in the table only") || strings.Count(text, `<svg class="node`) < 50 || len(text) > 300<<10 {
		t.Errorf("%d, %d bytes", status, len(text))
	}
}
