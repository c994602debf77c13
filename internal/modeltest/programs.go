package modeltest

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Pointed is how an agent's program is pointed to a model server: files that it needs in a home directory of its own, by their
// path there, and variables. No key is needed, and what would reach out to others is switched off.
type Pointed struct{ Files, Env map[string]string }

// Claude points Claude Code to a server.
func Claude(home, url string) Pointed {
	return Pointed{Env: map[string]string{
		"CLAUDE_CONFIG_DIR": filepath.Join(home, ".claude"), "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "dummy",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1",
	}}
}

// Codex points Codex to a server. It refuses a home directory below /tmp.
func Codex(home, url string) Pointed {
	return Pointed{map[string]string{".codex/config.toml": fmt.Sprintf(`
model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.scripted]
name = "scripted"
base_url = "%s/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
`, url)}, map[string]string{"CODEX_HOME": filepath.Join(home, ".codex"), "SCRIPTED_KEY": "dummy"}}
}

// Gemini points Gemini CLI to a server.
func Gemini(_, url string) Pointed {
	return Pointed{map[string]string{".gemini/settings.json": `{
		"security": {"auth": {"selectedType": "gemini-api-key"}},
		"general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
		"privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false}}`,
	}, map[string]string{"GEMINI_API_KEY": "dummy", "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_CLI_TRUST_WORKSPACE": "true"}}
}

// OpenCode points OpenCode to a server.
func OpenCode(home, url string) Pointed {
	env := map[string]string{
		"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
		"OPENCODE_DISABLE_DEFAULT_PLUGINS": "1", "OPENCODE_PERMISSION": `{"edit":"ask","bash":"ask","webfetch":"ask"}`,
	}
	for _, kind := range []string{"CONFIG", "DATA", "CACHE", "STATE"} {
		env["XDG_"+kind+"_HOME"] = filepath.Join(home, "xdg", strings.ToLower(kind))
	}
	return Pointed{map[string]string{"xdg/config/opencode/opencode.json": fmt.Sprintf(`{
		"$schema": "https://opencode.ai/config.json", "autoupdate": false, "share": "disabled", "model": "scripted/model",
		"provider": {"scripted": {"npm": "@ai-sdk/openai-compatible", "name": "scripted",
			"options": {"baseURL": "%s/v1", "apiKey": "dummy"}, "models": {"model": {"name": "model"}}}}}`, url),
	}, env}
}
