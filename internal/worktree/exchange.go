package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/safetext"
)

// Exchange is a bare repository of the box's own, between agents and the user's repository.
// Work is checked, reviewed and merged in its worktrees. Agents can write loose objects and
// their worktrees' indexes in the user's repository, and git believes both; they can write
// nothing here, and whatever comes in is hashed anew, so a commit here is what its name says.
type Exchange struct {
	*Repo
	user *Repo
	// shared is the turn to move a ref that others move too: git refuses one of two, and an older
	// commit must not take the place of a newer one.
	shared turn
}

// OpenExchange opens the exchange of a repository at a path, and makes it if it is not there.
// Its settings are the user's, less what would run or hide something.
func OpenExchange(ctx context.Context, user *Repo, path string) (*Exchange, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	own := *user
	own.home, own.common, own.turn = place{dir: path, gitDir: path}, path, make(turn, 1)
	x := &Exchange{Repo: &own, user: user, shared: make(turn, 1)}
	format, err := user.Format(ctx)
	if err != nil {
		return nil, err
	}
	if err := x.configure(ctx, format); err != nil {
		return nil, fmt.Errorf("the box's own repository %s could not be made: %w", safetext.Escape(path), err)
	}
	return x, nil
}

// configure makes the repository, or makes its settings right: the user's may lie elsewhere
// by now.
func (x *Exchange) configure(ctx context.Context, format string) error {
	file := filepath.Join(x.common, "config")
	head := fmt.Sprintf("[include]\n\tpath = %s\n", quoted(filepath.Join(x.user.common, "config")))
	if text, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(text), head) {
		if err := os.MkdirAll(x.common, 0o700); err != nil {
			return err
		}
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		// Git is not told of a common directory here: there is none yet.
		made := *x.Repo
		made.common = ""
		if err := made.change(ctx, place{dir: x.common}, "init", "--quiet", "--bare", "--template=", "--object-format="+format, "--", x.common); err != nil {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		// What stands later counts: no hook of the user's or the change's runs for a reviewer,
		// nothing is left out of its worktree, and nothing is collected while it looks.
		tail := "[core]\n\thooksPath = /dev/null\n\tfsmonitor = false\n\tsparseCheckout = false\n" +
			"[gc]\n\tauto = 0\n[lfs]\n\tstorage = " + quoted(filepath.Join(x.user.common, "lfs")) + "\n"
		if err := renew(file, head+string(text)+tail); err != nil {
			return err
		}
	}
	if err := x.clearOutgoing(); err != nil {
		return err
	}
	for _, name := range []string{"attributes", "exclude"} {
		if err := x.mirror(filepath.Join("info", name)); err != nil {
			return err
		}
	}
	return nil
}

// mirror copies one of the files that steer git from the user's repository.
func (x *Exchange) mirror(name string) error {
	from, to := filepath.Join(x.user.common, name), filepath.Join(x.common, name)
	text, err := readLink(from)
	if errors.Is(err, fs.ErrNotExist) {
		return os.RemoveAll(to)
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return renew(to, text)
}

// quoted writes a value for a file of git's settings.
func quoted(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(value) + `"`
}

// TreeOf returns the name of all that is in a commit.
func (r *Repo) TreeOf(ctx context.Context, commit string) (string, error) {
	return r.read(ctx, r.home, "rev-parse", "--verify", "--quiet", "--end-of-options", commit+"^{tree}")
}

// kept is where the refs are that hold what a run needs here.
func kept(run string) string { return "refs/signalbox/" + run + "/" }

// PushedRefs is below what runners on other machines push for a run, as refs that are never moved.
func PushedRefs(run string) string { return "refs/tasks/" + run + "/" }

// baseRef holds what the latest run began with: the next one fetches what is new since.
const baseRef = "refs/signalbox/base"

// ErrObjects says that what a commit consists of is not what its names say, or not formed as
// git forms it.
var ErrObjects = errors.New("the commit's objects in git's store are damaged or malformed: go back to the commit before (git reset --soft), remove what is damaged below .git/objects, and commit again")

// TakeBranch brings a branch here as it is in the user's repository, and returns where it is.
// What is old there may be malformed in ways that the user lives with.
func (x *Exchange) TakeBranch(ctx context.Context, branch string) (string, error) {
	release, err := x.shared.take(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	return x.takeBranch(ctx, branch)
}

func (x *Exchange) takeBranch(ctx context.Context, branch string, options ...string) (string, error) {
	tip, err := x.user.Resolve(ctx, ref(branch))
	if err != nil {
		return "", err
	}
	return tip, x.fetch(ctx, tip, false, ref(branch), options...)
}

// depth returns how much of the history is fetched that work starts from: all of it, unless the user's repository leaves
// contents to another one until they are needed. Of its history there is no more to be had than the files of one commit.
func (x *Exchange) depth(ctx context.Context) (options []string, err error) {
	partial, err := x.user.ask(ctx, x.user.home, "config", "--get-regexp", `^remote\..*\.promisor$`)
	if partial {
		options = []string{"--depth=1"}
	}
	return options, err
}

// Begin brings a branch here for a run that starts from it.
func (x *Exchange) Begin(ctx context.Context, branch string) (string, error) {
	release, err := x.shared.take(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	depth, err := x.depth(ctx)
	if err != nil {
		return "", err
	}
	tip, err := x.takeBranch(ctx, branch, depth...)
	if err != nil {
		return "", err
	}
	return tip, x.change(ctx, x.home, "update-ref", baseRef, tip)
}

// TakeBase brings a commit here that work could start from.
func (x *Exchange) TakeBase(ctx context.Context, commit string) error {
	release, err := x.shared.take(ctx)
	if err != nil {
		return err
	}
	defer release()
	return x.fetch(ctx, commit, false, baseRef)
}

// Take brings a commit here that an agent made, with all that it consists of, and keeps it
// for a run. It is [ErrObjects] if that is not whole.
func (x *Exchange) Take(ctx context.Context, commit, run string) error {
	return x.fetch(ctx, commit, true, kept(run)+commit)
}

// Keep keeps a commit that was made here for a run.
func (x *Exchange) Keep(ctx context.Context, commit, run string) error {
	return x.change(ctx, x.home, "update-ref", kept(run)+commit, commit)
}

// fetch brings a commit here by git's own protocol, which gives contents and no names: they
// are named anew here, and all that the commit refers to has to be there then. strict refuses
// also what is malformed.
func (x *Exchange) fetch(ctx context.Context, commit string, strict bool, to string, options ...string) error {
	if at, err := x.Resolve(ctx, to); err == nil && at == commit {
		return nil
	}
	c := call{args: slices.Concat([]string{
		// Any commit can be asked for by its name.
		"-c", "protocol.version=2", "-c", "protocol.file.allow=always",
		"-c", fmt.Sprintf("fetch.fsckObjects=%t", strict),
		"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--update-shallow", "--no-show-forced-updates",
	}, options, []string{"--", x.user.common, "+" + commit + ":" + to})}
	if !strict {
		c.patience = fetchPatience
	}
	if err := x.writeBeside(ctx, c); err != nil {
		if strict {
			return damaged(err)
		}
		return err
	}
	return nil
}

// damage is how git says that an object is missing, damaged or malformed: mostly it names the object.
// Whatever else git says is no reason to blame the commit.
var damage = regexp.MustCompile(`fsck error|is corrupt|hash mismatch|not our ref|too-short tree|in tree entry|invalid path '|(?:object|tree|read) '?[0-9a-f]{40}`)

// damaged makes [ErrObjects] of what git says about the objects of a commit.
func damaged(err error) error {
	if failed := (*GitError)(nil); errors.As(err, &failed) && !failed.short() && damage.MatchString(failed.Stderr) {
		return fmt.Errorf("%w (git says: %s)", ErrObjects, safetext.Escape(strings.TrimSpace(failed.Stderr)))
	}
	return err
}

// writeBeside runs a git command that looks at all worktrees. Git names the commit of one that
// is being made only at the end, and such a command fails before: it is run again in turn.
func (r *Repo) writeBeside(ctx context.Context, c call) error {
	err := r.write(ctx, r.home, c)
	if failed := (*GitError)(nil); !errors.As(err, &failed) || !halfMade.MatchString(failed.Stderr) {
		return err
	}
	release, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer release()
	return r.write(ctx, r.home, c)
}

// halfMade is what git's parts say of a worktree whose commit is not named yet.
var halfMade = regexp.MustCompile(`(bad|unable to parse) object:? worktrees/`)

// short reports whether the machine ran short of something, or refused it, or ended git or a part of it.
func (e *GitError) short() bool {
	if e.Exit < 0 {
		return true
	}
	for _, words := range []string{
		"No space left", "Disk quota exceeded", "Read-only file system", "Permission denied", "Input/output error", "Too many open files",
		"Cannot allocate memory", "out of memory", "Out of memory",
		"Resource temporarily unavailable", "File too large", "died of signal",
	} {
		if strings.Contains(e.Stderr, words) {
			return true
		}
	}
	return false
}

// Forget drops what was kept for a run that has ended, what was pushed for it, and the branch that its work was
// merged to. Now and then it makes room.
func (x *Exchange) Forget(ctx context.Context, run, branch string) error {
	return x.drop(ctx, kept(run), PushedRefs(run), ref(branch))
}

// byHand is in the place of a run's name where work that is in no run is kept. No run can have it.
const byHand = "by-hand"

// TakeByHand brings a commit here that somebody made for work that is in no run, as [Exchange.Take] does, and keeps it until
// the next [Exchange.ForgetByHand]. What the user's checkout is at may be malformed in ways that the user lives with.
func (x *Exchange) TakeByHand(ctx context.Context, commit string) error {
	if err := x.takeHead(ctx); err != nil && !errors.Is(err, ErrNoCommit) {
		return err
	}
	return x.Take(ctx, commit, byHand)
}

// takeHead brings here what the user's checkout is at.
func (x *Exchange) takeHead(ctx context.Context) error {
	release, err := x.shared.take(ctx)
	if err != nil {
		return err
	}
	defer release()
	_, head, err := x.user.Head(ctx)
	if err != nil {
		return err
	}
	depth, err := x.depth(ctx)
	if err != nil {
		return err
	}
	return x.fetch(ctx, head, false, baseRef, depth...)
}

// ForgetByHand drops what was kept for work that is in no run.
func (x *Exchange) ForgetByHand(ctx context.Context) error { return x.drop(ctx, kept(byHand)) }

// drop drops refs, or all below a prefix that ends in a slash.
func (x *Exchange) drop(ctx context.Context, refs ...string) error {
	if err := x.Drop(ctx, refs...); err != nil {
		return err
	}
	return x.Collect(ctx)
}

// Collect makes room of what nothing leads to any more, if there is much of it, in a repository that is not the user's.
func (r *Repo) Collect(ctx context.Context) error {
	// Another run may be fetching: what is younger than that can take stays.
	return r.writeBeside(ctx, call{patience: fetchPatience, args: []string{
		"-c", "gc.auto=2000", "-c", "gc.autoPackLimit=20", "-c", "gc.autoDetach=false", "-c", "gc.pruneExpire=2.hours.ago",
		"gc", "--auto", "--quiet",
	}})
}
