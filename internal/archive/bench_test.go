package archive_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/archive"
)

// typical returns events of about 450 bytes without writing each: that would take
// longer than what is measured.
func typical(n int) [][]byte { return typicalFrom(0, n) }

// typicalFrom returns the same from a subject on.
func typicalFrom(first, n int) [][]byte {
	form := string(pen{}.write("item-00000000", strings.Repeat("x", 160), nil))
	all := make([][]byte, n)
	for i := range all {
		all[i] = []byte(strings.Replace(form, "item-00000000", fmt.Sprintf("item-%08d", first+i), 1))
	}
	return all
}

func started(b *testing.B, fs archive.FS, keys archive.Keys, from int64) *archive.Archive {
	b.Helper()
	a, err := archive.Open(fs, keys)
	if err == nil {
		_, err = a.Start(b.Context(), from)
	}
	if err != nil {
		b.Fatal(err)
	}
	return a
}

func closed(b *testing.B, a *archive.Archive) {
	b.Helper()
	if err := a.Close(); err != nil {
		b.Fatal(err)
	}
}

// filled makes an archive of so many events.
func filled(b *testing.B, fs archive.FS, keys archive.Keys, size int) {
	b.Helper()
	a := started(b, fs, keys, 0)
	for from := 0; from < size; from += 1000 {
		if _, err := a.Append(typical(1000)); err != nil {
			b.Fatal(err)
		}
		if _, err := a.Seal(); err != nil {
			b.Fatal(err)
		}
	}
	closed(b, a)
}

func BenchmarkAppend(b *testing.B) {
	for _, mirror := range []bool{false, true} {
		for _, size := range []int{1, 32} {
			b.Run(fmt.Sprintf("%d/mirror=%v", size, mirror), func(b *testing.B) {
				events := typical(size)
				fs := archive.Dir(b.TempDir())
				if mirror {
					fs = archive.Mirrored(fs, archive.Dir(b.TempDir()))
				}
				a := started(b, fs, newKeys(b), 0)
				b.SetBytes(int64(size * len(events[0])))
				for b.Loop() {
					if _, err := a.Append(events); err != nil {
						b.Fatal(err)
					}
				}
				b.StopTimer()
				closed(b, a)
			})
		}
	}
}

func BenchmarkSeal(b *testing.B) {
	for _, size := range []int{1, 1000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			events := typical(size)
			a := started(b, archive.Dir(b.TempDir()), newKeys(b), 0)
			for b.Loop() {
				b.StopTimer()
				if _, err := a.Append(events); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				if _, err := a.Seal(); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			closed(b, a)
		})
	}
}

// BenchmarkStart starts an archive of 100,000 events: from its checkpoint, and looking at all of it.
func BenchmarkStart(b *testing.B) {
	const size = 100_000
	keys, fs := newKeys(b), archive.Dir(b.TempDir())
	filled(b, fs, keys, size)
	for name, from := range map[string]int64{"quick": size, "everything": 0} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				a := started(b, fs, keys, from)
				b.StopTimer()
				closed(b, a)
				b.StartTimer()
			}
		})
	}
}

// BenchmarkScrub scrubs one stretch after the other, as a box does.
func BenchmarkScrub(b *testing.B) {
	const size, stretch = 100_000, 4096
	keys, fs := newKeys(b), archive.Dir(b.TempDir())
	filled(b, fs, keys, size)
	a := started(b, fs, keys, size)
	at := int64(0)
	for b.Loop() {
		next, err := a.Scrub(b.Context(), at, stretch, nil)
		if err != nil {
			b.Fatal(err)
		}
		if at = next; at >= size {
			at = 0
		}
	}
	closed(b, a)
}

// BenchmarkRepair goes through an archive that is whole.
func BenchmarkRepair(b *testing.B) {
	const size = 100_000
	keys, fs := newKeys(b), archive.Dir(b.TempDir())
	filled(b, fs, keys, size)
	for b.Loop() {
		if done, err := archive.Repair(b.Context(), fs, keys); err != nil || len(done) > 0 {
			b.Fatal(done, err)
		}
	}
	b.ReportMetric(size*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
