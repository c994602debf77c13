package person

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/signalbox-dev/signalbox/internal/mutant"
	"github.com/signalbox-dev/signalbox/internal/oracle"
	"github.com/signalbox-dev/signalbox/internal/oracle/toolbox"
	"github.com/signalbox-dev/signalbox/safetext"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func proposal(arguments string) oracle.Proposal {
	return oracle.Proposal{Turn: 1, Tool: toolbox.Tool{Name: "write_note", Server: "notes"}, Arguments: json.RawMessage(arguments)}
}

// desk is a terminal with somebody who answers each prompt with the next of their lines.
type desk struct {
	t       *testing.T
	in      *io.PipeWriter
	answers []string
	screen  strings.Builder
	prompts int
}

func sit(t *testing.T, answers ...string) (*desk, Asker) {
	t.Helper()
	r, w := io.Pipe()
	d := &desk{t: t, in: w, answers: answers}
	t.Cleanup(func() { _ = w.Close() })
	return d, Asker{Lines: Read(r), Show: func(s string) { d.screen.WriteString(s) }, Prompt: d.prompt}
}

func (d *desk) prompt(text string) {
	d.screen.WriteString(text)
	d.prompts++
	if len(d.answers) == 0 {
		_ = d.in.Close()
		return
	}
	d.write(d.answers[0])
	d.answers = d.answers[1:]
}

func (d *desk) write(text string) {
	d.t.Helper()
	if _, err := io.WriteString(d.in, text+"\n"); err != nil {
		d.t.Fatal(err)
	}
}

func TestApprove(t *testing.T) {
	for _, c := range []struct {
		answers []string
		want    oracle.Decision
	}{
		{[]string{"y"}, oracle.Decision{Allowed: true, By: oracle.ByPerson}},
		{[]string{" YES "}, oracle.Decision{Allowed: true, By: oracle.ByPerson}},
		{[]string{"always"}, oracle.Decision{Allowed: true, Always: true, By: oracle.ByPerson}},
		{[]string{"a"}, oracle.Decision{Allowed: true, Always: true, By: oracle.ByPerson}},
		{[]string{"n"}, oracle.Decision{By: oracle.ByPerson, Reason: "the person does not allow this call of write_note; go on without it"}},
		{[]string{""}, oracle.Decision{By: oracle.ByPerson, Reason: "the person does not allow this call of write_note; go on without it"}},
		{[]string{"no, use the other file"}, oracle.Decision{By: oracle.ByPerson, Reason: "the person does not allow this call of write_note, and says: use the other file"}},
		{[]string{"yesterday", "sure", "show", "y"}, oracle.Decision{Allowed: true, By: oracle.ByPerson}},
		{[]string{strings.Repeat("y", MaxLine+1), "y"}, oracle.Decision{Allowed: true, By: oracle.ByPerson}},
		{nil, oracle.Decision{Reason: "the person has left without an answer"}},
	} {
		d, a := sit(t, c.answers...)
		got := a.Approve(t.Context(), proposal(`{"text": "milk"}`))
		if diff := cmp.Diff(c.want, got); diff != "" || d.prompts != max(1, len(c.answers)) {
			t.Errorf("%.60q: %d prompts, %s", c.answers, d.prompts, diff)
		}
		if want := "The model wants to call write_note of the MCP server notes, which may change something:\n  text: \"milk\"\nAllow write_note? [y]es, [N]o, [a]lways in this question: "; !strings.HasPrefix(d.screen.String(), want) {
			t.Errorf("%s", d.screen.String())
		}
	}
}

// Who leaves the question is not waited for.
func TestApproveEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, a := sit(t)
	a.Prompt = func(string) { cancel() }
	if got := a.Approve(ctx, proposal(`{}`)); got.Allowed || got.Reason != "the question was interrupted" {
		t.Errorf("%+v", got)
	}
}

// What was typed before the question was put is no answer to it.
func TestTypedAhead(t *testing.T) {
	d, a := sit(t, "no")
	d.write("yes")
	d.write("yes")
	d.write("") // its first byte is read once the lines before it are there
	if got := a.Approve(t.Context(), proposal(`{}`)); got.Allowed || !strings.Contains(d.screen.String(), "typed before this is left out") {
		t.Errorf("%+v\n%s", got, d.screen.String())
	}
}

// What a person sees is what the tool gets: nothing of it acts on the terminal, hides or turns
// around, and what is not shown is counted.
func TestDescribe(t *testing.T) {
	var many []string
	for n := range 25 {
		many = append(many, fmt.Sprintf(`"a%d": %d`, n, n))
	}
	for _, c := range []struct {
		arguments string
		want      []string
		whole     bool
	}{
		{`{}`, []string{"(without arguments)"}, true},
		{`{"a": {"b": [1,  2]}, "c": null}`, []string{`  a: {"b":[1,2]}` + "\n", "  c: null\n"}, true},
		{"{\"\\u001b[2Jx\": \"a\u202eb\u200bc\"}", []string{`  \x1b[2Jx: "a\u202eb\u200bc"` + "\n"}, true},
		{`{"x": "a\u202eb\nc"}`, []string{`  x: "a\u202eb\nc"` + "\n"}, true},
		{`{"x": "` + strings.Repeat("é", 400) + `"}`, []string{"é… (2 characters more are not shown)\n"}, false},
		{`{"` + strings.Repeat("n", 100) + `": 1}`, []string{"n… (40 characters more are not shown): 1\n"}, false},
		{`{` + strings.Join(many, ",") + `}`, []string{"  a19: 19\n  (and 5 more arguments that are not shown)\n"}, false},
	} {
		text, whole := describe(proposal(c.arguments), false)
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%.80s: %s lacks %q", c.arguments, text, want)
			}
		}
		if whole != c.whole || safetext.EscapeLines(text) != text {
			t.Errorf("%.80s: whole is %t: %q", c.arguments, whole, text)
		}
		d, a := sit(t, "show", "no")
		a.Approve(t.Context(), proposal(c.arguments))
		if strings.Contains(d.screen.String(), "[s]how all of it") == c.whole {
			t.Errorf("%.80s: %s", c.arguments, d.screen.String())
		}
		if all, whole := describe(proposal(c.arguments), true); !whole || strings.Contains(all, "not shown") || !strings.Contains(d.screen.String(), all) {
			t.Errorf("%.80s: all of it is %.2000s", c.arguments, all)
		}
	}
}

func TestLines(t *testing.T) {
	l := Read(strings.NewReader("one\r\n\ntw\xffo\n" + strings.Repeat("x", MaxLine) + "\n" + strings.Repeat("x", MaxLine+1) + "\nlast"))
	for _, want := range []string{"one", "", "tw\ufffdo", strings.Repeat("x", MaxLine)} {
		if got, err := l.Next(t.Context()); err != nil || got != want {
			t.Errorf("%.40q, %v", got, err)
		}
	}
	if _, err := l.Next(t.Context()); !errors.Is(err, ErrLongLine) {
		t.Error(err)
	}
	if got, err := l.Next(t.Context()); err != nil || got != "last" {
		t.Errorf("%.40q, %v", got, err)
	}
	for range 2 {
		if _, err := l.Next(t.Context()); !errors.Is(err, io.EOF) {
			t.Error(err)
		}
	}
	if n := l.Drop(); n != 0 {
		t.Errorf("%d lines after the end", n)
	}
}

// Each rule of how a person is asked, dropped, is noticed.
func TestMutants(t *testing.T) {
	const file = "person.go"
	mutant.All(t, mutant.By("TestApprove|TestTypedAhead|TestDescribe|TestLines", []mutant.Mutant{
		{Name: "Enter allows", File: file, Old: `strings.Cut(strings.TrimSpace(typed), " ")`, New: `strings.Cut(strings.TrimSpace(typed+"y"[min(1, len(typed)):]), " ")`},
		{Name: "any word that begins like yes allows", File: file, Old: `strings.ToLower(strings.TrimRight(answer, ",.:;"))`, New: `strings.ToLower(answer)[:min(1, len(answer))]`},
		{Name: "what was typed before counts", File: file, Old: "if n := a.Lines.Drop(); n > 0 {", New: "if n := 0; n > 0 {"},
		{Name: "values act on the terminal", File: file, Old: "return safetext.Escape(text), true", New: "return text, true"},
		{Name: "what is cut is not told", File: file, Old: "%s… (%d characters more are not shown)\", safetext.Escape(kept), n-most)", New: "%s%.0d\", safetext.Escape(kept), n-most)"},
		{Name: "further arguments are not told", File: file, Old: "case shown > maxArguments && !all:", New: "case false:"},
		{Name: "who leaves has allowed", File: file, Old: `return oracle.Decision{Reason: "the person has left without an answer"}`, New: "return oracle.Decision{Allowed: true, By: oracle.ByPerson}"},
		{Name: "a line is of any length", File: "lines.go", Old: "long || len(text)+len(piece) > MaxLine", New: "long || false && len(text)+len(piece) > MaxLine"},
	}))
}
