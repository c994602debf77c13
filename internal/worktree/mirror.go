package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/safetext"
)

// Remote is where the git of a box answers: over HTTP, to whoever sends the header. See internal/gitproxy.
type Remote struct {
	URL    string
	Header string // NAME: VALUE; a secret, which stands in no argument
}

// unborn is the branch that a mirror is on, which never has a commit: nothing is checked out in it.
const unborn = "signalbox-mirror"

// formats are the hashes by which git names objects, by how long such a name is.
var formats = map[int]string{2 * sha1Size: "sha1", 2 * sha256Size: "sha256"}

// InitMirror makes a repository that stands in the place of a user's checkout on another machine, or opens the one that is
// there. It has no files, and no settings of anybody's. An object's name tells by which hash its objects are named.
func InitMirror(ctx context.Context, dir, object string) (*Repo, error) {
	format := formats[len(object)]
	if format == "" {
		return nil, fmt.Errorf("%s is not the full name of a commit: %w", safetext.Escape(object), ErrUnknown)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	blank, err := find(ctx)
	if err != nil {
		return nil, err
	}
	if !IsTop(dir) { // git itself would take one that is further up
		err := blank.write(ctx, place{dir: dir}, call{env: apartFromUser(), args: []string{
			"init", "--quiet", "--template=", "--initial-branch=" + unborn, "--object-format=" + format, "--", dir,
		}})
		if err != nil {
			return nil, err
		}
	}
	r, err := Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	has, err := r.Format(ctx)
	if err == nil && has != format {
		err = fmt.Errorf("%s names its objects by %s, the box's repository by %s: remove it, and start the runner again", safetext.Escape(dir), has, format)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// CommitAs has commits in a mirror and its worktrees be made by who they would be made by at the box, whoever works on this machine.
// Without a name it is who git knows here, if anybody.
func (r *Repo) CommitAs(ctx context.Context, name, address string) error {
	for _, is := range [][2]string{{"user.name", name}, {"user.email", address}} {
		args := []string{"config", "--local", "--replace-all", is[0], is[1]}
		if name == "" {
			args = []string{"config", "--local", "--unset-all", is[0]}
		}
		err := r.change(ctx, r.home, args...)
		if failed := (*GitError)(nil); name == "" && errors.As(err, &failed) && failed.Exit == notSet {
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// notSet is how git config ends if there is nothing to unset.
const notSet = 5

// fetched is what git may use for what a box sends: it may be all of a repository's history.
var fetched = Most{Memory: 16 << 30, File: 64 << 30, CPU: fetchPatience}

// FetchFrom brings refs here from a box, with all that they consist of, as refspecs say (+FROM:TO). What is damaged or
// malformed is refused: it is [ErrObjects].
func (r *Repo) FetchFrom(ctx context.Context, from Remote, refspecs ...string) error {
	c, err := from.call("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance",
		"--no-show-forced-updates", "--update-shallow", "--", from.URL)
	if err != nil {
		return err
	}
	c.args = append(c.args, refspecs...)
	c.most = &fetched
	return damaged(r.writeBeside(ctx, c))
}

// PushTo brings a commit to a box, under a name that is new there. If the name stands for this commit already, as after an
// answer that was lost, nothing is left to do; if for another one, it is [ErrExists]. A commit that the box refuses for what
// it consists of is [ErrObjects].
func (r *Repo) PushTo(ctx context.Context, to Remote, commit, name string) error {
	c, err := to.call("push", "--quiet", "--porcelain", "--no-verify", "--no-signed", "--no-follow-tags", "--recurse-submodules=no",
		"--force-with-lease="+name+":", "--", to.URL, commit+":"+name)
	if err != nil {
		return err
	}
	var said limited
	c.out = &said
	err = r.write(ctx, r.home, c)
	if failed := (*GitError)(nil); errors.As(err, &failed) {
		if text := string(said.text); strings.Contains(text, "(stale info)") || strings.Contains(text, "reference already exists") {
			return fmt.Errorf("%s: %w", safetext.Escape(name), ErrExists)
		}
		failed.Stderr = string(said.text) + failed.Stderr // which of the two says more is not known
	}
	return damaged(err)
}

// call is a git command that speaks to a box, and to nobody else, whatever the user has told git for other servers.
func (m Remote) call(args ...string) (call, error) {
	if !strings.Contains(m.Header, ": ") || strings.ContainsAny(m.Header, "\r\n") || !strings.HasPrefix(m.URL, "http://") {
		return call{}, fmt.Errorf("%s with a header of %d bytes is no address of a box's git", safetext.Escape(m.URL), len(m.Header))
	}
	env := slices.Concat(apartFromUser(
		"protocol.version=0", "protocol.allow=never", "protocol.http.allow=always", "safe.directory=*",
		"http.followRedirects=false", "http.proxy=", "http.emptyAuth=false", "http.cookieFile=", "http.saveCookies=false", "http.version=HTTP/1.1",
		"http.extraHeader=", "http.extraHeader="+m.Header, // the first takes those of before away
		"credential.helper=", "core.askPass=false", "fetch.fsckObjects=true", "fetch.unpackLimit=1",
	), []string{
		"GIT_ASKPASS=false", "SSH_ASKPASS=false",
		"no_proxy=*", "NO_PROXY=*", "http_proxy=", "HTTP_PROXY=", "all_proxy=", "ALL_PROXY=",
	})
	return call{args: args, env: env, patience: fetchPatience}, nil
}
