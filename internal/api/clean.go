package api

import "context"

// Clean asks what is left of runs that have ended, and has it removed.
type Clean struct {
	Remove   bool     `json:"remove,omitempty"`   // otherwise it is only told
	Unmerged bool     `json:"unmerged,omitempty"` // also work that is nowhere else
	Runs     []string `json:"runs,omitempty"`     // of these alone; of all if empty
}

// Cleaned is what is left of runs.
type Cleaned struct {
	Removed bool       `json:"removed"` // what is to go has gone, but for what has an error
	Bytes   int64      `json:"bytes"`   // of what goes
	Left    []Leftover `json:"left"`
}

// LeftoverKind is what something is that is left of a run.
type LeftoverKind string

// The kinds.
const (
	LeftWorktree    LeftoverKind = "worktree"
	LeftBranch      LeftoverKind = "branch"
	LeftTranscripts LeftoverKind = "transcripts"
	LeftGateLogs    LeftoverKind = "gate_logs"
	LeftHomes       LeftoverKind = "homes" // of checks
)

// Leftover is something that is left of a task, or of a run.
type Leftover struct {
	Run         string       `json:"run,omitempty"`
	Task        string       `json:"task,omitempty"` // its id in the plan; empty for what the run has besides
	Kind        LeftoverKind `json:"kind"`
	Name        string       `json:"name,omitempty"` // of a branch; where a worktree lies
	Count       int          `json:"count"`
	Bytes       int64        `json:"bytes"`
	Commit      string       `json:"commit,omitempty"`      // that the branch is at
	Unmerged    int          `json:"unmerged,omitempty"`    // commits that no other branch has
	Uncommitted int          `json:"uncommitted,omitempty"` // files, 100 at most
	Goes        bool         `json:"goes"`                  // it is to go, or was
	Removed     bool         `json:"removed"`               // it has gone
	Why         string       `json:"why"`                   // it goes, or stays
	Error       string       `json:"error,omitempty"`       // why it could not be removed
}

// Clean tells what is left of runs, or has it removed.
func (c *Client) Clean(ctx context.Context, q Clean) (Cleaned, error) {
	return post[Cleaned](ctx, c, "/v1/clean", "", q)
}
