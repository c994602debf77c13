package exitsignal

import (
	"slices"

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
		r.note("how many shares of %s there are and what they cost is not sure, because rows of it could not be read: there are no orders before they are settled (portfolio unread)", in.Ticker)
	}
	for _, row := range r.UnreadRows[:min(len(r.UnreadRows), maxUnreadNotes)] {
		r.note("not read: %s: %s", row.Where(), row.Reason)
	}
	if more := r.UnreadRowCount - maxUnreadNotes; more > 0 {
		r.note("%d row%s more not read", more, reply.Plural(more))
	}
}

// withheld tells that no orders are given.
func (r *Result) withheld() bool { return len(r.UnreadTickers) > 0 }

// withhold says what was not read. If it is of the ticker, nothing is to be sold.
func (s Snapshot) withhold(u reply.Unread) Snapshot {
	s.unassigned = u.Unassigned
	if s.UnreadRowCount = u.UnreadRowCount - u.Unassigned; s.UnreadRowCount > 0 {
		s.Verdict = s.Ticker + ": " + s.OverallAssessment + " — no orders: rows of it were not read"
		s.TradeEligible, s.RecommendedActions, s.SellQuantity, s.Tax = false, []Action{}, 0, nil
	}
	return s
}
