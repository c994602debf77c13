package agentformat

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Limits are what a directory of saved results may hold. What is 0 has no limit.
type Limits struct {
	Files int   // how many
	Bytes int64 // of all together
	File  int64 // bytes of one
}

// temporaryPrefix begins the names of files that are not whole yet.
const temporaryPrefix = ".new-"

var savedName = regexp.MustCompile(`^[A-Za-z0-9._-]+_[0-9]{8}_[0-9]{6}(_[0-9]{1,4})?\.json$`)

// isSaved reports whether a file is one of Save's, by its name; what a process that was killed
// has left counts as well.
func isSaved(name string) bool {
	return strings.HasPrefix(name, temporaryPrefix) || savedName.MatchString(name)
}

// makeRoom removes the oldest results of a directory until one more, of so many bytes, is within the
// limits. Nothing else there is counted or removed, and no link is followed.
func (l Limits) makeRoom(dir string, size int64) error {
	if most := l.largest(); most > 0 && size > most {
		return fmt.Errorf("the result can't be saved: it has %d bytes, and a file may have %d: ask for less", size, most)
	}
	if l.Files == 0 && l.Bytes == 0 {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = errors.Join(l.prune(root, size), root.Close())
	}
	if err != nil {
		return fmt.Errorf("the result can't be saved: older ones have to go, and can't be removed: %w: remove them", err)
	}
	return nil
}

func (l Limits) largest() int64 {
	if l.File == 0 || l.Bytes > 0 && l.Bytes < l.File {
		return l.Bytes
	}
	return l.File
}

// prune keeps no more than the limits and one batch of a directory in memory, however many files it has.
func (l Limits) prune(root *os.Root, size int64) error {
	const batch = 1000
	list, err := root.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = list.Close() }() // nothing was written
	var kept []fs.FileInfo
	for {
		entries, end := list.ReadDir(batch)
		for _, e := range entries {
			info, err := root.Lstat(e.Name())
			if err == nil && info.Mode().IsRegular() && isSaved(e.Name()) { // or it is gone by now
				kept = append(kept, info)
			}
		}
		if kept, err = l.drop(root, kept, size); err != nil {
			return err
		}
		if errors.Is(end, io.EOF) {
			return nil
		}
		if end != nil {
			return end
		}
	}
}

// drop removes the oldest of these files until one more fits, and returns the others.
func (l Limits) drop(root *os.Root, files []fs.FileInfo, size int64) ([]fs.FileInfo, error) {
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), strings.Compare(a.Name(), b.Name()))
	})
	var sum int64
	for _, f := range files {
		sum += f.Size()
	}
	for len(files) > 0 && (l.Files > 0 && len(files) >= l.Files || l.Bytes > 0 && sum > l.Bytes-size) {
		if err := root.Remove(files[0].Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		sum -= files[0].Size()
		files = files[1:]
	}
	return files, nil
}
