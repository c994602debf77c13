package cli_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/modeltest"
	"github.com/signalbox-dev/signalbox/internal/oracle"
)

const eventful = `
== eventful
asked: ^where is the greeting made
says:
  I look.
  <signal type="need_turn"><reason>the search comes first</reason><confidence>0.8</confidence></signal>
calls: search_code {"query": "greet"}
calls: search_code {"query": "greet"}
calls: search_code {"query": "greet"}

asked: ^You have called
says:
  I see nothing.
  <signal type="stuck"><attempted>["search_code"]</attempted><blocker>nothing is found</blocker></signal>

asked: ^Try another way
says:
  I read on.
  <signal type="need_turn"><reason>one file is left</reason></signal>

asked: This is your last turn
says:
  It is made nowhere.
  <signal type="context_sufficient"><sources_found>1</sources_found></signal>
`

const eventfulQuestion = "where is the greeting made, and what does it say to people who come back a second time or more often than that?"

// What an oracle tells its subscribers comes to programs as lines of their own, in order, and to
// people with the trace.
func TestAskTellsEvents(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir(".git", 0o700); err != nil {
		t.Fatal(err)
	}
	source, _ := oracle.Tree(oracle.TreeName)
	tree := strings.Replace(string(source), "MAX_TURNS = 30", "MAX_TURNS = 4", 1)
	if err := os.WriteFile("four.lua", []byte(tree), 0o600); err != nil {
		t.Fatal(err)
	}
	script, err := modeltest.Parse("script", eventful)
	if err != nil {
		t.Fatal(err)
	}
	model, err := modeltest.Start(script)
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	ask := func(flags ...string) (out, errs string) {
		t.Helper()
		args := append([]string{"ask", "--base-url", model.URL() + "/v1", "--model", "m", "--tree", "four.lua"}, flags...)
		code, out, errs := run(t, command.Env{In: strings.NewReader("")}, append(args, eventfulQuestion)...)
		if code != 0 {
			t.Fatalf("exit %d\n%s\n%s", code, out, errs)
		}
		return out, errs
	}

	out, _ := ask("--json")
	var names, states []string
	for line := range strings.Lines(out) {
		var l struct {
			Type   string         `json:"type"`
			Event  string         `json:"event"`
			Turn   int            `json:"turn"`
			Fields map[string]any `json:"fields"`
			Last   struct {
				Type string `json:"type"`
				Raw  string `json:"raw_xml"`
			} `json:"last_signal"`
			SameReason *int `json:"consecutive_same_reason"`
			Silent     *int `json:"turns_without_signal"`
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		switch l.Type {
		case "event":
			names = append(names, l.Event)
			if l.Turn == 0 || len(l.Fields) == 0 {
				t.Errorf("an event without turn or fields: %s", line)
			}
		case "signal":
			states = append(states, l.Last.Type)
			if l.SameReason == nil || *l.SameReason != 1 || l.Silent == nil || *l.Silent != 0 || !strings.HasPrefix(l.Last.Raw, "<signal") {
				t.Errorf("a signal chunk is %s", line)
			}
		}
	}
	wantNames := strings.Fields(`agent.signal.need_turn tool.call.started tool.call.started tool.call.started
		tool.call.succeeded tool.call.succeeded tool.call.succeeded agent.loop.detected
		agent.signal.stuck fallback.triggered budget.warning agent.signal.need_turn budget.exceeded agent.signal.context_sufficient`)
	if diff := cmp.Diff(wantNames, names); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"need_turn", "stuck", "need_turn", "context_sufficient"}, states); diff != "" {
		t.Errorf("signals (-want +got):\n%s", diff)
	}

	_, errs := ask("--trace")
	rest := errs
	for _, name := range wantNames {
		_, after, found := strings.Cut(rest, "  * "+name+" {")
		if !found {
			t.Errorf("the trace lacks %s:\n%s", name, errs)
			break
		}
		rest = after
	}
	if n := strings.Count(errs, "  * consecutive_same_reason 1, turns_without_signal 0\n"); n != 4 {
		t.Errorf("the counters show %d times:\n%s", n, errs)
	}
	if _, errs := ask(); strings.Contains(errs, "  * ") {
		t.Errorf("events show without the trace:\n%s", errs)
	}
}
