package archive_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/archive/archivetest"
	"github.com/signalbox-dev/signalbox/internal/member/memberlog"
	"github.com/signalbox-dev/signalbox/ledger"
)

// past is what a member's log was told: the entries that are not void, from where it was founded on, and its state.
type past struct {
	base    memberlog.Mark
	entries []memberlog.Entry
	marks   []memberlog.Mark // after each of them
	state   memberlog.State
}

func (p past) at(index uint64) memberlog.Mark {
	if index == p.base.Index {
		return p.base
	}
	return p.marks[index-p.base.Index-1]
}

func (p past) end() memberlog.Mark { return p.at(p.base.Index + uint64(len(p.entries))) }

// with returns what is so after a write.
func (p past) with(w memberlog.Write) past {
	if w.Cut != nil {
		n := w.Cut.Index - p.base.Index
		p.entries, p.marks = p.entries[:n:n], p.marks[:n:n]
	}
	for _, e := range w.Entries {
		m := memberlog.Mark{Index: e.Index, Term: e.Term, Seq: p.end().Seq}
		if e.Kind == memberlog.Event {
			m.Seq++
		}
		p.entries, p.marks = append(p.entries, e), append(p.marks, m)
	}
	p.state = w.State
	return p
}

// is says how what a start has found differs from what it should.
func (p past) is(kept memberlog.Kept) error {
	before, end := kept.Before, p.end()
	if before.Index < p.base.Index || before.Index > end.Index {
		return fmt.Errorf("it begins after entry %d, and has entries from %d to %d", before.Index, p.base.Index+1, end.Index)
	}
	if diff := cmp.Diff(p.at(before.Index), before); diff != "" {
		return fmt.Errorf("where it begins (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(p.state, kept.State); diff != "" {
		return fmt.Errorf("its state (-want +got):\n%s", diff)
	}
	want := p.entries[before.Index-p.base.Index:]
	if len(want) != len(kept.Entries) {
		return fmt.Errorf("it has %d entries after %d, and should have %d", len(kept.Entries), before.Index, len(want))
	}
	for i := range want {
		if !reflect.DeepEqual(want[i], kept.Entries[i]) {
			return fmt.Errorf("entry %d (-want +got):\n%.2000s", want[i].Index, cmp.Diff(want[i], kept.Entries[i]))
		}
	}
	return nil
}

// author makes up what a member writes.
type author struct {
	chance *rand.Rand
	past
	large bool
	named int
}

func newAuthor(seed uint64, state memberlog.State) *author {
	return &author{chance: rand.New(rand.NewPCG(seed, 7)), past: past{base: state.At, state: state}}
}

// next returns the next write, as one that follows what is so.
func (a *author) next() memberlog.Write {
	w := memberlog.Write{State: a.state}
	end := a.end()
	switch a.chance.IntN(6) {
	case 0: // another term, perhaps with a leader who has other entries
		w.State.Term++
		w.State.Vote = uint64(a.chance.IntN(4))
		if n := end.Index - a.state.Commit; n > 0 {
			cut := a.at(a.state.Commit + uint64(a.chance.IntN(int(n))))
			w.Cut, end = &cut, cut
		}
	case 1:
		w.State.Heard = []memberlog.Heard{{ID: 9, Term: w.State.Term, Index: end.Index, EntryTerm: end.Term}}
	}
	for range a.chance.IntN(6) {
		e := a.entry()
		end.Index++
		e.Index, e.Term = end.Index, w.State.Term
		w.Entries = append(w.Entries, e)
	}
	w.State.Commit += uint64(a.chance.IntN(int(end.Index-w.State.Commit) + 1))
	after := a.with(w)
	w.State.At = after.at(w.State.At.Index + uint64(a.chance.IntN(int(w.State.Commit-w.State.At.Index)+1)))
	return w
}

func (a *author) entry() memberlog.Entry {
	a.named++
	switch a.chance.IntN(8) {
	case 0:
		return memberlog.Entry{Kind: memberlog.Empty}
	case 1:
		return memberlog.Entry{Kind: memberlog.Change, Data: []byte{0, 1, 0, byte(a.chance.IntN(256)), 0}}
	}
	size := 300
	if a.large {
		size = 15000
	}
	about := fmt.Sprintf("item-%d-%d", a.named, a.chance.IntN(1000))
	e := memberlog.Entry{Kind: memberlog.Event, Subject: about, Last: uint64(a.chance.IntN(100)), Data: pen{}.write(about, strings.Repeat("x", a.chance.IntN(size)), nil)}
	for range a.chance.IntN(3) / 2 {
		e.Blobs = append(e.Blobs, ledger.NewBlob(e.Data).SHA256)
	}
	return e
}

// seat is a member's archive and log in use, and who writes it.
type seat struct {
	*archive.Archive
	*archive.Journal
	*author
	kept  memberlog.Kept
	found archive.Findings
}

func founding() memberlog.State {
	s := memberlog.Founding(0)
	s.Members.Learners = []uint64{100}
	return s
}

// openSeat opens a member's archive and starts it.
func openSeat(fs archive.FS, keys archive.Keys, by *author, from int64) (*seat, error) {
	a, j, err := archive.OpenMember(fs, keys)
	if err != nil {
		return nil, err
	}
	s := &seat{Archive: a, Journal: j, author: by}
	if s.found, err = a.Start(bg, min(from, a.Size())); err != nil {
		return nil, err
	}
	s.kept = j.Kept()
	return s, nil
}

func mustFound(t testing.TB, fs archive.FS, keys archive.Keys, seed uint64) *seat {
	t.Helper()
	if err := archive.Found(fs, keys, founding()); err != nil {
		t.Fatal(err)
	}
	s, err := openSeat(fs, keys, newAuthor(seed, founding()), 0)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// step writes some, has what is committed in the archive, and perhaps seals it.
func (s *seat) step() error {
	var all []memberlog.Write
	now := s.past
	for range 1 + s.chance.IntN(2) {
		w := s.next()
		s.past = s.with(w)
		all = append(all, w)
	}
	if err := s.Write(all); err != nil {
		s.past = now // its caller knows what may be so
		return err
	}
	if err := s.commit(); err != nil {
		return err
	}
	if s.chance.IntN(8) > 0 {
		return nil
	}
	_, err := s.Seal()
	return err
}

// commit has the archive take what is committed.
func (s *seat) commit() error {
	for i, e := range s.entries {
		seq := int64(s.marks[i].Seq)
		if e.Kind != memberlog.Event || e.Index > s.state.Commit || seq <= s.Size() {
			continue
		}
		if err := s.Commit(seq-1, [][]byte{e.Data}); err != nil {
			return err
		}
	}
	return nil
}

// What is written is read back, over many segments, by starts that read the latest ones only. The older ones are of no
// use to them: vote, members and term are in the head of each.
func TestJournal(t *testing.T) {
	keys := newKeys(t)
	fs := archivetest.NewLossy()
	s := mustFound(t, fs, keys, 1)
	s.large = true
	if err := s.is(s.kept); err != nil {
		t.Fatal(err)
	}
	for round := range 12 {
		for range 25 {
			if err := s.step(); err != nil {
				t.Fatal(err)
			}
		}
		if round%3 > 0 {
			if _, err := s.Seal(); err != nil {
				t.Fatal(err)
			}
		}
		var err error
		if s, err = openSeat(fs, keys, s.author, int64(round%2)*s.Size()); err != nil {
			t.Fatal(err)
		}
		if err := s.is(s.kept); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if err := s.commit(); err != nil {
			t.Fatal(err)
		}
		if err := scrubAll(s.Archive, 100); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	v, err := archive.Verify(bg, fs, keys.Verifier)
	if err != nil || !v.Log || v.Single != 0 || v.Events < 500 {
		t.Fatalf("%+v, %v", v, err)
	}
	names, err := fs.ReadDir("log")
	if err != nil || len(names) < 10 {
		t.Fatalf("the log has %v, %v", names, err)
	}
	for _, name := range names[:len(names)-6] {
		fs.Put("log/"+name, []byte("of no use"))
	}
	if s, err = openSeat(fs, keys, s.author, s.Size()); err != nil {
		t.Fatal(err)
	}
	if err := s.is(s.kept); err != nil {
		t.Fatal(err)
	}
	if err := scrubAll(s.Archive, 100); !damaged(err) {
		t.Errorf("the scrub says of older segments: %v", err)
	}
	if _, err := openSeat(fs, keys, s.author, 0); !damaged(err) {
		t.Errorf("a start that looks at everything says of older segments: %v", err)
	}
}

func damaged(err error) bool {
	_, ok := errors.AsType[*archive.Damage](err)
	return ok
}

// A member's log is refused as a single box's, and the other way round; a repair makes none; and a mirror is not for it.
func TestJournalIsAMembers(t *testing.T) {
	keys := newKeys(t)
	wants := func(what string, err error, text string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", what, err)
		}
	}
	fs := archivetest.NewLossy()
	b := mustOpen(t, fs, keys)
	if err := b.record(b.pen.many(300)...); err != nil {
		t.Fatal(err)
	}
	wants("an end that is not sealed", archive.Found(fs, keys, memberlog.Founding(300)), "not sealed")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	_, _, err := archive.OpenMember(fs, keys)
	wants("a single box's log", err, "was the directory of another box put here?")
	wants("another size", archive.Found(fs, keys, memberlog.Founding(299)), "has 300 events")
	wants("a mirror", archive.Found(archive.Mirrored(fs, archivetest.NewLossy()), keys, memberlog.Founding(300)), "no mirror")
	if err := archive.Found(fs, keys, memberlog.Founding(300)); err != nil {
		t.Fatal(err)
	}
	_, err = archive.Open(fs, keys)
	wants("a member's log", err, "cluster.json")
	_, err = archive.Repair(bg, fs, keys)
	wants("a repair", err, "join anew")
	wants("founded again", archive.Found(fs, keys, memberlog.Founding(300)), "cluster.json")
	_, _, err = archive.OpenMember(archive.Mirrored(fs, archivetest.NewLossy()), keys)
	wants("a mirror", err, "no mirror")

	s, err := openSeat(fs, keys, newAuthor(1, memberlog.Founding(300)), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.is(s.kept); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append([][]byte{b.pen.write("x", "", nil)}); err == nil {
		t.Error("an event was appended that nobody committed")
	}
	for range 200 {
		if err := s.step(); err != nil {
			t.Fatal(err)
		}
	}
	wants("an event out of order", s.Commit(s.Size()+1, [][]byte{{1}}), "is committed")
	if err := errors.Join(scrubAll(s.Archive, 100), s.Close()); err != nil {
		t.Fatal(err)
	}
	v, err := archive.Verify(bg, fs, keys.Verifier)
	if err != nil || v.Events <= 300 || v.Single != 0 {
		t.Errorf("%+v, %v", v, err)
	}
}

// What no start would read back is not written, and nothing is after it. A cut back below what is committed is damage.
func TestJournalRefuses(t *testing.T) {
	keys := newKeys(t)
	event := func(index, term uint64) memberlog.Entry {
		return memberlog.Entry{Index: index, Term: term, Kind: memberlog.Event, Subject: "a", Data: pen{}.write("a", "", nil)}
	}
	state := func(change func(*memberlog.State)) memberlog.State {
		s := founding()
		s.Commit, s.Term = 3, 2
		change(&s)
		return s
	}
	same := state(func(*memberlog.State) {})
	zeros := event(5, 2)
	zeros.Data = append(zeros.Data, make([]byte, 600)...)
	for _, c := range []struct {
		what string
		w    memberlog.Write
		want string
	}{
		{"a gap", memberlog.Write{State: same, Entries: []memberlog.Entry{event(6, 2)}}, "entry 6"},
		{"an entry again", memberlog.Write{State: same, Entries: []memberlog.Entry{event(4, 2)}}, "entry 4"},
		{"a cut below what is committed", memberlog.Write{State: same, Cut: &memberlog.Mark{Index: 2, Term: 2, Seq: 1}}, "cut back"},
		{"a cut behind the end", memberlog.Write{State: same, Cut: &memberlog.Mark{Index: 5, Term: 2, Seq: 4}}, "cut back"},
		{"zeros", memberlog.Write{State: same, Entries: []memberlog.Entry{zeros}}, "zero"},
		{"a base without its checkpoint", memberlog.Write{State: same, Base: &memberlog.Mark{Index: 9, Term: 2, Seq: 8}}, "checkpoint"},
		{"too many", memberlog.Write{State: same, Entries: make([]memberlog.Entry, 2000)}, ""},
		{"two terms", memberlog.Write{State: same, Entries: []memberlog.Entry{event(5, 2), event(6, 3)}}, "term 3"},
	} {
		fs := archivetest.NewLossy()
		s := mustFound(t, fs, keys, 1)
		first := memberlog.Write{State: same, Entries: []memberlog.Entry{event(2, 2), event(3, 2), event(4, 2)}}
		if err := s.Write([]memberlog.Write{first}); err != nil {
			t.Fatal(err)
		}
		s.past = s.with(first)
		err := s.Write([]memberlog.Write{c.w})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.what, err)
		}
		if damaged(err) != strings.HasPrefix(c.what, "a cut") {
			t.Errorf("%s: %v", c.what, err)
		}
		if err := s.Write([]memberlog.Write{{State: same}}); !errors.Is(err, archive.ErrFailed) {
			t.Errorf("%s, and after it: %v", c.what, err)
		}
		if s, err = openSeat(fs, keys, s.author, 0); err != nil {
			t.Fatal(err)
		}
		if err := s.is(s.kept); err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

// A log that is cut back to a place before the segments that a start reads is read all the same.
func TestJournalCutBackFar(t *testing.T) {
	keys := newKeys(t)
	fs := archivetest.NewLossy()
	s := mustFound(t, fs, keys, 1)
	write := func(w memberlog.Write) {
		t.Helper()
		if err := s.Write([]memberlog.Write{w}); err != nil {
			t.Fatal(err)
		}
		s.past = s.with(w)
	}
	long := func(n int, term uint64) (w memberlog.Write) {
		w.State = s.state
		w.State.Term = term
		for i := range uint64(n) {
			about := fmt.Sprint("t", term, "-", s.end().Index+i)
			w.Entries = append(w.Entries, memberlog.Entry{Index: s.end().Index + 1 + i, Term: term, Kind: memberlog.Event, Subject: about, Data: pen{}.write(about, strings.Repeat("y", 15000), nil)})
		}
		return w
	}
	for range 6 {
		write(long(4, 2))
	}
	cut := s.at(s.base.Index + 3)
	w := memberlog.Write{State: s.state, Cut: &cut}
	w.State.Term = 3
	write(w)
	for range 4 {
		w := long(4, 3)
		w.State.Commit = s.end().Index + 4
		w.State.At = s.with(w).end()
		write(w)
		if err := s.commit(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, from := range []int64{0, s.Size()} {
		var err error
		if s, err = openSeat(fs, keys, s.author, from); err != nil {
			t.Fatal(err)
		}
		if err := s.is(s.kept); err != nil {
			t.Fatal(err)
		}
		if err := scrubAll(s.Archive, 7); err != nil {
			t.Fatal(err)
		}
	}
}

// A change of the members that is not applied yet is read by a start, in whatever segment it lies, and so is the state that it is applied to.
func TestJournalMembers(t *testing.T) {
	keys := newKeys(t)
	fs := archivetest.NewLossy()
	s := mustFound(t, fs, keys, 1)
	write := func(kind memberlog.Kind, commit bool) {
		t.Helper()
		e := memberlog.Entry{Index: s.end().Index + 1, Term: s.state.Term, Kind: kind, Data: bytes.Repeat([]byte{0, 1}, 8000)}
		if kind == memberlog.Event {
			e.Subject = fmt.Sprint("s", e.Index)
			e.Data = pen{}.write(e.Subject, "", nil)
		}
		w := memberlog.Write{State: s.state, Entries: []memberlog.Entry{e}}
		if commit {
			w.State.Commit = e.Index
			w.State.At = s.with(w).end()
		}
		if err := s.Write([]memberlog.Write{w}); err != nil {
			t.Fatal(err)
		}
		s.past = s.with(w)
		if err := s.commit(); err != nil {
			t.Fatal(err)
		}
	}
	for range ledger.TileWidth {
		write(memberlog.Event, true)
	}
	if _, err := s.Seal(); err != nil {
		t.Fatal(err)
	}
	for range 30 {
		write(memberlog.Change, false)
	}
	if names, err := fs.ReadDir("log"); len(names) < 4 {
		t.Fatalf("the log has %v, %v", names, err)
	}
	s, err := openSeat(fs, keys, s.author, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.is(s.kept); err != nil {
		t.Fatal(err)
	}
	if s.kept.Before.Index > s.kept.State.At.Index || len(s.kept.Entries) < 30 {
		t.Errorf("a start reads %d entries after %d, and %d is applied", len(s.kept.Entries), s.kept.Before.Index, s.kept.State.At.Index)
	}
}

// A power cut at every write: what was promised is there, each batch as a whole, and nothing that was not written.
func TestJournalPowerCuts(t *testing.T) {
	keys := newKeys(t)
	step := 1
	if testing.Short() {
		step = 5
	}
	torn, kept, cuts := 0, 0, 0
	for _, kill := range []bool{false, true} {
		for writes := 0; ; writes += step {
			l := journalLife{fs: archivetest.NewLossy(), keys: keys, author: newAuthor(uint64(writes), founding()), chance: rand.New(rand.NewPCG(uint64(writes), 3))}
			l.large = true
			l.fs.StopAfter(writes)
			if writes%7 == 3 {
				l.fs.FailSync(1 + l.chance.IntN(40))
			}
			done, err := l.use(15)
			if err == nil && kill {
				l.fs.Kill()
				err = l.check()
			}
			if err == nil {
				l.fs.PowerCut(l.chance)
				err = l.check()
			}
			if err == nil && !done {
				_, err = l.use(6) // it goes on from there
			}
			if err == nil {
				l.fs.PowerCut(l.chance)
				err = l.check()
			}
			if err != nil {
				t.Fatalf("killed first: %v; stopped after %d writes: %v", kill, writes, err)
			}
			torn, kept, cuts = torn+l.torn, kept+l.unasked, cuts+1
			if done {
				break
			}
		}
	}
	t.Logf("%d power cuts; %d torn writes; %d batches that nobody relied on were kept", cuts, torn, kept)
	if torn == 0 || kept == 0 {
		t.Error("the power cuts did not reach everything that they are for")
	}
}

// The same with syncs that do nothing has to be noticed.
func TestJournalPowerCutsNoticeMissingSyncs(t *testing.T) {
	keys := newKeys(t)
	noticed := false
	for seed := uint64(0); seed < 50 && !noticed; seed++ {
		fs := archivetest.NewLossy()
		l := journalLife{fs: fs, files: unsyncedFiles{fs}, keys: keys, author: newAuthor(seed, founding()), chance: rand.New(rand.NewPCG(seed, 3))}
		if _, err := l.use(10); err != nil {
			t.Fatal(err)
		}
		fs.PowerCut(l.chance)
		noticed = l.check() != nil
	}
	if !noticed {
		t.Error("a log that does not sync its files passes")
	}
}

// journalLife is a member's log that is used, cut off and opened again.
type journalLife struct {
	fs     *archivetest.Lossy
	files  archive.FS // as the archive sees them; fs if nil
	keys   archive.Keys
	chance *rand.Rand
	*author
	founded       bool
	maybe         []past // what may be so too: after each of the batches that were not promised
	torn, unasked int
}

func (l *journalLife) disk() archive.FS {
	if l.files != nil {
		return l.files
	}
	return l.fs
}

// use writes for a while. It returns false if the power went.
func (l *journalLife) use(steps int) (done bool, err error) {
	if !l.founded {
		if err := archive.Found(l.disk(), l.keys, founding()); err != nil {
			return false, l.off(err)
		}
		l.founded = true
	}
	s, err := openSeat(l.disk(), l.keys, l.author, 0)
	if err != nil {
		return false, l.off(err)
	}
	if err := s.commit(); err != nil {
		return false, err
	}
	for range steps {
		var all []memberlog.Write
		now := l.past
		var maybe []past
		for range 1 + l.chance.IntN(3) {
			w := l.next()
			l.past = l.with(w)
			all, maybe = append(all, w), append(maybe, l.past)
		}
		if err := s.Write(all); err != nil {
			l.past, l.maybe = now, maybe
			return false, l.off(err)
		}
		if err := s.commit(); err != nil {
			return false, err
		}
		if l.chance.IntN(8) == 0 {
			if _, err := s.Seal(); err != nil {
				return false, l.off(err)
			}
		}
	}
	return true, l.off(s.Close())
}

func (l *journalLife) off(err error) error {
	if stopped(err) || errors.Is(err, archive.ErrFailed) {
		return nil
	}
	return err
}

// check starts the member, and looks for what was promised. What it finds counts as promised from then on.
func (l *journalLife) check() error {
	if !l.founded {
		s, err := openSeat(l.disk(), l.keys, l.author, 0)
		if err == nil { // it was founded, and nobody was told
			l.founded = true
			return l.is(s.kept)
		}
		if _, err := open(l.disk(), l.keys); err != nil {
			return fmt.Errorf("what was not founded is no single box's: %w", err)
		}
		return nil
	}
	s, err := openSeat(l.disk(), l.keys, l.author, int64(l.chance.IntN(2))*1e6)
	if err != nil {
		return err
	}
	for _, note := range s.found.Notes {
		if !strings.Contains(note, "never finished") {
			return fmt.Errorf("this should have been durable: %s", note)
		}
		l.torn++
	}
	err = l.is(s.kept)
	for _, p := range l.maybe {
		if err == nil {
			break
		}
		if p.is(s.kept) == nil {
			l.past, err = p, nil
			l.unasked++
		}
	}
	l.maybe = nil
	if err == nil {
		err = s.commit()
	}
	return err
}

// A bit that is flipped anywhere in what a start reads is told of, and so is a file that is gone: a start has all that was
// promised, or is refused. Of a file that ends early, what is there is a beginning; and if that ends before
// the checkpoint, it is refused.
func TestJournalDamage(t *testing.T) {
	keys := newKeys(t)
	fs := archivetest.NewLossy()
	s := mustFound(t, fs, keys, 5)
	for range 8 {
		if err := s.step(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Seal(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := s.step(); err != nil {
			t.Fatal(err)
		}
	}
	name := "log/member-00000000000000000001.log"
	data, err := fs.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	sealed := s.Sealed()
	try := func(what string, damagedData []byte, shorter bool) {
		t.Helper()
		fs.Put(name, damagedData)
		_, j, err := archive.OpenMember(fs, keys)
		switch {
		case err != nil && !damaged(err):
			t.Fatalf("%s: %v", what, err)
		case err != nil:
			return
		}
		kept := j.Kept()
		if !shorter {
			if err := s.is(kept); err != nil {
				t.Fatalf("%s was not told: %v", what, err)
			}
			return
		}
		end := kept.End()
		if int64(end.Seq) < sealed || end != s.at(end.Index) && kept.State.Term == s.state.Term && kept.State.Commit > end.Index {
			t.Fatalf("%s: it ends with %+v", what, end)
		}
	}
	every := 7
	if testing.Short() {
		every = 31
	}
	for at := 0; at < len(data); at += every {
		changed := bytes.Clone(data)
		changed[at] ^= 1 << (at % 8)
		try(fmt.Sprintf("a bit at byte %d of %d", at, len(data)), changed, false)
	}
	for n := 0; n < len(data); n += every {
		try(fmt.Sprintf("an end after %d bytes of %d", n, len(data)), data[:n], true)
	}
	fs.Put(name, data)
	if err := fs.Remove(name); err != nil {
		t.Fatal(err)
	}
	if _, _, err := archive.OpenMember(fs, keys); !damaged(err) {
		t.Errorf("without its file: %v", err)
	}
}

// A segment that is missing between others, and one that is another's, are refused.
func TestJournalSegments(t *testing.T) {
	keys := newKeys(t)
	fs := archivetest.NewLossy()
	s := mustFound(t, fs, keys, 5)
	s.large = true
	for range 60 {
		if err := s.step(); err != nil {
			t.Fatal(err)
		}
	}
	names, _ := fs.ReadDir("log")
	if len(names) < 4 {
		t.Fatalf("%v", names)
	}
	last := "log/" + names[len(names)-1]
	before := "log/" + names[len(names)-2]
	data, _ := fs.ReadFile(before)
	if err := fs.Remove(before); err != nil {
		t.Fatal(err)
	}
	if _, _, err := archive.OpenMember(fs, keys); !damaged(err) {
		t.Errorf("without %s: %v", before, err)
	}
	fs.Put(before, data)
	other, _ := fs.ReadFile(last)
	fs.Put(before, other)
	if _, _, err := archive.OpenMember(fs, keys); !damaged(err) {
		t.Errorf("with %s twice: %v", last, err)
	}
	fs.Put(before, data)
	fs.Put(last, data)
	if _, _, err := archive.OpenMember(fs, keys); !damaged(err) {
		t.Errorf("with %s twice: %v", before, err)
	}
	fs.Put(last, other)
	if _, _, err := archive.OpenMember(fs, keys); err != nil {
		t.Error(err)
	}
}

// A member that was far behind begins anew with what it was given. A power cut leaves what was before, or what is then.
func TestRebase(t *testing.T) {
	keys := newKeys(t)
	ahead := archivetest.NewLossy()
	b := mustOpen(t, ahead, keys)
	if err := b.record(b.pen.many(700)...); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	given := dump(ahead)
	was, is := 0, 0
	for writes := 0; ; writes++ {
		fs := archivetest.NewLossy()
		s := mustFound(t, fs, keys, 5)
		s.state.Commit = s.base.Index
		for name, data := range given {
			if strings.HasPrefix(name, "tile/") {
				fs.Put(name, data)
			}
		}
		base := memberlog.Mark{Index: 900, Term: 4, Seq: 700}
		state := founding()
		state.Term, state.Commit, state.At = 4, 900, base
		state.Members.Voters, state.Taken = []uint64{1, 2, 3}, 700
		then := past{base: base, state: state}
		fs.StopAfter(writes)
		err := s.Rebase(given["checkpoint"], memberlog.Write{Base: &base, State: state})
		done := err == nil
		if err != nil && !stopped(err) && !errors.Is(err, archive.ErrFailed) {
			t.Fatal(err)
		}
		if done {
			if s.Size() != 700 || s.Sealed() != 700 {
				t.Fatalf("it has %d events, %d sealed", s.Size(), s.Sealed())
			}
			fs.StopAfter(-1)
			more := memberlog.Write{State: state, Entries: []memberlog.Entry{{Index: 901, Term: 4, Kind: memberlog.Empty}}}
			if err := s.Write([]memberlog.Write{more}); err != nil {
				t.Fatal(err)
			}
			then = then.with(more)
		}
		fs.PowerCut(rand.New(rand.NewPCG(uint64(writes), 3)))
		for range 2 {
			again, err := openSeat(fs, keys, s.author, 0)
			if err != nil {
				t.Fatalf("after %d writes: %v", writes, err)
			}
			switch {
			case then.is(again.kept) == nil && again.Size() == 700:
				is++
				if err := again.Close(); err != nil {
					t.Fatal(err)
				}
			case !done && s.is(again.kept) == nil && again.Size() == 0:
				was++
			default:
				t.Fatalf("after %d writes there is neither what was nor what is: %v; %v", writes, s.is(again.kept), then.is(again.kept))
			}
		}
		if done {
			break
		}
	}
	if was == 0 || is == 0 {
		t.Errorf("%d times what was, %d times what is", was, is)
	}

	fs := archivetest.NewLossy()
	s := mustFound(t, fs, keys, 5)
	base := memberlog.Mark{Index: 900, Term: 4, Seq: 700}
	state := founding()
	state.Term, state.Commit, state.At = 4, 900, base
	if err := s.Rebase(given["checkpoint"], memberlog.Write{Base: &base, State: state}); err == nil {
		t.Error("it begins anew with tiles that are not there")
	}
	for name, data := range given {
		fs.Put(name, data)
	}
	base.Seq = 701
	if err := s.Rebase(given["checkpoint"], memberlog.Write{Base: &base, State: state}); err == nil {
		t.Error("it begins anew after another event than the checkpoint says")
	}
}

// The last member's log becomes a single box's again, with all events in both of their copies. A power cut leaves a member's, or a
// single box's.
func TestLeave(t *testing.T) {
	keys := newKeys(t)
	step := 2
	if testing.Short() {
		step = 9
	}
	for _, before := range []int{0, 300} {
		members, singles := 0, 0
		for writes := 0; ; writes += step {
			fs := archivetest.NewLossy()
			b := mustOpen(t, fs, keys)
			if err := errors.Join(b.record(b.pen.many(before)...), b.Close()); err != nil {
				t.Fatal(err)
			}
			state := memberlog.Founding(uint64(before))
			if err := archive.Found(fs, keys, state); err != nil {
				t.Fatal(err)
			}
			s, err := openSeat(fs, keys, newAuthor(1, state), 0)
			if err != nil {
				t.Fatal(err)
			}
			s.large = true
			for range 40 {
				if err := s.step(); err != nil {
					t.Fatal(err)
				}
			}
			if s.Leave(s.at(s.state.Commit-1)) == nil {
				t.Fatal("it left with entries that are not committed")
			}
			end, committed := s.end(), s.state.Commit
			s.state.Commit = end.Index
			if err := s.commit(); err != nil {
				t.Fatal(err)
			}
			s.state.Commit = committed
			behind := end
			behind.Index++
			if s.Leave(behind) == nil {
				t.Fatal("it left with another end than the log's")
			}
			size := s.Size()
			fs.StopAfter(writes)
			err = s.Leave(end)
			if err != nil && !stopped(err) && !errors.Is(err, archive.ErrFailed) {
				t.Fatal(err)
			}
			if err == nil && s.Write([]memberlog.Write{{State: s.state}}) == nil {
				t.Fatal("a member wrote after it had left")
			}
			fs.PowerCut(rand.New(rand.NewPCG(uint64(writes), 3)))
			single, openErr := open(fs, keys)
			if openErr == nil {
				singles++
				if single.Size() != size {
					t.Fatalf("the single box has %d events of %d", single.Size(), size)
				}
				if err := errors.Join(single.record(single.pen.many(3)...), scrubAll(single.Archive, 100), single.Close()); err != nil {
					t.Fatal(err)
				}
				if _, err := archive.Verify(bg, fs, keys.Verifier); err != nil {
					t.Fatal(err)
				}
				once := memberlog.Founding(uint64(size) + 3)
				if err := archive.Found(fs, keys, once); err != nil {
					t.Fatal(err)
				}
				again, err := openSeat(fs, keys, newAuthor(2, once), 0)
				if err != nil {
					t.Fatal(err)
				}
				if err := errors.Join(again.is(again.kept), scrubAll(again.Archive, 100)); err != nil {
					t.Fatal(err)
				}
			} else {
				members++
				again, memberErr := openSeat(fs, keys, s.author, 0)
				if memberErr != nil {
					t.Fatalf("after %d writes it is neither: %v; %v", writes, openErr, memberErr)
				}
				if err := s.is(again.kept); err != nil {
					t.Fatal(err)
				}
			}
			if err == nil {
				if openErr != nil {
					t.Fatal(openErr)
				}
				break
			}
		}
		if members == 0 || singles == 0 {
			t.Errorf("%d times a member's log, %d times a single box's", members, singles)
		}
	}
}

// A single box's log is written as it always was: the same bytes, in one write and one sync for each append.
func TestOneBoxPaysNothing(t *testing.T) {
	fs := archivetest.NewLossy()
	b := mustOpen(t, fs, newKeys(t))
	at := time.Unix(1700000000, 0).UTC()
	for i := range 3 {
		stored, err := ledger.Event{Format: ledger.Format, Epoch: 1, Subject: fmt.Sprint("item-", i), ItemSeq: 1, Type: "WorkAdded", Actor: "tester", Time: at, Payload: []byte(`{"n":1}`)}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		syncs := fs.Syncs()
		if err := b.record(stored, stored); err != nil {
			t.Fatal(err)
		}
		if n := fs.Syncs() - syncs; n != 1 {
			t.Errorf("an append took %d syncs", n)
		}
	}
	names, err := fs.ReadDir("log")
	if err != nil || len(names) != 1 || names[0] != "00000000000000000000.log" {
		t.Fatalf("the log has %v, %v", names, err)
	}
	data, err := fs.ReadFile("log/" + names[0])
	if err != nil {
		t.Fatal(err)
	}
	const want = "e3fb479679daaeab352fa4fdcddcee9568ab243a2ef72f643c51236cddf322da"
	if got := ledger.NewBlob(data).SHA256.String(); got != want {
		t.Errorf("its bytes have the hash %s, and had %s", got, want)
	}
}
