//go:build unix

package session_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/session"
	"github.com/signalbox-dev/signalbox/internal/session/agent"
)

// dialect is how a program prints what happens.
type dialect struct {
	adapter         string
	begin, over     string
	says, fails     func(text string) string
	opened, result  func(text string) string // of a tool
	first           delivery.Usage           // of the conversation's first turn, as it was recorded
	second          delivery.Usage
	resumed, refuse string // what is among the arguments of the second turn, and what was refused
}

func quoted(format string) func(string) string {
	return func(text string) string {
		q, err := json.Marshal(text)
		if err != nil {
			panic(err)
		}
		return fmt.Sprintf(format, q)
	}
}

var dialects = []dialect{
	{
		adapter: agent.AdapterClaude,
		begin:   `{"type":"system","subtype":"init","session_id":"c-1"}`,
		over:    `{"type":"result","subtype":"success","is_error":false,"result":"","usage":{"input_tokens":7,"output_tokens":1}}`,
		says:    quoted(`{"type":"assistant","message":{"model":"m","content":[{"type":"text","text":%s}]}}`),
		fails:   quoted(`{"type":"result","subtype":"success","is_error":true,"result":%s}`),
		opened:  quoted(`{"type":"assistant","message":{"model":"m","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":%s}}]}}`),
		result:  quoted(`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":%s}]}}`),
		first:   delivery.Usage{InputTokens: 393, OutputTokens: 153, CostUSD: 0.0045780000000000005}, second: delivery.Usage{InputTokens: 130, OutputTokens: 50, CostUSD: 0.0018800000000000002},
		resumed: "--resume=0ba1db3f-fd55-4ea8-9d38-19208355aaed", refuse: "Write /home/ann/greet/greeting.txt (the role critic may not)",
	},
	{
		adapter: agent.AdapterCodex,
		begin:   `{"type":"thread.started","thread_id":"c-1"}`,
		over:    `{"type":"turn.completed","usage":{"input_tokens":7,"output_tokens":1}}`,
		says:    quoted(`{"type":"item.completed","item":{"id":"i","type":"agent_message","text":%s}}`),
		fails:   quoted(`{"type":"turn.failed","error":{"message":%s}}`),
		opened:  quoted(`{"type":"item.started","item":{"id":"t","type":"command_execution","command":%s,"status":"in_progress"}}`),
		result:  quoted(`{"type":"item.completed","item":{"id":"t","type":"command_execution","command":"make","aggregated_output":%s,"status":"completed"}}`),
		first:   delivery.Usage{InputTokens: 303, OutputTokens: 153}, second: delivery.Usage{InputTokens: 100, OutputTokens: 50},
		resumed: "resume\n01a1dead-9a37-7803-884a-1a8be466cfb0", refuse: "edit: patch rejected: writing is blocked by read-only sandbox; rejected by user approval settings (Codex's sandbox does not let it)",
	},
}

// inDialects runs a test for each, and with -short for one of them: half of the tests have the one, half the other.
func inDialects(t *testing.T, f func(t *testing.T, d dialect)) {
	for i, d := range dialects {
		t.Run(d.adapter, func(t *testing.T) {
			t.Parallel()
			if name, _, _ := strings.Cut(t.Name(), "/"); testing.Short() && len(name)%len(dialects) != i {
				t.Skip("the other program's stream is tried with -short")
			}
			f(t, d)
		})
	}
}

// spec is one for a script that plays the program, with its arguments and what was
// recorded of the real one in $DATA.
func (d dialect) spec(t *testing.T, script string) session.Spec {
	t.Helper()
	data, err := filepath.Abs(filepath.Join("agent", "testdata", d.adapter))
	if err != nil {
		t.Fatal(err)
	}
	s := spec(t, "")
	s.Agent = agent.Config{Name: "agent", Adapter: d.adapter, Command: []string{"sh", "-c", `printf '%s\n' "$@" > arguments; cat > prompt; ` + script, "sh", "--mine"}}
	s.Env, s.Allow = []string{"DATA=" + data}, allPermissions
	return s
}

// prints is a script that prints lines.
func prints(lines ...string) string {
	return "cat <<'EOF'\n" + strings.Join(lines, "\n") + "\nEOF\n"
}

// read returns a file of the agent's directory.
func read(t *testing.T, s session.Spec, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(s.Dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A conversation as the real program had it: with a signal in a tool's result, in a
// thought and in a fence, and none that counts; and the next turn of the same.
func TestStream(t *testing.T) {
	t.Parallel()
	inDialects(t, func(t *testing.T, d dialect) {
		s := d.spec(t, `if [ $SIGNALBOX_TURN = 1 ]; then cat "$DATA/forgotten.jsonl"; else cat "$DATA/said.jsonl"; fi`)
		r := start(t, s)
		first := r.next(api.ReportTurn)
		if first.Verdict != agentsig.KindUnknown || len(first.Signals) != 0 || *first.Exit != 0 || first.Usage != d.first {
			t.Errorf("%+v", first)
		}
		transcript := r.file("transcript")
		for _, line := range []string{"I look at what is there.\n[", "cat notes.txt", "]\nREADY_FOR_REVIEW: T-1\nNow I write.\n[", "/home/ann/greet/greeting.txt]\n"} {
			if !strings.Contains(transcript, line) {
				t.Errorf("no %q in the transcript: %s", line, transcript)
			}
		}
		if got := read(t, s, "prompt"); got != "do it" || strings.Contains(read(t, s, "arguments"), "resume") {
			t.Errorf("prompt %q", got)
		}
		r.prompt("p-1", "You have said no signal.")
		second := r.next(api.ReportTurn)
		stands(t, r, second, "READY_FOR_REVIEW: T-1\nSummary: a greeting")
		if second.Usage != d.second || second.Prompt != "p-1" {
			t.Errorf("%+v", second)
		}
		if got := read(t, s, "arguments"); !strings.HasPrefix(got, "--mine\n") || !strings.Contains(got, d.resumed) || read(t, s, "prompt") != "You have said no signal." {
			t.Errorf("arguments %s", got)
		}
		r.send(api.SessionCommand{ID: "end", Kind: api.CommandEnd})
		total := d.first
		total.Add(d.second)
		if last := r.finish(); last.Usage != total {
			t.Errorf("%+v", last)
		}
	})
}

// What was refused is told, though the program ends well.
func TestStreamDenied(t *testing.T) {
	t.Parallel()
	inDialects(t, func(t *testing.T, d dialect) {
		s := d.spec(t, `echo '10:08 ERROR router: error=patch rejected: writing is blocked by read-only sandbox; rejected by user approval settings' >&2; cat "$DATA/denied.jsonl"`)
		s.Role, s.Phase, s.Allow = agentsig.RoleCritic, agentsig.PhaseReview, []agent.Permission{agent.Execute}
		r := start(t, s)
		denied := []string{r.next(api.ReportNote).Denied}
		if d.adapter == agent.AdapterClaude {
			denied = append(denied, r.next(api.ReportNote).Denied, r.next(api.ReportNote).Denied)
			if diff := cmp.Diff([]string{
				"Write /home/ann/greet/.claude/settings.json (the role critic may not)", "mcp__t__poke {} (Claude Code asks before it does that, and nobody can answer)",
			}, denied[1:]); diff != "" {
				t.Error(diff)
			}
		}
		if denied[0] != d.refuse {
			t.Errorf("refused: %q", denied)
		}
		if turn := r.next(api.ReportTurn); turn.Verdict != agentsig.KindReviewPassed || *turn.Exit != 0 {
			t.Errorf("%+v", turn)
		}
		r.end()
	})
}

// A program that prints its last event and stays is ended, with what came from it; the
// conversation goes on.
func TestStreamHangs(t *testing.T) {
	t.Parallel()
	inDialects(t, func(t *testing.T, d dialect) {
		for name, after := range map[string]string{
			"it":            `sleep 300`,
			"stubbornly":    `trap '' TERM; while :; do sleep 0.1; done`,
			"with an error": `trap 'echo "$LAST"; exit 9' TERM; while :; do sleep 0.1; done`,
			"its child":     `setsid sh -c 'trap "" TERM; while :; do sleep 1; done' & sleep 300`,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := d.spec(t, prints(d.begin, d.says("hello"), d.over)+after)
				s.Env = append(s.Env, "LAST="+d.fails("killed"))
				s.Grace, s.Linger = session.Duration(200*time.Millisecond), session.Duration(100*time.Millisecond)
				r := start(t, s)
				for turn := range 2 {
					if got := r.next(api.ReportTurn); got.Turn != turn+1 || got.Verdict != agentsig.KindUnknown || got.Preview != "hello" {
						t.Errorf("%+v", got)
					}
					nothingLeft(t, r.dir)
					r.prompt(fmt.Sprint("p-", turn), "again")
				}
				r.next(api.ReportTurn)
				r.end()
			})
		}
	})
}

// One that hangs before it says that its turn is over is ended too, if it has said its
// last word.
func TestStreamHangsAfterLastWord(t *testing.T) {
	t.Parallel()
	inDialects(t, func(t *testing.T, d dialect) {
		s := d.spec(t, prints(d.begin, d.says("READY_FOR_REVIEW: T-1"))+"sleep 300")
		s.Answer = session.Duration(100 * time.Millisecond)
		r := start(t, s)
		if turn := r.next(api.ReportTurn); turn.Verdict != agentsig.KindReadyForReview {
			t.Errorf("%+v", turn)
		}
		r.end()
	})
}

// However the program prints, the signal at the end of it is found.
func TestStreamOddities(t *testing.T) {
	t.Parallel()
	inDialects(t, func(t *testing.T, d dialect) {
		const long = `head -c $((%d << 20)) /dev/zero | tr '\0' x; `
		head, tail, _ := strings.Cut(d.result("LONG"), "LONG")
		flood := func(mib int) string {
			return prints(d.opened("make")) + "printf '%s' '" + head + "'; " + fmt.Sprintf(long, mib) + "printf '%s\\n' '" + tail + "'; "
		}
		for name, c := range map[string]struct{ script, kept string }{
			"what is not JSON": {prints("", "npm warn", "{", "[]", "7", `"x"`, "null", `{"type":7}`, `{"type":"mood"}`, "\xff\xfe"), ""},
			"what is not what it was": {prints(`{"type":"assistant","message":7}`, `{"type":"assistant","message":{"content":[7,{"type":"text","text":[]}]}}`, `{"type":"user","message":{"content":"go on"}}`,
				`{"type":"item.completed","item":[]}`, `{"type":"item.completed","item":{"type":"todo_list","items":[]}}`, `{"type":"system","subtype":"background_tasks_changed","tasks":7}`), ""},
			"many MiB":          {flood(manyMiB()), fmt.Sprintf("\n[%d bytes more]\n", manyMiB()<<20-8<<10)},
			"more than 32 MiB":  {flood(33), "[a message of more than 32 MiB was passed over]\n"},
			"a child is left":   {`setsid sh -c 'trap "" TERM; while :; do sleep 1; done' & `, ""},
			"errors that pass":  {`cat "$DATA/retried.jsonl" | sed '$d'; `, "after\n"},
			"no newline at all": {"printf '%s\\n' '" + d.opened("make") + "'; ", ""},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				if testing.Short() && name == "more than 32 MiB" {
					t.Skip("a message of 33 MiB; not with -short")
				}
				s := d.spec(t, prints(d.begin)+c.script+prints(d.says("READY_FOR_REVIEW: T-1"))+"printf '%s' '"+d.over+"'")
				r := start(t, s)
				turn := r.next(api.ReportTurn)
				// Calls that were recorded used more than the result tells.
				if turn.Verdict != agentsig.KindReadyForReview || turn.Usage.InputTokens < 7 || !strings.Contains(r.file("transcript"), c.kept) {
					t.Errorf("%+v", turn)
				}
				stands(t, r, turn, "READY_FOR_REVIEW: T-1")
				nothingLeft(t, r.dir)
				r.end()
			})
		}
	})
}

// How a turn fails, and what the box learns of it.
func TestStreamFails(t *testing.T) {
	t.Parallel()
	inDialects(t, func(t *testing.T, d dialect) {
		for name, c := range map[string]struct{ script, how, detail string }{
			"it says so":           {prints(d.begin, d.fails("no \x1b money")) + "exit 1", api.HowCrashed, `the agent agent: its turn failed: no \x1b money`},
			"it says so and stays": {prints(d.begin, d.fails("")) + "sleep 300", api.HowCrashed, "the agent agent: its turn failed: it does not say why"},
			"a rate limit":         {prints(d.begin, d.fails("last status: 429 Too Many Requests")) + "exit 1", api.HowLimited, "the agent agent: its turn failed: last status: 429 Too Many Requests"},
			"in the middle of a line": {prints(d.begin) + "printf '%s' '" + d.says("half")[:30] + "'; echo 'out of memory' >&2", api.HowCrashed,
				"the program ended in the middle of its turn: out of memory"},
			"with a status": {prints(d.begin, d.says("hello")) + "exit 3", api.HowCrashed, "exit status 3"},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				if last := start(t, d.spec(t, c.script)).finish(); last.How != c.how || last.Detail != c.detail || !last.ResetAt.IsZero() {
					t.Errorf("%+v\nwant %s, %q", last, c.how, c.detail)
				}
			})
		}
	})
}

// A usage limit as the real programs tell it, with its end.
func TestStreamLimited(t *testing.T) {
	t.Parallel()
	inDialects(t, func(t *testing.T, d dialect) {
		end := time.Now().Add(2 * time.Hour)
		s := d.spec(t, fmt.Sprintf(`sed -e 's/4102444800/%d/' -e 's/ · resets [^"]*//' -e 's/11:47 AM/%s/' "$DATA/limited.jsonl"; exit 1`, end.Unix(), end.Format("3:04 PM")))
		last := start(t, s).finish()
		if late := last.ResetAt.Sub(end); last.How != api.HowLimited || late < -time.Second || late > time.Minute || !strings.Contains(last.Detail, "hit your") {
			t.Errorf("%v late: %+v", late, last)
		}
	})
}

// A login that is refused as the real programs tell it. Claude Code goes on trying, and is ended.
func TestStreamRefused(t *testing.T) {
	t.Parallel()
	inDialects(t, func(t *testing.T, d dialect) {
		last := start(t, d.spec(t, `cat "$DATA/refused.jsonl"; sleep 300`)).finish()
		if last.How != api.HowLoggedOut || !strings.Contains(last.Detail, "status 401") {
			t.Errorf("%+v", last)
		}
	})
}

// A signal counts, whatever becomes of the turn after it.
func TestStreamSignalCounts(t *testing.T) {
	t.Parallel()
	inDialects(t, func(t *testing.T, d dialect) {
		for name, after := range map[string]string{"a failure": prints(d.fails("oh no")) + "exit 1", "a status": "exit 1", "nothing": ""} {
			r := start(t, d.spec(t, prints(d.begin, d.says("READY_FOR_REVIEW: T-1"))+after))
			if turn := r.next(api.ReportTurn); turn.Verdict != agentsig.KindReadyForReview {
				t.Errorf("%s: %+v", name, turn)
			}
			r.end()
		}
	})
}

// A turn that takes too long to answer is ended, and what the program says of that is no
// failure.
func TestStreamDeadline(t *testing.T) {
	t.Parallel()
	inDialects(t, func(t *testing.T, d dialect) {
		s := d.spec(t, prints(d.begin, d.says("hello"))+`trap 'echo "$LAST"; exit 9' TERM; [ $SIGNALBOX_TURN != 2 ] || while :; do sleep 0.05; done`+"\n"+prints(d.over))
		s.Env = append(s.Env, "LAST="+d.fails("killed"))
		r := start(t, s)
		r.next(api.ReportTurn)
		r.send(api.SessionCommand{ID: "p-1", Kind: api.CommandPrompt, Text: "well?", AnswerMS: 300})
		if turn := r.next(api.ReportTurn); !turn.NoAnswer || turn.Prompt != "p-1" {
			t.Errorf("%+v", turn)
		}
		r.prompt("p-2", "and now?")
		if turn := r.next(api.ReportTurn); turn.NoAnswer || turn.Turn != 3 {
			t.Errorf("%+v", turn)
		}
		r.end()
	})
}

// An agent that waits for a tool is not silent, and one that waits for nothing is. It
// can't be asked, nor told anything.
func TestStreamSilence(t *testing.T) {
	t.Parallel()
	inDialects(t, func(t *testing.T, d dialect) {
		for name, c := range map[string]struct{ lines, how string }{
			"a tool is open": {prints(d.begin, d.opened("make")) + "sleep 6; ", api.HowDone},
			"no tool is":     {prints(d.begin, d.opened("make"), d.result("made")) + "sleep 60; ", api.HowStalled},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				if testing.Short() && c.how == api.HowDone {
					t.Skip("it waits for longer than a stall takes; not with -short")
				}
				s := d.spec(t, c.lines+prints(d.says("READY_FOR_REVIEW: T-1"), d.over))
				stallsAfter4s(&s)
				r := start(t, s)
				r.send(api.SessionCommand{ID: "t", Kind: api.CommandTell, Text: "psst"})
				if note := r.next(api.ReportNote); !note.NoAnswer {
					t.Errorf("%+v", note)
				}
				if c.how == api.HowDone {
					r.next(api.ReportTurn)
					r.end()
				} else if last := r.finish(); last.How != c.how {
					t.Errorf("%+v", last)
				}
			})
		}
	})
}

// What is said that ends nothing is reported when its message is whole, however long the
// agent goes on.
func TestStreamNotes(t *testing.T) {
	t.Parallel()
	inDialects(t, func(t *testing.T, d dialect) {
		s := d.spec(t, prints(d.begin, d.says("CHECKPOINT: T-1\nProgress: 1 of 2"), d.opened("make"))+"read -r go < go")
		mkfifo(t, filepath.Join(s.Dir, "go"))
		r := start(t, s)
		stands(t, r, r.next(api.ReportNote), "CHECKPOINT: T-1\nProgress: 1 of 2")
		r.end()
	})
}
