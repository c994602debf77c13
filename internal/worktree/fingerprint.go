package worktree

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/safetext"
)

const (
	maxPrinted = 10_000   // files of a checkout that are looked at
	maxHashed  = 16 << 20 // a larger file is known by its size and time
	maxTold    = 20       // files that Diff names
)

// Fingerprint is how the user's checkout is, and how git is set up for all
// worktrees of the repository: two that differ show that somebody changed it in
// between.
type Fingerprint struct {
	Branch, Commit string
	Stash          string            // the newest entry; empty if none
	Files          map[string]string // changed files, and what their contents are known by
	Unseen         int               // changed files beyond the 10,000 that were looked at
	Settings       map[string]string // git's own files that steer it, and what their contents are known by
}

// Fingerprint looks at the user's checkout, but for one directory at its top.
// A large file is known by its size and time, all others by their contents.
func (r *Repo) Fingerprint(ctx context.Context, except string) (Fingerprint, error) {
	f := Fingerprint{Files: map[string]string{}}
	var err error
	if f.Settings, err = r.settings(); err != nil {
		return f, err
	}
	if f.Stash, err = r.Resolve(ctx, "refs/stash"); err != nil && !errors.Is(err, ErrUnknown) {
		return f, err
	}
	root, err := os.OpenRoot(r.home.dir)
	if err != nil {
		return f, err
	}
	defer func() { _ = root.Close() }()
	args := []string{"status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--no-renames", "--", "."}
	if except != "" {
		args = append(args, ":(top,exclude,literal)"+except)
	}
	err = r.each(ctx, r.home, func(record string) {
		if head, ok := strings.CutPrefix(record, "# "); ok {
			f.head(head)
			return
		}
		state, name := splitStatus(record)
		if len(f.Files) == maxPrinted {
			f.Unseen++
			return
		}
		f.Files[name] = state + " " + contents(root, name)
	}, call{args: args})
	return f, err
}

// settings looks at what steers git in all worktrees. Nothing that this package
// does changes any of it.
func (r *Repo) settings() (map[string]string, error) {
	root, err := os.OpenRoot(r.common)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	found := map[string]string{}
	for _, name := range []string{"config", "config.worktree", "info/attributes", "info/exclude", "hooks"} {
		found[name] = contents(root, name)
	}
	if info, err := root.Lstat("hooks"); err != nil || !info.IsDir() {
		return found, nil // that it is none is noted
	}
	hooks, err := root.Open("hooks")
	if err != nil {
		return found, nil // as is that it can't be read
	}
	defer func() { _ = hooks.Close() }()
	entries, err := hooks.ReadDir(maxPrinted)
	for _, e := range entries {
		name := "hooks/" + e.Name()
		found[name] = contents(root, name)
	}
	if errors.Is(err, io.EOF) { // there are none
		err = nil
	}
	return found, err
}

// head takes what git status says of HEAD. Its words in brackets are no names.
func (f *Fingerprint) head(line string) {
	what, value, _ := strings.Cut(line, " ")
	if strings.HasPrefix(value, "(") {
		value = ""
	}
	switch what {
	case "branch.oid":
		f.Commit = value
	case "branch.head":
		f.Branch = value
	}
}

// splitStatus cuts a record of git status into what it says of a file, which is
// a fixed number of words for each kind of record, and the file's name.
func splitStatus(record string) (state, name string) {
	words := map[byte]int{'1': 8, 'u': 10, '?': 1}
	n := 1
	if record != "" {
		n = max(n, words[record[0]])
	}
	fields := strings.SplitN(record, " ", n+1)
	last := len(fields) - 1
	return strings.Join(fields[:last], " "), fields[last]
}

// contents tells what is in a file now. That it can't be read is a state too.
func contents(root *os.Root, name string) string {
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "gone"
	case err != nil:
		return "unreadable"
	case info.Mode().Type() == fs.ModeSymlink:
		to, err := root.Readlink(name)
		if err != nil {
			return "unreadable"
		}
		return "link " + to
	case !info.Mode().IsRegular():
		return info.Mode().Type().String()
	case info.Size() > maxHashed:
		return fmt.Sprintf("%v %d %d", info.Mode().Perm(), info.Size(), info.ModTime().UnixNano())
	}
	file, err := root.Open(name)
	if err != nil {
		return "unreadable"
	}
	defer func() { _ = file.Close() }()
	hash := sha256.New()
	if _, err := io.Copy(hash, io.LimitReader(file, maxHashed)); err != nil {
		return "unreadable"
	}
	return fmt.Sprintf("%v %x", info.Mode().Perm(), hash.Sum(nil))
}

// Without returns the fingerprint of a checkout in which these files are not looked at. They are named as git does, from its top.
func (f Fingerprint) Without(names []string) Fingerprint {
	f.Files = maps.Clone(f.Files)
	for _, name := range names {
		delete(f.Files, name)
	}
	return f
}

// Diff says in words what is different in a later fingerprint; nothing if they
// are the same. File names in it are escaped.
func (f Fingerprint) Diff(later Fingerprint) []string {
	var said []string
	if f.Branch != later.Branch {
		said = append(said, fmt.Sprintf("HEAD was on %s and is on %s", branchName(f.Branch), branchName(later.Branch)))
	}
	if f.Commit != later.Commit {
		said = append(said, fmt.Sprintf("HEAD was at %s and is at %s", commitName(f.Commit), commitName(later.Commit)))
	}
	if f.Stash != later.Stash {
		said = append(said, "the stash has changed")
	}
	names, more := different(f.Settings, later.Settings)
	for _, name := range names {
		said = append(said, "git's "+safetext.Escape(name)+" changed")
	}
	if more > 0 {
		said = append(said, fmt.Sprintf("%d more files of git's changed", more))
	}
	names, more = different(f.Files, later.Files)
	for _, name := range names {
		_, was := f.Files[name]
		_, is := later.Files[name]
		switch {
		case !was:
			said = append(said, safetext.Escape(name)+" was changed")
		case !is:
			said = append(said, safetext.Escape(name)+" is as in the commit again, or gone")
		default:
			said = append(said, safetext.Escape(name)+" was changed further")
		}
	}
	if more > 0 {
		said = append(said, fmt.Sprintf("%d more files were changed", more))
	}
	if f.Unseen != later.Unseen {
		said = append(said, fmt.Sprintf("beyond the first %d changed files there were %d and are %d", maxPrinted, f.Unseen, later.Unseen))
	}
	return said
}

// different names the files that are not the same, in order, and counts those beyond
// what is told.
func different(before, after map[string]string) (names []string, more int) {
	for name, now := range after {
		if was, ok := before[name]; !ok || was != now {
			names = append(names, name)
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	more = max(0, len(names)-maxTold)
	return names[:len(names)-more], more
}

func branchName(branch string) string {
	if branch == "" {
		return "no branch"
	}
	return safetext.Escape(branch)
}

func commitName(commit string) string {
	if commit == "" {
		return "no commit"
	}
	return short(commit)
}
