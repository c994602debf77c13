package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/internal/worktree"
)

// hangingGit puts a git before the others that hangs in the command with this word, and calls the
// function when it does. It hangs for a while only, so that a test of a start that waits for it fails
// and does not hang. It returns whether somebody waited.
func hangingGit(t *testing.T, word string, hangs func()) (waited func() bool) {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	pipe, over := filepath.Join(dir, "hangs"), filepath.Join(dir, "over")
	if out, err := exec.CommandContext(t.Context(), "mkfifo", pipe).CombinedOutput(); err != nil {
		t.Skipf("mkfifo: %v: %s", err, out)
	}
	script := fmt.Sprintf("#!/bin/sh\ntrap '' TERM INT\nfor a; do [ \"$a\" = %s ] && { echo >%q; sleep 30; echo >%q; }; done\nexec %q \"$@\"\n", word, pipe, over, git)
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	f, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan struct{})
	go func() {
		defer close(told)
		if n, _ := f.Read(make([]byte, 1)); n > 0 {
			hangs()
		}
	}()
	t.Cleanup(func() {
		_ = f.Close()
		<-told
	})
	return func() bool {
		_, err := os.Stat(over)
		return err == nil
	}
}

// A start that waits for git ends with its context, and leaves the directory to others.
func TestStopStart(t *testing.T) {
	repo := unfinished(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	waited := hangingGit(t, "status", stop)
	o := optionsIn(t, repo)
	o.patience = time.Hour
	if s, _, err := Open(ctx, o); !errors.Is(err, context.Canceled) || waited() {
		if err == nil {
			closed(t, s)
		}
		t.Fatalf("the start ends with %v; it waited for git: %v", err, waited())
	}
	o.Draining = true // it does not look
	s, _, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	closed(t, s)
}

// A git that does not answer refuses the start.
func TestGitHangs(t *testing.T) {
	repo := gittest.New(t)
	waited := hangingGit(t, "version", func() {})
	o := optionsIn(t, repo)
	o.patience = time.Millisecond
	if s, _, err := Open(t.Context(), o); !errors.Is(err, worktree.ErrTooSlow) || waited() {
		if err == nil {
			closed(t, s)
		}
		t.Fatalf("the start ends with %v; it waited for git: %v", err, waited())
	}
}
