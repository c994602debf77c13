package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Followed is a directory in which a program finds what it follows: settings, hooks, plugins,
// instructions. Logins, conversations and logs are there too, and are none of that.
type Followed struct {
	Dir     string
	program program
}

// Seen is how files were at a look, by path: a digest, or in words what can't be read.
type Seen map[string]string

// Bounds of a look.
const (
	maxFollowed = 20_000   // files of one program: with more, none is looked at
	maxRead     = 64 << 20 // bytes of one program's files: what is beyond is told by its size and times
)

// FindFollowed returns where the programs that a command names find what they follow. One that
// it does not name may be run by it all the same, if agents may write what that keeps.
func FindFollowed(command []string, home string, getenv func(string) string, write []string) []Followed {
	var all []Followed
	for _, p := range programs {
		if dir := p.places(home, getenv)[0]; p.runs(command) || overlap(dir, write) {
			all = append(all, Followed{dir, p})
		}
	}
	return all
}

// overlap reports whether a directory is in one of others, or one of them is in it.
func overlap(dir string, others []string) bool {
	return InAny(dir, others) || slices.ContainsFunc(others, func(other string) bool { return InAny(other, []string{dir}) })
}

// Look adds how what the program follows is now. Links are not followed out of the directory:
// these are told by what they say. What can't be read is returned in words.
func (f Followed) Look(seen Seen) (unread []string) {
	root, err := os.OpenRoot(f.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		seen[f.Dir] = "unreadable"
		return []string{err.Error()}
	}
	defer func() { _ = root.Close() }() // it was only read
	l := look{Followed: f, root: root, seen: Seen{}, read: maxRead}
	for _, name := range l.names(".") {
		if slices.ContainsFunc(f.program.follows, func(pattern string) bool {
			ok, _ := filepath.Match(pattern, name) // the patterns are good
			return ok
		}) {
			l.walk(name)
		}
	}
	if l.files > maxFollowed {
		err := fmt.Errorf("more than %d files", maxFollowed)
		l.seen, l.unread = Seen{}, nil
		l.trouble(".", err)
	}
	maps.Copy(seen, l.seen)
	return l.unread
}

// look is a look at what a program follows.
type look struct {
	Followed
	root   *os.Root
	seen   Seen
	files  int
	read   int64 // what may be read yet
	unread []string
}

// trouble notes what can't be read.
func (l *look) trouble(name string, err error) {
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		path := filepath.Join(l.Dir, name)
		l.seen[path] = "unreadable"
		l.unread = append(l.unread, fmt.Sprintf("%s: %v", path, err))
	}
}

// names returns what is in a directory, or enough of it to be too much.
func (l *look) names(dir string) []string {
	file, err := l.root.OpenFile(dir, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		l.trouble(dir, err)
		return nil
	}
	defer func() { _ = file.Close() }() // it was only read
	names, err := file.Readdirnames(maxFollowed + 1)
	if !errors.Is(err, io.EOF) {
		l.trouble(dir, err)
	}
	return names
}

// walk looks at a file, or at all that is below a directory.
func (l *look) walk(name string) {
	if l.files > maxFollowed || slices.Contains(l.program.except, filepath.ToSlash(name)) {
		return
	}
	l.files++
	info, err := l.root.Lstat(name)
	if err == nil && info.IsDir() {
		for _, in := range l.names(name) {
			l.walk(filepath.Join(name, in))
		}
		return
	}
	digest := ""
	if err == nil {
		digest, err = l.digest(name, info)
	}
	if err != nil {
		l.trouble(name, err)
		return
	}
	l.seen[filepath.Join(l.Dir, name)] = digest
}

// digest tells one state of a file from another. When it was last changed, which only the
// kernel sets, is part of it: what was changed and put back was changed.
func (l *look) digest(name string, info fs.FileInfo) (string, error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%v %d %d\n", info.Mode(), info.Size(), changed(info))
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := l.root.Readlink(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%q\n", target)
	}
	if err := l.content(sum, name); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// content writes what is in a file, if that is one, and it or its link leads to no other place.
func (l *look) content(to io.Writer, name string) error {
	info, err := l.root.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil // a link that leads out or nowhere, or nothing that holds text
	}
	fmt.Fprintf(to, "%d %d\n", info.Size(), changed(info))
	if info.Size() > l.read {
		return nil
	}
	file, err := l.root.OpenFile(name, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	n, err := io.Copy(to, io.LimitReader(file, info.Size()))
	l.read -= n
	return err
}

// Changed returns the paths, in order, at which something is different now.
func (s Seen) Changed(now Seen) []string {
	var all []string
	for path, digest := range s {
		if now[path] != digest {
			all = append(all, path)
		}
	}
	for path := range now {
		if _, ok := s[path]; !ok {
			all = append(all, path)
		}
	}
	slices.Sort(all)
	return all
}
