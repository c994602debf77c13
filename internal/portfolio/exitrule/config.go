package exitrule

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// Config is the rules and what follows from them. Decode settings over Default, so that what
// they leave out is as it is there.
type Config struct {
	Rules      []Rule            `yaml:"rules" json:"rules"`
	Index      string            `yaml:"index" json:"index"`                       // the symbol that stands for the market
	Basket     []string          `yaml:"basket,omitempty" json:"basket,omitempty"` // symbols that stand for it together
	Sizing     Sizing            `yaml:"sizing" json:"sizing"`
	Stop       Stop              `yaml:"stop" json:"stop"`
	Tick       portfolio.Decimal `yaml:"tick" json:"tick"`             // stop prices are multiples of it
	Fractional bool              `yaml:"fractional" json:"fractional"` // whether less than a share can be sold
}

// A Rule is one of the shipped rules, under its name or under another. A parameter that is not
// given is the shipped rule's own, and a parameter that the rule does not have is refused.
type Rule struct {
	Name     string             `yaml:"name" json:"name"`
	Like     string             `yaml:"like,omitempty" json:"like,omitempty"` // the shipped rule; Name if empty
	Primary  bool               `yaml:"primary,omitempty" json:"primary"`
	Months   int                `yaml:"months,omitempty" json:"months,omitempty"`
	Days     int                `yaml:"days,omitempty" json:"days,omitempty"`
	Multiple portfolio.Decimal  `yaml:"multiple,omitempty" json:"multiple,omitzero"` // of the average range
	Band     *portfolio.Decimal `yaml:"band,omitempty" json:"band,omitempty"`        // as a fraction of the mean
}

// The ways to size a sale.
const (
	Steps            = "steps"             // Fraction, or WideFraction if the gap is over WideGap
	Linear           = "linear"            // from Fraction without a gap to WideFraction at WideGap
	VolatilityTarget = "volatility_target" // so much that the rest is as volatile as the whole should be, and Fraction at least
)

// Sizing is how much of a position an exit sells. Fractions are of the position, the gap is that
// of the primary rule, 0.05 for 5 percentage points.
type Sizing struct {
	Method           string            `yaml:"method" json:"method"`
	Fraction         portfolio.Decimal `yaml:"fraction" json:"fraction"`
	WideFraction     portfolio.Decimal `yaml:"wide_fraction" json:"wide_fraction"`
	WideGap          portfolio.Decimal `yaml:"wide_gap" json:"wide_gap"`
	TargetVolatility portfolio.Decimal `yaml:"target_volatility" json:"target_volatility"` // a year
}

// The ways to find a stop price.
const (
	StopChandelier = "chandelier" // Multiple average ranges below the highest of Days, or below the last close if it is under that already
	StopPercent    = "percent"    // Fraction below the last close
)

// Stop is where the stop for the rest of a position goes. Fraction is also taken where there are
// too few daily prices for a range.
type Stop struct {
	Method   string            `yaml:"method" json:"method"`
	Days     int               `yaml:"days" json:"days"`
	Multiple portfolio.Decimal `yaml:"multiple" json:"multiple"`
	Fraction portfolio.Decimal `yaml:"fraction" json:"fraction"`
}

// Default is the trend as the primary rule, and the market's regime beside it.
func Default() Config {
	hundredths := func(n int64) portfolio.Decimal { return portfolio.NewDecimal(n, -2) }
	return Config{
		Rules: []Rule{{Name: "trend_sma10m", Primary: true}, {Name: "regime_index_200d"}},
		Index: "SPY",
		Sizing: Sizing{
			Method: Steps, Fraction: hundredths(50), WideFraction: hundredths(75), WideGap: hundredths(5),
			TargetVolatility: hundredths(15),
		},
		Stop: Stop{Method: StopChandelier, Days: 22, Multiple: portfolio.NewDecimal(3, 0), Fraction: hundredths(10)},
		Tick: hundredths(1),
	}
}

// Symbols are those whose prices the rules need besides the ticker's own.
func (c Config) Symbols() []string {
	var symbols []string
	for _, rule := range c.Rules {
		switch rule.family() {
		case "regime_index_200d":
			symbols = append(symbols, c.Index)
		case "regime_basket":
			symbols = append(symbols, c.Basket...)
		}
	}
	slices.Sort(symbols)
	return slices.Compact(symbols)
}

// family is the name of the shipped rule.
func (r Rule) family() string {
	if r.Like != "" {
		return r.Like
	}
	return r.Name
}

// The limits of a configuration.
const (
	maxRules  = 32
	maxName   = 40
	maxSymbol = 32
	maxBasket = 100
	maxMonths = 120
	maxDays   = 1000
)

// Check says what is wrong with a configuration, if anything is.
func (c Config) Check() error {
	if len(c.Rules) == 0 || len(c.Rules) > maxRules {
		return fmt.Errorf("there are 1 to %d exit rules, not %d; the rules are %s", maxRules, len(c.Rules), strings.Join(shipped(), ", "))
	}
	primary := false
	for i, rule := range c.Rules {
		if err := rule.check(); err != nil {
			return err
		}
		if slices.ContainsFunc(c.Rules[:i], func(r Rule) bool { return r.Name == rule.Name }) {
			return fmt.Errorf("two exit rules have the name %s; give one of them another and say like: %s", rule.Name, rule.family())
		}
		if rule.family() == "regime_basket" && len(c.Basket) == 0 {
			return fmt.Errorf("exit rule %s needs a basket of symbols, and there is none", rule.Name)
		}
		if rule.family() == "regime_index_200d" && c.Index == "" {
			return fmt.Errorf("exit rule %s needs the symbol of an index, and there is none", rule.Name)
		}
		primary = primary || rule.Primary
	}
	if !primary {
		return errors.New("no exit rule is primary, so there would never be a verdict; say primary: true of at least one")
	}
	if len(c.Basket) > maxBasket {
		return fmt.Errorf("the basket has %d symbols; at most %d are looked at", len(c.Basket), maxBasket)
	}
	if c.Index != "" && !symbol(c.Index) {
		return fmt.Errorf("the index %.40q is no symbol", c.Index)
	}
	if i := slices.IndexFunc(c.Basket, func(s string) bool { return !symbol(s) }); i >= 0 {
		return fmt.Errorf("%.40q in the basket is no symbol", c.Basket[i])
	}
	if c.Tick.Sign() <= 0 {
		return fmt.Errorf("the tick of stop prices is more than zero, not %s", c.Tick)
	}
	return errors.Join(c.Sizing.check(), c.Stop.check())
}

// plain tells whether s is letters, digits, underscores and some other characters.
func plain(s string, longest int, others string) bool {
	odd := func(c rune) bool {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_':
			return false
		}
		return !strings.ContainsRune(others, c)
	}
	return s != "" && len(s) <= longest && !strings.ContainsFunc(s, odd)
}

func symbol(s string) bool { return plain(s, maxSymbol, ".^=/-") }

func (r Rule) check() error {
	if !plain(r.Name, maxName, "") {
		return fmt.Errorf("the name of an exit rule is 1 to %d letters, digits and _, not %.60q", maxName, r.Name)
	}
	own, ok := defaults(r.family())
	if !ok {
		return fmt.Errorf("%.60q is no exit rule; they are %s. To use one under another name, say like: %s",
			r.family(), strings.Join(shipped(), ", "), shipped()[0])
	}
	refuse := func(parameter, want string) error {
		return fmt.Errorf("exit rule %s: %s is %s", r.Name, parameter, want)
	}
	least := 1
	if r.family() == "trend_sma10m" {
		least = 2 // a mean of one month is that month
	}
	switch {
	case own.Months == 0 && r.Months != 0:
		return refuse("months", "no parameter of "+r.family())
	case own.Days == 0 && r.Days != 0:
		return refuse("days", "no parameter of "+r.family())
	case own.Multiple.IsZero() && !r.Multiple.IsZero():
		return refuse("multiple", "no parameter of "+r.family())
	case own.Band == nil && r.Band != nil:
		return refuse("band", "no parameter of "+r.family())
	case r.Months != 0 && (r.Months < least || r.Months > maxMonths):
		return refuse("months", fmt.Sprintf("%d to %d, not %d", least, maxMonths, r.Months))
	case r.Days != 0 && (r.Days < 2 || r.Days > maxDays):
		return refuse("days", fmt.Sprintf("2 to %d, not %d", maxDays, r.Days))
	case r.Multiple.Sign() < 0 || r.Multiple.Float() > 100:
		return refuse("multiple", fmt.Sprintf("more than 0 and at most 100, not %s", r.Multiple))
	case r.Band != nil && (r.Band.Sign() < 0 || r.Band.Float() > 0.5):
		return refuse("band", fmt.Sprintf("a fraction from 0 to 0.5, not %s", r.Band))
	}
	return nil
}

func (s Sizing) check() error {
	fraction := func(d portfolio.Decimal) bool { return d.Sign() > 0 && d.Cmp(portfolio.NewDecimal(1, 0)) <= 0 }
	switch {
	case !slices.Contains([]string{Steps, Linear, VolatilityTarget}, s.Method):
		return fmt.Errorf("the method of sizing is %s, %s or %s, not %.40q", Steps, Linear, VolatilityTarget, s.Method)
	case !fraction(s.Fraction) || !fraction(s.WideFraction) || s.WideFraction.Cmp(s.Fraction) < 0:
		return fmt.Errorf("sizing sells a fraction more than 0 and at most 1, the wide one at least the other, not %s and %s", s.Fraction, s.WideFraction)
	case s.WideGap.Sign() <= 0:
		return fmt.Errorf("the wide gap of sizing is more than zero (0.05 is 5 percentage points), not %s", s.WideGap)
	case s.TargetVolatility.Sign() <= 0:
		return fmt.Errorf("the target volatility of sizing is more than zero (0.15 is 15 %% a year), not %s", s.TargetVolatility)
	}
	return nil
}

func (s Stop) check() error {
	switch {
	case !slices.Contains([]string{StopChandelier, StopPercent}, s.Method):
		return fmt.Errorf("the method of stops is %s or %s, not %.40q", StopChandelier, StopPercent, s.Method)
	case s.Days < 2 || s.Days > maxDays:
		return fmt.Errorf("the days of stops are 2 to %d, not %d", maxDays, s.Days)
	case s.Multiple.Sign() <= 0 || s.Multiple.Float() > 100:
		return fmt.Errorf("the multiple of stops is more than 0 and at most 100, not %s", s.Multiple)
	case s.Fraction.Sign() <= 0 || s.Fraction.Cmp(portfolio.NewDecimal(1, 0)) >= 0:
		return fmt.Errorf("a stop is a fraction more than 0 and less than 1 below the last close, not %s", s.Fraction)
	}
	return nil
}
