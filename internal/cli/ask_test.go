package cli_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"runtime"
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

// A question that is recorded is replayed without a model, and gone on with: what it has had it
// does not ask for again.
func TestAskRecord(t *testing.T) {
	t.Chdir(t.TempDir())
	script, err := modeltest.Parse("script", `
== hello
asked: ^hello
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
	nothing := command.Env{In: strings.NewReader("")}
	code, said, errs := run(t, nothing, "ask", "--base-url", model.URL()+"/v1", "--model", "m", "--record", "q.rec", "hello")
	if code != 0 || !strings.Contains(said, "Hello!") {
		t.Fatalf("exit %d\n%s\n%s", code, said, errs)
	}
	whole, err := os.ReadFile("q.rec")
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat("q.rec"); err != nil || info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		t.Error(info.Mode(), err)
	}
	asked := len(model.Requests())
	cut := bytes.LastIndexByte(whole[:len(whole)-1], '\n') // without its last line, and with a piece of it
	for what, c := range map[string]struct {
		recording       []byte
		replays, remark string
	}{
		"whole": {whole, "SUCCESS\n\nanswered:\n  Hello!\n", ""},
		"torn":  {whole[:cut+10], "tick 1 at 0s", "the recording ends here"},
	} {
		if err := os.WriteFile("q.rec", c.recording, 0o600); err != nil {
			t.Fatal(err)
		}
		code, out, errs := run(t, nothing, "tree", "replay", "q.rec")
		if code != 0 || !strings.HasPrefix(out, "asked:\n  hello\n\ntick 1") || !strings.Contains(out, c.replays) || !strings.Contains(errs, c.remark) {
			t.Errorf("%s: replay: exit %d\n%s\n%s", what, code, out, errs)
		}
		code, out, errs = run(t, nothing, "tree", "resume", "q.rec")
		if code != 0 || out != said {
			t.Errorf("%s: resume: exit %d\n%s\n%s", what, code, out, errs)
		}
		if again, err := os.ReadFile("q.rec"); err != nil || bytes.Count(again, []byte("\n")) != bytes.Count(whole, []byte("\n")) {
			t.Errorf("%s: %v\n%s", what, err, again)
		}
	}
	if again := len(model.Requests()); again != asked {
		t.Errorf("the model was asked %d times, and %d before", again, asked)
	}
	if code, out, _ := run(t, nothing, "tree", "replay", "q.rec", "--json"); code != 0 || !strings.Contains(out, `"text":"Hello!"`) {
		t.Errorf("exit %d\n%s", code, out)
	}
	if err := os.WriteFile("main.go", []byte("package main\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"tree", "resume", "main.go"}, {"tree", "replay", "main.go"}} {
		if code, _, errs := run(t, nothing, args...); code != 1 || errs != "signalbox: main.go: this is no recording of a tree's run\n" {
			t.Errorf("%v: exit %d\n%s", args, code, errs)
		}
	}
	damaged := bytes.Replace(whole, []byte("Hello"), []byte("Hullo"), 1)
	if err := os.WriteFile("q.rec", damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"tree", "resume", "q.rec"}, {"tree", "replay", "q.rec"}} {
		if code, _, errs := run(t, nothing, args...); code != 1 || !strings.Contains(errs, "of the recording: its sum") {
			t.Errorf("%v of what is damaged: exit %d\n%s", args, code, errs)
		}
	}
	if code, _, errs := run(t, nothing, "ask", "--base-url", model.URL()+"/v1", "--model", "m", "--record", "q.rec", "hello"); code != 1 || !strings.Contains(errs, "q.rec is there already") {
		t.Errorf("a file that is there: exit %d\n%s", code, errs)
	}
	if runtime.GOOS != "windows" {
		if err := os.Chmod("q.rec", 0o622); err != nil {
			t.Fatal(err)
		}
		if code, _, errs := run(t, nothing, "tree", "resume", "q.rec"); code != 1 || !strings.Contains(errs, "others can write to q.rec") {
			t.Errorf("a file of others: exit %d\n%s", code, errs)
		}
	}
}
