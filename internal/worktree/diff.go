package worktree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/safetext"
)

// Diff is what is compared, and what of it is shown.
type Diff struct {
	From, To string   // commits or trees
	Stat     bool     // how much of each file, and no lines
	Paths    []string // as git takes them; all if there are none
	In       string   // the directory that paths are meant in; the top of the user's checkout if it is elsewhere
	Columns  int      // for Stat
}

// readingTime is for how long somebody may read. Git waits for them.
const readingTime = 30 * 24 * time.Hour

// Diff writes what differs, in git's format, as it comes. Git runs nothing for it that attributes or settings
// could name. It is [ErrGone] if objects are missing or damaged.
func (r *Repo) Diff(ctx context.Context, d Diff, out io.Writer) error {
	args := []string{
		"diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-relative", "--submodule=short",
	}
	if d.Stat {
		args = append(args, "--stat")
	}
	for _, rev := range []string{d.From, d.To} {
		name, err := r.read(ctx, r.home, "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{tree}")
		if failed := (*GitError)(nil); errors.As(err, &failed) && (failed.Stderr == "" || damage.MatchString(failed.Stderr)) {
			return fmt.Errorf("%s: %w", short(rev), ErrGone)
		}
		if err != nil {
			return err
		}
		args = append(args, name)
	}
	c := call{args: slices.Concat(args, []string{"--"}, d.Paths), out: out, patience: readingTime}
	if d.Columns > 0 {
		c.env = append(c.env, fmt.Sprintf("COLUMNS=%d", d.Columns))
	}
	if in, err := filepath.Rel(followed(r.home.dir), followed(d.In)); d.In != "" && err == nil && filepath.IsLocal(in) {
		c.in = d.In
	}
	err := r.run(ctx, r.home, c)
	if failed := (*GitError)(nil); errors.As(err, &failed) && !failed.short() && damage.MatchString(failed.Stderr) {
		return fmt.Errorf("%w (git says: %s)", ErrGone, safetext.Escape(strings.TrimSpace(failed.Stderr)))
	}
	return err
}

// Beside returns a repository to look into, such as the exchange of this one, which nothing is changed in: its
// objects, with the files of the user's checkout. It need not be there.
func (r *Repo) Beside(path string) *Repo {
	own := *r
	own.home.gitDir, own.common = path, path
	return &own
}

// Tip returns the commit that a branch of an agent's is at. What git would wait for, or follow elsewhere, is
// no branch, and neither is another ref that git would take in its place, such as a tag: [ErrUnknown].
func (r *Repo) Tip(ctx context.Context, branch string) (string, error) {
	err := r.checkBranch(ctx, branch)
	there := !errors.Is(err, ErrBadBranch)
	if err != nil && there {
		return "", err
	}
	if there {
		info, err := os.Lstat(filepath.Join(r.common, filepath.FromSlash(ref(branch))))
		there = err != nil || info.Mode().IsRegular() // git packs refs as well
	}
	if there {
		if there, err = r.ask(ctx, r.home, "show-ref", "--verify", "--quiet", "--", ref(branch)); err != nil {
			return "", err
		}
	}
	if !there {
		return "", fmt.Errorf("%s: %w", safetext.Escape(branch), ErrUnknown)
	}
	return r.Resolve(ctx, ref(branch))
}

// Snapshot is what lay in a worktree at some moment.
type Snapshot struct {
	*Repo        // has all that is in it, beside what the repository has
	Tree  string // its name there
	dir   string
}

// Close removes it.
func (s *Snapshot) Close() error {
	err := os.RemoveAll(s.dir)
	_ = os.Remove(filepath.Join(s.common, ownDirs)) // if nothing is left in it
	return err
}

// Snapshot takes what lies in a worktree, and git does not ignore, as it would be committed on top of a commit. An
// agent may be at work there: nothing is changed, in the worktree, in what git keeps for it or in the repository.
// The index and all objects are in a directory of their own, and what the worktree says of itself is not
// believed. Objects that others have are taken from there first; they need not be.
func (t *Tree) Snapshot(ctx context.Context, commit string, others ...*Repo) (*Snapshot, error) {
	path, err := t.repo.outside(t.path)
	if err != nil {
		return nil, err
	}
	kept := t.repo.registration(path)
	if info, err := os.Lstat(path); err != nil || !info.IsDir() || kept == "" {
		return nil, fmt.Errorf("%s: %w", safetext.Escape(path), ErrNotWorktree)
	}
	dir, err := t.repo.lookDir()
	if err != nil {
		return nil, err
	}
	own := *t.repo
	s := &Snapshot{Repo: &own, dir: dir}
	if err := s.take(ctx, place{path, kept}, commit, others); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// lookDir makes a directory for a snapshot, where agents can't write. What was left by those who were killed goes.
func (r *Repo) lookDir() (string, error) {
	above := filepath.Join(r.common, ownDirs)
	left, err := filepath.Glob(filepath.Join(globbed(above), looks+"*"))
	for _, dir := range left {
		if info, gone := os.Lstat(dir); gone == nil && time.Since(info.ModTime()) > readingTime {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}
	if err = errors.Join(err, os.MkdirAll(above, 0o700)); err != nil {
		return "", err
	}
	return os.MkdirTemp(above, looks)
}

// looks begins the names of these directories.
const looks = "look-"

func (s *Snapshot) take(ctx context.Context, of place, commit string, others []*Repo) error {
	at, objects := place{of.dir, s.dir}, filepath.Join(s.dir, "objects")
	var alternates strings.Builder
	for _, r := range append(others, s.Repo) {
		has := filepath.Join(r.common, "objects")
		if _, err := os.Stat(has); err == nil { // git would complain at every command
			fmt.Fprintln(&alternates, quoted(has))
		}
	}
	err := errors.Join(s.clear(at, commit), os.MkdirAll(filepath.Join(objects, "info"), 0o700))
	if err == nil {
		err = os.WriteFile(filepath.Join(objects, "info", "alternates"), []byte(alternates.String()), 0o600)
	}
	if err != nil {
		return err
	}
	s.env = append(slices.Clone(s.env), "GIT_OBJECT_DIRECTORY="+objects)
	_ = copyIndex(s.apart(of), at) // without the times in it git reads every file, and comes to the same
	for tries := 1; ; tries++ {
		err = s.change(ctx, at, "read-tree", "--reset", commit)
		if err == nil {
			err = s.stage(ctx, at)
		}
		if err == nil {
			s.Tree, err = s.read(ctx, at, "write-tree")
		}
		if err == nil || ctx.Err() != nil || tries == snapshots {
			return err
		}
		// Files come and go while an agent works; and the index may not be whole.
		if err := remove(at, "index"); err != nil {
			return err
		}
	}
}

// snapshots is how often a worktree is looked at that changes meanwhile.
const snapshots = 3
