package access

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
	"github.com/signalbox-dev/signalbox/safetext"
)

// How many runners there may be, invited ones among them, and how many labels each.
const (
	MaxRunners = 64
	MaxLabels  = 16
)

// How long an invitation is good.
const (
	InvitationTTL    = 15 * time.Minute // if nothing else is asked for
	MaxInvitationTTL = 24 * time.Hour
)

// Why a command on runners, or a runner, is refused.
var (
	ErrBadLabel      = fmt.Errorf("a runner has up to %d labels, each once, and each of 1 to 64 of a-z, 0-9, '.', '_' and '-', beginning with a letter or digit", MaxLabels)
	ErrBadInviteTTL  = fmt.Errorf("an invitation is good for %v to %v", MinTTL, MaxInvitationTTL)
	ErrRunnerTaken   = errors.New("there is a runner of this name, or an invitation for one: remove it first (`signalbox runner remove`), or take another name")
	ErrManyRunners   = fmt.Errorf("there are %d runners, and no more than that: remove one that nobody needs (`signalbox runner list`)", MaxRunners)
	ErrNoRunner      = errors.New("there is no such runner: `signalbox runner list` has those that there are")
	ErrNotJoined     = errors.New("the runner has not joined, so there is nothing to drain: `signalbox runner remove` withdraws its invitation")
	ErrNoInvitation  = errors.New("the invitation is none of this box's: it has expired, was withdrawn, or is another box's; have the box's owner make another one (`signalbox runner invite`)")
	ErrRedeemed      = errors.New("the invitation was redeemed already, with another key: if that was not you, remove the runner at once (`signalbox runner remove`); have the box's owner make another invitation")
	ErrBadRunnersKey = errors.New("a runner's key is known by the SHA-256 of its public part, in 64 hexadecimal digits")
	ErrKeyTaken      = errors.New("this key is another runner's of this box: remove that one first (`signalbox runner remove`), or join with another directory (--dir)")
	ErrBadDeadline   = fmt.Errorf("sessions are given up to %v to end", MaxDrain)

	// ErrJoined says that nothing is to be recorded: the runner has joined with this invitation and this key.
	ErrJoined = errors.New("the runner has joined already")
)

// MaxDrain is how long the sessions of a runner that is drained can be given to end.
const MaxDrain = 30 * 24 * time.Hour

// RunnerIdentity is a runner as the ledger has it. Whether it is present is no part of that.
type RunnerIdentity struct {
	Name    string
	Labels  []string
	Secret  ledger.Hash // the SHA-256 of the invitation's secret
	Key     string      // the SHA-256 of its public key, in hexadecimal digits; "" before it has joined
	Invited time.Time
	Expires time.Time // the invitation; a runner that has joined does not
	Joined  time.Time // zero before that
	Event   uint64    // the sequence of the event by which it has joined; 0 before that
	Drained time.Time // since when it takes nothing new; zero if it does
	DrainBy time.Time // when its sessions are ended, if it is drained
}

// Runners is the fold of the events on runners: one subject of the ledger, in the manner of [Tokens]. A name is given once among
// those that have joined or are invited. What is removed is forgotten at once, an invitation that has expired when the next event
// comes; the events stay.
type Runners struct {
	work.Chain
	All []RunnerIdentity // in the order of inviting
}

// The types of events on runners.
const (
	RunnerInvited = "RunnerInvited"
	RunnerJoined  = "RunnerJoined"
	RunnerDrained = "RunnerDrained"
	RunnerRemoved = "RunnerRemoved"
)

// RunnerEvent is the payload of all events on runners; each has some of it.
type RunnerEvent struct {
	Name    string       `json:"name"`
	Labels  []string     `json:"labels,omitempty"`        // invited
	Invited time.Time    `json:"invited_at,omitzero"`     // invited
	Expires time.Time    `json:"expires_at,omitzero"`     // invited: when the invitation does
	Secret  *ledger.Hash `json:"secret_sha256,omitempty"` // invited
	Key     *ledger.Hash `json:"key_sha256,omitempty"`    // joined
	At      time.Time    `json:"at,omitzero"`             // joined, drained
	By      time.Time    `json:"deadline,omitzero"`       // drained
	Back    bool         `json:"back,omitempty"`          // drained: it takes work again
}

// RunnerCommand is what can be asked for: Invite, Join, Drain or Remove.
type RunnerCommand interface {
	// Events returns the types of events that it can lead to.
	Events() []string
	decide(Runners) (work.Event, error)
}

// DecideRunners says which event a command leads to, or why it is refused, as [Decide] does for tokens.
func DecideRunners(r Runners, do RunnerCommand) (work.Event, error) { return do.decide(r) }

// CheckLabels refuses a list of labels that no runner can have.
func CheckLabels(all []string) error {
	if len(all) > MaxLabels {
		return ErrBadLabel
	}
	for i, l := range all {
		if CheckName(l) != nil || slices.Contains(all[:i], l) {
			return fmt.Errorf("%w, not %.40q", ErrBadLabel, safetext.Escape(l))
		}
	}
	return nil
}

// Invite has a runner of a name be let in, once, by who has a secret.
type Invite struct {
	Name   string
	Labels []string
	At     time.Time
	TTL    time.Duration
	Secret ledger.Hash // its SHA-256
	Actor  string
	Key    string
}

// Events implements [RunnerCommand].
func (Invite) Events() []string { return []string{RunnerInvited} }

func (c Invite) decide(r Runners) (work.Event, error) {
	live := r.At(c.At)
	if err := errors.Join(CheckName(c.Name), CheckLabels(c.Labels)); err != nil {
		return work.Event{}, err
	}
	switch {
	case c.TTL < MinTTL || c.TTL > MaxInvitationTTL:
		return work.Event{}, ErrBadInviteTTL
	case slices.ContainsFunc(live, func(o RunnerIdentity) bool { return o.Name == c.Name }):
		return work.Event{}, fmt.Errorf("%s: %w", c.Name, ErrRunnerTaken)
	case len(live) >= MaxRunners:
		return work.Event{}, ErrManyRunners
	}
	return work.Event{Type: RunnerInvited, Actor: c.Actor, Key: c.Key, Payload: RunnerEvent{
		Name: c.Name, Labels: c.Labels, Invited: c.At, Expires: c.At.Add(c.TTL), Secret: &c.Secret,
	}}, nil
}

// Join redeems an invitation with a key. The same key may do so again ([ErrJoined]): an answer can be lost.
type Join struct {
	Secret ledger.Hash // the SHA-256 of the invitation's secret
	With   string      // the hash of the key
	At     time.Time
}

// Events implements [RunnerCommand].
func (Join) Events() []string { return []string{RunnerJoined} }

func (c Join) decide(r Runners) (work.Event, error) {
	var key ledger.Hash
	if err := key.UnmarshalText([]byte(c.With)); err != nil {
		return work.Event{}, ErrBadRunnersKey
	}
	o, ok := r.Invitation(c.Secret)
	switch other, taken := r.ByKey(c.With); {
	case !ok || o.Key == "" && o.expired(c.At):
		return work.Event{}, ErrNoInvitation
	case taken && other.Name == o.Name:
		return work.Event{}, ErrJoined
	case o.Key != "":
		return work.Event{}, fmt.Errorf("%s: %w", o.Name, ErrRedeemed)
	case taken:
		return work.Event{}, fmt.Errorf("%s: %w", other.Name, ErrKeyTaken)
	}
	return work.Event{Type: RunnerJoined, Actor: work.RunnerPrefix + o.Name, Payload: RunnerEvent{Name: o.Name, Key: &key, At: c.At}}, nil
}

// Drain has a runner take nothing new, and its sessions end in time; or, with Back, take work again.
type Drain struct {
	Name  string
	At    time.Time
	Given time.Duration // for its sessions to end
	Back  bool
	Actor string
	Key   string
}

// Events implements [RunnerCommand].
func (Drain) Events() []string { return []string{RunnerDrained} }

func (c Drain) decide(r Runners) (work.Event, error) {
	o, ok := r.named(c.Name)
	switch {
	case !ok:
		return work.Event{}, noRunner(c.Name)
	case o.Key == "":
		return work.Event{}, fmt.Errorf("%s: %w", o.Name, ErrNotJoined)
	case c.Given < 0 || c.Given > MaxDrain:
		return work.Event{}, ErrBadDeadline
	}
	p := RunnerEvent{Name: o.Name, At: c.At, Back: c.Back}
	if !c.Back {
		p.By = c.At.Add(c.Given)
	}
	return work.Event{Type: RunnerDrained, Actor: c.Actor, Key: c.Key, Payload: p}, nil
}

// Remove ends a runner, or withdraws its invitation.
type Remove struct {
	Name  string
	Actor string
	Key   string
}

// Events implements [RunnerCommand].
func (Remove) Events() []string { return []string{RunnerRemoved} }

func (c Remove) decide(r Runners) (work.Event, error) {
	o, ok := r.named(c.Name)
	if !ok {
		return work.Event{}, noRunner(c.Name)
	}
	return work.Event{Type: RunnerRemoved, Actor: c.Actor, Key: c.Key, Payload: RunnerEvent{Name: o.Name}}, nil
}

func noRunner(name string) error {
	return fmt.Errorf("%s: %w", safetext.Escape(work.Cut(name, maxName)), ErrNoRunner)
}

// FoldRunners takes the next event on runners, as [Fold] does for tokens.
func FoldRunners(r Runners, seq uint64, e ledger.Event, stored []byte) (Runners, error) {
	tip, err := r.Tip.Next(e, stored)
	if err != nil {
		return r, err
	}
	next, err := EvolveRunners(r, seq, e)
	if err != nil {
		return r, err
	}
	next.Tip = tip
	return next, nil
}

// EvolveRunners returns the runners after an event, and changes nothing of what was given.
func EvolveRunners(r Runners, seq uint64, e ledger.Event) (Runners, error) {
	r.Reach(seq, e.Key)
	r.Subject = e.Subject
	if !slices.Contains(RunnerTypes(), e.Type) {
		return r, fmt.Errorf("event %d of %s is of the type %q, which this version does not know", e.ItemSeq, e.Subject, e.Type)
	}
	var p RunnerEvent
	if err := json.Unmarshal(e.Payload, &p); err != nil {
		return r, fmt.Errorf("the payload of %s, event %d of %s: %w", e.Type, e.ItemSeq, e.Subject, err)
	}
	r.All = slices.Clone(r.All)
	at := slices.IndexFunc(r.All, func(o RunnerIdentity) bool { return o.Name == p.Name })
	switch {
	case e.Type == RunnerInvited && p.Secret != nil:
		r.All = append(slices.DeleteFunc(r.At(p.Invited), func(o RunnerIdentity) bool { return o.Name == p.Name }),
			RunnerIdentity{Name: p.Name, Labels: p.Labels, Secret: *p.Secret, Invited: p.Invited, Expires: p.Expires})
	case at < 0: // what is none is not changed
	case e.Type == RunnerJoined && p.Key != nil:
		r.All[at].Key, r.All[at].Joined, r.All[at].Event = p.Key.String(), p.At, seq
	case e.Type == RunnerDrained && p.Back:
		r.All[at].Drained, r.All[at].DrainBy = time.Time{}, time.Time{}
	case e.Type == RunnerDrained:
		r.All[at].Drained, r.All[at].DrainBy = p.At, p.By
	case e.Type == RunnerRemoved:
		r.All = slices.Delete(r.All, at, at+1)
	}
	return r, nil
}

// RunnerTypes lists every type of event on runners.
func RunnerTypes() []string {
	return []string{RunnerInvited, RunnerJoined, RunnerDrained, RunnerRemoved}
}

// At returns the runners that have joined, and those whose invitation is good at a time, as a list of the caller's own.
func (r Runners) At(now time.Time) []RunnerIdentity {
	return slices.DeleteFunc(slices.Clone(r.All), func(o RunnerIdentity) bool { return o.expired(now) })
}

func (o RunnerIdentity) expired(now time.Time) bool { return o.Key == "" && !now.Before(o.Expires) }

func (r Runners) named(name string) (RunnerIdentity, bool) {
	for _, o := range r.All {
		if o.Name == name {
			return o, true
		}
	}
	return RunnerIdentity{}, false
}

// ByKey returns the runner that has joined with a key. How long it takes says nothing about keys.
func (r Runners) ByKey(hash string) (found RunnerIdentity, ok bool) {
	for _, o := range r.All {
		if o.Key != "" && subtle.ConstantTimeCompare([]byte(o.Key), []byte(hash)) == 1 {
			found, ok = o, true
		}
	}
	return found, ok
}

// Invitation returns the runner whose invitation has this SHA-256, also if it was redeemed or has expired. How long it takes says nothing
// about secrets.
func (r Runners) Invitation(secret ledger.Hash) (found RunnerIdentity, ok bool) {
	for _, o := range r.All {
		if subtle.ConstantTimeCompare(o.Secret[:], secret[:]) == 1 {
			found, ok = o, true
		}
	}
	return found, ok
}

// runnerSentence says what an event on runners is.
func runnerSentence(e ledger.Event) string {
	var p RunnerEvent
	if err := json.Unmarshal(e.Payload, &p); err != nil {
		return e.Type + " that can't be read"
	}
	what := "runner " + p.Name
	switch {
	case e.Type == RunnerInvited:
		what += " invited"
		if len(p.Labels) > 0 {
			what += ", labels " + strings.Join(p.Labels, " ")
		}
		what += ", until " + p.Expires.UTC().Format(time.RFC3339)
	case e.Type == RunnerJoined && p.Key != nil:
		what += " joined with the key " + p.Key.String()
	case e.Type == RunnerDrained && p.Back:
		what += " takes work again"
	case e.Type == RunnerDrained:
		what += " drained: its sessions end by " + p.By.UTC().Format(time.RFC3339)
	case e.Type == RunnerRemoved:
		what += " removed"
	}
	return safetext.Escape(what)
}
