package web_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Agents are counted once, as the command line counts them; of a ledger that does not end, a part is at a time.
func TestStats(t *testing.T) {
	p, page := play("words", textDiff)
	p.run = aRun("x")
	if status, text := p.look(page, "GET", "stats", access.Read); status != http.StatusOK || !strings.Contains(text, "No agent has had a turn yet") {
		t.Errorf("%d\n%s", status, text)
	}
	p.happens(t, `{"role":"developer","agent":"claude"}`, `{"id":"R1-Q1"}`)
	for range 3 {
		status, text := p.look(page, "GET", "stats", access.Read)
		for _, want := range []string{`<th scope="row">claude</th><td>unknown</td><td class="num">1</td><td class="num">0</td><td class="num">1</td><td class="num">1</td><td class="num">1.50</td>`, "1.50 USD", "1 in 1 turn"} {
			if status != http.StatusOK || !strings.Contains(text, want) {
				t.Fatalf("%d, no %q\n%s", status, want, text)
			}
		}
	}
	for i, e := range []ledger.Event{ // a second turn, which nobody sends back
		{Subject: "ITEM", Type: "LeaseGranted", Actor: "box", Session: "B", Payload: json.RawMessage(`{"role":"developer","agent":"claude"}`)},
		{Subject: "ITEM", Type: "AgentSessionCompleted", Actor: "agent", Session: "B", Payload: json.RawMessage(`{"phase_completed":"IMPLEMENTATION","next_phase":"CI_PENDING","signal":"ready_for_review"}`)},
		{Subject: "RUN", Type: "SessionEnded", Actor: "box", Session: "B", Payload: json.RawMessage(`{"how":"done","usage":{"cost_usd":1.5}}`)},
	} {
		e.Format, e.Epoch, e.ItemSeq, e.Time = ledger.Format, 1, 1, p.run.StartedAt.UTC()
		stored, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		p.events = append(p.events, api.Event{Sequence: uint64(i + 8), Work: e.Subject, Event: stored})
	}
	if status, text := p.look(page, "GET", "stats", access.Read); status != http.StatusOK || !strings.Contains(text, "1 in 2 turns") || !strings.Contains(text, `width="50.00%"`) {
		t.Errorf("the bar is not the part that was sent back: %d\n%s", status, text)
	}
	p.asked, p.endless = nil, true
	if status, text := p.look(page, "GET", "stats", access.Read); status != http.StatusOK || len(p.asked) != 50 || !strings.Contains(text, "counted up to event 10; there are more") {
		t.Errorf("%d, %d requests\n%s", status, len(p.asked), text)
	}
}

// Whatever agents are called is text.
func TestHostileStats(t *testing.T) {
	p, page := play(hostile, textDiff)
	p.run = aRun("x")
	p.happens(t, `{"role":"developer","agent":`+quote(hostile)+`}`, `{"id":"R1-Q1"}`)
	status, text := p.look(page, "GET", "stats", access.Read)
	if status != http.StatusOK || !strings.Contains(text, "alert(1)") {
		t.Errorf("%d\n%s", status, text)
	}
	inert(t, text)
}
