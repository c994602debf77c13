package box

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/conversation"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
	"github.com/signalbox-dev/signalbox/safetext"
)

// state is the fold over the archived events, and what is derived from it: names,
// what is claimable, who waits. Its methods lock it.
type state struct {
	mu            sync.Mutex
	folded        uint64                                // the sequence up to which it is the fold
	items         map[string]*work.Item                 // by subject
	conversations map[string]*conversation.Conversation // by subject
	ids           map[string]string                     // name -> subject, of items and conversations; also of those that are being added
	madeUp        map[string]int                        // the largest number in a name that was made up, by the name's form
	grants        map[string]string                     // key of a request -> subject that it holds
	runs          map[string]*delivery.Run              // by subject
	news          map[string]*news                      // of runs, by subject
	trails        map[string]*trail                     // by subject
	asking        map[string]bool                       // subjects of items that wait for a person, or somebody else who helps
	checking      map[string]bool                       // subjects of items that wait for checks that the box can run ([work.Item.ToCheck])
	added         map[keyOfKind]string                  // key of the request that added a subject -> the subject
	housekeeping  work.Chain                            // of the events about the archive itself
	tokens        access.Tokens                         // that clients have
	runners       access.Runners                        // that are invited or have joined
	members       access.Members                        // boxes of the cluster
	used          map[string]time.Time                  // when a token was last used, by its id; since the box started
	removed       map[ledger.Hash]uint64                // blobs that were removed -> the sequence of the last event that says so; older ones are in the index
	newestRun     string                                // the subject of the run that was started last
	lastSubject   string                                // the greatest that was ever made
	total         int                                   // items that were ever added
	leased        int                                   // items whose lease runs out
	over          int                                   // about how many subjects are over, and could leave
	left          int                                   // how often something left
	past          *past                                 // nil if nothing ever leaves
	queue         queue
	leases        leases

	now       func() time.Time // nil until the state is live
	expire    func(subject string, token work.Token)
	conductor Conductor // told when something happened to a run; nil if there is none, and while the past is being read
}

func newState() *state {
	return &state{
		items: map[string]*work.Item{}, conversations: map[string]*conversation.Conversation{},
		ids: map[string]string{}, madeUp: map[string]int{}, grants: map[string]string{},
		runs: map[string]*delivery.Run{}, news: map[string]*news{}, trails: map[string]*trail{}, asking: map[string]bool{}, checking: map[string]bool{}, used: map[string]time.Time{}, added: map[keyOfKind]string{}, removed: map[ledger.Hash]uint64{}, queue: newQueue(), leases: leases{},
	}
}

// fold takes the event of the next sequence, and returns it.
func (s *state) fold(seq uint64, stored []byte) (ledger.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if seq != s.folded+1 {
		return ledger.Event{}, fmt.Errorf("event %d comes after event %d", seq, s.folded)
	}
	e, err := s.take(seq, stored)
	if err != nil {
		return ledger.Event{}, fmt.Errorf("event %d: %w", seq, err)
	}
	s.folded = seq
	return e, nil
}

// take folds an event, and returns it. The caller holds the lock.
func (s *state) take(seq uint64, stored []byte) (ledger.Event, error) {
	e, err := ledger.Decode(stored)
	if err == nil {
		err = s.foldEvent(seq, e, stored)
	}
	return e, err
}

func (s *state) foldEvent(seq uint64, e ledger.Event, stored []byte) (err error) {
	if !knownTypes[e.Type] {
		return &NewerError{e.Type}
	}
	if e.Subject == housekeeping {
		return s.foldRemoved(seq, e, stored)
	}
	if e.Subject == tokens {
		return s.foldTokens(seq, e, stored)
	}
	if e.Subject == runners {
		return s.foldRunners(seq, e, stored)
	}
	if e.Subject == members {
		return s.foldMembers(seq, e, stored)
	}
	if e.ItemSeq > 1 && !s.has(e.Subject) {
		if err := s.recall(e.Subject, seq); err != nil {
			return err
		}
	}
	switch {
	case s.runs[e.Subject] != nil || e.Type == delivery.RunStarted:
		err = s.foldRun(seq, e, stored)
	case s.conversations[e.Subject] != nil || e.Type == conversation.TypeStarted:
		err = s.foldConversation(seq, e, stored)
	default:
		err = s.foldItem(seq, e, stored)
	}
	if err != nil {
		return err
	}
	return s.note(seq, e)
}

// note adds an event to the trail of its subject.
func (s *state) note(seq uint64, e ledger.Event) error {
	refs, err := blobsOf(e)
	if err != nil {
		return err
	}
	t := s.trails[e.Subject]
	if t == nil {
		t = &trail{}
		switch e.Type {
		case work.WorkAdded, conversation.TypeStarted:
			t.AddKey = e.Key
		case delivery.RunStarted:
			t.AddKey = s.runs[e.Subject].Key
			s.newestRun = e.Subject
		}
		s.follow(e.Subject, t)
		s.lastSubject = max(s.lastSubject, e.Subject)
	}
	t.Seqs = append(t.Seqs, seq)
	t.Requests.note(seq, e)
	for _, ref := range refs {
		t.Blobs = append(t.Blobs, ref.SHA256)
	}
	if e.Time.After(t.Latest) {
		t.Latest = e.Time
	}
	switch {
	case e.Type == work.WorkAdded:
		s.total++
	case isOver(s, e.Subject, e.Type):
		s.over++
	}
	return nil
}

func (s *state) foldItem(seq uint64, e ledger.Event, stored []byte) error {
	before := s.items[e.Subject]
	if before == nil {
		before = &work.Item{}
	}
	after, err := work.Fold(*before, seq, e, stored)
	if err != nil {
		return err
	}
	s.put(before, &after)
	run := s.runs[after.Run]
	if run == nil {
		if s.conductor != nil && (before.ToCheck() || after.ToCheck()) {
			s.conductor.ToCheckByHand()
		}
		return nil
	}
	if err := run.EvolveItem(after, e); err != nil {
		return err
	}
	s.tell(run, seq, e)
	return nil
}

// put replaces an item and brings up to date what is derived from it.
func (s *state) put(before, after *work.Item) {
	s.items[after.Subject] = after
	if !before.Exists() {
		s.name(after.ID, after.Subject, itemName)
	}
	if l := before.Lease; l != nil && l != after.Lease {
		delete(s.grants, l.Key)
		s.leases.end(before.Subject)
	}
	if l := after.Lease; l != nil && l != before.Lease {
		s.grants[l.Key] = after.Subject
		if s.now != nil {
			s.begin(after)
		}
	}
	if runsOut(before.Lease) {
		s.leased--
	}
	if runsOut(after.Lease) {
		s.leased++
	}
	if after.Wait != nil {
		s.asking[after.Subject] = true
	} else {
		delete(s.asking, after.Subject)
	}
	if after.ToCheck() {
		s.checking[after.Subject] = true
	} else {
		delete(s.checking, after.Subject)
	}
	s.queue.update(*after)
}

// dispatch gives what is claimable to the claims that wait for it.
func (s *state) dispatch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.match()
}

// last returns the last sequence on a subject, 0 if there is none.
func (s *state) last(subject string) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if subject == housekeeping {
		return s.housekeeping.Seq, nil
	}
	if subject == tokens {
		return s.tokens.Seq, nil
	}
	if subject == runners {
		return s.runners.Seq, nil
	}
	if subject == members {
		return s.members.Seq, nil
	}
	if i := s.items[subject]; i != nil {
		return i.Seq, nil
	}
	if r := s.runs[subject]; r != nil {
		return r.Seq, nil
	}
	if c := s.conversations[subject]; c != nil {
		return c.Seq, nil
	}
	if s.past == nil {
		return 0, nil
	}
	r, found, err := s.past.index.Get(subject)
	if err != nil || !found {
		return 0, err
	}
	return r.Last(), nil
}

// upTo returns the sequence up to which the state is folded.
func (s *state) upTo() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.folded
}

// item returns the item with a subject; the zero Item if there is none.
func (s *state) item(subject string) work.Item {
	_ = s.bring(subject) // what can't be found out has stopped the box
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.items[subject]; i != nil {
		return *i
	}
	return work.Item{}
}

// named returns the item with a name for people, or the one of the task with this
// id, as taskOf finds it.
func (s *state) named(id string, why purpose) (work.Item, error) {
	if i, err := s.itemOf(id); err == nil || !errors.Is(err, work.ErrNoItem) {
		return i, err
	}
	if err := s.bringTask(id); err != nil {
		return work.Item{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.taskOf(id, why)
	switch {
	case err != nil:
		return work.Item{}, err
	case t != nil:
		return t.Item, nil
	}
	return work.Item{}, fmt.Errorf("%w: %s", work.ErrNoItem, safetext.Escape(id))
}

// The forms of names for what was given none.
const (
	itemName         = "W-%05d"
	conversationName = "Q-%05d"
)

// name takes note of the name of a subject whose kind has made-up names of this form.
func (s *state) name(id, subject, form string) {
	s.ids[id] = subject
	s.count(id, form)
}

// mostMadeUp bounds the numbers that are counted on from: so many more can follow.
const mostMadeUp = math.MaxInt / 2

// count takes note of the number in a name that may be made up.
func (s *state) count(id, form string) {
	prefix, _, _ := strings.Cut(form, "%")
	number, _ := strings.CutPrefix(id, prefix)
	if n, err := strconv.Atoi(number); err == nil && n <= mostMadeUp && fmt.Sprintf(form, n) == id {
		s.madeUp[form] = max(s.madeUp[form], n)
	}
}

// reserve takes a name for a subject that is about to be added; without one it makes
// one up, of this form. The name is given back by unreserve if it is not added.
func (s *state) reserve(id, subject, form string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := s.madeUp[form] + 1; id == ""; n++ {
		name := fmt.Sprintf(form, n)
		taken, err := s.taken(name)
		if err != nil {
			return "", err
		}
		if !taken {
			id = name
		}
	}
	taken, err := s.taken(id)
	if err != nil {
		return "", err
	}
	if taken {
		return "", fmt.Errorf("%w: %s", work.ErrExists, safetext.Escape(id))
	}
	s.ids[id] = subject
	return id, nil
}

// taken reports whether a name is taken, by what is in memory or has left it.
func (s *state) taken(id string) (bool, error) {
	if s.ids[id] != "" {
		return true, nil
	}
	subject, err := s.past.named(id)
	return subject != "", err
}

func (s *state) unreserve(id, subject string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ids[id] == subject && s.items[subject] == nil && s.conversations[subject] == nil {
		delete(s.ids, id)
	}
}

// granted returns the item that a request with this key holds.
func (s *state) granted(key string) (work.Item, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.items[s.grants[key]]; i != nil && i.Lease != nil && i.Lease.Key == key {
		return *i, true
	}
	return work.Item{}, false
}

// addedBy returns the subject that a request of this kind with this key added, if that is not
// longer ago than [index.KeepKeys]; or "".
func (s *state) addedBy(kind requestKind, key string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if subject := s.added[keyOfKind{kind, key}]; subject != "" || s.past == nil || key == "" {
		return subject, nil
	}
	subject, _, err := s.past.index.AddedBy(indexed[kind], key)
	if err != nil {
		return "", s.past.trouble(err)
	}
	return subject, nil
}

// pick takes an item that fits out of the queue, if no claim that waits is to have it. If there is none
// and the claim may wait, it is put in line.
func (s *state) pick(w wish, wait bool) (subject string, line *waiter, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.match()
	if subject, ok := s.queue.take(w); ok || !wait {
		return subject, nil, nil
	}
	if s.queue.waiting >= maxWaiting {
		return "", nil, errTooMany
	}
	return "", s.queue.wait(w), nil
}

// leave takes a claim out of the line.
func (s *state) leave(line *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if subject, offered := s.queue.leave(line); offered {
		s.requeue(subject)
	}
}

// giveBack puts an item back into the queue that was picked and not granted.
func (s *state) giveBack(subject string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requeue(subject)
}

func (s *state) requeue(subject string) {
	if i := s.items[subject]; i != nil {
		s.queue.update(*i)
		s.queue.match()
	}
}

// leases are the terms that run, by subject.
type leases map[string]*term

type term struct {
	token   work.Token
	expires time.Time
	timer   *time.Timer
	over    bool // it is being taken away: too late to renew
}

func (l leases) end(subject string) {
	if t := l[subject]; t != nil {
		t.timer.Stop()
		delete(l, subject)
	}
}

// runsOut says whether there is a lease, and it has a term: a person's has none, and lasts for as long as it takes.
func runsOut(l *work.Lease) bool { return l != nil && l.TTL != 0 }

// begin lets the term of an item's lease run from now.
func (s *state) begin(i *work.Item) {
	s.leases.end(i.Subject)
	if !runsOut(i.Lease) {
		return
	}
	subject, token := i.Subject, i.Lease.Token
	s.leases[subject] = &term{
		token: token, expires: s.now().Add(i.Lease.TTL),
		timer: time.AfterFunc(i.Lease.TTL, func() { s.runOut(subject, token) }),
	}
}

// runOut is called when a term is over. A term that was renewed meanwhile goes on.
func (s *state) runOut(subject string, token work.Token) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.leases[subject]
	if t == nil || t.token != token {
		return
	}
	if left := t.expires.Sub(s.now()); left > 0 { // it was renewed, or the clock is slower than the timer's
		t.timer.Reset(left)
		return
	}
	t.over = true
	s.expire(subject, token)
}

// ranOut reports whether a lease's term is over, and none has begun since.
func (s *state) ranOut(subject string, token work.Token) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.leases[subject]
	return t != nil && t.token == token && t.over
}

// start begins the terms of all open leases: they have one full term from now.
// From then on every grant begins its own. Expire is called when a term is over,
// under the state's lock; it must not wait.
func (s *state) start(now func() time.Time, expire func(subject string, token work.Token)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now, s.expire = now, expire
	for _, i := range s.items {
		if i.Lease != nil {
			s.begin(i)
		}
	}
}

// renew begins the term of a lease anew.
func (s *state) renew(subject string, token work.Token) (work.Item, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now == nil {
		return work.Item{}, errYielded
	}
	i, t := s.items[subject], s.leases[subject]
	if i == nil || !i.Holds(token) || t == nil || t.over {
		return work.Item{}, work.ErrNotHolder
	}
	s.begin(i)
	return *i, nil
}

// expiry says when the term of an item's lease is over; zero if it has none, or that is not known: terms run only at the box that leads.
func (s *state) expiry(subject string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.leases[subject]; t != nil {
		return t.expires.UTC().Truncate(time.Millisecond)
	}
	return time.Time{}
}

// rest ends all terms, and begins none until the next start.
func (s *state) rest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = nil
	s.endTerms()
}

// stop ends all terms.
func (s *state) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endTerms()
}

// endTerms ends all terms. The caller holds the lock.
func (s *state) endTerms() {
	for subject := range s.leases {
		s.leases.end(subject)
	}
}

// counts returns how many items, leases that run out and waiting claims there are.
func (s *state) counts() (items, leases, waiting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total, s.leased, s.queue.waiting
}
