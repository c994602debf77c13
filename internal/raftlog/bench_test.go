package raftlog_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/engine"
)

// BenchmarkLogs compares one box's log with that of one member and of three in one process, in turn and on real files. Each round
// appends for a while from 64 writers and then from one; the table at the end has the medians, and the ratios to one box in the same round.
func BenchmarkLogs(b *testing.B) {
	variants := []struct {
		name string
		open func(b *testing.B, dir string) engine.Log
	}{
		{"one box", openOneBox},
		{"one member", func(b *testing.B, dir string) engine.Log { return openMembers(b, dir, 1) }},
		{"three members", func(b *testing.B, dir string) engine.Log { return openMembers(b, dir, 3) }},
	}
	loads := []int{64, 1}
	measured := make([][][]load, len(loads))
	for i := range loads {
		measured[i] = make([][]load, len(variants))
	}
	rounds := 0
	for b.Loop() {
		rounds++
		for v, variant := range variants {
			log := variant.open(b, b.TempDir())
			for i, writers := range loads {
				measured[i][v] = append(measured[i][v], measure(b, log, writers))
			}
			if err := log.Close(); err != nil {
				b.Error(err)
			}
		}
	}
	var table strings.Builder
	fmt.Fprintf(&table, "median of %d rounds\n%-8s %-14s %10s %10s %10s %12s %12s\n", rounds, "writers", "log", "appends/s", "p50 ms", "p99 ms", "ratio", "p50 ratio")
	for i, writers := range loads {
		for v, variant := range variants {
			all, base := measured[i][v], measured[i][0]
			var rate, p50, p99, ratio, late []float64
			for k, l := range all {
				rate, p50, p99 = append(rate, l.rate), append(p50, l.p50), append(p99, l.p99)
				ratio, late = append(ratio, l.rate/base[k].rate), append(late, l.p50/base[k].p50)
			}
			fmt.Fprintf(&table, "%-8d %-14s %10.0f %10.2f %10.2f %12.2f %12.2f\n", writers, variant.name, median(rate), median(p50), median(p99), median(ratio), median(late))
		}
	}
	b.Log(table.String())
}

type load struct{ rate, p50, p99 float64 }

func median(of []float64) float64 {
	if len(of) == 0 {
		return 0
	}
	of = slices.Sorted(slices.Values(of))
	return of[len(of)/2]
}

// measure appends from so many writers for two seconds, each on a subject of its own.
func measure(b *testing.B, log engine.Log, writers int) load {
	const long = 2 * time.Second
	took := make([][]time.Duration, writers)
	text := strings.Repeat("x", 300)
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	begun := time.Now()
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			subject := fmt.Sprintf("W%d-%d", writers, w)
			var last uint64
			for time.Since(begun) < long {
				at := time.Now()
				var err error
				if last, err = log.Append(ctx, subject, last, event(subject, text)); err != nil {
					b.Error(err)
					return
				}
				took[w] = append(took[w], time.Since(at))
			}
		})
	}
	all.Wait()
	lasted := time.Since(begun)
	each := slices.Sorted(slices.Values(slices.Concat(took...)))
	ms := func(part int) float64 { return each[len(each)*part/100].Seconds() * 1000 }
	return load{float64(len(each)) / lasted.Seconds(), ms(50), ms(99)}
}

func openOneBox(b *testing.B, dir string) engine.Log {
	a, err := archive.Open(archive.Dir(dir), newKeys(b))
	if err != nil {
		b.Fatal(err)
	}
	if _, err := a.Start(b.Context(), 0); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := a.Close(); err != nil {
			b.Error(err)
		}
	})
	last := map[string]uint64{}
	return archive.NewLog(a, archive.Follower{
		Last: func(subject string) (uint64, error) { return last[subject], nil },
		Fold: func(records []engine.Record) error {
			for _, r := range records {
				last[r.Subject] = r.Seq
			}
			return nil
		},
		Ended: func(error) {},
	})
}

func openMembers(b *testing.B, dir string, count int) engine.Log {
	n, _ := cluster(b, count, func(id uint64) archive.FS { return archive.Dir(filepath.Join(dir, fmt.Sprint(id))) }, nil)
	return n.client(b)
}
