package archive_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/engine"
)

// typical returns events of about 450 bytes without writing each: that would take
// longer than what is measured.
func typical(n int) [][]byte {
	form := string(newPen().write("item-00000000", strings.Repeat("x", 160), nil))
	all := make([][]byte, n)
	for i := range all {
		all[i] = []byte(strings.Replace(form, "item-00000000", fmt.Sprintf("item-%08d", i), 1))
	}
	return all
}

func accept(int64, []byte) error { return nil }

func reconciled(b *testing.B, fs archive.FS, keys archive.Keys, s *stream) *archive.Archive {
	b.Helper()
	a, err := archive.Open(fs, keys)
	if err == nil {
		_, err = a.Reconcile(context.Background(), s, accept)
	}
	if err != nil {
		b.Fatal(err)
	}
	return a
}

func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{1, 32} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			events := typical(size)
			a := reconciled(b, archive.Dir(b.TempDir()), newKeys(b), &stream{})
			b.SetBytes(int64(size * len(events[0])))
			for b.Loop() {
				if err := a.Append(events); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			if err := a.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

func BenchmarkSeal(b *testing.B) {
	for _, size := range []int{1, 1000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			events := typical(size)
			a := reconciled(b, archive.Dir(b.TempDir()), newKeys(b), &stream{})
			for b.Loop() {
				b.StopTimer()
				if err := a.Append(events); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				if _, err := a.Seal(); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			if err := a.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

func BenchmarkReconcile(b *testing.B) {
	const size = 100_000
	keys, dir, s := newKeys(b), b.TempDir(), &stream{}
	a := reconciled(b, archive.Dir(dir), keys, s)
	for i, stored := range typical(size) {
		s.records = append(s.records, engine.Record{Seq: uint64(i) + 1, Subject: fmt.Sprintf("item-%08d", i), Data: stored})
	}
	for i := 0; i < size; i += 1000 {
		if err := a.Append(s.events()[i : i+1000]); err != nil {
			b.Fatal(err)
		}
	}
	if err := a.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		a := reconciled(b, archive.Dir(dir), keys, s)
		b.StopTimer()
		if err := a.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(size*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
