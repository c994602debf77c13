package modeltest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What the script does not provide for is refused with the reason, and kept.
func TestUnexpected(t *testing.T) {
	hello := said{From: "user", Text: "# G-1: Hello"}
	wrote := said{From: "model", Text: "I write.", Calls: []call{{"1", "Write", "{}"}}}
	ran := said{From: "model", Calls: []call{{"2", "Bash", "{}"}, {"3", "Read", "{}"}}}
	all := []string{"Bash", "Read", "Write"}
	for _, c := range []struct {
		name    string
		history []said
		tools   []string
		problem string
	}{
		{"no conversation", []said{{From: "user", Text: "# G-2: Hello"}}, all,
			`no conversation of the script fits the prompt "# G-2: Hello"`},
		{"one of two patterns", []said{{From: "user", Text: "# G-1: bye"}}, all,
			`no conversation of the script fits the prompt "# G-1: bye"`},
		{"a second turn first", []said{{From: "user", Text: "Which file?"}}, all,
			`no conversation of the script fits the prompt "Which file?"`},
		{"a result", []said{hello, wrote, {From: "tool", Results: []string{"denied"}}}, all,
			`greet.script:12: no result of a call matches "(?i)file|success", there is "denied"`},
		{"the end", []said{hello, wrote, {From: "tool", Results: []string{"file"}}, ran, {From: "tool", Results: []string{"Hello", ""}}, ran, {From: "tool", Results: []string{""}}}, all,
			`the script ends: "the developer of G-1" has no reply 4 to "# G-1: Hello"`},
		{"no tool", []said{hello}, []string{"Glob", "Read"},
			`the request offers no tool for "writes:", only "Glob, Read"`},
	} {
		for _, f := range formats() {
			t.Run(c.name+"/"+f.name, func(t *testing.T) {
				s := start(t, "greet.script")
				resp := post(t, s.URL()+f.path(true), f.body(c.history, c.tools, true))
				defer resp.Body.Close()
				body, _ := io.ReadAll(resp.Body)
				if resp.StatusCode != http.StatusBadRequest {
					t.Errorf("status %d, want 400: %s", resp.StatusCode, body)
				}
				got := s.Unexpected()
				if len(got) != 1 || got[0].Problem != c.problem {
					t.Errorf("unexpected is %+v, want the problem %s", got, c.problem)
				}
			})
		}
	}
}

func TestUnexpectedPathOrBody(t *testing.T) {
	s := start(t, "greet.script")
	for _, path := range []string{"/v1/embeddings", "/v1/messages"} {
		if status, body := probe(t, "POST", s.URL()+path); status < 400 {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	var problems []string
	for _, r := range s.Unexpected() {
		problems = append(problems, r.Path+": "+r.Problem)
	}
	want := []string{
		"POST /v1/embeddings: the path is none of a model's",
		`POST /v1/messages: no conversation of the script fits the prompt ""`,
	}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

// What an agent program asks on its own account is answered without the script, in the
// shape that is wanted; the same from another client is not.
func TestSideRequests(t *testing.T) {
	s := start(t, "greet.script")
	schema := obj{"type": "object", "properties": obj{
		"reasoning": obj{"type": "string"}, "sure": obj{"type": "boolean"}, "all": obj{"type": "array"},
		"next_speaker": obj{"type": "string", "enum": []string{"user", "model"}}, "score": obj{"type": "integer", "minimum": 1},
	}}
	prompt := []said{{From: "user", Text: "# G-1: Hello"}}
	for _, c := range []struct {
		f     format
		agent string
		add   obj
		want  string
	}{
		{chatClient(), "opencode/1.18.33 ai-sdk", nil, "Scripted"},
		{anthropicClient(), "claude-cli/2.1.325 (external, cli)", obj{"output_config": obj{"format": obj{"schema": obj{"type": "object", "properties": obj{"title": obj{"type": "string"}}}}}}, `{"title":"Scripted"}`},
		{geminiClient(), "GeminiCLI-tui/0.61.0", obj{"generationConfig": obj{"responseJsonSchema": schema}}, `{"all":[],"next_speaker":"user","reasoning":"Scripted","score":1,"sure":false}`},
	} {
		body := c.f.body(prompt, nil, false)
		for name, value := range c.add {
			body[name] = value
		}
		resp := post(t, s.URL()+c.f.path(false), body, "User-Agent", c.agent)
		raw, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if quoted := strings.ReplaceAll(c.want, `"`, `\"`); !strings.Contains(string(raw), `"`+quoted+`"`) {
			t.Errorf("%s is told %s, want %s", c.agent, raw, c.want)
		}
	}
	suggestion := []said{{From: "user", Text: "# G-1: Hello"}, {From: "model", Text: "I write."}, {From: "user", Text: "[SUGGESTION MODE: Suggest what the user might type]"}}
	resp := post(t, s.URL()+"/v1/messages", anthropicClient().body(suggestion, []string{"Bash"}, true), "User-Agent", "claude-cli/2")
	_ = resp.Body.Close()
	for _, r := range s.Requests() {
		if !r.Side || r.Conversation != "" {
			t.Errorf("no side request: %+v", r)
		}
	}
	refuseUnexpected(t, s)

	resp = post(t, s.URL()+"/v1/chat/completions", chatClient().body([]said{{From: "user", Text: "Review G-1"}}, nil, true), "User-Agent", "OpenAI/Go 3")
	defer resp.Body.Close()
	if raw, _ := io.ReadAll(resp.Body); !strings.Contains(string(raw), "REVIEW_PASSED") {
		t.Errorf("a client without tools is told %s", raw)
	}
}

// Each program's tools are called as it wants them.
func TestTools(t *testing.T) {
	script := "== a\nasked: ^run\nruns: ls -l\n\n== b\nasked: ^write\nwrites: it's/a b\n  x\n  y\n\n== c\nasked: ^read\nreads: it's/a b\n"
	patch := `*** Begin Patch\n*** Add File: it's/a b\n+x\n+y\n*** End Patch\n`
	heredoc := `"apply_patch <<'END_OF_PATCH'\n` + patch + `END_OF_PATCH\n"`
	for _, c := range []struct {
		program string
		f       format
		tools   []string
		want    []string // for run, write, read
	}{
		{"claude", anthropicClient(), []string{"Agent", "Bash", "Edit", "Read", "Write"}, []string{
			`Bash {"command":"ls -l","description":"As the script says"}`,
			`Write {"content":"x\ny\n","file_path":"/work tree/it's/a b"}`,
			`Read {"file_path":"/work tree/it's/a b"}`}},
		{"codex", responsesClient(), []string{"exec_command", "write_stdin"}, []string{
			`exec_command {"cmd":"ls -l"}`, `exec_command {"cmd":` + heredoc + `}`, `exec_command {"cmd":"cat 'it'\\''s/a b'"}`}},
		{"codex with apply_patch", responsesClient(), []string{"shell_command", "apply_patch"}, []string{
			`shell_command {"command":"ls -l"}`, `apply_patch {"input":"` + patch + `"}`, `shell_command {"command":"cat 'it'\\''s/a b'"}`}},
		{"an older codex", responsesClient(), []string{"shell"}, []string{
			`shell {"command":["bash","-c","ls -l"]}`, `shell {"command":["bash","-c",` + heredoc + `]}`, `shell {"command":["bash","-c","cat 'it'\\''s/a b'"]}`}},
		{"gemini", geminiClient(), []string{"read_file", "run_shell_command", "write_file"}, []string{
			`run_shell_command {"command":"ls -l","description":"As the script says"}`,
			`write_file {"content":"x\ny\n","file_path":"/work tree/it's/a b"}`,
			`read_file {"file_path":"/work tree/it's/a b"}`}},
		{"opencode", chatClient(), []string{"bash", "edit", "read", "write"}, []string{
			`bash {"command":"ls -l","description":"As the script says"}`,
			`write {"content":"x\ny\n","filePath":"/work tree/it's/a b"}`,
			`read {"filePath":"/work tree/it's/a b"}`}},
	} {
		t.Run(c.program, func(t *testing.T) {
			s := start(t, script)
			for i, prompt := range []string{"run", "write", "read"} {
				reply := c.f.ask(t, s, []said{{From: "user", Text: prompt}}, c.tools, i%2 == 0)
				if len(reply.Calls) != 1 {
					t.Fatalf("%s: %+v", prompt, reply)
				}
				if got := reply.Calls[0].Tool + " " + normal(t, reply.Calls[0].Args); got != c.want[i] {
					t.Errorf("%s calls %s, want %s", prompt, got, c.want[i])
				}
			}
		})
	}
}
