package archive_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/archive"
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
	s := memberlog.Founding(1, 0)
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
