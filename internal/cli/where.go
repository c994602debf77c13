package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/regular"
	"github.com/signalbox-dev/signalbox/internal/runner"
	"github.com/signalbox-dev/signalbox/internal/worktree"
	"github.com/signalbox-dev/signalbox/safetext"
)

// boxDir is the name of a box's directory, if no other is given.
const boxDir = ".signalbox"

// locate finds the box's directory, unless one was given, and the directory with its
// settings. A box is looked for in the working directory and upwards; if there is
// none, it lies beside the settings, which are looked for likewise, or here. In a worktree of
// a box's it is that box: what else lies there is an agent's.
func (a *app) locate(given bool) {
	if home, ok := worktreeOf(); ok {
		if a.home = home; !given {
			a.dir = filepath.Join(home, boxDir)
		}
		return
	}
	if home, ok := upwards(boxDir); ok && !given {
		a.home, a.dir = home, filepath.Join(home, boxDir)
		return
	}
	a.home = "."
	if home, ok := upwards(config.File); ok {
		a.home = home
	}
	if !given {
		a.dir = filepath.Join(a.home, boxDir)
	}
}

// worktreeOf returns where the box lies whose worktree the working directory is in.
func worktreeOf() (home string, ok bool) {
	at, err := os.Getwd()
	for ; err == nil && filepath.Dir(at) != at; at = filepath.Dir(at) {
		if box := filepath.Dir(at); filepath.Base(at) == runner.Worktrees && filepath.Base(box) == boxDir {
			home, ok = filepath.Dir(box), true // an agent may have made another one within
		}
	}
	return home, ok
}

// upwards returns the nearest directory that has something of this name, no further
// up than the top of a git checkout.
func upwards(name string) (string, bool) {
	at, err := os.Getwd()
	for dir := "."; err == nil; dir = filepath.Join(dir, "..") {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return dir, true
		}
		if worktree.IsTop(dir) || filepath.Dir(at) == at {
			break
		}
		at = filepath.Dir(at)
	}
	return "", false
}

// settings reads the settings: a file's, or those beside the box.
func (a *app) settings(file string) (c config.Config, err error) {
	if file != "" {
		c, err = config.Load(file)
	} else {
		c, err = config.LoadIn(a.home)
	}
	if err != nil || a.inBox { // a box has its own, and leaves its environment as it is, whatever becomes of the file
		return c, err
	}
	return c, a.takeSecret(c.Notify.SecretEnv)
}

// takeSecret takes the secret that signs messages to people out of the environment: no program that this one starts shall have
// it, and no agent's least of all.
func (a *app) takeSecret(variable string) error {
	if value, set := os.LookupEnv(variable); set && variable != "" {
		a.secret = value
		return os.Unsetenv(variable)
	}
	return nil
}

// settingsToLook returns the settings for a command that only looks. Those that can't be read don't keep it from that: it
// says so once, and takes none, and where the ledger lies as the box has noted it.
func (a *app) settingsToLook() (config.Config, error) {
	c, err := a.settings("")
	if err == nil {
		return c, nil
	}
	a.noteSettings(err)
	if c, err = config.Parse(filepath.Join(a.home, config.File), nil); err == nil {
		c.Archive.Mirror = box.Dir(a.dir).Mirror()
	}
	return c, err
}

// noteSettings says once that the settings can't be read, in a line.
func (a *app) noteSettings(err error) {
	if !a.noted {
		a.noted = true
		fmt.Fprintf(a.Err, "%s: the settings are left out: %s\n", a.PaintErr(command.Yellow, "note"), oneLine(strings.ReplaceAll(safetext.EscapeLines(err.Error()), "\n", "; ")))
	}
}

// How large files are at most that a user names, in bytes.
const (
	maxNamed   = 16 << 20
	maxKeyFile = 64 << 10
)

// readFile reads a file that the user named, and says what to name if it is not there.
func readFile(ctx context.Context, name, instead string) ([]byte, error) {
	data, err := readNamed(ctx, name, maxNamed)
	return data, notThere(err, name, instead)
}

// readNamed reads a file that the user named, which may be a pipe, of at most so many bytes.
func readNamed(ctx context.Context, name string, most int64) ([]byte, error) {
	f, err := openNamed(ctx, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only
	data, err := readAll(ctx, f, most+1)
	if err == nil && int64(len(data)) > most {
		return nil, &regular.TooLargeError{Path: name, Most: most}
	}
	return data, err
}

// openNamed opens a file that the user named. If it is a pipe, it waits for who writes to it.
func openNamed(ctx context.Context, name string) (*os.File, error) {
	return awaited(ctx, func() (*os.File, error) { return os.Open(name) })
}

// readAll reads to the end, or until ctx ends, but not more than most bytes.
func readAll(ctx context.Context, in io.Reader, most int64) ([]byte, error) {
	return awaited(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(in, most)) })
}

// writeNamed writes a file that the user named: with [os.O_EXCL] a new one, with [os.O_TRUNC] whatever is
// there. If it is a pipe, it waits for who reads it.
func writeNamed(ctx context.Context, name string, how int, write func(io.Writer) error) error {
	_, err := awaited(ctx, func() (struct{}, error) {
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|how, 0o644)
		if err == nil {
			err = errors.Join(write(f), f.Close())
		}
		return struct{}{}, err
	})
	return err
}

// writeText writes a text to a file that the user named; there is what to say if the file must be new, and is not.
func writeText(ctx context.Context, name string, how int, text []byte, there error) error {
	err := writeNamed(ctx, name, how, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	if errors.Is(err, fs.ErrExist) {
		return there
	}
	return err
}

// awaited does what may wait for others without an end, as it does to open a pipe, and returns when
// ctx ends. What still waits then is left behind: the program is about to end.
func awaited[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := do()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// notThere says of a file that is not there what to name instead.
func notThere(err error, name, instead string) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no file %s: %s", safetext.Escape(name), instead)
	}
	return err
}
