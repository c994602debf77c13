package agent_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/sandbox"
	"github.com/signalbox-dev/signalbox/internal/session/agent"
)

// What Gemini CLI and OpenCode are told, besides what the user tells them.
func TestSettings(t *testing.T) {
	t.Parallel()
	const nest, private = "/box/session/nest", "/box/session/private"
	shells := []string{"SIGNALBOX_NEST=" + nest, "CLAUDE_CODE_SHELL_PREFIX=" + sandbox.NestPrefix(nest)}
	found := append(slices.Clone(shells), "PATH="+sandbox.NestShells(nest)+":/usr/bin", "SHELL="+sandbox.NestShell(nest, "/bin/bash"))
	shell := `"shell":"` + filepath.ToSlash(sandbox.NestShell(nest, "/bin/bash")) + `"`
	env := []string{"PATH=/usr/bin", "SHELL=/bin/bash", "GEMINI_API_KEY=k"}
	untrusted := []string{"GEMINI_CLI_TRUST_WORKSPACE=false", "GOOGLE_API_KEY=", "GOOGLE_CLOUD_PROJECT=", "GOOGLE_CLOUD_LOCATION="}
	for name, c := range map[string]struct {
		command        string
		nested, judges bool
		config         string
		want           []string
	}{
		"gemini":                    {command: "gemini"},
		"gemini, confined":          {command: "gemini", nested: true, want: found},
		"gemini judges":             {command: "gemini", judges: true, want: untrusted},
		"gemini judges, confined":   {command: "/opt/gemini", nested: true, judges: true, want: slices.Concat(found, untrusted)},
		"opencode":                  {command: "opencode"},
		"opencode, confined":        {command: "opencode", nested: true, want: slices.Concat(found, []string{"OPENCODE_SERVER_PASSWORD=?", "BUN_TMPDIR=" + private, `OPENCODE_CONFIG_CONTENT={` + shell + `}`})},
		"opencode judges":           {command: "opencode", judges: true, want: []string{"OPENCODE_DISABLE_PROJECT_CONFIG=1", "OPENCODE_DISABLE_EXTERNAL_SKILLS=1", `OPENCODE_CONFIG_CONTENT={"formatter":false,"lsp":false}`}},
		"opencode, the user's":      {command: "opencode", config: `{"model":"m","lsp":true}`, judges: true, want: []string{"OPENCODE_DISABLE_PROJECT_CONFIG=1", "OPENCODE_DISABLE_EXTERNAL_SKILLS=1", `OPENCODE_CONFIG_CONTENT={"formatter":false,"lsp":false,"model":"m"}`}},
		"another, confined, judges": {command: "claude-agent-acp", nested: true, judges: true, want: shells},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := agent.Spec{Agent: agent.Config{Adapter: agent.AdapterACP, Command: []string{c.command, "acp"}}, Judges: c.judges, Nest: nest, Private: private}
			if c.nested {
				s.Nested = &sandbox.Policy{}
			}
			all := env
			if c.config != "" {
				all = append(slices.Clone(env), "OPENCODE_CONFIG_CONTENT="+c.config)
			}
			got, err := agent.Settings(s, all)
			if err != nil {
				t.Fatal(err)
			}
			for i, entry := range got {
				if password, ok := strings.CutPrefix(entry, "OPENCODE_SERVER_PASSWORD="); ok && len(password) > 20 {
					got[i] = "OPENCODE_SERVER_PASSWORD=?"
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Settings that nothing can be added to are not passed over: the user is told.
func TestSettingsUnreadable(t *testing.T) {
	t.Parallel()
	for _, config := range []string{"{", "[]", "null", "{} // a comment"} {
		s := agent.Spec{Agent: agent.Config{Adapter: agent.AdapterACP, Command: []string{"opencode"}}, Judges: true}
		if got, err := agent.Settings(s, []string{"OPENCODE_CONFIG_CONTENT=" + config}); err == nil || !strings.Contains(err.Error(), "put its settings into a file") {
			t.Errorf("%s: %q, %v", config, got, err)
		}
	}
}
