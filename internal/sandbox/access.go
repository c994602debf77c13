package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/safetext"
)

// access is what may be done with a path and all below it; each includes the ones before.
type access int

const (
	hidden   access = iota
	readable        // and to be executed
	writable
)

// grant is access to a path.
type grant struct {
	Path   string `json:"path"`
	Access access `json:"access"`
}

// entries is access by path. The longest path that holds a file decides on it.
type entries map[string]access

// add takes in what a policy says of a path.
func (e entries) add(path string, a access) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fmt.Errorf("%w: %w: make it, or take it out of the sandbox's paths", ErrBadPolicy, err)
	}
	switch before, twice := e[real]; {
	case real == "/" || within(real, "/dev") || within(real, "/proc"):
		return fmt.Errorf("%w: access to %s can't be changed", ErrBadPolicy, safetext.Escape(real))
	case twice && before != a:
		return fmt.Errorf("%w: %s is named twice, with different access", ErrBadPolicy, safetext.Escape(real))
	}
	e[real] = a
	return nil
}

// paths are in an order in which each comes after what it is in.
func (e entries) paths() []string {
	paths := make([]string, 0, len(e))
	for path := range e {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

// around is the access of what is around a path.
func (e entries) around(path string) access {
	for path != "/" {
		path = filepath.Dir(path)
		if a, ok := e[path]; ok {
			return a
		}
	}
	return e["/"]
}

// grants says the same by permissions alone, each of which adds to what it is in. A
// directory with less access somewhere below it is not permitted itself, but each thing in
// it is that is there now. A link is permitted as a link, and not what it leads to.
// Devices have rules of their own.
func (e entries) grants() ([]grant, error) {
	e["/dev"] = hidden
	var all []grant
	var visit func(path string, around access) error
	visit = func(path string, around access) error {
		own, ok := e[path]
		if !ok {
			own = around
		}
		below := e.below(path)
		if slices.ContainsFunc(below, func(b string) bool { return e[b] < own }) {
			names, err := children(path, below)
			for _, name := range names {
				err = errors.Join(err, visit(filepath.Join(path, name), own))
			}
			return err
		}
		if own > hidden {
			all = append(all, grant{path, own})
		}
		var err error
		for i, b := range below {
			if i == 0 || !belowAny(b, below[:i]) { // otherwise it is visited from there
				err = errors.Join(err, visit(b, own))
			}
		}
		return err
	}
	return all, visit("/", e["/"])
}

// children names what is in a directory. If the directory can't be listed, it is what leads
// to some paths below it.
func children(dir string, below []string) ([]string, error) {
	var names []string
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrPermission) {
		for _, path := range below {
			name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(path, dir), "/"), "/")
			names = append(names, name)
		}
		return slices.Compact(names), nil
	}
	for _, d := range entries {
		names = append(names, d.Name())
	}
	return names, err
}

// below returns the entries that are in a directory.
func (e entries) below(dir string) []string {
	return slices.DeleteFunc(e.paths(), func(path string) bool { return path == dir || !within(path, dir) })
}

// within reports whether a path is a directory or in it.
func within(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

// writableWith reports whether a path is writable with a directory that it is in, and nothing
// in between says otherwise.
func writableWith(path string, write []string, other ...[]string) bool {
	return slices.ContainsFunc(write, func(dir string) bool {
		return belowAny(path, []string{dir}) && !slices.ContainsFunc(slices.Concat(other...), func(between string) bool {
			return belowAny(between, []string{dir}) && within(filepath.Clean(path), filepath.Clean(between))
		})
	})
}

// belowAny reports whether a path is in one of some directories, and none of them.
func belowAny(path string, dirs []string) bool {
	path = filepath.Clean(path)
	return slices.ContainsFunc(dirs, func(dir string) bool {
		dir = filepath.Clean(dir)
		return path != dir && within(path, dir)
	})
}

// InAny reports whether a path is one of some directories or in one, by its name alone.
func InAny(path string, dirs []string) bool {
	path = filepath.Clean(path)
	return slices.ContainsFunc(dirs, func(dir string) bool { return within(path, filepath.Clean(dir)) })
}
