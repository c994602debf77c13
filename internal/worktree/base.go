package worktree

import (
	"context"
	"path/filepath"
	"strings"
)

// Path returns where the worktree lies.
func (t *Tree) Path() string { return t.path }

// Base returns the newest commit that both of two commits or branches come from.
func (r *Repo) Base(ctx context.Context, one, other string) (string, error) {
	return r.read(ctx, r.home, "merge-base", "--end-of-options", one, other)
}

// Is reports whether the worktree is on a branch, at a commit, and nothing in it is
// changed or new. It is quicker than making it so.
func (t *Tree) Is(ctx context.Context, branch, commit string) (bool, error) {
	at, err := t.place()
	if err != nil {
		return false, err
	}
	out, err := t.repo.read(ctx, at, "status", "--porcelain=v2", "--branch", "--untracked-files=normal", "--ignore-submodules=dirty")
	if err != nil {
		return false, err
	}
	head, here := false, false
	for line := range strings.Lines(out) {
		switch line = strings.TrimSuffix(line, "\n"); {
		case line == "# branch.oid "+commit:
			here = true
		case line == "# branch.head "+branch:
			head = true
		case !strings.HasPrefix(line, "# "):
			return false, nil
		}
	}
	return head && here, nil
}

// Top returns the directory at the top of the user's checkout that a path lies in; empty
// if it lies elsewhere.
func (r *Repo) Top(path string) string {
	inside, err := filepath.Rel(r.Root(), path)
	if err != nil || strings.HasPrefix(inside, "..") {
		return ""
	}
	return strings.Split(filepath.ToSlash(inside), "/")[0]
}
