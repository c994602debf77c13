package order

import (
	"context"
	"time"

	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// Leftovers is what lies here of runs. To look at it changes nothing.
type Leftovers interface {
	// Records returns what sessions said and checks printed, in the order of their names.
	Records(ctx context.Context) ([]Record, error)
	// RunsLeft returns the ids of the runs that branches or worktrees are named after.
	RunsLeft(ctx context.Context) ([]string, error)
	// Left returns the worktrees and branches of a run.
	Left(ctx context.Context, r delivery.Run) ([]Left, error)
	// Homes is how large what checks left for the next run's is, in bytes.
	Homes(ctx context.Context) int64

	// RemoveRecord removes a record.
	RemoveRecord(r Record) error
	// Discard removes a worktree and a branch, as they were looked at, with all that only they have.
	Discard(ctx context.Context, r delivery.Run, l Left) error
	// PutAway commits what lies in a worktree to its branch, and removes the worktree.
	PutAway(ctx context.Context, r delivery.Run, l Left) error
}

// Record is what a session said, or what checks printed.
type Record struct {
	Gate    bool // checks printed it
	Name    string
	Subject string // whose it is: an item's or a run's
	Bytes   int64
	At      time.Time // when it was last written, as far as its files tell
	Live    bool      // its session runs
}

// Left is what is left of the work on a task, or the branch that a run's work was merged to.
type Left struct {
	Task        string // empty for the run's own branch
	Worktree    string // its path; empty if there is none
	Bytes       int64  // of the worktree
	Branch      string // empty if there is none
	Commit      string // that the branch is at
	Unmerged    int    // commits that no other branch has
	Uncommitted int    // changed files, 100 at most
	Unread      string // why it is not known what would be lost
	CheckedOut  bool   // by the user, so it stays
	Aside       bool   // it is no worktree: something that lay in the place of one
}

// Safe reports whether nothing would be lost.
func (l Left) Safe() bool { return l.Unmerged == 0 && l.Uncommitted == 0 && l.Unread == "" && !l.Aside }
