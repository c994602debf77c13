package agentreply_test

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/agentreply"
	"github.com/signalbox-dev/signalbox/internal/api"
)

// readers are all that there are, by their scopes.
var readers = []agentreply.Reader{{}, {Operate: true}, {Answer: true}, agentreply.Everything}

// Names of tools as texts have them. Some are words of every day: those are names where a call of them is meant.
var (
	commands = regexp.MustCompile(`signalbox [a-z]+`)
	operates = regexp.MustCompile(`start_run|wait_run|\bretry\b|\bpause with\b|\b(call|with) (tell|pause|cancel)\b`)
	answers  = regexp.MustCompile(`answer_question|review_task`)
)

// toolsIn are the tools that a text names. Commands of the command line are none.
func toolsIn(text string) map[string]bool {
	text = commands.ReplaceAllString(text, "")
	return map[string]bool{"operate": operates.MatchString(text), "answer": answers.MatchString(text)}
}

// checkTools checks that a reply names no tool that its reader does not have, besides the one that was called.
func checkTools(t fataler, about string, who agentreply.Reader, called string, response any) {
	tool, _, _ := strings.Cut(called, " ")
	has := map[string]bool{"operate": who.Operate, "answer": who.Answer}
	for key, text := range ownTexts(decoded(t, response)) {
		if tool != "" {
			text = strings.ReplaceAll(text, tool, "")
		}
		for scope, named := range toolsIn(text) {
			if named && !has[scope] {
				t.Errorf("%s, for %+v: %s names a tool that is not offered: %q", about, who, key, text)
			}
		}
	}
}

// ownTexts are the texts of a reply that are not strangers', by where they stand.
func ownTexts(v any) map[string]string {
	all := map[string]string{}
	in := func(at string, inner any) {
		for k, text := range ownTexts(inner) {
			all[at+"."+k] = text
		}
	}
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			if !strings.HasPrefix(k, "quoted_") {
				in(k, inner)
			}
		}
	case []any:
		for i, inner := range v {
			in(string(rune('0'+i%10)), inner)
		}
	case string:
		all[""] = v
	}
	return all
}

// What a reader is told to do is what it can do, and where it can't, what the person does in its place.
func TestReaders(t *testing.T) {
	asked := api.Run{ID: "R1", State: api.RunWaiting, Checks: 1, Questions: []api.Question{{ID: "R1-Q1", Run: "R1", Text: "why?", Choices: []string{"this", "that"}}}}
	const person = `they answer it themselves, not you: signalbox answer R1-Q1 "…" (in Claude Code, Codex and Gemini CLI they can type it as a line that begins with !)`
	for _, c := range []struct {
		who    agentreply.Reader
		answer string
		then   string
	}{
		{agentreply.Reader{}, person, "; then call get_run again, not more often than once a minute"},
		{agentreply.Reader{Operate: true}, person, "; then call wait_run"},
		{agentreply.Reader{Answer: true}, "with answer_question", "; then call get_run again, not more often than once a minute"},
		{agentreply.Everything, "with answer_question", "; then call wait_run"},
	} {
		s := c.who.Run(asked, noon, agentformat.File{}).Snapshot
		if !strings.Contains(s.Next, c.answer) || !strings.HasSuffix(s.Next, c.then) {
			t.Errorf("%+v: %q", c.who, s.Next)
		}
		if need := s.NeedsYou.First[0]; (need.Call != nil) != c.who.Answer || need.Command == "" {
			t.Errorf("%+v: %+v", c.who, need)
		}
	}
	going := api.Run{ID: "R1", State: api.RunRunning, Checks: 1, Tasks: []api.Task{{ID: "T-1", Work: "R1.T-1", Agent: &api.Agent{Task: "T-1"}}}}
	if next := (agentreply.Reader{}).Run(going, noon, agentformat.File{}).Snapshot.Next; !strings.HasPrefix(next, "call get_run again, not more often than once a minute") {
		t.Errorf("who can't wait is told: %q", next)
	}
}

// No next step of a situation is cut, whoever reads it: its end says what to call.
func TestNextIsWhole(t *testing.T) {
	names, err := filepath.Glob("testdata/situations/*.expected.txt")
	if err != nil || len(names) == 0 {
		t.Fatalf("%d situations: %v", len(names), err)
	}
	for _, name := range names {
		s := readSituation(t, strings.TrimSuffix(name, ".expected.txt"))
		for _, who := range readers {
			texts := ownTexts(decoded(t, s.reply(who)))
			for _, at := range slices.Sorted(maps.Keys(texts)) {
				if strings.HasSuffix(texts[at], "…") {
					t.Errorf("%s, for %+v: %s is cut: %q", name, who, at, texts[at])
				}
			}
		}
	}
}
