package worktree

import (
	"errors"
	"fmt"
	"strings"

	"github.com/signalbox-dev/signalbox/safetext"
)

// What callers tell apart. A conflict is a [ConflictError], work in the wrong
// place a [StrayError], files that were not copied a [CopyError], and anything
// else that git refuses a [GitError].
var (
	ErrNoGit       = errors.New("the git program was not found: install git " + minVersion + " or later")
	ErrOldGit      = errors.New("the git program is too old: install git " + minVersion + " or later")
	ErrNotRepo     = errors.New("this is not a git checkout: run git init, or go to one")
	ErrNoCommit    = errors.New("the repository has no commit yet: make a first one")
	ErrUnknown     = errors.New("there is no such commit or branch")
	ErrBadBranch   = errors.New("git does not take this as the name of a branch")
	ErrMoved       = errors.New("the branch is not where it was: look where it is and try again")
	ErrNotMerged   = errors.New("the branch has work that is not merged")
	ErrCheckedOut  = errors.New("the branch is checked out elsewhere: switch to another one there")
	ErrOtherBranch = errors.New("the worktree belongs to another branch: remove it first")
	ErrNotWorktree = errors.New("this is not a worktree of the repository")
	ErrCheckout    = errors.New("this is the user's checkout, which is never changed")
	ErrUnrelated   = errors.New("they have no commit in common: bring the work to the branch that it was to begin from")
	ErrGone        = errors.New("git does not have all of it any more: it was collected (git gc), or is damaged")
	ErrExists      = errors.New("this name stands for another commit there already, and is never moved")
	ErrTooMuch     = errors.New("it printed more than can be held")
	ErrTooSlow     = errors.New("it took too long: look for a named pipe among the files, or a disk or server that does not answer")
)

// GitError is a git command that failed.
type GitError struct {
	Command string // its words, without the options that every command gets
	Exit    int    // -1 if a signal ended it
	Stderr  string // the last of it, as git printed it
}

func (e *GitError) Error() string {
	said := strings.Join(strings.Split(strings.TrimSpace(e.Stderr), "\n"), "; ")
	if said == "" {
		said = "it gave no reason"
	}
	return fmt.Sprintf("git %s failed with status %d: %s", safetext.Escape(e.Command), e.Exit, safetext.Escape(said))
}

// busy reports whether trying again may help: somebody else held a lock, or was
// just adding a worktree, which git reads by half then. That a ref is not what the
// command expected is no such case.
func (e *GitError) busy() bool {
	for _, settled := range []string{"but expected", "already exists", "cannot create", "unable to resolve reference"} {
		if strings.Contains(e.Stderr, settled) {
			return false
		}
	}
	return strings.Contains(e.Stderr, "cannot lock ref") || strings.Contains(e.Stderr, ".lock': File exists") ||
		strings.Contains(e.Stderr, "failed to read") && strings.Contains(e.Stderr, "commondir")
}

// ConflictError says which files a merge could not put together.
type ConflictError struct {
	Commit, Branch string
	Files          []string // at most 100
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s conflicts with %s in %s: bring the change up to date and solve the conflict there",
		short(e.Commit), safetext.Escape(e.Branch), list(e.Files))
}

// StrayError says that a worktree's HEAD went somewhere that its branch can't
// follow without losing commits. Nothing was changed.
type StrayError struct {
	Path, Branch string // the worktree, and the branch it is for
	Head         string // the branch that it is on; empty if none
	Commit       string // the commit that it is at; empty if none
}

func (e *StrayError) Error() string {
	at := "at " + short(e.Commit)
	switch {
	case e.Commit == "":
		at = "on " + safetext.Escape(e.Head) + ", which has no commit"
	case e.Head != "":
		at = "on " + safetext.Escape(e.Head) + " " + at
	}
	return fmt.Sprintf("the worktree %s is %s, which does not continue its branch %s: bring the work to that branch",
		safetext.Escape(e.Path), at, safetext.Escape(e.Branch))
}

// CopyError says which files were not copied into a worktree; all others were.
type CopyError struct {
	Missing []string // not there, or not a regular file
	Exposed []string // not ignored by git in the worktree, and so about to be committed
}

func (e *CopyError) Error() string {
	var said []string
	if len(e.Missing) > 0 {
		said = append(said, list(e.Missing)+": no such file to copy to the worktree")
	}
	if len(e.Exposed) > 0 {
		said = append(said, list(e.Exposed)+": not copied to the worktree, where git would commit it: add it to .gitignore and commit that")
	}
	return strings.Join(said, "; ")
}

// list names files in an error.
func list(files []string) string {
	const most = 10
	var names []string
	for _, f := range files[:min(len(files), most)] {
		names = append(names, safetext.Escape(f))
	}
	if more := len(files) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// short is a commit as people write it.
func short(commit string) string {
	return safetext.Escape(commit[:min(len(commit), 12)])
}

// unknown returns another error in the place of [ErrUnknown].
func unknown(err, instead error) error {
	if errors.Is(err, ErrUnknown) {
		return instead
	}
	return err
}
