//go:build unix

package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// waitFor is a piece of a script that waits until the test has written a file among
// the scripts.
func waitFor(name string) string {
	return "while [ ! -f \"$SCRIPTS/" + name + "\" ]; do sleep 0.02; done\n"
}

// has reports whether an agent was started, by TASK.ROLE.N.
func (w *world) has(who string) bool {
	_, err := os.Stat(filepath.Join(w.scripts, "starts", who, "prompt"))
	return err == nil
}

// running is a command that goes on while the test does other things.
type running struct {
	w         *world
	cmd       *exec.Cmd
	out, errs output
	ended     bool
}

// output keeps what a command prints, to be read while it runs.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// start runs a command in the background. It ends with the test, if not before.
func (w *world) start(args ...string) *running {
	w.t.Helper()
	r := &running{w: w, cmd: w.command(context.WithoutCancel(w.t.Context()), args...)}
	r.cmd.Stdout, r.cmd.Stderr = &r.out, &r.errs
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // as a shell does
	if err := r.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { r.interrupt() })
	return r
}

// wait returns how the command ended.
func (r *running) wait() result {
	if !r.ended {
		r.ended = true
		_ = r.cmd.Wait() // its exit code says it
	}
	return result{r.out.String(), r.errs.String(), r.cmd.ProcessState.ExitCode()}
}

// interrupt is Ctrl-C, which reaches everything that the command has in its group.
func (r *running) interrupt() result {
	if !r.ended {
		_ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGINT) // it may have ended by itself
	}
	return r.wait()
}

// kill is kill -9.
func (r *running) kill() {
	if !r.ended {
		_ = r.cmd.Process.Kill() // it may have ended by itself
	}
	r.wait()
}

// inside returns the processes that work below the box's directory.
func (w *world) inside() []string {
	var all []string
	dirs, _ := filepath.Glob("/proc/[0-9]*") // where there is none, nothing can be told
	for _, dir := range dirs {
		at, _ := os.Readlink(filepath.Join(dir, "cwd"))
		if strings.HasPrefix(at, filepath.Join(w.dir, ".signalbox")+"/") {
			line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
			if len(line) == 0 {
				continue // it is killed and has given up its memory: it runs nothing any more
			}
			all = append(all, filepath.Base(dir)+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return all
}

// settings replaces the settings besides the agent.
func (w *world) settings(format string, args ...any) {
	w.t.Helper()
	w.write("signalbox.yaml", fmt.Sprintf("agents: {scripted: {command: [%[1]s/agent], commands: exec, env: {SCRIPTS: %[1]s}}}\n", w.scripts)+fmt.Sprintf(format, args...))
}
