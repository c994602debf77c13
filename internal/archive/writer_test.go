package archive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/archive/archivetest"
	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/internal/engine/enginetest"
)

// fold is the least that can follow a log: the records, and the last sequence of each subject.
type fold struct {
	mu      sync.Mutex
	last    map[string]uint64
	records []engine.Record
	unknown error // what Last fails with
	ended   error
}

func (f *fold) follower() archive.Follower {
	return archive.Follower{
		Last: func(subject string) (uint64, error) { return f.last[subject], f.unknown },
		Fold: func(records []engine.Record) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			for _, r := range records {
				f.last[r.Subject] = r.Seq
			}
			f.records = append(f.records, records...)
			return nil
		},
		Ended: func(err error) { f.ended = err },
	}
}

func (f *fold) folded() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.records)
}

// openLog starts an archive and its log, whose records are folded first.
func openLog(t *testing.T, fs archive.FS, keys archive.Keys) (*archive.Log, *fold, *archive.Archive) {
	t.Helper()
	a, err := archive.Open(fs, keys)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Start(bg, 0); err != nil {
		t.Fatal(err)
	}
	f := &fold{last: map[string]uint64{}}
	err = a.Entries(0, func(index int64, stored []byte) error {
		_, rest, _ := bytes.Cut(stored, []byte(`"subject":"`))
		about, _, _ := bytes.Cut(rest, []byte(`"`))
		f.last[string(about)] = uint64(index) + 1
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return archive.NewLog(a, f.follower()), f, a
}

func record(subject string, n int) []byte {
	return fmt.Appendf(nil, `{"subject":%q,"n":%d}`, subject, n)
}

func TestConformance(t *testing.T) {
	enginetest.Conformance(t, func(t *testing.T, dir string) engine.Log {
		l, _, a := openLog(t, archive.Dir(dir), newKeys(t))
		t.Cleanup(func() {
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		})
		return l
	})
}

// slowLog is files of which the log is synced when it is let.
type slowLog struct {
	archive.FS
	let chan struct{}
}

func (s *slowLog) Extend(name string) (archive.File, error) {
	f, err := s.FS.Extend(name)
	return slowFile{f, s.let}, err
}

type slowFile struct {
	archive.File
	let chan struct{}
}

func (f slowFile) Sync() error {
	<-f.let
	return f.File.Sync()
}

// Appends that gather while a batch is synced are checked against each other, and a conflict is
// answered when what it lost against is folded.
func TestLogChecksWhatGathers(t *testing.T) {
	keys := newKeys(t)
	synctest.Test(t, func(t *testing.T) {
		disk := &slowLog{archivetest.NewLossy(), make(chan struct{})}
		l, f, _ := openLog(t, disk, keys)
		defer l.Close()
		type result struct {
			seq    uint64
			err    error
			folded int // how many records were folded when it was answered
		}
		results := make(chan result, 4)
		add := func(subject string, last uint64, n int) {
			seq, err := l.Append(bg, subject, last, record(subject, n))
			results <- result{seq, err, f.folded()}
		}
		go add("first", 0, 0)
		synctest.Wait() // it is being synced
		for n := range 3 {
			go add("contested", 0, n)
		}
		synctest.Wait() // they have gathered
		select {
		case r := <-results:
			t.Fatalf("%+v was answered before anything was synced", r)
		default:
		}
		disk.let <- struct{}{}
		if r := <-results; r.seq != 1 || r.err != nil || r.folded < 1 {
			t.Errorf("the first one: %+v", r)
		}
		disk.let <- struct{}{}
		stored := 0
		for range 3 {
			r := <-results
			switch {
			case r.err == nil && r.seq == 2:
				stored++
			case !errors.Is(r.err, engine.ErrConflict):
				t.Errorf("got %+v", r)
			}
			if r.folded != 2 {
				t.Errorf("%+v was answered before what it was decided by was folded", r)
			}
		}
		if stored != 1 {
			t.Errorf("%d of three on one place were stored", stored)
		}
	})
}

// A last sequence that is not known is not taken for 0: the log ends.
func TestLogDoesNotGuessTheLast(t *testing.T) {
	l, f, a := openLog(t, archivetest.NewLossy(), newKeys(t))
	f.unknown = errors.New("the index can't be read")
	if seq, err := l.Append(bg, "item", 0, record("item", 1)); !errors.Is(err, f.unknown) {
		t.Errorf("got %d, %v", seq, err)
	}
	if err := l.Close(); err != nil || !errors.Is(f.ended, f.unknown) {
		t.Errorf("the log ended with %v, %v", f.ended, err)
	}
	if _, err := l.Append(bg, "other", 0, record("other", 1)); err == nil || a.Size() != 0 {
		t.Errorf("then %v, and there are %d events", err, a.Size())
	}
}

// What was given stays what it was when its bytes are used again.
func TestLogKeepsItsOwnBytes(t *testing.T) {
	l, f, a := openLog(t, archivetest.NewLossy(), newKeys(t))
	data := record("item", 1)
	want := bytes.Clone(data)
	if _, err := l.Append(bg, "item", 0, data); err != nil {
		t.Fatal(err)
	}
	clear(data)
	if got, err := a.Event(0); err != nil || !bytes.Equal(got, want) || !bytes.Equal(f.records[0].Data, want) {
		t.Errorf("the archive has %q, the fold %q, %v", got, f.records[0].Data, err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// No number is given twice, whatever ends the log: what was answered before is there after it.
func TestLogGoesOnAfterItsEnd(t *testing.T) {
	fs, keys := archivetest.NewLossy(), newKeys(t)
	var answered []uint64
	for round := range 6 {
		l, f, a := openLog(t, fs, keys)
		for n := range 3 {
			seq, err := l.Append(bg, "item", f.last["item"], record("item", n))
			if err != nil {
				t.Fatal(err)
			}
			answered = append(answered, seq)
			if round%2 == 1 {
				if _, err := a.Seal(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		switch round % 3 {
		case 0:
			fs.PowerCut(rand.New(rand.NewPCG(uint64(round), 5)))
		case 1:
			fs.Kill()
		case 2:
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, seq := range answered {
		if seq != uint64(i)+1 {
			t.Fatalf("the numbers were %v", answered)
		}
	}
	if _, _, a := openLog(t, fs, keys); a.Size() != int64(len(answered)) {
		t.Errorf("there are %d events of %d", a.Size(), len(answered))
	}
}

// A record that does not name its subject would be lost to whoever looks for it.
func TestLogRefusesAnotherSubject(t *testing.T) {
	l, _, _ := openLog(t, archivetest.NewLossy(), newKeys(t))
	defer l.Close()
	if _, err := l.Append(bg, "item", 0, record("other", 1)); err == nil || !strings.Contains(err.Error(), "does not name it") {
		t.Errorf("got %v", err)
	}
}

// An append whose context ends before it is written writes nothing.
func TestLogWithdraws(t *testing.T) {
	keys := newKeys(t)
	synctest.Test(t, func(t *testing.T) {
		disk := &slowLog{archivetest.NewLossy(), make(chan struct{})}
		l, _, a := openLog(t, disk, keys)
		ctx, cancel := context.WithCancel(bg)
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { _, err := l.Append(ctx, "one", 0, record("one", 1)); first <- err }()
		synctest.Wait()
		go func() { _, err := l.Append(ctx, "two", 0, record("two", 1)); second <- err }()
		synctest.Wait()
		cancel()
		if err := <-second; !errors.Is(err, context.Canceled) {
			t.Errorf("the one that waits: %v", err)
		}
		close(disk.let)
		if err := <-first; err != nil {
			t.Errorf("the one that is written: %v", err)
		}
		if err := l.Close(); err != nil || a.Size() != 1 {
			t.Errorf("there are %d events, %v", a.Size(), err)
		}
	})
}
