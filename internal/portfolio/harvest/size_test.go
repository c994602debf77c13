package harvest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/jsontext"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/broker"
	"github.com/signalbox-dev/signalbox/internal/portfolio/lots"
	"github.com/signalbox-dev/signalbox/internal/portfolio/price"
)

const maxHarvestSummary = 8 << 10

// largeInput is a portfolio of so many positions with ten lots each, about half of them at a
// loss, with symbols as long as they come.
func largeInput(positions int, symbol func(i int) string) Input {
	random := rand.New(rand.NewPCG(1, 2))
	in := Input{AsOf: dayOf("2026-11-13"), Closes: map[string]price.Bar{}}
	in.Rules.Accounts = []portfolio.Account{
		{ID: "home", Kind: portfolio.Taxable, Method: portfolio.FIFO},
		{ID: "ira", Kind: portfolio.IRA, Method: portfolio.FIFO},
		{ID: "work", Kind: portfolio.K401, Method: portfolio.FIFO},
	}
	add := func(account string, action portfolio.Action, symbol string, daysAgo int) {
		in.History = append(in.History, portfolio.Transaction{
			Date: in.AsOf.Add(-daysAgo), Account: account, Action: action, Symbol: symbol,
			Quantity: portfolio.NewDecimal(1+random.Int64N(1_000_000), -3), Price: portfolio.NewDecimal(1+random.Int64N(10_000_000), -4),
		})
	}
	for i := range positions {
		s := symbol(i)
		for range 10 {
			add("home", portfolio.Buy, s, 31+random.IntN(1500))
		}
		switch i % 8 {
		case 0, 1:
			add("ira", portfolio.Buy, s, random.IntN(30))
		case 2:
			add("work", portfolio.Buy, s, random.IntN(30))
		case 3:
			add("home", portfolio.Reinvest, s, 20)
			add("home", portfolio.Reinvest, s, 110)
		case 4:
			add("home", portfolio.Sell, s, 1600)
		case 5:
			in.Holdings = append(in.Holdings, broker.Holding{Account: "home", Symbol: s, Quantity: usd("1"), AsOf: in.AsOf})
		}
		bar := price.Bar{Date: in.AsOf, Close: portfolio.NewDecimal(1+random.Int64N(10_000_000), -4)}
		switch i % 7 {
		case 0:
			bar.Date = in.AsOf.Add(-20)
		case 1:
			continue
		}
		in.Closes[s] = bar
	}
	return in
}

// plainSymbol and costlySymbol are 32 bytes long; the latter is six times as long in JSON.
func plainSymbol(i int) string { return fmt.Sprintf("%s%04d", strings.Repeat("W", 28), i) }

func costlySymbol(i int) string { return fmt.Sprintf("%04d%s", i, strings.Repeat("&", 28)) }

func replySize(t *testing.T, r *Result, format string) int {
	t.Helper()
	file := agentformat.File{Path: "/home/" + strings.Repeat("x", 160) + "/logs/tax_harvest/tax_harvest_20261113_163005.json"}
	data, err := json.Marshal(Reply(r, Params{Format: format, Output: reply.OutputFile}, file).Body)
	if err != nil {
		t.Fatal(err)
	}
	return len(data)
}

func TestAtSize(t *testing.T) {
	for name, symbol := range map[string]func(int) string{"plain": plainSymbol, "costly": costlySymbol} {
		in := largeInput(500, symbol)
		in.Book = lots.Build(in.History, in.Rules, in.AsOf)
		if len(in.Book.Lots) < 5000 {
			t.Fatalf("%d lots", len(in.Book.Lots))
		}
		begun := time.Now()
		r := Suggest(in)
		agent := replySize(t, r, reply.FormatAgent)
		took := time.Since(begun)
		wantSuccess(t, r)
		if r.CandidateCount < 1000 || len(r.WashSaleWarnings) < 100 || len(r.MissingPrices) == 0 || len(r.StalePrices) == 0 || len(r.Unreconciled) == 0 || r.ProblemCount == 0 ||
			r.IfAllSold.Permanent.IsZero() || r.IfAllSold.Unsettled.IsZero() {
			t.Fatalf("%s: too little happens: %d candidates, %+v", name, r.CandidateCount, r.IfAllSold)
		}
		summary, report, full := replySize(t, r, reply.FormatSummary), replySize(t, r, reply.FormatReport), replySize(t, r, reply.FormatFull)
		t.Logf("%s: %d candidates in %v; agent %d, summary %d, report %d, full %d bytes", name, r.CandidateCount, took, agent, summary, report, full)
		if s := r.Snapshot().Capped(); len(s.TopCandidates) < 1 || len(s.Lots) < 2 {
			t.Errorf("%s: %d tickers, %d lots", name, len(s.TopCandidates), len(s.Lots))
		}
		if inline := jsontext.Length(Reply(r, Params{Format: reply.FormatAgent}, agentformat.File{}).Body); inline > 3<<10 {
			t.Errorf("%s: the agent's reply has %d bytes inline", name, inline)
		}
		if agent > 3<<10 {
			t.Errorf("%s: the agent's reply has %d bytes", name, agent)
		}
		if summary > maxHarvestSummary {
			t.Errorf("%s: the summary has %d bytes", name, summary)
		}
	}
}

// Whatever the numbers and texts, an agent's reply stays small: here with every flag at once.
func TestAgentReplyIsBounded(t *testing.T) {
	huge := usd("-123456789012345678901234567890")
	worst := newResult()
	worst.AsOf, worst.DataCoveragePct, worst.CandidateCount, worst.ProblemCount = dayOf("2026-11-13"), 100.0/3, 1e9, 1e9
	worst.TotalHarvestableLoss, worst.ShortTermLoss, worst.LongTermLoss = huge, huge, huge
	worst.IfAllSold = Sale{usd("1"), huge.Neg(), huge.Neg(), huge}
	worst.Realized = Realized{huge, huge, 1e9}
	worst.Carryover = new(huge.Neg())
	worst.Netting = worst.netting()
	part := 100.0 / 3
	worst.asked, worst.AccountID = "x", strings.Repeat("\"&", 64)
	worst.Metadata = Metadata{PositionsAnalyzed: 1e9, PositionsWithLots: 1e8, PositionsUnread: 1e8, CoverageByValuePct: &part, CoverageByQuantityPct: &part}
	for i := range 500 {
		s := costlySymbol(i)
		worst.Candidates = append(worst.Candidates,
			Candidate{Ticker: s, UnrealizedLoss: huge, HoldingPeriod: "long_term", WashSaleRisk: true},
			Candidate{
				Ticker: s, UnrealizedLoss: huge, HoldingPeriod: "short_term", Account: strings.Repeat("\"&", 32), Acquired: worst.AsOf, Quantity: huge.Neg(),
				Term: lots.ShortTerm, Sale: Sale{huge.Neg(), huge.Neg(), huge.Neg(), huge}, NoBuyUntil: worst.AsOf, WashFreeFrom: worst.AsOf,
				Washes:    []reply.Wash{{Purchase: reply.Purchase{Account: strings.Repeat("\"&", 32), Ticker: s, Bought: worst.AsOf}, Quantity: huge.Neg(), Loss: huge.Neg()}},
				SoldFirst: &First{Acquired: worst.AsOf, AtAGain: true}, StalePrice: true, PriceDate: worst.AsOf,
				Projected: []Reinvestment{{strings.Repeat("\"&", 32), s, worst.AsOf}},
			})
		worst.OpenWindows = append(worst.OpenWindows, Window{s, worst.AsOf})
		worst.UnknownCost = append(worst.UnknownCost, s)
		worst.WashSaleWarnings = append(worst.WashSaleWarnings, Warning{Ticker: s})
		worst.MissingPrices = append(worst.MissingPrices, s)
		worst.StalePrices = append(worst.StalePrices, Price{Ticker: s})
		worst.Unreconciled = append(worst.Unreconciled, Mismatch{Ticker: s})
	}
	worst.UnreadRowCount, worst.Unassigned, worst.UnassignedAccounts = 1e9, 1e8, worst.UnknownCost
	worst.UnreadTickers, worst.MayBeOf = worst.UnknownCost, worst.UnknownCost[250:]
	washed := *worst
	washed.IfAllSold.Allowed = portfolio.Decimal{}
	failed := Failed(errors.New(strings.Repeat("<&\x00\u202e\"\\é", 10_000)))
	for name, r := range map[string]*Result{"success": worst, "all washed": &washed, "error": failed} {
		size := replySize(t, r, reply.FormatAgent)
		inline := jsontext.Length(Reply(r, Params{Format: reply.FormatAgent}, agentformat.File{}).Body)
		t.Logf("%s: %d bytes, %d inline, %d flags", name, size, inline, len(r.Snapshot().Flags()))
		if size > 3<<10 || inline > 3<<10 {
			t.Errorf("%s: %d bytes, %d inline", name, size, inline)
		}
	}
	warnings := 0
	for _, f := range washed.Snapshot().Flags() {
		if f.Severity == agentformat.Warning {
			warnings++
		}
	}
	if warnings != 14 {
		t.Errorf("%d warnings", warnings)
	}
	s := worst.Snapshot().Capped()
	if len(s.Lots)+s.LotsOmitted != 1000 {
		t.Errorf("%d lots and %d", len(s.Lots), s.LotsOmitted)
	}
	if len(s.TopCandidates)+s.CandidatesOmitted != 500 || len(s.WashSaleTickers)+s.WashSaleTickersOmitted != 500 || len(s.TopCandidates) == 0 || len(s.WashSaleTickers) == 0 {
		t.Errorf("%d and %d, %d and %d", len(s.TopCandidates), s.CandidatesOmitted, len(s.WashSaleTickers), s.WashSaleTickersOmitted)
	}
}

// Whichever of the flags there are, an agent's reply stays small: few of them leave room for more words.
func TestPropertyAgentReplyIsBounded(t *testing.T) {
	longest := 0
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 3))
		symbol := []func(int) string{plainSymbol, costlySymbol, func(i int) string { return fmt.Sprintf("S%d", i) }}[random.IntN(3)]
		account := []string{"main", strings.Repeat("\"&", 32), strings.Repeat("W", 64)}[random.IntN(3)]
		amount := []portfolio.Decimal{usd("-1234.56"), usd("-123456789012345678901234567890")}[random.IntN(2)]
		r := newResult()
		r.AsOf, r.DataCoveragePct = dayOf("2026-11-13"), []float64{10, 60, 100.0 / 3, 100}[random.IntN(4)]
		some := func() []string {
			var list []string
			for i := range random.IntN(2) * random.IntN(8) {
				list = append(list, symbol(i))
			}
			return list
		}
		for i := range random.IntN(40) {
			c := Candidate{Ticker: symbol(i / 2), Account: account, Acquired: r.AsOf, Quantity: amount.Neg(), UnrealizedLoss: amount, Term: lots.ShortTerm, HoldingPeriod: "short_term", NoBuyUntil: r.AsOf}
			if random.IntN(2) == 0 {
				c.SoldFirst = &First{Acquired: r.AsOf, AtAGain: true}
			}
			if random.IntN(3) == 0 {
				c.Sale, c.WashFreeFrom = Sale{amount.Neg(), amount.Neg(), amount.Neg(), amount}, r.AsOf
				c.Washes = []reply.Wash{{Purchase: reply.Purchase{Account: account, Bought: r.AsOf}, Quantity: amount.Neg(), Loss: amount.Neg()}}
			}
			r.Candidates = append(r.Candidates, c)
			r.TotalHarvestableLoss, r.ShortTermLoss = r.TotalHarvestableLoss.Add(amount), r.ShortTermLoss.Add(amount)
		}
		r.CandidateCount, r.ProblemCount = len(r.Candidates), random.IntN(2)
		r.IfAllSold = []Sale{{}, {amount.Neg(), amount.Neg(), amount.Neg(), portfolio.Decimal{}}}[random.IntN(2)]
		r.Realized = Realized{amount.Neg(), amount, random.IntN(2)}
		r.Metadata = Metadata{PositionsAnalyzed: 100, PositionsWithLots: 10, PositionsUnread: random.IntN(3), PositionsUncertain: 3}
		r.UnknownCost, r.MissingPrices = some(), some()
		r.UnreadTickers = some()
		r.MayBeOf = r.UnreadTickers[:len(r.UnreadTickers)/2]
		r.Unassigned, r.UnassignedAccounts = len(r.MayBeOf), []string{account, account + "2"}
		r.UnreadRowCount = len(r.UnreadTickers)
		for _, s := range some() {
			r.OpenWindows, r.WashSaleWarnings = append(r.OpenWindows, Window{s, r.AsOf}), append(r.WashSaleWarnings, Warning{Ticker: s})
			r.Unreconciled, r.StalePrices = append(r.Unreconciled, Mismatch{Ticker: s}), append(r.StalePrices, Price{Ticker: s})
		}
		inline := jsontext.Length(Reply(r, Params{Format: reply.FormatAgent}, agentformat.File{}).Body)
		size := max(replySize(t, r, reply.FormatAgent), inline)
		if longest = max(longest, size); size > 3<<10 {
			t.Errorf("%d: %d bytes, %d inline", seed, size, inline)
		}
	}
	t.Logf("the longest was %d bytes", longest)
}

func BenchmarkHarvest(b *testing.B) {
	in := largeInput(500, plainSymbol)
	in.Book = lots.Build(in.History, in.Rules, in.AsOf)
	for b.Loop() {
		Reply(Suggest(in), Params{Format: reply.FormatAgent}, agentformat.File{})
	}
}
