package order

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/plan"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Order is a command of a run, with all that a runner needs to know to carry it out.
type Order struct {
	delivery.Command
	Run     delivery.Run // less its sessions and questions
	Plan    plan.Plan
	Reviews bool            // its session looks at what passed the gate
	Token   string          // by which the process of a session that is started asks the box
	Claim   *work.Statement // the last word of who worked on the task, if its session has to know it; nil otherwise
}

// FileName is a task's id as one element of a path or of a ref's name. No other id has the same, nor has
// remediation: '@' and '=' are in none.
// Programs take '#' in a path for the end of it, and shells for a comment.
func FileName(task string) string { return fileNames.Replace(task) }

var fileNames = strings.NewReplacer("/", "@", "#", "=")

// TaskRefs are the refs of the box's repository that the work of a run's sessions on other machines is pushed to.
func TaskRefs(run string) string { return "refs/tasks/" + run + "/" }

// TaskRef is the ref that a session's push of this number makes. Each push makes one of its own, so nobody's replaces another's.
func TaskRef(run, task, session string, number int) string {
	_, token, _ := strings.Cut(session, "-")
	return fmt.Sprintf("%s%s/%s.%d", TaskRefs(run), FileName(task), token, number)
}

// ChecksName names what the checks print on an item's work: after the session whose work it is.
func ChecksName(i work.Item) string {
	if i.Past == nil {
		return i.Subject
	}
	return i.Past.Token.Session(i.Subject)
}

// ItemID is the name of the item of a run's task.
func ItemID(run, task string) string { return run + "." + task }

// Conductor is who gives orders. What comes of them goes there, and so does what can only be settled
// in the middle of one.
type Conductor interface {
	// HandIn takes what came of an order of a run, or happened to one of its sessions. It returns
	// when what that leads to is recorded, or why it is refused.
	HandIn(ctx context.Context, run string, in delivery.Input) error
	// Permit records which merge is about to be made, and returns what is allowed now, with the
	// proof of it.
	Permit(ctx context.Context, run string, merge delivery.MergeChecked) (work.Permit, ledger.Proof, error)
	// Report takes what a session that is dead has left to report, and answers as a client is answered.
	Report(ctx context.Context, session string, r api.SessionReport) error
	// Renew lets the lease of a session go on that is in touch.
	Renew(session string)
	// MachinesChanged says that other machines are there than before, or have other places. It does not wait.
	MachinesChanged()
}

// Site is where plans are delivered, as far as it has to be known before a run begins.
type Site interface {
	// Head returns the branch that the user's checkout is on, and its commit.
	Head(ctx context.Context) (branch, commit string, err error)
	// Ready reports why a run could not be carried out as the settings want it.
	Ready() error
	// Unprotected says in words which verdicts could be forged by what is judged.
	Unprotected() []string
}

// Runner carries out orders. Whatever an order leads to, it hands in by [Conductor] before it returns from
// CarryOut. The same order may be given again after a restart, or after it failed, and does no harm then.
type Runner interface {
	Site
	// Root is the user's checkout.
	Root() string
	// CarryOut carries out an order, and ends with ctx. An order that fails is given again while it is due.
	CarryOut(ctx context.Context, o Order) error

	// Free reports whether the branches of a run's tasks could have that run's name.
	Free(ctx context.Context, run string) (bool, error)
	// MakeBranch makes the branch that a run's work is merged to, and reports false if it is there already.
	MakeBranch(ctx context.Context, branch, base string) (made bool, err error)
	// Begin is called before a run is recorded. No other run goes on if it is alone.
	Begin(ctx context.Context, subject, branch string, alone bool) error
	// Resume looks how everything is that agents of runs should leave alone.
	Resume(ctx context.Context, alone bool, branches ...string) error
	// Finished takes away what an ended run has left.
	Finished(ctx context.Context, r delivery.Run)
	// Marked returns the runs that may have left something; known returns all that there are.
	Marked(known func() []string) ([]string, error)
	// Unmark forgets a run that was never recorded.
	Unmark(subject string)
	Leftovers

	// Sight brings the commit of a task to where work is judged, and returns what a person who reviews it is shown.
	Sight(ctx context.Context, r delivery.Run, task string) (work.Seen, error)
	// Room makes the worktree of a task ready for a person who has taken it, and returns its path.
	Room(ctx context.Context, r delivery.Run, task string) (path string, err error)
	// Commit commits what is in the worktree of a task that a person hands in, and returns the commit and how many files the task changes in it.
	Commit(ctx context.Context, r delivery.Run, task string) (commit string, files int, err error)

	// Again says to a session that has connected what it was told and has not answered.
	Again(s delivery.Session) error
	// TurnEnded notes that a session has answered a prompt.
	TurnEnded(session, prompt string)
	// Gone notes that a session has reported its end.
	Gone(session string)
	// Alive returns the sessions whose processes run.
	Alive() []string
	// Evidence reads a file that a session's agent names, of at most so many bytes, in the worktree that it works in.
	Evidence(session, ref string, most int64) ([]byte, error)
	// Look looks whether the user's checkout was changed while a session ran. The channel is closed when what it
	// found is handed in. Nothing is said of the plan's file, if it lies there: people change it to amend the run.
	Look(run, branch, session, task, plan string) (handedIn <-chan struct{})
	// Distrust says why a reviewer's word can't be trusted, because of what its program follows where its session is; "" if it can.
	Distrust(run, session string) (reason string, err error)
	// AcceptFollowed takes what reviewers' programs follow now as the operator's will.
	AcceptFollowed() error
	// LeaveFollowed says that a run does not need to know any more what they follow.
	LeaveFollowed(run string)
}

// Homes is a runner that is home to runs of several boxes, which share a ledger. One that is not is home to all runs.
type Homes interface {
	Runner
	// Of returns the runner of the runs that were started in the directory of the box of this name ([delivery.Started.Home]).
	Of(home string) Runner
}

// Checker is who can run the settings' checks on work that no run brings on.
type Checker interface {
	// CheckBranch runs them on the branch of an item. It fails only if ctx ends: what else goes wrong is part of what came of it.
	CheckBranch(ctx context.Context, i work.Item) (work.Checked, error)
}

// ErrUnreached says that a run's home is another box, which is not reached: what was asked of it is to be asked again.
var ErrUnreached = errors.New("the box in whose directory the run is carried out is not reached")

// Why a runner refuses a run before it begins.
var (
	ErrNoSandbox   = errors.New("the sandbox that is set can't be made; `signalbox doctor` says more")
	ErrUnprotected = errors.New("a reviewer of this run could not be protected from what it reviews; set review: unprotected to go on all the same")
	ErrNoProgram   = errors.New("an agent's program is missing: install it, or change its command in " + config.File)
	ErrNoModel     = errors.New("an expert could not ask its model: change its settings in " + config.File + ", or set what it needs where the box is started")
	ErrNoCommit    = errors.New("the repository has no commit yet: make a first one")
)
