package box

import (
	"testing"
	"time"
)

// Each event of an archive is looked at once a month, however large it is, however it grows, and
// though the box runs for eight hours a day only. A small archive is not looked at all the time.
func TestScrubInAMonth(t *testing.T) {
	t.Parallel()
	for _, size := range []int64{0, 1, scrubStretch, 1_000_000, 10_000_000, 3_000_000_000} {
		now := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
		var at scrubbed
		var rounds, looked int64
		var longest time.Duration
		whole := now
		for grown := size; now.Before(time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)); grown += size / 500_000 {
			n, wait := at.due(now, grown)
			if n < 0 || wait <= 0 || at.Next+n > grown {
				t.Fatalf("%d events from %d of %d, then a pause of %v", n, at.Next, grown, wait)
			}
			if n > 0 {
				looked += n
				at = at.looked(now, at.Next+n, grown)
				if at.Next == 0 {
					rounds++
					longest = max(longest, now.Sub(whole))
					whole = now
				}
			}
			if now = now.Add(min(wait, time.Hour)); now.Hour() >= 17 {
				now = now.Add(16 * time.Hour)
			}
		}
		t.Logf("%d events: %d rounds in half a year, %d events looked at, %v at most between the ends of two", size, rounds, looked, longest)
		if size > 0 && (longest > 31*24*time.Hour || rounds < 5) || rounds > 190 {
			t.Errorf("%d events: %d rounds, %v at most between the ends of two", size, rounds, longest)
		}
	}
}

// A place that can't be, as a damaged file or an old archive gives one, does not end the rounds.
func TestScrubFromNowhere(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, next := range []int64{-1, 11, 1 << 62} {
		if n, _ := (scrubbed{Next: next, Begun: now}).within(10).due(now, 10); n != 10 {
			t.Errorf("from %d: %d events of 10 are looked at", next, n)
		}
	}
	if at := (scrubbed{Next: 10}).within(10); at.Next != 10 {
		t.Errorf("the end became %d", at.Next)
	}
}
