package worktree

import "context"

// Path returns where the worktree lies.
func (t *Tree) Path() string { return t.path }

// Base returns the newest commit that both of two commits or branches come from.
func (r *Repo) Base(ctx context.Context, one, other string) (string, error) {
	a, err := r.Resolve(ctx, one)
	if err != nil {
		return "", err
	}
	b, err := r.Resolve(ctx, other)
	if err != nil {
		return "", err
	}
	return r.read(ctx, r.home, "merge-base", a, b)
}
