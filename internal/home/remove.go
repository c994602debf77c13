package home

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
)

// Remove removes a directory with all that is in it, also directories that nobody may write
// to, as some tools leave them. It follows no link. What is in a directory's directories is
// moved up and not descended into, so a tree that was made very deep on purpose takes
// neither many descriptors nor long paths.
func Remove(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return errors.Join(err, os.Remove(dir))
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	r := remover{root: root, prefix: "." + rand.Text() + "-"}
	err = r.empty(".")
	return errors.Join(err, root.Close(), os.Remove(dir))
}

type remover struct {
	root   *os.Root
	prefix string // of what was moved up; no name that is there has it
	moved  int
}

// empty removes what is in a directory: the root itself or one in it. Directories in that
// one are moved up to the root.
func (r *remover) empty(dir string) error {
	for {
		entries, err := r.list(dir)
		if err != nil || len(entries) == 0 {
			return err
		}
		for _, e := range entries {
			if err := r.entry(dir, e); err != nil {
				return err
			}
		}
	}
}

func (r *remover) entry(dir string, e fs.DirEntry) error {
	name := path.Join(dir, e.Name())
	if !e.IsDir() {
		return r.root.Remove(name)
	}
	if err := r.root.Chmod(name, 0o700); err != nil { // to move it, it has to be writable itself
		return err
	}
	if dir != "." {
		r.moved++
		return r.root.Rename(name, fmt.Sprint(r.prefix, r.moved))
	}
	if err := r.empty(name); err != nil {
		return err
	}
	return r.root.Remove(name)
}

// list returns some of what is in a directory.
func (r *remover) list(dir string) ([]fs.DirEntry, error) {
	f, err := r.root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	entries, err := f.ReadDir(batch)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return entries, err
}
