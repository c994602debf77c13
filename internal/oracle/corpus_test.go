package oracle

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/bt"
	"github.com/signalbox-dev/signalbox/bt/lua"
)

// written is one of testdata/replies.txt, which says how it is written.
type written struct {
	name   string
	text   string
	shows  string
	signal string // its type, or empty
}

var hidden = regexp.MustCompile(`(?s)(.?)⟦(.*?)⟧(.?)`)

func readReplies(t testing.TB) []written {
	t.Helper()
	data, err := os.ReadFile("testdata/replies.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []written
	for _, part := range strings.Split("\n"+string(data), "\n== ")[1:] {
		head, body, _ := strings.Cut(part, "\n")
		name, signal, _ := strings.Cut(head, ": ")
		body = strings.ReplaceAll(strings.TrimRight(body, "\n"), "␍", "\r")
		all = append(all, written{
			name: name, signal: signal,
			text: strings.NewReplacer("⟦", "", "⟧", "").Replace(body),
			shows: hidden.ReplaceAllStringFunc(body, func(s string) string {
				m := hidden.FindStringSubmatch(s)
				if isWord(m[1]) && isWord(m[3]) {
					return m[1] + " " + m[3]
				}
				return m[1] + m[3]
			}),
		})
	}
	return all
}

// isWord reports whether a character is there and is no blank.
func isWord(s string) bool {
	r, n := utf8.DecodeRuneInString(s)
	return n > 0 && !unicode.IsSpace(r)
}

// oneReply is a tree that asks once, and takes what comes for the answer.
func oneReply(t testing.TB) bt.Tree {
	t.Helper()
	_, rest, _ := strings.Cut(builtIn(t), "blackboard = {")
	keys, _, _ := strings.Cut(rest, "},")
	tree, err := lua.Load(context.Background(), "one-reply.lua", []byte(`
local function action(name) return BT.action(name, { fn = name }) end
BT.tree("one-reply", {
  blackboard = {`+keys+`},
  root = BT.sequence({
    action("oracle.reset_state"),
    BT.llm_call({ stream_key = "accumulated_content", retries = 0 }),
    action("signal_actions.parse_response_signal"),
    action("signal_actions.update_signal_state"),
    action("signal_actions.log_signal"),
    action("signal_actions.strip_signal_from_response"),
    BT.action("oracle.finish", { fn = "oracle.finish", args = { outcome = "answered" } }),
  }),
})`))
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// saying is a script in which each reply is asked for by its number.
func saying(replies []written) string {
	var b strings.Builder
	for i, r := range replies {
		fmt.Fprintf(&b, "== %d\nasked: ^%d$\n", i, i)
		if r.text == "" {
			b.WriteString("thinks: Nothing.\n")
			continue
		}
		b.WriteString("says:\n")
		for line := range strings.SplitSeq(r.text, "\n") {
			if strings.HasSuffix(line, "\r") {
				line += "\r" // a script may have such ends of lines itself: one is taken off
			}
			b.WriteString("  " + line + "\n")
		}
		b.WriteString("pieces: 1\n")
	}
	return b.String()
}

// What shows of a reply is the same however it is split, and nothing of a signal that is in
// use, not for a moment.
func TestNoSignalShows(t *testing.T) {
	replies := readReplies(t)
	if len(replies) < 60 {
		t.Errorf("%d replies", len(replies))
	}
	for _, r := range replies {
		if result, err := agentsig.Scan(strings.NewReader(r.text), agentsig.Options{}); err != nil || result.Text != r.shows {
			t.Errorf("%s: a scan shows %q, the corpus %q", r.name, result.Text, r.shows)
		}
	}
	step, one := every, 1
	if testing.Short() {
		step, one = 160, 12
	}
	for _, provider := range providers {
		t.Run(string(provider), func(t *testing.T) {
			t.Parallel()
			server := serve(t, saying(replies))
			s := settings(t, server, provider)
			s.Tree = oneReply(t)
			o, err := New(s)
			if err != nil {
				t.Fatal(err)
			}
			asked := 0
			see := func(i int, how string) bool {
				asked++
				err := replies[i].show(o, i)
				if err != nil {
					t.Errorf("%s, %s: %v", replies[i].name, how, err)
				}
				return err == nil
			}
			for i, r := range replies {
				if i%one != 0 {
					continue
				}
				server.Drip(true)
				ok := see(i, "byte by byte")
				server.Drip(false)
				for at := i % step; ok && at < len(r.text); at += step {
					server.Cut(at)
					ok = see(i, fmt.Sprintf("cut at %d", at))
				}
				server.Cut(-1)
			}
			t.Logf("%d replies in %d requests", len(replies), asked)
		})
	}
}

// show asks for a reply and looks at what shows of it, piece by piece.
func (r written) show(o *Oracle, number int) error {
	var shown strings.Builder
	var early error
	q, err := o.begin(fmt.Sprint(number), func(c Chunk) {
		if c.Type != Content {
			return
		}
		if shown.WriteString(c.Text); early == nil && !strings.HasPrefix(r.shows, shown.String()) {
			early = fmt.Errorf("%q shows at first", shown.String())
		}
	})
	if err != nil {
		return err
	}
	a, err := q.run(context.Background())
	if err != nil {
		return err
	}
	all, _ := q.board.Get(keyContent).(string)
	last, _ := q.board.Get(keyLastSignal).(map[string]any)
	kind, _ := last["type"].(string)
	switch {
	case q.reply.Text != r.text:
		return fmt.Errorf("the reply is %q, %w", q.reply.Text, q.trouble)
	case early != nil:
		return early
	case shown.String() != r.shows:
		return fmt.Errorf("%q shows, want %q", shown.String(), r.shows)
	case a.Text != strings.TrimSpace(r.shows):
		return fmt.Errorf("%q is the answer, want %q", a.Text, strings.TrimSpace(r.shows))
	case all != strings.TrimRight(r.shows, " \t\r\n"):
		return fmt.Errorf("accumulated_content is %q", all)
	case kind != r.signal || a.Signals != len(strings.Fields(r.signal)):
		return fmt.Errorf("the signal is %q", kind)
	}
	return nil
}
