package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/signalbox-dev/signalbox/safetext"
)

// unreplaced makes git show objects as they are, and not what somebody wants to be
// shown in their place.
const unreplaced = "GIT_NO_REPLACE_OBJECTS=1"

// ReadCommit returns a commit of the repository that a directory is in, which may be
// bare: its full name, and the object as git stores it. Nothing is checked. It is
// [ErrUnknown] if there is none.
func ReadCommit(ctx context.Context, dir, rev string) (name string, object []byte, err error) {
	program, err := exec.LookPath("git")
	if err != nil {
		return "", nil, fmt.Errorf("%w (%w)", ErrNoGit, err)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", nil, err
	}
	r := &Repo{program: program, env: append(environment(), unreplaced), patience: patience}
	at := place{dir: dir}
	if _, err := r.read(ctx, at, "rev-parse", "--git-dir"); err != nil {
		if failed := (*GitError)(nil); errors.As(err, &failed) {
			return "", nil, fmt.Errorf("%s: %w", safetext.Escape(dir), errors.Join(errNoRepository, err))
		}
		return "", nil, err
	}
	if name, err = r.resolve(ctx, at, rev); err != nil {
		return "", nil, err
	}
	var out limited
	if err := r.run(ctx, at, call{args: []string{"cat-file", "commit", name}, out: &out}); err != nil {
		return "", nil, err
	}
	if out.over {
		return "", nil, fmt.Errorf("the commit %s: %w", short(name), ErrTooMuch)
	}
	return name, out.text, nil
}

var errNoRepository = errors.New("this is not in a git repository: go to one, or to a clone")

// Messages calls f with the end of the message of every merge that a branch or a
// remote's branch leads to and that has a line with these words, latest first. The
// branches below a prefix are left out. However many there are, and however long, the
// end of one is held.
func (r *Repo) Messages(ctx context.Context, words, except string, f func(message string)) error {
	out := &ends{f: f}
	return r.run(ctx, r.home, call{
		args: []string{
			"log", "-z", "--merges", "--fixed-strings", "--grep=" + words, "--format=%B", "--no-color", "--no-show-signature",
			"--exclude=" + except + "/*", "--branches", "--remotes", "--",
		},
		env: []string{unreplaced},
		out: out,
	})
}

// maxEnd is how much of a message is kept.
const maxEnd = 64 << 10

// ends cuts what is written to it at every NUL, and keeps the end of each part.
type ends struct {
	f    func(string)
	part []byte
}

func (e *ends) Write(p []byte) (int, error) {
	n := len(p)
	for {
		part, rest, whole := bytes.Cut(p, []byte{0})
		e.part = append(e.part, part...)
		if over := len(e.part) - maxEnd; over > 0 {
			e.part = append(e.part[:0], e.part[over:]...)
		}
		if !whole {
			return n, nil
		}
		e.f(string(e.part))
		e.part, p = e.part[:0], rest
	}
}
