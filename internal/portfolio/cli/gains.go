package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/answer"
	"github.com/signalbox-dev/signalbox/internal/portfolio/listing"
	"github.com/signalbox-dev/signalbox/internal/portfolio/lots"
)

func (a *app) gainsCommand() *cobra.Command {
	var p listing.Params
	c := &cobra.Command{
		Use:   "gains",
		Short: "What was realised, as rows of Form 8949",
		Long: `Gains lists what every sale in a taxable account realised, lot by lot, with what the wash-sale
rule disallows of a loss: the rows of Form 8949. Of a disallowed loss, what another purchase took
over is in that purchase's basis (positions --lots); what an IRA's purchase took is lost for good.
Of a loss of the last 30 days it says until when a purchase would still wash it.

In JSON, gain is proceeds less basis; adjusted_gain, column (h) of the form, is that without what is
disallowed, and window_open_until is there while a purchase still washes the loss. Amounts are
strings, and exact. Rows of a symbol of which something could not be read have unread_rows (portfolio
unread). window_open_until is the last day that washes: buying is free on the day after it.

With --format it prints the reply that an agent gets of the tool list_gains: of this year, or of --year.`,
		Example: `  portfolio gains --year 2025
  portfolio gains --format agent`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("year") && (p.Year < 1900 || p.Year > 9999) {
				return a.UsageError("--year: %d is no year", p.Year)
			}
			if p.Format != "" {
				return a.with(cmd.Context(), func(s *answer.Service) error { return a.sayReply(s.ListGains(cmd.Context(), p)) })
			}
			state, err := a.load(cmd.Context())
			if err != nil {
				return err
			}
			defer a.warn(state)
			in := state.Listing(p)
			gains, untold := in.Gains(), in.Untold()
			if a.JSON {
				return command.WriteJSON(a.Out, gains)
			}
			when := ""
			if p.Year != 0 {
				when = fmt.Sprintf(" in %d", p.Year)
			}
			if len(gains)+len(untold) == 0 {
				fmt.Fprintf(a.Out, "Nothing was sold%s in a taxable account.\n", when)
				return nil
			}
			a.sayGains(gains)
			for _, u := range untold {
				fmt.Fprintf(a.Out, "%s %s of %s, sold on %s in %s for %s: the gain is not known, because nothing says what they cost.\n",
					a.Paint(command.Yellow, "Not in the rows:"), u.Quantity, u.Symbol, u.Sold, u.Account, u.Proceeds.Cents())
			}
			return nil
		},
	}
	formatFlag(c, &p)
	c.Flags().IntVar(&p.Year, "year", 0, "only what was sold in this `YEAR`")
	return c
}

func (a *app) sayGains(gains []listing.Gain) {
	if len(gains) == 0 {
		return
	}
	// What matters comes first: a narrow terminal has the rest on a line of its own.
	t := command.NewTable(">quantity", "symbol", "account", "acquired", "sold", ">gain", "term", ">proceeds", ">basis", "code", ">disallowed")
	totals := map[bool]*[4]portfolio.Decimal{false: {}, true: {}}
	for _, g := range gains {
		d := g.Disposal
		code, disallowed := "", ""
		if !d.Disallowed.IsZero() {
			code, disallowed = "W", d.Disallowed.Cents()
		}
		adjusted := d.Gain().Add(d.Disallowed)
		t.Add(d.Quantity.String(), d.Symbol, d.Account, d.Acquired.String(), d.Sold.String(), adjusted.Cents(), d.Term(),
			d.Proceeds.Cents(), d.Basis.Cents(), code, disallowed)
		if !d.Permanent.IsZero() {
			t.Remark(d.Permanent.Cents() + " of the loss is gone for good: a retirement account bought")
		}
		if !d.Unsettled.IsZero() {
			because := ""
			if i := slices.IndexFunc(d.Washes, func(w lots.Wash) bool { return w.Call }); i >= 0 {
				because = ": a call was bought on " + d.Washes[i].Bought.String()
			}
			t.Remark("whether " + d.Unsettled.Cents() + " of the loss is disallowed is unsettled" + because)
		}
		if g.Action != "" {
			t.Remark(map[portfolio.Action]string{
				portfolio.Merger: "paid in a merger", portfolio.ReturnOfCapital: "a return of capital, beyond what the shares cost",
			}[g.Action])
		}
		if !g.WindowOpenUntil.IsZero() {
			t.Remark("window open until " + g.WindowOpenUntil.String() + ": a purchase by then washes the loss")
		}
		if g.UnreadRows {
			t.Remark(unreadRemark)
		}
		sums := totals[d.Long()]
		for i, amount := range []portfolio.Decimal{d.Proceeds, d.Basis, d.Disallowed, adjusted} {
			sums[i] = sums[i].Add(amount)
		}
	}
	for _, long := range []bool{false, true} {
		name := map[bool]string{false: lots.ShortTerm, true: lots.LongTerm}[long]
		if sums := totals[long]; !sums[0].IsZero() || !sums[1].IsZero() {
			t.Add("", "", "", "", "all", sums[3].Cents(), name, sums[0].Cents(), sums[1].Cents(), "", sums[2].Cents())
		}
	}
	t.Write(a.Out, a.Columns())
}
