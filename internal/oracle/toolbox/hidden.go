package toolbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// hidden is what no model sees, wherever it lies and whatever it is called. It is known by what it
// is, not by its name: a link, a mount or a file system that takes BOX for box gives it other names.
type hidden struct {
	paths []string

	mu  sync.Mutex
	led []fs.FileInfo // what the paths led to at any time: one may be moved while it is read
}

// identities are files and directories by what they are.
type identities []fs.FileInfo

func (all identities) have(one fs.FileInfo) bool {
	return slices.ContainsFunc(all, func(known fs.FileInfo) bool { return os.SameFile(known, one) })
}

// now returns what is hidden at this moment: what the paths lead to, and what lies directly in it,
// for that can have a second name elsewhere, as a hard link to a key has.
func (h *hidden) now() (identities, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var within identities
	for _, path := range h.paths {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // there is nothing to hide yet
		}
		if err != nil {
			return nil, fmt.Errorf("what is not for a model can't be found: %w", err)
		}
		if !identities(h.led).have(info) {
			h.led = append(h.led, info)
		}
		if !info.IsDir() {
			continue
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, fmt.Errorf("what is not for a model can't be found: %w", err)
		}
		for _, e := range entries {
			if info, err := e.Info(); err == nil { // or it is gone by now
				within = append(within, info)
			}
		}
	}
	return append(within, h.led...), nil
}

// refuse returns an error if a directory is hidden, or lies in one that is, or is a box's.
func (h *hidden) refuse(dir string, root *os.Root) error {
	all, err := h.now()
	if err != nil {
		return err
	}
	at, err := filepath.EvalSymlinks(dir)
	if err == nil {
		at, err = filepath.Abs(at)
	}
	if err != nil {
		return err
	}
	if isBox(root) {
		return errBox
	}
	for ; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		switch {
		case err != nil:
			return err
		case all.have(info):
			return errBox
		case at == filepath.Dir(at):
			return nil
		}
	}
}

var errBox = errors.New("it is a box's directory, or lies in one, and that is not for a model: ask from elsewhere, or name another directory as builtin.code.root in the tools' configuration")

// isBox reports whether a directory is that of a box, as far as its files tell.
func isBox(dir *os.Root) bool {
	for _, name := range []string{"api.token", "signer.key"} {
		if _, err := dir.Lstat(name); err != nil {
			return false
		}
	}
	return true
}
