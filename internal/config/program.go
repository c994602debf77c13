package config

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/process"
	"github.com/signalbox-dev/signalbox/safetext"
)

// Offer is an agent that settings can be proposed with.
type Offer struct {
	Name string
	Agent
}

// knownProgram is an agent's program of which more is known than its name.
type knownProgram struct {
	Offer
	title string // what people call it
	npm   string // the package that it is in
	tried string // the version that was tried; empty if none was
	node  string // the oldest Node that it is made for, if it does not bring its own
}

// knownPrograms are in the order in which they are offered. Of those with the same
// name, the first one that is installed is.
var knownPrograms = []knownProgram{
	{Offer{"claude", Agent{Adapter: AdapterACP, Command: []string{"claude-agent-acp"}, Provider: "anthropic"}},
		"Claude Code", "@agentclientprotocol/claude-agent-acp", "0.99.0", "22"},
	{Offer{"claude", Agent{Adapter: AdapterClaude, Command: []string{"claude"}, Provider: "anthropic"}},
		"Claude Code", "@anthropic-ai/claude-code", "2.1.325", ""},
	{Offer{"codex", Agent{Adapter: AdapterACP, Command: []string{"codex-acp"}, Provider: "openai"}},
		"Codex", "@zed-industries/codex-acp", "0.16.0", ""},
	{Offer{"codex", Agent{Adapter: AdapterCodex, Command: []string{"codex"}, Provider: "openai"}},
		"Codex", "@openai/codex", "0.166.0", ""},
	{Offer{"gemini", Agent{Adapter: AdapterACP, Command: []string{"gemini", "--acp"}, Provider: "google"}},
		"Gemini CLI", "@google/gemini-cli", "0.61.0", ""},
	{Offer{"opencode", Agent{Adapter: AdapterACP, Command: []string{"opencode", "acp"},
		Env: map[string]string{"OPENCODE_PERMISSION": `{"edit":"ask","bash":"ask","webfetch":"ask"}`}}},
		"OpenCode, which asks for permission only if it is told to", "opencode-ai", "1.18.33", ""},
	{Offer{"copilot", Agent{Adapter: AdapterACP, Command: []string{"copilot", "--acp"}}},
		"GitHub Copilot CLI", "@github/copilot", "", ""},
}

// KnownAgents returns the names of the agents that are looked for.
func KnownAgents() []string {
	var names []string
	for _, k := range knownPrograms {
		names = append(names, k.Name)
	}
	return slices.Compact(names)
}

// known returns what is known of the agent's program.
func (a Agent) known() (knownProgram, bool) {
	name := filepath.Base(a.Command[0])
	i := slices.IndexFunc(knownPrograms, func(k knownProgram) bool { return k.Command[0] == name })
	if i < 0 {
		return knownProgram{}, false
	}
	return knownPrograms[i], true
}

// installed returns the agents whose programs are there.
func installed() []Offer {
	var found []Offer
	for _, k := range knownPrograms {
		taken := slices.ContainsFunc(found, func(o Offer) bool { return o.Name == k.Name })
		if _, err := exec.LookPath(k.Command[0]); err == nil && !taken {
			found = append(found, k.Offer)
		}
	}
	return found
}

// Find returns where the agent's program is.
func (a Agent) Find(dir string) (string, error) {
	command := a.Resolve(dir)
	path, err := exec.LookPath(command[0])
	if err == nil || a.Adapter == AdapterAsk {
		return path, err
	}
	advice := ""
	if k, ok := a.known(); ok && k.Command[0] == command[0] {
		advice = fmt.Sprintf("; `npm install -g %s` installs it", k.npm)
	}
	return "", fmt.Errorf("%s is not there, or can't be run%s", safetext.Escape(command[0]), advice)
}

// Callable is how others start the program that is at a path: by its name, if that leads to it, and otherwise by the path.
func Callable(path string) string {
	name := filepath.Base(path)
	found, err := exec.LookPath(name)
	if err != nil {
		return path
	}
	there, err := os.Stat(found)
	if err != nil {
		return path
	}
	if is, err := os.Stat(path); err != nil || !os.SameFile(there, is) {
		return path
	}
	return name
}

// Program is what is found of an agent's program.
type Program struct {
	Path     string
	Version  string   // in its own words, escaped; empty if it does not tell
	Warnings []string // why it may not do
}

// Examine finds the agent's program and asks it for its version. A plain program that
// is not known is not asked: it could take that for its work.
func (a Agent) Examine(ctx context.Context, dir string) (Program, error) {
	path, err := a.Find(dir)
	if err != nil {
		return Program{}, err
	}
	p := Program{Path: path}
	if a.Adapter == AdapterAsk {
		p.Version = safetext.Escape(cmp.Or(a.Model, a.Env[modelVariable]))
		return p, a.TryAsk(ctx, dir)
	}
	known, ok := a.known()
	if !ok && a.Adapter == AdapterPlain {
		return p, nil
	}
	p.Version = a.version(ctx, dir, path)
	if older(p.Version, known.tried) {
		p.warn("version %s is older than %s, which was tried: update it", number.FindString(p.Version), known.tried)
	}
	if known.node != "" {
		// By the same way as the program itself, which begins with #!/usr/bin/env node.
		if node := a.version(ctx, dir, "env", "node"); older(node, known.node) || node == "" {
			p.warn("it is made for Node %s or later, and `node --version` says %s: update Node", known.node, cmp.Or(node, "nothing"))
		}
	}
	if name := filepath.Base(a.Command[0]); a.Adapter == AdapterACP && (name == "claude" || name == "codex") {
		p.warn("%s does not speak the Agent Client Protocol: use adapter: %s, or the bridge (docs/agents.md)", name, name)
	}
	return p, nil
}

func (p *Program) warn(format string, args ...any) {
	p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...))
}

const (
	versionTime = 10 * time.Second // to tell a version
	versionSize = 60               // characters of it
	versionRead = 64 << 10         // bytes that are looked at
)

// version runs a command with --version, as the agent is run but without any input,
// and returns the first line that looks like one.
func (a Agent) version(ctx context.Context, dir string, command ...string) string {
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	said := beginning{left: versionRead}
	group, err := process.Start(process.Command{Path: command[0], Args: append(command[1:], "--version"), Dir: dir, Env: a.environment(), Stdout: &said})
	if err != nil {
		return "" // it does not tell
	}
	select {
	case <-group.Done():
	case <-ctx.Done():
	}
	group.End(time.Second)
	for line := range strings.Lines(said.text.String()) {
		if number.MatchString(line) {
			return fmt.Sprintf("%.*s", versionSize, safetext.Escape(strings.TrimSpace(line)))
		}
	}
	return ""
}

// beginning keeps what is written first.
type beginning struct {
	text bytes.Buffer
	left int
}

func (b *beginning) Write(p []byte) (int, error) {
	n := min(len(p), b.left)
	b.left -= n
	b.text.Write(p[:n])
	return len(p), nil
}

// number matches a version's number.
var number = regexp.MustCompile(`\d+(\.\d+)+`)

// older reports whether a version's number is lower than another one. One without a
// number is not.
func older(version, than string) bool {
	if version = number.FindString(version); version == "" {
		return false
	}
	return slices.Compare(parts(version), parts(than)) < 0
}

func parts(number string) []int {
	var all []int
	for part := range strings.SplitSeq(number, ".") {
		n, _ := strconv.Atoi(part) // all digits; the largest number if there are too many
		all = append(all, n)
	}
	return all
}
