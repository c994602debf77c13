package main

import (
	"math/rand/v2"
	"slices"
	"time"
)

// A shard serves signals one after the other, in the order in which they come. While it is down it serves nothing:
// who wanted something of it asks again with the same key until it is answered, so what comes meanwhile waits, and
// what was being served is begun anew.
type shard struct {
	service    time.Duration // for one signal
	from, till time.Duration // it is down in between; never, if they are the same

	free    time.Duration   // from then on it has nothing to do
	answers []time.Duration // of the signals that may not have been answered yet, in order
}

// serve takes a signal that comes at a time, and returns when it is answered. Signals come in the order of time.
func (s *shard) serve(at time.Duration) time.Duration {
	begin := max(at, s.free)
	if s.from < s.till && begin < s.till && begin+s.service > s.from {
		begin = s.till
	}
	s.free = begin + s.service
	return s.free
}

// waiting returns how many signals wait for their answer or are served at a time, after this one.
func (s *shard) waiting(at, answer time.Duration) int {
	done := 0
	for done < len(s.answers) && s.answers[done] <= at {
		done++
	}
	s.answers = append(s.answers[done:], answer)
	return len(s.answers)
}

// arrivals calls f with the times at which signals come: independent of each other, so many in a second on the
// average (a Poisson process, which is what many agents come to that know nothing of each other).
func arrivals(r *rand.Rand, rate float64, until time.Duration, f func(time.Duration)) {
	mean := float64(time.Second) / rate
	for at := gap(r, mean); at < until; at += gap(r, mean) {
		f(at)
	}
}

func gap(r *rand.Rand, mean float64) time.Duration { return time.Duration(r.ExpFloat64() * mean) }

func chance(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// quantile returns what the share q of them is not above. It sorts them.
func quantile(all []time.Duration, q float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[min(int(q*float64(len(all))), len(all)-1)]
}

func mean(all []time.Duration) time.Duration {
	sum := time.Duration(0)
	for _, d := range all {
		sum += d
	}
	return sum / time.Duration(max(len(all), 1))
}
