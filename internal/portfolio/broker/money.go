package broker

import (
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// isMoney tells whether a row is about cash, or a fund that is as good as cash. What the file says of
// the security decides; its symbol does only where the file says nothing: CASH, CORE and USD are
// tickers of companies and funds too. A fund whose price moves is none.
func (e *entry) isMoney() bool { return isMoney(e.symbol, e.name, e.price, e.stock) }

func isMoney(symbol, name string, price portfolio.Decimal, stock bool) bool {
	if !price.IsZero() && (price.Cmp(portfolio.NewDecimal(99, -2)) < 0 || price.Cmp(portfolio.NewDecimal(101, -2)) > 0) {
		return false
	}
	apart := func(c rune) bool { return (c < 'A' || c > 'Z') && (c < '0' || c > '9') }
	words := strings.FieldsFunc(strings.ToUpper(name), apart)
	text := " " + strings.Join(words, " ") + " "
	says := func(phrases ...string) bool {
		return slices.ContainsFunc(phrases, func(phrase string) bool { return strings.Contains(text, phrase) })
	}
	switch {
	case says(" ETF "):
		return false
	case says(" MONEY MARKET ", " MONEY MKT ", " MONEY MRKT ", " MMKT ", " MONEY FUND ", " MMF ", " CASH RESERVES ", " CASH SWEEP ", " BANK SWEEP ",
		" BANK DEPOSIT ", " INSURED DEPOSIT ", " DEPOSIT SWEEP ", " CORE POSITION ", " HELD IN FCASH "):
		return true
	case len(symbol) == 5 && strings.HasSuffix(symbol, "XX"):
		return len(words) == 0 && !stock || says(" MONEY ", " CASH ", " LIQUID", " SWEEP ", " GOV", " TREAS", " RESERVE", " FIMM ", " PRIME ", " MM ")
	case slices.Contains([]string{"FCASH", "CORE", "CASH", "USD"}, symbol):
		plain := []string{"CASH", "FCASH", "CORE", "US", "USD", "U", "S", "DOLLAR", "DOLLARS", "ACCOUNT", "POSITION", "BALANCE"}
		return !stock && !slices.ContainsFunc(words, func(word string) bool { return !slices.Contains(plain, word) })
	}
	return false
}
