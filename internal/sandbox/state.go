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
	name  string
	dirs  []string // from the home directory
	moved string   // the variable that names the first of them instead
}

// programs are those whose logins are known. Claude Code's ~/.claude.json is not among what
// it may write: it would, unable to make a lock beside it, write it unlocked, and it works
// without.
var programs = []program{
	{"claude", []string{".claude"}, "CLAUDE_CONFIG_DIR"},
	{"codex", []string{".codex"}, "CODEX_HOME"},
	{"gemini", []string{".gemini"}, ""},
	{"opencode", []string{".config/opencode", ".local/share/opencode"}, ""},
}

// shared is what many programs keep: caches, and state that is no setting.
var shared = []string{".cache", ".local/state", ".npm"}

// bases are directories that a variable moves.
var bases = []struct{ dir, variable string }{
	{".cache", "XDG_CACHE_HOME"}, {".config", "XDG_CONFIG_HOME"}, {".local/share", "XDG_DATA_HOME"}, {".local/state", "XDG_STATE_HOME"},
}

// State returns the directories that agents' programs must be able to write for the user's
// logins to stay good: what is there of all that are known. Those of the command's own
// program, and what many share, are made if they are not there: inside, it could not.
func State(command []string, home string, getenv func(string) string) ([]string, error) {
	var all []string
	for _, dir := range shared {
		all = append(all, Place(dir, home, getenv))
	}
	for _, p := range programs {
		dirs := make([]string, 0, len(p.dirs))
		for _, dir := range p.dirs {
			dirs = append(dirs, Place(dir, home, getenv))
		}
		if to := getenv(p.moved); p.moved != "" && filepath.IsAbs(to) {
			dirs[0] = to
		}
		mine := slices.ContainsFunc(command, func(word string) bool { return strings.Contains(filepath.Base(word), p.name) })
		for _, dir := range dirs {
			if _, err := os.Stat(dir); err == nil || mine {
				all = append(all, dir)
			} else if !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
	}
	for _, dir := range all {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	return all, nil
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
