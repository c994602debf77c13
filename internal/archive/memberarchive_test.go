package archive_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/archive/archivetest"
	"github.com/signalbox-dev/signalbox/internal/member/memberlog"
	"github.com/signalbox-dev/signalbox/ledger"
)

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
			events := int64(0)
			err := archive.Events(bg, fs, keys.Verifier, func(index int64, _ []byte) error {
				if index != events {
					t.Errorf("event %d comes after %d", index+1, events)
				}
				events++
				return nil
			})
			if err != nil || events != 700 {
				t.Errorf("of 700 events, which the log has none of, %d are handed on, %v", events, err)
			}
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
			state := memberlog.Founding(uint64(before)+1, uint64(before))
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
				once := memberlog.Founding(uint64(size)+4, uint64(size)+3)
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
