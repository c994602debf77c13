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

// runners is the subject of the events on runners, which is like that of tokens.
const runners = "runners"

var ofRunners = rules[access.Runners, access.RunnerCommand]{
	look: func(s *state, _ string) access.Runners { return s.enrolled() }, decide: access.DecideRunners, fold: access.FoldRunners,
}

// enrolled returns the runners that are invited or have joined.
func (s *state) enrolled() access.Runners {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runners
}

// foldRunners takes an event on runners. The caller holds the lock.
func (s *state) foldRunners(seq uint64, e ledger.Event, stored []byte) error {
	after, err := access.FoldRunners(s.runners, seq, e, stored)
	if err == nil {
		s.runners = after
	}
	return err
}

// WhenRunnersChange has f called when something on runners was recorded, and is durable and folded. Until it returns nothing more is, so
// it records nothing itself.
func (b *Box) WhenRunnersChange(f func()) { b.runnersChanged.Store(&f) }

func (b *Box) tellRunnersChanged(e ledger.Event) {
	if f := b.runnersChanged.Load(); f != nil && e.Subject == runners {
		(*f)()
	}
}

// InviteRunner has a runner be let in once, by who has the secret. It is in the answer, and nowhere else: who asks again with the same
// key is told that there is an invitation.
func (b *Box) InviteRunner(actor string, q api.NewRunner, key string) (invited access.RunnerIdentity, secret string, err error) {
	if q.TTLMS < 0 || q.TTLMS > access.MaxInvitationTTL.Milliseconds() {
		return invited, "", access.ErrBadInviteTTL
	}
	var bits [32]byte
	_, _ = rand.Read(bits[:]) // it never fails
	secret = access.InvitationSecret(bits)
	c := access.Invite{
		Name: q.Name, Labels: q.Labels, At: b.stampNow(), TTL: cmp.Or(time.Duration(q.TTLMS)*time.Millisecond, access.InvitationTTL),
		Secret: access.Sum(secret), Actor: actor, Key: orNewKey(key),
	}
	r, err := ofRunners.record(b, runners, c.Key, c)
	if err != nil {
		return invited, "", err
	}
	invited, ok := r.after.Invitation(c.Secret)
	if !ok {
		return invited, "", errInvitedOnce
	}
	return invited, secret, nil
}

var errInvitedOnce = fmt.Errorf("this request has invited a runner, and how to join was told once: remove the runner, and invite it again with a new %s", api.KeyHeader)

// stampNow is now, as events have it.
func (b *Box) stampNow() time.Time { return b.now().UTC().Truncate(time.Millisecond) }

// JoinRunner redeems an invitation with the key of this hash, which its holder has proven to have. Who does so again with that key is
// answered the same.
func (b *Box) JoinRunner(secret, key string) (access.RunnerIdentity, error) {
	c := access.Join{Secret: access.Sum(secret), With: key, At: b.stampNow()}
	if _, err := ofRunners.record(b, runners, "", c); err != nil && !errors.Is(err, access.ErrJoined) {
		return access.RunnerIdentity{}, err
	}
	o, ok := b.RunnerByKey(key)
	if !ok {
		return o, access.ErrNoInvitation // it was removed since
	}
	return o, nil
}

// RunnerByKey returns the runner that has joined with the key of this hash, and was not removed.
func (b *Box) RunnerByKey(key string) (access.RunnerIdentity, bool) {
	return b.state.enrolled().ByKey(key)
}

// RunnerIdentities returns the runners that have joined or can still join, in the order of inviting.
func (b *Box) RunnerIdentities() []access.RunnerIdentity { return b.state.enrolled().At(b.now()) }

// DrainRunner has a runner take nothing new, and its sessions end within the deadline; or, if it is said, take work again.
func (b *Box) DrainRunner(actor, name string, q api.DrainRunner, key string) (access.RunnerIdentity, error) {
	if q.DeadlineMS < 0 || q.DeadlineMS > access.MaxDrain.Milliseconds() {
		return access.RunnerIdentity{}, access.ErrBadDeadline
	}
	c := access.Drain{Name: name, At: b.stampNow(), Given: time.Duration(q.DeadlineMS) * time.Millisecond, Back: q.Back, Actor: actor, Key: orNewKey(key)}
	r, err := ofRunners.record(b, runners, c.Key, c)
	if err != nil {
		return access.RunnerIdentity{}, err
	}
	return oneRunner(r.after, name)
}

// RemoveRunner ends a runner, or withdraws its invitation. From then on its key is nobody's. It returns what there was.
func (b *Box) RemoveRunner(actor, name, key string) (access.RunnerIdentity, error) {
	before := b.state.enrolled()
	c := access.Remove{Name: name, Actor: actor, Key: orNewKey(key)}
	if _, err := ofRunners.record(b, runners, c.Key, c); err != nil {
		return access.RunnerIdentity{}, err
	}
	if o, err := oneRunner(before, name); err == nil {
		return o, nil
	}
	return access.RunnerIdentity{Name: name}, nil // it was asked for before
}

func oneRunner(all access.Runners, name string) (access.RunnerIdentity, error) {
	for _, o := range all.All {
		if o.Name == name {
			return o, nil
		}
	}
	return access.RunnerIdentity{}, access.ErrNoRunner
}
