// Package access is who may ask what of a box: principals, the scopes that clients have, and the tokens that clients are
// known by. It is pure, in the manner of package work: [Decide] takes the tokens that there are and a command and gives the
// event to record, [Evolve] takes them and an event and gives those after it. Time comes in as a value.
//
// All tokens are one subject of the ledger: a name is given once among them, and there are never more than [MaxTokens].
// What is revoked is forgotten at once, and what has expired when the next one is made; the events stay.
package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
	"github.com/signalbox-dev/signalbox/safetext"
)

// MaxTokens is how many tokens there may be at a time that are neither revoked nor expired.
const MaxTokens = 1000

// How long a token may last, if it ends.
const (
	MinTTL = time.Second
	MaxTTL = 10 * 366 * 24 * time.Hour
)

// Why a command on tokens, or a token, is refused.
var (
	ErrTaken   = errors.New("there is a token for a client of this name: revoke it first (`signalbox token revoke`), or take another name")
	ErrMany    = fmt.Errorf("there are %d tokens, and no more than that: revoke one that nobody needs (`signalbox token list`)", MaxTokens)
	ErrBadTTL  = fmt.Errorf("a token lasts from %v to ten years, or for ever if no time is given", MinTTL)
	ErrNoToken = errors.New("there is no such token: `signalbox token list` has those that there are")
	ErrExpired = errors.New("the token has expired: have the box's owner make another one (`signalbox token create`)")
	ErrUnknown = errors.New("the token is none of this box's: it may be another box's, or it was revoked; have the box's owner make another one (`signalbox token create`)")
)

// Tokens is the fold of the events on tokens.
type Tokens struct {
	work.Chain
	Made int     // how many there ever were
	All  []Token // those that are neither revoked nor forgotten, in the order of making
}

// Command is what can be asked for: Create or Revoke.
type Command interface {
	// Events returns the types of events that it can lead to.
	Events() []string
	decide(Tokens) (work.Event, error)
}

// Decide says which event a command leads to, or why it is refused. The event holds only as long as nothing else happens
// to the tokens.
func Decide(t Tokens, do Command) (work.Event, error) { return do.decide(t) }

// Create makes a token.
type Create struct {
	Name   string
	Scopes []Scope
	At     time.Time
	TTL    time.Duration // for ever if it is 0
	SHA256 ledger.Hash   // of the token
	Key    string
}

// Events implements [Command].
func (Create) Events() []string { return []string{TokenCreated} }

func (c Create) decide(t Tokens) (work.Event, error) {
	live := t.At(c.At)
	if err := errors.Join(CheckName(c.Name), CheckScopes(c.Scopes)); err != nil {
		return work.Event{}, err
	}
	switch {
	case c.TTL != 0 && (c.TTL < MinTTL || c.TTL > MaxTTL):
		return work.Event{}, ErrBadTTL
	case slices.ContainsFunc(live, func(o Token) bool { return o.Name == c.Name }):
		return work.Event{}, fmt.Errorf("%s: %w", c.Name, ErrTaken)
	case len(live) >= MaxTokens:
		return work.Event{}, ErrMany
	}
	made := Token{ID: fmt.Sprintf("K-%05d", t.Made+1), Name: c.Name, Scopes: c.Scopes, Created: c.At, SHA256: c.SHA256}
	if c.TTL != 0 {
		made.Expires = c.At.Add(c.TTL)
	}
	return work.Event{Type: TokenCreated, Actor: work.OperatorActor, Key: c.Key, Payload: made}, nil
}

// Revoke ends a token, of this id or of the client with this name.
type Revoke struct {
	Which string
	Key   string
}

// Events implements [Command].
func (Revoke) Events() []string { return []string{TokenRevoked} }

func (c Revoke) decide(t Tokens) (work.Event, error) {
	// The latest of a name is the one that may be live. No id is a name: those have no capital letters.
	for _, o := range slices.Backward(t.All) {
		if c.Which == o.ID || c.Which == o.Name {
			return work.Event{Type: TokenRevoked, Actor: work.OperatorActor, Key: c.Key, Payload: Revoked{o.ID, o.Name}}, nil
		}
	}
	return work.Event{}, fmt.Errorf("%s: %w", safetext.Escape(work.Cut(c.Which, maxName)), ErrNoToken)
}

// Fold takes the next event on tokens, decoded from stored, which has the ledger's sequence seq. It refuses one that does
// not continue their chain, or that [Evolve] does not know.
func Fold(t Tokens, seq uint64, e ledger.Event, stored []byte) (Tokens, error) {
	tip, err := t.Tip.Next(e, stored)
	if err != nil {
		return t, err
	}
	next, err := Evolve(t, seq, e)
	if err != nil {
		return t, err
	}
	next.Tip = tip
	return next, nil
}

// Evolve returns the tokens after an event. It checks nothing that [Decide] has decided: an event is a fact. What was given
// is not changed.
func Evolve(t Tokens, seq uint64, e ledger.Event) (Tokens, error) {
	t.Reach(seq, e.Key)
	t.Subject = e.Subject
	var err error
	switch e.Type {
	case TokenCreated:
		var p Token
		err = json.Unmarshal(e.Payload, &p)
		t.Made++
		t.All = append(t.At(p.Created), p)
	case TokenRevoked:
		var p Revoked
		err = json.Unmarshal(e.Payload, &p)
		t.All = slices.DeleteFunc(slices.Clone(t.All), func(o Token) bool { return o.ID == p.ID })
	default:
		return t, fmt.Errorf("event %d of %s is of the type %q, which this version does not know", e.ItemSeq, e.Subject, e.Type)
	}
	if err != nil {
		return t, fmt.Errorf("the payload of %s, event %d of %s: %w", e.Type, e.ItemSeq, e.Subject, err)
	}
	return t, nil
}

// At returns the tokens that are good at a time, as a list of the caller's own.
func (t Tokens) At(now time.Time) []Token {
	return slices.DeleteFunc(slices.Clone(t.All), func(o Token) bool { return o.expired(now) })
}

func (t Token) expired(now time.Time) bool { return !t.Expires.IsZero() && !now.Before(t.Expires) }

// Find returns the token that a secret is, at a time. How long it takes says nothing about the tokens.
func (t Tokens) Find(secret string, now time.Time) (Token, error) {
	sum, at := Sum(secret), -1
	for i := range t.All {
		if subtle.ConstantTimeCompare(sum[:], t.All[i].SHA256[:]) == 1 {
			at = i
		}
	}
	switch {
	case at < 0:
		return Token{}, ErrUnknown
	case t.All[at].expired(now):
		return Token{}, fmt.Errorf("%s: %w", t.All[at].Name, ErrExpired)
	}
	return t.All[at], nil
}

// Secret makes a token of 256 random bits. Its beginning is for people and programs that look for secrets in text.
func Secret(bits [32]byte) string { return SecretPrefix + hex.EncodeToString(bits[:]) }

// SecretPrefix begins every token of a client, and SecretPattern matches one.
const (
	SecretPrefix  = "sbt_"
	SecretPattern = SecretPrefix + "[0-9a-f]{64}"
)

// Sum is what the ledger keeps of a token.
func Sum(secret string) ledger.Hash { return sha256.Sum256([]byte(secret)) }

// Principal is who has the token.
func (t Token) Principal() Principal {
	return Principal{Kind: Client, Name: t.Name, Scopes: slices.Clone(t.Scopes)}
}
