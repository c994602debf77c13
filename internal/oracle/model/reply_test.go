package model_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/signalbox-dev/signalbox/internal/oracle/model"
)

const dialogue = `
== a
asked: ^Where
thinks: Erst fragen, wo es ist.
says: Ich sehe nach: <süß> & 🚂
calls: find {"name": "a b", "deep": [1, {"x": null}]}
calls: list {}
usage: 120 in, 100 cached, 34 out
result: found
says: It is in lib.

asked: ^Thanks
says: You are welcome.
`

// A conversation with reasoning and two calls at once goes to its end, in whatever pieces it
// comes, and the sink is given what is returned.
func TestConversation(t *testing.T) {
	both(t, func(t *testing.T, p model.Provider) {
		for _, pieces := range []string{"", "pieces: 1\n", "drip"} {
			s := script(t, strings.Replace(dialogue, "usage:", strings.TrimSuffix(pieces, "drip")+"usage:", 1))
			s.Drip(pieces == "drip")
			c := client(t, p, s.URL())
			r := question("Where is it?")
			r.System = "You are brief."
			r.Tools = []model.Tool{{Name: "find"}, {Name: "list"}}
			var got []model.Reply
			say := func(add ...model.Message) {
				r.Messages = append(r.Messages, add...)
				var k transcript
				reply, err := c.Reply(t.Context(), r, k.sink())
				if err != nil {
					t.Fatal(err)
				}
				if k.text.String() != reply.Text || k.reasoning.String() != reply.Reasoning {
					t.Errorf("the sink got %q and %q, the reply is %+v", k.text.String(), k.reasoning.String(), reply)
				}
				if k.alive == 0 {
					t.Error("there was no sign of life")
				}
				if pieces == "pieces: 1\n" && len(got) == 0 && k.pieces != len([]rune(reply.Text)) {
					t.Errorf("the text came in %d pieces", k.pieces)
				}
				got = append(got, reply)
				r.Messages = append(r.Messages, model.Message{Role: model.Assistant, Text: reply.Text, Calls: reply.Calls})
			}
			say()
			say(model.Message{Role: model.ToolResults, Results: []model.Result{
				{ID: got[0].Calls[0].ID, Text: "found"}, {ID: got[0].Calls[1].ID, Text: "nothing", Failed: true}}})
			say(model.Message{Role: model.User, Text: "Thanks"})
			want := []model.Reply{
				{
					Text: "Ich sehe nach: <süß> & 🚂", Reasoning: "Erst fragen, wo es ist.",
					Calls: []model.Call{
						{Name: "find", Arguments: json.RawMessage(`{"name": "a b", "deep": [1, {"x": null}]}`)},
						{Name: "list", Arguments: json.RawMessage(`{}`)},
					},
					Usage: model.Usage{In: 120, Out: 34},
				},
				{Text: "It is in lib.", Usage: model.Usage{In: 100, Out: 20}},
				{Text: "You are welcome.", Usage: model.Usage{In: 100, Out: 20}},
			}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(model.Call{}, "ID")); diff != "" {
				t.Errorf("%q: replies (-want +got):\n%s", pieces, diff)
			}
			if a, b := got[0].Calls[0].ID, got[0].Calls[1].ID; a == "" || a == b {
				t.Errorf("the ids of the calls are %q and %q", a, b)
			}
			requests := s.Requests()
			if diff := cmp.Diff([]string{"found", map[model.Provider]string{model.OpenAI: "Error: nothing", model.Anthropic: "nothing"}[p]}, requests[1].Results); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
			for _, seen := range requests {
				if seen.Side || seen.System != "You are brief." {
					t.Errorf("the server was asked %+v", seen)
				}
			}
		}
	})
}

// A question without tools is answered out of the script too.
func TestNoTools(t *testing.T) {
	both(t, func(t *testing.T, p model.Provider) {
		s := script(t, dialogue+"\n== b\nasked: ^Hello\nsays: Hi.\n")
		reply, err := client(t, p, s.URL()).Reply(t.Context(), question("Hello"), model.Sink{})
		if err != nil || reply.Text != "Hi." {
			t.Errorf("it says %q, %v", reply.Text, err)
		}
		if seen := s.Requests(); len(seen) != 1 || seen[0].Side {
			t.Errorf("the server was asked %+v", seen)
		}
	})
}

// A text that is cut anywhere is the same text.
func TestCutAnywhere(t *testing.T) {
	const text = `für <signal type="need_turn"><reason>mehr 🚂</reason></signal>`
	both(t, func(t *testing.T, p model.Provider) {
		s := script(t, "== a\nasked: ^go\nsays: "+text+"\n")
		c := client(t, p, s.URL())
		for at := range len(text) + 1 {
			s.Cut(at)
			var k transcript
			reply, err := c.Reply(t.Context(), question("go"), k.sink())
			if err != nil || reply.Text != text || k.text.String() != text || k.pieces > 2 {
				t.Fatalf("cut at %d: %q in %d pieces, %v", at, reply.Text, k.pieces, err)
			}
		}
	})
}

// Connections are used again: each reply is read to its end.
func TestOneConnection(t *testing.T) {
	both(t, func(t *testing.T, p model.Provider) {
		remotes := make(chan string, 5)
		c := client(t, p, raw(t, func(w http.ResponseWriter, r *http.Request) {
			remotes <- r.RemoteAddr
			stream(hello(p))(w, r)
			_ = http.NewResponseController(w).Flush() // so that the end comes apart
		}))
		used := map[string]bool{}
		for range cap(remotes) {
			if reply, err := c.Reply(t.Context(), question("go"), model.Sink{}); err != nil || reply.Text != "Hello" {
				t.Fatalf("it says %q, %v", reply.Text, err)
			}
			used[<-remotes] = true
		}
		if len(used) != 1 {
			t.Errorf("%d connections were used", len(used))
		}
	})
}

// Two calls of Reply at once do not mix.
func TestAtOnce(t *testing.T) {
	both(t, func(t *testing.T, p model.Provider) {
		var all strings.Builder
		for i := range 8 {
			fmt.Fprintf(&all, "== %d\nasked: ^ask %d$\nsays: reply %d\npieces: 1\n", i, i, i)
		}
		s := script(t, all.String())
		c := client(t, p, s.URL())
		t.Run("all", func(t *testing.T) {
			for i := range 8 {
				t.Run(fmt.Sprint(i), func(t *testing.T) {
					t.Parallel()
					reply, err := c.Reply(t.Context(), question(fmt.Sprintf("ask %d", i)), model.Sink{})
					if err != nil || reply.Text != fmt.Sprintf("reply %d", i) {
						t.Errorf("it says %q, %v", reply.Text, err)
					}
				})
			}
		})
	})
}
