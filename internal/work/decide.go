package work

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/safetext"
)

// Limits of a lease's term.
const (
	MinTTL = time.Second
	MaxTTL = 24 * time.Hour
)

// MaxAsked is how long the text of what is asked for may be, in bytes.
const MaxAsked = 8 << 10

// Limits of what else people write, in bytes.
const (
	maxTitle  = 1 << 10
	maxReason = 4 << 10
	maxName   = 128 // of an actor
)

// Why a command is refused. An item that is held is refused with [HeldError], one in
// another phase with [PhaseError], a role that may not hold a phase with [RoleError], a session's end as
// [agentsig.Signal.Handover] has it.
var (
	ErrExists      = errors.New("there is an item with this id already")
	ErrNoItem      = errors.New("there is no such work item")
	ErrNoSession   = errors.New("there is no such session")
	ErrBadID       = errors.New("an id begins with a letter or digit, and has letters, digits, '.', '_' and '-' after it, 128 at most; or it is an issue's, as #12 or org/repo#12")
	ErrNoTitle     = errors.New("a work item needs a title")
	ErrTooLong     = errors.New("the text is too long")
	ErrBadPhase    = errors.New("there is no such phase")
	ErrBadRole     = errors.New("there is no such role")
	ErrBadActor    = errors.New("an actor's name has 1 to 128 characters, none of them a blank or a control character")
	ErrBadTTL      = fmt.Errorf("a lease lasts from %v to %v", MinTTL, MaxTTL)
	ErrCompleted   = errors.New("the work is COMPLETED: there is nothing left to claim")
	ErrBlocked     = errors.New("the work is BLOCKED: answer its question (`signalbox inbox`), or override its phase once what blocked it is out of the way")
	ErrNotHolder   = errors.New("the session does not hold the item any more")
	ErrSessionOver = errors.New("the session has ended by its own signal already")
	ErrNotPending  = errors.New("the gate reports on work in CI_PENDING only")
	ErrBadCommit   = errors.New("a commit is named by 7 to 64 hexadecimal digits in lower case")
	ErrNoReason    = errors.New("an override needs a reason")
	ErrSamePhase   = errors.New("the work is in this phase already")
	ErrAudited     = errors.New("the work is judged and waits for its merge")
	ErrNotAudited  = errors.New("the work is not judged: there is nothing to merge")
	ErrAuditNeeded = errors.New("its run was started with an auditor, who has not passed it: it is not merged on the critic's word alone")
	ErrNotReviewed = errors.New("no word of a critic waits to be the last one on the work")
	ErrOtherCommit = errors.New("this is not the commit that passed the gate")
	ErrNotSeen     = errors.New("it is not merged: what would be merged is not what was judged; look at both, and set its phase to READY_FOR_REVIEW to have it judged anew")
	ErrOtherBase   = errors.New("reviewers did not all see the work begin where git would merge it from: bring the branch that it goes to into yours, see that everything is there, and have it reviewed again")
	ErrNotAllowed  = errors.New("no merge of this commit was allowed: look at how it came to the branch")
	ErrNotApproved = errors.New("a person has to approve this merge, and has not")
	ErrNotProposed = errors.New("no merge of the work waits for a person's approval")
	ErrOtherMerge  = errors.New("this is not the merge that was proposed: look at it again")
	ErrUnchanged   = errors.New("nothing was changed, and nobody says why nothing has to be")
	ErrAgreed      = errors.New("nothing was changed, and the critic agrees with that: there is nothing to audit")
	ErrNotAgreed   = errors.New("no critic has agreed that there is nothing to change")
	ErrNotBlocked  = errors.New("the work is not BLOCKED")
	ErrNoQuestion  = errors.New("there is no such question")
	ErrAnswered    = errors.New("the question has been answered already")
	ErrNoAnswer    = errors.New("an answer needs a text, or one of the question's choices")
)

// HeldError refuses an item that somebody holds.
type HeldError struct{ Item, Actor, Session string }

func (e *HeldError) Error() string {
	return fmt.Sprintf("%s is held by %s (session %s): claim it with --wait, or claim other work", e.Item, safetext.Escape(e.Actor), e.Session)
}

// PhaseError refuses an item that is not in the phase that was asked for.
type PhaseError struct {
	Item          string
	Phase, Wanted agentsig.Phase
}

func (e *PhaseError) Error() string {
	return fmt.Sprintf("%s is in %s, not in %s", e.Item, e.Phase, e.Wanted)
}

// RoleError refuses a phase to a role.
type RoleError struct {
	Role  agentsig.Role
	Phase agentsig.Phase
}

func (e *RoleError) Error() string {
	return fmt.Sprintf("the role %s does not hold %s", e.Role, e.Phase)
}

// Command is what somebody wants of an item: Add, Grant, Take, End, Note, Release,
// Expire, Report, Checked, Show, Block, Unblock, Waive, Propose, Approve, Allow, Merged, Unmerged, Leave, Override, Unread or Answer.
type Command interface {
	// Events returns the types of events that it can lead to.
	Events() []string
	decide(Item) (Event, error)
}

// Decide says which event a command leads to, or why it is refused. The event
// holds only as long as nothing else happens to the item.
func Decide(i Item, c Command) (Event, error) {
	_, isAdd := c.(Add)
	switch {
	case isAdd && i.Exists():
		return Event{}, ErrExists
	case !isAdd && !i.Exists():
		return Event{}, ErrNoItem
	}
	return c.decide(i)
}

// Add makes the item.
type Add struct {
	ID, Title string
	Asked     string
	Branch    string // of the box's repository, that the work is done on; may be empty
	Phase     agentsig.Phase
	Actor     string
	Key       string

	// Of a task of a plan's run.
	Run, Task string
	BlockedBy []string
	Unaudited bool // the run was started without an auditor
}

// Events implements [Command].
func (Add) Events() []string { return []string{WorkAdded} }

func (c Add) decide(Item) (Event, error) {
	switch {
	case !agentsig.ValidID(c.ID):
		return Event{}, ErrBadID
	case strings.TrimSpace(c.Title) == "":
		return Event{}, ErrNoTitle
	case len(c.Title) > maxTitle:
		return Event{}, fmt.Errorf("the title has %d bytes of %d: %w", len(c.Title), maxTitle, ErrTooLong)
	case len(c.Asked) > MaxAsked:
		return Event{}, fmt.Errorf("what is asked for has %d bytes of %d: %w", len(c.Asked), MaxAsked, ErrTooLong)
	case !slices.Contains(agentsig.Phases(), c.Phase):
		return Event{}, ErrBadPhase
	case !validActor(c.Actor):
		return Event{}, ErrBadActor
	}
	if c.Branch != "" {
		if err := checkBranch(c.Branch); err != nil {
			return Event{}, err
		}
	}
	return Event{Type: WorkAdded, Actor: c.Actor, Key: c.Key, Payload: Added{c.ID, c.Title, c.Phase, c.Run, c.Task, c.BlockedBy, c.Unaudited, c.Asked, c.Branch}}, nil
}

// Grant gives the item to an agent.
type Grant struct {
	Epoch uint64
	Phase agentsig.Phase // only in this phase; in any if empty
	Actor string
	Role  agentsig.Role
	Agent string // that the box starts for it, or [PersonAgent]; empty if somebody claims it
	TTL   time.Duration
	Key   string

	Resumes, Fresh, Runner string // as in [Granted]
}

// Events implements [Command].
func (Grant) Events() []string { return []string{LeaseGranted, ReviewStarted} }

func (c Grant) decide(i Item) (Event, error) {
	switch {
	case !validActor(c.Actor):
		return Event{}, ErrBadActor
	case c.Role != "" && !slices.Contains(agentsig.Roles(), c.Role):
		return Event{}, ErrBadRole
	case (c.TTL < MinTTL || c.TTL > MaxTTL) && (c.TTL != 0 || c.Agent != PersonAgent):
		return Event{}, ErrBadTTL
	case i.Phase == agentsig.PhaseCompleted:
		return Event{}, ErrCompleted
	case i.Phase == agentsig.PhaseBlocked && i.Helper() == "":
		return Event{}, ErrBlocked
	case i.Judged():
		return Event{}, ErrAudited
	case i.Agreed():
		return Event{}, ErrAgreed
	case i.Lease != nil:
		return Event{}, &HeldError{i.ID, i.Lease.Actor, i.Session()}
	case c.Phase != "" && c.Phase != i.Phase:
		return Event{}, &PhaseError{i.ID, i.Phase, c.Phase}
	case i.Phase == agentsig.PhaseBlocked && !i.helper(c.Role):
		return Event{}, fmt.Errorf("%s waits for somebody to `claim --role %s`: %w", i.ID, i.Helper(), ErrBlocked)
	case i.Phase != agentsig.PhaseBlocked && !MayHold(c.Role, i.Phase):
		return Event{}, &RoleError{c.Role, i.Phase}
	}
	what, phase := LeaseGranted, i.Phase
	if c.Role == agentsig.RoleCritic && phase == agentsig.PhaseReadyForReview {
		what, phase = ReviewStarted, agentsig.PhaseReview
	}
	t := Token{c.Epoch, i.Granted + 1}
	return Event{
		Type: what, Actor: c.Actor, Session: t.Session(i.Subject), Token: t, Key: c.Key,
		Payload: Granted{Phase: phase, Role: c.Role, TTLMS: c.TTL.Milliseconds(), Agent: c.Agent, Resumes: c.Resumes, Fresh: c.Fresh, Runner: c.Runner},
	}, nil
}

// End ends a session by its signal: it moves the phase and releases the lease in
// one event. If the lease was taken meanwhile, the event is LateResultRecorded.
type End struct {
	Token  Token
	Actor  string // of the session; who a late result came from
	Signal agentsig.Signal
	Said   Said
	Key    string
	Limits Limits // of an item that stands alone
	Given  string // the commit that a person hands in; empty for agents, whose work is committed when it is checked
}

// Events implements [Command].
func (End) Events() []string { return []string{AgentSessionCompleted, LateResultRecorded} }

func (c End) decide(i Item) (Event, error) {
	session := c.Token.Session(i.Subject)
	e := Event{Type: LateResultRecorded, Actor: c.Actor, Session: session, Token: c.Token, Key: c.Key}
	if err := i.checkSession(c.Token); err != nil {
		return Event{}, err
	}
	record, audited := resultOf(c.Signal), false
	record.Session, record.Actor = session, c.Actor
	r := Result{Said: c.Said, Given: c.Given}
	if i.Holds(c.Token) {
		h, err := i.handover(c.Signal, c.Limits)
		if err != nil {
			return Event{}, err
		}
		e.Type, e.Actor = AgentSessionCompleted, i.Lease.Actor
		if audited = i.Run != "" && h.To == agentsig.PhaseCompleted; audited {
			h.To = h.From // where there is a branch, work is completed when its merge is proven
		}
		record.Actor, record.PhaseCompleted, record.ExitReason, record.NextPhase = i.Lease.Actor, h.From, h.Reason, h.To
	}
	r.AgentSessionCompleted, r.Audited = record, audited
	if i.Holds(c.Token) && i.Run == "" {
		r = i.alone(r, c.Signal, c.Limits)
	}
	e.Payload = r
	return e, nil
}

// alone adds to a result what it means for an item that no run brings on.
func (i Item) alone(r Result, s agentsig.Signal, l Limits) Result {
	r.Signal, r.Body = s.Kind, body(s)
	switch {
	case r.NextPhase == agentsig.PhaseBlocked:
		r.Waits = i.waits(s, r.Need(), l)
	case s.Kind == agentsig.KindReadyForReview:
		r.NoChange = Cut(r.Said.NoChange(), maxText/4)
	case r.NextPhase == agentsig.PhaseCompleted:
		r.NoChange = i.NoChange
	}
	return r
}

// resultOf is the part of the seed's event that the signal itself says.
func resultOf(s agentsig.Signal) agentsig.AgentSessionCompleted {
	x, ok := s.Exit()
	if !ok {
		return agentsig.AgentSessionCompleted{}
	}
	return agentsig.AgentSessionCompleted{
		PhaseCompleted: x.PhaseCompleted, ExitReason: x.ExitReason,
		PRURL: x.PRURL, EvidenceBundleRef: x.EvidenceBundleRef, Notes: x.Notes,
	}
}

// Note records a signal that ends nothing.
type Note struct {
	Token Token
	Said  Said
	Key   string
}

// Events implements [Command].
func (Note) Events() []string { return []string{SignalRecorded} }

func (c Note) decide(i Item) (Event, error) {
	if err := i.checkHolder(c.Token); err != nil {
		return Event{}, err
	}
	return Event{
		Type: SignalRecorded, Actor: i.Lease.Actor, Session: i.Session(), Token: c.Token, Key: c.Key, Payload: Signalled{c.Said},
	}, nil
}

// Show says which commit a reviewer is given to look at, which tree that has, and where it is told
// that the work begins. What the
// operator took past the gate is known by it from then on.
type Show struct {
	Token              Token
	Commit, Tree, Base string
}

// Events implements [Command].
func (Show) Events() []string { return []string{WorkShown} }

func (c Show) decide(i Item) (Event, error) {
	if err := i.checkHolder(c.Token); err != nil {
		return Event{}, err
	}
	switch {
	case !validCommit(c.Commit) || !validCommit(c.Tree) || !validCommit(c.Base):
		return Event{}, ErrBadCommit
	case i.Lease.Role != agentsig.RoleCritic && i.Lease.Role != agentsig.RoleAuditor:
		return Event{}, &RoleError{i.Lease.Role, i.Phase}
	case i.Commit != "" && c.Commit != i.Commit:
		return Event{}, fmt.Errorf("%s at %s: %w", i.ID, c.Commit, ErrOtherCommit)
	}
	return Event{
		Type: WorkShown, Actor: BoxActor, Session: i.Session(), Token: c.Token, Payload: Shown{i.Lease.Role, c.Commit, c.Tree, c.Base},
	}, nil
}

// Release gives the item back; its phase stays.
type Release struct {
	Actor string // who gives it back; the holder, if empty
	Token Token
	Key   string
}

// Events implements [Command].
func (Release) Events() []string { return []string{LeaseReleased} }

func (c Release) decide(i Item) (Event, error) {
	e, err := i.endLease(LeaseReleased, c.Token, c.Key)
	e.Actor = cmp.Or(c.Actor, e.Actor)
	return e, err
}

// Expire takes the lease away from a holder whose term is over.
type Expire struct{ Token Token }

// Events implements [Command].
func (Expire) Events() []string { return []string{LeaseExpired} }

func (c Expire) decide(i Item) (Event, error) {
	e, err := i.endLease(LeaseExpired, c.Token, "")
	e.Actor = BoxActor
	return e, err
}

// BoxActor is the actor of what the box does by itself.
const BoxActor = "box"

func (i Item) endLease(what string, t Token, key string) (Event, error) {
	if err := i.checkHolder(t); err != nil {
		return Event{}, err
	}
	return Event{
		Type: what, Actor: i.Lease.Actor, Session: i.Session(), Token: t, Key: key, Payload: Ended{i.Phase},
	}, nil
}

// Report is the gate's word on work in CI_PENDING.
type Report struct {
	Commit string
	Passed bool
	Checks []Check
	Output string
	Files  *int // that the change touches, if that is known
	Key    string

	Since    Since  // nothing was changed since then: it does not pass
	NoChange string // the developer's claim why nothing has to be changed; it counts if nothing was
	Runner   string // that ran the checks; "" for home
	Signed   *Signed
}

// GateActor is the actor of the gate's reports.
const GateActor = "gate"

// Events implements [Command].
func (Report) Events() []string { return []string{GatePassed, GateFailed} }

func (c Report) decide(i Item) (Event, error) {
	switch {
	case !validCommit(c.Commit):
		return Event{}, ErrBadCommit
	case i.Phase != agentsig.PhaseCIPending:
		return Event{}, fmt.Errorf("%s is in %s: %w", i.ID, i.Phase, ErrNotPending)
	}
	g := Gate{Commit: c.Commit, Checks: c.Checks, Output: c.Output, Files: c.Files, NextPhase: agentsig.PhaseImplementation, Since: c.Since, Runner: c.Runner, Signed: c.Signed}
	if !c.Passed || c.Since != "" {
		return Event{Type: GateFailed, Actor: GateActor, Key: c.Key, Payload: g}, nil
	}
	if c.Files != nil && *c.Files == 0 {
		if g.NoChange = c.NoChange; g.NoChange == "" {
			return Event{}, fmt.Errorf("%s at %s: %w", i.ID, c.Commit, ErrUnchanged)
		}
	}
	if c.Files == nil { // nobody knows better than who claims it
		g.NoChange = i.Claim
	}
	var err error
	g.NextPhase, err = agentsig.NextPhase(i.Phase, agentsig.ExitCompleted)
	return Event{Type: GatePassed, Actor: GateActor, Key: c.Key, Payload: g}, err
}

// Block keeps the item from going on until an answer, or the end of what was
// wrong, unblocks it.
type Block struct {
	Cause, Reason string
	Key           string
}

// Events implements [Command].
func (Block) Events() []string { return []string{WorkBlocked} }

func (c Block) decide(i Item) (Event, error) {
	switch {
	case i.Phase == agentsig.PhaseCompleted:
		return Event{}, ErrCompleted
	case i.Phase == agentsig.PhaseBlocked:
		return Event{}, fmt.Errorf("%s is in %s: %w", i.ID, i.Phase, ErrSamePhase)
	case i.Lease != nil:
		return Event{}, &HeldError{i.ID, i.Lease.Actor, i.Session()}
	}
	return Event{Type: WorkBlocked, Actor: BoxActor, Key: c.Key, Payload: Blocked{From: i.Phase, NextPhase: agentsig.PhaseBlocked, Cause: c.Cause, Reason: c.Reason}}, nil
}

// Unblock returns the item to the phase that it came from.
type Unblock struct {
	Reason string
	Key    string
}

// Events implements [Command].
func (Unblock) Events() []string { return []string{WorkUnblocked} }

func (c Unblock) decide(i Item) (Event, error) {
	if i.Phase != agentsig.PhaseBlocked {
		return Event{}, fmt.Errorf("%s is in %s: %w", i.ID, i.Phase, ErrNotBlocked)
	}
	return Event{Type: WorkUnblocked, Actor: BoxActor, Key: c.Key, Payload: Unblocked{i.back(), c.Reason}}, nil
}

// Leave completes work that the critic agrees has nothing to be changed in. Nothing is merged.
type Leave struct{}

// Events implements [Command].
func (Leave) Events() []string { return []string{WorkUnchanged} }

func (Leave) decide(i Item) (Event, error) {
	switch {
	case !i.Agreed():
		return Event{}, fmt.Errorf("%s: %w", i.ID, ErrNotAgreed)
	case i.Lease != nil:
		return Event{}, &HeldError{i.ID, i.Lease.Actor, i.Session()}
	}
	return Event{Type: WorkUnchanged, Actor: BoxActor, Payload: Unchanged{i.Commit, i.Review.Base, i.NoChange, agentsig.PhaseCompleted}}, nil
}

// Override is the operator's word: it sets the phase and ends the lease.
type Override struct {
	Actor  string
	Phase  agentsig.Phase
	Reason string
	Key    string
}

// OperatorActor is the actor of what the operator does. ClientPrefix begins that of what a client of theirs does, before the client's
// name, and RunnerPrefix that of a runner. Who claims work can't have such a name.
const (
	OperatorActor = "operator"
	ClientPrefix  = "client:"
	RunnerPrefix  = "runner:"
)

// ByOperator reports whether an actor is the operator, or a client of theirs.
func ByOperator(actor string) bool {
	return actor == OperatorActor || strings.HasPrefix(actor, ClientPrefix)
}

// Events implements [Command].
func (Override) Events() []string { return []string{WorkOverridden} }

func (c Override) decide(i Item) (Event, error) {
	switch {
	case !validActor(c.Actor):
		return Event{}, ErrBadActor
	case !slices.Contains(agentsig.Phases(), c.Phase):
		return Event{}, ErrBadPhase
	case strings.TrimSpace(c.Reason) == "":
		return Event{}, ErrNoReason
	case len(c.Reason) > maxReason:
		return Event{}, fmt.Errorf("the reason has %d bytes of %d: %w", len(c.Reason), maxReason, ErrTooLong)
	case c.Phase == i.Phase:
		return Event{}, fmt.Errorf("%s is in %s: %w", i.ID, i.Phase, ErrSamePhase)
	}
	return Event{Type: WorkOverridden, Actor: c.Actor, Key: c.Key, Payload: Overridden{i.Phase, c.Phase, c.Reason}}, nil
}

// checkSession refuses a token that was never granted, and that of a session
// which ended by itself.
func (i Item) checkSession(t Token) error {
	switch {
	case t.Counter == 0 || t.Counter > i.Granted:
		return ErrNoSession
	case t.Counter == i.Completed:
		return ErrSessionOver
	}
	return nil
}

func (i Item) checkHolder(t Token) error {
	if err := i.checkSession(t); err != nil {
		return err
	}
	if !i.Holds(t) {
		return ErrNotHolder
	}
	return nil
}

func validActor(name string) bool {
	return name != "" && len(name) <= maxName && safetext.Escape(name) == name && !strings.ContainsAny(name, " \t")
}

func validCommit(sha string) bool {
	return len(sha) >= 7 && len(sha) <= 64 && strings.Trim(sha, "0123456789abcdef") == ""
}
