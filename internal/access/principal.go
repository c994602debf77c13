package access

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/safetext"
)

// Scope is a part of what a box can be asked, which a client's token can be for.
type Scope string

// The scopes. Answer and Operate have Read in them, and neither the other: who may start work does not judge it by that.
// Metrics stands alone.
const (
	Read    Scope = "read"    // look at everything
	Answer  Scope = "answer"  // read; answer questions, review work
	Operate Scope = "operate" // read; start, steer and end work
	Metrics Scope = "metrics" // nothing but figures about the box
)

// Scopes lists every scope.
func Scopes() []Scope { return []Scope{Read, Answer, Operate, Metrics} }

// ErrBadScope refuses a list of scopes.
var ErrBadScope = errors.New("scopes are read, answer, operate and metrics, at least one, each once")

// CheckScopes refuses a list that is empty, has one twice or one that there is not.
func CheckScopes(all []Scope) error {
	if len(all) == 0 {
		return ErrBadScope
	}
	for i, s := range all {
		if !slices.Contains(Scopes(), s) || slices.Contains(all[:i], s) {
			return fmt.Errorf("%w, not %.40q", ErrBadScope, safetext.Escape(string(s)))
		}
	}
	return nil
}

// ErrBadName refuses the name of a client or a runner.
var ErrBadName = errors.New("a name has 1 to 64 of a-z, 0-9, '.', '_' and '-', and begins with a letter or digit")

// CheckName refuses what can't be the name of a client or a runner.
func CheckName(name string) error {
	if name == "" || len(name) > maxName || strings.Trim(name, nameStart+"._-") != "" || !strings.Contains(nameStart, name[:1]) {
		return ErrBadName
	}
	return nil
}

const (
	maxName   = 64
	nameStart = "abcdefghijklmnopqrstuvwxyz0123456789"
)

// Kind is a kind of principal.
type Kind string

// The kinds.
const (
	Owner   Kind = "owner"   // who has the box's directory
	Client  Kind = "client"  // who has a token of a name, or for whom the owner speaks
	Session Kind = "session" // the process of one agent's session
	Gate    Kind = "gate"    // a CI outside of the box
	Runner  Kind = "runner"  // another machine, by the key that it has joined with
	Peer    Kind = "peer"    // another box of the cluster, by the key that it has joined with
	Guest   Kind = "guest"   // who has a key that is nobody's: it may join with it
)

// Principal is who makes a request.
type Principal struct {
	Kind    Kind
	Name    string  // of a client, a runner or a peer
	Scopes  []Scope // of a client
	Session string  // that a session's process is
	Hash    string  // of the key of a runner, a peer or a guest
	Member  uint64  // the id of a peer
}

// Actor is in whose name events say that something was done that a person decides, or a client for one.
func (p Principal) Actor() string {
	switch p.Kind {
	case Client:
		return work.ClientPrefix + p.Name
	case Runner:
		return work.RunnerPrefix + p.Name
	}
	return work.OperatorActor
}

// Key is the key of a request as the ledger has it. Those of a client or a runner have its name before them, which no other's
// have: so nobody finds what came of another's request.
func (p Principal) Key(key string) (string, error) {
	switch {
	case strings.HasPrefix(key, work.ClientPrefix), strings.HasPrefix(key, work.RunnerPrefix):
		return "", ErrBadKey
	case (p.Kind == Client || p.Kind == Runner) && key != "":
		return p.Actor() + "/" + key, nil
	}
	return key, nil
}

// ErrBadKey refuses the key of a request.
var ErrBadKey = fmt.Errorf("a request's key does not begin with %q or %q, which are for those that the box makes: take another one", work.ClientPrefix, work.RunnerPrefix)

// Right is what a route of the box needs.
type Right string

// The rights. Each scope is one; besides there are those for which none is enough.
const (
	ToOwn     Right = "own"    // tokens: a client that could make one would outlive its own
	ToReport  Right = "report" // for the gate alone
	ToAttend  Right = "attend" // what a session's process says of itself
	ToPass    Right = "pass"   // take work past its judges: who judges and who steers in one
	ToRun     Right = "run"    // what a runner is told and tells, and nobody else
	ToJoin    Right = "join"   // for who has a key alone: become a runner, or a box of the cluster
	ToShare   Right = "share"  // what the boxes of a cluster say to each other
	ToRead          = Right(Read)
	ToAnswer        = Right(Answer)
	ToOperate       = Right(Operate)
	ToMetrics       = Right(Metrics)
)

// Why a principal is refused what it asks for.
var (
	ErrGate    = errors.New("the gate's own token is needed: it is in gate.token in the box's directory, and `signalbox gate report` takes it from SIGNALBOX_GATE_TOKEN")
	ErrOwner   = errors.New("tokens are made, listed and revoked by the box's owner alone, and not with a client's token (SIGNALBOX_TOKEN)")
	ErrNoGate  = errors.New("the gate's token is for the reports of a CI, and for nothing else: take another one (`signalbox token create` makes one)")
	ErrRun     = errors.New("this is for runners, which are known by the key that they have joined with (`signalbox runner join`)")
	ErrRunner  = errors.New("a runner's key is for the orders and sessions that it has, and for nothing else: use a token on a connection of its own")
	ErrShare   = errors.New("this is for the boxes of this cluster, which are known by the key that they have joined with (`signalbox cluster join`)")
	ErrPeer    = errors.New("a box's key is for what the boxes of a cluster say to each other, and for requests that it passes on")
	ErrGuest   = errors.New("the key is no runner's of this box: it has not joined, or was removed; have the box's owner invite it (`signalbox runner invite`)")
	ErrSession = errors.New("a session's token is for what this session reports and is told, and for nothing else")
)

// ScopeError says that a client's token is not for what was asked.
type ScopeError struct {
	Name string
	Has  []Scope
	Need Scope
}

func (e *ScopeError) Error() string {
	return fmt.Sprintf("the client %s may %s, and this needs the scope %s: have the box's owner make a token for both (`signalbox token create --name NAME --scope %s,%s`)",
		e.Name, Words(e.Has, ", "), e.Need, Words(e.Has, ","), e.Need)
}

// Words writes scopes one after another.
func Words(all []Scope, between string) string {
	words := make([]string, len(all))
	for i, s := range all {
		words[i] = string(s)
	}
	return strings.Join(words, between)
}

// May says why a principal may not ask for what needs a right; nil if it may. Session is the one that the request is
// about, if it is about one. A runner may join again: it may not have heard that it has joined.
func (p Principal) May(right Right, session string) error {
	hasKey := p.Kind == Runner || p.Kind == Guest
	switch {
	case right == ToJoin && hasKey, right == ToRun && p.Kind == Runner, right == ToShare && p.Kind == Peer:
		return nil
	case p.Kind == Peer:
		return ErrPeer
	case p.Kind == Guest:
		return ErrGuest
	case p.Kind == Runner:
		return ErrRunner
	case right == ToShare:
		return ErrShare
	case right == ToRun || right == ToJoin:
		return ErrRun
	case right == ToReport && p.Kind != Gate:
		return ErrGate
	case right != ToReport && p.Kind == Gate:
		return ErrNoGate
	case p.Kind == Session && (right != ToAttend || p.Session != session || session == ""):
		return ErrSession
	case p.Kind != Client:
		return nil
	case right == ToOwn:
		return ErrOwner
	}
	for _, need := range right.Scopes() {
		if !p.has(need) {
			return &ScopeError{p.Name, p.Scopes, need}
		}
	}
	return nil
}

// Scopes are those that a client needs for it, all of them. No scope gives ToOwn, ToReport, ToRun,
// ToJoin and ToShare.
func (r Right) Scopes() []Scope {
	switch r {
	case ToAttend:
		return []Scope{Operate}
	case ToPass:
		return []Scope{Operate, Answer}
	}
	return []Scope{Scope(r)}
}

// has reports whether a client has a scope, or one that it is in.
func (p Principal) has(need Scope) bool {
	return slices.ContainsFunc(p.Scopes, func(s Scope) bool {
		return s == need || need == Read && (s == Answer || s == Operate)
	})
}
