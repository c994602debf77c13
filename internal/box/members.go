package box

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/ledger"
)

// members is the subject of the events on the boxes of a cluster, which is like that of tokens.
const members = "members"

var ofMembers = rules[access.Members, access.MemberCommand]{
	look: func(s *state, _ string) access.Members { return s.cluster() }, decide: access.DecideMembers, fold: access.FoldMembers,
}

// cluster returns the boxes of the cluster.
func (s *state) cluster() access.Members {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.members
}

// foldMembers takes an event on members. The caller holds the lock.
func (s *state) foldMembers(seq uint64, e ledger.Event, stored []byte) error {
	after, err := access.FoldMembers(s.members, seq, e, stored)
	if err == nil {
		s.members = after
	}
	return err
}

// Members returns the boxes of the cluster, by the ledger; none of a box that was always alone.
func (b *Box) Members() access.Members { return b.state.cluster() }

// InviteMember has a box be let in, once, by who has the secret: it is in the answer, and nowhere else.
func (b *Box) InviteMember(actor string, q api.NewMember, key string) (invited access.Place, secret string, err error) {
	if b.shared == nil {
		return invited, "", access.ErrNoCluster
	}
	if q.TTLMS < 0 || q.TTLMS > access.MaxInvitationTTL.Milliseconds() {
		return invited, "", access.ErrBadInviteTTL
	}
	var bits [32]byte
	_, _ = rand.Read(bits[:]) // it never fails
	secret = access.InvitationSecret(bits)
	c := access.InviteMember{
		Name: q.Name, Replaces: q.Replaces, At: b.stampNow(), TTL: cmp.Or(time.Duration(q.TTLMS)*time.Millisecond, access.InvitationTTL),
		Secret: access.Sum(secret), Actor: actor, Key: orNewKey(key),
	}
	r, err := ofMembers.record(b, members, c.Key, c)
	if err != nil {
		return invited, "", err
	}
	for _, p := range r.after.Places {
		if p.Secret == c.Secret {
			return p, secret, nil
		}
	}
	return invited, "", errMemberInvitedOnce
}

var errMemberInvitedOnce = fmt.Errorf("this request has invited a box, and how to join was told once: withdraw the invitation (`signalbox cluster leave NAME`), and make another with a new %s", api.KeyHeader)

// JoinMember makes a member of who has an invitation's secret and the key of this hash, which its holder has proven to have. Who does so again with that key
// is answered the same.
func (b *Box) JoinMember(secret, key string, addresses []string) (access.Member, error) {
	return b.takeIn(key, access.JoinCluster{Secret: access.Sum(secret), With: key, Addresses: addresses, At: b.stampNow()})
}

// RejoinMember gives the member that has the key of a hash a new id, and a new key.
func (b *Box) RejoinMember(old, key string, addresses []string) (access.Member, error) {
	return b.takeIn(key, access.RejoinCluster{Old: old, With: key, Addresses: addresses, At: b.stampNow()})
}

func (b *Box) takeIn(key string, c access.MemberCommand) (access.Member, error) {
	if b.shared == nil {
		return access.Member{}, access.ErrNoCluster
	}
	if _, err := ofMembers.record(b, members, "", c); err != nil && !errors.Is(err, access.ErrMember) {
		return access.Member{}, err
	}
	one, ok := b.Members().ByKey(key)
	if !ok {
		return one, access.ErrNoPlaceThere // it was removed since
	}
	return one, nil
}

// LeaveCluster withdraws the invitation of a name, or takes the box out of the cluster that has it. It says which.
func (b *Box) LeaveCluster(actor, name, key string) (withdrawn bool, err error) {
	if b.shared == nil {
		return false, access.ErrNoCluster
	}
	c := access.LeaveCluster{Name: name, At: b.stampNow(), Actor: actor, Key: orNewKey(key)}
	r, err := ofMembers.record(b, members, c.Key, c)
	return err == nil && access.Withdrawn(r.event), err
}

// RaiseLevel raises the ledger's level: who calls it knows that the programs of all boxes know it.
func (b *Box) RaiseLevel(to int) error {
	_, err := ofMembers.record(b, members, "", access.RaiseLevel{To: to})
	if errors.Is(err, access.ErrBadLevel) { // somebody else has
		return nil
	}
	return err
}

// ProveJoined returns the proof that the member with an id has joined, for one whose ledger does not say so yet.
func (b *Box) ProveJoined(id uint64) (ledger.Proof, error) {
	one, ok := b.Members().ByID(id)
	if !ok {
		return ledger.Proof{}, access.ErrNoMember
	}
	return b.Prove(one.Seq)
}

// Joined returns the box that has joined by a proof's event, if the proof holds.
func (b *Box) Joined(p ledger.Proof) (access.Member, error) {
	e, _, err := p.Verify(b.keys.Verifier)
	if err != nil {
		return access.Member{}, err
	}
	one, ok := access.JoinedBy(e)
	if !ok {
		return one, access.ErrNoMember
	}
	return one, nil
}

// Secrets are what the boxes of a cluster have in common: whoever has them is the box.
func (b *Box) Secrets() api.MemberSecrets {
	return api.MemberSecrets{Signer: b.keys.Signer, Token: b.apiToken, Gate: b.gateToken}
}
