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

var rows = regexp.MustCompile(`<a href="event\?seq=(\d+)">`)

// listed returns the sequences of the events on a page.
func listed(text string) (all []string) {
	for _, m := range rows.FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	return all
}

// signed waits until the latest checkpoint covers all events, and returns how many there are.
func (w *world) signed() uint64 {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		s, err := w.owner.Status(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		if s.Ledger.Signed == s.Ledger.Events {
			return s.Ledger.Events
		}
		select {
		case <-time.After(20 * time.Millisecond): // between two looks
		case <-w.t.Context().Done():
		}
	}
	w.t.Fatal("nothing was signed within a minute")
	return 0
}

// The ledger is shown the latest first, by pages, of one subject, actor or type; each event has a proof that others can check.
func TestLedger(t *testing.T) {
	w := newWorld(t)
	w.asks("Which door?")
	for i := range 120 {
		if _, err := w.owner.Add(t.Context(), api.AddWork{ID: fmt.Sprint("X-", i), Title: hostile, Phase: agentsig.PhaseDraft}); err != nil {
			t.Fatal(err)
		}
	}
	b := w.in(access.Read)
	last := w.signed()
	first := b.get("ledger")
	if first.status != http.StatusOK || len(listed(first.text)) != 50 || listed(first.text)[0] != fmt.Sprint(last) || listed(first.text)[49] != fmt.Sprint(last-49) {
		t.Fatalf("%d, %v", first.status, listed(first.text))
	}
	inert(t, first.text)
	var all []string
	for at, n := "ledger", 0; at != ""; n++ {
		got := b.get(at)
		all = append(all, listed(got.text)...)
		at = ""
		if m := regexp.MustCompile(`href="(ledger\?before=\d+)">Earlier`).FindStringSubmatch(got.text); m != nil && n < 10 {
			at = m[1]
		}
	}
	if len(all) != int(last) || all[len(all)-1] != "1" {
		t.Errorf("%d of %d events are on the pages, the last of them %s", len(all), last, all[len(all)-1])
	}
	item := regexp.MustCompile(`Your answer to ([^<]+)</label>`).FindStringSubmatch(w.in(access.Answer).get("").text)[1]
	name, _, _ := strings.Cut(item, "-Q")
	for _, c := range []struct {
		query string
		want  int
	}{
		{"?work=X-7", 1}, {"?work=X-7&type=WorkAdded", 1}, {"?work=X-7&type=WorkMerged", 0}, {"?actor=ann", 2}, {"?actor=nobody", 0}, {"?before=3", 2}, {"?work=" + name, 3},
		{"?type=LeaseGranted&work=&actor=", 1},
	} {
		if got := b.get("ledger" + c.query); got.status != http.StatusOK || len(listed(got.text)) != c.want {
			t.Errorf("%s: %d, %v", c.query, got.status, listed(got.text))
		}
	}
	for query, want := range map[string]int{"?work=none": http.StatusConflict, "?before=x": http.StatusBadRequest, "?before=0": http.StatusBadRequest} {
		if got := b.get("ledger" + query); got.status != want {
			t.Errorf("%s: %d\n%s", query, got.status, got.text)
		}
	}
	if got := b.get("ledger?work=%3Cscript%3Ealert(1)"); strings.Contains(got.text, "<script>alert") {
		t.Error("what was asked for is markup")
	}

	event := b.get("event?seq=2")
	if event.status != http.StatusOK || !regexp.MustCompile(`Proven: it is event 2 of the \d+ in the tree`).MatchString(event.text) || !strings.Contains(event.text, "&#34;phase&#34;") {
		t.Errorf("%d\n%s", event.status, event.text)
	}
	inert(t, event.text)
	file := b.get("proof?seq=2")
	var proof ledger.Proof
	if err := json.Unmarshal([]byte(file.text), &proof); err != nil || !strings.Contains(file.header.Get("Content-Disposition"), `"event-2-proof.json"`) {
		t.Fatalf("%v %s", err, file.text)
	}
	status, err := w.owner.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e, _, err := proof.Verify(status.Verifier)
	if err != nil || proof.Index != 1 || !strings.Contains(event.text, e.Prev.String()) || !strings.Contains(event.text, ledger.Sum(proof.Event).String()) {
		t.Errorf("%+v, %v", e, err)
	}
	for path, want := range map[string]int{"event?seq=9999": 404, "event?seq=0": 400, "event?seq=-1": 400, "event": 400, "event?seq=9223372036854775807": 400, "proof?seq=x": 400, "proof?seq=9999": 409} {
		if got := b.get(path); got.status != want {
			t.Errorf("%s: %d\n%s", path, got.status, got.text)
		}
	}
	if got := w.browse().get("ledger"); got.status != http.StatusUnauthorized {
		t.Errorf("a stranger is shown the ledger: %d", got.status)
	}
}

// An event that no checkpoint covers yet is not said to be proven, and neither is one whose proof is of something else.
func TestUnproven(t *testing.T) {
	p, page := play("words", textDiff)
	p.run = aRun("x")
	p.happens(t, `{"role":"developer","agent":"claude"}`, `{"id":"R1-Q1"}`)
	p.events = p.events[:1]
	_, text := p.look(page, "GET", "event?seq=1", access.Read)
	if !strings.Contains(text, "Not proven yet: no checkpoint covers the event yet") || strings.Contains(text, "Proven:") {
		t.Errorf("pending:\n%s", text)
	}
	p.proof = &ledger.Proof{Event: []byte("{}"), Checkpoint: "forged"}
	_, text = p.look(page, "GET", "event?seq=1", access.Read)
	if !strings.Contains(text, "It is not proven.") || strings.Contains(text, "Proven:") {
		t.Errorf("forged:\n%s", text)
	}
	_, verifier, err := ledger.NewKey("another")
	if err != nil {
		t.Fatal(err)
	}
	p.verifier = verifier
	_, text = p.look(page, "GET", "event?seq=1", access.Read)
	if !strings.Contains(text, "It is not proven.") {
		t.Errorf("by another key:\n%s", text)
	}
}

// What is rare is looked for in so many events, and the page says how far it has looked.
func TestRareEvents(t *testing.T) {
	p, page := play("words", textDiff)
	p.run = aRun("x")
	p.happens(t, `{"role":"developer","agent":"claude"}`, `{"id":"R1-Q1"}`)
	p.endless = true
	status, text := p.look(page, "GET", "ledger?actor=nobody", access.Read)
	if status != http.StatusOK || len(p.asked) != 10 || !strings.Contains(text, "Enough events were looked at for one page: those before 42 were not") || !strings.Contains(text, `href="ledger?actor=nobody&amp;before=42">Earlier events`) {
		t.Errorf("%d, %d requests\n%s", status, len(p.asked), text)
	}
}
