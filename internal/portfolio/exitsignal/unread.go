package exitsignal

import (
	"slices"

	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"
)

// maxUnreadNotes is how many unread rows the notes name.
const maxUnreadNotes = 5

// tellUnread says which rows of the ticker nobody could read, and which that name no ticker are in an
// account that holds it.
func (in Input) tellUnread(r *Result) {
	r.Unread = reply.NewUnread(in.Unread, in.AsOf, func(row portfolio.Unread) bool {
		if row.Symbol != "" {
			return row.Symbol == in.Ticker
		}
		return row.Account == "" || slices.ContainsFunc(r.Position.Accounts, func(h Holding) bool { return h.AccountID == row.Account })
	})
	if r.withheld() {
		r.note("how many shares of %s there are and what they cost is not sure, because rows %s it could not be read, and there are no orders: %s",
			in.Ticker, english.Word(len(r.MayBeOf), "that may be of", "of"), reply.HowToSettle(r.UnreadRowCount))
	}
	for _, row := range r.UnreadRows[:min(len(r.UnreadRows), maxUnreadNotes)] {
		r.note("not read: %s: %s", row.Where(), row.Reason)
	}
	if more := max(r.UnreadRowCount, len(r.UnreadRows)) - maxUnreadNotes; more > 0 {
		r.note("%s more not read", english.Count(more, "row"))
	}
}

// withheld tells that no orders are given.
func (r *Result) withheld() bool { return len(r.UnreadTickers) > 0 }

// withhold says what was not read. If it is of the ticker, nothing is to be sold.
func (s Snapshot) withhold(u reply.Unread) Snapshot {
	s.unassigned, s.UnreadRowCount = u.Unassigned, u.UnreadRowCount-u.Unassigned
	why := "rows of it were not read"
	if len(u.MayBeOf) > 0 {
		s.unassigned, s.UnreadRowCount, s.mayBe = 0, u.UnreadRowCount, true
		why = "a row without a ticker may be of it"
	}
	if s.UnreadRowCount > 0 {
		s.Verdict = s.Ticker + ": " + s.OverallAssessment + " — no orders: " + why
		s.TradeEligible, s.RecommendedActions, s.SellQuantity, s.Tax = false, []Action{}, 0, nil
	}
	return s
}
