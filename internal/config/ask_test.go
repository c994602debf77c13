package config_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/advice"
	"github.com/signalbox-dev/signalbox/internal/config"
)

// An expert can be a model that this program asks: its files are found from the settings, and its command is this program.
func TestAsk(t *testing.T) {
	dir := t.TempDir()
	c, err := load(t, dir, `
agents:
  default: {command: [sh]}
  oracle: {adapter: ask, model: m, tools: conf/tools.json, tree: ./tree.lua, allow: [order_pizza]}
  other: {adapter: ask, tree: react, env: {SIGNALBOX_MODEL: n}}
roles: {expert: {agent: oracle}}
`)
	if err != nil {
		t.Fatal(err)
	}
	oracle, other := c.Agents["oracle"], c.Agents["other"]
	want := advice.Settings{Model: "m", Tools: filepath.Join(dir, "conf", "tools.json"), Tree: filepath.Join(dir, "tree.lua"), Allow: []string{"order_pizza"}}
	if got := oracle.Asks(); got.Model != want.Model || got.Tools != want.Tools || got.Tree != want.Tree || !slices.Equal(got.Allow, want.Allow) {
		t.Errorf("it asks with %+v, want %+v", got, want)
	}
	if got := other.Asks(); got.Tree != "react" || got.Tools != "" {
		t.Errorf("it asks with %+v", got)
	}
	if command := oracle.Resolve(dir); len(command) != 2 || !filepath.IsAbs(command[0]) || command[1] != advice.Command {
		t.Errorf("its command is %q", command)
	}
	if c.Role(agentsig.RoleExpert).Agent != "oracle" || c.Role(agentsig.RoleCritic).Agent != "default" {
		t.Errorf("roles: %+v", c.Roles)
	}
	oracle.Model = ""
	if err := oracle.TryAsk(t.Context(), dir); !errors.Is(err, config.ErrNoModel) {
		t.Errorf("without a model: %v", err)
	}
}

func TestAskIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"agents: {o: {adapter: ask, model: m}}":                                                      "roles.developer.agent: o answers questions (adapter: ask), and can be the expert alone",
		"agents: {default: {command: [sh]}, o: {adapter: ask}}\nroles: {critic: {agent: o}}":         "roles.critic.agent: o answers questions",
		"agents: {default: {command: [sh], tools: x}}":                                               "agents.default.tools: it is for agents with adapter: ask",
		"agents: {default: {command: [sh], model: x}}":                                               "agents.default.model: it is for agents with adapter: ask",
		"agents: {default: {command: [sh], tree: x}}":                                                "agents.default.tree: it is for agents with adapter: ask",
		"agents: {default: {command: [sh], allow: [x]}}":                                             "agents.default.allow: it is for agents with adapter: ask",
		"agents: {default: {command: [sh]}, o: {adapter: ask, command: [sh]}}":                       "agents.o.command: with adapter: ask it is Signalbox itself: leave it out",
		"agents: {default: {command: [sh]}, o: {adapter: ask, commands: exec}}":                      "agents.o.commands: with adapter: ask it runs none",
		"agents: {default: {command: [sh]}, o: {adapter: ask, model: \"a\\nb\"}}":                    "agents.o.model: \"a\\nb\" is no name",
		"agents: {default: {command: [sh]}, o: {adapter: ask, allow: [good, \"not one\"]}}":          "agents.o.allow[2]: \"not one\" is no name of a tool",
		"agents: {default: {command: [sh]}, o: {adapter: ask, input: json}}":                         "agents.o.input",
		"agents: {default: {command: [sh]}, o: {adapter: ask}}\nroles: {health_auditor: {agent: o}}": "roles.health_auditor.agent: o answers questions",
	} {
		if _, err := load(t, t.TempDir(), text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
	}
}
