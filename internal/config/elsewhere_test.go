package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a runner on another machine goes by is what the box goes by, less what is the box's own, and each path of the user's home is
// in that of whoever runs there.
func TestElsewhere(t *testing.T) {
	here, there := t.TempDir(), t.TempDir()
	t.Setenv("HOME", filepath.Join(here, "home"))
	if err := os.WriteFile(filepath.Join(here, "critic.md"), []byte("Be strict."), 0o600); err != nil {
		t.Fatal(err)
	}
	box, err := Parse(filepath.Join(here, File), []byte(`
listen: 127.0.0.1:7071
archive: {dir: elsewhere, keep: 100h}
notify: {command: tell-me}
agents:
  default: {command: [./agent, --fast], env: {A: "1", EMPTY: ""}, adapter: plain, commands: exec}
  oracle: {adapter: ask, provider: openai, model: m, tree: react}
roles:
  critic: {prompt: critic.md, wall_clock: 10m}
  expert: {agent: oracle}
checks: [{name: tests, command: go test ./...}, {name: lint, command: make lint, exit: 1}]
sandbox: {kind: none, write: [~/.cache/tool, /srv/shared]}
limits: {agents: 7}
merge: {into: branch}
`))
	if err != nil {
		t.Fatal(err)
	}
	text, prompts, err := box.Elsewhere()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]string{"critic": "Be strict."}, prompts); d != "" {
		t.Error(d)
	}
	if err := os.MkdirAll(filepath.Join(there, PromptsDir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(there, PromptsDir, "critic"), []byte("Be strict."), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", filepath.Join(there, "home"))
	runner, err := Parse(filepath.Join(there, File), []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if _, ok := runner.Agents["oracle"]; ok || runner.Listen != Default().Listen || runner.Notify.On() || runner.Archive != (Archive{}) {
		t.Errorf("what is the box's own has gone along:\n%s", text)
	}
	want := []string{filepath.Join(there, "home", ".cache", "tool"), "/srv/shared"}
	if d := cmp.Diff(want, runner.Sandbox.Write); d != "" {
		t.Error(d)
	}
	if a := runner.Agents["default"]; a.Resolve(runner.Dir)[0] != filepath.Join(there, "agent") || a.Commands != CommandsExec || a.Env["A"] != "1" {
		t.Errorf("%+v", a)
	}
	if len(runner.Checks) != 2 || runner.Checks[1].Exit != 1 || runner.Limits != box.Limits || runner.Roles.Critic.WallClock != box.Roles.Critic.WallClock {
		t.Errorf("%+v", runner)
	}
	again, _, err := runner.Elsewhere()
	if err != nil || again != text {
		t.Errorf("told on it is something else: %v\n%s\n%s", err, again, text)
	}
}
