package index_test

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/index"
)

var size = flag.Int("records", 200_000, "records in the benchmark's index, and in TestMemory's")

// fill adds records, as a box does: in batches, of which it merges some.
func fill(t testing.TB, x *index.Index, n int) {
	t.Helper()
	for first := 0; first < n; first += 10_000 {
		all := make([]index.Record, 0, 10_000)
		for i := first; i < min(n, first+10_000); i++ {
			all = append(all, item(i, 5, noon))
		}
		must(t, x.Add(all, mark(int64(first+1))))
		must(t, x.Merge(context.Background(), noon.Add(48*time.Hour)))
	}
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// An index needs 10 bytes of memory for a record, however many there are.
func TestMemory(t *testing.T) {
	x := open(t, archive.Dir(t.TempDir()))
	before := heap()
	start := time.Now()
	n := *size
	if testing.Short() {
		n /= 10
	}
	fill(t, x, n)
	took := time.Since(start)
	used := heap() - before
	t.Logf("%d records added and merged in %v; %.2f MB in memory, %.1f bytes for each", n, took.Round(time.Millisecond), float64(used)/1e6, float64(used)/float64(n))
	if limit := int64(10*n + 100_000); used > limit {
		t.Errorf("%d bytes are more than %d", used, limit)
	}
	must(t, x.Close())
}

// sample is what one lookup gave, so that it is not left out.
var sample string

// BenchmarkLookup compares lookups with those in a map that has a part of the records, in one run.
func BenchmarkLookup(b *testing.B) {
	dir := archive.Dir(b.TempDir())
	x := open(b, dir)
	before := heap()
	fill(b, x, *size)
	b.Logf("%d records; %.1f MB in memory", *size, float64(heap()-before)/1e6)
	plain := map[string]index.Record{}
	names := map[string]string{}
	for i := range min(*size, 200_000) {
		r := item(i, 5, noon)
		plain[r.Subject], names[r.ID] = r, r.Subject
	}
	scattered := func(i int) int { return i * 7919 % min(*size, 200_000) }
	for _, c := range []struct {
		name          string
		lookup, plain func(i int) bool
	}{
		{"record", func(i int) bool {
			r, found, err := x.Get(subject(scattered(i)))
			sample = r.ID
			return found && err == nil
		}, func(i int) bool {
			r, found := plain[subject(scattered(i))]
			sample = r.ID
			return found
		}},
		{"name", func(i int) bool {
			s, found, err := x.Named(fmt.Sprintf("W-%05d", scattered(i)/10*10+5))
			sample = s
			return found && err == nil
		}, func(i int) bool {
			s, found := names[fmt.Sprintf("W-%05d", scattered(i)/10*10+5)]
			sample = s
			return found
		}},
		{"no such name", func(i int) bool {
			_, found, err := x.Named(fmt.Sprintf("X-%05d", i))
			return !found && err == nil
		}, func(i int) bool {
			_, found := names[fmt.Sprintf("X-%05d", i)]
			return !found
		}},
		{"no such record", func(i int) bool {
			_, found, err := x.Get(subject(*size + 1 + i))
			return !found && err == nil
		}, func(i int) bool {
			_, found := plain[subject(*size+1+i)]
			return !found
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			n, right := 0, true
			for ; b.Loop(); n++ {
				right = c.lookup(n) && right
			}
			b.StopTimer()
			start := time.Now()
			for i := range n {
				right = c.plain(i) && right
			}
			b.ReportMetric(float64(b.Elapsed())/float64(time.Since(start)), "x-map")
			if !right {
				b.Fatal("an answer is wrong")
			}
		})
	}
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			must(b, open(b, dir).Close())
		}
	})
	b.Run("list of a phase that no record has", func(b *testing.B) {
		for b.Loop() {
			all, err := x.List(context.Background(), index.Query{Kind: index.Item, Phase: "NONE", Limit: 100})
			must(b, err)
			if len(all) > 0 {
				b.Fatal(all)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(*size), "ns/record")
	})
	must(b, x.Close())
}

// BenchmarkAdd is one eviction of a thousand records: all of its syncs.
func BenchmarkAdd(b *testing.B) {
	x := open(b, archive.Dir(b.TempDir()))
	all := make([]index.Record, 1000)
	for i := range all {
		all[i] = item(i, 5, noon)
	}
	for b.Loop() {
		must(b, x.Add(slices.Clone(all), mark(1)))
		b.StopTimer()
		must(b, x.Merge(context.Background(), noon))
		b.StartTimer()
	}
	b.StopTimer()
	must(b, x.Close())
}
