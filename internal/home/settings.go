package home

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/signalbox-dev/signalbox/internal/sandbox"
)

// layOut makes the directories that tools expect in a home directory, and copies the user's
// settings into it. A file that agents can write is
// none of the user's, and left out, and so is one that is too large or no file.
func (u User) layOut(home string) error {
	root, err := os.OpenRoot(home)
	if err != nil {
		return err
	}
	var errs []error
	for _, dir := range []string{".cache", ".config", ".local/share", ".local/state"} {
		errs = append(errs, root.MkdirAll(dir, 0o700))
	}
	for _, name := range settings {
		if text, ok := u.setting(u.place(name)); ok {
			errs = append(errs, root.MkdirAll(path.Dir(name), 0o700), root.WriteFile(name, text, 0o600))
		}
	}
	return errors.Join(append(errs, root.Close())...)
}

// setting reads a file of the user's settings.
func (u User) setting(name string) ([]byte, bool) {
	real, err := filepath.EvalSymlinks(name)
	if err != nil || sandbox.InAny(name, u.Agents) || sandbox.InAny(real, resolved(u.Agents)) {
		return nil, false
	}
	f, err := os.OpenFile(real, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, false
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxSettings {
		return nil, false
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSettings))
	return text, err == nil
}

// resolved follows the links of paths, where they are there.
func resolved(paths []string) []string {
	var all []string
	for _, p := range paths {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			all = append(all, real)
		}
	}
	return all
}

// takeUp removes the user's settings from a home directory, so that a base has no secrets
// of theirs, and each check the settings of today.
func takeUp(home string) error {
	root, err := os.OpenRoot(home)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range settings {
		if err := root.RemoveAll(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, root.Close())...)
}
