package memberlink_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/internal/member"
	"github.com/signalbox-dev/signalbox/internal/raftlog"
	"github.com/signalbox-dev/signalbox/ledger"
)

const (
	tick  = 50 * time.Millisecond
	elect = 10
)

// seat is a member of a cluster in use.
type seat struct {
	*raftlog.Log
	*box     // nil if messages go through memory
	mu       sync.Mutex
	last     map[string]uint64
	records  []string
	archived *archive.Archive
	end      func() error // ends its log and archive
}

func (s *seat) take(records []engine.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range records {
		s.last[r.Subject] = r.Seq
		s.records = append(s.records, string(r.Data))
	}
	return nil
}

func (s *seat) folded() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.records)
}

// memory carries messages within the process.
type memory map[uint64]*seat

func (m memory) Send(_ context.Context, to uint64, messages ...[]byte) error {
	for _, message := range messages {
		m[to].Receive(message)
	}
	return nil
}

func (m memory) Fetch(context.Context, string) ([]byte, error) {
	return nil, errors.New("nothing is fetched here")
}

// cluster starts three members, which reach each other through TLS or through memory.
func cluster(t testing.TB, wired bool) []*seat {
	t.Helper()
	signer, verifier, err := ledger.NewKey(ledger.Origin("example.com/ledger", 1))
	if err != nil {
		t.Fatal(err)
	}
	keys := archive.Keys{Signer: signer, Verifier: verifier}
	voters := []uint64{1, 2, 3}
	w, m, seats := newWorld(), memory{}, []*seat{}
	ready := make(chan struct{}) // all have their logs: none has received anything before
	for _, id := range voters {
		s := &seat{last: map[string]uint64{}}
		m[id], seats = s, append(seats, s)
		if wired {
			s.box = w.box(t, id, func(b []byte) {
				<-ready
				s.Receive(b)
			})
			s.read = func(name string) ([]byte, error) {
				<-ready
				return s.archived.ReadFile(name)
			}
		}
	}
	dir := t.TempDir()
	for i, id := range voters {
		s, files := seats[i], archive.Dir(filepath.Join(dir, fmt.Sprint(id)))
		at := member.Mark{Index: uint64(len(voters)), Term: 1}
		if err := archive.Found(files, keys, member.State{ID: id, Term: 1, Commit: at.Index, At: at, Members: member.Members{Voters: voters}}); err != nil {
			t.Fatal(err)
		}
		a, j, err := archive.OpenMember(files, keys)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Start(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		s.archived = a
		transport := raftlog.Transport(gate{m, ready})
		if wired {
			transport = s.links
		}
		s.Log, err = raftlog.New(a, j, raftlog.Config{
			Follower: archive.Follower{
				Last:  func(subject string) (uint64, error) { return s.last[subject], nil },
				Fold:  s.take,
				Ended: func(error) {},
			},
			Transport: transport, Peers: voters, Tick: tick, Elect: elect, Keep: 4096,
		})
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		s.end = sync.OnceValue(func() error { return errors.Join(s.Close(), a.Close()) })
		t.Cleanup(func() {
			if err := s.end(); err != nil {
				t.Error(err)
			}
		})
	}
	close(ready)
	return seats
}

// gate lets through what is sent when all are there.
type gate struct {
	memory
	ready chan struct{}
}

func (g gate) Send(ctx context.Context, to uint64, messages ...[]byte) error {
	<-g.ready
	return g.memory.Send(ctx, to, messages...)
}

// appendTo appends at whoever leads, until it is stored.
func appendTo(ctx context.Context, seats []*seat, subject string, last uint64, data []byte) (uint64, error) {
	for {
		for _, s := range seats {
			if !s.Status().Leads {
				continue
			}
			if seq, err := s.Append(ctx, subject, last, data); !errors.Is(err, engine.ErrNotReady) {
				return seq, err
			}
		}
		select {
		case <-time.After(tick / 5):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

func event(subject string, text any) []byte {
	return fmt.Appendf(nil, `{"subject":%q,"text":%q}`, subject, fmt.Sprint(text))
}

// Three members reach each other through TLS: what 16 append comes to all of them, while one is out of reach, and when it is back.
func TestCluster(t *testing.T) {
	seats := cluster(t, true)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const writers, each = 16, 30
	last := make([]uint64, writers)
	count := 0
	write := func() {
		t.Helper()
		var all sync.WaitGroup
		for n := range writers {
			all.Go(func() {
				subject := fmt.Sprint("W", n)
				for i := range each {
					var err error
					if last[n], err = appendTo(ctx, seats, subject, last[n], event(subject, i)); err != nil {
						t.Errorf("record %d on %s: %v", i, subject, err)
						return
					}
				}
			})
		}
		all.Wait()
		count += writers * each
	}
	same := func(of ...*seat) {
		t.Helper()
		for _, s := range of {
			for len(s.folded()) < count && ctx.Err() == nil {
				time.Sleep(tick) // what it waits for is another goroutine's
			}
			if !slices.Equal(s.folded(), of[0].folded()) {
				t.Errorf("member %d has folded %d records, and they are not those of member %d", s.id, len(s.folded()), of[0].id)
			}
		}
	}
	write()
	same(seats...)
	away := slices.IndexFunc(seats, func(s *seat) bool { return !s.Status().Leads })
	if err := seats[away].stop(); err != nil {
		t.Error(err)
	}
	write()
	same(slices.DeleteFunc(slices.Clone(seats), func(s *seat) bool { return s == seats[away] })...)
	seats[away].serve(t, seats[away].address)
	write()
	same(seats...)
}

// BenchmarkAppends compares three members in one process that reach each other through TLS over loopback with three that do through memory, in turn, on real
// files. The table has the medians of the rounds, and the ratio to memory in the same round.
func BenchmarkAppends(b *testing.B) {
	names, loads := []string{"memory", "TLS"}, []int{1, 16, 64}
	measured := map[string][]time.Duration{}
	rates := map[string][]float64{}
	ratios := map[string][]float64{}
	rounds := 0
	for b.Loop() {
		rounds++
		for v, name := range names {
			seats := cluster(b, v == 1)
			if _, err := appendTo(b.Context(), seats, "first", 0, event("first", "")); err != nil {
				b.Fatal(err)
			}
			for _, writers := range loads {
				all, rate := measure(b, seats, writers)
				key := fmt.Sprint(writers, name)
				measured[key], rates[key] = append(measured[key], all), append(rates[key], rate)
			}
			for _, s := range seats {
				if err := s.end(); err != nil {
					b.Error(err)
				}
			}
		}
		for _, writers := range loads {
			mem, tls := measured[fmt.Sprint(writers, names[0])], measured[fmt.Sprint(writers, names[1])]
			n := min(len(mem), len(tls)) - 1
			ratios[fmt.Sprint(writers)] = append(ratios[fmt.Sprint(writers)], tls[n].Seconds()/mem[n].Seconds())
		}
	}
	var table strings.Builder
	fmt.Fprintf(&table, "median of %d\n%-8s %-8s %12s %12s %12s\n", rounds, "writers", "by", "appends/s", "p50 ms", "p50 ratio")
	for _, writers := range loads {
		for v, name := range names {
			key, ratio := fmt.Sprint(writers, name), 1.0
			if v == 1 {
				ratio = median(ratios[fmt.Sprint(writers)])
			}
			fmt.Fprintf(&table, "%-8d %-8s %12.0f %12.3f %12.2f\n", writers, name, median(rates[key]), median(measured[key]).Seconds()*1000, ratio)
		}
	}
	b.Log(table.String())
}

func median[T float64 | time.Duration](of []T) T { return slices.Sorted(slices.Values(of))[len(of)/2] }

// measure appends from so many writers for a second, and returns the median of how long one took, and how many there were in a second.
func measure(b *testing.B, seats []*seat, writers int) (time.Duration, float64) {
	b.Helper()
	const long = time.Second
	took := make([][]time.Duration, writers)
	text := strings.Repeat("x", 300)
	begun := time.Now()
	var all sync.WaitGroup
	for n := range writers {
		all.Go(func() {
			subject := fmt.Sprintf("W%d-%d", writers, n)
			var last uint64
			for time.Since(begun) < long {
				at := time.Now()
				var err error
				if last, err = appendTo(b.Context(), seats, subject, last, event(subject, text)); err != nil {
					b.Error(err)
					return
				}
				took[n] = append(took[n], time.Since(at))
			}
		})
	}
	all.Wait()
	lasted := time.Since(begun)
	each := slices.Concat(took...)
	return median(each), float64(len(each)) / lasted.Seconds()
}
