package exitsignal

import (
	"fmt"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitrule"
)

// ActionLines are the recommended orders for a person, one sentence each. An order is for one
// account, so each account's part is named.
func (r *Result) ActionLines() (lines []string) {
	var sold, kept []string
	for i, a := range r.Position.Accounts {
		if r.Sizing == nil || i >= len(r.Sizing.Sales) {
			break
		}
		if n := r.Sizing.Sales[i]; !n.IsZero() {
			sold = append(sold, fmt.Sprintf("%s in %s (%s)", n, a.AccountID, a.Kind))
		}
		n := a.Shares.Sub(r.Sizing.Sales[i])
		if stop := len(r.RecommendedActions) - 1; stop >= 0 && r.RecommendedActions[stop].Quantity.Decimals() == 0 {
			n = n.Floor(0) // as the stop is of whole shares
		}
		if !n.IsZero() {
			kept = append(kept, fmt.Sprintf("%s in %s", n, a.AccountID))
		}
	}
	where := func(parts []string) string {
		if len(parts) == 0 {
			return ""
		}
		return ": " + strings.Join(parts, ", ")
	}
	for _, o := range r.RecommendedActions {
		switch {
		case o.Action == exitrule.ActionSell:
			lines = append(lines, fmt.Sprintf("Sell %s of %s shares of %s%s.", o.Quantity, r.Position.Shares, o.Ticker, where(sold)))
		case o.StopPrice != nil:
			lines = append(lines, fmt.Sprintf("After that, a stop at %s on %s of the rest, good till cancelled%s; look again on %s.",
				o.StopPrice.Cents(), o.Quantity, where(kept), o.ReviewDate))
		}
	}
	return lines
}

// TaxLines say for a person what the sale means in tax, one sentence each.
func (r *Result) TaxLines() (lines []string) {
	t := r.Tax
	if t == nil {
		return nil
	}
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
		lost := "which is added to the basis of the shares bought instead"
		switch kept := t.Disallowed.Sub(t.PermanentlyDisallowed); {
		case kept.IsZero():
			lost = "for good, because a retirement account bought"
		case !t.PermanentlyDisallowed.IsZero():
			lost = t.PermanentlyDisallowed.Cents() + " of it for good"
		}
		lines = append(lines, fmt.Sprintf("The wash-sale rule would disallow %s of the loss, %s.", t.Disallowed.Cents(), lost))
		lines = append(lines, fmt.Sprintf("A sale from %s on would not be washed by any purchase made so far.", t.WashFreeFrom))
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
