package conductor

import (
	"context"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Ledger is what a conductor needs of a box: what is recorded, folded, and a way to record more. What a call has
// recorded is in the archive and in the fold when it returns.
type Ledger interface {
	Deciding
	// Attach makes a conductor the one that is told what has moved.
	Attach(c box.Conductor)
	// Context ends when nothing is recorded any more.
	Context() context.Context
	// Fail stops the box because of an error.
	Fail(err error)

	// LiveRuns returns the runs that go on, in the order of their starts; RunSubjects all that are in memory.
	LiveRuns() []string
	RunSubjects() []string
	// RunNamed finds a run by its id; TaskNamed a task, by its own or its item's; RunOf the run of a session's subject;
	// Question a question, and its run.
	RunNamed(id string) (run string, err error)
	TaskNamed(id string) (run, task string, err error)
	RunOf(subject string) (run string)
	Question(id string) (q api.Question, run string, ok bool)
	// FirstToCheck returns, of the items that wait for checks which the box can run ([work.Item.ToCheck]), the one that has
	// waited longest.
	FirstToCheck() (work.Item, bool)
	// Delivering returns the run that delivers the plan with this digest, or was started by this key; "" if none was.
	Delivering(digest, key string) (run string, err error)
	// Delivered returns the id of the latest of the last runs that has completed the plan with this digest; "" if none has.
	Delivered(digest string) (id string, err error)
	// LastRun is the largest number of a run.
	LastRun() int
	// ShowRun returns a run as people see it; Changed tells those who watch it that it looks different.
	ShowRun(run string) (api.Run, error)
	Changed(run string)

	// NewSubject makes a subject for a run.
	NewSubject() string
	PutBlob(text []byte) (ledger.Blob, error)
	// Prove signs what is recorded, and proves an event of it.
	Prove(seq uint64) (ledger.Proof, error)
	// Extend lets the lease of a session go on, if it has one.
	Extend(session string)
	// Hear reads a signal that a session passes on, and makes of it what is recorded.
	Hear(said api.SaidSignal) (agentsig.Signal, work.Said, error)
	// KeepEvidence keeps a file that an exit record names, or says why it can't.
	KeepEvidence(read func() ([]byte, error)) (*work.Kept, error)
	// Redact takes secrets out of a text; Short cuts it as well.
	Redact(text string) string
	Short(text string) string
}

// Deciding is what the decider of one run needs of it.
type Deciding interface {
	// WithRun calls f with a run, which f must not keep, and reports whether there is one.
	WithRun(run string, f func(*delivery.Run)) bool
	// RecordRun appends an event to a run. It fails with a [box.ConflictError] if it is not known whether it did, or
	// something else was appended: the fold has what there is by then.
	RecordRun(ctx context.Context, run string, e delivery.Event) error
	// RecordItem records a command on an item, once for each key.
	RecordItem(item, key string, do work.Command) error
	// AddItem adds the item of a task; ItemNamed finds it.
	AddItem(a work.Add) error
	ItemNamed(id string) (work.Item, error)
	// Event reads an event that the fold has.
	Event(seq uint64) (ledger.Event, error)
	// SessionToken returns the token of a session, by which its process asks the box: always the same.
	SessionToken(session string) string
	Blob(sha256 ledger.Hash) ([]byte, error)
}
