package sandbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
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
// kernel sets, is part of it: what was changed and put back was changed. It is not where a
// program takes notes, nor are the notes.
func (l *look) digest(name string, info fs.FileInfo) (string, error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%v\n", info.Mode())
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := l.root.Readlink(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%q\n", target)
	}
	text, err := l.content(name)
	if err != nil {
		return "", err
	}
	if name == l.program.notes && text != nil {
		text = withoutTrust(text)
	} else if led, err := l.root.Stat(name); err == nil { // what a link leads to, if that is in the directory
		fmt.Fprintf(sum, "%d %d %d\n", led.Size(), changed(led), changed(info))
	} else {
		fmt.Fprintf(sum, "%d\n", changed(info))
	}
	sum.Write(text)
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// trusts matches Codex's notes that a project is trusted: whole tables, each before another or
// at the end, so that nothing else is in them. Blank lines before a table say nothing.
var (
	trusts = regexp.MustCompile(`(?:\n+\[projects\."[^"\\\n]*"\]\ntrust_level = "trusted")+\n+(\[|$)`)
	blanks = regexp.MustCompile(`\n+(\[|$)`)
)

// withoutTrust leaves Codex's notes out of its configuration, unless a text of several lines is
// in that, which could pass for notes.
func withoutTrust(text []byte) []byte {
	if bytes.Contains(text, []byte(`"""`)) || bytes.Contains(text, []byte("'''")) {
		return text
	}
	text = slices.Concat([]byte("\n"), text, []byte("\n"))
	return blanks.ReplaceAll(trusts.ReplaceAll(text, []byte("\n$1")), []byte("\n$1"))
}

// content returns what is in a file, if that is one, and it or its link leads to no other place;
// nothing, if enough was read.
func (l *look) content(name string) ([]byte, error) {
	info, err := l.root.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > l.read {
		return nil, nil // a link that leads out or nowhere, nothing that holds text, or too much
	}
	file, err := l.root.OpenFile(name, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(file, info.Size()))
	l.read -= int64(len(text))
	return text, err
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
