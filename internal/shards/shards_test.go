package main

import (
	"bytes"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// within reports whether two figures differ by no more than a share of what is wanted.
func within(got, want, share float64) bool { return math.Abs(got-want) <= share*math.Abs(want) }

// The mean wait, and how many do not wait at all, are what the formulas for this kind of queue say.
func TestQueueAgainstFormula(t *testing.T) {
	for _, used := range []float64{0.1, 0.3, 0.5, 0.7, 0.8, 0.9} {
		for _, service := range []time.Duration{time.Microsecond, service, time.Second} {
			waits := queue(chance(1), service, used, 500_000)
			if len(waits) != 500_000 {
				t.Fatalf("used %g: %d signals were served", used, len(waits))
			}
			if got, want := float64(mean(waits)), float64(waitOfMD1(service, used)); !within(got, want, 0.08) {
				t.Errorf("used %g, %v: they wait %v on the average, by formula %v", used, service, time.Duration(got), time.Duration(want))
			}
			atOnce := 0.
			for _, w := range waits {
				if w == 0 {
					atOnce++
				}
			}
			if got, want := atOnce/float64(len(waits)), 1-used; math.Abs(got-want) > 0.01 {
				t.Errorf("used %g, %v: %g of them did not wait, by formula %g", used, service, got, want)
			}
		}
	}
}

// slow serves signals tick by tick, as one would tell it: a queue, what is served, what is left of it. It returns
// when each signal is answered.
func slow(s shard, comes []time.Duration) []time.Duration {
	answers := make([]time.Duration, len(comes))
	next, served, left := 0, -1, time.Duration(0)
	var waits []int
	for now := time.Duration(0); next < len(comes) || len(waits) > 0 || served >= 0; now++ {
		if served >= 0 {
			if left--; left == 0 {
				answers[served], served = now, -1
			}
		}
		for next < len(comes) && comes[next] == now {
			waits, next = append(waits, next), next+1
		}
		down := s.from <= now && now < s.till
		if down && served >= 0 { // it is asked again
			waits, served = append([]int{served}, waits...), -1
		}
		if !down && served < 0 && len(waits) > 0 {
			served, waits, left = waits[0], waits[1:], s.service
		}
	}
	return answers
}

// Every signal is answered once, in its turn, whatever happens to the shard: as told tick by tick.
func TestEverySignalOnce(t *testing.T) {
	interrupted := 0
	for seed := range uint64(5000) {
		r := chance(seed)
		s := shard{service: 1 + time.Duration(r.IntN(5)), from: time.Duration(r.IntN(60))}
		s.till = s.from + time.Duration(r.IntN(30))
		reference := s
		var comes, got []time.Duration
		at := time.Duration(0)
		for range r.IntN(25) {
			at += time.Duration(r.IntN(8))
			comes = append(comes, at)
			answer := s.serve(at)
			if answer-s.service == s.till && at < s.from {
				interrupted++
			}
			got = append(got, answer)
		}
		if diff := cmp.Diff(slow(reference, comes), got, cmp.Transformer("", func(d time.Duration) int64 { return int64(d) })); len(comes) > 0 && diff != "" {
			t.Fatalf("seed %d: %v each, down from %v to %v, they come at %v (-tick by tick +got):\n%s", seed, s.service, s.from, s.till, comes, diff)
		}
	}
	if interrupted < 100 {
		t.Errorf("only %d were interrupted", interrupted)
	}
}

// The queue's length is how many have come and are not answered.
func TestWaiting(t *testing.T) {
	r, s := chance(1), shard{service: 5, from: 100, till: 200}
	var answers []time.Duration
	at := time.Duration(0)
	for range 1000 {
		at += time.Duration(r.IntN(10))
		answers = append(answers, s.serve(at))
		want := 0
		for _, a := range answers {
			if a > at {
				want++
			}
		}
		if got := s.waiting(at, answers[len(answers)-1]); got != want {
			t.Fatalf("at %d: %d wait, and not %d", at, got, want)
		}
	}
}

// While a shard is away its own signals wait, those of others do not; and its queue drains as the formula says.
func TestLose(t *testing.T) {
	const shards, backup, down = 4, 20 * time.Second, 20 * time.Second
	for _, used := range []float64{0.2, 0.5, 0.8} {
		l := lose(chance(1), service, used, shards, backup, down)
		each := rate(used, service)
		for _, c := range []struct {
			what      string
			got, want float64
		}{
			{"drained after", l.drained.Seconds(), drainTime(down, used).Seconds()},
			{"signals that waited", float64(l.delayed), each * (down + drainTime(down, used)).Seconds()},
			{"queue", float64(l.longest), each * down.Seconds()},
			{"answered since the backup", float64(l.sinceBackup), each * backup.Seconds()},
			{"signals elsewhere", float64(len(l.elsewhere)), (shards - 1) * each * down.Seconds()},
		} {
			if !within(c.got, c.want, 0.05) {
				t.Errorf("used %g: %s: %g, by formula %g", used, c.what, c.got, c.want)
			}
		}
		if q, alone := quantile(l.elsewhere, 0.5), quantile(queue(chance(2), service, used, 100_000), 0.5)+service; !within(q.Seconds(), alone.Seconds(), 0.05) {
			t.Errorf("used %g: elsewhere p50 is %v, alone %v", used, q, alone)
		}
	}
}

// A run stays where it is, whatever shards are added or emptied later; and shards get what their shares say.
func TestNoRunMoves(t *testing.T) {
	for seed := range uint64(200) {
		r := chance(seed)
		p := placement{{since: math.MinInt64, shares: evenly(0, 1+r.IntN(5))}}
		where := map[id]int{}
		for since := time.Duration(0); since < 10; since++ {
			for range 20 { // they begin in the epoch that is the last
				run := id{since, r.Uint64()}
				where[run] = p.of(run)
			}
			shards := len(p[len(p)-1].shares) + r.IntN(3)
			p = append(p, epoch{since + 1, evenly(r.IntN(shards), shards)})
			for run, shard := range where {
				if got := p.of(run); got != shard {
					t.Fatalf("seed %d: a run of %d moves from shard %d to %d", seed, run.born, shard, got)
				}
			}
		}
	}
	changed := placement{{since: 0, shares: evenly(0, 1)}, {since: 5, shares: evenly(1, 2)}}
	for born, want := range map[time.Duration]int{0: 0, 4: 0, 5: 1, 6: 1} {
		if got := changed.of(id{born, 7}); got != want {
			t.Errorf("what begins at %d is on shard %d, and not %d", born, got, want)
		}
	}
	p, r := placement{{shares: []uint64{0, 1, 3}}}, chance(1)
	var counts [3]float64
	for range 40_000 {
		counts[p.of(id{0, r.Uint64()})]++
	}
	if counts[0] != 0 || !within(counts[1], 10_000, 0.05) || !within(counts[2], 30_000, 0.05) {
		t.Errorf("shares of 0, 1 and 3 came to %v", counts)
	}
}

// Old shards lose their load as the formulas say, no run is lost, and all have the same in the end.
func TestGrow(t *testing.T) {
	const runs = 100_000
	for _, first := range []int{0, 4} {
		g := growth{4, 6, first, runs, time.Hour}
		for _, lives := range []float64{0, 0.2, 0.5, 1, 2, 5} {
			got := grow(chance(3), g, time.Duration(lives*float64(g.life)))
			if want := oldShare(4, 6, first, lives) * runs / 4; !within(got.old, want, 0.03) {
				t.Errorf("from shard %d, after %g lives: an old shard has %g, by formula %g", first, lives, got.old, want)
			}
			if all := 4*got.old + 2*got.new; !within(all, runs, 0.02) {
				t.Errorf("from shard %d, after %g lives: %g runs live, and not %d", first, lives, all, runs)
			}
			if got.fullest < max(got.old, got.new) {
				t.Errorf("the fullest has %g of %+v", got.fullest, got)
			}
		}
	}
}

// One run can't have more than a shard: what it says beyond that waits, and others don't notice.
func TestSkew(t *testing.T) {
	const shards, used, hot, lasts = 8, 0.5, 0.2, 30 * time.Second
	load := used * (1 - hot + hot*shards)
	s := skew(chance(1), service, used, shards, hot, lasts)
	if want := (load - 1) * lasts.Seconds() / service.Seconds(); !within(float64(s.unanswered), want, 0.1) {
		t.Errorf("%d are not answered, by formula %g", s.unanswered, want)
	}
	if quiet := skew(chance(1), service, used, shards, 0, lasts); quantile(s.elsewhere, 0.99) > quantile(quiet.elsewhere, 0.99) {
		t.Errorf("others wait: %v, without it %v", quantile(s.elsewhere, 0.99), quantile(quiet.elsewhere, 0.99))
	}
	if all := len(s.there) + len(s.elsewhere); !within(float64(all), shards*rate(used, service)*lasts.Seconds(), 0.02) {
		t.Errorf("%d signals came", all)
	}
}

// The same flags give the same table, and another seed another.
func TestSameSeed(t *testing.T) {
	for _, args := range []string{"queue -signals 20000", "loss -service 20ms", "grow -runs 500", "skew -for 2s"} {
		first, second, other := output(t, args), output(t, args), output(t, args+" -seed 2")
		if first != second || first == other {
			t.Errorf("%s:\n%s\n%s\n%s", args, first, second, other)
		}
	}
}

func output(t *testing.T, args string) string {
	t.Helper()
	var out bytes.Buffer
	if err := run(strings.Fields(args), &out, io.Discard); err != nil {
		t.Fatalf("%s: %v", args, err)
	}
	return out.String()
}

func TestRefused(t *testing.T) {
	for _, args := range []string{
		"", "dance", "queue more", "queue -service 0s", "queue -signals 0", "queue -no", "loss -shards 1", "loss -backup 0s", "grow -after 4",
		"grow -used 1", "grow -life 0s", "skew -shards 1", "skew -used 0", "skew -for 0s", "size -agents 0", "size -used 2", "size -disk 0", "size -core-hour -1",
	} {
		if err := run(strings.Fields(args), io.Discard, io.Discard); err == nil {
			t.Errorf("%q is not refused", args)
		}
	}
}

func TestQuantile(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	all := make([]time.Duration, 1000)
	for i, n := range r.Perm(1000) {
		all[i] = time.Duration(n)
	}
	if quantile(nil, 0.5) != 0 || quantile(all, 0.5) != 500 || quantile(all, 0.99) != 990 || quantile(all, 1) != 999 || mean(all) != 499 || mean(nil) != 0 {
		t.Error("quantiles and mean of 0 to 999 are wrong")
	}
}
