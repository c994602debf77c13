package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/engine"
)

const benchBytes = 500

func BenchmarkAppend(b *testing.B) {
	for _, sync := range []bool{true, false} {
		for _, writers := range []int{1, 64} {
			b.Run(fmt.Sprintf("sync=%t/writers=%d", sync, writers), func(b *testing.B) {
				j := open(b, engine.Options{Dir: b.TempDir(), SyncAlways: sync})
				data := make([]byte, benchBytes)
				b.ResetTimer()
				inParallel(b, writers, func(i int64) error {
					_, err := j.Append(b.Context(), fmt.Sprint("S", i), 0, data)
					return err
				})
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
			})
		}
	}
}

// inParallel calls f with 1 to b.N.
func inParallel(b *testing.B, workers int, f func(int64) error) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				if err := f(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

func restored(b *testing.B, j engine.Log, n int) {
	b.Helper()
	data := make([]byte, benchBytes)
	err := j.Restore(b.Context(), func(yield func(engine.Record, error) bool) {
		for i := range n {
			r := engine.Record{Seq: uint64(i) + 1, Subject: fmt.Sprint("S", i*7919%(n/5+1)), Data: data}
			if !yield(r, nil) {
				return
			}
		}
	})
	if err != nil {
		b.Fatal(err)
	}
}

func BenchmarkRestore(b *testing.B) {
	j := open(b, engine.Options{Dir: b.TempDir()})
	b.ResetTimer()
	restored(b, j, b.N)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

func BenchmarkRead(b *testing.B) {
	j := open(b, engine.Options{Dir: b.TempDir()})
	restored(b, j, b.N)
	n := 0
	b.ResetTimer()
	err := j.Read(b.Context(), 1, func(engine.Record) error {
		n++
		return nil
	})
	if err != nil || n != b.N {
		b.Fatalf("read %d of %d: %v", n, b.N, err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkOpen opens a log of b.N records on a fifth as many subjects.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	j := open(b, engine.Options{Dir: dir})
	restored(b, j, b.N)
	if err := j.Close(); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	open(b, engine.Options{Dir: dir})
	b.ReportMetric(b.Elapsed().Seconds(), "s")
}

// BenchmarkWatch measures from before an append to its record's arrival, on a log
// that is otherwise idle.
func BenchmarkWatch(b *testing.B) {
	j := open(b, engine.Options{Dir: b.TempDir()})
	arrived := make(chan time.Time)
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error)
	go func() {
		ended <- j.Watch(ctx, 1, func([]engine.Record) error {
			arrived <- time.Now()
			return nil
		})
	}()
	data := make([]byte, benchBytes)
	took := make([]time.Duration, b.N)
	b.ResetTimer()
	for i := range took {
		began := time.Now()
		if _, err := j.Append(b.Context(), fmt.Sprint("S", i), 0, data); err != nil {
			b.Fatal(err)
		}
		took[i] = (<-arrived).Sub(began)
	}
	b.StopTimer()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		b.Fatal(err)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}
