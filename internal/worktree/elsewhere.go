package worktree

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Kept is what the refs begin with that hold what a run needs in the exchange.
func Kept(run string) string { return kept(run) }

// Give brings a commit that was pushed to the exchange to the user's repository, less what a branch has there.
func (x *Exchange) Give(ctx context.Context, commit, branch string) error {
	if at, err := x.user.Resolve(ctx, commit); err == nil && at == commit {
		return nil
	}
	since, err := x.TakeBranch(ctx, branch)
	if err != nil {
		return err
	}
	return x.give(ctx, commit, since)
}

// Contains reports whether a commit has another one in its history.
func (r *Repo) Contains(ctx context.Context, commit, ancestor string) (bool, error) {
	return r.contains(ctx, commit, ancestor)
}

// Drop drops refs, or all below a prefix that ends in a slash. Whether somebody needs them is the caller's to know.
func (r *Repo) Drop(ctx context.Context, refs ...string) error {
	var drop strings.Builder
	err := r.each(ctx, r.home, func(name string) {
		fmt.Fprintf(&drop, "delete %s\n", strings.TrimPrefix(name, "\n"))
	}, call{args: slices.Concat([]string{"for-each-ref", "--format=%(refname)%00"}, refs)})
	if err != nil {
		return err
	}
	return r.write(ctx, r.home, call{args: []string{"update-ref", "--stdin"}, stdin: drop.String()})
}
