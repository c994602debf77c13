package index_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/index"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

var (
	secret = []byte("the box's secret")
	noon   = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
)

// subject returns a subject as the box makes them, in the order of n.
func subject(n int) string { return fmt.Sprintf("01J%023d", n) }

// item returns the record of the nth item, of one run in ten, after so many events.
func item(n, events int, at time.Time) index.Record {
	r := index.Record{
		Subject: subject(n), Kind: index.Item, ID: fmt.Sprintf("W-%05d", n), Phase: agentsig.PhaseCompleted,
		Latest: at.UnixMilli(), AddKey: fmt.Sprintf("key-of-%d", n),
	}
	switch n % 10 {
	case 0:
		r.Kind, r.ID, r.Phase = index.Run, fmt.Sprintf("R%d", n), ""
	case 1:
		r.Kind, r.ID, r.Phase = index.Conversation, fmt.Sprintf("Q-%05d", n), ""
	default:
		r.Run, r.Task = subject(n/10*10), fmt.Sprintf("T%d", n%10)
	}
	for i := range events {
		seq := uint64(1 + n*20 + i*i*7)
		r.Seqs = append(r.Seqs, seq)
		copy(r.Keys[1:], r.Keys[:])
		r.Keys[0] = work.KeyedSeq{Sum: seq * 0x9e3779b97f4a7c15, Seq: seq}
	}
	return r
}

func mark(size int64) index.Mark {
	return index.Mark{Size: size, Root: ledger.Sum([]byte(fmt.Sprint(size)))}
}

// model is what an index has to be like, in plain maps.
type model struct {
	mark    index.Mark
	records map[string]index.Record
	names   map[string]string // of items and conversations
	runs    map[string]string
	added   map[string]string // by kind and key
	young   time.Time         // records before this one may have lost their keys
}

func newModel() *model {
	return &model{
		records: map[string]index.Record{}, names: map[string]string{}, runs: map[string]string{}, added: map[string]string{},
	}
}

func (m *model) clone() *model {
	c := *m
	c.records, c.names, c.runs, c.added = maps.Clone(m.records), maps.Clone(m.names), maps.Clone(m.runs), maps.Clone(m.added)
	return &c
}

func (m *model) add(all []index.Record, upTo index.Mark) {
	if upTo.Size > m.mark.Size {
		m.mark = upTo
	}
	for _, r := range all {
		m.records[r.Subject] = r
		byName := m.names
		if r.Kind == index.Run {
			byName = m.runs
		}
		byName[r.ID] = max(byName[r.ID], r.Subject)
		if r.AddKey != "" {
			key := string(rune(r.Kind)) + r.AddKey
			m.added[key] = max(m.added[key], r.Subject)
		}
	}
}

// merge notes that keys may have been dropped.
func (m *model) merge(now time.Time) {
	if since := now.Add(-index.KeepKeys); since.After(m.young) {
		m.young = since
	}
}

// same compares a record, whose keys may be gone if they are old.
func (m *model) same(got, want index.Record) error {
	bare := want
	bare.AddKey, bare.Keys = "", [8]work.KeyedSeq{}
	if reflect.DeepEqual(got, want) || want.Latest < m.young.UnixMilli() && reflect.DeepEqual(got, bare) {
		return nil
	}
	return fmt.Errorf("%s is another:\n%s", want.Subject, cmp.Diff(want, got))
}

// check asks an index for everything that there is, and for what there is not.
func (m *model) check(x *index.Index) error {
	if got := x.Mark(); got != m.mark {
		return fmt.Errorf("the mark is %v, and not %v", got, m.mark)
	}
	for _, f := range []func(*index.Index) error{m.checkRecords, m.checkNames, m.checkRuns, m.checkLists, checkNone} {
		if err := f(x); err != nil {
			return err
		}
	}
	return nil
}

func (m *model) checkRecords(x *index.Index) error {
	for s, want := range m.records {
		got, found, err := x.Get(s)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("%s is not found", s)
		}
		if err := m.same(got, want); err != nil {
			return err
		}
	}
	return nil
}

func (m *model) checkNames(x *index.Index) error {
	for _, by := range []struct {
		what string
		all  map[string]string
		find func(string) (string, bool, error)
	}{{"name", m.names, x.Named}, {"run", m.runs, x.RunNamed}, {"key", m.added, func(key string) (string, bool, error) { return x.AddedBy(index.Kind(key[0]), key[1:]) }}} {
		for name, want := range by.all {
			got, found, err := by.find(name)
			if err != nil {
				return err
			}
			old := by.what == "key" && m.records[want].Latest < m.young.UnixMilli()
			if (!found || got != want) && !old {
				return fmt.Errorf("%s %s leads to %q, and not to %s", by.what, name, got, want)
			}
		}
	}
	return nil
}

func (m *model) checkRuns(x *index.Index) error {
	items, tasks := map[string][]string{}, map[string]string{}
	for _, s := range slices.Sorted(maps.Keys(m.records)) {
		r := m.records[s]
		if r.Run != "" {
			items[r.Run] = append(items[r.Run], s)
			tasks[r.Task] = max(tasks[r.Task], r.Run)
		}
	}
	for task, want := range tasks {
		if got, found, err := x.TaskNamed(task); err != nil || !found || got != want {
			return fmt.Errorf("task %s is in run %q, and not in %s: %w", task, got, want, err)
		}
	}
	for run, want := range items {
		got, err := x.ItemsOf(run)
		if err != nil {
			return err
		}
		if err := m.sameList(got, want); err != nil {
			return fmt.Errorf("run %s: %w", run, err)
		}
	}
	return nil
}

func (m *model) sameList(got []index.Record, want []string) error {
	var subjects []string
	for _, r := range got {
		subjects = append(subjects, r.Subject)
	}
	if !slices.Equal(subjects, want) {
		return fmt.Errorf("there are %v, and not %v", subjects, want)
	}
	for _, r := range got {
		if err := m.same(r, m.records[r.Subject]); err != nil {
			return err
		}
	}
	return nil
}

// checkLists goes through every list page by page.
func (m *model) checkLists(x *index.Index) error {
	for _, kind := range []index.Kind{index.Item, index.Run, index.Conversation} {
		for _, phase := range []agentsig.Phase{"", agentsig.PhaseCompleted, agentsig.PhaseBlocked} {
			var want []string
			for _, s := range slices.Sorted(maps.Keys(m.records)) {
				if r := m.records[s]; r.Kind == kind && (phase == "" || r.Phase == phase) {
					want = append(want, s)
				}
			}
			limit := 1 + len(want)/3
			var got []index.Record
			for q := (index.Query{Kind: kind, Phase: phase, Limit: limit}); ; q.After = got[len(got)-1].Subject {
				page, err := x.List(context.Background(), q)
				if err != nil {
					return err
				}
				if got = append(got, page...); len(page) < limit {
					break
				}
			}
			if err := m.sameList(got, want); err != nil {
				return fmt.Errorf("the list of %c %s: %w", kind, phase, err)
			}
		}
	}
	return nil
}

// checkNone asks for what was never added.
func checkNone(x *index.Index) error {
	_, one, err1 := x.Get(subject(999_999))
	_, two, err2 := x.Named("W-none")
	_, three, err3 := x.RunNamed("W-00002") // which is an item's
	_, four, err4 := x.AddedBy(index.Item, "none")
	_, five, err5 := x.TaskNamed("T0")
	items, err6 := x.ItemsOf(subject(999_990))
	if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
		return err
	}
	if one || two || three || four || five || len(items) > 0 {
		return fmt.Errorf("something is found that was never added: %v %v %v %v %v %d", one, two, three, four, five, len(items))
	}
	return nil
}

func open(t testing.TB, files archive.FS) *index.Index {
	t.Helper()
	x, err := index.Open(files, secret)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// must fails the test at an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// onlyListed fails the test if there are files that the manifest does not list.
func onlyListed(t testing.TB, files archive.FS) {
	t.Helper()
	names, err := files.ReadDir(".")
	must(t, err)
	data, err := files.ReadFile("manifest")
	must(t, err)
	if want := 1 + strings.Count(string(data), "\nfile "); len(names) != want {
		t.Errorf("%v are there, and the manifest lists %d:\n%s", names, want-1, data)
	}
}
