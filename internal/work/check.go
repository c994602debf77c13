package work

import (
	"errors"
	"fmt"
	"strings"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/safetext"
)

// Work that stands alone can name a branch. If the settings want it, the box itself runs the checks on that branch once the
// work is in CI_PENDING, and reports what came of them as an outside CI does. What the checks can't tell is a question: it is
// never taken for a result.

// CauseBranch is the cause of such a question if the branch is not there, or does not stay where it is.
const CauseBranch Cause = "branch"

// Why an item's branch, or what was checked on it, is refused.
var (
	ErrBadBranch   = errors.New("name a branch of the repository as `git branch` lists it, without refs/, in 255 bytes at most")
	ErrBranchMoved = errors.New("the branch was moved while its checks ran: what they say is not about what is there now")
)

// maxBranch is how long the name of a branch may be, in bytes: git keeps it as a file.
const maxBranch = 255

// maxMoves is how often in a row a branch may move while its checks run, until a person is asked.
const maxMoves = 3

// ValidBranch reports whether git takes a name for a branch (git check-ref-format), and it can be shown as it is.
func ValidBranch(name string) bool {
	if name == "" || strings.TrimSpace(name) != name || safetext.Escape(name) != name ||
		strings.ContainsAny(name, " ~^:?*[\\\x7f") || strings.Contains(name, "..") || strings.Contains(name, "@{") ||
		strings.HasPrefix(name, "-") || strings.HasSuffix(name, ".") {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "@" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return name != "HEAD"
}

// checkBranch refuses what is no branch to look for. Who writes refs/remotes/origin/x means something else than a branch of that
// name.
func checkBranch(name string) error {
	if len(name) > maxBranch || !ValidBranch(name) || strings.HasPrefix(name, "refs/") {
		return fmt.Errorf("'%s': %w", safetext.Escape(Cut(name, maxBranch)), ErrBadBranch)
	}
	return nil
}

// ToCheck reports whether the item waits for checks that the box can run by itself: nobody holds it, and it has a branch. A
// run has its own tasks checked.
func (i Item) ToCheck() bool {
	return i.Run == "" && i.Branch != "" && i.Phase == agentsig.PhaseCIPending && i.Lease == nil
}

// Checked is what came of the checks that the box ran on an item's branch.
type Checked struct {
	Entered uint64 // of the item, when they began: if it has left the phase since, they count no more
	Commit  string // that they ran on; empty if there was no such branch
	Tip     string // where the branch was when they had ended; empty if it was gone
	Moves   int    // how often before, one after the other, the branch was not where the checks ran
	Passed  bool
	Checks  []Check
	Output  string // of what failed
	Trouble string // why nothing can be told

	Unchanged bool // the branch has nothing that the one has not that is checked out in the repository
}

// Key is the key of the request to record it: what is said of a commit, while the item is in CI_PENDING, is said once.
func (c Checked) Key() string { return fmt.Sprintf("checked/%d/%s", c.Entered, c.Commit) }

// Events implements [Command].
func (Checked) Events() []string { return []string{GatePassed, GateFailed, WorkBlocked} }

func (c Checked) decide(i Item) (Event, error) {
	branch := safetext.Escape(i.Branch)
	switch {
	case !i.ToCheck() || i.Entered != c.Entered:
		return Event{}, fmt.Errorf("%s: %w", i.ID, ErrNotPending)
	case c.Trouble != "":
		return i.stuck(c.Key(), CauseInfrastructure, "the checks could not be run on the branch "+branch+", so nothing is known of it: "+c.Trouble)
	case c.Tip == "":
		return i.stuck(c.Key(), CauseBranch, "there is no branch "+branch+" in the box's repository, so nothing was checked: see that it is there, and answer "+ChooseRetry)
	case c.Tip != c.Commit && c.Moves+1 < maxMoves:
		return Event{}, fmt.Errorf("%s, the branch %s: %w", i.ID, branch, ErrBranchMoved)
	case c.Tip != c.Commit:
		return i.stuck(c.Key(), CauseBranch, fmt.Sprintf(
			"the branch %s was moved while its checks ran, %d times in a row, so nothing is known of what is there now: see that nobody works on it, and answer %s", branch, maxMoves, ChooseRetry))
	}
	e, err := Report{Commit: c.Commit, Passed: c.Passed, Checks: c.Checks, Output: Cut(c.Output, maxText), Key: c.Key()}.decide(i)
	if g, ok := e.Payload.(Gate); ok && c.Unchanged { // which is no reason to fail: what is asked for may be there already
		g.Files = new(int)
		e.Payload = g
	}
	return e, err
}

// stuck blocks an item that stands alone until a person has answered.
func (i Item) stuck(key string, cause Cause, text string) (Event, error) {
	e, err := Block{Cause: string(cause), Reason: Cut(text, maxText), Key: key}.decide(i)
	if p, ok := e.Payload.(Blocked); ok {
		p.Waits = &Waits{ID: i.nextQuestion(), Cause: cause}
		e.Payload = p
	}
	return e, err
}
