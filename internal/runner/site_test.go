package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/sandbox"
)

// siteWith opens a repository with settings.
func siteWith(t *testing.T, repo, settings string) Site {
	t.Helper()
	c, err := config.Parse(filepath.Join(repo, config.File), []byte(settings))
	if err != nil {
		t.Fatal(err)
	}
	s, err := OpenSite(t.Context(), repo, c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A checkout can be looked at without a runner, and nothing comes of it.
func TestSite(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	s := siteWith(t, repo, "agents: {none: {command: [\"false\"]}}\n")
	branch, commit, err := s.Head(t.Context())
	if err != nil || branch != "trunk" || commit != gittest.Git(t, repo, "rev-parse", "HEAD") {
		t.Errorf("it is on %s at %s, %v", branch, commit, err)
	}
	if root, err := filepath.EvalSymlinks(repo); err != nil || s.Root() != root {
		t.Errorf("its root is %s, and not %s: %v", s.Root(), root, err)
	}
	if err := s.Ready(); err != nil {
		t.Error(err)
	}
	if all := s.Unprotected(); len(all) != 1 || !strings.Contains(all[0], "without a sandbox") {
		t.Errorf("unprotected: %q", all)
	}
	if _, err := OpenSite(t.Context(), t.TempDir(), config.Config{}); err == nil {
		t.Error("a directory without a repository is one")
	}
	entries, err := os.ReadDir(repo)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v are in it, %v; want .git alone", entries, err)
	}
}

// A repository without a commit, and a program that is not there, are told as what they are.
func TestNotReady(t *testing.T) {
	t.Parallel()
	repo := t.TempDir()
	gittest.Git(t, repo, "init", "-q")
	s := siteWith(t, repo, "agents: {none: {command: [no-such-program]}}\n")
	if _, _, err := s.Head(t.Context()); !errors.Is(err, order.ErrNoCommit) {
		t.Errorf("without a commit: %v", err)
	}
	if err := s.Ready(); !errors.Is(err, order.ErrNoProgram) || !strings.Contains(err.Error(), "none, which plays") {
		t.Errorf("without a program: %v", err)
	}
}

// The messages of merges that name a ledger's checkpoint are witnesses, those on agents' branches are not.
func TestWitnesses(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	s := siteWith(t, repo, "")
	gittest.Git(t, repo, "commit", "-q", "--allow-empty", "-m", "next")
	for n, ref := range []string{"refs/heads/a", "refs/heads/" + taskBranch("R1", "T-1")} {
		message := fmt.Sprintf("Merge %d\n\nSignalbox-Task: T\nSignalbox-Run: R\nSignalbox-Event: 1\nSignalbox-Checkpoint: own/epoch/1 1\n", n)
		gittest.Git(t, repo, "update-ref", ref, gittest.Git(t, repo, "commit-tree", "HEAD^{tree}", "-p", "HEAD~1", "-p", "HEAD", "-m", message))
	}
	var seen []string
	if err := s.Witnesses(t.Context(), "own/epoch/1", func(message string) { seen = append(seen, message) }); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 1 || !strings.HasPrefix(seen[0], "Merge 0") {
		t.Errorf("seen: %q", seen)
	}
}

// A program that lies where agents can write could be changed by one of them, and is not out of reach.
func TestOutOfReach(t *testing.T) {
	writable, kept := t.TempDir(), t.TempDir()
	program := filepath.Join(writable, "agent")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(kept, "agent")
	if err := os.Symlink(program, link); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", t.TempDir())
	c := config.Config{Dir: t.TempDir()}
	c.Sandbox.Write = []string{writable}
	for what, command := range map[string][]string{
		"lies in":  {program},
		"lies in ": {link}, // by a link
		" lies in": {"sh", program},
		"cache":    {"npx", "agent"},
	} {
		if err := outOfReach(c, config.Agent{Command: command}); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(what)) {
			t.Errorf("%q: %v", command, err)
		}
	}
	for _, command := range [][]string{{"sh"}, {"no-such-program"}, {"sh", "-c", "true"}} {
		if err := outOfReach(c, config.Agent{Command: command}); err != nil {
			t.Errorf("%q: %v", command, err)
		}
	}
}

// Where no sandbox can be made, or none would keep what a reviewer runs from speaking for it, it is said why.
func TestFitting(t *testing.T) {
	t.Parallel()
	script := siteWith(t, gittest.New(t), "agents: {script: {command: [\"false\"]}}\n")
	if kind, err := Fitting(script.config); kind != sandbox.None || !errors.Is(err, errNoFit) || !strings.Contains(err.Error(), "script") {
		t.Errorf("a script that reviews: %s, %v", kind, err)
	}
	if err := sandbox.Available(sandbox.Landlock); err != nil {
		t.Skipf("no sandbox here: %v", err)
	}
	known := siteWith(t, gittest.New(t), "agents: {claude: {adapter: claude, command: [claude]}}\n")
	if kind, err := Fitting(known.config); err != nil || kind != sandbox.Landlock {
		t.Errorf("a program that protects itself: %s, %v", kind, err)
	}
}
