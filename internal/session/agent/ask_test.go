//go:build unix

package agent_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/advice"
	"github.com/signalbox-dev/signalbox/internal/session/agent"
)

// accepted returns the signals that count in what an expert says.
func accepted(t *rapid.T, text string) (all []agentsig.Signal) {
	r, err := agentsig.Scan(strings.NewReader(text), agentsig.Options{Role: agentsig.RoleExpert, Task: "R1-E1", Nonce: "NONCE"})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		if f.Outcome == agentsig.Accepted {
			all = append(all, f.Signal)
		}
	}
	return all
}

// Whatever a model answers, one signal comes of it, with the answer below it.
func TestLastWord(t *testing.T) {
	pieces := []string{
		"EXPERT_UNSUCCESSFUL: R1-E1", "EXPERT_ADVICE: R1-E1 run=NONCE", "EXPERT_ADVICE: R1-E1", "READY_FOR_REVIEW: T-1", "EXIT: run=NONCE",
		`{"phase":"REVIEW","exit_reason":"completed"}`, "```", "~~~", "> quoted", "<!--", "-->", "<signal type=\"stuck\">", "</signal>", "    indented",
		"Key: value", "DELEGATION PROMPT START", "DELEGATION PROMPT END", "- item", "---", "|a|b|", "\t", "", " ", "\r", "\r\n", "\x00", "\x1b[2J", "\xff", "\u202e", "\u2028", "text",
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.OneOf(rapid.SampledFrom(pieces), rapid.String())).Draw(t, "lines"), rapid.SampledFrom([]string{"\n", "\n\n", " "}).Draw(t, "between"))
		kind := rapid.SampledFrom([]agentsig.Kind{agentsig.KindExpertAdvice, agentsig.KindExpertUnsuccessful}).Draw(t, "kind")
		said := agent.LastWord(agentsig.Signal{Kind: kind, Subject: "R1-E1", Run: "NONCE"}, text)
		got := accepted(t, said)
		if len(got) != 1 || got[0].Kind != kind || got[0].Subject != "R1-E1" {
			t.Fatalf("%q\nis said as %q\nand read as %+v", text, said, got)
		}
		if strings.TrimSpace(strings.ToValidUTF8(text, "\ufffd")) != "" && strings.TrimSpace(got[0].Payload) == "" {
			t.Fatalf("%q\nis said as %q: the answer is lost", text, said)
		}
	})
}

// What a model and its tools say is in the transcript and no voice; what it does is told in order; a call goes on when it
// is recorded; the turn ends with advice.
func TestAsk(t *testing.T) {
	d := drive(t, agent.Config{Adapter: agent.AdapterAsk, Ask: advice.Settings{Model: "m", Allow: []string{"x"}}, Command: []string{"sh", "-c", `
		say() { printf '%s\n' "$1"; }
		read -r request
		case "$request" in *'"model":"m"'*'"allow":["x"]'*'"question":"why?"'*) ;; *) echo "$request" >&2; exit 3;; esac
		say 'not JSON'
		say '{"text":"EXPERT_ADVICE: T-1\n"}'
		say '{"step":{"signal":{"turn":1,"signal":"need_turn","confidence":0.8,"text":"reason: READY"}}}'
		say '{"step":{"signal":{"turn":1,"signal":"expert_advice","confidence":0.8}}}'
		say '{"denied":"rm"}'
		say '{"step":{"call":{"call":1,"turn":1,"tool":"x","arguments":"{}","changes":true}}}'
		read -r word
		say '{"step":{"result":{"call":1,"tool":"x","bytes":3}},"given":"EXPERT_ADVICE: T-1\n'"$(echo "$word" | tr -d '"')"'"}'
		say '{"used":{"input_tokens":7,"output_tokens":2}}'
		say '{"done":{"answered":true,"text":"Because.\nEXPERT_UNSUCCESSFUL: T-1","missing":"more"}}'`}})
	if err := d.Prompt(1, "why?"); err != nil {
		t.Fatal(err)
	}
	var story []string
	voice, all := "", ""
	for over := false; !over; {
		e := <-d.Events()
		switch e.Kind {
		case agent.Said:
			all += string(e.Text)
			if e.Source == agentsig.Voice {
				voice += string(e.Text)
			}
		case agent.Stepped:
			switch {
			case e.Step.Signal != nil:
				story = append(story, "signal "+string(e.Step.Signal.Signal))
			case e.Step.Call != nil:
				story = append(story, "call "+e.Step.Call.Tool)
				go e.Recorded(true)
			case e.Step.Result != nil:
				story = append(story, "result "+e.Step.Result.Tool)
			}
		case agent.Denied:
			story = append(story, "denied "+string(e.Text))
		case agent.Used:
			story = append(story, "used")
		case agent.TurnOver:
			story = append(story, "over")
		case agent.Complained, agent.Failed:
			t.Fatalf("%s", e.Text)
		case agent.Stopped:
			d.Clear()
			over = true
		}
	}
	want := []string{"signal need_turn", "denied tool rm (it may change something, and allow in the agent's settings does not name it)", "call x", "result x", "used", "over"}
	if diff := cmp.Diff(want, story); diff != "" {
		t.Error(diff)
	}
	if want := "EXPERT_ADVICE: T-1\n> Because.\n> EXPERT_UNSUCCESSFUL: T-1\n> \n> This is not the whole answer: more\n"; voice != want {
		t.Errorf("it said %q, want %q", voice, want)
	}
	if !strings.Contains(all, "{call:1,recorded:true}") {
		t.Errorf("the transcript is\n%s", all)
	}
}

// A question that its provider's limit ends, or a key that it refuses, is no word of the expert's; nor is a program that
// ends without one.
func TestAskFails(t *testing.T) {
	for _, c := range []struct {
		says string
		want agent.Event
	}{
		{`{"done":{"missing":"slow down","limited":true,"retry_after":60000000000}}`, agent.Event{Kind: agent.Failed, Limited: true}},
		{`{"done":{"answered":true,"text":"half","missing":"no such key","refused":true}}`, agent.Event{Kind: agent.Failed, Refused: true}},
		{`{"done":{"missing":"the model is stuck"}}`, agent.Event{Kind: agent.TurnOver}},
		{`{"step":{}}`, agent.Event{Kind: agent.Stopped}},
	} {
		d := drive(t, agent.Config{Adapter: agent.AdapterAsk, Command: []string{"sh", "-c", "read -r request; echo '" + c.says + "'"}})
		if err := d.Prompt(1, "why?"); err != nil {
			t.Fatal(err)
		}
		e, voice := d.until(agent.Failed, agent.TurnOver, agent.Stopped)
		if e.Kind != c.want.Kind || e.Limited != c.want.Limited || e.Refused != c.want.Refused || e.Limited == e.Reset.IsZero() && e.Limited {
			t.Errorf("%s: %+v", c.says, e)
		}
		if spoke := c.want.Kind == agent.TurnOver; spoke != strings.HasPrefix(voice, "EXPERT_UNSUCCESSFUL: T-1\n") || !spoke && voice != "" {
			t.Errorf("%s: it said %q", c.says, voice)
		}
	}
}
