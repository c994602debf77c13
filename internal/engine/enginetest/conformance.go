// Package enginetest helps to test what stands on the log: the suite that every log has to
// pass, and a log that fails on command.
package enginetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/engine"
)

// patience ends a test that hangs.
const patience = 30 * time.Second

// Conformance checks that a log does what [engine.Log] says. It opens a new log
// for every test, in an empty directory, and closes it.
func Conformance(t *testing.T, open func(t *testing.T, dir string) engine.Log) {
	for _, c := range []struct {
		name string
		test func(*testing.T, suite)
	}{
		{"append and read", testAppendRead},
		{"compare and set", testCompareAndSet},
		{"one winner", testOneWinner},
		{"subjects are independent", testIndependent},
		{"what is stored", testStored},
		{"what is refused", testRefused},
		{"watch", testWatch},
		{"watch hands over little", testWatchLittle},
		{"watch ends", testWatchEnds},
		{"read while appending", testReadWhileAppending},
		{"read ends", testReadEnds},
		{"close", testClose},
		{"context", testContext},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			t.Cleanup(cancel)
			s := suite{ctx, open(t, t.TempDir())}
			t.Cleanup(func() {
				if err := s.log.Close(); err != nil {
					t.Error("close:", err)
				}
			})
			c.test(t, s)
		})
	}
}

type suite struct {
	ctx context.Context
	log engine.Log
}

// event returns data for a record: it names its subject, as every event does.
func event(subject string, text any) []byte {
	return fmt.Appendf(nil, `{"subject":%q,"text":%q}`, subject, fmt.Sprint(text))
}

func (s suite) append(t *testing.T, subject string, last uint64, text string) uint64 {
	t.Helper()
	seq, err := s.log.Append(s.ctx, subject, last, event(subject, text))
	if err != nil {
		t.Fatalf("append %q on %s after %d: %v", text, subject, last, err)
	}
	return seq
}

func (s suite) tip(t *testing.T, want uint64) {
	t.Helper()
	if got, err := s.log.Tip(s.ctx); got != want || err != nil {
		t.Fatalf("the tip is %d, want %d: %v", got, want, err)
	}
}

func (s suite) read(t *testing.T, from uint64) []engine.Record {
	t.Helper()
	var all []engine.Record
	err := s.log.Read(s.ctx, from, func(r engine.Record) error {
		all = append(all, r)
		return nil
	})
	if err != nil {
		t.Fatalf("read from %d: %v", from, err)
	}
	return all
}

// fill appends records on a few subjects, until there are n.
func (s suite) fill(t *testing.T, n int) []engine.Record {
	t.Helper()
	last := map[string]uint64{}
	var all []engine.Record
	for i := range n {
		subject := fmt.Sprint("S", i*i%7)
		data := fmt.Sprint("record ", i+1)
		seq := s.append(t, subject, last[subject], data)
		last[subject] = seq
		all = append(all, engine.Record{Seq: seq, Subject: subject, Data: event(subject, data)})
	}
	return all
}

func same(t *testing.T, what string, got, want []engine.Record) {
	t.Helper()
	for i, w := range want {
		if i == len(got) {
			t.Fatalf("%s: record %d and what follows is missing", what, w.Seq)
		}
		if g := got[i]; g.Seq != w.Seq || g.Subject != w.Subject || string(g.Data) != string(w.Data) {
			t.Fatalf("%s: got record %d on %s, %q, want record %d on %s, %q", what, g.Seq, g.Subject, g.Data, w.Seq, w.Subject, w.Data)
		}
	}
	if len(got) > len(want) {
		t.Fatalf("%s: %d records too many", what, len(got)-len(want))
	}
}

func testAppendRead(t *testing.T, s suite) {
	s.tip(t, 0)
	if got := s.read(t, 1); len(got) != 0 {
		t.Fatalf("an empty log has %v", got)
	}
	const n = 30
	all := s.fill(t, n)
	for i, r := range all {
		if r.Seq != uint64(i)+1 {
			t.Fatalf("append %d got the sequence %d", i+1, r.Seq)
		}
	}
	s.tip(t, n)
	for i := range all {
		same(t, fmt.Sprintf("from %d", i+1), s.read(t, uint64(i)+1), all[i:])
	}
	for _, from := range []uint64{n + 1, n + 2, n + 1000} {
		if got := s.read(t, from); len(got) != 0 {
			t.Fatalf("from %d, past the tip: %v", from, got)
		}
	}
}

func testCompareAndSet(t *testing.T, s suite) {
	first := s.append(t, "A", 0, "a1")
	other := s.append(t, "B", 0, "b1")
	second := s.append(t, "A", first, "a2")
	for _, c := range []struct {
		why     string
		subject string
		last    uint64
	}{
		{"as if there were none", "A", 0},
		{"stale", "A", first},
		{"another subject's", "A", other},
		{"ahead of the tip", "A", second + 1},
		{"ahead of the tip, on a new subject", "C", second + 1},
		{"the log's last, on a new subject", "C", second},
	} {
		seq, err := s.log.Append(s.ctx, c.subject, c.last, event(c.subject, "x"))
		if !errors.Is(err, engine.ErrConflict) || seq != 0 {
			t.Errorf("%s: got %d and %v, want a conflict", c.why, seq, err)
		}
	}
	s.tip(t, second)
	if seq := s.append(t, "A", second, "a3"); seq != second+1 {
		t.Errorf("a conflict used a sequence: the next is %d", seq)
	}
}

func testOneWinner(t *testing.T, s suite) {
	const rounds, writers = 40, 8
	var last uint64
	for round := range rounds {
		won := make(chan uint64, writers)
		var all sync.WaitGroup
		for w := range writers {
			all.Go(func() {
				seq, err := s.log.Append(s.ctx, "A", last, event("A", fmt.Sprintf("%d by %d", round, w)))
				switch {
				case err == nil:
					won <- seq
				case !errors.Is(err, engine.ErrConflict):
					t.Errorf("round %d, writer %d: %v", round, w, err)
				}
			})
		}
		all.Wait()
		if len(won) != 1 {
			t.Fatalf("round %d has %d winners", round, len(won))
		}
		last = <-won
	}
	s.tip(t, rounds)
}

func testIndependent(t *testing.T, s suite) {
	const writers, each = 8, 25
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			var last uint64
			for i := range each {
				subject := fmt.Sprint("W", w)
				seq, err := s.log.Append(s.ctx, subject, last, event(subject, i))
				if err != nil || seq <= last {
					t.Errorf("writer %d, record %d after %d: %d, %v", w, i, last, seq, err)
					return
				}
				last = seq
			}
		})
	}
	all.Wait()
	count := map[string]int{}
	for i, r := range s.read(t, 1) {
		if r.Seq != uint64(i)+1 || string(r.Data) != string(event(r.Subject, count[r.Subject])) {
			t.Fatalf("record %d is %d on %s: %q", i+1, r.Seq, r.Subject, r.Data)
		}
		count[r.Subject]++
	}
	s.tip(t, writers*each)
}

func testStored(t *testing.T, s suite) {
	subjects := []string{"01JZZZZZZZZZZZZZZZZZZZZZZZ", "_-azAZ09", strings.Repeat("s", 64), "0", "1"}
	long := strings.Repeat("x", engine.MaxRecord-len(event("0", "")))
	texts := []string{"", "\x00 \"bat1\" é \\ \n", "sboxlog1bat1", long, `,"subject":"0`}
	var data [][]byte
	for i, subject := range subjects {
		data = append(data, event(subject, texts[i]))
		given := bytes.Clone(data[i])
		if _, err := s.log.Append(s.ctx, subject, 0, given); err != nil {
			t.Fatal(err)
		}
		clear(given) // it is the caller's
	}
	got := s.read(t, 1)
	for i, d := range data {
		if got[i].Subject != subjects[i] || string(got[i].Data) != string(d) {
			t.Errorf("record %d came back as %s with %d bytes", i+1, got[i].Subject, len(got[i].Data))
		}
	}
}

func testRefused(t *testing.T, s suite) {
	refused := func(what string, err error) {
		t.Helper()
		for _, known := range []error{nil, engine.ErrConflict, engine.ErrNotReady, engine.ErrUnknown} {
			if errors.Is(err, known) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	for _, subject := range []string{"", "a.b", "*", ">", "a b", "a\n", "é", "$JS", "a\x00", strings.Repeat("s", 65)} {
		_, err := s.log.Append(s.ctx, subject, 0, event(subject, "x"))
		refused(fmt.Sprintf("subject %q", subject), err)
	}
	_, err := s.log.Append(s.ctx, "A", 0, event("A", strings.Repeat("x", engine.MaxRecord)))
	refused("a record that is too large", err)
	_, err = s.log.Append(s.ctx, "A", 0, event("B", "x"))
	refused("a record that names another subject", err)
	_, err = s.log.Append(s.ctx, "A", 0, nil)
	refused("a record without anything", err)
	refused("read from 0", s.log.Read(s.ctx, 0, func(engine.Record) error { return nil }))
	refused("watch from 0", s.log.Watch(s.ctx, 0, func([]engine.Record) error { return nil }))
	s.tip(t, 0)
}

// errEnough ends a Watch or a Read.
var errEnough = errors.New("enough")

// collect watches until the record with the sequence to has come.
func (s suite) collect(from, to uint64) ([]engine.Record, error) {
	var all []engine.Record
	err := s.log.Watch(s.ctx, from, func(batch []engine.Record) error {
		if len(batch) == 0 || len(batch) > engine.MaxBatch {
			return fmt.Errorf("a batch of %d", len(batch))
		}
		all = append(all, batch...)
		if all[len(all)-1].Seq >= to {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		return all, fmt.Errorf("watch from %d: %w", from, err)
	}
	return all, nil
}

func testWatch(t *testing.T, s suite) {
	const before, writers, each = 1500, 4, 200
	const total = before + writers*each
	s.fill(t, before)
	froms := []uint64{1, 2, before / 2, before, before + 1, before + 50}
	watched := make([][]engine.Record, len(froms))
	var all sync.WaitGroup
	for i, from := range froms {
		all.Go(func() {
			var err error
			if watched[i], err = s.collect(from, total); err != nil {
				t.Error(err)
			}
		})
	}
	for w := range writers {
		all.Go(func() {
			var last uint64
			for i := range each {
				var err error
				subject := fmt.Sprint("W", w)
				if last, err = s.log.Append(s.ctx, subject, last, event(subject, i)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	want := s.read(t, 1)
	if len(want) != total {
		t.Fatalf("there are %d records, want %d", len(want), total)
	}
	for i, from := range froms {
		same(t, fmt.Sprintf("watched from %d", from), watched[i], want[from-1:])
	}
}

// testWatchLittle sees that whoever watches, however slowly, holds a batch that is limited in bytes, and a copy.
func testWatchLittle(t *testing.T, s suite) {
	const each = 20 << 10
	const total = 3 * engine.MaxBatchBytes / each
	var last uint64
	for range total {
		last = s.append(t, "A", last, strings.Repeat("x", each))
	}
	want := s.read(t, 1)
	for i := range want {
		want[i].Data = bytes.Clone(want[i].Data)
	}
	var got []engine.Record
	err := s.log.Watch(s.ctx, 1, func(batch []engine.Record) error {
		size := 0
		for _, r := range batch {
			size += len(r.Data)
			r.Data = bytes.Clone(r.Data)
			got = append(got, r)
		}
		if size > engine.MaxBatchBytes || size < engine.MaxBatchBytes/2 && len(got) < total {
			return fmt.Errorf("a batch of %d bytes", size)
		}
		for _, r := range batch {
			clear(r.Data)
		}
		if len(got) < total {
			return nil
		}
		return errEnough
	})
	if !errors.Is(err, errEnough) {
		t.Fatal(err)
	}
	same(t, "watched", got, want)
	same(t, "read after what was watched has changed", s.read(t, 1), want)
}

func testWatchEnds(t *testing.T, s suite) {
	s.append(t, "A", 0, "x")
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	seen := make(chan struct{})
	end := make(chan error)
	go func() {
		end <- s.log.Watch(ctx, 1, func([]engine.Record) error {
			close(seen)
			return nil
		})
	}()
	<-seen
	cancel()
	if err := <-end; !errors.Is(err, context.Canceled) {
		t.Errorf("after the context: %v", err)
	}
}

func testReadWhileAppending(t *testing.T, s suite) {
	const n = 300
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := range n {
			subject := fmt.Sprint("S", i)
			if _, err := s.log.Append(s.ctx, subject, 0, event(subject, "x")); err != nil {
				t.Error(err)
				return
			}
		}
	})
	defer writer.Wait()
	for seen := 0; seen < n; {
		tip, err := s.log.Tip(s.ctx)
		if err != nil {
			t.Fatal(err)
		}
		got := s.read(t, 1)
		if len(got) < int(tip) || len(got) < seen {
			t.Fatalf("%d records, after %d, with the tip at %d", len(got), seen, tip)
		}
		seen = len(got)
		for i, r := range got {
			if r.Seq != uint64(i)+1 || r.Subject != fmt.Sprint("S", i) {
				t.Fatalf("record %d is %d on %s", i+1, r.Seq, r.Subject)
			}
		}
	}
}

func testReadEnds(t *testing.T, s suite) {
	s.fill(t, 10)
	calls := 0
	err := s.log.Read(s.ctx, 1, func(engine.Record) error {
		if calls++; calls == 3 {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) || calls != 3 {
		t.Errorf("%d calls and %v", calls, err)
	}
	ctx, cancel := context.WithCancel(s.ctx)
	calls = 0
	err = s.log.Watch(ctx, 1, func([]engine.Record) error {
		calls++
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) || calls != 1 {
		t.Errorf("%d calls and %v", calls, err)
	}
}

func testClose(t *testing.T, s suite) {
	s.append(t, "A", 0, "x")
	seen := make(chan struct{})
	end := make(chan error)
	go func() {
		end <- s.log.Watch(s.ctx, 1, func([]engine.Record) error {
			close(seen)
			return nil
		})
	}()
	<-seen
	if err := s.log.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-end; !errors.Is(err, engine.ErrClosed) {
		t.Errorf("a watch that waited: %v", err)
	}
	for call, err := range s.calls(s.ctx) {
		if !errors.Is(err, engine.ErrClosed) {
			t.Errorf("%s after close: %v", call, err)
		}
	}
	if err := s.log.Close(); err != nil {
		t.Errorf("close again: %v", err)
	}
}

func testContext(t *testing.T, s suite) {
	s.append(t, "A", 0, "x")
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	for call, err := range s.calls(ctx) {
		if !errors.Is(err, context.Canceled) || errors.Is(err, engine.ErrUnknown) {
			t.Errorf("%s after its context: %v", call, err)
		}
	}
	s.tip(t, 1)
}

// calls makes every call once, on a log with one record.
func (s suite) calls(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		_, appendErr := s.log.Append(ctx, "B", 0, event("B", "x"))
		_, tipErr := s.log.Tip(ctx)
		_ = yield("append", appendErr) &&
			yield("tip", tipErr) &&
			yield("read", s.log.Read(ctx, 1, func(engine.Record) error { return nil })) &&
			yield("watch", s.log.Watch(ctx, 1, func([]engine.Record) error { return nil }))
	}
}
