package worktree

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/signalbox-dev/signalbox/safetext"
)

// Merge is a commit to merge into a branch.
type Merge struct {
	Path    string // of a worktree to merge in, made if it is not there
	Branch  string // that takes the commit
	Old     string // where the branch is expected to be
	Commit  string
	Base    string // where reviewers saw the work begin; empty if nobody looked at it
	Message string
	// Allowed is the merge that was allowed last: whoever was to make it may have been killed
	// just after. It may be nil.
	Allowed *Result
	// Check looks at the result, a commit that is checked out in a directory,
	// before the branch moves. It may be nil.
	Check func(ctx context.Context, dir, commit string) error
	// Seal allows the result once Check has found nothing wrong with it, and says
	// what the message of the commit is that the branch moves to: the one that was
	// checked but for its message. Without it that is the commit that was checked.
	Seal func(ctx context.Context, r Result) (message string, err error)
}

// Result is what makes a merge what it is.
type Result struct {
	Onto   string // where the branch was: the first parent
	Commit string // that was merged: the second parent
	Tree   string
	// Checked is the commit that Check has looked at, which has these parents and this tree.
	Checked string
}

// Merged is what came of a merge.
type Merged struct {
	Commit  string // the merge: where the branch is, if it was not there before
	Already bool   // it was there before
}

// Merge merges a commit that was taken into a branch of the user's, with a commit of its own,
// and moves the branch there only if Check finds nothing wrong with it and the branch is still
// where it was. If the branch is elsewhere the error is [ErrMoved], if files
// conflict a [ConflictError], and what Check returns is wrapped; the branch has
// not moved then. It is a [HistoryError] if git would merge something else than what changed since
// Base. A branch that has the commit already stays as it is: by the merge that was allowed before, or
// the error is [ErrOnBranch].
func (x *Exchange) Merge(ctx context.Context, m Merge) (Merged, error) {
	tip, err := x.TakeBranch(ctx, m.Branch)
	if err != nil {
		return Merged{}, err
	}
	if m.Commit, err = x.Resolve(ctx, m.Commit); err != nil {
		return Merged{}, err
	}
	switch has, err := x.contains(ctx, tip, m.Commit); {
	case err != nil:
		return Merged{}, err
	case has && m.Commit == m.Base:
		return Merged{tip, true}, nil // nothing was changed: there is nothing to merge
	case has:
		found, err := x.made(ctx, tip, m)
		return Merged{found, err == nil}, err
	}
	if m.Old, err = x.Resolve(ctx, m.Old); err != nil {
		return Merged{}, err
	}
	if m.Old != tip {
		return Merged{}, fmt.Errorf("%s is at %s and not at %s: %w", safetext.Escape(m.Branch), short(tip), short(m.Old), ErrMoved)
	}
	if m.Base != "" {
		if err := x.parted(ctx, tip, m); err != nil {
			return Merged{}, err
		}
	}
	if err := x.user.mayMove(ctx, m.Branch); err != nil {
		return Merged{}, err // before the work, and not only after it
	}
	commit, dir, err := x.join(ctx, m)
	if err != nil {
		return Merged{}, err
	}
	if m.Check != nil {
		if err := m.Check(ctx, dir, commit); err != nil {
			return Merged{}, fmt.Errorf("the merge of %s into %s: %w", short(m.Commit), safetext.Escape(m.Branch), err)
		}
	}
	if m.Seal != nil {
		if commit, err = x.seal(ctx, m, commit); err != nil {
			return Merged{}, err
		}
	}
	if err := x.give(ctx, commit, m.Old); err != nil {
		return Merged{}, err
	}
	if err := x.user.advance(ctx, m.Branch, commit, m.Old); err != nil {
		return Merged{}, err
	}
	return Merged{Commit: commit}, x.follow(ctx, m.Branch, commit, m.Old)
}

// follow moves a branch here as it was moved in the user's repository. One that has left where it
// was has been brought to that, or further.
func (x *Exchange) follow(ctx context.Context, branch, to, from string) error {
	release, err := x.shared.take(ctx)
	if err != nil {
		return err
	}
	defer release()
	err = x.moved(branch, x.change(ctx, x.home, "update-ref", ref(branch), to, from))
	if errors.Is(err, ErrMoved) {
		return nil
	}
	return err
}

// join makes the merge commit in the worktree for it.
func (r *Repo) join(ctx context.Context, m Merge) (commit, dir string, err error) {
	if err := r.AddDetached(ctx, m.Path, m.Old); err != nil {
		return "", "", err
	}
	at, err := r.Tree(m.Path).place()
	if err != nil {
		return "", "", err
	}
	who, err := r.identity(ctx, at) // git asks for one even if it does not commit
	if err != nil {
		return "", "", err
	}
	merge := r.write(ctx, at, call{
		args: []string{"merge", "--quiet", "--no-ff", "--no-commit", "--no-autostash", "--no-verify-signatures", m.Commit},
		env:  who,
	})
	if failed := (*GitError)(nil); errors.As(merge, &failed) {
		files, err := r.conflicts(ctx, at)
		if err != nil || len(files) == 0 {
			return "", "", errors.Join(merge, err)
		}
		return "", "", errors.Join(&ConflictError{m.Commit, m.Branch, files}, r.detach(ctx, at, m.Old))
	}
	if merge != nil {
		return "", "", merge
	}
	if err := r.commit(ctx, at, m.Message); err != nil {
		return "", "", err
	}
	commit, err = r.resolve(ctx, at, "HEAD")
	return commit, at.dir, err
}

// seal makes the merge commit anew, with the message that Seal gives it.
func (r *Repo) seal(ctx context.Context, m Merge, checked string) (string, error) {
	tree, err := r.TreeOf(ctx, checked)
	if err != nil {
		return "", err
	}
	message, err := m.Seal(ctx, Result{Onto: m.Old, Commit: m.Commit, Tree: tree, Checked: checked})
	if err != nil {
		return "", err
	}
	who, err := r.identity(ctx, r.home)
	if err != nil {
		return "", err
	}
	var out limited
	err = r.run(ctx, r.home, call{
		args:  []string{"commit-tree", tree, "-p", m.Old, "-p", m.Commit, "-F", "-"},
		env:   who,
		stdin: message,
		out:   &out,
	})
	return strings.TrimSpace(string(out.text)), err
}

// mayMove is [ErrCheckedOut] for a branch that is checked out.
func (r *Repo) mayMove(ctx context.Context, branch string) error {
	release, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer release()
	return r.checkedOut(ctx, branch, "")
}

// advance moves a branch, if it is where it was and nobody has it checked out.
func (r *Repo) advance(ctx context.Context, branch, to, from string) error {
	release, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := r.checkedOut(ctx, branch, ""); err != nil {
		return err
	}
	return r.moved(branch, r.change(ctx, r.home, "update-ref", "-m", "signalbox: merge", ref(branch), to, from))
}

// commit commits the index.
func (r *Repo) commit(ctx context.Context, at place, message string) error {
	who, err := r.identity(ctx, at)
	if err != nil {
		return err
	}
	return r.write(ctx, at, call{
		args:  []string{"commit", "--quiet", "--no-verify", "--cleanup=whitespace", "--file=-"},
		env:   who,
		stdin: message,
	})
}

// identity is the environment that names who commits: nothing if the user told
// git a name and an address.
func (r *Repo) identity(ctx context.Context, at place) ([]string, error) {
	for _, who := range []string{"GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"} {
		_, known, err := r.who(ctx, at, who)
		if err != nil {
			return nil, err
		}
		if !known {
			const name, address = "Signalbox", "signalbox@localhost"
			return []string{
				"GIT_AUTHOR_NAME=" + name, "GIT_AUTHOR_EMAIL=" + address,
				"GIT_COMMITTER_NAME=" + name, "GIT_COMMITTER_EMAIL=" + address,
			}, nil
		}
	}
	return nil, nil
}

// who returns what git says of an author or committer, if the user told it a name and an address.
func (r *Repo) who(ctx context.Context, at place, variable string) (ident string, known bool, err error) {
	ident, err = r.read(ctx, at, "-c", "user.useConfigOnly=true", "var", variable)
	if failed := (*GitError)(nil); errors.As(err, &failed) {
		return "", false, nil
	}
	return ident, err == nil, err
}

// Author returns the name and the address that commits here are made by; empty if the user told git none.
func (r *Repo) Author(ctx context.Context) (name, address string, err error) {
	ident, known, err := r.who(ctx, r.home, "GIT_AUTHOR_IDENT") // NAME <ADDRESS> TIME ZONE
	if err != nil || !known {
		return "", "", err
	}
	name, rest, _ := strings.Cut(ident, " <")
	address, _, _ = strings.Cut(rest, ">")
	return name, address, nil
}
