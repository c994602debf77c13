package harvest

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Advice on what is not known is noticed.
func TestMutants(t *testing.T) {
	mutant.All(t, mutant.By("^Test(Property)?Unread|^TestCoverageIs", []mutant.Mutant{
		{Name: "a ticker with an unread row is a candidate", File: "candidates.go", Old: "!h.inScope(group[0]) || h.withheld[group[0].Symbol]", New: "!h.inScope(group[0])"},
		{Name: "a position with an unread row counts as one with lots", File: "positions.go", Old: "case withheld:\n\t\t\tm.PositionsUnread++\n", New: "case withheld && p.inLots.Sign() <= 0:\n\t\t\tm.PositionsUnread++\n"},
		{Name: "the value with an unread row is covered", File: "positions.go", Old: "if !withheld {", New: "if bar.Close.Sign() > 0 {"},
		{Name: "all is covered beside an unread row", File: "unread.go", Old: "if r.UnreadRowCount > 0 || len(r.UnknownCost) > 0 {", New: "if len(r.UnknownCost) > 0 {"},
		{Name: "all positions are covered beside shares in no lot", File: "unread.go", Old: "if r.UnreadRowCount > 0 || len(r.UnknownCost) > 0 {", New: "if r.UnreadRowCount > 0 {"},
		{Name: "that there is no loss is said beside an unread row", File: "flags.go", Old: "case s.UnreadRowCount > 0:", New: "case s.UnreadRowCount < 0:"},
		{Name: "a row and its copies are several", File: "../reply/unread.go", Old: "u.UnreadRowCount = len(seen)", New: "u.UnreadRowCount = len(rows)"},
		{Name: "a row without a ticker is of those that it may be of", File: "../reply/unread.go", Old: "row.Symbol == \"\" || row.Original > 0 && all[row.Original-1].Symbol == \"\"", New: "row.Symbol == \"\""},
		{Name: "the coverage is rounded up", File: "unread.go", Old: "math.Floor(pct*10+grain)", New: "math.Ceil(pct*10-grain)"},
	}))
}

// So is a limit that is spoken of too early, and a lot that is not named.
func TestMutantsOfTheYear(t *testing.T) {
	mutant.All(t, mutant.By("^TestLimitAfterGains$|^TestRealizedThisYear$|^TestOffers$", []mutant.Mutant{
		{Name: "the limit is spoken of before gains", File: "flags.go", Old: "loss >= limit && s.caveats.year.meets", New: "loss >= limit"},
		{Name: "gains of earlier years count", File: "year.go", Old: "if d.Sold.Year() != year {", New: "if d.Sold.Year() > year {"},
		{Name: "what is disallowed offsets gains", File: "year.go", Old: ".Sub(r.IfAllSold.Disallowed)", New: ""},
		{Name: "losses carried over are forgotten", File: "year.go", Old: "gains = gains.Sub(*r.Carryover)", New: "gains = gains.Sub(portfolio.Decimal{})"},
		{Name: "losses that are there leave the limit whole", File: "year.go", Old: "room = room.Add(gains)", New: "room = room.Add(portfolio.Decimal{})"},
		{Name: "what is disallowed of a gain's loss counts", File: "year.go", Old: "d.Gain().Add(d.Disallowed)", New: "d.Gain()"},
		{Name: "no lot has to be named", File: "offer.go", Old: "NameTheLot: c.SoldFirst != nil", New: "NameTheLot: false"},
	}))
}

// So is an offer that can't be acted on as it stands.
func TestMutantsOfToday(t *testing.T) {
	mutant.All(t, mutant.By("^TestAnotherLossIsSoldFirst$|^TestAllWashedNow$|^TestStaleCandidates$|^TestCoverageSaysWhy$|^TestRoundingIsOne$", []mutant.Mutant{
		{Name: "a lot is named only beside a gain", File: "candidates.go", Old: "if order[0] == place {", New: "if order[0] == place || !atAGain(group[order[0]], close) {"},
		{Name: "all is washed though a part is not", File: "snapshot.go", Old: "&& r.IfAllSold.Allowed.IsZero()", New: "&& !r.AsOf.IsZero()"},
		{Name: "a loss at an old price is like any other", File: "candidates.go", Old: "c.StalePrice = h.stale(bar)", New: "c.StalePrice = false"},
		{Name: "an unread row is missing history", File: "flags.go", Old: "if s.caveats.unread == 0 {", New: "if s.caveats.unread >= 0 {"},
	}))
}

// So are lots and purchases that an agent is not told of.
func TestMutantsOfWhatIsTold(t *testing.T) {
	mutant.All(t, mutant.By("^TestLotsOmittedAreTold$|^TestWashedByTheMost$|^TestOpenWindows$|^TestAnotherLossIsSoldFirst$", []mutant.Mutant{
		{Name: "nobody is told how to see the other lots", File: "reply.go", Old: "snapshot = snapshot.toAgent()", New: "snapshot.shown += 0"},
		{Name: "lots are named that are not shown", File: "offer.go", Old: "range s.Lots[:s.shown]", New: "range s.Lots"},
		{Name: "any purchase is the one that washes", File: "offer.go", Old: "most == nil || w.Loss.Cmp(most.Loss) > 0", New: "most == nil"},
		{Name: "an unsettled purchase washes", File: "offer.go", Old: "!w.Unsettled && (", New: "(w.Unsettled || !w.Unsettled) && ("},
		{Name: "that nothing is lost for good is not said", File: "offer.go", Old: "if c.Disallowed.Sign() > 0 {", New: "if c.Permanent.Sign() > 0 {"},
		{Name: "a window is as open as the first sale's", File: "wash.go", Old: "last.After(until[d.Symbol])", New: "until[d.Symbol].IsZero() && !last.IsZero()"},
		{Name: "windows are told beside candidates alone", File: "flags.go", Old: "f.addNoCandidates(s)\n\t\tf.addWindows(s.caveats.open)\n", New: "f.addNoCandidates(s)\n"},
	}))
}
