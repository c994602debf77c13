package worktree

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/signalbox-dev/signalbox/safetext"
)

// maxConcealed bounds the files that are taken away.
const maxConcealed = 10_000

// Conceal takes files and directories at the top of a worktree away, by their names, and
// keeps git from telling that they are gone: they are in the commit still. It returns the
// names of what was there.
func (r *Repo) Conceal(ctx context.Context, path string, names []string) (gone []string, err error) {
	path, err = r.outside(path)
	if err != nil {
		return nil, err
	}
	at, err := r.link(path)
	if err != nil {
		return nil, err
	}
	var known []string
	args := append([]string{"ls-files", "-z", "--"}, names...)
	if err := r.each(ctx, at, func(name string) {
		if len(known) <= maxConcealed {
			known = append(known, name)
		}
	}, call{args: args}); err != nil {
		return nil, err
	}
	if len(known) > maxConcealed {
		return nil, fmt.Errorf("%s has more than %d files in %s: %w", safetext.Escape(path), maxConcealed, strings.Join(names, ", "), ErrTooMuch)
	}
	if len(known) > 0 {
		mark := call{args: []string{"update-index", "--skip-worktree", "-z", "--stdin"}, stdin: strings.Join(known, "\x00")}
		if err := r.write(ctx, at, mark); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		file := filepath.Join(path, name)
		if _, err := os.Lstat(file); err != nil {
			continue // nobody can see it
		}
		if err := removeAll(file); err != nil {
			return gone, err
		}
		gone = append(gone, name)
	}
	return gone, nil
}
