package harvest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"
)

func agentReply(t *testing.T, r *Result) (Snapshot, string) {
	t.Helper()
	body := Reply(r, Params{Format: reply.FormatAgent}, agentformat.File{}).Body
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return body.(agentformat.Response[Snapshot]).Snapshot, string(text)
}

// A lot has to be named as soon as another goes first, though that one is at a loss, too: here its loss
// would be washed. What is washed of a lot is told apart from what is of all together.
func TestAnotherLossIsSoldFirst(t *testing.T) {
	r := suggest(input(t, "2025-08-04 home BUY NKE 100 90\n2026-11-06 home BUY NKE 30 70", "NKE 68"))
	s, text := agentReply(t, r)
	if len(s.Lots) != 2 || s.Lots[0].NameTheLot || !s.Lots[1].NameTheLot || s.Lots[0].Disallowed != 660 || s.DisallowedIfSold != 0 {
		t.Errorf("%+v", s)
	}
	wantFlag(t, r, agentformat.Flag{
		Name: "name_the_lot", Severity: agentformat.Info,
		Message: "1 lot must be named in a sale, or the account's method sells another first (not needed if all shares of it there are sold together): NKE in home of 2026-11-06 (first: that of 2025-08-04)",
	})
	if !strings.Contains(text, `"disallowed":660,"permanently_disallowed":0,`) || !strings.Contains(text, `"washed_by":{"account":"home","bought":"2026-11-06","shares":30}`) {
		t.Error(text)
	}
	if !strings.Contains(text, `"disallowed_note":"in lots: if that lot alone is sold; disallowed_if_sold: all sold together; what is not for good moves to the basis of the replacement"`) {
		t.Error(text)
	}
	if !r.Candidates[1].FIFOReaches || r.Summary().Candidates[0].NameTheLot || !r.Summary().Candidates[1].NameTheLot {
		t.Errorf("%+v", r.Candidates)
	}
	wantNoFlag(t, r, "all_washed_now")
}

// The verdict is that of the seed; that nothing of it is allowed today is a flag.
func TestAllWashedNow(t *testing.T) {
	history := "2025-01-07 home BUY DIS 50 115\n2026-11-09 high BUY DIS %s 98"
	r := suggest(input(t, strings.Replace(history, "%s", "60", 1), "DIS 99"))
	if v := r.Snapshot().Verdict; v != "$800 harvestable losses across 1 lots (100% long-term), 100% data coverage, wash sale risk on 1 ticker" {
		t.Error(v)
	}
	wantFlag(t, r, agentformat.Flag{
		Name: "all_washed_now", Severity: agentformat.Warning,
		Message: "Nothing of the $800 is allowed if sold today; nothing bought so far washes it from 2026-12-10 on",
	})
	wantNoFlag(t, suggest(input(t, strings.Replace(history, "%s", "49", 1), "DIS 99")), "all_washed_now")
}

// A risk without anything disallowed has its reason in the reply: a purchase that is only expected.
func TestExpectedReinvestmentIsTold(t *testing.T) {
	r := suggest(input(t, `
		2026-02-10 home BUY KO 200 72
		2026-02-20 home REINVEST KO 0.5 70
		2026-05-21 home REINVEST KO 0.5 70
		2026-08-20 home REINVEST KO 0.5 70
	`, "KO 66"))
	s, _ := agentReply(t, r)
	if s.WashSaleTickerCount != 1 || s.DisallowedIfSold != 0 || s.Lots[0].Reinvestment != r.Candidates[0].Projected[0].Date || s.DisallowedNote != "" {
		t.Errorf("%+v", s)
	}
	wantFlag(t, r, agentformat.Flag{
		Name: "reinvestment_expected", Severity: agentformat.Warning,
		Message: "1 reinvestment expected, none made yet: it would wash a part of the loss, so turn it off before a sale: KO in home about " + s.Lots[0].Reinvestment.String(),
	})
}

// A loss at an old price is marked where it is offered and in the verdict; coverage says nothing of prices.
func TestStaleCandidates(t *testing.T) {
	r := suggest(input(t, "2025-10-01 home BUY T 200 20\n2025-12-01 home BUY C 50 70\n2025-09-02 home BUY INTC 100 40", "T 17 2026-10-05\nC 65"))
	s, text := agentReply(t, r)
	if s.Lots[0].Ticker != "T" || s.Lots[0].StalePrice != dayOf("2026-10-05") || !s.Lots[1].StalePrice.IsZero() || strings.Count(text, "stale_price_of") != 1 {
		t.Errorf("%+v", s.Lots)
	}
	if s.Verdict != "$850 harvestable losses across 2 lots (71% long-term), 100% data coverage, $600 of it at old prices" {
		t.Error(s.Verdict)
	}
	wantFlag(t, r, agentformat.Flag{Name: "stale_prices", Severity: agentformat.Warning, Message: "Prices over 5 sessions old for 1 ticker: T — $600 of the losses rest on them"})
	wantFlag(t, r, agentformat.Flag{Name: "missing_prices", Severity: agentformat.Warning, Message: "No price for 1 ticker: INTC — coverage counts lots, not prices"})
}

// A position with an unread row is not said to lack history.
func TestCoverageSaysWhy(t *testing.T) {
	in := input(t, "2025-07-01 home BUY F 200 14\n2026-02-02 home BUY PLTR 100 60", "F 12\nPLTR 40")
	in.Unread = []portfolio.Unread{notRead("2026-06-05", "home", "PLTR")}
	wantFlag(t, suggest(in), agentformat.Flag{Name: "moderate_coverage", Severity: agentformat.Info, Message: "50% lot coverage — 1 position with unread rows"})
	more := input(t, "2025-07-01 home BUY F 200 14\n2025-07-01 home BUY G 200 14\n2025-07-01 home BUY H 200 14\n2026-02-02 home BUY PLTR 100 60\n2026-02-02 home TRANSFER_IN X 1 0", "F 12\nPLTR 40")
	more.Unread = in.Unread
	wantFlag(t, suggest(more), agentformat.Flag{Name: "moderate_coverage", Severity: agentformat.Info, Message: "60% lot coverage — 1 position missing transaction history, 1 position with unread rows"})
	low := input(t, "2026-02-02 home BUY PLTR 100 60", "PLTR 40")
	low.Unread = in.Unread
	wantFlag(t, suggest(low), agentformat.Flag{Name: "low_coverage", Severity: agentformat.Warning, Message: "Only 0% of positions have FIFO lot data — losses may be understated; 1 position with unread rows"})
}

// All forms round alike: half a cent to the even one.
func TestRoundingIsOne(t *testing.T) {
	r := suggest(input(t, "2026-06-30 home BUY VTI 0.295 152.881355932203\n2026-03-02 home BUY VTI 1 145.035", "VTI 145"))
	s, _ := agentReply(t, r)
	for i, c := range r.Candidates {
		if got, want := usd(strings.TrimPrefix(c.UnrealizedLoss.Round(2).String(), "")).Float(), s.Lots[i].Loss; got != want {
			t.Errorf("%s is %v in text, and %v for an agent", c.UnrealizedLoss, got, want)
		}
	}
	for f, want := range map[float64]float64{2.325: 2.32, 1276.955: 1276.96, -2.325: -2.32, 0.005: 0, 2.335: 2.34, 1e14 + 0.25: 1e14 + 0.25} {
		if got := reply.Short(f, 2); got != want {
			t.Errorf("%v became %v, want %v", f, got, want)
		}
	}
}

// An account's id as a reply has cut it means that account.
func TestCutAccountIsTaken(t *testing.T) {
	const one = "long-account-name-at-a-broker-number-1"
	in := input(t, "2025-01-10 "+one+" BUY SLV 10 30\n2025-01-10 home BUY SLV 10 30", "SLV 20")
	in.AccountID = reply.ShortAccount(one)
	r := suggest(in)
	wantSuccess(t, r)
	if s, _ := agentReply(t, r); r.AccountID != one || s.AccountID != one || s.CandidateCount != 1 {
		t.Errorf("%+v", s)
	}
	in.AccountID = "home"
	if s, _ := agentReply(t, suggest(in)); s.AccountID != "" || s.CandidateCount != 1 {
		t.Errorf("%+v", s)
	}
	in.AccountID = "nobody"
	if r := suggest(in); !strings.Contains(r.Error, `"`+one+`"`) {
		t.Errorf("%s", r.Error)
	}
}

// Shares of unknown cost that came before a lot are sold before it, if the sale does not name it.
func TestUnknownCostIsSoldFirst(t *testing.T) {
	r := suggest(input(t, "2026-03-04 home TRANSFER_IN VTI 50 0\n2026-05-05 home BUY VTI 20 330", "VTI 300"))
	if s, _ := agentReply(t, r); len(s.Lots) != 1 || !s.Lots[0].NameTheLot || r.Candidates[0].FIFOReaches {
		t.Errorf("%+v", r.Candidates)
	}
	wantFlag(t, r, agentformat.Flag{
		Name: "name_the_lot", Severity: agentformat.Info,
		Message: "1 lot must be named in a sale, or the account's method sells another first (not needed if all shares of it there are sold together): VTI in home of 2026-05-05 (first: shares of unknown cost)",
	})
}
