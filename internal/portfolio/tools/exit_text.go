package tools

import (
	"fmt"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitrule"
)

// ActionLines are the recommended orders for a person, one sentence each.
func (r *ExitResult) ActionLines() (lines []string) {
	for _, o := range r.RecommendedActions {
		switch {
		case o.Action == exitrule.ActionSell:
			lines = append(lines, fmt.Sprintf("Sell %s of %s shares of %s.", o.Quantity, r.Position.Shares, o.Ticker))
		case o.StopPrice != nil:
			lines = append(lines, fmt.Sprintf("After that, a stop at %s on the other %s, good till cancelled; look again on %s.", o.StopPrice.Cents(), o.Quantity, o.ReviewDate))
		}
	}
	return lines
}

// TaxLines say for a person what the sale means in tax, one sentence each.
func (r *ExitResult) TaxLines() (lines []string) {
	t := r.Tax
	if t == nil {
		return nil
	}
	var from []string
	for _, s := range t.Sales {
		from = append(from, fmt.Sprintf("%s from %s (%s)", s.Shares, s.AccountID, s.Kind))
	}
	lines = append(lines, fmt.Sprintf("That is %s.", strings.Join(from, ", ")))
	if !t.ShortTermGain.IsZero() || !t.LongTermGain.IsZero() {
		lines = append(lines, fmt.Sprintf("In tax: %s short-term and %s long-term at %s a share.", gainWords(t.ShortTermGain), gainWords(t.LongTermGain), t.Price.Cents()))
	}
	if !t.Disallowed.IsZero() {
		line := fmt.Sprintf("The wash-sale rule would disallow %s of it", t.Disallowed.Cents())
		if !t.PermanentlyDisallowed.IsZero() {
			line += fmt.Sprintf(", %s for good", t.PermanentlyDisallowed.Cents())
		}
		lines = append(lines, line+".")
	}
	if !t.Unsettled.IsZero() {
		lines = append(lines, fmt.Sprintf("Of %s nobody knows whether it would be disallowed.", t.Unsettled.Cents()))
	}
	if !t.NoBuyUntil.IsZero() {
		lines = append(lines, fmt.Sprintf("Buying again washes the loss until %s.", t.NoBuyUntil.Add(-1)))
	}
	return lines
}

func gainWords(d portfolio.Decimal) string {
	if d.Sign() < 0 {
		return "a loss of " + d.Neg().Cents()
	}
	return "a gain of " + d.Cents()
}
