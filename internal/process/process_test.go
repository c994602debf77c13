//go:build unix

package process_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/signalbox-dev/signalbox/internal/process"
)

// sh starts a script whose output is a pipe, and returns the pipe's other end: it
// says when the script has come to a point.
func sh(t *testing.T, marker, script string) (*process.Group, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	g, err := process.Start(process.Command{
		Path: "sh", Args: []string{"-c", script}, Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")},
		Stdout: w, Marker: marker,
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	t.Cleanup(func() {
		g.End(0)
		_ = r.Close()
	})
	return g, r
}

func line(t *testing.T, r *os.File) string {
	t.Helper()
	var text []byte
	for b := make([]byte, 1); ; text = append(text, b[0]) {
		if _, err := r.Read(b); err != nil {
			t.Fatalf("after %q: %v", text, err)
		}
		if b[0] == '\n' {
			return string(text)
		}
	}
}

// atEOF reports whether nobody has the output open any more.
func atEOF(r *os.File) bool {
	_ = r.SetReadDeadline(time.Now().Add(time.Minute))
	for b := make([]byte, 4096); ; {
		if _, err := r.Read(b); err != nil {
			return !errors.Is(err, os.ErrDeadlineExceeded)
		}
	}
}

func TestWait(t *testing.T) {
	for _, c := range []struct {
		script, stdin, want string
		exit                int
	}{
		{"cat; exit 3", "hello", "hello", 3},
		{"echo $0 $SIGNALBOX_SESSION $HOME", "", "sh m-1\n", 0},
		{"kill -9 $$", "", "", 137},
	} {
		var out bytes.Buffer
		g, err := process.Start(process.Command{
			Path: "sh", Args: []string{"-c", c.script}, Env: []string{"PATH=" + os.Getenv("PATH")},
			Stdin: strings.NewReader(c.stdin), Stdout: &out, Marker: "m-1",
		})
		if err != nil {
			t.Fatal(err)
		}
		exit, err := g.Wait()
		if exit != c.exit || err != nil || out.String() != c.want {
			t.Errorf("%s: exit %d, %v, output %q", c.script, exit, err, out.String())
		}
		g.End(0)
	}
}

// A child that keeps the output open does not keep Wait, and End ends it.
func TestChildKeepsOutput(t *testing.T) {
	var out bytes.Buffer
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	g, err := process.Start(process.Command{Path: "sh", Args: []string{"-c", "sleep 300 & echo up"}, Env: os.Environ(), Stdout: &out, Stderr: w})
	if err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	if exit, err := g.Wait(); exit != 0 || err != nil || out.String() != "up\n" {
		t.Errorf("exit %d, %v, output %q", exit, err, out.String())
	}
	if syscall.Kill(-g.Pid(), 0) != nil {
		t.Error("the child is gone, or left the group: nothing is tested")
	}
	g.End(time.Second)
	if !atEOF(r) {
		t.Error("the child lives")
	}
}

// slow is a writer that takes its time with the first piece, longer than the grace.
type slow struct {
	bytes.Buffer
	once sync.Once
}

func (s *slow) Write(p []byte) (int, error) {
	s.once.Do(func() { time.Sleep(2500 * time.Millisecond) })
	return s.Buffer.Write(p)
}

// What a program printed before it ended is not lost to a slow writer.
func TestSlowWriter(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{"alone": "", "a child keeps it open": "sleep 300 & "} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out slow
			g, err := process.Start(process.Command{
				Path: "sh", Args: []string{"-c", script + "head -c 60000 /dev/zero; echo end"}, Env: os.Environ(), Stdout: &out, Stderr: &out,
			})
			if err != nil {
				t.Fatal(err)
			}
			exit, err := g.Wait()
			g.End(0)
			if exit != 0 || err != nil || out.Len() != 60004 {
				t.Errorf("exit %d, %v, %d bytes", exit, err, out.Len())
			}
		})
	}
}

// A writer that fails is told of, and the program is not waited for in vain.
func TestWriterFails(t *testing.T) {
	broken := errors.New("the disk is full")
	g, err := process.Start(process.Command{Path: "yes", Env: os.Environ(), Stdout: writer(func([]byte) (int, error) { return 0, broken })})
	if err != nil {
		t.Fatal(err)
	}
	defer g.End(0)
	if _, err := g.Wait(); !errors.Is(err, broken) {
		t.Error(err)
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

func TestEnd(t *testing.T) {
	t.Run("TERM", func(t *testing.T) {
		g, out := sh(t, "", `trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.05; done`)
		line(t, out)
		g.End(10 * time.Second)
		if exit, _ := g.Wait(); exit != 7 || line(t, out) != "bye" {
			t.Errorf("exit %d", exit)
		}
	})
	t.Run("KILL", func(t *testing.T) {
		g, out := sh(t, "", `trap '' TERM; sleep 300 & echo up; while :; do sleep 1; done`)
		line(t, out)
		g.End(50 * time.Millisecond)
		if exit, _ := g.Wait(); exit != 137 || !atEOF(out) {
			t.Errorf("exit %d, or a child is left", exit)
		}
	})
	t.Run("left the group", func(t *testing.T) {
		if runtime.GOOS != "linux" {
			t.Skip("markers are found on Linux only")
		}
		marker := t.TempDir()
		g, out := sh(t, marker, `setsid sh -c 'trap "" TERM HUP; (sleep 300 &) ; echo up; while :; do sleep 1; done' & wait`)
		line(t, out)
		g.End(50 * time.Millisecond)
		if !atEOF(out) {
			t.Error("a process is left")
		}
		if n, err := process.Sweep(marker); n != 0 || err != nil {
			t.Errorf("%d left, %v", n, err)
		}
	})
}

// A group whose starter has died is ended if it is the one that was meant.
func TestEndGroup(t *testing.T) {
	g, out := sh(t, "endgroup", `echo up; sleep 300`)
	line(t, out)
	started := process.StartedAt(g.Pid())
	if started == "" || started != g.Started() {
		t.Fatalf("%q, %q", started, g.Started())
	}
	process.EndGroup(g.Pid(), "another", "", time.Second)
	process.EndGroup(g.Pid(), "", "", time.Second)
	select {
	case <-g.Done():
		t.Fatal("another process was ended")
	default:
	}
	process.EndGroup(g.Pid(), started, "", time.Minute)
	if exit, _ := g.Wait(); exit != 128+int(syscall.SIGTERM) {
		t.Errorf("exit %d", exit)
	}
	if at := process.StartedAt(g.Pid()); at != "" {
		t.Errorf("it is gone, and began at %q", at)
	}
}

// With the leader gone, the marker says whose group it is.
func TestEndGroupWithoutLeader(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("markers are found on Linux only")
	}
	marker := "leaderless" + t.TempDir()
	g, out := sh(t, marker, `trap "" TERM; sleep 300 & echo up`)
	line(t, out)
	if _, err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	process.EndGroup(g.Pid(), g.Started(), "somebody else's", 0)
	if syscall.Kill(-g.Pid(), 0) != nil {
		t.Fatal("another group was ended")
	}
	process.EndGroup(g.Pid(), g.Started(), marker, 0)
	if !atEOF(out) {
		t.Error("the child lives")
	}
}

func TestStartFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		command process.Command
		is      error
		want    string
	}{
		{process.Command{Path: "no-such-program"}, exec.ErrNotFound, "no-such-program"},
		{process.Command{Path: "./no-such-program", Dir: t.TempDir()}, fs.ErrNotExist, "no-such-program"},
		{process.Command{Path: "sh", Dir: file + "s"}, fs.ErrNotExist, "the directory to run sh in"},
		{process.Command{Path: "sh", Dir: file}, nil, "is a file"},
		{process.Command{Path: file}, fs.ErrPermission, "permission denied"},
	} {
		_, err := process.Start(c.command)
		if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.command, err)
		}
	}
}

func TestRelativePath(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "run"), []byte("#!/bin/sh\nexit 5\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	g, err := process.Start(process.Command{Path: "./run", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer g.End(0)
	if exit, err := g.Wait(); exit != 5 || err != nil {
		t.Errorf("exit %d, %v", exit, err)
	}
}

func TestDetached(t *testing.T) {
	var out bytes.Buffer
	g, err := process.Start(process.Command{Path: "sh", Args: []string{"-c", "ps -o sid= -p $$"}, Env: os.Environ(), Stdout: &out})
	if err != nil {
		t.Fatal(err)
	}
	defer g.End(0)
	if _, err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "linux" && strings.TrimSpace(out.String()) != strconv.Itoa(g.Pid()) {
		t.Errorf("session %q of process %d", out.String(), g.Pid())
	}
}

func TestCleanEnv(t *testing.T) {
	env := []string{
		"PATH=/bin", "CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli", "CLAUDE_CODE_OAUTH_TOKEN=x", "CLAUDE_CODE_USE_BEDROCK=1",
		"CODEX_SANDBOX=seatbelt", "CODEX_HOME=/c", "GEMINI_CLI=1", "GEMINI_CLI_IDE_PID=1", "GEMINI_API_KEY=y", "GEMINI_CLI_HOME=/g", "CLAUDE_CODE_DISABLE_X=1",
		"SIGNALBOX_SESSION=s", "GIT_DIR=/x", "GIT_INDEX_FILE=/x/index", "GIT_AUTHOR_NAME=me", "HOME=/root=1",
	}
	before := strings.Join(env, " ")
	want := []string{
		"PATH=/bin", "CLAUDE_CODE_OAUTH_TOKEN=x", "CLAUDE_CODE_USE_BEDROCK=1", "CODEX_HOME=/c", "GEMINI_API_KEY=y", "GEMINI_CLI_HOME=/g", "CLAUDE_CODE_DISABLE_X=1",
		"GIT_AUTHOR_NAME=me", "HOME=/root=1",
	}
	if diff := cmp.Diff(want, process.CleanEnv(env)); diff != "" {
		t.Error(diff)
	}
	if strings.Join(env, " ") != before {
		t.Error("the caller's slice was changed")
	}
}
