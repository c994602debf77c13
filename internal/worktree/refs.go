package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Agents can write the directories of their branch's ref and log. Of refs that are broken, or
// lead to what is not there, not only the box's git makes trouble: the user's gc, fetch and
// clone fail as well. So they are swept away before git runs, and when a run has ended.

// maxRefs is how many refs may lie beside a branch. Those beyond count as broken.
const maxRefs = 1000

// refDirs are the directories of a branch's ref and log; none if the branch has no directory of
// its own and is among the user's, or the directories are not there.
func (r *Repo) refDirs(branch string) (refs, logs string) {
	dir := filepath.FromSlash(path.Dir(ref(branch)))
	if dir == filepath.Join("refs", "heads") {
		return "", ""
	}
	refs, logs = filepath.Join(r.common, dir), filepath.Join(r.common, "logs", dir)
	_, err := os.Lstat(refs)
	if _, log := os.Lstat(logs); err != nil && log != nil {
		return "", ""
	}
	return refs, logs
}

// disarmBranch makes the directories of a branch's ref and log safe for git to run: there are
// only files in them, refs are of commits that are there, logs are of such refs, and nothing is
// locked. The caller has the turn: a branch that another makes meanwhile would be swept away.
func (r *Repo) disarmBranch(ctx context.Context, branch string) error {
	refs, logs := r.refDirs(branch)
	if refs == "" {
		return nil
	}
	for _, dir := range []string{refs, logs} {
		if err := plain(dir, fs.ModeType&^fs.ModeDir); err != nil {
			return err
		}
	}
	sound, err := r.sound(ctx, branch)
	if err != nil {
		return err
	}
	return errors.Join(r.sweep(refs, sound), r.sweep(logs, sound))
}

// sound names the refs beside a branch, and its own, that are commits which are there.
func (r *Repo) sound(ctx context.Context, branch string) (map[string]bool, error) {
	commits := map[string]string{}
	err := r.each(ctx, r.home, func(record string) {
		f := strings.Fields(record) // a name, a commit, and what it stands for
		if len(f) != 2 || strings.HasPrefix(f[0], ref(branch)+"/") || len(commits) >= maxRefs && f[0] != ref(branch) {
			return
		}
		commits[f[0]] = f[1]
	}, call{args: []string{"for-each-ref", "--format=%(refname) %(objectname) %(symref)%00", path.Dir(ref(branch)) + "/"}})
	if err != nil {
		return nil, err
	}
	var ask strings.Builder
	for _, commit := range commits {
		fmt.Fprintln(&ask, commit)
	}
	var out limited
	if err := r.run(ctx, r.home, call{args: []string{"cat-file", "--batch-check=%(objectname) %(objecttype)"}, stdin: ask.String(), out: &out}); err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for line := range strings.Lines(string(out.text)) {
		if commit, ok := strings.CutSuffix(line, " commit\n"); ok {
			there[commit] = true
		}
	}
	sound := map[string]bool{}
	for name, commit := range commits {
		sound[name] = there[commit]
	}
	return sound, nil
}

// sweep removes the files of refs, or of their logs, but for some. A branch of git's can't have
// a name that git does not read, so what is not among them is none.
func (r *Repo) sweep(dir string, but map[string]bool) error {
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case errors.Is(err, fs.ErrPermission): // which only its owner can have denied
			return errors.Join(os.Chmod(name, 0o700), removeAll(name))
		case err != nil || d.IsDir():
			return err
		}
		inside, err := filepath.Rel(r.common, name)
		if err != nil {
			return err
		}
		if !but[strings.TrimPrefix(filepath.ToSlash(inside), "logs/")] {
			return os.Remove(name)
		}
		return nil
	})
}

// Tidy leaves nothing broken beside a branch whose work has ended, and no log. If it is done, with
// all that it was for in another branch, nothing at all is left beside it; otherwise refs that
// are whole are kept. A branch is whole if git has all that is in it and not in the other one.
func (r *Repo) Tidy(ctx context.Context, branch, into string, done bool) error {
	refs, logs := r.refDirs(branch)
	if refs == "" {
		return nil
	}
	release, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := r.disarmBranch(ctx, branch); err != nil {
		return err
	}
	sound, err := r.sound(ctx, branch)
	if err != nil {
		return err
	}
	less := []string{"--not", ref(into)}
	if _, err := r.Resolve(ctx, ref(into)); errors.Is(err, ErrUnknown) {
		less = nil // the other one was deleted, and this one is no less whole for that
	}
	var drop strings.Builder
	for name := range sound {
		whole := false
		if name == ref(branch) || !done {
			err := r.run(ctx, r.home, call{args: slices.Concat([]string{"rev-list", "--objects", "--quiet", name}, less, []string{"--"})})
			if failed := (*GitError)(nil); err != nil && !errors.As(err, &failed) {
				return err
			}
			whole = err == nil
		}
		if !whole {
			fmt.Fprintf(&drop, "delete %s\n", name)
		}
	}
	if err := r.write(ctx, r.home, call{args: []string{"update-ref", "--no-deref", "--stdin"}, stdin: drop.String()}); err != nil {
		return err
	}
	if err := r.sweep(logs, nil); err != nil {
		return err
	}
	r.prune(refs, filepath.Join(r.common, "refs", "heads"))
	r.prune(logs, filepath.Join(r.common, "logs", "refs", "heads"))
	return nil
}

// prune removes a directory, those in it and those that it is in, up to another one, as far as
// they are empty.
func (r *Repo) prune(dir, top string) {
	var dirs []string
	_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, name)
		}
		return nil
	})
	for i := len(dirs) - 1; i >= 0; i-- { // what is inside comes after
		_ = os.Remove(dirs[i]) // unless something is in it
	}
	for dir = filepath.Dir(dir); dir != top && os.Remove(dir) == nil; dir = filepath.Dir(dir) {
	}
}
