package exitrule

import (
	"fmt"
	"math"
	"slices"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/price"
)

// upTo is the bars of a day and before.
func upTo(bars []price.Bar, day portfolio.Date) []price.Bar {
	n, _ := slices.BinarySearchFunc(bars, day.Add(1), func(b price.Bar, d portfolio.Date) int { return b.Date.Compare(d) })
	return bars[:n]
}

// whole says why bars do not go with the ticker's splits, if they don't: they end before one, so
// that they are of other shares than those that are held, or fall by its ratio on its day, so that
// they are not adjusted. That there are none is for fresh to say.
func whole(bars []price.Bar, splits []Split) error {
	if len(bars) == 0 {
		return nil
	}
	for _, s := range splits {
		at, _ := slices.BinarySearchFunc(bars, s.Date, func(b price.Bar, day portfolio.Date) int { return b.Date.Compare(day) })
		if at == len(bars) {
			return fmt.Errorf("the last price is of %s, before the split of %s; import newer ones", last(bars).Date, s.Date)
		}
		if at == 0 || math.Abs(math.Log(s.Ratio)) < leastJump {
			continue
		}
		if jump := math.Log(bars[at].Adj.Float() / bars[at-1].Adj.Float()); math.Abs(jump+math.Log(s.Ratio)) < math.Abs(jump) {
			return fmt.Errorf("the prices are not adjusted for the split of %s; import them with adjusted closes", s.Date)
		}
	}
	return nil
}

// leastJump is a split that can be told from a day's change of price: five shares for four.
const leastJump = 0.22

// fresh says why bars are too old for a verdict on a day, if they are.
func fresh(bars []price.Bar, asOf portfolio.Date) error {
	if len(bars) == 0 {
		return fmt.Errorf("there are no prices up to %s; import some", asOf)
	}
	newest := last(bars).Date
	if age := price.SessionsBetween(newest, asOf); age > MaxAge {
		return fmt.Errorf("the last price is of %s, %d sessions before %s; import newer ones", newest, age, asOf)
	}
	return nil
}

// months are the adjusted closes at the end of the last n complete months, oldest first. A month
// without a price near its end is not complete, and all n have to be there in a row, the last of
// them this month or the one before.
func months(bars []price.Bar, asOf portfolio.Date, n int) ([]float64, error) {
	ends := price.MonthEnds(bars, asOf)
	row := 0
	if len(ends) > 0 && last(ends).Date.Month() >= asOf.Month()-1 {
		for newest := last(ends).Date.Month(); row < min(n, len(ends)); row++ {
			day := ends[len(ends)-1-row].Date
			if day.Month() != newest-row || price.SessionsBetween(day, monthEnd(day)) > MaxAge {
				break
			}
		}
	}
	if row < n {
		return nil, fmt.Errorf("there are %d complete months of prices in a row up to %s, and %d are needed; import more", row, asOf, n)
	}
	return adjusted(ends[len(ends)-n:]), nil
}

// monthEnd is the last day of a day's month.
func monthEnd(day portfolio.Date) portfolio.Date {
	y, m, _ := day.Time().Date()
	return portfolio.NewDate(y, m+1, 0)
}

// days are the last n bars. They have to be of almost all sessions of their time: what a file of
// months calls 200 bars is not 200 days.
func days(bars []price.Bar, asOf portfolio.Date, n int) ([]price.Bar, error) {
	if len(bars) < n {
		return nil, fmt.Errorf("there are %d daily prices up to %s, and %d are needed; import more", len(bars), asOf, n)
	}
	bars = bars[len(bars)-n:]
	if sessions := price.SessionsBetween(bars[0].Date, last(bars).Date) + 1; sessions > n+n/10+MaxAge {
		return nil, fmt.Errorf("the last %d prices are spread over %d sessions: daily prices are missing; import them", n, sessions)
	}
	return bars, nil
}

// memory is how many times its days a chandelier looks back. Wilder's mean never forgets, but
// what is older than that weighs less than one part in ten thousand.
const memory = 10

// chandelier is the level that hangs a multiple of the average range below the highest price, and
// the average range, in adjusted prices.
func chandelier(bars []price.Bar, asOf portfolio.Date, n int, multiple float64) (level, atr float64, err error) {
	if _, err := days(bars, asOf, n+1); err != nil {
		return 0, 0, err
	}
	bars = bars[max(len(bars)-memory*n-1, 0):]
	closes := adjusted(bars)
	high, low := make([]float64, len(bars)), make([]float64, len(bars))
	for i, b := range bars {
		factor := b.Adj.Float() / b.Close.Float()
		high[i], low[i] = max(b.High.Float()*factor, closes[i]), closes[i]
		if b.Low.Sign() > 0 { // there are files that have closes alone
			low[i] = min(b.Low.Float()*factor, closes[i])
		}
	}
	atr = last(price.ATR(high, low, closes, n))
	level = last(price.Highest(high, n)) - multiple*atr
	if math.IsNaN(level) || math.IsInf(level, 0) || last(closes) <= 0 {
		return 0, 0, errProportion
	}
	return level, atr, nil
}

// The days that a year's volatility is taken from: a quarter's, if there are as many, and a
// month's at least. A year has sessions of its own.
const (
	volatilityDays    = 63
	minVolatilityDays = 21
	yearSessions      = 252
)

func annualVolatility(bars []price.Bar) float64 {
	if len(bars) <= minVolatilityDays {
		return 0
	}
	v := volatility(adjusted(bars[max(len(bars)-volatilityDays-1, 0):])) * math.Sqrt(yearSessions)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

func adjusted(bars []price.Bar) []float64 {
	closes := make([]float64, len(bars))
	for i, b := range bars {
		closes[i] = b.Adj.Float()
	}
	return closes
}

func last[T any](s []T) T { return s[len(s)-1] }

func returns(closes []float64) []float64 { return price.ROC(closes, 1)[1:] }

// volatility is the standard deviation of the returns from one close to the next.
func volatility(closes []float64) float64 { return deviation(returns(closes)) }

func mean(values []float64) float64 { return last(price.SMA(values, len(values))) }

func deviation(values []float64) float64 {
	if len(values) < 2 {
		return 0
	}
	return last(price.StdDev(values, len(values)))
}

// price is the stop price: below the last close, in the prices that are paid, a multiple of the
// tick. It is zero if there is none.
func (s Stop) price(bars []price.Bar, asOf portfolio.Date, tick portfolio.Decimal) portfolio.Decimal {
	newest := last(bars)
	stop := newest.Close.Mul(portfolio.NewDecimal(1, 0).Sub(s.Fraction))
	if s.Method == StopPercent {
		return floorTo(stop, tick)
	}
	multiple := s.Multiple.Float()
	level, atr, err := chandelier(bars, asOf, s.Days, multiple)
	if err != nil {
		return floorTo(stop, tick)
	}
	paid := newest.Close.Float() / newest.Adj.Float()
	for _, adjusted := range []float64{level, newest.Adj.Float() - multiple*atr} {
		if d, ok := decimal(adjusted * paid); ok && d.Sign() > 0 && d.Cmp(newest.Close) < 0 {
			return floorTo(d, tick)
		}
	}
	return floorTo(stop, tick)
}

// floorTo is the multiple of the tick at d or below it.
func floorTo(d, tick portfolio.Decimal) portfolio.Decimal {
	return d.Share(portfolio.NewDecimal(1, 0), tick).Floor(0).Mul(tick)
}

// decimal is a float to a millionth.
func decimal(f float64) (portfolio.Decimal, bool) {
	d, err := portfolio.ParseDecimal(fmt.Sprintf("%.6f", f))
	return d, err == nil
}

// review is the first session after the next month that will be complete: when rules of months
// say something new.
func review(asOf portfolio.Date) portfolio.Date {
	return price.NextSession(monthEnd(price.NextSession(asOf)))
}
