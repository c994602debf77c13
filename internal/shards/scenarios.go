package main

import (
	"flag"

	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"
)

// queueTable is one shard, by how much of its time is used.
func queueTable(flags *flag.FlagSet) func() ([][]string, error) {
	service, seed := serviceFlag(flags, service), seedFlag(flags)
	signals := flags.Int("signals", 1_000_000, "in each row")
	return func() ([][]string, error) {
		if err := positive("-service and -signals are more than 0", *service > 0 && *signals > 0); err != nil {
			return nil, err
		}
		rows := [][]string{{"used", "signals/s", "wait p50", "wait p99", "wait p99.9", "wait mean", "by M/D/1"}}
		for _, used := range []float64{0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95} {
			waits := queue(chance(*seed), *service, used, *signals)
			average := mean(waits)
			rows = append(rows, []string{
				percent(used), number(rate(used, *service)),
				millis(quantile(waits, 0.5)), millis(quantile(waits, 0.99)), millis(quantile(waits, 0.999)), millis(average),
				millis(waitOfMD1(*service, used)),
			})
		}
		return rows, nil
	}
}

// queue returns how long signals wait until they are served.
func queue(r *rand.Rand, service time.Duration, used float64, signals int) []time.Duration {
	s := shard{service: service}
	waits := make([]time.Duration, 0, signals)
	until := time.Duration(1.1 * float64(signals) * float64(service) / used)
	arrivals(r, rate(used, service), until, func(at time.Duration) {
		if len(waits) < signals {
			waits = append(waits, s.serve(at)-at-service)
		}
	})
	return waits
}

// rate returns how many signals in a second use so much of a shard's time.
func rate(used float64, service time.Duration) float64 { return used / service.Seconds() }

// waitOfMD1 is the mean wait by the formula for independent arrivals, one service time and one server.
func waitOfMD1(service time.Duration, used float64) time.Duration {
	return time.Duration(float64(service) * used / (2 * (1 - used)))
}

// lossTable is many shards, one of which is down for a while.
func lossTable(flags *flag.FlagSet) func() ([][]string, error) {
	service, seed := serviceFlag(flags, service), seedFlag(flags)
	shards := flags.Int("shards", 8, "how many there are")
	backup := flags.Duration("backup", time.Minute, "how old the backup is that the shard would be restored from if its disk is lost")
	return func() ([][]string, error) {
		if err := positive("-service and -backup are more than 0, -shards more than 1", *service > 0 && *backup > 0 && *shards > 1); err != nil {
			return nil, err
		}
		rows := [][]string{{"used", "down for", "signals that waited", "queue at most", "drained after", "by formula", "p99 elsewhere", "lost with its disk"}}
		for _, used := range []float64{0.1, 0.5, 0.8} {
			for _, down := range []time.Duration{10 * time.Second, time.Minute} {
				l := lose(chance(*seed), *service, used, *shards, *backup, down)
				rows = append(rows, []string{
					percent(used), down.String(), number(float64(l.delayed)), number(float64(l.longest)),
					seconds(l.drained), seconds(drainTime(down, used)), millis(quantile(l.elsewhere, 0.99)), number(float64(l.sinceBackup)),
				})
			}
		}
		return rows, nil
	}
}

// lost is what a shard's absence came to.
type lost struct {
	delayed     int             // signals of this shard that were not answered at once because of it
	longest     int             // queue
	drained     time.Duration   // after it was back
	elsewhere   []time.Duration // how long signals of the others took, while it was away
	sinceBackup int             // signals that it had answered since the backup
}

// lose takes the first shard away after the backup's age, and looks until all is as before.
func lose(r *rand.Rand, service time.Duration, used float64, shards int, backup, down time.Duration) (l lost) {
	all := make([]shard, shards)
	for i := range all {
		all[i].service = service
	}
	first := &all[0]
	first.from, first.till = backup, backup+down
	until := first.till + 2*drainTime(down, used) + time.Second
	arrivals(r, float64(shards)*rate(used, service), until, func(at time.Duration) {
		n := r.IntN(shards)
		answer := all[n].serve(at)
		switch {
		case n == 0 && answer <= first.from:
			l.sinceBackup++
		case n == 0:
			l.longest = max(l.longest, first.waiting(at, answer))
			if l.drained == 0 {
				l.delayed++
				if answer == at+service && at >= first.till { // the first that waits for none
					l.delayed--
					l.drained = at - first.till
				}
			}
		case at >= first.from && at < first.till:
			l.elsewhere = append(l.elsewhere, answer-at)
		}
	})
	return l
}

// drainTime is how long a queue takes that has grown for so long: what came meanwhile is served beside what comes.
func drainTime(down time.Duration, used float64) time.Duration {
	return time.Duration(float64(down) * used / (1 - used))
}

// growTable is shards that are added to others.
func growTable(flags *flag.FlagSet) func() ([][]string, error) {
	seed := seedFlag(flags)
	before := flags.Int("before", 4, "how many shards there were")
	after := flags.Int("after", 8, "how many there are then")
	used := flags.Float64("used", 0.8, "of the time of each shard, before")
	runs := flags.Int("runs", 20_000, "that are live at once")
	life := flags.Duration("life", time.Hour, "of a run, on the average")
	return func() ([][]string, error) {
		if err := positive("-before is more than 0, -after more than that, -used between 0 and 1, -runs and -life more than 0",
			*before > 0 && *after > *before && *used > 0 && *used < 1 && *runs > 0 && *life > 0); err != nil {
			return nil, err
		}
		rows := [][]string{{"new runs go", "after", "an old shard", "a new shard", "the fullest", "old, by formula"}}
		for _, first := range []int{0, *before} {
			to := "to all"
			if first > 0 {
				to = "to the new, until even"
			}
			for _, part := range []float64{0, 0.25, 0.5, 1, 2, 4} {
				at := time.Duration(part * float64(*life))
				g := grow(chance(*seed), growth{*before, *after, first, *runs, *life}, at)
				load := func(live float64) float64 { return *used * live * float64(*before) / float64(*runs) }
				rows = append(rows, []string{
					to, at.String(), percent(load(g.old)), percent(load(g.new)), percent(load(g.fullest)),
					percent(*used * oldShare(*before, *after, first, part)),
				})
			}
		}
		return rows, nil
	}
}

// A growth is how shards are added.
type growth struct {
	before, after int
	first         int // shard that new runs go to at first: 0, or the first new one
	runs          int // live at once
	life          time.Duration
}

// grown is how many live runs a shard has, old and new on the average, and the fullest.
type grown struct{ old, new, fullest float64 }

// grow adds shards at 0, and counts the live runs of each a while later.
func grow(r *rand.Rand, g growth, at time.Duration) grown {
	p := placement{{since: math.MinInt64, shares: evenly(0, g.before)}, {since: 0, shares: evenly(g.first, g.after)}}
	if g.first > 0 { // until the old shards have ended as many as they have too many
		p = append(p, epoch{evenAfter(g), evenly(0, g.after)})
	}
	live := make([]float64, g.after)
	begin := func(born time.Duration) {
		run := id{born, r.Uint64()}
		if ends := born + gap(r, float64(g.life)); ends > at {
			live[p.of(run)]++
		}
	}
	// Those that live at 0 began at some time before it. How long a run goes on does not depend on how long it has
	// gone on, so they live as long from 0 on as one that begins then.
	for range g.runs {
		run := id{-1, r.Uint64()}
		if gap(r, float64(g.life)) > at {
			live[p.of(run)]++
		}
	}
	if at > 0 {
		arrivals(r, float64(g.runs)/g.life.Seconds(), at, begin)
	}
	sum := func(all []float64) (n float64) {
		for _, v := range all {
			n += v
		}
		return n / float64(len(all))
	}
	return grown{sum(live[:g.before]), sum(live[g.before:]), slices.Max(live)}
}

// evenAfter is when the old shards have no more runs than the new ones, if all new runs go to these.
func evenAfter(g growth) time.Duration {
	return time.Duration(float64(g.life) * math.Log(float64(g.after)/float64(g.before)))
}

// oldShare is what an old shard has left of its load after so many lives of a run, by formula.
func oldShare(before, after, first int, lives float64) float64 {
	even := float64(before) / float64(after)
	if first > 0 {
		return max(even, math.Exp(-lives))
	}
	return even + (1-even)*math.Exp(-lives)
}

// skewTable is one run that says more than the others.
func skewTable(flags *flag.FlagSet) func() ([][]string, error) {
	service, seed := serviceFlag(flags, service), seedFlag(flags)
	shards := flags.Int("shards", 8, "how many there are")
	used := flags.Float64("used", 0.5, "of the time of all shards")
	lasts := flags.Duration("for", time.Minute, "how long it goes on")
	return func() ([][]string, error) {
		if err := positive("-service and -for are more than 0, -shards more than 1, -used between 0 and 1",
			*service > 0 && *lasts > 0 && *shards > 1 && *used > 0 && *used < 1); err != nil {
			return nil, err
		}
		rows := [][]string{{"its share of all signals", "its signals/s", "its shard is used", "p99 there", "p99 elsewhere", "unanswered at the end"}}
		for _, hot := range []float64{0, 0.01, 0.05, 0.1, 0.13, 0.2} {
			s := skew(chance(*seed), *service, *used, *shards, hot, *lasts)
			rows = append(rows, []string{
				percent(hot), number(hot * float64(*shards) * rate(*used, *service)), percent(*used * (1 - hot + hot*float64(*shards))),
				millis(quantile(s.there, 0.99)), millis(quantile(s.elsewhere, 0.99)), number(float64(s.unanswered)),
			})
		}
		return rows, nil
	}
}

// skewed is how long signals took on the hot run's shard, and on the others.
type skewed struct {
	there, elsewhere []time.Duration
	unanswered       int // there, at the end
}

// skew gives a share of all signals to one run, and the rest to many.
func skew(r *rand.Rand, service time.Duration, used float64, shards int, hot float64, lasts time.Duration) (s skewed) {
	all := make([]shard, shards)
	for i := range all {
		all[i].service = service
	}
	arrivals(r, float64(shards)*rate(used, service), lasts, func(at time.Duration) {
		n := 0
		if r.Float64() >= hot {
			n = r.IntN(shards)
		}
		answer := all[n].serve(at)
		switch {
		case n != 0:
			s.elsewhere = append(s.elsewhere, answer-at)
		default:
			s.there = append(s.there, answer-at)
			if answer > lasts {
				s.unanswered++
			}
		}
	})
	return s
}

func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) + " %" }

func millis(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds()*1000, 'f', 2, 64) + " ms"
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s" }

// number is a whole number with commas.
func number(f float64) string {
	text := strconv.FormatFloat(f, 'f', 0, 64)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
