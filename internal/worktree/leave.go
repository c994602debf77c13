package worktree

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/safetext"
)

// Branches returns the names of the branches that begin so.
func (r *Repo) Branches(ctx context.Context, prefix string) (names []string, err error) {
	err = r.each(ctx, r.home, func(name string) {
		if short := strings.TrimPrefix(strings.TrimPrefix(name, "\n"), "refs/heads/"); strings.HasPrefix(short, prefix) {
			names = append(names, short)
		}
	}, call{args: []string{"for-each-ref", "--format=%(refname)%00", "refs/heads/"}})
	return names, err
}

// Ahead counts the commits that would be lost with one: those that none of the named branches has, and no other branch,
// here or of a remote, but those whose names fit one of the patterns. Named branches need not be there.
func (r *Repo) Ahead(ctx context.Context, commit string, but []string, branches ...string) (int, error) {
	args := []string{"rev-list", "--count", commit, "--not"}
	for _, b := range branches {
		switch _, err := r.Resolve(ctx, ref(b)); {
		case err == nil:
			args = append(args, ref(b))
		case !errors.Is(err, ErrUnknown):
			return 0, err
		}
	}
	for _, pattern := range but {
		args = append(args, "--exclude="+pattern)
	}
	args = append(args, "--branches")
	for _, pattern := range but {
		args = append(args, "--exclude=*/"+pattern)
	}
	text, err := r.read(ctx, r.home, slices.Concat(args, []string{"--remotes", "--"})...)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}

// CheckedOut is [ErrCheckedOut] if a branch is checked out anywhere but in the worktree at a path.
func (r *Repo) CheckedOut(ctx context.Context, branch, except string) error {
	return r.checkedOut(ctx, branch, except)
}

// Delete deletes a branch, whatever is lost with it, if it is still at a commit and is not checked out. That it has gone
// is no error.
func (r *Repo) Delete(ctx context.Context, branch, commit string) error {
	release, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer release()
	switch tip, err := r.Resolve(ctx, ref(branch)); {
	case errors.Is(err, ErrUnknown):
		return nil
	case err != nil:
		return err
	case tip != commit:
		return fmt.Errorf("%s: %w", safetext.Escape(branch), ErrMoved)
	}
	if err := r.checkedOut(ctx, branch, ""); err != nil {
		return err
	}
	return r.moved(branch, r.change(ctx, r.home, "update-ref", "--no-deref", "-d", ref(branch), commit))
}
