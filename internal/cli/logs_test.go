package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/evidence"
	"github.com/signalbox-dev/signalbox/internal/session"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// at is a moment of the tests' day.
func at(second int) time.Time { return time.Date(2026, 1, 2, 3, 4, second, 0, time.UTC) }

// stored makes an event as a box gives it.
func stored(t *testing.T, sequence uint64, second int, subject, kind, actor, session, payload string) api.Event {
	t.Helper()
	data, err := ledger.Event{
		Format: 1, Epoch: 1, Subject: subject, ItemSeq: 1, Type: kind, Actor: actor, Session: session, Time: at(second), Payload: json.RawMessage(payload),
	}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return api.Event{Sequence: sequence, Event: data}
}

// Of a run's events those are told of a task that are about it, and of the run those that are about none.
func TestStory(t *testing.T) {
	for _, c := range []struct {
		kind, actor, session, payload string
		task, run                     bool
	}{
		{"SessionEnded", "box", "ITEM-1.1", `{"how":"crashed","task":"T-1"}`, true, false},
		{"SessionEnded", "box", "OTHER-1.1", `{"how":"crashed","task":"T-2"}`, false, false},
		{"SessionEnded", "box", "RUN-1.1", `{"how":"done"}`, false, true},
		{"SessionGranted", "box", "RUN-1.2", `{"role":"expert","task":"T-2"}`, false, true},
		{"unknown_signal_recovery", "box", "ITEM-1.1", `{"task_id":"T-1"}`, true, false},
		{"unknown_signal_recovery", "box", "OTHER-1.1", `{"task_id":"T-2"}`, false, false},
		{"QuestionAsked", "box", "", `{"id":"Q1","task":"T-1","text":"?"}`, true, false},
		{"QuestionAsked", "box", "", `{"id":"Q2","task":"T-2","text":"?"}`, false, false},
		{"QuestionAsked", "box", "", `{"id":"Q3","text":"?"}`, false, true},
		{"QuestionAnswered", "operator", "", `{"id":"Q1"}`, true, true},
		{"QuestionAnswered", "operator", "", `{"id":"Q2"}`, false, true},
		{"MessageTold", "operator", "", `{"task":"T-1","text":"x"}`, true, false},
		{"RunPaused", "operator", "", `{}`, true, true},
		{"BaselineChecked", "box", "", `{}`, false, true},
		{"PromptDelivered", "box", "ITEM-1.1", `{}`, false, false},
		{"MessageTold", "operator", "", `"no object"`, false, true},
	} {
		task := story{About: evidence.NewAbout("ITEM", "T-1")}
		task.Has(ledger.Event{Type: delivery.QuestionAsked}, evidence.Concerns{ID: "Q1", Task: "T-1"})
		run := story{About: evidence.About{Subject: "RUN", Run: true}}
		for _, s := range []*story{&task, &run} {
			if err := s.take(stored(t, 1, 0, "RUN", c.kind, c.actor, c.session, c.payload)); err != nil {
				t.Fatal(err)
			}
		}
		if got := []bool{len(task.events) > 0, len(run.events) > 0}; !slices.Equal(got, []bool{c.task, c.run}) {
			t.Errorf("%s %s: of the task and of the run %v; want %v, %v", c.kind, c.payload, got, c.task, c.run)
		}
	}
	var s story
	if err := s.take(api.Event{Sequence: 7, Event: []byte("{")}); err == nil || !strings.Contains(err.Error(), "event 7") {
		t.Errorf("an event that can't be read: %v", err)
	}
}

// What is followed is over when the task is, or the run; and goes on if it is tried again.
func TestStoryIsOver(t *testing.T) {
	s := story{About: evidence.NewAbout("ITEM", "T-1")}
	for i, c := range []struct {
		subject, kind, payload string
		over                   bool
	}{
		{"ITEM", "WorkAdded", `{"phase":"IMPLEMENTATION"}`, false},
		{"ITEM", "AgentSessionCompleted", `{"next_phase":"CI_PENDING"}`, false},
		{"RUN", "TaskCancelled", `{"task":"T-2"}`, false},
		{"RUN", "TaskCancelled", `{"task":"T-1"}`, true},
		{"RUN", "TaskRetried", `{"task":"T-1"}`, false},
		{"ITEM", "WorkMerged", `{"next_phase":"COMPLETED"}`, true},
		{"ITEM", "WorkOverridden", `{"next_phase":"IMPLEMENTATION"}`, false},
		{"RUN", "RunFinished", `{"outcome":"partial"}`, true},
	} {
		if err := s.take(stored(t, uint64(i+1), i, c.subject, c.kind, "box", "", c.payload)); err != nil {
			t.Fatal(err)
		}
		if s.over != c.over {
			t.Errorf("after %s it is over: %v", c.kind, s.over)
		}
	}
	cancelled := story{About: evidence.NewAbout("ITEM", "T-1")} // the run's events come first
	for _, e := range []api.Event{
		stored(t, 2, 0, "RUN", "TaskCancelled", "box", "", `{"task":"T-1"}`), stored(t, 1, 0, "ITEM", "AgentSessionCompleted", "box", "", `{"next_phase":"CI_PENDING"}`),
	} {
		if err := cancelled.take(e); err != nil || !cancelled.over {
			t.Errorf("what was cancelled goes on: %v", err)
		}
	}
	run := story{About: evidence.About{Subject: "RUN", Run: true}}
	if err := run.take(stored(t, 1, 0, "RUN", "RunFinished", "box", "", `{}`)); err != nil || !run.over {
		t.Errorf("the run is not over: %v", err)
	}
}

// Events of two subjects come in the ledger's order, also if the clock was set back.
func TestStoryOrder(t *testing.T) {
	s := story{About: evidence.NewAbout("ITEM", "T-1")}
	for _, e := range []api.Event{
		stored(t, 1, 10, "ITEM", "LeaseReleased", "box", "", `{}`), stored(t, 4, 3, "ITEM", "LeaseReleased", "box", "", `{}`),
		stored(t, 2, 20, "RUN", "RunPaused", "operator", "", `{}`), stored(t, 3, 2, "RUN", "RunResumed", "operator", "", `{}`),
	} {
		if err := s.take(e); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, e := range s.takeAway() {
		got = append(got, fmt.Sprint(e.Sequence, " ", e.Time.Second()))
	}
	if want := []string{"1 10", "2 20", "3 20", "4 20"}; !slices.Equal(got, want) || len(s.takeAway()) > 0 {
		t.Errorf("%q; want %q, and once", got, want)
	}
}

// The task is completed and its run ends while events are taken: what the task ended with is not missed.
func TestStoryIsWhole(t *testing.T) {
	said := map[string]string{"/v1/work/R1.T-1": `{"id":"R1.T-1","subject":"ITEM"}`, "/v1/runs/R1": `{"id":"R1","subject":"RUN"}`}
	happened := map[string]api.Event{}
	box := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/events" {
			fmt.Fprint(w, said[r.URL.Path])
			return
		}
		if e, ok := happened[r.FormValue("work")]; ok {
			data, err := json.Marshal(e)
			if err != nil {
				t.Error(err)
			}
			fmt.Fprintf(w, "data: %s\n\n", data)
		}
		happened["R1.T-1"] = stored(t, 1, 1, "ITEM", "WorkMerged", "box", "", `{"next_phase":"COMPLETED"}`)
		happened["R1"] = stored(t, 2, 1, "RUN", "RunFinished", "box", "", `{"outcome":"completed"}`)
	}))
	defer box.Close()
	l, err := newLogs(t.Context(), &app{}, api.NewClient(strings.TrimPrefix(box.URL, "http://"), "token"), "R1.T-1", false)
	if err != nil {
		t.Fatal(err)
	}
	if got := l.about.takeAway(); !l.about.over || len(got) != 1 || got[0].Type != "WorkMerged" {
		t.Errorf("over: %v, with %+v", l.about.over, got)
	}
}

// logOf prints a log of sessions whose files the test writes.
func logOf(t *testing.T, events ...api.Event) (*logs, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	l := &logs{
		app:   &app{Program: command.Program{Env: command.Env{Out: &out, Err: &out}}, dir: t.TempDir()},
		about: story{About: evidence.NewAbout("ITEM", "T-1")}, sources: []*source{{name: "R1.T-1"}},
		read: map[string]int64{}, granted: map[string]speech{}, ended: map[string]time.Time{}, headed: map[string]bool{},
	}
	for _, e := range events {
		if err := l.about.take(e); err != nil {
			t.Fatal(err)
		}
	}
	return l, &out
}

// file writes a file of the box's, at its end.
func (l *logs) file(t *testing.T, name, text string) {
	t.Helper()
	name = filepath.Join(l.app.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
}

// clock makes the times of a log those of the tests' day, wherever it is.
func clock(text string) string {
	for second := range 60 {
		text = strings.ReplaceAll(text, at(second).Local().Format("15:04:05"), fmt.Sprintf(":%02d", second))
	}
	return strings.ReplaceAll(text, at(0).Local().Format("2006-01-02"), "today")
}

// What agents, tools, people and the box said is told apart, stands in order, and acts upon no terminal.
func TestLogs(t *testing.T) {
	l, out := logOf(t,
		stored(t, 1, 1, "ITEM", "LeaseGranted", "coder", "ITEM-1.1", `{"role":"developer","agent":"co\u001bder","phase":"IMPLEMENTATION"}`),
		stored(t, 2, 4, "RUN", "MessageTold", "operator", "", `{"task":"T-1","text":"first\nsecond\u001b[2J"}`),
		stored(t, 3, 9, "RUN", "SessionEnded", "box", "ITEM-1.1", `{"how":"crashed","task":"T-1","role":"developer","detail":"exit status 9: boom\nafter:\nthis","bytes":20}`),
		stored(t, 4, 30, "ITEM", "MergeFailed", "box", "", `{"commit":"0123456789","reason":"conflicts in a\nand b","next_phase":"IMPLEMENTATION"}`))
	l.file(t, "sessions/ITEM-1.1/spec.json", "damaged")
	l.file(t, "sessions/ITEM-1.1/transcript", "I beg\x1b[8min\n[Bash make]\nmade\r\nend")
	l.file(t, "sessions/ITEM-1.1/voices", fmt.Sprintf("0 %d 0\n12 %d 1\n30 %d 0\n", at(2).UnixMilli(), at(3).UnixMilli(), at(7).UnixMilli()))
	l.file(t, "gates/log/ITEM-1.1.log", "$ test\nok\n")
	if err := l.print(); err != nil {
		t.Fatal(err)
	}
	l.endLine()
	const want = `== developer (co\x1bder), ITEM-1.1, today :01
:02 agent  I beg\x1b[8min
:03 tool   [Bash make]
:03 tool   made
:04 person tells the agent: first
:04 person second\x1b[2J
:07 agent  end
:09 box    developer crashed: exit status 9: boom
:09 box    after:
:09 box    this
== gate, today :09
:09 gate   $ test
:09 gate   ok
:30 box    can't be merged at 0123456: conflicts in a
:30 box    and b
`
	if got := clock(out.String()); got != want {
		t.Errorf("it is\n%s\nand should be\n%s", got, want)
	}

	// What comes later goes on in the line, and a gate that runs again begins anew.
	out.Reset()
	l.file(t, "sessions/ITEM-1.1/transcript", "ing\nmore")
	if err := l.print(); err != nil || !strings.Contains(out.String(), "agent  ing\n") || !strings.HasSuffix(out.String(), "agent  more") {
		t.Errorf("%v:\n%s", err, out)
	}
	if err := os.WriteFile(l.gateFile("ITEM-1.1"), []byte("anew\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := l.print(); err != nil || !strings.HasPrefix(out.String(), "\n== gate, ") || !strings.HasSuffix(out.String(), " gate   anew\n") {
		t.Errorf("%v:\n%s", err, out)
	}
	out.Reset()
	if err := l.print(); err != nil || out.Len() > 0 {
		t.Errorf("%v, and again:\n%s", err, out)
	}
}

// For programs the same comes as objects, with what they had before; a transcript without times is one.
func TestLogsJSON(t *testing.T) {
	l, out := logOf(t, stored(t, 1, 1, "ITEM", "LeaseGranted", "coder", "ITEM-1.1", `{"role":"developer","agent":"coder"}`),
		stored(t, 2, 9, "RUN", "SessionEnded", "box", "ITEM-1.1", `{"how":"crashed","task":"T-1","role":"developer","detail":"exit status 9","bytes":0}`))
	l.app.JSON = true
	l.file(t, "sessions/ITEM-1.1/transcript", strings.Repeat("ü", maxObject/2)+"x")
	l.file(t, "sessions/ITEM-1.1/stderr", "beside")
	if err := l.print(); err != nil {
		t.Fatal(err)
	}
	var all []speech
	var text strings.Builder
	for line := range strings.Lines(out.String()) {
		var s speech
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatal(err)
		}
		if s.Role == "developer" {
			text.WriteString(s.Text)
		}
		s.Text = s.Text[:min(len(s.Text), 200)]
		all = append(all, s)
	}
	if len(all) != 4 || text.String() != strings.Repeat("ü", maxObject/2)+"x" {
		t.Fatalf("%d objects, and %d bytes of text", len(all), text.Len())
	}
	if first := all[0]; first.Event != "LeaseGranted" || first.Role != roleEvent || first.Who != whoBox || !first.Time.Equal(at(1)) {
		t.Errorf("%+v", first)
	}
	if said := all[1]; said.Session != "ITEM-1.1" || said.Agent != "coder" || said.Who != whoAgent || !strings.HasSuffix(said.Transcript, "ITEM-1.1/transcript") || !said.Time.Equal(at(1)) {
		t.Errorf("%+v", said)
	}
	if end := all[3]; !strings.Contains(end.Text, "exit status 9; it said nothing: `signalbox logs --stderr R1.T-1`") {
		t.Errorf("%+v", end)
	}
}

// A transcript is taken apart by who speaks, whatever the file that tells so says.
func TestByVoice(t *testing.T) {
	voice := func(offset int64, from agentsig.Source) session.Voice {
		return session.Voice{Offset: offset, At: at(int(offset)), From: from}
	}
	for name, c := range map[string]struct {
		from, to int64
		voices   []session.Voice
		want     string
	}{
		"nothing is known": {0, 9, nil, "agent 0-9"},
		"one":              {0, 9, []session.Voice{voice(0, agentsig.Voice)}, "agent 0-9"},
		"three":            {0, 9, []session.Voice{voice(0, agentsig.Voice), voice(3, agentsig.Tool), voice(5, agentsig.Prompt)}, "agent 0-3 tool 3-5 box 5-9"},
		"the rest of it":   {4, 9, []session.Voice{voice(0, agentsig.Voice), voice(3, agentsig.Tool), voice(5, agentsig.Voice)}, "tool 4-5 agent 5-9"},
		"it begins late":   {0, 9, []session.Voice{voice(2, agentsig.Tool)}, "tool 0-9"},
		"beyond its end":   {0, 9, []session.Voice{voice(0, agentsig.Tool), voice(99, agentsig.Voice)}, "tool 0-9"},
		"nobody is known":  {0, 9, []session.Voice{voice(0, 77)}, "agent 0-9"},
		"an empty one":     {0, 0, []session.Voice{voice(0, agentsig.Tool)}, "tool 0-0"},
	} {
		var got []string
		for _, e := range byVoice(entry{speech: speech{Who: whoAgent}, from: c.from, to: c.to}, c.voices) {
			got = append(got, fmt.Sprintf("%s %d-%d", e.Who, e.from, e.to))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q; want %s", name, got, c.want)
		}
	}
}

// A session's heading names the machine that it is on, unless that is the box's own.
func TestHeadingsNameRunners(t *testing.T) {
	l := &logs{granted: map[string]speech{}}
	for payload, want := range map[string]string{
		`{"role":"developer","agent":"codex","runner":"gpu1"}`: "== developer (codex), S-1.1 on gpu1, ",
		`{"role":"developer","agent":"codex"}`:                 "== developer (codex), S-1.1, ",
	} {
		got := l.event(ledger.Event{Type: work.LeaseGranted, Session: "S-1.1", Payload: []byte(payload), Time: time.Unix(1, 0)})
		if !strings.HasPrefix(got.heading, want) || l.granted["S-1.1"].Runner != got.Runner {
			t.Errorf("%q, %+v", got.heading, l.granted)
		}
	}
}
