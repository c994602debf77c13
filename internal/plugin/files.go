package plugin

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/durable"
	"github.com/signalbox-dev/signalbox/internal/regular"
	"github.com/signalbox-dev/signalbox/safetext"
)

// Place is a program's directory: in a project, or the user's own.
type Place struct {
	above string // the directory that it is in, which is there
	base  string // its name
}

// InProject is the program's directory in a repository, whose root it is given. A repository can come from a stranger: no
// link in it is followed.
func InProject(root string, p Program) Place { return Place{root, p.Base()} }

// OfUser is the program's directory for all of a user's work. Lookup tells variables of the environment. The directory
// itself may be a link, as the user's own.
func OfUser(p Program, home string, lookup func(string) string) (Place, error) {
	dir := filepath.Join(home, p.Base())
	switch {
	case p == Claude && lookup("CLAUDE_CONFIG_DIR") != "":
		dir = lookup("CLAUDE_CONFIG_DIR")
	case p == Codex && lookup("CODEX_HOME") != "":
		dir = lookup("CODEX_HOME")
	case p == Gemini && lookup("GEMINI_CLI_HOME") != "":
		dir = filepath.Join(lookup("GEMINI_CLI_HOME"), p.Base())
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Place{}, err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return Place{filepath.Dir(dir), filepath.Base(dir)}, nil
}

// Dir is the directory's path.
func (p Place) Dir() string { return filepath.Join(p.above, p.base) }

// maxFile is how long a file may be that is read, whoever wrote it.
const maxFile = 4 << 20

// Look reads what is at a place. What is no regular file, a link, read-only or too long is refused: nothing is to be put there.
func Look(w Wanted, p Place) (Found, error) {
	l, err := w.layout()
	if err != nil {
		return Found{}, err
	}
	root, err := os.OpenRoot(p.above)
	if err != nil {
		return Found{}, err
	}
	defer func() { _ = root.Close() }() // nothing was written
	f := Found{files: map[string][]byte{}, dirs: map[string]bool{}}
	if err := p.look(root, &f, manifestName); err != nil {
		return Found{}, err
	}
	names := slices.Collect(maps.Keys(l.files))
	if old, err := readManifest(f.files[manifestName], l); err == nil && old != nil { // what is wrong with it is said by who plans
		names = slices.AppendSeq(names, maps.Keys(old.Files))
	}
	if l.entry != "" {
		names = append(names, l.entry)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if err := p.look(root, &f, name); err != nil {
			return Found{}, err
		}
	}
	return f, nil
}

// look reads one file below the place, and notes which directories are there.
func (p Place) look(root *os.Root, f *Found, name string) error {
	steps := strings.Split(path.Join(p.base, name), "/")
	for i := range steps {
		at := path.Join(steps[:i+1]...)
		info, err := root.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return p.failed(at, err)
		}
		if i < len(steps)-1 {
			if !info.IsDir() {
				return p.failed(at, regular.ErrNoDirectory)
			}
			f.dirs[path.Join(".", strings.TrimPrefix(at, p.base), ".")] = true
			continue
		}
		if info.Mode().IsRegular() && info.Mode().Perm()&0o200 == 0 {
			return p.failed(at, errReadOnly)
		}
	}
	file, err := regular.OpenIn(root, path.Join(steps...))
	if err != nil {
		return p.failed(path.Join(steps...), err)
	}
	data, err := regular.ReadAll(file, maxFile)
	if err != nil {
		return p.failed(path.Join(steps...), err)
	}
	f.files[name] = data
	return nil
}

var errReadOnly = errors.New("it is read-only: make it writable, or leave it as it is and do without the plugin")

// failed says which file something is wrong with.
func (p Place) failed(name string, err error) error {
	if of, ok := errors.AsType[*fs.PathError](err); ok {
		err = of.Err
	}
	if large, ok := errors.AsType[*regular.TooLargeError](err); ok {
		err = fmt.Errorf("it has more than %d bytes", large.Most)
	}
	return fmt.Errorf("%s: %w", safetext.Escape(filepath.Join(p.above, filepath.FromSlash(name))), err)
}

// Do carries a plan out at the place that it was made for. If it fails in between, the manifest knows what was done: the
// installation can be done again, or removed.
func (p Plan) Do(at Place) error {
	if !p.Changed() {
		return nil
	}
	root, err := os.OpenRoot(at.above)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // each file was synced
	for _, dir := range p.made {
		if err := root.Mkdir(path.Join(at.base, dir), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return at.failed(path.Join(at.base, dir), err)
		}
	}
	for _, s := range p.Steps {
		if s.Action == Leave {
			continue
		}
		if err := at.step(root, s); err != nil {
			return err
		}
	}
	for _, dir := range p.empty { // one that is not empty stays
		_ = root.Remove(path.Join(at.base, dir))
	}
	return nil
}

var errMeanwhile = errors.New("it was changed meanwhile: do it again")

// step changes one file, if it is what the plan was made for.
func (p Place) step(root *os.Root, s Step) error {
	name := path.Join(p.base, s.Path)
	now := Found{files: map[string][]byte{}, dirs: map[string]bool{}}
	if err := p.look(root, &now, s.Path); err != nil {
		return err
	}
	is, there := now.files[s.Path]
	if there != (s.before != nil) || !bytes.Equal(is, s.before) {
		return p.failed(name, errMeanwhile)
	}
	if s.after == nil {
		if err := root.Remove(name); err != nil {
			return p.failed(name, err)
		}
		return nil
	}
	mode := fs.FileMode(0o644)
	if info, err := root.Lstat(name); err == nil {
		mode = info.Mode().Perm()
	}
	dir, err := root.OpenRoot(path.Dir(name))
	if err != nil {
		return p.failed(name, err)
	}
	defer func() { _ = dir.Close() }() // the file was synced
	if err := durable.WriteIn(dir, path.Base(name), s.after); err != nil {
		return p.failed(name, err)
	}
	if err := dir.Chmod(path.Base(name), mode); err != nil {
		return p.failed(name, err)
	}
	return nil
}
