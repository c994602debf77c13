//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/modeltest"
	"github.com/signalbox-dev/signalbox/internal/sandbox"
)

// laid is what a repository has for the programs that work in it. Each of it leaves a file in
// @OUT@, a variable, or a sentence for the model, if a program heeds it.
var laid = map[string]map[string]string{
	"gemini": {
		".gemini/settings.json": `{"mcpServers": {"laid": {"command": "touch", "args": ["@OUT@/server"]}},
			"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "touch @OUT@/hook"}]}],
				"BeforeTool": [{"matcher": "*", "hooks": [{"type": "command", "command": "touch @OUT@/tool-hook"}]}]},
			"tools": {"discoveryCommand": "sh ./discover.sh"}}`,
		"discover.sh": "touch @OUT@/discovery\necho '[]'\n",
		"GEMINI.md":   "Laid down for the model.\n",
		".env":        "PLANTED=yes\nGOOGLE_CLOUD_PROJECT=planted\n",
	},
	"opencode": {
		"opencode.json":                `{"plugin": ["./laid.ts"], "mcp": {"laid": {"type": "local", "command": ["touch", "@OUT@/server"], "enabled": true}}}`,
		".opencode/plugin/laid.ts":     "import { writeFileSync } from 'fs'\nwriteFileSync('@OUT@/plugin', '')\nexport const Laid = async () => ({})\n",
		"laid.ts":                      "import { writeFileSync } from 'fs'\nwriteFileSync('@OUT@/plugin-setting', '')\nexport const Laid = async () => ({})\n",
		"bunfig.toml":                  "preload = [\"./preload.ts\"]\n",
		"preload.ts":                   "import { writeFileSync } from 'fs'\nwriteFileSync('@OUT@/preload', '')\n",
		".claude/skills/laid/SKILL.md": "---\nname: laid\ndescription: Laid down for the model.\n---\nNothing.\n",
		"AGENTS.md":                    "Laid down for the model.\n",
		".env":                         "PLANTED=yes\n",
	},
}

// controls is what a program is known to heed, and what the probe can do to it.
var controls = map[string][]string{
	"gemini":   {"server", "discovery", "env: broken", "project: broken: planted"},
	"opencode": {"server", "plugin", "plugin-setting", "instructions", "server: broken"},
}

// probing is what the model says: it runs the probe in the role that is asked.
const probing = `
== the program
asked: %s
asked: (?P<run>run=\S+) belongs
runs: sh ./probe.sh %s
result: tried: all
reads: deep.sh
says:
  %s
`

// A program that judges takes nothing from the change, and what it runs can neither look into
// it nor read what it was told. Without a sandbox and as a developer, the same program heeds
// what is laid for it. The probe looks for servers of the program's, so this runs beside no other test; and the control runs alone.
func TestAgentsJudge(t *testing.T) {
	programs := slices.DeleteFunc(slices.Clone(reals), func(r real) bool { return laid[r.name] == nil })
	eachSandbox(t, func(t *testing.T, kind sandbox.Kind) {
		for i, r := range programs {
			t.Run(r.name, func(t *testing.T) {
				among(t, kind == sandbox.Kinds()[1+i%2])
				w, server := r.probe(t, "^# Review of T-1:", "attack", "REVIEW_PASSED: T-1 ${run}",
					fmt.Sprintf("roles: {critic: {agent: real}}\nsandbox: {kind: %s, write: [@SCRIPTS@/starts, @OUT@]}\n", kind))
				w.completed(w.deliver())
				if heeded := w.heeded(server); len(heeded) > 0 {
					t.Errorf("heeded: %q", heeded)
				}
			})
		}
	})
	for _, r := range programs {
		t.Run("control/"+r.name, func(t *testing.T) {
			if r.name == "opencode" && !*all {
				t.Skip("NOT TESTED: it waits minutes for a network, for what plugins need; with -all")
			}
			w, server := r.probe(t, "^# T-1:", "", "READY_FOR_REVIEW: T-1 ${run}\n  No Change Needed: it only looks", "roles: {developer: {agent: real}}\n")
			w.completed(w.deliver())
			heeded := w.heeded(server)
			for _, want := range controls[r.name] {
				if !slices.Contains(heeded, want) {
					t.Errorf("%s: not heeded, so the test above shows nothing: %q", want, heeded)
				}
			}
		})
	}
}

// probe makes a world in which the program runs the probe.
func (r real) probe(t *testing.T, asked, attack, says, settings string) (*world, *modeltest.Server) {
	t.Helper()
	script, err := modeltest.Parse("probing", fmt.Sprintf(probing, asked, attack, says))
	if err != nil {
		t.Fatal(err)
	}
	server := serve(t, script)
	w := newWorld(t, "")
	fill := strings.NewReplacer("@OUT@", filepath.Join(w.scripts, "out"), "@SCRIPTS@", w.scripts)
	if err := os.Mkdir(filepath.Join(w.scripts, "out"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range laid[r.name] {
		if err := os.MkdirAll(filepath.Join(w.dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		w.write(name, fill.Replace(text))
	}
	for _, name := range []string{"probe.sh", "deep.sh"} {
		text, err := os.ReadFile(filepath.Join("testdata", "judged", name))
		if err != nil {
			t.Fatal(err)
		}
		w.write(name, string(text))
	}
	w.write("signalbox.yaml", fill.Replace(fmt.Sprintf("agents:\n  default: {command: [@SCRIPTS@/agent], commands: exec, env: {SCRIPTS: @SCRIPTS@}}\n  real: %s\nlimits: {answer: 2m}\n%s",
		r.entry(t, server.URL()), settings)))
	w.git("add", "-Af")
	w.git("commit", "-qm", "settings")
	w.tasks("T-1")
	return w, server
}

// heeded returns what a program took from what was laid for it, and what the probe could do.
func (w *world) heeded(server *modeltest.Server) []string {
	w.t.Helper()
	var all []string
	files, err := os.ReadDir(filepath.Join(w.scripts, "out"))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, f := range files {
		all = append(all, f.Name())
	}
	for _, r := range server.Requests() {
		if strings.Contains(r.System+r.Prompt, "Laid down for the model.") {
			all = append(all, "instructions")
		}
		for _, result := range r.Results {
			for line := range strings.Lines(result) {
				if strings.Contains(line, "broken") {
					all = append(all, strings.TrimSpace(line))
				}
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
