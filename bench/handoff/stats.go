package handoff

import (
	"slices"
	"time"
)

// Quantile returns the value that so many percent of sorted values are not above, and 0 for none.
func Quantile(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, (len(sorted)*percent+99)/100-1)]
}

// Milliseconds is a duration as tables show it.
func Milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// Spread is what a figure was in several rounds.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// SpreadOf returns the spread of values, of which there is at least one.
func SpreadOf(values []float64) Spread {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	return Spread{(v[(n-1)/2] + v[n/2]) / 2, v[0], v[n-1]}
}
