//go:build unix

package session_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/session"
)

// apart starts a session in a process of its own, with no box.
func apart(t *testing.T, s session.Spec) (dir string) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(t.TempDir(), "session")
	if err := session.Write(dir, s); err != nil {
		t.Fatal(err)
	}
	t.Setenv(boxAddress, "127.0.0.1:1") // nobody is there
	if _, err := session.Start(t.Context(), program, dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { killed(t, dir) })
	return dir
}

// killed kills a session, and sees that nothing of it is left.
func killed(t *testing.T, dir string) {
	t.Helper()
	if err := errors.Join(session.Kill(dir), session.Clean(dir)); err != nil {
		t.Error(err)
	}
	nothingLeft(t, dir)
}

// A session that its agent has stopped is killed all the same.
func TestKillStopped(t *testing.T) {
	s := spec(t, `kill -STOP $PPID; echo $$ > agent; sleep 300`)
	dir := apart(t, s)
	await(t, filepath.Join(s.Dir, "agent"))
	if !session.Alive(dir) {
		t.Error("it is not alive")
	}
	if err := session.Kill(dir); err != nil || session.Alive(dir) {
		t.Errorf("it is not killed: %v", err)
	}
	killed(t, dir) // again, as after a crash
}

// What session.json names is killed only if it is the process that wrote it.
func TestKillOther(t *testing.T) {
	s := spec(t, `echo $$ > agent; sleep 300`)
	dir := apart(t, s)
	await(t, filepath.Join(s.Dir, "agent"))
	name := filepath.Join(dir, "session.json")
	own, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscanf(string(own), `{"pid":%d`, &pid); err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{fmt.Sprintf(`{"pid":%d,"started":"another time"}`, pid), `{"pid":1,"started":""}`, `{}`, ``} {
		if err := os.WriteFile(name, []byte(other), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := session.Kill(dir); !errors.Is(err, session.ErrAlive) || !session.Alive(dir) {
			t.Errorf("%s: %v", other, err)
		}
	}
	if err := os.WriteFile(name, own, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A session that has ended is none to kill.
func TestKillEnded(t *testing.T) {
	t.Parallel()
	r := start(t, spec(t, `cat`))
	r.next("turn")
	r.file("session.json")
	r.end()
	if _, err := os.Stat(filepath.Join(r.dir, "session.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("session.json is left: %v", err)
	}
	if err := session.Kill(r.dir); err != nil {
		t.Error(err)
	}
}

// Nothing is started for a caller that has been told to stop.
func TestStartTooLate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "session")
	if err := session.Write(dir, spec(t, `cat`)); err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(boxAddress, "127.0.0.1:1")
	t.Cleanup(func() { killed(t, dir) })
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	if _, err := session.Start(ctx, program, dir); !errors.Is(err, enough) || session.Ran(dir) {
		t.Errorf("it was started: %v", err)
	}
}

// If the caller is told to stop while the session comes up, Start says what became of it.
func TestStartIsStopped(t *testing.T) {
	s := spec(t, `cat`)
	dir, up, on := filepath.Join(t.TempDir(), "session"), filepath.Join(s.Dir, "up"), filepath.Join(s.Dir, "on")
	if err := session.Write(dir, s); err != nil {
		t.Fatal(err)
	}
	mkfifo(t, on)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "slow")
	script := fmt.Sprintf("#!/bin/sh\necho up > '%s'; read -r on < '%s'; exec '%s' \"$@\"\n", up, on, self)
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv(boxAddress, "127.0.0.1:1")
	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan error, 1)
	go func() {
		_, err := session.Start(ctx, program, dir)
		started <- err
	}()
	await(t, up)
	cancel()
	if err := os.WriteFile(on, []byte("\n"), 0); err != nil {
		t.Fatal(err)
	}
	if err := <-started; err != nil || !session.Alive(dir) {
		t.Errorf("it is not alive: %v", err)
	}
	killed(t, dir)
}
