package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/signalbox-dev/signalbox/safetext"
)

// Pager returns the command that the user has git show a diff with on a terminal; empty if there is none.
func (r *Repo) Pager(ctx context.Context) (string, error) {
	pager, err := r.read(ctx, r.home, "config", "--get", "pager.diff")
	if failed := (*GitError)(nil); err != nil && !errors.As(err, &failed) {
		return "", err
	}
	switch strings.ToLower(pager) {
	case "false", "no", "off", "0":
		return "", nil
	case "", "true", "yes", "on", "1":
		if pager, err = r.read(ctx, r.home, "var", "GIT_PAGER"); err != nil {
			return "", err
		}
	}
	if pager == "cat" {
		pager = ""
	}
	return pager, nil
}

// DiffColours are what git begins the lines of a diff with on a terminal.
type DiffColours struct{ Meta, Frag, Old, New string }

// DiffColours returns the user's; none if they want no colours.
func (r *Repo) DiffColours(ctx context.Context) (c DiffColours, err error) {
	if wanted, err := r.read(ctx, r.home, "config", "--get-colorbool", "color.diff", "true"); err != nil || wanted != "true" {
		return c, err
	}
	for _, slot := range []struct {
		to            *string
		name, instead string
	}{{&c.Meta, "meta", "bold"}, {&c.Frag, "frag", "cyan"}, {&c.Old, "old", "red"}, {&c.New, "new", "green"}} {
		if *slot.to, err = r.read(ctx, r.home, "config", "--get-color", "color.diff."+slot.name, slot.instead); err != nil {
			return DiffColours{}, err
		}
	}
	return c, nil
}

// Page shows what is written on the terminal that this program has, by a pager, and returns when the user has left it. That
// they leave before the end is no error. An interrupt is for the pager, as it is with git. Less, if it is that, has these options
// besides the user's.
func Page(ctx context.Context, pager, less string, write func(io.Writer) error) error {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "sh", "-c", pager)
	cmd.Env = slices.Concat(pagerDefaults, os.Environ()) // what comes later counts
	if less != "" {
		cmd.Env = append(cmd.Env, "LESS="+strings.TrimSpace(cmp.Or(os.Getenv("LESS"), defaultLess)+" "+less))
	}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("the pager %s: %w", safetext.Escape(pager), err)
	}
	to := &leavable{to: in}
	err = write(to)
	if to.left || ctx.Err() != nil {
		err = nil
	}
	_ = in.Close()      // the pager may be gone
	ended := cmd.Wait() // how it ends is its own matter, if it was there
	if exit := (*exec.ExitError)(nil); err == nil && errors.As(ended, &exit) && slices.Contains(notRun, exit.ExitCode()) {
		err = fmt.Errorf("the pager %s could not be run: set core.pager, or GIT_PAGER", safetext.Escape(pager))
	}
	return err
}

// Edit opens files in the user's editor, a command line for the shell, on the terminal that this program has, in a
// directory, and returns when they have left it.
func Edit(ctx context.Context, editor, dir string, files ...string) error {
	if err := onTerminal(ctx, editor, dir, files...); err != nil {
		return fmt.Errorf("%s did not end well (%w): set EDITOR", safetext.Escape(editor), err)
	}
	return nil
}

// Shell opens the user's shell in a directory, on the terminal that this program has, and returns when they have left it. How it
// ends is how the last command in it did, and no error.
func Shell(ctx context.Context, dir string) error {
	err := onTerminal(ctx, `"${SHELL:-sh}"`, dir)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && !slices.Contains(notRun, exit.ExitCode()) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the shell could not be run (%w): set EDITOR, or SHELL", err)
	}
	return nil
}

// onTerminal runs a command line for the shell, with arguments, on the terminal that this program has. An interrupt is for it.
func onTerminal(ctx context.Context, line, dir string, args ...string) error {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "sh", append([]string{"-c", line + ` "$@"`, line}, args...)...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, os.Stdin, os.Stdout, os.Stderr
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	return cmd.Run()
}

// notRun are the exit codes by which a shell says that it could not run a program.
var notRun = []int{126, 127}

// pagerDefaults are what git sets for pagers if the user does not.
var pagerDefaults = []string{"LESS=" + defaultLess, "LV=-c"}

const defaultLess = "FRX"

// leavable notes that whoever reads has left.
type leavable struct {
	to   io.Writer
	left bool
}

func (l *leavable) Write(p []byte) (int, error) {
	n, err := l.to.Write(p)
	l.left = l.left || errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed)
	return n, err
}
