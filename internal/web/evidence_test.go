package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/evidence"
	"github.com/signalbox-dev/signalbox/internal/web"
	"github.com/signalbox-dev/signalbox/ledger"
)

func (p *played) Prove(context.Context, evidence.Card) (evidence.Proof, error) {
	return evidence.Proof{}, errors.New("nothing is proven here")
}

// historied is a box whose only task has a history.
type historied struct {
	*played
	events []evidence.Happened
	asked  []string // for which events
	proven int      // how often something was
	now    func() time.Time
	prove  func(evidence.Card) (evidence.Proof, error)
}

func (p *historied) UpTo() uint64 { return uint64(len(p.events)) }

func (p *historied) Prove(_ context.Context, c evidence.Card) (evidence.Proof, error) {
	p.proven++
	return p.prove(c)
}

// all says of each event that it is proven, and of the last ones that they are not yet.
func all(c evidence.Card, pending int) evidence.Proof {
	p := evidence.Proof{Origin: "example.org/ledger", Size: 99}
	for i, e := range c.Rests {
		p.Events = append(p.Events, evidence.Proven{Sequence: e.Sequence, Holds: i < len(c.Rests)-pending, Pending: i >= len(c.Rests)-pending})
	}
	return p
}

func (p *historied) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/v1/work/R1.T-1":
		_ = json.NewEncoder(w).Encode(api.Work{ID: "R1.T-1", Subject: "ITEM", Title: p.text, Handoff: api.Handoff{Asked: p.text}})
	case "/v1/events":
		p.asked = append(p.asked, r.FormValue("work")+" after "+r.FormValue("after"))
		after, _ := strconv.ParseUint(r.FormValue("after"), 10, 64)
		for _, e := range p.events {
			if e.Subject != map[string]string{"R1": "RUN", "R1.T-1": "ITEM"}[r.FormValue("work")] || e.Sequence <= after {
				continue
			}
			stored, _ := e.Encode()
			data, _ := json.Marshal(api.Event{Sequence: e.Sequence, Event: stored})
			_, _ = fmt.Fprintf(w, "data: %s\n\n", data)
		}
	default:
		p.played.ServeHTTP(w, r)
	}
}

// page makes a page of it.
func (p *historied) page() *web.Page {
	return p.pageOf(p, p)
}

// pageOf makes a page of a box that has it in it.
func (p *historied) pageOf(api http.Handler, box web.Box) *web.Page {
	return web.New(web.Options{Host: "x.localhost", API: api, Box: box, Refused: func(*http.Request, error) {}, Now: func() time.Time { return p.now() }, Logger: slog.New(slog.DiscardHandler)})
}

// happens adds events: subject, type, actor, session (which may be -) and payload, in which TEXT is what everybody says.
func (p *historied) happens(lines ...string) {
	text, _ := json.Marshal(p.text)
	for _, line := range lines {
		f := strings.SplitN(line, " ", 5)
		e := ledger.Event{Format: 1, Epoch: 1, Subject: f[0], ItemSeq: uint64(len(p.events) + 1), Type: f[1], Actor: f[2], Session: strings.Trim(f[3], "-"),
			Time: time.Date(2026, 1, 2, 3, 4, len(p.events), 0, time.UTC), Payload: json.RawMessage(strings.ReplaceAll(f[4], "TEXT", strings.Trim(string(text), `"`)))}
		if e.ItemSeq > 1 {
			e.Prev[0] = 1
		}
		if _, token, ok := strings.Cut(e.Session, "-"); ok {
			e.Lease = token
		}
		p.events = append(p.events, evidence.Happened{Sequence: uint64(len(p.events) + 1), Event: e})
	}
}

// theTale is a task that the gate and a critic have sent back, and that asks something.
var theTale = []string{
	`ITEM WorkAdded operator - {"id":"R1.T-1","title":"TEXT","phase":"IMPLEMENTATION","run":"RUN","task":"T-1","asked":"TEXT"}`,
	`ITEM LeaseGranted box ITEM-1.1 {"phase":"IMPLEMENTATION","role":"developer","ttl_ms":1000,"agent":"claude TEXT"}`,
	`RUN QuestionAsked box - {"id":"R1-Q1","task":"T-1","cause":"clarification","text":"Which one? TEXT"}`,
	`RUN QuestionAsked box - {"id":"R1-Q2","task":"T-2","cause":"clarification","text":"somebody else's"}`,
	`RUN QuestionAnswered client:page-9 - {"id":"R1-Q1","text":"The first. TEXT"}`,
	`ITEM AgentSessionCompleted claude ITEM-1.1 {"phase_completed":"IMPLEMENTATION","exit_reason":"completed","next_phase":"CI_PENDING","signal":"ready_for_review","fields":[{"name":"Summary","value":"All done. TEXT"}]}`,
	`RUN SessionEnded box ITEM-1.1 {"how":"done","task":"T-1","usage":{"input_tokens":10,"output_tokens":5,"cost_usd":0.25}}`,
	`ITEM GateFailed gate - {"commit":"aaaaaaa1","checks":[{"name":"test TEXT","exit":3},{"name":"lint","passed":true}],"output":"\\x1b[31mboom\\x1b[0m TEXT","next_phase":"IMPLEMENTATION"}`,
	`ITEM LeaseGranted box ITEM-1.2 {"phase":"IMPLEMENTATION","role":"developer","ttl_ms":1000,"agent":"claude"}`,
	`ITEM AgentSessionCompleted claude ITEM-1.2 {"phase_completed":"IMPLEMENTATION","exit_reason":"completed","next_phase":"CI_PENDING","signal":"ready_for_review","fields":[{"name":"Summary","value":"Better. TEXT"}]}`,
	`ITEM GatePassed gate - {"commit":"bbbbbbb2","checks":[{"name":"test","passed":true}],"next_phase":"READY_FOR_REVIEW","runner":"gpu TEXT"}`,
	`ITEM ReviewStarted box ITEM-1.3 {"phase":"REVIEW","role":"critic","ttl_ms":1000,"agent":"codex"}`,
	`ITEM AgentSessionCompleted codex ITEM-1.3 {"phase_completed":"REVIEW","exit_reason":"completed","next_phase":"IMPLEMENTATION","signal":"review_failed","fields":[{"name":"Required Fixes","value":"a test TEXT"}]}`,
}

// tell makes a box with a history.
func tell(text string, lines ...string) *historied {
	p, _ := play(text, textDiff)
	p.run = aRun(text)
	p.run.Questions = nil
	tale := &historied{played: p, now: time.Now}
	tale.prove = func(c evidence.Card) (evidence.Proof, error) { return all(c, 0), nil }
	tale.happens(lines...)
	return tale
}

// has fails the test unless a page has all that, in order, after its markup was taken out.
func has(t *testing.T, status int, text string, want ...string) {
	t.Helper()
	shown := html.UnescapeString(strings.Join(strings.Fields(tag.ReplaceAllString(text, " ")), " "))
	rest := shown
	for _, w := range want {
		_, after, ok := strings.Cut(rest, w)
		if status != http.StatusOK || !ok {
			t.Fatalf("%d, no %q there:\n%s", status, w, shown)
		}
		rest = after
	}
}

// A task has its evidence: who worked on it, what they claim, what the gate said and what was found, and what of that is proven.
func TestEvidence(t *testing.T) {
	p := tell("words", theTale...)
	page := p.page()
	status, text := p.look(page, "GET", "task?id=R1.T-1", access.Read)
	has(t, status, text, "State IMPLEMENTATION", "Gate", "passed bbbbbbb test (exit 0) on gpu words", "Merged It is not merged.", "Used 3 sessions", "15 tokens, 0.25 USD",
		"Proof proven 12 events, all in the signed ledger.", "Nothing proves that what agents say is true.", "What was asked for words", "What the developer (claude) claims, which nobody has checked Summary: Better.", "1 claim before",
		"Who worked on it", "developer (claude words)", "critic (codex)", "sent bbbbbbb back", "What the gate said", "failed aaaaaaa test words failed (exit 3), lint (exit 0)",
		"What was found", "gate on aaaaaaa, answered by bbbbbbb", "boom", "critic (codex) on bbbbbbb, not answered", "a test words", "Questions", "R1-Q1 Which one?", "client:page-9 The first.")
	if !strings.Contains(text, `<span class="f1">boom</span> words`) {
		t.Errorf("what the checks printed has no colours:\n%s", text)
	}
	if strings.Contains(text, "somebody else") {
		t.Error("a question about another task is there")
	}
}

// What is not known of the proof is said, and never counts as proven.
func TestProof(t *testing.T) {
	long := repeat(`ITEM GatePassed gate - {"commit":"bbbbbbb2","next_phase":"READY_FOR_REVIEW"}`, 300)
	for _, c := range []struct {
		name  string
		tale  []string
		prove func(evidence.Card) (evidence.Proof, error)
		want  []string
	}{
		{"all", theTale, func(c evidence.Card) (evidence.Proof, error) { return all(c, 0), nil }, []string{"proven 12 events, all in the signed ledger."}},
		{"not yet", theTale, func(c evidence.Card) (evidence.Proof, error) { return all(c, 2), nil }, []string{"not all is proven 10 of 12 events in the signed ledger, 2 not signed yet."}},
		{"wrong", theTale, func(c evidence.Card) (evidence.Proof, error) {
			p := all(c, 0)
			p.Events[3].Holds, p.Events[3].Problem = false, "another event"
			return p, nil
		}, []string{"wrong WRONG: 1 of 12 events can't be proven", "wrong another event"}},
		{"the merge is not checked", theTale, func(c evidence.Card) (evidence.Proof, error) {
			p := all(c, 0)
			p.MergeFails(errors.New("there is no such commit"))
			return p, nil
		}, []string{"not all is proven 12 events, all in the signed ledger; merge not checked: there is no such commit."}},
		{"no ledger", theTale, func(evidence.Card) (evidence.Proof, error) { return evidence.Proof{}, errors.New("the ledger is gone") }, []string{"Nothing is proven: the ledger is gone"}},
		{"many", append(theTale[:1:1], long...), func(c evidence.Card) (evidence.Proof, error) { return all(c, 0), nil }, []string{"not all is proven 200 events, all", "101 earlier events were not held"}},
	} {
		p := tell("words", c.tale...)
		p.prove = c.prove
		status, text := p.look(p.page(), "GET", "task?id=R1.T-1", access.Read)
		t.Run(c.name, func(t *testing.T) { has(t, status, text, c.want...) })
	}
}

// repeat returns a line so many times.
func repeat(line string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = line
	}
	return all
}

// Each event is asked for once, however often a task is looked at; and what was proven is proven again when the page is loaded, when the
// task has gone on, and when something was not signed yet.
func TestEventsAreReadOnce(t *testing.T) {
	p := tell("words", theTale...)
	now := time.Now()
	p.now = func() time.Time { return now }
	page := p.page()
	look := func(path string) string {
		t.Helper()
		p.asked = nil
		status, text := p.look(page, "GET", path, access.Read)
		if status != http.StatusOK {
			t.Fatalf("%d\n%s", status, text)
		}
		return strings.Join(p.asked, ", ")
	}
	const path, part = "task?id=R1.T-1", "task?id=R1.T-1&part=task"
	if got := look(path); got != "R1.T-1 after 0, R1 after 0, R1.T-1 after 0, R1 after 0" || p.proven != 1 {
		t.Errorf("at first: %s, proven %d times", got, p.proven)
	}
	if got := look(part); got != "" || p.proven != 1 {
		t.Errorf("again: %s, proven %d times", got, p.proven)
	}
	p.prove = func(c evidence.Card) (evidence.Proof, error) { return all(c, 1), nil }
	p.happens(`ITEM GateFailed gate - {"commit":"ccccccc3","next_phase":"IMPLEMENTATION"}`)
	if got := look(part); got != "R1.T-1 after 13, R1 after 13, R1.T-1 after 13, R1 after 13" || p.proven != 2 {
		t.Errorf("when it has gone on: %s, proven %d times", got, p.proven)
	}
	if look(part); p.proven != 2 {
		t.Errorf("at once: proven %d times", p.proven)
	}
	now = now.Add(time.Minute)
	if look(part); p.proven != 3 {
		t.Errorf("later, when something was not signed: proven %d times", p.proven)
	}
	if look(path); p.proven != 4 {
		t.Errorf("when it is loaded: proven %d times", p.proven)
	}
	_, text := p.look(page, "GET", path, access.Read)
	has(t, http.StatusOK, text, "failed ccccccc", "What happened", "ccccccc", "bbbbbbb", "aaaaaaa")
}

// An event that can't be understood is no reason to show nothing else.
func TestStrangeEvidence(t *testing.T) {
	p := tell("words", theTale[0], `ITEM GatePassed gate - "no object"`)
	for range 2 {
		status, text := p.look(p.page(), "GET", "task?id=R1.T-1", access.Read)
		has(t, status, text, "The evidence can't be put together: event 2")
	}
}

// Whatever is said in any field of a card is text.
func TestHostileEvidence(t *testing.T) {
	p := tell(hostile, theTale...)
	p.prove = func(c evidence.Card) (evidence.Proof, error) {
		proof := all(c, 0)
		proof.Origin, proof.Events[0].Holds, proof.Events[0].Problem = hostile, false, hostile
		proof.MergeFails(errors.New(hostile))
		return proof, nil
	}
	_, text := p.look(p.page(), "GET", "task?id=R1.T-1", access.Operate)
	inert(t, text)
	if n := len(regexp.MustCompile(`alert\(1\)`).FindAllString(text, -1)); n < 20 {
		t.Errorf("it is said %d times:\n%s", n, text)
	}
	p.prove = func(evidence.Card) (evidence.Proof, error) { return evidence.Proof{}, errors.New(hostile) }
	_, text = p.look(p.page(), "GET", "task?id=R1.T-1", access.Operate)
	inert(t, text)
}
