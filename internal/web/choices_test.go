package web_test

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// sure finds what a form has behind a second click.
var sure = regexp.MustCompile(`(?s)<details class="sure">.*?</details>`)

// aQuestion is one about a task that failed too often.
func aQuestion(choices ...string) api.Question {
	return api.Question{
		ID: "R1-Q2", Kind: api.KindQuestion, Run: "R1", Task: "T-1", Cause: delivery.CauseReviews, Text: "What now?", Context: "FAIL: TestDoor", Choices: choices, AskedAt: time.Now().Add(-3 * time.Hour),
	}
}

// An answer is called by what it does. One that can't be taken back takes a second click, without a script too.
func TestChoices(t *testing.T) {
	p, page := play("words", textDiff)
	p.run = aRun("a plan ")
	p.open = []api.Question{aQuestion(delivery.ChooseRetry, delivery.ChooseCancel)}
	for _, path := range []string{"", "task?id=R1.T-1"} {
		p.run.Questions = p.open
		status, text := p.look(page, "GET", path, access.Answer)
		has(t, status, text, "R1-Q2", "What now?", "FAIL: TestDoor", "Try T-1 again", "Try T-1 again : what went wrong so far is forgotten", "Give up T-1 (and what depends on it)…", "Nobody works on T-1 any more", "Give up T-1 (and what depends on it)")
		behind := strings.Join(sure.FindAllString(text, -1), "")
		if !strings.Contains(behind, `name="choice" value="cancel"`) || strings.Contains(sure.ReplaceAllString(text, ""), `value="cancel"`) {
			t.Errorf("%q: one click gives a task up:\n%s", path, text)
		}
		if strings.Contains(behind, `value="retry"`) || !strings.Contains(text, `<details open><summary>What it is about`) {
			t.Errorf("%q: what harms nobody takes two clicks, or what failed is folded away:\n%s", path, text)
		}
	}
	_, text := p.look(page, "GET", "", access.Answer)
	has(t, http.StatusOK, text, "T-1 words", "reviews", "3 h ago")
	if !strings.Contains(text, `<a href="task?id=R1.T-1">`) {
		t.Errorf("the question does not lead to its task:\n%s", text)
	}
	for _, c := range []struct {
		cause delivery.Cause
		task  string
		value string
		want  string
		asks  bool
	}{
		{delivery.CauseRemediation, "", delivery.ChooseHalt, "End the run", true},
		{delivery.CauseRemediation, "", delivery.ChooseHealthy, "Declare the environment healthy", true},
		{delivery.CauseRemediation, "", delivery.ChooseRetry, "Try the repair again", false},
		{delivery.CauseRemediation, "", delivery.ChooseAccept, "Accept the repair", false},
		{delivery.CauseLogin, "", delivery.ChooseRetry, "Start agents again", false},
		{delivery.CauseBudget, "", delivery.ChooseContinue, "Go on with as much again", false},
		{delivery.CauseBudget, "T-1", delivery.ChooseContinue, "Go on without that budget", false},
		{delivery.CauseBudget, "T-1", delivery.ChooseRaise, "Allow as much again", false},
		{delivery.CauseBudget, "", "another word", "another word", false},
	} {
		q := aQuestion(c.value)
		q.Cause, q.Task = c.cause, c.task
		p.open = []api.Question{q}
		status, text := p.look(page, "GET", "", access.Answer)
		has(t, status, text, c.want)
		if asks := strings.Contains(strings.Join(sure.FindAllString(text, -1), ""), `value="`+c.value+`"`); asks != c.asks {
			t.Errorf("%s asks first: %v", c.want, asks)
		}
	}
}

// scopeOf is what a form needs.
func scopeOf(path string) access.Scope {
	if path == "task" {
		return access.Operate
	}
	return access.Answer
}

// What was done is said where it was done: on the task's page, if the form was there. Who gives up is told so.
func TestBackWhereItWas(t *testing.T) {
	p, page := play("words", textDiff)
	p.run = aRun("a plan ")
	p.open = []api.Question{aQuestion(delivery.ChooseRetry, delivery.ChooseCancel)}
	at := func(path string, form ...string) string {
		t.Helper()
		return p.send(page, "POST", path, scopeOf(path), form...).Header().Get("Location")
	}
	for _, c := range []struct {
		path string
		form []string
		want string
	}{
		{"answer", []string{"question", "R1-Q2", "choice", "cancel"}, "./?did=gaveup&what=T-1"},
		{"answer", []string{"question", "R1-Q2", "text", "go on", "at", "R1.T-1"}, "task?id=R1.T-1&did=answered&what=R1-Q2"},
		{"answer", []string{"question", "R1-Q2", "text", "go on", "at", "R1.T-1&x=//evil.example"}, "task?id=R1.T-1%26x%3D%2F%2Fevil.example&did=answered&what=R1-Q2"},
		{"review", []string{"work", "R1.T-1", "verdict", "accept", "commit", strings.Repeat("c", 40), "at", "R1.T-1"}, "task?id=R1.T-1&did=accepted&what=R1.T-1"},
		{"review", []string{"work", "R1.T-1", "verdict", "accept", "commit", strings.Repeat("c", 40)}, "./?did=accepted&what=R1.T-1"},
		{"task", []string{"work", "R1.T-1", "do", "cancel"}, "task?id=R1.T-1&did=gaveup&what=R1.T-1"},
		{"task", []string{"work", "R1.T-1", "do", "give", "text", "tired"}, "task?id=R1.T-1&did=give&what=R1.T-1"},
	} {
		if got := at(c.path, c.form...); got != c.want {
			t.Errorf("%s %q leads to %q, want %q", c.path, c.form, got, c.want)
		}
	}
	if got := p.words[len(p.words)-1]; got != `POST /v1/work/R1.T-1/give {"text":"tired","back":true}` {
		t.Errorf("recorded is %s", got)
	}
	_, text := p.look(page, "GET", "task?id=R1.T-1&did=gaveup&what=R1.T-1", access.Operate)
	has(t, http.StatusOK, text, "R1.T-1 is given up")
}

// A refused form says which card it was of, where that card is, and keeps what was typed; its address, opened again, leads home.
func TestRefusedNamesItsCard(t *testing.T) {
	p, page := play("words", textDiff)
	p.run = aRun("a plan ")
	p.run.Questions = []api.Question{{Kind: "review", Task: "T-1", Work: "R1.T-1"}}
	p.open = []api.Question{aQuestion(delivery.ChooseRetry)}
	for _, c := range []struct {
		path string
		form []string
		want []string
	}{
		{"answer", []string{"question", "R1-Q2", "text", " "}, []string{"Inbox", "R1-Q2: say something"}},
		{"review", []string{"work", "R1.T-1", "verdict", "accept", "comments", "f.go:1: typed words", "at", "R1.T-1"}, []string{"R1.T-1 a plan T-1", "R1.T-1: there are comments", "f.go:1: typed words"}},
		{"task", []string{"work", "R1.T-1", "do", "sing", "text", "typed words"}, []string{"R1.T-1 a plan T-1", "R1.T-1: the form does not say what to do", "typed words", "Steer the task"}},
	} {
		status, text := p.look(page, "POST", c.path, scopeOf(c.path), c.form...)
		if status != http.StatusBadRequest {
			t.Errorf("%s %q: %d", c.path, c.form, status)
		}
		has(t, http.StatusOK, text, c.want...)
	}
	if _, text := p.look(page, "POST", "review", access.Answer, "work", "R1.T-1", "verdict", "maybe", "comments", "typed words", "at", "R1.T-1"); strings.Count(text, "typed words") != 1 {
		t.Errorf("what was typed is there %d times", strings.Count(text, "typed words"))
	}
	for _, path := range []string{"answer", "review", "steer"} {
		status, text := p.look(page, "GET", path, access.Read)
		if status != http.StatusNotFound || !strings.Contains(text, `href="./">To the inbox`) {
			t.Errorf("%s, opened again: %d\n%s", path, status, text)
		}
	}
}

// A task that a person has taken is not tried again or taken: it is given back. What ends work takes a second click.
func TestTakenTask(t *testing.T) {
	p, page := play("words", textDiff)
	p.run = aRun("a plan ")
	p.run.Questions = nil
	p.run.Tasks[0].Agent = nil
	_, text := p.look(page, "GET", "task?id=R1.T-1", access.Operate)
	once := sure.ReplaceAllString(text, "")
	for _, want := range []string{`value="tell"`, `value="retry"`} {
		if !strings.Contains(once, want) {
			t.Errorf("there is no %s:\n%s", want, text)
		}
	}
	for _, two := range []string{`value="take"`, `value="cancel"`} {
		if strings.Contains(once, two) || !strings.Contains(text, two) {
			t.Errorf("%s takes one click, or is not there:\n%s", two, text)
		}
	}
	if strings.Contains(text, `value="give"`) {
		t.Error("what nobody has taken is given back")
	}
	p.run.Tasks[0].Why = delivery.WaitPerson
	p.run.Questions = []api.Question{{ID: "R1.T-1/9", Kind: string(delivery.PartGive), Task: "T-1", Work: "R1.T-1"}}
	_, text = p.look(page, "GET", "task?id=R1.T-1", access.Operate)
	if !strings.Contains(text, `value="give"`) || strings.Contains(text, `value="retry"`) || strings.Contains(text, `value="take"`) || strings.Contains(text, `value="tell"`) {
		t.Errorf("a task that was taken:\n%s", text)
	}
}

// Who gave a task up and why stands on the board and on its page.
func TestGivenUp(t *testing.T) {
	p := tell("words", append(theTale[:5:5], `RUN TaskCancelled client:page-9 - {"task":"T-1","text":"nobody needs it"}`, `RUN TaskCancelled operator - {"task":"T-2","text":"another one"}`)...)
	p.run.Tasks[0].Why, p.run.Tasks[0].GivenUp, p.run.Tasks[0].Agent = delivery.WaitCancelled, "by the client page-9: nobody needs it", nil
	page := p.page()
	status, text := p.look(page, "GET", "run?id=R1", access.Read)
	has(t, status, text, "Given up", "wordsT-1", "given up by the client page-9: nobody needs it")
	status, text = p.look(page, "GET", "task?id=R1.T-1", access.Read)
	has(t, status, text, "given up by the client page-9: nobody needs it", "State given up by client:page-9: nobody needs it", "Who decided what", "client:page-9 gave it up: nobody needs it",
		"What happened", "client:page-9 given up: nobody needs it", "client:page-9 R1-Q1 is answered", "asks: Which one?")
	if strings.Contains(text, "another one") || strings.Contains(text, "somebody else") {
		t.Errorf("what happened to another task is there:\n%s", text)
	}
}

// What a person or a critic has found stays on the card until another commit answers it, also if the gate says that nothing was changed; and a commit
// that was sent back is called so.
func TestOpenFindings(t *testing.T) {
	sent := slices.Concat(theTale[:11], []string{
		`ITEM ReviewStarted client:page-1 ITEM-1.3 {"phase":"REVIEW","role":"critic","ttl_ms":1000,"agent":"person"}`,
		`ITEM AgentSessionCompleted client:page-1 ITEM-1.3 {"phase_completed":"REVIEW","exit_reason":"completed","next_phase":"IMPLEMENTATION","signal":"review_failed","fields":[{"name":"Required Fixes","value":"the door is open"}]}`,
		`ITEM GateFailed gate - {"commit":"bbbbbbb2","next_phase":"IMPLEMENTATION","since":"review"}`,
	})
	look := func(commit string, lines ...string) string {
		p := tell("words", slices.Concat(sent, lines)...)
		p.sight.Commit = commit
		p.run.Questions = []api.Question{{Kind: "review", Task: "T-1", Work: "R1.T-1", AskedAt: time.Now().Add(-2 * time.Hour)}}
		status, text := p.look(p.page(), "GET", "", access.Answer)
		has(t, status, text, "Review R1.T-1", "a task of R1")
		return text
	}
	text := look("bbbbbbb2", `ITEM GatePassed gate - {"commit":"bbbbbbb2","checks":[{"name":"test","passed":true}],"next_phase":"READY_FOR_REVIEW"}`)
	has(t, http.StatusOK, text, "This is the commit that you sent back: nothing was changed since.", "Sent back before, by you, at bbbbbbb", "the door is open", "Gate:", "passed bbbbbbb test (exit 0)")
	text = look("ccccccc3", `ITEM GatePassed gate - {"commit":"ccccccc3","checks":[{"name":"test","passed":true}],"next_phase":"READY_FOR_REVIEW"}`)
	if strings.Contains(text, "This is the commit that you sent back") || strings.Contains(text, "the door is open") {
		t.Errorf("what another commit answers is open:\n%s", text)
	}
}

// The addresses in a card have nothing in them that the question says.
func TestHostileChoices(t *testing.T) {
	p, page := play(hostile, textDiff)
	p.run = aRun(hostile)
	q := aQuestion(hostile, delivery.ChooseCancel)
	q.ID, q.Task, q.Cause, q.Text, q.Context = hostile, hostile, delivery.Cause(hostile), hostile, hostile
	p.open, p.run.Questions = []api.Question{q}, []api.Question{q}
	_, text := p.look(page, "GET", "", access.Answer)
	inert(t, text)
	q.Task = "T-1"
	p.run.Questions = []api.Question{q}
	_, text = p.look(page, "GET", "task?id=R1.T-1", access.Operate)
	inert(t, text)
	_, text = p.look(page, "POST", "answer", access.Operate, "question", hostile, "at", hostile)
	inert(t, text)
	_, text = p.look(page, "GET", "task?id=R1.T-1&did=gaveup&what="+url.QueryEscape(hostile), access.Operate)
	inert(t, text)
}
