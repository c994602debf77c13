package enginetest

import (
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/engine"
)

// numbered yields records with the sequences from to to.
func numbered(from, to uint64) iter.Seq2[engine.Record, error] {
	return func(yield func(engine.Record, error) bool) {
		for seq := from; seq <= to; seq++ {
			if !yield(engine.Record{Seq: seq, Subject: fmt.Sprint("S", seq%100), Data: fmt.Append(nil, "restored ", seq)}, nil) {
				return
			}
		}
	}
}

func testRestore(t *testing.T, s suite) {
	const n = 3000
	for _, part := range [][2]uint64{{1, 0}, {1, 1}, {2, 1024}, {1025, n}} {
		if err := s.log.Restore(s.ctx, numbered(part[0], part[1])); err != nil {
			t.Fatalf("restore %d to %d: %v", part[0], part[1], err)
		}
		s.tip(t, max(part[0]-1, part[1]))
	}
	var want []engine.Record
	for r := range numbered(1, n) {
		want = append(want, r)
	}
	same(t, "restored", s.read(t, 1), want)
	if _, err := s.log.Append(s.ctx, "S0", 0, []byte("x")); !errors.Is(err, engine.ErrConflict) {
		t.Errorf("append on a restored subject as if it were new: %v", err)
	}
	if seq := s.append(t, "S0", n, "x"); seq != n+1 {
		t.Errorf("the record after the restored ones has the sequence %d", seq)
	}
}

func testRestoreRefuses(t *testing.T, s suite) {
	tip := uint64(len(s.fill(t, 3)))
	record := func(seq uint64) engine.Record { return engine.Record{Seq: seq, Subject: "R", Data: []byte("x")} }
	list := func(end error, all ...engine.Record) iter.Seq2[engine.Record, error] {
		return func(yield func(engine.Record, error) bool) {
			for _, r := range all {
				if !yield(r, nil) {
					return
				}
			}
			if end != nil {
				yield(engine.Record{}, end)
			}
		}
	}
	// Each continues where the one before it ended.
	for _, c := range []struct {
		why     string
		records iter.Seq2[engine.Record, error]
		want    error
		stored  uint64
	}{
		{"what is there", list(nil, record(3)), &engine.GapError{Want: 4, Got: 3}, 0},
		{"not what follows", list(nil, record(5)), &engine.GapError{Want: 4, Got: 5}, 0},
		{"a hole", list(nil, record(4), record(6)), &engine.GapError{Want: 5, Got: 6}, 1},
		{"one twice", list(nil, record(5), record(5)), &engine.GapError{Want: 6, Got: 5}, 1},
		{"what can't be read", list(errEnough, record(6)), errEnough, 1},
		{"a bad subject", list(nil, record(7), engine.Record{Seq: 8, Subject: "a.b"}), nil, 1},
	} {
		err := s.log.Restore(s.ctx, c.records)
		if err == nil {
			t.Errorf("%s: restored", c.why)
		}
		var gap, wantGap *engine.GapError
		if errors.As(c.want, &wantGap) {
			if !errors.As(err, &gap) || *gap != *wantGap {
				t.Errorf("%s: got %v, want %v", c.why, err, c.want)
			}
		} else if c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.why, err, c.want)
		}
		tip += c.stored
		s.tip(t, tip)
	}
}

func testRestoreRace(t *testing.T, s suite) {
	const n, rival = 20, 7
	err := s.log.Restore(s.ctx, func(yield func(engine.Record, error) bool) {
		for r, err := range numbered(1, n) {
			if r.Seq == rival {
				s.append(t, "rival", 0, "x")
			}
			if !yield(r, err) {
				return
			}
		}
	})
	if !errors.Is(err, engine.ErrConflict) {
		t.Errorf("someone else appended: %v", err)
	}
	rivals := 0
	for _, r := range s.read(t, 1) {
		if r.Subject == "rival" {
			rivals++
		} else if want := fmt.Sprint("restored ", r.Seq); string(r.Data) != want {
			t.Errorf("record %d is %q", r.Seq, r.Data)
		}
	}
	if rivals != 1 {
		t.Errorf("the rival's record is there %d times", rivals)
	}
}
