//go:build unix

package session_test

import (
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

// acpSpec is one for the agent of acpagent_test.go.
func acpSpec(t *testing.T, prompt string, greets ...string) session.Spec {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := spec(t, "")
	s.Dir, err = filepath.EvalSymlinks(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	s.Agent = agent.Config{Name: "agent", Adapter: agent.AdapterACP, Command: append([]string{self, acpVerb}, greets...)}
	s.Prompt, s.Allow = prompt, allPermissions
	return s
}

func (r *run) prompt(id, text string) {
	r.send(api.SessionCommand{ID: id, Kind: api.CommandPrompt, Text: text})
}

// calls checks what an agent was asked for.
func calls(t *testing.T, s session.Spec, want ...string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(s.Dir, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, strings.Split(strings.TrimSpace(string(data)), "\n")); diff != "" {
		t.Errorf("calls: %s", diff)
	}
}

func touch(t *testing.T, s session.Spec, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.Dir, name), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Turns are prompts of one conversation. What tools, thoughts, the prompt's echo and
// agents of the agent's have is no signal, and what is used is counted once.
func TestACP(t *testing.T) {
	t.Parallel()
	s := acpSpec(t, strings.Join([]string{
		"think", "echo", "say READY_FOR_", "tool read notes.txt|READY_FOR_REVIEW: T-1", "sub READY_FOR_REVIEW: T-1",
		"say ```\\nREADY_FOR_REVIEW: T-1\\n```", "usage 100 20 0.5",
	}, "\n"))
	r := start(t, s)
	first := r.next(api.ReportTurn)
	if first.Verdict != agentsig.KindUnknown || len(first.Signals) != 0 || first.Usage != (delivery.Usage{InputTokens: 100, OutputTokens: 20, CostUSD: 0.5}) {
		t.Errorf("%+v", first)
	}
	r.prompt("p-1", "say CHECKPOINT: T-1\nsay done so far\nusage 50 10 0.75")
	r.next(api.ReportNote)
	if second := r.next(api.ReportTurn); second.Usage != (delivery.Usage{InputTokens: 50, OutputTokens: 10, CostUSD: 0.25}) || second.Verdict != agentsig.KindCheckpoint {
		t.Errorf("%+v", second)
	}
	r.prompt("p-2", "say READY_FOR_REVIEW: T-1")
	third := r.next(api.ReportTurn)
	stands(t, r, third, "READY_FOR_REVIEW: T-1")
	r.send(api.SessionCommand{ID: "end", Kind: api.CommandEnd})
	if last := r.finish(); last.Usage != (delivery.Usage{InputTokens: 150, OutputTokens: 30, CostUSD: 0.75}) {
		t.Errorf("%+v", last)
	}
	calls(t, s, "new", "prompt "+strings.ReplaceAll(s.Prompt, "\n", "; "),
		"prompt say CHECKPOINT: T-1; say done so far; usage 50 10 0.75", "prompt say READY_FOR_REVIEW: T-1")
	if transcript := r.file("transcript"); !strings.Contains(transcript, "[read notes.txt]\nREADY_FOR_REVIEW: T-1\n") {
		t.Errorf("transcript: %s", transcript)
	}
}

// A question for permission is answered by what the role may do. What it may not is
// refused, and the box told; the mode is the role's too.
func TestACPPermissions(t *testing.T) {
	t.Parallel()
	const prompt = "ask edit a.txt\nask execute make\nask fetch x.org\nask read b.txt\nask other poke\nask switch_mode all\nsay READY_FOR_REVIEW: T-1"
	for name, c := range map[string]struct {
		allow  []agent.Permission
		mode   string
		said   string
		denied []string
	}{
		"all": {allPermissions, "full-access", "a.txt: yes\nmake: yes\nx.org: yes\nb.txt: yes\npoke: yes\nall: no\n", []string{"switch_mode all (the role developer may not)"}},
		"run": {[]agent.Permission{agent.Execute}, "read-only", "a.txt: no\nmake: yes\nx.org: no\nb.txt: yes\npoke: yes\nall: no\n", []string{
			"edit a.txt (the role developer may not)", "fetch x.org (the role developer may not)", "switch_mode all (the role developer may not)",
		}},
		"none": {nil, "read-only", "a.txt: no\nmake: no\nx.org: no\nb.txt: yes\npoke: no\nall: no\n", []string{
			"edit a.txt (the role developer may not)", "execute make (the role developer may not)", "fetch x.org (the role developer may not)",
			"other poke (the role developer may not)", "switch_mode all (the role developer may not)",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := acpSpec(t, prompt, "modes")
			s.Allow = c.allow
			r := start(t, s)
			var denied []string
			for range c.denied {
				denied = append(denied, r.next(api.ReportNote).Denied)
			}
			r.next(api.ReportTurn)
			var said strings.Builder
			for line := range strings.Lines(r.file("transcript")) {
				if strings.Contains(line, ": yes") || strings.Contains(line, ": no") {
					said.WriteString(line)
				}
			}
			if diff := cmp.Diff(c.denied, denied) + cmp.Diff(c.said, said.String()); diff != "" {
				t.Error(diff)
			}
			calls(t, s, "new", "mode "+c.mode, "prompt "+strings.ReplaceAll(prompt, "\n", "; "))
			r.end()
		})
	}
}

// However an agent behaves, the session goes on, and has the signal at the end.
func TestACPOddities(t *testing.T) {
	t.Parallel()
	for name, prompt := range map[string]string{
		"what is not JSON":        "raw Warning: nobody is listening\nraw {\"half\": \nraw \nraw []\nraw 17\nraw {}",
		"answers nobody asked":    `raw {"jsonrpc":"2.0","id":99,"result":{}}` + "\n" + `raw {"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}` + "\n" + `raw {"jsonrpc":"2.0","id":null,"result":1}`,
		"updates that are broken": `raw {"jsonrpc":"2.0","method":"session/update","params":[]}` + "\n" + `raw {"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":7}}}`,
		"a flood of the unknown":  "flood 5000",
		"what is not offered":     "call",
		"a tool that never ends":  "open make",
		"many MiB":                fmt.Sprint("long ", manyMiB()),
		"more than 32 MiB":        "long 33",
		"a child that is left":    "fork",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && prompt == "long 33" {
				t.Skip("a message of 33 MiB; not with -short")
			}
			r := start(t, acpSpec(t, prompt+"\nsay READY_FOR_REVIEW: T-1"))
			turn := r.next(api.ReportTurn)
			if turn.Verdict != agentsig.KindReadyForReview || len(turn.Signals) != 1 {
				t.Errorf("%+v", turn)
			}
			transcript := r.file("transcript")
			switch prompt {
			case "call":
				if !strings.Contains(transcript, "Signalbox does not offer fs/read_text_file") || !strings.Contains(transcript, "does not offer terminal/create") {
					t.Errorf("transcript: %s", transcript)
				}
			case "long 33":
				if len(transcript) > 1000 || !strings.Contains(transcript, "[a message of more than 32 MiB was passed over]") {
					t.Errorf("transcript of %d bytes", len(transcript))
				}
			}
			r.end()
			nothingLeft(t, r.dir)
		})
	}
}

// toldBefore is an agent that tells when its limit ends before it is reached.
func toldBefore(end time.Time) string {
	return fmt.Sprintf(`raw {"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"usage_update","_meta":{"_claude/rateLimit":{"status":"rejected","resetsAt":%d}}}}}`, end.Unix()) +
		"\nfail -32603 You've hit your limit"
}

// How the agent can't go on, and what the box learns of it.
func TestACPFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prompt string
		greets []string
		env    []string
		how    string
		detail string
		reset  time.Duration
		told   time.Duration // from now: when the limit ends, as it is told before the turn fails
	}{
		"initialize": {greets: []string{"refuse"}, how: api.HowCrashed,
			detail: `the agent agent: the Agent Client Protocol can't be spoken with it: Internal error: no \x1b disk`},
		"version 2": {greets: []string{"version2"}, how: api.HowCrashed,
			detail: "the agent agent: the Agent Client Protocol can't be spoken with it: it speaks version 2 of the protocol, and Signalbox version 1"},
		"no key": {greets: []string{"login"}, how: api.HowLoggedOut,
			detail: "the agent agent: it can't begin a conversation: Authentication required: log in with the program itself, or give it a key in its env"},
		"an empty key": {greets: []string{"login"}, env: []string{"AGENT_KEY="}, how: api.HowLoggedOut,
			detail: "the agent agent: it can't begin a conversation: Authentication required: log in with the program itself, or give it a key in its env"},
		"the turn":      {prompt: "fail -32603 Internal error|{\"details\":\"bad\\u001b\"}", how: api.HowCrashed, detail: `the agent agent: its turn failed: Internal error: bad\x1b`},
		"a usage limit": {prompt: `fail -32603 Internal error|{"details":"usage limit reached, resets_in_seconds: 3600"}`, how: api.HowLimited, detail: "the agent agent: its turn failed: Internal error: usage limit reached, resets_in_seconds: 3600", reset: time.Hour},
		"a limit told before": {
			told: time.Hour, how: api.HowLimited, detail: "the agent agent: its turn failed: You've hit your limit", reset: time.Hour,
		},
		"a limit without end": {prompt: toldBefore(time.Unix(1<<33, 0)), how: api.HowLimited, detail: "the agent agent: its turn failed: You've hit your limit"},
		"it dies":             {prompt: "raw {\"jsonrpc\":\"2.0\",\"meth\ndie 3", how: api.HowCrashed, detail: "exit status 3"},
		"it leaves quietly":   {prompt: "say half\ndie 0", how: api.HowCrashed, detail: "the program ended in the middle of its turn"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.told > 0 {
				c.prompt = toldBefore(time.Now().Add(c.told))
			}
			s := acpSpec(t, c.prompt, c.greets...)
			s.Env = c.env
			last := start(t, s).finish()
			if last.How != c.how || last.Detail != c.detail {
				t.Errorf("%s, %q\nwant %s, %q", last.How, last.Detail, c.how, c.detail)
			}
			switch wait := last.ResetAt.Sub(last.At); {
			case c.reset == 0 && !last.ResetAt.IsZero(), c.reset > 0 && (wait > c.reset || wait < c.reset-patience):
				t.Errorf("reset at %v", last.ResetAt)
			}
		})
	}
}

// A program that does not speak the protocol for want of a login says so beside it: it waits for somebody to log in, or
// ends. Once it speaks, what is said there counts no more.
func TestACPNoLogin(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ script, how string }{
		"it waits":         {`echo 'Failed to authenticate with user code. Retrying...' >&2; echo more >&2; sleep 300`, api.HowLoggedOut},
		"it ends":          {`echo 'You are not logged in.' >&2; exit 1`, api.HowLoggedOut},
		"another trouble":  {`echo 'out of memory' >&2; exit 1`, api.HowCrashed},
		"a tool server":    {`echo "Failed to authenticate with MCP server 'x': status 401 Unauthorized" >&2; exit 1`, api.HowCrashed},
		"another's words":  {`echo 'x says: not logged in' >&2; echo 'authentication_error: invalid x-api-key' >&2; exit 1`, api.HowCrashed},
		"it has gone past": {`echo 'not logged in' >&2; head -c 5000 /dev/zero | tr '\0' x >&2; exit 1`, api.HowCrashed},
		"once it speaks": {`read -r line; printf '%s\n' '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
			read -r line; echo 'not logged in' >&2; exit 1`, api.HowCrashed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := acpSpec(t, "")
			s.Agent.Command = []string{"sh", "-c", c.script}
			s.Answer = session.Duration(4 * time.Second) // by then it has said so, also on a busy machine
			last := start(t, s).finish()
			if last.How != c.how || c.how == api.HowLoggedOut && !strings.HasSuffix(last.Detail, ": log in with the program itself, or give it a key in its env") {
				t.Errorf("%s, %q", last.How, last.Detail)
			}
		})
	}
}

// A program that wants a login and has a key for it in its environment is told to use that.
func TestACPLogin(t *testing.T) {
	t.Parallel()
	s := acpSpec(t, "say READY_FOR_REVIEW: T-1", "login")
	s.Env = []string{"AGENT_KEY=secret"}
	r := start(t, s)
	r.next(api.ReportTurn)
	calls(t, s, "authenticate key", "new", "prompt say READY_FOR_REVIEW: T-1")
	r.end()
}

// A signal counts, whatever becomes of the turn after it.
func TestACPSignalCounts(t *testing.T) {
	t.Parallel()
	for _, after := range []string{"fail -32603 oh no", "stop max_tokens", "stop refusal"} {
		r := start(t, acpSpec(t, "say READY_FOR_REVIEW: T-1\n"+after))
		if turn := r.next(api.ReportTurn); turn.Verdict != agentsig.KindReadyForReview {
			t.Errorf("%s: %+v", after, turn)
		}
		r.prompt("p", "say CHECKPOINT: T-1")
		r.next(api.ReportNote)
		r.next(api.ReportTurn)
		r.end()
	}
}

// A message in the middle of a turn is taken by a program that queues prompts; another
// one's turn is broken off for it, and goes on with it. Either way it is one turn.
func TestACPTell(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prompt string
		greets []string
		calls  []string
	}{
		"queues":   {"say up\nlisten", []string{"queues"}, []string{"new", "prompt say up; listen", "prompt say READY_FOR_REVIEW: T-1"}},
		"does not": {"say up\nhang", nil, []string{"new", "prompt say up; hang", "cancel", "prompt say READY_FOR_REVIEW: T-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := acpSpec(t, c.prompt, c.greets...)
			r := start(t, s)
			r.until("output", func(b *box) bool { return len(b.lines) > 0 })
			r.send(api.SessionCommand{ID: "t-1", Kind: api.CommandTell, Text: "say READY_FOR_REVIEW: T-1"})
			if note := r.next(api.ReportNote); note.Prompt != "t-1" || note.NoAnswer {
				t.Errorf("%+v", note)
			}
			if turn := r.next(api.ReportTurn); turn.Verdict != agentsig.KindReadyForReview || turn.Turn != 1 {
				t.Errorf("%+v", turn)
			}
			calls(t, s, c.calls...)
			r.end()
		})
	}
}

// A turn that takes too long to answer is broken off. The conversation goes on: with the
// same program if it heeds that, and otherwise with another one.
func TestACPCancel(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prompt string
		calls  []string
	}{
		"heeded":     {"hang", []string{"new", "prompt say hello", "prompt hang", "cancel", "prompt say READY_FOR_REVIEW: T-1"}},
		"not heeded": {"deaf", []string{"new", "prompt say hello", "prompt deaf", "cancel", "resume c-1", "prompt say READY_FOR_REVIEW: T-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := acpSpec(t, "say hello", "resume")
			s.Grace = session.Duration(4 * time.Second) // by then it has heeded that, or noted it, also on a busy machine
			r := start(t, s)
			r.next(api.ReportTurn)
			r.send(api.SessionCommand{ID: "p-1", Kind: api.CommandPrompt, Text: c.prompt, AnswerMS: 300})
			if turn := r.next(api.ReportTurn); !turn.NoAnswer || turn.Prompt != "p-1" {
				t.Errorf("%+v", turn)
			}
			r.prompt("p-2", "say READY_FOR_REVIEW: T-1")
			if turn := r.next(api.ReportTurn); turn.Verdict != agentsig.KindReadyForReview {
				t.Errorf("%+v", turn)
			}
			calls(t, s, c.calls...)
			r.end()
		})
	}
}

// A conversation outlives its program, by whatever way the program offers. What it tells
// again counts for nothing.
func TestACPResume(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ greets, call string }{{"resume", "resume c-1"}, {"load", "load c-1"}, {"late", "load c-1"}, {"", "new"}} {
		t.Run(c.greets, func(t *testing.T) {
			t.Parallel()
			s := acpSpec(t, "say hello\nusage 10 1 0.5\nlater 4", c.greets)
			r := start(t, s)
			r.next(api.ReportTurn)
			touch(t, s, "leave")
			for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
				if _, err := os.Stat(filepath.Join(r.dir, "agent.json")); err != nil {
					break
				}
			}
			r.prompt("p-1", "say still here\nusage 7 1 0.75")
			turn := r.next(api.ReportTurn)
			if turn.Verdict != agentsig.KindUnknown || len(turn.Signals) != 0 || turn.Usage != (delivery.Usage{InputTokens: 7, OutputTokens: 1, CostUSD: 0.25}) {
				t.Errorf("%+v", turn)
			}
			calls(t, s, "new", "prompt say hello; usage 10 1 0.5; later 4", c.call, "prompt say still here; usage 7 1 0.75")
			r.end()
		})
	}
}

// An agent that waits for a tool is not silent; one that waits for nothing is, and is
// asked if it can be.
func TestACPSilence(t *testing.T) {
	t.Parallel()
	t.Run("a tool is open", func(t *testing.T) {
		t.Parallel()
		if testing.Short() {
			t.Skip("it waits for longer than a stall takes; not with -short")
		}
		s := acpSpec(t, "open make\nwait go\nsay READY_FOR_REVIEW: T-1")
		stallsAfter4s(&s)
		r := start(t, s)
		time.AfterFunc(6*time.Second, func() { _ = os.WriteFile(filepath.Join(s.Dir, "go"), nil, 0o600) })
		if turn := r.next(api.ReportTurn); turn.Verdict != agentsig.KindReadyForReview {
			t.Errorf("%+v", turn)
		}
		r.end()
	})
	t.Run("no tool is", func(t *testing.T) {
		t.Parallel()
		s := acpSpec(t, "tool execute make|done\nhang")
		stallsAfter4s(&s)
		if last := start(t, s).finish(); last.How != api.HowStalled {
			t.Errorf("%+v", last)
		}
	})
	t.Run("asked", func(t *testing.T) {
		t.Parallel()
		s := acpSpec(t, "listen\nsay CHECKPOINT: T-1\ntool read notes.txt|nothing\nhang", "queues")
		s.Silence = session.Duration(100 * time.Millisecond)
		r := start(t, s)
		r.next(api.ReportNote)
		data, err := os.ReadFile(filepath.Join(s.Dir, "calls"))
		if err != nil || !strings.Contains(string(data), "prompt Nothing was heard of you for 100ms.") {
			t.Errorf("%s, %v", data, err)
		}
		r.end()
	})
}

// A program that speaks something else does not keep the session waiting for ever.
func TestACPMute(t *testing.T) {
	t.Parallel()
	s := spec(t, "cat >/dev/null")
	s.Agent.Adapter, s.Answer = agent.AdapterACP, session.Duration(20*time.Millisecond)
	last := start(t, s).finish()
	if last.How != api.HowCrashed || !strings.Contains(last.Detail, "it does not answer: is it the right adapter?") {
		t.Errorf("%s, %q", last.How, last.Detail)
	}
}
