package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/regular"
	"github.com/signalbox-dev/signalbox/internal/worktree"
	"github.com/signalbox-dev/signalbox/safetext"
)

// boxDir is the name of a box's directory, if no other is given.
const boxDir = ".signalbox"

// locate finds the box's directory, unless one was given, and the directory with its
// settings. A box is looked for in the working directory and upwards; if there is
// none, it lies beside the settings, which are looked for likewise, or here.
func (a *app) locate(given bool) {
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
func (a *app) settings(file string) (config.Config, error) {
	if file != "" {
		return config.Load(file)
	}
	return config.LoadIn(a.home)
}

// How large files are at most that a user names, in bytes.
const (
	maxNamed   = 16 << 20
	maxKeyFile = 64 << 10
)

// readFile reads a file that the user named, and says what to name if it is not there.
func readFile(name, instead string) ([]byte, error) {
	data, err := readNamed(name, maxNamed)
	return data, notThere(err, name, instead)
}

// readNamed reads a file that the user named, which may be a pipe, of at most so many bytes.
func readNamed(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if int64(len(data)) > most {
		return nil, &regular.TooLargeError{Path: name, Most: most}
	}
	return data, nil
}

// notThere says of a file that is not there what to name instead.
func notThere(err error, name, instead string) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no file %s: %s", safetext.Escape(name), instead)
	}
	return err
}
