package runner_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/runner"
)

// What a run does not protect follows from its settings alone.
func TestUnprotected(t *testing.T) {
	t.Parallel()
	const agents = `
agents:
  claude: {adapter: claude, command: [claude]}
  codex: {adapter: codex, command: [codex]}
  script: {command: [./script]}
  careful: {command: [./careful], commands: exec}
`
	roles := func(critic, auditor, rest string) string {
		text := agents + "roles: {critic: {agent: " + critic + "}, auditor: {agent: " + auditor + "}"
		for _, role := range agentsig.Roles() {
			if role != agentsig.RoleCritic && role != agentsig.RoleAuditor {
				text += ", " + string(role) + ": {agent: claude" + rest + "}"
			}
		}
		return text + "}\n"
	}
	for _, c := range []struct {
		name, text string
		want       []string // the beginnings
	}{
		{"no sandbox", roles("claude", "claude", ""), []string{"agents and checks run without a sandbox"}},
		{"landlock", roles("claude", "careful", "") + "sandbox: {kind: landlock}", nil},
		{"checks outside", roles("claude", "claude", "") + "sandbox: {kind: landlock, checks: off}", []string{"checks run without"}},
		{"a script reviews", roles("script", "claude", "") + "sandbox: {kind: landlock}\nreview: unprotected", []string{"what the critic runs (script) could speak for it"}},
		{"Codex in landlock", roles("claude", "codex", "") + "sandbox: {kind: landlock}", []string{"what the auditor runs (codex) could speak for it"}},
		{"Codex in bubblewrap", roles("codex", "codex", "") + "sandbox: {kind: bubblewrap}", nil},
		{"reviewers alone", strings.ReplaceAll(roles("claude", "claude", ""), "}, auditor: {agent: claude}", ", sandbox: landlock}, auditor: {agent: claude, sandbox: landlock}"),
			[]string{"checks run without", "the role developer is played", "the role analyst", "the role remediation", "the role health_auditor", "the role expert"}},
		{"a developer outside", strings.Replace(roles("claude", "claude", ""), "developer: {agent: claude", "developer: {agent: claude, sandbox: none", 1) + "sandbox: {kind: landlock}",
			[]string{"the role developer is played without a sandbox"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), config.File)
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			settings, err := config.Load(file)
			if err != nil {
				t.Fatal(err)
			}
			got := runner.Unprotected(settings)
			if len(got) != len(c.want) {
				t.Fatalf("got %q, want %q", got, c.want)
			}
			for i, want := range c.want {
				if !strings.HasPrefix(got[i], want) {
					t.Errorf("got %q, want %q", got[i], want)
				}
			}
		})
	}
}

// The settings that the pages show in a sandbox are protected: a run takes them.
func TestPagesAreProtected(t *testing.T) {
	t.Parallel()
	shown := 0
	for _, page := range []string{"agents.md", "delivery.md"} {
		data, err := os.ReadFile(filepath.Join("../../docs", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range strings.Split(string(data), "```yaml\n")[1:] {
			text, _, _ := strings.Cut(block, "```")
			if !strings.Contains(text, "agents:") || !strings.Contains(text, "sandbox:") {
				continue
			}
			shown++
			c, err := config.Parse(filepath.Join(t.TempDir(), config.File), []byte(text))
			if err != nil {
				t.Errorf("%s: %v\n%s", page, err, text)
			} else if all := runner.Unprotected(c); len(all) > 0 {
				t.Errorf("%s: %q\n%s", page, all, text)
			}
		}
	}
	if shown == 0 {
		t.Error("no page shows settings with a sandbox")
	}
}
