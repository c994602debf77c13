package agent

import (
	"errors"
	"fmt"
	"os"

	"github.com/signalbox-dev/signalbox/internal/sandbox"
	"github.com/signalbox-dev/signalbox/safetext"
)

// claudePrefix is the variable by which Claude Code takes a program to put before each of
// its commands, hooks included.
const claudePrefix = "CLAUDE_CODE_SHELL_PREFIX"

// MakeNest makes what a confined agent runs commands through.
func MakeNest(s Spec) error {
	if s.Nested == nil {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	nested := *s.Nested
	nested.Unset = []string{opencodePassword}
	return sandbox.MakeNest(s.Nest, self, nested)
}

// ErrUnprotected is returned for an agent for which what it runs could speak.
var ErrUnprotected = errors.New("what it runs, such as the change's own tests, could speak for it")

// Way is how the commands that an agent's program runs come to be kept apart from it.
type Way string

// The ways.
const (
	WayNone   Way = ""
	WayPrefix Way = "prefix" // the program puts Signalbox before each command
	WayShells Way = "shells" // Signalbox stands in the place of the shells
	WayPath   Way = "path"   // Signalbox stands where the program looks for a shell
	WayExec   Way = "exec"   // the program calls `signalbox exec`, as its settings say
)

// StandsIn reports whether Signalbox stands where the program finds its shells.
func (w Way) StandsIn() bool { return w == WayShells || w == WayPath }

// ways are the programs that speak the Agent Client Protocol and are known, by a part of
// their name.
var ways = []struct {
	name string
	way  Way
}{
	{"claude-agent-acp", WayPrefix}, {"codex-acp", WayShells}, {"gemini", WayPath}, {"opencode", WayPath},
}

// Way returns how the commands of an agent's program are kept apart from it in a sandbox.
func (c Config) Way() Way {
	switch {
	case c.Exec:
		return WayExec
	case c.Adapter == AdapterClaude:
		return WayPrefix
	case c.Adapter == AdapterCodex:
		return WayShells
	case c.Adapter != AdapterACP:
		return WayNone
	}
	for _, w := range ways {
		if c.is(w.name) {
			return w.way
		}
	}
	return WayNone
}

// Protect returns nil if what an agent's program runs can't speak for it in a sandbox of a
// kind. Otherwise the error is [ErrUnprotected], with what to do.
func (c Config) Protect(kind sandbox.Kind) error {
	advice := ""
	switch way := c.Way(); {
	case kind == sandbox.None:
		advice = "set a sandbox"
	case way == WayNone:
		advice = "have it run commands by `signalbox exec -- COMMAND` alone, and set commands: exec for it"
	case way == WayShells && kind != sandbox.Bubblewrap:
		advice = "use the sandbox " + string(sandbox.Bubblewrap)
	}
	if advice == "" {
		return nil
	}
	return fmt.Errorf("the agent %s: %w: %s", safetext.Escape(c.Name), ErrUnprotected, advice)
}
