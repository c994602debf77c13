package exitsignal

import (
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitrule"
)

// ActionLines are the recommended orders for a person, one sentence for all sales and one for all
// stops. An order is for one account, so each account's part is named.
func (r *Result) ActionLines() (lines []string) {
	kinds := map[string]portfolio.Kind{}
	for _, a := range r.Position.Accounts {
		kinds[a.AccountID] = a.Kind
	}
	where := map[string][]string{}
	total := map[string]portfolio.Decimal{}
	for _, o := range r.RecommendedActions {
		total[o.Action] = total[o.Action].Add(o.Quantity)
		switch {
		case o.AccountID == "":
		case o.Action == exitrule.ActionSell:
			where[o.Action] = append(where[o.Action], fmt.Sprintf("%s in %s (%s)", o.Quantity, o.AccountID, kinds[o.AccountID]))
		default:
			where[o.Action] = append(where[o.Action], fmt.Sprintf("%s in %s", o.Quantity, o.AccountID))
		}
	}
	parts := func(action string) string {
		if len(where[action]) == 0 {
			return ""
		}
		return ": " + strings.Join(where[action], ", ")
	}
	told := map[string]bool{}
	for _, o := range r.RecommendedActions {
		if told[o.Action] {
			continue
		}
		told[o.Action] = true
		switch {
		case o.Action == exitrule.ActionSell:
			lines = append(lines, fmt.Sprintf("Sell %s of %s shares of %s%s.", total[o.Action], r.Position.Shares, o.Ticker, parts(o.Action)))
		case o.StopPrice != nil:
			lines = append(lines, fmt.Sprintf("After that, a stop at %s on %s of the rest, good till cancelled%s; look again on %s.",
				o.StopPrice.Cents(), total[o.Action], parts(o.Action), o.ReviewDate))
		}
	}
	return lines
}

// Lines are all that a person is told of the result besides the verdict and the rules, one sentence each.
func (r *Result) Lines() []string { return slices.Concat(r.ActionLines(), r.TaxLines(), r.Notes) }

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
