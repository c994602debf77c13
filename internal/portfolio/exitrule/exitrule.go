// Package exitrule says when to leave a position, and how much of it to sell. It is a function
// from prices and settings to a verdict: it reads no clock, no file and no network.
//
// A rule compares one number with its threshold. Some rules are primary: if one of them
// triggers, it is an exit, and if another rule triggers with it, a strong one. A rule that the
// prices are too few, too old or too patchy for has failed, which is never the same as not
// triggered: if a primary rule fails, there is no verdict.
//
// The rules, by name, with their parameters as they are if nothing is said:
//
//	trend_sma10m         the month-end close is below its mean of 10 months
//	tsmom_12             the return of 12 months is below zero
//	return_deceleration  the last month's return is below the mean of the 3 before
//	chandelier_22_3      the close is more than 3 average ranges below the highest of 22 days
//	regime_index_200d    an index is more than 1 % below its mean of 200 days
//	regime_basket        the mean return of some symbols over 3 months is below zero
//
// Rules look at adjusted closes up to a day, and months count when they are over.
package exitrule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/price"
)

// A Market is the prices that a verdict is made of. Bars are by day, oldest first, each day
// once; those after the day of the verdict are not looked at.
type Market struct {
	Bars   []price.Bar            // of the ticker
	Others map[string][]price.Bar // of the index and the basket: Config.Symbols
	Splits []Split                // of the ticker that the history knows, by day
}

// A Split is one of the ticker's.
type Split struct {
	Date  portfolio.Date
	Ratio float64 // new shares for one old
}

// The states of a signal.
const (
	StatusOK    = "ok"
	StatusError = "error"
)

// A Signal is what one rule says.
type Signal struct {
	RuleName  string  `json:"rule_name"`
	Triggered bool    `json:"triggered"`
	Severity  float64 `json:"severity"` // 0 to 1; 0 if not triggered
	IsPrimary bool    `json:"is_primary"`
	Status    string  `json:"status"` // StatusOK or StatusError
	Value     float64 `json:"value"`
	Threshold float64 `json:"threshold"`
	Gap       float64 `json:"gap"` // how far the value is through the threshold: 0.05 is 5 percentage points
	Message   string  `json:"message"`
}

// An Assessment is what the signals come to.
type Assessment string

// The assessments.
const (
	Error      Assessment = "ERROR"       // there is no verdict
	StrongExit Assessment = "STRONG EXIT" // a primary rule and another triggered, and none failed
	Exit       Assessment = "EXIT"        // a primary rule triggered
	Monitor    Assessment = "MONITOR"     // another rule triggered
	Hold       Assessment = "HOLD"        // no rule triggered
)

// A Verdict is what the rules say of a ticker on a day.
type Verdict struct {
	AsOf       portfolio.Date
	Assessment Assessment
	Text       string // one line that begins with the assessment
	Signals    []Signal
	Last       price.Bar         // the zero Bar if there is none
	Gap        float64           // of the primary rule that is furthest through its threshold
	Volatility float64           // of a year, by the last quarter's days; 0 if they are too few
	Stop       portfolio.Decimal // a stop price below the last close, in the prices that are paid; 0 if there is none
}

// Exits tells whether the verdict is to leave the position.
func (v Verdict) Exits() bool { return v.Assessment == Exit || v.Assessment == StrongExit }

// MaxAge is how many sessions old the last price may be, and how far from a month's end its last
// price.
const MaxAge = 5

// Evaluate makes the verdict of a day. The configuration is one that Check accepts.
func Evaluate(config Config, market Market, asOf portfolio.Date) Verdict {
	bars := upTo(market.Bars, asOf)
	unfit := cmp.Or(fresh(bars, asOf), whole(bars, market.Splits))
	v := Verdict{AsOf: asOf, Signals: make([]Signal, 0, len(config.Rules))}
	for _, rule := range config.Rules {
		s := evaluate(scene{config, market.Others, bars, unfit, asOf}, rule)
		if s.IsPrimary && s.Triggered {
			v.Gap = max(v.Gap, s.Gap)
		}
		v.Signals = append(v.Signals, s)
	}
	v.Assessment, v.Text = assess(v.Signals, unfit)
	if len(bars) > 0 {
		v.Last = bars[len(bars)-1]
		v.Volatility = annualVolatility(bars)
		v.Stop = config.Stop.price(bars, asOf, config.Tick)
	}
	return v
}

func evaluate(s scene, rule Rule) Signal {
	signal := Signal{RuleName: rule.Name, IsPrimary: rule.Primary, Status: StatusError}
	m, err := s.measure(rule)
	if err == nil && !m.finite() {
		err = errProportion
	}
	if err != nil {
		signal.Message = err.Error()
		return signal
	}
	signal.Status = StatusOK
	signal.Value, signal.Threshold, signal.Gap, signal.Message = m.value, m.threshold, m.gap, m.text
	signal.Triggered = m.gap > hair
	signal.Severity = severity(m.gap, m.volatility)
	return signal
}

// hair is what a number must be through its threshold to count. Less than that is the rounding of
// floats: a price that never moves equals its mean.
const hair = 1e-9

// flat is a volatility that is the rounding of floats.
const flat = 1e-12

// severity is the gap over twice the volatility of the rule's own horizon, up to 1. Without any
// volatility nothing tells much from little, and it is one half.
func severity(gap, volatility float64) float64 {
	switch {
	case gap <= hair:
		return 0
	case volatility < flat:
		return 0.5
	}
	return min(gap/(2*volatility), 1)
}

// assess makes the assessment and its line. Prices that are unfit for a verdict are the first
// thing to say.
func assess(signals []Signal, unfit error) (Assessment, string) {
	var primary, secondary, failed []string
	failure, primaries := "", 0
	for _, s := range signals {
		if s.IsPrimary {
			primaries++
		}
		switch {
		case s.Status == StatusError:
			failed = append(failed, s.RuleName)
			if s.IsPrimary && failure == "" {
				failure = s.RuleName + ": " + s.Message
			}
		case s.Triggered && s.IsPrimary:
			primary = append(primary, s.RuleName)
		case s.Triggered:
			secondary = append(secondary, s.RuleName)
		}
	}
	switch {
	case unfit != nil:
		failure = unfit.Error()
	case primaries == 0:
		failure = "no rule is primary"
	}
	say := func(a Assessment, why string) (Assessment, string) {
		if len(failed) > 0 && a != Error {
			why += "; failed: " + strings.Join(failed, ", ")
		}
		return a, fmt.Sprintf("%s (%s)", a, why)
	}
	switch {
	case failure != "":
		return say(Error, failure)
	case len(primary) > 0 && len(secondary) > 0 && len(failed) == 0:
		return say(StrongExit, strings.Join(slices.Concat(primary, secondary), ", "))
	case len(primary) > 0:
		return say(Exit, strings.Join(slices.Concat(primary, secondary), ", "))
	case len(secondary) > 0:
		return say(Monitor, strings.Join(secondary, ", "))
	}
	return say(Hold, "no rule triggered")
}
