package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/safetext"
)

// minVersion is the first git whose worktree add takes a reason for its lock,
// rounded up to what distributions have.
const minVersion = "2.34"

// Repo is a git repository, seen from a checkout of the user's.
type Repo struct {
	program  string
	env      []string
	home     place           // the user's checkout
	common   string          // what all worktrees share: refs, objects, their registrations
	turn     turn            // to change what is shared
	pauses   []time.Duration // between tries, if somebody else holds a lock
	patience time.Duration   // with a command
}

// IsTop reports whether a directory is the top of a checkout, as far as can be told without git: it has a
// .git that is a file, as linked worktrees have it, or that git made. An empty .git makes no checkout: programs
// leave one behind to keep others from making it.
func IsTop(dir string) bool {
	dotGit := filepath.Join(dir, ".git")
	info, err := os.Stat(dotGit)
	if err == nil && info.IsDir() {
		_, err = os.Lstat(filepath.Join(dotGit, "HEAD"))
	}
	return err == nil
}

// find finds the git program, and returns a repository that is nowhere yet.
func find(ctx context.Context) (*Repo, error) {
	program, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", ErrNoGit, err)
	}
	r := &Repo{
		program:  program,
		env:      environment(),
		turn:     make(turn, 1),
		pauses:   []time.Duration{time.Second, 2 * time.Second, 4 * time.Second},
		patience: patience,
	}
	_, err = r.version(ctx)
	return r, err
}

// version returns what git says of its version, unless it is too old.
func (r *Repo) version(ctx context.Context) (string, error) {
	version, err := r.read(ctx, place{}, "version")
	if err == nil && !recent(version) {
		err = fmt.Errorf("%s: %w", safetext.Escape(version), ErrOldGit)
	}
	return version, err
}

// GitVersion returns what the git here says of its version. It fails if there is none, or it is too old.
func GitVersion(ctx context.Context) (string, error) {
	r, err := find(ctx)
	if err != nil {
		return "", err
	}
	return r.version(ctx)
}

// Open finds the checkout that a directory is in.
func Open(ctx context.Context, dir string) (*Repo, error) {
	r, err := find(ctx)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	at := place{dir: dir}
	for _, found := range []struct {
		to    *string
		query []string
	}{
		{&r.home.dir, []string{"--show-toplevel"}},
		{&r.home.gitDir, []string{"--absolute-git-dir"}},
		{&r.common, []string{"--path-format=absolute", "--git-common-dir"}},
	} {
		*found.to, err = r.read(ctx, at, append([]string{"rev-parse"}, found.query...)...)
		if failed := (*GitError)(nil); errors.As(err, &failed) &&
			(strings.Contains(failed.Stderr, "not a git repository") || strings.Contains(failed.Stderr, "must be run in a work tree")) {
			return nil, fmt.Errorf("%s: %w", safetext.Escape(dir), ErrNotRepo)
		}
		if err != nil {
			return nil, err
		}
		*found.to = filepath.FromSlash(*found.to)
	}
	return r, nil
}

// recent reports whether "git version 2.39.5 (…)" is new enough.
func recent(version string) bool {
	var major, minor, wantMajor, wantMinor int
	if _, err := fmt.Sscanf(version, "git version %d.%d", &major, &minor); err != nil {
		return false
	}
	if _, err := fmt.Sscanf(minVersion, "%d.%d", &wantMajor, &wantMinor); err != nil {
		return false
	}
	return slices.Compare([]int{major, minor}, []int{wantMajor, wantMinor}) >= 0
}

// Root is the top directory of the user's checkout.
func (r *Repo) Root() string { return r.home.dir }

// Common is the directory that all worktrees share: refs, objects, their registrations.
func (r *Repo) Common() string { return r.common }

// Head returns the branch and the commit of the user's checkout. The branch is
// empty if HEAD is detached.
func (r *Repo) Head(ctx context.Context) (branch, commit string, err error) {
	if branch, err = r.branchOf(ctx, r.home); err != nil {
		return "", "", err
	}
	if commit, err = r.Resolve(ctx, "HEAD"); errors.Is(err, ErrUnknown) {
		err = ErrNoCommit
	}
	return branch, commit, err
}

// branchOf returns the branch that is checked out at a place, empty if none.
func (r *Repo) branchOf(ctx context.Context, at place) (string, error) {
	ref, err := r.symref(ctx, at, "HEAD")
	if branch, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
		return branch, err
	}
	return "", err
}

// symref returns the ref that another one stands for, empty if it stands for none.
func (r *Repo) symref(ctx context.Context, at place, name string) (string, error) {
	ref, err := r.read(ctx, at, "symbolic-ref", "--quiet", name)
	if failed := (*GitError)(nil); errors.As(err, &failed) && failed.Exit == 1 {
		return "", nil
	}
	return ref, err
}

// Resolve returns the full name of a commit. It is [ErrUnknown] if there is none.
func (r *Repo) Resolve(ctx context.Context, rev string) (string, error) {
	return r.resolve(ctx, r.home, rev)
}

func (r *Repo) resolve(ctx context.Context, at place, rev string) (string, error) {
	commit, err := r.read(ctx, at, "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}")
	if failed := (*GitError)(nil); errors.As(err, &failed) && failed.Stderr == "" {
		return "", fmt.Errorf("%s: %w", safetext.Escape(rev), ErrUnknown)
	}
	return commit, err
}

// Branch makes a branch at a commit. One that is there stays where it is.
func (r *Repo) Branch(ctx context.Context, name, at string) (created bool, err error) {
	if err := r.checkBranch(ctx, name); err != nil {
		return false, err
	}
	commit, err := r.Resolve(ctx, at)
	if err != nil {
		return false, err
	}
	release, err := r.lock(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	switch _, err := r.Resolve(ctx, ref(name)); {
	case err == nil:
		return false, nil
	case !errors.Is(err, ErrUnknown):
		return false, err
	}
	err = r.change(ctx, r.home, "update-ref", "--no-deref", ref(name), commit, strings.Repeat("0", len(commit)))
	return err == nil, err
}

// checkBranch refuses what can't be the name of a branch.
func (r *Repo) checkBranch(ctx context.Context, name string) error {
	ok := name != "" && name != "HEAD" && name[0] != '-' && !strings.ContainsRune(name, 0)
	if ok {
		var err error
		if ok, err = r.ask(ctx, r.home, "check-ref-format", ref(name)); err != nil {
			return err
		}
	}
	if !ok {
		return fmt.Errorf("'%s': %w", safetext.Escape(name), ErrBadBranch)
	}
	return nil
}

// ref is the full name of a branch, which can't be taken for anything else.
func ref(branch string) string { return "refs/heads/" + branch }

// Taken reports whether there is a branch below a prefix, as PREFIX/anything.
func (r *Repo) Taken(ctx context.Context, prefix string) (bool, error) {
	if err := r.checkBranch(ctx, prefix); err != nil {
		return false, err
	}
	found, err := r.read(ctx, r.home, "for-each-ref", "--count=1", "--format=%(refname)", ref(prefix)+"/")
	return found != "", err
}

// Merged reports whether a branch contains a commit.
func (r *Repo) Merged(ctx context.Context, commit, branch string) (bool, error) {
	commit, err := r.Resolve(ctx, commit)
	if err != nil {
		return false, err
	}
	tip, err := r.Resolve(ctx, ref(branch))
	if err != nil {
		return false, err
	}
	return r.contains(ctx, tip, commit)
}

// contains reports whether a commit is a descendant of another, or the same.
func (r *Repo) contains(ctx context.Context, commit, ancestor string) (bool, error) {
	return r.ask(ctx, r.home, "merge-base", "--is-ancestor", ancestor, commit)
}

// DeleteMerged deletes a branch whose commits are all in another one, and is
// [ErrNotMerged] if they are not. That the branch has gone is no error.
func (r *Repo) DeleteMerged(ctx context.Context, branch, into string) error {
	if branch == into {
		return fmt.Errorf("%s can't be deleted as merged into itself: %w", safetext.Escape(branch), ErrNotMerged)
	}
	release, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := r.disarmBranch(ctx, branch); err != nil {
		return err
	}
	tip, err := r.Resolve(ctx, ref(branch))
	if errors.Is(err, ErrUnknown) {
		return nil
	}
	if err != nil {
		return err
	}
	merged, err := r.Merged(ctx, tip, into)
	if err != nil {
		return err
	}
	if !merged {
		return fmt.Errorf("%s is not in %s: %w", safetext.Escape(branch), safetext.Escape(into), ErrNotMerged)
	}
	if err := r.checkedOut(ctx, branch, ""); err != nil {
		return err
	}
	return r.moved(branch, r.change(ctx, r.home, "update-ref", "--no-deref", "-d", ref(branch), tip))
}

// moved makes [ErrMoved] of a failed compare-and-set on a branch.
func (r *Repo) moved(branch string, err error) error {
	if failed := (*GitError)(nil); errors.As(err, &failed) &&
		(strings.Contains(failed.Stderr, "but expected") || strings.Contains(failed.Stderr, "unable to resolve reference")) {
		return fmt.Errorf("%s: %w", safetext.Escape(branch), ErrMoved)
	}
	return err
}

// checkedOut is [ErrCheckedOut] if a branch is checked out anywhere but in one
// directory: if it moved, that checkout would seem to have undone the difference.
// The caller has the turn: git looks at all worktrees for it.
func (r *Repo) checkedOut(ctx context.Context, branch, except string) error {
	var out limited
	err := r.write(ctx, r.home, call{args: []string{"for-each-ref", "--format=%(worktreepath)", ref(branch)}, out: &out})
	dir := strings.TrimSuffix(string(out.text), "\n")
	if err != nil || dir == "" || except != "" && same(dir, except) {
		return err
	}
	return fmt.Errorf("%s is checked out at %s: %w", safetext.Escape(branch), safetext.Escape(dir), ErrCheckedOut)
}

// lock waits for the turn to change what all worktrees share. Git looks at all of them then.
func (r *Repo) lock(ctx context.Context) (release func(), err error) {
	if release, err = r.turn.take(ctx); err != nil {
		return nil, err
	}
	if err := r.disarmShared(); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// turn is had by one at a time. It is full while somebody has it.
type turn chan struct{}

// take waits for the turn.
func (t turn) take(ctx context.Context) (release func(), err error) {
	select {
	case t <- struct{}{}:
		return func() { <-t }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// same reports whether two paths, which need not exist, are one.
func same(a, b string) bool { return followed(a) == followed(b) }

// followed is a path without symbolic links in it. What does not exist can't be one.
func followed(path string) string {
	if found, err := filepath.EvalSymlinks(path); err == nil {
		return found
	}
	if dir := filepath.Dir(path); dir != path {
		return filepath.Join(followed(dir), filepath.Base(path))
	}
	return path
}
