package price

import (
	"math"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// The indicators below give one value for each value they are given, made of that one and those
// before it. Where there are too few before it, or n is less than 1, the value is NaN; a caller
// has to look before it shows one. All but ATR are made of their own n values alone, added up
// afresh each time, so that an earlier beginning of the history does not change them by a bit.

// SMA is the mean of the last n values.
func SMA(values []float64, n int) []float64 { return rolling(values, n, mean) }

// StdDev is the standard deviation of the last n values as a whole population: divided by n.
func StdDev(values []float64, n int) []float64 {
	return rolling(values, n, func(window []float64) float64 {
		m, squares := mean(window), 0.0
		for _, v := range window {
			squares += (v - m) * (v - m)
		}
		return math.Sqrt(squares / float64(len(window)))
	})
}

// Highest is the greatest of the last n values.
func Highest(values []float64, n int) []float64 {
	return rolling(values, n, func(window []float64) float64 {
		highest := window[0]
		for _, v := range window[1:] {
			highest = max(highest, v)
		}
		return highest
	})
}

// ROC is the rate of change from the value n before: 0.1 is a tenth more. From zero there is
// none.
func ROC(values []float64, n int) []float64 {
	return rolling(values, reach(n), func(window []float64) float64 {
		if window[0] == 0 {
			return math.NaN()
		}
		return window[len(window)-1]/window[0] - 1
	})
}

// ATR is Wilder's average true range: at first the mean of n true ranges, then each new range
// weighs one n-th. A true range needs the close of the day before, so the first value is at
// index n. It has as many values as the shortest of the three.
func ATR(high, low, closes []float64, n int) []float64 {
	out := none(min(len(high), len(low), len(closes)))
	if n < 1 {
		return out
	}
	average := 0.0
	for i := 1; i < len(out); i++ {
		span := max(high[i], closes[i-1]) - min(low[i], closes[i-1])
		if i <= n {
			average += span / float64(n)
		} else {
			average += (span - average) / float64(n)
		}
		if i >= n {
			out[i] = average
		}
	}
	return out
}

// MonthEnds are the last bars of each month up to asOf. The month of asOf counts only once its
// last session is over: when neither asOf nor the bars stop before it. So the last of them is
// always that of the last complete month, and it stays when later bars come. The bars are in
// the order of their days.
func MonthEnds(bars []Bar, asOf portfolio.Date) []Bar {
	var ends []Bar
	for _, b := range bars {
		if b.Date.After(asOf) {
			break
		}
		if len(ends) > 0 && ends[len(ends)-1].Date.Month() == b.Date.Month() {
			ends[len(ends)-1] = b
		} else {
			ends = append(ends, b)
		}
	}
	if n := len(ends); n > 0 && ends[n-1].Date.Month() == asOf.Month() && ends[n-1].Date.Before(lastSession(asOf)) {
		return ends[:n-1]
	}
	return ends
}

// rolling is a function of each n values in a row.
func rolling(values []float64, n int, of func(window []float64) float64) []float64 {
	out := none(len(values))
	if n < 1 {
		return out
	}
	for i := n - 1; i < len(values); i++ {
		out[i] = of(values[i-n+1 : i+1])
	}
	return out
}

// reach is how many values lie from the n-th before to the present one; none if n is less than 1.
func reach(n int) int {
	if n < 1 {
		return 0
	}
	return n + 1
}

func mean(window []float64) float64 {
	sum := 0.0
	for _, v := range window {
		sum += v
	}
	return sum / float64(len(window))
}

// none is n values that are not there.
func none(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = math.NaN()
	}
	return out
}
