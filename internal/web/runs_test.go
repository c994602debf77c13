package web_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// aRun is one with a task in every situation.
func aRun(text string) api.Run {
	began := time.Now().Add(-90 * time.Minute)
	r := api.Run{
		ID: "R1", Title: text, State: api.RunWaiting, Branch: text, StartedAt: began, Agents: 1, Trouble: text, Distrust: text, Unpublished: text, PullRequest: text,
		Unprotected: []string{text}, Unaudited: text, Unchecked: text, Usage: delivery.Usage{InputTokens: 226_000, OutputTokens: 620, CostUSD: 1.5}, Notices: []api.Notice{{At: began, Text: text, Grave: true}},
		Questions: []api.Question{{ID: "R1-Q1", Kind: api.KindQuestion, Task: "T-2", Text: text, AskedAt: began}, {ID: "R1.T-3/4", Kind: "review", Task: "T-3", Work: "R1.T-3", Text: text, AskedAt: began}},
	}
	for i, phase := range []agentsig.Phase{agentsig.PhaseImplementation, agentsig.PhaseBlocked, agentsig.PhaseReadyForReview, agentsig.PhaseCompleted, agentsig.PhaseDraft} {
		id := fmt.Sprintf("T-%d", i+1)
		r.Tasks = append(r.Tasks, api.Task{ID: id, Work: "R1." + id, Title: text + id, Phase: phase, Waits: api.Waiting{Text: text}, NoChange: text, BlockedBy: []string{text}})
	}
	r.Tasks[0].Agent = &api.Agent{Role: "developer", Name: text, Runner: text, Says: text, Ending: text}
	r.Tasks[4].Why = delivery.WaitCancelled
	return r
}

// someRunners are runners in every situation.
func someRunners(text string) []api.Runner {
	at := time.Now().Add(-time.Hour)
	seconds := func(s float64) *float64 { return &s }
	return []api.Runner{
		{Name: text + "1", State: api.RunnerPresent, Labels: []string{text, text}, Protocol: 1, Sessions: 3, Places: 4, LastContactS: seconds(2), Version: text, Agents: []string{text, text}},
		{Name: text + "2", State: api.RunnerPresent, Protocol: 1, Sessions: 1, LastContactS: seconds(40), Problem: text},
		{Name: text + "3", State: api.RunnerDraining, Protocol: 1, LastContactS: seconds(1), DrainBy: &at},
		{Name: text + "4", State: api.RunnerLost, Protocol: 1, LastContactS: seconds(700)},
		{Name: text + "5", State: api.RunnerLost},
		{Name: text + "6", State: api.RunnerInvited, ExpiresAt: &at},
		{Name: text + "7", State: text},
		{Name: text + "8", State: api.RunnerPresent, Protocol: 1, LastContactS: seconds(1), Problem: text},
		{Name: text + "0", State: api.RunnerLost, NotStarted: true},
		{Name: text + "9", State: api.RunnerDraining, Protocol: 1, LastContactS: seconds(700), DrainBy: &at, LeftAt: &at, Agents: []string{text}},
	}
}

// A run's board has what needs a person first, and then the tasks by phase.
func TestBoard(t *testing.T) {
	p, page := play("words", textDiff)
	p.run = aRun("a plan ")
	status, text := p.look(page, "GET", "run?id=R1", access.Operate)
	if status != http.StatusOK {
		t.Fatalf("%d\n%s", status, text)
	}
	at := -1
	for _, want := range []string{"2 things for you", "Needs you", "a plan T-2", "a plan T-3", "implementation", "a plan T-1", "completed", "a plan T-4", "Given up", "a plan T-5", `value="pause"`, `value="cancel"`, "What happened last"} {
		i := strings.Index(text[max(0, at):], want)
		if i < 0 {
			t.Fatalf("%q is not there, or before:\n%s", want, text)
		}
		at = max(0, at) + i
	}
	if _, text := p.look(page, "GET", "run?id=R1", access.Answer); strings.Contains(text, `action="steer"`) || strings.Contains(text, `action="task"`) {
		t.Errorf("who may not steer is shown how:\n%s", text)
	}
	if status, text := p.look(page, "GET", "run?id=R1&part=run", access.Read); status != http.StatusOK || !strings.HasPrefix(text, `<div id="run" data-live="R1" data-version="`) {
		t.Errorf("a part: %d\n%s", status, text)
	}
	if status, text := p.look(page, "GET", "run?id=R1&part=notices", access.Read); status != http.StatusOK || !strings.HasPrefix(text, `<section class="card" id="notices" data-live="R1" data-version="`) {
		t.Errorf("a part: %d\n%s", status, text)
	}
	if status, text := p.look(page, "GET", "runs", access.Read); status != http.StatusOK || !strings.Contains(text, "1 of 5 tasks") || !strings.Contains(text, `<span title="226000 tokens in, 620 out">227k tokens, 1.50 USD</span>`) || !strings.Contains(text, "1 h 30 min") {
		t.Errorf("the runs: %d\n%s", status, text)
	}
	if status, _ := p.look(page, "GET", "run?id=R9", access.Read); status != http.StatusConflict && status != http.StatusNotFound {
		t.Errorf("a run that there is not: %d", status)
	}
}

// A task has what was asked, claimed and found; what is to be reviewed can be reviewed there.
func TestTask(t *testing.T) {
	p, page := play("words", textDiff)
	p.run = aRun("a plan ")
	p.run.Questions = append(p.run.Questions, api.Question{Kind: "review", Task: "T-1", Work: "R1.T-1"})
	status, text := p.look(page, "GET", "task?id=R1.T-1", access.Operate)
	for _, want := range []string{"a plan T-1", "What was asked for", "words", `data-at="f.go:11"`, "What happened", `action="task"`} {
		if status != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%d, no %q:\n%s", status, want, text)
		}
	}
	p.run.Questions = nil
	if _, text := p.look(page, "GET", "task?id=R1.T-1", access.Read); strings.Contains(text, "<form method=\"post\" action=\"task\"") || strings.Contains(text, "Accept") {
		t.Errorf("who may look:\n%s", text)
	}
	for _, id := range []string{"R1.T-9", "R1", "", "R9.T-1"} {
		if status, _ := p.look(page, "GET", "task?id="+id, access.Read); status != http.StatusNotFound && status != http.StatusConflict {
			t.Errorf("%q: %d", id, status)
		}
	}
}

// Words on runs and tasks are those of who may operate.
func TestSteer(t *testing.T) {
	p, page := play("words", textDiff)
	p.run = aRun("x")
	for _, c := range []struct {
		path  string
		form  []string
		scope access.Scope
		want  int
		makes string
	}{
		{"steer", []string{"run", "R1", "do", "pause", "text", "lunch"}, access.Operate, 303, `POST /v1/runs/R1/pause {"text":"lunch"}`},
		{"steer", []string{"run", "R1", "do", "resume"}, access.Operate, 303, `POST /v1/runs/R1/resume {}`},
		{"steer", []string{"run", "R1", "do", "cancel"}, access.Operate, 303, `POST /v1/runs/R1/cancel {}`},
		{"steer", []string{"run", "R1", "do", "delete"}, access.Operate, 400, ""},
		{"steer", []string{"run", "R1", "do", "cancel"}, access.Answer, 403, ""},
		{"task", []string{"work", "R1.T-1", "do", "tell", "text", "hurry"}, access.Operate, 303, `POST /v1/work/R1.T-1/tell {"text":"hurry"}`},
		{"task", []string{"work", "R1.T-1", "do", "retry"}, access.Operate, 303, `POST /v1/work/R1.T-1/retry {}`},
		{"task", []string{"work", "R1.T-1", "do", "cancel", "text", "no"}, access.Operate, 303, `POST /v1/work/R1.T-1/cancel {"text":"no"}`},
		{"task", []string{"work", "R1.T-1", "do", "tell", "text", "kept words"}, access.Read, 403, ""},
	} {
		p.words = nil
		status, text := p.look(page, "POST", c.path, c.scope, c.form...)
		if status != c.want || strings.Join(p.words, "\n") != c.makes {
			t.Errorf("%s %q: %d, recorded %q", c.path, c.form, status, p.words)
		}
		if c.form[len(c.form)-1] == "kept words" && !strings.Contains(text, "kept words") {
			t.Errorf("what was typed is lost:\n%s", text)
		}
	}
}

// What can be steered is a part of the page that changes with the run: of one that has ended nothing is left to steer.
func TestSteerEnds(t *testing.T) {
	p, page := play("words", textDiff)
	p.run = aRun("x")
	for _, c := range []struct {
		state api.RunState
		scope access.Scope
		want  []string
	}{{api.RunRunning, access.Operate, []string{"pause", "cancel"}}, {api.RunPaused, access.Operate, []string{"resume", "cancel"}}, {api.RunRunning, access.Answer, nil}, {api.RunFinished, access.Operate, nil}} {
		p.run.State = c.state
		for _, path := range []string{"run?id=R1", "run?id=R1&part=steer"} {
			status, text := p.look(page, "GET", path, c.scope)
			if status != http.StatusOK || !strings.Contains(text, `<div id="steer" data-live="R1"`) {
				t.Errorf("%s: %d\n%s", path, status, text)
			}
			for _, do := range []string{"pause", "resume", "cancel"} {
				if has := strings.Contains(text, `name="do" value="`+do+`"`); has != slices.Contains(c.want, do) {
					t.Errorf("%s of a run that is %s, as %s: %s is there: %t", path, c.state, c.scope, do, has)
				}
			}
		}
	}
}

// Every view says how much waits for a person, and hears of it.
func TestWaits(t *testing.T) {
	w := newWorld(t)
	b := w.in(access.Read)
	if got := b.get("ledger"); !strings.Contains(got.text, `data-count="0"></span>`) {
		t.Errorf("nothing waits:\n%s", got.text)
	}
	w.asks("Which door?")
	w.asks("And then?")
	for _, view := range []string{"", "runs", "stats", "ledger", "settings", "?part=waits"} {
		got := b.get(view)
		if !strings.Contains(got.text, `<span class="tag warn">2<`) || !strings.HasPrefix(view, "?") && !strings.Contains(got.text, `data-topics="inbox`) {
			t.Errorf("%s: %d\n%s", view, got.status, got.text)
		}
	}
}

// Whatever is said in any field of a run is text.
func TestHostileRun(t *testing.T) {
	p, page := play(hostile, textDiff)
	p.run = aRun(hostile)
	p.happens(t, `{"role":"developer","agent":`+quote(hostile)+`}`, `{"id":`+quote(hostile)+`,"task":`+quote(hostile)+`}`)
	for _, path := range []string{"run?id=R1", "run?id=R1&part=run", "run?id=R1&part=notices", "run?id=R1&view=plan", "run?id=R1&view=time", "run?id=R1&view=cost", "task?id=R1.T-1", "task?id=R1.T-1&part=task", "runs", "runs?part=runs"} {
		status, text := p.look(page, "GET", path, access.Operate)
		if status != http.StatusOK || !strings.Contains(text, "alert(1)") {
			t.Errorf("%s: %d\n%s", path, status, text)
		}
		inert(t, text)
	}
}

// maxPage is how long a page may be without a diff, in bytes.
const maxPage = 300_000

// huge is a run of a thousand tasks, with what people and agents write.
func huge() api.Run {
	r := aRun("words")
	r.Tasks = r.Tasks[:0]
	for i := range 1000 {
		t := api.Task{ID: fmt.Sprintf("T-%d", i+1), Title: fmt.Sprintf("One of many tasks, which has number %d", i+1), Phase: agentsig.PhaseDraft, Waits: api.Waiting{Text: "for T-999"}, BlockedBy: []string{"T-1", "T-2"}}
		switch {
		case i < 400:
			t.Phase, t.Waits.Text, t.Usage = agentsig.PhaseCompleted, "", delivery.Usage{InputTokens: 123456, CostUSD: 1.25}
		case i < 412:
			t.Phase, t.Waits.Text, t.Agent = agentsig.PhaseImplementation, "", &api.Agent{Role: "developer", Name: "claude", Says: strings.Repeat("It prints much. ", 10)}
		}
		t.Work = r.ID + "." + t.ID
		r.Tasks = append(r.Tasks, t)
	}
	return r
}

// A run of a thousand tasks is shown whole, and no page of it is too long.
func TestHugeRun(t *testing.T) {
	p, page := play("x", textDiff)
	p.run = huge()
	for _, path := range []string{"run?id=R1", "run?id=R1&part=run", "run?id=R1&part=notices", "runs", "task?id=R1.T-1", ""} {
		status, text := p.look(page, "GET", path, access.Operate)
		if status != http.StatusOK || len(text) > maxPage {
			t.Errorf("%s: %d, %d bytes", path, status, len(text))
		}
		if strings.HasSuffix(path, "part=run") && strings.Count(text, "One of many") != 1000 {
			t.Errorf("%s has %d tasks", path, strings.Count(text, "One of many"))
		}
	}
}
