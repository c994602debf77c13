package work

import (
	"fmt"
	"strings"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/ledger"
)

// The types of events on a work item.
const (
	WorkAdded             = "WorkAdded"
	LeaseGranted          = "LeaseGranted"
	ReviewStarted         = "ReviewStarted" // a grant to a critic, which enters REVIEW
	AgentSessionCompleted = "AgentSessionCompleted"
	LeaseReleased         = "LeaseReleased"
	LeaseExpired          = "LeaseExpired"
	GatePassed            = "GatePassed"
	GateFailed            = "GateFailed"
	WorkOverridden        = "WorkOverridden"
	WorkBlocked           = "WorkBlocked"        // by the box: a limit, or trouble that is nobody's fault
	WorkUnblocked         = "WorkUnblocked"      // an answer or remediation took away what blocked it
	MergeProposed         = "MergeProposed"      // judged, and the checks hold on its merge, which waits for a person's word
	MergeApproved         = "MergeApproved"      // by a person: the merge that was proposed
	MergeAllowed          = "MergeAllowed"       // judged, and the checks hold on its merge, which is about to be made
	WorkMerged            = "WorkMerged"         // judged, and its merge is proven
	MergeFailed           = "MergeFailed"        // judged, and it can't be merged as it is, or a person does not approve that
	WorkUnchanged         = "WorkUnchanged"      // the critic agrees that there is nothing to change
	AuditWaived           = "AuditWaived"        // the critic has passed it, and its run was started without an auditor: it waits for its merge
	WorkShown             = "WorkShown"          // to a reviewer: which commit it was given to look at
	SignalRecorded        = "SignalRecorded"     // a signal that ends nothing
	LateResultRecorded    = "LateResultRecorded" // from a session whose lease was taken
	WorkTaken             = "WorkTaken"          // a person has taken the work over
	QuestionAnswered      = "QuestionAnswered"   // a person says what BLOCKED work waits for

	// Of output without a signal that counts: the names are those of the signals' reference.
	UnknownRecovery = "unknown_signal_recovery"
	SignalFailure   = "agent_signal_failure" // it ends the session
)

// Types lists every type of event on a work item.
func Types() []string {
	return []string{
		WorkAdded, LeaseGranted, ReviewStarted, AgentSessionCompleted, LeaseReleased, LeaseExpired,
		GatePassed, GateFailed, WorkOverridden, WorkBlocked, WorkUnblocked, MergeProposed, MergeApproved, MergeAllowed, WorkMerged, MergeFailed,
		WorkUnchanged, AuditWaived, WorkShown, SignalRecorded, LateResultRecorded, WorkTaken, QuestionAnswered, UnknownRecovery, SignalFailure,
	}
}

// Event is what is to be recorded about an item. The ledger adds its order, its
// time and the chain.
type Event struct {
	Type    string
	Actor   string
	Session string
	Token   Token // zero where no lease is concerned
	Key     string
	Payload any // of the types below
}

// Added is the payload of WorkAdded.
type Added struct {
	ID    string         `json:"id"`
	Title string         `json:"title"`
	Phase agentsig.Phase `json:"phase"`

	// Of a task of a plan's run.
	Run       string   `json:"run,omitempty"`  // the run's subject
	Task      string   `json:"task,omitempty"` // its id in the plan
	BlockedBy []string `json:"blocked_by,omitempty"`
	Unaudited bool     `json:"unaudited,omitempty"` // the run was started without an auditor

	Asked string `json:"asked,omitempty"` // what is to be done, in whole sentences

	// Of work that stands alone.
	Branch string `json:"branch,omitempty"` // of the box's repository, that it is done on
}

// Granted is the payload of LeaseGranted and ReviewStarted.
type Granted struct {
	Phase agentsig.Phase `json:"phase"` // that the session holds
	Role  agentsig.Role  `json:"role,omitempty"`
	TTLMS int64          `json:"ttl_ms"`
	Agent string         `json:"agent,omitempty"` // that the box starts, or [PersonAgent]; empty if somebody claimed it

	// Of a developer after the first: the session whose conversation it goes on with, or why it begins afresh. Neither if there
	// is no conversation to go on with.
	Resumes string `json:"resumes,omitempty"`
	Fresh   string `json:"fresh,omitempty"`

	Runner string `json:"runner,omitempty"` // that the session's process is on; empty for home

	TokenSHA256 ledger.Hash `json:"token_sha256,omitzero"` // of the token of the session's process, if the box starts it
}

// Taken is the payload of WorkTaken.
type Taken struct {
	From agentsig.Phase `json:"from"`
	Granted
}

// Result is the payload of AgentSessionCompleted and LateResultRecorded: the
// exit record's event, and where it was said.
type Result struct {
	agentsig.AgentSessionCompleted
	Audited bool `json:"audited,omitempty"` // it stays in READY_FOR_MERGE until its merge is proven
	Said
	Given string `json:"given,omitempty"` // the commit that a person handed in: what the gate looks at

	// Of work that stands alone.
	Waits    *Waits `json:"waits,omitempty"`     // for whom, if it is BLOCKED
	Body     string `json:"body,omitempty"`      // what is asked of an expert, or what who helps has to say
	NoChange string `json:"no_change,omitempty"` // nothing was changed, and this is why, as the developer claims or the critic agrees
}

// Signalled is the payload of SignalRecorded.
type Signalled struct {
	Said
}

// Said is what an agent said, and where in its transcript.
type Said struct {
	Signal     agentsig.Kind `json:"signal"`
	Name       string        `json:"name,omitempty"` // the project's own name that it was said by; empty if it was said by its kind's
	Subject    string        `json:"subject,omitempty"`
	Note       string        `json:"note,omitempty"`
	Fields     []Field       `json:"fields,omitempty"` // what the signal carries
	Offset     int64         `json:"offset"`
	Length     int64         `json:"length"`
	SHA256     ledger.Hash   `json:"sha256"`
	Transcript Transcript    `json:"transcript"`
	Shortened  bool          `json:"shortened,omitempty"` // what was too long is in the transcript alone
	LeftOut    string        `json:"left_out,omitempty"`  // a field that does not count, and why
	Evidence   *Kept         `json:"evidence,omitempty"`  // what became of the evidence that an exit record names
}

// Kept is a file that an agent named: its content when it was named, without its secrets, or why that is not there.
type Kept struct {
	Blob    *ledger.Blob `json:"stored,omitempty"`
	Problem string       `json:"problem,omitempty"`
}

// Field is a named value of a signal. The names are the agent's, so they stand
// beside the values and are no members of the payload.
type Field struct {
	Name  string `json:"name"`
	Value any    `json:"value"`
}

// Transcript is a session's whole output, without its secrets: in place if it is
// short, as a blob otherwise.
type Transcript struct {
	Text string       `json:"text,omitempty"`
	Blob *ledger.Blob `json:"stored,omitempty"`
}

// Ended is the payload of LeaseReleased and LeaseExpired.
type Ended struct {
	Phase agentsig.Phase `json:"phase"` // which stays
}

// Gate is the payload of GatePassed and GateFailed.
type Gate struct {
	Commit    string         `json:"commit"`
	Checks    []Check        `json:"checks,omitempty"` // that the box ran; none if nothing was checked, or the report came from outside
	Output    string         `json:"output,omitempty"` // of what failed, its end
	Files     *int           `json:"files,omitempty"`  // that the change touches, if that is known
	NextPhase agentsig.Phase `json:"next_phase"`
	Since     Since          `json:"since,omitempty"`     // nothing was changed since then, so no check ran
	NoChange  string         `json:"no_change,omitempty"` // nothing was changed, and this is why, as the developer claims
	Runner    string         `json:"runner,omitempty"`    // that ran the checks; empty for home
	Signed    *Signed        `json:"signed,omitempty"`    // by that runner; nil if no check ran
}

// Since says since when nothing was changed in what is handed in; empty if something was.
type Since string

// Since the work began, or since this commit failed by the word of one of these.
const (
	SinceStart  Since = "start"
	SinceGate   Since = "gate"
	SinceReview Since = "review"
	SinceAudit  Since = "audit"
	SinceMerge  Since = "merge"
	SincePerson Since = "person" // who did not approve its merge
)

// Check is how one verification command ended.
type Check struct {
	Name   string `json:"name"`
	Passed bool   `json:"passed"`
	Flaky  bool   `json:"flaky,omitempty"` // it failed, and passed when it ran again
	Exit   int    `json:"exit,omitempty"`  // its exit code; 128 and the signal's number if a signal ended it
}

// Blocked is the payload of WorkBlocked.
type Blocked struct {
	From      agentsig.Phase `json:"from"`
	NextPhase agentsig.Phase `json:"next_phase"`
	Cause     string         `json:"cause"`
	Reason    string         `json:"reason"`
	Waits     *Waits         `json:"waits,omitempty"` // of work that stands alone: for whom
}

// Unblocked is the payload of WorkUnblocked.
type Unblocked struct {
	NextPhase agentsig.Phase `json:"next_phase"` // it came from
	Reason    string         `json:"reason"`
}

// Allowed is the payload of MergeAllowed. It names what makes a merge commit what it is:
// its parents and its tree. Who has the commit can hold it against the event.
type Allowed struct {
	Run     string `json:"run"`            // the run's id
	Task    string `json:"task"`           // its id in the plan
	Verdict uint64 `json:"verdict"`        // the ledger's sequence of the audit that passed, or of AuditWaived
	Commit  string `json:"commit"`         // that was judged: the second parent
	Onto    string `json:"onto"`           // what it is merged with: the first parent
	Base    string `json:"base,omitempty"` // where reviewers saw the work begin; empty if nobody looked at it
	Tree    string `json:"tree"`           // of the merge, which the checks, if there are any, ran on

	Approval uint64 `json:"approval,omitempty"` // the ledger's sequence of MergeApproved, if a person has to approve merges

	Unaudited bool `json:"unaudited,omitempty"` // no auditor has looked at it: its run was started without one
}

// Merge is the payload of WorkMerged and MergeFailed.
type Merge struct {
	Commit    string         `json:"commit"`           // that was judged
	Result    string         `json:"result,omitempty"` // the merge, if there is one
	NextPhase agentsig.Phase `json:"next_phase"`
	Reason    string         `json:"reason,omitempty"` // why it failed
	Tree      string         `json:"tree,omitempty"`   // of the commit: all that is in it
	Base      string         `json:"base,omitempty"`   // where reviewers saw the work begin
	// Unseen are the reviewers that the operator took it past, who have not seen this tree.
	Unseen []agentsig.Role `json:"unseen,omitempty"`

	Unaudited bool `json:"unaudited,omitempty"` // no auditor has looked at it: its run was started without one
}

// Unchanged is the payload of WorkUnchanged.
type Unchanged struct {
	Commit    string         `json:"commit"` // that the critic was shown
	Base      string         `json:"base"`   // where it saw the work begin
	Reason    string         `json:"reason"` // that the developer gave, and the critic agrees with
	NextPhase agentsig.Phase `json:"next_phase"`
}

// Shown is the payload of WorkShown: the commit that a reviewer was given to look at, its
// tree, and the commit that it was told the work begins from.
type Shown struct {
	Role   agentsig.Role `json:"role"`
	Commit string        `json:"commit"`
	Tree   string        `json:"tree"`
	Base   string        `json:"base"`
}

// Overridden is the payload of WorkOverridden.
type Overridden struct {
	From      agentsig.Phase `json:"from"`
	NextPhase agentsig.Phase `json:"next_phase"`
	Reason    string         `json:"reason"`
}

// Field returns the value of a field as text, the elements of a list on lines of
// their own; empty if there is none.
func (s Said) Field(name string) string {
	for _, f := range s.Fields {
		if f.Name != name {
			continue
		}
		switch v := f.Value.(type) {
		case string:
			return v
		case []string:
			return strings.Join(v, "\n")
		case []any:
			lines := make([]string, len(v))
			for i, x := range v {
				lines[i] = fmt.Sprint(x)
			}
			return strings.Join(lines, "\n")
		}
	}
	return ""
}

// Besides returns the other fields than this one, in words.
func (s Said) Besides(name string) string {
	var b strings.Builder
	for _, f := range s.Fields {
		if f.Name != name {
			fmt.Fprintf(&b, "%s: %s\n", f.Name, s.Field(f.Name))
		}
	}
	return b.String()
}

// Text returns what was said, in words: the transcript if it is in place, the
// fields otherwise.
func (s Said) Text() string {
	if s.Transcript.Text != "" {
		return s.Transcript.Text
	}
	return s.Besides("")
}
