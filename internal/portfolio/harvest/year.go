package harvest

import (
	"fmt"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"
	"github.com/signalbox-dev/signalbox/internal/portfolio/settings"
)

// Realized are gains less losses, after what the wash-sale rule disallows.
type Realized struct {
	ShortTerm portfolio.Decimal `json:"short_term"`
	LongTerm  portfolio.Decimal `json:"long_term"`
	// UnknownSales are sales of the year, or parts of them, of which nobody knows what the shares cost.
	UnknownSales int `json:"unknown_sales"`
}

func (r Realized) net() portfolio.Decimal { return r.ShortTerm.Add(r.LongTerm) }

// A Netting says where the losses go if all candidates are sold today, without what would be
// disallowed of them: against gains of the year first, then, up to a limit, against other income
// (IRC 1211(b), 1212(b)). The three amounts are zero or more.
type Netting struct {
	OffsetsGains portfolio.Decimal `json:"offsets_gains"`
	UnderLimit   portfolio.Decimal `json:"under_limit"`  // of this year
	CarriesOver  portfolio.Decimal `json:"carries_over"` // to later years
}

// realized sums up what taxable accounts realised in the year of AsOf: in all of them, since tax is
// not paid by the account.
func (h *harvester) realized() (r Realized) {
	year := h.AsOf.Year()
	for i := range h.Book.Disposals {
		d := &h.Book.Disposals[i]
		if d.Sold.Year() != year {
			continue
		}
		if adjusted := d.Gain().Add(d.Disallowed); d.Long() {
			r.LongTerm = r.LongTerm.Add(adjusted)
		} else {
			r.ShortTerm = r.ShortTerm.Add(adjusted)
		}
	}
	for _, u := range h.Book.Untold {
		if u.Sold.Year() == year {
			r.UnknownSales++
		}
	}
	return r
}

// limit is how much of a year's losses counts against other income.
func limit(filing string) portfolio.Decimal {
	if filing == settings.MarriedSeparately {
		return portfolio.NewDecimal(deductionLimitSeparated, 0)
	}
	return portfolio.NewDecimal(deductionLimit, 0)
}

// ahead is what the year's gains come to once the losses that were carried over are taken off: less
// than zero if losses are left.
func (r *Result) ahead() portfolio.Decimal {
	gains := r.Realized.net()
	if r.Carryover != nil {
		gains = gains.Sub(*r.Carryover)
	}
	return gains
}

// allowed is what of the losses would be allowed if all candidates were sold today.
func (r *Result) allowed() portfolio.Decimal {
	return r.TotalHarvestableLoss.Abs().Sub(r.IfAllSold.Disallowed)
}

// netting says where the losses go. Whether a gain or loss is short- or long-term makes no difference
// to these sums, only to the rate of tax.
func (r *Result) netting() (n Netting) {
	loss, gains := r.allowed(), r.ahead()
	room := limit(r.FilingStatus)
	if gains.Sign() > 0 {
		n.OffsetsGains = loss.Min(gains)
	} else {
		room = room.Add(gains) // losses that are there already come first
	}
	left := loss.Sub(n.OffsetsGains)
	if room.Sign() > 0 {
		n.UnderLimit = left.Min(room)
	}
	n.CarriesOver = left.Sub(n.UnderLimit)
	return n
}

// A year is what flags say of the netting.
type year struct {
	limit         float64
	meets         bool // what is left of the losses after the year's gains meets the limit
	full          bool // losses that are there already fill it
	offset, under float64
	unknown       int // sales
}

func (r *Result) year() year {
	most, ahead, n := limit(r.FilingStatus), r.ahead(), r.netting()
	return year{
		limit: agentformat.Number(most), meets: r.allowed().Sub(ahead).Cmp(most) >= 0, full: ahead.Neg().Cmp(most) >= 0,
		offset: agentformat.Number(n.OffsetsGains), under: agentformat.Number(n.UnderLimit), unknown: r.Realized.UnknownSales,
	}
}

// A YearToDate is what the year has brought so far, in a snapshot.
type YearToDate struct {
	ShortTerm float64 `json:"short_term"`
	LongTerm  float64 `json:"long_term"`
}

// addYear says what the year's gains, and losses from before, make of the losses.
func (f *flags) addYear(y year) {
	if y.offset > 0 {
		f.add("offsets_gains", agentformat.Info, "%s of the losses would offset gains of this year; %s would come under the %s limit", reply.Dollars(y.offset), reply.Dollars(y.under), reply.Dollars(y.limit))
	}
	if y.full {
		f.add("limit_used", agentformat.Info, "Losses of this year and before fill the %s limit already: more would carry over", reply.Dollars(y.limit))
	}
	if y.unknown > 0 {
		f.add("realized_unknown", agentformat.Warning, "The gain of %s of this year is unknown", english.Count(y.unknown, "sale"))
	}
}

// YearLines say for a person where the losses would go, one sentence each.
func (r *Result) YearLines() (lines []string) {
	before := fmt.Sprintf("Realised in %d so far: %s short-term and %s long-term", r.AsOf.Year(), r.Realized.ShortTerm.Cents(), r.Realized.LongTerm.Cents())
	if r.Carryover != nil {
		before += fmt.Sprintf("; losses carried over: %s", r.Carryover.Cents())
	}
	n := r.Netting
	return []string{
		before + ".",
		fmt.Sprintf("Of the allowed losses, %s would offset gains of this year, %s would come under the limit of %s, and %s would carry over.",
			n.OffsetsGains.Cents(), n.UnderLimit.Cents(), limit(r.FilingStatus).Cents(), n.CarriesOver.Cents()),
	}
}
