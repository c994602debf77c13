//go:build amd64 || arm64

package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/safetext"
)

// trialTime is for how long Bubblewrap may take to show that it works.
const trialTime = 10 * time.Second

// sharedTemp is where many programs put temporary files whatever TMPDIR says: it is the
// program's own, and what others have there is not to be seen unless the policy names it.
const sharedTemp = "/tmp"

func bubblewrapAvailable() error {
	program, err := exec.LookPath("bwrap")
	if err != nil {
		return fmt.Errorf("%w: the program bwrap was not found: install bubblewrap, or use %s", ErrUnavailable, Landlock)
	}
	ctx, cancel := context.WithTimeout(context.Background(), trialTime)
	defer cancel()
	trial := exec.CommandContext(ctx, program, append(Policy{}.wrap(entries{"/": readable}), "--", program, "--version")...)
	trial.Env = []string{}
	if out, err := trial.CombinedOutput(); err != nil {
		said := strings.TrimSpace(string(out[:min(len(out), 1<<10)]))
		return fmt.Errorf("%w: bwrap can't make its namespaces (%w: %s): permit unprivileged user namespaces, or use %s",
			ErrUnavailable, err, safetext.Escape(said), Landlock)
	}
	return nil
}

// enterBubblewrap executes Bubblewrap, which executes the command.
func (p Policy) enterBubblewrap(e entries, command, env []string) error {
	program, err := exec.LookPath("bwrap")
	if err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	args := append([]string{program}, p.wrap(e)...)
	if !p.Nested { // the filter of what is around holds
		fd, err := filter(true, true).file()
		if err != nil {
			return err
		}
		args = append(args, "--seccomp", strconv.Itoa(fd))
	}
	return execute(program, slices.Concat(args, []string{"--chdir", dir, "--"}, command), env)
}

// around returns the options for namespaces, and for what the rest is laid upon. What is
// nested has a user namespace of its own: it can look into no process outside, though it may
// see its number. Root's /proc can't be mounted anew there, since parts of it are covered.
func (p Policy) around() []string {
	if p.Nested {
		args := []string{"--unshare-user", "--unshare-pid", "--unshare-ipc", "--bind", "/", "/", "--dev-bind", "/dev", "/dev"}
		if os.Geteuid() != 0 {
			args = append(args, "--proc", "/proc")
		}
		return args
	}
	args := []string{"--unshare-pid", "--unshare-ipc"}
	if !p.Network {
		args = append(args, "--unshare-net")
	}
	if os.Geteuid() == 0 {
		args = append(args, "--cap-drop", "ALL")
		for name := range kept {
			args = append(args, "--cap-add", name)
		}
	}
	args = append(args, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
	if p.Temp != "" {
		args = append(args, "--bind", p.Temp, sharedTemp)
	}
	return args
}

// wrap returns Bubblewrap's options. The process group stays the same, so a signal to it is
// for the program to act on, with time to do so: Bubblewrap does not die with its parent. The
// first process of the namespace is in the group as well; it stays as long as anything does,
// and what has left the group ends when it is killed.
func (p Policy) wrap(e entries) []string {
	args := p.around()
	var shut []string
	for _, path := range e.paths() {
		switch a := e[path]; {
		case a == e.around(path) && (p.Temp == "" || !within(path, sharedTemp)):
		case a == writable:
			args = append(args, "--bind", path, path)
		case a == readable:
			args = append(args, "--ro-bind", path, path)
		case isDir(path):
			args = append(args, "--tmpfs", path)
			shut = append(shut, "--remount-ro", path)
		default:
			args = append(args, "--ro-bind", os.DevNull, path)
		}
	}
	return slices.Concat(args, shut, p.shells())
}

// shells returns the options that put the nest's helper in the place of the shells, and the
// shells where it finds them; for what is nested, the other way round.
func (p Policy) shells() []string {
	if p.Shells == "" {
		return nil
	}
	var args, helper []string
	for name, path := range Shells() {
		kept := filepath.Join(p.Shells, name)
		if p.Nested {
			args = append(args, "--ro-bind", kept, path)
			continue
		}
		args = append(args, "--ro-bind", path, kept)
		helper = append(helper, "--ro-bind", filepath.Join(p.Shells, helperFile), path)
	}
	return append(args, helper...)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
