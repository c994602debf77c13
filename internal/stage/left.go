package stage

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/filelock"
	"github.com/signalbox-dev/signalbox/internal/regular"
)

const (
	prefix     = ".signalbox-stage-"
	ignoreFile = ".gitignore"

	// ignored keeps what a killed process leaves out of version control: there may be keys in it.
	ignored = "*\n"

	// mark says that a stage is held for as long as its process lives. It is written when that is so.
	mark = "# made ready by signalbox; what is left of it is removed by the next one\n" + ignored
)

// hold holds the stage. Where directories can't be locked it gets no mark, and nobody removes it.
func (s *Stage) hold() error {
	text := ignored
	held, err := filelock.TakeDir(s.dir, "")
	if err == nil && held.Locked() {
		text = mark
	}
	if err == nil {
		s.held = held
	} else if !errors.Is(err, filelock.ErrUnsupported) {
		return err
	}
	return os.WriteFile(s.Path(ignoreFile), []byte(text), 0o600)
}

// removeLeft removes the stages in a directory that killed processes left: those with a mark that nobody holds. A
// directory that can't be listed has none to see.
func removeLeft(dir string) {
	list, err := os.Open(dir)
	if err != nil {
		return
	}
	defer func() { _ = list.Close() }() // read only
	for err == nil {
		var names []string
		names, err = list.Readdirnames(1024)
		for _, name := range names {
			if path := filepath.Join(dir, name); strings.HasPrefix(name, prefix) && marked(path) {
				removeUnheld(path)
			}
		}
	}
}

func marked(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	f, err := regular.OpenItself(filepath.Join(path, ignoreFile))
	if err != nil {
		return false
	}
	text, err := regular.ReadAll(f, int64(len(mark)))
	return err == nil && string(text) == mark
}

// removeUnheld removes a stage if nobody holds it. Whoever made it held it before it got its mark: a stage with a mark that can be
// held by another has no process any more. What can't be removed is in nobody's way.
func removeUnheld(path string) {
	held, err := filelock.TakeDir(path, "")
	if err != nil {
		return
	}
	if held.Locked() && held.Stands() == nil {
		_ = os.RemoveAll(path)
	}
	_ = held.Close() // read only
}
