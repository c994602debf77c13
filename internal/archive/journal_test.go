package archive_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/archive/archivetest"
	"github.com/signalbox-dev/signalbox/internal/member/memberlog"
	"github.com/signalbox-dev/signalbox/ledger"
)

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
	wants("an end that is not sealed", archive.Found(fs, keys, memberlog.Founding(301, 300)), "not sealed")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	_, _, err := archive.OpenMember(fs, keys)
	wants("a single box's log", err, "was the directory of another box put here?")
	wants("another size", archive.Found(fs, keys, memberlog.Founding(300, 299)), "has 300 events")
	wants("a mirror", archive.Found(archive.Mirrored(fs, archivetest.NewLossy()), keys, memberlog.Founding(301, 300)), "no mirror")
	if err := archive.Found(fs, keys, memberlog.Founding(301, 300)); err != nil {
		t.Fatal(err)
	}
	_, err = archive.Open(fs, keys)
	wants("a member's log", err, "cluster.json")
	_, err = archive.Repair(bg, fs, keys)
	wants("a repair", err, "signalbox cluster rejoin")
	wants("founded again", archive.Found(fs, keys, memberlog.Founding(301, 300)), "cluster.json")
	_, _, err = archive.OpenMember(archive.Mirrored(fs, archivetest.NewLossy()), keys)
	wants("a mirror", err, "no mirror")

	s, err := openSeat(fs, keys, newAuthor(1, memberlog.Founding(301, 300)), 0)
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
	none, others, late, manyBlobs := event(5, 2), event(5, 2), event(5, 2), event(5, 2)
	none.Data = []byte("x")
	others.Subject = "b"
	late.Last = 1 << 63
	manyBlobs.Blobs = make([]ledger.Hash, 20_000)
	lateTerm := state(func(s *memberlog.State) { s.Term = 1 << 63 })
	for _, c := range []struct {
		what string
		w    memberlog.Write
		want string
	}{
		{"an event that is none", memberlog.Write{State: same, Entries: []memberlog.Entry{none}}, "not an event"},
		{"an event on something else", memberlog.Write{State: same, Entries: []memberlog.Entry{others}}, "subject"},
		{"an event after one that there can't be", memberlog.Write{State: same, Entries: []memberlog.Entry{late}}, "entry 5"},
		{"a term that there can't be", memberlog.Write{State: lateTerm, Entries: []memberlog.Entry{event(5, 1<<63)}}, "entry 5"},
		{"more blobs than fit", memberlog.Write{State: same, Entries: []memberlog.Entry{manyBlobs}}, "text"},
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

// What is damaged at a member is no case for a repair, which makes no member's log: its box is told to fetch all anew.
func TestJournalAdvice(t *testing.T) {
	keys := newKeys(t)
	bundle := ledger.EntriesPath(0, ledger.TileWidth)
	for _, c := range []struct {
		harmed string
		from   int64 // where the start looks from
	}{{ledger.CheckpointPath, 300}, {bundle, 0}, {"log", 300}} {
		fs := archivetest.NewLossy()
		b := mustOpen(t, fs, keys)
		if err := errors.Join(b.record(b.pen.many(300)...), b.Close(), archive.Found(fs, keys, memberlog.Founding(301, 300))); err != nil {
			t.Fatal(err)
		}
		names := []string{}
		if c.harmed == "log" {
			names, _ = fs.ReadDir(c.harmed)
		} else {
			data, err := fs.ReadFile(c.harmed)
			if err != nil {
				t.Fatal(err)
			}
			fs.Put(c.harmed, flip(data, len(data)/2))
		}
		for _, name := range names {
			if err := fs.Remove(c.harmed + "/" + name); err != nil {
				t.Fatal(err)
			}
		}
		a, _, err := archive.OpenMember(fs, keys)
		if err == nil {
			_, err = a.Start(bg, c.from)
		}
		if err == nil || !strings.Contains(err.Error(), "cluster rejoin") || strings.Contains(err.Error(), "repair") {
			t.Errorf("%s: %v", c.harmed, err)
		}
	}
}
