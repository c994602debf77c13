package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// program is what an agent's program keeps of the user's.
type program struct {
	name    string
	dirs    []string // from the home directory
	moved   string   // the variable that names the first of them instead
	shell   string   // what its commands need to read, in the first of them
	follows []string // patterns of names in the first of them: what it does as they say
	except  []string // paths below these that it writes by itself
	notes   string   // the one of these files that it writes notes into, by itself
}

// programs are those whose logins are known. Claude Code's ~/.claude.json is not among what
// it may write: it would, unable to make a lock beside it, write it unlocked, and it works
// without.
var programs = []program{
	{
		name: "claude", dirs: []string{".claude"}, moved: "CLAUDE_CONFIG_DIR", shell: "shell-snapshots",
		follows: []string{
			"settings.json", "settings.local.json", "CLAUDE.md", "agents", "commands", "skills", "hooks", "rules", "output-styles", "plugins", "local",
		},
		except: []string{"plugins/store"},
	},
	{
		name: "codex", dirs: []string{".codex"}, moved: "CODEX_HOME",
		follows: []string{"config.toml", "*.config.toml", "AGENTS.md", "AGENTS.override.md", "hooks.json", "rules", "skills", "prompts", "plugins"},
		except:  []string{"skills/.system"}, // which reviewers do without
		notes:   "config.toml",
	},
	{
		name: "gemini", dirs: []string{".gemini"},
		follows: []string{
			"settings.json", "GEMINI.md", ".env", "agents", "commands", "extensions", "hooks", "policies", "skills", "trustedFolders.json",
		},
	},
	{
		name: "opencode", dirs: []string{".config/opencode", ".local/share/opencode"},
		follows: []string{"*"},
		except:  []string{"node_modules", "package.json", "package-lock.json", "bun.lock", "bun.lockb", ".gitignore"},
	},
}

// shared is what many programs keep: caches, and state that is no setting.
var shared = []string{".cache", ".local/state", ".npm"}

// bases are directories that a variable moves.
var bases = []struct{ dir, variable string }{
	{".cache", "XDG_CACHE_HOME"}, {".config", "XDG_CONFIG_HOME"}, {".local/share", "XDG_DATA_HOME"}, {".local/state", "XDG_STATE_HOME"},
}

// State is what agents' programs must be able to write for the user's logins to stay good.
type State struct {
	Own    []string // what the command's own program keeps: settings, logins, conversations
	Others []string // what other programs keep
	Shared []string // caches, and state that is no setting
	Shell  []string // what commands need to read of the first two
}

// Kept is what programs keep, which is nobody else's to read.
func (s State) Kept() []string { return slices.Concat(s.Own, s.Others) }

// FindState returns what is there of all programs that are known. What belongs to the
// command's own program, and what many share, is made if it is not there: inside, the
// program could not.
func FindState(command []string, home string, getenv func(string) string) (State, error) {
	var s State
	for _, dir := range shared {
		s.Shared = append(s.Shared, Place(dir, home, getenv))
	}
	for _, p := range programs {
		for _, dir := range p.places(home, getenv) {
			_, err := os.Stat(dir)
			switch {
			case p.runs(command):
				s.Own = append(s.Own, dir)
			case err == nil:
				s.Others = append(s.Others, dir)
			case errors.Is(err, fs.ErrNotExist):
				continue
			default:
				return s, err
			}
			if p.shell != "" {
				s.Shell = append(s.Shell, filepath.Join(dir, p.shell))
			}
		}
	}
	for _, dir := range slices.Concat(s.Own, s.Shared, s.Shell) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return s, err
		}
	}
	return s, nil
}

// places are where a program keeps what is the user's.
func (p program) places(home string, getenv func(string) string) []string {
	dirs := make([]string, 0, len(p.dirs))
	for _, dir := range p.dirs {
		dirs = append(dirs, Place(dir, home, getenv))
	}
	if to := getenv(p.moved); p.moved != "" && filepath.IsAbs(to) {
		dirs[0] = to
	}
	return dirs
}

// runs reports whether a command names the program.
func (p program) runs(command []string) bool {
	return Runs(command, p.name)
}

// Nested returns the policy for commands that a confined program runs within its sandbox:
// what programs keep is hidden, with the prompts in it, so that no command reads them.
func (s State) Nested(kind Kind) *Policy {
	return &Policy{Kind: kind, Nested: true, Hidden: s.Kept(), Read: s.Shell}
}

// Place is where a directory of the home directory lies, given by its slash-separated path:
// below what an XDG variable names, if it is in one of the directories that these move.
func Place(dir, home string, getenv func(string) string) string {
	for _, base := range bases {
		rest, ok := strings.CutPrefix(dir+"/", base.dir+"/")
		if to := getenv(base.variable); ok && filepath.IsAbs(to) {
			return filepath.Join(to, filepath.FromSlash(rest))
		}
	}
	return filepath.Join(home, filepath.FromSlash(dir))
}

// launchers are programs that run the one that their first argument names.
var launchers = []string{"node", "bun", "deno", "sh", "bash", "env", "npx", "bunx", "pnpx"}

// Runs reports whether a command's program is the one of a name, by itself or by a launcher.
// What else the command names, such as a model, is no program.
func Runs(command []string, name string) bool {
	for _, word := range command {
		switch base := filepath.Base(word); {
		case strings.HasPrefix(word, "-"), slices.Contains(launchers, base):
		default:
			return strings.Contains(base, name)
		}
	}
	return false
}
