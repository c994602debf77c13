package config_test

import (
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/config"
)

// Settings are shown in their order, with their defaults, and no secret.
func TestShown(t *testing.T) {
	c, err := config.Parse("/x/signalbox.yaml", []byte(`
redact: ['ACME-[0-9]+']
agents: {a.b: {command: [agent, --key, ACME-77, 'https://ann:hunter2@example.org'], env: {API_KEY: s3cret-1, 'DOTTED.NAME': s3cret-2}}}
checks: [{name: test, command: go test, environment: TOKEN=s3cret-3}]
notify: {webhook: 'https://ann:s3cret-4@hooks.example.org/services/s3cret-5?s3cret-6', secret_env: HOOK_SECRET}
limits: {agents: 5, gates: 4}
keep: {megabytes: 0, worktrees: 25h30m}
sandbox: {network: off}
`))
	if err != nil {
		t.Fatal(err)
	}
	all, err := c.Shown()
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]config.Setting{}
	for _, s := range all {
		shown[s.Name] = s
		if strings.Contains(s.Value, "s3cret") || strings.Contains(s.Value, "ACME") || strings.Contains(s.Value, "hunter2") {
			t.Errorf("%s is shown as %q", s.Name, s.Value)
		}
	}
	for _, want := range []config.Setting{
		{"limits.agents", "5", true, ""}, {"limits.gates", "4", false, ""}, {"limits.silence", "5m", true, ""}, {"checks[1].command", "go test", false, ""},
		{"agents.a.b.env.API_KEY", "set, and not shown", false, ""}, {"checks[1].environment", "set, and not shown", false, ""}, {"redact", "set, and not shown", false, ""},
		{"notify.webhook", "https://hooks.example.org/…", false, ""}, {"notify.secret_env", "HOOK_SECRET", false, ""}, {"notify.command", "", true, ""},
		{"notify.kinds", "question, review, finished, failed, stalled, budget, runner_lost", true, ""}, {"hosts", "", true, ""},
		// What nobody has set is said to be by default, also of what somebody has named, and what follows from another setting.
		{"agents.a.b.adapter", "plain", true, ""}, {"agents.a.b.model", "", true, ""}, {"agents.a.b.provider", "a.b", true, ""}, {"roles.critic.agent", "a.b", true, ""}, {"roles.critic.network", "off", true, ""},
		{"sandbox.network", "off", false, ""}, {"checks[1].exit", "0", true, ""}, {"checks[1].timeout", "10m", true, ""},
		// A value that means something else than it seems to says so.
		{"budget.tokens", "0", true, "no limit"}, {"budget.turn.cost_usd", "0", true, "no limit"}, {"keep.megabytes", "0", false, "no limit"}, {"archive.keep", "0s", true, "for ever"},
		{"keep.transcripts", "2160h", true, "90 days"}, {"keep.worktrees", "25h30m", false, ""}, {"archive.mirror", "", true, "there is none"}, {"listen", "127.0.0.1:0", true, "the port of before, or any that is free"},
	} {
		if shown[want.Name] != want {
			t.Errorf("%s is %+v; want %+v", want.Name, shown[want.Name], want)
		}
	}
	if all[0].Name != "exit_protocol" {
		t.Errorf("the first is %+v", all[0])
	}
}
