package box

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// tokens is the subject of the events on clients' tokens. Like the housekeeping it is neither an item nor a run nor a
// conversation, and never leaves memory: what is over leaves the subject itself ([access.Tokens]).
const tokens = "tokens"

var ofTokens = rules[access.Tokens, access.Command]{
	look: func(s *state, _ string) access.Tokens { return s.given() }, decide: access.Decide, fold: access.Fold,
}

// given returns the tokens that clients have.
func (s *state) given() access.Tokens {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tokens
}

// foldTokens takes an event on tokens. The caller holds the lock.
func (s *state) foldTokens(seq uint64, e ledger.Event, stored []byte) error {
	after, err := access.Fold(s.tokens, seq, e, stored)
	if err != nil {
		return err
	}
	s.tokens = after
	used := map[string]time.Time{} // of those that are left
	for _, t := range after.All {
		if at, ok := s.used[t.ID]; ok {
			used[t.ID] = at
		}
	}
	s.used = used
	return nil
}

// CreateToken makes a token for a client. It is in the answer, and nowhere else: who asks again with the same key is told
// that there is one.
func (b *Box) CreateToken(q api.NewToken, key string) (api.CreatedToken, error) {
	if q.TTLMS < 0 || q.TTLMS > access.MaxTTL.Milliseconds() {
		return api.CreatedToken{}, access.ErrBadTTL
	}
	var bits [32]byte
	_, _ = rand.Read(bits[:]) // it never fails
	secret := access.Secret(bits)
	made := access.Create{
		Name: q.Name, Scopes: q.Scopes, At: b.now().UTC().Truncate(time.Millisecond), TTL: time.Duration(q.TTLMS) * time.Millisecond,
		SHA256: access.Sum(secret), Key: orNewKey(key),
	}
	r, err := ofTokens.record(b, tokens, made.Key, made)
	if err != nil {
		return api.CreatedToken{}, err
	}
	t, err := r.after.Find(secret, made.At)
	if err != nil {
		return api.CreatedToken{}, errShownOnce
	}
	return api.CreatedToken{ClientToken: b.showToken(t), Secret: secret}, nil
}

var errShownOnce = fmt.Errorf("this request has made a token, and what it is was told once: revoke it, and make another one with a new %s", api.KeyHeader)

// ListTokens returns the tokens that are neither revoked nor expired.
func (b *Box) ListTokens() []api.ClientToken {
	all := []api.ClientToken{}
	for _, t := range b.state.given().At(b.now()) {
		all = append(all, b.showToken(t))
	}
	return all
}

// RevokeToken ends a token, of this id or of the client with this name. From then on it is nobody's.
func (b *Box) RevokeToken(which, key string) (api.ClientToken, error) {
	key = orNewKey(key)
	before := b.state.given()
	r, err := ofTokens.record(b, tokens, key, access.Revoke{Which: which, Key: key})
	if err != nil {
		return api.ClientToken{}, err
	}
	revoked, err := access.RevokedBy(r.event)
	if err != nil {
		return api.ClientToken{}, err
	}
	for _, t := range before.All {
		if t.ID == revoked.ID {
			return b.showToken(t), nil
		}
	}
	return api.ClientToken{ID: revoked.ID, Name: revoked.Name}, nil // it was asked for before
}

func (b *Box) showToken(t access.Token) api.ClientToken {
	b.state.mu.Lock()
	defer b.state.mu.Unlock()
	shown := api.ClientToken{ID: t.ID, Name: t.Name, Scopes: t.Scopes, CreatedAt: t.Created, LastUsed: b.state.used[t.ID]}
	if !t.Expires.IsZero() {
		shown.ExpiresAt = &t.Expires
	}
	return shown
}

// Principal returns whose a secret is. A client's is noted as used.
func (b *Box) Principal(secret string) (access.Principal, error) {
	switch {
	case same(secret, b.apiToken):
		return access.Principal{Kind: access.Owner}, nil
	case same(secret, b.gateToken):
		return access.Principal{Kind: access.Gate}, nil
	}
	if p, isSession, err := access.SessionOf(b.sessionKey(), secret); isSession {
		return p, err
	}
	now := b.now().UTC().Truncate(time.Millisecond)
	t, err := b.state.given().Find(secret, now)
	if err != nil {
		return access.Principal{}, err
	}
	b.state.mu.Lock()
	defer b.state.mu.Unlock()
	b.state.used[t.ID] = now
	return t.Principal(), nil
}

// sessionKey is what the tokens of sessions are made of: as secret as the key that signs the ledger, and in every backup with it.
func (b *Box) sessionKey() [32]byte {
	return sha256.Sum256([]byte("signalbox session token\n" + b.keys.Signer))
}

// PageHost is the name that the box's page has, which no other box's has: the same whenever it is started, and a secret as the tokens are. A browser
// sends the page's cookie to every server of this machine that is asked for by this name.
func (b *Box) PageHost() string {
	sum := sha256.Sum256([]byte("signalbox page\n" + b.keys.Signer))
	return "sb-" + hex.EncodeToString(sum[:10]) + ".localhost"
}

// withToken returns what an event says, with the SHA-256 of the token of the session that it starts, if it starts one: so whoever has the
// ledger can tell whose a token is.
func (b *Box) withToken(e work.Event) any {
	sum := func() ledger.Hash { return access.Sum(access.SessionToken(b.sessionKey(), e.Session)) }
	switch p := e.Payload.(type) {
	case work.Granted:
		if p.Agent != "" && p.Agent != work.PersonAgent {
			p.TokenSHA256 = sum()
		}
		return p
	case delivery.Granted:
		p.TokenSHA256 = sum()
		return p
	}
	return e.Payload
}

// SessionToken returns the token of a session, by which its process asks the box.
func (l Ledger) SessionToken(session string) string {
	return access.SessionToken(l.box.sessionKey(), session)
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
