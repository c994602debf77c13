package cli_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/cli"
	"github.com/signalbox-dev/signalbox/internal/command"
)

// A question is shown with its answer and what happened in between, and does nothing to a terminal; work
// of such a name is shown as work.
func TestShowQuestion(t *testing.T) {
	t.Chdir(t.TempDir())
	model := scripted(t, strings.ReplaceAll(`
== parser
asked: ^where is
says:
  It is in ESCa.go.
  asked: by nobody
  <signal type="context_sufficient"><sources_found>0</sources_found><confidence>0.9</confidence></signal>
`, "ESC", "\x1b[2J"))
	nothing := command.Env{In: strings.NewReader("")}
	if code, out, errs := run(t, nothing, "ask", "--base-url", model.URL()+"/v1", "--model", "m", "--user", "ann", "where is\nthe parser?"); code != 0 {
		t.Fatalf("exit %d\n%s\n%s", code, out, errs)
	}
	code, out, errs := run(t, nothing, "show", "Q-00001")
	for _, want := range []string{
		"Q-00001: answered\nuser: ann\n\nasked:\n  where is\n  the parser?\n\n", "signalled context_sufficient (0.9)\n", "answered after 1 turn\n",
		"\nanswered:\n  It is in \\x1b[2Ja.go.\n  asked: by nobody\n",
	} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit %d, lacks %q:\n%s\n%s", code, want, out, errs)
		}
	}
	code, out, _ = run(t, nothing, "show", "Q-00001", "--json")
	out = strings.ReplaceAll(out, `": `, `":`)
	for _, want := range []string{`"question":"where is\nthe parser?"`, `"user_id":"ann"`, `"outcome":"answered"`, `"sequence":3`} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit %d, lacks %s:\n%s", code, want, out)
		}
	}
	if code, _, errs := run(t, nothing, "show", "Q-00009"); code != 1 || errs != "signalbox: there is no such question: Q-00009\n`signalbox ask --list` lists the questions that were asked, and `signalbox work list` the work items.\n" {
		t.Errorf("exit %d\n%s", code, errs)
	}
	missing := strings.Repeat("the whole of the second half, ", 10) + "and its end"
	model = scripted(t, "== half\nasked: .\nsays:\n  Half.\n  <signal type=\"partial_answer\"><missing>"+missing+"</missing><confidence>0.9</confidence></signal>\n")
	if code, out, errs := run(t, nothing, "ask", "--base-url", model.URL()+"/v1", "--model", "m", "all of it?"); code != 1 {
		t.Fatalf("exit %d\n%s\n%s", code, out, errs)
	}
	if _, out, _ := run(t, nothing, "show", "Q-00002"); !strings.Contains(out, "\nmissing:\n  "+missing+"\n\nanswered:\n  Half.\n") {
		t.Errorf("it lacks what is missing:\n%s", out)
	}
	up, stop := context.WithCancel(t.Context())
	ready, said := io.Pipe()
	stopped := make(chan int, 1)
	go func() {
		stopped <- cli.Run(up, []string{"up", "--json"}, command.Env{In: strings.NewReader(""), Out: said, Err: io.Discard})
	}()
	defer func() { stop(); <-stopped }()
	if _, err := ready.Read(make([]byte, 4096)); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := run(t, nothing, "work", "add", "--id", "Q-00003", "--title", "by hand"); code != 0 {
		t.Fatalf("exit %d\n%s\n%s", code, out, errs)
	}
	if code, out, errs := run(t, nothing, "show", "Q-00003"); code != 0 || !strings.Contains(out, "by hand") {
		t.Errorf("exit %d\n%s\n%s", code, out, errs)
	}
}
