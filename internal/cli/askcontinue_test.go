package cli_test

import (
	"os"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/oracle"
)

// A question goes on from the latest or from one that is named, over both wire formats; the ledger has
// who asked, about what and what it continues, and the recording what was said before.
func TestAskContinue(t *testing.T) {
	for _, provider := range []string{"openai", "anthropic"} {
		t.Run(provider, func(t *testing.T) { askContinue(t, provider) })
	}
}

func askContinue(t *testing.T, provider string) {
	t.Chdir(t.TempDir())
	model := scripted(t, `
== parser
asked: ^where is the parser
says:
  It is in a.go.
  <signal type="context_sufficient"><sources_found>0</sources_found></signal>

asked: ^and the printer
says:
  It is in b.go.
  <signal type="context_sufficient"><sources_found>0</sources_found></signal>

asked: ^which is longer
says:
  The printer.
  <signal type="context_sufficient"><sources_found>0</sources_found></signal>
`)
	base := model.URL()
	if provider == "openai" {
		base += "/v1"
	}
	in := ""
	ask := func(args ...string) (code int, out, errs string) {
		t.Helper()
		return run(t, command.Env{In: strings.NewReader(in)}, append([]string{"ask", "--provider", provider, "--base-url", base, "--model", "m"}, args...)...)
	}
	answers := func(want string, args ...string) {
		t.Helper()
		if code, out, errs := ask(args...); code != 0 || strings.TrimSpace(out) != want {
			t.Errorf("%q: exit %d\n%s\n%s", args, code, out, errs)
		}
	}
	fails := func(want int, says string, args ...string) {
		t.Helper()
		if code, _, errs := ask(args...); code != want || !strings.Contains(errs, says) {
			t.Errorf("%q: exit %d\n%s", args, code, errs)
		}
	}
	fails(1, "there is nothing to go on from: no box is in .signalbox. `signalbox ask` without --continue makes one", "--continue", "and the printer?")
	if _, err := os.Stat(".signalbox"); err == nil {
		t.Error("a question that can't be asked leaves a box")
	}
	answers("It is in a.go.", "--user", "ann", "--project", "silver", "where is the parser?")
	fails(1, "Q-00001 can't be continued: it is another user's, or of another project. Ask with --user ann and with --project silver", "--continue", "and the printer?")
	fails(1, "no such question: Q-00009", "--continue", "Q-00009", "and the printer?")
	answers("It is in b.go.", "--user", "ann", "--project", "silver", "--continue", "and the printer?")
	in = "which is longer?\n"
	answers("The printer.", "--user", "ann", "--project", "silver", "--continue", "--record", "q.rec", "-")
	answers("It is in b.go.", "--user", "ann", "--project", "silver", "--continue", "Q-00001", "and the printer?")
	answers("It is in b.go.", "--user", "ann", "--project", "silver", "--continue=Q-00001", "and the printer?")
	asked := len(model.Requests())
	if last := model.Requests()[asked-1]; last.Messages != 3 {
		t.Errorf("the model was given %d messages, and not 3", last.Messages)
	}
	if code, out, errs := run(t, command.Env{In: strings.NewReader("")}, "tree", "resume", "q.rec"); code != 0 || strings.TrimSpace(out) != "The printer." || len(model.Requests()) != asked {
		t.Errorf("resume: exit %d, %d requests of %d\n%s\n%s", code, len(model.Requests()), asked, out, errs)
	}
	whole, err := os.ReadFile("q.rec")
	if err != nil {
		t.Fatal(err)
	}
	begun, _, _ := strings.Cut(string(whole), "\n")
	if err := os.WriteFile("q.rec", []byte(begun+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := run(t, command.Env{In: strings.NewReader("")}, "tree", "resume", "q.rec"); code != 0 || strings.TrimSpace(out) != "The printer." {
		t.Errorf("resume from the beginning: exit %d\n%s\n%s", code, out, errs)
	}
	if again := model.Requests(); len(again) != asked+1 || again[asked].Messages != 5 {
		t.Errorf("resumed, the model was asked %+v", again[asked:])
	}
	_, out, _ := run(t, command.Env{In: strings.NewReader("")}, "events", "--json")
	for args, want := range map[string]string{
		"--list":   "QUESTION  OUTCOME   CONTINUES  ASKED\nQ-00001   answered  -          where is the parser?\nQ-00002   answered  Q-00001    and the printer?\nQ-00003   answered  Q-00002    which is longer?\n",
		"--list=1": "QUESTION  OUTCOME   CONTINUES  ASKED\nQ-00007   answered  Q-00002    which is longer?\n",
	} {
		if code, list, errs := ask(args); code != 0 || !strings.HasPrefix(list, want) {
			t.Errorf("%s: exit %d\n%s\n%s", args, code, list, errs)
		}
	}
	if code, list, errs := ask("--list", "--json"); code != 0 || strings.Count(list, `"question":`) != 7 {
		t.Errorf("exit %d\n%s\n%s", code, list, errs)
	}
	for _, want := range []string{`"user_id":"ann","project_id":"silver"`, `"continues":"Q-00001"`, `"continues":"Q-00002"`, `"text":"It is in b.go."`} {
		if !strings.Contains(strings.ReplaceAll(out, `": `, `":`), want) {
			t.Errorf("the events lack %s:\n%s", want, out)
		}
	}
	fails(2, "ask takes a question", "--continue", "Q-00001")
	fails(2, "why is no question's ID: one looks like Q-00001", "--continue", "why", "Q-00001")
	fails(2, "q-00001 is no question's ID", "--continue", "q-00001", "why")
	fails(2, "Q-1 is no question's ID", "--continue", "Q-1")
	fails(2, "Q-1 is no question's ID", "--continue=Q-1", "why")
	fails(2, "ask takes one question", "--continue", "where", "is", "it?")
	fails(2, "--list goes without a question", "--list", "5")
	fails(2, "--list=0: give the number", "--list=0")
	fails(2, "ask takes one question", "Q-00001", "why")
	in = strings.Repeat("a", oracle.MaxQuestion+1)
	fails(2, "the question has more than 64 KiB: put what is long", "-")
	in = " \n"
	fails(2, "the question is empty", "-")
	in = "\xff"
	fails(2, "no UTF-8", "-")
}
