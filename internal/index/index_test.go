package index_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/archive/archivetest"
	"github.com/signalbox-dev/signalbox/internal/index"
)

// Whatever is added, merged and opened again: an index answers as plain maps do.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		files, m := archivetest.NewLossy(), newModel()
		x, err := index.Open(files, secret)
		if err != nil {
			t.Fatal(err)
		}
		now, size, events := noon, int64(0), map[int]int{}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				var all []index.Record
				for range rapid.IntRange(0, 20).Draw(t, "records") {
					n := rapid.IntRange(1, 60).Draw(t, "n")
					events[n] += rapid.SampledFrom([]int{1, 1, 2, 5, 300}).Draw(t, "events")
					r := item(n, min(events[n], 600), now)
					r.ID, r.AddKey = fmt.Sprintf("N-%d", n%40), fmt.Sprintf("K-%d", n%45) // some are of two
					if r.Kind == index.Item {
						r.Phase = rapid.SampledFrom([]agentsig.Phase{agentsig.PhaseCompleted, agentsig.PhaseBlocked}).Draw(t, "phase")
					}
					all = append(all, r)
				}
				size += rapid.Int64Range(-5, 100).Draw(t, "size")
				if err := x.Add(all, mark(size)); err != nil {
					t.Fatal(err)
				}
				m.add(all, mark(size))
			},
			"pass": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(1, 30).Draw(t, "hours")) * time.Hour)
			},
			"merge": func(t *rapid.T) {
				if err := x.Merge(context.Background(), now); err != nil {
					t.Fatal(err)
				}
				m.merge(now)
			},
			"reopen": func(t *rapid.T) {
				if err := x.Close(); err != nil {
					t.Fatal(err)
				}
				if x, err = index.Open(files, secret); err != nil {
					t.Fatal(err)
				}
			},
			"": func(t *rapid.T) {
				if err := m.check(x); err != nil {
					t.Fatal(err)
				}
			},
		})
	})
}

// Keys are found for a day, although files are merged, and then no more; names for ever.
func TestKeysAreFoundForADay(t *testing.T) {
	for _, c := range []struct {
		after time.Duration
		found bool
	}{{0, true}, {24*time.Hour - time.Millisecond, true}, {24 * time.Hour, true}, {24*time.Hour + time.Millisecond, false}} {
		x := open(t, archivetest.NewLossy())
		var last index.Record
		for n := range 8 {
			last = item(n+2, 3, noon)
			must(t, x.Add([]index.Record{last}, mark(int64(n))))
		}
		must(t, x.Merge(t.Context(), noon.Add(c.after)))
		subject, found, err := x.AddedBy(last.Kind, last.AddKey)
		must(t, err)
		r, _, err := x.Get(last.Subject)
		must(t, err)
		if found != c.found || found != (subject == last.Subject) || (r.Keys == last.Keys) != c.found || (r.AddKey == last.AddKey) != c.found {
			t.Errorf("after %v the key leads to %q, and its record has %q and %v", c.after, subject, r.AddKey, r.Keys)
		}
		if named, _, err := x.Named(last.ID); err != nil || named != last.Subject {
			t.Errorf("after %v the name leads to %q, %v", c.after, named, err)
		}
	}
}

// However many files are added, few are left, and no record is written again for every one.
func TestMerge(t *testing.T) {
	files := archivetest.NewLossy()
	x, m := open(t, files), newModel()
	for n := range 200 {
		all := []index.Record{item(n+2, 3, noon), item(n+1000, 1+n%50, noon)}
		must(t, x.Add(all, mark(int64(n+1))))
		must(t, x.Merge(t.Context(), noon))
		m.add(all, mark(int64(n+1)))
		names, err := files.ReadDir(".")
		must(t, err)
		if len(names) > 11 {
			t.Fatalf("after %d additions there are %v", n+1, names)
		}
		onlyListed(t, files)
	}
	must(t, m.check(x))
}

// A merge that is cancelled leaves everything as it was.
func TestMergeIsCancelled(t *testing.T) {
	files := archivetest.NewLossy()
	x, m := open(t, files), newModel()
	for n := range 12 {
		all := []index.Record{item(n, 3, noon)}
		must(t, x.Add(all, mark(int64(n))))
		m.add(all, mark(int64(n)))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := x.Merge(ctx, noon); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	onlyListed(t, files)
	must(t, m.check(x))
}

// What could not be found again as it was given is refused, and nothing of its batch is taken.
func TestBadRecords(t *testing.T) {
	x := open(t, archivetest.NewLossy())
	good := item(5, 3, noon)
	for name, change := range map[string]func(*index.Record){
		"has no subject":       func(r *index.Record) { r.Subject = "" },
		"no name":              func(r *index.Record) { r.ID = "" },
		"no known kind":        func(r *index.Record) { r.Kind = 'x' },
		"no events":            func(r *index.Record) { r.Seqs = nil },
		"event 0 out of order": func(r *index.Record) { r.Seqs = []uint64{0, 1} },
		"event 7 out of order": func(r *index.Record) { r.Seqs = []uint64{7, 7} },
	} {
		bad := item(6, 3, noon)
		change(&bad)
		if err := x.Add([]index.Record{good, bad}, mark(1)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	must(t, newModel().check(x))
	if _, err := x.List(t.Context(), index.Query{Kind: index.Item}); err == nil {
		t.Error("a list without a limit is made")
	}
}

// A record larger than a block, and names of every odd kind, are found again.
func TestOddRecords(t *testing.T) {
	x, m := open(t, archivetest.NewLossy()), newModel()
	var all []index.Record
	for i, name := range []string{"a", "ab", "\x00", "a\x00b", strings.Repeat("long", 5000), "W-1\n", "é", "R1"} {
		r := item(12+i*10, 1+i*500, noon)
		r.ID, r.AddKey, r.Task = name, "key "+name, name
		all = append(all, r)
	}
	short := item(2, 1, noon)
	short.Subject = "01J" // one is the beginning of others
	all = append(all, short, item(10, 3, noon))
	slices.Reverse(all)
	must(t, x.Add(all, mark(9)))
	m.add(all, mark(9))
	must(t, m.check(x))
}

// counted counts what is read.
type counted struct {
	archive.FS
	reads *int
}

type countedReader struct {
	archive.Reader
	reads *int
}

func (c counted) OpenReader(name string) (archive.Reader, error) {
	r, err := c.FS.OpenReader(name)
	return countedReader{r, c.reads}, err
}

func (c countedReader) ReadAt(p []byte, off int64) (int, error) {
	*c.reads++
	return c.Reader.ReadAt(p, off)
}

// A lookup reads a block or two, also of a task that every run has.
func TestLookupsReadLittle(t *testing.T) {
	reads := 0
	x, m := open(t, counted{archivetest.NewLossy(), &reads}), newModel()
	var all []index.Record
	for n := range 5000 {
		r := item(n, 1, noon)
		r.Task = "T1"
		all = append(all, r)
	}
	must(t, x.Add(all, mark(1)))
	m.add(all, mark(1))
	for what, lookup := range map[string]func() (string, bool, error){
		"task": func() (string, bool, error) { return x.TaskNamed("T1") },
		"name": func() (string, bool, error) { return x.Named("W-02345") },
		"key":  func() (string, bool, error) { return x.AddedBy(index.Item, "key-of-2345") },
		"record": func() (string, bool, error) {
			r, found, err := x.Get(subject(2345))
			return r.Subject, found, err
		},
	} {
		reads = 0
		_, found, err := lookup()
		if !found || err != nil || reads > 2 {
			t.Errorf("%s: %v, %v, %d reads", what, found, err, reads)
		}
	}
	must(t, m.checkRuns(x))
}

// Everything fails after Close, and an index can be closed twice.
func TestClose(t *testing.T) {
	dir := archive.Dir(filepath.Join(t.TempDir(), "new", "index"))
	x, m := open(t, dir), newModel()
	all := []index.Record{item(2, 3, noon)}
	must(t, x.Add(all, mark(7)))
	m.add(all, mark(7))
	must(t, x.Add(nil, mark(3))) // which it covers already
	must(t, errors.Join(x.Close(), x.Close()))
	_, _, err := x.Get(subject(2))
	_, _, err2 := x.Named("W-00002")
	_, err3 := x.ItemsOf(subject(0))
	_, err4 := x.List(t.Context(), index.Query{Kind: index.Item, Limit: 1})
	for i, err := range []error{err, err2, err3, err4, x.Add(nil, mark(8)), x.Merge(t.Context(), noon)} {
		if !errors.Is(err, index.ErrClosed) {
			t.Errorf("call %d after Close: %v", i, err)
		}
	}
	x = open(t, dir)
	must(t, m.check(x))
	must(t, x.Close())
}

// Lookups go on while records are added and files merged, and never miss what is there;
// files are gone when nobody reads them any more.
func TestReaders(t *testing.T) {
	dir := archive.Dir(t.TempDir())
	x, m := open(t, dir), newModel()
	first := []index.Record{item(2, 3, noon), item(10, 2, noon), item(12, 1, noon)}
	must(t, x.Add(first, mark(1)))
	m.add(first, mark(1))
	done := make(chan struct{})
	failed := make(chan error, 2)
	for range cap(failed) {
		go func() {
			for {
				select {
				case <-done:
					failed <- nil
					return
				default:
				}
				if err := errors.Join(m.checkRecords(x), m.checkNames(x), checkNone(x)); err != nil {
					failed <- err
					return
				}
				if page, err := x.List(context.Background(), index.Query{Kind: index.Item, Limit: 2}); err != nil || len(page) != 2 {
					failed <- fmt.Errorf("the first page has %d records: %w", len(page), err)
					return
				}
			}
		}()
	}
	merges := 30
	if testing.Short() {
		merges = 10
	}
	for n := range merges {
		must(t, x.Add([]index.Record{item(20+n, 3, noon)}, mark(int64(n+2))))
		must(t, x.Merge(t.Context(), noon))
	}
	close(done)
	for range cap(failed) {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	onlyListed(t, dir)
	must(t, x.Close())
}
