package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/access"
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
	p.asked, p.endless = nil, true
	if status, text := p.look(page, "GET", "stats", access.Read); status != http.StatusOK || len(p.asked) != 50 || !strings.Contains(text, "counted up to event 7; there are more") {
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
