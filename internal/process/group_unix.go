//go:build unix

package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// killPatience bounds the wait for a group that was killed: one that waits for a
// device does not die before the device answers.
const killPatience = 5 * time.Second

// Group is a program that was started, with its process group.
type Group struct {
	pid     int
	started string
	marker  string
	done    chan struct{} // closed when the program has ended
	exit    int
	err     error
}

// Start starts a program. Whoever starts one calls End at the last, also if the
// program has ended by itself: its children may not have.
func Start(c Command) (*Group, error) {
	cmd, err := c.prepare()
	if err != nil {
		return nil, err
	}
	out, err := c.connect(cmd)
	if err == nil {
		err = cmd.Start()
	}
	for _, o := range out {
		_ = o.end.Close() // the program has it, or nobody
		if err != nil {
			_ = o.pipe.Close()
		}
	}
	if err != nil {
		return nil, err
	}
	g := &Group{pid: cmd.Process.Pid, marker: c.Marker, done: make(chan struct{})}
	g.started = StartedAt(g.pid) // it has not been waited for, so this is about it
	for _, o := range out {
		go o.copy()
	}
	go func() {
		defer close(g.done)
		g.exit, g.err = outcome(cmd.Wait(), cmd.ProcessState)
		for _, o := range out {
			o.hurry()
		}
		for _, o := range out {
			g.err = errors.Join(g.err, <-o.done)
		}
	}()
	return g, nil
}

// prepare finds the program and its directory.
func (c Command) prepare() (*exec.Cmd, error) {
	if c.Dir != "" {
		if info, err := os.Stat(c.Dir); err != nil {
			return nil, fmt.Errorf("the directory to run %s in: %w", c.Path, err)
		} else if !info.IsDir() {
			return nil, fmt.Errorf("the directory to run %s in: %s is a file", c.Path, c.Dir)
		}
	}
	cmd := &exec.Cmd{
		Path: c.Path, Args: append([]string{c.Path}, c.Args...), Dir: c.Dir, Env: c.Env,
		Stdin: c.Stdin, WaitDelay: outputGrace,
		// A session of its own: it has no terminal, and can't type into the user's.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	path, err := exec.LookPath(c.Path)
	if err == nil {
		cmd.Path = path
	} else if errors.Is(err, exec.ErrNotFound) {
		return nil, err
	} // otherwise the path has a slash, and is looked for from Dir
	if cmd.Env == nil {
		cmd.Env = []string{} // nil would be the caller's own
	}
	if c.Marker != "" {
		cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], MarkerName+"="+c.Marker)
	}
	return cmd, nil
}

// outcome tells how a program ended from what went wrong with its input and output.
func outcome(err error, state *os.ProcessState) (int, error) {
	var failed *exec.ExitError
	if errors.As(err, &failed) || errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	if state == nil {
		return -1, err
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), err
	}
	return state.ExitCode(), err
}

// Pid returns the program's process id, which is the group's as well.
func (g *Group) Pid() int { return g.pid }

// Started returns what [StartedAt] says of the program.
func (g *Group) Started() string { return g.started }

// Done is closed when Wait would return at once.
func (g *Group) Done() <-chan struct{} { return g.done }

// Wait returns when the program has ended and its output was read, with its exit
// code, or 128 and the signal's number as shells have it. Children that keep the
// output open are not waited for beyond two seconds. An error is about reading the output.
func (g *Group) Wait() (exit int, err error) {
	<-g.done
	return g.exit, g.err
}

// End ends the group: TERM to all in it, KILL after the grace, and then whatever has
// left it and carries the marker. It returns when they are gone. A group that is gone
// already is none to end.
func (g *Group) End(grace time.Duration) {
	endGroup(g.pid, g.started, grace)
	_, _ = Sweep(g.marker) // what can't be read in /proc is not ours
	<-g.done
}

// EndGroup ends a group whose starter has died, as [Group.End] does. A group of the
// same number that is another one is left alone: it is the one that was meant if its
// leader began at that time, or if the leader is gone and a member carries the marker.
func EndGroup(pgid int, started, marker string, grace time.Duration) {
	at := StartedAt(pgid)
	if pgid > 1 && started != "" && (at == started || at == "" && marked(pgid, marker)) {
		endGroup(pgid, started, grace)
	}
	_, _ = Sweep(marker)
}

// endGroup ends the group whose leader began at a time. While a group has members no
// new process gets its number, so a group without a leader is still the same one, and
// a leader that began at another time is that of another group.
func endGroup(pgid int, started string, grace time.Duration) {
	if at := StartedAt(pgid); at != "" && at != started {
		return
	}
	if syscall.Kill(-pgid, syscall.SIGTERM) != nil {
		return
	}
	awaitGone(pgid, grace)
	if syscall.Kill(-pgid, syscall.SIGKILL) == nil {
		awaitGone(pgid, killPatience)
	}
}

// awaitGone waits until a group has no member that lives. There is nothing that
// tells of it, so it looks again and again.
func awaitGone(pgid int, patience time.Duration) {
	end := time.Now().Add(patience)
	for pause := time.Millisecond; syscall.Kill(-pgid, 0) == nil && lives(pgid); pause = min(2*pause, 50*time.Millisecond) {
		left := time.Until(end)
		if left <= 0 {
			return
		}
		time.Sleep(min(pause, left))
	}
}
