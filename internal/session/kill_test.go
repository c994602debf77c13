//go:build unix

package session_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/filelock"
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
	pid, err := session.Start(t.Context(), program, dir, "s-1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		defer func() { _ = syscall.Kill(pid, syscall.SIGKILL) }() // if the test fails, nothing is left either
		killed(t, dir)
	})
	return dir
}

// killed kills a session, and sees that nothing of it is left.
func killed(t *testing.T, dir string) {
	t.Helper()
	if err := errors.Join(session.Kill(dir, "s-1"), session.Clean(dir, "s-1")); err != nil {
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
	if err := session.Kill(dir, "s-1"); err != nil || session.Alive(dir) {
		t.Errorf("it is not killed: %v", err)
	}
	killed(t, dir) // again, as after a crash
}

// What session.json names is killed only if it is the process that wrote it. The session is found all the
// same, whatever is left of its directory.
func TestKillOther(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("a process is found by its environment on Linux only")
	}
	other := exec.CommandContext(t.Context(), "sleep", "300")
	other.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = other.Process.Kill()
		_ = other.Wait()
	})
	for name, damage := range map[string]func(path string) error{
		"begun at another time": func(path string) error {
			return os.WriteFile(path, fmt.Appendf(nil, `{"pid":%d,"started":"another time"}`, other.Process.Pid), 0o600)
		},
		"the first process": func(path string) error { return os.WriteFile(path, []byte(`{"pid":1,"started":""}`), 0o600) },
		"empty":             func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"gone":              os.Remove,
		"a directory":       func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
	} {
		t.Run(name, func(t *testing.T) {
			s := spec(t, `kill -STOP $PPID; echo $$ > agent; sleep 300`)
			dir := apart(t, s)
			await(t, filepath.Join(s.Dir, "agent"))
			if err := damage(filepath.Join(dir, "session.json")); err != nil {
				t.Fatal(err)
			}
			if err := session.Kill(dir, "s-1"); err != nil || session.Alive(dir) {
				t.Errorf("it is not killed: %v", err)
			}
		})
	}
	if ended, err := syscall.Wait4(other.Process.Pid, nil, syscall.WNOHANG, nil); ended != 0 || err != nil {
		t.Errorf("another process was killed: %v", err)
	}
}

// A lock that is held by something else than a session and its agent can't be taken from it.
func TestKillStrange(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "session")
	if err := session.Write(dir, spec(t, `cat`)); err != nil {
		t.Fatal(err)
	}
	release, err := filelock.Take(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	session.LessPatience(t)
	if err := session.Kill(dir, "s-1"); !errors.Is(err, session.ErrAlive) {
		t.Errorf("killed: %v", err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
}

// Whatever an agent did to its session's directory, it is ended when the session is dead, and the damage is told.
func TestCleanDamaged(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("a process is found by its environment on Linux only")
	}
	for name, c := range map[string]struct {
		damage string
		told   error
	}{
		"moved":                    {`mv "$dir" "$dir.moved"`, session.ErrDirectory},
		"another's link":           {`mv "$dir" "$dir.moved" && ln -s "$dir.moved" "$dir"`, nil},
		"no spec":                  {`rm "$dir/spec.json"`, session.ErrDirectory},
		"a spec of nothing":        {`echo garbage >"$dir/spec.json"`, session.ErrDirectory},
		"an agent of nothing":      {`echo garbage >"$dir/agent.json"`, session.ErrDirectory},
		"a directory in its place": {`rm "$dir/agent.json" && mkdir -p "$dir/agent.json/a"`, session.ErrDirectory},
		"nothing":                  {`true`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "session")
			s := spec(t, `dir='`+dir+`'; session=$PPID; until test -f "$dir/agent.json"; do sleep 0.01; done; `+c.damage+` && kill -KILL $session; echo $$ > agent; sleep 300`)
			if err := session.Write(dir, s); err != nil {
				t.Fatal(err)
			}
			program, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), program, "session", dir)
			cmd.Env = append(os.Environ(), boxAddress+"=127.0.0.1:1")
			_ = cmd.Run() // it is killed
			await(t, filepath.Join(s.Dir, "agent"))
			if len(marked(t, dir)) == 0 {
				t.Fatal("the agent is not there")
			}
			if err := session.Clean(dir, "s-1"); !errors.Is(err, c.told) {
				t.Errorf("told: %v, want %v", err, c.told)
			}
			nothingLeft(t, dir)
		})
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
	if err := session.Kill(r.dir, "s-1"); err != nil {
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
	if _, err := session.Start(ctx, program, dir, "s-1"); !errors.Is(err, enough) || session.Ran(dir) {
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
		_, err := session.Start(ctx, program, dir, "s-1")
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
