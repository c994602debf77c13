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

// Usage is what processes have used.
type Usage struct {
	CPU     time.Duration
	Written uint64 // bytes that were sent to the disk
}

// Add returns the sum.
func (u Usage) Add(v Usage) Usage { return Usage{u.CPU + v.CPU, u.Written + v.Written} }

// Sub returns the difference. A process that ended between two readings takes its usage with it, so
// there may seem to be less than before: then it is 0.
func (u Usage) Sub(v Usage) Usage {
	d := Usage{CPU: max(0, u.CPU-v.CPU)}
	if u.Written > v.Written {
		d.Written = u.Written - v.Written
	}
	return d
}
