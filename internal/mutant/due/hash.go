package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"go/scanner"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// module is this module's packages, by import path.
type module struct {
	path, root string
	packages   map[string]pack
}

// pack is a package as "go list" tells it.
type pack struct {
	ImportPath                         string
	Dir                                string
	Imports, TestImports, XTestImports []string
	EmbedFiles                         []string
	Module                             struct{ Path, Dir string }
}

// load reads the module of the working directory.
func load(ctx context.Context) (*module, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-json=ImportPath,Dir,Imports,TestImports,XTestImports,EmbedFiles,Module", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	m := &module{packages: map[string]pack{}}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pack
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF):
			return m, nil
		case err != nil:
			return nil, fmt.Errorf("go list: %w", err)
		}
		m.path, m.root = p.Module.Path, p.Module.Dir
		m.packages[p.ImportPath] = p
	}
}

// seeded returns the packages whose tests put in faults.
func (m *module) seeded() []string {
	var all []string
	for name, p := range m.packages {
		if mutants := m.path + "/internal/mutant"; slices.Contains(p.TestImports, mutants) || slices.Contains(p.XTestImports, mutants) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// hash returns the hash of what decides whether a package's tests notice its faults: the Go version
// and the modules, its own files and testdata, the paths that its tests name, such as the file that a
// fault is in or a program that is built, and what all these import of this module.
func (m *module) hash(name string) (string, error) {
	p := m.packages[name]
	files := map[string]bool{}
	add := func(path string) { files[path] = true }
	add(filepath.Join(m.root, "go.mod"))
	add(filepath.Join(m.root, "go.sum"))
	if err := m.all(filepath.Join(p.Dir, "testdata"), add); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	own, err := filepath.Glob(filepath.Join(p.Dir, "*"))
	if err != nil {
		return "", err
	}
	code := slices.Concat(p.Imports, p.TestImports, p.XTestImports, []string{name})
	for _, file := range own {
		if !m.regular(file) {
			continue
		}
		add(file)
		if !strings.HasSuffix(file, "_test.go") {
			continue
		}
		named, err := paths(file)
		if err != nil {
			return "", err
		}
		for _, path := range named {
			dir := path
			if m.regular(path) {
				add(path)
				dir = filepath.Dir(path)
			}
			if at, err := filepath.Rel(m.root, dir); err == nil && m.packages[m.path+"/"+filepath.ToSlash(at)].Dir != "" {
				code = append(code, m.path+"/"+filepath.ToSlash(at))
			} else if dir == path {
				if err := m.all(path, add); err != nil {
					return "", err
				}
			}
		}
	}
	if err := m.imported(code, add); err != nil {
		return "", err
	}
	return m.sum(files)
}

// imported adds the files of packages, and of what they import of this module, tests left out.
func (m *module) imported(names []string, add func(string)) error {
	seen := map[string]bool{}
	for len(names) > 0 {
		p, ok := m.packages[names[0]]
		names = names[1:]
		if !ok || seen[p.ImportPath] {
			continue
		}
		seen[p.ImportPath] = true
		names = append(names, p.Imports...)
		files, err := filepath.Glob(filepath.Join(p.Dir, "*"))
		if err != nil {
			return err
		}
		for _, file := range files {
			if m.regular(file) && !strings.HasSuffix(file, "_test.go") {
				add(file)
			}
		}
		for _, file := range p.EmbedFiles {
			add(filepath.Join(p.Dir, file))
		}
	}
	return nil
}

// all adds every file below a directory.
func (m *module) all(dir string, add func(string)) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && m.regular(path) {
			add(path)
		}
		return err
	})
}

// regular reports whether a path is a file, other than the one with what passed.
func (m *module) regular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && path != filepath.Join(m.root, filepath.FromSlash(passed))
}

// sum hashes the names and the bytes of files.
func (m *module) sum(files map[string]bool) (string, error) {
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	h := sha256.New()
	fmt.Fprintln(h, runtime.Version())
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		at, err := filepath.Rel(m.root, name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%q %x\n", filepath.ToSlash(at), sha256.Sum256(data))
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// paths returns what the strings of a Go file name in other directories: those that begin with ../,
// end in a name, and are there. A pattern such as ../../docs/*.md names all that it matches.
func paths(file string) ([]string, error) {
	source, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var found []string
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile(file, -1, len(source)), source, nil, 0)
	for {
		switch _, tok, lit := s.Scan(); tok {
		case token.EOF:
			return found, nil
		case token.STRING:
			path, err := strconv.Unquote(lit)
			if err != nil || !strings.HasPrefix(path, "../") || filepath.Base(path) == ".." {
				continue
			}
			// A string that is no pattern names nothing.
			matches, _ := filepath.Glob(filepath.Join(filepath.Dir(file), filepath.FromSlash(path)))
			found = append(found, matches...)
		}
	}
}
