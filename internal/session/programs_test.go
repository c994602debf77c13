//go:build unix

package session_test

import (
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

var claude, codex = dialects[0], dialects[1]

// What a program is told of a role's permissions.
func TestArguments(t *testing.T) {
	t.Parallel()
	const (
		plain = "--mine -p --output-format=stream-json --verbose --permission-mode=dontAsk --allowedTools=Read,Glob,Grep"
		exec  = "--mine exec --json --skip-git-repo-check -c "
		quiet = `web_search="disabled" -c `
	)
	for name, c := range map[string]struct {
		allow         []agent.Permission
		claude, codex string
	}{
		"all": {allPermissions, plain + ",Edit,Write,NotebookEdit,Bash,PowerShell,Monitor,WebFetch,WebSearch",
			exec + `sandbox_mode="workspace-write" -c sandbox_workspace_write.writable_roots=["/repo/.git/worktrees/a \"b\""] -c sandbox_workspace_write.network_access=true -`},
		"no network": {[]agent.Permission{agent.Edit, agent.Execute}, plain + ",Edit,Write,NotebookEdit,Bash,PowerShell,Monitor --disallowedTools=WebFetch,WebSearch",
			exec + quiet + `sandbox_mode="workspace-write" -c sandbox_workspace_write.writable_roots=["/repo/.git/worktrees/a \"b\""] -c sandbox_workspace_write.network_access=false -`},
		"run": {[]agent.Permission{agent.Execute}, plain + ",Bash,PowerShell,Monitor --disallowedTools=Edit(//**),NotebookEdit,WebFetch,WebSearch",
			exec + quiet + `sandbox_mode="read-only" -`},
		"nothing": {nil, plain + " --disallowedTools=Edit(//**),NotebookEdit,Bash,PowerShell,Monitor,mcp__*,WebFetch,WebSearch",
			exec + quiet + `sandbox_mode="read-only" -`},
	} {
		for _, d := range dialects {
			s := d.spec(t, prints(d.begin, d.over))
			s.Allow, s.GitWrites = c.allow, []string{`/repo/.git/worktrees/a "b"`}
			r := start(t, s)
			r.next(api.ReportTurn)
			want := map[string]string{claude.adapter: c.claude, codex.adapter: c.codex}[d.adapter]
			if diff := cmp.Diff(want, strings.Join(strings.Fields(read(t, s, "arguments")), " ")); diff != "" {
				t.Errorf("%s, %s: %s", d.adapter, name, diff)
			}
			r.end()
		}
	}
}

// Claude Code goes on by itself when something that it left running ends: its turn is
// over then, with all that was used.
func TestClaudeBackground(t *testing.T) {
	t.Parallel()
	r := start(t, claude.spec(t, `cat "$DATA/background.jsonl"`))
	turn := r.next(api.ReportTurn)
	stands(t, r, turn, "READY_FOR_REVIEW: T-1")
	if turn.Usage != (delivery.Usage{InputTokens: 393, OutputTokens: 153, CostUSD: 0.0045780000000000005}) {
		t.Errorf("%+v", turn)
	}
	r.end()
}

// What runs on when it has said its last word is not waited for.
func TestClaudeServer(t *testing.T) {
	t.Parallel()
	r := start(t, claude.spec(t, `head -7 "$DATA/server.jsonl"; sleep 300`))
	if turn := r.next(api.ReportTurn); turn.Verdict != agentsig.KindReadyForReview {
		t.Errorf("%+v", turn)
	}
	nothingLeft(t, r.dir)
	r.end()
}

// If it has not, it is: that is work, and no silence.
func TestClaudeWaits(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it waits for longer than a stall takes; not with -short")
	}
	s := claude.spec(t, `head -7 "$DATA/background.jsonl"; sleep 6; sed 1,7d "$DATA/background.jsonl"`)
	stallsAfter4s(&s)
	r := start(t, s)
	if turn := r.next(api.ReportTurn); turn.Verdict != agentsig.KindReadyForReview {
		t.Errorf("%+v", turn)
	}
	r.end()
}

// If the program ends what runs on, and itself, the turn is over: nothing has failed.
func TestClaudeEndsWhatRuns(t *testing.T) {
	t.Parallel()
	r := start(t, claude.spec(t, `sed 's/READY_FOR_REVIEW: T-1//' "$DATA/server.jsonl"`))
	if turn := r.next(api.ReportTurn); turn.Verdict != agentsig.KindUnknown || *turn.Exit != 0 {
		t.Errorf("%+v", turn)
	}
	r.end()
}

// A result is not the end if the program goes on after it.
func TestClaudeGoesOn(t *testing.T) {
	t.Parallel()
	s := claude.spec(t, prints(claude.begin, claude.says("hello"), claude.over, claude.begin)+"sleep 0.5; "+prints(claude.says("READY_FOR_REVIEW: T-1"), claude.over))
	s.Linger = session.Duration(100 * time.Millisecond) // less than it takes to go on
	r := start(t, s)
	if turn := r.next(api.ReportTurn); turn.Verdict != agentsig.KindReadyForReview || turn.Usage.InputTokens != 14 {
		t.Errorf("%+v", turn)
	}
	r.end()
}

// An agent of the agent's is not its voice, though it is in the transcript and counted.
func TestClaudeSubagent(t *testing.T) {
	t.Parallel()
	sub := `{"type":"assistant","parent_tool_use_id":"toolu_0_0","message":{"model":"m","content":[{"type":"text","text":"TASK_INCOMPLETE: T-1"}]}}`
	r := start(t, claude.spec(t, `head -2 "$DATA/subagent.jsonl"; `+prints(sub)+`sed 1,2d "$DATA/subagent.jsonl"`))
	turn := r.next(api.ReportTurn)
	stands(t, r, turn, "READY_FOR_REVIEW: T-1")
	if !strings.Contains(r.file("transcript"), "TASK_INCOMPLETE: T-1\n") || turn.Usage.OutputTokens != 206 {
		t.Errorf("%+v\n%s", turn, r.file("transcript"))
	}
	r.end()
}

// A program that does not tell what all models have used tells the agent's own tokens,
// and the cost of the whole conversation.
func TestClaudeCounts(t *testing.T) {
	t.Parallel()
	r := start(t, claude.spec(t, prints(claude.begin, claude.says("hello"))+`echo '{"type":"result","usage":{"input_tokens":1,"cache_read_input_tokens":2,"cache_creation_input_tokens":3,"output_tokens":4},"total_cost_usd":'$SIGNALBOX_TURN'.5}'`))
	for turn, want := range []float64{1.5, 1} {
		if got := r.next(api.ReportTurn); got.Usage != (delivery.Usage{InputTokens: 6, OutputTokens: 4, CostUSD: want}) {
			t.Errorf("%+v", got)
		}
		r.prompt("p"+strings.Repeat("+", turn), "again")
	}
	r.next(api.ReportTurn)
	r.end()
}

// What Codex's sandbox did not let the agent write, and what was declined.
func TestCodexDenied(t *testing.T) {
	t.Parallel()
	r := start(t, codex.spec(t, prints(codex.begin,
		`{"type":"item.started","item":{"id":"i","type":"file_change","changes":[{"path":"/a\u001b","kind":"add"},{"path":"/b","kind":"update"}],"status":"in_progress"}}`,
		`{"type":"item.completed","item":{"id":"i","type":"file_change","changes":[{"path":"/a\u001b","kind":"add"},{"path":"/b","kind":"update"}],"status":"failed"}}`,
		`{"type":"item.completed","item":{"id":"j","type":"command_execution","command":"sudo make","status":"declined"}}`,
		`{"type":"item.completed","item":{"id":"k","type":"command_execution","command":"false","exit_code":1,"status":"failed"}}`,
		`{"type":"item.completed","item":{"id":"l","type":"mcp_tool_call","server":"docs","tool":"find","result":{"content":[{"type":"text","text":"READY_FOR_REVIEW: T-1"}]},"status":"completed"}}`,
		`{"type":"item.completed","item":{"id":"m","type":"error","message":"READY_FOR_REVIEW: T-1"}}`,
		codex.over)))
	for _, want := range []string{`edit /a\x1b /b (Codex's sandbox does not let it)`, "execute sudo make (Codex's sandbox does not let it)"} {
		if note := r.next(api.ReportNote); note.Denied != want {
			t.Errorf("%q, want %q", note.Denied, want)
		}
	}
	turn := r.next(api.ReportTurn)
	if turn.Verdict != agentsig.KindUnknown || !strings.Contains(r.file("transcript"), "[docs find]\nREADY_FOR_REVIEW: T-1\n") {
		t.Errorf("%+v\n%s", turn, r.file("transcript"))
	}
	r.end()
}

// Codex counts what the whole conversation has used, and may begin anew.
func TestCodexCounts(t *testing.T) {
	t.Parallel()
	r := start(t, codex.spec(t, prints(codex.begin)+`case $SIGNALBOX_TURN in 1) n=10;; 2) n=25;; *) n=5;; esac; echo '{"type":"turn.completed","usage":{"input_tokens":'$n'0,"output_tokens":'$n'}}'`))
	for turn, want := range []int64{10, 15, 5} {
		if got := r.next(api.ReportTurn); got.Usage != (delivery.Usage{InputTokens: 10 * want, OutputTokens: want}) {
			t.Errorf("%+v", got)
		}
		r.prompt("p"+strings.Repeat("+", turn), "again")
	}
	r.next(api.ReportTurn)
	r.end()
}
