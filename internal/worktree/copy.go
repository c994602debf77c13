package worktree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/signalbox-dev/signalbox/safetext"
)

// Copy copies files that git does not have, such as .env, from the user's
// checkout into a worktree. They are named by slash-separated paths below the
// checkout's top. A file that git has is in the worktree already, and left as
// it is. A file is copied only if git ignores it there, so that nobody commits
// it; those that were not copied are named by a [CopyError].
func (r *Repo) Copy(ctx context.Context, dir string, files []string) error {
	return r.copyFrom(ctx, r.home.dir, dir, files)
}

// Copy is [Repo.Copy] for a worktree of the exchange.
func (x *Exchange) Copy(ctx context.Context, dir string, files []string) error {
	return x.copyFrom(ctx, x.user.home.dir, dir, files)
}

func (r *Repo) copyFrom(ctx context.Context, checkout, dir string, files []string) error {
	for _, f := range files {
		if !fs.ValidPath(f) || f == "." || strings.ContainsRune(f, 0) {
			return fmt.Errorf("'%s' can't be copied: name a file by its path from the top of the checkout", safetext.Escape(f))
		}
	}
	at, err := r.Tree(dir).place()
	if err != nil || len(files) == 0 {
		return err
	}
	if at, err = r.atHead(ctx, at); err != nil {
		return err
	}
	tracked, err := r.among(ctx, at, call{
		args: append([]string{"ls-files", "-z", "--"}, files...),
		env:  []string{"GIT_LITERAL_PATHSPECS=1"},
	})
	if err != nil {
		return err
	}
	const here = "./" // no name with this before it is taken for a pattern
	ignored, err := r.among(ctx, at, call{
		args:  []string{"check-ignore", "-z", "--stdin"},
		stdin: here + strings.Join(files, "\x00"+here),
	})
	if err != nil {
		return err
	}
	from, err := os.OpenRoot(checkout)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	to, err := os.OpenRoot(at.dir)
	if err != nil {
		return err
	}
	defer func() { _ = to.Close() }()
	var failed CopyError
	for _, f := range files {
		info, err := from.Stat(f)
		switch {
		case tracked[f]:
		case errors.Is(err, fs.ErrNotExist), err == nil && !info.Mode().IsRegular():
			failed.Missing = append(failed.Missing, f)
		case err != nil:
			return err
		case !ignored[here+f]:
			failed.Exposed = append(failed.Exposed, f)
		default:
			if err := copyFile(from, to, f, info.Mode().Perm()); err != nil {
				return fmt.Errorf("%s was not copied: %w", safetext.Escape(f), err)
			}
		}
	}
	if failed.Missing != nil || failed.Exposed != nil {
		return &failed
	}
	return nil
}

// among returns the files that a command names.
func (r *Repo) among(ctx context.Context, at place, c call) (map[string]bool, error) {
	found := map[string]bool{}
	err := r.each(ctx, at, func(name string) { found[name] = true }, c)
	if failed := (*GitError)(nil); errors.As(err, &failed) && failed.Exit == 1 {
		err = nil // none of them
	}
	return found, err
}

func copyFile(from, to *os.Root, name string, mode fs.FileMode) (err error) {
	if dir := path.Dir(name); dir != "." {
		if err := to.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	source, err := from.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	target, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}
