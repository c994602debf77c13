//go:build unix

package session_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/session"
)

// resumes has a session go on with a conversation of which some was counted.
func resumes(s session.Spec) session.Spec {
	s.Resume = &session.Resume{
		Conversation: delivery.Conversation{ID: "c-1", Counted: delivery.Usage{InputTokens: 5, OutputTokens: 1, CostUSD: 0.5}}, Prompt: "go on",
	}
	return s
}

// costs is the end of a turn whose conversation has cost 0.75 USD, and has used 7 tokens of input and 2 of output: in all of it, or
// in this turn.
var costs = map[string]string{
	"claude": `{"type":"assistant","message":{"id":"m","model":"big","content":[],"usage":{"input_tokens":40,"output_tokens":3}}}
{"type":"result","subtype":"success","is_error":false,"result":"","usage":{"input_tokens":2,"output_tokens":1},"total_cost_usd":0.75,"modelUsage":{"big":{"contextWindow":200},"small":{"contextWindow":50}}}`,
	"codex": `{"type":"turn.completed","usage":{"input_tokens":7,"output_tokens":2}}`,
}

// A session goes on with the conversation of another: it is told what is new, what was counted before is not counted again, and its
// end says how the conversation is.
func TestResume(t *testing.T) {
	t.Parallel()
	inDialects(t, func(t *testing.T, d dialect) {
		s := resumes(d.spec(t, prints(d.begin, d.says("here I am"), costs[d.adapter])))
		r := start(t, s)
		r.next(api.ReportTurn)
		r.send(api.SessionCommand{ID: "end", Kind: api.CommandEnd})
		last := r.finish()
		want := delivery.Conversation{ID: "c-1", Counted: delivery.Usage{InputTokens: 7, OutputTokens: 2}}
		used := delivery.Usage{InputTokens: 2, OutputTokens: 1}
		if d.adapter == "claude" {
			want = delivery.Conversation{ID: "c-1", Counted: delivery.Usage{InputTokens: 5, OutputTokens: 1, CostUSD: 0.75}, Context: 43, Window: 200, Model: "big"}
			used = delivery.Usage{InputTokens: 40, OutputTokens: 3, CostUSD: 0.25} // its call used more than its result tells
		}
		if last.Usage != used || last.Conversation == nil || *last.Conversation != want {
			t.Errorf("it has used %+v, and leaves %+v", last.Usage, last.Conversation)
		}
		resumed := strings.NewReplacer("0ba1db3f-fd55-4ea8-9d38-19208355aaed", "c-1", "01a1dead-9a37-7803-884a-1a8be466cfb0", "c-1").Replace(d.resumed)
		if got := read(t, s, "arguments"); !strings.Contains(got, resumed+"\n") {
			t.Errorf("its arguments are\n%s", got)
		}
		if got := read(t, s, "prompt"); got != "go on" {
			t.Errorf("it is told %q", got)
		}
	})
}

// A program that has lost its conversation is started again and told all; the box is told why.
func TestResumeForgotten(t *testing.T) {
	t.Parallel()
	lost := map[string]string{
		"claude": prints(`{"type":"result","subtype":"error_during_execution","is_error":true,"session_id":"c-9","errors":["No conversation found with session ID: c-1"]}`) + "exit 1\n",
		"codex":  "echo 'Error: no rollout found for thread id c-1' >&2; exit 1\n",
	}
	inDialects(t, func(t *testing.T, d dialect) {
		begin := strings.Replace(d.begin, "c-1", "c-2", 1)
		s := resumes(d.spec(t, "echo run >> runs\nif grep -q c-1 arguments; then\n"+lost[d.adapter]+"fi\n"+prints(begin, d.says("READY_FOR_REVIEW: T-1"), costs[d.adapter])))
		r := start(t, s)
		if note := r.next(api.ReportNote); !strings.Contains(note.Forgotten, "c-1") {
			t.Errorf("%+v", note)
		}
		if turn := r.next(api.ReportTurn); turn.Verdict != agentsig.KindReadyForReview || turn.Turn != 2 {
			t.Errorf("%+v", turn)
		}
		r.send(api.SessionCommand{ID: "end", Kind: api.CommandEnd})
		last := r.finish()
		if last.How != api.HowDone || last.Conversation == nil || last.Conversation.ID != "c-2" || d.adapter == "codex" && last.Usage != (delivery.Usage{InputTokens: 7, OutputTokens: 2}) {
			t.Errorf("ended: %+v, %+v", last, last.Conversation)
		}
		if got := read(t, s, "prompt"); got != s.Prompt || read(t, s, "runs") != "run\nrun\n" {
			t.Errorf("it is told %q", got)
		}
	})
}

// A program that begins another conversation than it was to go on with is ended, and told all; what it said counts for
// nothing.
func TestResumeAnother(t *testing.T) {
	t.Parallel()
	inDialects(t, func(t *testing.T, d dialect) {
		other := strings.Replace(d.begin, "c-1", "c-2", 1)
		s := resumes(d.spec(t, "if grep -q c-1 arguments; then\n"+prints(other, d.says("READY_FOR_REVIEW: T-1"), d.over)+"sleep 600\nfi\n"+
			prints(other, d.says("TASK_INCOMPLETE: T-1"), costs[d.adapter])))
		r := start(t, s)
		if note := r.next(api.ReportNote); !strings.Contains(note.Forgotten, "another conversation") {
			t.Errorf("%+v", note)
		}
		if turn := r.next(api.ReportTurn); turn.Verdict != agentsig.KindTaskIncomplete {
			t.Errorf("%+v", turn)
		}
		r.send(api.SessionCommand{ID: "end", Kind: api.CommandEnd})
		if last := r.finish(); last.Conversation == nil || last.Conversation.ID != "c-2" {
			t.Errorf("ended: %+v", last)
		}
		if got := read(t, s, "prompt"); got != s.Prompt {
			t.Errorf("it is told %q", got)
		}
	})
}

// A program that meets its provider's limit before it takes up the conversation has not lost it.
func TestResumeLimited(t *testing.T) {
	t.Parallel()
	inDialects(t, func(t *testing.T, d dialect) {
		r := start(t, resumes(d.spec(t, prints(d.fails("429 too many requests")))))
		if last := r.finish(); last.How != api.HowLimited || last.Conversation != nil {
			t.Errorf("ended: %+v", last)
		}
	})
}

// What a program calls its conversation is no argument of a command unless it looks like an id.
func TestResumeHostile(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"--dangerously-skip-permissions", "-c", "a b", "../x", "a\\nb", "ü", strings.Repeat("x", 129)} {
		inDialects(t, func(t *testing.T, d dialect) {
			s := d.spec(t, prints(strings.Replace(d.begin, "c-1", id, 1), d.over))
			r := start(t, s)
			r.next(api.ReportTurn)
			r.prompt("p-1", "once more")
			r.next(api.ReportTurn)
			if got := read(t, s, "arguments"); strings.Contains(got, "resume") {
				t.Errorf("its arguments are\n%s", got)
			}
			r.send(api.SessionCommand{ID: "end", Kind: api.CommandEnd})
			if last := r.finish(); last.Conversation != nil {
				t.Errorf("it leaves %+v", last.Conversation)
			}
		})
	}
}

// The same for programs that speak the Agent Client Protocol.
func TestACPResumesAnother(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		greets []string
		calls  []string
		why    string
	}{
		{[]string{"resume"}, []string{"resume c-1", "prompt say hello; usage 7 1 0.75"}, ""},
		{[]string{"load"}, []string{"load c-1", "prompt say hello; usage 7 1 0.75"}, ""},
		{[]string{"resume", "lost"}, []string{"resume c-1", "new", "prompt say all; usage 7 1 0.75"}, "no such conversation"},
		{[]string{"load", "lost"}, []string{"load c-1", "new", "prompt say all; usage 7 1 0.75"}, "no such conversation"},
		{nil, []string{"new", "prompt say all; usage 7 1 0.75"}, "can't go on with conversations"},
	} {
		t.Run(strings.Join(c.greets, " "), func(t *testing.T) {
			t.Parallel()
			s := resumes(acpSpec(t, "say all\nusage 7 1 0.75", c.greets...))
			s.Resume.Prompt = "say hello\nusage 7 1 0.75"
			r := start(t, s)
			if c.why != "" {
				if note := r.next(api.ReportNote); !strings.Contains(note.Forgotten, c.why) {
					t.Errorf("%+v", note)
				}
			}
			r.next(api.ReportTurn)
			calls(t, s, c.calls...)
			r.send(api.SessionCommand{ID: "end", Kind: api.CommandEnd})
			last, cost := r.finish(), 0.25
			if c.why != "" {
				cost = 0.75
			}
			if last.Usage != (delivery.Usage{InputTokens: 7, OutputTokens: 1, CostUSD: cost}) || (last.Conversation != nil) != (len(c.greets) > 0) {
				t.Errorf("it has used %+v, and leaves %+v", last.Usage, last.Conversation)
			}
		})
	}
}

// Nobody but a developer is given a conversation, and nothing that does not look like one.
func TestResumeRefused(t *testing.T) {
	judge, named := resumes(spec(t, "")), resumes(spec(t, ""))
	judge.Judges = true
	named.Resume.Conversation.ID = "--help"
	for _, s := range []session.Spec{judge, named, resumes(session.Spec{Session: "s-1", Dir: t.TempDir(), Role: agentsig.RoleCritic, Agent: named.Agent})} {
		if err := session.Write(t.TempDir(), s); !errors.Is(err, session.ErrBadSpec) {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

// A conversation is gone on with by the same program at the same place.
func TestContinues(t *testing.T) {
	last, dir := spec(t, "true"), filepath.Join(t.TempDir(), "last")
	if err := session.Write(dir, last); err != nil {
		t.Fatal(err)
	}
	if err := last.Continues(dir); err != nil {
		t.Error(err)
	}
	for what, change := range map[string]func(*session.Spec){
		"command":   func(s *session.Spec) { s.Agent.Command = []string{"sh", "-c", "false"} },
		"name":      func(s *session.Spec) { s.Agent.Name = "other" },
		"env":       func(s *session.Spec) { s.Env = []string{"MODEL=other"} },
		"directory": func(s *session.Spec) { s.Dir = t.TempDir() },
	} {
		s := last
		if change(&s); s.Continues(dir) == nil {
			t.Errorf("another %s goes on", what)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if last.Continues(dir) == nil {
		t.Error("it goes on with what is not there")
	}
}
