package oracle

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/oracle/model"
	"github.com/signalbox-dev/signalbox/internal/oracle/toolbox"
)

// noted is an oracle with a server of notes, in a process of its own, and the notes' file.
func noted(t *testing.T, provider model.Provider, script string) (Settings, *ledger, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "notes")
	box, err := toolbox.Open(t.Context(), toolbox.Config{Servers: map[string]toolbox.Server{
		"notes": {Command: os.Args[0], Env: map[string]string{testServer: file, "GORACE": "atexit_sleep_ms=0"}, Timeout: time.Minute},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	s := settings(t, serve(t, script), provider)
	book := &ledger{}
	s.Tools, s.Ledger = box, book
	return s, book, file
}

func content(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data)
}

// asked notes what was asked about, and answers with decisions in their order.
type asked struct {
	about   []string
	answers []Decision
}

func (a *asked) approve(_ context.Context, p Proposal) Decision {
	a.about = append(a.about, p.Tool.Server+" "+p.Tool.Name+" "+string(p.Arguments))
	d := a.answers[0]
	a.answers = a.answers[1:]
	return d
}

// A call that changes something is made if a person allows it, and recorded before it is made; one
// that reads is made as ever.
func TestApproved(t *testing.T) {
	for _, provider := range providers {
		t.Run(string(provider), func(t *testing.T) {
			s, book, file := noted(t, provider, `
== note
asked: ^note it
says: I note it.
calls: write_note {"text": "milk"}
result: ^written
says: I look.
calls: read_notes {}
result: ^notes: milk
says:
  Noted.
  `+enough+"\n")
			book.before = func(context.Context) error {
				if len(book.entries()) == 1 && content(t, file) != "" {
					t.Error("the call was made before it was recorded")
				}
				return nil
			}
			person := &asked{answers: []Decision{{Allowed: true, By: ByPerson}}}
			s.Approve = person.approve
			a, told := answerTo(t, s, "note it")
			if a.Outcome != Answered || a.ToolCalls != 2 || content(t, file) != "milk\n" {
				t.Errorf("%+v, notes %q", a, content(t, file))
			}
			if diff := cmp.Diff([]string{`notes write_note {"text": "milk"}`}, person.about); diff != "" {
				t.Error(diff)
			}
			want := []string{"asked: note it", "decided: 1 write_note allowed=true by person", "ended: 1 failed=false unknown=false", "signalled: 3 context_sufficient", "answered: answered"}
			if diff := cmp.Diff(want, book.entries()); diff != "" {
				t.Error(diff)
			}
			if !strings.HasPrefix(told.names(), "tool.approval.asked tool.approval.allowed tool.call.started tool.call.succeeded tool.call.started tool.call.succeeded") {
				t.Error(told.names())
			}
		})
	}
}

// What is not allowed is not done. The model reads why, and goes on.
func TestRefused(t *testing.T) {
	const script = `
== note
asked: ^note it
says: I note it.
calls: write_note {"text": "milk"}
calls: wipe_notes {}
calls: read_notes {}
result: %s
says:
  I could not.
  ` + enough + "\n"
	for name, c := range map[string]struct {
		approve Approve
		told    string
		by      DecidedBy
	}{
		"by a person": {func(context.Context, Proposal) Decision { return Decision{By: ByPerson, Reason: "the person said no"} }, "refused: the person said no", ByPerson},
		"by nobody":   {nil, "refused: write_note changes something, and nobody is there to allow it", ByNobody},
		"by a list":   {AllowListed([]string{"read_notes"}, nil), "refused: write_note changes something, and nobody", ByNobody},
		"by nobody, who would allow it": {func(context.Context, Proposal) Decision { return Decision{Allowed: true, Always: true} },
			"refused: write_note changes something, and nobody", ByNobody},
	} {
		t.Run(name, func(t *testing.T) {
			s, book, file := noted(t, model.OpenAI, strings.Replace(script, "%s", c.told, 1))
			s.Approve = c.approve
			if err := os.WriteFile(file, []byte("eggs\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			a, told := answerTo(t, s, "note it")
			if a.Outcome != Answered || content(t, file) != "eggs\n" {
				t.Errorf("%+v, notes %q", a, content(t, file))
			}
			by := string(c.by)
			want := []string{"asked: note it", "decided: 1 write_note allowed=false by " + by, "decided: 2 wipe_notes allowed=false by " + by, "signalled: 2 context_sufficient", "answered: answered"}
			if diff := cmp.Diff(want, book.entries()); diff != "" {
				t.Error(diff)
			}
			refused := 0
			for _, c := range told.chunks {
				if c.Type == ToolResult && c.Refused {
					refused++
				}
			}
			if refused != 2 || told.named("tool.approval.refused") != 2 || told.named("tool.call.failed") != 2 || told.named("tool.call.succeeded") != 1 {
				t.Error(told.names())
			}
		})
	}
}

// A tool that is allowed for the whole question is not asked about again in it: that tool, and in
// that question.
func TestAllowedAlways(t *testing.T) {
	s, book, file := noted(t, model.OpenAI, `
== note
asked: ^note it
calls: write_note {"text": "milk"}
result: ^written
calls: write_note {"text": "eggs"}
calls: wipe_notes {}
result: ^written
result: refused: no
says:
  Noted.
  `+enough+"\n")
	person := &asked{answers: []Decision{{Allowed: true, Always: true, By: ByPerson}, {By: ByPerson, Reason: "no"}}}
	s.Approve = person.approve
	answerTo(t, s, "note it")
	if len(person.about) != 2 || content(t, file) != "milk\neggs\n" || book.entries()[3] != "decided: 2 write_note allowed=true by earlier" {
		t.Errorf("asked about %q, notes %q, recorded %q", person.about, content(t, file), book.entries())
	}
	person.answers = []Decision{{By: ByPerson, Reason: "no"}, {By: ByPerson, Reason: "no"}, {By: ByPerson, Reason: "no"}}
	before := content(t, file)
	s.Client = settings(t, serve(t, "== note\nasked: ^note it\ncalls: write_note {}\nresult: refused: no\nsays:\n  So be it.\n  "+enough+"\n"), model.OpenAI).Client
	if answerTo(t, s, "note it"); len(person.about) != 3 || content(t, file) != before {
		t.Errorf("another question: asked about %q", person.about)
	}
}

// Leave for one call is leave for that call: the next one of the same tool is asked about.
func TestAllowedOnce(t *testing.T) {
	s, _, file := noted(t, model.OpenAI, `
== note
asked: ^note it
calls: write_note {"text": "milk"}
result: ^written
calls: write_note {"text": "eggs"}
result: refused: no
says:
  Noted.
  `+enough+"\n")
	person := &asked{answers: []Decision{{Allowed: true, By: ByPerson}, {By: ByPerson, Reason: "no"}}}
	s.Approve = person.approve
	answerTo(t, s, "note it")
	if len(person.about) != 2 || content(t, file) != "milk\n" {
		t.Errorf("asked about %q, notes %q", person.about, content(t, file))
	}
}

// What can't be recorded is not done.
func TestApprovalIsRecorded(t *testing.T) {
	s, book, file := noted(t, model.OpenAI, `
== note
asked: ^note it
calls: write_note {"text": "milk"}
result: refused: .*could not be recorded: the disk is full
says:
  I could not.
  `+enough+"\n")
	writes := 0
	book.before = func(context.Context) error {
		if writes++; writes == 2 {
			return errors.New("the disk is full")
		}
		return nil
	}
	s.Approve = AllowListed([]string{"write_note"}, nil)
	_, told := answerTo(t, s, "note it")
	if content(t, file) != "" || !strings.Contains(told.of(Error), "not all of this is recorded") {
		t.Errorf("notes %q, errors %q", content(t, file), told.of(Error))
	}
}

// A call that was allowed and not answered may have been carried out: the model is told so, and the
// ledger has it.
func TestApprovedAndLost(t *testing.T) {
	s, book, file := noted(t, model.OpenAI, `
== note
asked: ^note it
calls: write_and_die {"text": "milk"}
result: The call may have been carried out
says:
  It may be noted.
  `+enough+"\n")
	s.Approve = AllowListed([]string{"write_and_die"}, nil)
	answerTo(t, s, "note it")
	want := []string{"asked: note it", "decided: 1 write_and_die allowed=true by list", "ended: 1 failed=true unknown=true", "signalled: 2 context_sufficient", "answered: answered"}
	if diff := cmp.Diff(want, book.entries()); diff != "" || content(t, file) != "milk\n" {
		t.Errorf("%s, notes %q", diff, content(t, file))
	}
}

// Arguments of which a person could see another value than the tool are not asked about.
func TestArgumentsTwice(t *testing.T) {
	s, book, file := noted(t, model.OpenAI, `
== note
asked: ^note it
calls: write_note {"text": "milk", "t\u0065xt": "poison"}
result: have the name "text" twice
says:
  I could not.
  `+enough+"\n")
	person := &asked{}
	s.Approve = person.approve
	answerTo(t, s, "note it")
	if len(person.about) != 0 || content(t, file) != "" || len(book.entries()) != 3 {
		t.Errorf("asked about %q, notes %q, recorded %q", person.about, content(t, file), book.entries())
	}
}

// A tree that does not wait for approval has no way around it, nor has a tool node.
func TestApprovalOfAnyTree(t *testing.T) {
	s := own(t, "== note\nasked: ^note it\nsays: I note it.\ncalls: write_note {\"text\": \"milk\"}\nresult: refused: no\nsays: So be it.\n", `BT.sequence({
    BT.llm_call({}), BT.action("run", { fn = "oracle.run_tools" }),
    BT.always_succeed(BT.tool("wipe", { tool = "wipe_notes" })),
    BT.tool("write", { tool = "write_note", args = { text = "eggs" }, result = "found" }),
    BT.llm_call({}), finish("answered") })`)
	with, book, file := noted(t, model.OpenAI, "== unused\nasked: x\nsays: x\n")
	person := &asked{answers: []Decision{{By: ByPerson, Reason: "no"}, {By: ByPerson, Reason: "no"}, {Allowed: true, By: ByPerson}}}
	s.Tools, s.Ledger, s.Approve = with.Tools, with.Ledger, person.approve
	if a, _ := answerTo(t, s, "note it"); a.Outcome != Answered || content(t, file) != "eggs\n" {
		t.Errorf("%+v, notes %q", a, content(t, file))
	}
	want := []string{`notes write_note {"text": "milk"}`, `notes wipe_notes {}`, `notes write_note {"text":"eggs"}`}
	if diff := cmp.Diff(want, person.about); diff != "" {
		t.Error(diff)
	}
	if got := book.entries(); len(got) != 6 || got[3] != "decided: 3 write_note allowed=true by person" {
		t.Errorf("%q", got)
	}
}

// While a person is asked the tree runs, and does not stall.
func TestAwaitApproval(t *testing.T) {
	s, _, file := noted(t, model.OpenAI, "== note\nasked: ^note it\ncalls: write_note {\"text\": \"milk\"}\nresult: refused: the question was interrupted\nsays: x\n")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var trace strings.Builder
	s.Trace = func(text []byte) { trace.Write(text) }
	s.Approve = func(ctx context.Context, _ Proposal) Decision {
		cancel() // the person leaves
		<-ctx.Done()
		return Decision{Reason: "the question was interrupted"}
	}
	if _, a, _ := answered(ctx, t, s, "note it"); a.Outcome != Cancelled || content(t, file) != "" {
		t.Errorf("%+v", a)
	}
	if !strings.Contains(trace.String(), "await-approval RUNNING") {
		t.Errorf("%s", trace.String())
	}
	synctest.Test(t, func(t *testing.T) {
		var signs atomic.Int32
		q := &query{always: map[string]bool{}, ledger: record(t.Context(), nil)}
		q.Tools = changing{}
		q.Approve = func(context.Context, Proposal) Decision {
			time.Sleep(time.Hour)
			return Decision{By: ByPerson}
		}
		if r := q.decide(t.Context(), 1, []model.Call{{Name: "change", Arguments: json.RawMessage(`{}`)}}, func() { signs.Add(1) }); r[0].refused == "" || signs.Load() < 300 {
			t.Errorf("%+v, %d signs of life in an hour", r, signs.Load())
		}
	})
}

// changing is a tool that changes something.
type changing struct{}

func (changing) Tools() []toolbox.Tool { return []toolbox.Tool{{Name: "change"}} }

func (changing) Call(context.Context, string, json.RawMessage) toolbox.Result {
	return toolbox.Result{}
}
