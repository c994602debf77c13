package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/modeltest"
	"github.com/signalbox-dev/signalbox/internal/session/agent"
)

// program is an agent's program, which does the work in both ways.
type program struct {
	name    string
	adapter string
	command []string
	model   string // the argument that a model's name follows
	pointed func(home, url string) modeltest.Pointed
}

// programs are those that are known.
var programs = []program{
	{"claude", agent.AdapterClaude, []string{"claude"}, "--model", modeltest.Claude},
	{"codex", agent.AdapterCodex, []string{"codex"}, "-m", modeltest.Codex},
	{"gemini", agent.AdapterACP, []string{"gemini", "--acp"}, "-m", modeltest.Gemini},
	{minimalName, agent.AdapterPlain, nil, "", minimalPointed},
}

func programNames() (names []string) {
	for _, p := range programs {
		names = append(names, p.name)
	}
	return names
}

// findProgram returns the program that was asked for, with the whole path of what is run.
func findProgram(o options) (program, error) {
	i := slices.IndexFunc(programs, func(p program) bool { return p.name == o.agent })
	if i < 0 {
		return program{}, wrongUsage("--agent %s is not known: use one of %s", o.agent, strings.Join(programNames(), ", "))
	}
	p := programs[i]
	if p.name == minimalName {
		if !o.modelServer {
			return p, wrongUsage("--agent %s speaks with a script alone: add --model-server", minimalName)
		}
		self, err := os.Executable()
		p.command = []string{self, minimalWord}
		return p, err
	}
	path, err := lookPath(p.command[0])
	if err != nil {
		return p, err
	}
	p.command = append([]string{path}, p.command[1:]...)
	if o.model != "" {
		p.command = append(p.command, p.model, o.model)
	}
	return p, nil
}

// lookPath finds a program in PATH.
func lookPath(name string) (string, error) {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return filepath.Abs(path)
		}
	}
	return "", fmt.Errorf("%s is not installed, or not in PATH: docs/agents.md says how to get it", name)
}

// point points the program to a model server, with a home directory of its own below dir, and returns the variables for that.
func (p program) point(dir, url string) (map[string]string, error) {
	home := filepath.Join(dir, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	pointed := p.pointed(home, url)
	for name, text := range pointed.Files {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	if p.name != minimalName { // which uses nothing of the home directory
		pointed.Env["HOME"] = home
	}
	return pointed.Env, nil
}
