package cli_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/command"
)

// interrupts is a keyboard's Ctrl-C, as far as a program catches it.
type interrupts chan func()

func (i interrupts) signals() command.Signals {
	return command.Signals{Catch: func(do func()) func() {
		i <- do
		return func() {}
	}}
}

const chatScript = `
== parser
asked: ^where is the parser
says:
  It is in a.go.
  <signal type="context_sufficient"><sources_found>0</sources_found></signal>

asked: ^and the printer
waits: interrupted
says: Nobody hears this.

asked: ^which is longer
says:
  The parser.
  <signal type="context_sufficient"><sources_found>0</sources_found></signal>
`

// In a chat each line goes on from the one before. An interrupt ends the answer that is being made, and
// the end of what is typed the chat.
func TestChat(t *testing.T) {
	t.Chdir(t.TempDir())
	model := scripted(t, chatScript)
	ctrlC := make(interrupts, 10)
	c, code := sitUntil(t.Context(), t, ctrlC.signals(), "ask", "--base-url", model.URL()+"/v1", "--model", "m", "--user", "ann")
	c.await("Ask, a line at a time.")
	c.await("\n> ")
	c.enter("  ")
	c.await("> ")
	c.enter("where is the parser?")
	c.await("It is in a.go.\n")
	c.await("Q-00001 in the ledger\n> ")
	<-ctrlC
	c.enter("and the printer?")
	<-model.Reached("interrupted")
	(<-ctrlC)()
	c.await("it was interrupted\n")
	c.await("Q-00002 in the ledger\n> ")
	model.Release("interrupted")
	c.enter(strings.Repeat("a", 64<<10+1))
	c.await("longer than the 64 KiB of a question")
	c.await("> ")
	c.enter(strings.Repeat("a", 4095))
	c.await("4095 bytes, which is all that a terminal takes of a line")
	c.await("`signalbox ask --continue -`")
	c.await("> ")
	c.enter("which is longer?")
	c.await("The parser.\n")
	c.await("Q-00003 in the ledger\n> ")
	if err := c.in.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-code; got != 0 {
		t.Errorf("exit %d\n%s", got, c.text())
	}
	requests := model.Requests()
	if n := requests[len(requests)-1].Messages; n != 5 {
		t.Errorf("the last question came with %d messages, and not 5", n)
	}
	_, out, _ := run(t, command.Env{In: strings.NewReader("")}, "events", "--json")
	out = strings.ReplaceAll(out, `": `, `":`)
	for n := 1; n <= 2; n++ {
		if want := fmt.Sprintf(`"continues":"Q-%05d","user_id":"ann"`, n); !strings.Contains(out, want) {
			t.Errorf("the events lack %s:\n%s", want, out)
		}
	}
}

// An interrupt at the prompt ends the program; a chat that can't begin says why, and so does what is none.
func TestChatEnds(t *testing.T) {
	t.Chdir(t.TempDir())
	model := scripted(t, chatScript)
	with := []string{"ask", "--base-url", model.URL() + "/v1", "--model", "m"}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ctrlC := make(interrupts, 10)
	c, code := sitUntil(ctx, t, ctrlC.signals(), with...)
	c.await("> ")
	c.enter("where is the parser?")
	c.await("in the ledger\n> ")
	cancel()
	if got := <-code; got != command.ExitInterrupted {
		t.Errorf("interrupted at the prompt: exit %d\n%s", got, c.text())
	}
	for _, refused := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--continue", "Q-00009"}, 1, "no such question: Q-00009"},
		{[]string{"--continue", "Q-00001", "--user", "ben"}, 1, "Q-00001 can't be continued"},
		{[]string{"--record", "q.rec"}, 2, "a recording is of one question"},
		{[]string{"--json"}, 2, "ask takes a question"},
	} {
		c, code := sitUntil(t.Context(), t, ctrlC.signals(), append(with, refused.args...)...)
		if got := <-code; got != refused.code || !strings.Contains(c.text(), refused.says) {
			t.Errorf("%q: exit %d\n%s", refused.args, got, c.text())
		}
	}
	c, code = sitUntil(t.Context(), t, ctrlC.signals(), append(with, "--continue", "Q-00001")...)
	c.await("> ")
	if err := c.in.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-code; got != 0 {
		t.Errorf("a chat with nothing in it: exit %d\n%s", got, c.text())
	}
}
