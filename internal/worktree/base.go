package worktree

import "context"

// Path returns where the worktree lies.
func (t *Tree) Path() string { return t.path }

// Base returns the newest commit that both of two commits or branches come from.
func (r *Repo) Base(ctx context.Context, one, other string) (string, error) {
	return r.read(ctx, r.home, "merge-base", "--end-of-options", one, other)
}
