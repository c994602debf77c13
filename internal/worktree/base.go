package worktree

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/signalbox-dev/signalbox/safetext"
)

// Path returns where the worktree lies.
func (t *Tree) Path() string { return t.path }

// Base returns the newest commit that both of two commits or branches come from. It is
// [ErrUnrelated] if there is none.
func (r *Repo) Base(ctx context.Context, one, other string) (string, error) {
	base, err := r.read(ctx, r.home, "merge-base", "--end-of-options", one, other)
	if failed := (*GitError)(nil); errors.As(err, &failed) && failed.Exit == 1 {
		err = fmt.Errorf("%s and %s: %w", short(one), safetext.Escape(other), ErrUnrelated)
	}
	return base, err
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
