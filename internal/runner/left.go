package runner

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/home"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/session"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/internal/worktree"
)

// Agents can write some of what lies here, and one without a sandbox all of it. So no link is followed, nothing is
// believed of a worktree but what git finds out, and what is removed is first moved to where nobody expects it.

const (
	cachesDir = "caches" // homes of checks, and what they begin with
	trashDir  = "trash"  // what is being removed
	readyFile = ".ready" // at the end of the name of a file beside a worktree that is set up
	logSuffix = ".log"
)

func (x *Runner) gateLogs() string { return filepath.Join(x.gatesDir(), runLogs) }

// Records returns what sessions said and checks printed.
func (x *Runner) Records(ctx context.Context) ([]order.Record, error) {
	sessions, err := list(filepath.Join(x.dir, sessionsDir))
	if err != nil {
		return nil, err
	}
	var all []order.Record
	for _, e := range sessions {
		subject, _, err := work.ParseSession(e.Name())
		if err != nil {
			continue // nothing of ours
		}
		r := order.Record{Name: e.Name(), Subject: subject, Bytes: extent(ctx, x.sessionDir(e.Name())), Live: session.Alive(x.sessionDir(e.Name()))}
		if info, err := e.Info(); err == nil {
			r.At = info.ModTime()
		}
		all = append(all, r)
	}
	logs, err := list(x.gateLogs())
	if err != nil {
		return nil, err
	}
	for _, e := range logs {
		name, ok := strings.CutSuffix(e.Name(), logSuffix)
		info, err := e.Info()
		if !ok || err != nil {
			continue
		}
		subject := name
		if of, _, err := work.ParseSession(name); err == nil {
			subject = of
		}
		all = append(all, order.Record{Gate: true, Name: name, Subject: subject, Bytes: info.Size(), At: info.ModTime()})
	}
	slices.SortStableFunc(all, func(a, b order.Record) int { return cmp.Compare(a.Name, b.Name) })
	return all, ctx.Err()
}

// RunsLeft returns the ids of the runs that branches or worktrees are named after.
func (x *Runner) RunsLeft(ctx context.Context) ([]string, error) {
	trees, err := list(x.treePath("", ""))
	if err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	for _, e := range trees {
		ids[e.Name()] = true
	}
	branches, err := x.repo.Branches(ctx, "")
	if err != nil {
		return nil, err
	}
	before, after, numbered := strings.Cut(x.config.BranchOf("\x00"), "\x00")
	for _, name := range branches {
		if rest, ok := strings.CutPrefix(name, allTaskBranches+"/"); ok {
			id, _, _ := strings.Cut(rest, "/")
			ids[id] = true
		} else if numbered && strings.HasPrefix(name, before) && strings.HasSuffix(name, after) {
			ids[strings.TrimSuffix(strings.TrimPrefix(name, before), after)] = true
		}
	}
	var all []string
	for id := range ids {
		if runID.MatchString(id) {
			all = append(all, id)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	return all, nil
}

var runID = regexp.MustCompile(`^R[0-9]{1,18}$`)

// Left returns the worktrees and branches of a run.
func (x *Runner) Left(ctx context.Context, r delivery.Run) ([]order.Left, error) {
	entries, err := list(x.treePath(r.ID, ""))
	if err != nil {
		return nil, err
	}
	tasks, known := []string{remediationTree}, []string{remediationTree}
	for _, t := range r.Tasks {
		tasks, known = append(tasks, t.ID), append(known, fileName(t.ID))
	}
	var all []order.Left
	for _, task := range tasks {
		l, err := x.leftOf(ctx, r, task)
		if err != nil {
			return nil, err
		}
		if l.Worktree != "" || l.Branch != "" {
			all = append(all, l)
		}
	}
	for _, e := range entries {
		if name := strings.TrimSuffix(e.Name(), readyFile); !slices.Contains(known, name) {
			path := filepath.Join(x.treePath(r.ID, ""), e.Name())
			all = append(all, order.Left{Task: e.Name(), Worktree: path, Bytes: extent(ctx, path), Aside: true})
		}
	}
	if r.BranchGone || x.config.BranchOf("") == r.Branch || !strings.Contains(r.Branch, r.ID) { // the user gave it its name, and may have meant it for more
		return all, nil
	}
	own := order.Left{}
	if err := x.lookAt(ctx, r, r.Branch, "", &own); err != nil {
		return nil, err
	}
	if own.Branch != "" {
		all = append(all, own)
	}
	return all, nil
}

// leftOf looks at what is left of a task.
func (x *Runner) leftOf(ctx context.Context, r delivery.Run, task string) (order.Left, error) {
	l, path := order.Left{Task: task}, x.treePath(r.ID, task)
	if _, err := os.Lstat(path); err == nil {
		l.Worktree, l.Bytes = path, extent(ctx, path)
		looking, cancel := context.WithTimeoutCause(ctx, snapshotTime, fmt.Errorf("after %v: %w", snapshotTime, worktree.ErrTooSlow))
		defer cancel()
		names, err := x.repo.Tree(path).Dirty(looking)
		l.Uncommitted = len(names)
		if err != nil {
			l.Unread = err.Error()
		}
	}
	return l, x.lookAt(ctx, r, taskBranch(r.ID, task), path, &l)
}

// lookAt looks at a branch, which may be checked out at a path.
func (x *Runner) lookAt(ctx context.Context, r delivery.Run, branch, path string, l *order.Left) error {
	tip, err := x.repo.Tip(ctx, branch)
	if errors.Is(err, worktree.ErrUnknown) {
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	l.Branch, l.Commit = branch, tip
	switch err := x.repo.CheckedOut(ctx, branch, path); {
	case errors.Is(err, worktree.ErrCheckedOut):
		l.CheckedOut = true
	case err != nil:
		return err
	}
	var into []string
	if path != "" {
		into = []string{r.Branch}
	}
	l.Unmerged, err = x.repo.Ahead(ctx, tip, []string{allTaskBranches + "/*", x.config.BranchOf("R*")}, into...)
	if err != nil && ctx.Err() == nil {
		l.Unread, err = err.Error(), nil
	}
	return err
}

// Homes is how large what checks left for the next run's is.
func (x *Runner) Homes(ctx context.Context) int64 {
	return extent(ctx, filepath.Join(x.dir, cachesDir))
}

// RemoveRecord removes what a session said, or what checks printed.
func (x *Runner) RemoveRecord(r order.Record) error {
	if r.Gate {
		return x.discard(filepath.Join(x.gateLogs(), r.Name+logSuffix))
	}
	if session.Alive(x.sessionDir(r.Name)) {
		return session.ErrAlive
	}
	return x.discard(x.sessionDir(r.Name))
}

// Discard removes a worktree and a branch, as they were looked at.
func (x *Runner) Discard(ctx context.Context, r delivery.Run, l order.Left) error {
	if l.Aside {
		err := x.discard(l.Worktree)
		_ = os.Remove(x.treePath(r.ID, "")) // if nothing is left in it
		return err
	}
	if err := x.removeTree(ctx, r, l); err != nil || l.Branch == "" {
		return err
	}
	if l.Task == "" {
		return x.repo.Delete(ctx, l.Branch, l.Commit)
	}
	if err := x.repo.Tidy(ctx, l.Branch, r.Branch, false); err != nil {
		return err
	}
	if err := x.repo.Delete(ctx, l.Branch, l.Commit); err != nil {
		return err
	}
	return x.repo.Tidy(ctx, l.Branch, r.Branch, true)
}

func (x *Runner) removeTree(ctx context.Context, r delivery.Run, l order.Left) error {
	if l.Worktree == "" {
		return nil
	}
	if err := x.repo.Remove(ctx, l.Worktree); err != nil {
		return err
	}
	_ = os.Remove(l.Worktree + readyFile)
	_ = os.Remove(x.treePath(r.ID, "")) // if nothing is left in it
	return nil
}

// PutAway commits what lies in a worktree to its branch, and removes the worktree.
func (x *Runner) PutAway(ctx context.Context, r delivery.Run, l order.Left) error {
	if l.Branch == "" {
		return fmt.Errorf("it has no branch to commit to: %w", worktree.ErrUnknown)
	}
	message := fmt.Sprintf("What was left of %s\n\nThe run has ended, and its worktree is kept no longer.", order.ItemID(r.ID, l.Task))
	if _, _, err := x.repo.Tree(l.Worktree).Settle(ctx, message); err != nil {
		return err
	}
	return x.removeTree(ctx, r, l)
}

// discard removes what lies at a path in the box's directory, with all that is in it.
func (x *Runner) discard(path string) error {
	aside := filepath.Join(x.dir, trashDir, rand.Text())
	if err := os.MkdirAll(filepath.Dir(aside), 0o700); err != nil {
		return err
	}
	err := os.Rename(path, aside)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	err = home.Remove(aside)
	_ = os.Remove(filepath.Dir(aside)) // if nothing is left in it
	return err
}

// sweepTrash removes what a box that was killed had begun to remove.
func (x *Runner) sweepTrash() error {
	entries, err := list(filepath.Join(x.dir, trashDir))
	for _, e := range entries {
		err = errors.Join(err, home.Remove(filepath.Join(x.dir, trashDir, e.Name())))
	}
	_ = os.Remove(filepath.Join(x.dir, trashDir))
	return err
}

// list returns what is in a directory, which need not be there. A link to one has nothing in it.
func list(dir string) ([]fs.DirEntry, error) {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return os.ReadDir(dir)
}

// extent is how many bytes lie at a path, in files that can be found. Links are not followed.
func extent(ctx context.Context, path string) (bytes int64) {
	_ = filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				bytes += info.Size()
			}
		}
		if ctx.Err() != nil {
			return fs.SkipAll
		}
		return nil // what can't be read is not counted
	})
	return bytes
}
