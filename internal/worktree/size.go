package worktree

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A tree of a few kilobytes can name the same files and directories again and again, and fill a disk
// when it is checked out. So a change may add only so much to what it begins from.
const (
	maxEntries = 100_000 // files and directories
	maxBytes   = 4 << 30 // of files, as git stores them
)

// SizeError says that a commit has too much in it to be checked out.
type SizeError struct{ Commit, Base string }

func (e *SizeError) Error() string {
	return fmt.Sprintf("%s is too large to be checked out: it may have %d files and directories, and %d GiB, more than %s has. Take out what does not belong there, also from the commits before (git reset --soft %s, and commit your work anew)",
		short(e.Commit), maxEntries, maxBytes>>30, short(e.Base), short(e.Base))
}

// extent is how much is in a commit.
type extent struct{ entries, bytes int64 }

func (e extent) within(most extent) bool { return e.entries <= most.entries && e.bytes <= most.bytes }

// errOver ends the count of what has too much in it.
var errOver = errors.New("there is more")

// extent counts what is in a commit, and stops when there is more than most.
func (r *Repo) extent(ctx context.Context, commit string, most extent, options ...string) (has extent, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	err = r.each(ctx, r.home, func(record string) { // mode, type, name and, if asked for, size; a tab; a path
		if !has.within(most) {
			return // git had said more before it was stopped
		}
		head, _, _ := strings.Cut(record, "\t")
		has.entries++
		if words := strings.Fields(head); len(words) == 4 {
			size, _ := strconv.ParseInt(words[3], 10, 64) // "-" for what is no file
			has.bytes += size
		}
		if !has.within(most) {
			stop(errOver)
		}
	}, call{args: slices.Concat([]string{"ls-tree", "-r", "-t", "-z", "--full-tree"}, options, []string{"--end-of-options", commit})})
	if !has.within(most) {
		err = nil // it was stopped
	}
	return has, err
}

// CheckEntries is a [SizeError] for a commit with many more files and directories than another
// one, which it comes from.
func (r *Repo) CheckEntries(ctx context.Context, base, commit string) error {
	return r.bound(ctx, base, commit)
}

// CheckSize is a [SizeError] for a commit with much more in it than another one, which it begins
// from. What is checked out is never larger than that.
func (x *Exchange) CheckSize(ctx context.Context, base, commit string) error {
	return x.bound(ctx, base, commit, "--long")
}

// bound counts what the commit begins from only if it has to.
func (r *Repo) bound(ctx context.Context, base, commit string, options ...string) error {
	most := extent{maxEntries, maxBytes}
	has, err := r.extent(ctx, commit, most, options...)
	if err != nil || has.within(most) {
		return err
	}
	before, err := r.extent(ctx, base, extent{math.MaxInt64, math.MaxInt64}, options...)
	if err != nil {
		return err
	}
	most.entries, most.bytes = most.entries+before.entries, most.bytes+before.bytes
	has, err = r.extent(ctx, commit, most, options...)
	if err == nil && !has.within(most) {
		err = &SizeError{commit, base}
	}
	return err
}
