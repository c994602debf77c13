package cli_test

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/cli"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/modeltest"
)

// A box that stops in the middle of a question takes nothing with it: what comes later is
// recorded in one that is opened for it.
func TestAskOutlivesTheBox(t *testing.T) {
	t.Chdir(t.TempDir())
	script, err := modeltest.Parse("script", `
== hello
asked: ^hello
says:
  I look.
  <signal type="need_turn"><reason>one look more</reason></signal>

asked: ^Take the turn
waits: stopped
says:
  Hello!
  <signal type="context_sufficient"><sources_found>0</sources_found></signal>
`)
	if err != nil {
		t.Fatal(err)
	}
	model, err := modeltest.Start(script)
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()

	up, stop := context.WithCancel(t.Context())
	defer stop()
	ready, said := io.Pipe()
	stopped := make(chan int, 1)
	go func() {
		stopped <- cli.Run(up, []string{"up", "--json"}, command.Env{In: strings.NewReader(""), Out: said, Err: io.Discard})
	}()
	if _, err := ready.Read(make([]byte, 4096)); err != nil {
		t.Fatal(err)
	}
	type result struct {
		code      int
		out, errs string
	}
	asked := make(chan result, 1)
	go func() {
		code, out, errs := run(t, command.Env{In: strings.NewReader("")}, "ask", "--base-url", model.URL()+"/v1", "--model", "m", "hello")
		asked <- result{code, out, errs}
	}()
	<-model.Reached("stopped")
	stop()
	<-stopped
	model.Release("stopped")
	r := <-asked
	if r.code != 0 || !strings.Contains(r.out, "Hello!") || !strings.HasSuffix(r.errs, "Q-00001 in the ledger\n") {
		t.Errorf("exit %d\n%s\n%s", r.code, r.out, r.errs)
	}
	_, out, _ := run(t, command.Env{In: strings.NewReader("")}, "events")
	for _, want := range []string{"ConversationStarted", "signalled need_turn", "signalled context_sufficient", "answered after 2 turns"} {
		if !strings.Contains(out, want) {
			t.Errorf("the events lack %q:\n%s", want, out)
		}
	}
}

// The model sees nothing of the box, whatever its directory is called and wherever its parts lie.
func TestAskHidesTheBox(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("signalbox.yaml", []byte("archive: {mirror: ./copies}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	script, err := modeltest.Parse("script", `
== box
asked: ^hello
says: I look.
calls: read_file {"path": "box/box.json"}
calls: read_file {"path": "copies"}
calls: search_code {"query": "ConversationStarted"}
calls: search_code {"query": "address"}

says:
  Hello!
  <signal type="context_sufficient"><sources_found>0</sources_found></signal>
`)
	if err != nil {
		t.Fatal(err)
	}
	model, err := modeltest.Start(script)
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	code, out, errs := run(t, command.Env{In: strings.NewReader("")}, "ask", "--dir", "./box", "--json", "--base-url", model.URL()+"/v1", "--model", "m", "hello")
	if code != 0 || strings.Count(out, "not for a model") != 2 || strings.Count(out, "Nothing was found") != 2 {
		t.Errorf("exit %d\n%s\n%s", code, out, errs)
	}
}
