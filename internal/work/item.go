package work

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Token fences a lease: a later grant of the same item has a larger one.
type Token struct {
	Epoch   uint64
	Counter uint64
}

func (t Token) String() string { return fmt.Sprintf("%d.%d", t.Epoch, t.Counter) }

// MarshalText writes the token as in "1.7".
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads what MarshalText writes, and nothing else.
func (t *Token) UnmarshalText(text []byte) error {
	epoch, counter, _ := strings.Cut(string(text), ".")
	e, errE := strconv.ParseUint(epoch, 10, 64)
	c, errC := strconv.ParseUint(counter, 10, 64)
	if read := (Token{e, c}); errE != nil || errC != nil || read.String() != string(text) {
		return fmt.Errorf("%q is not a token: it is an epoch and a counter, as in 1.7", text)
	}
	*t = Token{e, c}
	return nil
}

// Session names the session that a token was granted to. The item is part of the
// name, so that a late result finds its way.
func (t Token) Session(subject string) string { return fmt.Sprintf("%s-%s", subject, t) }

// ParseSession takes the name of a session apart.
func ParseSession(session string) (subject string, t Token, err error) {
	subject, token, ok := strings.Cut(session, "-")
	if !ok || subject == "" {
		return "", Token{}, ErrNoSession
	}
	if err := t.UnmarshalText([]byte(token)); err != nil {
		return "", Token{}, ErrNoSession
	}
	return subject, t, nil
}

// Lease is who holds an item.
type Lease struct {
	Token Token
	Actor string
	Role  agentsig.Role
	Agent string        // that the box started for it, or [PersonAgent]; empty if somebody claimed it
	TTL   time.Duration // 0 if it has no term
	Key   string        // of the request that it was granted to

	Runner string // that its session's process is on; "" for home
}

// Permit is a merge that was allowed, and the ledger's sequence of the event that says so.
type Permit struct {
	Seq uint64
	Allowed
}

// Item is a work item: the fold of its events. The zero Item is one that does not
// exist yet.
type Item struct {
	Chain
	ID          string // its name for people
	Title       string
	Run, Task   string // the plan's run that it is a task of, and its id there; empty if it stands alone
	Unaudited   bool   // its run was started without an auditor
	Phase       agentsig.Phase
	Entered     uint64         // the ledger's sequence of the event that brought it to its phase
	BlockedFrom agentsig.Phase // the phase that a BLOCKED item came from
	Commit      string         // that the gate spoke of last
	NoChange    string         // why nothing had to be changed in it, as the developer claims; empty if something was
	Review      Seen           // what the critic was given to look at, since the gate spoke last
	Reviewed    Reviewed       // where the ledger says that the critic was given it, and passed it
	Audit       Seen           // what the auditor was
	ByHand      bool           // the operator has set its phase since the gate spoke last
	Audited     bool           // the auditor has passed it: it waits for its merge
	Waived      *Waiver        // nobody audits it: it waits for its merge; never changed in place
	Allowed     *Permit        // the merge that was allowed last, since it was judged; never changed in place
	Proposal    *Proposal      // the merge that a person was asked about last, since it was judged; never changed in place
	Lease       *Lease         // nil if nobody holds it; never changed in place
	Past        *Lease         // the one that ended last
	Granted     uint64         // the counter of the latest grant
	Completed   uint64         // the counter of the session that ended last by itself
	Said        Latest         // where in the ledger it is that somebody said something of it

	// Of an item that stands alone.
	Branch  string  // of the box's repository, that it is done on; empty if that is not known; never changed
	Wait    *Wait   // what it waits for while it is BLOCKED; nil if nothing; never changed in place
	Asked   int     // how many questions there were
	Replies []Reply // what came of them, the latest last; never changed in place
	Claim   string  // that nothing has to be changed: the developer's, and the gate has not spoken yet
	Format  bool    // the last agent did not say how it ended, and was given up
	Count   Count
}

// Latest are sequences of the ledger: of the event that says what is asked for; of the last word of who worked on it
// ([StatementOf]); of the last that sent it back; and of the last that names a pull request. Each is 0 if there is none.
type Latest struct{ Asked, Claim, Findings, PullRequest uint64 }

// Seen is what a reviewer's session was given to look at: a commit, its tree, and the commit that
// it was told the work begins from.
type Seen struct{ Session, Commit, Tree, Base string }

// Agreed reports whether the critic was shown that nothing was changed, and passed that: nothing is left to be audited
// or merged.
func (i Item) Agreed() bool {
	return i.Phase == agentsig.PhaseReadyForMerge && !i.Judged() && i.NoChange != "" && i.Review.Commit == i.Commit
}

// Unchanged reports whether the work was completed without a change.
func (i Item) Unchanged() bool { return i.Phase == agentsig.PhaseCompleted && i.NoChange != "" }

// Base returns where reviewers saw the work begin; empty if nobody has looked at it.
func (i Item) Base() string { return cmp.Or(i.Audit.Base, i.Review.Base) }

// CheckBase refuses a merge from another commit than both reviewers saw the work begin from.
func (i Item) CheckBase(base string) error {
	for _, seen := range []Seen{i.Review, i.Audit} {
		if seen != (Seen{}) && seen.Base != base {
			return fmt.Errorf("%s was shown from %s, and not from %s: %w", i.ID, seen.Base, base, ErrOtherBase)
		}
	}
	return nil
}

// CheckMerge refuses to merge anything but what both the critic and the auditor were given to
// look at; in a run without an auditor, anything but what the critic has passed. It returns those whom the operator took the work past.
func (i Item) CheckMerge(commit, tree string) (unseen []agentsig.Role, err error) {
	if i.Waived != nil {
		return nil, i.checkWaived(commit, tree)
	}
	for _, by := range []struct {
		role agentsig.Role
		seen Seen
	}{{agentsig.RoleCritic, i.Review}, {agentsig.RoleAuditor, i.Audit}} {
		switch {
		case by.seen == Seen{} && i.ByHand:
			unseen = append(unseen, by.role)
		case by.seen == Seen{}:
			return nil, fmt.Errorf("nothing says what the %s was given to look at: %w", by.role, ErrNotSeen)
		case by.seen.Commit != commit || by.seen.Tree != tree:
			return nil, fmt.Errorf("the %s was given %s with the tree %s, and %s has the tree %s: %w",
				by.role, by.seen.Commit, by.seen.Tree, commit, tree, ErrNotSeen)
		}
	}
	return unseen, nil
}

// Chain is what the ledger has on one subject: where its events end, and where the
// latest requests are among them.
type Chain struct {
	Subject string
	Seq     uint64      // the ledger's sequence of its last event
	Tip     ledger.Tip  // the end of its chain
	Keys    [8]KeyedSeq // where the latest keyed requests were recorded
}

// KeyedSeq says at which sequence of the ledger a request was recorded. Sum is a
// short hash of the request's key: the event itself has the whole of it.
type KeyedSeq struct {
	Sum uint64
	Seq uint64
}

// InLedger returns the chain of whatever embeds it.
func (c Chain) InLedger() Chain { return c }

// Recorded returns the sequences at which a request with this key may have been
// recorded, latest first.
func (c Chain) Recorded(key string) []uint64 {
	var all []uint64
	for _, k := range c.Keys {
		if k.Of(key) {
			all = append(all, k.Seq)
		}
	}
	return all
}

// Keyed says that a request with this key was recorded at a sequence.
func Keyed(key string, seq uint64) KeyedSeq { return KeyedSeq{keySum(key), seq} }

// Of reports whether it may be a request with this key that was recorded.
func (k KeyedSeq) Of(key string) bool { return k.Seq != 0 && k.Sum == keySum(key) }

// Reach notes that an event has the ledger's sequence seq, and the key of the request
// that led to it, if that had one.
func (c *Chain) Reach(seq uint64, key string) {
	c.Seq = seq
	if key != "" {
		copy(c.Keys[1:], c.Keys[:])
		c.Keys[0] = Keyed(key, seq)
	}
}

func keySum(key string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key)) // which never fails
	return h.Sum64()
}

// Exists reports whether the item was added.
func (i Item) Exists() bool { return i.ID != "" }

// Session names the session that holds the item, if one does.
func (i Item) Session() string {
	if i.Lease == nil {
		return ""
	}
	return i.Lease.Token.Session(i.Subject)
}

// ActorOf says who a token was granted to, if it is one of the last two.
func (i Item) ActorOf(t Token) (string, bool) {
	for _, l := range []*Lease{i.Lease, i.Past} {
		if l != nil && l.Token == t {
			return l.Actor, true
		}
	}
	return "", false
}

// Holds reports whether the token is the one that fences the item now.
func (i Item) Holds(t Token) bool { return i.Lease != nil && i.Lease.Token == t }

// Claimable reports whether an agent may take the item: nobody holds it, and it
// is in a phase that is left by an agent's work, or waits for one in the role [Item.Helper]. CI_PENDING is left by the gate,
// and is given only to who asks for that phase. A task of a plan's run is given out
// by the run.
func (i Item) Claimable() bool {
	return i.Lease == nil && i.Run == "" && i.Phase != agentsig.PhaseCompleted && (i.Phase != agentsig.PhaseBlocked || i.Helper() != "")
}

// Helper returns the role that a BLOCKED item waits for; empty if there is none.
func (i Item) Helper() agentsig.Role {
	if i.Wait == nil {
		return ""
	}
	return i.Wait.Role
}

// MayHold reports whether an agent in this role may hold an item in this phase.
// Without a role nothing is checked. Who helps with what is BLOCKED holds no phase.
func MayHold(role agentsig.Role, phase agentsig.Phase) bool {
	switch own, _ := role.Phase(); {
	case role == "" || phase == own:
		return true
	case role == agentsig.RoleDeveloper:
		return phase == agentsig.PhaseDraft
	case role == agentsig.RoleCritic:
		return phase == agentsig.PhaseReadyForReview
	}
	return false
}
