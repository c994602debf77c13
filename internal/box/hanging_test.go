package box

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
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
	script := fmt.Sprintf("#!/bin/sh\ntrap '' TERM INT\nfor a; do [ \"$a\" = %s ] && { echo >%q; sleep 10; echo >%q; }; done\nexec %q \"$@\"\n", word, pipe, over, git)
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

// unfinished returns a repository with a box in it that has a run which has not ended.
func unfinished(t *testing.T) *commits {
	t.Helper()
	c := newCommits(t)
	b := delivering(t, c)
	b.Drain(t.Context())
	if _, err := b.Deliver(t.Context(), api.StartRun{Plan: onePlan}, ""); err != nil {
		t.Fatal(err)
	}
	closeBox(t, b)
	return c
}

// A start that waits for git ends with its context, and leaves the directory to others.
func TestStopStart(t *testing.T) {
	c := unfinished(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	waited := hangingGit(t, "status", stop)
	o := deliveringOptions(t, c)
	o.Delivery.patience = time.Hour
	if b, _, err := Open(ctx, o); !errors.Is(err, context.Canceled) || waited() {
		if err == nil {
			closeBox(t, b)
		}
		t.Fatalf("the start ends with %v; it waited for git: %v", err, waited())
	}
	o.Draining = true // it does not look
	b, _, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	closeBox(t, b)
}

// A checkout that can't be looked at does not keep a box from going on with its runs.
func TestLookHangs(t *testing.T) {
	c := unfinished(t)
	waited := hangingGit(t, "status", func() {})
	o := deliveringOptions(t, c)
	o.Draining = true
	b, _, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer closeBox(t, b)
	b.drain.Store(false)
	b.lookAgain(t.Context(), time.Millisecond)
	if waited() {
		t.Error("the box waited for the look")
	}
}

// A git that does not answer refuses the start.
func TestGitHangs(t *testing.T) {
	c := newCommits(t)
	hangingGit(t, "version", func() {})
	o := deliveringOptions(t, c)
	o.Delivery.patience = time.Millisecond
	if b, _, err := Open(t.Context(), o); !errors.Is(err, worktree.ErrTooSlow) {
		if err == nil {
			closeBox(t, b)
		}
		t.Fatalf("the start ends with %v", err)
	}
}
