package box

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// DefaultTTL is how long a lease lasts that is not renewed.
const DefaultTTL = 10 * time.Minute

// What a box answers besides the refusals of package work.
var (
	ErrNothing        = errors.New("there is nothing to claim")
	ErrStopping       = errors.New("the box is stopping: ask again with the same key")
	ErrOutcomeUnknown = errors.New("nobody knows yet whether it was recorded: ask again with the same key")
)

var (
	errOfRun        = errors.New("an id of R and a number is a run's, and with a point after it a task's: give it another name")
	errSecretID     = errors.New("the id looks like a secret: give it another name")
	errSecretBranch = errors.New("the branch's name looks like a secret, which is not stored: rename the branch")
	errOperators    = fmt.Errorf("the actors %s, %sNAME and %sNAME are the operator, their clients and runners: claim work under another name", work.OperatorActor, work.ClientPrefix, work.RunnerPrefix)
	errTooMany      = fmt.Errorf("%d claims wait already: try again later", maxWaiting)
)

// ofRun matches the ids of runs and of their tasks (see itemID). Nobody else gets one: the run could not add its task, and
// its questions would be another's.
var ofRun = regexp.MustCompile(`^R[0-9]+(\.|$)`)

// maxWaiting is how many claims may wait.
const maxWaiting = 10_000

// Add adds a work item.
func (b *Box) Add(ctx context.Context, actor string, a api.AddWork, key string) (api.Work, error) {
	key = orNewKey(key)
	unlock, err := b.lock(ctx, keyOfKind{addItem, key})
	if err != nil {
		return api.Work{}, err
	}
	defer unlock()
	subject, err := b.state.addedBy(addItem, key)
	if err != nil {
		return api.Work{}, err
	}
	if subject != "" {
		i := b.state.item(subject)
		if a.ID != "" && a.ID != i.ID {
			return api.Work{}, errKeyReused
		}
		return b.show(i), nil
	}
	if a.Phase == "" {
		a.Phase = agentsig.PhaseDraft
	}
	if b.redact.Text(a.ID) != a.ID {
		return api.Work{}, errSecretID
	}
	if b.redact.Text(a.Branch) != a.Branch {
		return api.Work{}, BadRequest{errSecretBranch}
	}
	if ofRun.MatchString(a.ID) {
		return api.Work{}, BadRequest{errOfRun}
	}
	i, err := b.add(work.Add{ID: a.ID, Title: b.redact.Text(a.Title), Asked: b.redact.Text(a.Asked), Branch: a.Branch, Phase: a.Phase, Actor: actor, Key: key})
	return b.show(i), err
}

// add records a new item, with a name of its own if it is given none.
func (b *Box) add(a work.Add) (work.Item, error) {
	subject := b.newSubject()
	id, err := b.state.reserve(a.ID, subject, itemName)
	if err != nil {
		return work.Item{}, err
	}
	defer b.state.unreserve(id, subject)
	a.ID = id
	r, err := b.record(subject, a.Key, a)
	return r.after, err
}

// newSubject makes a subject for the ledger, greater than all before, whatever the clock says: lists,
// their pages and the index have the order of subjects, which so is the order of adding.
func (b *Box) newSubject() string {
	b.state.mu.Lock()
	defer b.state.mu.Unlock()
	b.state.lastSubject = subjectAfter(b.state.lastSubject, b.now())
	return b.state.lastSubject
}

// subjectAfter makes a subject with the time, or the one next to the last if the clock is behind it.
func subjectAfter(last string, now time.Time) string {
	made := ulid.MustNew(uint64(max(0, now.UnixMilli())), rand.Reader) // a clock may be set before 1970
	next, err := ulid.ParseStrict(last)
	if err != nil || made.Compare(next) > 0 { // there is none yet
		return made.String()
	}
	for i := len(next) - 1; i >= 0; i-- {
		if next[i]++; next[i] != 0 {
			break
		}
	}
	return next.String()
}

// Work returns a work item.
func (b *Box) Work(id string) (api.Work, error) {
	i, err := b.state.named(id, toLook)
	w := b.show(i)
	if err == nil {
		w.Handoff, err = b.handoff(i)
	}
	return w, err
}

func (b *Box) show(i work.Item) api.Work {
	w := api.Work{
		ID: i.ID, Title: i.Title, Phase: i.Phase, BlockedFrom: i.BlockedFrom,
		Subject: i.Subject, Events: i.Tip.ItemSeq, Sequence: i.Seq, Branch: i.Branch, Commit: i.Commit, BoxChecks: b.checks && i.ToCheck(),
	}
	if l := i.Lease; l != nil {
		w.Holder = &api.Holder{Session: i.Session(), Actor: l.Actor, Role: l.Role, ExpiresAt: b.state.expiry(i.Subject)}
	}
	w.Waits, w.Answers, w.NoChange = ShowWait(i), replies(i), i.NoChange
	return w
}

// Claim gives an agent something to work on. If the caller is gone when the lease
// is granted, it is given back.
func (b *Box) Claim(ctx context.Context, q api.Claim, key string) (api.Grant, error) {
	key = orNewKey(key)
	unlock, err := b.lock(ctx, keyOfKind{claimItem, key})
	if err != nil {
		return api.Grant{}, err
	}
	defer unlock()
	if i, ok := b.state.granted(key); ok {
		return b.handOver(i)
	}
	if actor := strings.ToLower(q.Actor); work.ByOperator(actor) || strings.HasPrefix(actor, work.RunnerPrefix) { // nor one that reads like them
		return api.Grant{}, BadRequest{errOperators}
	}
	if q.TTLMS < 0 || q.TTLMS > work.MaxTTL.Milliseconds() {
		return api.Grant{}, work.ErrBadTTL
	}
	c := work.Grant{Epoch: b.epoch, Phase: q.Phase, Actor: b.redact.Text(q.Actor), Role: q.Role, TTL: time.Duration(q.TTLMS) * time.Millisecond, Key: key}
	if c.TTL == 0 {
		c.TTL = DefaultTTL
	}
	w := wish{phase: q.Phase, role: q.Role}
	if q.Work != "" {
		i, err := b.state.named(q.Work, toChange)
		if err != nil {
			return api.Grant{}, err
		}
		w.subject = i.Subject
	}
	if err := b.checkClaim(w, c, q.Wait); err != nil {
		return api.Grant{}, err
	}
	for {
		subject, err := b.pick(ctx, w, q.Wait)
		if err != nil {
			return api.Grant{}, err
		}
		r, err := b.record(subject, key, c)
		switch {
		case err == nil && ctx.Err() != nil:
			_, err = b.record(subject, "", work.Release{Token: r.after.Lease.Token})
			return api.Grant{}, errors.Join(ctx.Err(), err)
		case err == nil:
			return b.handOver(r.after)
		}
		b.state.giveBack(subject)
		if !lostRace(err) || w.subject != "" && !q.Wait {
			return api.Grant{}, err
		}
	}
}

// checkClaim refuses what can't be granted whatever is ready, so that nobody
// waits for it: a bad request, or an item that is not claimable now, if the claim does not wait.
func (b *Box) checkClaim(w wish, c work.Grant, wait bool) error {
	item := work.Item{ID: "any", Phase: agentsig.PhaseDraft}
	plain := c
	plain.Role, plain.Phase = "", ""
	if _, err := work.Decide(item, plain); err != nil {
		return err
	}
	switch {
	case w.role != "" && !slices.Contains(agentsig.Roles(), w.role):
		return work.ErrBadRole
	case w.phase != "" && !slices.Contains(agentsig.Phases(), w.phase):
		return work.ErrBadPhase
	case w.phase == agentsig.PhaseCompleted:
		return work.ErrCompleted
	case w.phase == agentsig.PhaseBlocked:
		return work.ErrBlocked
	case w.phase != "" && !work.MayHold(w.role, w.phase):
		return &work.RoleError{Role: w.role, Phase: w.phase}
	}
	if w.subject == "" || wait {
		return nil
	}
	_, err := work.Decide(b.state.item(w.subject), c)
	return err
}

// pick returns an item to try, which nobody else is offered meanwhile.
func (b *Box) pick(ctx context.Context, w wish, wait bool) (string, error) {
	subject, line, err := b.state.pick(w, wait)
	switch {
	case err != nil:
		return "", err
	case subject != "":
		return subject, nil
	case w.subject != "" && !wait:
		return w.subject, nil // whether it can be had, the grant tells
	case line == nil:
		return "", ErrNothing
	}
	// From here on the item's completion ends the wait; what came before shows in the item.
	if w.subject != "" && b.state.item(w.subject).Phase == agentsig.PhaseCompleted {
		b.state.leave(line)
		return "", work.ErrCompleted
	}
	select {
	case subject, ok := <-line.offer:
		if !ok {
			return "", work.ErrCompleted
		}
		return subject, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-b.stopped:
		err = ErrStopping
	}
	b.state.leave(line)
	return "", err
}

// lostRace reports whether the item was taken or moved on between the offer and
// the grant.
func lostRace(err error) bool {
	var held *work.HeldError
	var role *work.RoleError
	var phase *work.PhaseError
	return errors.As(err, &held) || errors.As(err, &role) || errors.As(err, &phase) || errors.Is(err, work.ErrCompleted) || errors.Is(err, work.ErrBlocked)
}

func (b *Box) grant(i work.Item) api.Grant {
	g := api.Grant{
		Session: i.Session(), Work: i.ID, Title: i.Title, Phase: i.Phase, Token: i.Lease.Token, ExpiresAt: b.state.expiry(i.Subject),
		Waits: ShowWait(i), Answers: replies(i), NoChange: i.NoChange, Branch: i.Branch, Commit: i.Commit,
	}
	if i.Format {
		g.Format = work.UnknownContext + "\n\n" + b.instructions(i)
	}
	return g
}

// Renew starts the term of a session's lease anew. It is no event.
func (b *Box) Renew(session string) (api.Grant, error) {
	item, token, err := b.session(session)
	if err != nil {
		return api.Grant{}, err
	}
	item, err = b.state.renew(item.Subject, token)
	if err != nil {
		return api.Grant{}, err
	}
	return b.grant(item), nil
}

// Release gives a session's item back.
func (b *Box) Release(session, key string) (api.Recorded, error) {
	item, token, err := b.session(session)
	if err != nil {
		return api.Recorded{}, err
	}
	key = orNewKey(key)
	return b.answer(b.record(item.Subject, key, work.Release{Token: token, Key: key}))
}

// Report takes the gate's word.
func (b *Box) Report(id string, r api.Report, key string) (api.Recorded, error) {
	item, err := b.state.named(id, toChange)
	if err != nil {
		return api.Recorded{}, err
	}
	if r.Result != "pass" && r.Result != "fail" {
		return api.Recorded{}, errBadResult
	}
	key = orNewKey(key)
	return b.answer(b.record(item.Subject, key, work.Report{Commit: r.Commit, Passed: r.Result == "pass", Key: key}))
}

var errBadResult = errors.New("a result is pass or fail")

// Override sets an item's phase, as the operator or a client of theirs.
func (b *Box) Override(actor, id string, o api.Override, key string) (api.Recorded, error) {
	item, err := b.state.named(id, toChange)
	if err != nil {
		return api.Recorded{}, err
	}
	key = orNewKey(key)
	return b.answer(b.record(item.Subject, key, work.Override{Actor: actor, Phase: o.Phase, Reason: b.redact.Text(o.Reason), Key: key}))
}

func (b *Box) answer(r recorded[work.Item], err error) (api.Recorded, error) {
	if err != nil {
		return api.Recorded{}, err
	}
	phase, err := phaseAfter(r.event)
	return api.Recorded{Event: r.event.Type, Work: r.after.ID, Phase: phase, Sequence: r.seq}, err
}

// phaseAfter returns the phase that an event left its item in. The item itself may
// have moved on since.
func phaseAfter(e ledger.Event) (agentsig.Phase, error) {
	var p struct {
		Phase     agentsig.Phase `json:"phase"`      // which stays
		NextPhase agentsig.Phase `json:"next_phase"` // otherwise
	}
	err := json.Unmarshal(e.Payload, &p)
	return cmp.Or(p.NextPhase, p.Phase), err
}

// CheckSession returns an error unless there is, or was, a session of this name.
func (b *Box) CheckSession(session string) error {
	_, _, err := b.session(session)
	return err
}

// session returns the item that a session is about, and its token.
func (b *Box) session(session string) (work.Item, work.Token, error) {
	subject, token, err := work.ParseSession(session)
	if err != nil {
		return work.Item{}, token, err
	}
	item := b.state.item(subject)
	if !item.Exists() || token.Epoch != b.epoch || token.Counter > item.Granted || token.Counter == 0 {
		return work.Item{}, token, work.ErrNoSession
	}
	return item, token, nil
}

// expire takes a lease away whose term is over. It goes on until that is
// recorded, the lease has ended otherwise, or the box yields or stops: if it leads
// again, the lease has another term.
func (b *Box) expire(subject string, token work.Token) {
	for b.state.ranOut(subject, token) {
		_, err := b.record(subject, "", work.Expire{Token: token})
		switch {
		case err == nil, errors.Is(err, work.ErrNotHolder), errors.Is(err, work.ErrSessionOver), errors.Is(err, ErrStopping), b.group.Context().Err() != nil:
			return
		}
		b.logger.Warn("a lease can't be taken away yet", "subject", subject, "token", token.String(), "error", err)
		select {
		case <-time.After(expirePause):
		case <-b.group.Context().Done():
		}
	}
}

const expirePause = 100 * time.Millisecond

func orNewKey(key string) string {
	if key == "" {
		return api.NewKey()
	}
	return key
}
