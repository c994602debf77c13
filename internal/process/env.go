package process

import (
	"slices"
	"strings"
)

// What an agent's program tells the programs that it starts about itself. One that is
// started by a box is not part of what the box was started from.
var (
	outerNames    = []string{"CLAUDECODE", "GEMINI_CLI"}
	outerPrefixes = []string{"CLAUDE_CODE_", "CODEX_", "GEMINI_CLI_", "SIGNALBOX_"}
)

// Of these names, what the user logs in with and where the settings are.
var (
	userNames    = []string{"CLAUDE_CODE_OAUTH_TOKEN", "CODEX_HOME", "CODEX_API_KEY", "GEMINI_CLI_HOME", "GEMINI_CLI_TRUST_WORKSPACE"}
	userPrefixes = []string{"CLAUDE_CODE_USE_", "CLAUDE_CODE_SKIP_", "CLAUDE_CODE_DISABLE_", "CLAUDE_CODE_MAX_"}
)

// What makes git work on another repository than the one it is started in.
var gitNames = []string{
	"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_DIR",
	"GIT_GRAFT_FILE", "GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_NAMESPACE", "GIT_OBJECT_DIRECTORY",
	"GIT_PREFIX", "GIT_QUARANTINE_PATH", "GIT_SHALLOW_FILE", "GIT_WORK_TREE",
}

// CleanEnv returns an environment less what an outer agent, a box or git left in it:
// the program that gets it shall be as if the user had started it. Logins and the
// places of settings stay.
func CleanEnv(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		if slices.Contains(userNames, name) || hasPrefix(name, userPrefixes) {
			return false
		}
		return slices.Contains(outerNames, name) || slices.Contains(gitNames, name) || hasPrefix(name, outerPrefixes)
	})
}

func hasPrefix(name string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}
