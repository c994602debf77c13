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
	shell string   // what its commands need to read, in the first of them
}

// programs are those whose logins are known. Claude Code's ~/.claude.json is not among what
// it may write: it would, unable to make a lock beside it, write it unlocked, and it works
// without.
var programs = []program{
	{"claude", []string{".claude"}, "CLAUDE_CONFIG_DIR", "shell-snapshots"},
	{"codex", []string{".codex"}, "CODEX_HOME", ""},
	{"gemini", []string{".gemini"}, "", ""},
	{"opencode", []string{".config/opencode", ".local/share/opencode"}, "", ""},
}

// shared is what many programs keep: caches, and state that is no setting.
var shared = []string{".cache", ".local/state", ".npm"}

// bases are directories that a variable moves.
var bases = []struct{ dir, variable string }{
	{".cache", "XDG_CACHE_HOME"}, {".config", "XDG_CONFIG_HOME"}, {".local/share", "XDG_DATA_HOME"}, {".local/state", "XDG_STATE_HOME"},
}

// State is what agents' programs must be able to write for the user's logins to stay good.
type State struct {
	Own    []string // what the programs keep: settings, logins, conversations
	Shared []string // caches, and state that is no setting
	Shell  []string // what commands need to read of the former
}

// FindState returns what is there of all programs that are known. What belongs to the
// command's own program, and what many share, is made if it is not there: inside, the
// program could not.
func FindState(command []string, home string, getenv func(string) string) (State, error) {
	var s State
	for _, dir := range shared {
		s.Shared = append(s.Shared, Place(dir, home, getenv))
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
				s.Own = append(s.Own, dir)
				if p.shell != "" {
					s.Shell = append(s.Shell, filepath.Join(dir, p.shell))
				}
			} else if !errors.Is(err, fs.ErrNotExist) {
				return s, err
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

// Nested returns the policy for commands that a confined program runs within its sandbox:
// what programs keep is hidden, with the prompts in it, so that no command reads them.
func (s State) Nested(kind Kind) *Policy {
	return &Policy{Kind: kind, Nested: true, Hidden: s.Own, Read: s.Shell}
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
