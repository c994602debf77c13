package oracle

import (
	"context"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/bt/lua"
)

// The tree react: tools until no tool is called, and no word of signals.
func TestReact(t *testing.T) {
	source, ok := Tree(ReactTree)
	if !ok {
		t.Fatal("there is no such tree")
	}
	for _, c := range []struct {
		name, question, script, max string
		outcome                     Outcome
		text, missing               string
		turns                       int
	}{
		{"no tool", longQuestion, "says: It checks.", "30", Answered, "It checks.", "", 1},
		{"a short question", "What does it do?", "says: It checks.", "30", Answered, "It checks.", "", 1},
		{"tools", longQuestion, looks + "says: On.\ncalls: search {\"q\": 2}\nresult:\nsays: It checks.", "30", Answered, "It checks.", "", 3},
		{"tools that fail", longQuestion, "calls: dig {}\ncalls: dig {\"n\": 1}\ncalls: dig {\"n\": 2}\nresult:\nsays: It seems to check.", "30", Answered, "It seems to check.", "", 2},
		{"a signal steers nothing", longQuestion, "says: It checks. {need 0.9: one look}", "30", Answered, "It checks.", "", 1},
		{"nothing said", longQuestion, "thinks: Hm.", "30", Failed, "", "the model said nothing in 1 turn", 1},
		{"the budget is spent", longQuestion, "says: I look.\ncalls: search {}\n" + lastTurn + "says: It may check.", "2", Partial, "It may check.", "the budget of 2 turns is spent", 2},
	} {
		for _, provider := range providers {
			t.Run(c.name+"/"+string(provider), func(t *testing.T) {
				server := serve(t, script("== route\n"+asksWhat+c.script))
				s := settings(t, server, provider)
				var err error
				s.Tree, err = lua.Load(context.Background(), ReactTree, []byte(strings.Replace(string(source), "MAX_TURNS = 30", "MAX_TURNS = "+c.max, 1)))
				if err != nil {
					t.Fatal(err)
				}
				s.Tools = tools{"search": func(string) (string, error) { return "found", nil }}
				a, _ := answerTo(t, s, c.question)
				if a.Outcome != c.outcome || a.Text != c.text || a.Missing != c.missing || a.Turns != c.turns || a.Unsignalled != (c.outcome == Answered) {
					t.Errorf("%+v", a)
				}
				for _, r := range server.Requests() {
					if told := strings.ToLower(r.System + r.Prompt); strings.Contains(told, "signal") {
						t.Errorf("the model is told of signals: %s", told)
					}
				}
			})
		}
	}
}
