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
	var gains []string
	for _, g := range []struct {
		gain portfolio.Decimal
		term string
	}{{t.ShortTermGain, "short-term"}, {t.LongTermGain, "long-term"}} {
		if !g.gain.IsZero() {
			gains = append(gains, gainWords(g.gain)+" "+g.term)
		}
	}
	if len(gains) > 0 {
		lines = append(lines, fmt.Sprintf("In tax: %s, at %s a share.", strings.Join(gains, " and "), t.Price.Cents()))
	}
	if !t.Disallowed.IsZero() {
		lost := "all of which a purchase takes over"
		switch kept := t.Disallowed.Sub(t.PermanentlyDisallowed); {
		case kept.IsZero():
			lost = "for good, because a retirement account bought"
		case !t.PermanentlyDisallowed.IsZero():
			lost = t.PermanentlyDisallowed.Cents() + " of it for good"
		}
		lines = append(lines, fmt.Sprintf("The wash-sale rule would disallow %s of the loss, %s.", t.Disallowed.Cents(), lost))
	}
	if !t.Unsettled.IsZero() {
		lines = append(lines, fmt.Sprintf("Of %s nobody knows whether it would be disallowed.", t.Unsettled.Cents()))
	}
	if !t.NoBuyUntil.IsZero() {
		lines = append(lines, fmt.Sprintf("Buy no more of it before %s: that would wash the loss.", t.NoBuyUntil))
	}
	return lines
}

func gainWords(d portfolio.Decimal) string {
	if d.Sign() < 0 {
		return "a loss of " + d.Neg().Cents()
	}
	return "a gain of " + d.Cents()
}
