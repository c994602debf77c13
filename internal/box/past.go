package box

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/conversation"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/durable"
	"github.com/signalbox-dev/signalbox/internal/index"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// past is what has left memory. The index finds a subject, and it is folded again from the
// archive when somebody asks for it.
type past struct {
	index  *index.Index
	dir    *os.Root // that it lies in
	event  func(seq uint64) ([]byte, error)
	broken func(error) // something in it can't be read: nothing is certain any more
}

// trail is what is known of a subject in memory besides its fold: enough to find it again when it
// has left.
type trail struct {
	Seqs     []uint64      // of its events
	Blobs    []ledger.Hash // that they refer to
	Latest   time.Time     // the time of its latest event
	AddKey   string        // of the request that added it
	Requests requests      // that changed it lately
}

const (
	// What is over leaves memory after a day,
	overFor = 24 * time.Hour
	// or sooner if there is more of it than this. Then half of it goes.
	maxOver = 10_000
)

// close closes the index.
func (p *past) close() error {
	if p == nil {
		return nil
	}
	return errors.Join(p.index.Close(), p.dir.Close())
}

// crowded reports whether much in memory could leave.
func (s *state) crowded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over > maxOver || len(s.removed) > maxOver
}

// has reports whether a subject is in memory.
func (s *state) has(subject string) bool {
	return s.items[subject] != nil || s.runs[subject] != nil || s.conversations[subject] != nil
}

// bring sees to it that a subject is in memory, if there is one. What can't be found out is an
// error, and stops the box.
func (s *state) bring(subject string) error {
	for {
		s.mu.Lock()
		p, left := s.past, s.left
		here := p == nil || s.has(subject)
		s.mu.Unlock()
		if here || subject == "" {
			return nil
		}
		back, err := p.fold(subject, math.MaxUint64)
		if err != nil {
			return p.trouble(err)
		}
		s.mu.Lock()
		if s.left == left {
			s.adopt(back)
			s.mu.Unlock()
			return nil
		}
		s.mu.Unlock() // something left meanwhile, and perhaps this: what was folded may be old
	}
}

// recall brings a subject back as it was before an event. The caller holds the lock.
func (s *state) recall(subject string, before uint64) error {
	if s.past == nil {
		return nil
	}
	back, err := s.past.fold(subject, before)
	if err != nil {
		return s.past.trouble(err)
	}
	s.adopt(back)
	return nil
}

// trouble stops the box because of what can't be read, and returns it.
func (p *past) trouble(err error) error {
	err = fmt.Errorf("what has left memory can't be read: %w", err)
	p.broken(err)
	return err
}

// fold returns the state of a subject, and of the run that it belongs to with all its items, after
// the events before a sequence. It is empty if there is none.
func (p *past) fold(subject string, before uint64) (*state, error) {
	s := newState()
	family, err := p.family(subject)
	if err != nil {
		return nil, err
	}
	var seqs []uint64
	for _, r := range family {
		end, _ := slices.BinarySearch(r.Seqs, before)
		seqs = append(seqs, r.Seqs[:end]...)
	}
	slices.Sort(seqs)
	for _, seq := range seqs {
		stored, err := p.event(seq)
		if err != nil {
			return nil, err
		}
		if _, err := s.take(seq, stored); err != nil {
			return nil, fmt.Errorf("event %d: %w", seq, err)
		}
	}
	return s, nil
}

// family returns what the index has on a subject: it alone, or its run with all items.
func (p *past) family(subject string) ([]index.Record, error) {
	r, found, err := p.index.Get(subject)
	if err != nil || !found {
		return nil, err
	}
	run := r.Run
	if r.Kind == index.Run {
		run = subject
	}
	if run == "" {
		return []index.Record{r}, nil
	}
	items, err := p.index.ItemsOf(run)
	if err != nil {
		return nil, err
	}
	of, found, err := p.index.Get(run)
	if err == nil && !found {
		err = fmt.Errorf("%s belongs to the run %s, and that is not in the index", subject, run)
	}
	return append(items, of), err
}

// adopt takes over what is in another state.
func (s *state) adopt(back *state) {
	for _, i := range back.items {
		s.put(&work.Item{}, i)
	}
	for subject, r := range back.runs {
		s.runs[subject] = r
		s.newsOf(subject).notices = back.newsOf(subject).notices
	}
	for _, c := range back.conversations {
		s.putConversation(c)
	}
	for subject, t := range back.trails {
		s.follow(subject, t)
	}
	s.over += back.over
}

// indexed says as what the index has the subjects that requests add.
var indexed = map[requestKind]index.Kind{addItem: index.Item, askQuestion: index.Conversation, startPlanRun: index.Run}

// addedAs returns the kind of request that added a subject.
func (s *state) addedAs(subject string) requestKind {
	switch {
	case s.runs[subject] != nil:
		return startPlanRun
	case s.conversations[subject] != nil:
		return askQuestion
	}
	return addItem
}

// follow keeps the trail of a subject that is in memory.
func (s *state) follow(subject string, t *trail) {
	s.trails[subject] = t
	if t.AddKey != "" {
		s.added[keyOfKind{s.addedAs(subject), t.AddKey}] = subject
	}
}

// family is what leaves memory together: a subject that is over, or a run with its items.
type family struct {
	subjects []string
	last     uint64 // the sequence of its last event
	latest   time.Time
}

// families lists what is over.
func (s *state) families() []family {
	var all []family
	for subject, i := range s.items {
		if i.Run == "" && i.Phase == agentsig.PhaseCompleted && i.Lease == nil {
			all = append(all, s.family(subject))
		}
	}
	for subject, c := range s.conversations {
		if c.Ended() {
			all = append(all, s.family(subject))
		}
	}
	for subject, r := range s.runs {
		if !r.Live() && len(r.Sessions) == 0 && len(s.newsOf(subject).watch) == 0 && !slices.ContainsFunc(r.Tasks, s.held) {
			all = append(all, s.family(append(subjectsOf(r), subject)...))
		}
	}
	slices.SortFunc(all, func(a, b family) int { return cmp.Compare(a.last, b.last) })
	return all
}

func (s *state) family(subjects ...string) family {
	f := family{subjects: subjects}
	for _, subject := range subjects {
		t := s.trails[subject]
		f.last = max(f.last, t.Seqs[len(t.Seqs)-1])
		if t.Latest.After(f.latest) {
			f.latest = t.Latest
		}
	}
	return f
}

func subjectsOf(r *delivery.Run) []string {
	var all []string
	for _, t := range r.Tasks {
		all = append(all, t.Item.Subject)
	}
	return all
}

// held reports whether somebody holds a task's item.
func (s *state) held(t *delivery.Task) bool {
	i := s.items[t.Item.Subject]
	return i == nil || i.Lease != nil
}

// leaving chooses what is to leave memory: what is over for long, and the oldest of the rest if there
// is much of it. Events after a size keep their subjects here.
func (s *state) leaving(now time.Time, size uint64) [][]index.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.families()
	s.over = 0
	for _, f := range all {
		s.over += len(f.subjects)
	}
	enough := 0
	if s.over > maxOver {
		enough = s.over - maxOver/2
	}
	var out [][]index.Record
	for _, f := range all {
		if f.last > size || enough <= 0 && now.Sub(f.latest) < overFor {
			continue
		}
		enough -= len(f.subjects)
		records := make([]index.Record, len(f.subjects))
		for i, subject := range f.subjects {
			records[i] = s.inIndex(subject)
		}
		out = append(out, records)
	}
	return out
}

// inIndex is what the index keeps of a subject.
func (s *state) inIndex(subject string) index.Record {
	t := s.trails[subject]
	r := index.Record{Subject: subject, Seqs: t.Seqs, Latest: t.Latest.UnixMilli(), AddKey: t.AddKey}
	if i := s.items[subject]; i != nil {
		r.Kind, r.ID, r.Run, r.Task, r.Phase, r.Keys = index.Item, i.ID, i.Run, i.Task, i.Phase, i.Keys
	} else if c := s.conversations[subject]; c != nil {
		r.Kind, r.ID, r.Keys = index.Conversation, c.ID, c.Keys
	} else {
		r.Kind, r.ID = index.Run, s.runs[subject].ID
	}
	return r
}

// leaveTo takes out of memory what the index has, unless something happened to it since; and what
// it has of blobs that events up to a size say were removed.
func (s *state) leaveTo(out [][]index.Record, size uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left++
	s.forgetRemoved(size)
	for _, records := range out {
		if slices.ContainsFunc(records, func(r index.Record) bool {
			t := s.trails[r.Subject]
			return t == nil || len(t.Seqs) != len(r.Seqs)
		}) {
			continue
		}
		for _, r := range records {
			s.drop(r)
		}
		s.over -= len(records)
	}
}

// drop takes a subject out of memory.
func (s *state) drop(r index.Record) {
	delete(s.items, r.Subject)
	delete(s.runs, r.Subject)
	delete(s.conversations, r.Subject)
	delete(s.news, r.Subject)
	delete(s.trails, r.Subject)
	s.queue.remove(r.Subject)
	if s.ids[r.ID] == r.Subject {
		delete(s.ids, r.ID)
	}
	for kind, as := range indexed {
		if key := (keyOfKind{kind, r.AddKey}); as == r.Kind && s.added[key] == r.Subject {
			delete(s.added, key)
		}
	}
}

// isOver reports whether an event is the end of what it is about.
func isOver(s *state, subject, event string) bool {
	if i := s.items[subject]; i != nil {
		return i.Run == "" && i.Phase == agentsig.PhaseCompleted
	}
	return event == delivery.RunFinished || event == conversation.TypeEnded
}

// evict lets what is over leave memory, once the index has it, durably. Everything up to size is
// sealed.
func (b *Box) evict(size uint64, now time.Time) error {
	p := b.past
	fresh := int64(size) > p.index.Mark().Size // otherwise what is added now is not told apart from what left before
	var add []index.Record
	if fresh {
		add = b.state.removedUpTo(size)
	}
	var out [][]index.Record
	for _, records := range b.state.leaving(now, size) {
		unknown, err := p.unknown(records)
		if err != nil {
			return p.trouble(err)
		}
		if fresh || len(unknown) == 0 {
			add, out = append(add, unknown...), append(out, records)
		}
	}
	if len(add) > 0 {
		root, err := b.archive.Root(int64(size))
		if err != nil {
			return err
		}
		if err := p.index.Add(add, index.Mark{Size: int64(size), Root: root}); err != nil {
			return err
		}
	}
	if !fresh {
		size = 0
	}
	b.state.leaveTo(out, size)
	return nil
}

// unknown returns the records that the index lacks. It may know more of a subject than a state does
// that is being folded again.
func (p *past) unknown(records []index.Record) ([]index.Record, error) {
	var all []index.Record
	for _, r := range records {
		known, found, err := p.index.Get(r.Subject)
		if err != nil {
			return nil, err
		}
		if !found || known.Last() < r.Last() {
			all = append(all, r)
		}
	}
	return all, nil
}

// bringNamed brings back the item or conversation with this name.
func (s *state) bringNamed(id string) error {
	s.mu.Lock()
	p, here := s.past, s.ids[id] != ""
	s.mu.Unlock()
	if here {
		return nil
	}
	subject, err := p.named(id)
	if err != nil {
		return err
	}
	return s.bring(subject)
}

// bringRun brings back the run with this name; the latest, if there are more.
func (s *state) bringRun(id string) error {
	s.mu.Lock()
	p, subject := s.past, s.newestRun
	here := slices.ContainsFunc(slices.Collect(maps.Values(s.runs)), func(r *delivery.Run) bool { return r.ID == id })
	s.mu.Unlock()
	if p == nil || here {
		return nil
	}
	if id != "" {
		var err error
		if subject, _, err = p.index.RunNamed(id); err != nil {
			return p.trouble(err)
		}
	}
	return s.bring(subject)
}

// bringTask brings back the latest run among those that have left that has a task with this id.
func (s *state) bringTask(id string) error {
	s.mu.Lock()
	p := s.past
	s.mu.Unlock()
	if p == nil {
		return nil
	}
	subject, _, err := p.index.TaskNamed(id)
	if err != nil {
		return p.trouble(err)
	}
	return s.bring(subject)
}

// named looks for a name among what has left memory.
func (p *past) named(id string) (string, error) {
	if p == nil || id == "" {
		return "", nil
	}
	subject, _, err := p.index.Named(id)
	if err != nil {
		return "", p.trouble(err)
	}
	return subject, nil
}

// openPast opens the index. One that can't be used, or is not of this ledger, is made again from
// the ledger, and the snapshot with it.
func (b *Box) openPast(found *Found) error {
	b.past = &past{
		event:  func(seq uint64) ([]byte, error) { return b.archive.Event(int64(seq) - 1) },
		broken: b.indexBroken,
	}
	secret := sha256.Sum256([]byte("signalbox index\n" + b.keys.Signer))
	err := b.openIndex(secret[:])
	var damage *index.Damage
	if errors.As(err, &damage) {
		if err := b.held.forgetIndex(); err != nil {
			return err
		}
		found.Notes = append(found.Notes, damage.Error())
		err = b.openIndex(secret[:])
	}
	if err != nil {
		b.past = nil
	}
	return err
}

// openIndex opens the index in its directory, which is made if need be.
func (b *Box) openIndex(key []byte) error {
	home := b.held.home
	if err := home.MkdirAll(indexDir, 0o700); err != nil {
		return err
	}
	dir, err := home.OpenRoot(indexDir)
	if err != nil {
		return err
	}
	x, err := index.Open(archive.Held(dir, home.Stands), key)
	if err != nil {
		return errors.Join(err, dir.Close())
	}
	b.past.index, b.past.dir = x, dir
	return nil
}

// indexBroken stops the box because something that left memory can't be found again. If the index
// is damaged, the next start makes it again.
func (b *Box) indexBroken(err error) {
	var damage *index.Damage
	if errors.As(err, &damage) {
		err = errors.Join(err, b.held.forgetIndex())
	}
	b.fail(err)
}

// forgetIndex removes the index, and the snapshot, which needs it.
func (h *holding) forgetIndex() error {
	for _, name := range []string{snapshotFile, indexDir} {
		if err := h.home.RemoveAll(name); err != nil {
			return err
		}
	}
	return durable.SyncIn(h.home.Root)
}
