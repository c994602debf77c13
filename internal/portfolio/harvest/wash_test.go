package harvest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

func TestWashes(t *testing.T) {
	r := suggest(input(t, `
		2025-01-10 home BUY SLV 100 30
		2026-11-02 ira BUY SLV 40 20
		2026-10-20 high BUY SLV 25 20
	`, `SLV 20`))
	c := r.Candidates[0]
	want := []reply.Purchase{
		{Account: "high", Ticker: "SLV", Bought: dayOf("2026-10-20")},
		{Account: "ira", Ticker: "SLV", Bought: dayOf("2026-11-02"), Permanent: true},
	}
	var got []reply.Purchase
	for _, w := range c.Washes {
		got = append(got, w.Purchase)
	}
	days := cmp.Comparer(func(a, b portfolio.Date) bool { return a == b })
	if diff := cmp.Diff(want, got, days); diff != "" {
		t.Error(diff)
	}
	wantAmount(t, "disallowed", c.Disallowed, "650")
	wantAmount(t, "permanent", c.Permanent, "400")
	wantAmount(t, "allowed", c.Allowed, "-350")
	if !c.WashSaleRisk || c.WashFreeFrom != dayOf("2026-12-03") {
		t.Errorf("risk %t, free from %s", c.WashSaleRisk, c.WashFreeFrom)
	}
	wantAmount(t, "disallowed of all", r.IfAllSold.Disallowed, "650")
	wantAmount(t, "permanent of all", r.IfAllSold.Permanent, "400")
	if len(r.WashSaleWarnings) != 1 || r.WashSaleWarnings[0].Ticker != "SLV" {
		t.Fatalf("%+v", r.WashSaleWarnings)
	}
	if diff := cmp.Diff(want, r.WashSaleWarnings[0].Purchases, days); diff != "" {
		t.Error(diff)
	}
	wantFlag(t, r, agentformat.Flag{Name: "wash_sale_permanent", Severity: agentformat.Warning, Message: "$400 would be lost for good if sold now: an IRA bought within 30 days"})
}

// A purchase on day 30 washes, on day 31 it does not.
func TestWashWindow(t *testing.T) {
	for bought, want := range map[string]string{"2026-10-14": "50", "2026-10-13": "0"} {
		r := suggest(input(t, "2025-01-10 home BUY SLV 100 30\n"+bought+" ira BUY SLV 5 20", "SLV 20"))
		wantAmount(t, "disallowed with a purchase on "+bought, r.Candidates[0].Disallowed, want)
	}
}

// A recent purchase alone is no risk: nothing is there that it replaces.
func TestRecentPurchaseAloneIsNoRisk(t *testing.T) {
	r := suggest(input(t, "2026-11-02 home BUY SLV 100 30", "SLV 20"))
	if r.Candidates[0].WashSaleRisk || len(r.WashSaleWarnings) != 0 {
		t.Errorf("%+v", r.WashSaleWarnings)
	}
}

// A 401(k) purchase and a similar fund are labelled, not counted.
func TestUnsettled(t *testing.T) {
	in := input(t, `
		2025-01-10 home BUY VOO 10 500
		2025-01-10 home BUY GLD 10 200
		2026-11-02 high BUY IVV 4 400
		2026-11-02 work BUY GLD 5 100
	`, "VOO 400\nGLD 100\nIVV 400")
	in.Rules.Similar = [][]string{{"VOO", "IVV"}}
	r := suggest(in)
	wantAmount(t, "disallowed", r.IfAllSold.Disallowed, "0")
	wantAmount(t, "unsettled", r.IfAllSold.Unsettled, "900")
	wantAmount(t, "allowed", r.IfAllSold.Allowed, "-2000")
	if len(r.WashSaleWarnings) != 2 || !r.WashSaleWarnings[0].Purchases[0].Unsettled {
		t.Errorf("%+v", r.WashSaleWarnings)
	}
	wantFlag(t, r, agentformat.Flag{Name: "wash_sale_unsettled", Severity: agentformat.Info, Message: "$900 may be disallowed: the law on 401(k)s and similar funds is unsettled"})
}

// A call bought within the window is named.
func TestUnsettledByCall(t *testing.T) {
	in := input(t, "2025-01-10 home BUY SLV 100 30\n2026-11-02 home BUY_CALL SLV 100 1", "SLV 20")
	r := suggest(in)
	wantAmount(t, "disallowed", r.IfAllSold.Disallowed, "0")
	wantFlag(t, r, agentformat.Flag{Name: "wash_sale_unsettled", Severity: agentformat.Info, Message: "$1,000 may be disallowed: the law on calls (SLV, bought 2026-11-02) is unsettled"})
	if w := r.Candidates[0].Washes; len(w) != 1 || !w[0].Call || !w[0].Unsettled {
		t.Errorf("%+v", w)
	}
}

// A purchase washes one loss only, so all lots together lose less than each alone.
func TestTogether(t *testing.T) {
	r := suggest(input(t, `
		2025-01-10 home BUY SLV 10 30
		2025-02-10 home BUY SLV 10 40
		2025-02-10 high BUY SLV 10 25
		2026-11-02 ira BUY SLV 10 20
		2025-01-10 home BUY ETC 10 30
	`, "SLV 20\nETC 1"))
	for _, c := range r.Candidates {
		if c.Ticker == "SLV" {
			wantAmount(t, "alone", c.Disallowed, c.UnrealizedLoss.Neg().String())
		}
	}
	// The sales of one day go by account: the ten shares of the account "high" are the first.
	wantAmount(t, "together", r.IfAllSold.Disallowed, "50")
	wantAmount(t, "allowed", r.IfAllSold.Allowed, "-590")
}

// Shares that are sold together replace nothing of each other.
func TestTogetherSellsReplacements(t *testing.T) {
	r := suggest(input(t, `
		2025-01-10 home BUY SLV 10 30
		2026-11-02 home BUY SLV 10 25
	`, "SLV 20"))
	wantAmount(t, "the old lot alone", r.Candidates[0].Disallowed, "100")
	wantAmount(t, "together", r.IfAllSold.Disallowed, "0")
	wantAmount(t, "allowed", r.IfAllSold.Allowed, "-150")
}

// If a day has a lot at a gain, too, the sum of what each loses alone is what is said.
func TestTogetherWithGainOfTheSameDay(t *testing.T) {
	r := suggest(input(t, `
		2025-01-10 home BUY SLV 10 15
		2025-01-10 home BUY SLV 10 30
		2026-11-02 ira BUY SLV 4 20
	`, "SLV 20"))
	if r.CandidateCount != 1 {
		t.Fatalf("%+v", r.Candidates)
	}
	wantAmount(t, "together", r.IfAllSold.Disallowed, "40")
}

// What was really sold today is not counted again.
func TestTogetherAfterRealSale(t *testing.T) {
	r := suggest(input(t, `
		2025-01-10 home BUY SLV 10 30
		2025-02-10 home BUY SLV 10 30
		2026-11-13 home SELL SLV 10 20
		2026-11-02 ira BUY SLV 12 20
	`, "SLV 20"))
	wantAmount(t, "alone", r.Candidates[0].Disallowed, "20")
	wantAmount(t, "together", r.IfAllSold.Disallowed, "20")
}

func TestIdenticalSymbols(t *testing.T) {
	in := input(t, `
		2025-01-10 home BUY GOOG 10 30
		2026-11-02 home BUY GOOGL 4 20
	`, "GOOG 20\nGOOGL 20")
	in.Rules.Identical = [][]string{{"GOOG", "GOOGL"}}
	r := suggest(in)
	wantAmount(t, "disallowed", r.IfAllSold.Disallowed, "40")
	if w := r.Candidates[0].Washes; len(w) != 1 || w[0].Ticker != "GOOGL" {
		t.Errorf("%+v", w)
	}
}

func TestFIFOReaches(t *testing.T) {
	history := `
		2025-01-10 %[1]s BUY SLV 10 30
		2025-02-10 %[1]s BUY SLV 10 20
		2025-03-10 %[1]s BUY SLV 10 10
		2025-04-10 %[1]s BUY SLV 10 40
	`
	for account, want := range map[string]map[string]bool{
		"home": {"2025-01-10": true, "2025-04-10": false},
		"high": {"2025-01-10": true, "2025-04-10": true},
	} {
		r := suggest(input(t, fmt.Sprintf(history, account), "SLV 20"))
		got := map[string]bool{}
		for _, c := range r.Candidates {
			got[c.Acquired.String()] = c.FIFOReaches
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(account, diff)
		}
		// Either method sells another lot first than one of the two that are offered.
		named := map[string]string{"home": "SLV in home of 2025-04-10 (first: that of 2025-01-10)", "high": "SLV in high of 2025-01-10 (first: that of 2025-04-10)"}[account]
		wantFlag(t, r, agentformat.Flag{
			Name: "name_the_lot", Severity: agentformat.Info, Message: "1 lot must be named in a sale, or the account's method sells another first (not needed if all shares of it there are sold together): " + named,
		})
	}
}

func TestProjectedReinvestments(t *testing.T) {
	yes, no := true, false
	quarterly := `
		2025-01-10 home BUY SLV 10 30
		2026-02-20 home REINVEST SLV 0.1 25
		2026-05-20 home REINVEST SLV 0.1 25
		2026-08-21 home REINVEST SLV 0.1 25
	`
	dividends := strings.ReplaceAll(strings.ReplaceAll(quarterly, "REINVEST", "DIVIDEND"), "0.1 25", "1 0.2")
	monthly := `
		2025-01-10 home BUY SLV 10 30
		2026-08-10 home REINVEST SLV 0.1 25
		2026-09-10 home REINVEST SLV 0.1 25
		2026-10-12 home REINVEST SLV 0.1 25
		2026-11-10 home REINVEST SLV 0.1 25
	`
	for name, c := range map[string]struct {
		history  string
		reinvest *bool
		want     []string
	}{
		"quarterly":                      {quarterly, nil, []string{"2026-11-20"}},
		"said to reinvest":               {quarterly, &yes, []string{"2026-11-20"}},
		"said not to reinvest":           {quarterly, &no, nil},
		"dividends, said to reinvest":    {dividends, &yes, []string{"2026-11-20"}},
		"dividends, nothing said":        {dividends, nil, nil},
		"monthly":                        {monthly, nil, []string{"2026-12-11"}},
		"a single payment":               {"2025-01-10 home BUY SLV 10 30\n2026-08-20 home REINVEST SLV 0.1 25", nil, nil},
		"late by some days":              {strings.ReplaceAll(quarterly, "2026-08-21", "2026-08-11"), nil, []string{"2026-11-13"}},
		"stopped long ago":               {strings.ReplaceAll(quarterly, "2026-", "2025-"), nil, nil},
		"sold out, so nothing is paid":   {quarterly + "2026-09-01 home SELL SLV 10.3 25\n2025-01-10 high BUY SLV 1 30", nil, nil},
		"the other account has the same": {quarterly + "2025-01-10 high BUY SLV 1 30", &yes, []string{"2026-11-20"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(t, c.history, "SLV 20")
			in.Rules.Accounts[0].Reinvest = c.reinvest
			r := suggest(in)
			for _, candidate := range r.Candidates {
				var got []string
				for _, p := range candidate.Projected {
					got = append(got, p.Date.String())
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
				if len(c.want) > 0 && !candidate.WashSaleRisk {
					t.Error("a reinvestment to come is no risk")
				}
			}
			if len(r.Candidates) == 0 || len(c.want) > 0 && len(r.WashSaleWarnings[0].Projected) != len(c.want) {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestProjectsIdenticalSymbols(t *testing.T) {
	in := input(t, `
		2025-01-10 home BUY GOOG 10 30
		2026-05-20 high REINVEST GOOGL 1 25
		2026-08-20 high REINVEST GOOGL 1 25
	`, "GOOG 20\nGOOGL 30")
	in.Rules.Identical = [][]string{{"GOOG", "GOOGL"}}
	r := suggest(in)
	if p := r.Candidates[0].Projected; len(p) != 1 || p[0].Account != "high" || p[0].Ticker != "GOOGL" || p[0].Date != dayOf("2026-11-20") {
		t.Errorf("%+v", p)
	}
}

// A loss that is taken already can still be washed: what must not be bought is told, candidates or none.
func TestOpenWindows(t *testing.T) {
	const sold = `
		2026-01-10 home BUY AMZN 10 30
		2026-11-01 home SELL AMZN 5 20
		2026-11-05 home SELL AMZN 5 20
		2026-01-10 home BUY KO 10 30
		2026-10-14 home SELL KO 10 20
		2026-01-10 home BUY OLD 10 30
		2026-10-13 home SELL OLD 10 20
		2026-01-10 home BUY WON 10 30
		2026-11-05 home SELL WON 10 40
	`
	for _, more := range []string{"", "2026-01-10 home BUY SLV 10 30", "2026-01-10 home BUY SLV 10 10"} {
		r := suggest(input(t, sold+more, "SLV 20"))
		if diff := cmp.Diff([]Window{{"AMZN", dayOf("2026-12-05")}, {"KO", dayOf("2026-11-13")}}, r.OpenWindows, cmpopts.EquateComparable(portfolio.Date{})); diff != "" {
			t.Error(diff)
		}
		wantFlag(t, r, agentformat.Flag{Name: "window_open", Severity: agentformat.Warning,
			Message: "No purchase of AMZN through 2026-12-05, KO through 2026-11-13: it would wash a loss taken already"})
	}
	wantNoFlag(t, suggest(input(t, "2026-01-10 home BUY SLV 10 30", "SLV 20")), "window_open")
}
