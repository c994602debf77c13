package agent

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/sandbox"
)

// What Gemini CLI and OpenCode are told by variables.
const (
	geminiTrust      = "GEMINI_CLI_TRUST_WORKSPACE"
	opencodeConfig   = "OPENCODE_CONFIG_CONTENT"          // settings that go before those of files
	opencodeProject  = "OPENCODE_DISABLE_PROJECT_CONFIG"  // the worktree's settings and instructions
	opencodeSkills   = "OPENCODE_DISABLE_EXTERNAL_SKILLS" // other programs' skills, the worktree's too
	opencodePassword = "OPENCODE_SERVER_PASSWORD"
	opencodeTemp     = "BUN_TMPDIR" // where it puts libraries that it loads
)

// geminiLogins are the variables that Gemini CLI takes from a file .env of a directory that it
// is told not to trust, if its environment has none.
var geminiLogins = []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"}

// settings returns the variables that keep the commands of a program apart from it, and keep
// the program from taking settings from what it judges. Env is what it would get otherwise.
func (p *program) settings(env []string) ([]string, error) {
	all := p.nestSettings(env)
	if p.spec.Judges && p.spec.Agent.is("gemini") {
		all = append(all, geminiTrust+"=false")
		for _, name := range geminiLogins {
			if _, ok := lookup(env, name); !ok {
				all = append(all, name+"=")
			}
		}
	}
	if !p.spec.Agent.is("opencode") {
		return all, nil
	}
	if p.spec.Judges {
		all = append(all, opencodeProject+"=1", opencodeSkills+"=1")
	}
	config, err := p.opencodeSettings(env)
	return append(all, config...), err
}

// nestSettings tells a confined program of its nest.
func (p *program) nestSettings(env []string) []string {
	if p.spec.Nested == nil {
		return nil
	}
	nest := p.spec.Nest
	all := []string{sandbox.NestVariable + "=" + nest, claudePrefix + "=" + sandbox.NestPrefix(nest)}
	if p.spec.Agent.Way() == WayPath {
		path, _ := lookup(env, "PATH")
		user, _ := lookup(env, "SHELL")
		all = append(all, "PATH="+strings.TrimSuffix(sandbox.NestShells(nest)+string(os.PathListSeparator)+path, string(os.PathListSeparator)),
			"SHELL="+sandbox.NestShell(nest, user))
	}
	return all
}

// opencodeSettings returns OpenCode's settings as variables. The shell of its settings would
// count more than SHELL. Its server, which it talks to itself, would answer to its commands
// without a password, and they could write the libraries that it runs from. Language servers and formatters are the change's own programs: it looks
// for them in the worktree.
func (p *program) opencodeSettings(env []string) ([]string, error) {
	config, all := map[string]any{}, []string(nil)
	if given, ok := lookup(env, opencodeConfig); ok && given != "" {
		if err := json.Unmarshal([]byte(given), &config); err != nil || config == nil {
			return nil, fmt.Errorf("the agent's %s is not a JSON object, so nothing can be added to it: put its settings into a file (%w)", opencodeConfig, err)
		}
	}
	if p.spec.Nested != nil {
		user, _ := lookup(env, "SHELL")
		config["shell"] = sandbox.NestShell(p.spec.Nest, user)
		all = append(all, opencodePassword+"="+p.secret, opencodeTemp+"="+p.spec.Private)
	}
	if p.spec.Judges {
		config["lsp"], config["formatter"] = false, false
	}
	if len(config) == 0 {
		return all, nil
	}
	text, err := json.Marshal(config)
	return append(all, opencodeConfig+"="+string(text)), err
}

// lookup finds the value of a variable, the last one if there are several.
func lookup(env []string, name string) (value string, ok bool) {
	for _, entry := range env {
		if v, is := strings.CutPrefix(entry, name+"="); is {
			value, ok = v, true
		}
	}
	return value, ok
}

// Heeds are the names of what an agent's program takes from the top of the directory that it
// works in, whatever it is told: OpenCode (1.18.33) imports the plugins there though its
// variable for that is set.
func (c Config) Heeds() []string {
	if c.is("opencode") {
		return []string{".opencode", "opencode.json", "opencode.jsonc"}
	}
	return nil
}
