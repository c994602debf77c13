package exitrule

import (
	"errors"
	"fmt"
	"math"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/price"
)

// shipped are the names of the rules.
func shipped() []string {
	return []string{"trend_sma10m", "tsmom_12", "return_deceleration", "chandelier_22_3", "regime_index_200d", "regime_basket"}
}

// defaults are the parameters of a shipped rule. One that is zero is none of its parameters.
func defaults(family string) (Rule, bool) {
	switch family {
	case "trend_sma10m":
		return Rule{Months: 10}, true
	case "tsmom_12":
		return Rule{Months: 12}, true
	case "return_deceleration", "regime_basket":
		return Rule{Months: 3}, true
	case "chandelier_22_3":
		return Rule{Days: 22, Multiple: portfolio.NewDecimal(3, 0)}, true
	case "regime_index_200d":
		band := portfolio.NewDecimal(1, -2)
		return Rule{Days: 200, Band: &band}, true
	}
	return Rule{}, false
}

// complete is the rule with the parameters that it was not given.
func (r Rule) complete() Rule {
	own, _ := defaults(r.family())
	if r.Months == 0 {
		r.Months = own.Months
	}
	if r.Days == 0 {
		r.Days = own.Days
	}
	if r.Multiple.IsZero() {
		r.Multiple = own.Multiple
	}
	if r.Band == nil {
		r.Band = own.Band
	}
	return r
}

// A scene is what rules look at.
type scene struct {
	config Config
	others map[string][]price.Bar
	bars   []price.Bar // of the ticker, up to the day
	unfit  error       // why the ticker's bars can't be used
	asOf   portfolio.Date
}

// A measure is what a rule found. Its gap is positive if the value is through the threshold, and
// the volatility is that of the time that the rule looks at, both as fractions.
type measure struct {
	value, threshold, gap, volatility float64
	text                              string
}

// errProportion is what prices are that numbers can't be made of.
var errProportion = errors.New("the prices are out of any proportion; look at them")

func (m measure) finite() bool {
	sum := m.value + m.threshold + m.gap + m.volatility
	return !math.IsNaN(sum) && !math.IsInf(sum, 0)
}

func (s scene) measure(rule Rule) (measure, error) {
	rule = rule.complete()
	switch rule.family() {
	case "trend_sma10m":
		return s.ofTicker(s.trend, rule)
	case "tsmom_12":
		return s.ofTicker(s.momentum, rule)
	case "return_deceleration":
		return s.ofTicker(s.deceleration, rule)
	case "chandelier_22_3":
		return s.ofTicker(s.chandelier, rule)
	case "regime_index_200d":
		return s.indexRegime(rule)
	case "regime_basket":
		return s.basketRegime(rule)
	}
	return measure{}, errors.New("there is no such rule")
}

// ofTicker measures the ticker's own bars, if they are fit for it.
func (s scene) ofTicker(rule func(Rule) (measure, error), parameters Rule) (measure, error) {
	if s.unfit != nil {
		return measure{}, s.unfit
	}
	return rule(parameters)
}

func (s scene) trend(rule Rule) (measure, error) {
	closes, err := months(s.bars, s.asOf, rule.Months)
	if err != nil {
		return measure{}, err
	}
	m := below(last(closes), mean(closes))
	m.volatility = volatility(closes) * math.Sqrt(float64(rule.Months))
	ends := price.MonthEnds(s.bars, s.asOf)
	m.text = fmt.Sprintf("the close of %s is %s its %d-month mean of %s", ends[len(ends)-1].Date, m.side(), rule.Months, amount(m.threshold))
	return m, nil
}

func (s scene) momentum(rule Rule) (measure, error) {
	closes, err := months(s.bars, s.asOf, rule.Months+1)
	if err != nil {
		return measure{}, err
	}
	value := last(price.ROC(closes, rule.Months))
	return measure{
		value: value, gap: 0 - value, volatility: volatility(closes) * math.Sqrt(float64(rule.Months)),
		text: fmt.Sprintf("the %d-month return is %s", rule.Months, percent(value)),
	}, nil
}

func (s scene) deceleration(rule Rule) (measure, error) {
	closes, err := months(s.bars, s.asOf, rule.Months+2)
	if err != nil {
		return measure{}, err
	}
	all := returns(closes)
	value, before := last(all), mean(all[:rule.Months])
	return measure{
		value: value, threshold: before, gap: before - value, volatility: volatility(closes),
		text: fmt.Sprintf("the last month's return is %s, the mean of the %d before %s", percent(value), rule.Months, percent(before)),
	}, nil
}

func (s scene) chandelier(rule Rule) (measure, error) {
	level, _, err := chandelier(s.bars, s.asOf, rule.Days, rule.Multiple.Float())
	if err != nil {
		return measure{}, err
	}
	closes := adjusted(s.bars[len(s.bars)-rule.Days-1:])
	m := below(last(closes), level)
	m.volatility = volatility(closes) * math.Sqrt(float64(rule.Days))
	m.text = fmt.Sprintf("the close is %s %s, which is %s average ranges below the highest of %d days", m.side(), amount(level), rule.Multiple, rule.Days)
	return m, nil
}

func (s scene) indexRegime(rule Rule) (measure, error) {
	bars := upTo(s.others[s.config.Index], s.asOf)
	if err := fresh(bars, s.asOf); err != nil {
		return measure{}, fmt.Errorf("index %s: %w", s.config.Index, err)
	}
	bars, err := days(bars, s.asOf, rule.Days)
	if err != nil {
		return measure{}, fmt.Errorf("index %s: %w", s.config.Index, err)
	}
	closes := adjusted(bars)
	m := below(last(closes), mean(closes)*(1-rule.Band.Float()))
	m.volatility = volatility(closes) * math.Sqrt(float64(rule.Days))
	m.text = fmt.Sprintf("%s is %s its %d-day mean less %s", s.config.Index, m.side(), rule.Days, percent(rule.Band.Float()))
	return m, nil
}

func (s scene) basketRegime(rule Rule) (measure, error) {
	if len(s.config.Basket) == 0 {
		return measure{}, errors.New("the basket is empty")
	}
	total, monthly := 0.0, make([]float64, rule.Months)
	share := 1 / float64(len(s.config.Basket))
	for _, symbol := range s.config.Basket {
		bars := upTo(s.others[symbol], s.asOf)
		err := fresh(bars, s.asOf)
		var closes []float64
		if err == nil {
			closes, err = months(bars, s.asOf, rule.Months+1)
		}
		if err != nil {
			return measure{}, fmt.Errorf("%s of the basket: %w", symbol, err)
		}
		total += share * last(price.ROC(closes, rule.Months))
		for i, r := range returns(closes) {
			monthly[i] += share * r
		}
	}
	return measure{
		value: total, gap: 0 - total, volatility: deviation(monthly) * math.Sqrt(float64(rule.Months)),
		text: fmt.Sprintf("the %d-month return of the basket is %s", rule.Months, percent(total)),
	}, nil
}

// below measures how far a price is below a threshold. Ranges can be so wide that the threshold is
// not above zero; then every price is above it by all there is.
func below(value, threshold float64) measure {
	if threshold <= 0 {
		return measure{value: value, threshold: threshold, gap: -1}
	}
	return measure{value: value, threshold: threshold, gap: (threshold - value) / threshold}
}

// side says the gap in words.
func (m measure) side() string {
	switch {
	case m.gap > hair:
		return percent(m.gap) + " below"
	case m.gap < -hair:
		return percent(-m.gap) + " above"
	}
	return "at"
}

func percent(f float64) string { return fmt.Sprintf("%.2f %%", 100*f) }

func amount(f float64) string { return fmt.Sprintf("%.2f", f) }
